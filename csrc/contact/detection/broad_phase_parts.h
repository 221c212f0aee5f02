/* The parts of a broad phase, for broad_phase.c, broad_phase_within.c and broad_phase_structures.c only. Other files include
 * broad_phase.h. */
#ifndef PD_CONTACT_DETECTION_BROAD_PHASE_PARTS_H
#define PD_CONTACT_DETECTION_BROAD_PHASE_PARTS_H

#include "contact/detection/broad_phase.h"
#include "contact/detection/patches.h"

enum { MOST_LEVELS = 20 };

enum { VERTEX_TRIANGLE, EDGE_EDGE, PATCH_PAIRS, LISTS };

/* A list of pairs under construction: keys are appended, sorted, unpacked. */
typedef struct pair_list {
    pd_pair_buffer buffer;
    uint64_t *scratch; /* B [capacity] */
    int *pairs;        /* B [capacity,2] */
    size_t n;
    size_t near; /* length of the sort while the number of neighbour pairs is on the device */
} pair_list;

/* Results of the loops that the host needs, in one structure for a single readback. */
typedef struct findings {
    pd_bound bounds[PD_PRIMITIVE_KINDS];
    pd_grid_size grids[PD_PRIMITIVE_KINDS];
    double costs[PD_PRIMITIVE_KINDS];
    uint64_t found[LISTS];
    uint64_t overlapping[LISTS]; /* overlapping pairs; `found` counts the neighbour pairs among them */
} findings;

typedef struct primitive_tree {
    pd_tree *tree;
    double cost; /* at its last build; 0: unknown */
    int unread;  /* a build whose cost has not been read yet */
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
    findings seen;      /* the host's last copy of them */
    int unread;         /* a search has run since that copy */
    int searched;       /* by pd_broad_phase_find, which records events */
    pd_broad_phase_counts counts;
};

/* Sets phase->seen = *phase->findings. Synchronises. */
pd_status pd_broad_phase_read_findings(pd_broad_phase *phase);

/* The boxes of all primitives, widened by margins that are rounded up. */
pd_status pd_broad_phase_boxes(pd_broad_phase *phase, const real *x_t0, const real *x_t1, double margin, double margin_of_edges);
/* The length in `real`, rounded up. */
real pd_broad_phase_not_below(double length);
/* Appends the keys of all overlapping pairs to a list, up to its capacity. */
pd_status pd_broad_phase_append(pd_broad_phase *phase, int which);
/* Lists all keys of both lists, in a search that records events. Synchronises. */
pd_status pd_broad_phase_keys(pd_broad_phase *phase, const real *x_t0, const real *x_t1, double margin, double margin_of_edges,
                              int rebuild);
pd_status pd_broad_phase_sort(pd_broad_phase *phase, pd_pairs *vertex_triangle, pd_pairs *edge_edge);
/* Sorts the first n keys of a list, or all that were appended if these are fewer. The count stays on the device. */
pd_status pd_broad_phase_sort_some(pd_broad_phase *phase, int which, size_t n, pd_pairs *pairs);
/* Increases the capacity of a list to `found` pairs. */
pd_status pd_broad_phase_lengthen(pd_broad_phase *phase, pair_list *list, size_t found);

/* Makes the trees or grids, or the boxes of the patches, from the primitives' boxes. rebuild: builds the trees again. */
pd_status pd_broad_phase_structure(pd_broad_phase *phase, int rebuild);
/* Builds the trees that were too costly to search, after the findings of a search have been read. again[which] requests another search
 * of that list. The alternative, reading the cost before each search, would synchronise. Refitting alone is no option: when bodies
 * change places, the cost of a refitted tree has no bound. */
pd_status pd_broad_phase_reopen(pd_broad_phase *phase, int again[2]);
/* Updates the trees without synchronisation. They are searched at any cost. */
pd_status pd_broad_phase_follow(pd_broad_phase *phase);

#endif
