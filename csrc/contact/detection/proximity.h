/* Candidate list and active pairs, in backend memory. The candidate list stays valid until the points have moved too far.
 *
 *     candidates  every pair that may be within `range` of each other: two sorted lists of the broad phase, and each collider with each
 *                 point tested against colliders
 *     active      the candidates at most a given distance apart, sorted by (kind, first, second)
 *     incidence   for every point the active pairs that have it as a corner
 *
 * Lists grow (pd_grown_capacity) and never shrink. Their addresses change only when they grow, which `revision` counts. A recorded graph
 * stays valid while `revision` is constant. A failed allocation leaves the lists unchanged. */
#ifndef PD_CONTACT_DETECTION_PROXIMITY_H
#define PD_CONTACT_DETECTION_PROXIMITY_H

#include "contact/detection/broad_phase.h"
#include "contact/detection/colliders.h"
#include "contact/detection/surface.h"

typedef struct pd_proximity pd_proximity;

/* Sets the candidates: the pairs of both lists, and each of n_colliders colliders, or planes, with every point tested against colliders.
 * The lists must outlive the candidates. Errors: PD_ERROR_MEMORY if the number of candidates exceeds INT_MAX. */
pd_status pd_candidates_take(pd_candidates *candidates, pd_context *context, const pd_pairs *vertex_triangle, const pd_pairs *edge_edge,
                             int n_colliders);

/* Borrows the broad phase, its surface and the colliders; all must outlive the proximity set. tested [n_tested]  H: the points tested
 * against colliders, ascending; collider_owner [colliders->n]  H. Errors: PD_ERROR_MEMORY. */
pd_status pd_proximity_create(pd_proximity **out, pd_context *context, pd_broad_phase *phase, pd_surface *surface, pd_colliders *colliders,
                              const int *tested, int n_tested, const int *collider_owner);
void pd_proximity_destroy(pd_proximity *proximity); /* NULL is allowed */

/* Measures distances from radii [n_points]  B, m (NULL: zero), which are those of the broad phase. The planes [colliders->n]  B of
 * pd_candidates replace the colliders, which need not be set. positions [n_positions]  B: rows of all points but the normals of planes,
 * which are constant and no lengths; NULL: all points. All arrays are borrowed. */
void pd_proximity_set_scene(pd_proximity *proximity, const real *radii, const int *planes, const int *positions, int n_positions);

/* Lists every pair within `range` (m) at the surface's points as a candidate. */
pd_status pd_proximity_search(pd_proximity *proximity, double range);

/* Accounts for a motion of the surface's points. A distance changes by at most twice the largest displacement. So every pair below D - 2
 * max |dx| is still a candidate, and the bound D is lowered by 2 max |dx|. If D <= `minimum`, a new search sets it to `maximum` [Wang et
 * al. 2023, two-way interior point method, Eq. 4].
 *   searched  H  out  1 after a search */
pd_status pd_proximity_update(pd_proximity *proximity, double minimum, double maximum, int *searched);

/* A lower bound (m) of each distance that was at least `distance` before the last update. That update must not have searched. */
double pd_proximity_lower(const pd_proximity *proximity, double distance);

/* The largest displacement of the last update, m; infinite if it searched; 0: no point moved. */
double pd_proximity_moved(const pd_proximity *proximity);

/* The largest coordinate of the last update, m. */
double pd_proximity_size(const pd_proximity *proximity);

/* The distance (m) below which every pair is a candidate; rounded down. */
double pd_proximity_range(const pd_proximity *proximity);

/* The broad phase's lists among the candidates; B, valid until the next search. */
void pd_proximity_pairs(const pd_proximity *proximity, pd_pairs *vertex_triangle, pd_pairs *edge_edge);

/* Lists the candidates at most `distance` (m) apart as active pairs. The surface's points must be those of the last search or update.
 * Synchronises once, to compare the count with the capacity. Errors: PD_ERROR_MEMORY; the list is then unchanged. */
pd_status pd_proximity_activate(pd_proximity *proximity, double distance);

/* Makes the next update search. */
void pd_proximity_forget(pd_proximity *proximity);

/* Update and activation without synchronisation. A search is enqueued if `expected`, the estimated displacement of the points (m),
 * requires one. The count of the list stays on the device. Pairs beyond its capacity are missing, and pd_proximity_active returns no
 * pairs yet.
 *
 * After a synchronisation, pd_proximity_activate_result gives the displacement of the points (m), and *complete: whether the list is complete. It is
 * incomplete after a displacement above `expected` or an overflow: then call update and activate. Errors: PD_ERROR_MEMORY. */
pd_status pd_proximity_activate_async(pd_proximity *proximity, double distance, double maximum, double expected, pd_active_pairs *active);
pd_status pd_proximity_activate_result(pd_proximity *proximity, double distance, double *went, int *searched, int *complete);

/* The active pairs and their number. */
const pd_active_pairs *pd_proximity_active(const pd_proximity *proximity, size_t *n);

/* The incidence of the active pairs, whose corners are points [n,4]  B, -1: none; NULL: those of the list. */
pd_status pd_proximity_incidence(pd_proximity *proximity, const int *points, pd_incidence *out);

/* Chooses the pairs of pd_proximity_measure: all, or with `unique` the first of those with the same nearest features.
 *   n  H  out */
pd_status pd_proximity_choose(pd_proximity *proximity, int unique, size_t *n);

/* The measures of the chosen pairs: as pd_measure_pairs, but into host arrays [n,..], none of them NULL. */
pd_status pd_proximity_measure(pd_proximity *proximity, const pd_contact_measures *out);

/* Counts the changes of the lists' addresses. */
long long pd_proximity_revision(const pd_proximity *proximity);

#endif
