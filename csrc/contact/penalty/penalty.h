/* A penalty as a term of the incremental potential, with pairs that are constant between two detections.
 *
 *     C(y) = sum over pairs of k/2 max(0, range - n . sum beta y)^2        (elements/contact/penalty.h)
 *
 * Every detection finds the pairs with their weights and normals again (penalty_update.h). */
#ifndef PD_CONTACT_PENALTY_PENALTY_H
#define PD_CONTACT_PENALTY_PENALTY_H

#include "contact/detection/broad_phase.h"
#include "contact/potential/friction.h"
#include "loops/penalty_loops.h"

typedef struct pd_penalty pd_penalty;

/* All arrays H. */
typedef struct pd_penalty_description {
    int interval;          /* iterations between two detections of a step; 0: one detection per step; -1: no penalty */
    int every_visit;       /* friction with the present normal forces, which has no potential */
    double depth;          /* search depth inside closed surfaces, m */
    const int *outward;    /* [triangles] as in pd_penalty_search */
    const int *ring_start; /* [n_points+1] */
    const int *rings;      /* [.] */
    int n_rings;
    pd_penalty_tets tets; /* H */
    int n_tets;
    const int *fields_of_planes; /* [n_planes] as in pd_penalty_search */
    const pd_collider *fields;   /* [n_fields] and the values of their grids */
    int n_fields;
} pd_penalty_description;

/* Borrows `phase`, `fields` B and the arrays of `scene`. There are no pairs yet. Errors: PD_ERROR_MEMORY. */
pd_status pd_penalty_create(pd_penalty **out, pd_context *context, const pd_penalty_description *description, pd_broad_phase *phase,
                            const pd_collider *fields, const pd_contact_scene *scene, int n_planes, const int *tested, int n_tested,
                            double stiffness, int n_points);
void pd_penalty_destroy(pd_penalty *penalty); /* NULL is allowed */

/* Begins a step at y [n_points,3] B. */
pd_status pd_penalty_begin(pd_penalty *penalty, const real *y);
/* Replaces the pairs by those of a detection at y. Synchronises, once if no list overflows. Errors: PD_ERROR_MEMORY. */
pd_status pd_penalty_detect(pd_penalty *penalty, const real *y);
/* Detection without synchronisation: the number of pairs stays on the device (pd_lagged_pairs.count), and loops cover the capacity.
 *
 * pd_penalty_fetch enqueues the transfer of the counts of all detections so far, before a synchronisation. Then pd_penalty_detect_result tells
 * whether all capacities sufficed, and the number of pairs is known. Otherwise a list overflowed and its capacity has been increased:
 * there are no pairs, and the results of all these detections are invalid. Repeat them. */
pd_status pd_penalty_detect_async(pd_penalty *penalty, const real *y);
pd_status pd_penalty_fetch(pd_penalty *penalty);
pd_status pd_penalty_detect_result(pd_penalty *penalty, int *complete);
/* Detections that the host has not read yet. */
int pd_penalty_is_pending(const pd_penalty *penalty);
/* Removes all pairs. */
void pd_penalty_forget(pd_penalty *penalty);

/* At y [n_points,3] B; as the functions of contact.h with these names. */
pd_status pd_penalty_potential(pd_penalty *penalty, const real *y, double *energy);
pd_status pd_penalty_add_gradient(pd_penalty *penalty, const pd_model *model, const real *y, real *gradient);
/* out [n,12,12] B */
pd_status pd_penalty_hessians(pd_penalty *penalty, const real *y, real *out);
pd_status pd_penalty_mark_touching(pd_penalty *penalty, const real *y, int n_vertices, unsigned char *touching);

/* The pairs, the incidence of their points, their names and kinds, in backend memory. Valid until the next detection. */
typedef struct pd_penalty_view {
    pd_frozen_pairs pairs;
    pd_incidence incidence;
    const uint64_t *keys; /* B [n] */
} pd_penalty_view;
pd_penalty_view pd_penalty_pairs_of(const pd_penalty *penalty);
const real *pd_penalty_start(const pd_penalty *penalty);

/* Reads one quantity (penalty_loops.h) of all pairs at y into host memory; one or twelve numbers per pair. */
pd_status pd_penalty_read(pd_penalty *penalty, int quantity, const real *y, real *out);

/* Reads `bytes` of a column of the view into host memory. */
pd_status pd_penalty_read_back(const pd_penalty *penalty, void *out, const void *column, size_t bytes);

/* Detections so far. */
long long pd_penalty_detections(const pd_penalty *penalty);

#endif
