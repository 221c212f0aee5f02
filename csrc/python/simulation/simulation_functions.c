/* Python functions of a solver (pdgpu.CustomSolver), and their queries of the current step.
 *
 * They run on the thread that called `step`, which holds the GIL during the call. The step holds the lock of the simulation, so their
 * queries use the core without it. A query from another thread, or after the function has returned, is an error. */
#include "python/simulation/simulation_object.h"

#include <pythread.h>

static pd_status call(pd_simulation_object *self, PyObject *function, pd_callback_step *step) {
    PyEval_RestoreThread(self->thread);
    self->solved = step;
    self->owner = PyThread_get_thread_ident();
    PyObject *answer = PyObject_CallFunction(function, "i", step->iterate->number);
    self->solved = NULL;
    pd_status status = answer ? PD_OK : PD_INTERRUPTED; // the exception of the function is pending
    Py_XDECREF(answer);
    self->thread = PyEval_SaveThread();
    return status;
}

static pd_status begin(void *user, pd_callback_step *step) {
    pd_simulation_object *self = user;
    return call(self, self->begin, step);
}

static pd_status iterate(void *user, pd_callback_step *step) {
    pd_simulation_object *self = user;
    return call(self, self->iterate, step);
}

int pd_functions_begin(pd_simulation_object *self, PyObject *functions, pd_callback *callback) {
    PyObject *first, *second;
    *callback = (pd_callback){self, begin, iterate};
    if (functions == Py_None) return 1;
    if (!PyTuple_Check(functions) || PyTuple_Size(functions) != 2 || !(first = PyTuple_GetItem(functions, 0)) ||
        !(second = PyTuple_GetItem(functions, 1)) || !PyCallable_Check(first) || !PyCallable_Check(second)) {
        PyErr_Format(PyExc_TypeError, "functions: expected a tuple of two callables, or None");
        return 0;
    }
    pd_status status = pd_simulation_set_callback(self->core, callback);
    if (status) {
        pd_object_raise(self, status);
        return 0;
    }
    self->begin = first, self->iterate = second;
    return 1;
}

void pd_functions_end(pd_simulation_object *self) {
    pd_simulation_set_callback(self->core, NULL);
    self->begin = self->iterate = NULL;
    self->thread = NULL;
}

/* The current step, for a query; NULL with an exception set. leave() ends it. */
static pd_callback_step *enter(pd_simulation_object *self) {
    if (!self->solved)
        PyErr_Format(PyExc_RuntimeError, "no function of a solver is running on this simulation");
    else if (self->owner != PyThread_get_thread_ident() || self->querying)
        PyErr_Format(PyExc_RuntimeError, "only the thread that solves the step may query it: read the data of another thread before");
    else {
        self->querying = 1;
        return self->solved;
    }
    return NULL;
}

/* Takes `result`, which may be NULL, and returns it, or NULL with the exception of a status. */
static PyObject *leave(pd_simulation_object *self, pd_status status, PyObject *result) {
    self->querying = 0;
    if (!status) return result;
    Py_XDECREF(result);
    return pd_object_raise(self, pd_simulation_keep_error(self->core, status));
}

typedef pd_status (*vector_function)(pd_callback_step *step, const real *given, real *out);
typedef pd_status (*number_function)(pd_callback_step *step, const real *given, double *out);

/* An argument of this name; NULL for an `optional` None. Returns 0 with an exception set. */
static int read_given(pd_simulation_object *self, PyObject *object, const char *name, int optional, const real **given) {
    if (optional || object != Py_None) return pd_object_read_vectors(self, object, name, given);
    PyErr_Format(PyExc_TypeError, "%s: expected an array, got None", name);
    return 0;
}

/* The result for a vector argument: an array (n,3). */
static PyObject *ask_vectors(pd_simulation_object *self, vector_function function, PyObject *object, const char *name, int optional) {
    const real *given;
    PyArrayObject *out;
    pd_status status;
    if (!read_given(self, object, name, optional, &given) || !(out = pd_object_new_vectors(self))) return NULL;
    pd_callback_step *step = enter(self);
    if (!step) {
        Py_DECREF((PyObject *)out);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = function(step, given, PyArray_DATA(out));
    Py_END_ALLOW_THREADS return leave(self, status, (PyObject *)out);
}

/* The same of a number. */
static PyObject *ask_number(pd_simulation_object *self, number_function function, PyObject *object, const char *name, int optional) {
    const real *given;
    double number = 0.0;
    pd_status status;
    if (!read_given(self, object, name, optional, &given)) return NULL;
    pd_callback_step *step = enter(self);
    if (!step) return NULL;
    Py_BEGIN_ALLOW_THREADS status = function(step, given, &number);
    Py_END_ALLOW_THREADS return leave(self, status, status ? NULL : PyFloat_FromDouble(number));
}

PyObject *pd_call_solved_vectors(pd_simulation_object *self, PyObject *object) {
    pd_status (*const functions[])(const pd_callback_step *, real *) = {pd_callback_positions, pd_callback_start,
                                                                        pd_callback_inertial_target};
    long which = PyLong_AsLong(object);
    PyArrayObject *out;
    if (which == -1 && PyErr_Occurred()) return NULL;
    if (which < 0 || which > 2) return PyErr_Format(PyExc_ValueError, "which: must be 0, 1 or 2, got %ld", which);
    if (!(out = pd_object_new_vectors(self))) return NULL;
    pd_callback_step *step = enter(self);
    if (!step) {
        Py_DECREF((PyObject *)out);
        return NULL;
    }
    return leave(self, functions[which](step, PyArray_DATA(out)), (PyObject *)out);
}

PyObject *pd_call_solved_potential(pd_simulation_object *self, PyObject *object) {
    return ask_number(self, pd_callback_potential, object, "x", 1);
}

PyObject *pd_call_solved_gradient(pd_simulation_object *self, PyObject *object) {
    return ask_vectors(self, pd_callback_gradient, object, "x", 1);
}

PyObject *pd_call_solved_local_step(pd_simulation_object *self, PyObject *object) {
    return ask_vectors(self, pd_callback_local_step, object, "x", 1);
}

PyObject *pd_call_solved_global_solve(pd_simulation_object *self, PyObject *object) {
    return ask_vectors(self, pd_callback_global_solve, object, "b", 0);
}

PyObject *pd_call_solved_limit(pd_simulation_object *self, PyObject *object) { return ask_number(self, pd_callback_limit, object, "d", 0); }

PyObject *pd_call_solved_line_search(pd_simulation_object *self, PyObject *object) {
    return ask_number(self, pd_callback_line_search, object, "d", 0);
}

static pd_hessian_filter filter_of(int psd) { return psd ? PD_FILTER_CLAMP : PD_FILTER_NONE; }

PyObject *pd_call_solved_hessian(pd_simulation_object *self, PyObject *arguments) {
    PyObject *object, *result = NULL;
    const real *x, *blocks;
    const pd_csr *pattern;
    pd_status status;
    int psd;
    if (!PyArg_ParseTuple(arguments, "Op:solved_hessian", &object, &psd) || !pd_object_read_vectors(self, object, "x", &x)) return NULL;
    pd_callback_step *step = enter(self);
    if (!step) return NULL;
    Py_BEGIN_ALLOW_THREADS status = pd_callback_hessian(step, x, filter_of(psd), &pattern, &blocks);
    Py_END_ALLOW_THREADS if (!status) {
        npy_intp shape[3] = {pattern->row_start[pattern->n], 3, 3};
        result = pd_build_csr(pattern, pd_array_copy(PD_NPY_REAL, 3, shape, blocks));
    }
    return leave(self, status, result);
}

/* H v, or without `v` the diagonal of H. */
static PyObject *ask_hessian(pd_simulation_object *self, PyObject *v_object, PyObject *object, int psd) {
    const real *v = NULL, *x;
    PyArrayObject *out;
    pd_status status;
    if (v_object && !read_given(self, v_object, "v", 0, &v)) return NULL;
    if (!pd_object_read_vectors(self, object, "x", &x) || !(out = pd_object_new_vectors(self))) return NULL;
    pd_callback_step *step = enter(self);
    if (!step) {
        Py_DECREF((PyObject *)out);
        return NULL;
    }
    real *to = PyArray_DATA(out);
    Py_BEGIN_ALLOW_THREADS status =
        v ? pd_callback_product(step, v, x, filter_of(psd), to) : pd_callback_diagonal(step, x, filter_of(psd), to);
    Py_END_ALLOW_THREADS return leave(self, status, (PyObject *)out);
}

PyObject *pd_call_solved_product(pd_simulation_object *self, PyObject *arguments) {
    PyObject *v, *x;
    int psd;
    return PyArg_ParseTuple(arguments, "OOp:solved_product", &v, &x, &psd) ? ask_hessian(self, v, x, psd) : NULL;
}

PyObject *pd_call_solved_diagonal(pd_simulation_object *self, PyObject *arguments) {
    PyObject *x;
    int psd;
    return PyArg_ParseTuple(arguments, "Op:solved_diagonal", &x, &psd) ? ask_hessian(self, NULL, x, psd) : NULL;
}

PyObject *pd_call_solved_move(pd_simulation_object *self, PyObject *arguments) {
    PyObject *object;
    const real *d;
    double fraction, gone = 0.0;
    pd_status status;
    if (!PyArg_ParseTuple(arguments, "Od:solved_move", &object, &fraction)) return NULL;
    if (!read_given(self, object, "d", 0, &d)) return NULL;
    pd_callback_step *step = enter(self);
    if (!step) return NULL;
    Py_BEGIN_ALLOW_THREADS status = pd_callback_move(step, d, fraction, &gone);
    Py_END_ALLOW_THREADS return leave(self, status, status ? NULL : PyFloat_FromDouble(gone));
}
