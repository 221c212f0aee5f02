/* The type BroadPhase as the type Proximity sees it, which works on its memory. */
#ifndef PD_PYTHON_BROAD_PHASE_H
#define PD_PYTHON_BROAD_PHASE_H

#include "python/simulation_object.h"

#include "contact/broad_phase.h"

typedef struct {
    PyObject_HEAD pd_context *context;
    pd_simulation_object *simulation; /* whose context it is; NULL: its own */
    pd_broad_phase *core;
    pd_one_call calls;
    int n_points;
    real *x_t0, *x_t1; /* B [n_points,3] */
} BroadPhaseObject;

/* One call at a time, on the simulation too: 1, or 0 with a RuntimeError. */
int pd_broad_phase_enter(BroadPhaseObject *self);
void pd_broad_phase_leave(BroadPhaseObject *self);
/* The pairs of a list in a new array (n,2), or NULL with an exception set. *status: whether they could be read back. */
PyArrayObject *pd_pairs_array(BroadPhaseObject *self, const pd_pairs *list, pd_status *status);

#endif
