/* The type BroadPhase, for the type Proximity, which uses its memory. */
#ifndef PD_PYTHON_COLLISION_BROAD_PHASE_H
#define PD_PYTHON_COLLISION_BROAD_PHASE_H

#include "python/simulation/simulation_object.h"

#include "contact/detection/broad_phase.h"

/* The result of a search in device memory; see found_pairs.c. */
typedef struct pd_found_pairs {
    pd_pairs lists[2];   /* vertex and triangle, two edges */
    long long search;    /* number of the search, by pd_broad_phase_searches; 0: none */
    int *corners[2];     /* B [capacity,4] rows of the positions */
    long long listed[2]; /* the search that the corners belong to */
    size_t capacity[2], gathered_capacity;
    real *gathered;                /* B [gathered_capacity,4,3] the corners' positions */
    pd_earliest *earliest;         /* B [1] */
    struct pd_result_block *spare; /* blocks of results without references */
} pd_found_pairs;

typedef struct {
    PyObject_HEAD pd_context *context;
    pd_simulation_object *simulation; /* the owner of the context; NULL: this object */
    pd_broad_phase *core;
    pd_one_call calls;
    int n_points;
    real *x_t0, *x_t1; /* B [n_points,3] */
    pd_transfer transfer;
    pd_found_pairs found;
} BroadPhaseObject;

/* Excludes concurrent calls, also on the simulation. Returns 1, or 0 with a RuntimeError. */
int pd_broad_phase_enter(BroadPhaseObject *self);
void pd_broad_phase_leave(BroadPhaseObject *self);
/* The pairs of both lists in new arrays (n,2), as a tuple. NULL: *status has the failure of the transfer, or an exception is set. */
PyObject *pd_pairs_arrays(BroadPhaseObject *self, const pd_pairs lists[2], pd_status *status);

/* found_pairs.c: a search whose pairs are kept, and batches over them. */
extern PyType_Spec pd_results_type_spec;
PyObject *pd_call_search(BroadPhaseObject *self, PyObject *arguments);
PyObject *pd_call_pairs(BroadPhaseObject *self, PyObject *arguments);
PyObject *pd_call_earliest(BroadPhaseObject *self, PyObject *arguments);
PyObject *pd_call_collisions(BroadPhaseObject *self, PyObject *arguments);
PyObject *pd_call_closest(BroadPhaseObject *self, PyObject *arguments);
void pd_found_pairs_destroy(pd_found_pairs *self, pd_context *context);
/* Positions of a call: (n_points,3) of this module, or a DeviceArray, or NULL. */
typedef struct pd_given_positions {
    const void *host;
    PyObject *array; /* a DeviceArray */
} pd_given_positions;
/* 0 with an exception set. */
int pd_read_positions(BroadPhaseObject *self, PyObject *object, const char *name, pd_given_positions *out);
/* Copies to self->x_t0 and, if present, to self->x_t1. Called after enter and without the GIL. */
pd_status pd_put_positions(BroadPhaseObject *self, const pd_given_positions *x_t0, const pd_given_positions *x_t1);

#endif
