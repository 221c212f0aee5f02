/* Diagnostics of a simulation for the next step: energies, derivatives, matrices. They do not change its state. */
#include "python/simulation/simulation_object.h"

/* The arguments at a point: positions of prescribed points, or the filter of a Hessian. */
typedef struct {
    const real *x;
    int choice, of_bodies;
    const pd_csr *pattern; /* out */
    const real *blocks;    /* out */
} point_request;

static pd_status energies(pd_simulation *core, const void *given, void *out) {
    const point_request *request = given;
    pd_status status = pd_simulation_begin(core);
    return status ? status : pd_simulation_energies(core, request->x, request->choice, out);
}

PyObject *pd_call_energies(pd_simulation_object *self, PyObject *arguments) {
    npy_intp shape[1] = {PD_ENERGY_COUNT};
    PyObject *object;
    point_request request = {0};
    if (!PyArg_ParseTuple(arguments, "Op:energies", &object, &request.choice)) return NULL;
    if (!pd_object_read_vectors(self, object, "x", &request.x)) return NULL;
    return pd_object_fill(self, energies, &request, pd_array_out(NPY_FLOAT64, 1, shape));
}

static pd_status gradient(pd_simulation *core, const void *x, void *out) {
    pd_status status = pd_simulation_begin(core);
    return status ? status : pd_simulation_gradient(core, x, out);
}

PyObject *pd_call_gradient(pd_simulation_object *self, PyObject *object) {
    const real *x;
    if (!pd_object_read_vectors(self, object, "x", &x)) return NULL;
    return pd_object_fill(self, gradient, x, pd_object_new_vectors(self));
}

static pd_status gradient_rounding(pd_simulation *core, const void *given, void *norm) {
    (void)given;
    pd_status status = pd_simulation_begin(core);
    if (!status) *(double *)norm = pd_simulation_gradient_rounding(core);
    return status;
}

PyObject *pd_call_gradient_rounding(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    double norm = 0.0;
    return pd_object_call(self, gradient_rounding, NULL, &norm) ? PyFloat_FromDouble(norm) : NULL;
}

static pd_status potential_rounding(pd_simulation *core, const void *magnitude, void *out) {
    pd_status status = pd_simulation_begin(core);
    if (!status) *(double *)out = pd_simulation_potential_rounding(core, *(const double *)magnitude);
    return status;
}

PyObject *pd_call_potential_rounding(pd_simulation_object *self, PyObject *object) {
    double magnitude = PyFloat_AsDouble(object), rounding = 0.0;
    if (magnitude == -1.0 && PyErr_Occurred()) return NULL;
    if (!(magnitude >= 0.0)) return PyErr_Format(PyExc_ValueError, "magnitude: must be at least 0, got %R", object);
    return pd_object_call(self, potential_rounding, &magnitude, &rounding) ? PyFloat_FromDouble(rounding) : NULL;
}

typedef struct {
    real *forces;
    int known;
} balance;

static pd_status unbalanced(pd_simulation *core, const void *given, void *out) {
    balance *found = out;
    (void)given;
    return pd_simulation_unbalanced(core, found->forces, &found->known);
}

PyObject *pd_call_unbalanced(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    PyArrayObject *array = pd_object_new_vectors(self);
    if (!array) return NULL;
    balance found = {PyArray_DATA(array), 0};
    if (pd_object_call(self, unbalanced, NULL, &found) && found.known) return (PyObject *)array;
    Py_DECREF((PyObject *)array);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

PyObject *pd_build_csr(const pd_csr *matrix, PyArrayObject *values) {
    npy_intp rows[1] = {matrix->n + 1}, count[1] = {matrix->row_start[matrix->n]};
    PyArrayObject *row_start = pd_array_copy(NPY_INT32, 1, rows, matrix->row_start);
    PyArrayObject *columns = pd_array_copy(NPY_INT32, 1, count, matrix->columns);
    PyObject *result = row_start && columns && values ? Py_BuildValue("(OOO)", row_start, columns, values) : NULL;
    Py_XDECREF((PyObject *)row_start);
    Py_XDECREF((PyObject *)columns);
    Py_XDECREF((PyObject *)values);
    return result;
}

static pd_status hessian(pd_simulation *core, const void *given, void *out) {
    const point_request *request = given;
    point_request *found = out;
    pd_hessian_filter filter = request->choice ? PD_FILTER_CLAMP : PD_FILTER_NONE;
    pd_status status = pd_simulation_begin(core);
    return status ? status : pd_simulation_hessian(core, request->x, filter, request->of_bodies, &found->pattern, &found->blocks);
}

PyObject *pd_call_hessian(pd_simulation_object *self, PyObject *arguments) {
    PyObject *object, *result = NULL;
    point_request request = {0};
    if (!PyArg_ParseTuple(arguments, "Op|p:hessian", &object, &request.choice, &request.of_bodies)) return NULL;
    if (!pd_object_read_vectors(self, object, "x", &request.x) || !pd_object_enter(self)) return NULL;
    // The result is in the core's memory: it is copied before another call can enter.
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = hessian(self->core, &request, &request);
    Py_END_ALLOW_THREADS if (!status) {
        npy_intp shape[3] = {request.pattern->row_start[request.pattern->n], 3, 3};
        result = pd_build_csr(request.pattern, pd_array_copy(PD_NPY_REAL, 3, shape, request.blocks));
    }
    pd_object_leave(self);
    return status ? pd_object_raise(self, status) : result;
}

static pd_status system_matrix(pd_simulation *core, const void *given, void *matrix) {
    (void)given;
    return pd_simulation_system_matrix(core, matrix);
}

PyObject *pd_call_system_matrix(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    const pd_csr *A;
    if (!pd_object_call(self, system_matrix, NULL, &A)) return NULL;
    npy_intp count[1] = {A->row_start[A->n]};
    return pd_build_csr(A, pd_array_copy(NPY_FLOAT64, 1, count, A->values));
}
