/* The incremental potential and its gradient at a point; see potential.h. */
#include "dynamics/problem/potential.h"

#include "dynamics/problem/custom_elements.h"
#include "dynamics/response.h"
#include "dynamics/rigid/rigid.h"

pd_status pd_problem_element_energies(const pd_problem *self, const real *x, const real *offset, double *energies) {
    pd_status status = pd_custom_refresh(self, x, PD_REQUEST_ENERGY);
    pd_context_tally(self->context)->potentials++;
    if (!status) status = pd_potential(self->context, self->model, &self->step, x, offset, self->scalars);
    return status ? status : pd_memory_download(self->context, energies, self->scalars, PD_ENERGY_COUNT * sizeof(double));
}

pd_status pd_problem_energies(const pd_problem *self, const real *x, const real *offset, double *energies) {
    pd_status status = pd_problem_element_energies(self, x, offset, energies);
    return status || !self->response->potential ? status : self->response->potential(self, x, energies);
}

pd_status pd_problem_potential(const pd_problem *self, const real *x, const real *offset, double *potential, double *magnitude) {
    double energies[PD_ENERGY_COUNT];
    pd_status status = pd_problem_energies(self, x, offset, energies);
    if (status) return status;
    *potential = 0.0;
    for (int i = 0; i < PD_ENERGY_COUNT; i++) *potential += energies[i];
    if (magnitude) {
        *magnitude = 0.0;
        for (int i = 0; i < PD_ENERGY_COUNT; i++) *magnitude += fabs(energies[i]);
    }
    return PD_OK;
}

/* dG/dx, not counted as work. */
static pd_status find_gradient(const pd_problem *self, const real *x, const real *offset, real *gradient) {
    pd_status status = pd_custom_refresh(self, x, PD_REQUEST_STRESS);
    if (!status) status = pd_gradient(self->context, self->model, &self->step, x, offset, gradient);
    if (!status && self->response->gradient) status = self->response->gradient(self, x, gradient);
    if (!status && self->rigid) status = pd_rigid_gather(self, x, gradient);
    return status;
}

pd_status pd_problem_gradient(const pd_problem *self, const real *x, const real *offset, real *gradient) {
    pd_context_tally(self->context)->gradients++;
    return find_gradient(self, x, offset, gradient);
}

pd_status pd_problem_local_step(const pd_problem *self, const real *x, const real *offset, real *gradient) {
    pd_context_tally(self->context)->projections++;
    return find_gradient(self, x, offset, gradient);
}

pd_status pd_problem_product(const pd_problem *self, const real *x, const real *y, double *product) {
    pd_status status = pd_dot(self->context, self->model, x, y, self->scalars);
    return status ? status : pd_memory_download(self->context, product, self->scalars, sizeof *product);
}

pd_status pd_problem_norm(const pd_problem *self, const real *vector, double *norm) {
    pd_status status = pd_problem_product(self, vector, vector, norm);
    *norm = sqrt(*norm);
    return status;
}
