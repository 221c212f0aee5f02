/* The loops over the domains of an additive Schwarz preconditioner: one block of threads per domain. */
#include "cuda/context.cuh"

#define PD_DOMAIN_WAIT() __syncthreads()
#include "updates/linear/schwarz.h"

/* Threads of a domain: at least one for each of its unknowns. */
enum { DOMAIN_THREADS = PD_MOST_DOMAIN_UNKNOWNS };

/* The maximum number of inversions at once, which bounds the scratch: 80 MB for domains of 96 unknowns. */
enum { MOST_WORKERS = 1024 };

size_t pd_schwarz_scratch(const pd_context *context, int n_domains, int largest, int *workers) {
    (void)context;
    *workers = n_domains < MOST_WORKERS ? n_domains : MOST_WORKERS;
    return (size_t)*workers * pd_domain_scratch(largest) * sizeof(double);
}

static __global__ void place_kernel(pd_schwarz_level level, const real *points) {
    int k = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (k < level.n_domains) pd_domain_place(&level, points, k);
}

pd_status pd_schwarz_place(pd_context *context, const pd_schwarz_level *level, const real *points) {
    PD_LAUNCH(context, place_kernel, level->n_domains, *level, points);
    return PD_OK;
}

static __global__ void gather_kernel(pd_node_matrix matrix, pd_schwarz_level fine, pd_schwarz_level coarse) {
    int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    size_t count = (size_t)coarse.numbers * (size_t)coarse.numbers;
    if (e < coarse.n_entries) pd_coarser_entry(&matrix, &fine, &coarse, e, coarse.values + count * (size_t)e);
}

pd_status pd_schwarz_gather(pd_context *context, const pd_node_matrix *matrix, const pd_schwarz_level *fine,
                            const pd_schwarz_level *coarse) {
    PD_LAUNCH(context, gather_kernel, coarse->n_entries, *matrix, *fine, *coarse);
    return PD_OK;
}

static __global__ void invert_kernel(pd_node_matrix matrix, pd_schwarz_level level, double *scratch, size_t each) {
    for (int k = (int)blockIdx.x; k < level.n_domains; k += (int)gridDim.x)
        pd_domain_invert(&matrix, &level, k, scratch + (size_t)blockIdx.x * each, (int)threadIdx.x, DOMAIN_THREADS);
}

pd_status pd_schwarz_invert(pd_context *context, const pd_node_matrix *matrix, const pd_schwarz_level *level, void *scratch, int workers) {
    unsigned blocks = (unsigned)(level->n_domains < workers ? level->n_domains : workers);
    PD_LAUNCH_SHAPE(context, invert_kernel, blocks, DOMAIN_THREADS, *matrix, *level, (double *)scratch,
                    pd_domain_scratch(level->largest * level->numbers));
    return PD_OK;
}

pd_status pd_schwarz_count(pd_context *context, const double *flags, int n, double *out) {
    return pd_add_partial_sums(context, flags, (unsigned)n, 1, out);
}

static __global__ void restrict_kernel(pd_schwarz_level level, int columns, const real *r, real *z, real *coarse) {
    __shared__ real x[PD_MOST_DOMAIN_UNKNOWNS];
    int k = (int)blockIdx.x, t = (int)threadIdx.x, begin = level.domain_start[k], w = level.numbers;
    int count = level.domain_start[k + 1] - begin, m = count * w;
    const real *inverse = level.inverses + level.inverse_start[k];
    size_t row = t < m ? ((size_t)level.nodes[begin + t / w] * (size_t)w + (size_t)(t % w)) * (size_t)columns : 0;
    for (int c = 0; c < columns; c++) {
        __syncthreads(); // the column before is read
        if (t < m) x[t] = r[row + (size_t)c];
        __syncthreads();
        if (t < m) {
            real sum = 0;
            for (int j = 0; j < m; j++) sum += x[j] * inverse[(size_t)j * (size_t)m + (size_t)t];
            z[row + (size_t)c] = sum;
        }
        if (coarse && t < level.coarser) {
            real sum = 0;
            for (int u = 0; u < count; u++)
                sum += pd_node_force(w, t, level.arms ? level.arms + 3 * (size_t)level.nodes[begin + u] : nullptr, x + u * w, 1);
            coarse[((size_t)k * (size_t)level.coarser + (size_t)t) * (size_t)columns + (size_t)c] = sum;
        }
    }
}

pd_status pd_schwarz_restrict(pd_context *context, const pd_schwarz_level *level, int columns, const real *r, real *z, real *coarse) {
    PD_LAUNCH_SHAPE(context, restrict_kernel, (unsigned)level->n_domains, DOMAIN_THREADS, *level, columns, r, z, coarse);
    return PD_OK;
}

static __global__ void extend_kernel(pd_schwarz_level level, int columns, const real *coarse, real *z) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= level.n || level.domain[i] < 0) return;
    size_t here = (size_t)level.numbers * (size_t)columns, there = (size_t)level.coarser * (size_t)columns;
    for (int c = 0; c < columns; c++)
        pd_node_extend(level.numbers, level.coarser, level.arms ? level.arms + 3 * (size_t)i : nullptr,
                       coarse + there * (size_t)level.domain[i] + c, columns, z + here * (size_t)i + c);
}

pd_status pd_schwarz_extend(pd_context *context, const pd_schwarz_level *level, int columns, const real *coarse, real *z) {
    PD_LAUNCH(context, extend_kernel, level->n, *level, columns, coarse, z);
    return PD_OK;
}
