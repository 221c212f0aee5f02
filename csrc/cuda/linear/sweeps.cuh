/* Many sweeps of an iterative solver, for the kernels of jacobi.cu and block_matrix.cu: the choice between a cooperative persistent
 * launch and one launch each, and the number of launches for a long run. */
#ifndef PD_CUDA_LINEAR_SWEEPS_CUH
#define PD_CUDA_LINEAR_SWEEPS_CUH

#include "cuda/context.cuh"
#include "cuda/record.cuh"

/* Sweeps whose omegas fit the arguments of one launch. */
enum { PD_SWEEPS_OF_LAUNCH = 64 };

struct pd_omegas {
    real at[PD_SWEEPS_OF_LAUNCH];
};

/* The minimum number of sweeps for the persistent kernel. It runs only if all rows can be resident: then a sweep is a grid barrier and
 * one gather. A launch is a start and three dependent reads (row, columns, values of the neighbours). From a count of operations, not
 * from a measurement: adjust it by the table of benchmarks/gpu_a_jacobi. */
enum { PD_SWEEPS_THAT_PAY = 3 };

/* Blocks of a persistent launch of a kernel for vectors of three columns or one, which needs `wanted` of them; 0: one launch per sweep. */
template <typename Kernel>
static inline unsigned pd_staying_blocks(const pd_context *context, unsigned wanted, int width, int n_sweeps, Kernel kernel) {
    int required = context->sweeps == PD_SWEEPS_PERSISTENT;
    if (context->sweeps == PD_SWEEPS_LAUNCHES || (width != 3 && width != 1) || !(required || n_sweeps >= PD_SWEEPS_THAT_PAY)) return 0;
    unsigned resident = pd_resident_blocks(context, kernel);
    return wanted <= resident ? wanted : required ? resident : 0;
}

/* Tells whether all sweeps are one persistent launch, which may then include the gather and the move. With several launches, these would
 * belong to different ones. */
static inline bool pd_sweeps_fit(int n_sweeps) { return n_sweeps > 0 && n_sweeps <= PD_SWEEPS_OF_LAUNCH; }

/* Rows of an iterate, and their stride. */
struct pd_iterate_rows {
    real *rows;
    int stride;
};

static inline __host__ __device__ bool pd_is_padded(pd_iterate_rows d) { return d.stride == PD_PADDED; }

static __device__ __forceinline__ size_t pd_number_at(pd_iterate_rows d, int i, int column) {
    return (size_t)(unsigned)d.stride * (size_t)(unsigned)i + (size_t)column;
}

/* Thread `lane` of row i writes column first + lane. The fourth thread writes the padding, so that sectors are written whole. */
template <int W>
static __device__ __forceinline__ void pd_write_row(pd_iterate_rows d, bool inside, int i, int first, int lane, real value) {
    const bool fills = W == 3 && pd_is_padded(d) && lane == 3;
    if (inside && (lane < W || fills)) d.rows[pd_number_at(d, i, first + lane)] = fills ? (real)0 : value;
}

/* Memory of the iterates of some sweeps: d, number 0, and the previous one, number -1, are in the caller's buffers, as are at the end
 * the last two, or only the last. With three columns the internal iterates have rows of four numbers (`padded`; NULL: not). A neighbour
 * is then one read of 16 bytes in float, in one sector of 32. */
struct pd_iterates {
    real *even, *odd, *padded;
    size_t n;
    int width, sweeps, to_the_end;

    __host__ __device__ __forceinline__ pd_iterate_rows at(int k) const {
        const bool inside = padded && k >= 1 && k < sweeps - 1 + to_the_end, second = k & 1;
        return inside ? pd_iterate_rows{padded + (second ? PD_PADDED * n : 0), PD_PADDED} : pd_iterate_rows{second ? odd : even, width};
    }
};

static inline pd_iterates pd_iterates_of(real *buffers[2], real *scratch, int n, int width, int sweeps, int to_the_end) {
    return {buffers[0], buffers[1], width == 3 ? scratch : nullptr, (size_t)n, width, sweeps, to_the_end ? 1 : 0};
}

static inline void pd_swap_buffers(real *buffers[2]) {
    real *first = buffers[0];
    buffers[0] = buffers[1];
    buffers[1] = first;
}

/* launch(omegas, first, n, ends): sweeps first .. first + n - 1 from buffers[0], each from one buffer into the other; ends: the last
 * sweeps. The result is in buffers[0]. */
template <typename Launch> static inline pd_status pd_launch_sweeps(const double *omega, int n_sweeps, real *buffers[2], Launch launch) {
    for (int first = 0; first < n_sweeps; first += PD_SWEEPS_OF_LAUNCH) {
        int n = n_sweeps - first < PD_SWEEPS_OF_LAUNCH ? n_sweeps - first : (int)PD_SWEEPS_OF_LAUNCH;
        pd_omegas omegas = {};
        for (int k = 0; k < n; k++) omegas.at[k] = (real)omega[first + k];
        pd_status status = launch(omegas, first, n, first + n == n_sweeps);
        if (status) return status;
        if (n % 2) pd_swap_buffers(buffers);
    }
    return PD_OK;
}

#endif
