/* The one place where a status of the C core becomes a Python exception. */
#ifndef PD_PYTHON_BINDING_ERRORS_H
#define PD_PYTHON_BINDING_ERRORS_H

#include <Python.h>

#include "base/status.h"

/* Sets the exception that belongs to a status other than PD_OK, with the text of the error, and returns NULL, so that a method
 * ends with `return pd_raise(module, status, &error);`. The GIL must be held.
 *
 *     PD_ERROR_VALUE, PD_ERROR_NOT_FINITE                          ValueError
 *     PD_ERROR_TYPE                                                TypeError
 *     PD_ERROR_MEMORY                                              MemoryError
 *     PD_ERROR_SINGULAR, PD_ERROR_DEVICE, PD_ERROR_UNSUPPORTED     RuntimeError
 *     PD_DIVERGED         <package>.errors.DivergenceError, with the attributes iteration and vertex (int)
 *     PD_INTERRUPTED      the pending exception, or KeyboardInterrupt where there is none
 *
 *   module  in  the extension module, whose package holds the exception classes; NULL: pdgpu */
PyObject *pd_raise(PyObject *module, pd_status status, const pd_error *error);

/* The same for a method of an object whose type belongs to a module. */
PyObject *pd_raise_of(PyObject *object, pd_status status, const pd_error *error);

/* Whether a signal's handler raised, Ctrl-C's say; its exception is then pending. For the core to ask while it runs without the GIL: takes
 * the GIL and gives it up again. Only on Python's main thread is there ever one.
 *   thread  in/out  a PyThreadState *: what PyEval_SaveThread returned, here and before */
int pd_signal_raised(void *thread);

#endif
