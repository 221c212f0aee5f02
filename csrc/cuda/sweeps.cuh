/* Many sweeps of an iterative solver, for the kernels of jacobi.cu and block_matrix.cu: whether they run in one cooperative launch that stays or
 * in one launch each, and in how many launches the sweeps of a long run fit. */
#ifndef PD_CUDA_SWEEPS_CUH
#define PD_CUDA_SWEEPS_CUH

#include "cuda/context.cuh"

/* Sweeps whose omegas travel with the arguments of one launch. */
enum { PD_SWEEPS_OF_LAUNCH = 64 };

struct pd_omegas {
    real at[PD_SWEEPS_OF_LAUNCH];
};

/* Fewest sweeps for which the kernel that stays is taken. It is taken only where everything finds room at once: then a sweep is a grid
 * barrier and one gather, where a launch is a start and three dependent reads (row, columns, values of the neighbours). Counted, not
 * measured: set it with the table of benchmarks/gpu_a_jacobi. */
enum { PD_SWEEPS_THAT_PAY = 3 };

/* Blocks of the launch that stays, whose kernel is compiled for vectors of three columns and of one, and which wants `wanted` of them; 0: one
 * launch for each sweep. */
template <typename Kernel>
static inline unsigned pd_staying_blocks(const pd_context *context, unsigned wanted, int width, int n_sweeps, Kernel three, Kernel one) {
    int asked = context->sweeps == PD_SWEEPS_PERSISTENT;
    if (context->sweeps == PD_SWEEPS_LAUNCHES || (width != 3 && width != 1) || !(asked || n_sweeps >= PD_SWEEPS_THAT_PAY)) return 0;
    unsigned room = pd_resident_blocks(context, width == 3 ? three : one);
    return wanted <= room ? wanted : asked ? room : 0;
}

static inline void pd_swap_buffers(real *buffers[2]) {
    real *first = buffers[0];
    buffers[0] = buffers[1];
    buffers[1] = first;
}

/* launch(omegas, first, n): sweeps first .. first + n - 1 from buffers[0], each from one buffer into the other. The result is in buffers[0]. */
template <typename Launch> static inline pd_status pd_launch_sweeps(const double *omega, int n_sweeps, real *buffers[2], Launch launch) {
    for (int first = 0; first < n_sweeps; first += PD_SWEEPS_OF_LAUNCH) {
        int n = n_sweeps - first < PD_SWEEPS_OF_LAUNCH ? n_sweeps - first : (int)PD_SWEEPS_OF_LAUNCH;
        pd_omegas omegas = {};
        for (int k = 0; k < n; k++) omegas.at[k] = (real)omega[first + k];
        pd_status status = launch(omegas, first, n);
        if (status) return status;
        if (n % 2) pd_swap_buffers(buffers);
    }
    return PD_OK;
}

#endif
