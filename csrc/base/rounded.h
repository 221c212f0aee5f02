/* Products and differences with their own rounding.
 *
 * nvcc fuses a product into a sum if it can, and differently in two kernels that inline the same formula. These functions give two kernels
 * the same bits, such as the move of a vertex with and without a report. On the CPU they are plain operations. */
#ifndef PD_BASE_ROUNDED_H
#define PD_BASE_ROUNDED_H

#include "base/real.h"

PD_FUNCTION real pd_product(real a, real b) {
#ifdef __CUDA_ARCH__
    return sizeof(real) == sizeof(float) ? (real)__fmul_rn((float)a, (float)b) : (real)__dmul_rn((double)a, (double)b);
#else
    return a * b;
#endif
}

PD_FUNCTION real pd_difference(real a, real b) {
#ifdef __CUDA_ARCH__
    return sizeof(real) == sizeof(float) ? (real)__fsub_rn((float)a, (float)b) : (real)__dsub_rn((double)a, (double)b);
#else
    return a - b;
#endif
}

#endif
