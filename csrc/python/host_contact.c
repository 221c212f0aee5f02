/* What _host does for contacts: the sparse matrix of many pairs. */
#include "python/arrays.h"

#include "host/pair_matrix.h"
#include "python/errors.h"
#include "python/host_module.h"

/* points (n,4) as a private copy with every index below n_vertices and none twice in a row. NEW reference, or NULL with an exception. */
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
                     repeated ? "is in that row twice" : "is out of range");
        rows = NULL;
    }
    if (!rows) Py_CLEAR(points);
    return points;
}

PyDoc_STRVAR(pair_vector_doc, "pair_vector($module, points, corners, n_vertices, /)\n--\n\n"
                              "The sum (n_vertices,3) of corners (n,4,3) over the pairs points (n,4) int32; -1: no such corner.");

static PyObject *pair_vector(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *points_object, *corners_object;
    int n_vertices;
    if (!PyArg_ParseTuple(arguments, "OOi:pair_vector", &points_object, &corners_object, &n_vertices)) return NULL;
    PyArrayObject *points = points_in(points_object, n_vertices), *out = NULL;
    if (!points) return NULL;
    npy_intp shape[3] = {PyArray_DIM(points, 0), 4, 3}, out_shape[2] = {n_vertices, 3};
    PyArrayObject *corners = pd_array_in(corners_object, NPY_FLOAT64, 3, shape, "corners");
    if (corners && pd_array_check_finite(corners, "corners") == 0) out = pd_array_out(NPY_FLOAT64, 2, out_shape);
    if (out) {
        Py_BEGIN_ALLOW_THREADS pd_pair_vector(PyArray_DATA(out), PyArray_DATA(points), PyArray_DATA(corners), (int)shape[0], n_vertices);
        Py_END_ALLOW_THREADS
    }
    Py_DECREF(points);
    return (PyObject *)out;
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

/* Whether every block lies in the values. Returns 0, or -1 with an exception. */
static int check_slots(const int *slots, const int *strides, int n, int entries) {
    for (size_t k = 0; k < 16 * (size_t)n; k++) {
        int slot = slots[k], stride = strides[k / 4];
        if (slot == -1 || (slot >= 0 && stride >= 0 && slot + 2LL * stride + 3 <= entries)) continue;
        PyErr_Format(PyExc_ValueError, "slots: %d at (%zd, %d, %d), in rows of %d, is out of range for %d values", slot,
                     (Py_ssize_t)(k / 16), (int)(k / 4 % 4), (int)(k % 4), stride, entries);
        return -1;
    }
    return 0;
}

PyDoc_STRVAR(pair_matrix_add_doc,
             "pair_matrix_add($module, values, slots, strides, blocks, threads, /)\n--\n\n"
             "Adds blocks (n,12,12) of some pairs to the values of pair_pattern's matrix. slots (n,4,4) are theirs, strides\n"
             "(n,4) the lengths of the rows of their vertices, both int32.");

static PyObject *pair_matrix_add(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *values_object, *slots_object, *strides_object, *blocks_object, *result = NULL;
    int threads;
    npy_intp any[1] = {-1}, slots_shape[3] = {-1, 4, 4};
    if (!PyArg_ParseTuple(arguments, "OOOOi:pair_matrix_add", &values_object, &slots_object, &strides_object, &blocks_object, &threads))
        return NULL;
    PyArrayObject *values = pd_array_in_out(values_object, NPY_FLOAT64, 1, any, "values"), *strides = NULL, *blocks = NULL;
    int entries = values ? pd_array_length(values, 0, "values") : -1;
    PyArrayObject *slots = entries < 0 ? NULL : pd_array_in_private(slots_object, NPY_INT32, 3, slots_shape, "slots");
    int n = slots ? pd_array_length(slots, 0, "slots") : -1;
    if (n < 0) goto done;
    npy_intp strides_shape[2] = {n, 4}, blocks_shape[3] = {n, 12, 12};
    if (!(strides = pd_array_in_private(strides_object, NPY_INT32, 2, strides_shape, "strides"))) goto done;
    if (!(blocks = pd_array_in(blocks_object, NPY_FLOAT64, 3, blocks_shape, "blocks"))) goto done;
    if (pd_array_check_finite(blocks, "blocks") < 0) goto done;
    if (check_slots(PyArray_DATA(slots), PyArray_DATA(strides), n, entries) < 0) goto done;
    Py_BEGIN_ALLOW_THREADS pd_pair_matrix_add(PyArray_DATA(values), entries, PyArray_DATA(slots), PyArray_DATA(strides),
                                              PyArray_DATA(blocks), n, pd_host_threads(threads));
    Py_END_ALLOW_THREADS result = Py_None;
    Py_INCREF(result);

done:
    Py_XDECREF((PyObject *)slots);
    Py_XDECREF((PyObject *)strides);
    return result;
}

PyMethodDef pd_host_contact_methods[] = {
    {"pair_vector", pair_vector, METH_VARARGS, pair_vector_doc},
    {"pair_pattern", pair_pattern, METH_VARARGS, pair_pattern_doc},
    {"pair_matrix_add", pair_matrix_add, METH_VARARGS, pair_matrix_add_doc},
    {NULL, NULL, 0, NULL},
};
