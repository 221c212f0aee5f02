/* Corners and contact pairs with filtered blocks in a sweep: launches of their own before that of the updates, whose kernel has less memory
 * per thread. */
#define PD_CALL_LARGE_FUNCTIONS
#define PD_UPDATE_CARRIES 0 // as in vertex_sweep.cu
#include "cuda/context.cuh"
#include "cuda/sweeps/filtered_corners.cuh"
#include "updates/sweeps/filtered_corner.h"
#include "updates/sweeps/filtered_pair.h"

/* The update of a thread, and its number among the threads of this. */
struct filtered_thread {
    int update, lane;
};

static __device__ __forceinline__ filtered_thread begin_thread(int lanes, int begin) {
    const unsigned per_block = PD_THREADS / (unsigned)lanes;
    return {begin + (int)(blockIdx.x * per_block + threadIdx.x / (unsigned)lanes), (int)(threadIdx.x % (unsigned)lanes)};
}

/* Writes the sums over the threads of an update. */
template <int N> static __device__ __forceinline__ void end_thread(filtered_thread thread, int lanes, int end, real (&sum)[N], real *out) {
    for (int shift = lanes / 2; shift > 0; shift /= 2)
        for (int i = 0; i < N; i++) sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], shift);
    if (thread.update >= end || thread.lane > 0) return;
    for (int i = 0; i < N; i++) out[N * (size_t)thread.update + (size_t)i] = sum[i];
}

static __global__ void __launch_bounds__(PD_THREADS)
    filtered_corners_kernel(const __grid_constant__ pd_model model, const __grid_constant__ pd_vertex_sweep sweep, const real *positions,
                            int lanes, int begin, int end) {
    const filtered_thread thread = begin_thread(lanes, begin);
    real sum[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    if (thread.update < end) pd_vertex_update_add_filtered(&model, &sweep, positions, thread.update, thread.lane, lanes, sum);
    end_thread(thread, lanes, end, sum, sweep.filtered.sums);
}

static __global__ void __launch_bounds__(PD_THREADS)
    filtered_pairs_kernel(const __grid_constant__ pd_model model, const __grid_constant__ pd_vertex_sweep sweep,
                          const __grid_constant__ pd_contact_sweep contact, int lanes, int begin, int end) {
    const filtered_thread thread = begin_thread(lanes, begin);
    real more[6] = {0, 0, 0, 0, 0, 0};
    if (thread.update < end && sweep.may_touch[thread.update])
        pd_filtered_pairs_add(&model, &sweep, &contact, sweep.updates[thread.update].vertex, thread.lane, lanes, more);
    end_thread(thread, lanes, end, more, sweep.filtered.pairs);
}

pd_status pd_sweep_sum_filtered(pd_context *context, const pd_model *model, const pd_vertex_sweep *sweep, const pd_contact_sweep *contact,
                                const real *positions, int lanes, int begin, int end) {
    const unsigned blocks = pd_thread_blocks((long long)(end - begin) * lanes);
    PD_LAUNCH_BLOCKS(context, filtered_corners_kernel, blocks, *model, *sweep, positions, lanes, begin, end);
    if (contact) PD_LAUNCH_BLOCKS(context, filtered_pairs_kernel, blocks, *model, *sweep, *contact, lanes, begin, end);
    return PD_OK;
}
