/* The largest of numbers that many threads find. */
#ifndef PD_CUDA_LARGEST_CUH
#define PD_CUDA_LARGEST_CUH

#include "cuda/context.cuh"

#include <cstring>

/* *largest = max(*largest, value), both >= +0. Such numbers are in the order of their bits, and a maximum does not depend on the order of
 * the threads. */
static __device__ __forceinline__ void pd_keep_largest(double *largest, double value) {
    unsigned long long bits;
    memcpy(&bits, &value, sizeof bits);
    atomicMax((unsigned long long *)largest, bits);
}

#endif
