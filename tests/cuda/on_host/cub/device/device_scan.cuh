/* The part of CUB that the loops use, as plain loops; see cuda_runtime.h two folders up. */
#ifndef PD_ON_HOST_DEVICE_SCAN_CUH
#define PD_ON_HOST_DEVICE_SCAN_CUH

#include <cuda_runtime.h>

namespace cub {
/* The temporary memory, of which more is wanted for more items, is spoilt. */
struct DeviceScan {
    template <typename T, typename Count>
    static cudaError_t ExclusiveSum(void *memory, size_t &bytes, const T *in, T *out, Count count, cudaStream_t stream) {
        size_t wanted = 256 + (size_t)count / 8, n = (size_t)count;
        if (!memory) return bytes = wanted, cudaSuccess;
        if (bytes < wanted) return cudaErrorInvalidValue;
        cudaLaunchConfig_t config = {};
        config.stream = stream;
        return pd_on_host_launch(config, [=]() {
            T sum = 0;
            for (size_t i = 0; i < n; i++) {
                T value = in[i];
                out[i] = sum;
                sum = (T)(sum + value);
            }
            memset(memory, 0xff, wanted);
        });
    }
};
} // namespace cub

#endif
