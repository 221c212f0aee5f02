/* A penalty as a term of the incremental potential: pairs that a detection froze, and what they say wherever the points are.
 *
 *     C(y) = sum over pairs of k/2 max(0, reach - n . sum beta y)^2        (elements/contact/penalty.h)
 *
 * Which pairs there are, with which weights and normals, is found again in every detection (penalty_update.h) and held until the next. */
#ifndef PD_CONTACT_PENALTY_PENALTY_H
#define PD_CONTACT_PENALTY_PENALTY_H

#include "contact/detection/broad_phase.h"
#include "contact/potential/friction.h"
#include "loops/penalty_loops.h"

typedef struct pd_penalty pd_penalty;

/* All H. */
typedef struct pd_penalty_description {
    int interval;          /* iterations from one detection in a step to the next; 0: one detection a step; -1: there is no penalty */
    int every_visit;       /* friction has the normal forces of the moment: no term of any potential */
    double depth;          /* how far inside a closed surface is looked for, m */
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

/* `phase`, `fields` B and what `scene` points to stay the caller's. Errors: PD_ERROR_MEMORY. There are no pairs yet. */
pd_status pd_penalty_create(pd_penalty **out, pd_context *context, const pd_penalty_description *description, pd_broad_phase *phase,
                            const pd_collider *fields, const pd_contact_scene *scene, int n_planes, const int *asked, int n_asked,
                            double stiffness, int n_points);
void pd_penalty_destroy(pd_penalty *penalty); /* NULL is allowed */

/* The step begins at y [n_points,3] B. */
pd_status pd_penalty_begin(pd_penalty *penalty, const real *y);
/* From now on the pairs are those of a detection at y. Waits, once where there was room for all. Errors: PD_ERROR_MEMORY. */
pd_status pd_penalty_detect(pd_penalty *penalty, const real *y);
/* The same, and the host waits for nothing: how many pairs there are is known on the device (pd_lagged_pairs.count), and loops over them go
 * as far as there is room. Before a wait the host asks for what all detections so far have counted; after it the second says whether
 * everything had room. Then the number of pairs is known; if not, there are none, there is more room now, and what came of all these
 * detections is nothing. */
pd_status pd_penalty_ask(pd_penalty *penalty, const real *y);
pd_status pd_penalty_fetch(pd_penalty *penalty);
pd_status pd_penalty_told(pd_penalty *penalty, int *whole);
/* Detections that the host has not been told of. */
int pd_penalty_asked(const pd_penalty *penalty);
/* There are no pairs any more. */
void pd_penalty_forget(pd_penalty *penalty);

/* At y [n_points,3] B: as the functions of contact.h that have these names. */
pd_status pd_penalty_potential(pd_penalty *penalty, const real *y, double *energy);
pd_status pd_penalty_add_gradient(pd_penalty *penalty, const pd_model *model, const real *y, real *gradient);
/* out [n,12,12] B */
pd_status pd_penalty_hessians(pd_penalty *penalty, const real *y, real *out);
pd_status pd_penalty_mark_touching(pd_penalty *penalty, const real *y, int n_vertices, unsigned char *touching);

/* The pairs, the incidence of their points, their names and kinds; in backend memory, until the next detection. */
typedef struct pd_penalty_view {
    pd_frozen_pairs pairs;
    pd_incidence incidence;
    const uint64_t *keys; /* B [n] */
} pd_penalty_view;
pd_penalty_view pd_penalty_pairs_of(const pd_penalty *penalty);
const real *pd_penalty_start(const pd_penalty *penalty);

/* One quantity (penalty_loops.h) of all pairs at y, into memory of the host; of one or of twelve numbers a pair. */
pd_status pd_penalty_read(pd_penalty *penalty, int quantity, const real *y, real *out);

/* A column of theirs, `bytes` of it, into memory of the host. */
pd_status pd_penalty_read_back(const pd_penalty *penalty, void *out, const void *column, size_t bytes);

/* Detections so far. */
long long pd_penalty_detections(const pd_penalty *penalty);

#endif
