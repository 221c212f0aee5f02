/* From pd_status to exceptions; see errors.h. */
#include "python/binding/errors.h"

#include <string.h>

/* The module with the exception classes, new reference: `errors` of the same package. The classes are Python classes, one set for all
 * extension modules. They are needed too rarely for the module state. */
static PyObject *import_errors(PyObject *module) {
    PyObject *module_name = module ? PyObject_GetAttrString(module, "__name__") : PyUnicode_FromString("pdgpu.");
    if (!module_name) return NULL;
    Py_ssize_t dot = PyUnicode_FindChar(module_name, '.', 0, PyUnicode_GetLength(module_name), -1);
    PyObject *package = dot > 0 ? PyUnicode_Substring(module_name, 0, dot) : PyUnicode_FromString("pdgpu");
    PyObject *name = package ? PyUnicode_FromFormat("%U.errors", package) : NULL;
    PyObject *errors = name ? PyImport_Import(name) : NULL;
    Py_DECREF(module_name);
    Py_XDECREF(package);
    Py_XDECREF(name);
    return errors;
}

/* Sets attribute `name` of the exception to an int; 0, or -1 with another exception set. */
static int set_int(PyObject *exception, const char *name, int value) {
    PyObject *number = PyLong_FromLong(value);
    int status = number ? PyObject_SetAttrString(exception, name, number) : -1;
    Py_XDECREF(number);
    return status;
}

/* A failure here leaves its own exception. The error is a copy: the import may run Python code, and another thread may then use the same
 * simulation. */
static void raise_divergence(PyObject *module, pd_error error) {
    PyObject *errors = import_errors(module);
    PyObject *type = errors ? PyObject_GetAttrString(errors, "DivergenceError") : NULL;
    PyObject *exception = type ? PyObject_CallFunction(type, "s", error.text) : NULL;
    if (exception && set_int(exception, "iteration", error.iteration) == 0 && set_int(exception, "vertex", error.vertex) == 0)
        PyErr_SetObject(type, exception);
    Py_XDECREF(exception);
    Py_XDECREF(type);
    Py_XDECREF(errors);
}

PyObject *pd_raise(PyObject *module, pd_status status, const pd_error *error) {
    /* the text may quote a file name or another library, so it may not be UTF-8 */
    PyObject *text = NULL, *exception = NULL;
    switch (status) {
    case PD_OK: PyErr_SetString(PyExc_SystemError, "pd_raise was called without an error"); return NULL;
    case PD_ERROR_VALUE:
    case PD_ERROR_NOT_FINITE: exception = PyExc_ValueError; break;
    case PD_ERROR_TYPE: exception = PyExc_TypeError; break;
    case PD_ERROR_MEMORY: exception = PyExc_MemoryError; break;
    case PD_ERROR_SINGULAR:
    case PD_ERROR_DEVICE:
    case PD_ERROR_UNSUPPORTED: exception = PyExc_RuntimeError; break;
    case PD_DIVERGED: raise_divergence(module, *error); return NULL;
    case PD_INTERRUPTED:
        if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
        return NULL;
    }
    if (!exception) exception = PyExc_RuntimeError; /* a status unknown to this file */
    text = PyUnicode_DecodeUTF8(error->text, (Py_ssize_t)strlen(error->text), "replace");
    if (text) PyErr_SetObject(exception, text);
    Py_XDECREF(text);
    return NULL;
}

PyObject *pd_raise_of(PyObject *object, pd_status status, const pd_error *error) {
    return pd_raise(PyType_GetModule(Py_TYPE(object)), status, error);
}

int pd_signal_raised(void *thread) {
    PyThreadState **saved = thread;
    PyEval_RestoreThread(*saved);
    int raised = PyErr_CheckSignals();
    *saved = PyEval_SaveThread();
    return raised != 0;
}
