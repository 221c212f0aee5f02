/* Some vertices of one colour that a sweep updates together, and their roles in pairs, several per vector register. The sums of a vertex
 * are in the order of its list of roles. An energy of a line search adds the roles beyond the expected displacement last.
 *
 * The other corners of a pair do not move during the update of a block. So the data of the roles are gathered once, for all step lengths
 * that are tried. */
#ifndef PD_CPU_SWEEPS_VERTEX_BLOCK_H
#define PD_CPU_SWEEPS_VERTEX_BLOCK_H

#include "cpu/contact/contact_lanes.h"
#include "loops/friction_loops.h"

enum {
    PD_BLOCK_VERTICES = 32,
    PD_BLOCK_ROLES = 2048, /* per run; a block with more roles has several runs */
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

/* Roles of a run, in the order of their vertices' lists. */
typedef struct pd_role_list {
    int n, whole;                                      /* whole: those of all vertices of the block */
    int roles[PD_BLOCK_ROLES], owners[PD_BLOCK_ROLES]; /* owners: rows of the block */
} pd_role_list;

/* The roles that may act. */
typedef struct pd_contact_run {
    pd_role_list list;
    int n_lanes;
    pd_role_lanes lanes[PD_BLOCK_LANES];
    real found[PD_BLOCK_ROLES][8]; /* pd_contact_corner, or an energy */
    real slack[PD_BLOCK_VERTICES]; /* m: the displacement bound of a vertex up to which the omitted roles cannot act */
} pd_contact_run;

/* Roles in pairs with friction, role i in column i: n of them, then roles without a force up to a whole register. The length of columns
 * is no power of two, since all columns would then use one set of a cache. */
typedef struct pd_friction_run {
    int n, whole;
    int owners[PD_BLOCK_ROLES];    /* rows of the block */
    real moves[PD_BLOCK_ROLES][4]; /* of the first of a pair relative to the second, m, and a zero */
    real slips[3][PD_BLOCK_ROLES + PD_CONTACT_LANES];
    real columns[PD_LAGGED_COLUMNS][PD_BLOCK_ROLES + PD_CONTACT_LANES], weights[PD_BLOCK_ROLES + PD_CONTACT_LANES];
} pd_friction_run;

/* Those with vertices[v] < 0 are skipped. */
typedef struct pd_vertex_block {
    const pd_model *model;
    const pd_vertex_sweep *sweep;
    const pd_contact_sweep *contact;
    int n, vertices[PD_BLOCK_VERTICES];
    real expected[PD_BLOCK_VERTICES]; /* m: expected displacement of each; pairs that may act within it are gathered with the active ones */
    pd_contact_run run, more;         /* more: the roles that act only beyond the expected displacement */
    pd_friction_run friction;
} pd_vertex_block;

/* A macro, since a compiler removes calls of a function that only prefetches. Memory begins at a cache line of 64 bytes; a record that
 * is no line may overlap two. */
#define PD_FETCH_RECORD(records, role)                                                   \
    do {                                                                                 \
        const char *record = (const char *)((records) + (role) / 4);                     \
        __builtin_prefetch(record);                                                      \
        if (sizeof *(records) != 64) __builtin_prefetch(record + sizeof *(records) - 1); \
    } while (0)

/* The next place in the list of a block's roles: at r in the list of row v; r < 0: at its begin. */
typedef struct pd_block_cursor {
    int v, r;
} pd_block_cursor;

/* Roles begin .. end - 1 of an incidence: a part of the roles first .. last - 1 of row `owner` of the block. */
typedef struct pd_block_range {
    int owner, first, last, begin, end;
} pd_block_range;

/* The next roles of one vertex, up to a limit; 0: none left. */
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

/* Prefetches the data of the roles of a vertex with friction. */
void pd_vertex_block_fetch_friction(const pd_vertex_block *block, int vertex);

/* sums [n,9], energies [n] +=: pd_vertex_update_add_all_friction for each vertex. The second adds to energies the result of
 * pd_vertex_update_all_friction_energy for displacements -d [n,3], after the first, for some of the same vertices. */
void pd_vertex_block_add_friction(pd_vertex_block *block, real (*sums)[9], double *energies);
void pd_vertex_block_add_friction_energies(pd_vertex_block *block, const real (*d)[3], double *energies);

#endif
