/* The nested iteration of a Schur complement [Wang et al. 2021, Sec. 4.5, Algorithm 1]; see schur_step.h.
 *
 * Elements with all corners in the contact region (or pinned) are E_beta, the others E_alpha; targets T of E_alpha are those at x. With
 * x1 eliminated the rest is a problem in x2 only. Its gradient at x2 - U, U the sum of the inner corrections u so far, is
 *
 *     g(U) = y2 - Sigma_alpha U - [forces of beta and contact at x] + [their forces at x2 - U],
 *     H = Sigma_alpha + A22(beta) + A22(col).
 *
 * H u = g(U) gives the next u. Then Sigma_alpha u = g(U) - (A22(beta) + A22(col)) u, so no product with the dense Sigma_alpha is needed
 * (the algorithm's step 4.7):
 *
 *     g(U + u) = A22(beta) u + dE_beta/dx(x2 - U - u) - dE_beta/dx(x2 - U) + dE_col'/dx(x2 - U - u) - dE_col/dx(x2 - U - u),
 *
 * col' the springs of a detection at x2 - U - u, col those of H, whose gradient there is that at x2 - U minus A22(col) u. This is the
 * change of the targets of beta and of contact only: no large numbers are subtracted that A22(beta) u does not match, and unchanged
 * contact adds nothing. Then H gets A22(col').
 *
 * Only proxies are detected again (step 4.1), unless they are held for a step. For other contact the matrix has a bound, which one of
 * two factors contains: a bound on Sigma_alpha is constant. Only E_beta is evaluated, as a small model of its own: the vertices of the
 * contact region, in the order of the solver, then the pinned corners.
 *
 * As printed, step 5 omits the effect of x2's corrections on x1; here pd_schur_backward gets their sum. Each inner solve minimises a
 * bound of the energy in x2 with constant targets of E_alpha and constant contact, and backward minimises over x1: neither raises G for
 * constant contact.
 *
 * E_beta contains neither attachments, whose energies are quadratic and whose targets may move, nor damping, which the matrix bounds and
 * E_alpha contains. */
#include "dynamics/methods/schur_step.h"

#include "dynamics/problem/model.h"
#include "dynamics/response.h"
#include "linear/linear_method.h"
#include "linear/schur.h"
#include "linear/upload.h"
#include "loops/dense_loops.h"

#include <stdlib.h>
#include <string.h>

struct pd_schur_step {
    pd_linear *linear;
    int inner;
    int detects;                                   /* entries of contact are detected again within a step (dynamics/response.h) */
    real *assembled;                               /* B [problem's n_vertices,3] with them: x, with the moved rows of the contact region */
    pd_model model;                                /* E_beta */
    pd_matrix matrix;                              /* A22(beta), pinned corners included */
    int *targets, n_targets;                       /* H: the rows of the scene's shape targets in E_beta, ascending */
    int *vertices;                                 /* B [model.n_vertices] of the scene */
    real *x, *g, *u, *sum, *before, *after, *zero; /* B [model.n_vertices,3] */
};

/* E_beta on the host. */
typedef struct beta {
    int n, n_sets;
    int *vertices;        /* [n] of the scene */
    int *slot;            /* [scene] in `vertices`, or -1 */
    unsigned char *fixed; /* [n] */
    double *zeros;        /* [n] masses */
    pd_element_set sets[PD_KIND_COUNT];
    void *arrays[3 * PD_KIND_COUNT]; /* of the sets */
    int *targets, n_targets;         /* as in pd_schur_step, which takes ownership */
} beta;

static void destroy_beta(beta *self) {
    free(self->vertices);
    free(self->slot);
    free(self->fixed);
    free(self->zeros);
    free(self->targets);
    for (int a = 0; a < 3 * PD_KIND_COUNT; a++) free(self->arrays[a]);
}

/* Tells whether all corners of an element are in the contact region or pinned, and one is in the region. */
static int is_beta(const pd_problem *problem, const unsigned char *in_contact, const int *corners, int k) {
    int some = 0;
    for (int a = 0; a < k; a++) {
        if (problem->fixed[corners[a]]) continue;
        if (!in_contact[corners[a]]) return 0;
        some = 1;
    }
    return some;
}

/* The elements of one set in E_beta, over the vertices of E_beta; pinned corners are appended to those. */
static pd_status take_set(beta *self, const pd_problem *problem, const unsigned char *in_contact, const pd_element_set *set) {
    pd_kind_shape shape = pd_kind_shape_of(set->kind);
    size_t k = (size_t)shape.vertices, rest = (size_t)shape.rest, count = (size_t)shape.parameters, m = 0;
    for (int e = 0; e < set->n; e++) m += (size_t)is_beta(problem, in_contact, set->vertices + k * (size_t)e, shape.vertices);
    if (m == 0 || set->kind == PD_ATTACHMENT) return PD_OK;
    int *vertices = self->arrays[3 * self->n_sets] = malloc(m * k * sizeof *vertices);
    double *gradients = self->arrays[3 * self->n_sets + 1] = malloc((m * rest + 1) * sizeof *gradients);
    double *parameters = self->arrays[3 * self->n_sets + 2] = malloc((m * count + 1) * sizeof *parameters);
    if (!vertices || !gradients || !parameters) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for %zu elements", m);
    if (set->kind == PD_SHAPE_TARGET && !(self->targets = malloc(m * sizeof(int))))
        return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for %zu elements", m);
    m = 0;
    for (size_t e = 0; e < (size_t)set->n; e++) {
        const int *corners = set->vertices + k * e;
        if (!is_beta(problem, in_contact, corners, shape.vertices)) continue;
        for (size_t a = 0; a < k; a++) {
            int *slot = &self->slot[corners[a]];
            if (*slot < 0) self->fixed[self->n] = 1, self->vertices[ *slot = self->n++] = corners[a];
            vertices[k * m + a] = *slot;
        }
        memcpy(gradients + rest * m, set->rest + rest * e, rest * sizeof(double));
        memcpy(parameters + count * m, set->parameters + count * e, count * sizeof(double));
        if (set->kind == PD_SHAPE_TARGET) self->targets[self->n_targets++] = (int)e;
        m++;
    }
    self->sets[self->n_sets++] =
        (pd_element_set){.kind = set->kind, .n = (int)m, .vertices = vertices, .rest = gradients, .parameters = parameters};
    return PD_OK;
}

static pd_status find_beta(beta *self, const pd_problem *problem, const unsigned char *in_contact) {
    size_t n = (size_t)problem->model->n_vertices;
    pd_status status = PD_OK;
    self->vertices = malloc((n + 1) * sizeof(int));
    self->slot = malloc((n + 1) * sizeof(int));
    self->fixed = calloc(n + 1, 1);
    self->zeros = calloc(n + 1, sizeof(double));
    if (!self->vertices || !self->slot || !self->fixed || !self->zeros)
        return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for the elements of %zu vertices", n);
    for (int i = 0; i < (int)n; i++) {
        self->slot[i] = -1;
        if (in_contact[i] && !problem->fixed[i]) self->vertices[self->slot[i] = self->n++] = i;
    }
    for (int s = 0; s < problem->n_sets; s++) PD_TRY(take_set(self, problem, in_contact, &problem->sets[s]));
done:
    return status;
}

void pd_schur_step_destroy(pd_schur_step *self, pd_context *context) {
    if (!self) return;
    real *vectors[] = {self->x, self->g, self->u, self->sum, self->before, self->after, self->zero, self->assembled};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) pd_memory_destroy(context, vectors[i]);
    free(self->targets);
    pd_memory_destroy(context, self->vertices);
    pd_matrix_destroy(&self->matrix, context);
    pd_model_destroy(&self->model, context);
    free(self);
}

/* Its model and its matrix in backend memory. */
static pd_status upload_beta(pd_schur_step *self, const pd_problem *problem, const beta *from) {
    pd_corners corners = {0};
    pd_csr pattern = {0}, matrix = {0};
    pd_description description = {
        .n_vertices = from->n, .masses = from->zeros, .fixed = from->fixed, .sets = from->sets, .n_sets = from->n_sets};
    pd_status status = PD_OK;
    PD_TRY(pd_corners_create(&corners, from->n, from->sets, from->n_sets, problem->error));
    PD_TRY(pd_pattern_create(&pattern, from->n, from->sets, from->n_sets, &corners, problem->error));
    PD_TRY(pd_system_matrix_create(&matrix, from->n, from->zeros, 0.0, from->sets, from->n_sets, &pattern, &corners,
                                   pd_context_threads(problem->context), problem->error));
    PD_TRY(pd_matrix_upload(&self->matrix, problem->context, &matrix, NULL, 3));
    status = pd_model_create(&self->model, problem->context, &description, &corners);
done:
    pd_corners_destroy(&corners);
    pd_csr_destroy(&pattern);
    pd_csr_destroy(&matrix);
    return status;
}

pd_status pd_schur_step_create(pd_schur_step **out, const pd_problem *problem, pd_linear *linear, const unsigned char *in_contact,
                               int inner) {
    pd_status status = PD_OK;
    beta elements = {0};
    pd_schur_step *self = calloc(1, sizeof *self);
    *out = NULL;
    if (!self) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    PD_TRY(find_beta(&elements, problem, in_contact));
    self->linear = linear;
    const pd_contact_response *response = problem->response;
    if (inner > 1 && response->entries && response->changes(problem) && !(linear->settings.active > 0)) {
        self->detects = 1;
        PD_TRY(pd_memory_create(problem->context, (void **)&self->assembled, ((size_t)problem->model->n_vertices * 3 + 1) * sizeof(real)));
    }
    self->inner = elements.n_sets > 0 || self->detects ? inner : 1;
    PD_TRY(upload_beta(self, problem, &elements));
    PD_TRY(pd_upload_ints(problem->context, &self->vertices, elements.vertices, (size_t)elements.n));
    real **vectors[] = {&self->x, &self->g, &self->u, &self->sum, &self->before, &self->after, &self->zero};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        PD_TRY(pd_memory_create(problem->context, (void **)vectors[i], ((size_t)elements.n * 3 + 1) * sizeof(real)));
    self->targets = elements.targets, self->n_targets = elements.n_targets;
    elements.targets = NULL;
done:
    destroy_beta(&elements);
    if (status)
        pd_schur_step_destroy(self, problem->context);
    else
        *out = self;
    return status;
}

pd_status pd_schur_step_set_targets(pd_schur_step *self, const pd_problem *problem, int first, int n, const real *rows) {
    size_t count = (size_t)pd_kind_shape_of(PD_SHAPE_TARGET).parameters;
    pd_status status = PD_OK;
    for (int s = 0; s < self->model.n_kinds; s++) {
        const pd_elements *elements = &self->model.kinds[s];
        if (elements->kind != PD_SHAPE_TARGET) continue;
        for (int m = 0; m < self->n_targets; m++) { // in runs, since most of a region is one
            int run = 1, row = self->targets[m];
            if (row < first || row >= first + n) continue;
            while (m + run < self->n_targets && self->targets[m + run] == row + run && row + run < first + n) run++;
            PD_TRY(pd_memory_upload(problem->context, elements->parameters + count * (size_t)m, rows + count * (size_t)(row - first),
                                    (size_t)run * count * sizeof(real)));
            m += run - 1;
        }
    }
done:
    return status;
}

/* dE_beta/dx: without masses, so that it contains nothing else. */
static pd_status pull_of_beta(const pd_schur_step *self, pd_context *context, real *out) {
    pd_step_data step = {.inverse_h = 0.0, .x_t = self->zero, .external_acceleration = self->zero};
    return pd_gradient(context, &self->model, &step, self->x, self->zero, out);
}

/* Detects pairs at x: adds the change of the contact forces to g and puts the new entries into the matrix. `before` and `scratch` [n,3]
 * are overwritten. */
static pd_status detect(pd_schur_step *self, const pd_problem *problem, real *scratch) {
    pd_context *context = problem->context;
    int n = self->model.n_vertices;
    const pd_contact_response *response = problem->response;
    const pd_entries *entries;
    pd_status status = PD_OK;
    PD_TRY(pd_rows_scatter(context, n, self->vertices, self->x, self->assembled));
    for (int current = 0; current < 2; current++) {
        PD_TRY(pd_memory_clear(context, scratch, (size_t)problem->model->n_vertices * 3 * sizeof(real)));
        PD_TRY((current ? response->gradient : response->held_gradient)(problem, self->assembled, scratch));
        PD_TRY(pd_rows_gather(context, n, self->vertices, scratch, self->before));
        PD_TRY(pd_add_scaled(context, &self->model, self->g, current ? 1.0 : -1.0, self->before, self->g));
    }
    PD_TRY(response->entries(problem, &entries));
    status = pd_linear_set_entries(self->linear, entries);
done:
    return status;
}

pd_status pd_schur_step_solve(pd_schur_step *self, const pd_problem *problem, const real *x, const real *gradient, real *correction) {
    pd_context *context = problem->context;
    const pd_model *model = &self->model;
    size_t bytes = (size_t)model->n_vertices * 3 * sizeof(real);
    pd_status status = PD_OK;
    PD_TRY(pd_linear_prepare(self->linear));
    pd_schur *schur = pd_linear_schur(self->linear);

    PD_TRY(pd_schur_forward(schur, gradient, self->g));
    PD_TRY(pd_schur_dense(schur, self->g, self->u));
    PD_TRY(pd_memory_copy(context, self->sum, self->u, bytes));
    if (self->inner > 1) {
        PD_TRY(pd_rows_gather(context, model->n_vertices, self->vertices, x, self->x));
        PD_TRY(pull_of_beta(self, context, self->before));
        if (self->detects) PD_TRY(pd_memory_copy(context, self->assembled, x, (size_t)problem->model->n_vertices * 3 * sizeof(real)));
    }
    for (int j = 1; j < self->inner; j++) {
        PD_TRY(pd_add_scaled(context, model, self->x, -1.0, self->u, self->x));
        PD_TRY(pull_of_beta(self, context, self->after));
        PD_TRY(pd_matrix_multiply(context, &self->matrix, 3, self->u, self->g));
        PD_TRY(pd_add_scaled(context, model, self->g, 1.0, self->after, self->g));
        PD_TRY(pd_add_scaled(context, model, self->g, -1.0, self->before, self->g));
        if (self->detects) PD_TRY(detect(self, problem, correction));
        PD_TRY(pd_schur_dense(schur, self->g, self->u));
        PD_TRY(pd_add_scaled(context, model, self->sum, 1.0, self->u, self->sum));
        real *swap = self->before;
        self->before = self->after;
        self->after = swap;
    }
    status = pd_schur_backward(schur, self->sum, correction);
done:
    return status;
}
