/* The step limiter: the fraction of a motion, common to all points of a scene, on which no pair comes nearer than the separation. By the
 * time of impact.
 *
 * All points move straight from their start to their end. The step limiter has its own broad phase over the same primitives, since the
 * lists of the other one are in use. Each pair whose boxes overlap along the path has a certified time up to which it keeps a tenth of
 * its gap (geometry/certified.h). The smallest of these times is the limit [Li et al. 2020, Incremental Potential Contact, Sec. 4.4]. */
#ifndef PD_CONTACT_POTENTIAL_CCD_LIMITER_H
#define PD_CONTACT_POTENTIAL_CCD_LIMITER_H

#include "contact/detection/broad_phase.h"
#include "loops/proximity_loops.h"

typedef struct pd_ccd_limiter pd_ccd_limiter;

typedef struct pd_ccd_limiter_description {
    pd_broad_phase_description phase;
    double separation, activation; /* m */
    const real *radii;             /* B [n_points] m, borrowed; NULL: zero */
    const int *planes;             /* H [n_planes] rows of points, borrowed */
    int n_planes;
    const int *tested; /* H [n_tested] the points tested against planes */
    int n_tested;
    int each; /* 1: allocates the memory of pd_ccd_limiter_move_each */
} pd_ccd_limiter_description;

/* Errors: PD_ERROR_MEMORY. */
pd_status pd_ccd_limiter_create(pd_ccd_limiter **out, pd_context *context, const pd_ccd_limiter_description *description);
void pd_ccd_limiter_destroy(pd_ccd_limiter *limiter); /* NULL is allowed */

/* The points at the begin and at the end of the path: B [n_points,3] m; the caller writes them. */
real *pd_ccd_limiter_start(pd_ccd_limiter *limiter);
real *pd_ccd_limiter_end(pd_ccd_limiter *limiter);

/*   fraction  H  out  fraction of the path, in [0,1]
 *   rounding  m  in   further approach of two points that the positions do not contain
 *   slack     [n_slack] H  in  m, deviation of the first points from straight paths; NULL: none
 * Synchronises. Errors: PD_ERROR_MEMORY. */
pd_status pd_ccd_limiter_fraction(pd_ccd_limiter *limiter, double rounding, const real *slack, int n_slack, double *fraction);

/* pd_ccd_limiter_fraction without synchronisation. Also lists the pairs that come nearer than the separation on the path, sorted by key. Their
 * count stays on the device, and pairs beyond the capacity are missing. The list is valid until the next path. The two functions below
 * give the results after a synchronisation. Errors: PD_ERROR_MEMORY. */
pd_status pd_ccd_limiter_fraction_async(pd_ccd_limiter *limiter, double rounding, const pd_active_pairs **hits);
/* complete = 0: a list overflowed and its capacity has been increased. The fraction is invalid: repeat the call. */
pd_status pd_ccd_limiter_fraction_result(pd_ccd_limiter *limiter, double *fraction, int *complete);
/* n: the number of hits. complete = 0: their list overflowed before this call. */
pd_status pd_ccd_limiter_hits(pd_ccd_limiter *limiter, const pd_active_pairs **hits, size_t *n, int *complete);
/* Moves each point by its own fraction. Checks all pairs on their whole paths. The corners of a meeting pair go up to its time of
 * impact. This changes their paths, so all pairs are checked again, until none meets. The points from n_alone on share the smallest
 * fraction.
 *
 * The ends are free of contact for straight, simultaneous motion. together: the shared fraction. Synchronises. Errors: PD_ERROR_MEMORY. */
pd_status pd_ccd_limiter_move_each(pd_ccd_limiter *limiter, double rounding, int n_alone, double *together);
/* B, for loops that use the fraction of the last pd_ccd_limiter_fraction_async. */
const pd_earliest *pd_ccd_limiter_earliest(const pd_ccd_limiter *limiter);
void pd_ccd_limiter_capacity(const pd_ccd_limiter *limiter, const uint64_t *found[2], size_t capacity[2]);

/* Seconds spent so far in the search for pairs, and in their times of impact. */
void pd_ccd_limiter_seconds(const pd_ccd_limiter *limiter, double *culling, double *impact);

#endif
