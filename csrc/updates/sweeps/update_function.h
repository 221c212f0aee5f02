/* The functions of one update of a sweep over vertices, for the loops of both backends: their specifiers, and the sums over the threads
 * that share an update. A loop with several threads per update defines these before its includes, see vertex_update.h. */
#ifndef PD_UPDATES_SWEEPS_UPDATE_FUNCTION_H
#define PD_UPDATES_SWEEPS_UPDATE_FUNCTION_H

#include "base/real.h"

enum { PD_POSITION_STRIDE = 4 };

#ifndef PD_UPDATE_TOTAL
#define PD_UPDATE_TOTAL(lanes, value) (value) /* the sum of a double over the threads of an update */
#define PD_UPDATE_LEAST(lanes, value) (value) /* the least of a double over them */
#define PD_UPDATE_WAIT(lanes)         ((void)0)
#endif

/* One function per kind of element. In a kernel they are calls: inlining all of them takes a compiler many minutes. */
#ifdef __CUDACC__
#define PD_UPDATE_FUNCTION static __device__ __noinline__
#define PD_UPDATE_INLINE   static __device__ __forceinline__
#else
#define PD_UPDATE_FUNCTION static inline
#define PD_UPDATE_INLINE   static inline
#endif

#endif
