/* Loops over the rows of the Hessian of G, in blocks of 3x3 numbers. */
#include "loops/matrix_loops.h"
#include "updates/linear/preconditioner.h"

#include "cpu/context.h"

static double add_partial_sums(const double *partial, int n) {
    double sum = 0.0;
    for (int b = 0; b < n; b++) sum += partial[b];
    return sum;
}

pd_status pd_hessian_product(pd_context *context, const pd_hessian_matrix *H, const real *p, real *q, double *sums) {
    int n_blocks = (H->n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK;
#pragma omp parallel for num_threads(pd_threads(context, H->n, 100)) schedule(static)
    for (int b = 0; b < n_blocks; b++) {
        int end = (b + 1) * PD_SUM_BLOCK < H->n ? (b + 1) * PD_SUM_BLOCK : H->n;
        double pq = 0.0;
        for (int i = b * PD_SUM_BLOCK; i < end; i++) {
            size_t row = 3 * (size_t)i;
            real sum[3] = {0, 0, 0};
            for (int s = H->row_start[i]; s < H->row_start[i + 1] && !H->fixed[i]; s++) {
                const real *block = H->blocks + 9 * (size_t)s, *v = p + 3 * (size_t)H->columns[s];
                for (int a = 0; a < 3; a++) sum[a] += block[3 * a] * v[0] + block[3 * a + 1] * v[1] + block[3 * a + 2] * v[2];
            }
            if (H->subspace) pd_vertex_project(H->subspace + 9 * (size_t)i, sum);
            for (size_t a = 0; a < 3; a++) {
                if (!H->fixed[i]) sum[a] += (real)H->shift * p[row + a];
                q[row + a] = sum[a];
                pq += (double)p[row + a] * (double)sum[a];
            }
        }
        H->partial_sums[b] = pq;
    }
    *sums = add_partial_sums(H->partial_sums, n_blocks);
    return PD_OK;
}

pd_status pd_hessian_inverses(pd_context *context, const pd_hessian_matrix *H, const pd_block_inverses *M, double *indefinite) {
    int n_blocks = (H->n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK;
    size_t count = 3 * (size_t)M->block;
#pragma omp parallel for num_threads(pd_threads(context, H->n, 50)) schedule(static)
    for (int b = 0; b < n_blocks; b++) {
        int end = (b + 1) * PD_SUM_BLOCK < H->n ? (b + 1) * PD_SUM_BLOCK : H->n;
        double bad = 0.0;
        for (int i = b * PD_SUM_BLOCK; i < end; i++) {
            const real *block = H->blocks + 9 * (size_t)H->diagonal_slots[i];
            real *inverse = M->inverse + count * (size_t)i;
            if (H->fixed[i])
                for (size_t a = 0; a < count; a++) inverse[a] = 0;
            else
                bad += !pd_vertex_inverse(block, (real)H->shift, M->block, H->subspace ? H->subspace + 9 * (size_t)i : NULL, inverse);
        }
        H->partial_sums[b] = bad;
    }
    *indefinite = add_partial_sums(H->partial_sums, n_blocks);
    return PD_OK;
}
