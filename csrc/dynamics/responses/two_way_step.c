/* The two-way interior point method in the common frame; see two_way_step.h. */
#include "dynamics/responses/two_way_step.h"

#include "base/clock.h"
#include "dynamics/divergence/divergence.h"

/* The observer of a step, as that of an update. */
typedef struct watcher {
    const pd_observer *observer;
    pd_simulation *simulation;
} watcher;

static pd_status progress(void *user, const pd_two_way_progress *at) {
    watcher *w = user;
    return w->observer->update(w->observer->user, w->simulation, at);
}

static int interrupted(void *user) {
    watcher *w = user;
    return w->observer->interrupted(w->observer->user);
}

/* The target lag of prescribed motions, m. */
static pd_status find_target_lag(pd_simulation *self, const real *target, double *target_lag) {
    const pd_problem *problem = self->problem;
    int n = problem->model->n_vertices;
    double found[2], prescribed;
    pd_status status;
    PD_TRY(pd_contact_target_lag(problem->scene, &prescribed));
    PD_TRY(pd_memory_copy(problem->context, problem->trial_gradient, self->iterate.x, pd_problem_bytes(problem)));
    PD_TRY(pd_move_towards(problem->context, n, problem->model->fixed, 1.0, target, problem->trial_gradient));
    PD_TRY(pd_largest_move(problem->context, n, NULL, problem->trial_gradient, self->iterate.x, problem->scalars));
    PD_TRY(pd_memory_download(problem->context, found, problem->scalars, sizeof found));
    *target_lag = fmax(prescribed, sqrt(found[0]));
done:
    return status;
}

pd_status pd_two_way_step_update(pd_simulation *self, const pd_observer *observer, pd_step_result *result, int *again) {
    const pd_problem *problem = self->problem;
    pd_context *context = problem->context;
    pd_iterate *iterate = &self->iterate;
    pd_two_way_load *load = pd_two_way_load_of(self);
    pd_two_way *two_way = load->two_way;
    watcher who = {observer, self};
    const pd_two_way_watch watch = {&who, observer && observer->update ? progress : NULL,
                                    observer && observer->interrupted ? interrupted : NULL};
    size_t bytes = pd_problem_bytes(problem);
    pd_two_way_report report;
    pd_vertex_update_result *sum = &result->update;
    double start = pd_seconds();
    int bad, n = problem->model->n_vertices;
    pd_status status = PD_OK;
    *again = 0;
    PD_TRY(pd_find_not_finite(context, problem->model, iterate->x, &bad));
    if (bad >= 0) return pd_diverged(self, result->iterations, "not finite");
    PD_TRY(pd_memory_copy(context, problem->trial, iterate->x, bytes));
    PD_TRY(pd_move_towards(context, n, problem->model->fixed, 1.0, self->targets, problem->trial));
    PD_TRY(pd_two_way_load_take(load, problem, problem->trial));
    int loaded = load->updates > 0 && pd_two_way_passes(two_way) > 1 && !load->last;
    PD_TRY(pd_two_way_update(two_way, problem->trial, loaded ? problem->trial_offset : NULL, &watch, &report));
    PD_TRY(pd_find_not_finite(context, problem->model, pd_two_way_state(two_way), &bad));
    if (bad >= 0) return pd_diverged(self, result->iterations, "contact has moved a vertex to no number");
    PD_TRY(pd_two_way_load_next(load, problem, iterate->offset, report.exit != PD_TWO_WAY_CONTRADICTORY, again));
    // offset + (state - iterate): a vertex at its target has the velocity of the solver, to the last bit
    PD_TRY(pd_add_scaled(context, problem->model, pd_two_way_state(two_way), -1.0, iterate->x, iterate->correction));
    PD_TRY(pd_add_scaled(context, problem->model, iterate->offset, 1.0, iterate->correction, problem->trial_offset));
    PD_TRY(pd_memory_copy(context, iterate->offset, problem->trial_offset, bytes));
    PD_TRY(pd_memory_copy(context, iterate->x, pd_two_way_state(two_way), bytes));
    PD_TRY(pd_memory_clear(context, iterate->increment, bytes));
    iterate->replaced = 1;
    PD_TRY(find_target_lag(self, problem->trial, &result->target_lag));
    sum->updates++;
    sum->report.steps += report.steps, sum->report.searches += report.searches;
    sum->report.exit = report.exit, sum->report.residual = report.residual;
    sum->report.rows = report.rows > sum->report.rows ? report.rows : sum->report.rows;
    sum->report.colours = report.colours > sum->report.colours ? report.colours : sum->report.colours;
    for (int i = 0; i < PD_TWO_WAY_PARTS; i++) sum->report.seconds[i] += report.seconds[i];
    sum->seconds += pd_seconds() - start;
done:
    return status;
}

pd_stop pd_two_way_step_stop(const pd_step_result *result) {
    const pd_vertex_update_result *update = &result->update;
    if (update->updates == 0) return result->stop;
    if (update->report.exit == PD_TWO_WAY_STALLED || update->report.exit == PD_TWO_WAY_CONTRADICTORY) return PD_STOP_STALLED;
    int complete = update->report.exit == PD_TWO_WAY_CONVERGED && result->target_lag <= 0.0 && update->gain <= update->explained;
    return complete ? result->stop : PD_STOP_ITERATION_CAP;
}
