/* The rules of a step for rigid bodies; see rigid_step.h. */
#include "dynamics/step/rigid_step.h"

#include "dynamics/problem/inertia.h"
#include "dynamics/problem/potential.h"
#include "dynamics/response.h"
#include "dynamics/rigid/rigid.h"

/* Inertia and elements at x, without contact; offset replaces x - y. */
static pd_status find_energies(const pd_problem *problem, const real *x, const real *offset, double *inertia, double *elements) {
    double energies[PD_ENERGY_COUNT];
    pd_status status = pd_problem_element_energies(problem, x, offset, energies);
    if (status) return status;
    *elements = 0.0;
    for (int kind = 0; kind < PD_KIND_COUNT; kind++) *elements += energies[kind];
    *inertia = energies[PD_ENERGY_INERTIA];
    return PD_OK;
}

/* Another guess is used if its G is below this fraction of G at the inertial target. The target contains the motion of soft modes, which
 * first-order methods find last. So a guess with a slightly lower G costs quasi-Newton thousands of iterations. */
static const double LOWER_GUESS = 0.1;

pd_status pd_rigid_choose_first_guess(pd_simulation *self) {
    static const int others[] = {PD_GUESS_INERTIA, PD_GUESS_PREVIOUS};
    const pd_problem *problem = self->problem;
    pd_iterate *iterate = &self->iterate;
    size_t bytes = pd_problem_bytes(problem);
    double inertia, elements, least;
    pd_status status = PD_OK;
    if (!problem->rigid->n_joined) return PD_OK;
    PD_TRY(find_energies(problem, iterate->x, iterate->offset, &inertia, &elements));
    least = LOWER_GUESS * (inertia + elements);
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        PD_TRY(pd_inertia_first_guess(problem, others[k], self->v, self->v_previous, self->has_previous, self->targets, problem->trial,
                                      problem->trial_offset));
        PD_TRY(pd_rigid_place(problem, problem->trial, problem->trial_offset));
        PD_TRY(find_energies(problem, problem->trial, problem->trial_offset, &inertia, &elements));
        if (!(inertia + elements < least) && isfinite(least)) continue;
        least = inertia + elements;
        PD_TRY(pd_memory_copy(problem->context, iterate->x, problem->trial, bytes));
        PD_TRY(pd_memory_copy(problem->context, iterate->offset, problem->trial_offset, bytes));
    }
done:
    return status;
}

pd_status pd_rigid_report_cap(pd_simulation *self, pd_step_result *result) {
    if (!self->problem->rigid || result->stop != PD_STOP_ITERATION_CAP || !(result->rigid.guess > 0.0)) return PD_OK;
    return pd_problem_potential(self->problem, self->iterate.x, self->iterate.offset, &result->rigid.end, NULL);
}

/* out = alpha a + beta b at free vertices, 0 at others. */
static pd_status combine(const pd_problem *problem, double alpha, const real *a, double beta, const real *b, real *out) {
    pd_status status = PD_OK;
    PD_TRY(pd_memory_clear(problem->context, out, pd_problem_bytes(problem)));
    PD_TRY(pd_add_scaled(problem->context, problem->model, out, alpha, a, out));
    if (beta != 0.0) PD_TRY(pd_add_scaled(problem->context, problem->model, out, beta, b, out));
done:
    return status;
}

/* before and after: kinetic energy, elements, and the work of the load. With an offset o the inertia of G is the sum of m |o|^2 / (2h^2): o
 * = h v gives the kinetic energy, and half the difference of two such terms the work. */
static pd_status find_balance(pd_simulation *self, double *before, double *after) {
    const pd_problem *problem = self->problem;
    double h = problem->h, kinetic, elements, more, less, ignored;
    real *o = problem->trial_offset, *move = problem->trial;
    pd_status status = PD_OK;
    PD_TRY(combine(problem, h, self->v_previous, 0.0, NULL, o));
    PD_TRY(find_energies(problem, problem->x_t, o, &kinetic, &elements));
    *before = kinetic + elements;
    PD_TRY(combine(problem, h, self->v, 0.0, NULL, o));
    PD_TRY(find_energies(problem, self->iterate.x, o, &kinetic, &elements));
    *after = kinetic + elements;
    PD_TRY(combine(problem, 1.0, self->iterate.x, -1.0, problem->x_t, move));
    PD_TRY(combine(problem, 1.0, move, h * h, problem->external_acceleration, o));
    PD_TRY(find_energies(problem, self->iterate.x, o, &more, &ignored));
    PD_TRY(combine(problem, 1.0, move, -h * h, problem->external_acceleration, o));
    PD_TRY(find_energies(problem, self->iterate.x, o, &less, &ignored));
    *before += 0.5 * (more - less);
done:
    return status;
}

pd_status pd_rigid_report(pd_simulation *self, pd_step_result *result) {
    const pd_problem *problem = self->problem;
    const pd_rigid *rigid = problem->rigid;
    pd_rigid_outcome *outcome = &result->rigid;
    pd_status status = PD_OK;
    if (!rigid || !(problem->h > 0.0)) return PD_OK;
    PD_TRY(pd_memory_download(problem->context, rigid->host_angles, rigid->angles, (size_t)rigid->n * sizeof *rigid->host_angles));
    for (int b = 0; b < rigid->n; b++) {
        int kind = rigid->joined[b];
        if (rigid->host_angles[b] > outcome->turn[kind]) outcome->turn[kind] = rigid->host_angles[b], outcome->turning[kind] = b;
    }
    if (!rigid->n_joined || problem->response->potential || result->stop == PD_STOP_CONVERGED) return PD_OK;
    PD_TRY(find_balance(self, &outcome->before, &outcome->after));
done:
    return status;
}
