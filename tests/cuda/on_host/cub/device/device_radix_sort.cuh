/* The part of CUB that the loops use, as plain loops; see cuda_runtime.h two folders up. */
#ifndef PD_ON_HOST_DEVICE_RADIX_SORT_CUH
#define PD_ON_HOST_DEVICE_RADIX_SORT_CUH

#include <cuda_runtime.h>

#include <algorithm>

namespace cub {
template <typename T> struct DoubleBuffer {
    T *d_buffers[2];
    int selector = 0;
    DoubleBuffer(T *current, T *alternate) : d_buffers{current, alternate} {}
    T *Current() { return d_buffers[selector]; }
    T *Alternate() { return d_buffers[selector ^ 1]; }
};

/* Sorts by digits of eight bits, so that the result is where CUB leaves it after as many passes; the other buffer is spoilt, and so is the
 * temporary memory, of which more is wanted for more keys. */
struct DeviceRadixSort {
    template <typename Key, typename Count>
    static cudaError_t SortKeys(void *memory, size_t &bytes, DoubleBuffer<Key> &keys, Count count, int begin_bit, int end_bit,
                                cudaStream_t stream) {
        size_t wanted = 256 + 2 * (size_t)count, n = (size_t)count;
        if (!memory) return bytes = wanted, cudaSuccess;
        if (bytes < wanted || begin_bit < 0 || end_bit > (int)(8 * sizeof(Key)) || begin_bit > end_bit) return cudaErrorInvalidValue;
        Key *current = keys.Current(), *alternate = keys.Alternate();
        bool odd = (end_bit - begin_bit + 7) / 8 % 2;
        cudaLaunchConfig_t config = {};
        config.stream = stream;
        if (odd) keys.selector ^= 1;
        return pd_on_host_launch(config, [=]() {
            Key mask = end_bit - begin_bit < (int)(8 * sizeof(Key)) ? ((Key)1 << (end_bit - begin_bit)) - 1 : ~(Key)0;
            std::stable_sort(current, current + n, [=](Key a, Key b) { return (a >> begin_bit & mask) < (b >> begin_bit & mask); });
            if (odd) std::copy(current, current + n, alternate);
            memset((void *)(odd ? current : alternate), 0xff, n * sizeof(Key));
            memset(memory, 0xff, wanted);
        });
    }
};
} // namespace cub

#endif
