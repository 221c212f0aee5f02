/* The neighbour list: the pairs of a scene that a sweep must check, and displacement bounds within which the list is valid.
 *
 * x_0 are the points at the making of the list. Each vertex has a ball around x_0. If every vertex stays inside its ball, no pair that
 * is farther than `cut` beyond its activation distance becomes active or loses more of its gap than the step limiter allows. Such a pair
 * contributes to the radius at each of its corners: half of the allowed loss of the gap, or half of its excess over the activation
 * distance.
 *
 * So these pairs need no check until a vertex has used most of its ball. The unused part of the ball bounds its next displacement. */
#ifndef PD_CONTACT_POTENTIAL_NEAR_H
#define PD_CONTACT_POTENTIAL_NEAR_H

#include "loops/contact_loops.h"

typedef struct pd_near pd_near;

/* All pairs at x_0. */
typedef struct pd_near_list {
    const pd_contact_pairs *pairs;
    const pd_incidence *incidence;
    const real *distance; /* B [pairs->n] m */
    const real *points;   /* B [n_points,3] x_0, m */
    double cut;           /* m */
    double far, certain;  /* m: the ball of a vertex without pairs, and the distance from x_0 after which it must be checked again */
    double rounding;      /* of a gap, m */
    double fraction;      /* of a gap that a move may close */
} pd_near_list;

/* Only the points in `chosen` may come into contact. */
pd_status pd_near_create(pd_near **out, pd_context *context, int n_vertices, int n_points, pd_chosen_points chosen);
void pd_near_destroy(pd_near *self);

/* Drops the list. */
void pd_near_forget(pd_near *self);

/* Tells whether the list is valid at the points B [n_points,3] m. Synchronises. */
pd_status pd_near_holds(pd_near *self, const real *points, int *holds);

/* Makes a new list. Errors: PD_ERROR_MEMORY. */
pd_status pd_near_list_anew(pd_near *self, const pd_near_list *list);

/* The displacement bound of each chosen vertex from the present points, and the vertices in contact, as in pd_contact_reaches for all
 * pairs. Also the pairs that can act within the bounds, with their slacks: the members of `sweep` for pairs, valid until the next list. */
pd_status pd_near_reaches(pd_near *self, const pd_contact_law *law, const real *points, real *reach, unsigned char *touching,
                          pd_contact_sweep *sweep);

/* The remaining displacement bound of a vertex without pairs, m; 0: unknown. */
double pd_near_certain(const pd_near *self);

#endif
