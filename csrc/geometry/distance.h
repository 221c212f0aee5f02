/* The distance of any pair, its gradient and its Hessian by the corner positions.
 *
 * With g_k = sum_j (d beta_j / d lambda_k) x_j the derivative of the gap by a free parameter, M = (g_k . g_l) and D = |gap|^2: D(x) =
 * min over lambda of phi(x, lambda) = |gap|^2, so its gradient is that of phi at the minimum, and
 *
 *     dD/dx_i = 2 beta_i gap,       H = phi_xx - phi_xl phi_ll^-1 phi_lx       (Schur complement; derived here)
 *     H_ij = 2 [ beta_i beta_j (I - P) - sum_kl M^-1_kl (beta_i c_lj g_k gap^T + c_ki beta_j gap g_l^T + c_ki c_lj gap gap^T) ]
 *
 * with c_ki = d beta_i / d lambda_k and P the projector on span(g_k). One formula holds for all features of all pairs. For the distance
 * d itself, with n = gap / d:
 *
 *     dd/dx_i = beta_i n
 *     H_ij = beta_i beta_j (I - P - n n^T) / d - sum_kl M^-1_kl (beta_i c_lj g_k n^T + c_ki beta_j n g_l^T + d c_ki c_lj n n^T)
 *
 * With two free parameters I - P = n n^T, so nothing is divided by d and the Hessian is finite at d = 0. With fewer, the first term has
 * no limit at d = 0 and is left out there. At the border of two features the Hessian jumps; the gradient is continuous. */
#ifndef PD_GEOMETRY_DISTANCE_H
#define PD_GEOMETRY_DISTANCE_H

#include "geometry/edge_edge.h"
#include "geometry/vertex_triangle.h"

/* Sizes whose products of four are far from overflow and underflow. */
#define PD_PLAIN_LEAST ((real)(sizeof(real) == sizeof(float) ? 0x1p-10 : 0x1p-60))
#define PD_PLAIN_MOST  ((real)(sizeof(real) == sizeof(float) ? 0x1p10 : 0x1p60))

/* Tells whether pd_pair_nearest accepts the pair as it is. Missing corners: any of the others. */
PD_LANE_FUNCTION int pd_points4_plain(pd_points4 x) {
    real place = pd_points4_largest(x);
    real size = pd_max(pd_vector_largest(pd_vector_subtract(x.b, x.a)),
                       pd_max(pd_vector_largest(pd_vector_subtract(x.c, x.a)), pd_vector_largest(pd_vector_subtract(x.d, x.a))));
    return (size >= PD_PLAIN_LEAST) & (place <= PD_PLAIN_MOST);
}

/* Closest points of a pair for which pd_points4_plain holds. */
PD_LANE_FUNCTION pd_nearest pd_pair_nearest(int kind, pd_points4 x) {
    if (kind == PD_VERTEX_VERTEX) return pd_vertex_vertex_nearest(x.a, x.b);
    if (kind == PD_VERTEX_EDGE) return pd_vertex_edge_nearest(x.a, x.b, x.c);
    if (kind == PD_VERTEX_TRIANGLE) return pd_vertex_triangle_nearest(x.a, x.b, x.c, x.d);
    return pd_edge_edge_nearest(x);
}

/* Closest points of a pair; x [k,3] m, any finite coordinates. Distant, tiny or huge pairs are shifted and scaled by powers of two
 * first. */
PD_FUNCTION void pd_pair_closest(int kind, const real *x, pd_closest *out) {
    int k = pd_pair_corners(kind);
    real local[12];
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 3; i++) local[3 * j + i] = x[3 * (j < k ? j : 0) + i];
    real scale = 1, second = 1;
    if (!pd_points4_plain(pd_points4_load(local))) {
        real size = 0;
        scale = pd_length_scale(pd_largest(x, 3 * k));
        for (int j = 1; j < k; j++)
            for (int i = 0; i < 3; i++) size = pd_max(size, pd_fabs(scale * x[3 * j + i] - scale * x[i]));
        // two factors, since one could overflow for a tiny pair at large coordinates
        second = pd_length_scale(size);
        for (int i = 0; i < 12; i++) local[i] = (scale * local[i]) * second;
    }
    switch (kind) {
    case PD_VERTEX_VERTEX: pd_vertex_vertex_closest(local, out); break;
    case PD_VERTEX_EDGE: pd_vertex_edge_closest(local, out); break;
    case PD_VERTEX_TRIANGLE: pd_vertex_triangle_closest(local, out); break;
    default: pd_edge_edge_closest(local, out); break;
    }
    out->distance = out->distance / second / scale;
    for (int i = 0; i < 3; i++) out->gap[i] = out->gap[i] / second / scale;
}

/* out [k,3]: the derivative of the distance (or, squared != 0, of its square, m) at the closest points. At distance 0 it is one of the
 * one-sided derivatives. */
PD_FUNCTION void pd_closest_gradient(const pd_closest *closest, int corners, int squared, real *out) {
    for (int j = 0; j < corners; j++)
        for (int i = 0; i < 3; i++) out[3 * j + i] = closest->weights[j] * (squared ? (real)2 * closest->gap[i] : closest->normal[i]);
}

/* M^-1 [4] and the derivatives g [2,3] of the gap by the free parameters. A singular M drops the second one. It can only come from
 * parallel edges: an edge without length has no free parameter. */
PD_FUNCTION void pd_closest_parameters(const pd_closest *closest, const real *x, int corners, real g[6], real inverse[4]) {
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++) {
            real sum = 0; // the slopes sum to zero: differences from the first corner lose no digits far from the origin
            for (int j = 1; j < corners; j++) sum += closest->slopes[k][j] * (x[3 * j + i] - x[i]);
            g[3 * k + i] = sum;
        }
    for (int i = 0; i < 4; i++) inverse[i] = 0;
    real a = pd_dot3(g, g), b = pd_dot3(g, g + 3), c = pd_dot3(g + 3, g + 3), cross[3];
    pd_cross3(g, g + 3, cross);
    real determinant = pd_dot3(cross, cross); // of M, without cancellation
    if (closest->n_free == 2 && pd_slopes_are_two(a, c, determinant)) {
        inverse[0] = c / determinant, inverse[3] = a / determinant;
        inverse[1] = inverse[2] = -b / determinant;
    } else if (closest->n_free > 0 && a > 0) {
        inverse[0] = (real)1 / a;
    }
}

/* out [3k,3k], exactly symmetric: the second derivative of the distance, 1/m, or of its square, without unit. */
PD_FUNCTION void pd_closest_hessian(const pd_closest *closest, const real *x, int corners, int squared, real *out) {
    const real *beta = closest->weights, *n = closest->normal;
    real g[6], inverse[4], across[9], d = closest->distance;
    pd_closest_parameters(closest, x, corners, g, inverse);

    // the projector across the free directions (and for d itself across the gap)
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            real projected = 0;
            for (int k = 0; k < 2; k++)
                for (int l = 0; l < 2; l++) projected += inverse[2 * k + l] * g[3 * k + i] * g[3 * l + j];
            across[3 * i + j] = (real)(i == j) - projected - (squared ? (real)0 : n[i] * n[j]);
            if (closest->n_free == 2) across[3 * i + j] = squared ? n[i] * n[j] : (real)0;
        }
    real of_across = squared ? (real)2 : d > 0 ? (real)1 / d : (real)0, of_rest = squared ? (real)2 * d : (real)1;

    int size = 3 * corners;
    for (int p = 0; p < corners; p++)
        for (int q = p; q < corners; q++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    real rest = 0;
                    for (int k = 0; k < 2; k++)
                        for (int l = 0; l < 2; l++) {
                            real c_p = closest->slopes[k][p], c_q = closest->slopes[l][q];
                            rest += inverse[2 * k + l] * (beta[p] * c_q * g[3 * k + i] * n[j] + c_p * beta[q] * n[i] * g[3 * l + j] +
                                                          d * c_p * c_q * n[i] * n[j]);
                        }
                    out[size * (3 * p + i) + 3 * q + j] = of_across * beta[p] * beta[q] * across[3 * i + j] - of_rest * rest;
                }
    for (int r = 0; r < size; r++)
        for (int c = 0; c < r; c++) out[size * r + c] = out[size * c + r];
}

#endif
