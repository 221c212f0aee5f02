/* Preconditioned conjugate gradients [Hestenes and Stiefel 1952; Golub and Van Loan 1996, Algorithm 10.3.1], every column with its own
 * alpha and beta: three passes over the vectors per iteration, scalars in backend memory. */
#include "linear/linear_method.h"
#include "linear/upload.h"

#include <math.h>
#include <stdlib.h>

struct pd_pcg {
    pd_preconditioner M;
    real *r, *p, *q;  /* B [n,width] */
    double *products; /* H [width] p.Ap */
};

void pd_pcg_destroy(pd_pcg *self, pd_context *context) {
    if (!self) return;
    pd_memory_destroy(context, self->M.inverse);
    pd_memory_destroy(context, self->r);
    pd_memory_destroy(context, self->p);
    pd_memory_destroy(context, self->q);
    free(self->products);
    free(self);
}

/* Inverse of a symmetric positive definite 3x3 matrix by its adjugate; 0 where it is not positive definite. */
static int invert_block(const double a[9], double *inverse) {
    double c00 = a[4] * a[8] - a[5] * a[7], c01 = a[5] * a[6] - a[3] * a[8], c02 = a[3] * a[7] - a[4] * a[6];
    double determinant = a[0] * c00 + a[1] * c01 + a[2] * c02;
    if (!(a[0] > 0 && a[0] * a[4] - a[1] * a[3] > 0 && determinant > 0)) return 0;
    double adjugate[9] = {c00, a[2] * a[7] - a[1] * a[8], a[1] * a[5] - a[2] * a[4],
                          c01, a[0] * a[8] - a[2] * a[6], a[2] * a[3] - a[0] * a[5],
                          c02, a[1] * a[6] - a[0] * a[7], a[0] * a[4] - a[1] * a[3]};
    for (int i = 0; i < 9; i++) inverse[i] = adjugate[i] / determinant;
    return 1;
}

static pd_status prepare(pd_linear *self) {
    pd_error *error = pd_context_error(self->context);
    int n = self->A.n, block = self->settings.block;
    size_t count = (size_t)n * (size_t)block, bytes = pd_linear_bytes(self);
    double *inverse = calloc(count + 1, sizeof(double));
    pd_status status = PD_OK;
    pd_pcg *own = self->pcg;
    if (!own) own = self->pcg = calloc(1, sizeof *own);
    if (own && !own->products) own->products = malloc((size_t)self->width * sizeof(double));
    if (!own || !own->products || !inverse) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for conjugate gradients of %d rows", n);
        goto done;
    }
    own->M.block = block;
    for (int i = 0; i < n; i++)
        for (int s = self->A.row_start[i]; s < self->A.row_start[i + 1]; s++)
            if (self->A.columns[s] / block == i / block) {
                size_t place = (size_t)i * (size_t)block + (size_t)(self->A.columns[s] % block);
                inverse[place] = self->A.values[s] + (self->A.columns[s] == i && self->added ? self->added[i] : 0.0);
            }
    for (int b = 0; b < n / block; b++) {
        double *values = inverse + (size_t)b * (size_t)(block * block);
        if (block == 3 && !invert_block(values, values)) {
            status = pd_fail(error, PD_ERROR_SINGULAR, "the matrix is not positive definite: its diagonal block at row %d is not", 3 * b);
            goto done;
        }
        if (block == 1) *values = 1.0 / *values;
    }
    PD_TRY(pd_upload_reals(self->context, &own->M.inverse, inverse, count));
    if (!own->r) PD_TRY(pd_memory_create(self->context, (void **)&own->r, bytes));
    if (!own->p) PD_TRY(pd_memory_create(self->context, (void **)&own->p, bytes));
    if (!own->q) PD_TRY(pd_memory_create(self->context, (void **)&own->q, bytes));
done:
    free(inverse);
    return status;
}

static pd_status iterate(pd_linear *self, int k, int n, const double *omegas, double gamma) {
    pd_pcg *own = self->pcg;
    pd_context *context = self->context;
    pd_status status = PD_OK;
    (void)omegas, (void)gamma;
    for (int j = k; j < k + n; j++) {
        if (j == 0) {
            PD_TRY(pd_memory_copy(context, own->r, self->residual, pd_linear_bytes(self)));
            PD_TRY(pd_pcg_advance(context, &self->matrix, self->width, &own->M, 1, own->p, own->q, self->current, own->r, self->scalars));
        }
        PD_TRY(pd_pcg_turn(context, &self->matrix, self->width, &own->M, j == 0, own->r, own->p, self->scalars));
        PD_TRY(pd_pcg_product(context, &self->matrix, self->width, own->p, own->q, self->scalars));
        PD_TRY(pd_pcg_advance(context, &self->matrix, self->width, &own->M, 0, own->p, own->q, self->current, own->r, self->scalars));
    }
    // unseen, a direction of negative curvature is not gone along: alpha is 0 there. Only who waits for the device anyway looks at it
    if (!self->measured) goto done;
    PD_TRY(pd_memory_download(context, own->products, self->scalars, (size_t)self->width * sizeof(double)));
    for (int c = 0; c < self->width; c++)
        if (own->products[c] < 0.0)
            status =
                pd_fail(pd_context_error(context), PD_ERROR_SINGULAR,
                        "the matrix is not positive definite: conjugate gradients met p.Ap = %g at iteration %d", own->products[c], k + n);
done:
    return status;
}

/* The recurrence's r, not b - A x: they part only near the floor of the precision. */
static pd_status residual_norm(pd_linear *self, double *norm) {
    pd_pcg *own = self->pcg;
    size_t width = (size_t)self->width;
    pd_status status = pd_memory_download(self->context, own->products, self->scalars + 3 * width, width * sizeof(double));
    double square = 0.0;
    for (size_t c = 0; c < width; c++) square += own->products[c];
    *norm = sqrt(square);
    return status;
}

const pd_linear_method pd_pcg_method = {"PCG", prepare, iterate, NULL, residual_norm, 0};
