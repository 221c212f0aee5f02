/* One iteration of preconditioned conjugate gradients; see conjugate_gradients.h. Scalars are in backend memory. A block-diagonal
 * preconditioner needs three passes over the vectors. Other preconditioners need a fourth, and a vector for z. */
#include "linear/conjugate_gradients.h"

#include <math.h>

pd_status pd_conjugate_gradients_create(pd_conjugate_gradients *self) {
    pd_context *context = self->A->context;
    size_t bytes = (size_t)self->A->rows->n * (size_t)self->A->width * sizeof(real);
    pd_status status = PD_OK;
    if (!self->r) PD_TRY(pd_memory_create(context, (void **)&self->r, bytes));
    if (!self->q) PD_TRY(pd_memory_create(context, (void **)&self->q, bytes));
    if (!self->p) PD_TRY(pd_memory_create(context, (void **)&self->p, pd_pcg_direction_bytes(self->A->rows->n, self->A->width)));
    if (!self->z && !self->M->inverses) PD_TRY(pd_memory_create(context, (void **)&self->z, bytes));
done:
    return status;
}

void pd_conjugate_gradients_destroy(pd_conjugate_gradients *self, pd_context *context) {
    PD_MEMORIES_DESTROY(context, self->r, self->p, self->q, self->z);
}

/* Adds up the sums of columns that are one system. */
static pd_status join(const pd_conjugate_gradients *self, int first) {
    return self->joined ? pd_join_columns(self->A->context, self->A->width, self->sums + first * self->A->width) : PD_OK;
}

static pd_status apply(const pd_conjugate_gradients *self) { return self->M->kind->apply(self->M->memory, self->A, self->r, self->z); }

/* Tells whether the residual is small enough already: the last z would not be used. */
static pd_status ends_early(const pd_conjugate_gradients *self, int *ends) {
    const pd_operator *A = self->A;
    const pd_pcg_end never = {NULL, 0.0};
    double sums[4], why[2];
    pd_status status = PD_OK;
    *ends = 0;
    PD_TRY(pd_pcg_measure(A->context, A->rows, A->width, 0, self->r, self->r, self->early, never));
    PD_TRY(pd_memory_download(A->context, sums, self->early, sizeof sums));
    PD_TRY(pd_memory_download(A->context, why, self->end.why, sizeof why));
    *ends = why[0] == PD_PCG_GOES_ON && sqrt(sums[3]) <= self->end.norm;
    why[0] = PD_PCG_CONVERGED, why[1] += 1.0;
    if (*ends) status = pd_memory_upload(A->context, self->end.why, why, sizeof why);
done:
    return status;
}

static pd_status advance(const pd_conjugate_gradients *self, int start, real *d) {
    const pd_operator *A = self->A;
    pd_status status = PD_OK;
    if (self->M->inverses) {
        PD_TRY(
            pd_pcg_advance(A->context, A->rows, A->width, self->M->inverses, start, self->p, self->q, d, self->r, self->sums, self->end));
        return join(self, 1);
    }
    if (start)
        PD_TRY(pd_memory_clear(A->context, d, (size_t)A->rows->n * (size_t)A->width * sizeof(real)));
    else
        PD_TRY(pd_pcg_move(A->context, A->rows, A->width, self->p, self->q, d, self->r, self->sums, self->end));
    if (self->early && !start) {
        int ends;
        PD_TRY(ends_early(self, &ends));
        if (ends) return PD_OK;
    }
    PD_TRY(apply(self));
    PD_TRY(pd_pcg_measure(A->context, A->rows, A->width, start, self->r, self->z, self->sums, self->end));
    status = join(self, 1);
done:
    return status;
}

pd_status pd_conjugate_gradients_begin(const pd_conjugate_gradients *self, real *d) { return advance(self, 1, d); }

pd_status pd_conjugate_gradients_direct(const pd_conjugate_gradients *self, int first) {
    const pd_operator *A = self->A;
    const pd_block_inverses applied = {0, self->z};
    pd_status status = pd_pcg_redirect(A->context, A->rows, A->width, self->M->inverses ? self->M->inverses : &applied, first, self->r,
                                       self->p, self->sums);
    if (!status) status = A->product(A->owner, self->p, self->q, self->sums);
    return status ? status : join(self, 0);
}

pd_status pd_conjugate_gradients_move(const pd_conjugate_gradients *self, real *d) { return advance(self, 0, d); }
