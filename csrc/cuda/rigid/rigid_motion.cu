/* Loops over rigid bodies at the start and end of a step, one block per body: its first thread finds the motion, and all threads share its
 * rows. */
#include "cuda/rigid/body_loops.cuh"

#include "updates/rigid/rigid_motion.h"

static __global__ void body_first_guess_kernel(pd_bodies bodies, int guess, double h, const real *x_t, const real *v,
                                               const real *external_acceleration, real *x, real *offset, real *predicted_displacement) {
    const pd_rigid_body *body = bodies.bodies + blockIdx.x;
    __shared__ pd_rigid_motion motion;
    __shared__ double turned[9], back[3];
    __shared__ int turns;
    double to[3];
    if (threadIdx.x == 0) {
        turns = pd_body_known(bodies, pd_motion_of(bodies.arms, body, h, x_t, v, external_acceleration, &motion)) && motion.turns;
        if (turns) pd_motion_predict(bodies.arms, body, h, &motion, turned);
        pd_motion_mean(body, offset, back);
    }
    __syncthreads();
    if (!turns) return;
    for (PD_OWN_ROWS(i, body)) {
        pd_motion_drift(bodies.arms, &motion, turned, h, i, to);
        pd_motion_first_guess(body, guess, to, back, i, x_t, x, offset, predicted_displacement);
    }
}

pd_status pd_bodies_first_guess(pd_context *context, const pd_bodies *bodies, int guess, double h, const real *x_t, const real *v,
                                const real *external_acceleration, real *x, real *offset, real *predicted_displacement) {
    PD_LAUNCH_BLOCKS(context, body_first_guess_kernel, (unsigned)bodies->n, *bodies, guess, h, x_t, v, external_acceleration, x, offset,
                     predicted_displacement);
    return PD_OK;
}

static __global__ void body_offset_kernel(pd_bodies bodies, double h, const real *x, const real *x_t, const real *v,
                                          const real *external_acceleration, real *offset) {
    const pd_rigid_body *body = bodies.bodies + blockIdx.x;
    __shared__ pd_rigid_motion motion;
    __shared__ double turned[9];
    __shared__ int turns;
    double to[3];
    if (threadIdx.x == 0) {
        turns = pd_body_known(bodies, pd_motion_of(bodies.arms, body, h, x_t, v, external_acceleration, &motion)) && motion.turns;
        if (turns) pd_motion_predict(bodies.arms, body, h, &motion, turned);
    }
    __syncthreads();
    if (!turns) return;
    for (PD_OWN_ROWS(i, body)) {
        pd_motion_drift(bodies.arms, &motion, turned, h, i, to);
        pd_motion_offset(body, to, i, x_t, x, offset);
    }
}

pd_status pd_bodies_offset(pd_context *context, const pd_bodies *bodies, double h, const real *x, const real *x_t, const real *v,
                           const real *external_acceleration, real *offset) {
    PD_LAUNCH_BLOCKS(context, body_offset_kernel, (unsigned)bodies->n, *bodies, h, x, x_t, v, external_acceleration, offset);
    return PD_OK;
}

static __global__ void body_velocity_kernel(pd_bodies bodies, double h, const real *x, const real *x_t, const real *external_acceleration,
                                            const real *offset, const real *v_t, real *v, double *turns) {
    const pd_rigid_body *body = bodies.bodies + blockIdx.x;
    pd_rigid_motion motion;
    __shared__ pd_rigid_end end;
    __shared__ double turn;
    if (threadIdx.x == 0) {
        int found = pd_motion_of(bodies.arms, body, h, x_t, v_t, external_acceleration, &motion) &&
                    pd_motion_end(bodies.arms, body, h, &motion, x, offset, v, &end);
        turn = pd_body_known(bodies, found) ? pd_motion_turn(h, end.spin) : 0.0;
        turns[blockIdx.x] = turn;
    }
    __syncthreads();
    if (!(turn > 0.0)) return;
    for (PD_OWN_ROWS(i, body)) pd_motion_velocity(bodies.arms, body, &end, i, v);
}

pd_status pd_bodies_velocity(pd_context *context, const pd_bodies *bodies, double h, const real *x, const real *x_t,
                             const real *external_acceleration, const real *offset, const real *v_t, real *v, double *turns) {
    PD_LAUNCH_BLOCKS(context, body_velocity_kernel, (unsigned)bodies->n, *bodies, h, x, x_t, external_acceleration, offset, v_t, v, turns);
    return PD_OK;
}
