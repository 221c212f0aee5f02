/* The part of CUB that the kernels use, as plain loops; see cuda_runtime.h two folders up. */
#ifndef PD_ON_HOST_BLOCK_REDUCE_CUH
#define PD_ON_HOST_BLOCK_REDUCE_CUH

#include <cuda_runtime.h>

namespace cub {
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };

/* The result is thread 0's; the others get NaN, or the most negative number. */
template <typename T, int THREADS, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS> struct BlockReduce {
    struct TempStorage {
        T values[THREADS];
    };
    TempStorage &storage;
    explicit BlockReduce(TempStorage &shared) : storage(shared) {}
    T Sum(T value) {
        return Reduce(value, [](T a, T b) { return a + b; });
    }
    template <typename F> T Reduce(T value, F join) {
        storage.values[threadIdx.x] = value;
        __syncthreads();
        T result = value;
        if (threadIdx.x == 0)
            for (int i = 1; i < THREADS; i++) result = join(result, storage.values[i]);
        else
            memset((void *)&result, 0xff, sizeof result);
        __syncthreads();
        return result;
    }
};
} // namespace cub

#endif
