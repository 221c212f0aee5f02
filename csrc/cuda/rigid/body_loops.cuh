/* What loops over rigid bodies share, one block per body. */
#ifndef PD_CUDA_RIGID_BODY_LOOPS_CUH
#define PD_CUDA_RIGID_BODY_LOOPS_CUH

#include "cuda/context.cuh"

#include "updates/rigid/rigid_update.h"

/* Rows of the body of this block, as its threads take them. */
#define PD_OWN_ROWS(i, body)                       \
    int i = (body)->rows.first + (int)threadIdx.x; \
    i < (body)->rows.first + (body)->rows.n;       \
    i += PD_THREADS

/* Notes whether the body of this block has lost its shape; one thread asks. */
static __device__ __forceinline__ int pd_body_known(pd_bodies bodies, int found) {
    if (!found) atomicMin(bodies.inverted, (int)blockIdx.x);
    return found;
}

#endif
