/* The maximum over many threads. */
#ifndef PD_CUDA_LARGEST_CUH
#define PD_CUDA_LARGEST_CUH

#include "cuda/context.cuh"

#include <cstring>

/* *largest = max(*largest, value), both >= +0. Such numbers have the order of their bits, and a maximum does not depend on the schedule. */
static __device__ __forceinline__ void pd_keep_largest(double *largest, double value) {
    unsigned long long bits;
    memcpy(&bits, &value, sizeof bits);
    atomicMax((unsigned long long *)largest, bits);
}

#endif
