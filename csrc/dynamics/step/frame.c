/* The step of all solvers:
 *
 *     begin(x_t), first guess
 *     iterations of the solver, in chunks: correction, acceleration, move, readback of the result
 *     the update of contact, if its response has one
 *     velocity
 *
 * If contact found more pairs than its lists can store (limiter.outgrown), the step is repeated from x_t up to the velocity.
 *
 * A solver contributes the correction (method.h), an accelerator changes it (accelerator.h), and a response handles contact (response.h,
 * called by contact_step.h). This file has the order; convergence.c and divergence.c have the stopping rules. */
#include "base/clock.h"
#include "dynamics/contact/balance.h"
#include "dynamics/contact/step_limiter.h"
#include "dynamics/divergence/divergence.h"
#include "dynamics/problem/inertia.h"
#include "dynamics/problem/potential.h"
#include "dynamics/problem/rounding.h"
#include "dynamics/response.h"
#include "dynamics/rigid/rigid.h"
#include "dynamics/step/chunk.h"
#include "dynamics/step/contact_step.h"
#include "dynamics/step/convergence.h"
#include "dynamics/step/rigid_step.h"
#include "dynamics/step/step_target.h"

/* The state of a step in progress. */
typedef struct run {
    pd_simulation *simulation;
    const pd_observer *observer;
    pd_step_result *result;
    int recording;
    int unrecorded; /* the row of the last iteration is not yet written */
    int before;     /* iterations of earlier passes: a step with several friction lags has several passes */
    pd_growth growth;
    pd_reference reference; /* of the tolerance */
    pd_iteration row;       /* of the record */
    const real *guess;      /* H [n,3], replaces the first guess; or NULL */
} run;

static pd_status first_guess(run *r, const real *targets) {
    pd_simulation *self = r->simulation;
    const pd_problem *problem = self->problem;
    pd_status status = PD_OK;
    size_t bytes = pd_problem_bytes(problem);
    double start = pd_seconds();
    self->iterate.evaluated = 0;
    if (targets)
        PD_TRY(pd_send(problem->context, &self->sent, self->targets, targets, bytes));
    else
        PD_TRY(pd_memory_copy(problem->context, self->targets, self->iterate.x, bytes));
    PD_TRY(pd_inertia_first_guess(problem, self->settings.initialization, self->v, self->v_previous, self->has_previous, self->targets,
                                  self->iterate.x, self->iterate.offset));
    if (r->guess) { // G refers to the state in any case
        PD_TRY(pd_memory_upload(problem->context, self->iterate.x, r->guess, bytes));
        PD_TRY(pd_inertia_offset(problem, self->iterate.x, self->v, self->iterate.offset));
    }
    if (problem->rigid) PD_TRY(pd_rigid_place(problem, self->iterate.x, self->iterate.offset));
    if (problem->rigid && self->settings.lower_guess && !r->guess && problem->h > 0) PD_TRY(pd_rigid_choose_first_guess(self));
    PD_TRY(pd_memory_clear(problem->context, self->iterate.increment, bytes));
    PD_TRY(pd_chunks_begin(self));
    PD_TRY(pd_contact_step_first_guess(self, r->guess != NULL));
    r->result->phases[PD_PHASE_FIRST_GUESS] += pd_seconds() - start;
done:
    return status;
}

/* The measures of pins and obstacles in the record. */
static pd_status measure_prescribed(run *r) {
    r->row.outer = r->simulation->limiter.drives;
    r->row.stagnations = r->simulation->limiter.stagnations;
    pd_status status = pd_step_limiter_held_back(r->simulation, &r->row.held_back);
    return status ? status : pd_step_limiter_target_lag(r->simulation, &r->row.target_lag);
}

/* Passes on the row. */
static pd_status pass_row(run *r) {
    pd_simulation *self = r->simulation;
    const pd_tally before = pd_tally_pause(self->problem->context);
    pd_status status = r->observer->record(r->observer->user, self, &r->row);
    pd_tally_resume(self->problem->context, &before);
    return status;
}

/* Measures the iterate and passes on its row. */
static pd_status record_row(run *r) {
    pd_simulation *self = r->simulation;
    pd_status status = PD_OK;
    PD_TRY(measure_prescribed(r));
    PD_TRY(pd_convergence_evaluate(self, &r->growth.potential, &r->growth.norm));
    r->row.potential = r->growth.potential, r->row.gradient_norm = r->growth.norm;
    r->unrecorded = 0;
    PD_TRY(pass_row(r));
done:
    return status;
}

/* Tells whether the row of an iteration is recorded immediately. A last iteration that is not chosen is recorded after the loop. */
static int is_chosen(const run *r, int iteration) {
    const unsigned char *chosen = r->observer->chosen;
    return !chosen || iteration > r->simulation->settings.iterations || chosen[iteration];
}

/* Computes the reference values of the growth test, and row 0 of the record. */
static pd_status read_first_guess(run *r) {
    pd_simulation *self = r->simulation;
    pd_growth *growth = &r->growth;
    pd_status status = PD_OK;
    r->row.step_limit = self->limiter.fraction;
    r->row.work = *pd_context_tally(self->problem->context);
    if (r->recording) PD_TRY(measure_prescribed(r));
    int has_safeguard =
        self->method->has_safeguard &&
        self->method->has_safeguard(self->method_memory); // a method with its own safeguard needs a finite initial objective
    if (r->recording || self->settings.tolerance > 0 || has_safeguard) {
        PD_TRY(pd_convergence_evaluate(self, &growth->first_potential, &growth->first_norm));
        growth->first_magnitude = self->iterate.magnitude;
        r->row.potential = growth->first_potential, r->row.gradient_norm = growth->first_norm;
        r->reference.first_norm = growth->first_norm;
        if (self->problem->rigid) r->result->rigid.guess = growth->first_potential;
    }
    // the first row also of a run that ends here
    if (r->recording) PD_TRY(pass_row(r));
    if (!isfinite(growth->first_norm) || !isfinite(growth->first_potential))
        status = pd_diverged(self, 0, "the potential of the first guess is not finite");
done:
    return status;
}

/* No vertex moves, or no move lowers G: converged if the gradient is within the tolerance or rounding. Not if contact has shortened the
 * step, since a gap as small as rounding stops every motion. */
static pd_status end_without_decrease(run *r, int iteration) {
    pd_simulation *self = r->simulation;
    const pd_problem *problem = self->problem;
    pd_status status = PD_OK;
    double norm = 0.0;
    const pd_tally before = pd_tally_pause(self->problem->context);
    PD_TRY(pd_problem_gradient(problem, self->iterate.x, self->iterate.offset, problem->trial_gradient));
    PD_TRY(pd_problem_norm(problem, problem->trial_gradient, &norm));
    pd_tally_resume(self->problem->context, &before);
    if (!isfinite(norm)) return pd_diverged(self, iteration, "the gradient is not finite");
    int is_free, within;
    PD_TRY(pd_step_limiter_is_free(self, &is_free));
    is_free = is_free && self->limiter.arrived && !self->iterate.cut;
    r->result->at_rounding = is_free && norm <= pd_rounding_of_gradient(problem, self->iterate.x);
    PD_TRY(pd_convergence_within(self, &r->reference, norm, &within));
    within = within && is_free;
    r->result->stop = r->result->at_rounding || within ? PD_STOP_CONVERGED : PD_STOP_STALLED;
done:
    return status;
}

/* The next n iterations within the timing; with `device_read` they end with a read of the report of pd_chunk_run. On an asynchronous device a
 * phase is charged for its synchronisation: the readback for all kernels. */
static pd_status run_chunk(run *r, int n, pd_device_read device_read, double report[3], int *stalled) {
    pd_simulation *self = r->simulation;
    const pd_problem *problem = self->problem;
    double seconds[2], start;
    pd_contact_seconds before = pd_contact_step_seconds(self), after;
    pd_status status = pd_chunk_run(self, n, device_read, r->recording, seconds);
    *stalled = self->iterate.stalled;
    r->row.direction_seconds = seconds[0];
    r->row.advance_seconds = seconds[1];
    if (status) return status;
    if (!*stalled) {
        start = pd_seconds();
        if (device_read) PD_TRY(pd_mark(problem->context, PD_MARK_END));
        size_t reported = device_read == PD_DEVICE_READ_GRADIENT ? 3 : 2;
        if (device_read) PD_TRY(pd_contact_step_read(self, reported, report));
        if (self->method->finish && self->iterate.number + 1 == self->settings.iterations)
            PD_TRY(self->method->finish(self->method_memory, problem, &self->iterate));
        PD_TRY(pd_contact_step_after(self));
        report[0] *= self->limiter.kept * self->limiter.kept;
        r->row.advance_seconds += pd_seconds() - start;
    }
    after = pd_contact_step_seconds(self); // the time of records is excluded
    r->row.culling_seconds += after.culling - before.culling;
    r->row.ccd_seconds += after.impact - before.impact;
    r->row.projection_seconds += after.projection - before.projection;
    r->result->setup_seconds += self->iterate.setup;
    r->result->phases[PD_PHASE_DIRECTION] += r->row.direction_seconds;
    r->result->phases[PD_PHASE_ADVANCE] += r->row.advance_seconds;
    r->result->seconds += r->row.direction_seconds + r->row.advance_seconds;
done:
    return status;
}

/* Processes the results up to this iteration: record, divergence, end of the step. `check`: a run without a record reads this iteration
 * too, so that both end at the same iteration. */
static pd_status read_iterate(run *r, pd_device_read device_read, const double report[3], int check) {
    pd_simulation *self = r->simulation;
    const pd_settings *settings = &self->settings;
    pd_growth *growth = &r->growth;
    pd_status status = PD_OK;
    int iteration = r->result->iterations;
    if (device_read == PD_DEVICE_READ_GRADIENT) {
        growth->norm = sqrt(report[2]);
        if (growth->first_norm <= 0.0) growth->first_norm = growth->norm;
    }
    // without a gradient, or a potential (forces may grow with soft bodies), the test of growth uses the moves
    if (!self->method->fills_gradient) {
        growth->moves = sqrt(report[0]);
        if (growth->first_moves <= 0.0) growth->first_moves = growth->moves;
    }
    r->row.step_limit = self->limiter.fraction;
    r->row.work = *pd_context_tally(self->problem->context);
    r->row.number = iteration, r->row.seconds = r->result->seconds, r->row.step_norm = sqrt(report[0]);
    r->unrecorded = r->recording;
    if (r->recording && is_chosen(r, iteration))
        PD_TRY(record_row(r));
    else if (check && settings->tolerance > 0)
        PD_TRY(pd_convergence_evaluate(self, &growth->potential, &growth->norm));
    PD_TRY(pd_divergence_of_iterate(self, growth, report[0], iteration));
    if (self->problem->response->rounds) return PD_OK; // such a response has its own rule
    if (!self->limiter.arrived) return PD_OK; // a solution for the present positions of pins and obstacles is not yet that of the step
    if (!check) return PD_OK;
    if (report[1] == 0.0) {
        PD_TRY(end_without_decrease(r, iteration));
    } else {
        int within;
        PD_TRY(pd_convergence_of_step(self, &within));
        if (!within) PD_TRY(pd_convergence_within(self, &r->reference, growth->norm, &within));
        if (!within && settings->tolerance > 0) within = pd_rounding_holds_poses(self->problem, self->iterate.x, report[0], growth->norm);
        if (within) r->result->stop = PD_STOP_CONVERGED;
    }
    if (r->result->stop == PD_STOP_CONVERGED && !r->result->at_rounding) {
        int is_free;
        PD_TRY(pd_step_limiter_is_free(self, &is_free));
        if (!is_free) r->result->stop = PD_STOP_ITERATION_CAP;
    }
done:
    return status;
}

/* Iterations of the solver until a rule stops them; a method sees those of one pass. */
static pd_status iterate(run *r) {
    pd_simulation *self = r->simulation;
    const pd_settings *settings = &self->settings;
    pd_step_result *result = r->result;
    pd_status status = PD_OK;
    if (self->limiter.rounds == PD_ROUNDS_SETTLED)
        result->stop = PD_STOP_CONVERGED; // possible before the first iteration, for contact by projections as printed
    while (result->iterations - r->before < settings->iterations && result->stop == PD_STOP_ITERATION_CAP &&
           self->limiter.rounds != PD_ROUNDS_SPENT) {
        if (r->observer && r->observer->interrupted && r->observer->interrupted(r->observer->user)) return PD_INTERRUPTED;
        self->iterate.number = result->iterations - r->before;
        int n = pd_chunk_length(self, r->recording), end = self->iterate.number + n, stalled;
        int check = end % settings->check_every == 0 || end == settings->iterations;
        double report[3] = {0.0, 1.0, 0.0};
        int moved;
        PD_TRY(pd_contact_step_before(self, &moved));
        // the gradient at the start of the correction arrives with the report: a lagging test for runs without a record
        pd_device_read device_read = self->method->fills_gradient && check && !r->recording && settings->tolerance <= 0
                                         ? PD_DEVICE_READ_GRADIENT
                                     : check || r->recording ? PD_DEVICE_READ_MOVES
                                                             : PD_DEVICE_READ_NONE;
        PD_TRY(run_chunk(r, n, device_read, report, &stalled));
        if (self->limiter.outgrown) return PD_OK;
        if (stalled && !moved) return end_without_decrease(r, result->iterations);
        if (stalled) report[1] = 0.0; // for the old positions of the prescribed points: they have moved, and may move again
        result->iterations = r->before + end;
        if (device_read) PD_TRY(read_iterate(r, device_read, report, check));
        if (result->stop == PD_STOP_ITERATION_CAP && pd_contact_step_is_due(self, end)) {
            int ignored; // they continue in any case
            PD_TRY(pd_contact_step_update(self, r->observer, result, &ignored));
            self->iterate.evaluated = 0;
        }
        if (self->limiter.rounds == PD_ROUNDS_SETTLED) result->stop = PD_STOP_CONVERGED;
    }
done:
    return status;
}

/* The same, and the row of the last iteration. */
static pd_status iterations(run *r) {
    pd_problem *problem = r->simulation->problem;
    pd_status status = iterate(r);
    if (!r->unrecorded || r->simulation->limiter.outgrown || (status && status != PD_DIVERGED)) return status;
    const pd_error why = *problem->error; // of a divergence, which remains the error of the step
    const pd_status recorded = record_row(r);
    if (recorded || !status) return recorded;
    *problem->error = why;
    return status;
}

/* G at the iterate, uncounted, where the growth test of a pass begins. */
static pd_status first_potential(run *r) {
    pd_simulation *self = r->simulation;
    const pd_problem *problem = self->problem;
    const pd_tally before = pd_tally_pause(problem->context);
    pd_status status =
        pd_problem_potential(problem, self->iterate.x, self->iterate.offset, &r->growth.first_potential, &r->growth.first_magnitude);
    pd_tally_resume(problem->context, &before);
    return status;
}

/* The same with the impulses of contact, absent in free flight: the growth test restarts from there. */
static pd_status first_loaded_potential(run *r) {
    pd_growth *growth = &r->growth;
    double norm;
    pd_status status = pd_convergence_evaluate(r->simulation, &growth->first_potential, &norm);
    if (status) return status;
    growth->first_magnitude = r->simulation->iterate.magnitude;
    growth->first_norm = fmax(growth->first_norm, norm);
    growth->first_moves = 0.0;
    return PD_OK;
}

/* Restarts the iterations from the iterate. */
static pd_status begin_pass(run *r, pd_status (*begin_growth)(run *r)) {
    pd_simulation *self = r->simulation;
    pd_status status;
    self->iterate.evaluated = 0;
    PD_TRY(pd_memory_clear(self->problem->context, self->iterate.increment, pd_problem_bytes(self->problem)));
    PD_TRY(pd_chunks_begin(self));
    PD_TRY(begin_growth(r));
    r->growth.potential = r->growth.first_potential; // of a pass that has nothing to do
    r->before = r->result->iterations;
    r->result->stop = PD_STOP_ITERATION_CAP;
    r->result->at_rounding = 0;
done:
    return status;
}

/* The iterations of a step: one pass, and another after each change of G by contact, such as a further friction lag. The first norm stays,
 * since the tolerance refers to the beginning of the step. */
static pd_status passes(run *r) {
    pd_simulation *self = r->simulation;
    pd_status status = PD_OK;
    for (int pass = 1, again = 1; again; pass++) {
        PD_TRY(iterations(r));
        if (self->limiter.outgrown) return PD_OK;
        if (r->recording) PD_TRY(pd_divergence_of_descent(self, &r->growth, r->result->iterations));
        PD_TRY(pd_contact_step_next_pass(self, pass, &again));
        if (again) PD_TRY(begin_pass(r, first_potential));
    }
done:
    return status;
}

static pd_status velocity(run *r) {
    pd_simulation *self = r->simulation;
    const pd_problem *problem = self->problem;
    double start = pd_seconds();
    pd_status status = pd_step_target_end(problem, self->iterate.x, self->iterate.offset, self->v, self->v_previous);
    if (!status) status = pd_rigid_report(self, r->result);
    if (!status && problem->response->finish) status = problem->response->finish(self);
    if (!status && r->result->iterations)
        status = pd_marked_seconds(problem->context, PD_MARK_BEGIN, PD_MARK_END, &r->result->device_seconds);
    if (!status && self->shared) status = pd_simulation_synchronise(self);
    r->result->phases[PD_PHASE_VELOCITY] = pd_seconds() - start;
    if (!status) self->has_previous = problem->h > 0;
    if (!status) pd_balance_end(self);
    return status;
}

/* Tells whether penalty pairs can be found without a read of their number: a vertex sweep uses the lists of its vertices, and the potential
 * is not needed. A backend on the host never synchronises. */
static int is_async(const run *r) {
    const pd_simulation *self = r->simulation;
    const pd_method *method = self->method;
    return method->keeps_bounds && method->capturable && method->capturable(self->method_memory) && !r->recording &&
           !(self->settings.tolerance > 0) && !pd_fetches_at_once(self->problem->context);
}

/* The step from x_t up to the velocity update. *begun: there is a state to restore. */
static pd_status solve(run *r, const real *targets, int *begun) {
    pd_simulation *self = r->simulation;
    const pd_problem *problem = self->problem;
    pd_step_result *result = r->result;
    double start = pd_seconds();
    pd_status status = PD_OK;
    self->limiter.async = is_async(r);
    pd_tally *tally = pd_context_tally(problem->context);
    *tally = self->set_up; // a repeated step, with longer lists, adds to the counts
    tally->counting = 1;
    PD_TRY(pd_simulation_begin(self));
    PD_TRY(pd_balance_begin(self));
    PD_TRY(pd_contact_step_begin(self));
    result->phases[PD_PHASE_BEGIN] += pd_seconds() - start;
    *begun = 1;
    PD_TRY(pd_step_target_begin(problem, self->v));
    PD_TRY(first_guess(r, targets));
    PD_TRY(read_first_guess(r));
    PD_TRY(pd_mark(problem->context, PD_MARK_BEGIN));
    PD_TRY(pd_mark(problem->context, PD_MARK_END)); // of a run without reads
    PD_TRY(passes(r));
    if (self->limiter.outgrown) return PD_OK;
    PD_TRY(pd_divergence_of_run(self, targets, result->iterations));
    PD_TRY(pd_step_limiter_target_lag(self, &result->target_lag));
    PD_TRY(pd_step_limiter_held_back(self, &result->held_back));
    PD_TRY(pd_rigid_report_cap(self, result));
    int again = 0;
    PD_TRY(pd_contact_step_update(self, r->observer, result, &again));
    while (again) {
        PD_TRY(begin_pass(r, first_loaded_potential));
        PD_TRY(iterations(r));
        PD_TRY(pd_contact_step_update(self, r->observer, result, &again));
    }
    PD_TRY(pd_contact_step_close(self, result));
done:
    return status;
}

pd_status pd_simulation_step(pd_simulation *self, const real *targets, const real *guess, const pd_observer *observer, int keep_diverged,
                             pd_step_result *result) {
    const pd_problem *problem = self->problem;
    const run fresh = {.simulation = self,
                       .observer = observer,
                       .result = result,
                       .recording = observer && observer->record,
                       .reference = PD_REFERENCE_EMPTY,
                       .guess = guess};
    run r = fresh;
    pd_status status = PD_OK;
    int begun = 0;
    *result = (pd_step_result){.stop = PD_STOP_ITERATION_CAP};
    PD_TRY(pd_simulation_prepare(self, NULL));
    PD_TRY(solve(&r, targets, &begun));
    while (self->limiter.outgrown) { // the seconds stay: they were spent
        PD_TRY(pd_contact_step_restore(self));
        r = fresh;
        result->stop = PD_STOP_ITERATION_CAP;
        result->at_rounding = result->iterations = 0;
        PD_TRY(solve(&r, targets, &begun));
    }

done:
    pd_context_tally(problem->context)->counting = 0;
    if (!status) pd_tally_add(&self->said, &self->set_up), self->set_up = (pd_tally){0};
    status = pd_problem_keep_error(problem, status);
    if (status && begun) pd_contact_step_restore(self);
    if (status == PD_DIVERGED && keep_diverged) {
        result->stop = PD_STOP_DIVERGED;
        return PD_OK;
    }
    return status ? status : pd_problem_keep_error(problem, velocity(&r));
}
