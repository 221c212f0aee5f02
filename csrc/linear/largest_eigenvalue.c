/* The largest eigenvalue of D^-1 A by Lanczos' method, in the form of conjugate gradients: alpha and beta are the entries of its
 * tridiagonal matrix [Golub and Van Loan 1996, Sec. 10.2.5]. Without reorthogonalisation, which the outermost eigenvalue does not need.
 *
 * It continues until the value stops growing. So the value is that of the matrix, to rounding, for any start and numbering of the rows.
 * The start must not be a function of the rows' own numbers: on a symmetric mesh it would have the mesh's symmetry, which the fastest
 * mode often has not. */
#include "linear/largest_eigenvalue.h"

#include "linear/linear_method.h"
#include "linear/upload.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { MOST_STEPS = 1000, STEPS_AT_ONCE = 8 };

/* Tells whether a symmetric tridiagonal matrix has an eigenvalue >= x, by the signs of the pivots of T - x I. */
static int reaches(const double *diagonal, const double *squares, int n, double x) {
    double pivot = diagonal[0] - x;
    for (int i = 1; pivot < 0.0 && i < n; i++) pivot = diagonal[i] - x - squares[i - 1] / pivot;
    return !(pivot < 0.0);
}

/* The largest eigenvalue of a symmetric tridiagonal matrix by bisection; squares [n-1] of the off-diagonal entries. */
static double largest_of_tridiagonal(const double *diagonal, const double *squares, int n) {
    double low = diagonal[0], high = diagonal[0];
    for (int i = 0; i < n; i++) { // a diagonal entry is a lower bound, Gershgorin's discs an upper one
        double reach = (i > 0 ? sqrt(squares[i - 1]) : 0.0) + (i + 1 < n ? sqrt(squares[i]) : 0.0);
        low = fmax(low, diagonal[i]);
        high = fmax(high, diagonal[i] + reach);
    }
    for (int k = 0; k < 60; k++) {
        double middle = 0.5 * (low + high);
        if (reaches(diagonal, squares, n, middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The same pseudorandom numbers in every run, by a linear congruential generator, times the root of the diagonal: all rows then begin
 * alike in the relevant norm. */
static void write_start(const double *diagonal, int n, double *start) {
    uint32_t state = 12345u;
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        start[i] = sqrt(diagonal[i]) * ((double)(state >> 8) / 16777216.0 - 0.5);
    }
}

pd_status pd_lanczos_largest(const pd_conjugate_gradients *cg, real *d, int most_steps, double *lambda, int *negative) {
    double diagonal[MOST_STEPS], squares[MOST_STEPS];
    double found = 0.0, length = 0.0, last_inverse = 0.0, last_rz = 1.0, first_rz = 0.0;
    double least = sizeof(real) == sizeof(double) ? 1e-200 : 1e-56; // of r.z: the recurrence's residual falls below the true one
    double settled = fmax(1e-3 * (double)PD_EPSILON, 1e-15);        // sums in double resolve more than float
    int steps = 0, still = 0;
    pd_status status = PD_OK;
    *negative = 0;
    PD_TRY(pd_conjugate_gradients_begin(cg, d));
    while (steps < most_steps) {
        double sums[2]; // p.q, r.z
        PD_TRY(pd_conjugate_gradients_direct(cg, steps == 0));
        PD_TRY(pd_memory_download(cg->A->context, sums, cg->sums, sizeof sums));
        double beta = steps ? sums[1] / last_rz : 0.0;
        length = sums[1] + beta * beta * length; // p.Dp: z is orthogonal to the previous direction
        double noise = 16.0 * (double)PD_EPSILON * length;
        *negative = sums[0] < -noise;
        // the Krylov space is exhausted, or A is not positive definite, which its solver reports
        if (!(sums[0] >= -noise && sums[1] > least * first_rz)) break;
        // if A is singular to rounding along p, this is the last entry; later ones would be noise
        int last = sums[0] <= noise;
        double inverse_alpha = last ? 0.0 : sums[0] / sums[1];
        if (steps) squares[steps - 1] = beta * last_inverse * last_inverse;
        diagonal[steps] = inverse_alpha + beta * last_inverse;
        if (steps == 0) first_rz = sums[1];
        last_inverse = inverse_alpha, last_rz = sums[1];
        if (++steps % STEPS_AT_ONCE == 0) {
            double grown = largest_of_tridiagonal(diagonal, squares, steps), growth = grown - found;
            found = grown;
            still = growth <= settled * grown ? still + 1 : 0;
            if (still == 2) break; // one stagnation may lie between two close eigenvalues
        }
        if (last) break;
        PD_TRY(pd_conjugate_gradients_move(cg, d));
    }
    *lambda = steps > 0 ? largest_of_tridiagonal(diagonal, squares, steps) : 0.0;
done:
    return status;
}

static pd_status multiply(void *owner, const real *p, real *q, double *sums) {
    const pd_linear *self = owner;
    return pd_pcg_product(self->context, &self->matrix, 1, p, q, sums);
}

pd_status pd_largest_eigenvalue(pd_linear *self, double *lambda) {
    pd_context *context = self->context;
    size_t n = (size_t)self->A.n;
    real *vectors[3] = {NULL, NULL, NULL};
    pd_block_inverses M = {.block = 1};
    const pd_preconditioned made = {.inverses = &M};
    const pd_operator A = {.context = context, .rows = &self->matrix, .width = 1, .owner = self, .product = multiply};
    double bound = 1.0, found;
    int negative;
    pd_status status = PD_OK;
    double *numbers = malloc((2 * n + 1) * sizeof(double));
    if (!numbers) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for an eigenvalue of %d rows", self->A.n);
    double *inverse = numbers, *start = numbers + n;
    for (int i = 0; i < self->A.n; i++) {
        double row = 0.0;
        for (int s = self->A.row_start[i]; s < self->A.row_start[i + 1]; s++) {
            row += fabs(self->A.values[s]);
            if (self->A.columns[s] == i) inverse[i] = self->A.values[s];
        }
        bound = fmax(bound, row / inverse[i]);
    }
    write_start(inverse, self->A.n, start);
    for (size_t i = 0; i < n; i++) inverse[i] = 1.0 / inverse[i];
    PD_TRY(pd_upload_reals(context, &vectors[0], inverse, n));
    PD_TRY(pd_upload_reals(context, &vectors[1], start, n));
    PD_TRY(pd_memory_create(context, (void **)&vectors[2], n * sizeof(real)));
    M.inverse = vectors[0];
    const pd_conjugate_gradients cg = {
        .A = &A, .M = &made, .r = vectors[1], .p = self->buffers[0], .q = self->buffers[1], .sums = self->scalars};
    PD_TRY(pd_lanczos_largest(&cg, vectors[2], MOST_STEPS, &found, &negative));
    *lambda = fmin(fmax(found, 1.0), bound); // the mean of the eigenvalues, and Gershgorin's bound

done:
    for (int i = 0; i < 3; i++) pd_memory_destroy(context, vectors[i]);
    free(numbers);
    return status;
}
