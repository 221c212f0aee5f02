/* Mesh functions of _host: check the arguments, call one function of csrc/mesh without the GIL, return arrays. */
#include "python/binding/arrays.h"

#include "mesh/colouring.h"
#include "mesh/curve_order.h"
#include "mesh/mass.h"
#include "mesh/measure.h"
#include "mesh/rest_shape.h"
#include "mesh/topology.h"
#include "mesh/validation.h"
#include "python/binding/errors.h"
#include "python/host/host_module.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

static const double *doubles(PyArrayObject *array) { return (const double *)PyArray_DATA(array); }

static const int *ints(PyArrayObject *array) { return (const int *)PyArray_DATA(array); }

/* (n,3) float64, finite. Sets *n to its length. Borrowed reference or NULL. */
static PyArrayObject *points_in(PyObject *module, PyObject *object, int *n) {
    static const npy_intp shape[2] = {-1, 3};
    PyArrayObject *array = pd_array_in(object, NPY_FLOAT64, 2, shape, "points");
    if (!array || (*n = pd_array_length(array, 0, "points")) < 0) return NULL;
    pd_error error;
    pd_status status = pd_points_check(doubles(array), *n, "points", &error);
    if (status) pd_raise(module, status, &error);
    return status ? NULL : array;
}

/* (m,k) int32 with k from k_minimum to k_maximum, as a copy that no other thread can change between the check and the use. NEW reference
 * or NULL. */
static PyArrayObject *elements_in(PyObject *object, int k_minimum, int k_maximum, int *m, int *k, const char *name) {
    npy_intp shape[2] = {-1, k_minimum == k_maximum ? k_minimum : -1};
    PyArrayObject *array = pd_array_in_private(object, NPY_INT32, 2, shape, name);
    if (!array) return NULL;
    npy_intp width = PyArray_DIM(array, 1);
    if (width < k_minimum || width > k_maximum)
        PyErr_Format(PyExc_ValueError, "%s: expected %d to %d vertices per row, got %zd", name, k_minimum, k_maximum, (Py_ssize_t)width);
    else if ((*m = pd_array_length(array, 0, name)) >= 0) {
        *k = (int)width;
        return array;
    }
    Py_DECREF((PyObject *)array);
    return NULL;
}

/* Checks a number of points given as an integer. */
static int check_n_points(Py_ssize_t n_points) {
    if (n_points >= 0 && n_points <= INT_MAX) return 1;
    PyErr_Format(PyExc_ValueError, "n_points: %zd is not between 0 and %d", n_points, INT_MAX);
    return 0;
}

/* Copies C memory of (n,k) int32 into a new array and frees it. */
static PyObject *rows_out(int *rows, int n, int k) {
    npy_intp shape[2] = {n, k};
    PyArrayObject *array = pd_array_copy(NPY_INT32, 2, shape, rows);
    free(rows);
    return (PyObject *)array;
}

PyDoc_STRVAR(check_elements_doc, "check_elements($module, /, points, elements, name='elements')\n--\n\n"
                                 "Raise ValueError unless every coordinate of points (n,3) is finite, every index of elements\n"
                                 "(m,k), k from 1 to 4, is in range, and no row repeats a vertex. `name` is used in the message.");

static PyObject *check_elements(PyObject *module, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"points", "elements", "name", NULL};
    PyObject *points_object, *elements_object;
    const char *name = "elements";
    int n, m, k;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO|s:check_elements", names, &points_object, &elements_object, &name))
        return NULL;
    PyArrayObject *points = points_in(module, points_object, &n);
    PyArrayObject *elements = points ? elements_in(elements_object, 1, 4, &m, &k, name) : NULL;
    if (!elements) return NULL;

    pd_error error;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_elements_check(ints(elements), m, k, n, name, &error);
    Py_END_ALLOW_THREADS Py_DECREF((PyObject *)elements);
    if (status) return pd_raise(module, status, &error);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(orient_tets_doc, "orient_tets($module, /, points, tets)\n--\n\n"
                              "A copy of tets (m,4) with every volume positive, and how many had to be flipped. A negative tet\n"
                              "gets its last two vertices swapped; one of zero volume raises ValueError.");

static PyObject *orient_tets(PyObject *module, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"points", "tets", NULL};
    PyObject *points_object, *tets_object;
    int n, m, k, n_flipped = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO:orient_tets", names, &points_object, &tets_object)) return NULL;
    PyArrayObject *points = points_in(module, points_object, &n);
    PyArrayObject *oriented = points ? elements_in(tets_object, 4, 4, &m, &k, "tets") : NULL;
    if (!oriented) return NULL;

    pd_error error;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_elements_check(ints(oriented), m, k, n, "tets", &error);
    if (!status) status = pd_tets_orient(PyArray_DATA(oriented), &n_flipped, doubles(points), m, &error);
    Py_END_ALLOW_THREADS if (status) {
        Py_DECREF(oriented);
        return pd_raise(module, status, &error);
    }
    return Py_BuildValue("(Ni)", oriented, n_flipped);
}

PyDoc_STRVAR(surface_doc, "surface($module, /, tets, n_points)\n--\n\n"
                          "The triangles (t,3) of only one tet of tets (m,4), outward where that tet is positive, in the order\n"
                          "of the tets. ValueError where three tets share a triangle.");

static PyObject *surface(PyObject *module, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"tets", "n_points", NULL};
    PyObject *tets_object;
    Py_ssize_t n_points;
    int m, k, n_triangles, *triangles;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "On:surface", names, &tets_object, &n_points)) return NULL;
    PyArrayObject *tets = check_n_points(n_points) ? elements_in(tets_object, 4, 4, &m, &k, "tets") : NULL;
    if (!tets) return NULL;

    pd_error error;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_boundary_create(&triangles, &n_triangles, ints(tets), m, (int)n_points, &error);
    Py_END_ALLOW_THREADS Py_DECREF((PyObject *)tets);
    return status ? pd_raise(module, status, &error) : rows_out(triangles, n_triangles, 3);
}

PyDoc_STRVAR(edges_doc, "edges($module, /, elements, n_points)\n--\n\n"
                        "The unique edges (e,2) of elements (m,k), k = 2, 3 or 4: every pair of vertices in a row, i < j,\n"
                        "sorted.");

static PyObject *edges(PyObject *module, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"elements", "n_points", NULL};
    PyObject *elements_object;
    Py_ssize_t n_points;
    int m, k, n_edges, *rows;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "On:edges", names, &elements_object, &n_points)) return NULL;
    PyArrayObject *elements = check_n_points(n_points) ? elements_in(elements_object, 2, 4, &m, &k, "elements") : NULL;
    if (!elements) return NULL;

    pd_error error;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_edges_create(&rows, &n_edges, ints(elements), m, k, (int)n_points, &error);
    Py_END_ALLOW_THREADS Py_DECREF((PyObject *)elements);
    return status ? pd_raise(module, status, &error) : rows_out(rows, n_edges, 2);
}

PyDoc_STRVAR(hinges_doc, "hinges($module, /, triangles, n_points)\n--\n\n"
                         "The hinges (h,4) of triangles (m,3): for every interior edge its vertices x0 < x1 and the wings, x2 in\n"
                         "the triangle that runs x0 -> x1, x3 in the other. ValueError where more than 64 triangles share an edge.");

static PyObject *hinges(PyObject *module, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"triangles", "n_points", NULL};
    PyObject *triangles_object;
    Py_ssize_t n_points;
    int m, k, n_hinges, *rows;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "On:hinges", names, &triangles_object, &n_points)) return NULL;
    PyArrayObject *triangles = check_n_points(n_points) ? elements_in(triangles_object, 3, 3, &m, &k, "triangles") : NULL;
    if (!triangles) return NULL;

    pd_error error;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_hinges_create(&rows, &n_hinges, ints(triangles), m, (int)n_points, &error);
    Py_END_ALLOW_THREADS Py_DECREF((PyObject *)triangles);
    return status ? pd_raise(module, status, &error) : rows_out(rows, n_hinges, 4);
}

PyDoc_STRVAR(measures_doc, "measures($module, /, points, elements)\n--\n\n"
                           "Length (k = 2), area (3) or signed volume (4) of every row of elements (m,k).");

static PyObject *measures(PyObject *module, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"points", "elements", NULL};
    PyObject *points_object, *elements_object;
    int n, m, k;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO:measures", names, &points_object, &elements_object)) return NULL;
    PyArrayObject *points = points_in(module, points_object, &n);
    PyArrayObject *elements = points ? elements_in(elements_object, 2, 4, &m, &k, "elements") : NULL;
    PyArrayObject *result = elements ? pd_array_out(NPY_FLOAT64, 1, PyArray_DIMS(elements)) : NULL;
    if (!result) {
        Py_XDECREF((PyObject *)elements);
        return NULL;
    }

    pd_error error;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_elements_check(ints(elements), m, k, n, "elements", &error);
    if (!status) pd_measures(PyArray_DATA(result), doubles(points), ints(elements), m, k);
    Py_END_ALLOW_THREADS Py_DECREF((PyObject *)elements);
    if (status) {
        Py_DECREF(result);
        return pd_raise(module, status, &error);
    }
    return (PyObject *)result;
}

PyDoc_STRVAR(lumped_masses_doc, "lumped_masses($module, /, points, elements, density)\n--\n\n"
                                "Masses (n,) in kg: density (m,) times length, area or volume of each row of elements (m,k), in equal\n"
                                "parts to its vertices.");

static PyObject *lumped_masses(PyObject *module, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"points", "elements", "density", NULL};
    PyObject *points_object, *elements_object, *density_object;
    int n, m, k;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO:lumped_masses", names, &points_object, &elements_object, &density_object))
        return NULL;
    PyArrayObject *points = points_in(module, points_object, &n);
    PyArrayObject *elements = points ? elements_in(elements_object, 2, 4, &m, &k, "elements") : NULL;
    PyArrayObject *density = elements ? pd_array_in(density_object, NPY_FLOAT64, 1, PyArray_DIMS(elements), "density") : NULL;
    PyArrayObject *masses = density ? pd_array_out(NPY_FLOAT64, 1, PyArray_DIMS(points)) : NULL;
    if (!masses) {
        Py_XDECREF((PyObject *)elements);
        return NULL;
    }

    pd_error error;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_elements_check(ints(elements), m, k, n, "elements", &error);
    if (!status) status = pd_lumped_masses(PyArray_DATA(masses), doubles(points), ints(elements), doubles(density), n, m, k, &error);
    Py_END_ALLOW_THREADS Py_DECREF((PyObject *)elements);
    if (status) {
        Py_DECREF(masses);
        return pd_raise(module, status, &error);
    }
    return (PyObject *)masses;
}

PyDoc_STRVAR(colouring_doc, "colouring($module, /, elements, n_points, method='balanced')\n--\n\n"
                            "Colours (n_points,) int32 such that no two vertices of one row of elements (m,k) agree. method 'greedy':\n"
                            "ascending vertex, smallest free colour; 'balanced': the same number of colours, sizes nearly equal.");

static PyObject *colouring(PyObject *module, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"elements", "n_points", "method", NULL};
    PyObject *elements_object;
    Py_ssize_t n_points;
    const char *method_name = "balanced";
    int m, k, n_colours;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "On|s:colouring", names, &elements_object, &n_points, &method_name)) return NULL;
    if (!check_n_points(n_points)) return NULL;
    pd_colouring method = PD_COLOURING_BALANCED;
    if (strcmp(method_name, "greedy") == 0)
        method = PD_COLOURING_GREEDY;
    else if (strcmp(method_name, "balanced") != 0)
        return PyErr_Format(PyExc_ValueError, "method: '%s' is neither 'greedy' nor 'balanced'", method_name);
    PyArrayObject *elements = elements_in(elements_object, 1, 4, &m, &k, "elements");
    npy_intp shape[1] = {n_points};
    PyArrayObject *colours = elements ? pd_array_out(NPY_INT32, 1, shape) : NULL;
    if (!colours) {
        Py_XDECREF((PyObject *)elements);
        return NULL;
    }

    pd_error error;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status =
        pd_colouring_create(PyArray_DATA(colours), &n_colours, ints(elements), m, k, (int)n_points, method, &error);
    Py_END_ALLOW_THREADS Py_DECREF((PyObject *)elements);
    if (status) {
        Py_DECREF(colours);
        return pd_raise(module, status, &error);
    }
    return (PyObject *)colours;
}

PyDoc_STRVAR(curve_order_doc, "curve_order($module, /, points)\n--\n\n"
                              "The points (n,3) along a Morton curve through their bounding cube: order (n,) int32.");

static PyObject *curve_order(PyObject *module, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"points", NULL};
    PyObject *points_object;
    int n;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:curve_order", names, &points_object)) return NULL;
    PyArrayObject *points = points_in(module, points_object, &n);
    PyArrayObject *order = points ? pd_array_out(NPY_INT32, 1, PyArray_DIMS(points)) : NULL;
    if (!order) return NULL;

    pd_error error;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_curve_order(PyArray_DATA(order), doubles(points), n, &error);
    Py_END_ALLOW_THREADS if (status) {
        Py_DECREF(order);
        return pd_raise(module, status, &error);
    }
    return (PyObject *)order;
}

PyDoc_STRVAR(rest_shape_doc,
             "rest_shape($module, /, rest, topology, rows=None)\n--\n\n"
             "Rest gradients (m,k-1,d) and measures (m,) of elements with rest positions rest (m,k,3), or with corners rows\n"
             "(m,k) of points rest (n,3). topology: 'edge' (k 2, d 1), 'triangle' (3, 2), 'tet' (4, 3), 'hinge' (4, 1) or 'joint' (3, 1).\n"
             "ValueError for a degenerate row.");

static PyObject *rest_shape(PyObject *module, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"rest", "topology", "rows", NULL};
    static const char *const topology_names[] = {"edge", "triangle", "tet", "hinge", "joint"};
    static const pd_topology topologies[] = {PD_TOPOLOGY_EDGE, PD_TOPOLOGY_TRIANGLE, PD_TOPOLOGY_TET, PD_TOPOLOGY_HINGE, PD_TOPOLOGY_JOINT};
    enum { N = sizeof topologies / sizeof *topologies };
    PyObject *rest_object, *rows_object = Py_None;
    PyArrayObject *rest, *rows = NULL;
    const char *topology_name;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "Os|O:rest_shape", names, &rest_object, &topology_name, &rows_object))
        return NULL;
    int which = 0, k, d, m, n = 0;
    while (which < N && strcmp(topology_name, topology_names[which]) != 0) which++;
    if (which == N) return PyErr_Format(PyExc_ValueError, "topology: '%s' is none of edge, triangle, tet, hinge, joint", topology_name);
    pd_topology_shape(topologies[which], &k, &d);

    pd_error error;
    pd_status status = PD_OK;
    if (rows_object == Py_None) {
        npy_intp expected[3] = {-1, k, 3};
        rest = pd_array_in(rest_object, NPY_FLOAT64, 3, expected, "rest");
        m = rest ? pd_array_length(rest, 0, "rest") : -1;
        if (m < 0) return NULL;
    } else {
        rest = points_in(module, rest_object, &n);
        rows = rest ? elements_in(rows_object, k, k, &m, &k, "rows") : NULL;
        if (!rows) return NULL;
        status = pd_elements_check(ints(rows), m, k, n, "rows", &error);
        if (status) {
            Py_DECREF((PyObject *)rows);
            return pd_raise(module, status, &error);
        }
    }
    npy_intp gradients_shape[3] = {m, k - 1, d};
    PyArrayObject *gradients = pd_array_out(NPY_FLOAT64, 3, gradients_shape);
    PyArrayObject *measure = gradients ? pd_array_out(NPY_FLOAT64, 1, gradients_shape) : NULL;
    if (!measure) {
        Py_XDECREF((PyObject *)gradients);
        Py_XDECREF((PyObject *)rows);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = pd_rest_shapes(PyArray_DATA(gradients), PyArray_DATA(measure), doubles(rest), rows ? ints(rows) : NULL,
                                                   m, topologies[which], &error);
    Py_END_ALLOW_THREADS Py_XDECREF((PyObject *)rows);
    if (status) {
        Py_DECREF(gradients);
        Py_DECREF(measure);
        return pd_raise(module, status, &error);
    }
    return Py_BuildValue("(NN)", gradients, measure);
}

PyDoc_STRVAR(hinge_rest_doc,
             "hinge_rest($module, /, rest)\n--\n\n"
             "Angles (m,) rad, squares of their derivatives by the edges (m,) 1/m^2, and smaller heights (m,) m of hinges with\n"
             "rest positions rest (m,4,3). ValueError for triangles that are folded onto each other.");

static PyObject *hinge_rest(PyObject *module, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"rest", NULL};
    npy_intp shape[3] = {-1, 4, 3};
    PyObject *rest_object;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:hinge_rest", names, &rest_object)) return NULL;
    PyArrayObject *rest = pd_array_in(rest_object, NPY_FLOAT64, 3, shape, "rest"), *out[3] = {NULL, NULL, NULL};
    int m = rest ? pd_array_length(rest, 0, "rest") : -1;
    for (int i = 0; m >= 0 && i < 3; i++)
        if (!(out[i] = pd_array_out(NPY_FLOAT64, 1, PyArray_DIMS(rest)))) m = -1;

    pd_error error;
    pd_status status = PD_OK;
    if (m >= 0) {
        Py_BEGIN_ALLOW_THREADS status =
            pd_hinge_rests(PyArray_DATA(out[0]), PyArray_DATA(out[1]), PyArray_DATA(out[2]), doubles(rest), m, &error);
        Py_END_ALLOW_THREADS
    }
    if (m >= 0 && !status) return Py_BuildValue("(NNN)", out[0], out[1], out[2]);
    for (int i = 0; i < 3; i++) Py_XDECREF((PyObject *)out[i]);
    return m < 0 ? NULL : pd_raise(module, status, &error);
}

PyMethodDef pd_host_mesh_methods[] = {
    {"check_elements", METHOD(check_elements), METH_VARARGS | METH_KEYWORDS, check_elements_doc},
    {"orient_tets", METHOD(orient_tets), METH_VARARGS | METH_KEYWORDS, orient_tets_doc},
    {"surface", METHOD(surface), METH_VARARGS | METH_KEYWORDS, surface_doc},
    {"edges", METHOD(edges), METH_VARARGS | METH_KEYWORDS, edges_doc},
    {"hinges", METHOD(hinges), METH_VARARGS | METH_KEYWORDS, hinges_doc},
    {"measures", METHOD(measures), METH_VARARGS | METH_KEYWORDS, measures_doc},
    {"lumped_masses", METHOD(lumped_masses), METH_VARARGS | METH_KEYWORDS, lumped_masses_doc},
    {"colouring", METHOD(colouring), METH_VARARGS | METH_KEYWORDS, colouring_doc},
    {"curve_order", METHOD(curve_order), METH_VARARGS | METH_KEYWORDS, curve_order_doc},
    {"rest_shape", METHOD(rest_shape), METH_VARARGS | METH_KEYWORDS, rest_shape_doc},
    {"hinge_rest", METHOD(hinge_rest), METH_VARARGS | METH_KEYWORDS, hinge_rest_doc},
    {NULL, NULL, 0, NULL},
};
