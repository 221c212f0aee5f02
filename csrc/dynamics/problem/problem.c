/* Creates the problem of a simulation, and its parts; see problem.h. */
#include "dynamics/problem/problem.h"

#include "contact/potential/prescribed_pairs.h"
#include "dynamics/integrator/integrator.h"
#include "dynamics/problem/block_hessian.h"
#include "dynamics/problem/custom_elements.h"
#include "dynamics/problem/reduced_hessian.h"
#include "dynamics/problem/rounding.h"
#include "dynamics/response.h"
#include "dynamics/rigid/rigid.h"

#include <stdlib.h>
#include <string.h>

/* The problem and all of its host memory. */
typedef struct assembled {
    pd_problem problem; /* first, so that a pointer to it is one to the structure */
    pd_error error;
    pd_model model;
    pd_corners corners;
    pd_rounding rounding;
    pd_block_hessian hessian;
    pd_assembled_hessian assembled;
    pd_reduced_hessian reduced;
    pd_csr system_matrix;
    pd_element_set *sets;
} assembled;

void pd_problem_destroy(pd_problem *self) {
    assembled *all = (assembled *)self;
    if (!self) return;
    pd_integrator_destroy(self->integrator, self->context);
    if (self->context) {
        void *memory[] = {self->x_t,    self->external_acceleration, self->step.predicted_displacement,
                          self->trial,  self->trial_offset,          self->trial_gradient,
                          self->scalars};
        for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(self->context, memory[i]);
        if (self->response->destroy) self->response->destroy(self);
        pd_prescribed_pairs_destroy(self->prescribed_pairs);
        pd_block_hessian_destroy(&all->hessian, self->context);
        pd_rigid_destroy(self->rigid, self->context);
        pd_custom_elements_destroy(self->custom, self->context);
        pd_model_destroy(&all->model, self->context);
        pd_context_destroy(self->context);
    }
    pd_assembled_hessian_destroy(&all->assembled);
    pd_reduced_hessian_destroy(&all->reduced);
    pd_rounding_destroy(&all->rounding);
    pd_corners_destroy(&all->corners);
    pd_csr_destroy(&all->system_matrix);
    free(all->sets);
    free(self->staging);
    free(all);
}

/* The description is borrowed. */
static pd_status keep_description(assembled *all, const pd_description *description) {
    pd_problem *self = &all->problem;
    size_t n = (size_t)description->n_vertices, sets_bytes = (size_t)description->n_sets * sizeof(pd_element_set);
    self->masses = description->masses;
    self->fixed = description->fixed;
    self->subspace = description->subspace;
    self->n_sets = description->n_sets;
    self->sets = all->sets = malloc(sets_bytes + 1);
    self->staging = calloc(n * 3 + 1, sizeof(real));
    if (!self->sets || !self->staging)
        return pd_fail(self->error, PD_ERROR_MEMORY, "out of memory for a model of %d vertices", description->n_vertices);
    if (sets_bytes) memcpy(all->sets, description->sets, sets_bytes);
    return PD_OK;
}

pd_status pd_problem_create(pd_problem **out, const pd_description *description, const pd_contact_response *response, double dt,
                            int integrator, const pd_cholesky_functions *cholesky, pd_place place, pd_error *error) {
    pd_status status = PD_OK;
    assembled *all = calloc(1, sizeof *all);
    *out = NULL;
    if (!all) return pd_fail(error, PD_ERROR_MEMORY, "out of memory");
    pd_problem *self = &all->problem;
    self->error = &all->error;
    self->model = &all->model;
    self->corners = &all->corners;
    self->rounding = &all->rounding;
    self->hessian = &all->hessian;
    self->assembled = &all->assembled;
    self->reduced = &all->reduced;
    self->system_matrix = &all->system_matrix;
    self->cholesky = cholesky;
    self->response = response;
    self->dt = dt;
    self->h = pd_integrator_effective_step(integrator, dt);
    PD_TRY(keep_description(all, description));
    if (integrator != PD_IMPLICIT_EULER)
        PD_TRY(pd_integrator_create(&self->integrator, integrator, self->h / dt, all->sets, self->n_sets, self->error));
    pd_description kept = *description;
    kept.sets = self->sets;
    PD_TRY(pd_corners_create(&all->corners, description->n_vertices, self->sets, self->n_sets, self->error));
    PD_TRY(pd_context_create(&self->context, place, self->error));
    status = pd_model_create(self->model, self->context, &kept, self->corners);
    if (!status) PD_TRY(pd_rigid_create(&self->rigid, self, description));
    if (!status) PD_TRY(pd_custom_elements_create(&self->custom, self));
    if (!status) PD_TRY(pd_rounding_create(self->rounding, self));
    real **vectors[] = {&self->x_t,   &self->external_acceleration, &self->step.predicted_displacement,
                        &self->trial, &self->trial_offset,          &self->trial_gradient};
    for (size_t i = 0; !status && i < sizeof vectors / sizeof *vectors; i++)
        status = pd_memory_create(self->context, (void **)vectors[i], pd_problem_bytes(self));
    if (!status) status = pd_memory_create(self->context, (void **)&self->scalars, (PD_ENERGY_COUNT + 2) * sizeof(double));
    if (!status && description->contact) status = pd_prescribed_pairs_create(&self->prescribed_pairs, self->context, description->contact);
    if (!status && self->integrator) status = pd_integrator_allocate(self->integrator, self);
    if (status) *self->error = *pd_context_error(self->context);
    self->step.inverse_h = self->h > 0 ? 1.0 / self->h : 0.0, self->step.x_t = self->x_t,
    self->step.external_acceleration = self->external_acceleration;
    if (!status && response->create) status = pd_problem_keep_error(self, response->create(self, description));

done:
    if (status) {
        if (error) *error = all->error;
        pd_problem_destroy(self);
    } else
        *out = self;
    return status;
}

pd_status pd_problem_keep_error(const pd_problem *self, pd_status status) {
    if (status && pd_context_error(self->context)->text[0]) {
        *self->error = *pd_context_error(self->context);
        pd_context_error(self->context)->text[0] = 0;
    }
    return status;
}
