/* The limit of moves by tets that must not invert, on CUDA: one thread per tet; see orientation_loops.h. */
#include "loops/orientation_loops.h"

#include "cuda/append.cuh"
#include "cuda/largest.cuh"
#include "updates/elements/orientation_update.h"

static __global__ void shortfall_kernel(pd_elements g, const real *x_0, const real *x_1, double *shortfall) {
    const int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    double most = e < g.n ? pd_orientation_update(&g, x_0, x_1, e) : 0.0;
    for (int shift = PD_WARP / 2; shift > 0; shift /= 2) most = pd_most_of(most, __shfl_xor_sync(PD_ALL_LANES, most, shift));
    if (pd_lane() == 0) pd_keep_largest(shortfall, most);
}

pd_status pd_orientation_shortfall(pd_context *context, const pd_model *model, const real *x_0, const real *x_1, double *shortfall) {
    pd_status status = pd_memory_clear(context, shortfall, sizeof *shortfall);
    if (status) return status;
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements g = model->kinds[kind];
        if (g.is_oriented) PD_LAUNCH(context, shortfall_kernel, g.n, g, x_0, x_1, shortfall);
    }
    return PD_OK;
}
