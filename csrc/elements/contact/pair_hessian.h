/* The Hessian of a contact pair in its corners, and its projection; pair.h has the rest of the chain rule.
 *
 * With n the normal, beta the weights of the gap, g_k and c_k its derivatives by the free parameters and those of the weights
 * (geometry/distance.h), let a_k be an orthonormal basis of span(g_k) and e_k the same combinations of the c_k. Then with q = phi'' and
 * p = -phi'/d, derivatives by d,
 *
 *     dphi/dx_i = phi' beta_i n
 *     d2phi/dx2 = q (beta n)(beta n)^T + p sum_k [ d (beta a_k)(e_k n)^T + d (e_k n)(beta a_k)^T + d^2 (e_k n)(e_k n)^T ]
 *                 - p (beta beta^T) (I - n n^T - sum_k a_k a_k^T),          (beta n) the vector with rows beta_i n       (derived here)
 *
 * for every closest feature of every kind. p and q are >= 0, so the last term is negative semidefinite and orthogonal to the others: the
 * nearest positive semidefinite matrix does not contain it. The others act on at most five vectors, (beta, e_1, e_2) n and beta (a_1,
 * a_2). A Gram-Schmidt step in the space of the corners makes them orthonormal. So the projection is that of a 5x5 matrix, and exact. A
 * pair of nearly parallel edges, with m < 1, is projected in its nine dimensions without translations. */
#ifndef PD_ELEMENTS_CONTACT_PAIR_HESSIAN_H
#define PD_ELEMENTS_CONTACT_PAIR_HESSIAN_H

#include "base/symmetric.h"
#include "elements/contact/pair.h"

/* A pair's Hessian without mollifier as a 5x5 matrix S in an orthonormal basis: rows 0-2 are (basis[r] n), rows 3, 4 (basis[0] a_k). By
 * value, symmetric, and zero for unnamed entries: */
typedef struct pd_contact_parts {
    pd_vector normal, axis0, axis1;                             /* n, a_k: orthonormal, zero for missing ones */
    pd_per_corner basis0, basis1, basis2;                       /* orthonormal, zero for missing ones */
    real s00, s01, s02, s11, s12, s22, s03, s13, s04, s14, s24; /* N/m */
    real n_axes;                                                /* number of a_k */
    real across;                                                /* <= 0: the part across the n and a_k, N/m */
} pd_contact_parts;

/* The same as arrays, with all of S. */
typedef struct pd_contact_factor {
    real normal[3], axes[2][3]; /* n, a_k: orthonormal */
    real basis[3][4];           /* by corners; orthonormal, zero for missing ones */
    real S[25];                 /* N/m */
    real across;                /* <= 0: the part across the n and a_k, N/m */
    int n_axes;                 /* number of a_k */
} pd_contact_factor;

/* The a_k and e_k of a pair, b and f the second ones; zero for missing ones. */
typedef struct pd_contact_axes {
    pd_vector a, b;
    pd_per_corner e, f;
    int one, two;
} pd_contact_axes;

PD_LANE_FUNCTION pd_contact_axes pd_contact_axes_of(pd_nearest nearest, pd_points4 x) {
    pd_contact_axes out;
    pd_vector n = nearest.normal, none = pd_vector_of(0, 0, 0);
    pd_per_corner nothing = pd_per_corner_of(0, 0, 0, 0);
    pd_vector g = pd_gap_slope(nearest.first, x), h = pd_gap_slope(nearest.second, x), across_both = pd_vector_cross(g, h);
    real gg = pd_vector_dot(g, g);
    int one = gg > 0; /* missing slopes are zero */
    int two = pd_slopes_are_two(gg, pd_vector_dot(h, h), pd_vector_dot(across_both, across_both));

    /* In a sliver n is the direction of the gap, which is not quite perpendicular to the g_k. */
    pd_vector a = pd_vector_along(g, -pd_vector_dot(n, g), n);
    real length = pd_sqrt(pd_vector_dot(a, a));
    one &= length > 0; /* otherwise a sliver, whose g_k is rounding noise along n */
    a = pd_vector_choose(one, pd_vector_scale((real)1 / length, a), none);
    pd_vector b = pd_vector_cross(n, a);
    real along = pd_vector_dot(h, a), across = pd_vector_dot(h, b);
    two &= one & (across != 0);
    out.a = a, out.b = pd_vector_choose(two, b, none);
    pd_per_corner e = pd_per_corner_choose(one, pd_per_corner_scale((real)1 / length, nearest.first), nothing);
    pd_per_corner f = pd_per_corner_scale((real)1 / across, pd_per_corner_along(nearest.second, -along, e));
    out.e = e, out.f = pd_per_corner_choose(two, f, nothing);
    out.one = one, out.two = two;
    return out;
}

PD_LANE_FUNCTION pd_contact_parts pd_contact_parts_of(pd_contact_terms terms, pd_nearest nearest, pd_points4 x) {
    pd_contact_parts out;
    pd_contact_axes axes = pd_contact_axes_of(nearest, x);
    pd_per_corner beta = nearest.weights, nothing = pd_per_corner_of(0, 0, 0, 0), e = axes.e, f = axes.f;
    real d = nearest.distance, p = terms.p;

    /* the basis, and the e_k in it */
    real size = pd_sqrt(pd_per_corner_dot(beta, beta));
    pd_per_corner b0 = pd_per_corner_scale((real)1 / size, beta);
    real e0 = pd_per_corner_dot(b0, e), f0 = pd_per_corner_dot(b0, f);
    e = pd_per_corner_along(e, -e0, b0), f = pd_per_corner_along(f, -f0, b0);
    real e1 = pd_sqrt(pd_per_corner_dot(e, e));
    pd_per_corner b1 = pd_per_corner_choose(e1 > 0, pd_per_corner_scale((real)1 / e1, e), nothing);
    real f1 = pd_per_corner_dot(b1, f);
    f = pd_per_corner_along(f, -f1, b1);
    real f2 = pd_sqrt(pd_per_corner_dot(f, f));
    out.basis0 = b0, out.basis1 = b1;
    out.basis2 = pd_per_corner_choose(f2 > 0, pd_per_corner_scale((real)1 / f2, f), nothing);
    out.normal = nearest.normal, out.axis0 = axes.a, out.axis1 = axes.b;

    real by_both = p * d * d, by_axis = p * d * size;
    out.s00 = terms.q * size * size + by_both * (e0 * e0 + f0 * f0);
    out.s01 = by_both * (e0 * e1 + f0 * f1), out.s02 = by_both * (f0 * f2);
    out.s11 = by_both * (e1 * e1 + f1 * f1), out.s12 = by_both * (f1 * f2), out.s22 = by_both * (f2 * f2);
    out.s03 = by_axis * e0, out.s13 = by_axis * e1;
    out.s04 = by_axis * f0, out.s14 = by_axis * f1, out.s24 = by_axis * f2;
    out.across = nearest.n_free > 1 ? (real)0 : -p * size * size;
    out.n_axes = axes.two ? (real)2 : axes.one ? (real)1 : (real)0;
    return out;
}

PD_FUNCTION void pd_contact_factor_of(pd_contact_parts parts, pd_contact_factor *out) {
    pd_vector_store(parts.normal, out->normal);
    pd_vector_store(parts.axis0, out->axes[0]), pd_vector_store(parts.axis1, out->axes[1]);
    pd_per_corner_store(parts.basis0, out->basis[0]);
    pd_per_corner_store(parts.basis1, out->basis[1]), pd_per_corner_store(parts.basis2, out->basis[2]);
    real *S = out->S;
    for (int i = 0; i < 25; i++) S[i] = 0;
    S[0] = parts.s00, S[6] = parts.s11, S[12] = parts.s22;
    S[1] = S[5] = parts.s01, S[2] = S[10] = parts.s02, S[7] = S[11] = parts.s12;
    S[3] = S[15] = parts.s03, S[8] = S[16] = parts.s13;
    S[4] = S[20] = parts.s04, S[9] = S[21] = parts.s14, S[14] = S[22] = parts.s24;
    out->across = parts.across;
    out->n_axes = (int)parts.n_axes;
}

/* Filters the eigenvalues of a factor's matrix. Without axes S has no negative ones. */
PD_FUNCTION void pd_contact_factor_filter(pd_contact_factor *factor, pd_hessian_filter filter) {
    factor->across = pd_filter_eigenvalue(filter, factor->across);
    if (factor->n_axes > 0) pd_symmetric_filter(5, factor->S, filter);
}

/* out [3k,3k] = sum over `count` vectors [.,12] of vector vector^T. */
PD_FUNCTION void pd_contact_add_squares(const real *vectors, int count, int corners, real *out) {
    int n = 3 * corners;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            real sum = 0;
            for (int m = 0; m < count; m++) sum += vectors[12 * m + i] * vectors[12 * m + j];
            out[n * i + j] = sum;
        }
}

/* The vector in the space of the corners with coordinates z in the basis of S. */
PD_LANE_FUNCTION pd_points4 pd_contact_parts_vector(pd_contact_parts parts, real z0, real z1, real z2, real z3, real z4) {
    pd_per_corner b = parts.basis0, along = pd_per_corner_along(pd_per_corner_scale(z0, b), z1, parts.basis1);
    along = pd_per_corner_along(along, z2, parts.basis2);
    pd_vector n = parts.normal, across = pd_vector_along(pd_vector_scale(z3, parts.axis0), z4, parts.axis1);
    return pd_points4_of(
        pd_vector_along(pd_vector_scale(along.a, n), b.a, across), pd_vector_along(pd_vector_scale(along.b, n), b.b, across),
        pd_vector_along(pd_vector_scale(along.c, n), b.c, across), pd_vector_along(pd_vector_scale(along.d, n), b.d, across));
}

/* The nearest positive semidefinite matrix [3k,3k] to that of parts: one outer product per positive eigenvalue of S, at most three. */
PD_LARGE_FUNCTION void pd_contact_parts_squares(const pd_contact_parts *parts, int corners, real *out) {
    real vectors[25], wide[60];
    int count = 0, two = parts->n_axes > 1, n = two ? 5 : 3;
    if (two) {
        const real S[25] = {parts->s00, parts->s01, parts->s02, parts->s03, parts->s04, parts->s01, parts->s11, parts->s12, parts->s13,
                            parts->s14, parts->s02, parts->s12, parts->s22, 0,          parts->s24, parts->s03, parts->s13, 0,
                            0,          0,          parts->s04, parts->s14, parts->s24, 0,          0};
        count = pd_symmetric_squares(5, S, PD_FILTER_CLAMP, vectors);
    } else { // only rows 0, 1 and 3 are nonzero
        const real S[9] = {parts->s00, parts->s01, parts->s03, parts->s01, parts->s11, parts->s13, parts->s03, parts->s13, 0};
        count = pd_symmetric_squares(3, S, PD_FILTER_CLAMP, vectors);
    }
    for (int m = 0; m < count; m++) {
        const real *z = vectors + n * m;
        pd_points4_store(pd_contact_parts_vector(*parts, z[0], z[1], two ? z[2] : (real)0, z[two ? 3 : 2], two ? z[4] : (real)0),
                         wide + 12 * m);
    }
    pd_contact_add_squares(wide, count, corners, out);
}

/* The 3x3 block of corners i and j. */
PD_FUNCTION void pd_contact_factor_block(const pd_contact_factor *factor, int i, int j, real *B) {
    const real *S = factor->S, *n = factor->normal;
    real of_normal = 0, first[2], second[2], both = factor->basis[0][i] * factor->basis[0][j];
    for (int r = 0; r < 3; r++)
        for (int s = 0; s < 3; s++) of_normal += factor->basis[r][i] * S[5 * r + s] * factor->basis[s][j];
    for (int k = 0; k < 2; k++) {
        first[k] = second[k] = 0;
        for (int r = 0; r < 3; r++) {
            first[k] += factor->basis[r][i] * S[5 * r + 3 + k];
            second[k] += factor->basis[r][j] * S[5 * r + 3 + k];
        }
        first[k] *= factor->basis[0][j];
        second[k] *= factor->basis[0][i];
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            real sum = of_normal * n[a] * n[b], projected = n[a] * n[b];
            for (int k = 0; k < 2; k++) {
                sum += first[k] * n[a] * factor->axes[k][b] + second[k] * factor->axes[k][a] * n[b];
                projected += factor->axes[k][a] * factor->axes[k][b];
                for (int l = 0; l < 2; l++) sum += both * S[5 * (3 + k) + 3 + l] * factor->axes[k][a] * factor->axes[l][b];
            }
            B[3 * a + b] = sum + both * factor->across * ((real)(a == b) - projected);
        }
}

/* The Hessian [12,12] of m phi of two nearly parallel edges. */
PD_LARGE_FUNCTION void pd_contact_mollified_hessian(const pd_contact_terms *terms, const pd_contact_factor *factor,
                                                    const pd_nearest *nearest, const real *x, real threshold, pd_hessian_filter filter,
                                                    real *out) {
    real of_mollifier[12], of_phi[12], weights[4], B[9];
    real m = pd_mollifier(x, threshold, of_mollifier, out);
    pd_per_corner_store(nearest->weights, weights);
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 3; i++) of_phi[3 * j + i] = terms->slope * weights[j] * factor->normal[i];
    for (int i = 0; i < 4; i++)
        for (int j = i; j < 4; j++) {
            pd_contact_factor_block(factor, i, j, B);
            for (int a = 0; a < 3; a++)
                for (int b = i == j ? a : 0; b < 3; b++) {
                    int row = 3 * i + a, column = 3 * j + b;
                    out[12 * row + column] = out[12 * column + row] = terms->energy * out[12 * row + column] + m * B[3 * a + b] +
                                                                      of_phi[row] * of_mollifier[column] +
                                                                      of_mollifier[row] * of_phi[column];
                }
        }
    if (filter == PD_FILTER_NONE) return;
    // an orthonormal basis of the space without translations: the edges against one another, and each rotating or stretching
    const real half = (real)0.5, root = (real)0.70710678118654752440;
    const real basis[3][4] = {{half, half, -half, -half}, {-root, root, 0, 0}, {0, 0, -root, root}};
    // two arrays are used twice: nvcc gives every array its own part of the stack
    real half_way[108], T[81], *vectors = T, *wide = half_way;
    for (int row = 0; row < 9; row++)
        for (int column = 0; column < 12; column++) {
            real sum = 0;
            for (int i = 0; i < 4; i++) sum += basis[row / 3][i] * out[12 * (3 * i + row % 3) + column];
            half_way[12 * row + column] = sum;
        }
    for (int row = 0; row < 9; row++)
        for (int column = row; column < 9; column++) {
            real sum = 0;
            for (int j = 0; j < 4; j++) sum += half_way[12 * row + 3 * j + column % 3] * basis[column / 3][j];
            T[9 * row + column] = T[9 * column + row] = sum;
        }
    int count = pd_symmetric_squares(9, T, filter, vectors);
    for (int m = 0; m < count; m++)
        for (int i = 0; i < 4; i++)
            for (int a = 0; a < 3; a++) {
                real sum = 0;
                for (int r = 0; r < 3; r++) sum += basis[r][i] * vectors[9 * m + 3 * r + a];
                wide[12 * m + 3 * i + a] = sum;
            }
    pd_contact_add_squares(wide, count, 4, out);
}

/* out [3k,3k] N/m, row 3 i + axis, exactly symmetric, with filtered eigenvalues. NaN for a closed gap. x [4,3] m; missing corners repeat
 * the first. */
PD_FUNCTION void pd_contact_hessian(const pd_pair_potential *potential, const pd_contact_limits *limits, int kind, const real *x,
                                    pd_hessian_filter filter, real *out) {
    int corners = pd_contact_corners(kind), n = 3 * corners;
    pd_points4 at = pd_points4_load(x);
    pd_nearest nearest = pd_contact_closest(kind, x);
    pd_contact_terms terms = pd_contact_terms_of(*potential, *limits, nearest.distance);
    pd_contact_factor factor;
    if (!(terms.acts > 0)) {
        for (int i = 0; i < n * n; i++) out[i] = terms.slope;
        return;
    }
    pd_contact_parts parts = pd_contact_parts_of(terms, nearest, at);
    int mollified = pd_contact_mollifier(kind, at, limits->threshold).below;
    if (filter == PD_FILTER_CLAMP && !mollified) { // fewer operations than the general path
        pd_contact_parts_squares(&parts, corners, out);
        return;
    }
    pd_contact_factor_of(parts, &factor);
    if (mollified) {
        pd_contact_mollified_hessian(&terms, &factor, &nearest, x, limits->threshold, filter, out);
        return;
    }
    pd_contact_factor_filter(&factor, filter);
    for (int i = 0; i < corners; i++)
        for (int j = i; j < corners; j++) {
            real B[9];
            pd_contact_factor_block(&factor, i, j, B);
            for (int a = 0; a < 3; a++)
                for (int b = i == j ? a : 0; b < 3; b++) out[n * (3 * i + a) + 3 * j + b] = out[n * (3 * j + b) + 3 * i + a] = B[3 * a + b];
        }
}

/* The terms of one corner: its rows of the gradient [3] N and its diagonal block [3,3] N/m of the filtered Hessian, exactly symmetric.
 * Both are NaN for a closed gap. */
PD_FUNCTION void pd_contact_block(const pd_pair_potential *potential, const pd_contact_limits *limits, int kind, const real *x, int corner,
                                  pd_hessian_filter filter, real *gradient, real *block) {
    pd_points4 at = pd_points4_load(x);
    pd_nearest nearest = pd_contact_closest(kind, x);
    pd_contact_terms terms = pd_contact_terms_of(*potential, *limits, nearest.distance);
    pd_points4 slopes = pd_contact_gradient(*potential, *limits, kind, at, nearest);
    pd_contact_factor factor;
    pd_vector_store(corner < 2 ? corner ? slopes.b : slopes.a : corner > 2 ? slopes.d : slopes.c, gradient);
    if (!(terms.acts > 0)) {
        for (int i = 0; i < 9; i++) block[i] = terms.slope;
        return;
    }
    int mollified = pd_contact_mollifier(kind, at, limits->threshold).below;
    pd_contact_factor_of(pd_contact_parts_of(terms, nearest, at), &factor);
    if (mollified) {
        real whole[144];
        pd_contact_mollified_hessian(&terms, &factor, &nearest, x, limits->threshold, filter, whole);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) block[3 * i + j] = whole[12 * (3 * corner + i) + 3 * corner + j];
        return;
    }
    pd_contact_factor_filter(&factor, filter);
    pd_contact_factor_block(&factor, corner, corner, block);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++) block[3 * i + j] = block[3 * j + i];
}

#endif
