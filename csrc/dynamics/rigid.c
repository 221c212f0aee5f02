/* Rigid bodies among the vertices of a model; see rigid.h. */
#include "dynamics/rigid.h"

#include "linear/upload.h"

#include <stdlib.h>
#include <string.h>

void pd_rigid_destroy(pd_rigid *self, pd_context *context) {
    if (!self) return;
    pd_memory_destroy(context, self->others_move);
    pd_csr_destroy(&self->pattern);
    void *memory[] = {self->bodies, self->body_of, self->excluded, self->x,      self->rows,
                      self->others, self->wide,    self->turns,    self->blocks, self->slack};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) free(memory[i]);
    free(self);
}

static int first_carrier(const pd_rigid_body *body) { return body->rows.n - PD_RIGID_CARRIERS; }

static int n_pins(const pd_rigid_body *body) { return (body->rows.pins[0] >= 0) + (body->rows.pins[1] >= 0); }

static void prepare(pd_rigid *self, pd_rigid_body *body, int number) {
    int carrier = body->rows.first + first_carrier(body);
    double square = 0.0;
    for (int k = 0; k < 3 * PD_RIGID_CARRIERS; k++)
        square += self->arms[3 * (size_t)carrier + (size_t)k] * self->arms[3 * (size_t)carrier + (size_t)k];
    body->radius = sqrt(square / PD_RIGID_CARRIERS);
    const double *origin = n_pins(body) ? self->arms + 3 * (size_t)(body->rows.first + body->rows.pins[0]) : NULL;
    for (int i = body->rows.first; i < body->rows.first + body->rows.n; i++) {
        double far = 0.0;
        for (int c = 0; c < 3; c++) {
            double along = self->arms[3 * (size_t)i + (size_t)c] - (origin ? origin[c] : 0.0);
            far += along * along;
        }
        body->extent = fmax(body->extent, sqrt(far));
    }
    for (int i = body->rows.first; i < body->rows.first + body->rows.n; i++) self->body_of[i] = number, self->excluded[i] = 1;
    if (n_pins(body) == 0) self->excluded[carrier] = 0;
    self->excluded[carrier + 1] = 0;
}

static pd_status mark_others(pd_rigid *self, const pd_problem *problem, int n) {
    unsigned char *marks = malloc((size_t)n);
    if (!marks) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for %d rigid bodies", self->n);
    for (int i = 0; i < n; i++) marks[i] = self->body_of[i] < 0;
    pd_status status = pd_upload(problem->context, (void **)&self->others_move, marks, (size_t)n);
    free(marks);
    return status;
}

pd_status pd_rigid_create(pd_rigid **out, const pd_problem *problem, const pd_description *description) {
    size_t n = (size_t)description->n_vertices, most = 0;
    *out = NULL;
    if (description->n_rigid == 0) return PD_OK;
    for (int b = 0; b < description->n_rigid; b++)
        if (most < (size_t)description->rigid[b].n) most = (size_t)description->rigid[b].n;
    pd_rigid *self = calloc(1, sizeof *self);
    if (!self) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    self->n = description->n_rigid;
    self->arms = description->arms;
    self->bodies = calloc((size_t)self->n, sizeof *self->bodies);
    self->body_of = malloc(n * sizeof *self->body_of);
    self->excluded = malloc(n);
    self->x = malloc(3 * most * sizeof(real));
    self->rows = malloc(3 * most * sizeof(real));
    self->others = malloc(3 * most * sizeof(real));
    self->wide = malloc(3 * most * sizeof(double));
    self->turns = calloc(9 * n, sizeof(double));
    self->slack = calloc(n + 1, sizeof(real));
    if (!self->bodies || !self->body_of || !self->excluded || !self->x || !self->rows || !self->others || !self->wide || !self->turns ||
        !self->slack) {
        pd_rigid_destroy(self, problem->context);
        return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for %d rigid bodies", description->n_rigid);
    }
    for (size_t i = 0; i < n; i++) self->body_of[i] = -1, self->excluded[i] = description->fixed[i];
    for (int b = 0; b < self->n; b++) {
        self->bodies[b].rows = description->rigid[b];
        prepare(self, &self->bodies[b], b);
    }
    pd_status status = mark_others(self, problem, (int)n);
    if (status)
        pd_rigid_destroy(self, problem->context);
    else
        *out = self;
    return status;
}

/* ---- poses ------------------------------------------------------------------------------------------------------------------------------ */

static const double *arm_of(const pd_rigid *self, const pd_rigid_body *body, int row) {
    return self->arms + 3 * (size_t)(body->rows.first + row);
}

/* Turns R by the smallest rotation that brings R (body's axis) onto the axis through the two pins. */
static void turn_onto_axis(const pd_rigid *self, const pd_rigid_body *body, const double *x, double R[9], double axis[3]) {
    const int *pins = body->rows.pins;
    double arm[3], now[3], length = 0.0, across[3], along, sine;
    for (int c = 0; c < 3; c++) {
        axis[c] = x[3 * pins[1] + c] - x[3 * pins[0] + c];
        arm[c] = arm_of(self, body, pins[1])[c] - arm_of(self, body, pins[0])[c];
        length += axis[c] * axis[c];
    }
    for (int c = 0; c < 3; c++) axis[c] /= sqrt(length);
    pd_pose_rotate(R, arm, now);
    pd_pose_cross(now, axis, across);
    along = now[0] * axis[0] + now[1] * axis[1] + now[2] * axis[2];
    sine = sqrt(across[0] * across[0] + across[1] * across[1] + across[2] * across[2]);
    if (!(sine > 0.0)) return;
    double angle = atan2(sine, along), turn[3], E[9], turned[9];
    for (int c = 0; c < 3; c++) turn[c] = across[c] / sine * angle;
    pd_pose_exponential(turn, E);
    pd_pose_multiply(E, R, turned);
    memcpy(R, turned, sizeof turned);
}

/* The pose of a held body: the rotation about its first pin is known. */
static void centre_by_pin(const pd_rigid *self, const pd_rigid_body *body, const double *x, pd_pose *pose) {
    double turned[3];
    pd_pose_rotate(pose->rotation, arm_of(self, body, body->rows.pins[0]), turned);
    for (int c = 0; c < 3; c++) pose->centre[c] = x[3 * body->rows.pins[0] + c] - turned[c];
}

/* The pose nearest to the rows that carry the mass, x [n,3]; of one that is held, among those that keep its pins where they are. `axis`: of
 * one held in two points. */
static pd_status fit(const pd_problem *problem, const pd_rigid_body *body, const double *x, pd_pose *pose, double axis[3]) {
    const pd_rigid *self = problem->rigid;
    const double *about = n_pins(body) ? arm_of(self, body, body->rows.pins[0]) : NULL;
    int first = first_carrier(body);
    double A[9] = {0.0};
    for (int c = 0; c < 3; c++) {
        pose->centre[c] = 0.0;
        for (int a = 0; a < PD_RIGID_CARRIERS; a++) pose->centre[c] += x[3 * (first + a) + c] / PD_RIGID_CARRIERS;
    }
    const double *from = about ? x + 3 * (size_t)body->rows.pins[0] : pose->centre;
    for (int a = 0; a < PD_RIGID_CARRIERS; a++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                A[3 * i + j] += (x[3 * (first + a) + i] - from[i]) * (arm_of(self, body, first + a)[j] - (about ? about[j] : 0.0));
    if (!pd_pose_orthogonal(A))
        return pd_fail(problem->error, PD_DIVERGED, "the rigid body of vertices %d to %d has been turned inside out", body->rows.first,
                       body->rows.first + body->rows.n - 1);
    memcpy(pose->rotation, A, sizeof A);
    if (n_pins(body) == 2) turn_onto_axis(self, body, x, pose->rotation, axis);
    if (about) centre_by_pin(self, body, x, pose);
    return PD_OK;
}

void pd_rigid_place_row(const pd_rigid *self, const pd_rigid_body *body, const pd_pose *pose, int row, double at[3]) {
    pd_pose_rotate(pose->rotation, arm_of(self, body, row), at);
    for (int c = 0; c < 3; c++) at[c] += pose->centre[c];
}

static int is_pin(const pd_rigid_body *body, int row) { return row == body->rows.pins[0] || row == body->rows.pins[1]; }

/* Rows of a vector of the backend, and back. */
static pd_status read_rows(const pd_problem *problem, const pd_rigid_body *body, const real *vector, real *rows) {
    return pd_memory_download(problem->context, rows, vector + 3 * (size_t)body->rows.first, 3 * (size_t)body->rows.n * sizeof(real));
}

static pd_status write_rows(const pd_problem *problem, const pd_rigid_body *body, real *vector, const real *rows) {
    return pd_memory_upload(problem->context, vector + 3 * (size_t)body->rows.first, rows, 3 * (size_t)body->rows.n * sizeof(real));
}

/* The pose at x, which is left in self->x. */
pd_status pd_rigid_read_pose(const pd_problem *problem, const pd_rigid_body *body, const real *x, pd_pose *pose, double axis[3]) {
    pd_rigid *self = problem->rigid;
    pd_status status = read_rows(problem, body, x, self->x);
    if (status) return status;
    for (int i = 0; i < 3 * body->rows.n; i++) self->wide[i] = (double)self->x[i];
    return fit(problem, body, self->wide, pose, axis);
}

/* What rounding of positions has put between the mean of the rows that carry the mass, which is the centre, and the centre of a pose: taken out
 * of every move, a free body keeps its linear momentum to the rounding of moves. */
static void drift_of(const pd_rigid *self, const pd_rigid_body *body, const pd_pose *pose, double drift[3]) {
    double at[3];
    for (int c = 0; c < 3; c++) drift[c] = 0.0;
    for (int a = 0; a < PD_RIGID_CARRIERS && n_pins(body) == 0; a++) {
        int row = first_carrier(body) + a;
        pd_rigid_place_row(self, body, pose, row, at);
        for (int c = 0; c < 3; c++) drift[c] += (at[c] - self->wide[3 * row + c]) / PD_RIGID_CARRIERS;
    }
}

pd_status pd_rigid_place(const pd_problem *problem, real *x, real *offset) {
    pd_rigid *self = problem->rigid;
    pd_status status = PD_OK;
    for (int b = 0; b < self->n; b++) {
        const pd_rigid_body *body = &self->bodies[b];
        pd_pose pose;
        double axis[3], at[3], drift[3];
        PD_TRY(pd_rigid_read_pose(problem, body, x, &pose, axis));
        PD_TRY(read_rows(problem, body, offset, self->rows));
        drift_of(self, body, &pose, drift);
        for (int i = 0; i < body->rows.n; i++) {
            if (is_pin(body, i)) continue;
            pd_rigid_place_row(self, body, &pose, i, at);
            for (int c = 0; c < 3; c++) {
                self->rows[3 * i + c] = (real)((double)self->rows[3 * i + c] + (at[c] - self->wide[3 * i + c] - drift[c]));
                self->x[3 * i + c] = (real)at[c];
            }
        }
        PD_TRY(write_rows(problem, body, x, self->x));
        PD_TRY(write_rows(problem, body, offset, self->rows));
    }
done:
    return status;
}

/* What a body turns about: its first pin, or its centre. */
static void origin_of(const pd_rigid *self, const pd_rigid_body *body, const pd_pose *pose, double origin[3]) {
    for (int c = 0; c < 3; c++) origin[c] = n_pins(body) ? self->wide[3 * body->rows.pins[0] + c] : pose->centre[c];
}

/* v <- its part along the axis of a body held in one. */
static void keep_along(const pd_rigid_body *body, const double axis[3], double v[3]) {
    if (n_pins(body) < 2) return;
    double along = v[0] * axis[0] + v[1] * axis[1] + v[2] * axis[2];
    for (int c = 0; c < 3; c++) v[c] = along * axis[c];
}

pd_status pd_rigid_gather(const pd_problem *problem, const real *x, real *gradient) {
    pd_rigid *self = problem->rigid;
    pd_status status = PD_OK;
    for (int b = 0; b < self->n; b++) {
        pd_rigid_body *body = &self->bodies[b];
        pd_pose pose;
        double axis[3] = {0}, origin[3], force[3] = {0}, torque[3] = {0}, outer[9] = {0};
        PD_TRY(pd_rigid_read_pose(problem, body, x, &pose, axis));
        PD_TRY(read_rows(problem, body, gradient, self->rows));
        origin_of(self, body, &pose, origin);
        for (int i = 0; i < body->rows.n; i++) {
            double arm[3], g[3], turning[3];
            pd_rigid_place_row(self, body, &pose, i, arm);
            for (int c = 0; c < 3; c++) arm[c] -= origin[c], g[c] = (double)self->rows[3 * i + c];
            pd_pose_cross(arm, g, turning);
            for (int c = 0; c < 3; c++) {
                force[c] += g[c];
                torque[c] += turning[c];
                for (int d = 0; d < 3; d++) outer[3 * c + d] += g[c] * arm[d];
            }
        }
        // the second derivative of g . exp(theta) r at theta = 0 is (g r^T + r g^T)/2 - (g.r) 1
        double trace = outer[0] + outer[4] + outer[8], squared = body->radius * body->radius;
        for (int c = 0; c < 9; c++) {
            int mirror = 3 * (c % 3) + c / 3;
            body->curvature[c] = (0.5 * (outer[c] + outer[mirror]) - (c % 4 == 0 ? trace : 0.0)) / squared;
        }
        keep_along(body, axis, torque);
        memset(self->rows, 0, 3 * (size_t)body->rows.n * sizeof(real));
        real *carrier = self->rows + 3 * first_carrier(body);
        for (int c = 0; c < 3; c++) {
            if (n_pins(body) == 0) carrier[c] = (real)force[c];
            carrier[3 + c] = (real)(torque[c] / body->radius);
        }
        PD_TRY(write_rows(problem, body, gradient, self->rows));
    }
done:
    return status;
}

pd_status pd_rigid_spread(const pd_problem *problem, const real *x, double alpha, real *direction) {
    pd_rigid *self = problem->rigid;
    pd_status status = PD_OK;
    for (int b = 0; b < self->n; b++) {
        const pd_rigid_body *body = &self->bodies[b];
        pd_pose pose, moved;
        double axis[3] = {0}, turn[3], E[9], at[3], drift[3];
        PD_TRY(pd_rigid_read_pose(problem, body, x, &pose, axis));
        PD_TRY(read_rows(problem, body, direction, self->rows));
        const real *carrier = self->rows + 3 * first_carrier(body);
        for (int c = 0; c < 3; c++) {
            moved.centre[c] = pose.centre[c] - alpha * (double)carrier[c];
            turn[c] = -alpha * (double)carrier[3 + c] / body->radius;
        }
        keep_along(body, axis, turn);
        pd_pose_exponential(turn, E);
        pd_pose_multiply(E, pose.rotation, moved.rotation);
        if (n_pins(body)) centre_by_pin(self, body, self->wide, &moved);
        drift_of(self, body, &moved, drift);
        for (int c = 0; c < 3; c++) drift[c] += alpha * (double)carrier[c];
        for (int i = 0; i < body->rows.n; i++) {
            pd_rigid_place_row(self, body, &moved, i, at);
            for (int c = 0; c < 3; c++)
                self->others[3 * i + c] = is_pin(body, i) ? (real)0 : (real)((self->wide[3 * i + c] - at[c] + drift[c]) / alpha);
        }
        PD_TRY(write_rows(problem, body, direction, self->others));
    }
done:
    return status;
}

pd_status pd_rigid_clear(const pd_problem *problem, real *vector) {
    pd_status status = PD_OK;
    for (int b = 0; b < problem->rigid->n; b++) {
        const pd_rigid_rows *rows = &problem->rigid->bodies[b].rows;
        PD_TRY(pd_memory_clear(problem->context, vector + 3 * (size_t)rows->first, 3 * (size_t)rows->n * sizeof(real)));
    }
done:
    return status;
}

pd_status pd_rigid_arms(const pd_problem *problem, const pd_rigid_body *body, const real *x, double *T, double along[9]) {
    pd_rigid *self = problem->rigid;
    pd_pose pose;
    double axis[3] = {0}, origin[3];
    pd_status status = pd_rigid_read_pose(problem, body, x, &pose, axis);
    if (status) return status;
    origin_of(self, body, &pose, origin);
    for (int c = 0; c < 9; c++) along[c] = n_pins(body) == 2 ? axis[c / 3] * axis[c % 3] : (double)(c % 4 == 0);
    for (int i = 0; i < body->rows.n; i++) {
        double r[3];
        pd_rigid_place_row(self, body, &pose, i, r);
        for (int c = 0; c < 3; c++) r[c] = (r[c] - origin[c]) / body->radius;
        // theta x r = T^T theta, T = [r]x
        double cross[9] = {0.0, -r[2], r[1], r[2], 0.0, -r[0], -r[1], r[0], 0.0};
        pd_pose_multiply(along, cross, T + 9 * (size_t)i);
    }
    return PD_OK;
}
