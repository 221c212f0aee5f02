/* Methods of a simulation about its solver: preparation, properties, spectrum and searches. */
#include "python/simulation/simulation_object.h"

#include "linear/schur.h"

#include <float.h>
#include <stdlib.h>

static pd_status prepare(pd_simulation *core, const void *given, void *seconds) {
    (void)given;
    return pd_simulation_prepare(core, seconds);
}

PyObject *pd_call_prepare(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    double seconds = 0.0;
    return pd_object_call(self, prepare, NULL, &seconds) ? PyFloat_FromDouble(seconds) : NULL;
}

static pd_status linear_solver(pd_simulation *core, const void *given, void *linear) {
    (void)given;
    return pd_simulation_linear(core, linear);
}

/* The linear solver of the global step in *linear, NULL if the solver has none. Returns 0 with an exception set. */
static int linear_of(pd_simulation_object *self, pd_linear **linear) { return pd_object_call(self, linear_solver, NULL, linear); }

PyObject *pd_call_constraint_colours(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromLong(pd_simulation_constraint_colours(self->core));
}

PyObject *pd_call_linear_weight(pd_simulation_object *self, PyObject *unused) {
    pd_linear *linear;
    (void)unused;
    if (!linear_of(self, &linear)) return NULL;
    return pd_build_weight(linear);
}

PyObject *pd_call_schur_cost(pd_simulation_object *self, PyObject *unused) {
    pd_linear *linear;
    (void)unused;
    if (!linear_of(self, &linear)) return NULL;
    const pd_schur *schur = linear ? pd_linear_schur(linear) : NULL;
    if (!schur) Py_RETURN_NONE;
    pd_schur_cost cost = pd_schur_cost_of(schur);
    return Py_BuildValue("{sisisLsLsLsdsdsd}", "safe", cost.interior, "prone", cost.in_contact, "factor_entries", cost.factor_entries,
                         "bytes", cost.bytes, "factorizations", cost.factorizations, "sparse_seconds", cost.sparse_seconds, "sigma_seconds",
                         cost.sigma_seconds, "dense_seconds", cost.dense_seconds);
}

PyObject *pd_call_set_diagonal(pd_simulation_object *self, PyObject *object) {
    npy_intp shape[1] = {pd_simulation_n_vertices(self->core)};
    PyArrayObject *added = NULL;
    pd_linear *linear;
    if (pd_array_in_or_none(&added, object, NPY_FLOAT64, 1, shape, "added") < 0) return NULL;
    if (added && pd_array_check_range(added, 0.0, DBL_MAX, "added") < 0) return NULL;
    if (!linear_of(self, &linear)) return NULL;
    if (!linear) return PyErr_Format(PyExc_ValueError, "this solver has no linear solver");
    if (!pd_object_enter(self)) return NULL;
    const double *values = added ? PyArray_DATA(added) : NULL;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_keep_error(self->core, pd_linear_upload_diagonal(linear, values));
    Py_END_ALLOW_THREADS pd_object_leave(self);
    if (status) return pd_object_raise(self, status);
    Py_RETURN_NONE;
}

PyObject *pd_call_set_linear(pd_simulation_object *self, PyObject *arguments) {
    double weight, omega, rho;
    PyObject *object;
    pd_chebyshev chebyshev;
    pd_linear *linear;
    if (!PyArg_ParseTuple(arguments, "dddO:set_linear", &weight, &omega, &rho, &object)) return NULL;
    if (!pd_check_spectrum(weight, omega, rho) || !pd_read_chebyshev(object, &chebyshev) || !linear_of(self, &linear)) return NULL;
    if (!linear) return PyErr_Format(PyExc_ValueError, "this solver has no linear solver");
    if (!pd_object_enter(self)) return NULL;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_linear_set(linear, weight, omega, rho, &chebyshev);
    Py_END_ALLOW_THREADS pd_object_leave(self);
    if (status) return pd_object_raise(self, status);
    Py_RETURN_NONE;
}

PyObject *pd_call_set_chebyshev(pd_simulation_object *self, PyObject *object) {
    pd_acceleration read = {NULL, NULL};
    pd_status status = PD_OK;
    int entered = pd_read_acceleration(object, "chebyshev", &read) && pd_object_enter(self);
    if (entered) {
        status = pd_simulation_set_acceleration(self->core, &read);
        pd_object_leave(self);
    }
    free((void *)read.settings);
    if (!entered) return NULL;
    if (status) return pd_object_raise(self, status);
    Py_RETURN_NONE;
}
