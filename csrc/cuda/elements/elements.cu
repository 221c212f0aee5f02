/* Loops over elements: potential, gradient, moves of position-based dynamics; one thread per element.
 *
 * The gradient is written per corner and gathered per vertex in a fixed order: no atomics, the same bits in every run. */
#include "updates/elements/element_update.h"

#include "cuda/block_sum.cuh"
#include "cuda/context.cuh"
#include "cuda/elements/damping.cuh"
#include "cuda/linear/ends.cuh"

/* ---- energy ---------------------------------------------------------------------------------------------------------------- */

#define PD_ENERGY_KERNEL(KIND, name, k, d, count, ...)                                                                     \
    static __global__ void name##_energy_kernel(pd_elements g, const real *x, double *partial) {                           \
        int begin = (int)blockIdx.x * PD_SUM_BLOCK, end = begin + PD_SUM_BLOCK < g.n ? begin + PD_SUM_BLOCK : g.n;         \
        double sum = 0.0;                                                                                                  \
        for (int e = begin + (int)threadIdx.x; e < end; e += PD_THREADS) sum += pd_element_update_energy_##name(&g, x, e); \
        sum = pd_block_sum(sum);                                                                                           \
        if (threadIdx.x == 0) partial[blockIdx.x] = sum;                                                                   \
    }
PD_ELEMENT_TABLE(PD_ENERGY_KERNEL)

static __global__ void vertex_energy_kernel(int n, const unsigned char *fixed, const real *masses, int dynamic, double half,
                                            const real *external_acceleration, const real *x, const real *offset, double *partial) {
    int begin = (int)blockIdx.x * PD_SUM_BLOCK, end = begin + PD_SUM_BLOCK < n ? begin + PD_SUM_BLOCK : n;
    double sum = 0.0;
    for (int i = begin + (int)threadIdx.x; i < end; i += PD_THREADS) {
        if (fixed[i]) continue;
        double part = 0.0;
        for (size_t j = 3 * (size_t)i; j < 3 * (size_t)i + 3; j++)
            part += dynamic ? half * (double)offset[j] * (double)offset[j] : -(double)external_acceleration[j] * (double)x[j];
        sum += (double)masses[i] * part;
    }
    sum = pd_block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

pd_status pd_potential(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, const real *offset,
                       double *energies) {
    int dynamic = step->inverse_h > 0;
    pd_status status = pd_memory_clear(context, energies, PD_ENERGY_COUNT * sizeof *energies);
    if (status) return status;
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements g = model->kinds[kind];
        unsigned blocks = pd_sum_blocks(g.n);
        if (blocks == 0) continue;
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: PD_LAUNCH_BLOCKS(context, name##_energy_kernel, blocks, g, x, model->partial_sums); break;
        PD_SWITCH(g.kind, PD_ELEMENT_TABLE, PD_CASE)
#undef PD_CASE
        if ((status = pd_add_partial_sums(context, model->partial_sums, blocks, 1, energies + g.kind))) return status;
    }
    if (pd_is_damped(model, step) && (status = pd_damping_add_energy(context, model, step, x, energies))) return status;
    unsigned blocks = pd_sum_blocks(model->n_vertices);
    PD_LAUNCH_BLOCKS(context, vertex_energy_kernel, blocks, model->n_vertices, model->fixed, model->masses, dynamic,
                     0.5 * step->inverse_h * step->inverse_h, step->external_acceleration, x, offset, model->partial_sums);
    return pd_add_partial_sums(context, model->partial_sums, blocks, 1, energies + (dynamic ? PD_ENERGY_INERTIA : PD_ENERGY_LOAD));
}

/* ---- gradient ------------------------------------------------------------------------------------------------------------- */

/* Stride between elements in shared memory: odd, so that the elements of a warp use different banks. */
#define PD_STAGED(k) (3 * (k) | 1)

/* Shared memory of a block of elements with k corners, the same for all their kinds. */
#define PD_STAGING(k)                                          \
    static __device__ __forceinline__ real *staging_of_##k() { \
        __shared__ real numbers[PD_THREADS * PD_STAGED(k)];    \
        return numbers;                                        \
    }
PD_STAGING(1)
PD_STAGING(2)
PD_STAGING(3)
PD_STAGING(4)

/* Writes the forces of a block's elements from shared memory in whole sectors. Direct stores would write 4 bytes in each of 32 sectors. */
template <int k> static __device__ __forceinline__ void write_staged(const real *staged, int n, real *f) {
    __syncthreads();
    const int first = (int)blockIdx.x * PD_THREADS, here = n - first < PD_THREADS ? n - first : (int)PD_THREADS;
    real *out = f + (size_t)first * 3 * k;
    for (int j = (int)threadIdx.x; j < here * 3 * k; j += PD_THREADS) out[j] = staged[j / (3 * k) * PD_STAGED(k) + j % (3 * k)];
}

#define PD_GRADIENT_KERNEL(KIND, name, k, d, count, ...)                                                       \
    static __global__ void name##_gradient_kernel(pd_elements g, const real *x, real *f) {                     \
        real *staged = staging_of_##k();                                                                       \
        int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                  \
        pd_let_next_begin();                                                                                   \
        pd_wait_for_launch_before();                                                                           \
        if (e < g.n) pd_element_update_gradient_##name(&g, x, e, staged + (size_t)threadIdx.x * PD_STAGED(k)); \
        write_staged<k>(staged, g.n, f);                                                                       \
    }
PD_ELEMENT_TABLE(PD_GRADIENT_KERNEL)

static __global__ void gather_kernel(int n, pd_gathered gather) {
    pd_let_next_begin();
    const pd_row row = pd_row_of((int)blockIdx.x * PD_ROWS, n);
    const pd_gathered::place place = gather.begin(row);
    pd_wait_for_launch_before();
    gather(row, place);
}

pd_status pd_corner_forces(pd_context *context, const pd_model *model, const real *x) {
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements g = model->kinds[kind];
        real *f = model->corner_forces + 3 * (size_t)g.first_corner;
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: PD_LAUNCH_OVERLAPPING(context, name##_gradient_kernel, pd_thread_blocks(g.n), g, x, f); break;
        PD_SWITCH(g.kind, PD_ELEMENT_TABLE, PD_CASE)
#undef PD_CASE
    }
    return PD_OK;
}

pd_status pd_gradient(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, const real *offset,
                      real *gradient) {
    pd_status status = pd_corner_forces(context, model, x);
    if (!status) status = pd_gather_forces(context, model, step, offset, gradient);
    if (!status && pd_is_damped(model, step)) status = pd_damping_add_gradient(context, model, step, x, gradient);
    return status;
}

pd_status pd_gather_forces(pd_context *context, const pd_model *model, const pd_step_data *step, const real *offset, real *gradient) {
    PD_LAUNCH_OVERLAPPING(context, gather_kernel, pd_row_blocks(model->n_vertices), model->n_vertices,
                          pd_gathered_of({model, step, offset, gradient}));
    return PD_OK;
}

/* ---- moves of position-based dynamics ------------------------------------------------------------------------------------ */

#define PD_MOVES_KERNEL(KIND, name, k, d, count, ...)                                                                                \
    static __global__ void name##_moves_kernel(pd_elements g, const unsigned char *fixed, const real *masses, const real *subspace,  \
                                               const real *x, real *f) {                                                             \
        real *staged = staging_of_##k();                                                                                             \
        int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                                        \
        if (e < g.n) pd_element_update_moves_##name(&g, fixed, masses, subspace, x, e, staged + (size_t)threadIdx.x * PD_STAGED(k)); \
        write_staged<k>(staged, g.n, f);                                                                                             \
    }
PD_PROJECTIVE_TABLE(PD_MOVES_KERNEL)

static __global__ void gather_moves_kernel(int n, const unsigned char *fixed, const int *corner_start, const int *corners,
                                           const real *corner_moves, real scale, real *moves) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    real sum[3] = {0, 0, 0};
    for (int c = corner_start[i]; c < corner_start[i + 1] && !fixed[i]; c++)
        for (int a = 0; a < 3; a++) sum[a] += corner_moves[3 * (size_t)corners[c] + (size_t)a];
    for (int a = 0; a < 3; a++) moves[3 * (size_t)i + (size_t)a] = scale * sum[a];
}

pd_status pd_constraint_moves(pd_context *context, const pd_model *model, double scale, const real *x, real *moves) {
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements g = model->kinds[kind];
        real *f = model->corner_forces + 3 * (size_t)g.first_corner;
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: PD_LAUNCH(context, name##_moves_kernel, g.n, g, model->fixed, model->masses, model->subspace, x, f); break;
        PD_SWITCH(g.kind, PD_PROJECTIVE_TABLE, PD_CASE)
#undef PD_CASE
    }
    PD_LAUNCH(context, gather_moves_kernel, model->n_vertices, model->n_vertices, model->fixed, model->corner_start, model->corners,
              model->corner_forces, (real)scale, moves);
    return PD_OK;
}
