/* An array (n,3) of `real` in backend memory that other libraries read and write in place; see device_array.c. */
#ifndef PD_PYTHON_DEVICE_ARRAY_H
#define PD_PYTHON_DEVICE_ARRAY_H

#include <Python.h>

#include "loops/backend.h"

extern PyType_Spec pd_device_array_type_spec;

/* Makes what was asked of the device so far visible to other streams: waits, one call at a time with those of the owner.
 * Returns 0 with an exception set. */
typedef int (*pd_settle)(PyObject *owner);

/* New reference, or NULL with an exception. `data` lives as long as `owner`, which is kept. */
PyObject *pd_device_array_create(PyTypeObject *type, PyObject *owner, pd_settle settle, pd_location slot, real *data, int n);

#endif
