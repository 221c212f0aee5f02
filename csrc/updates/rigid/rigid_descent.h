/* A group of rigid bodies of a sweep, for the loops of both backends: its step, its step limit, its line search. A group is a single body,
 * or the bodies that joints connect: sweeps over single bodies converge slowly where joints are stiff, and add energy if they stop early.
 *
 * A visit makes up to PD_BODY_STEPS Newton steps. After the approach of another body the barrier is so stiff that one step at most doubles
 * a gap. With one step per sweep two bodies in contact would separate slowly. */
#ifndef PD_UPDATES_RIGID_RIGID_DESCENT_H
#define PD_UPDATES_RIGID_RIGID_DESCENT_H

#include "geometry/collision.h"
#include "updates/rigid/rigid_terms.h"

enum { PD_BODY_STEPS = 6, PD_BODY_HALVINGS = 30, PD_BODY_SHORTER_WAYS = 20 };

/* The smallest accepted decrease of a step, as a fraction of the prediction of the slope. */
#define PD_BODY_WORTH 1e-4
/* A visit ends with a step whose predicted decrease is below this fraction of the first one. */
#define PD_BODY_ENOUGH 1e-2
/* The fraction of a gap that a body may use. */
#define PD_BODY_GAP_FRACTION 0.9

/* ---- its step ------------------------------------------------------------------------------------------------------------------------ */

/* Gradient and block of the free motions of the body: rotations only if it is held, about its axis if it is held in two points. `curved`:
 * with the gradient's part of the Hessian of the rotations, d2/dt2 of f . exp(t) r = (f r^T + r f^T)/2 - (f.r) 1. */
PD_FUNCTION void pd_body_restrict(const pd_body_way *way, int curved, pd_body_sum *sum) {
    double *A = sum->block, *g = sum->gradient, trace = sum->outer[0] + sum->outer[4] + sum->outer[8];
    for (int c = 0; c < 9 && curved; c++) {
        int i = c / 3, j = c % 3;
        A[6 * (3 + i) + 3 + j] += 0.5 * (sum->outer[3 * i + j] + sum->outer[3 * j + i]) - (i == j ? trace : 0.0);
    }
    for (int i = 0; i < 3 && way->held; i++) {
        g[i] = 0.0;
        for (int j = 0; j < 6; j++) A[6 * i + j] = A[6 * j + i] = (double)(i == j);
    }
    if (way->held < 2) return;
    double along = 0.0, stiff = 0.0, size = fabs(A[21]) + fabs(A[28]) + fabs(A[35]);
    for (int i = 0; i < 3; i++) {
        along += way->axis[i] * g[3 + i];
        for (int j = 0; j < 3; j++) stiff += way->axis[i] * A[6 * (3 + i) + 3 + j] * way->axis[j];
    }
    for (int i = 0; i < 3; i++) {
        g[3 + i] = along * way->axis[i];
        for (int j = 0; j < 3; j++)
            A[6 * (3 + i) + 3 + j] = stiff * way->axis[i] * way->axis[j] + size * ((double)(i == j) - way->axis[i] * way->axis[j]);
    }
}

/* The same for the block of two bodies: P A, or A P with `columns`, P the projector on the free motions. */
PD_FUNCTION void pd_body_restrict_side(const pd_body_way *way, int columns, double A[36]) {
    for (int k = 0; k < 6 && way->held; k++) {
        double along = 0.0;
        for (int i = 0; i < 3; i++) {
            A[columns ? 6 * k + i : 6 * i + k] = 0.0;
            along += way->axis[i] * A[columns ? 6 * k + 3 + i : 6 * (3 + i) + k];
        }
        for (int i = 0; i < 3 && way->held > 1; i++) A[columns ? 6 * k + 3 + i : 6 * (3 + i) + k] = along * way->axis[i];
    }
}

/* Divides rows and columns of rotations by the radii of the bodies: an angle counts as the displacement at the radius of gyration. */
PD_FUNCTION void pd_group_scale(double r, double q, double A[36]) {
    for (int i = 0; i < 36; i++) A[i] /= (i / 6 > 2 ? r : 1.0) * (i % 6 > 2 ? q : 1.0);
}

/* The system of a Newton step: blocks, and the gradient in `step`. */
PD_FUNCTION void pd_group_prepare(const pd_body_sweep *sweep, const pd_body_group *group, int curved) {
    const pd_body_groups *groups = &sweep->groups;
    for (int place = group->first; place < group->end; place++) {
        pd_body_sum *sum = &groups->sums[place];
        double r = pd_body_at(sweep, place)->radius;
        pd_body_restrict(&groups->ways[place], curved, sum);
        for (int c = 0; c < 6; c++) sum->correction[c] = sum->gradient[c];
        pd_group_scale(r, r, sum->block);
        for (int c = 3; c < 6; c++) sum->correction[c] /= r;
        for (int s = groups->column_start[place]; s < groups->column_start[place + 1]; s++) {
            pd_body_restrict_side(&groups->ways[groups->rows[s]], 0, groups->entries + 36 * (size_t)s);
            pd_body_restrict_side(&groups->ways[place], 1, groups->entries + 36 * (size_t)s);
            pd_group_scale(pd_body_at(sweep, groups->rows[s])->radius, r, groups->entries + 36 * (size_t)s);
        }
    }
}

/* shift and turn of a Newton step; returns the predicted change of G, J: 0 or less if there is no step. */
PD_UPDATE_FUNCTION double pd_group_newton(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step,
                                          const pd_body_group *group, pd_group_sum *total) {
    const pd_body_groups *groups = &sweep->groups;
    double slope = 0.0;
    int solved = 0, ways = group->end - group->first > 1 ? 4 : 3;
    for (int with = 1; with < ways && !solved; with++) {
        pd_group_sum_up(model, sweep, step, group, 0.0, with, total);
        if (!(total->energy - total->energy == 0.0)) return 0.0;
        for (int place = group->first; place < group->end; place++) pd_body_add_inertia(model, sweep, step, place, total);
        pd_group_prepare(sweep, group, with < 2);
        solved = pd_group_factor(groups, group->first, group->end);
    }
    if (!solved) return 0.0;
    pd_group_solve(groups, group->first, group->end);
    for (int place = group->first; place < group->end; place++) {
        const pd_body_sum *sum = &groups->sums[place];
        pd_body_way *way = &groups->ways[place];
        for (int c = 0; c < 3; c++)
            way->shift[c] = -sum->correction[c], way->turn[c] = -sum->correction[3 + c] / pd_body_at(sweep, place)->radius;
        for (int c = 0; c < 3; c++) slope -= sum->gradient[c] * way->shift[c];
        for (int c = 0; c < 3; c++) slope -= sum->gradient[3 + c] * way->turn[c];
        if (way->held > 1) {
            double along = way->turn[0] * way->axis[0] + way->turn[1] * way->axis[1] + way->turn[2] * way->axis[2]; // only about the axis
            for (int c = 0; c < 3; c++) way->turn[c] = along * way->axis[c];
        }
        way->arc = pd_body_length(way->shift) + pd_body_length(way->turn) * way->extent;
    }
    return slope;
}

/* ---- the step limit ------------------------------------------------------------------------------------------------------------------ */

/* The fraction of its path after which a point may cross the plane of a pair. It approaches by `speed` along its chord, and by at most
 * `bend` more, m, since its path is an arc. A gap as small as rounding has to open. */
PD_FUNCTION double pd_body_plane_fraction(const pd_separating_plane *plane, double slack, double speed, double bend) {
    double approach = speed + bend;
    if (!(plane->share > 0) && !(approach <= 4.0 * (double)plane->share)) return 0.0;
    return approach <= slack ? (double)INFINITY : slack / approach;
}

/* The same of row i for all of its planes, and for its outer ball. */
PD_FUNCTION double pd_body_row_fraction(const pd_body_sweep *sweep, int i, const double chord[3], double bend, double far) {
    const pd_vertex_bounds *bounds = &sweep->bounds.bounds;
    const pd_far_pairs *others = &bounds->far;
    const pd_incidence *near = &sweep->bounds.incidence;
    const real *at = sweep->start + 3 * (size_t)i, *start = others->start + 3 * (size_t)i;
    const double gone[3] = {(double)at[0] - (double)start[0], (double)at[1] - (double)start[1], (double)at[2] - (double)start[2]};
    double fraction = fmax(bounds->outer - pd_body_length(gone), 0.0) / far;
    pd_separating_plane plane;
    for (int r = near->start[i]; r < near->start[i + 1]; r++) {
        int p = near->roles[r] / 4, corner = near->roles[r] % 4;
        pd_contact_update_plane(&bounds->pairs, bounds->begun, bounds->rounding, bounds->fraction, 0, p, &plane);
        double side = pd_corner_side(bounds->pairs.kind[p], corner);
        fraction = pd_least_of(fraction,
                               pd_body_plane_fraction(&plane, (double)plane.slacks[corner], -side * pd_plane_along(&plane, chord), bend));
    }
    for (int r = others->incidence.start[i]; r < others->incidence.start[i + 1]; r++) {
        int p = others->incidence.roles[r] / 4, corner = others->incidence.roles[r] % 4;
        if (others->near[p]) continue;
        pd_contact_update_plane(&others->pairs, others->start, bounds->rounding, bounds->fraction, 1, p, &plane);
        double side = pd_corner_side(others->pairs.kind[p], corner);
        double slack = (double)plane.slacks[corner] + side * pd_plane_along(&plane, gone);
        fraction = pd_least_of(fraction, pd_body_plane_fraction(&plane, fmax(slack, 0.0), -side * pd_plane_along(&plane, chord), bend));
    }
    return fraction;
}

/* The fraction of the path after which a point may leave its displacement bound (vertex_bound.h), for a body at its start. */
PD_FUNCTION double pd_body_bound(const pd_body_sweep *sweep, int place, const pd_body_way *way) {
    const pd_rigid_body *body = pd_body_at(sweep, place);
    double fraction = (double)INFINITY, shift = pd_body_length(way->shift), turn = pd_body_length(way->turn);
    for (int i = body->rows.first; i < body->rows.first + body->rows.n; i++) {
        double arm[3], across[3], far;
        if (pd_rigid_is_pin(body, i)) continue;
        pd_body_arm(way, sweep->start, i, arm);
        pd_pose_cross(way->turn, arm, across);
        far = shift + pd_body_length(across);
        if (far * fmin(fraction, 1.0) <= (double)sweep->displacement_bound[i]) continue;
        const double chord[3] = {way->shift[0] + across[0], way->shift[1] + across[1], way->shift[2] + across[2]};
        fraction = pd_least_of(fraction, pd_body_row_fraction(sweep, i, chord, 0.5 * turn * pd_body_length(across), far));
    }
    return fraction;
}

/* shift and turn = the total displacement of a body from the start of the sweep. */
PD_FUNCTION void pd_body_whole(pd_body_way *way) {
    pd_pose_logarithm(way->turned, way->turn);
    for (int c = 0; c < 9; c++) way->turned[c] = (double)(c % 4 == 0);
    for (int c = 0; c < 3; c++) way->shift[c] = way->gone[c], way->gone[c] = 0.0;
}

/* Tells whether the body, after this fraction of its path, keeps the bounds of all of its points on the single arc from the start of the
 * sweep. */
PD_FUNCTION int pd_body_within_bound(const pd_body_sweep *sweep, int place, double fraction) {
    pd_body_way whole = sweep->groups.ways[place];
    pd_body_rotation_after(&sweep->groups.ways[place], fraction, whole.turned);
    for (int c = 0; c < 3; c++) whole.gone[c] += fraction * whole.shift[c];
    pd_body_whole(&whole);
    return pd_body_bound(sweep, place, &whole) >= 1.0;
}

/* The distance of the points of a body from its chord at this fraction of its path, m. */
PD_FUNCTION double pd_body_slack(const pd_body_way *way, double length) {
    double turn = pd_body_length(way->turn);
    return 0.125 * way->extent * turn * turn * length * length;
}

/* The fraction of the path at `length` within the step limit of pair p, with the bodies outside the group at rest; `after` of the ways is
 * the rotation at `length`. */
PD_UPDATE_FUNCTION double pd_group_impact(const pd_model *model, const pd_body_sweep *sweep, int p, int group, double length, double stop) {
    const int *points = sweep->pairs.points + 4 * (size_t)p;
    int kind = sweep->pairs.kind[p], corners = pd_contact_corners(kind), places[4];
    // corners of two edges where one or both of them are points
    const int place[4] = {0, kind == PD_VERTEX_EDGE || kind == PD_VERTEX_VERTEX ? 0 : 1,
                          kind == PD_VERTEX_EDGE || kind == PD_VERTEX_VERTEX ? 1 : 2,
                          kind == PD_VERTEX_EDGE     ? 2
                          : kind == PD_VERTEX_VERTEX ? 1
                          : corners > 3              ? 3
                                                     : 0};
    double slack = 0.0;
    real from[12], to[12];
    for (int j = 0; j < 4; j++) {
        int point = points[place[j]], of = pd_group_place(model, sweep, group, point), first = of >= 0;
        const real *at = sweep->points + 3 * (size_t)point;
        for (int c = 0; c < 3; c++) from[3 * j + c] = to[3 * j + c] = at[c];
        if (of >= 0 && !model->fixed[point]) {
            const pd_body_way *way = &sweep->groups.ways[of];
            pd_body_row_after(way, way->after, length, sweep->start + 3 * (size_t)point, to + 3 * j);
        }
        for (int k = 0; k < j; k++) first = first && places[k] != of;
        places[j] = of;
        if (first) slack += pd_body_slack(&sweep->groups.ways[of], length);
    }
    real separation = sweep->pairs.separation[p] + (real)(slack + sweep->rounding);
    if (kind == PD_VERTEX_PLANE) return (double)pd_plane_collision(from, to, 0, 1, separation).time;
    int by = kind == PD_VERTEX_TRIANGLE ? PD_VERTEX_TRIANGLE : PD_EDGE_EDGE;
    return (double)pd_pair_collision(by, PD_CCD_CERTIFIED, from, to, separation, (real)stop).time;
}

/* The fraction of the path of a group within the step limit, with all others at rest, at most `fraction`: on arcs, as in
 * dynamics/problem/path.c. */
PD_UPDATE_FUNCTION double pd_group_free(const pd_model *model, const pd_body_sweep *sweep, const pd_body_group *group, double fraction) {
    double length = fraction, free = 0.0;
    for (int trial = 0; trial < PD_BODY_SHORTER_WAYS && free < 0.5 * length; trial++) {
        if (trial > 0) length = 2.0 * free > 0.5 * length ? 2.0 * free : 0.5 * length;
        double here = 1.0;
        for (int place = group->first; place < group->end; place++) {
            pd_body_way *way = &sweep->groups.ways[place];
            pd_body_rotation_after(way, length, way->after);
        }
        for (int place = group->first; place < group->end; place++) {
            const pd_body_way *way = &sweep->groups.ways[place];
            for (int i = 0; i < pd_body_listed(way); i++) {
                int k = pd_body_listed_at(way, i);
                const pd_body_way *other = sweep->others[k] < 0 ? NULL : &sweep->groups.ways[sweep->others[k]];
                double went = way->went + (other ? other->went : 0.0), arcs = way->arc + (other ? other->arc : 0.0);
                if (length * arcs <= PD_BODY_GAP_FRACTION * (sweep->gaps[k] - went)) continue;
                double time = pd_group_impact(model, sweep, sweep->own[k], group->number, length, here);
                here = pd_least_of(here, time);
            }
        }
        free = here * length > free ? here * length : free;
    }
    return free;
}

/* The fraction of its path that a group may move within the displacement bounds of its points, at most `fraction`. */
PD_UPDATE_FUNCTION double pd_group_bound(const pd_body_sweep *sweep, const pd_body_group *group, double fraction) {
    int within = 1;
    for (int place = group->first; place < group->end; place++) {
        const pd_body_way *way = &sweep->groups.ways[place];
        double bound = way->went > 0.0 ? fraction : pd_body_bound(sweep, place, way);
        fraction = pd_least_of(fraction, bound);
    }
    for (int place = group->first; place < group->end && within; place++)
        if (sweep->groups.ways[place].went > 0.0) within = pd_body_within_bound(sweep, place, fraction);
    return within ? fraction : 0.0;
}

/* The fraction of its path that a group may move. */
PD_UPDATE_FUNCTION double pd_group_limit(const pd_model *model, const pd_body_sweep *sweep, const pd_body_group *group,
                                         const pd_group_sum *total) {
    double fraction = 1.0, most = 0.0;
    int touches = 0, movers = group->end - group->first > 1 ? 2 : 1; // of a pair
    for (int place = group->first; place < group->end; place++) {
        double turn = pd_body_length(sweep->groups.ways[place].turn);
        fraction = pd_least_of(fraction, turn > 1.0 ? 1.0 / turn : 1.0);
    }
    if (sweep->by_bounds) return pd_group_bound(sweep, group, fraction);
    for (int place = group->first; place < group->end; place++) {
        double arc = sweep->groups.ways[place].arc, slack = sweep->bound - sweep->groups.ways[place].went;
        if (!pd_body_touches(sweep, place)) continue;
        touches = 1;
        if (fraction * arc > slack) fraction = slack > 0.0 ? slack / arc : 0.0;
        most = pd_most_of(most, arc);
    }
    if (!touches) return fraction;
    if (fraction * movers * most <= PD_BODY_GAP_FRACTION * (total->least - sweep->rounding)) return fraction;
    return pd_group_free(model, sweep, group, fraction);
}

/* Moves the bodies of a group to this fraction of the path. */
PD_FUNCTION void pd_group_put(const pd_body_sweep *sweep, const pd_body_group *group, double fraction) {
    for (int place = group->first; place < group->end; place++) pd_body_put(sweep, place, fraction);
}

/* One Newton step of a group; returns the predicted decrease, J, 0 without a move. */
PD_UPDATE_FUNCTION double pd_group_correct(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step,
                                           const pd_body_group *group, int *lost) {
    pd_group_sum sum; // at the start, then at each trial
    double slope = pd_group_newton(model, sweep, step, group, &sum), size = 0.0;
    *lost = !(sum.energy - sum.energy == 0.0);
    if (*lost || !(slope > 0.0)) return 0.0;
    double fraction = sweep->touches ? pd_group_limit(model, sweep, group, &sum) : 1.0;
    for (int place = group->first; place < group->end; place++)
        for (int c = 0; c < 3; c++) size = fmax(size, fabs(sweep->groups.ways[place].about[c]) + sweep->groups.ways[place].extent);
    const double energy = sum.energy, rounded = sum.magnitude, forces = sum.forces;
    for (int halving = 0; fraction > 0.0 && halving < PD_BODY_HALVINGS; halving++, fraction *= 0.5) {
        double magnitude = 0.0, change = 0.0;
        for (int place = group->first; place < group->end; place++)
            change += pd_body_inertia(model, sweep, step, place, fraction, &magnitude);
        pd_group_put(sweep, group, fraction);
        pd_group_sum_up(model, sweep, step, group, fraction, 0, &sum);
        // rounding of the sums, and of positions, by the work of forces
        double noise = 4.0 * (double)PD_EPSILON * (rounded + magnitude + size * forces);
        if (change + sum.energy - energy > noise - PD_BODY_WORTH * fraction * slope) continue;
        for (int place = group->first; place < group->end; place++) {
            pd_body_way *way = &sweep->groups.ways[place];
            way->went += fraction * way->arc;
            pd_body_rotation_after(way, fraction, way->after);
            for (int c = 0; c < 9; c++) way->turned[c] = way->after[c];
            for (int c = 0; c < 3; c++) way->gone[c] += fraction * way->shift[c];
        }
        return slope;
    }
    pd_group_put(sweep, group, 0.0);
    return 0.0;
}

/* Moves the bodies of a group in sweep->points, and writes their moves. */
PD_UPDATE_FUNCTION void pd_group_update(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step, int number) {
    const pd_body_group group = pd_group_of(sweep, number);
    double first = 0.0;
    int lost = 0;
    for (int place = group.first; place < group.end; place++) pd_body_begin(sweep, place);
    for (int place = group.first; place < group.end && sweep->touches; place++) pd_body_list_pairs(model, sweep, number, place);
    for (int k = 0; k < PD_BODY_STEPS; k++) {
        double promised = pd_group_correct(model, sweep, step, &group, &lost);
        if (k == 0) first = promised;
        if (!(promised > PD_BODY_ENOUGH * first)) break;
    }
    const double back = lost ? (double)NAN : -1.0; // the frame must detect a step without a move at a closed gap
    for (int place = group.first; place < group.end; place++) {
        size_t body = (size_t)sweep->groups.members[place];
        pd_body_way *way = &sweep->groups.ways[place];
        pd_body_whole(way);
        for (int c = 0; c < 3; c++) {
            sweep->moves[6 * body + (size_t)c] = (real)(back * way->shift[c]);
            sweep->moves[6 * body + 3 + (size_t)c] = (real)(-way->turn[c] * sweep->bodies[body].radius);
        }
        sweep->moved[body] = way->went;
        if (sweep->touches) sweep->beyond[body] = (unsigned char)(pd_body_bound(sweep, place, way) < 1.0);
    }
}

#endif
