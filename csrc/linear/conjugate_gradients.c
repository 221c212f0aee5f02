/* One iteration of preconditioned conjugate gradients; see conjugate_gradients.h. Three passes over the vectors, scalars in backend
 * memory. */
#include "linear/conjugate_gradients.h"

/* Of columns that are one system the sums are added up. */
static pd_status join(const pd_conjugate_gradients *self, int first) {
    return self->joined ? pd_join_columns(self->context, self->width, self->sums + first * self->width) : PD_OK;
}

static pd_status advance(const pd_conjugate_gradients *self, int start, real *d) {
    pd_status status =
        pd_pcg_advance(self->context, self->rows, self->width, self->M, start, self->p, self->q, d, self->r, self->sums, self->end);
    return status ? status : join(self, 1);
}

pd_status pd_conjugate_gradients_begin(const pd_conjugate_gradients *self, real *d) { return advance(self, 1, d); }

pd_status pd_conjugate_gradients_direct(const pd_conjugate_gradients *self, int first) {
    pd_status status = pd_pcg_redirect(self->context, self->rows, self->width, self->M, first, self->r, self->p, self->sums);
    if (!status) status = self->product(self->owner, self->p, self->q, self->sums);
    return status ? status : join(self, 0);
}

pd_status pd_conjugate_gradients_move(const pd_conjugate_gradients *self, real *d) { return advance(self, 0, d); }
