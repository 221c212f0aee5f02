/* The conversion of a status of the C core into a Python exception, in one function. */
#ifndef PD_PYTHON_BINDING_ERRORS_H
#define PD_PYTHON_BINDING_ERRORS_H

#include <Python.h>

#include "base/status.h"

/* Sets the exception of a status other than PD_OK, with the text of the error, and returns NULL. A method then ends with `return
 * pd_raise(module, status, &error);`. The GIL must be held.
 *
 *     PD_ERROR_VALUE, PD_ERROR_NOT_FINITE                          ValueError
 *     PD_ERROR_TYPE                                                TypeError
 *     PD_ERROR_MEMORY                                              MemoryError
 *     PD_ERROR_SINGULAR, PD_ERROR_DEVICE, PD_ERROR_UNSUPPORTED     RuntimeError
 *     PD_DIVERGED         <package>.errors.DivergenceError, with the attributes iteration and vertex (int)
 *     PD_INTERRUPTED      the pending exception, or KeyboardInterrupt if there is none
 *
 *   module  in  the extension module, whose package holds the exception classes; NULL: pdgpu */
PyObject *pd_raise(PyObject *module, pd_status status, const pd_error *error);

/* The same for a method of an object whose type belongs to a module. */
PyObject *pd_raise_of(PyObject *object, pd_status status, const pd_error *error);

/* Tells whether the handler of a signal raised an exception, for example on Ctrl-C. The exception is then pending. The core calls it
 * without the GIL: it takes the GIL and releases it again. Handlers run only on Python's main thread.
 *   thread  in/out  a PyThreadState *: the result of PyEval_SaveThread, before and after */
int pd_signal_raised(void *thread);

#endif
