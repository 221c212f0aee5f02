/* What is near what: candidates of a broad phase that stay good for as long as nothing has moved too far, and the pairs among them that
 * are near, in backend memory.
 *
 *     candidates  every pair that may be within `reach` of each other: two sorted lists of the broad phase, and each collider with each
 *                 point it is asked about
 *     active      those of them that are at most a distance apart, sorted by (kind, first, second)
 *     incidence   for every point the active pairs it is a corner of
 *
 * Lists grow by doubling and never shrink. What they lie in changes only where they grow, which `revision` counts: a graph recorded at one
 * revision serves for as long as it stays. Where memory for more is not to be had, the lists are as they were. */
#ifndef PD_CONTACT_DETECTION_PROXIMITY_H
#define PD_CONTACT_DETECTION_PROXIMITY_H

#include "contact/detection/broad_phase.h"
#include "contact/detection/colliders.h"
#include "contact/detection/surface.h"

typedef struct pd_proximity pd_proximity;

/* The candidates are the pairs of these lists, which live as long, and each of so many colliders, or planes in their place, with every
 * point that is asked about. Errors: PD_ERROR_MEMORY where there are more than can be numbered. */
pd_status pd_candidates_take(pd_candidates *candidates, pd_context *context, const pd_pairs *vertex_triangle, const pd_pairs *edge_edge,
                             int n_colliders);

/* Borrows the broad phase, the surface it is over and the colliders, which all live as long. asked [n_asked]  H: the points that
 * colliders are asked about, ascending; collider_owner [colliders->n]  H. Errors: PD_ERROR_MEMORY. */
pd_status pd_proximity_create(pd_proximity **out, pd_context *context, pd_broad_phase *phase, pd_surface *surface, pd_colliders *colliders,
                              const int *asked, int n_asked, const int *collider_owner);
void pd_proximity_destroy(pd_proximity *proximity); /* NULL is allowed */

/* From now on distances count from radii [n_points]  B, m, NULL: zero, those of the broad phase, and its colliders, of which none need be
 * set, are the planes [colliders->n]  B of pd_candidates. Both live as long as the proximity. */
void pd_proximity_set_scene(pd_proximity *proximity, const real *radii, const int *planes);

/* Takes every pair as a candidate that may be within `reach` (m) of each other at the surface's points. */
pd_status pd_proximity_search(pd_proximity *proximity, double reach);

/* Takes note that the surface's points have moved. While they move, every distance changes by at most twice the largest move, so that all
 * pairs nearer than D - 2 max |dx| are still among the candidates; the reach D is lowered by as much, and once it is not above `minimum`
 * a new search brings it to `maximum` [Wang et al. 2023, two-way interior point method, Eq. 4].
 *   searched  H  out  whether there was a search */
pd_status pd_proximity_update(pd_proximity *proximity, double minimum, double maximum, int *searched);

/* What every distance that was at least `distance` before the last update, which did not search, is at least after it, m. */
double pd_proximity_lower(const pd_proximity *proximity, double distance);

/* The largest move that the last update saw, m; infinite where it searched. 0: the points are where they were. */
double pd_proximity_moved(const pd_proximity *proximity);

/* The largest coordinate that it saw, m. */
double pd_proximity_size(const pd_proximity *proximity);

/* Every pair nearer than this (m) is a candidate; rounded down. */
double pd_proximity_reach(const pd_proximity *proximity);

/* The broad phase's lists among the candidates; B, valid until the next search. */
void pd_proximity_pairs(const pd_proximity *proximity, pd_pairs *vertex_triangle, pd_pairs *edge_edge);

/* The active pairs: the candidates at most `distance` (m) apart at the surface's points, which must be those of the last search or update.
 * Waits once, to learn whether there is room. Errors: PD_ERROR_MEMORY; the list is then as it was. */
pd_status pd_proximity_activate(pd_proximity *proximity, double distance);

/* The next update searches. */
void pd_proximity_forget(pd_proximity *proximity);

/* Update and activation in one, and the host waits for nothing: there is a search if `expected`, what the points are thought to have moved,
 * m, asks for one. The list has its count on the device; pairs beyond its capacity are missing, and pd_proximity_active knows of none. Once
 * the host has waited, the second says what the points went, m, and whether the list is all there is; where the move was larger than
 * expected, or there is no room, it is not, and update and activate are to follow. Errors: PD_ERROR_MEMORY. */
pd_status pd_proximity_ask(pd_proximity *proximity, double distance, double maximum, double expected, pd_active_pairs *active);
pd_status pd_proximity_told(pd_proximity *proximity, double distance, double *went, int *searched, int *whole);

/* The list, and how many there are. */
const pd_active_pairs *pd_proximity_active(const pd_proximity *proximity, size_t *n);

/* The incidence of the active pairs, whose corners are points [n,4]  B, -1: none; NULL: those of the list. */
pd_status pd_proximity_incidence(pd_proximity *proximity, const int *points, pd_incidence *out);

/* Chooses the pairs that pd_proximity_measure tells of: of those with the same nearest features the first, or all.
 *   n  H  out */
pd_status pd_proximity_choose(pd_proximity *proximity, int unique, size_t *n);

/* What is said of the chosen pairs: as pd_measure_pairs, but into arrays of the host, H [n,..], none of them NULL. */
pd_status pd_proximity_measure(pd_proximity *proximity, const pd_contact_measures *out);

/* Changes where some list has moved to another place in memory. */
long long pd_proximity_revision(const pd_proximity *proximity);

#endif
