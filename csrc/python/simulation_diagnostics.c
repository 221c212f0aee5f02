/* What a simulation tells of the step about to be solved: energies, derivatives, matrices. Nothing here moves it. */
#include "python/simulation_object.h"

PyObject *pd_call_energies(pd_simulation_object *self, PyObject *object) {
    const real *x;
    if (!pd_object_read_vectors(self, object, "x", &x)) return NULL;
    npy_intp shape[1] = {PD_ENERGY_COUNT};
    PyArrayObject *out = pd_array_out(NPY_FLOAT64, 1, shape);
    if (!out) return NULL;
    if (!pd_object_enter(self)) {
        Py_DECREF((PyObject *)out);
        return NULL;
    }
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_begin(self->core);
    if (!status) status = pd_simulation_energies(self->core, x, PyArray_DATA(out));
    Py_END_ALLOW_THREADS pd_object_leave(self);
    if (status) {
        Py_DECREF((PyObject *)out);
        return pd_object_raise(self, status);
    }
    return (PyObject *)out;
}

PyObject *pd_call_gradient(pd_simulation_object *self, PyObject *object) {
    const real *x;
    if (!pd_object_read_vectors(self, object, "x", &x)) return NULL;
    PyArrayObject *out = pd_object_new_vectors(self);
    if (!out) return NULL;
    if (!pd_object_enter(self)) {
        Py_DECREF((PyObject *)out);
        return NULL;
    }
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_begin(self->core);
    if (!status) status = pd_simulation_gradient(self->core, x, PyArray_DATA(out));
    Py_END_ALLOW_THREADS pd_object_leave(self);
    if (status) {
        Py_DECREF((PyObject *)out);
        return pd_object_raise(self, status);
    }
    return (PyObject *)out;
}

PyObject *pd_call_gradient_rounding(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    double norm = 0.0;
    if (!pd_object_enter(self)) return NULL;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_begin(self->core);
    if (!status) norm = pd_simulation_gradient_rounding(self->core);
    Py_END_ALLOW_THREADS pd_object_leave(self);
    if (status) return pd_object_raise(self, status);
    return PyFloat_FromDouble(norm);
}

/* (row_start, columns, values) of a sparse matrix, as fresh arrays. */
static PyObject *csr_arrays(const pd_csr *matrix, PyArrayObject *values) {
    npy_intp rows[1] = {matrix->n + 1}, count[1] = {matrix->row_start[matrix->n]};
    PyArrayObject *row_start = pd_array_copy(NPY_INT32, 1, rows, matrix->row_start);
    PyArrayObject *columns = pd_array_copy(NPY_INT32, 1, count, matrix->columns);
    PyObject *result = row_start && columns && values ? Py_BuildValue("(OOO)", row_start, columns, values) : NULL;
    Py_XDECREF((PyObject *)row_start);
    Py_XDECREF((PyObject *)columns);
    Py_XDECREF((PyObject *)values);
    return result;
}

PyObject *pd_call_hessian(pd_simulation_object *self, PyObject *arguments) {
    PyObject *object;
    int psd;
    const real *x;
    if (!PyArg_ParseTuple(arguments, "Op:hessian", &object, &psd)) return NULL;
    if (!pd_object_read_vectors(self, object, "x", &x)) return NULL;
    const pd_csr *pattern;
    pd_status status;
    if (!pd_object_enter(self)) return NULL;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_pattern(self->core, &pattern);
    Py_END_ALLOW_THREADS pd_object_leave(self);
    if (status) return pd_object_raise(self, status);
    npy_intp shape[3] = {pattern->row_start[pattern->n], 3, 3};
    PyArrayObject *blocks = pd_array_out(PD_NPY_REAL, 3, shape);
    if (!blocks) return NULL;
    if (!pd_object_enter(self)) {
        Py_DECREF((PyObject *)blocks);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_begin(self->core);
    if (!status) status = pd_simulation_hessian(self->core, x, psd, PyArray_DATA(blocks));
    Py_END_ALLOW_THREADS pd_object_leave(self);
    if (status) {
        Py_DECREF((PyObject *)blocks);
        return pd_object_raise(self, status);
    }
    return csr_arrays(pattern, blocks);
}

PyObject *pd_call_system_matrix(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    const pd_csr *A;
    pd_status status;
    if (!pd_object_enter(self)) return NULL;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_system_matrix(self->core, &A);
    Py_END_ALLOW_THREADS pd_object_leave(self);
    if (status) return pd_object_raise(self, status);
    npy_intp count[1] = {A->row_start[A->n]};
    return csr_arrays(A, pd_array_copy(NPY_FLOAT64, 1, count, A->values));
}
