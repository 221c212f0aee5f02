/* Bending by the signed angle between two triangles with a common edge, a hinge of a discrete shell [Grinspun, Hirani, Desbrun,
 * Schroeder 2003].
 *
 *     E(F) = k/2 (theta - theta_0)^2,    F = (e, a, b) in its columns: e = x_1 - x_0, a = x_2 - x_0, b = x_3 - x_0 [m]
 *
 * p = {w [N/m], k = D |e|^2/(A_0 + A_1) [J], theta_0 [rad], h_0 [m]}, all of the rest shape. D is the flexural rigidity, h_0 the smaller
 * height of the two triangles on e, and w = k |dtheta/dF|^2 the largest eigenvalue of the Hessian by F. theta is 0 in the plane. It is
 * positive at a ridge seen from the side of the normals e x a and b x e. It is between -pi and pi and jumps from one to the other when
 * the hinge folds onto itself; derivatives are finite there.
 *
 * For a wing, u is the unit vector along e, m that from the edge to the wing, n its normal, h its height and s e its foot. A change g of
 * a column changes theta by -r n, r = (g_wing - s g_e)/h. The Hessian of theta is a sum over the wings alone [Tamstorf and Grinspun
 * 2013, Discrete bending forces and their Jacobians]: with t = g_e/|e|, for two columns i and j
 *
 *     (r_i r_j + t_i t_j/2) (n m^T + m n^T) + r_i t_j u n^T + t_i r_j n u^T.
 *
 * Heights and lengths in quotients are bounded from below by 16 PD_EPSILON h_0. A wing without height has no angle and no energy. */
#ifndef PD_ELEMENTS_HINGE_H
#define PD_ELEMENTS_HINGE_H

#include "base/symmetric.h"
#include "elements/spring.h"

enum { PD_HINGE_WEIGHT, PD_HINGE_STIFFNESS, PD_HINGE_ANGLE, PD_HINGE_HEIGHT };

typedef struct pd_hinge_wing {
    real m[3], n[3]; /* unit vectors */
    real along;      /* s */
    real height;     /* m, bounded from below */
} pd_hinge_wing;

typedef struct pd_hinge_fold {
    real u[3];   /* unit vector */
    real length; /* m, bounded from below */
    real away;   /* theta - theta_0 */
    pd_hinge_wing wings[2];
} pd_hinge_fold;

/* m, along and height of the wing in a column of F. Returns the unbounded height. */
PD_FUNCTION real pd_hinge_wing_of(const real *F, int column, const real u[3], real length, real least, pd_hinge_wing *wing) {
    real to[3] = {F[column], F[3 + column], F[6 + column]}, foot = pd_dot3(to, u);
    for (int i = 0; i < 3; i++) to[i] -= foot * u[i];
    real height = pd_norm3(to);
    for (int i = 0; i < 3; i++) wing->m[i] = height > 0 ? to[i] / height : 0;
    wing->along = foot / length;
    wing->height = pd_max(height, least);
    return height;
}

PD_FUNCTION void pd_hinge_fold_of(const real *F, const real *p, pd_hinge_fold *fold) {
    real e[3] = {F[0], F[3], F[6]}, least = (real)16 * PD_EPSILON * p[PD_HINGE_HEIGHT];
    pd_hinge_wing *first = fold->wings, *second = fold->wings + 1;
    fold->length = pd_max(pd_spring_direction(e, fold->u), least);
    real one = pd_hinge_wing_of(F, 1, fold->u, fold->length, least, first);
    real other = pd_hinge_wing_of(F, 2, fold->u, fold->length, least, second);
    pd_cross3(fold->u, first->m, first->n);
    pd_cross3(second->m, fold->u, second->n);
    real angle = pd_atan2(-pd_dot3(first->n, second->m), -pd_dot3(first->m, second->m));
    fold->away = one > 0 && other > 0 ? angle - p[PD_HINGE_ANGLE] : 0;
}

/* r of a change g [3] of the columns, per wing. */
PD_FUNCTION real pd_hinge_turn(const pd_hinge_fold *fold, int wing, const real g[3]) {
    return (g[wing + 1] - fold->wings[wing].along * g[0]) / fold->wings[wing].height;
}

PD_FUNCTION real pd_hinge_energy(const real *F, const real *p) {
    pd_hinge_fold fold;
    pd_hinge_fold_of(F, p, &fold);
    return (real)0.5 * p[PD_HINGE_STIFFNESS] * fold.away * fold.away;
}

/* P [3,3] = moment dtheta/dF */
PD_FUNCTION void pd_hinge_turning(const pd_hinge_fold *fold, real moment, real *P) {
    for (int i = 0; i < 3; i++) {
        const real g[3] = {(real)(i == 0), (real)(i == 1), (real)(i == 2)};
        real r_0 = moment * pd_hinge_turn(fold, 0, g), r_1 = moment * pd_hinge_turn(fold, 1, g);
        for (int a = 0; a < 3; a++) P[3 * a + i] = -(r_0 * fold->wings[0].n[a] + r_1 * fold->wings[1].n[a]);
    }
}

PD_FUNCTION void pd_hinge_gradient(const real *F, const real *p, real *P) {
    pd_hinge_fold fold;
    pd_hinge_fold_of(F, p, &fold);
    pd_hinge_turning(&fold, p[PD_HINGE_STIFFNESS] * fold.away, P);
}

/* The rest state of a hinge with edges F: theta_0, |dtheta/dF|^2 [1/m2] and h_0. */
PD_FUNCTION void pd_hinge_rest(const real *F, real *angle, real *square, real *height) {
    const real p[4] = {0, 0, 0, 0};
    real P[9];
    pd_hinge_fold fold;
    pd_hinge_fold_of(F, p, &fold);
    pd_hinge_turning(&fold, 1, P);
    *angle = fold.away, *height = pd_min(fold.wings[0].height, fold.wings[1].height), *square = 0;
    for (int i = 0; i < 9; i++) *square += P[i] * P[i];
}

/* d2E/dF2 for changes of the columns by g (rows, axis a) and by g' (columns, axis c). */
PD_FUNCTION real pd_hinge_second(const pd_hinge_fold *fold, real stiffness, const real g[3], int a, const real g_other[3], int c) {
    real change = 0, change_other = 0, turned = 0, t = g[0] / fold->length, t_other = g_other[0] / fold->length;
    for (int k = 0; k < 2; k++) {
        const pd_hinge_wing *wing = fold->wings + k;
        const real *n = wing->n, *m = wing->m, *u = fold->u;
        real r = pd_hinge_turn(fold, k, g), r_other = pd_hinge_turn(fold, k, g_other);
        change += r * n[a];
        change_other += r_other * n[c];
        turned += (r * r_other + (real)0.5 * t * t_other) * (n[a] * m[c] + m[a] * n[c]) + r * t_other * (u[a] * n[c]) +
                  t * r_other * (n[a] * u[c]);
    }
    return stiffness * (change * change_other + fold->away * turned);
}

PD_FUNCTION void pd_hinge_hessian(const real *F, const real *p, pd_hessian_filter filter, real *H) {
    pd_hinge_fold fold;
    pd_hinge_fold_of(F, p, &fold);
    for (int row = 0; row < 9; row++)
        for (int column = row; column < 9; column++) {
            const real g[3] = {(real)(row % 3 == 0), (real)(row % 3 == 1), (real)(row % 3 == 2)};
            const real other[3] = {(real)(column % 3 == 0), (real)(column % 3 == 1), (real)(column % 3 == 2)};
            H[9 * row + column] = H[9 * column + row] = pd_hinge_second(&fold, p[PD_HINGE_STIFFNESS], g, row / 3, other, column / 3);
        }
    pd_symmetric_filter(9, H, filter);
}

PD_FUNCTION void pd_hinge_block(const real *F, const real *p, const real *g, real *B) {
    pd_hinge_fold fold;
    pd_hinge_fold_of(F, p, &fold);
    for (int a = 0; a < 3; a++)
        for (int c = a; c < 3; c++) B[3 * a + c] = B[3 * c + a] = pd_hinge_second(&fold, p[PD_HINGE_STIFFNESS], g, a, g, c);
    pd_symmetric3_filter(B, PD_FILTER_CLAMP);
}

#endif
