/* Shared parts of loops over rigid bodies, one block per body. */
#ifndef PD_CUDA_RIGID_BODY_LOOPS_CUH
#define PD_CUDA_RIGID_BODY_LOOPS_CUH

#include "cuda/context.cuh"

#include "updates/rigid/rigid_update.h"

/* The rows of the body of this block for one thread. */
#define PD_OWN_ROWS(i, body)                       \
    int i = (body)->rows.first + (int)threadIdx.x; \
    i < (body)->rows.first + (body)->rows.n;       \
    i += PD_THREADS

/* Records whether the body of this block is no longer rigid; for one thread. */
static __device__ __forceinline__ int pd_body_known(pd_bodies bodies, int found) {
    if (!found) atomicMin(bodies.inverted, (int)blockIdx.x);
    return found;
}

#endif
