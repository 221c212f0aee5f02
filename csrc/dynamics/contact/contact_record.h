/* The contact quantities in the record of a step, in addition to those of frame.c. */
#ifndef PD_DYNAMICS_CONTACT_CONTACT_RECORD_H
#define PD_DYNAMICS_CONTACT_CONTACT_RECORD_H

#include "dynamics/step/simulation.h"

typedef struct pd_contact_row {
    double potential;         /* J */
    double friction;          /* its potential, J */
    double active;            /* pairs below their activation distance */
    double entered, left;     /* changes of this set since the previous row; 0 in the first */
    double smallest_distance; /* m, radii subtracted and the separation not; infinite without pairs */
} pd_contact_row;

/* The pairs of this row and of the previous one, filled by responses. */
typedef struct pd_contact_recorder {
    size_t capacity;
    uint64_t *keys, *previous; /* [capacity] of the active pairs, ascending */
    size_t n, n_previous;
    real *distance, *activation, *separation; /* [capacity] */
} pd_contact_recorder;

/* Provides capacity for n pairs; the present keys become the previous ones. Errors: PD_ERROR_MEMORY. */
pd_status pd_contact_recorder_next(pd_contact_recorder *recorder, size_t n, pd_error *error);
/* The minimum over n pairs, already read, of distance - (separation - thickness), thickness the separation of the scene. */
double pd_contact_recorder_least(const pd_contact_recorder *recorder, size_t n, double thickness);
void pd_contact_recorder_destroy(pd_contact_recorder *recorder); /* NULL is allowed */

/* The row at x [n,3] H with prescribed points at their targets, or at the iterate (NULL) with prescribed points at their positions;
 * `first`: the first row of a record. Without contact: zeros, and an infinite distance. Synchronises. Errors: PD_ERROR_MEMORY. */
pd_status pd_simulation_contact_row(pd_simulation *self, const real *x, int first, pd_contact_row *row);

/* The smallest distance of the pairs of an update, m, radii subtracted and the separation not; infinite without pairs. Valid only inside
 * pd_observer.update. Errors: PD_ERROR_MEMORY. */
pd_status pd_simulation_update_gap(pd_simulation *self, double *smallest);

#endif
