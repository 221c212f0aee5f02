/* The sweeps over vertices and over constraints, and their data. The rules of backend.h hold. */
#ifndef PD_LOOPS_SWEEP_LOOPS_H
#define PD_LOOPS_SWEEP_LOOPS_H

#include "loops/element_loops.h"

#ifndef __cplusplus
#include <stdalign.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sweeps over vertices ----------------------------------------------------------------------------------------------- */

/* Corners of a family are stored in groups of this size, field by field: the lanes of one vector instruction, or one, if each thread
 * reads the record of its own corner. */
int pd_corner_lanes(void);

typedef struct pd_corner_groups {
    int *start; /* B [n+1] groups of each update; NULL: none */
    /* B [groups], pd_corner_group_bytes each: numbers real [numbers of a corner,lanes], zero in unused lanes; slots int [others,lanes]
     * of the other vertices (of a tet those of the opposite face, cyclically); for a tet with a target shape then its number among them */
    char *records;
    const real *parameters; /* B borrowed, of these tets: shape_target.h */
} pd_corner_groups;

/* Padded to transfers of 16 bytes; a single neo-Hookean corner in float has 32 bytes without padding. */
static inline size_t pd_corner_group_bytes(int numbers, int others, int lanes) {
    return ((size_t)lanes * ((size_t)numbers * sizeof(real) + (size_t)others * sizeof(int)) + 15) / 16 * 16;
}

/* Terms that are linear in the positions: the gradient of each update includes sum_j weights_j (x_j - x_i) over its neighbours j. */
typedef struct pd_sweep_neighbours {
    int *start;    /* B [n+1]; NULL: none */
    int *slots;    /* B [.] */
    real *weights; /* B [.] N/m */
} pd_sweep_neighbours;

/* The damping matrix of the model in the layout of a sweep. */
typedef struct pd_sweep_damping {
    int *slots;   /* B [entries] slot of each entry's vertex, n_vertices: the fixed world; NULL: no damping */
    real *starts; /* B [n_vertices,4] scratch: x_t at each slot, written when a sweep gathers positions */
    real *
        displacements; /* B [n_vertices+1,4] scratch: u = x - x_t at each slot, for damped vertices that of the positions; the last is zero */
} pd_sweep_damping;

/* Blocks of a filtered Hessian: with sums != NULL the blocks of corners outside of groups are those of filtered_corner.h. */
typedef struct pd_sweep_filter {
    pd_hessian_filter filter;
    real *sums;  /* B [n,9] scratch: gradient and block of the corners of each update, where a backend adds these in a loop of their own */
    real *pairs; /* B [n,6] scratch: of the pairs of each update, filtered_pair.h; NULL without contact */
} pd_sweep_filter;

/* The content of an update, for a loop per kind: groups of corners of one family only, or anything else, including no corners. */
typedef enum pd_update_kind { PD_UPDATES_NEO_HOOKEAN, PD_UPDATES_ROTATED, PD_UPDATES_MIXED, PD_UPDATE_KINDS } pd_update_kind;

/* The own data of an update: 32 bytes, in float and in double. */
typedef struct pd_update {
    alignas(16) int vertex;
    int slot;
    int first, end; /* groups of the family of its kind; mixed: 0 */
    real diagonal;  /* N/m: m/h^2 and the constant parts of the blocks: of neo-Hookean corners, of neighbours */
    real mass;      /* kg */
} pd_update;

/* The free vertices in the order of a sweep, with all data of their elements. A sweep has its own buffer of positions, [n_vertices,4]
 * with the fourth number unused, at slots in which neighbours in the mesh are close together. The updates of one kind in a colour have
 * ascending slots. */
typedef struct pd_vertex_sweep {
    int n; /* updates: free vertices */
    int n_colours;
    const int *colour_start;          /* H [n_colours+1] updates of each colour; its vertices share no element */
    const int *kind_end;              /* H [n_colours,PD_UPDATE_KINDS] in each colour, by kind; the last is the end of the colour */
    int *order;                       /* B [n_vertices] vertex at each slot */
    pd_update *updates;               /* B [n] */
    unsigned char *may_touch;         /* B [n] 0: this update has no contact; NULL: no contact at all */
    int *corner_slots[PD_KIND_COUNT]; /* B [elements,k] slots of the corners of each kind; NULL if all are in groups */
    int n_corners;                    /* in the list of corners */
    int *corner_start;                /* B [n+1] */
    int *corners;                     /* B [n_corners,2] index of the kind in the model, and element * k + corner */
    pd_corner_groups groups[PD_CORNER_FAMILIES];
    pd_sweep_neighbours neighbours;
    pd_sweep_damping damping;
    pd_sweep_filter filtered;
    int update_threads; /* threads per update on CUDA: 1, 4, 8, 16 or 32; 0: the loop decides */
    int *colours;       /* B [n_vertices] of each vertex, -1 for fixed ones; NULL without contact */
    void *blocks;       /* B scratch of pd_sweep_scratch bytes; NULL without contact */
} pd_vertex_sweep;

typedef struct pd_contact_sweep pd_contact_sweep; /* friction_loops.h */

/* Bytes of the memory in which threads gather the pairs of vertices in contact; 0: this backend needs none. */
size_t pd_sweep_scratch(const pd_context *context);

typedef enum pd_sweep_step {
    PD_SWEEP_BLOCK,    /* d = H_ii^-1 g_i with the 3x3 block of the vertex */
    PD_SWEEP_DIAGONAL, /* d = diag(H_ii)^-1 g_i */
    PD_SWEEP_SEARCH    /* the block's d, halved until the potential of the vertex does not grow */
} pd_sweep_step;

/* How a sweep begins and ends, and its colours. A sweep that moves the offset does not update x and correction: the next sweep starts from
 * the positions. */
typedef struct pd_sweep_bounds {
    int gathers;                  /* 1: positions are copied from x first; 0: the sweep before has left them */
    int moves;                    /* 1: offset_i -= d_i, and correction is not written; in place, without contact and without a search */
    int first_colour, end_colour; /* first_colour .. end_colour - 1 are swept; none: positions are copied and that is all */
} pd_sweep_bounds;

/* One sweep over the vertices of some colours, one colour after the other, the vertices of a colour in parallel: with g_i and H_ii the gradient of G and
 * its 3x3 block (the elements' indefinite parts clamped, pd_NAME_block or rotated_corner.h; or sweep->filtered), d_i as `kind` says,
 *     positions_i -= d_i (where in_place != 0),    correction_i = d_i, or offset_i -= d_i where the sweep moves.
 *   x  B [n_vertices,3]  m      offset  B [n_vertices,3]  in/out  m      positions  B [n_vertices,4]  in/out  m
 *   correction  B [n_vertices,3]  out  m, 0 at fixed vertices
 * contact: contact data, NULL: none; vertex_update.h documents their effect. [Chen et al. 2024, VBD, Algorithm 1; in_place = 0: Block
 * Jacobi.] */
pd_status pd_sweep_vertices(pd_context *context, const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step,
                            pd_sweep_step kind, int in_place, pd_sweep_bounds bounds, const pd_contact_sweep *contact, const real *x,
                            real *offset, real *positions, real *correction);

/* ---- sweeps over constraints -------------------------------------------------------------------------------------------- */

/* All elements in the order of a sweep, and the data of each that extended position-based dynamics keeps during a step. */
typedef struct pd_constraint_sweep {
    int n_segments;
    const int *segment_start;         /* H [n_segments+1] runs of `elements` of one colour and one kind, colour by colour */
    const int *segment_kinds;         /* H [n_segments] index of the kind in the model */
    int *elements;                    /* B elements of a colour share no free vertex */
    real *multipliers[PD_KIND_COUNT]; /* B [elements] lambda, for each kind of the model; neo-Hookean [elements,2] */
    real *normals[PD_KIND_COUNT];     /* B [elements,3,d] dC/dF of the last visit; neo-Hookean: of the first of its two */
} pd_constraint_sweep;

/* One Gauss-Seidel sweep over all constraints by updates/sweeps/xpbd.h, the elements of a colour in parallel: positions_i += dx_i and
 * correction_i -= dx_i for every move dx_i of a free vertex. Without damping.
 *   compliance  1/h^2, 1/s^2      positions, correction  B [n_vertices,3]  in/out  m */
pd_status pd_sweep_constraints(pd_context *context, const pd_model *model, const pd_constraint_sweep *sweep, double compliance,
                               real *positions, real *correction);

#ifdef __cplusplus
}
#endif

#endif
