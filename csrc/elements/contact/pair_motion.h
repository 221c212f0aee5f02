/* The terms of a contact pair by the rigid motion of a body with some of its corners.
 *
 * A corner of the body, at the arm r_j from the pivot, moves by s + t x r_j + t x (t x r_j)/2 + .., s its shift and t its rotation
 * vector; other corners rest. So a vector with rows w_j v in the space of the corners has the component, by s and t,
 *
 *     (sigma v, c x v),     sigma = sum_j w_j,  c = sum_j w_j r_j     over the corners of the body,     the lever of the w_j
 *
 * and the Hessian of pair_hessian.h, of such vectors, becomes, with u_w(v) = (sigma v, c x v) and J_w that of the three axes,
 *
 *     K = J_beta^T [q n n^T - p (I - n n^T - sum_k a_k a_k^T)] J_beta + sum_k (g_k y_k^T + y_k g_k^T),
 *     y_k = u_e_k(n),   g_k = p d (u_beta(a_k) + d/2 y_k).                                                       (derived here)
 *
 * A matrix of all corners is not formed. The mollifier depends on the edge e of the body, with the lever of (-1, 1) on its corners, and
 * on the other edge f, which rests: with v = u_e(dc/de),
 *
 *     d2(m phi) = m K + phi' m' (u_beta(n) v^T + v u_beta(n)^T) + phi (m'' v v^T + m' J_e^T d2c/de2 J_e).
 *
 * A force f at c adds the second derivative of its potential by the rotation, (f c^T + c f^T)/2 - (f.c) I.
 *
 * By value and in numbers only, for vector lanes (cpu/rigid/pair_lanes.h). Levers are double, as poses are. */
#ifndef PD_ELEMENTS_CONTACT_PAIR_MOTION_H
#define PD_ELEMENTS_CONTACT_PAIR_MOTION_H

#include "elements/contact/friction.h"
#include "elements/contact/pair_hessian.h"

/* A corner: 1 and its arm, m, or zeros if it does not move with the body. A lever: the sum of weights times these. */
typedef struct pd_lever {
    double sum, x, y, z;
} pd_lever;

typedef struct pd_levers4 {
    pd_lever a, b, c, d;
} pd_levers4;

/* By shift and turn. */
typedef struct pd_twist {
    double sx, sy, sz, tx, ty, tz;
} pd_twist;

/* The rows of a symmetric matrix; entries below the diagonal are undefined. */
typedef struct pd_twist_block {
    pd_twist sx, sy, sz, tx, ty, tz;
} pd_twist_block;

typedef struct pd_twist_terms {
    double energy, forces; /* J, N: the sum of the lengths of the forces of the corners, or an upper bound */
    pd_twist gradient;     /* N, Nm */
    pd_twist_block block;  /* the exact Hessian */
} pd_twist_terms;

PD_LANE_FUNCTION pd_lever pd_lever_of(double sum, double x, double y, double z) {
    pd_lever out;
    out.sum = sum, out.x = x, out.y = y, out.z = z;
    return out;
}

PD_LANE_FUNCTION pd_lever pd_lever_along(pd_lever a, double s, pd_lever b) {
    return pd_lever_of(a.sum + s * b.sum, a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}

/* The lever of weights. */
PD_LANE_FUNCTION pd_lever pd_lever_weighted(pd_per_corner w, pd_levers4 at) {
    double first = (double)w.a;
    pd_lever out = pd_lever_of(first * at.a.sum, first * at.a.x, first * at.a.y, first * at.a.z);
    return pd_lever_along(pd_lever_along(pd_lever_along(out, (double)w.b, at.b), (double)w.c, at.c), (double)w.d, at.d);
}

/* u_w(v) */
PD_LANE_FUNCTION pd_twist pd_lever_motion(pd_lever lever, pd_vector v) {
    pd_twist out;
    double x = (double)v.x, y = (double)v.y, z = (double)v.z;
    out.sx = lever.sum * x, out.sy = lever.sum * y, out.sz = lever.sum * z;
    out.tx = lever.y * z - lever.z * y, out.ty = lever.z * x - lever.x * z, out.tz = lever.x * y - lever.y * x;
    return out;
}

/* a + s b */
PD_LANE_FUNCTION pd_twist pd_twist_along(pd_twist a, double s, pd_twist b) {
    pd_twist out;
    out.sx = a.sx + s * b.sx, out.sy = a.sy + s * b.sy, out.sz = a.sz + s * b.sz;
    out.tx = a.tx + s * b.tx, out.ty = a.ty + s * b.ty, out.tz = a.tz + s * b.tz;
    return out;
}

PD_LANE_FUNCTION pd_twist pd_twist_scale(double s, pd_twist a) {
    pd_twist out;
    out.sx = s * a.sx, out.sy = s * a.sy, out.sz = s * a.sz, out.tx = s * a.tx, out.ty = s * a.ty, out.tz = s * a.tz;
    return out;
}

/* K + a b^T + b a^T */
PD_LANE_FUNCTION pd_twist_block pd_twist_block_add(pd_twist_block K, pd_twist a, pd_twist b) {
    K.sx = pd_twist_along(pd_twist_along(K.sx, a.sx, b), b.sx, a), K.sy = pd_twist_along(pd_twist_along(K.sy, a.sy, b), b.sy, a);
    K.sz = pd_twist_along(pd_twist_along(K.sz, a.sz, b), b.sz, a), K.tx = pd_twist_along(pd_twist_along(K.tx, a.tx, b), b.tx, a);
    K.ty = pd_twist_along(pd_twist_along(K.ty, a.ty, b), b.ty, a), K.tz = pd_twist_along(pd_twist_along(K.tz, a.tz, b), b.tz, a);
    return K;
}

/* s J_w^T M J_w for a symmetric M. */
PD_LANE_FUNCTION pd_twist_block pd_lever_square(pd_lever lever, double s, pd_friction_block M) {
    pd_twist_block out;
    pd_twist x = pd_lever_motion(lever, pd_vector_of(M.xx, M.xy, M.xz)), y = pd_lever_motion(lever, pd_vector_of(M.xy, M.yy, M.yz)),
             z = pd_lever_motion(lever, pd_vector_of(M.xz, M.yz, M.zz));
    double a = s * lever.x, b = s * lever.y, c = s * lever.z, sum = s * lever.sum;
    out.sx = pd_twist_scale(sum, x), out.sy = pd_twist_scale(sum, y), out.sz = pd_twist_scale(sum, z);
    out.tx = pd_twist_along(pd_twist_scale(b, z), -c, y);
    out.ty = pd_twist_along(pd_twist_scale(c, x), -a, z);
    out.tz = pd_twist_along(pd_twist_scale(a, y), -b, x);
    return out;
}

/* K + the second derivative of s v . exp(t) c by t. */
PD_LANE_FUNCTION pd_twist_block pd_twist_block_bend(pd_twist_block K, double s, pd_vector v, pd_lever at) {
    double x = s * (double)v.x, y = s * (double)v.y, z = s * (double)v.z;
    double xx = x * at.x, yy = y * at.y, zz = z * at.z;
    K.tx.tx -= yy + zz, K.ty.ty -= xx + zz, K.tz.tz -= xx + yy;
    K.tx.ty += 0.5 * (x * at.y + y * at.x), K.tx.tz += 0.5 * (x * at.z + z * at.x), K.ty.tz += 0.5 * (y * at.z + z * at.y);
    return K;
}

/* The sum of |w_j| over the corners of the body. */
PD_LANE_FUNCTION double pd_levers_share(pd_per_corner w, pd_levers4 at) {
    return fabs((double)w.a) * at.a.sum + fabs((double)w.b) * at.b.sum + fabs((double)w.c) * at.c.sum + fabs((double)w.d) * at.d.sum;
}

/* K + L */
PD_LANE_FUNCTION pd_twist_block pd_twist_block_plus(pd_twist_block K, pd_twist_block L) {
    K.sx = pd_twist_along(K.sx, 1.0, L.sx), K.sy = pd_twist_along(K.sy, 1.0, L.sy), K.sz = pd_twist_along(K.sz, 1.0, L.sz);
    K.tx = pd_twist_along(K.tx, 1.0, L.tx), K.ty = pd_twist_along(K.ty, 1.0, L.ty), K.tz = pd_twist_along(K.tz, 1.0, L.tz);
    return K;
}

/* phi' n and the Hessian of phi, times m. */
PD_LANE_FUNCTION pd_twist_terms pd_contact_plain_motion(pd_contact_terms terms, real m, pd_nearest nearest, pd_points4 x, pd_levers4 at) {
    pd_twist_terms out;
    pd_contact_axes axes = pd_contact_axes_of(nearest, x);
    pd_vector n = nearest.normal, a = axes.a;
    pd_lever beta = pd_lever_weighted(nearest.weights, at);
    pd_twist y0 = pd_lever_motion(pd_lever_weighted(axes.e, at), n), y1 = pd_lever_motion(pd_lever_weighted(axes.f, at), n);
    real p = m * terms.p, q = m * terms.q, across = nearest.n_free > 1 ? (real)0 : -p, along = q - across, of_axis = -across;
    double d = (double)nearest.distance, by = (double)p * d;
    pd_friction_block M; /* across (I - n n^T - a a^T) + q n n^T */
    M.xx = across + along * n.x * n.x + of_axis * a.x * a.x, M.xy = along * n.x * n.y + of_axis * a.x * a.y;
    M.xz = along * n.x * n.z + of_axis * a.x * a.z, M.yy = across + along * n.y * n.y + of_axis * a.y * a.y;
    M.yz = along * n.y * n.z + of_axis * a.y * a.z, M.zz = across + along * n.z * n.z + of_axis * a.z * a.z;
    pd_twist g0 = pd_twist_scale(by, pd_twist_along(pd_lever_motion(beta, a), 0.5 * d, y0));
    pd_twist g1 = pd_twist_scale(by, pd_twist_along(pd_lever_motion(beta, axes.b), 0.5 * d, y1));
    double slope = (double)(m * terms.slope);
    out.energy = (double)(m * terms.energy);
    out.forces = fabs(slope) * pd_levers_share(nearest.weights, at);
    out.gradient = pd_twist_scale(slope, pd_lever_motion(beta, n));
    out.block = pd_twist_block_add(pd_twist_block_add(pd_lever_square(beta, 1.0, M), g0, y0), g1, y1);
    out.block = pd_twist_block_bend(out.block, slope, n, beta);
    return out;
}

/* A pair that acts. Of two edges the body has corners of one only. */
PD_LANE_FUNCTION pd_twist_terms pd_contact_motion(pd_pair_potential potential, pd_contact_limits limits, int kind, pd_points4 x,
                                                  pd_nearest nearest, pd_levers4 at) {
    pd_contact_terms terms = pd_contact_terms_of(potential, limits, nearest.distance);
    pd_mollifier_terms mollifier = pd_contact_mollifier(kind, x, limits.threshold);
    pd_twist_terms out = pd_contact_plain_motion(terms, mollifier.value, nearest, x, at);
    if (kind != PD_EDGE_EDGE) return out;
    int second = at.a.sum + at.b.sum == 0.0;
    pd_vector e = pd_vector_subtract(x.b, x.a), f = pd_vector_subtract(x.d, x.c), own = pd_vector_choose(second, f, e),
              other = pd_vector_choose(second, e, f), slope = pd_mollifier_slope(own, other);
    pd_lever edge = pd_lever_weighted(pd_per_corner_of(-1, 1, -1, 1), at);
    real first = terms.energy * mollifier.first, twice = (real)2 * first, all = twice * pd_vector_dot(other, other);
    pd_friction_block M; /* phi m' d2c/de2 */
    M.xx = all - twice * other.x * other.x, M.xy = -twice * other.x * other.y, M.xz = -twice * other.x * other.z;
    M.yy = all - twice * other.y * other.y, M.yz = -twice * other.y * other.z, M.zz = all - twice * other.z * other.z;
    pd_twist v = pd_lever_motion(edge, slope), u = pd_lever_motion(pd_lever_weighted(nearest.weights, at), nearest.normal);
    pd_twist half = pd_twist_along(pd_twist_scale((double)(terms.slope * mollifier.first), u),
                                   (double)((real)0.5 * terms.energy * mollifier.second), v);
    out.forces += (at.a.sum + at.b.sum + at.c.sum + at.d.sum) * fabs((double)first) * (double)pd_sqrt(pd_vector_dot(slope, slope));
    out.gradient = pd_twist_along(out.gradient, (double)first, v);
    out.block = pd_twist_block_plus(pd_twist_block_add(out.block, half, v), pd_lever_square(edge, 1.0, M));
    out.block = pd_twist_block_bend(out.block, (double)first, slope, edge);
    return out;
}

/* A pair with friction: the slip u, m, and the normal n and strength mu lambda of its lag. */
PD_LANE_FUNCTION pd_twist_terms pd_friction_motion(pd_friction_terms terms, real strength, pd_vector n, pd_vector u, pd_per_corner weights,
                                                   pd_levers4 at) {
    pd_twist_terms out;
    pd_lever lever = pd_lever_weighted(weights, at);
    double factor = (double)(strength * terms.ratio);
    out.energy = (double)(strength * terms.value);
    out.forces = factor * (double)pd_sqrt(pd_vector_dot(u, u)) * pd_levers_share(weights, at);
    out.gradient = pd_twist_scale(factor, pd_lever_motion(lever, u));
    out.block = pd_twist_block_bend(pd_lever_square(lever, 1.0, pd_friction_block_of(strength, n, terms)), factor, u, lever);
    return out;
}

PD_FUNCTION void pd_twist_store(pd_twist a, double out[6]) {
    out[0] = a.sx, out[1] = a.sy, out[2] = a.sz, out[3] = a.tx, out[4] = a.ty, out[5] = a.tz;
}

/* The upper triangle, row by row. */
PD_FUNCTION void pd_twist_block_store(pd_twist_block K, double out[21]) {
    out[0] = K.sx.sx, out[1] = K.sx.sy, out[2] = K.sx.sz, out[3] = K.sx.tx, out[4] = K.sx.ty, out[5] = K.sx.tz;
    out[6] = K.sy.sy, out[7] = K.sy.sz, out[8] = K.sy.tx, out[9] = K.sy.ty, out[10] = K.sy.tz;
    out[11] = K.sz.sz, out[12] = K.sz.tx, out[13] = K.sz.ty, out[14] = K.sz.tz;
    out[15] = K.tx.tx, out[16] = K.tx.ty, out[17] = K.tx.tz, out[18] = K.ty.ty, out[19] = K.ty.tz, out[20] = K.tz.tz;
}

#endif
