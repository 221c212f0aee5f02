/* The loops of smoothed aggregation: one thread per node, or one block of threads per row of a matrix product. */
#include "cuda/context.cuh"

#include "updates/linear/amg.h"

/* Threads of a row of a product: its blocks have up to 36 numbers. */
enum { ROW_THREADS = 32 };

static __device__ __forceinline__ int thread_number() { return (int)(blockIdx.x * PD_THREADS + threadIdx.x); }

static __global__ void invert_kernel(pd_node_matrix matrix, pd_amg_level level) {
    int i = thread_number();
    if (i < level.n) PD_AMG_SIZES(&level, pd_amg_invert_node(&matrix, &level, i, numbers));
}

pd_status pd_amg_invert(pd_context *context, const pd_node_matrix *matrix, const pd_amg_level *level) {
    PD_LAUNCH(context, invert_kernel, level->n, *matrix, *level);
    return PD_OK;
}

static __global__ void weigh_kernel(pd_node_matrix matrix, pd_amg_level level) {
    int i = thread_number();
    if (i < level.n) PD_AMG_SIZES(&level, pd_amg_weigh_node(&matrix, &level, i, numbers));
}

pd_status pd_amg_weigh(pd_context *context, const pd_node_matrix *matrix, const pd_amg_level *level) {
    PD_LAUNCH(context, weigh_kernel, level->n, *matrix, *level);
    return PD_OK;
}

static __global__ void extension_kernel(pd_node_matrix matrix, pd_amg_level level) {
    int i = thread_number();
    if (i < level.n) PD_AMG_SIZES(&level, pd_amg_extension_row(&matrix, &level, i, numbers, coarser));
}

static __global__ void product_kernel(pd_node_matrix matrix, pd_amg_level level) {
    int i = (int)blockIdx.x, lane = (int)threadIdx.x;
    PD_AMG_SIZES(&level, pd_amg_product_row(&matrix, &level, i, numbers, coarser, lane, ROW_THREADS));
}

static __global__ void coarser_kernel(pd_amg_level level) {
    int k = (int)blockIdx.x, lane = (int)threadIdx.x;
    PD_AMG_SIZES(&level, pd_amg_coarser_row(&level, k, numbers, coarser, lane, ROW_THREADS));
}

pd_status pd_amg_coarsen(pd_context *context, const pd_node_matrix *matrix, const pd_amg_level *level) {
    PD_LAUNCH(context, extension_kernel, level->n, *matrix, *level);
    PD_LAUNCH_SHAPE(context, product_kernel, (unsigned)level->n, ROW_THREADS, *matrix, *level);
    PD_LAUNCH_SHAPE(context, coarser_kernel, (unsigned)level->n_aggregates, ROW_THREADS, *level);
    return PD_OK;
}

static __global__ void relax_kernel(pd_amg_level level, int columns, const real *r, const real *q, real *z) {
    int i = thread_number();
    if (i < level.n) PD_AMG_SIZES(&level, pd_amg_relax_node(&level, columns, i, r, q, z, numbers));
}

pd_status pd_amg_relax(pd_context *context, const pd_amg_level *level, int columns, const real *r, const real *q, real *z) {
    PD_LAUNCH(context, relax_kernel, level->n, *level, columns, r, q, z);
    return PD_OK;
}

static __global__ void multiply_kernel(pd_amg_level level, int columns, const real *z, real *q) {
    int i = thread_number();
    if (i < level.n) PD_AMG_SIZES(&level, pd_amg_multiply_node(&level, columns, i, z, q, numbers));
}

pd_status pd_amg_multiply(pd_context *context, const pd_amg_level *level, int columns, const real *z, real *q) {
    PD_LAUNCH(context, multiply_kernel, level->n, *level, columns, z, q);
    return PD_OK;
}

static __global__ void restrict_kernel(pd_amg_level level, int columns, const real *r, const real *q, real *coarse) {
    int item = thread_number(), wide = level.coarser * columns, k = item / wide, c = item % wide / columns, column = item % columns;
    if (k < level.n_aggregates)
        PD_AMG_SIZES(&level, pd_amg_restrict_row(&level, columns, k, column, r, q, coarse, numbers, coarser, c, coarser));
}

pd_status pd_amg_restrict(pd_context *context, const pd_amg_level *level, int columns, const real *r, const real *q, real *coarse) {
    PD_LAUNCH(context, restrict_kernel, level->n_aggregates * level->coarser * columns, *level, columns, r, q, coarse);
    return PD_OK;
}

static __global__ void extend_kernel(pd_amg_level level, int columns, const real *coarse, real *z) {
    int i = thread_number();
    if (i < level.n) PD_AMG_SIZES(&level, pd_amg_extend_node(&level, columns, i, coarse, z, numbers, coarser));
}

pd_status pd_amg_extend(pd_context *context, const pd_amg_level *level, int columns, const real *coarse, real *z) {
    PD_LAUNCH(context, extend_kernel, level->n, *level, columns, coarse, z);
    return PD_OK;
}
