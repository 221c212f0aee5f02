/* The ways of rigid bodies from one state to another; see rigid.h. */
#include "dynamics/rigid.h"

#include <string.h>

/* How a body goes: its poses at both ends, the rotation vector from one to the other, and what it turns about. */
typedef struct way {
    pd_pose start;
    double turn[3], shift[3], about[3]; // about: the centre or the pin, where the way starts
    int held;
} way;

static pd_status way_of(const pd_problem *problem, const pd_rigid_body *body, const real *x_0, const real *x_1, way *way) {
    const pd_rigid *self = problem->rigid;
    pd_pose end;
    double axis[3], between[9];
    pd_status status = PD_OK;
    way->held = body->rows.pins[0] >= 0;
    PD_TRY(pd_rigid_read_pose(problem, body, x_1, &end, axis));
    PD_TRY(pd_rigid_read_pose(problem, body, x_0, &way->start, axis));
    pd_pose_relative(end.rotation, way->start.rotation, between);
    pd_pose_logarithm(between, way->turn);
    for (int c = 0; c < 3; c++) {
        way->about[c] = way->held ? self->wide[3 * body->rows.pins[0] + c] : way->start.centre[c];
        way->shift[c] = way->held ? 0.0 : end.centre[c] - way->start.centre[c];
    }
done:
    return status;
}

/* Where a row at `at` goes to, less where it was: E the rotation so far. */
static void moved_by(const way *way, const double E[9], double part, const double at[3], double by[3]) {
    double arm[3];
    for (int c = 0; c < 3; c++) arm[c] = at[c] - way->about[c];
    pd_pose_rotate(E, arm, by);
    for (int c = 0; c < 3; c++) by[c] += part * way->shift[c] - arm[c];
}

pd_status pd_rigid_go(const pd_problem *problem, const real *x_1, double part, real *x, real *offset) {
    pd_rigid *self = problem->rigid;
    pd_context *context = problem->context;
    pd_status status = PD_OK;
    for (int b = 0; b < self->n; b++) {
        const pd_rigid_body *body = &self->bodies[b];
        size_t first = 3 * (size_t)body->rows.first, bytes = 3 * (size_t)body->rows.n * sizeof(real);
        way way;
        double turn[3], E[9];
        PD_TRY(way_of(problem, body, x, x_1, &way));
        for (int c = 0; c < 3; c++) turn[c] = part * way.turn[c];
        pd_pose_exponential(turn, E);
        PD_TRY(pd_memory_download(context, self->rows, x + first, bytes));
        if (offset) PD_TRY(pd_memory_download(context, self->others, offset + first, bytes));
        for (int i = 0; i < body->rows.n; i++) {
            double at[3], by[3];
            if (i == body->rows.pins[0] || i == body->rows.pins[1]) continue;
            pd_rigid_place_row(self, body, &way.start, i, at);
            moved_by(&way, E, part, at, by);
            for (int c = 0; c < 3; c++) {
                self->rows[3 * i + c] = (real)((double)self->rows[3 * i + c] + by[c]);
                self->others[3 * i + c] = (real)((double)self->others[3 * i + c] + by[c]);
            }
        }
        PD_TRY(pd_memory_upload(context, x + first, self->rows, bytes));
        if (offset) PD_TRY(pd_memory_upload(context, offset + first, self->others, bytes));
    }
done:
    return status;
}

pd_status pd_rigid_bend(const pd_problem *problem, const real *x_0, const real *x_1) {
    pd_rigid *self = problem->rigid;
    pd_status status = PD_OK;
    for (int b = 0; b < self->n; b++) {
        const pd_rigid_body *body = &self->bodies[b];
        way way;
        PD_TRY(way_of(problem, body, x_0, x_1, &way));
        // a curve is off its chord by an eighth of its second derivative, r |turn|^2, at most
        double square = way.turn[0] * way.turn[0] + way.turn[1] * way.turn[1] + way.turn[2] * way.turn[2];
        real slack = (real)(0.125 * body->extent * square);
        for (int i = body->rows.first; i < body->rows.first + body->rows.n; i++) self->slack[i] = slack;
    }
done:
    return status;
}

pd_status pd_rigid_largest_turn(const pd_problem *problem, const real *direction, double *turn) {
    const pd_rigid *self = problem->rigid;
    pd_status status = PD_OK;
    *turn = 0.0;
    for (int b = 0; b < self->n; b++) {
        const pd_rigid_body *body = &self->bodies[b];
        size_t at = 3 * (size_t)(body->rows.first + body->rows.n - PD_RIGID_CARRIERS + 1);
        real vector[3];
        PD_TRY(pd_memory_download(problem->context, vector, direction + at, sizeof vector));
        double square = 0.0;
        for (int c = 0; c < 3; c++) square += (double)vector[c] * (double)vector[c];
        *turn = fmax(*turn, sqrt(square) / body->radius);
    }
done:
    return status;
}
