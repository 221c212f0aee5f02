/* The floating-point type of a build, and the specifiers of functions that compile as C11 and as CUDA C++.
 *
 * The compiler flag -DPD_REAL=float|double sets `real`; the same tree is built once per precision. Element functions are written once
 * with PD_FUNCTION, so CPU loops and CUDA kernels call the same formula. Code in csrc/mesh, csrc/sparse and csrc/verify is always double.
 * It includes this file only through csrc/geometry, for formulas there, and does not use PD_REAL. */
#ifndef PD_BASE_REAL_H
#define PD_BASE_REAL_H

#include <math.h>

#ifndef PD_REAL
#define PD_REAL double
#endif

typedef PD_REAL real;

#ifdef __CUDACC__
#define PD_FUNCTION static __host__ __device__ __forceinline__
#else
#define PD_FUNCTION static inline
#endif

/* A function that must be inlined, since it also processes several elements in one vector register. Loops, arrays or branches inside
 * would prevent that. The compiler decides about other functions. */
#if defined(__GNUC__) && !defined(__CUDACC__)
#define PD_LANE_FUNCTION static inline __attribute__((always_inline))
#else
#define PD_LANE_FUNCTION PD_FUNCTION
#endif

/* Before the innermost loop of a function that processes several elements at once, number i of element l at [lanes i + l]. A caller with
 * one element passes lanes = 1. */
#if defined(_OPENMP) && !defined(__CUDACC__)
#define PD_LANE_LOOP _Pragma("omp simd")
#else
#define PD_LANE_LOOP
#endif

/* A function that is never inlined, so that it has the same rounding for all callers: the fusion of products depends on the surrounding
 * code. */
#if defined(__clang__) && !defined(__CUDACC__)
#define PD_FUNCTION_APART static __attribute__((noinline, unused))
#elif defined(__GNUC__) && !defined(__CUDACC__)
#define PD_FUNCTION_APART static __attribute__((noinline, noclone, unused))
#else
#define PD_FUNCTION_APART PD_FUNCTION
#endif

/* A large function with many callers, which is slow to compile. It is inlined in the kernels of a step, where a call would move arrays
 * to local memory. Files that define PD_CALL_LARGE_FUNCTIONS before all includes call it. */
#if defined(__CUDACC__) && defined(PD_CALL_LARGE_FUNCTIONS)
#define PD_LARGE_FUNCTION static __host__ __device__ __noinline__ __attribute__((unused))
#else
#define PD_LARGE_FUNCTION PD_FUNCTION
#endif

/* Half the spacing of 1 and the next real: 6e-8 in float, 1.1e-16 in double. */
#define PD_EPSILON ((real)(sizeof(real) == sizeof(float) ? 5.9604644775390625e-08 : 1.1102230246251565e-16))

/* sizeof(real) is a constant: each of these compiles to a single call. */
PD_FUNCTION real pd_sqrt(real x) { return sizeof(real) == sizeof(float) ? (real)sqrtf((float)x) : (real)sqrt((double)x); }

PD_FUNCTION real pd_fabs(real x) { return sizeof(real) == sizeof(float) ? (real)fabsf((float)x) : (real)fabs((double)x); }

PD_FUNCTION real pd_log(real x) { return sizeof(real) == sizeof(float) ? (real)logf((float)x) : (real)log((double)x); }

PD_FUNCTION real pd_atan2(real y, real x) {
    return sizeof(real) == sizeof(float) ? (real)atan2f((float)y, (float)x) : (real)atan2((double)y, (double)x);
}

PD_FUNCTION real pd_min(real a, real b) { return a < b ? a : b; }

PD_FUNCTION real pd_max(real a, real b) { return a > b ? a : b; }

/* 0, or NaN if x is not finite. A sum of squares plus this fails closed. */
PD_FUNCTION double pd_finite_zero(real x) { return (double)(x - x); }

/* The smaller of two bounds, and the larger. A NaN gives an infinity that stays in all later calls, so that a reduction fails closed. */
PD_FUNCTION double pd_least_of(double least, double value) { return value < least ? value : value >= least ? least : -(double)INFINITY; }

PD_FUNCTION double pd_most_of(double most, double value) { return value > most ? value : value <= most ? most : (double)INFINITY; }

#endif
