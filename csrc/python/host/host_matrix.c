/* The Cholesky functions of _host, as a capsule, so that the other modules need no link to a sparse library. Also a Schur complement. */
#include "python/binding/arrays.h"

#include "base/clock.h"
#include "python/binding/errors.h"
#include "python/host/host_module.h"
#include "sparse/cholesky.h"

#include <float.h>
#include <stdlib.h>

/* Tells whether the arrays are the upper triangle of a symmetric matrix in compressed columns, with ascending rows and the diagonal
 * last. */
static int is_upper_triangle(int n, const int *column_start, const int *rows, npy_intp count) {
    int fine = column_start[0] == 0 && column_start[n] == count;
    for (int c = 0; c < n && fine; c++) fine = column_start[c] < column_start[c + 1] && column_start[c + 1] <= count;
    for (int c = 0; c < n && fine; c++) {
        fine = rows[column_start[c]] >= 0 && rows[column_start[c + 1] - 1] == c;
        for (int s = column_start[c] + 1; s < column_start[c + 1] && fine; s++) fine = rows[s - 1] < rows[s];
    }
    return fine;
}

static PyObject *schur_complement(PyObject *module, PyObject *arguments) {
    PyObject *objects[3];
    PyArrayObject *column_start, *rows = NULL, *values = NULL, *sigma = NULL;
    npy_intp any[1] = {-1};
    pd_cholesky *factor = NULL;
    pd_error error = {0};
    PyObject *result = NULL;
    int n_last, n, count;
    if (!PyArg_ParseTuple(arguments, "OOOi:schur_complement", &objects[0], &objects[1], &objects[2], &n_last)) return NULL;
    if (!(column_start = pd_array_in_private(objects[0], NPY_INT32, 1, any, "column_start"))) return NULL;
    if (!(rows = pd_array_in_private(objects[1], NPY_INT32, 1, any, "rows"))) goto done;
    if ((count = pd_array_length(rows, 0, "rows")) < 0) goto done;
    if (!(values = pd_array_in_private(objects[2], NPY_FLOAT64, 1, PyArray_DIMS(rows), "values"))) goto done;
    if (pd_array_check_finite(values, "values") < 0) goto done;
    if ((n = pd_array_length(column_start, 0, "column_start") - 1) < 1 ||
        !is_upper_triangle(n, PyArray_DATA(column_start), PyArray_DATA(rows), count)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "rows: not the upper triangle of a matrix by columns, with its diagonal");
        goto done;
    }
    if (n_last < 0 || n_last >= n) {
        PyErr_Format(PyExc_ValueError, "n_last: must be from 0 to %d, got %d", n - 1, n_last);
        goto done;
    }
    npy_intp shape[2] = {n_last, n_last};
    if (!(sigma = pd_array_out(NPY_FLOAT64, 2, shape))) goto done;
    const int *start = PyArray_DATA(column_start), *row = PyArray_DATA(rows);
    const double *entries = PyArray_DATA(values);
    double *out = PyArray_DATA(sigma);
    const pd_cholesky_functions *library = &pd_cholesky_library;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = n_last > 0 ? library->create_partitioned(&factor, n, n_last, start, row, &error)
                                               : library->create(&factor, n, start, row, 1, &error);
    if (!status) status = library->factor(factor, entries, &error);
    if (!status && n_last > 0) library->schur_complement(factor, out);
    Py_END_ALLOW_THREADS if (status) pd_raise(module, status, &error);
    else result = Py_BuildValue("OL", (PyObject *)sigma, library->factor_entries(factor));
done:
    pd_cholesky_library.destroy(factor);
    Py_XDECREF((PyObject *)column_start);
    Py_XDECREF((PyObject *)rows);
    Py_XDECREF((PyObject *)values);
    Py_XDECREF((PyObject *)sigma);
    return result;
}

static PyObject *dense_factor_seconds(PyObject *module, PyObject *object) {
    long n = PyLong_AsLong(object);
    if (n == -1 && PyErr_Occurred()) return NULL;
    if (n < 1 || n > 8192) return PyErr_Format(PyExc_ValueError, "rows: must be from 1 to 8192, got %ld", n);
    size_t size = (size_t)n;
    double *H = malloc(size * size * sizeof *H), seconds = DBL_MAX;
    pd_error error = {0};
    pd_status status = H ? PD_OK : pd_fail(&error, PD_ERROR_MEMORY, "out of memory for a matrix of %ld rows", n);
    Py_BEGIN_ALLOW_THREADS for (int turn = 0; turn < 3 && !status; turn++) {
        for (size_t k = 0; k < size * size; k++) H[k] = k % (size + 1) == 0 ? 2.0 : 1.0 / (double)n;
        double start = pd_seconds();
        status = pd_cholesky_library.dense_factor(H, (int)n, &error);
        if (pd_seconds() - start < seconds) seconds = pd_seconds() - start;
    }
    Py_END_ALLOW_THREADS free(H);
    return status ? pd_raise(module, status, &error) : PyFloat_FromDouble(seconds);
}

PyMethodDef pd_host_matrix_methods[] = {
    {"dense_factor_seconds", dense_factor_seconds, METH_O,
     "dense_factor_seconds($module, rows, /)\n--\n\nSeconds of the quickest of three factorisations of a dense matrix."},
    {"schur_complement", schur_complement, METH_VARARGS,
     "schur_complement($module, column_start, rows, values, n_last, /)\n--\n\nOf the last n_last rows of a symmetric positive definite "
     "matrix, given "
     "as its upper triangle by columns: (the transposed lower triangle of A22 - A21 A11^-1 A12, zeros below; entries of the factor)."},
    {NULL, NULL, 0, NULL},
};

int pd_host_add_cholesky(PyObject *module) {
    PyObject *capsule = PyCapsule_New((void *)(size_t)&pd_cholesky_library, PD_CHOLESKY_CAPSULE, NULL);
    if (!capsule) return -1;
    int failed = PyModule_AddObjectRef(module, "cholesky", capsule);
    Py_DECREF(capsule);
    if (failed < 0) return -1;
#ifdef PD_HAVE_CHOLMOD
    return PyModule_AddObjectRef(module, "HAS_CHOLMOD", Py_True);
#else
    return PyModule_AddObjectRef(module, "HAS_CHOLMOD", Py_False);
#endif
}
