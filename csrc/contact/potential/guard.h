/* How far the points of a scene can move without coming nearer to each other than the separation: one length for all, by the time of
 * impact.
 *
 * All points move straight from where they are to where they would go. The pairs whose boxes meet on the way come from a broad phase of the
 * guard's own, over the same primitives, since the lists of the other one are in use; each has a certified time up to which it keeps a
 * tenth of its gap (geometry/certified.h), and the least of them is the answer [Li et al. 2020, Incremental Potential Contact, Sec.
 * 4.4]. */
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
    const int *asked; /* H [n_asked] the points that planes are asked about */
    int n_asked;
    int each; /* there is room for pd_guard_go_each */
} pd_guard_description;

/* Errors: PD_ERROR_MEMORY. */
pd_status pd_guard_create(pd_guard **out, pd_context *context, const pd_guard_description *description);
void pd_guard_destroy(pd_guard *guard); /* NULL is allowed */

/* The points at the beginning and the end of the way: B [n_points,3] m, for the caller to fill. */
real *pd_guard_start(pd_guard *guard);
real *pd_guard_end(pd_guard *guard);

/* part  H  out  in [0,1] of the way.     rounding  m, what else may bring two points together that is not in the positions
 * slack     [n_slack] H  m, NULL: none; so far the first points may be off their straight ways
 * Waits. Errors: PD_ERROR_MEMORY. */
pd_status pd_guard_part(pd_guard *guard, double rounding, const real *slack, int n_slack, double *part);

/* The same, and the pairs that come nearer than the separation on the way, sorted by key, without a wait: their count lies on the device,
 * where pairs beyond the capacity are missing, and they stay until the next way is looked at. Once the host has waited, the two below say
 * what came of it. Errors: PD_ERROR_MEMORY. */
pd_status pd_guard_ask(pd_guard *guard, double rounding, const pd_active_pairs **hits);
/* whole = 0: not all pairs that may meet had room, and the part means nothing; there is room now, and all is to be asked for again. */
pd_status pd_guard_told(pd_guard *guard, double *part, int *whole);
/* n: how many come too near. whole = 0: not all of those had room before this call. */
pd_status pd_guard_hits(pd_guard *guard, const pd_active_pairs **hits, size_t *n, int *whole);
/* Each point by its own part. All pairs are checked in full. The corners of a pair that meets go the part of their ways up to that time. They no
 * longer go alike then, so all pairs are checked again, until none meets. The points from n_alone on go by the least part of theirs.
 * The ends are where all may go, straight and at once; together: the part of those that go alike. Waits. Errors: PD_ERROR_MEMORY. */
pd_status pd_guard_go_each(pd_guard *guard, double rounding, int n_alone, double *together);
/* B, for loops that go on with the part of the last pd_guard_ask. */
const pd_earliest *pd_guard_earliest(const pd_guard *guard);
void pd_guard_room(const pd_guard *guard, const uint64_t *found[2], size_t room[2]);

/* Seconds spent so far in finding pairs, and in their times of impact. */
void pd_guard_seconds(const pd_guard *guard, double *culling, double *impact);

#endif
