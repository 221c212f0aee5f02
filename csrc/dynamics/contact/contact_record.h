/* What the record of a step says of contact, beside what frame.c knows of it. */
#ifndef PD_DYNAMICS_CONTACT_CONTACT_RECORD_H
#define PD_DYNAMICS_CONTACT_CONTACT_RECORD_H

#include "dynamics/step/simulation.h"

typedef struct pd_contact_row {
    double potential;         /* J */
    double friction;          /* its potential, J */
    double active;            /* pairs nearer than they act */
    double entered, left;     /* of them, since the row before; 0 in the first */
    double smallest_distance; /* m, radii subtracted and the separation not; infinite where no pair may act */
} pd_contact_row;

/* The pairs of this row and of the one before, for responses to fill. */
typedef struct pd_contact_recorder {
    size_t capacity;
    uint64_t *keys, *previous; /* [capacity] of the active pairs, ascending */
    size_t n, n_previous;
    real *distance, *activation, *separation; /* [capacity] */
} pd_contact_recorder;

/* Room for n pairs; the keys of the row before become the previous ones. Errors: PD_ERROR_MEMORY. */
pd_status pd_contact_recorder_next(pd_contact_recorder *recorder, size_t n, pd_error *error);
/* Of n pairs whose distances and separations have been read: less what their separations are above that of the scene. */
double pd_contact_recorder_least(const pd_contact_recorder *recorder, size_t n, double thickness);
void pd_contact_recorder_destroy(pd_contact_recorder *recorder); /* NULL is allowed */

/* The row at x [n,3] H with what is driven where it goes, or at the iterate (NULL) with what is driven where it is; `first`: of a record.
 * Without contact zeros, and an infinite distance. Waits. Errors: PD_ERROR_MEMORY. */
pd_status pd_simulation_contact_row(pd_simulation *self, const real *x, int first, pd_contact_row *row);

/* The least distance of the pairs that an update looks at, m, radii subtracted and the separation not; infinite where there is none. To be
 * called from pd_observer.update. Errors: PD_ERROR_MEMORY. */
pd_status pd_simulation_update_gap(pd_simulation *self, double *smallest);

#endif
