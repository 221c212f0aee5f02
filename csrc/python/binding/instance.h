/* The types of a backend module by the limited API: their specifications, and the memory of an instance. */
#ifndef PD_PYTHON_BINDING_INSTANCE_H
#define PD_PYTHON_BINDING_INSTANCE_H

#include "python/binding/arrays.h"

/* pd_PREFIX_type_spec of the type pdgpu.backend.NAME, from PREFIX_new, PREFIX_dealloc and the table PREFIX_methods. */
#define PD_TYPE_SPEC(prefix, type_name, object, documentation)  \
    static PyType_Slot prefix##_slots[] = {                     \
        {Py_tp_new, (void *)prefix##_new},                      \
        {Py_tp_dealloc, (void *)prefix##_dealloc},              \
        {Py_tp_methods, prefix##_methods},                      \
        {Py_tp_doc, documentation},                             \
        {0, NULL},                                              \
    };                                                          \
    PyType_Spec pd_##prefix##_type_spec = {                     \
        .name = "pdgpu.backend." type_name,                     \
        .basicsize = sizeof(object),                            \
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, \
        .slots = prefix##_slots,                                \
    }

/* A zero-filled instance, a new reference, or NULL with an exception. */
static inline void *pd_instance_create(PyTypeObject *type) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return allocate(type, 0);
}

/* The last call of a dealloc: frees the memory of the instance and its reference to its type. */
static inline void pd_instance_destroy(void *self) {
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF((PyObject *)type);
}

#endif
