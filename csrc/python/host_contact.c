/* What _host does for contacts: the sparse matrix of many pairs. */
#include "python/arrays.h"

#include "host/pair_matrix.h"
#include "python/errors.h"
#include "python/host_module.h"

PyDoc_STRVAR(pair_matrix_doc, "pair_matrix($module, points, blocks, n_vertices, threads, /)\n--\n\n"
                              "(row_start, columns, values) in CSR, three rows a vertex, of the sum of blocks (n,12,12) over the pairs\n"
                              "points (n,4) int32; -1: no such corner.");

static PyObject *pair_matrix(PyObject *module, PyObject *arguments) {
    PyObject *points_object, *blocks_object;
    int n_vertices, threads;
    if (!PyArg_ParseTuple(arguments, "OOii:pair_matrix", &points_object, &blocks_object, &n_vertices, &threads)) return NULL;
    if (n_vertices < 0) return PyErr_Format(PyExc_ValueError, "n_vertices: must be at least 0, got %d", n_vertices);
    npy_intp points_shape[2] = {-1, 4}, blocks_shape[3] = {-1, 12, 12};
    pd_pair_matrix matrix = {0};
    pd_error error = {0};
    PyObject *result = NULL;
    PyArrayObject *row_start = NULL, *columns = NULL, *values = NULL, *blocks = NULL;
    PyArrayObject *points = pd_array_in_private(points_object, NPY_INT32, 2, points_shape, "points");
    if (!points) return NULL;
    int n = pd_array_length(points, 0, "points");
    if (n < 0) goto done;
    blocks_shape[0] = n;
    blocks = pd_array_in(blocks_object, NPY_FLOAT64, 3, blocks_shape, "blocks");
    if (!blocks || pd_array_check_finite(blocks, "blocks") < 0) goto done;
    const int *rows = PyArray_DATA(points);
    for (size_t c = 0; c < 4 * (size_t)n; c++) {
        const int *pair = rows + c / 4 * 4;
        int repeated = 0;
        for (size_t j = 0; j < c % 4; j++) repeated |= pair[j] >= 0 && pair[j] == rows[c];
        if (rows[c] >= -1 && rows[c] < n_vertices && !repeated) continue;
        PyErr_Format(PyExc_ValueError, "points: index %d at (%zd, %d) %s", rows[c], (Py_ssize_t)(c / 4), (int)(c % 4),
                     repeated ? "is in that row twice" : "is out of range");
        goto done;
    }

    PyThreadState *thread = PyEval_SaveThread();
    pd_interruption interruption = {pd_signal_raised, &thread, 0.0, 0};
    pd_status status = pd_pair_matrix_create(&matrix, rows, n, n_vertices, pd_host_threads(threads), &interruption, &error);
    PyEval_RestoreThread(thread);
    if (status) {
        pd_raise(module, status, &error);
        goto done;
    }
    npy_intp starts = 3 * (npy_intp)n_vertices + 1, entries = matrix.row_start[starts - 1];
    row_start = pd_array_copy(NPY_INT32, 1, &starts, matrix.row_start);
    columns = pd_array_out(NPY_INT32, 1, &entries);
    values = pd_array_out(NPY_FLOAT64, 1, &entries);
    if (!row_start || !columns || !values) goto done;
    thread = PyEval_SaveThread();
    status = pd_pair_matrix_fill(&matrix, PyArray_DATA(blocks), PyArray_DATA(columns), PyArray_DATA(values), pd_host_threads(threads),
                                 &interruption, &error);
    PyEval_RestoreThread(thread);
    if (status)
        pd_raise(module, status, &error);
    else
        result = Py_BuildValue("(OOO)", row_start, columns, values);

done:
    pd_pair_matrix_destroy(&matrix);
    Py_XDECREF((PyObject *)points);
    Py_XDECREF((PyObject *)row_start);
    Py_XDECREF((PyObject *)columns);
    Py_XDECREF((PyObject *)values);
    return result;
}

PyMethodDef pd_host_contact_methods[] = {
    {"pair_matrix", pair_matrix, METH_VARARGS, pair_matrix_doc},
    {NULL, NULL, 0, NULL},
};
