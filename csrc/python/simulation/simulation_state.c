/* The state of a simulation: arrays in and out, shared memory, and the number of completed steps. */
#include "python/binding/device_array.h"
#include "python/simulation/simulation_object.h"

/* The arrays of a state, in the order of their names. */
enum { POSITIONS, VELOCITIES, PREVIOUS, SLOPES, RATES, ARRAYS };

typedef struct {
    real *arrays[ARRAYS];
    int has[ARRAYS];
} state_copies;

static pd_status copy_state(pd_simulation *core, const void *given, void *out) {
    (void)given;
    state_copies *copies = out;
    real **to = copies->arrays;
    copies->has[POSITIONS] = copies->has[VELOCITIES] = 1;
    copies->has[PREVIOUS] = pd_simulation_has_previous(core);
    copies->has[SLOPES] = pd_simulation_history(core) == 2;
    copies->has[RATES] = pd_simulation_history(core) > 0;
    pd_status status = pd_simulation_get_state(core, to[POSITIONS], to[VELOCITIES], to[PREVIOUS]);
    return status ? status
                  : pd_simulation_get_history(core, copies->has[SLOPES] ? to[SLOPES] : NULL, copies->has[RATES] ? to[RATES] : NULL);
}

PyObject *pd_call_state(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    PyObject *arrays[ARRAYS] = {NULL}, *given[ARRAYS], *result = NULL;
    state_copies copies;
    int made = 1;
    for (int i = 0; i < ARRAYS && made; i++) {
        PyArrayObject *array = pd_object_new_vectors(self);
        arrays[i] = (PyObject *)array;
        made = array != NULL;
        copies.arrays[i] = array ? PyArray_DATA(array) : NULL;
    }
    if (made && pd_object_call(self, copy_state, NULL, &copies)) {
        for (int i = 0; i < ARRAYS; i++) given[i] = copies.has[i] ? arrays[i] : Py_None;
        result = Py_BuildValue("{sOsOsOsOsO}", "positions", given[POSITIONS], "velocities", given[VELOCITIES], "previous_velocities",
                               given[PREVIOUS], "slopes", given[SLOPES], "rates", given[RATES]);
    }
    for (int i = 0; i < ARRAYS; i++) Py_XDECREF(arrays[i]);
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

/* [ARRAYS], NULL for absent arguments. */
static pd_status set_state(pd_simulation *core, const void *given, void *out) {
    (void)out;
    const real *const *arrays = given;
    pd_status status = pd_simulation_set_state(core, arrays[POSITIONS], arrays[VELOCITIES], arrays[PREVIOUS]);
    if (status || (!arrays[SLOPES] && !arrays[RATES])) return status;
    return pd_simulation_set_history(core, arrays[SLOPES], arrays[RATES]);
}

PyObject *pd_call_set_state(pd_simulation_object *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"positions", "velocities", "previous_velocities", "slopes", "rates", NULL};
    PyObject *objects[ARRAYS] = {NULL, NULL, NULL, Py_None, Py_None};
    const real *arrays[ARRAYS];
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO|OO:set_state", names, &objects[0], &objects[1], &objects[2], &objects[3],
                                     &objects[4]))
        return NULL;
    for (int i = 0; i < ARRAYS; i++)
        if (!pd_object_read_vectors(self, objects[i], names[i], &arrays[i])) return NULL;
    if (!pd_object_call(self, set_state, arrays, NULL)) return NULL;
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
