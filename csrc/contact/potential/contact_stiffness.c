/* Changes of an adaptive stiffness between steps; see contact.h. */
#include "contact/potential/contact_parts.h"

#include <math.h>

static real doubled(const pd_contact *self, int doublings) { return (real)ldexp((double)self->stiffness, doublings); }

void pd_contact_use_doublings(pd_contact *self, int doublings) {
    if (self->adaptive) self->potential.stiffness = doubled(self, doublings);
}

void pd_contact_begin_stiffness(pd_contact *self) {
    self->before_step = self->doublings;
    self->doublings.now = self->doublings.next;
    pd_contact_use_doublings(self, self->doublings.now);
}

void pd_contact_restore_stiffness(pd_contact *self) {
    self->doublings = self->before_step;
    pd_contact_use_doublings(self, self->doublings.now);
}

pd_status pd_contact_adapt_stiffness(pd_contact *self, const real *x) {
    int now = self->doublings.now;
    pd_status status = PD_OK;
    double collapsed = 0.0;
    if (!self->adaptive || now == PD_MOST_DOUBLINGS) return PD_OK;
    PD_TRY(pd_contact_find_acting(self, x));
    if (self->n == 0) return PD_OK;
    pd_contact_pairs pairs = pd_contact_listed(self);
    PD_TRY(pd_contact_evaluate(self, PD_CONTACT_DISTANCE, PD_FILTER_NONE, self->values));
    PD_TRY(pd_contact_mark_collapsed(self->context, &pairs, self->values));
    PD_TRY(pd_contact_sum(self->context, self->n, self->values, self->partial, 0, self->energy));
    PD_TRY(pd_memory_download(self->context, &collapsed, self->energy, sizeof collapsed));
    if (!(collapsed > 0.0) || !isfinite(doubled(self, now + 1))) return PD_OK;
    self->doublings.next = now + 1;
    if (self->friction[PD_LAG_OF_QUESTION]) pd_friction_forget(self->friction[PD_LAG_OF_QUESTION]);
done:
    return status;
}

pd_contact_doublings pd_contact_doublings_of(const pd_contact *self) { return self->doublings; }

int pd_contact_set_doublings(pd_contact *self, pd_contact_doublings doublings) {
    int most = self->adaptive ? PD_MOST_DOUBLINGS : 0;
    if (doublings.now < 0 || doublings.now > doublings.next || doublings.next > most || !isfinite(doubled(self, doublings.next))) return 0;
    self->doublings = self->before_step = doublings;
    if (self->friction[PD_LAG_OF_QUESTION]) pd_friction_forget(self->friction[PD_LAG_OF_QUESTION]);
    pd_contact_use_doublings(self, doublings.now);
    return 1;
}
