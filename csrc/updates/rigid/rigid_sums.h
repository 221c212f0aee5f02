/* Sums over the terms of a group of rigid bodies in a sweep, and how the terms of an element or a pair enter them, for the loops of both
 * backends. Of the Hessian there are the blocks of bodies and of those pairs of bodies that the factor has (dynamics/rigid/mechanisms.h). */
#ifndef PD_UPDATES_RIGID_RIGID_SUMS_H
#define PD_UPDATES_RIGID_RIGID_SUMS_H

#include "elements/contact/pair_motion.h"
#include "updates/rigid/group_factor.h"
#include "updates/rigid/rigid_way.h"
#include "updates/sweeps/touching_vertex.h"

/* Sums over the terms of a group. */
typedef struct pd_group_sum {
    double energy, magnitude, forces; /* J, J, N: sums of values, of absolute ones, and of the lengths of forces */
    double least;                     /* the smallest gap of its pairs, m */
} pd_group_sum;

PD_FUNCTION void pd_body_add_force(const double arm[3], const double f[3], pd_body_sum *sum, pd_group_sum *total) {
    double torque[3];
    pd_pose_cross(arm, f, torque);
    for (int c = 0; c < 3; c++) {
        sum->gradient[c] += f[c], sum->gradient[3 + c] += torque[c];
        for (int d = 0; d < 3; d++) sum->outer[3 * c + d] += f[c] * arm[d];
    }
    total->forces += pd_body_length(f);
}

/* J [3,6] of a row: its derivative by shift and turn. */
PD_FUNCTION void pd_body_jacobian(const double arm[3], double J[18]) {
    for (int i = 0; i < 18; i++) J[i] = 0.0;
    J[0] = J[7] = J[14] = 1.0;
    J[4] = arm[2], J[5] = -arm[1];
    J[9] = -arm[2], J[11] = arm[0];
    J[15] = arm[1], J[16] = -arm[0];
}

/* Corners of an element or a pair that move with a group. */
typedef struct pd_moving {
    int n, corner[4], place[4];
    double J[72]; /* [n,3,6] by shift and turn of the body */
} pd_moving;

/* block += weight J^T K J with the rows of one body and the columns of another, K [width,width]. */
PD_FUNCTION void pd_body_add_block(const pd_moving *moving, int of_rows, int of_columns, int width, const real *K, double weight,
                                   double block[36]) {
    for (int row = 0; row < 3 * moving->n; row++) {
        double moved[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
        const double *of_row = moving->J + 6 * row;
        const real *values = K + width * (3 * moving->corner[row / 3] + row % 3);
        if (moving->place[row / 3] != of_rows) continue;
        for (int column = 0; column < 3 * moving->n; column++) {
            if (moving->place[column / 3] != of_columns) continue;
            double value = (double)values[3 * moving->corner[column / 3] + column % 3];
            for (int c = 0; c < 6; c++) moved[c] += value * moving->J[6 * column + c];
        }
        for (int a = 0; a < 6; a++)
            for (int b = 0; b < 6; b++) block[6 * a + b] += weight * (of_row[a] * moved[b]);
    }
}

/* Tells whether a place is the first of its body among the corners. */
PD_FUNCTION int pd_moving_is_first(const pd_moving *moving, int k) {
    for (int j = 0; j < k; j++)
        if (moving->place[j] == moving->place[k]) return 0;
    return 1;
}

/* Adds K to the blocks of its bodies. If one of them is missing, or with `apart`, only those of single bodies grow, by a factor of the
 * number of bodies: for K without negative eigenvalues that bounds it from above. */
PD_UPDATE_FUNCTION void pd_group_add_blocks(const pd_body_groups *groups, const pd_moving *moving, int width, const real *K, int apart) {
    int bodies = 0;
    for (int k = 0; k < moving->n; k++) {
        if (!pd_moving_is_first(moving, k)) continue;
        bodies++;
        for (int j = 0; j < k && !apart; j++) {
            int row = moving->place[k] > moving->place[j] ? moving->place[k] : moving->place[j];
            int column = moving->place[k] + moving->place[j] - row;
            apart = row != column && pd_group_slot(groups, row, column) < 0;
        }
    }
    for (int k = 0; k < moving->n; k++) {
        int place = moving->place[k];
        if (!pd_moving_is_first(moving, k)) continue;
        pd_body_add_block(moving, place, place, width, K, apart ? (double)bodies : 1.0, groups->sums[place].block);
        for (int j = 0; j < k && !apart; j++) {
            int row = place > moving->place[j] ? place : moving->place[j], column = place + moving->place[j] - row;
            if (!pd_moving_is_first(moving, j)) continue;
            pd_body_add_block(moving, row, column, width, K, 1.0, groups->entries + 36 * (size_t)pd_group_slot(groups, row, column));
        }
    }
}

/* Adds f and K [k,3], [3k,3k] of an element or pair with these corners; K NULL: f only. */
PD_UPDATE_FUNCTION void pd_group_add(const pd_model *model, const pd_body_sweep *sweep, int group, int corners, const int *points,
                                     const real *f, const real *K, int apart, pd_group_sum *total) {
    pd_moving moving;
    moving.n = 0;
    for (int j = 0; j < corners; j++) {
        double arm[3], force[3];
        int place = pd_group_place(model, sweep, group, points[j]);
        if (place < 0 || model->fixed[points[j]]) continue;
        pd_body_arm(&sweep->groups.ways[place], sweep->start, points[j], arm);
        for (int c = 0; c < 3; c++) force[c] = (double)f[3 * j + c];
        pd_body_add_force(arm, force, &sweep->groups.sums[place], total);
        pd_body_jacobian(arm, moving.J + 18 * moving.n);
        moving.corner[moving.n] = j, moving.place[moving.n++] = place;
    }
    if (K) pd_group_add_blocks(&sweep->groups, &moving, 3 * corners, K, apart);
}

PD_FUNCTION void pd_group_add_energy(double energy, pd_group_sum *sum) { sum->energy += energy, sum->magnitude += fabs(energy); }

/* `with` of the functions below: 0: only the energy; 1: forces and the Hessian too; 2: with projected Hessians; 3: with blocks of single
 * bodies only. */
PD_FUNCTION pd_hessian_filter pd_body_filter(int with) { return with > 1 ? PD_FILTER_CLAMP : PD_FILTER_NONE; }

/* Sums over pairs by the shift and turn of one body; the block's upper triangle, row by row. */
typedef struct pd_twist_sums {
    double gradient[6], block[21];
} pd_twist_sums;

PD_FUNCTION void pd_twist_sums_add(pd_twist_terms terms, pd_twist_sums *sums, pd_group_sum *total) {
    double gradient[6], block[21];
    pd_twist_store(terms.gradient, gradient);
    pd_twist_block_store(terms.block, block);
    for (int i = 0; i < 6; i++) sums->gradient[i] += gradient[i];
    for (int i = 0; i < 21; i++) sums->block[i] += block[i];
    total->forces += terms.forces;
}

/* Adds them to the sums of the body. */
PD_FUNCTION void pd_body_add_twists(const pd_twist_sums *sums, pd_body_sum *sum) {
    for (int i = 0, k = 0; i < 6; i++) {
        sum->gradient[i] += sums->gradient[i];
        for (int j = i; j < 6; j++, k++) {
            sum->block[6 * i + j] += sums->block[k];
            if (j > i) sum->block[6 * j + i] += sums->block[k];
        }
    }
}

/* The corner of a pair as a lever of the body. */
PD_FUNCTION pd_lever pd_body_corner(const pd_model *model, const pd_body_sweep *sweep, int group, int place, int point) {
    double arm[3];
    if (pd_group_place(model, sweep, group, point) != place || model->fixed[point]) return pd_lever_of(0.0, 0.0, 0.0, 0.0);
    pd_body_arm(&sweep->groups.ways[place], sweep->start, point, arm);
    return pd_lever_of(1.0, arm[0], arm[1], arm[2]);
}

PD_FUNCTION pd_levers4 pd_body_corners(const pd_model *model, const pd_body_sweep *sweep, int group, int place, const int points[4]) {
    pd_levers4 at;
    at.a = pd_body_corner(model, sweep, group, place, points[0]), at.b = pd_body_corner(model, sweep, group, place, points[1]);
    at.c = pd_body_corner(model, sweep, group, place, points[2]), at.d = pd_body_corner(model, sweep, group, place, points[3]);
    return at;
}

#endif
