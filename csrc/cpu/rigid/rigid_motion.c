/* Loops over rigid bodies at the start and end of a step, serial over the rows of a body. */
#include "updates/rigid/rigid_motion.h"
#include "cpu/rigid/body_loops.h"

enum { BODY_NANOSECONDS = 3000, ROW_NANOSECONDS = 20 };

static int team(const pd_context *context, const pd_bodies *bodies) {
    return pd_bodies_team(context, bodies, BODY_NANOSECONDS, ROW_NANOSECONDS);
}

pd_status pd_bodies_first_guess(pd_context *context, const pd_bodies *bodies, int guess, double h, const real *x_t, const real *v,
                                const real *external_acceleration, real *x, real *offset, real *predicted_displacement) {
    int inverted = INT_MAX;
#pragma omp parallel for num_threads(team(context, bodies)) schedule(static) reduction(min : inverted)
    for (int b = 0; b < bodies->n; b++) {
        const pd_rigid_body *body = bodies->bodies + b;
        pd_rigid_motion motion;
        double turned[9], back[3], to[3];
        if (!pd_motion_of(bodies->arms, body, h, x_t, v, external_acceleration, &motion)) {
            inverted = b < inverted ? b : inverted;
            continue;
        }
        if (!motion.turns) continue;
        pd_motion_predict(bodies->arms, body, h, &motion, turned);
        pd_motion_mean(body, offset, back);
        for (int i = body->rows.first; i < pd_body_end(body); i++) {
            pd_motion_drift(bodies->arms, &motion, turned, h, i, to);
            pd_motion_first_guess(body, guess, to, back, i, x_t, x, offset, predicted_displacement);
        }
    }
    return pd_bodies_note(bodies, inverted);
}

pd_status pd_bodies_offset(pd_context *context, const pd_bodies *bodies, double h, const real *x, const real *x_t, const real *v,
                           const real *external_acceleration, real *offset) {
    int inverted = INT_MAX;
#pragma omp parallel for num_threads(team(context, bodies)) schedule(static) reduction(min : inverted)
    for (int b = 0; b < bodies->n; b++) {
        const pd_rigid_body *body = bodies->bodies + b;
        pd_rigid_motion motion;
        double turned[9], to[3];
        if (!pd_motion_of(bodies->arms, body, h, x_t, v, external_acceleration, &motion)) {
            inverted = b < inverted ? b : inverted;
            continue;
        }
        if (!motion.turns) continue;
        pd_motion_predict(bodies->arms, body, h, &motion, turned);
        for (int i = body->rows.first; i < pd_body_end(body); i++) {
            pd_motion_drift(bodies->arms, &motion, turned, h, i, to);
            pd_motion_offset(body, to, i, x_t, x, offset);
        }
    }
    return pd_bodies_note(bodies, inverted);
}

pd_status pd_bodies_velocity(pd_context *context, const pd_bodies *bodies, double h, const real *x, const real *x_t,
                             const real *external_acceleration, const real *offset, const real *v_t, real *v, double *turns) {
    int inverted = INT_MAX;
#pragma omp parallel for num_threads(team(context, bodies)) schedule(static) reduction(min : inverted)
    for (int b = 0; b < bodies->n; b++) {
        const pd_rigid_body *body = bodies->bodies + b;
        pd_rigid_motion motion;
        pd_rigid_end end;
        turns[b] = 0.0;
        if (!pd_motion_of(bodies->arms, body, h, x_t, v_t, external_acceleration, &motion) ||
            !pd_motion_end(bodies->arms, body, h, &motion, x, offset, v, &end)) {
            inverted = b < inverted ? b : inverted;
            continue;
        }
        turns[b] = pd_motion_turn(h, end.spin);
        for (int i = body->rows.first; i < pd_body_end(body) && turns[b] > 0.0; i++) pd_motion_velocity(bodies->arms, body, &end, i, v);
    }
    return pd_bodies_note(bodies, inverted);
}
