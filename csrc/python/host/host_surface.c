/* Closed surfaces in _host: their check, nearest triangles, inside and outside, distances on a grid. */
#include "python/binding/arrays.h"

#include "mesh/closed_surface.h"
#include "mesh/mass_properties.h"
#include "mesh/validation.h"
#include "python/binding/errors.h"
#include "python/host/host_module.h"
#include "verify/surface_distance.h"

#include <limits.h>
#include <math.h>

#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

/* Triangles (m,3) whose indices are below n_points. Returns their number, or -1 with an exception. */
static int triangles_in(PyObject *module, PyObject *object, int n_points, const int **triangles) {
    npy_intp shape[2] = {-1, 3};
    pd_error error;
    PyArrayObject *array = pd_array_in(object, NPY_INT32, 2, shape, "triangles");
    int n = array ? pd_array_length(array, 0, "triangles") : -1;
    if (n < 0) return -1;
    *triangles = PyArray_DATA(array);
    pd_status status = pd_elements_check(*triangles, n, 3, n_points, "triangles", &error);
    if (!status) return n;
    pd_raise(module, status, &error);
    return -1;
}

/* Finite points (n,3). Returns their number, or -1 with an exception. */
static int points_in(PyObject *module, PyObject *object, const double **points, const char *name) {
    npy_intp shape[2] = {-1, 3};
    pd_error error;
    PyArrayObject *array = pd_array_in(object, NPY_FLOAT64, 2, shape, name);
    int n = array ? pd_array_length(array, 0, name) : -1;
    if (n < 0) return -1;
    *points = PyArray_DATA(array);
    pd_status status = pd_points_check(*points, n, name, &error);
    if (!status) return n;
    pd_raise(module, status, &error);
    return -1;
}

/* A surface with at least one triangle. Returns 0 with an exception set. */
static int surface_in(PyObject *module, PyObject *points, PyObject *triangles, pd_host_surface *surface) {
    int n_points = points_in(module, points, &surface->points, "points");
    if (n_points < 0) return 0;
    surface->n_triangles = triangles_in(module, triangles, n_points, &surface->triangles);
    if (surface->n_triangles == 0) PyErr_SetString(PyExc_ValueError, "triangles: expected one or more, got none");
    return surface->n_triangles > 0;
}

#ifndef PD_HAVE_GMP
static PyObject *without_gmp(PyObject *module) {
    pd_error missing;
    return pd_raise(
        module, pd_fail(&missing, PD_ERROR_UNSUPPORTED, "the sign of a distance needs GMP, which this build leaves out (PDGPU_GMP=OFF)"),
        &missing);
}
#endif

PyDoc_STRVAR(check_closed_doc, "check_closed($module, triangles, n_points, /)\n--\n\n"
                               "Raise ValueError, naming an edge, unless every edge of triangles (m,3) has two that run along it in\n"
                               "opposite directions.");

static PyObject *check_closed(PyObject *module, PyObject *arguments) {
    PyObject *object;
    int n_points;
    const int *triangles;
    if (!PyArg_ParseTuple(arguments, "Oi:check_closed", &object, &n_points)) return NULL;
    int n = triangles_in(module, object, n_points, &triangles);
    if (n < 0) return NULL;
    pd_error error;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_closed_surface_check(triangles, n, &error);
    Py_END_ALLOW_THREADS if (status) return pd_raise(module, status, &error);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(mass_properties_doc, "mass_properties($module, points, triangles, /)\n--\n\n"
                                  "(volume, centre (3,), second moments (3,3) about it) of what the closed surface of triangles (m,3)\n"
                                  "encloses, m3, m and m5. ValueError where it is open, or its volume not positive.");

static PyObject *mass_properties(PyObject *module, PyObject *arguments) {
    PyObject *points, *triangles;
    pd_host_surface surface;
    if (!PyArg_ParseTuple(arguments, "OO:mass_properties", &points, &triangles)) return NULL;
    if (!surface_in(module, points, triangles, &surface)) return NULL;
    pd_error error;
    pd_mass_properties found = {0};
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_closed_surface_check(surface.triangles, surface.n_triangles, &error);
    if (!status) status = pd_mass_properties_of(&found, surface.points, surface.triangles, surface.n_triangles, &error);
    Py_END_ALLOW_THREADS if (status) return pd_raise(module, status, &error);
    npy_intp three[1] = {3}, square[2] = {3, 3};
    PyArrayObject *centre = pd_array_copy(NPY_FLOAT64, 1, three, found.centre);
    PyArrayObject *moments = centre ? pd_array_copy(NPY_FLOAT64, 2, square, found.moments) : NULL;
    if (moments) return Py_BuildValue("(dNN)", found.volume, centre, moments);
    Py_XDECREF((PyObject *)centre);
    return NULL;
}

PyDoc_STRVAR(nearest_triangles_doc, "nearest_triangles($module, points, triangles, queries, threads, /)\n--\n\n"
                                    "The nearest of triangles (m,3) to each of queries (n,3): (n,) int32.");

static PyObject *nearest_triangles(PyObject *module, PyObject *arguments) {
    PyObject *points, *triangles, *queries_object;
    int threads;
    pd_host_surface surface;
    const double *queries;
    if (!PyArg_ParseTuple(arguments, "OOOi:nearest_triangles", &points, &triangles, &queries_object, &threads)) return NULL;
    if (!surface_in(module, points, triangles, &surface)) return NULL;
    int n = points_in(module, queries_object, &queries, "queries");
    if (n < 0) return NULL;
    npy_intp shape[1] = {n};
    PyArrayObject *out = pd_array_out(NPY_INT32, 1, shape);
    if (!out) return NULL;
    pd_error error;
    pd_status status;
    int *nearest = PyArray_DATA(out);
    PyThreadState *thread = PyEval_SaveThread();
    pd_interruption interruption = {pd_signal_raised, &thread, 0.0, 0};
    status = pd_surface_nearest(nearest, &surface, queries, n, pd_host_threads(threads), &interruption, &error);
    PyEval_RestoreThread(thread);
    if (!status) return (PyObject *)out;
    Py_DECREF(out);
    return pd_raise(module, status, &error);
}

PyDoc_STRVAR(are_inside_doc, "are_inside($module, points, triangles, queries, threads, /)\n--\n\n"
                             "Whether each of queries (n,3) lies within the closed surface of triangles (m,3), exactly: (n,) uint8.");

static PyObject *are_inside(PyObject *module, PyObject *arguments) {
    PyObject *points, *triangles, *queries_object;
    int threads;
    pd_host_surface surface;
    const double *queries;
    if (!PyArg_ParseTuple(arguments, "OOOi:are_inside", &points, &triangles, &queries_object, &threads)) return NULL;
    if (!surface_in(module, points, triangles, &surface)) return NULL;
    int n = points_in(module, queries_object, &queries, "queries");
    if (n < 0) return NULL;
#ifndef PD_HAVE_GMP
    return without_gmp(module);
#else
    npy_intp shape[1] = {n};
    PyArrayObject *out = pd_array_out(NPY_UINT8, 1, shape);
    if (!out) return NULL;
    pd_error error;
    pd_status status;
    unsigned char *inside = PyArray_DATA(out);
    PyThreadState *thread = PyEval_SaveThread();
    pd_interruption interruption = {pd_signal_raised, &thread, 0.0, 0};
    status = pd_surface_inside(inside, &surface, queries, n, pd_host_threads(threads), &interruption, &error);
    PyEval_RestoreThread(thread);
    if (!status) return (PyObject *)out;
    Py_DECREF(out);
    return pd_raise(module, status, &error);
#endif
}

PyDoc_STRVAR(distance_grid_doc, "distance_grid($module, points, triangles, origin, spacing, counts, threads, /)\n--\n\n"
                                "The signed distance of the closed surface of triangles (m,3), negative inside, on the nodes\n"
                                "origin + spacing (i, j, k): float64 of shape `counts`.");

static PyObject *distance_grid(PyObject *module, PyObject *arguments) {
    PyObject *points, *triangles;
    pd_host_surface surface;
    pd_host_grid grid;
    int threads;
    if (!PyArg_ParseTuple(arguments, "OO(ddd)d(iii)i:distance_grid", &points, &triangles, &grid.origin[0], &grid.origin[1], &grid.origin[2],
                          &grid.spacing, &grid.n[0], &grid.n[1], &grid.n[2], &threads))
        return NULL;
    if (!surface_in(module, points, triangles, &surface)) return NULL;
    if (!(grid.spacing > 0.0) || !isfinite(grid.spacing)) return PyErr_Format(PyExc_ValueError, "spacing: must be positive and finite");
    for (int i = 0; i < 3; i++) {
        if (grid.n[i] < 1) return PyErr_Format(PyExc_ValueError, "counts: must be at least 1, got %d at %d", grid.n[i], i);
        if (!isfinite(grid.origin[i]) || !isfinite(pd_host_grid_node(&grid, i, grid.n[i] - 1)))
            return PyErr_Format(PyExc_ValueError, "origin: the grid is not finite along axis %d", i);
    }
#ifndef PD_HAVE_GMP
    return without_gmp(module);
#else
    npy_intp shape[3] = {grid.n[0], grid.n[1], grid.n[2]};
    PyArrayObject *out = pd_array_out(NPY_FLOAT64, 3, shape);
    if (!out) return NULL;
    pd_error error;
    pd_status status;
    double *values = PyArray_DATA(out);
    PyThreadState *thread = PyEval_SaveThread();
    pd_interruption interruption = {pd_signal_raised, &thread, 0.0, 0};
    status = pd_surface_grid_distance(values, &surface, &grid, pd_host_threads(threads), &interruption, &error);
    if (!status) status = pd_surface_grid_sign(values, &surface, &grid, pd_host_threads(threads), &interruption, &error);
    PyEval_RestoreThread(thread);
    if (!status) return (PyObject *)out;
    Py_DECREF(out);
    return pd_raise(module, status, &error);
#endif
}

PyMethodDef pd_host_surface_methods[] = {
    {"check_closed", METHOD(check_closed), METH_VARARGS, check_closed_doc},
    {"mass_properties", METHOD(mass_properties), METH_VARARGS, mass_properties_doc},
    {"nearest_triangles", METHOD(nearest_triangles), METH_VARARGS, nearest_triangles_doc},
    {"are_inside", METHOD(are_inside), METH_VARARGS, are_inside_doc},
    {"distance_grid", METHOD(distance_grid), METH_VARARGS, distance_grid_doc},
    {NULL, NULL, 0, NULL},
};
