/* Hessians of contact pairs by PD_FILTER_CLAMP, several pairs per vector register.
 *
 * In three passes: the matrices S of pair_hessian.h for pairs of one kind; the eigenvectors for pairs with matrices of the same size;
 * and their outer products, pair by pair. The second uses cyclic Jacobi rotations. All lanes of a register take the same path, and the
 * rotations of a converged lane are the identity. So the bits of a pair do not depend on its neighbours in the register. */
#include "cpu/contact/contact_lanes.h"

enum { LANES = PD_CONTACT_LANES, SWEEPS = 12 };

/* One row for each number of pd_contact_parts but the last, which the projection does not need. */
enum { NUMBERS = sizeof(pd_contact_parts) / sizeof(real) - 1 };

typedef struct part_lanes {
    real number[NUMBERS][LANES];
    real acts[LANES];
    int plain[LANES], mollified[LANES];
} part_lanes;

PD_INLINE void parts_of_kind(pd_pair_potential potential, int kind, const pd_contact_lanes *lanes, part_lanes *out) {
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        pd_points4 x = pd_contact_lanes_corners(lanes, l);
        pd_contact_limits limits = pd_contact_lanes_limits(lanes, l);
        pd_nearest nearest = pd_contact_nearest(kind, x);
        pd_contact_terms terms = pd_contact_terms_of(potential, limits, nearest.distance);
        pd_contact_parts parts = pd_contact_parts_of(terms, nearest, x);
        out->plain[l] = pd_contact_is_plain(kind, x, nearest);
        out->mollified[l] = pd_contact_mollifier(kind, x, limits.threshold).below;
        out->acts[l] = terms.acts;
        real(*to)[LANES] = out->number;
        to[0][l] = parts.normal.x, to[1][l] = parts.normal.y, to[2][l] = parts.normal.z;
        to[3][l] = parts.axis0.x, to[4][l] = parts.axis0.y, to[5][l] = parts.axis0.z;
        to[6][l] = parts.axis1.x, to[7][l] = parts.axis1.y, to[8][l] = parts.axis1.z;
        to[9][l] = parts.basis0.a, to[10][l] = parts.basis0.b, to[11][l] = parts.basis0.c, to[12][l] = parts.basis0.d;
        to[13][l] = parts.basis1.a, to[14][l] = parts.basis1.b, to[15][l] = parts.basis1.c, to[16][l] = parts.basis1.d;
        to[17][l] = parts.basis2.a, to[18][l] = parts.basis2.b, to[19][l] = parts.basis2.c, to[20][l] = parts.basis2.d;
        to[21][l] = parts.s00, to[22][l] = parts.s01, to[23][l] = parts.s02, to[24][l] = parts.s11, to[25][l] = parts.s12;
        to[26][l] = parts.s22, to[27][l] = parts.s03, to[28][l] = parts.s13, to[29][l] = parts.s04, to[30][l] = parts.s14;
        to[31][l] = parts.s24, to[32][l] = parts.n_axes;
    }
}

static __attribute__((noinline)) void parts_of_lanes(const pd_pair_potential *potential, int kind, const pd_contact_lanes *lanes,
                                                     part_lanes *out) {
#define PD_LOOP(KIND) parts_of_kind(of_potential, KIND, lanes, out)
    PD_CONTACT_OF_POTENTIAL_AND_KIND(potential, kind);
#undef PD_LOOP
}

/* Symmetric matrices [n,n], and the rotations that diagonalise them: rows of V. */
typedef struct matrix_lanes {
    real S[25][LANES], V[25][LANES], size[LANES];
} matrix_lanes;

/* One rotation of rows p and q in every lane. Returns the number of lanes that rotate. */
PD_INLINE int turn(int n, int p, int q, matrix_lanes *m) {
    real c[LANES], s[LANES];
    int counts = 0;
    real *pp = m->S[n * p + p], *pq = m->S[n * p + q], *qq = m->S[n * q + q];
#pragma omp simd reduction(+ : counts)
    for (int l = 0; l < LANES; l++) {
        pd_symmetric_rotation by = pd_symmetric_rotation_of(pp[l], pq[l], qq[l]);
        real change = by.tangent * pq[l];
        counts += by.counts;
        c[l] = by.c, s[l] = by.s;
        pp[l] -= change, qq[l] += change;
        pq[l] = by.counts ? (real)0 : pq[l];
    }
    if (!counts) return 0;
    for (int k = 0; k < n; k++) {
        real *v_p = m->V[n * p + k], *v_q = m->V[n * q + k];
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            real a = v_p[l], b = v_q[l];
            v_p[l] = c[l] * a - s[l] * b;
            v_q[l] = s[l] * a + c[l] * b;
        }
        if (k == p || k == q) continue;
        /* only the upper triangle is stored */
        real *s_p = m->S[k < p ? n * k + p : n * p + k], *s_q = m->S[k < q ? n * k + q : n * q + k];
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            real a = s_p[l], b = s_q[l];
            s_p[l] = c[l] * a - s[l] * b;
            s_q[l] = s[l] * a + c[l] * b;
        }
    }
    return counts;
}

/* Diagonalises S, of which the entries on and above the diagonal are stored. */
PD_INLINE void diagonalise(int n, matrix_lanes *m) {
    for (int l = 0; l < LANES; l++) m->size[l] = 0;
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            for (int l = 0; l < LANES; l++) m->size[l] = pd_max(m->size[l], pd_fabs(m->S[n * i + j][l]));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int l = 0; l < LANES; l++) {
                m->V[n * i + j][l] = (real)(i == j);
                if (j >= i) m->S[n * i + j][l] = m->size[l] > 0 ? m->S[n * i + j][l] / m->size[l] : (real)0;
            }
    for (int sweep = 0, counts = 1; sweep < SWEEPS && counts; sweep++) {
        counts = 0;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) counts += turn(n, p, q, m);
    }
}

static __attribute__((noinline)) void diagonalise_3(matrix_lanes *m) { diagonalise(3, m); }
static __attribute__((noinline)) void diagonalise_5(matrix_lanes *m) { diagonalise(5, m); }

/* The places of the entries of S in pd_contact_parts, row by row on and above the diagonal; -1: zero. */
static const int entries_3[6] = {21, 22, 27, 24, 28, -1};
static const int entries_5[15] = {21, 22, 23, 27, 29, 24, 25, 28, 30, 26, -1, 31, -1, -1, -1};

/* The outer products of the positive eigenvectors of lane l. */
PD_INLINE void squares(int n, const matrix_lanes *m, int l, const pd_contact_parts *parts, real *out) {
    real wide[60];
    int count = 0, two = n == 5;
    for (int i = 0; i < n; i++) {
        if (!(m->S[(n + 1) * i][l] > 0)) continue;
        real z[5], root = pd_sqrt(m->size[l] * m->S[(n + 1) * i][l]);
        for (int k = 0; k < n; k++) z[k] = root * m->V[n * i + k][l];
        pd_points4 vector = pd_contact_parts_vector(*parts, z[0], z[1], two ? z[2] : (real)0, z[two ? 3 : 2], two ? z[4] : (real)0);
        pd_points4_store(vector, wide + 12 * count++);
    }
    if (count <= n - 2) { /* at most n - 2 but for rounding: a loop of constant length */
        for (; count < n - 2; count++)
            for (int i = 0; i < 12; i++) wide[12 * count + i] = 0;
        pd_contact_add_squares(wide, n - 2, 4, out);
    } else {
        pd_contact_add_squares(wide, count, 4, out);
    }
}

static void of_size(int n, const pd_contact_parts *parts, const int *chosen, const int *slots, int count, real *out) {
    const int *entries = n == 5 ? entries_5 : entries_3;
    matrix_lanes m;
    for (int start = 0; start < count; start += LANES) {
        for (int l = 0; l < LANES; l++) {
            const real *from = (const real *)(parts + slots[start + l < count ? start + l : count - 1]);
            for (int i = 0, k = 0; i < n; i++)
                for (int j = i; j < n; j++, k++) m.S[n * i + j][l] = entries[k] < 0 ? (real)0 : from[entries[k]];
        }
        if (n == 5)
            diagonalise_5(&m);
        else
            diagonalise_3(&m);
        for (int l = 0; l < LANES && start + l < count; l++) {
            int slot = slots[start + l];
            real *result = out + 144 * (size_t)chosen[slot];
            if (n == 5)
                squares(5, &m, l, parts + slot, result);
            else
                squares(3, &m, l, parts + slot, result);
        }
    }
}

void pd_contact_clamped_hessians(const pd_pair_potential *potential, const pd_contact_pairs *pairs, const real *x, int kind,
                                 const int *chosen, int n, real *out) {
    pd_contact_parts parts[PD_CONTACT_MOST];
    int flat[PD_CONTACT_MOST], full[PD_CONTACT_MOST], n_flat = 0, n_full = 0;
    pd_contact_lanes lanes;
    part_lanes found;
    for (int start = 0; start < n; start += LANES) {
        int count = n - start < LANES ? n - start : LANES;
        pd_contact_lanes_gather(pairs, x, kind, chosen + start, count, &lanes);
        parts_of_lanes(potential, kind, &lanes, &found);
        for (int l = 0; l < count; l++) {
            int slot = start + l;
            if (!found.plain[l] || found.mollified[l] || found.acts[l] < 0) {
                pd_contact_update_hessian(potential, pairs, x, chosen[slot], PD_FILTER_CLAMP, out + 144 * (size_t)chosen[slot]);
                continue;
            }
            real *to = (real *)(parts + slot);
            for (int i = 0; i < NUMBERS; i++) to[i] = found.number[i][l];
            if (parts[slot].n_axes > 1)
                full[n_full++] = slot;
            else
                flat[n_flat++] = slot;
        }
    }
    of_size(3, parts, chosen, flat, n_flat, out);
    of_size(5, parts, chosen, full, n_full, out);
}
