/* The arrays of a call as a backend uses them. */
#ifndef PD_PYTHON_BATCHES_MIRROR_H
#define PD_PYTHON_BATCHES_MIRROR_H

#include "python/binding/backend_module.h"

/* Arrays in the order of a loop's arguments: in place if backend memory is host memory, otherwise mirrored in a workspace. The first
 * n_in are inputs, the rest are outputs. A NULL array stays NULL. */
typedef struct pd_mirror {
    int n_arrays, n_in, in_place;
    PyArrayObject *arrays[PD_WORKSPACE_ARRAYS];
    void *memory[PD_WORKSPACE_ARRAYS];
} pd_mirror;

static inline pd_status pd_mirror_upload(pd_workspace *space, pd_mirror *mirror) {
    pd_context *context = space->context;
    pd_status status = PD_OK;
    size_t all = 0;
    mirror->in_place = !pd_context_location(context).on_device;
    for (int i = 0; i < mirror->n_arrays; i++) all += mirror->arrays[i] ? (size_t)PyArray_NBYTES(mirror->arrays[i]) : 0;
    if (!mirror->in_place) status = pd_transfer_open(&space->transfer, context, all);
    for (int i = 0; i < mirror->n_arrays && !status; i++) {
        if (!mirror->arrays[i]) continue;
        if (mirror->in_place) {
            mirror->memory[i] = PyArray_DATA(mirror->arrays[i]);
            continue;
        }
        size_t bytes = (size_t)PyArray_NBYTES(mirror->arrays[i]);
        status = pd_workspace_memory(space, i, bytes, &mirror->memory[i]);
        if (!status && i < mirror->n_in)
            status = pd_transfer_send(&space->transfer, context, mirror->memory[i], PyArray_DATA(mirror->arrays[i]), bytes);
    }
    return status;
}

/* Copies the outputs to the arrays, and waits for the device. */
static inline pd_status pd_mirror_finish(pd_workspace *space, pd_mirror *mirror) {
    pd_context *context = space->context;
    pd_status status = PD_OK;
    if (mirror->in_place) return pd_context_synchronise(context);
    for (int i = mirror->n_in; i < mirror->n_arrays && !status; i++)
        if (mirror->arrays[i])
            status = pd_transfer_receive(&space->transfer, context, PyArray_DATA(mirror->arrays[i]), mirror->memory[i],
                                         (size_t)PyArray_NBYTES(mirror->arrays[i]));
    return status ? status : pd_transfer_synchronise(&space->transfer, context);
}

#endif
