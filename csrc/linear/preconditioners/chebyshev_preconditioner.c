/* Chebyshev's polynomial in the operator as a preconditioner [Saad 2003, Iterative Methods for Sparse Linear Systems, Sec. 12.3.2 and
 * Algorithm 12.1]. z is the m-th iterate, from zero, of the Chebyshev iteration for A z = r over the interval [b / 30, b] of the
 * eigenvalues of M0^-1 A. M0 is the diagonal of A or its 3x3 blocks:
 *
 *     theta = (b + a) / 2, delta = (b - a) / 2, sigma = theta / delta, rho_0 = 1 / sigma, p_0 = M0^-1 r / theta
 *     z += p, r -= A p, rho_k+1 = 1 / (2 sigma - rho_k), p_k+1 = rho_k+1 rho_k p_k + 2 rho_k+1 / delta M0^-1 r
 *
 * It needs m - 1 products and no reduction over the vectors, so only products synchronise. M is symmetric. It is positive definite while
 * no eigenvalue is above a + b, where the polynomial of the error leaves [-1, 1].
 *
 * b is the operator's own bound. Without one, as for the Hessian, b is at least 4: a sum of positive semidefinite terms of at most four
 * vertices each has no larger eigenvalue relative to its diagonal blocks. Lanczos' method finds larger ones, and b is a tenth above
 * these. */
#include "linear/largest_eigenvalue.h"
#include "linear/upload.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* b / a: with m = 4 it divides the condition number of an ill-conditioned A by 13.8; the limit for a = 0 is 16. */
static const double RATIO = 30.0;

static const double LEAST_BOUND = 4.0;

enum { LANCZOS_STEPS = 12 };

typedef struct chebyshev {
    int degree;
    double largest; /* b */
    pd_preconditioned M0;
    real *p, *q, *r;      /* B [n,width] */
    double *sums;         /* B [6 width], scratch of the products; the estimate reads them */
    real *start, *unused; /* B [n] of the estimate; NULL for a known b */
} chebyshev;

static void destroy(void *self, pd_context *context) {
    chebyshev *made = self;
    if (!made) return;
    pd_preconditioned_destroy(&made->M0, context);
    PD_MEMORIES_DESTROY(context, made->p, made->q, made->r, made->sums, made->start, made->unused);
    free(made);
}

/* The same pseudorandom numbers in [-1/2, 1/2) in every run, by a linear congruential generator. */
static pd_status upload_start(chebyshev *self, const pd_operator *A) {
    size_t n = (size_t)A->rows->n;
    double *numbers = malloc((n + 1) * sizeof(double));
    uint32_t state = 12345u;
    if (!numbers) return pd_fail(pd_context_error(A->context), PD_ERROR_MEMORY, "out of memory for a preconditioner of %zu rows", n);
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        numbers[i] = (double)(state >> 8) / 16777216.0 - 0.5;
    }
    pd_status status = pd_upload_reals(A->context, &self->start, numbers, n);
    free(numbers);
    return status;
}

static pd_status create(void **self, const pd_operator *A, const pd_linear_settings *settings) {
    pd_linear_settings of_M0 = *settings;
    size_t bytes = (size_t)A->rows->n * (size_t)A->width * sizeof(real);
    pd_status status = PD_OK;
    chebyshev *made = *self = calloc(1, sizeof *made);
    if (!made) return pd_fail(pd_context_error(A->context), PD_ERROR_MEMORY, "out of memory for a preconditioner of %d rows", A->rows->n);
    made->degree = settings->degree;
    of_M0.preconditioner = A->largest ? PD_PRECONDITIONER_JACOBI : PD_PRECONDITIONER_BLOCK; // the operator's bound is for this M0
    PD_TRY(pd_preconditioned_create(&made->M0, A, &of_M0));
    PD_TRY(pd_memory_create(A->context, (void **)&made->p, pd_pcg_direction_bytes(A->rows->n, A->width)));
    PD_TRY(pd_memory_create(A->context, (void **)&made->q, bytes));
    PD_TRY(pd_memory_create(A->context, (void **)&made->r, bytes));
    PD_TRY(pd_memory_create(A->context, (void **)&made->sums, 6 * (size_t)A->width * sizeof(double)));
    if (A->largest) {
        status = A->largest(A->owner, &made->largest);
    } else {
        PD_TRY(upload_start(made, A));
        PD_TRY(pd_memory_create(A->context, (void **)&made->unused, bytes));
    }
done:
    return status;
}

/* The largest eigenvalue of M0^-1 A; *indefinite B: 1 if A has a negative one. */
static pd_status estimate(chebyshev *self, const pd_operator *A, double *indefinite) {
    const pd_block_inverses *M0 = self->M0.inverses;
    const pd_conjugate_gradients cg = {.A = A, .M = &self->M0, .r = self->r, .p = self->p, .q = self->q, .sums = self->sums};
    pd_status status = PD_OK;
    double one = 1.0;
    int negative;
    // start with a product: its rows at held vertices are zero, and those on lines and planes are in them
    PD_TRY(pd_pcg_combine(A->context, A->rows, 1, M0, 1.0, 0.0, self->start, self->p));
    PD_TRY(A->product(A->owner, self->p, self->r, self->sums));
    PD_TRY(pd_lanczos_largest(&cg, self->unused, LANCZOS_STEPS, &self->largest, &negative));
    self->largest = 1.1 * self->largest > LEAST_BOUND && isfinite(self->largest) ? 1.1 * self->largest : LEAST_BOUND;
    if (negative) status = pd_memory_upload(A->context, indefinite, &one, sizeof one);
done:
    return status;
}

static pd_status refresh(void *self, const pd_operator *A, double *indefinite) {
    chebyshev *made = self;
    pd_status status = pd_preconditioned_refresh(&made->M0, A, indefinite);
    return status || A->largest ? status : estimate(made, A, indefinite);
}

static pd_status apply(void *self, const pd_operator *A, const real *r, real *z) {
    chebyshev *made = self;
    size_t bytes = (size_t)A->rows->n * (size_t)A->width * sizeof(real);
    double a = made->largest / RATIO, theta = (made->largest + a) / 2, delta = (made->largest - a) / 2, sigma = theta / delta;
    double rho = 1.0 / sigma, scale = 1.0 / theta, keep = 0.0;
    const pd_pcg_end never = {NULL, 0.0};
    pd_status status = PD_OK;
    PD_TRY(pd_memory_copy(A->context, made->r, r, bytes));
    PD_TRY(pd_memory_clear(A->context, z, bytes));
    for (int k = 1; k <= made->degree; k++) {
        int last = k == made->degree;
        PD_TRY(pd_pcg_combine(A->context, A->rows, A->width, made->M0.inverses, scale, keep, made->r, made->p));
        if (!last) PD_TRY(A->product(A->owner, made->p, made->q, made->sums));
        PD_TRY(pd_pcg_move(A->context, A->rows, A->width, made->p, last ? NULL : made->q, z, made->r, NULL, never));
        double next = 1.0 / (2.0 * sigma - rho);
        keep = next * rho, scale = 2.0 * next / delta, rho = next;
    }
done:
    return status;
}

const pd_preconditioner pd_chebyshev_preconditioner = {
    .name = "chebyshev", .create = create, .destroy = destroy, .refresh = refresh, .apply = apply, .block = 1};
