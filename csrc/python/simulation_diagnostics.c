/* What a simulation tells of the step about to be solved: energies, derivatives, matrices. Nothing here moves it. */
#include "python/simulation_object.h"

static pd_status energies(pd_simulation *core, const void *x, void *out) {
    pd_status status = pd_simulation_begin(core);
    return status ? status : pd_simulation_energies(core, x, out);
}

PyObject *pd_call_energies(pd_simulation_object *self, PyObject *object) {
    npy_intp shape[1] = {PD_ENERGY_COUNT};
    const real *x;
    if (!pd_object_read_vectors(self, object, "x", &x)) return NULL;
    return pd_object_fill(self, energies, x, pd_array_out(NPY_FLOAT64, 1, shape));
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

static pd_status pattern(pd_simulation *core, const void *given, void *matrix) {
    (void)given;
    return pd_simulation_pattern(core, matrix);
}

typedef struct {
    const real *x;
    int psd;
} hessian_request;

static pd_status hessian(pd_simulation *core, const void *given, void *blocks) {
    const hessian_request *request = given;
    pd_status status = pd_simulation_begin(core);
    return status ? status : pd_simulation_hessian(core, request->x, request->psd, blocks);
}

PyObject *pd_call_hessian(pd_simulation_object *self, PyObject *arguments) {
    PyObject *object;
    hessian_request request;
    const pd_csr *matrix;
    if (!PyArg_ParseTuple(arguments, "Op:hessian", &object, &request.psd)) return NULL;
    if (!pd_object_read_vectors(self, object, "x", &request.x) || !pd_object_call(self, pattern, NULL, &matrix)) return NULL;
    npy_intp shape[3] = {matrix->row_start[matrix->n], 3, 3};
    PyObject *blocks = pd_object_fill(self, hessian, &request, pd_array_out(PD_NPY_REAL, 3, shape));
    return blocks ? csr_arrays(matrix, (PyArrayObject *)blocks) : NULL;
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
    return csr_arrays(A, pd_array_copy(NPY_FLOAT64, 1, count, A->values));
}
