/* The arrays of a call as a backend sees them. */
#ifndef PD_PYTHON_MIRROR_H
#define PD_PYTHON_MIRROR_H

#include "python/backend_module.h"

enum { PD_MIRROR_MOST = 8 };

/* Arrays in the order of a loop's arguments: where backend memory is host memory in place, else mirrored there. The first n_in are read, the
 * rest written. A NULL array stays NULL. */
typedef struct pd_mirror {
    int n_arrays, n_in, in_place;
    PyArrayObject *arrays[PD_MIRROR_MOST];
    void *memory[PD_MIRROR_MOST];
} pd_mirror;

static inline pd_status pd_mirror_upload(pd_context *context, pd_mirror *mirror) {
    pd_status status = PD_OK;
    mirror->in_place = !pd_context_location(context).on_device;
    for (int i = 0; i < mirror->n_arrays && !status; i++) {
        if (!mirror->arrays[i]) continue;
        if (mirror->in_place) {
            mirror->memory[i] = PyArray_DATA(mirror->arrays[i]);
            continue;
        }
        size_t bytes = (size_t)PyArray_NBYTES(mirror->arrays[i]);
        status = pd_memory_create(context, &mirror->memory[i], bytes);
        if (!status && i < mirror->n_in) status = pd_memory_upload(context, mirror->memory[i], PyArray_DATA(mirror->arrays[i]), bytes);
    }
    return status;
}

static inline pd_status pd_mirror_download(pd_context *context, pd_mirror *mirror) {
    pd_status status = PD_OK;
    for (int i = mirror->n_in; i < mirror->n_arrays && !status; i++)
        if (mirror->arrays[i] && !mirror->in_place)
            status =
                pd_memory_download(context, PyArray_DATA(mirror->arrays[i]), mirror->memory[i], (size_t)PyArray_NBYTES(mirror->arrays[i]));
    return status;
}

/* Frees what was mirrored. */
static inline void pd_mirror_destroy(pd_context *context, pd_mirror *mirror) {
    for (int i = 0; i < mirror->n_arrays && !mirror->in_place; i++) pd_memory_destroy(context, mirror->memory[i]);
}

#endif
