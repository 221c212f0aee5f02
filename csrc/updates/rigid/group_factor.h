/* The Cholesky factor of the Hessian of a group of bodies, in blocks of 6x6 on a pattern with fill (dynamics/rigid/mechanisms.h): diagonal
 * blocks in `sums`, those below in `entries`, right-hand side and solution in `step`. */
#ifndef PD_UPDATES_RIGID_GROUP_FACTOR_H
#define PD_UPDATES_RIGID_GROUP_FACTOR_H

#include "updates/rigid/rigid_update.h"

#include "loops/rigid_sweep_loops.h"

/* C -= A B^T, all [6,6]. */
PD_FUNCTION void pd_group_subtract(const double *A, const double *B, double *C) {
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            double sum = 0.0;
            for (int k = 0; k < 6; k++) sum += A[6 * i + k] * B[6 * j + k];
            C[6 * i + j] -= sum;
        }
}

/* The block of two places of a group, the first the larger one, or -1. */
PD_FUNCTION int pd_group_slot(const pd_body_groups *groups, int row, int column) {
    for (int s = groups->column_start[column]; s < groups->column_start[column + 1]; s++)
        if (groups->rows[s] == row) return s;
    return -1;
}

/* Factorises the places first .. end - 1; returns 0 if the matrix is not positive definite. */
PD_FUNCTION int pd_group_factor(const pd_body_groups *groups, int first, int end) {
    for (int column = first; column < end; column++) {
        const int from = groups->column_start[column], to = groups->column_start[column + 1];
        double *L = groups->sums[column].block;
        if (!pd_rigid_factor6(L)) return 0;
        for (int s = from; s < to; s++)
            for (int i = 0; i < 6; i++) pd_rigid_forward6(L, groups->entries + 36 * (size_t)s + 6 * i);
        for (int t = from; t < to; t++) {
            const double *B = groups->entries + 36 * (size_t)t;
            pd_group_subtract(B, B, groups->sums[groups->rows[t]].block);
            for (int s = t + 1; s < to; s++)
                pd_group_subtract(groups->entries + 36 * (size_t)s, B,
                                  groups->entries + 36 * (size_t)pd_group_slot(groups, groups->rows[s], groups->rows[t]));
        }
    }
    return 1;
}

/* correction <- the solution for the right-hand side `correction`. */
PD_FUNCTION void pd_group_solve(const pd_body_groups *groups, int first, int end) {
    for (int column = first; column < end; column++) {
        const double *b = groups->sums[column].correction;
        pd_rigid_forward6(groups->sums[column].block, groups->sums[column].correction);
        for (int s = groups->column_start[column]; s < groups->column_start[column + 1]; s++)
            for (int i = 0; i < 6; i++)
                for (int k = 0; k < 6; k++)
                    groups->sums[groups->rows[s]].correction[i] -= groups->entries[36 * (size_t)s + (size_t)(6 * i + k)] * b[k];
    }
    for (int column = end - 1; column >= first; column--) {
        double *b = groups->sums[column].correction;
        for (int s = groups->column_start[column]; s < groups->column_start[column + 1]; s++)
            for (int i = 0; i < 6; i++)
                for (int k = 0; k < 6; k++)
                    b[k] -= groups->entries[36 * (size_t)s + (size_t)(6 * i + k)] * groups->sums[groups->rows[s]].correction[i];
        pd_rigid_backward6(groups->sums[column].block, b);
    }
}

#endif
