/* The grid-wide barrier of cooperative launches; see cuda_runtime.h beside this file. */
#ifndef PD_ON_HOST_COOPERATIVE_GROUPS_H
#define PD_ON_HOST_COOPERATIVE_GROUPS_H

#include <cuda_runtime.h>

void pd_on_host_grid_barrier();

namespace cooperative_groups {
struct grid_group {
    void sync() const { pd_on_host_grid_barrier(); }
    unsigned long long thread_rank() const { return (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; }
    unsigned long long size() const { return (unsigned long long)gridDim.x * blockDim.x; }
};
static inline grid_group this_grid() { return {}; }
} // namespace cooperative_groups

#endif
