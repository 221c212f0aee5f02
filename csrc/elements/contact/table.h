/* The list of contact potentials: pair.h expands it, and no other file names them all.
 *
 * A contact potential is a function of one number: the squared distance d^2 of a pair minus the squared separation xi^2, relative to its
 * value at distance xi + dhat, where the potential begins (dhat is the activation distance, measured from the separation):
 *
 *     u = (d^2 - xi^2) / s,      s = (xi + dhat)^2 - xi^2 = dhat (2 xi + dhat),      0 < u < 1,      v = 1 - u
 *
 * pair.h computes u and v separately, without cancellation, and applies the chain rule to the corners of the pair. A potential NAME is
 * one header with these PD_LANE_FUNCTIONs, dimensionless except the last. Their results for u outside of (0, 1) are arbitrary:
 *
 *     real pd_NAME_value(real u, real v);                                             B(u)
 *     pd_pair_potential_slopes pd_NAME_slopes(real u, real v);                                   dB/du <= 0 <= d2B/du2
 *     real pd_NAME_scale(real stiffness, int physical, real activation, real s);      J: the factor of B
 *
 * with B = B' = 0 at u = 1, so that the energy ends smoothly. A new potential is one new header and one line here. */
#ifndef PD_ELEMENTS_CONTACT_TABLE_H
#define PD_ELEMENTS_CONTACT_TABLE_H

#include "base/real.h"

/*  X(KIND, name) */
#define PD_PAIR_POTENTIAL_TABLE(X) X(PD_BARRIER, barrier)

typedef enum pd_pair_potential_kind {
#define PD_PAIR_POTENTIAL_KIND(KIND, name) KIND,
    PD_PAIR_POTENTIAL_TABLE(PD_PAIR_POTENTIAL_KIND)
#undef PD_PAIR_POTENTIAL_KIND
        PD_PAIR_POTENTIAL_COUNT
} pd_pair_potential_kind;

/* A contact potential with its constants, the same for all pairs. */
typedef struct pd_pair_potential {
    int kind;       /* pd_pair_potential_kind */
    int physical;   /* the form, which determines the unit of the stiffness: pd_NAME_scale */
    real stiffness; /* > 0 */
} pd_pair_potential;

/* A gap below this fraction of its activation distance has collapsed. A barrier is so steep there that its force depends on rounding and
 * on the progress of the solver, and hardly on the load. */
#define PD_COLLAPSED_GAP 0.01

/* dB/du and d2B/du2. */
typedef struct pd_pair_potential_slopes {
    real first, second;
} pd_pair_potential_slopes;

#endif
