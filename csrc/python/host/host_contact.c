/* Contact functions of _host: the sparse matrix of many pairs. */
#include "python/binding/arrays.h"

#include "python/binding/errors.h"
#include "python/host/host_module.h"
#include "sparse/pair_matrix.h"

/* points (n,4) as a private copy, with every index below n_vertices and no index twice in a row. NEW reference, or NULL with an
 * exception. */
static PyArrayObject *points_in(PyObject *object, int n_vertices) {
    npy_intp shape[2] = {-1, 4};
    if (n_vertices < 0) {
        PyErr_Format(PyExc_ValueError, "n_vertices: must be at least 0, got %d", n_vertices);
        return NULL;
    }
    PyArrayObject *points = pd_array_in_private(object, NPY_INT32, 2, shape, "points");
    int n = points ? pd_array_length(points, 0, "points") : -1;
    const int *rows = n < 0 ? NULL : PyArray_DATA(points);
    for (size_t c = 0; rows && c < 4 * (size_t)n; c++) {
        const int *pair = rows + c / 4 * 4;
        int repeated = 0;
        for (size_t j = 0; j < c % 4; j++) repeated |= pair[j] >= 0 && pair[j] == rows[c];
        if (rows[c] >= -1 && rows[c] < n_vertices && !repeated) continue;
        PyErr_Format(PyExc_ValueError, "points: index %d at (%zd, %d) %s", rows[c], (Py_ssize_t)(c / 4), (int)(c % 4),
                     repeated ? "occurs twice in its row" : "is out of range");
        rows = NULL;
    }
    if (!rows) Py_CLEAR(points);
    return points;
}

PyDoc_STRVAR(pair_pattern_doc,
             "pair_pattern($module, points, n_vertices, threads, /)\n--\n\n"
             "(row_start, columns, slots) of the CSR matrix, three rows a vertex, of the pairs points (n,4) int32; slots\n"
             "(n,4,4) int32 says where the block of two corners begins. -1: no such corner.");

static PyObject *pair_pattern(PyObject *module, PyObject *arguments) {
    PyObject *points_object, *result = NULL;
    int n_vertices, threads;
    if (!PyArg_ParseTuple(arguments, "Oii:pair_pattern", &points_object, &n_vertices, &threads)) return NULL;
    PyArrayObject *row_start = NULL, *columns = NULL, *slots = NULL, *points = points_in(points_object, n_vertices);
    if (!points) return NULL;
    pd_pair_pattern pattern = {0};
    pd_error error = {0};
    int n = (int)PyArray_DIM(points, 0);
    PyThreadState *thread = PyEval_SaveThread();
    pd_interruption interruption = {pd_signal_raised, &thread, 0.0, 0};
    pd_status status =
        pd_pair_pattern_create(&pattern, PyArray_DATA(points), n, n_vertices, pd_host_threads(threads), &interruption, &error);
    PyEval_RestoreThread(thread);
    if (status) {
        pd_raise(module, status, &error);
        goto done;
    }
    npy_intp starts = 3 * (npy_intp)n_vertices + 1, entries = pattern.row_start[starts - 1], slots_shape[3] = {n, 4, 4};
    row_start = pd_array_copy(NPY_INT32, 1, &starts, pattern.row_start);
    columns = pd_array_out(NPY_INT32, 1, &entries);
    slots = pd_array_out(NPY_INT32, 3, slots_shape);
    if (!row_start || !columns || !slots) goto done;
    thread = PyEval_SaveThread();
    status = pd_pair_pattern_fill(&pattern, PyArray_DATA(columns), PyArray_DATA(slots), pd_host_threads(threads), &interruption, &error);
    PyEval_RestoreThread(thread);
    if (status)
        pd_raise(module, status, &error);
    else
        result = Py_BuildValue("(OOO)", row_start, columns, slots);

done:
    pd_pair_pattern_destroy(&pattern);
    Py_DECREF(points);
    Py_XDECREF((PyObject *)row_start);
    Py_XDECREF((PyObject *)columns);
    Py_XDECREF((PyObject *)slots);
    return result;
}

PyMethodDef pd_host_contact_methods[] = {
    {"pair_pattern", pair_pattern, METH_VARARGS, pair_pattern_doc},
    {NULL, NULL, 0, NULL},
};
