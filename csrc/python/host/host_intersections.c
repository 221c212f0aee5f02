/* The verification of frames in _host: intersections of a frame, contacts between two frames, pairs below a separation, the smallest
 * gap. */
#include "python/binding/arrays.h"

#include "mesh/validation.h"
#include "python/binding/errors.h"
#include "python/host/host_module.h"
#include "verify/approaches.h"
#include "verify/crossings.h"
#include "verify/smallest_gap.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

static const double *doubles(PyArrayObject *array) { return (const double *)PyArray_DATA(array); }

static const int *ints(PyArrayObject *array) { return (const int *)PyArray_DATA(array); }

/* The common arguments of the three functions, as borrowed references. */
typedef struct scene {
    const double *points;
    const int *vertices;
    pd_simplices simplices;
    int n_points, n_vertices, threads;
} scene;

static PyArrayObject *rows_in(PyObject *object, int k, int *n, const char *name) {
    npy_intp shape[2] = {-1, k};
    PyArrayObject *array = pd_array_in(object, NPY_INT32, k == 1 ? 1 : 2, shape, name);
    return array && (*n = pd_array_length(array, 0, name)) >= 0 ? array : NULL;
}

/* Finite coordinates: the exact predicates convert them to integers. NaN and infinity have none. */
static PyArrayObject *points_in(PyObject *object, int n_points, const char *name) {
    npy_intp shape[2] = {n_points, 3};
    PyArrayObject *array = pd_array_in(object, NPY_FLOAT64, 2, shape, name);
    return array && pd_array_check_finite(array, name) == 0 ? array : NULL;
}

/* Indices are checked individually: an edge may have the same vertex twice. Returns 0 with an exception set. */
static int check_indices(PyObject *module, const int *indices, npy_intp n, int n_points, const char *name) {
    pd_error error;
    pd_status status = n > INT_MAX ? pd_fail(&error, PD_ERROR_VALUE, "%s: too many rows for 32-bit indices", name)
                                   : pd_elements_check(indices, (int)n, 1, n_points, name, &error);
    if (status) pd_raise(module, status, &error);
    return !status;
}

static int scene_in(scene *s, PyObject *module, PyObject *points, PyObject *vertices, PyObject *triangles, PyObject *edges, PyObject *alone,
                    int threads) {
    PyArrayObject *array = points_in(points, -1, "points");
    if (!array || (s->n_points = pd_array_length(array, 0, "points")) < 0) return 0;
    s->points = doubles(array);
    s->vertices = NULL;
    s->n_vertices = 0;
    if (vertices) {
        if (!(array = rows_in(vertices, 1, &s->n_vertices, "vertices"))) return 0;
        if (!check_indices(module, ints(array), PyArray_SIZE(array), s->n_points, "vertices")) return 0;
        s->vertices = ints(array);
    }
    if (!(array = rows_in(triangles, 3, &s->simplices.n_triangles, "triangles"))) return 0;
    if (!check_indices(module, ints(array), PyArray_SIZE(array), s->n_points, "triangles")) return 0;
    s->simplices.triangles = ints(array);
    if (!(array = rows_in(edges, 2, &s->simplices.n_edges, "edges"))) return 0;
    if (!check_indices(module, ints(array), PyArray_SIZE(array), s->n_points, "edges")) return 0;
    s->simplices.edges = ints(array);
    npy_intp shape[1] = {s->simplices.n_edges};
    if (!(array = pd_array_in(alone, NPY_UINT8, 1, shape, "alone"))) return 0;
    s->simplices.alone = PyArray_DATA(array);
    s->threads = pd_host_threads(threads);
    return 1;
}

#ifdef PD_HAVE_GMP
static PyObject *pairs_out(const pd_pair_list *list) {
    npy_intp shape[2] = {(npy_intp)list->n, 2};
    return (PyObject *)pd_array_copy(NPY_INT32, 2, shape, list->pairs);
}

#define UNLESS_GMP(module)
#else
#define UNLESS_GMP(module)                                                                                                             \
    do {                                                                                                                               \
        pd_error missing;                                                                                                              \
        return pd_raise(                                                                                                               \
            module,                                                                                                                    \
            pd_fail(&missing, PD_ERROR_UNSUPPORTED, "exact intersection tests need GMP, which this build leaves out (PDGPU_GMP=OFF)"), \
            &missing);                                                                                                                 \
    } while (0)
#endif

PyDoc_STRVAR(find_intersections_doc,
             "find_intersections($module, points, triangles, edges, alone, threads, /)\n--\n\n"
             "Exact intersections of a frame: (edge, triangle) pairs (k,2), (edge, edge) pairs (l,2), triangles of no area (m,).\n"
             "alone (e,) uint8 marks the edges of no triangle.");

static PyObject *find_intersections(PyObject *module, PyObject *arguments) {
    PyObject *points, *triangles, *edges, *alone;
    int threads;
    if (!PyArg_ParseTuple(arguments, "OOOOi:find_intersections", &points, &triangles, &edges, &alone, &threads)) return NULL;
    scene s;
    if (!scene_in(&s, module, points, NULL, triangles, edges, alone, threads)) return NULL;
    UNLESS_GMP(module);
#ifdef PD_HAVE_GMP
    pd_error error;
    pd_status status;
    pd_intersections found;
    PyThreadState *thread = PyEval_SaveThread();
    pd_interruption interruption = {pd_signal_raised, &thread, 0.0, 0};
    status = pd_intersections_find(&found, s.points, &s.simplices, s.threads, &interruption, &error);
    PyEval_RestoreThread(thread);
    if (status) return pd_raise(module, status, &error);
    npy_intp shape[1] = {found.n_flat_triangles};
    PyObject *result = Py_BuildValue("(NNN)", pairs_out(&found.edge_triangle), pairs_out(&found.edge_edge),
                                     pd_array_copy(NPY_INT32, 1, shape, found.flat_triangles));
    pd_intersections_free(&found);
    return result;
#endif
}

PyDoc_STRVAR(find_crossings_doc,
             "find_crossings($module, points_0, points_1, vertices, triangles, edges, alone, threads, /)\n--\n\n"
             "Exact contacts between two frames: pairs (k,2) and times (k,) of vertices and triangles, of edges, of vertices and\n"
             "edges of no triangle.");

static PyObject *find_crossings(PyObject *module, PyObject *arguments) {
    PyObject *points_0, *points_1, *vertices, *triangles, *edges, *alone;
    int threads;
    if (!PyArg_ParseTuple(arguments, "OOOOOOi:find_crossings", &points_0, &points_1, &vertices, &triangles, &edges, &alone, &threads))
        return NULL;
    scene s;
    if (!scene_in(&s, module, points_0, vertices, triangles, edges, alone, threads)) return NULL;
    PyArrayObject *end = points_in(points_1, s.n_points, "points_1");
    if (!end) return NULL;
    UNLESS_GMP(module);
#ifdef PD_HAVE_GMP
    pd_error error;
    pd_status status;
    pd_crossings found;
    PyThreadState *thread = PyEval_SaveThread();
    pd_interruption interruption = {pd_signal_raised, &thread, 0.0, 0};
    status = pd_crossings_find(&found, s.points, doubles(end), s.vertices, s.n_vertices, &s.simplices, s.threads, &interruption, &error);
    PyEval_RestoreThread(thread);
    if (status) return pd_raise(module, status, &error);
    const pd_pair_list *lists[3] = {&found.vertex_triangle, &found.edge_edge, &found.vertex_edge};
    PyObject *times[3];
    for (int i = 0; i < 3; i++) {
        npy_intp shape[1] = {(npy_intp)lists[i]->n};
        times[i] = (PyObject *)pd_array_copy(NPY_FLOAT64, 1, shape, found.times[i]);
    }
    PyObject *result =
        Py_BuildValue("(NNNNNN)", pairs_out(lists[0]), times[0], pairs_out(lists[1]), times[1], pairs_out(lists[2]), times[2]);
    pd_crossings_free(&found);
    return result;
#endif
}

PyDoc_STRVAR(contact_times_doc, "contact_times($module, x, n_first, /)\n--\n\n"
                                "Exact first contact of moving pairs, (m,); -1 where there is none. x (m,8,3): vertex and triangle\n"
                                "(n_first 1) or two edges (2) at time 0, then at time 1; (m,6,3): vertex and edge.");

static PyObject *contact_times(PyObject *module, PyObject *arguments) {
    PyObject *object;
    int n_first;
    if (!PyArg_ParseTuple(arguments, "Oi:contact_times", &object, &n_first)) return NULL;
    npy_intp shape[3] = {-1, -1, 3};
    PyArrayObject *x = pd_array_in(object, NPY_FLOAT64, 3, shape, "x");
    if (!x || pd_array_check_finite(x, "x") < 0) return NULL;
    npy_intp rows = PyArray_DIM(x, 1);
    if ((rows != 8 && rows != 6) || (n_first != 1 && n_first != 2) || (rows == 6 && n_first == 2))
        return PyErr_Format(PyExc_ValueError, "x: expected 8 rows a pair, or 6 with n_first = 1, got %zd", (Py_ssize_t)rows);
    UNLESS_GMP(module);
#ifdef PD_HAVE_GMP
    npy_intp n = PyArray_DIM(x, 0);
    PyArrayObject *out = pd_array_out(NPY_FLOAT64, 1, &n);
    if (!out) return NULL;
    double *times = PyArray_DATA(out);
    PyThreadState *thread = PyEval_SaveThread();
    pd_interruption interruption = {pd_signal_raised, &thread, 0.0, 0};
    for (npy_intp i = 0; i < n && !pd_interrupted(&interruption); i++) {
        const double *pair = doubles(x) + 3 * rows * i;
        times[i] = rows == 6 ? pd_vertex_edge_contact(pair) : n_first == 1 ? pd_vertex_triangle_contact(pair) : pd_edge_edge_contact(pair);
    }
    PyEval_RestoreThread(thread);
    pd_error error;
    pd_status status = pd_interruption_status(&interruption, &error);
    if (!status) return (PyObject *)out;
    Py_DECREF((PyObject *)out);
    return pd_raise(module, status, &error);
#endif
}

PyDoc_STRVAR(find_approaches_doc,
             "find_approaches($module, points_0, points_1, first, second, radii, separation, fixed, same, threads, /)\n--\n\n"
             "Pairs (k,2) of rows of first (n,1 or 2) and second (m,3 or 2) that come nearer than radii[first] + separation, or as near\n"
             "where the separation is 0, between two frames; when, (k,); and how near they are then, (k,) m, the radius taken off.\n"
             "fixed (points,) uint8: pairs of such vertices alone are left out. same: first and second are the same rows.");

/* The rows of one side of a pair. */
static const int *simplices_in(PyObject *module, PyObject *object, int *k, int *n, int n_points, const char *name) {
    npy_intp shape[2] = {-1, -1};
    PyArrayObject *array = pd_array_in(object, NPY_INT32, 2, shape, name);
    if (!array || (*n = pd_array_length(array, 0, name)) < 0 || (*k = pd_array_length(array, 1, name)) < 0) return NULL;
    return check_indices(module, ints(array), PyArray_SIZE(array), n_points, name) ? ints(array) : NULL;
}

static int approach_in(pd_approach_query *q, PyObject *module, PyObject *const arrays[6]) {
    int n_points;
    PyArrayObject *array = points_in(arrays[0], -1, "points_0");
    if (!array || (n_points = pd_array_length(array, 0, "points_0")) < 0) return 0;
    q->points[0] = doubles(array);
    if (!(array = points_in(arrays[1], n_points, "points_1"))) return 0;
    q->points[1] = doubles(array);
    if (!(q->first = simplices_in(module, arrays[2], &q->k_first, &q->n_first, n_points, "first"))) return 0;
    if (!(q->second = simplices_in(module, arrays[3], &q->k_second, &q->n_second, n_points, "second"))) return 0;
    if (!(q->k_first == 1 && (q->k_second == 2 || q->k_second == 3)) && !(q->k_first == 2 && q->k_second == 2)) {
        PyErr_Format(PyExc_ValueError, "second: expected rows of 2 or 3 beside rows of 1 in first, or of 2 beside 2, got %d beside %d",
                     q->k_second, q->k_first);
        return 0;
    }
    npy_intp shape[1] = {q->n_first};
    if (!(array = pd_array_in(arrays[4], NPY_FLOAT64, 1, shape, "radii"))) return 0;
    q->radii = doubles(array);
    if (!(q->separation >= 0.0 && isfinite(q->separation))) {
        PyErr_SetString(PyExc_ValueError, "separation: must be finite and at least 0");
        return 0;
    }
    for (int i = 0; i < q->n_first; i++) {
        if (q->radii[i] >= 0.0 && isfinite(q->radii[i]) && q->radii[i] + q->separation > 0.0) continue;
        PyErr_Format(PyExc_ValueError, "radii: must be finite and at least 0, and greater than 0 where the separation is 0, at row %d", i);
        return 0;
    }
    shape[0] = n_points;
    if (!(array = pd_array_in(arrays[5], NPY_UINT8, 1, shape, "fixed"))) return 0;
    q->fixed = PyArray_DATA(array);
    return 1;
}

static PyObject *find_approaches(PyObject *module, PyObject *arguments) {
    PyObject *arrays[6];
    int threads;
    pd_approach_query q = {.separation = 0.0};
    if (!PyArg_ParseTuple(arguments, "OOOOOdOpi:find_approaches", &arrays[0], &arrays[1], &arrays[2], &arrays[3], &arrays[4], &q.separation,
                          &arrays[5], &q.same, &threads))
        return NULL;
    if (!approach_in(&q, module, arrays)) return NULL;
    threads = pd_host_threads(threads);
    UNLESS_GMP(module);
#ifdef PD_HAVE_GMP
    pd_error error;
    pd_status status;
    pd_approaches found;
    PyThreadState *thread = PyEval_SaveThread();
    pd_interruption interruption = {pd_signal_raised, &thread, 0.0, 0};
    status = pd_approaches_find(&found, &q, threads, &interruption, &error);
    PyEval_RestoreThread(thread);
    if (status) return pd_raise(module, status, &error);
    npy_intp shape[1] = {(npy_intp)found.pairs.n};
    PyObject *result = Py_BuildValue("(NNN)", pairs_out(&found.pairs), pd_array_copy(NPY_FLOAT64, 1, shape, found.times),
                                     pd_array_copy(NPY_FLOAT64, 1, shape, found.distances));
    pd_approaches_free(&found);
    return result;
#endif
}

PyDoc_STRVAR(smallest_gap_doc, "smallest_gap($module, points, vertices, triangles, edges, alone, threads, /)\n--\n\n"
                               "(distance, kind, i, j) of the nearest pair without a common vertex; kind 0 none, 1 vertex and\n"
                               "triangle, 2 two edges, 3 vertex and edge of no triangle.");

static PyObject *smallest_gap(PyObject *module, PyObject *arguments) {
    PyObject *points, *vertices, *triangles, *edges, *alone;
    int threads;
    if (!PyArg_ParseTuple(arguments, "OOOOOi:smallest_gap", &points, &vertices, &triangles, &edges, &alone, &threads)) return NULL;
    scene s;
    if (!scene_in(&s, module, points, vertices, triangles, edges, alone, threads)) return NULL;
    pd_error error;
    pd_status status;
    pd_gap gap;
    PyThreadState *thread = PyEval_SaveThread();
    pd_interruption interruption = {pd_signal_raised, &thread, 0.0, 0};
    status = pd_smallest_gap(&gap, s.points, s.vertices, s.n_vertices, &s.simplices, s.threads, &interruption, &error);
    PyEval_RestoreThread(thread);
    if (status) return pd_raise(module, status, &error);
    return Py_BuildValue("(diii)", gap.distance, (int)gap.kind, gap.pair[0], gap.pair[1]);
}

PyMethodDef pd_host_intersection_methods[] = {
    {"find_intersections", METHOD(find_intersections), METH_VARARGS, find_intersections_doc},
    {"find_crossings", METHOD(find_crossings), METH_VARARGS, find_crossings_doc},
    {"find_approaches", METHOD(find_approaches), METH_VARARGS, find_approaches_doc},
    {"contact_times", METHOD(contact_times), METH_VARARGS, contact_times_doc},
    {"smallest_gap", METHOD(smallest_gap), METH_VARARGS, smallest_gap_doc},
    {NULL, NULL, 0, NULL},
};
