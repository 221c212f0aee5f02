/* The loops over pairs with a penalty, once in cpu/contact/penalty.c, once in cuda/contact/penalty.cu; the rules of backend.h hold.
 * elements/contact/penalty.h has the formulas, penalty_update.h the freezing of pairs. Their Hessians are handled as those of other
 * pairs (contact_loops.h). */
#ifndef PD_LOOPS_PENALTY_LOOPS_H
#define PD_LOOPS_PENALTY_LOOPS_H

#include "geometry/collider.h"
#include "loops/friction_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tets of solids, all B: those on the inner side of the triangles of their surface. */
typedef struct pd_penalty_tets {
    const int *corners;    /* [.,4] points */
    const int *neighbours; /* [.,4] the tet opposite each corner, -1: none */
    const int *behind;     /* [n_triangles] the tet of a triangle, -1: none */
} pd_penalty_tets;

/* The input of a detection, all B except numbers. */
typedef struct pd_penalty_search {
    pd_candidates candidates;
    pd_contact_scene scene;
    const real *start, *end; /* [n_points,3] m: begin of the step, and present positions */
    const int *outward;      /* [n_triangles] 1: of a closed surface, oriented outwards; -1: oriented inwards; 0: of an open one */
    const int *ring_start;   /* [n_points+1] the triangles of each point, */
    const int *rings;        /* [.] ascending */
    pd_penalty_tets tets;
    /* [n_planes] the field that replaces a plane, -1: none. Its row of scene.planes and the next three are points of it: node (0,0,0),
     * and size[0] from there along each of its axes */
    const int *fields_of_planes;
    const pd_collider *fields; /* [.] PD_DISTANCE_GRID, without a frame */
    real thickness, depth;     /* m */
} pd_penalty_search;

/* The quantities of pd_penalty_batch. */
enum {
    PD_PENALTY_ENERGY,   /* [n] J */
    PD_PENALTY_GAP,      /* [n] g, m */
    PD_PENALTY_RANGE,    /* [n] the gap below which it repels, m; minus infinity: never */
    PD_PENALTY_GRADIENT, /* [n,4,3] N */
    PD_PENALTY_HESSIAN,  /* [n,12,12] N/m */
    PD_PENALTY_QUANTITY_COUNT
};

/* Numbers per pair of a quantity, or 0. */
static inline int pd_penalty_quantity_size(int quantity) {
    static const int sizes[PD_PENALTY_QUANTITY_COUNT] = {1, 1, 1, 12, 144};
    return quantity < 0 || quantity >= PD_PENALTY_QUANTITY_COUNT ? 0 : sizes[quantity];
}

/* flags [candidates.n]  B  out: 1 for the candidates that the detection keeps; 0 for missing ones. */
pd_status pd_penalty_find(pd_context *context, const pd_penalty_search *search, unsigned char *flags);

/* out = n active pairs, or as many as their count, frozen. Of the pairs of a vertex with one body that contains it, only the nearest
 * stays: the others never repel. */
pd_status pd_penalty_freeze(pd_context *context, const pd_penalty_search *search, const pd_active_pairs *active, int n,
                            const pd_frozen_pairs *out);

/* One quantity of every pair at y [.,3] B. Errors: PD_ERROR_VALUE for an unknown quantity. */
pd_status pd_penalty_batch(pd_context *context, int quantity, const pd_frozen_pairs *pairs, const real *y, real *out);

/* touching [n_vertices]  B: set if a pair of a vertex repels at y. */
pd_status pd_penalty_touching(pd_context *context, int n_vertices, const pd_incidence *incidence, const pd_frozen_pairs *pairs,
                              const real *y, unsigned char *touching);

/* strength [n]  B  out: mu times the normal force at y, N, of all valid pairs. */
pd_status pd_penalty_strengths(pd_context *context, const pd_friction_scene *scene, const pd_frozen_pairs *pairs, const real *y,
                               real *strength);

/* Pairs as constraints with compliance (contact_constraint_update.h), all at once: positions_i += dx_i and correction_i -= dx_i.
 *   multipliers [n,4]  B  in/out  lambda and tau, kg m      changes [n,4]  B  scratch      shares [n_vertices]  B  scratch
 * contact->points do not change. */
pd_status pd_penalty_constrain(pd_context *context, const pd_model *model, const pd_contact_sweep *contact, double inverse_h2,
                               real *multipliers, real *changes, int *shares, real *positions, real *correction);

/* multipliers [n,4] of pairs with these names from those of other pairs, zeros for new ones; both lists of names [.] ascending. */
pd_status pd_penalty_carry(pd_context *context, int n, const uint64_t *keys, int n_before, const uint64_t *keys_before, const real *before,
                           real *multipliers);

#ifdef __cplusplus
}
#endif

#endif
