/* Batches of pairs of primitives: closest points, derivatives of the distance, its lower bound, the mollifier, times of impact. Also
 * points close to a collider. */
#include "python/binding/backend_module.h"

#include "geometry/collider.h"
#include "geometry/collision.h"
#include "python/batches/mirror.h"
#include "python/binding/errors.h"

#include <float.h>
#include <limits.h>

typedef struct pair_call {
    int loop, kind, quantity, n, n_edge_edge, index; /* quantity: or the method */
    real separation, time;
    double seconds; /* of the loop, by the device's clock */
    pd_collider collider;
} pair_call;

enum { LOOP_CLOSEST, LOOP_PAIR, LOOP_MOLLIFIER, LOOP_TIMES, LOOP_EARLIEST, LOOP_COLLIDER };

/* Runs a loop on the mirrored arrays without the GIL. */
static pd_status run_loop(pair_call *call, pd_mirror *mirror, pd_workspace *space, pd_place place, pd_error *error) {
    void **m = mirror->memory, *extra = NULL; /* extra: a collider, or the earliest collision */
    pd_status status = pd_workspace_open(space, place, error);
    if (status) return status;
    pd_context *context = space->context;
    status = pd_mirror_upload(space, mirror);
    if (!status) status = pd_mark(context, PD_MARK_BEGIN);
    if (!status) switch (call->loop) {
        case LOOP_CLOSEST: status = pd_pair_closest_batch(context, call->kind, call->n, m[0], m[1], m[2], m[3], m[4], m[5]); break;
        case LOOP_PAIR: status = pd_pair_batch(context, call->kind, call->quantity, call->n, m[0], m[1]); break;
        case LOOP_MOLLIFIER: status = pd_mollifier_batch(context, call->n, m[0], m[1], m[2], m[3], m[4]); break;
        case LOOP_TIMES:
            status = pd_collision_times(context, call->kind, call->quantity, call->n, m[0], m[1], m[2], call->separation, m[3], m[4], m[5]);
            break;
        case LOOP_COLLIDER:
            call->collider.grid.values = m[1];
            status = pd_workspace_memory(space, PD_WORKSPACE_EXTRA, sizeof call->collider, &extra);
            if (!status) status = pd_memory_upload(context, extra, &call->collider, sizeof call->collider);
            if (!status) status = pd_collider_batch(context, extra, call->n, m[0], m[2], m[3], m[4], m[5]);
            break;
        default:
            status = pd_workspace_memory(space, PD_WORKSPACE_EXTRA, sizeof(pd_earliest), &extra);
            if (!status) status = pd_earliest_begin(context, 1, extra);
            if (!status)
                status = pd_earliest_collision(context, PD_VERTEX_TRIANGLE, call->quantity, call->n, NULL, m[0], m[1], m[2],
                                               call->separation, NULL, 0, extra);
            if (!status)
                status = pd_earliest_collision(context, PD_EDGE_EDGE, call->quantity, call->n_edge_edge, NULL, m[0], m[1], m[3],
                                               call->separation, NULL, call->n, extra);
            if (!status) status = pd_earliest_read(context, extra, &call->time, &call->index);
        }
    if (!status) status = pd_mark(context, PD_MARK_END);
    if (!status) status = pd_mirror_finish(space, mirror);
    if (!status) status = pd_marked_seconds(context, PD_MARK_BEGIN, PD_MARK_END, &call->seconds);
    if (status) *error = *pd_context_error(context);
    return status;
}

/* Runs the loop and returns 0. On failure releases the results, raises and returns -1. */
static int run(PyObject *module, pair_call *call, pd_mirror *mirror, int threads) {
    pd_module_state *state = PyModule_GetState(module);
    pd_error error = {0};
    pd_status status = PD_OK;
    int complete = 1;
    for (int i = mirror->n_in; i < mirror->n_arrays; i++) complete = complete && (mirror->arrays[i] || call->loop == LOOP_MOLLIFIER);
    if (complete) {
        pd_workspace space = pd_workspace_take(&state->workspace);
        pd_place place = {state->device, threads};
        Py_BEGIN_ALLOW_THREADS status = run_loop(call, mirror, &space, place, &error);
        Py_END_ALLOW_THREADS pd_workspace_leave(&state->workspace, &space, status);
    }
    if (complete && !status) {
        state->loop_seconds = call->seconds;
        return 0;
    }
    for (int i = mirror->n_in; i < mirror->n_arrays; i++) Py_CLEAR(mirror->arrays[i]);
    if (status) pd_raise(module, status, &error);
    return -1;
}

static int check_kind(int kind, int first) {
    if (kind >= first && kind < PD_PAIR_COUNT) return 0;
    PyErr_Format(PyExc_ValueError, "kind: %d is not a kind of pair", kind);
    return -1;
}

/* Reads x (n,k,3) of this module's precision. Returns n, or -1 with an exception. */
static int read_pairs(PyObject *object, int corners, PyArrayObject **x, const char *name) {
    npy_intp shape[3] = {-1, corners, 3};
    *x = pd_array_in(object, PD_NPY_REAL, 3, shape, name);
    return *x && pd_array_check_finite(*x, name) == 0 ? pd_array_length(*x, 0, name) : -1;
}

static PyObject *pair_closest(PyObject *module, PyObject *arguments) {
    int kind, threads;
    PyObject *x_object;
    PyArrayObject *x;
    if (!PyArg_ParseTuple(arguments, "iOi:pair_closest", &kind, &x_object, &threads)) return NULL;
    if (check_kind(kind, 0) < 0) return NULL;
    int k = pd_pair_corners(kind), n = read_pairs(x_object, k, &x, "x");
    if (n < 0) return NULL;
    npy_intp per_corner[2] = {n, k}, vectors[2] = {n, 3}, scalars[1] = {n};
    pd_mirror mirror = {.n_arrays = 6, .n_in = 1, .arrays = {x}};
    mirror.arrays[1] = pd_array_out(PD_NPY_REAL, 2, per_corner);
    mirror.arrays[2] = pd_array_out(PD_NPY_REAL, 2, vectors);
    mirror.arrays[3] = pd_array_out(PD_NPY_REAL, 2, vectors);
    mirror.arrays[4] = pd_array_out(PD_NPY_REAL, 1, scalars);
    mirror.arrays[5] = pd_array_out(NPY_INT32, 1, scalars);
    pair_call call = {.loop = LOOP_CLOSEST, .kind = kind, .n = n};
    if (run(module, &call, &mirror, threads) < 0) return NULL;
    return Py_BuildValue("(NNNNN)", mirror.arrays[1], mirror.arrays[2], mirror.arrays[3], mirror.arrays[4], mirror.arrays[5]);
}

static PyObject *pair_batch(PyObject *module, PyObject *arguments) {
    int kind, quantity, threads;
    PyObject *x_object;
    PyArrayObject *x;
    if (!PyArg_ParseTuple(arguments, "iiOi:pair_batch", &kind, &quantity, &x_object, &threads)) return NULL;
    if (check_kind(kind, 0) < 0) return NULL;
    if (quantity < 0 || quantity > PD_PAIR_BOUND) return PyErr_Format(PyExc_ValueError, "quantity: %d is unknown", quantity);
    int k = pd_pair_corners(kind), n = read_pairs(x_object, k, &x, "x");
    if (n < 0) return NULL;
    npy_intp shape[3] = {n, k, 3};
    int dimensions = quantity == PD_PAIR_BOUND ? 1 : 3;
    if (quantity == PD_PAIR_HESSIAN || quantity == PD_PAIR_HESSIAN_SQUARED) shape[1] = shape[2] = 3 * k;
    pd_mirror mirror = {.n_arrays = 2, .n_in = 1, .arrays = {x, pd_array_out(PD_NPY_REAL, dimensions, shape)}};
    pair_call call = {.loop = LOOP_PAIR, .kind = kind, .quantity = quantity, .n = n};
    if (run(module, &call, &mirror, threads) < 0) return NULL;
    return (PyObject *)mirror.arrays[1];
}

static PyObject *mollifier(PyObject *module, PyObject *arguments) {
    int derivatives, threads;
    PyObject *x_object, *rest_object;
    PyArrayObject *x, *rest;
    if (!PyArg_ParseTuple(arguments, "OOii:mollifier", &x_object, &rest_object, &derivatives, &threads)) return NULL;
    int n = read_pairs(x_object, 4, &x, "x");
    if (n < 0) return NULL;
    npy_intp rest_shape[3] = {n, 4, 3}, scalars[1] = {n}, matrices[3] = {n, 12, 12};
    rest = pd_array_in(rest_object, PD_NPY_REAL, 3, rest_shape, "rest");
    if (!rest || pd_array_check_finite(rest, "rest") < 0) return NULL;
    pd_mirror mirror = {.n_arrays = 5, .n_in = 2, .arrays = {x, rest, pd_array_out(PD_NPY_REAL, 1, scalars)}};
    int complete = mirror.arrays[2] != NULL;
    if (complete && derivatives) {
        mirror.arrays[3] = pd_array_out(PD_NPY_REAL, 3, rest_shape);
        mirror.arrays[4] = pd_array_out(PD_NPY_REAL, 3, matrices);
        complete = mirror.arrays[3] && mirror.arrays[4];
    }
    pair_call call = {.loop = LOOP_MOLLIFIER, .n = n};
    if (!complete) {
        for (int i = 2; i < 5; i++) Py_CLEAR(mirror.arrays[i]);
        return NULL;
    }
    if (run(module, &call, &mirror, threads) < 0) return NULL;
    if (!derivatives) return (PyObject *)mirror.arrays[2];
    return Py_BuildValue("(NNN)", mirror.arrays[2], mirror.arrays[3], mirror.arrays[4]);
}

/* Reads the arguments of both collision loops: method, positions and separation. Returns 0, or -1 with an exception. */
static int read_motion(PyObject *x_t0, PyObject *x_t1, double separation, pair_call *call, pd_mirror *mirror) {
    npy_intp shape[2] = {-1, 3};
    if (call->quantity < 0 || call->quantity >= PD_CCD_COUNT) {
        PyErr_Format(PyExc_ValueError, "method: %d is unknown", call->quantity);
        return -1;
    }
    if (!pd_number_in_range(separation, 0.0, DBL_MAX, "separation")) return -1;
    call->separation = (real)separation;
    if (!(mirror->arrays[0] = pd_array_in(x_t0, PD_NPY_REAL, 2, shape, "x_t0"))) return -1;
    shape[0] = PyArray_DIM(mirror->arrays[0], 0);
    if (!(mirror->arrays[1] = pd_array_in(x_t1, PD_NPY_REAL, 2, shape, "x_t1"))) return -1;
    return pd_array_check_finite(mirror->arrays[0], "x_t0") < 0 || pd_array_check_finite(mirror->arrays[1], "x_t1") < 0 ? -1 : 0;
}

/* Rows of x_t0, four per pair, copied and then checked, so that other threads cannot change them. Returns the number of pairs and a NEW
 * reference, or -1 with an exception and *array = NULL. */
static int read_corners(PyObject *corners, const pd_mirror *mirror, PyArrayObject **array, const char *name) {
    npy_intp n_points = PyArray_DIM(mirror->arrays[0], 0), shape[2] = {-1, 4};
    if (!(*array = pd_array_in_private(corners, NPY_INT32, 2, shape, name))) return -1;
    int n = pd_array_length(*array, 0, name), least = 0, most = -1;
    if (n < 0) goto failed;
    const int *rows = PyArray_DATA(*array);
    for (npy_intp i = 0; i < 4 * (npy_intp)n; i++) {
        least = rows[i] < least ? rows[i] : least;
        most = rows[i] > most ? rows[i] : most;
    }
    for (npy_intp i = 0; (least < 0 || most >= n_points) && i < 4 * (npy_intp)n; i++)
        if (rows[i] < 0 || rows[i] >= n_points) {
            PyErr_Format(PyExc_ValueError, "%s: index %d at (%zd, %d) is out of range for %zd points", name, rows[i], (Py_ssize_t)(i / 4),
                         (int)(i % 4), (Py_ssize_t)n_points);
            goto failed;
        }
    return n;

failed:
    Py_CLEAR(*array);
    return -1;
}

static PyObject *collision_times(PyObject *module, PyObject *arguments) {
    int threads;
    double separation;
    PyObject *x_t0, *x_t1, *corners;
    pair_call call = {.loop = LOOP_TIMES};
    pd_mirror mirror = {.n_arrays = 6, .n_in = 3};
    if (!PyArg_ParseTuple(arguments, "iiOOOdi:collision_times", &call.kind, &call.quantity, &x_t0, &x_t1, &corners, &separation, &threads))
        return NULL;
    if (check_kind(call.kind, PD_VERTEX_TRIANGLE) < 0 || read_motion(x_t0, x_t1, separation, &call, &mirror) < 0) return NULL;
    if (corners != Py_None) {
        const char *name = call.kind == PD_EDGE_EDGE ? "edge_edge" : "vertex_triangle";
        if ((call.n = read_corners(corners, &mirror, &mirror.arrays[2], name)) < 0) return NULL;
    } else {
        npy_intp rows = PyArray_DIM(mirror.arrays[0], 0);
        if (rows % 4 || rows / 4 > INT_MAX)
            return PyErr_Format(PyExc_ValueError, "x_t0: expected four rows for each pair, got %zd rows", (Py_ssize_t)rows);
        call.n = (int)(rows / 4);
    }
    npy_intp scalars[1] = {call.n};
    mirror.arrays[3] = pd_array_out(PD_NPY_REAL, 1, scalars);
    mirror.arrays[4] = pd_array_out(NPY_INT32, 1, scalars);
    mirror.arrays[5] = pd_array_out(NPY_UINT8, 1, scalars);
    int failed = run(module, &call, &mirror, threads) < 0;
    Py_XDECREF((PyObject *)mirror.arrays[2]);
    if (failed) return NULL;
    return Py_BuildValue("(NNN)", mirror.arrays[3], mirror.arrays[4], mirror.arrays[5]);
}

static PyObject *earliest_collision(PyObject *module, PyObject *arguments) {
    int threads, failed = 1;
    double separation;
    PyObject *x_t0, *x_t1, *vertex_triangle, *edge_edge;
    pair_call call = {.loop = LOOP_EARLIEST, .index = -1};
    pd_mirror mirror = {.n_arrays = 4, .n_in = 4};
    if (!PyArg_ParseTuple(arguments, "iOOOOdi:earliest_collision", &call.quantity, &x_t0, &x_t1, &vertex_triangle, &edge_edge, &separation,
                          &threads))
        return NULL;
    if (read_motion(x_t0, x_t1, separation, &call, &mirror) < 0) return NULL;
    if ((call.n = read_corners(vertex_triangle, &mirror, &mirror.arrays[2], "vertex_triangle")) < 0) return NULL;
    if ((call.n_edge_edge = read_corners(edge_edge, &mirror, &mirror.arrays[3], "edge_edge")) < 0) goto done;
    if (call.n > INT_MAX - call.n_edge_edge) {
        PyErr_Format(PyExc_ValueError, "edge_edge: %d pairs and %d of the other list are more than can be numbered", call.n_edge_edge,
                     call.n);
        goto done;
    }
    failed = run(module, &call, &mirror, threads) < 0;
done:
    Py_XDECREF((PyObject *)mirror.arrays[2]);
    Py_XDECREF((PyObject *)mirror.arrays[3]);
    return failed ? NULL : Py_BuildValue("(di)", (double)call.time, call.index);
}

int pd_read_collider(int shape, PyObject *frame_object, PyObject *size_object, double spacing, PyObject *values_object,
                     pd_collider *collider, PyArrayObject **values) {
    npy_intp frame_shape[2] = {4, 3}, size_shape[1] = {4}, grid_shape[3] = {-1, -1, -1};
    *values = NULL;
    if (shape < 0 || shape >= PD_COLLIDER_COUNT) {
        PyErr_Format(PyExc_ValueError, "shape: %d is unknown", shape);
        return -1;
    }
    PyArrayObject *frame = pd_array_in(frame_object, NPY_FLOAT64, 2, frame_shape, "frame");
    PyArrayObject *size = frame ? pd_array_in(size_object, NPY_FLOAT64, 1, size_shape, "size") : NULL;
    if (!size || pd_array_in_or_none(values, values_object, PD_NPY_REAL, 3, grid_shape, "values") < 0) return -1;
    if (*values && pd_check_coordinates(*values, "values") < 0) return -1;
    if (pd_array_check_range(frame, -PD_LARGEST_COORDINATE, PD_LARGEST_COORDINATE, "frame") < 0 ||
        pd_array_check_range(size, -PD_LARGEST_COORDINATE, PD_LARGEST_COORDINATE, "size") < 0)
        return -1;
    const double *rows = PyArray_DATA(frame), *numbers = PyArray_DATA(size);
    collider->shape = shape;
    for (int i = 0; i < 9; i++) collider->rotation[i] = (real)rows[i];
    for (int i = 0; i < 3; i++) collider->translation[i] = (real)rows[9 + i];
    for (int i = 0; i < 4; i++) collider->size[i] = (real)numbers[i];
    if ((shape == PD_DISTANCE_GRID) != (*values != NULL)) {
        PyErr_SetString(PyExc_ValueError, "values: a grid needs them, and only a grid takes them");
        return -1;
    }
    if (shape != PD_DISTANCE_GRID) return 0;
    collider->grid.spacing = (real)spacing;
    collider->grid.part = collider->size[0] != 0;
    if (!pd_number_in_range(spacing, sizeof(real) == sizeof(float) ? (double)FLT_MIN : DBL_MIN, PD_LARGEST_COORDINATE, "spacing"))
        return -1;
    for (int i = 0; i < 3; i++) {
        collider->grid.n[i] = pd_array_length(*values, i, "values");
        if (collider->grid.n[i] < 0) return -1;
        if (collider->grid.n[i] < 2) {
            PyErr_Format(PyExc_ValueError, "values: expected at least 2 nodes along axis %d, got %d", i, collider->grid.n[i]);
            return -1;
        }
    }
    return 0;
}

static PyObject *collider_query(PyObject *module, PyObject *arguments) {
    int shape, threads;
    double spacing;
    PyObject *frame, *size, *values, *x_object;
    npy_intp vectors[2] = {-1, 3};
    pair_call call = {.loop = LOOP_COLLIDER};
    pd_mirror mirror = {.n_arrays = 6, .n_in = 2};
    if (!PyArg_ParseTuple(arguments, "iOOdOOi:collider_query", &shape, &frame, &size, &spacing, &values, &x_object, &threads)) return NULL;
    if (pd_read_collider(shape, frame, size, spacing, values, &call.collider, &mirror.arrays[1]) < 0) return NULL;
    if (!(mirror.arrays[0] = pd_array_in(x_object, PD_NPY_REAL, 2, vectors, "x"))) return NULL;
    if ((call.n = pd_array_length(mirror.arrays[0], 0, "x")) < 0) return NULL;
    if (pd_check_coordinates(mirror.arrays[0], "x") < 0) return NULL;
    vectors[0] = call.n;
    mirror.arrays[2] = pd_array_out(PD_NPY_REAL, 1, vectors);
    for (int i = 3; i < 6; i++) mirror.arrays[i] = pd_array_out(PD_NPY_REAL, 2, vectors);
    if (run(module, &call, &mirror, threads) < 0) return NULL;
    return Py_BuildValue("(NNNN)", mirror.arrays[2], mirror.arrays[3], mirror.arrays[4], mirror.arrays[5]);
}

static PyObject *loop_seconds(PyObject *module, PyObject *unused) {
    (void)unused;
    return PyFloat_FromDouble(((pd_module_state *)PyModule_GetState(module))->loop_seconds);
}

PyMethodDef pd_geometry_methods[] = {
    {"loop_seconds", loop_seconds, METH_NOARGS,
     "loop_seconds($module, /)\n--\n\nOf the last batch of pairs, without copies, by the device's clock; for measurements."},
    {"pair_closest", pair_closest, METH_VARARGS,
     "pair_closest($module, kind, x, threads, /)\n--\n\n"
     "Weights (n,k), gap (n,3), normal (n,3), distance (n,) and feature (n,) int32 of n pairs (0 vertex-vertex, 1 vertex-edge,\n"
     "2 vertex-triangle, 3 edge-edge); x (n,k,3) of this module's precision."},
    {"pair_batch", pair_batch, METH_VARARGS,
     "pair_batch($module, kind, quantity, x, threads, /)\n--\n\n"
     "One quantity of n pairs: 0 gradient of the distance, 1 of its square, 2 Hessian of the distance, 3 of its square, 4 lower bound."},
    {"mollifier", mollifier, METH_VARARGS,
     "mollifier($module, x, rest, derivatives, threads, /)\n--\n\n"
     "The mollifier (n,) of n pairs of edges; with derivatives also its gradient (n,4,3) and Hessian (n,12,12)."},
    {"collision_times", collision_times, METH_VARARGS,
     "collision_times($module, kind, method, x_t0, x_t1, corners, separation, threads, /)\n--\n\n"
     "Time (n,), iterations (n,) int32 and reason (n,) uint8 of n moving pairs; method 0 certified, 1 min_gradient, 2 additive.\n"
     "x_t0, x_t1 (m,3); corners (n,4) int32 rows of them, or None: four rows after the other are a pair."},
    {"earliest_collision", earliest_collision, METH_VARARGS,
     "earliest_collision($module, method, x_t0, x_t1, vertex_triangle, edge_edge, separation, threads, /)\n--\n\n"
     "The earliest time and its pair's number, those of edge_edge behind those of vertex_triangle, or 1 and -1. Corners as of\n"
     "collision_times."},
    {"collider_query", collider_query, METH_VARARGS,
     "collider_query($module, shape, frame, size, spacing, values, x, threads, /)\n--\n\n"
     "Signed distance (n,), gradient (n,3), normal (n,3) and closest point (n,3) of x (n,3); shape 0 plane, 1 sphere, 2 capsule,\n"
     "3 cuboid, 4 grid; frame (4,3) float64: rotation, translation; size (4,) float64; values (i,j,k) of a grid, else None."},
    {NULL, NULL, 0, NULL},
};
