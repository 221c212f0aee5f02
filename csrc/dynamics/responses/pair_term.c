/* Pairs as a term of G; see pair_term.h. */
#include "dynamics/responses/pair_term.h"

#include "contact/potential/contact.h"
#include "dynamics/contact/contact_record.h"
#include "dynamics/contact/step_limiter.h"
#include "dynamics/problem/block_hessian.h"
#include "dynamics/responses/pairs_in_step.h"

#include <math.h>

pd_status pd_pair_term_create(pd_problem *problem, const pd_description *description) {
    pd_status status = pd_pairs_create(problem, description);
    problem->contact = problem->scene;
    return status;
}

pd_status pd_pair_term_potential(const pd_problem *problem, const real *x, double *energies) {
    pd_status status = pd_contact_potential(problem->contact, x, &energies[PD_ENERGY_CONTACT]);
    return status ? status : pd_contact_friction_potential(problem->contact, &energies[PD_ENERGY_FRICTION]);
}

pd_status pd_pair_term_gradient(const pd_problem *problem, const real *x, real *gradient) {
    return pd_contact_add_gradient(problem->contact, problem->model, x, gradient);
}

pd_status pd_pair_term_hessian(const pd_problem *problem, const real *x, pd_hessian_filter filter) {
    const pd_block_hessian *hessian = problem->hessian;
    pd_status status = pd_contact_hessians(problem->contact, x, filter);
    return status ? status : pd_contact_add_blocks(problem->contact, problem->model, hessian->diagonal_slots, hessian->blocks);
}

static pd_status advance_touching(pd_simulation *self, const double *weights, double *scalars) {
    const pd_problem *problem = self->problem;
    pd_iterate *iterate = &self->iterate;
    pd_contact_sweep ignored;
    pd_status status = PD_OK;
    int keeps = self->method->keeps_bounds;
    if (!keeps) PD_TRY(pd_contact_bound_displacements(problem->contact, iterate->x, &ignored));
    if (iterate->replaced && iterate->number > 0) PD_TRY(pd_step_limiter_keep(self)); // it may have returned to an earlier iterate
    PD_TRY(pd_advance_touching(problem->context, problem->model, weights[0], iterate->correction, weights[1],
                               pd_contact_touching(problem->contact), keeps ? pd_contact_displacement_bounds_of(problem->contact) : NULL,
                               iterate->increment, iterate->x, iterate->offset, scalars));
done:
    return status;
}

pd_status pd_pair_term_advance(pd_simulation *self, const double *weights, int report) {
    const pd_problem *problem = self->problem;
    // rigid bodies have no bound per vertex
    if (!problem->rigid && (self->method->keeps_bounds || self->accelerator))
        return advance_touching(self, weights, report ? problem->scalars : NULL);
    return pd_iterate_advance(problem, &self->iterate, NULL, weights, report);
}

/* Reads keys, distance, activation and separation of the n pairs that may act. */
static pd_status read_gaps(pd_contact *contact, int lag, pd_contact_recorder *r, size_t n) {
    pd_contact_columns columns = {.activation = r->activation, .separation = r->separation};
    pd_penalty *penalty = pd_contact_penalty(contact, lag);
    pd_status status = PD_OK;
    if (!penalty) {
        PD_TRY(pd_contact_read_columns(contact, &columns, r->keys));
        return pd_contact_read(contact, PD_CONTACT_DISTANCE, r->distance);
    }
    pd_penalty_view view = pd_penalty_pairs_of(penalty);
    PD_TRY(pd_penalty_read_back(penalty, r->keys, view.keys, n * sizeof *r->keys));
    PD_TRY(pd_penalty_read(penalty, PD_PENALTY_RANGE, pd_contact_points(contact), r->activation));
    PD_TRY(pd_penalty_read(penalty, PD_PENALTY_GAP, pd_contact_points(contact), r->distance));
    for (size_t p = 0; p < n; p++) r->separation[p] = 0;
done:
    return status;
}

pd_status pd_pair_term_row(pd_simulation *self, pd_contact_recorder *r, const real *x, pd_contact_row *row) {
    const pd_problem *problem = self->problem;
    pd_contact *contact = problem->contact;
    double ahead = (double)pd_contact_thickness(contact);
    pd_status status = PD_OK;
    if (x) PD_TRY(pd_contact_begin(contact, problem->x_t, PD_LAG_OF_QUESTION));
    if (x) PD_TRY(pd_memory_upload(problem->context, problem->trial, x, pd_problem_bytes(problem)));
    pd_contact_set_ahead(contact, x != NULL);
    PD_TRY(pd_contact_potential(contact, x ? problem->trial : self->iterate.x, &row->potential));
    PD_TRY(pd_contact_friction_potential(contact, &row->friction));
    size_t n = (size_t)pd_contact_pairs_of(contact).n;
    PD_TRY(pd_contact_recorder_next(r, n, problem->error));
    PD_TRY(read_gaps(contact, x ? PD_LAG_OF_QUESTION : PD_LAG_OF_STEP, r, n));
    for (size_t p = 0; p < n; p++) {
        double d = (double)r->distance[p], separation = (double)r->separation[p];
        row->smallest_distance = fmin(row->smallest_distance, d - (separation - ahead));
        if (d < separation + (double)r->activation[p]) r->keys[r->n++] = r->keys[p];
    }
done:
    return status;
}
