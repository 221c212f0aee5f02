/* The chain rule of every contact law, once: distance of a pair -> energy, gradient, Hessian in its corners, and what one corner sees.
 *
 * Kinds of pairs are those of geometry/pair.h and, for colliders that are planes,
 *
 *     PD_VERTEX_PLANE  k=3  rows p; o, N: a vertex, a point of the plane, its unit normal; the distance is signed, N . (p - o)
 *
 * Which corners are unknowns is for the caller: a driven one (of an obstacle, the centre of a sphere, the axis of a capsule, o of a plane) has
 * a row like any other. A sphere is a driven vertex and a capsule a driven edge whose radius is added to the separation of the pair; the row
 * of N is no position and gets zeros.
 *
 *     E(x) = weight m(x) phi(d(x)),     phi = scale B(u)   (table.h),     m the mollifier of two edges (geometry/mollifier.h), else 1
 *
 * With n the normal, beta the weights of the gap, g_k and c_k its derivatives by the free parameters and those of the weights
 * (geometry/distance.h), let a_k be an orthonormal basis of span(g_k) and e_k the same combinations of the c_k. Then with q = phi'' and
 * p = -phi'/d, derivatives by d,
 *
 *     dphi/dx_i = phi' beta_i n
 *     d2phi/dx2 = q (beta n)(beta n)^T + p sum_k [ d (beta a_k)(e_k n)^T + d (e_k n)(beta a_k)^T + d^2 (e_k n)(e_k n)^T ]
 *                 - p (beta beta^T) (I - n n^T - sum_k a_k a_k^T),          (beta n) the vector with rows beta_i n       (derived here)
 *
 * for every closest feature of every kind. p and q are >= 0, so the last term is negative semidefinite and orthogonal to the others: the nearest
 * positive semidefinite matrix has none of it. The others act on five vectors at the most, (beta, e_1, e_2) n and beta (a_1, a_2), which a
 * Gram-Schmidt step in the space of the corners makes orthonormal: the projection is that of a 5x5 matrix, and exact. A pair of nearly parallel
 * edges, where m < 1, takes its nine dimensions without translations.
 *
 * Rounding: the distance is good to some PD_EPSILON times the size of the pair, so u and v are off by that over the gap, or over what is left to
 * the activation distance. In float32 a pair of size L is right to r where both are above 1e-7 L/r; energies near the activation distance are
 * tiny and relatively worse, never negative. */
#ifndef PD_ELEMENTS_CONTACT_PAIR_H
#define PD_ELEMENTS_CONTACT_PAIR_H

#include "base/symmetric.h"
#include "elements/contact/barrier.h"
#include "elements/contact/table.h"
#include "geometry/distance.h"
#include "geometry/mollifier.h"

enum { PD_VERTEX_PLANE = PD_PAIR_COUNT, PD_CONTACT_PAIR_COUNT };

/* What a pair has beside its corners. */
typedef struct pd_contact_limits {
    real activation; /* dhat > 0, measured from the separation, m */
    real separation; /* xi >= 0, m */
    real weight;     /* > 0; an area, m^2, in the physical form */
    real threshold;  /* eps of the mollifier, m^4; 0: none */
} pd_contact_limits;

/* phi of a pair and its derivatives by the distance, weight included. */
typedef struct pd_contact_terms {
    int acts;    /* 0 beyond the activation distance, where all is zero; -1 where nothing is left of the gap; else 1 */
    real energy; /* J */
    real slope;  /* phi', N */
    real q, p;   /* phi'' and -phi'/d, N/m */
} pd_contact_terms;

/* A pair's Hessian without mollifier as a 5x5 matrix S by an orthonormal basis: rows 0-2 are (basis[r] n), rows 3, 4 (basis[0] a_k). */
typedef struct pd_contact_factor {
    real normal[3], axes[2][3]; /* n, a_k: orthonormal */
    real basis[3][4];           /* by corners; orthonormal, zero where a feature has fewer */
    real S[25];                 /* N/m */
    real across;                /* <= 0: what is left across the n and a_k, N/m */
    int n_axes;                 /* a_k there are */
} pd_contact_factor;

/* dhat of a pair of one body whose distance at rest is known: short of it, so that a mesh finer than dhat has no energy at rest. Not above zero
 * where the pair is nearer at rest than the separation. */
#define PD_CONTACT_REST_FRACTION ((real)0.9)

PD_FUNCTION real pd_contact_activation(real activation, real separation, real rest_distance) {
    return pd_min(activation, PD_CONTACT_REST_FRACTION * (rest_distance - separation));
}

PD_FUNCTION int pd_contact_corners(int kind) { return kind == PD_VERTEX_PLANE ? 3 : pd_pair_corners(kind); }

PD_FUNCTION void pd_contact_closest(int kind, const real *x, pd_closest *out) {
    if (kind != PD_VERTEX_PLANE) {
        pd_pair_closest(kind, x, out);
        return;
    }
    real gap[3];
    pd_closest_clear(out);
    pd_subtract3(x, x + 3, gap);
    out->n_free = 2; // the closest point of the plane moves along with the vertex
    out->weights[0] = 1, out->weights[1] = -1;
    out->distance = pd_dot3(gap, x + 6);
    for (int i = 0; i < 3; i++) out->normal[i] = x[6 + i], out->gap[i] = out->distance * x[6 + i];
}

/* phi at distance d. Products of two lengths are formed of differences, so that nothing cancels but what cancels in the differences. */
PD_FUNCTION pd_contact_terms pd_contact_terms_of(const pd_contact_law *law, const pd_contact_limits *limits, real d) {
    pd_contact_terms out;
    real xi = limits->separation, reach = xi + limits->activation;
    out.acts = d > xi ? d < reach : -1;
    out.energy = out.slope = out.q = out.p = 0;
    if (!out.acts) return out;
    real s = limits->activation * ((real)2 * xi + limits->activation), u = (d - xi) * ((d + xi) / s), v = (reach - d) * ((reach + d) / s);
    if (out.acts < 0 || !(u > 0)) { // the second where u underflows
        out.acts = -1;
        out.energy = (real)INFINITY;
        return out;
    }
    real value = 0, first = 0, second = 0, scale = 0;
    switch (law->kind) {
#define PD_LAW_CASE(KIND, name)                                                                           \
    case KIND:                                                                                            \
        value = pd_##name##_value(u, v);                                                                  \
        pd_##name##_slopes(u, v, &first, &second);                                                        \
        scale = limits->weight * pd_##name##_scale(law->stiffness, law->physical, limits->activation, s); \
        break;
        PD_CONTACT_LAW_TABLE(PD_LAW_CASE)
#undef PD_LAW_CASE
    default: break;
    }
    real rate = (real)2 * d / s; // du/dd
    out.energy = scale * value;
    out.slope = scale * first * rate;
    out.p = (real)-2 * scale * first / s;
    out.q = scale * second * rate * rate - out.p;
    return out;
}

/* Whether the mollifier of a pair is below 1. */
PD_FUNCTION int pd_contact_is_mollified(int kind, const real *x, real threshold) {
    real e[3], f[3], n[3];
    if (kind != PD_EDGE_EDGE || !(threshold > 0)) return 0;
    pd_subtract3(x + 3, x, e);
    pd_subtract3(x + 9, x + 6, f);
    pd_cross3(e, f, n);
    return pd_dot3(n, n) < threshold;
}

/* J; infinite where nothing is left of the gap. x [k,3] m. */
PD_FUNCTION real pd_contact_energy(const pd_contact_law *law, const pd_contact_limits *limits, int kind, const real *x) {
    pd_closest closest;
    pd_contact_closest(kind, x, &closest);
    pd_contact_terms terms = pd_contact_terms_of(law, limits, closest.distance);
    if (terms.acts > 0 && pd_contact_is_mollified(kind, x, limits->threshold))
        return terms.energy * pd_mollifier(x, limits->threshold, NULL, NULL);
    return terms.energy;
}

/* out [k,3] N, the derivative of the energy; not a number where nothing is left of the gap. */
PD_FUNCTION void pd_contact_gradient(const pd_contact_law *law, const pd_contact_limits *limits, int kind, const real *x, real *out) {
    int corners = pd_contact_corners(kind);
    pd_closest closest;
    pd_contact_closest(kind, x, &closest);
    pd_contact_terms terms = pd_contact_terms_of(law, limits, closest.distance);
    if (terms.acts < 0) terms.slope = (real)NAN;
    if (terms.acts > 0 && pd_contact_is_mollified(kind, x, limits->threshold)) {
        real of_mollifier[12], m = pd_mollifier(x, limits->threshold, of_mollifier, NULL);
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 3; i++)
                out[3 * j + i] = m * terms.slope * closest.weights[j] * closest.normal[i] + terms.energy * of_mollifier[3 * j + i];
        return;
    }
    for (int j = 0; j < corners; j++)
        for (int i = 0; i < 3; i++) out[3 * j + i] = terms.slope * (closest.weights[j] * closest.normal[i]);
}

PD_FUNCTION void pd_contact_factor_of(const pd_contact_terms *terms, const pd_closest *closest, const real *x, int corners,
                                      pd_contact_factor *out) {
    const real *n = closest->normal, *beta = closest->weights;
    real g[6], inverse[4], e[2][4] = {{0}}, coordinates[2][3] = {{0}}, size = 0, d = closest->distance, p = terms->p;
    pd_closest_parameters(closest, x, corners, g, inverse);
    int n_axes = inverse[3] > 0 ? 2 : inverse[0] > 0 ? 1 : 0;
    for (int i = 0; i < 3; i++) out->normal[i] = n[i], out->axes[0][i] = out->axes[1][i] = 0;
    for (int r = 0; r < 3; r++)
        for (int j = 0; j < 4; j++) out->basis[r][j] = 0;
    for (int i = 0; i < 25; i++) out->S[i] = 0;

    // a_k and e_k. In a sliver n is the direction of the gap and leans a little towards the g_k.
    if (n_axes > 0) {
        real lean = pd_dot3(n, g), *a = out->axes[0], *b = out->axes[1];
        for (int i = 0; i < 3; i++) a[i] = g[i] - lean * n[i];
        real length = pd_norm3(a);
        if (!(length > 0)) length = 1, n_axes = 0; // a sliver whose g_k is rounding noise along n
        for (int i = 0; i < 3; i++) a[i] /= length;
        pd_cross3(n, a, b);
        real along = pd_dot3(g + 3, a), across = pd_dot3(g + 3, b);
        if (across == 0) n_axes = 1;
        for (int j = 0; j < corners; j++) e[0][j] = closest->slopes[0][j] / length;
        for (int j = 0; j < corners && n_axes == 2; j++) e[1][j] = (closest->slopes[1][j] - along * e[0][j]) / across;
        for (int i = 0; i < 3 && n_axes < 2; i++) b[i] = 0;
    }

    // the basis, and the e_k by it
    for (int j = 0; j < corners; j++) size += beta[j] * beta[j];
    size = pd_sqrt(size);
    for (int j = 0; j < corners; j++) out->basis[0][j] = beta[j] / size;
    for (int k = 0; k < n_axes; k++) {
        real rest[4] = {0, 0, 0, 0}, square = 0;
        for (int j = 0; j < corners; j++) rest[j] = e[k][j];
        for (int r = 0; r <= k; r++) {
            real part = 0;
            for (int j = 0; j < corners; j++) part += out->basis[r][j] * rest[j];
            for (int j = 0; j < corners; j++) rest[j] -= part * out->basis[r][j];
            coordinates[k][r] = part;
        }
        for (int j = 0; j < corners; j++) square += rest[j] * rest[j];
        coordinates[k][k + 1] = pd_sqrt(square);
        for (int j = 0; j < corners && square > 0; j++) out->basis[k + 1][j] = rest[j] / coordinates[k][k + 1];
    }

    real *S = out->S;
    for (int k = 0; k < n_axes; k++)
        for (int r = 0; r < k + 2; r++) {
            for (int s = 0; s < k + 2; s++) S[5 * r + s] += p * d * d * (coordinates[k][r] * coordinates[k][s]);
            S[5 * r + 3 + k] = S[5 * (3 + k) + r] = p * d * size * coordinates[k][r];
        }
    S[0] += terms->q * size * size;
    out->across = closest->n_free == 2 ? (real)0 : -p * size * size;
    out->n_axes = n_axes;
}

/* Of a factor's matrix that of the nearest positive semidefinite one. */
PD_FUNCTION void pd_contact_factor_project(pd_contact_factor *factor) {
    factor->across = 0;
    if (factor->n_axes > 0) pd_symmetric_project_psd(5, factor->S);
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

/* The nearest positive semidefinite matrix [3k,3k] to that of a factor: as many squares as it has positive eigenvalues, three at the most. */
PD_FUNCTION void pd_contact_factor_squares(const pd_contact_factor *factor, int corners, real *out) {
    real few[9], vectors[25], wide[60];
    const real *S = factor->S;
    int count = 0, n = factor->n_axes == 2 ? 5 : 3;
    if (factor->n_axes == 2) {
        count = pd_symmetric_positive_part(5, S, vectors);
    } else { // rows 0, 1 and 3 are all there is
        for (int r = 0; r < 3; r++)
            for (int s = 0; s < 3; s++) few[3 * r + s] = S[5 * (r == 2 ? 3 : r) + (s == 2 ? 3 : s)];
        count = pd_symmetric_positive_part(3, few, vectors);
    }
    for (int m = 0; m < count; m++) {
        const real *z = vectors + n * m;
        real across[3];
        for (int a = 0; a < 3; a++) across[a] = z[n == 5 ? 3 : 2] * factor->axes[0][a] + (n == 5 ? z[4] * factor->axes[1][a] : (real)0);
        for (int i = 0; i < corners; i++) {
            real along = z[0] * factor->basis[0][i] + z[1] * factor->basis[1][i] + (n == 5 ? z[2] * factor->basis[2][i] : (real)0);
            for (int a = 0; a < 3; a++) wide[12 * m + 3 * i + a] = along * factor->normal[a] + factor->basis[0][i] * across[a];
        }
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
PD_FUNCTION void pd_contact_mollified_hessian(const pd_contact_terms *terms, const pd_contact_factor *factor, const pd_closest *closest,
                                              const real *x, real threshold, int psd, real *out) {
    real of_mollifier[12], of_phi[12], B[9];
    real m = pd_mollifier(x, threshold, of_mollifier, out);
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 3; i++) of_phi[3 * j + i] = terms->slope * closest->weights[j] * closest->normal[i];
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
    if (!psd) return;
    // an orthonormal basis of what is no translation: the edges against one another, and each turning or stretching
    const real half = (real)0.5, root = (real)0.70710678118654752440;
    const real basis[3][4] = {{half, half, -half, -half}, {-root, root, 0, 0}, {0, 0, -root, root}};
    real half_way[108], T[81];
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
    real vectors[81], wide[108];
    int count = pd_symmetric_positive_part(9, T, vectors);
    for (int m = 0; m < count; m++)
        for (int i = 0; i < 4; i++)
            for (int a = 0; a < 3; a++) {
                real sum = 0;
                for (int r = 0; r < 3; r++) sum += basis[r][i] * vectors[9 * m + 3 * r + a];
                wide[12 * m + 3 * i + a] = sum;
            }
    pd_contact_add_squares(wide, count, 4, out);
}

/* out [3k,3k] N/m, row 3 i + axis, exactly symmetric; psd != 0: the nearest positive semidefinite matrix. Not a number where nothing is left of
 * the gap. */
PD_FUNCTION void pd_contact_hessian(const pd_contact_law *law, const pd_contact_limits *limits, int kind, const real *x, int psd,
                                    real *out) {
    int corners = pd_contact_corners(kind), n = 3 * corners;
    pd_closest closest;
    pd_contact_factor factor;
    pd_contact_closest(kind, x, &closest);
    pd_contact_terms terms = pd_contact_terms_of(law, limits, closest.distance);
    if (terms.acts <= 0) {
        for (int i = 0; i < n * n; i++) out[i] = terms.acts < 0 ? (real)NAN : (real)0;
        return;
    }
    int mollified = pd_contact_is_mollified(kind, x, limits->threshold);
    pd_contact_factor_of(&terms, &closest, x, corners, &factor);
    if (mollified) {
        pd_contact_mollified_hessian(&terms, &factor, &closest, x, limits->threshold, psd, out);
        return;
    }
    if (psd) {
        pd_contact_factor_squares(&factor, corners, out);
        return;
    }
    for (int i = 0; i < corners; i++)
        for (int j = i; j < corners; j++) {
            real B[9];
            pd_contact_factor_block(&factor, i, j, B);
            for (int a = 0; a < 3; a++)
                for (int b = i == j ? a : 0; b < 3; b++) out[n * (3 * i + a) + 3 * j + b] = out[n * (3 * j + b) + 3 * i + a] = B[3 * a + b];
        }
}

/* What one corner sees: its rows of the gradient [3] N and its diagonal block [3,3] N/m of the Hessian, exactly symmetric; psd != 0: of the
 * projected one. Both not numbers where nothing is left of the gap. */
PD_FUNCTION void pd_contact_block(const pd_contact_law *law, const pd_contact_limits *limits, int kind, const real *x, int corner, int psd,
                                  real *gradient, real *block) {
    pd_closest closest;
    pd_contact_factor factor;
    pd_contact_closest(kind, x, &closest);
    pd_contact_terms terms = pd_contact_terms_of(law, limits, closest.distance);
    if (terms.acts <= 0) {
        for (int i = 0; i < 9; i++) block[i] = terms.acts < 0 ? (real)NAN : (real)0;
        for (int i = 0; i < 3; i++) gradient[i] = block[i];
        return;
    }
    int mollified = pd_contact_is_mollified(kind, x, limits->threshold);
    pd_contact_factor_of(&terms, &closest, x, pd_contact_corners(kind), &factor);
    if (psd && !mollified) pd_contact_factor_project(&factor);
    for (int i = 0; i < 3; i++) gradient[i] = terms.slope * (closest.weights[corner] * closest.normal[i]);
    if (mollified) {
        real whole[144], of_mollifier[12], m = pd_mollifier(x, limits->threshold, of_mollifier, NULL);
        pd_contact_mollified_hessian(&terms, &factor, &closest, x, limits->threshold, psd, whole);
        for (int i = 0; i < 3; i++) gradient[i] = m * gradient[i] + terms.energy * of_mollifier[3 * corner + i];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) block[3 * i + j] = whole[12 * (3 * corner + i) + 3 * corner + j];
        return;
    }
    pd_contact_factor_block(&factor, corner, corner, block);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++) block[3 * i + j] = block[3 * j + i];
}

#endif
