/* Loops over rigid bodies, one block per body: its first thread finds the pose, and all threads share its rows. */
#include "cuda/block_sum.cuh"
#include "cuda/rigid/body_loops.cuh"

static __global__ void body_place_kernel(pd_bodies bodies, real *x, real *offset) {
    const pd_rigid_body *body = bodies.bodies + blockIdx.x;
    __shared__ pd_rigid_stand stand;
    __shared__ double drift[3];
    __shared__ int found;
    if (threadIdx.x == 0 && (found = pd_body_known(bodies, pd_rigid_fit(bodies.arms, body, x, &stand))))
        pd_rigid_drift(bodies.arms, body, x, &stand.pose, drift);
    __syncthreads();
    if (!found) return;
    for (PD_OWN_ROWS(i, body)) pd_rigid_update_place(bodies.arms, body, &stand.pose, drift, i, x, offset);
}

pd_status pd_bodies_place(pd_context *context, const pd_bodies *bodies, real *x, real *offset) {
    PD_LAUNCH_BLOCKS(context, body_place_kernel, (unsigned)bodies->n, *bodies, x, offset);
    return PD_OK;
}

static __global__ void body_gather_kernel(pd_bodies bodies, const real *x, real *gradient, double *curvature) {
    const pd_rigid_body *body = bodies.bodies + blockIdx.x;
    __shared__ pd_rigid_stand stand;
    __shared__ int found;
    pd_rigid_sums sums = {{0.0}, {0.0}, {0.0}};
    if (threadIdx.x == 0) found = pd_body_known(bodies, pd_rigid_fit(bodies.arms, body, x, &stand));
    __syncthreads();
    if (!found) return;
    for (PD_OWN_ROWS(i, body)) pd_rigid_update_gather(bodies.arms, &stand, i, gradient, &sums);
#pragma unroll
    for (int c = 0; c < 3; c++) {
        sums.force[c] = pd_block_sum(sums.force[c]);
        sums.torque[c] = pd_block_sum(sums.torque[c]);
    }
#pragma unroll
    for (int c = 0; c < 9; c++) sums.outer[c] = pd_block_sum(sums.outer[c]);
    int carrier = pd_rigid_first_carrier(body);
    for (PD_OWN_ROWS(i, body))
        for (int c = 0; c < 3 && i != carrier && i != carrier + 1; c++) gradient[3 * (size_t)i + c] = 0;
    if (threadIdx.x == 0) pd_rigid_finish_gather(body, &stand, &sums, gradient, curvature + 9 * (size_t)blockIdx.x);
}

pd_status pd_bodies_gather(pd_context *context, const pd_bodies *bodies, const real *x, real *gradient, double *curvature) {
    PD_LAUNCH_BLOCKS(context, body_gather_kernel, (unsigned)bodies->n, *bodies, x, gradient, curvature);
    return PD_OK;
}

static __global__ void body_spread_kernel(pd_bodies bodies, const real *x, double alpha, real *correction) {
    const pd_rigid_body *body = bodies.bodies + blockIdx.x;
    pd_rigid_stand stand;
    __shared__ pd_pose moved;
    __shared__ double drift[3];
    __shared__ int found;
    if (threadIdx.x == 0 && (found = pd_body_known(bodies, pd_rigid_fit(bodies.arms, body, x, &stand))))
        pd_rigid_move(bodies.arms, body, &stand, x, alpha, correction, &moved, drift);
    __syncthreads();
    if (!found) return;
    for (PD_OWN_ROWS(i, body)) pd_rigid_update_spread(bodies.arms, body, &moved, drift, i, x, alpha, correction);
}

pd_status pd_bodies_spread(pd_context *context, const pd_bodies *bodies, const real *x, double alpha, real *correction) {
    PD_LAUNCH_BLOCKS(context, body_spread_kernel, (unsigned)bodies->n, *bodies, x, alpha, correction);
    return PD_OK;
}

static __global__ void body_clear_kernel(pd_bodies bodies, real *vector) {
    const pd_rigid_body *body = bodies.bodies + blockIdx.x;
    for (PD_OWN_ROWS(i, body))
        for (int c = 0; c < 3; c++) vector[3 * (size_t)i + c] = 0;
}

pd_status pd_bodies_clear(pd_context *context, const pd_bodies *bodies, real *vector) {
    PD_LAUNCH_BLOCKS(context, body_clear_kernel, (unsigned)bodies->n, *bodies, vector);
    return PD_OK;
}

static __global__ void body_go_kernel(pd_bodies bodies, const real *x_1, double fraction, real *x, real *offset) {
    const pd_rigid_body *body = bodies.bodies + blockIdx.x;
    __shared__ pd_rigid_way way;
    __shared__ double E[9];
    __shared__ int found;
    if (threadIdx.x == 0 && (found = pd_body_known(bodies, pd_rigid_find_way(bodies.arms, body, x, x_1, &way))))
        pd_rigid_turn_so_far(&way, fraction, E);
    __syncthreads();
    if (!found) return;
    for (PD_OWN_ROWS(i, body)) pd_rigid_update_go(bodies.arms, body, &way, E, fraction, i, x, offset);
}

pd_status pd_bodies_go(pd_context *context, const pd_bodies *bodies, const real *x_1, double fraction, real *x, real *offset) {
    PD_LAUNCH_BLOCKS(context, body_go_kernel, (unsigned)bodies->n, *bodies, x_1, fraction, x, offset);
    return PD_OK;
}

static __global__ void body_bend_kernel(pd_bodies bodies, const real *x_0, const real *x_1, real *slack) {
    const pd_rigid_body *body = bodies.bodies + blockIdx.x;
    pd_rigid_way way;
    __shared__ real bend;
    __shared__ int found;
    if (threadIdx.x == 0 && (found = pd_body_known(bodies, pd_rigid_find_way(bodies.arms, body, x_0, x_1, &way))))
        bend = pd_rigid_bend_of(body, &way);
    __syncthreads();
    if (!found) return;
    for (PD_OWN_ROWS(i, body)) slack[i] = bend;
}

pd_status pd_bodies_bend(pd_context *context, const pd_bodies *bodies, const real *x_0, const real *x_1, real *slack) {
    PD_LAUNCH_BLOCKS(context, body_bend_kernel, (unsigned)bodies->n, *bodies, x_0, x_1, slack);
    return PD_OK;
}

static __global__ void body_stretch_kernel(pd_bodies bodies, const real *x_0, const real *x_1, real *ends) {
    const pd_rigid_body *body = bodies.bodies + blockIdx.x;
    __shared__ pd_rigid_way way;
    __shared__ int found;
    if (threadIdx.x == 0) found = pd_body_known(bodies, pd_rigid_find_way(bodies.arms, body, x_0, x_1, &way));
    __syncthreads();
    if (!found) return;
    for (PD_OWN_ROWS(i, body)) pd_rigid_update_stretch(bodies.arms, &way, i, x_0, ends);
}

pd_status pd_bodies_stretch(pd_context *context, const pd_bodies *bodies, const real *x_0, const real *x_1, real *ends) {
    PD_LAUNCH_BLOCKS(context, body_stretch_kernel, (unsigned)bodies->n, *bodies, x_0, x_1, ends);
    return PD_OK;
}

static __global__ void body_turn_kernel(pd_bodies bodies, const real *correction, double *turns) {
    int b = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (b < bodies.n) turns[b] = pd_rigid_turn_of(bodies.bodies + b, correction);
}

pd_status pd_bodies_turn(pd_context *context, const pd_bodies *bodies, const real *correction, double *turns) {
    PD_LAUNCH(context, body_turn_kernel, bodies->n, *bodies, correction, turns);
    return PD_OK;
}

static __global__ void body_arms_kernel(pd_bodies bodies, const real *x, double *T, double *along) {
    const pd_rigid_body *body = bodies.bodies + blockIdx.x;
    __shared__ pd_rigid_stand stand;
    __shared__ int found;
    double *own = along + 9 * (size_t)blockIdx.x;
    if (threadIdx.x == 0 && (found = pd_body_known(bodies, pd_rigid_fit(bodies.arms, body, x, &stand)))) pd_rigid_along(body, &stand, own);
    __syncthreads();
    if (!found) return;
    for (PD_OWN_ROWS(i, body)) pd_rigid_update_arm(bodies.arms, body, &stand, own, i, T);
}

pd_status pd_bodies_arms(pd_context *context, const pd_bodies *bodies, const real *x, double *T, double *along) {
    PD_LAUNCH_BLOCKS(context, body_arms_kernel, (unsigned)bodies->n, *bodies, x, T, along);
    return PD_OK;
}

static __global__ void body_solve_kernel(pd_bodies bodies, double *systems, int again, int limited, const real *gradient, real *correction,
                                         int *left) {
    int b = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (b >= bodies.n) return;
    int pending = !again || left[b];
    left[b] = pending && pd_rigid_update_solve(bodies.bodies + b, systems + PD_RIGID_SYSTEM * (size_t)b, limited, gradient, correction);
}

pd_status pd_bodies_solve(pd_context *context, const pd_bodies *bodies, double *systems, int again, int limited, const real *gradient,
                          real *correction, int *left) {
    PD_LAUNCH(context, body_solve_kernel, bodies->n, *bodies, systems, again, limited, gradient, correction, left);
    return PD_OK;
}
