/* Loops of the damping matrix: over elements and pairs of vertices for its blocks, over rows for its force, over elements for its energy. */
#include "updates/elements/damping_update.h"

#include "cuda/block_sum.cuh"
#include "cuda/context.cuh"
#include "cuda/elements/damping.cuh"
#include "cuda/elements/element_hessian.cuh"

#define PD_BLOCKS_KERNEL(KIND, name, k, d, count, ...)                           \
    static __global__ void name##_blocks_kernel(pd_elements g) {                 \
        int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                    \
        if (e < g.n && g.damping[e] > 0) pd_damping_update_element(k, d, &g, e); \
    }
PD_ELEMENT_TABLE(PD_BLOCKS_KERNEL)

static __global__ void pairs_kernel(pd_damping damping) {
    int pair = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (pair < damping.n_pairs) pd_damping_update_pair(&damping, pair);
}

static __global__ void rows_kernel(int n, pd_damping damping) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) pd_damping_update_row(&damping, i);
}

pd_status pd_damping_prepare(pd_context *context, const pd_model *model, const real *x_t) {
    if (!model->damping.start) return PD_OK;
    pd_status status = pd_damping_hessians(context, model, x_t);
    if (status) return status;
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements g = model->kinds[kind];
        if (!g.damping) continue;
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: PD_LAUNCH(context, name##_blocks_kernel, g.n, g); break;
        PD_SWITCH(g.kind, PD_ELEMENT_TABLE, PD_CASE)
#undef PD_CASE
    }
    PD_LAUNCH(context, pairs_kernel, model->damping.n_pairs, model->damping);
    PD_LAUNCH(context, rows_kernel, model->n_vertices, model->n_vertices, model->damping);
    return PD_OK;
}

static __global__ void add_gradient_kernel(int n, pd_damping damping, const unsigned char *fixed, const real *subspaces, real inverse_h,
                                           const real *x, const real *x_t, real *gradient) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    real force[3];
    if (i >= n || fixed[i]) return;
    pd_damping_update_product(&damping, x, x_t, i, force);
    for (int c = 0; c < 3; c++) force[c] *= inverse_h;
    if (subspaces) pd_vertex_project(subspaces + 9 * (size_t)i, force);
    for (int c = 0; c < 3; c++) gradient[3 * (size_t)i + (size_t)c] += force[c];
}

pd_status pd_damping_add_gradient(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, real *gradient) {
    PD_LAUNCH(context, add_gradient_kernel, model->n_vertices, model->n_vertices, model->damping, model->fixed, model->subspace,
              (real)step->inverse_h, x, step->x_t, gradient);
    return PD_OK;
}

#define PD_DAMPING_KERNEL(KIND, name, k, d, count, ...)                                                                        \
    static __global__ void name##_energy_kernel(pd_elements g, const real *x, const real *x_t, double *partial) {              \
        int begin = (int)blockIdx.x * PD_SUM_BLOCK, end = begin + PD_SUM_BLOCK < g.n ? begin + PD_SUM_BLOCK : g.n;             \
        double sum = 0.0;                                                                                                      \
        for (int e = begin + (int)threadIdx.x; e < end; e += PD_THREADS) sum += pd_damping_update_energy(k, d, &g, x, x_t, e); \
        sum = pd_block_sum(sum);                                                                                               \
        if (threadIdx.x == 0) partial[blockIdx.x] = sum;                                                                       \
    }
PD_ELEMENT_TABLE(PD_DAMPING_KERNEL)

static __global__ void collect_kernel(const double *partial, unsigned blocks, double inverse_h, double *energy) {
    double sum = 0.0;
    for (unsigned b = threadIdx.x; b < blocks; b += PD_THREADS) sum += partial[b];
    sum = pd_block_sum(sum);
    if (threadIdx.x == 0) *energy += inverse_h * sum;
}

pd_status pd_damping_add_energy(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, double *energies) {
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements g = model->kinds[kind];
        unsigned blocks = pd_sum_blocks(g.n);
        if (!g.damping || blocks == 0) continue;
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: PD_LAUNCH_BLOCKS(context, name##_energy_kernel, blocks, g, x, step->x_t, model->partial_sums); break;
        PD_SWITCH(g.kind, PD_ELEMENT_TABLE, PD_CASE)
#undef PD_CASE
        PD_LAUNCH_BLOCKS(context, collect_kernel, 1, model->partial_sums, blocks, step->inverse_h, energies + PD_ENERGY_DAMPING);
    }
    return PD_OK;
}
