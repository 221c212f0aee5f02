/* ADMM on the incremental potential [Overby, Brown, Li, Narain 2017, ADMM ⊇ Projective Dynamics: Fast Simulation of Hyperelastic
 * Models with Dynamic Constraints].
 *
 * G is split into inertia in x and the elements' energies in z, with z = F(x) as the constraint and u its scaled dual. One iteration is
 * the local problem of every element (elements/admm.h), and one solve with the matrix of Projective Dynamics, written for d = x - x':
 *
 *     A d = M/h^2 (x - y) + sum w S^T (F(x) - z + u),   A = M/h^2 + sum w S^T S.
 *
 * u = 0 at the start of a step. A fixed point has z = F(x) and w u = dE/dF there, so that x is stationary for G; on the way to it G
 * may rise, and may end a short run above where it began, which is no divergence. The weights are those of rest. Where an energy's
 * curvature exceeds them, as that of neo-Hookean volume does in much stretched tets (lam (s_j s_k)^2), or is negative, as in inverted
 * ones, the iteration may cycle about the stationary point: larger weights end the first, while weights of 2 mu + 4 lam did not end the
 * second on a bunny whose minimum has one inverted tet. */
#include "dynamics/method.h"
#include "linear/upload.h"

#include <stdlib.h>
#include <string.h>

struct pd_admm {
    pd_context *context;
    pd_linear *linear;            /* with A */
    real *weights[PD_KIND_COUNT]; /* B [elements] of each kind of the model */
    real *duals[PD_KIND_COUNT];   /* B [elements,3,d] */
};

void pd_admm_destroy(pd_admm *admm) {
    if (!admm) return;
    pd_linear_destroy(admm->linear);
    for (int s = 0; s < PD_KIND_COUNT; s++) {
        pd_memory_destroy(admm->context, admm->weights[s]);
        pd_memory_destroy(admm->context, admm->duals[s]);
    }
    free(admm);
}

static size_t dual_bytes(const pd_elements *g) { return (size_t)g->n * 3 * (size_t)pd_kind_shape_of(g->kind).columns * sizeof(real); }

/* The weights of a set: to the backend, and as column 0 of a copy of its parameters, which is what the system matrix reads. */
static pd_status weigh(pd_simulation *self, const pd_element_set *set, double *parameters, real **weights) {
    size_t count = (size_t)pd_kind_shape_of(set->kind).parameters;
    double factor = set->kind < PD_NEO_HOOKEAN_TET ? 1.0 : self->settings.weight; // the closed form of the others wants their own w
    double *column = malloc((size_t)set->n * sizeof(double) + 1);
    if (!column) return pd_fail(&self->error, PD_ERROR_MEMORY, "out of memory for the weights of %d elements", set->n);
    memcpy(parameters, set->parameters, (size_t)set->n * count * sizeof(double));
    for (size_t e = 0; e < (size_t)set->n; e++)
        column[e] = parameters[e * count] = factor * pd_admm_weight(set->kind, set->parameters + e * count);
    pd_status status = pd_upload_reals(self->context, weights, column, (size_t)set->n);
    free(column);
    return status;
}

static pd_status prepare(pd_simulation *self) {
    size_t n = (size_t)self->model.n_vertices;
    double h = self->settings.h, inverse_h = h > 0 ? 1.0 / h : 0.0;
    pd_status status = PD_OK;
    pd_csr A = {0};
    pd_element_set *weighed = calloc((size_t)self->n_sets + 1, sizeof *weighed);
    double *inertia = malloc(n * sizeof(double) + 1);
    pd_admm *admm = calloc(1, sizeof *admm);
    if (!weighed || !inertia || !admm) {
        status = pd_fail(&self->error, PD_ERROR_MEMORY, "out of memory for ADMM of %zu vertices", n);
        goto done;
    }
    admm->context = self->context;
    for (int s = 0; s < self->n_sets; s++) {
        double *parameters = malloc((size_t)self->sets[s].n * (size_t)pd_kind_shape_of(self->sets[s].kind).parameters * sizeof(double) + 1);
        weighed[s] = self->sets[s];
        weighed[s].parameters = parameters;
        if (!parameters) {
            status = pd_fail(&self->error, PD_ERROR_MEMORY, "out of memory for ADMM of %d elements", self->sets[s].n);
            goto done;
        }
        PD_TRY(weigh(self, &self->sets[s], parameters, &admm->weights[s]));
        PD_TRY(pd_memory_create(self->context, (void **)&admm->duals[s], dual_bytes(&self->model.kinds[s])));
    }
    for (size_t i = 0; i < n; i++) inertia[i] = self->masses[i] * inverse_h * inverse_h;
    PD_TRY(pd_simulation_need_pattern(self));
    PD_TRY(pd_system_matrix_create(&A, (int)n, inertia, inverse_h, weighed, self->n_sets, &self->pattern, &self->corners,
                                   pd_context_threads(self->context), &self->error));
    PD_TRY(pd_linear_create(&admm->linear, self->context, self->cholesky, &self->settings.linear, &A, self->fixed, NULL, 3));
    PD_TRY(pd_linear_prepare(admm->linear));
done:
    for (int s = 0; weighed && s < self->n_sets; s++) free((void *)weighed[s].parameters);
    free(weighed);
    free(inertia);
    pd_csr_destroy(&A);
    if (status)
        pd_admm_destroy(admm);
    else
        self->admm = admm;
    return status;
}

static pd_status direction(pd_simulation *self, int *stalled) {
    pd_step_data step = pd_simulation_step_data(self);
    pd_admm *admm = self->admm;
    pd_status status = PD_OK;
    pd_linear_result result;
    *stalled = 0;
    for (int s = 0; self->iteration == 0 && s < self->model.n_kinds; s++)
        PD_TRY(pd_memory_clear(self->context, admm->duals[s], dual_bytes(&self->model.kinds[s])));
    PD_TRY(pd_admm_local(self->context, &self->model, &step, self->x, self->offset, admm->weights, admm->duals, self->gradient));
    PD_TRY(pd_linear_solve(admm->linear, self->gradient, self->direction, NULL, &result));
done:
    return status;
}

const pd_method pd_admm_method = {.name = "ADMM", .prepare = prepare, .direction = direction};
