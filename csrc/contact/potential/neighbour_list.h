/* The neighbour list: the pairs of a scene that a sweep must check, and displacement bounds within which the list is valid.
 *
 * x_0 are the points at the making of the list. Each vertex has a ball around x_0. If every vertex stays inside its ball, no pair that
 * is farther than `cut` beyond its activation distance becomes active or loses more of its gap than the step limiter allows. Such a pair
 * contributes to the radius at each of its corners: half of the allowed loss of the gap, or half of its excess over the activation
 * distance.
 *
 * So these pairs need no check until a vertex has used most of its ball. The unused part of the ball bounds its next displacement. A
 * vertex may leave its ball on its side of the planes of all its pairs (updates/contact/vertex_bound.h). Its pairs then become neighbour
 * pairs, and all other pairs stay unchecked. */
#ifndef PD_CONTACT_POTENTIAL_NEIGHBOUR_LIST_H
#define PD_CONTACT_POTENTIAL_NEIGHBOUR_LIST_H

#include "loops/contact_loops.h"

typedef struct pd_neighbour_list pd_neighbour_list;

/* All pairs at x_0. */
typedef struct pd_neighbour_pairs {
    const pd_contact_pairs *pairs;
    const int *panel; /* B [pairs->n] of each pair, -1: none; NULL: no panels */
    const pd_incidence *incidence;
    real *distance;        /* B [pairs->n] m; overwritten */
    const real *points;    /* B [n_points,3] x_0, m */
    double cut;            /* m */
    double far, certain;   /* m: the ball of a vertex without pairs, and the distance from x_0 after which it must be checked again */
    double inactive_bound; /* m: the distance from x_0 up to which no unlisted pair becomes active */
    double rounding;       /* of a gap, m */
    double fraction;       /* of a gap that a move may close */
} pd_neighbour_pairs;

/* Only the points in `chosen` may come into contact. */
pd_status pd_neighbour_list_create(pd_neighbour_list **out, pd_context *context, int n_vertices, int n_points, pd_chosen_points chosen);
void pd_neighbour_list_destroy(pd_neighbour_list *self);

/* Drops the list. */
void pd_neighbour_list_forget(pd_neighbour_list *self);

/* Tells whether the list is valid at the points B [n_points,3] m. If few vertices have used most of their balls, the list is extended by
 * all pairs of these vertices. Synchronises. Errors: PD_ERROR_MEMORY. */
pd_status pd_neighbour_list_update(pd_neighbour_list *self, const real *points, int *holds);

/* Makes a new list. Errors: PD_ERROR_MEMORY. */
pd_status pd_neighbour_list_rebuild(pd_neighbour_list *self, const pd_neighbour_pairs *list);

/* The displacement bound of each chosen vertex from the present points, and the vertices in contact, as in pd_contact_displacement_bounds for all
 * pairs. Also the pairs that can act within the bounds, with their slacks: the members of `sweep` for pairs, valid until the next list. */
pd_status pd_neighbour_list_bounds(pd_neighbour_list *self, const pd_pair_potential *potential, const real *points, real *bound,
                                   unsigned char *touching, pd_contact_sweep *sweep);

/* The remaining displacement bound of a vertex without pairs, m; 0: unknown. */
double pd_neighbour_list_certain_bound(const pd_neighbour_list *self);

#endif
