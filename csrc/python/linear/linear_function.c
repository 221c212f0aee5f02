/* A Python function of vectors, such as a preconditioner, called by the core on the thread of the solve. The thread holds the GIL during
 * the call. */
#include "python/binding/backend_module.h"

#include "linear/linear_solver.h"

#include <string.h>

static pd_status call(void *user, const real *r, real *z, int rows, int width) {
    PyGILState_STATE state = PyGILState_Ensure();
    npy_intp shape[2] = {rows, width};
    int dimensions = width == 1 ? 1 : 2;
    PyArrayObject *given = pd_array_copy(PD_NPY_REAL, dimensions, shape, r), *found = NULL;
    PyObject *answer = given ? PyObject_CallFunctionObjArgs((PyObject *)user, (PyObject *)given, NULL) : NULL;
    if (answer) found = pd_array_in(answer, PD_NPY_REAL, dimensions, shape, "z");
    if (found && pd_array_check_finite(found, "z") < 0) found = NULL;
    if (found) memcpy(z, PyArray_DATA(found), (size_t)rows * (size_t)width * sizeof *z);
    Py_XDECREF(answer);
    Py_XDECREF((PyObject *)given);
    PyGILState_Release(state);
    return found ? PD_OK : PD_INTERRUPTED; // the exception is pending
}

int pd_read_vector_function(PyObject *value, pd_vector_function *out) {
    *out = (pd_vector_function){NULL, NULL};
    if (value == Py_None) return 1;
    if (!PyCallable_Check(value)) {
        PyErr_Format(PyExc_TypeError, "function: expected a callable or None, got %R", value);
        return 0;
    }
    *out = (pd_vector_function){value, call};
    return 1;
}
