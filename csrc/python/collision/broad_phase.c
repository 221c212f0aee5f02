/* The type BroadPhase of a backend module: pairs of primitives whose boxes overlap (pdgpu.collision). */
#include "python/binding/backend_module.h"

#include "python/binding/errors.h"
#include "python/binding/instance.h"
#include "python/collision/broad_phase.h"

#include <limits.h>
#include <string.h>

static PyObject *raise_from(BroadPhaseObject *self, pd_status status) {
    return pd_raise_of((PyObject *)self, status, pd_context_error(self->context));
}

int pd_broad_phase_enter(BroadPhaseObject *self) {
    if (!pd_one_call_enter(&self->calls)) return 0;
    if (!self->simulation || pd_object_enter(self->simulation)) return 1;
    pd_one_call_leave(&self->calls);
    return 0;
}

void pd_broad_phase_leave(BroadPhaseObject *self) {
    if (self->simulation) pd_object_leave(self->simulation);
    pd_one_call_leave(&self->calls);
}

/* Corners (n,k) and tags (n,) of one kind, kept by the list. Returns 0 with an exception set. */
static int read_primitives(PyObject *corners_object, PyObject *tags_object, PyObject *kept, int kind, pd_broad_phase_description *d,
                           const char *name) {
    npy_intp shape[2] = {-1, kind + 1}, tag_shape[1];
    PyArrayObject *corners = pd_array_in_kept(kept, corners_object, NPY_INT32, 2, shape, name);
    if (!corners || (d->n[kind] = pd_array_length(corners, 0, name)) < 0) return 0;
    tag_shape[0] = d->n[kind];
    PyArrayObject *tags = pd_array_in_kept(kept, tags_object, NPY_INT32, 1, tag_shape, "tags");
    if (!tags) return 0;
    d->corners[kind] = PyArray_DATA(corners);
    d->tags[kind] = PyArray_DATA(tags);
    return pd_array_check_indices(corners, d->n_points, "points", name) == 0 && pd_array_check_range(tags, 0, INT_MAX, "tags") == 0;
}

static PyObject *create(PyTypeObject *type, PyObject *arguments, PyObject *keywords, PyObject *kept) {
    static char *names[] = {"method",    "rest",          "vertices", "edges",      "triangles", "vertex_tags",
                            "edge_tags", "triangle_tags", "threads",  "simulation", NULL};
    const pd_module_state *state = PyType_GetModuleState(type);
    PyObject *rest_object, *corners[PD_PRIMITIVE_KINDS], *tags[PD_PRIMITIVE_KINDS], *simulation = Py_None;
    pd_broad_phase_description d = {0};
    pd_error error = {0};
    int threads;
    memset(&d, 0, sizeof d);
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "iOOOOOOOi|O:BroadPhase", names, &d.method, &rest_object, &corners[PD_VERTICES],
                                     &corners[PD_EDGES], &corners[PD_TRIANGLES], &tags[PD_VERTICES], &tags[PD_EDGES], &tags[PD_TRIANGLES],
                                     &threads, &simulation))
        return NULL;
    if (simulation != Py_None && Py_TYPE(simulation) != state->simulation_type)
        return PyErr_Format(PyExc_TypeError, "simulation: expected one of this module, got %R", simulation);
    if (d.method < 0 || d.method >= PD_BROAD_PHASE_COUNT) return PyErr_Format(PyExc_ValueError, "method: %d is unknown", d.method);
    npy_intp shape[2] = {-1, 3};
    PyArrayObject *rest = pd_array_in_kept(kept, rest_object, PD_NPY_REAL, 2, shape, "rest");
    if (!rest || (d.n_points = pd_array_length(rest, 0, "rest")) < 0 || pd_check_coordinates(rest, "rest") < 0) return NULL;
    d.rest = PyArray_DATA(rest);
    static const char *kinds[PD_PRIMITIVE_KINDS] = {"vertices", "edges", "triangles"};
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++)
        if (!read_primitives(corners[kind], tags[kind], kept, kind, &d, kinds[kind])) return NULL;

    BroadPhaseObject *self = pd_instance_create(type);
    if (!self) return NULL;
    self->n_points = d.n_points;
    if (!pd_one_call_create(&self->calls, "broad phase")) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    pd_status status = PD_OK;
    if (simulation != Py_None) {
        self->simulation = (pd_simulation_object *)Py_NewRef(simulation);
        self->context = pd_simulation_context(self->simulation->core);
    } else
        status = pd_context_create(&self->context, (pd_place){state->device, threads}, &error);
    if (status) {
        Py_DECREF((PyObject *)self);
        return pd_raise(PyType_GetModule(type), status, &error);
    }
    if (!pd_broad_phase_enter(self)) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    size_t bytes = 3 * (size_t)d.n_points * sizeof(real) + 1;
    Py_BEGIN_ALLOW_THREADS status = pd_broad_phase_create(&self->core, self->context, &d);
    if (!status) status = pd_memory_create(self->context, (void **)&self->x_t0, bytes);
    if (!status) status = pd_memory_create(self->context, (void **)&self->x_t1, bytes);
    Py_END_ALLOW_THREADS pd_broad_phase_leave(self);
    if (status) {
        raise_from(self, status);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyObject *broad_phase_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    PyObject *kept = PyList_New(0), *result = kept ? create(type, arguments, keywords, kept) : NULL;
    Py_XDECREF(kept);
    return result;
}

static void broad_phase_dealloc(BroadPhaseObject *self) {
    if (self->context) {
        pd_broad_phase_destroy(self->core);
        pd_memory_destroy(self->context, self->x_t0);
        pd_memory_destroy(self->context, self->x_t1);
        pd_transfer_destroy(&self->transfer, self->context);
        pd_found_pairs_destroy(&self->found, self->context);
        if (!self->simulation) pd_context_destroy(self->context);
    }
    Py_XDECREF((PyObject *)self->simulation);
    pd_one_call_destroy(&self->calls);
    pd_instance_destroy(self);
}

PyObject *pd_pairs_arrays(BroadPhaseObject *self, const pd_pairs lists[2], pd_status *status) {
    PyArrayObject *arrays[2];
    size_t bytes = 0;
    for (int i = 0; i < 2; i++) {
        npy_intp shape[2] = {(npy_intp)lists[i].n, 2};
        arrays[i] = pd_array_out(NPY_INT32, 2, shape);
        bytes += 2 * lists[i].n * sizeof *lists[i].pairs;
    }
    if (arrays[0] && arrays[1]) {
        *status = pd_transfer_open(&self->transfer, self->context, bytes);
        for (int i = 0; i < 2 && !*status; i++)
            *status = pd_transfer_receive(&self->transfer, self->context, PyArray_DATA(arrays[i]), lists[i].pairs,
                                          (size_t)PyArray_NBYTES(arrays[i]));
        if (!*status) *status = pd_transfer_synchronise(&self->transfer, self->context);
        if (!*status) return Py_BuildValue("(NN)", arrays[0], arrays[1]);
    }
    Py_XDECREF((PyObject *)arrays[0]);
    Py_XDECREF((PyObject *)arrays[1]);
    return NULL;
}

static PyObject *broad_phase_find(BroadPhaseObject *self, PyObject *arguments) {
    PyObject *x_t0_object, *x_t1_object;
    pd_given_positions x_t0, x_t1;
    double margin;
    int rebuild;
    if (!PyArg_ParseTuple(arguments, "OOdp:find", &x_t0_object, &x_t1_object, &margin, &rebuild)) return NULL;
    if (!pd_read_positions(self, x_t0_object, "x_t0", &x_t0)) return NULL;
    int moves = x_t1_object != Py_None;
    if (moves && !pd_read_positions(self, x_t1_object, "x_t1", &x_t1)) return NULL;
    if (!pd_number_in_range(margin, 0.0, PD_LARGEST_COORDINATE, "margin")) return NULL;
    if (!pd_broad_phase_enter(self)) return NULL;
    pd_pairs lists[2];
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_put_positions(self, &x_t0, moves ? &x_t1 : NULL);
    if (!status) status = pd_broad_phase_find(self->core, self->x_t0, moves ? self->x_t1 : NULL, margin, rebuild, &lists[0], &lists[1]);
    Py_END_ALLOW_THREADS PyObject *arrays = status ? NULL : pd_pairs_arrays(self, lists, &status);
    pd_broad_phase_leave(self);
    return status ? raise_from(self, status) : arrays;
}

static PyObject *broad_phase_counts(BroadPhaseObject *self, PyObject *unused) {
    (void)unused;
    if (!pd_broad_phase_enter(self)) return NULL;
    pd_broad_phase_counts counts = pd_broad_phase_counted(self->core);
    pd_counts context = pd_context_counts(self->context);
    pd_broad_phase_leave(self);
    return Py_BuildValue("{sLsLsLsnsLsL}", "builds", counts.builds, "refits", counts.refits, "retries", counts.retries, "pair_capacity",
                         (Py_ssize_t)counts.pair_capacity, "waits", context.waits, "allocations", context.allocations);
}

static PyObject *broad_phase_seconds(BroadPhaseObject *self, PyObject *unused) {
    double structure, pairs;
    (void)unused;
    if (!pd_broad_phase_enter(self)) return NULL;
    pd_status status = pd_broad_phase_seconds(self->core, &structure, &pairs);
    pd_broad_phase_leave(self);
    return status ? raise_from(self, status) : Py_BuildValue("(dd)", structure, pairs);
}

static PyMethodDef broad_phase_methods[] = {
    {"find", (PyCFunction)broad_phase_find, METH_VARARGS,
     "find($self, x_t0, x_t1, margin, rebuild, /)\n--\n\n(vertex, triangle) and (edge, edge) pairs whose boxes, swept from x_t0 to x_t1 "
     "(or "
     "None) and widened by margin, overlap."},
    {"search", (PyCFunction)pd_call_search, METH_VARARGS,
     "search($self, x_t0, x_t1, margin, rebuild, /)\n--\n\nThe same, and the pairs stay: (search, vertex-triangle pairs, edge-edge pairs), "
     "a number that the four below take and how many there are. They are there until the next search."},
    {"pairs", (PyCFunction)pd_call_pairs, METH_VARARGS, "pairs($self, search, /)\n--\n\nThem, as find returns them."},
    {"earliest", (PyCFunction)pd_call_earliest, METH_VARARGS,
     "earliest($self, search, method, separation, /)\n--\n\nThe earliest time of impact of all of them, and its pair, as "
     "earliest_collision."},
    {"collisions", (PyCFunction)pd_call_collisions, METH_VARARGS,
     "collisions($self, search, kind, method, separation, /)\n--\n\nTime (n,), iterations (n,) int32 and reason (n,) uint8 of those of a "
     "kind, 2 vertex-triangle, 3 edge-edge, as DeviceArrays."},
    {"closest", (PyCFunction)pd_call_closest, METH_VARARGS,
     "closest($self, search, kind, /)\n--\n\nWeights (n,4), gap (n,3), normal (n,3), distance (n,) and feature (n,) int32 at x_t0, as "
     "DeviceArrays."},
    {"counts", (PyCFunction)broad_phase_counts, METH_NOARGS,
     "counts($self, /)\n--\n\nA dict: builds, refits, retries, pair_capacity, waits, allocations."},
    {"seconds", (PyCFunction)broad_phase_seconds, METH_NOARGS,
     "seconds($self, /)\n--\n\nOf the last search, by the device's clock: (structure, pairs)."},
    {NULL, NULL, 0, NULL},
};

PD_TYPE_SPEC(broad_phase, "BroadPhase", BroadPhaseObject,
             "Primitives and a structure that finds which of them may collide; pdgpu.collision has the class to use.");
