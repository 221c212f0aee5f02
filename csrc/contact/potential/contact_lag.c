/* The lags of contact: friction, and the pairs of a penalty between two detections; see contact.h. */
#include "contact/potential/contact_parts.h"

int pd_contact_lags(const pd_contact *self) { return self->lags; }

pd_friction *pd_contact_friction(const pd_contact *self, int lag) { return self->friction[lag]; }

pd_status pd_contact_lag_again(pd_contact *self, const real *x) {
    pd_friction *friction = self->friction[self->lag];
    pd_status status = PD_OK;
    if (!friction || self->interval >= 0) return PD_OK; // a penalty lags at each detection
    // an evaluation outside of a step uses the rows of the present list
    PD_TRY(self->lag == PD_LAG_OF_STEP ? pd_contact_find_acting(self, x) : pd_contact_find(self, x));
    pd_contact_pairs pairs = pd_contact_listed(self);
    PD_TRY(pd_friction_lag(friction, &self->potential, &pairs, &self->incidence, pd_contact_pairs_of(self).keys, self->surface->points));
done:
    return status;
}

/* Begins a lag of a penalty. Outside of a step, the pairs are those at the positions of the evaluation. */
static pd_status begin_penalty(pd_contact *self, const real *x) {
    pd_penalty *penalty = self->penalty[self->lag];
    pd_friction *friction = self->friction[self->lag];
    pd_status status = PD_OK;
    PD_TRY(pd_contact_set_points(self, x, self->prescribed, self->surface->points));
    PD_TRY(pd_penalty_begin(penalty, self->surface->points));
    pd_penalty_forget(penalty);
    if (friction) pd_friction_forget(friction);
    if (friction) PD_TRY(pd_friction_begin(friction, self->surface->points));
    self->fresh = 1;
    if (self->lag == PD_LAG_OF_QUESTION) PD_TRY(pd_contact_detect(self, x));
done:
    return status;
}

pd_status pd_contact_detect(pd_contact *self, const real *x) {
    pd_penalty *penalty = self->penalty[self->lag];
    pd_friction *friction = self->friction[self->lag];
    pd_status status = PD_OK;
    if (!penalty) return PD_OK;
    if (self->found_at)
        PD_TRY(pd_contact_set_points(self, self->found_at, self->targets, self->surface->points));
    else
        PD_TRY(pd_contact_find(self, x));
    PD_TRY(self->async && self->lag == PD_LAG_OF_STEP ? pd_penalty_detect_async(penalty, self->surface->points)
                                                      : pd_penalty_detect(penalty, self->surface->points));
    if (friction) { // a first guess may penetrate its support: it has no friction forces
        pd_penalty_view view = pd_penalty_pairs_of(penalty);
        const real *forces_at = self->fresh || self->found_at ? pd_penalty_start(penalty) : self->surface->points;
        PD_TRY(pd_friction_lag_frozen(friction, &view.pairs, &view.incidence, view.keys, forces_at));
    }
    self->fresh = 0;
done:
    return status;
}

void pd_contact_allow_async(pd_contact *self, int async) { self->async = async; }

int pd_contact_is_async(const pd_contact *self) {
    const pd_penalty *penalty = self->penalty[PD_LAG_OF_STEP];
    return penalty && pd_penalty_is_pending(penalty) > 0;
}

pd_status pd_contact_fetch_detections(pd_contact *self) {
    return pd_contact_is_async(self) ? pd_penalty_fetch(self->penalty[PD_LAG_OF_STEP]) : PD_OK;
}

pd_status pd_contact_detections_result(pd_contact *self, int *complete) {
    pd_penalty *penalty = self->penalty[PD_LAG_OF_STEP];
    pd_status status = PD_OK;
    *complete = 1;
    if (!pd_contact_is_async(self)) return PD_OK;
    PD_TRY(pd_penalty_detect_result(penalty, complete));
    if (self->friction[PD_LAG_OF_STEP]) pd_friction_counted(self->friction[PD_LAG_OF_STEP], pd_penalty_pairs_of(penalty).pairs.at.n);
done:
    return status;
}

void pd_contact_forget_detections(pd_contact *self) {
    if (pd_contact_is_async(self)) pd_contact_forget_step(self);
}

pd_status pd_contact_find_at(pd_contact *self, const real *x) {
    size_t bytes = 3 * (size_t)self->n_vertices * sizeof(real);
    if (self->found_at) return pd_memory_upload(self->context, self->found_at, x, bytes);
    return pd_upload(self->context, (void **)&self->found_at, x, bytes);
}

pd_status pd_contact_follow_friction(pd_contact *self) {
    pd_friction *friction = self->friction[self->lag];
    if (!friction || !self->every_visit) return PD_OK;
    pd_penalty_view view = pd_penalty_pairs_of(self->penalty[self->lag]);
    return pd_friction_follow(friction, &view.pairs, self->surface->points);
}

int pd_contact_interval(const pd_contact *self) { return self->found_at && self->interval > 0 ? 0 : self->interval; }

pd_penalty *pd_contact_penalty(const pd_contact *self, int lag) { return self->penalty[lag]; }

pd_status pd_contact_begin(pd_contact *self, const real *x, int lag) {
    int ahead = self->ahead, begun = 0;
    pd_status status = PD_OK;
    if (!self->friction[lag] && !self->penalty[lag]) return PD_OK;
    self->lag = lag;
    if (self->penalty[lag]) {
        self->ahead = 0;
        PD_TRY(begin_penalty(self, x));
        goto done;
    }
    if (lag == PD_LAG_OF_QUESTION) { // repeated evaluations from one state
        PD_TRY(pd_contact_set_points(self, x, self->prescribed, self->surface->points));
        PD_TRY(pd_friction_has_begun(self->friction[lag], self->surface->points, &begun));
        if (begun) return PD_OK;
        pd_contact_use_doublings(self, self->doublings.next);
    }
    self->ahead = 0;
    PD_TRY(pd_contact_lag_again(self, x));
    PD_TRY(pd_friction_begin(self->friction[lag], self->surface->points));
done:
    pd_contact_set_ahead(self, ahead);
    return status;
}

void pd_contact_forget_step(pd_contact *self) {
    if (self->penalty[PD_LAG_OF_STEP]) pd_penalty_forget(self->penalty[PD_LAG_OF_STEP]);
    if (self->friction[PD_LAG_OF_STEP]) pd_friction_forget(self->friction[PD_LAG_OF_STEP]);
}
