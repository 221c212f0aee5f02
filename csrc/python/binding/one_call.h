/* One call at a time on an object of the extension. A second call, while another one runs without the GIL, raises an exception and does
 * not wait. */
#ifndef PD_PYTHON_BINDING_ONE_CALL_H
#define PD_PYTHON_BINDING_ONE_CALL_H

#include <Python.h>

#include <pythread.h>

typedef struct pd_one_call {
    PyThread_type_lock lock;
    const char *what; /* the name of the object in the message */
} pd_one_call;

/* 1, or 0 with a MemoryError. */
static inline int pd_one_call_create(pd_one_call *self, const char *what) {
    self->what = what;
    self->lock = PyThread_allocate_lock();
    if (!self->lock) PyErr_NoMemory();
    return self->lock != NULL;
}

static inline void pd_one_call_destroy(pd_one_call *self) {
    if (self->lock) PyThread_free_lock(self->lock);
}

/* 1, or 0 with a RuntimeError. */
static inline int pd_one_call_enter(pd_one_call *self) {
    if (PyThread_acquire_lock(self->lock, NOWAIT_LOCK)) return 1;
    PyErr_Format(PyExc_RuntimeError, "the %s is busy: another call is running on it", self->what);
    return 0;
}

static inline void pd_one_call_leave(pd_one_call *self) { PyThread_release_lock(self->lock); }

#endif
