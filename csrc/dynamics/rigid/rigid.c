/* Rigid bodies among the vertices of a model; see rigid.h. */
#include "dynamics/rigid/rigid.h"

#include "linear/upload.h"

#include <limits.h>
#include <stdlib.h>

void pd_rigid_destroy(pd_rigid *self, pd_context *context) {
    if (!self) return;
    void *device[] = {self->set.bodies, self->set.arms, self->set.inverted, self->slack, self->others_move,
                      self->curvature,  self->along,    self->turns,        self->angles};
    for (size_t i = 0; i < sizeof device / sizeof *device; i++) pd_memory_destroy(context, device[i]);
    void *memory[] = {self->bodies,         self->body_of,    self->joined,     self->excluded,   self->host_slack,
                      self->host_curvature, self->host_along, self->host_turns, self->host_angles};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) free(memory[i]);
    free(self);
}

static void prepare(pd_rigid *self, const double *arms, int number) {
    pd_rigid_body *body = &self->bodies[number];
    const pd_rigid_rows *rows = &body->rows;
    int carrier = rows->first + rows->n - PD_RIGID_CARRIERS;
    double square = 0.0;
    for (int k = 0; k < 3 * PD_RIGID_CARRIERS; k++) square += arms[3 * (size_t)carrier + (size_t)k] * arms[3 * (size_t)carrier + (size_t)k];
    body->radius = sqrt(square / PD_RIGID_CARRIERS);
    const double *origin = rows->pins[0] >= 0 ? arms + 3 * (size_t)(rows->first + rows->pins[0]) : NULL;
    for (int i = rows->first; i < rows->first + rows->n; i++) {
        double far = 0.0;
        for (int c = 0; c < 3; c++) {
            double along = arms[3 * (size_t)i + (size_t)c] - (origin ? origin[c] : 0.0);
            far += along * along;
        }
        body->extent = fmax(body->extent, sqrt(far));
    }
    for (int i = rows->first; i < rows->first + rows->n; i++) self->body_of[i] = number, self->excluded[i] = 1;
    if (!origin) self->excluded[carrier] = 0;
    self->excluded[carrier + 1] = 0;
}

/* Allocates the inputs and outputs of the loops. */
static pd_status make_set(pd_rigid *self, const pd_problem *problem, const pd_description *description) {
    pd_context *context = problem->context;
    size_t n = (size_t)description->n_vertices, n_bodies = (size_t)self->n;
    const int none = INT_MAX;
    unsigned char *marks = malloc(n + 1);
    pd_status status = PD_OK;
    if (!marks) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for %d rigid bodies", self->n);
    for (size_t i = 0; i < n; i++) marks[i] = self->body_of[i] < 0;
    self->set.n = self->n;
    for (int b = 0; b < self->n; b++) self->set.n_rows += self->bodies[b].rows.n;
    PD_TRY(pd_upload(context, (void **)&self->set.bodies, self->bodies, n_bodies * sizeof *self->bodies));
    PD_TRY(pd_upload(context, (void **)&self->set.arms, description->arms, 3 * n * sizeof(double)));
    PD_TRY(pd_upload(context, (void **)&self->set.inverted, &none, sizeof none));
    PD_TRY(pd_upload(context, (void **)&self->others_move, marks, n));
    PD_TRY(pd_memory_create(context, (void **)&self->slack, n * sizeof(real)));
    PD_TRY(pd_memory_create(context, (void **)&self->curvature, 9 * n_bodies * sizeof(double)));
    PD_TRY(pd_memory_create(context, (void **)&self->along, 9 * n_bodies * sizeof(double)));
    PD_TRY(pd_memory_create(context, (void **)&self->turns, 9 * n * sizeof(double)));
    PD_TRY(pd_memory_create(context, (void **)&self->angles, n_bodies * sizeof(double)));
done:
    free(marks);
    return status;
}

pd_status pd_rigid_create(pd_rigid **out, const pd_problem *problem, const pd_description *description) {
    size_t n = (size_t)description->n_vertices;
    *out = NULL;
    if (description->n_rigid == 0) return PD_OK;
    pd_rigid *self = calloc(1, sizeof *self);
    if (!self) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    self->n = description->n_rigid;
    self->bodies = calloc((size_t)self->n, sizeof *self->bodies);
    self->body_of = malloc(n * sizeof *self->body_of);
    self->joined = calloc((size_t)self->n, 1);
    self->excluded = malloc(n);
    self->host_slack = calloc(n + 1, sizeof(real));
    self->host_turns = calloc(9 * n, sizeof(double));
    self->host_curvature = calloc(9 * (size_t)self->n, sizeof(double));
    self->host_along = calloc(9 * (size_t)self->n, sizeof(double));
    self->host_angles = calloc((size_t)self->n, sizeof(double));
    if (!self->bodies || !self->body_of || !self->joined || !self->excluded || !self->host_slack || !self->host_turns ||
        !self->host_curvature || !self->host_along || !self->host_angles) {
        pd_rigid_destroy(self, problem->context);
        return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for %d rigid bodies", description->n_rigid);
    }
    for (size_t i = 0; i < n; i++) self->body_of[i] = -1, self->excluded[i] = description->fixed[i];
    for (int b = 0; b < self->n; b++) {
        self->bodies[b].rows = description->rigid[b];
        prepare(self, description->arms, b);
        const pd_rigid_rows *rows = &self->bodies[b].rows;
        self->joined[b] = problem->corners->start[rows->first + rows->n] > problem->corners->start[rows->first];
        self->n_joined += self->joined[b];
    }
    pd_status status = make_set(self, problem, description);
    if (status)
        pd_rigid_destroy(self, problem->context);
    else
        *out = self;
    return status;
}

pd_status pd_rigid_result(const pd_problem *problem, pd_status status) {
    const pd_rigid *self = problem->rigid;
    const int none = INT_MAX;
    int inverted = none;
    if (!status) status = pd_memory_download(problem->context, &inverted, self->set.inverted, sizeof inverted);
    if (!status && inverted != none) status = pd_memory_upload(problem->context, self->set.inverted, &none, sizeof none);
    if (status || inverted == none) return status;
    const pd_rigid_rows *rows = &self->bodies[inverted].rows;
    return pd_fail(problem->error, PD_DIVERGED, "the rigid body of vertices %d to %d has been turned inside out", rows->first,
                   rows->first + rows->n - 1);
}

pd_status pd_rigid_place(const pd_problem *problem, real *x, real *offset) {
    return pd_rigid_result(problem, pd_bodies_place(problem->context, &problem->rigid->set, x, offset));
}

pd_status pd_rigid_gather(const pd_problem *problem, const real *x, real *gradient) {
    const pd_rigid *self = problem->rigid;
    return pd_rigid_result(problem, pd_bodies_gather(problem->context, &self->set, x, gradient, self->curvature));
}

pd_status pd_rigid_spread(const pd_problem *problem, const real *x, double alpha, real *correction) {
    return pd_rigid_result(problem, pd_bodies_spread(problem->context, &problem->rigid->set, x, alpha, correction));
}

pd_status pd_rigid_clear(const pd_problem *problem, real *vector) {
    return pd_bodies_clear(problem->context, &problem->rigid->set, vector);
}
