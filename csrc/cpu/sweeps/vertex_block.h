/* Some vertices of one colour that a sweep computes together, and what they touch: their roles in pairs, whatever vertices these are of,
 * several per vector register. What each vertex gets is added up role by role in the order of its list.
 *
 * The other corners of a pair rest while a block is computed, so what its roles read is gathered once, and is there for every length that
 * is tried. */
#ifndef PD_CPU_SWEEPS_VERTEX_BLOCK_H
#define PD_CPU_SWEEPS_VERTEX_BLOCK_H

#include "cpu/contact/contact_lanes.h"
#include "loops/friction_loops.h"

enum {
    PD_BLOCK_VERTICES = 32,
    PD_BLOCK_ROLES = 2048, /* that are looked at together; a block with more of them has several runs */
    PD_BLOCK_LANES = PD_BLOCK_ROLES / PD_CONTACT_LANES + PD_CONTACT_PAIR_COUNT
};

/* Roles of one kind; unused columns repeat the last. */
typedef struct pd_role_lanes {
    pd_contact_lanes pairs;
    int kind, count;
    int rows[PD_CONTACT_LANES]; /* of the run */
    int corners[PD_CONTACT_LANES];
    real partners[PD_CONTACT_LANES];
} pd_role_lanes;

/* Roles that are looked at together, in the order of their vertices' lists. */
typedef struct pd_role_list {
    int n, whole;                                      /* whole: those of all vertices of the block */
    int roles[PD_BLOCK_ROLES], owners[PD_BLOCK_ROLES]; /* owners: rows of the block */
} pd_role_list;

/* Those that may act. */
typedef struct pd_contact_run {
    pd_role_list list;
    int n_lanes;
    pd_role_lanes lanes[PD_BLOCK_LANES];
    real found[PD_BLOCK_ROLES][8]; /* pd_contact_corner, or an energy */
    real room[PD_BLOCK_VERTICES];  /* m: how far a vertex can go before a role that was left out may act */
} pd_contact_run;

/* Roles in pairs with friction, number i in column i: n of them, and up to a whole register such that rub with no force. Columns that were
 * as long as there can be roles would all lie on one set of a cache. */
typedef struct pd_friction_run {
    int n, whole;
    int owners[PD_BLOCK_ROLES];    /* rows of the block */
    real moves[PD_BLOCK_ROLES][4]; /* of the first of a pair over the second, m, and a zero */
    real slips[3][PD_BLOCK_ROLES + PD_CONTACT_LANES];
    real columns[PD_LAGGED_COLUMNS][PD_BLOCK_ROLES + PD_CONTACT_LANES], weights[PD_BLOCK_ROLES + PD_CONTACT_LANES];
} pd_friction_run;

/* Those where vertices[v] < 0 take no part. */
typedef struct pd_vertex_block {
    const pd_model *model;
    const pd_vertex_sweep *sweep;
    const pd_contact_sweep *contact;
    int n, vertices[PD_BLOCK_VERTICES];
    real expected[PD_BLOCK_VERTICES]; /* m: how far each may go; those it could touch there are gathered with those it touches */
    pd_contact_run run;
    pd_friction_run friction;
} pd_vertex_block;

/* A macro, since a compiler takes a function that does nothing but this for one that does nothing. Memory begins with a line of
 * a cache, of 64 bytes; a record that is no line may lie on two. */
#define PD_FETCH_RECORD(records, role)                                                   \
    do {                                                                                 \
        const char *record = (const char *)((records) + (role) / 4);                     \
        __builtin_prefetch(record);                                                      \
        if (sizeof *(records) != 64) __builtin_prefetch(record + sizeof *(records) - 1); \
    } while (0)

/* Where the list of a block's roles goes on: in that of row v, at r; r < 0: at its beginning. */
typedef struct pd_block_cursor {
    int v, r;
} pd_block_cursor;

/* Roles begin .. end - 1 of an incidence: some of row `owner` of the block, whose are first .. last - 1. */
typedef struct pd_block_range {
    int owner, first, last, begin, end;
} pd_block_range;

/* The next roles of one vertex, at most so many; 0: there are none left. */
static inline int pd_block_next_range(const pd_vertex_block *block, const pd_incidence *incidence, pd_block_cursor *next, int most,
                                      pd_block_range *out) {
    for (; next->v < block->n; next->v++, next->r = -1) {
        int vertex = block->vertices[next->v];
        if (vertex < 0) continue;
        out->owner = next->v, out->first = incidence->start[vertex], out->last = incidence->start[vertex + 1];
        out->begin = next->r < 0 ? out->first : next->r;
        out->end = out->last - out->begin > most ? out->begin + most : out->last;
        next->r = out->end;
        if (out->end > out->begin) return 1;
    }
    return 0;
}

/* The next roles of a block by an incidence, as many as a list holds; how many. */
static inline int pd_block_next_roles(const pd_vertex_block *block, const pd_incidence *incidence, pd_block_cursor *next,
                                      pd_role_list *list) {
    pd_block_range range;
    int begins = next->v == 0 && next->r < 0;
    list->n = 0;
    while (list->n < PD_BLOCK_ROLES && pd_block_next_range(block, incidence, next, PD_BLOCK_ROLES - list->n, &range))
        for (int r = range.begin; r < range.end; r++, list->n++)
            list->roles[list->n] = incidence->roles[r], list->owners[list->n] = range.owner;
    list->whole = begins && next->v == block->n;
    return list->n;
}

/* What is asked of the roles of a vertex with friction is fetched. */
void pd_vertex_block_fetch_friction(const pd_vertex_block *block, int vertex);

/* sums [n,9], energies [n] +=: what pd_vertex_update_add_all_friction says of each vertex; and energies += what
 * pd_vertex_update_all_friction_energy says where each goes by -d [n,3], after the former, of some of the same vertices. */
void pd_vertex_block_add_friction(pd_vertex_block *block, real (*sums)[9], double *energies);
void pd_vertex_block_add_friction_energies(pd_vertex_block *block, const real (*d)[3], double *energies);

#endif
