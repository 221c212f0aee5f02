/* Loops over the rows of the Hessian of G, in blocks of 3x3 numbers; several threads per vertex, as in rows.cuh. */
#include "updates/linear/preconditioner.h"

#include "cuda/block_sum.cuh"
#include "cuda/linear/rows.cuh"

static __global__ void product_kernel(pd_hessian_matrix H, const real *p, real *q) {
    int begin = (int)blockIdx.x * PD_SUM_BLOCK, end = begin + PD_SUM_BLOCK < H.n ? begin + PD_SUM_BLOCK : H.n;
    double pq = 0.0;
    for (int round = begin; round < end; round += PD_ROWS) {
        pd_row row = pd_row_of(round, end);
        int i = row.inside ? row.i : 0, moves = row.inside && !H.fixed[i], last = moves ? H.row_start[i + 1] : 0;
        real sum[3] = {0, 0, 0};
        for (int s = (moves ? H.row_start[i] : 0) + row.lane; s < last; s += PD_LANES) {
            const real *block = H.blocks + 9 * (size_t)s, *v = p + 3 * (size_t)H.columns[s];
#pragma unroll
            for (int a = 0; a < 3; a++) sum[a] += block[3 * a] * v[0] + block[3 * a + 1] * v[1] + block[3 * a + 2] * v[2];
        }
        pd_add_lanes<PD_LANES>(sum);
        if (H.subspace && moves) pd_vertex_project(H.subspace + 9 * (size_t)i, sum);
        if (!row.inside || row.lane >= 3) continue;
        size_t j = 3 * (size_t)i + (size_t)row.lane;
        real value = pd_of_lane(sum, row.lane) + (moves ? (real)H.shift * p[j] : (real)0);
        q[j] = value;
        pq += (double)p[j] * (double)value;
    }
    pq = pd_block_sum(pq);
    if (threadIdx.x == 0) H.partial_sums[blockIdx.x] = pq;
}

pd_status pd_hessian_product(pd_context *context, const pd_hessian_matrix *H, const real *p, real *q, double *sums) {
    PD_LAUNCH_BLOCKS(context, product_kernel, pd_sum_blocks(H->n), *H, p, q);
    return pd_add_partial_sums(context, H->partial_sums, pd_sum_blocks(H->n), 1, sums);
}

static __global__ void inverses_kernel(pd_hessian_matrix H, pd_block_inverses M) {
    int begin = (int)blockIdx.x * PD_SUM_BLOCK, end = begin + PD_SUM_BLOCK < H.n ? begin + PD_SUM_BLOCK : H.n;
    size_t count = 3 * (size_t)M.block;
    double bad = 0.0;
    for (int i = begin + (int)threadIdx.x; i < end; i += PD_THREADS) {
        const real *block = H.blocks + 9 * (size_t)H.diagonal_slots[i];
        real *inverse = M.inverse + count * (size_t)i;
        if (H.fixed[i])
            for (size_t a = 0; a < count; a++) inverse[a] = 0;
        else
            bad += pd_vertex_inverse(block, (real)H.shift, M.block, H.subspace ? H.subspace + 9 * (size_t)i : NULL, inverse) ? 0.0 : 1.0;
    }
    bad = pd_block_sum(bad);
    if (threadIdx.x == 0) H.partial_sums[blockIdx.x] = bad;
}

pd_status pd_hessian_inverses(pd_context *context, const pd_hessian_matrix *H, const pd_block_inverses *M, double *indefinite) {
    PD_LAUNCH_BLOCKS(context, inverses_kernel, pd_sum_blocks(H->n), *H, *M);
    return pd_add_partial_sums(context, H->partial_sums, pd_sum_blocks(H->n), 1, indefinite);
}
