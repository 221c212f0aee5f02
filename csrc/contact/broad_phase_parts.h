/* What a broad phase is made of, for broad_phase.c and broad_phase_structures.c alone: everybody else knows broad_phase.h. */
#ifndef PD_CONTACT_BROAD_PHASE_PARTS_H
#define PD_CONTACT_BROAD_PHASE_PARTS_H

#include "contact/broad_phase.h"
#include "contact/patches.h"

enum { MOST_LEVELS = 20 };

enum { VERTEX_TRIANGLE, EDGE_EDGE, PATCH_PAIRS, LISTS };

/* A list of pairs in the making: keys appended, sorted, unpacked. */
typedef struct pair_list {
    pd_pair_buffer buffer;
    uint64_t *scratch; /* B [capacity] */
    int *pairs;        /* B [capacity,2] */
    size_t n;
} pair_list;

/* What loops find out and the host wants to know: read in one piece, so that it waits once. */
typedef struct findings {
    pd_bound bounds[PD_PRIMITIVE_KINDS];
    pd_grid_size grids[PD_PRIMITIVE_KINDS];
    double costs[PD_PRIMITIVE_KINDS];
    uint64_t found[LISTS];
} findings;

typedef struct primitive_tree {
    pd_tree *tree;
    double cost; /* when it was built; 0: there is none */
    int asked;   /* it was built, and its cost is not yet known */
} primitive_tree;

struct pd_broad_phase {
    pd_context *context;
    int method;
    pd_primitives primitives[PD_PRIMITIVE_KINDS];
    primitive_tree trees[PD_PRIMITIVE_KINDS]; /* of edges and triangles */
    int *vertex_order;                        /* B [n] vertices along the curve of the last build */
    pd_grid grids[PD_PRIMITIVE_KINDS];
    pd_patches patches;
    uint64_t *keys, *scratch; /* B: of primitives, or of the entries of a grid */
    pd_work work;
    pair_list lists[LISTS];
    findings *findings; /* B [1] */
    findings seen;      /* the same when the host last read it */
    int searched;       /* by pd_broad_phase_find, which leaves marks */
    pd_broad_phase_counts counts;
};

/* phase->seen = *phase->findings. Waits. */
pd_status pd_broad_phase_read_findings(pd_broad_phase *phase);

/* The trees or grids, or the boxes of the patches, over the primitives' boxes; rebuild: trees anew. */
pd_status pd_broad_phase_structure(pd_broad_phase *phase, int rebuild);
/* The trees, without a wait. */
pd_status pd_broad_phase_follow(pd_broad_phase *phase);

#endif
