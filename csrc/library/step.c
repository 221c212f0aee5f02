/* One step of a simulation of the C interface: its watch, and its result. */
#include "library/simulation_object.h"

#include "dynamics/contact/contact_record.h"

#include <math.h>

_Static_assert((int)PDGPU_ITERATION_CAP == (int)PD_STOP_ITERATION_CAP && (int)PDGPU_CONVERGED == (int)PD_STOP_CONVERGED &&
                   (int)PDGPU_STALLED == (int)PD_STOP_STALLED,
               "pdgpu_stop");

static pd_status record(void *user, pd_simulation *core, const pd_iteration *iteration) {
    const pdgpu_watch *watch = user;
    pd_contact_row contact = {0};
    pd_status status = pd_simulation_contact_row(core, NULL, iteration->number == 0, &contact);
    if (status) return status;
    const pdgpu_row row = {
        .iteration = iteration->number,
        .seconds = iteration->seconds,
        .incremental_potential = iteration->potential,
        .gradient_norm = iteration->gradient_norm,
        .step_norm = iteration->step_norm,
        .step_limit = iteration->step_limit,
        .contact_potential = contact.potential,
        .smallest_distance = contact.smallest_distance,
        .active_contacts = (int)contact.active,
    };
    watch->record(watch->user, &row);
    return PD_OK;
}

static int interrupted(void *user) {
    const pdgpu_watch *watch = user;
    return watch->cancel(watch->user);
}

/* A barrier is infinite at a closed gap, so no step could leave such a start. */
static pd_status check_start(pdgpu_simulation *self, pd_error *error) {
    double parts[PD_ENERGY_COUNT];
    pd_status status = self->start_is_new ? pd_simulation_begin(self->core) : PD_OK;
    if (!self->start_is_new || status) return status;
    status = pd_simulation_energies(self->core, NULL, 0, parts);
    if (status) return status;
    if (!(parts[PD_ENERGY_CONTACT] < (double)INFINITY))
        return pd_fail(error, PD_ERROR_VALUE, "positions: surfaces touch at the start, where a barrier is infinite; move them apart");
    self->start_is_new = 0;
    return PD_OK;
}

pdgpu_status pdgpu_simulation_prepare(pdgpu_simulation *simulation, pdgpu_error *error) {
    pd_error found = {0};
    double seconds;
    pd_status status = pd_simulation_enter(simulation, &found);
    if (!status && (status = pd_simulation_prepare(simulation->core, &seconds))) found = *pd_simulation_error(simulation->core);
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_simulation_step(pdgpu_simulation *simulation, const pdgpu_real *targets, const pdgpu_watch *watch, pdgpu_result *result,
                                   pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    pd_step_result ended;
    double seconds;
    if (result) *result = (pdgpu_result){0};
    PD_TRY(pd_simulation_enter(simulation, &found));
    for (int i = 0; i < simulation->n_vertices && targets; i++)
        for (int c = 0; c < 3 && simulation->fixed[i]; c++)
            if (!(pd_fabs(targets[3 * i + c]) < (real)INFINITY))
                PD_TRY(pd_fail(&found, PD_ERROR_NOT_FINITE, "targets: %g of the pinned vertex %d is not finite", (double)targets[3 * i + c],
                               i));
    PD_TRY(check_start(simulation, &found));
    PD_TRY(pd_simulation_prepare(simulation->core, &seconds));
    const pd_observer observer = {.user = (void *)(uintptr_t)watch,
                                  .record = watch && watch->record ? record : NULL,
                                  .interrupted = watch && watch->cancel ? interrupted : NULL};
    simulation->busy = 1;
    status = pd_simulation_step(simulation->core, targets, NULL, &observer, 0, &ended);
    simulation->busy = 0;
    if (status || !result) goto done;
    *result = (pdgpu_result){.stop = (pdgpu_stop)ended.stop,
                             .at_rounding = ended.at_rounding,
                             .iterations = ended.iterations,
                             .seconds = ended.seconds,
                             .target_lag = ended.target_lag};
done:
    if (status && simulation && !found.text[0]) found = *pd_simulation_error(simulation->core);
    return pd_report(status, &found, error);
}
