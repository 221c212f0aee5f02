/* ADMM on the incremental potential [Overby, Brown, Li, Narain 2017, ADMM ⊇ Projective Dynamics: Fast Simulation of Hyperelastic
 * Models with Dynamic Constraints].
 *
 * G is split into inertia in x and the elements' energies in z, with z = F(x) as the constraint and u its scaled dual. One iteration is
 * the local problem of every element (elements/admm.h), and one solve with the matrix of Projective Dynamics, written for d = x - x':
 *
 *     A d = M/h^2 (x - y) + sum w S^T (F(x) - z + u),   A = M/h^2 + sum w S^T S.
 *
 * u = 0 at the start of a step. A fixed point has z = F(x) and w u = dE/dF there, so that x is stationary for G; on the way to it G
 * may rise, and may end a short run above where it began, which is no divergence. */
#include "dynamics/method.h"

#include <stdlib.h>

struct pd_admm {
    pd_context *context;
    real *duals[PD_KIND_COUNT]; /* B [elements,3,d] of each kind of the model */
};

void pd_admm_destroy(pd_admm *admm) {
    if (!admm) return;
    for (int s = 0; s < PD_KIND_COUNT; s++) pd_memory_destroy(admm->context, admm->duals[s]);
    free(admm);
}

static size_t dual_bytes(const pd_elements *g) { return (size_t)g->n * 3 * (size_t)pd_kind_shape_of(g->kind).columns * sizeof(real); }

static pd_status prepare(pd_simulation *self) {
    pd_linear *linear;
    pd_status status = PD_OK;
    for (int s = 0; s < self->n_sets; s++) {
        const pd_element_set *set = &self->sets[s];
        if (set->kind < PD_NEO_HOOKEAN_TET) continue;
        for (int e = 0; e < set->n; e++)
            if (!(set->parameters[2 * (size_t)e] > 0) && set->parameters[2 * (size_t)e + 1] > 0)
                return pd_fail(&self->error, PD_ERROR_VALUE,
                               "solver: ADMM weighs an element by mu, which must be greater than 0 where lam is; %s element %d has mu = 0",
                               pd_kind_shape_of(set->kind).name, e);
    }
    if (!self->admm) self->admm = calloc(1, sizeof *self->admm);
    if (!self->admm) return pd_fail(&self->error, PD_ERROR_MEMORY, "out of memory for ADMM");
    self->admm->context = self->context;
    for (int s = 0; s < self->model.n_kinds; s++)
        if (!self->admm->duals[s])
            PD_TRY(pd_memory_create(self->context, (void **)&self->admm->duals[s], dual_bytes(&self->model.kinds[s])));
    PD_TRY(pd_simulation_linear(self, &linear));
    PD_TRY(pd_linear_prepare(linear));
done:
    return status;
}

static pd_status direction(pd_simulation *self, int *stalled) {
    pd_step_data step = pd_simulation_step_data(self);
    pd_status status = PD_OK;
    pd_linear_result result;
    *stalled = 0;
    for (int s = 0; self->iteration == 0 && s < self->model.n_kinds; s++)
        PD_TRY(pd_memory_clear(self->context, self->admm->duals[s], dual_bytes(&self->model.kinds[s])));
    PD_TRY(pd_admm_local(self->context, &self->model, &step, self->x, self->offset, self->admm->duals, self->gradient));
    PD_TRY(pd_linear_solve(self->linear, self->gradient, self->direction, NULL, &result));
done:
    return status;
}

const pd_method pd_admm_method = {.name = "ADMM", .prepare = prepare, .direction = direction, .uses_linear = 1};
