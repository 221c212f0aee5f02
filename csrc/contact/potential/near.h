/* The few of a scene's pairs that a sweep must look at, and how far from where they were found that holds.
 *
 * Where all points were when the pairs were listed, x_0, each vertex has a ball around it in which it may go while everyone keeps to his
 * own, and no pair that is farther than `cut` beyond where it acts comes to act, or loses more of its gap than a guard allows: such a pair
 * takes as its share of the radius at each of its corners half of that part of its gap, or half of what it could shrink by before it acts.
 * So these pairs need not be looked at again until a vertex has used up much of its ball; what a vertex has left of it bounds its next
 * move. */
#ifndef PD_CONTACT_POTENTIAL_NEAR_H
#define PD_CONTACT_POTENTIAL_NEAR_H

#include "loops/contact_loops.h"

typedef struct pd_near pd_near;

/* What is known of all pairs at x_0. */
typedef struct pd_near_list {
    const pd_contact_pairs *pairs;
    const pd_incidence *incidence;
    const real *distance; /* B [pairs->n] m */
    const real *points;   /* B [n_points,3] x_0, m */
    double cut;           /* m */
    double far, certain;  /* m: the ball of a vertex without pairs, and how far it may go from x_0 until it is looked after again */
    double rounding;      /* of a gap, m */
    double fraction;      /* of a gap that may be used up */
} pd_near_list;

/* Only the points in `chosen` ever come near anything. */
pd_status pd_near_create(pd_near **out, pd_context *context, int n_vertices, int n_points, pd_chosen_points chosen);
void pd_near_destroy(pd_near *self);

/* Nothing is known any more. */
void pd_near_forget(pd_near *self);

/* Whether the list holds where the points are, B [n_points,3] m. Waits. */
pd_status pd_near_holds(pd_near *self, const real *points, int *holds);

/* A new list. Errors: PD_ERROR_MEMORY. */
pd_status pd_near_list_anew(pd_near *self, const pd_near_list *list);

/* How far each chosen vertex may go from where the points are, and which of them touch, as pd_contact_reaches has them of all pairs; the
 * pairs that can act within that, with their slacks. What `sweep` has of pairs is set, and is good until the next list. */
pd_status pd_near_reaches(pd_near *self, const pd_contact_law *law, const real *points, real *reach, unsigned char *touching,
                          pd_contact_sweep *sweep);

/* How far a vertex without pairs can still go and meet nothing, m; 0: nothing is known. */
double pd_near_certain(const pd_near *self);

#endif
