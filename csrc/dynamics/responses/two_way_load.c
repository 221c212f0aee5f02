/* The load of contact by the two-way interior point method on the solver; see two_way_load.h. */
#include "dynamics/responses/two_way_load.h"

#include "contact/two_way/two_way.h"

#include <math.h>
#include <stdlib.h>

/* The load has settled when no vertex's part of it changes by more than this fraction of delta. */
static const double SETTLED = 2e-2;

pd_status pd_two_way_load_create(pd_two_way_load *load, const pd_problem *problem) {
    real **vectors[] = {&load->moved, &load->found, &load->before};
    pd_status status = PD_OK;
    if (!(load->host = malloc(2 * pd_problem_bytes(problem) + 1)))
        return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for %d vertices", problem->model->n_vertices);
    for (int i = 0; !status && i < 3; i++) status = pd_memory_create(problem->context, (void **)vectors[i], pd_problem_bytes(problem));
    return status;
}

void pd_two_way_load_destroy(pd_two_way_load *load, const pd_problem *problem) {
    PD_MEMORIES_DESTROY(problem->context, load->moved, load->found, load->before);
    free(load->host);
}

pd_status pd_two_way_load_begin(pd_two_way_load *load, const pd_problem *problem) {
    double target_lag;
    pd_status status = PD_OK;
    PD_TRY(pd_contact_target_lag(problem->scene, &target_lag));
    load->prescribed = !(target_lag <= 0.0);
    load->updates = load->last = 0, load->momentum = 1.0, load->change = INFINITY;
    PD_TRY(pd_memory_clear(problem->context, load->moved, pd_problem_bytes(problem)));
    PD_TRY(pd_memory_clear(problem->context, load->found, pd_problem_bytes(problem)));
done:
    return status;
}

pd_status pd_two_way_load_take(const pd_two_way_load *load, const pd_problem *problem, const real *target) {
    pd_status status;
    PD_TRY(pd_memory_copy(problem->context, problem->trial_offset, target, pd_problem_bytes(problem)));
    PD_TRY(pd_add_scaled(problem->context, problem->model, target, -1.0, load->moved, problem->trial_offset));
done:
    return status;
}

/* Moves the inertial target by alpha d; the iterate stays. */
static pd_status move_target(const pd_problem *problem, double alpha, const real *d, real *offset) {
    pd_status status;
    PD_TRY(pd_add_scaled(problem->context, problem->model, problem->step.predicted_displacement, alpha, d,
                         problem->step.predicted_displacement));
    PD_TRY(pd_add_scaled(problem->context, problem->model, offset, -alpha, d, offset));
done:
    return status;
}

/* moved = found + beta (found - before) */
static pd_status extrapolate(pd_two_way_load *load, const pd_problem *problem, double change) {
    const pd_model *model = problem->model;
    pd_status status;
    if (!(change <= load->change)) load->momentum = 1.0;
    double next = 0.5 * (1.0 + sqrt(1.0 + 4.0 * load->momentum * load->momentum)), beta = (load->momentum - 1.0) / next;
    load->momentum = next, load->change = change;
    PD_TRY(pd_add_scaled(problem->context, model, load->found, beta, load->found, load->moved));
    PD_TRY(pd_add_scaled(problem->context, model, load->moved, -beta, load->before, load->moved));
done:
    return status;
}

/* problem->trial_gradient = found - moved; its largest vector, m, and its square, m^2. */
static pd_status find_change(const pd_two_way_load *load, const pd_problem *problem, double *largest, double *square) {
    pd_context *context = problem->context;
    real *change = problem->trial_gradient;
    double found[3];
    pd_status status;
    PD_TRY(pd_memory_clear(context, change, pd_problem_bytes(problem)));
    PD_TRY(pd_add_scaled(context, problem->model, load->found, -1.0, load->moved, change));
    PD_TRY(pd_largest_move(context, problem->model->n_vertices, NULL, load->found, load->moved, problem->scalars));
    PD_TRY(pd_dot(context, problem->model, change, change, problem->scalars + 2));
    PD_TRY(pd_memory_download(context, found, problem->scalars, sizeof found));
    *largest = sqrt(found[0]), *square = found[2];
done:
    return status;
}

pd_status pd_two_way_load_next(pd_two_way_load *load, const pd_problem *problem, real *offset, int ended, int *again) {
    pd_context *context = problem->context;
    real *swap = load->before;
    double largest, square;
    int settled, left = pd_two_way_passes(load->two_way) - ++load->updates;
    pd_status status = PD_OK;
    *again = 0;
    load->before = load->found, load->found = swap;
    PD_TRY(move_target(problem, -1.0, load->moved, offset));
    PD_TRY(pd_memory_clear(context, load->found, pd_problem_bytes(problem)));
    PD_TRY(pd_add_scaled(context, problem->model, load->found, 1.0, pd_two_way_target(load->two_way), load->found));
    PD_TRY(pd_add_scaled(context, problem->model, load->found, -1.0, pd_two_way_origin(load->two_way), load->found));
    if (load->last || left <= 0 || !ended) return PD_OK;
    PD_TRY(find_change(load, problem, &largest, &square));
    settled = largest <= SETTLED * pd_two_way_distance(load->two_way);
    if (settled && load->updates == 1) return PD_OK;
    *again = 1;
    load->last = settled || left == 1;
    if (load->last)
        PD_TRY(pd_memory_copy(context, load->moved, load->found, pd_problem_bytes(problem)));
    else
        PD_TRY(extrapolate(load, problem, square));
    PD_TRY(move_target(problem, 1.0, load->moved, offset));
done:
    return status;
}
