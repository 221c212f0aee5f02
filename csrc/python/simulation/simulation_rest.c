/* The bodies that proxies of a simulation are kept out of: their rest shapes, from a dict (python/pdgpu/contact/rest_field.py). */
#include "python/simulation/simulation_object.h"

#include "contact/proxies/proxies.h"

#include <string.h>

/* Zeros, kept by the list. Returns NULL with an exception set. */
static void *memory_for(PyObject *kept, size_t bytes) {
    PyObject *buffer = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)bytes + 1);
    if (!buffer) return NULL;
    int failed = PyList_Append(kept, buffer) < 0;
    void *memory = PyByteArray_AsString(buffer);
    Py_DECREF(buffer);
    if (failed || !memory) return NULL;
    return memset(memory, 0, bytes + 1);
}

static PyObject *item_of(PyObject *dict, const char *name) {
    PyObject *object = PyDict_Check(dict) ? PyDict_GetItemString(dict, name) : NULL;
    return object ? object : PyErr_Format(PyExc_ValueError, "rest: %s is missing", name);
}

/* Integers of the dict from `least` to `most`. Sets shape[0] to their number. Returns NULL with an exception set. */
static const int *indices_of(PyObject *kept, PyObject *dict, const char *name, int dimensions, npy_intp *shape, int least, int most) {
    PyObject *object = item_of(dict, name);
    PyArrayObject *array = object ? pd_array_in_kept(kept, object, NPY_INT32, dimensions, shape, name) : NULL;
    if (!array) return NULL;
    const int *data = PyArray_DATA(array);
    size_t count = dimensions == 2 ? 4 : 1;
    if ((shape[0] = pd_array_length(array, 0, name)) < 0) return NULL;
    for (size_t i = 0; i < count * (size_t)shape[0]; i++)
        if (data[i] < least || data[i] > most) {
            PyErr_Format(PyExc_ValueError, "%s: %d at %zu is not from %d to %d", name, data[i], i, least, most);
            return NULL;
        }
    return data;
}

/* Numbers [n,columns] of the dict. Returns NULL with an exception set. */
static const real *reals_of(PyObject *kept, PyObject *dict, const char *name, int n, int columns) {
    npy_intp shape[2] = {n, columns};
    PyObject *object = item_of(dict, name);
    PyArrayObject *array = object ? pd_array_in_kept(kept, object, PD_NPY_REAL, 2, shape, name) : NULL;
    if (!array || pd_check_coordinates(array, name) < 0) return NULL;
    return PyArray_DATA(array);
}

static int number_of(PyObject *dict, const char *name, double least, real *out) {
    PyObject *object = item_of(dict, name);
    double value = object ? PyFloat_AsDouble(object) : -1.0;
    if (PyErr_Occurred() || !pd_number_in_range(value, least, PD_LARGEST_COORDINATE, name)) return 0;
    *out = (real)value;
    return 1;
}

/* Tells whether [n+1] integers go from 0 to `last` in ascending order, with repetitions. */
static int ascends(const int *start, double n, npy_intp length, int last) {
    int good = n + 1.0 == (double)length && start[0] == 0 && start[length - 1] == last;
    for (npy_intp i = 1; i < length && good; i++) good = start[i - 1] <= start[i];
    return good;
}

/* The triangles of a rest surface, and the tree over them. Returns 0 with an exception set. */
static int read_surface(PyObject *kept, PyObject *dict, pd_rest_surface *out) {
    npy_intp nodes[1] = {-1}, first[1] = {-1};
    if (!(out->skip = indices_of(kept, dict, "skip", 1, nodes, 1, INT32_MAX)) ||
        !(out->first = indices_of(kept, dict, "first", 1, first, 0, INT32_MAX / 21)) || !number_of(dict, "scale", 1e-30, &out->scale))
        return 0;
    out->n_nodes = (int)nodes[0];
    out->n_triangles = first[0] > 0 ? out->first[first[0] - 1] : 0;
    int good = out->n_nodes > 0 && first[0] > 0 && ascends(out->first, out->n_nodes, first[0], out->n_triangles);
    for (int k = 0; k < out->n_nodes && good; k++) good = out->skip[k] > k && out->skip[k] <= out->n_nodes;
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "skip, first: are no tree of triangles");
        return 0;
    }
    return (out->boxes = reals_of(kept, dict, "boxes", out->n_nodes, 6)) &&
           (out->corners = reals_of(kept, dict, "corners", out->n_triangles, 9)) &&
           (out->normals = reals_of(kept, dict, "normals", out->n_triangles, 21));
}

/* One shape; n_tets is the number of tets of all shapes. Returns 0 with an exception set. */
static int read_field(PyObject *kept, PyObject *dict, int n_tets, pd_rest_field *out, const real **values) {
    npy_intp grid_shape[3] = {-1, -1, -1}, one[1] = {1}, three[1] = {3}, many[1] = {-1};
    int shape;
    double spacing;
    PyObject *frame, *size, *values_object, *given = item_of(dict, "distance");
    PyArrayObject *array;
    if (!given || !PyTuple_Check(given)) {
        if (given) PyErr_Format(PyExc_TypeError, "distance: expected a tuple, got %R", given);
        return 0;
    }
    if (!PyArg_ParseTuple(given, "iOOdO:distance", &shape, &frame, &size, &spacing, &values_object)) return 0;
    if (shape != PD_DISTANCE_GRID) {
        PyErr_SetString(PyExc_ValueError, "distance: expected a grid");
        return 0;
    }
    if (!(array = pd_array_in_kept(kept, values_object, PD_NPY_REAL, 3, grid_shape, "values"))) return 0;
    *values = PyArray_DATA(array);
    if (pd_read_collider(shape, frame, size, spacing, (PyObject *)array, &out->distance, &array) < 0) return 0;
    const int *body = indices_of(kept, dict, "body", 1, one, 0, INT32_MAX), *cells = indices_of(kept, dict, "cells", 1, three, 1, 1 << 20);
    if (!body || !cells || !number_of(dict, "apart", 0.0, &out->apart) || !number_of(dict, "cell", 1e-30, &out->cell)) return 0;
    out->body = *body;
    memcpy(out->cells, cells, sizeof out->cells);
    if (!(out->tets = indices_of(kept, dict, "tets", 1, many, 0, n_tets - 1))) return 0;
    int count = (int)many[0];
    many[0] = -1;
    if (!(out->start = indices_of(kept, dict, "start", 1, many, 0, count))) return 0;
    if (!ascends(out->start, (double)cells[0] * cells[1] * cells[2], many[0], count)) {
        PyErr_SetString(PyExc_ValueError, "start: does not go through the tets of all cells");
        return 0;
    }
    PyObject *surface = item_of(dict, "surface");
    return surface && read_surface(kept, surface, &out->surface);
}

int pd_read_rest(PyObject *kept, PyObject *dict, int n_vertices, int n_proxies, const pd_rest_description **out) {
    npy_intp corners[2] = {-1, 4}, each[1], proxies[1] = {n_proxies};
    *out = NULL;
    PyObject *fields = item_of(dict, "fields");
    pd_rest_description *made = fields ? memory_for(kept, sizeof *made) : NULL;
    if (!made) return 0;
    Py_ssize_t n = PyList_Check(fields) ? PyList_Size(fields) : 0;
    if (n < 1 || n > 10000) {
        PyErr_Format(PyExc_ValueError, "fields: expected a list of some rest shapes, got %R", fields);
        return 0;
    }
    made->n_fields = (int)n;
    if (!(made->tets = indices_of(kept, dict, "tets", 2, corners, 0, n_vertices - 1))) return 0;
    each[0] = corners[0];
    made->n_tets = (int)corners[0];
    const real **values = memory_for(kept, (size_t)n * sizeof *values);
    if (!(made->field_of = indices_of(kept, dict, "field_of", 1, each, 0, made->n_fields - 1)) ||
        !(made->rest = reals_of(kept, dict, "rest", n_vertices, 3)) || !(made->place = reals_of(kept, dict, "place", n_proxies, 3)) ||
        !(made->body = indices_of(kept, dict, "body", 1, proxies, 0, INT32_MAX)) ||
        !(made->fields = memory_for(kept, (size_t)n * sizeof *made->fields)) || !values)
        return 0;
    made->values = values;
    for (Py_ssize_t k = 0; k < n; k++)
        if (!read_field(kept, PyList_GetItem(fields, k), made->n_tets, &made->fields[k], &values[k])) return 0;
    *out = made;
    return 1;
}
