/* Every contact law of the project in one list: pair.h expands it, and nothing else names them all.
 *
 * A law is a function of one number, the squared distance d^2 of a pair less the squared separation xi^2, in parts of where the law begins
 * to act, at distance xi + dhat (dhat the activation distance, measured from the separation):
 *
 *     u = (d^2 - xi^2) / s,      s = (xi + dhat)^2 - xi^2 = dhat (2 xi + dhat),      0 < u < 1,      v = 1 - u
 *
 * pair.h forms u and v each by itself, without cancellation, and carries the derivatives by u on to the corners of the pair. A law NAME is
 * one header with these PD_LANE_FUNCTIONs, dimensionless but the last, which give anything where u is not between 0 and 1:
 *
 *     real pd_NAME_value(real u, real v);                                             B(u)
 *     pd_law_slopes pd_NAME_slopes(real u, real v);                                   dB/du <= 0 <= d2B/du2
 *     real pd_NAME_scale(real stiffness, int physical, real activation, real s);      J: what B is multiplied by
 *
 * with B = B' = 0 at u = 1, so that the energy ends smoothly. A new law is one new header and one line here. */
#ifndef PD_ELEMENTS_CONTACT_TABLE_H
#define PD_ELEMENTS_CONTACT_TABLE_H

#include "base/real.h"

/*  X(KIND, name) */
#define PD_CONTACT_LAW_TABLE(X) X(PD_BARRIER, barrier)

typedef enum pd_law_kind {
#define PD_LAW_KIND(KIND, name) KIND,
    PD_CONTACT_LAW_TABLE(PD_LAW_KIND)
#undef PD_LAW_KIND
        PD_LAW_COUNT
} pd_law_kind;

/* A law with its constants, the same for all pairs. */
typedef struct pd_contact_law {
    int kind;       /* pd_law_kind */
    int physical;   /* which form, and so the unit of the stiffness: pd_NAME_scale */
    real stiffness; /* > 0 */
} pd_contact_law;

/* A gap below so much of its activation distance has collapsed: a barrier is so steep there that its force follows from rounding and from
 * how far a solver came, and says little of the load. */
#define PD_COLLAPSED_GAP 0.01

/* dB/du and d2B/du2. */
typedef struct pd_law_slopes {
    real first, second;
} pd_law_slopes;

#endif
