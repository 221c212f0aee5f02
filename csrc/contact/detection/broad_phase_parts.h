/* What a broad phase is made of, for broad_phase.c, broad_phase_near.c and broad_phase_structures.c alone: everybody else knows
 * broad_phase.h. */
#ifndef PD_CONTACT_DETECTION_BROAD_PHASE_PARTS_H
#define PD_CONTACT_DETECTION_BROAD_PHASE_PARTS_H

#include "contact/detection/broad_phase.h"
#include "contact/detection/patches.h"

enum { MOST_LEVELS = 20 };

enum { VERTEX_TRIANGLE, EDGE_EDGE, PATCH_PAIRS, LISTS };

/* A list of pairs in the making: keys appended, sorted, unpacked. */
typedef struct pair_list {
    pd_pair_buffer buffer;
    uint64_t *scratch; /* B [capacity] */
    int *pairs;        /* B [capacity,2] */
    size_t n;
    size_t near; /* pairs that are sorted where the host does not know how many are near */
} pair_list;

/* What loops find out and the host wants to know: read in one piece, so that it waits once. */
typedef struct findings {
    pd_bound bounds[PD_PRIMITIVE_KINDS];
    pd_grid_size grids[PD_PRIMITIVE_KINDS];
    double costs[PD_PRIMITIVE_KINDS];
    uint64_t found[LISTS];
    uint64_t overlapping[LISTS]; /* pairs whose boxes overlap, where `found` is of those that are near */
} findings;

typedef struct primitive_tree {
    pd_tree *tree;
    double cost; /* when it was built; 0: not known */
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
    int unread;         /* there was a search since, which it has not read of */
    int searched;       /* by pd_broad_phase_find, which leaves marks */
    pd_broad_phase_counts counts;
};

/* phase->seen = *phase->findings. Waits. */
pd_status pd_broad_phase_read_findings(pd_broad_phase *phase);

/* The boxes of all primitives, widened by margins that are not rounded down. */
pd_status pd_broad_phase_boxes(pd_broad_phase *phase, const real *x_t0, const real *x_t1, double margin, double margin_of_edges);
/* In this precision, not below it. */
real pd_broad_phase_not_below(double length);
/* The keys of a list: all its pairs whose boxes overlap, as far as there is room. */
pd_status pd_broad_phase_append(pd_broad_phase *phase, int which);
/* The keys of both lists, all of them, within a search that leaves marks. Waits. */
pd_status pd_broad_phase_keys(pd_broad_phase *phase, const real *x_t0, const real *x_t1, double margin, double margin_of_edges,
                              int rebuild);
pd_status pd_broad_phase_sort(pd_broad_phase *phase, pd_pairs *vertex_triangle, pd_pairs *edge_edge);
/* The first n keys of a list, or as many as were appended, sorted: its count is on the device. */
pd_status pd_broad_phase_sort_some(pd_broad_phase *phase, int which, size_t n, pd_pairs *pairs);
/* Makes room for what was found. */
pd_status pd_broad_phase_lengthen(pd_broad_phase *phase, pair_list *list, size_t found);

/* The trees or grids, or the boxes of the patches, over the primitives' boxes; rebuild: new trees. */
pd_status pd_broad_phase_structure(pd_broad_phase *phase, int rebuild);
/* Once the findings of a search are read: a tree that was too costly to be searched is built, and again[which] asks for another
 * search of its list. The alternative is to wait for the cost before each search: bodies that change places make a refitted tree a hundred times
 * as costly. */
pd_status pd_broad_phase_reopen(pd_broad_phase *phase, int again[2]);
/* The trees, without a wait, and searched at any cost. */
pd_status pd_broad_phase_follow(pd_broad_phase *phase);

#endif
