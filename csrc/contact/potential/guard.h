/* The step limiter: the fraction of a motion, common to all points of a scene, on which no pair comes nearer than the separation. By the
 * time of impact.
 *
 * All points move straight from their start to their end. The step limiter has its own broad phase over the same primitives, since the
 * lists of the other one are in use. Each pair whose boxes overlap along the path has a certified time up to which it keeps a tenth of
 * its gap (geometry/certified.h). The smallest of these times is the limit [Li et al. 2020, Incremental Potential Contact, Sec. 4.4]. */
#ifndef PD_CONTACT_POTENTIAL_GUARD_H
#define PD_CONTACT_POTENTIAL_GUARD_H

#include "contact/detection/broad_phase.h"
#include "loops/proximity_loops.h"

typedef struct pd_guard pd_guard;

typedef struct pd_guard_description {
    pd_broad_phase_description phase;
    double separation, activation; /* m */
    const real *radii;             /* B [n_points] m, borrowed; NULL: zero */
    const int *planes;             /* H [n_planes] rows of points, borrowed */
    int n_planes;
    const int *asked; /* H [n_asked] the points tested against planes */
    int n_asked;
    int each; /* 1: allocates the memory of pd_guard_go_each */
} pd_guard_description;

/* Errors: PD_ERROR_MEMORY. */
pd_status pd_guard_create(pd_guard **out, pd_context *context, const pd_guard_description *description);
void pd_guard_destroy(pd_guard *guard); /* NULL is allowed */

/* The points at the begin and at the end of the path: B [n_points,3] m; the caller writes them. */
real *pd_guard_start(pd_guard *guard);
real *pd_guard_end(pd_guard *guard);

/*   part      H  out  fraction of the path, in [0,1]
 *   rounding  m  in   further approach of two points that the positions do not contain
 *   slack     [n_slack] H  in  m, deviation of the first points from straight paths; NULL: none
 * Synchronises. Errors: PD_ERROR_MEMORY. */
pd_status pd_guard_part(pd_guard *guard, double rounding, const real *slack, int n_slack, double *part);

/* pd_guard_part without synchronisation. Also lists the pairs that come nearer than the separation on the path, sorted by key. Their
 * count stays on the device, and pairs beyond the capacity are missing. The list is valid until the next path. The two functions below
 * give the results after a synchronisation. Errors: PD_ERROR_MEMORY. */
pd_status pd_guard_ask(pd_guard *guard, double rounding, const pd_active_pairs **hits);
/* whole = 0: a list overflowed and its capacity has been increased. The fraction is invalid: repeat the call. */
pd_status pd_guard_told(pd_guard *guard, double *part, int *whole);
/* n: the number of hits. whole = 0: their list overflowed before this call. */
pd_status pd_guard_hits(pd_guard *guard, const pd_active_pairs **hits, size_t *n, int *whole);
/* Moves each point by its own fraction. Checks all pairs on their whole paths. The corners of a meeting pair go up to its time of
 * impact. This changes their paths, so all pairs are checked again, until none meets. The points from n_alone on share the smallest
 * fraction.
 *
 * The ends are free of contact for straight, simultaneous motion. together: the shared fraction. Synchronises. Errors: PD_ERROR_MEMORY. */
pd_status pd_guard_go_each(pd_guard *guard, double rounding, int n_alone, double *together);
/* B, for loops that use the fraction of the last pd_guard_ask. */
const pd_earliest *pd_guard_earliest(const pd_guard *guard);
void pd_guard_room(const pd_guard *guard, const uint64_t *found[2], size_t room[2]);

/* Seconds spent so far in the search for pairs, and in their times of impact. */
void pd_guard_seconds(const pd_guard *guard, double *culling, double *impact);

#endif
