/* An array in backend memory that other libraries read and write in place; see device_array.c. */
#ifndef PD_PYTHON_BINDING_DEVICE_ARRAY_H
#define PD_PYTHON_BINDING_DEVICE_ARRAY_H

#include "python/binding/backend_module.h"

extern PyType_Spec pd_device_array_type_spec;

/* Functions of the owner of the memory. Both return 0 with an exception set, and exclude concurrent calls of the owner's other
 * functions. */
typedef struct pd_memory_owner {
    /* Waits until all work requested of the device is visible to other streams. */
    int (*settle)(PyObject *owner);
    /* target (H) = source (B). Synchronises. */
    int (*download)(PyObject *owner, void *target, const void *source, size_t bytes);
} pd_memory_owner;

/* Its address, type and shape. */
typedef struct pd_device_memory {
    PyObject *owner;
    const pd_memory_owner *calls;
    pd_location location;
    void *data;
    int type, n_dimensions; /* NPY_FLOAT32, NPY_FLOAT64, NPY_INT32, NPY_UINT8; 1 or 2 */
    npy_intp shape[2];
} pd_device_memory;

/* New reference, or NULL with an exception. `data` lives as long as `owner`, to which the array holds a reference. */
PyObject *pd_device_array_create(PyTypeObject *type, const pd_device_memory *memory);

/* The description of an object of that type; borrowed. */
const pd_device_memory *pd_device_array_memory(PyObject *array);

#endif
