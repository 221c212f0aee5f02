/* The state of a simulation: arrays in and out, shared memory, and the number of completed steps. */
#include "python/binding/device_array.h"
#include "python/simulation/simulation_object.h"

typedef struct {
    real *positions, *velocities, *previous;
    int has_previous;
} state_copies;

static pd_status copy_state(pd_simulation *core, const void *given, void *out) {
    (void)given;
    state_copies *copies = out;
    copies->has_previous = pd_simulation_has_previous(core);
    return pd_simulation_get_state(core, copies->positions, copies->velocities, copies->previous);
}

PyObject *pd_call_state(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    PyArrayObject *x = pd_object_new_vectors(self), *v = pd_object_new_vectors(self), *previous = pd_object_new_vectors(self);
    PyObject *result = NULL;
    if (x && v && previous) {
        state_copies copies = {PyArray_DATA(x), PyArray_DATA(v), PyArray_DATA(previous), 0};
        if (pd_object_call(self, copy_state, NULL, &copies))
            result = Py_BuildValue("{sOsOsO}", "positions", x, "velocities", v, "previous_velocities",
                                   copies.has_previous ? (PyObject *)previous : Py_None);
    }
    Py_XDECREF((PyObject *)x);
    Py_XDECREF((PyObject *)v);
    Py_XDECREF((PyObject *)previous);
    return result;
}

/* One of the arrays, without the transfer of the others. */
static pd_status copy_positions(pd_simulation *core, const void *given, void *out) {
    (void)given;
    return pd_simulation_get_state(core, out, NULL, NULL);
}

static pd_status copy_velocities(pd_simulation *core, const void *given, void *out) {
    (void)given;
    return pd_simulation_get_state(core, NULL, out, NULL);
}

PyObject *pd_call_positions(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    return pd_object_fill(self, copy_positions, NULL, pd_object_new_vectors(self));
}

PyObject *pd_call_velocities(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    return pd_object_fill(self, copy_velocities, NULL, pd_object_new_vectors(self));
}

/* NULL for absent arguments. */
typedef struct {
    const real *positions, *velocities, *previous;
} given_state;

static pd_status set_state(pd_simulation *core, const void *given, void *out) {
    (void)out;
    const given_state *state = given;
    return pd_simulation_set_state(core, state->positions, state->velocities, state->previous);
}

PyObject *pd_call_set_state(pd_simulation_object *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"positions", "velocities", "previous_velocities", NULL};
    PyObject *objects[3];
    given_state state;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO:set_state", names, &objects[0], &objects[1], &objects[2])) return NULL;
    if (!pd_object_read_vectors(self, objects[0], "positions", &state.positions) ||
        !pd_object_read_vectors(self, objects[1], "velocities", &state.velocities) ||
        !pd_object_read_vectors(self, objects[2], "previous_velocities", &state.previous) || !pd_object_call(self, set_state, &state, NULL))
        return NULL;
    Py_RETURN_NONE;
}

static pd_status set_load(pd_simulation *core, const void *load, void *out) {
    (void)out;
    return pd_simulation_set_load(core, load);
}

PyObject *pd_call_set_load(pd_simulation_object *self, PyObject *object) {
    const real *load;
    if (!pd_object_read_vectors(self, object, "load", &load)) return NULL;
    if (!load) return PyErr_Format(PyExc_TypeError, "load: expected an array");
    if (!pd_object_call(self, set_load, load, NULL)) return NULL;
    Py_RETURN_NONE;
}

typedef struct {
    int first, n;
    const real *rows;
} given_targets;

static pd_status set_targets(pd_simulation *core, const void *given, void *out) {
    (void)out;
    const given_targets *targets = given;
    return pd_simulation_set_targets(core, targets->first, targets->n, targets->rows);
}

static pd_status set_attachments(pd_simulation *core, const void *given, void *out) {
    (void)out;
    const given_targets *targets = given;
    return pd_simulation_set_attachments(core, targets->first, targets->n, targets->rows);
}

/* (first, rows) for one of the two, rows of `width` numbers. */
static PyObject *call_with_rows(pd_simulation_object *self, PyObject *arguments, npy_intp width, const char *name,
                                pd_status (*set)(pd_simulation *, const void *, void *)) {
    PyObject *object;
    PyArrayObject *array;
    given_targets targets;
    npy_intp shape[2] = {-1, width};
    if (!PyArg_ParseTuple(arguments, "iO", &targets.first, &object) || !(array = pd_array_in_private(object, PD_NPY_REAL, 2, shape, name)))
        return NULL;
    int done = pd_array_check_finite(array, name) >= 0 && (targets.n = pd_array_length(array, 0, name)) >= 0;
    targets.rows = PyArray_DATA(array);
    done = done && pd_object_call(self, set, &targets, NULL);
    Py_DECREF((PyObject *)array);
    if (!done) return NULL;
    Py_RETURN_NONE;
}

PyObject *pd_call_set_targets(pd_simulation_object *self, PyObject *arguments) {
    return call_with_rows(self, arguments, 6, "stretches", set_targets);
}

PyObject *pd_call_set_attachments(pd_simulation_object *self, PyObject *arguments) {
    return call_with_rows(self, arguments, 3, "targets", set_attachments);
}

/* ---- backend memory --------------------------------------------------------------------------------------------------------- */

static pd_status wait_for_all(pd_simulation *core, const void *given, void *out) {
    (void)given;
    (void)out;
    return pd_simulation_synchronise(core);
}

static int settle(PyObject *object) { return pd_object_call((pd_simulation_object *)object, wait_for_all, NULL, NULL); }

typedef struct {
    const void *source;
    size_t bytes;
} wanted_bytes;

static pd_status download_bytes(pd_simulation *core, const void *given, void *out) {
    const wanted_bytes *wanted = given;
    return pd_memory_download(pd_simulation_context(core), out, wanted->source, wanted->bytes);
}

static int download(PyObject *object, void *target, const void *source, size_t bytes) {
    const wanted_bytes wanted = {source, bytes};
    return pd_object_call((pd_simulation_object *)object, download_bytes, &wanted, target);
}

static const pd_memory_owner simulation_memory = {settle, download};

static PyObject *device_array(pd_simulation_object *self, int velocities) {
    real *x, *v;
    if (!pd_object_enter(self)) return NULL;
    pd_simulation_share(self->core, &x, &v);
    pd_object_leave(self);
    pd_module_state *state = PyModule_GetState(PyType_GetModule(Py_TYPE((PyObject *)self)));
    const pd_device_memory memory = {.owner = (PyObject *)self,
                                     .calls = &simulation_memory,
                                     .location = pd_simulation_location(self->core),
                                     .data = velocities ? v : x,
                                     .type = PD_NPY_REAL,
                                     .n_dimensions = 2,
                                     .shape = {pd_simulation_n_vertices(self->core), 3}};
    return pd_device_array_create(state->device_array_type, &memory);
}

PyObject *pd_call_device_positions(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    return device_array(self, 0);
}

PyObject *pd_call_device_velocities(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    return device_array(self, 1);
}

PyObject *pd_call_counts(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    return pd_build_counts(pd_simulation_counts(self->core));
}

PyObject *pd_call_refusal(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    const char *text = pd_simulation_refusal(self->core);
    if (!text[0]) Py_RETURN_NONE;
    return PyUnicode_FromString(text);
}

PyObject *pd_call_steps(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromLongLong(self->steps);
}

PyObject *pd_call_set_steps(pd_simulation_object *self, PyObject *object) {
    long long steps = PyLong_AsLongLong(object);
    if (steps == -1 && PyErr_Occurred()) return NULL;
    if (steps < 0) return PyErr_Format(PyExc_ValueError, "steps: must not be negative, got %lld", steps);
    if (steps == 0) pd_simulation_count_set_up(self->core); // as after trial steps of rho="auto"
    self->steps = steps;
    Py_RETURN_NONE;
}
