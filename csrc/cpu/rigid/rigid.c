/* Loops over rigid bodies, serial over the rows of a body. */
#include "cpu/rigid/body_loops.h"

#include <string.h>

enum { BODY_NANOSECONDS = 1500, ROW_NANOSECONDS = 15, SOLVE_NANOSECONDS = 300 };

/* The team of a loop over bodies of similar size. */
static int team(const pd_context *context, const pd_bodies *bodies) {
    return pd_bodies_team(context, bodies, BODY_NANOSECONDS, ROW_NANOSECONDS);
}

pd_status pd_bodies_place(pd_context *context, const pd_bodies *bodies, real *x, real *offset) {
    int inverted = INT_MAX;
#pragma omp parallel for num_threads(team(context, bodies)) schedule(static) reduction(min : inverted)
    for (int b = 0; b < bodies->n; b++) {
        const pd_rigid_body *body = bodies->bodies + b;
        pd_rigid_stand stand;
        double drift[3];
        if (!pd_rigid_fit(bodies->arms, body, x, &stand)) {
            inverted = b < inverted ? b : inverted;
            continue;
        }
        pd_rigid_drift(bodies->arms, body, x, &stand.pose, drift);
        for (int i = body->rows.first; i < pd_body_end(body); i++)
            pd_rigid_update_place(bodies->arms, body, &stand.pose, drift, i, x, offset);
    }
    return pd_bodies_note(bodies, inverted);
}

pd_status pd_bodies_gather(pd_context *context, const pd_bodies *bodies, const real *x, real *gradient, double *curvature) {
    int inverted = INT_MAX;
#pragma omp parallel for num_threads(team(context, bodies)) schedule(static) reduction(min : inverted)
    for (int b = 0; b < bodies->n; b++) {
        const pd_rigid_body *body = bodies->bodies + b;
        pd_rigid_stand stand;
        pd_rigid_sums sums = {{0.0}, {0.0}, {0.0}};
        if (!pd_rigid_fit(bodies->arms, body, x, &stand)) {
            inverted = b < inverted ? b : inverted;
            continue;
        }
        for (int i = body->rows.first; i < pd_body_end(body); i++) pd_rigid_update_gather(bodies->arms, &stand, i, gradient, &sums);
        memset(gradient + 3 * (size_t)body->rows.first, 0, 3 * (size_t)body->rows.n * sizeof(real));
        pd_rigid_finish_gather(body, &stand, &sums, gradient, curvature + 9 * (size_t)b);
    }
    return pd_bodies_note(bodies, inverted);
}

pd_status pd_bodies_spread(pd_context *context, const pd_bodies *bodies, const real *x, double alpha, real *correction) {
    int inverted = INT_MAX;
#pragma omp parallel for num_threads(team(context, bodies)) schedule(static) reduction(min : inverted)
    for (int b = 0; b < bodies->n; b++) {
        const pd_rigid_body *body = bodies->bodies + b;
        pd_rigid_stand stand;
        pd_pose moved;
        double drift[3];
        if (!pd_rigid_fit(bodies->arms, body, x, &stand)) {
            inverted = b < inverted ? b : inverted;
            continue;
        }
        pd_rigid_move(bodies->arms, body, &stand, x, alpha, correction, &moved, drift);
        for (int i = body->rows.first; i < pd_body_end(body); i++)
            pd_rigid_update_spread(bodies->arms, body, &moved, drift, i, x, alpha, correction);
    }
    return pd_bodies_note(bodies, inverted);
}

pd_status pd_bodies_clear(pd_context *context, const pd_bodies *bodies, real *vector) {
    (void)context;
    for (int b = 0; b < bodies->n; b++) {
        const pd_rigid_rows *rows = &bodies->bodies[b].rows;
        memset(vector + 3 * (size_t)rows->first, 0, 3 * (size_t)rows->n * sizeof(real));
    }
    return PD_OK;
}

pd_status pd_bodies_go(pd_context *context, const pd_bodies *bodies, const real *x_1, double fraction, real *x, real *offset) {
    int inverted = INT_MAX;
#pragma omp parallel for num_threads(team(context, bodies)) schedule(static) reduction(min : inverted)
    for (int b = 0; b < bodies->n; b++) {
        const pd_rigid_body *body = bodies->bodies + b;
        pd_rigid_way way;
        double E[9];
        if (!pd_rigid_find_way(bodies->arms, body, x, x_1, &way)) {
            inverted = b < inverted ? b : inverted;
            continue;
        }
        pd_rigid_turn_so_far(&way, fraction, E);
        for (int i = body->rows.first; i < pd_body_end(body); i++) pd_rigid_update_go(bodies->arms, body, &way, E, fraction, i, x, offset);
    }
    return pd_bodies_note(bodies, inverted);
}

pd_status pd_bodies_bend(pd_context *context, const pd_bodies *bodies, const real *x_0, const real *x_1, real *slack) {
    int inverted = INT_MAX;
#pragma omp parallel for num_threads(team(context, bodies)) schedule(static) reduction(min : inverted)
    for (int b = 0; b < bodies->n; b++) {
        const pd_rigid_body *body = bodies->bodies + b;
        pd_rigid_way way;
        if (!pd_rigid_find_way(bodies->arms, body, x_0, x_1, &way)) {
            inverted = b < inverted ? b : inverted;
            continue;
        }
        real bend = pd_rigid_bend_of(body, &way);
        for (int i = body->rows.first; i < pd_body_end(body); i++) slack[i] = bend;
    }
    return pd_bodies_note(bodies, inverted);
}

pd_status pd_bodies_stretch(pd_context *context, const pd_bodies *bodies, const real *x_0, const real *x_1, real *ends) {
    int inverted = INT_MAX;
#pragma omp parallel for num_threads(team(context, bodies)) schedule(static) reduction(min : inverted)
    for (int b = 0; b < bodies->n; b++) {
        const pd_rigid_body *body = bodies->bodies + b;
        pd_rigid_way way;
        if (!pd_rigid_find_way(bodies->arms, body, x_0, x_1, &way)) {
            inverted = b < inverted ? b : inverted;
            continue;
        }
        for (int i = body->rows.first; i < pd_body_end(body); i++) pd_rigid_update_stretch(bodies->arms, &way, i, x_0, ends);
    }
    return pd_bodies_note(bodies, inverted);
}

pd_status pd_bodies_turn(pd_context *context, const pd_bodies *bodies, const real *correction, double *turns) {
    (void)context;
    for (int b = 0; b < bodies->n; b++) turns[b] = pd_rigid_turn_of(bodies->bodies + b, correction);
    return PD_OK;
}

pd_status pd_bodies_arms(pd_context *context, const pd_bodies *bodies, const real *x, double *T, double *along) {
    int inverted = INT_MAX;
#pragma omp parallel for num_threads(team(context, bodies)) schedule(static) reduction(min : inverted)
    for (int b = 0; b < bodies->n; b++) {
        const pd_rigid_body *body = bodies->bodies + b;
        pd_rigid_stand stand;
        if (!pd_rigid_fit(bodies->arms, body, x, &stand)) {
            inverted = b < inverted ? b : inverted;
            continue;
        }
        pd_rigid_along(body, &stand, along + 9 * (size_t)b);
        for (int i = body->rows.first; i < pd_body_end(body); i++)
            pd_rigid_update_arm(bodies->arms, body, &stand, along + 9 * (size_t)b, i, T);
    }
    return pd_bodies_note(bodies, inverted);
}

pd_status pd_bodies_solve(pd_context *context, const pd_bodies *bodies, double *systems, int again, int limited, const real *gradient,
                          real *correction, int *left) {
#pragma omp parallel for num_threads(pd_threads(context, bodies->n, SOLVE_NANOSECONDS)) schedule(static)
    for (int b = 0; b < bodies->n; b++) {
        int pending = !again || left[b];
        left[b] =
            pending && pd_rigid_update_solve(bodies->bodies + b, systems + PD_RIGID_SYSTEM * (size_t)b, limited, gradient, correction);
    }
    return PD_OK;
}
