/* The type Proximity of a backend module: pairs within a distance (pdgpu.simulation.contacts, pdgpu.collision). It uses a BroadPhase,
 * its context and its memory, while no other call on it is running. */
#include "python/collision/broad_phase.h"

#include "contact/detection/proximity.h"
#include "python/binding/errors.h"
#include "python/binding/instance.h"

#include <limits.h>

typedef struct {
    PyObject_HEAD BroadPhaseObject *phase;
    pd_surface *surface;
    pd_colliders *colliders;
    pd_proximity *core;
    real *x; /* B [n_vertices,3] */
} ProximityObject;

static PyObject *raise_from(ProximityObject *self, pd_status status) {
    return pd_raise_of((PyObject *)self, status, pd_context_error(self->phase->context));
}

/* Rows and weights (n,4) of the points that follow vertices. Both None: points are vertices. Returns 0 with an exception set. */
static int read_weights(PyObject *rows_object, PyObject *weights_object, PyObject *kept, pd_surface_description *d) {
    npy_intp shape[2] = {-1, 4};
    d->n_embedded = d->n_vertices;
    if (rows_object == Py_None && weights_object == Py_None) {
        if (d->n_vertices <= d->n_points) return 1;
        PyErr_Format(PyExc_ValueError, "n_vertices: %d vertices are more than %d points", d->n_vertices, d->n_points);
        return 0;
    }
    PyArrayObject *rows = pd_array_in_kept(kept, rows_object, NPY_INT32, 2, shape, "rows");
    if (!rows || (d->n_embedded = pd_array_length(rows, 0, "rows")) < 0) return 0;
    if (d->n_embedded > d->n_points) {
        PyErr_Format(PyExc_ValueError, "rows: %d rows are more than %d points", d->n_embedded, d->n_points);
        return 0;
    }
    shape[0] = d->n_embedded;
    PyArrayObject *weights = pd_array_in_kept(kept, weights_object, PD_NPY_REAL, 2, shape, "weights");
    if (!weights || pd_array_check_range(rows, -1, d->n_vertices - 1, "rows") < 0) return 0;
    if (pd_array_check_range(weights, -PD_LARGEST_WEIGHT, PD_LARGEST_WEIGHT, "weights") < 0) return 0;
    d->rows = PyArray_DATA(rows);
    d->weights = PyArray_DATA(weights);
    return 1;
}

static PyObject *create(PyTypeObject *type, PyObject *arguments, PyObject *keywords, PyObject *kept) {
    static char *names[] = {"phase", "n_vertices", "owner", "tested", "collider_owner", "rows", "weights", NULL};
    PyTypeObject *phase_type = ((pd_module_state *)PyType_GetModuleState(type))->broad_phase_type;
    PyObject *phase_object, *owner_object, *tested_object, *collider_owner_object, *rows = Py_None, *weights = Py_None;
    pd_surface_description d = {0};
    npy_intp shape[1] = {-1};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!iOOO|OO:Proximity", names, phase_type, &phase_object, &d.n_vertices,
                                     &owner_object, &tested_object, &collider_owner_object, &rows, &weights))
        return NULL;
    BroadPhaseObject *phase = (BroadPhaseObject *)phase_object;
    d.n_points = phase->n_points;
    if (!pd_number_in_range(d.n_vertices, 0, INT_MAX, "n_vertices") || !read_weights(rows, weights, kept, &d)) return NULL;
    PyArrayObject *tested = pd_array_in_kept(kept, tested_object, NPY_INT32, 1, shape, "tested");
    PyArrayObject *collider_owner = tested ? pd_array_in_kept(kept, collider_owner_object, NPY_INT32, 1, shape, "collider_owner") : NULL;
    shape[0] = d.n_points;
    PyArrayObject *owner = collider_owner ? pd_array_in_kept(kept, owner_object, NPY_INT32, 1, shape, "owner") : NULL;
    if (!owner || pd_array_check_indices(tested, d.n_points, "points", "tested") < 0) return NULL;
    int n_tested = pd_array_length(tested, 0, "tested"), n_colliders = pd_array_length(collider_owner, 0, "collider_owner");
    if (n_tested < 0 || n_colliders < 0) return NULL;
    d.owner = PyArray_DATA(owner);

    ProximityObject *self = pd_instance_create(type);
    if (!self) return NULL;
    self->phase = (BroadPhaseObject *)Py_NewRef(phase_object);
    if (!pd_broad_phase_enter(phase)) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    pd_status status;
    pd_context *context = phase->context;
    const int *points = PyArray_DATA(tested), *owners = PyArray_DATA(collider_owner);
    Py_BEGIN_ALLOW_THREADS status = pd_surface_create(&self->surface, context, &d);
    if (!status) status = pd_colliders_create(&self->colliders, context, n_colliders);
    if (!status) status = pd_memory_create(context, (void **)&self->x, 3 * (size_t)d.n_vertices * sizeof(real) + 1);
    if (!status) status = pd_proximity_create(&self->core, context, phase->core, self->surface, self->colliders, points, n_tested, owners);
    Py_END_ALLOW_THREADS pd_broad_phase_leave(phase);
    if (status) {
        raise_from(self, status);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyObject *proximity_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    PyObject *kept = PyList_New(0), *result = kept ? create(type, arguments, keywords, kept) : NULL;
    Py_XDECREF(kept);
    return result;
}

static void proximity_dealloc(ProximityObject *self) {
    if (self->phase) {
        pd_proximity_destroy(self->core);
        pd_colliders_destroy(self->colliders);
        pd_surface_destroy(self->surface);
        pd_memory_destroy(self->phase->context, self->x);
        Py_DECREF((PyObject *)self->phase);
    }
    pd_instance_destroy(self);
}

static PyObject *proximity_set_collider(ProximityObject *self, PyObject *arguments) {
    int which, shape;
    double spacing;
    PyObject *frame, *size, *values_object;
    PyArrayObject *values;
    pd_collider collider = {0};
    if (!PyArg_ParseTuple(arguments, "iiOOdO:set_collider", &which, &shape, &frame, &size, &spacing, &values_object)) return NULL;
    if (which < 0 || which >= self->colliders->n)
        return PyErr_Format(PyExc_ValueError, "which: %d is out of range for %d colliders", which, self->colliders->n);
    if (pd_read_collider(shape, frame, size, spacing, values_object, &collider, &values) < 0) return NULL;
    if (!pd_broad_phase_enter(self->phase)) return NULL;
    pd_status status = pd_colliders_set(self->colliders, which, &collider, values ? PyArray_DATA(values) : NULL);
    pd_broad_phase_leave(self->phase);
    if (status) return raise_from(self, status);
    Py_RETURN_NONE;
}

/* Positions (n,3) of vertices (x; NULL for None, those of the simulation) and of prescribed points. No point that follows x may exceed the
 * largest coordinate. Returns 0 with an exception set. */
static int read_positions(ProximityObject *self, PyObject *x_object, PyObject *prescribed_object, const real **x, const real **prescribed) {
    const pd_surface *surface = self->surface;
    const pd_simulation_object *simulation = self->phase->simulation;
    npy_intp shape[2] = {surface->n_vertices, 3};
    double most = surface->rows ? PD_LARGEST_COORDINATE / (4.0 * PD_LARGEST_WEIGHT) : PD_LARGEST_COORDINATE;
    PyArrayObject *array;
    *x = NULL;
    if (x_object != Py_None) {
        array = pd_array_in(x_object, PD_NPY_REAL, 2, shape, "x");
        if (!array || pd_array_check_range(array, -most, most, "x") < 0) return 0;
        *x = PyArray_DATA(array);
    } else if (!simulation || pd_simulation_n_vertices(simulation->core) != surface->n_vertices) {
        PyErr_Format(PyExc_ValueError, "x: None is for the %d vertices of the simulation that a broad phase works on", surface->n_vertices);
        return 0;
    }
    shape[0] = surface->n_points - surface->n_embedded;
    array = pd_array_in(prescribed_object, PD_NPY_REAL, 2, shape, "driven");
    if (!array || pd_check_coordinates(array, "driven") < 0) return 0;
    *prescribed = PyArray_DATA(array);
    return 1;
}

static pd_status place(ProximityObject *self, const real *x, const real *prescribed) {
    pd_status status = pd_surface_drive(self->surface, prescribed);
    if (status) return status;
    if (!x) return pd_surface_place(self->surface, pd_simulation_positions(self->phase->simulation->core));
    status = pd_memory_upload(self->phase->context, self->x, x, 3 * (size_t)self->surface->n_vertices * sizeof(real));
    return status ? status : pd_surface_place(self->surface, self->x);
}

static PyObject *proximity_update(ProximityObject *self, PyObject *arguments) {
    PyObject *x_object, *prescribed_object;
    double minimum, maximum;
    int searched = 0;
    if (!PyArg_ParseTuple(arguments, "OOdd:update", &x_object, &prescribed_object, &minimum, &maximum)) return NULL;
    if (x_object == Py_None) return PyErr_Format(PyExc_TypeError, "x: a list that is kept needs positions, got None");
    const real *x, *prescribed;
    if (!read_positions(self, x_object, prescribed_object, &x, &prescribed)) return NULL;
    if (!pd_number_in_range(maximum, 0.0, 2.0 * PD_LARGEST_COORDINATE, "maximum")) return NULL;
    if (!pd_number_in_range(minimum, 0.0, maximum, "minimum")) return NULL;
    if (!pd_broad_phase_enter(self->phase)) return NULL;
    pd_status status;
    pd_pairs lists[2];
    PyObject *arrays = NULL;
    Py_BEGIN_ALLOW_THREADS status = place(self, x, prescribed);
    if (!status) status = pd_proximity_update(self->core, minimum, maximum, &searched);
    Py_END_ALLOW_THREADS pd_proximity_pairs(self->core, &lists[0], &lists[1]);
    if (!status && searched) arrays = pd_pairs_arrays(self->phase, lists, &status);
    double range = pd_proximity_range(self->core);
    pd_broad_phase_leave(self->phase);
    if (!status && !searched) return Py_BuildValue("(dO)", range, Py_None);
    if (arrays) return Py_BuildValue("(dN)", range, arrays);
    return status ? raise_from(self, status) : NULL;
}

/* The pairs found, in a dictionary of columns. Called with the broad phase entered. NULL: *status has the failure, or an exception is
 * set. */
static PyObject *found(ProximityObject *self, const real *x, const real *prescribed, double distance, int unique, pd_status *status) {
    size_t n = 0;
    PyObject *columns = PyDict_New();
    real *positions = columns ? pd_array_column(columns, "positions", PD_NPY_REAL, self->surface->n_points, 3, 0) : NULL;
    if (!positions) {
        Py_XDECREF(columns);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS *status = place(self, x, prescribed);
    if (!*status)
        *status =
            pd_memory_download(self->phase->context, positions, self->surface->points, 3 * (size_t)self->surface->n_points * sizeof(real));
    Py_END_ALLOW_THREADS if (*status ||
                             pd_check_coordinates((PyArrayObject *)PyDict_GetItemString(columns, "positions"), "positions") < 0) {
        Py_DECREF(columns);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS *status = pd_proximity_search(self->core, distance);
    if (!*status) *status = pd_proximity_activate(self->core, distance);
    if (!*status) *status = pd_proximity_choose(self->core, unique, &n);
    Py_END_ALLOW_THREADS npy_intp rows = (npy_intp)n;
    pd_contact_measures out = {0};
    int complete = !*status && (out.kind = pd_array_column(columns, "kind", NPY_UINT8, rows, 0, 0)) &&
                   (out.feature = pd_array_column(columns, "feature", NPY_UINT8, rows, 0, 0)) &&
                   (out.points = pd_array_column(columns, "vertices", NPY_INT32, rows, 4, 0)) &&
                   (out.weights = pd_array_column(columns, "weights", PD_NPY_REAL, rows, 4, 0)) &&
                   (out.distance = pd_array_column(columns, "distance", PD_NPY_REAL, rows, 0, 0)) &&
                   (out.normal = pd_array_column(columns, "normal", PD_NPY_REAL, rows, 3, 0)) &&
                   (out.closest = pd_array_column(columns, "points", PD_NPY_REAL, rows, 2, 3)) &&
                   (out.bodies = pd_array_column(columns, "bodies", NPY_INT32, rows, 2, 0));
    if (complete) {
        Py_BEGIN_ALLOW_THREADS *status = pd_proximity_measure(self->core, &out);
        Py_END_ALLOW_THREADS
    }
    if (complete && !*status) return columns;
    Py_DECREF(columns);
    return NULL;
}

static PyObject *proximity_find(ProximityObject *self, PyObject *arguments) {
    PyObject *x_object, *prescribed_object;
    double distance;
    int unique;
    pd_status status = PD_OK;
    if (!PyArg_ParseTuple(arguments, "OOdp:find", &x_object, &prescribed_object, &distance, &unique)) return NULL;
    const real *x, *prescribed;
    if (!read_positions(self, x_object, prescribed_object, &x, &prescribed)) return NULL;
    if (!pd_number_in_range(distance, 0.0, PD_LARGEST_COORDINATE, "distance")) return NULL;
    if (!pd_broad_phase_enter(self->phase)) return NULL;
    PyObject *columns = found(self, x, prescribed, distance, unique, &status);
    pd_broad_phase_leave(self->phase);
    return status ? raise_from(self, status) : columns;
}

static PyObject *proximity_active(ProximityObject *self, PyObject *unused) {
    size_t n;
    pd_status status = PD_OK;
    (void)unused;
    PyObject *columns = PyDict_New();
    if (!columns || !pd_broad_phase_enter(self->phase)) {
        Py_XDECREF(columns);
        return NULL;
    }
    const pd_active_pairs *active = pd_proximity_active(self->core, &n);
    pd_context *context = self->phase->context;
    void *kind = pd_array_column(columns, "kind", NPY_INT32, (npy_intp)n, 0, 0);
    void *points = kind ? pd_array_column(columns, "points", NPY_INT32, (npy_intp)n, 4, 0) : NULL;
    void *key = points ? pd_array_column(columns, "key", NPY_UINT64, (npy_intp)n, 0, 0) : NULL;
    if (key) status = pd_memory_download(context, kind, active->kind, n * sizeof *active->kind);
    if (key && !status) status = pd_memory_download(context, points, active->points, 4 * n * sizeof *active->points);
    if (key && !status) status = pd_memory_download(context, key, active->key, n * sizeof *active->key);
    pd_broad_phase_leave(self->phase);
    if (key && !status) return columns;
    Py_DECREF(columns);
    return status ? raise_from(self, status) : NULL;
}

static PyObject *proximity_incidence(ProximityObject *self, PyObject *unused) {
    size_t n;
    pd_incidence incidence;
    pd_status status;
    PyObject *result = NULL;
    (void)unused;
    if (!pd_broad_phase_enter(self->phase)) return NULL;
    (void)pd_proximity_active(self->core, &n);
    pd_context *context = self->phase->context;
    npy_intp n_starts[1] = {(npy_intp)self->surface->n_points + 1}, n_roles[1] = {0};
    PyArrayObject *start = pd_array_out(NPY_INT32, 1, n_starts), *roles = NULL;
    status = start ? pd_proximity_incidence(self->core, NULL, &incidence) : PD_OK;
    if (start && !status) status = pd_memory_download(context, PyArray_DATA(start), incidence.start, (size_t)PyArray_NBYTES(start));
    if (start && !status) {
        n_roles[0] = ((int *)PyArray_DATA(start))[self->surface->n_points];
        roles = pd_array_out(NPY_INT32, 1, n_roles);
    }
    if (roles) status = pd_memory_download(context, PyArray_DATA(roles), incidence.roles, (size_t)PyArray_NBYTES(roles));
    pd_broad_phase_leave(self->phase);
    if (status) raise_from(self, status);
    if (roles && !status) result = Py_BuildValue("(OO)", start, roles);
    Py_XDECREF((PyObject *)start);
    Py_XDECREF((PyObject *)roles);
    return result;
}

static PyObject *proximity_counts(ProximityObject *self, PyObject *unused) {
    size_t n;
    (void)unused;
    if (!pd_broad_phase_enter(self->phase)) return NULL;
    const pd_active_pairs *active = pd_proximity_active(self->core, &n);
    long long revision = pd_proximity_revision(self->core);
    pd_broad_phase_leave(self->phase);
    return Py_BuildValue("{s:n,s:n,s:L}", "active", (Py_ssize_t)n, "capacity", (Py_ssize_t)active->capacity, "revision", revision);
}

static PyMethodDef proximity_methods[] = {
    {"set_collider", (PyCFunction)proximity_set_collider, METH_VARARGS,
     "set_collider($self, which, shape, frame, size, spacing, values, /)\n--\n\nShape and place of a collider; arguments as of "
     "collider_query."},
    {"update", (PyCFunction)proximity_update, METH_VARARGS,
     "update($self, x, driven, minimum, maximum, /)\n--\n\n(reach, None), or after a search (reach, ((vertex, triangle), (edge, edge)))."},
    {"find", (PyCFunction)proximity_find, METH_VARARGS,
     "find($self, x, driven, distance, unique, /)\n--\n\nColumns of the pairs at most a distance apart, and the positions of all points."},
    {"active", (PyCFunction)proximity_active, METH_NOARGS,
     "active($self, /)\n--\n\nColumns of the active pairs of the last find, as they lie in backend memory: kind, points, key."},
    {"incidence", (PyCFunction)proximity_incidence, METH_NOARGS,
     "incidence($self, /)\n--\n\n(start, roles) of the active pairs: those of point i are roles[start[i]:start[i+1]], 4 pair + corner."},
    {"counts", (PyCFunction)proximity_counts, METH_NOARGS,
     "counts($self, /)\n--\n\nActive pairs, the capacity for them, and how often a list has moved."},
    {NULL, NULL, 0, NULL},
};

PD_TYPE_SPEC(proximity, "Proximity", ProximityObject,
             "Points over a broad phase, colliders, and which of them are near each other; pdgpu.Contacts and pdgpu.collision use it.");
