/* A spring between two vertices.
 *
 *     E(F) = k/2 (l - L)^2,    F = x_1 - x_0 [m],    l = |F|,    p = {k [N/m], L [m]}
 *     dE/dF = k (F - L e),    d2E/dF2 = k [(1 - L/l)(I - e e^T) + e e^T],    e = F/l
 *
 * [Liu et al. 2013, Fast Simulation of Mass-Spring Systems]; L e is the nearest vector of length L. A compressed spring has the negative
 * eigenvalue k (1 - L/l) across its axis: PD_FILTER_CLAMP makes it zero. At l = 0 all directions are equally near: e is always the x
 * axis. The eigenvalue across diverges to -infinity and is kept finite by L/l <= 1/(16 PD_EPSILON). A length whose square underflows
 * (1e-22 m in float) counts as zero. */
#ifndef PD_ELEMENTS_SPRING_H
#define PD_ELEMENTS_SPRING_H

#include "base/matrix3.h"

/* Returns |F| and its direction e [3]. */
PD_FUNCTION real pd_spring_direction(const real *F, real *e) {
    real length = pd_norm3(F);
    e[0] = length > 0 ? F[0] / length : 1;
    e[1] = length > 0 ? F[1] / length : 0;
    e[2] = length > 0 ? F[2] / length : 0;
    return length;
}

PD_FUNCTION real pd_spring_energy(const real *F, const real *p) {
    real stretch = pd_norm3(F) - p[1];
    return (real)0.5 * p[0] * stretch * stretch;
}

PD_FUNCTION void pd_spring_projection(const real *F, const real *p, real *T) {
    real e[3];
    pd_spring_direction(F, e);
    for (int i = 0; i < 3; i++) T[i] = p[1] * e[i];
}

PD_FUNCTION void pd_spring_gradient(const real *F, const real *p, real *P) {
    real e[3], length = pd_spring_direction(F, e);
    for (int i = 0; i < 3; i++) P[i] = p[0] * (length - p[1]) * e[i];
}

PD_FUNCTION void pd_spring_hessian(const real *F, const real *p, pd_hessian_filter filter, real *H) {
    real e[3], length = pd_spring_direction(F, e);
    real across = p[1] > 0 ? (real)1 - p[1] / pd_max(length, (real)16 * PD_EPSILON * p[1]) : (real)1;
    across = pd_filter_eigenvalue(filter, across);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) H[3 * i + j] = p[0] * ((i == j ? across : (real)0) + ((real)1 - across) * (e[i] * e[j]));
}

/* Numbers of an end of a spring in a sweep over vertices; the sign of the other end in F. */
enum { PD_SPRING_STIFFNESS, PD_SPRING_LENGTH, PD_SPRING_SIGN, PD_SPRING_NUMBERS };

/* Gradient (3), N, and upper triangle of the block (6), N/m, of one end in vector lanes: number i of an array lies at i * stride.
 *   edge  [3]  in  from this end to the other, m      sum  [9]  in/out */
PD_LANE_FUNCTION void pd_spring_corner(int stride, const real *edge, const real *numbers, real *sum) {
    real x = edge[0], y = edge[stride], z = edge[2 * stride];
    real k = numbers[PD_SPRING_STIFFNESS * stride], rest = numbers[PD_SPRING_LENGTH * stride];
    real length = pd_sqrt(x * x + y * y + z * z), some = length > 0 ? (real)1 : (real)0,
         inverse = (real)1 / (length > 0 ? length : (real)1);
    real ex = length > 0 ? x * inverse : numbers[PD_SPRING_SIGN * stride], ey = some * (y * inverse), ez = some * (z * inverse);
    real least = pd_max(length, (real)16 * PD_EPSILON * rest);
    real across = pd_max((real)1 - rest / (rest > 0 ? least : (real)1), 0), own = k * across, along = k - own;
    real pull = -k * (length - rest), lx = along * ex, ly = along * ey;
    sum[0] += pull * ex;
    sum[stride] += pull * ey;
    sum[2 * stride] += pull * ez;
    sum[3 * stride] += own + lx * ex;
    sum[4 * stride] += lx * ey;
    sum[5 * stride] += lx * ez;
    sum[6 * stride] += own + ly * ey;
    sum[7 * stride] += ly * ez;
    sum[8 * stride] += own + along * ez * ez;
}

PD_FUNCTION void pd_spring_block(const real *F, const real *p, const real *g, real *B) {
    pd_spring_hessian(F, p, PD_FILTER_CLAMP, B);
    for (int i = 0; i < 9; i++) B[i] *= g[0] * g[0];
}

#endif
