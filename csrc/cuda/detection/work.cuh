/* Sums and scans of the broad phase, with a pd_work as scratch. */
#ifndef PD_CUDA_DETECTION_WORK_CUH
#define PD_CUDA_DETECTION_WORK_CUH

#include "cuda/context.cuh"

#include "loops/collision_loops.h"

/* A reduction over n items has one part per block. Their number does not depend on the device, so that sums have the same bits on all. */
enum { PD_PART = 1024, PD_MOST_PARTS = 1024 };

static inline unsigned pd_parts(long long n) {
    long long parts = (n + PD_PART - 1) / PD_PART;
    return parts < PD_MOST_PARTS ? (unsigned)parts : (unsigned)PD_MOST_PARTS;
}

struct pd_part {
    int begin, end;
};

static __device__ __forceinline__ pd_part pd_part_of_block(int n) {
    long long parts = gridDim.x, part = blockIdx.x;
    return {(int)(n * part / parts), (int)(n * (part + 1) / parts)};
}

/* starts [n+1]: in, the counts of n items, and any last value; out, their exclusive sums. (sort.cu) */
pd_status pd_scan(pd_context *context, int n, const pd_work *work, int *starts);

#endif
