/* Contact pairs over arrays of lanes: several of one kind per vector register. */
#ifndef PD_CPU_CONTACT_CONTACT_LANES_H
#define PD_CPU_CONTACT_CONTACT_LANES_H

#include "cpu/context.h"
#include "updates/contact/contact_update.h"

enum { PD_CONTACT_LANES = 16, PD_CONTACT_MOST = 128 /* pairs that are sorted by kind together */ };

/* Pairs of one kind, pair l in column l. */
typedef struct pd_contact_lanes {
    real x[12][PD_CONTACT_LANES];
    real activation[PD_CONTACT_LANES], separation[PD_CONTACT_LANES], weight[PD_CONTACT_LANES], threshold[PD_CONTACT_LANES];
} pd_contact_lanes;

/* Columns without a pair repeat the last one. Corners that the kind does not have repeat the first. */
PD_INLINE void pd_contact_lanes_gather_corners(const pd_contact_pairs *pairs, const real *x, int kind, const int *chosen, int count,
                                               pd_contact_lanes *out) {
    int corners = pd_contact_corners(kind);
    for (int l = 0; l < PD_CONTACT_LANES; l++) {
        size_t p = (size_t)chosen[l < count ? l : count - 1];
        for (int j = 0; j < 4; j++) {
            const real *at = x + 3 * (size_t)pairs->points[4 * p + (size_t)(j < corners ? j : 0)];
            for (int i = 0; i < 3; i++) out->x[3 * j + i][l] = at[i];
        }
    }
}

PD_INLINE void pd_contact_lanes_gather(const pd_contact_pairs *pairs, const real *x, int kind, const int *chosen, int count,
                                       pd_contact_lanes *out) {
    pd_contact_lanes_gather_corners(pairs, x, kind, chosen, count, out);
    for (int l = 0; l < PD_CONTACT_LANES; l++) {
        size_t p = (size_t)chosen[l < count ? l : count - 1];
        out->activation[l] = pairs->activation[p], out->separation[l] = pairs->separation[p];
        out->weight[l] = pd_contact_update_weight(pairs->weight[p]), out->threshold[l] = pairs->threshold[p];
    }
}

PD_INLINE pd_points4 pd_contact_lanes_corners(const pd_contact_lanes *lanes, int l) {
    const real(*x)[PD_CONTACT_LANES] = lanes->x;
    return pd_points4_of(pd_vector_of(x[0][l], x[1][l], x[2][l]), pd_vector_of(x[3][l], x[4][l], x[5][l]),
                         pd_vector_of(x[6][l], x[7][l], x[8][l]), pd_vector_of(x[9][l], x[10][l], x[11][l]));
}

PD_INLINE pd_contact_limits pd_contact_lanes_limits(const pd_contact_lanes *lanes, int l) {
    return (pd_contact_limits){lanes->activation[l], lanes->separation[l], lanes->weight[l], lanes->threshold[l]};
}

/* Runs loop(KIND) with a constant kind of pair: a copy of the loop for each. */
#define PD_CONTACT_OF_KIND(kind, loop)                        \
    switch (kind) {                                           \
    case PD_VERTEX_VERTEX: loop(PD_VERTEX_VERTEX); break;     \
    case PD_VERTEX_EDGE: loop(PD_VERTEX_EDGE); break;         \
    case PD_VERTEX_TRIANGLE: loop(PD_VERTEX_TRIANGLE); break; \
    case PD_EDGE_EDGE: loop(PD_EDGE_EDGE); break;             \
    default: loop(PD_VERTEX_PLANE); break;                    \
    }

#define PD_CONTACT_POTENTIAL_CASE(POTENTIAL, name) \
    case POTENTIAL: of_potential.kind = POTENTIAL; PD_CONTACT_OF_KIND(of_kind, PD_LOOP) break;

/* Runs PD_LOOP(KIND) with a constant contact potential, of_law, and a constant kind of pair. */
#define PD_CONTACT_OF_POTENTIAL_AND_KIND(a_potential, a_kind)                             \
    do {                                                                                  \
        pd_pair_potential of_potential = *(a_potential);                                  \
        const int of_kind = (a_kind);                                                     \
        switch (of_potential.kind) { PD_PAIR_POTENTIAL_TABLE(PD_CONTACT_POTENTIAL_CASE) } \
    } while (0)

/* Some pairs, sorted by kind. */
typedef struct pd_contact_kinds {
    int n[PD_CONTACT_PAIR_COUNT], pairs[PD_CONTACT_PAIR_COUNT][PD_CONTACT_MOST];
} pd_contact_kinds;

/* Pairs first .. end - 1, at most PD_CONTACT_MOST. */
PD_INLINE void pd_contact_sort_kinds(const pd_contact_pairs *pairs, int first, int end, pd_contact_kinds *out) {
    for (int kind = 0; kind < PD_CONTACT_PAIR_COUNT; kind++) out->n[kind] = 0;
    for (int p = first; p < end; p++) out->pairs[pairs->kind[p]][out->n[pairs->kind[p]]++] = p;
}

/* out [.,12,12] at the n chosen pairs, of one kind and at most PD_CONTACT_MOST, by PD_FILTER_CLAMP. */
void pd_contact_clamped_hessians(const pd_pair_potential *potential, const pd_contact_pairs *pairs, const real *x, int kind,
                                 const int *chosen, int n, real *out);

#endif
