/* The pairs found by a broad phase, kept in device memory, and batches over them: closest points and times of impact. The results stay
 * in device memory too, as DeviceArrays. The host reads the number of pairs, and other data only on request.
 *
 * Results lie in blocks. The object that owns a block lives as long as its arrays. A block without references is used again for the next
 * batch, so that searches allocate no memory. The pairs themselves are the broad phase's lists. The next search overwrites them. */
#include "python/collision/broad_phase.h"

#include "geometry/collision.h"
#include "loops/dense_loops.h"
#include "loops/proximity_loops.h"
#include "python/binding/device_array.h"
#include "python/binding/errors.h"
#include "python/binding/instance.h"

#include <float.h>
#include <limits.h>
#include <stdlib.h>

typedef struct pd_result_block {
    void *memory; /* B */
    size_t bytes;
    struct pd_result_block *next;
} pd_result_block;

typedef struct {
    PyObject_HEAD BroadPhaseObject *phase;
    pd_result_block *block;
} ResultsObject;

static PyObject *raise_from(BroadPhaseObject *self, pd_status status) {
    return pd_raise_of((PyObject *)self, status, pd_context_error(self->context));
}

static void release_spare(pd_found_pairs *found, pd_context *context) {
    while (found->spare) {
        pd_result_block *block = found->spare;
        found->spare = block->next;
        pd_memory_destroy(context, block->memory);
        free(block);
    }
}

void pd_found_pairs_destroy(pd_found_pairs *self, pd_context *context) {
    release_spare(self, context);
    for (int i = 0; i < 2; i++) pd_memory_destroy(context, self->corners[i]);
    pd_memory_destroy(context, self->gathered);
    pd_memory_destroy(context, self->earliest);
}

/* ---- positions -------------------------------------------------------------------------------------------------------------- */

int pd_read_positions(BroadPhaseObject *self, PyObject *object, const char *name, pd_given_positions *out) {
    const pd_module_state *state = PyType_GetModuleState(Py_TYPE((PyObject *)self));
    *out = (pd_given_positions){0};
    if (Py_TYPE(object) == state->device_array_type) {
        const pd_device_memory *memory = pd_device_array_memory(object);
        if (memory->type != PD_NPY_REAL || memory->n_dimensions != 2 || memory->shape[0] != self->n_points || memory->shape[1] != 3) {
            PyErr_Format(PyExc_ValueError, "%s: expected shape (%d, 3), got %R", name, self->n_points, object);
            return 0;
        }
        // Work of the simulation with the same context is ordered by its stream. Work of other owners is waited for.
        if (memory->owner != (PyObject *)self->simulation && !memory->calls->settle(memory->owner)) return 0;
        out->array = object;
        return 1;
    }
    npy_intp shape[2] = {self->n_points, 3};
    PyArrayObject *x = pd_array_in(object, PD_NPY_REAL, 2, shape, name);
    if (!x || pd_check_coordinates(x, name) < 0) return 0;
    out->host = PyArray_DATA(x);
    return 1;
}

static pd_status put(BroadPhaseObject *self, const pd_given_positions *given, real *target) {
    size_t bytes = 3 * (size_t)self->n_points * sizeof(real);
    if (given->array) return pd_memory_copy(self->context, target, pd_device_array_memory(given->array)->data, bytes);
    return pd_transfer_send(&self->transfer, self->context, target, given->host, bytes);
}

pd_status pd_put_positions(BroadPhaseObject *self, const pd_given_positions *x_t0, const pd_given_positions *x_t1) {
    size_t bytes = 3 * (size_t)self->n_points * sizeof(real), sent = (x_t0->host ? bytes : 0) + (x_t1 && x_t1->host ? bytes : 0);
    pd_status status = sent ? pd_transfer_open(&self->transfer, self->context, sent) : PD_OK;
    if (!status) status = put(self, x_t0, self->x_t0);
    return status || !x_t1 ? status : put(self, x_t1, self->x_t1);
}

/* ---- the pairs ---------------------------------------------------------------------------------------------------------------- */

PyObject *pd_call_search(BroadPhaseObject *self, PyObject *arguments) {
    PyObject *x_t0_object, *x_t1_object;
    pd_given_positions x_t0, x_t1;
    pd_found_pairs *found = &self->found;
    double margin;
    int rebuild;
    if (!PyArg_ParseTuple(arguments, "OOdp:search", &x_t0_object, &x_t1_object, &margin, &rebuild)) return NULL;
    int moves = x_t1_object != Py_None;
    if (!pd_read_positions(self, x_t0_object, "x_t0", &x_t0)) return NULL;
    if (moves && !pd_read_positions(self, x_t1_object, "x_t1", &x_t1)) return NULL;
    if (!pd_number_in_range(margin, 0.0, PD_LARGEST_COORDINATE, "margin")) return NULL;
    if (!pd_broad_phase_enter(self)) return NULL;
    pd_status status;
    found->search = 0;
    Py_BEGIN_ALLOW_THREADS status = pd_put_positions(self, &x_t0, moves ? &x_t1 : NULL);
    if (!status && !moves) status = pd_memory_copy(self->context, self->x_t1, self->x_t0, 3 * (size_t)self->n_points * sizeof(real));
    if (!status)
        status =
            pd_broad_phase_find(self->core, self->x_t0, moves ? self->x_t1 : NULL, margin, rebuild, &found->lists[0], &found->lists[1]);
    Py_END_ALLOW_THREADS if (!status) found->search = pd_broad_phase_searches(self->core);
    pd_broad_phase_leave(self);
    if (status) return raise_from(self, status);
    return Py_BuildValue("(Lnn)", found->search, (Py_ssize_t)found->lists[0].n, (Py_ssize_t)found->lists[1].n);
}

/* Enters if the pairs of that search are still valid. Returns 0 with an exception set. */
static int enter(BroadPhaseObject *self, long long search) {
    if (!pd_broad_phase_enter(self)) return 0;
    if (search > 0 && search == self->found.search && search == pd_broad_phase_searches(self->core)) return 1;
    pd_broad_phase_leave(self);
    PyErr_SetString(PyExc_RuntimeError, "these pairs are no longer valid: the broad phase has searched again");
    return 0;
}

PyObject *pd_call_pairs(BroadPhaseObject *self, PyObject *arguments) {
    long long search;
    pd_status status = PD_OK;
    if (!PyArg_ParseTuple(arguments, "L:pairs", &search) || !enter(self, search)) return NULL;
    PyObject *arrays = pd_pairs_arrays(self, self->found.lists, &status);
    pd_broad_phase_leave(self);
    return status ? raise_from(self, status) : arrays;
}

/* Backend memory for n items of so many bytes. Its capacity grows by doubling. */
static pd_status grow(pd_context *context, void **memory, size_t *capacity, size_t n, size_t bytes) {
    size_t size = *capacity > 0 ? *capacity : 1024;
    if (*memory && n <= *capacity) return PD_OK;
    while (size < n) size *= 2;
    pd_memory_destroy(context, *memory);
    *memory = NULL, *capacity = 0;
    pd_status status = pd_memory_create(context, memory, size * bytes);
    if (!status) *capacity = size;
    return status;
}

/* found->corners of the pairs of a kind. */
static pd_status list_corners(BroadPhaseObject *self, int which) {
    pd_found_pairs *found = &self->found;
    size_t n = found->lists[which].n;
    if (found->listed[which] == found->search) return PD_OK;
    if (n > INT_MAX / 4)
        return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "%zu pairs are more than a batch can hold, at most %d", n,
                       INT_MAX / 4);
    pd_candidates candidates = {.n = n,
                                .n_vertex_triangle = which == 0 ? n : 0,
                                .n_edge_edge = which == 1 ? n : 0,
                                .vertex_triangle = found->lists[0].pairs,
                                .edge_edge = found->lists[1].pairs,
                                .vertices = pd_broad_phase_primitives(self->core, PD_VERTICES)->corners,
                                .edges = pd_broad_phase_primitives(self->core, PD_EDGES)->corners,
                                .triangles = pd_broad_phase_primitives(self->core, PD_TRIANGLES)->corners};
    pd_status status = grow(self->context, (void **)&found->corners[which], &found->capacity[which], n, 4 * sizeof(int));
    if (!status) status = pd_candidate_points(self->context, &candidates, 0, (int)n, found->corners[which]);
    if (!status) found->listed[which] = found->search;
    return status;
}

/* ---- results ------------------------------------------------------------------------------------------------------------------ */

/* One array of a block. */
typedef struct result {
    int type, columns; /* columns: 0 for (n,) */
    size_t item, from; /* bytes per number; offset in the block */
    void *data;
} result;

static int settle_results(PyObject *object) {
    BroadPhaseObject *phase = ((ResultsObject *)object)->phase;
    if (!pd_broad_phase_enter(phase)) return 0;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_context_synchronise(phase->context);
    Py_END_ALLOW_THREADS pd_broad_phase_leave(phase);
    return status ? raise_from(phase, status) != NULL : 1;
}

static int download_results(PyObject *object, void *target, const void *source, size_t bytes) {
    BroadPhaseObject *phase = ((ResultsObject *)object)->phase;
    pd_context *context = phase->context;
    if (!pd_broad_phase_enter(phase)) return 0;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_transfer_open(&phase->transfer, context, bytes);
    if (!status) status = pd_transfer_receive(&phase->transfer, context, target, source, bytes);
    if (!status) status = pd_transfer_synchronise(&phase->transfer, context);
    Py_END_ALLOW_THREADS pd_broad_phase_leave(phase);
    return status ? raise_from(phase, status) != NULL : 1;
}

static const pd_memory_owner results_memory = {settle_results, download_results};

/* A block of at least so many bytes: a spare one, or a new one that replaces smaller ones. NULL: *status. */
static pd_result_block *take_block(BroadPhaseObject *self, size_t bytes, pd_status *status) {
    pd_found_pairs *found = &self->found;
    size_t size = 4096;
    for (pd_result_block **slot = &found->spare; *slot; slot = &(*slot)->next)
        if ((*slot)->bytes >= bytes) {
            pd_result_block *block = *slot;
            *slot = block->next;
            return block;
        }
    release_spare(found, self->context);
    pd_result_block *block = calloc(1, sizeof *block);
    while (size < bytes) size *= 2;
    *status = block ? pd_memory_create(self->context, &block->memory, size)
                    : pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for results");
    if (*status) {
        free(block);
        return NULL;
    }
    block->bytes = size;
    return block;
}

/* An object that owns memory for n results each. Writes their offsets into `results`. NULL: *status, or an exception. Entered. */
static ResultsObject *make_results(BroadPhaseObject *self, size_t n, int count, result *results, pd_status *status) {
    PyTypeObject *type = ((pd_module_state *)PyType_GetModuleState(Py_TYPE((PyObject *)self)))->results_type;
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        results[i].from = bytes;
        bytes += (n * (size_t)(results[i].columns ? results[i].columns : 1) * results[i].item + 255) / 256 * 256;
    }
    ResultsObject *owner = pd_instance_create(type);
    if (!owner) return NULL;
    owner->phase = (BroadPhaseObject *)Py_NewRef((PyObject *)self);
    owner->block = take_block(self, bytes, status);
    if (!owner->block) {
        Py_DECREF((PyObject *)owner);
        return NULL;
    }
    for (int i = 0; i < count; i++) results[i].data = (char *)owner->block->memory + results[i].from;
    return owner;
}

static void results_dealloc(ResultsObject *self) {
    if (self->block) {
        self->block->next = self->phase->found.spare;
        self->phase->found.spare = self->block;
    }
    Py_XDECREF((PyObject *)self->phase);
    pd_instance_destroy(self);
}

/* The arrays of the results, as a tuple. Takes `owner`. */
static PyObject *arrays_of(BroadPhaseObject *self, ResultsObject *owner, size_t n, int count, const result *results) {
    PyTypeObject *type = ((pd_module_state *)PyType_GetModuleState(Py_TYPE((PyObject *)self)))->device_array_type;
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; i < count && tuple; i++) {
        const pd_device_memory memory = {.owner = (PyObject *)owner,
                                         .calls = &results_memory,
                                         .location = pd_context_location(self->context),
                                         .data = results[i].data,
                                         .type = results[i].type,
                                         .n_dimensions = results[i].columns ? 2 : 1,
                                         .shape = {(npy_intp)n, results[i].columns}};
        PyObject *array = pd_device_array_create(type, &memory);
        if (!array || PyTuple_SetItem(tuple, i, array) < 0) Py_CLEAR(tuple);
    }
    Py_DECREF((PyObject *)owner);
    return tuple;
}

/* ---- batches ------------------------------------------------------------------------------------------------------------------ */

static int check_batch(int kind, int method, double separation) {
    if (kind != PD_VERTEX_TRIANGLE && kind != PD_EDGE_EDGE) {
        PyErr_Format(PyExc_ValueError, "kind: %d is neither %d, vertex-triangle, nor %d, edge-edge", kind, PD_VERTEX_TRIANGLE,
                     PD_EDGE_EDGE);
        return 0;
    }
    if (method < 0 || method >= PD_CCD_COUNT) {
        PyErr_Format(PyExc_ValueError, "method: %d is unknown", method);
        return 0;
    }
    return pd_number_in_range(separation, 0.0, DBL_MAX, "separation");
}

PyObject *pd_call_earliest(BroadPhaseObject *self, PyObject *arguments) {
    pd_found_pairs *found = &self->found;
    pd_context *context = self->context;
    long long search;
    double separation;
    int method, index = -1;
    real time = 1;
    if (!PyArg_ParseTuple(arguments, "Lid:earliest", &search, &method, &separation)) return NULL;
    if (!check_batch(PD_EDGE_EDGE, method, separation) || !enter(self, search)) return NULL;
    pd_status status = PD_OK;
    Py_BEGIN_ALLOW_THREADS if (!found->earliest) status = pd_memory_create(context, (void **)&found->earliest, sizeof *found->earliest);
    if (!status) status = pd_earliest_begin(context, 1, found->earliest);
    for (int which = 0; which < 2 && !status; which++) {
        status = list_corners(self, which);
        if (!status)
            status =
                pd_earliest_collision(context, PD_VERTEX_TRIANGLE + which, method, (int)found->lists[which].n, NULL, self->x_t0, self->x_t1,
                                      found->corners[which], (real)separation, NULL, which ? (int)found->lists[0].n : 0, found->earliest);
    }
    if (!status) status = pd_earliest_read(context, found->earliest, &time, &index);
    Py_END_ALLOW_THREADS pd_broad_phase_leave(self);
    return status ? raise_from(self, status) : Py_BuildValue("(di)", (double)time, index);
}

PyObject *pd_call_collisions(BroadPhaseObject *self, PyObject *arguments) {
    long long search;
    double separation;
    int kind, method;
    result results[] = {{NPY_INT32, 0, sizeof(int), 0, NULL}, {NPY_INT32, 0, sizeof(int), 0, NULL}, {NPY_UINT8, 0, 1, 0, NULL}};
    if (!PyArg_ParseTuple(arguments, "Liid:collisions", &search, &kind, &method, &separation)) return NULL;
    if (!check_batch(kind, method, separation) || !enter(self, search)) return NULL;
    int which = kind - PD_VERTEX_TRIANGLE;
    size_t n = self->found.lists[which].n;
    results[0].type = PD_NPY_REAL, results[0].item = sizeof(real);
    pd_status status = PD_OK;
    ResultsObject *owner = make_results(self, n, 3, results, &status);
    if (owner) {
        Py_BEGIN_ALLOW_THREADS status = list_corners(self, which);
        if (!status)
            status = pd_collision_times(self->context, kind, method, (int)n, self->x_t0, self->x_t1, self->found.corners[which],
                                        (real)separation, results[0].data, results[1].data, results[2].data);
        Py_END_ALLOW_THREADS
    }
    pd_broad_phase_leave(self);
    if (owner && !status) return arrays_of(self, owner, n, 3, results);
    Py_XDECREF((PyObject *)owner);
    return status ? raise_from(self, status) : NULL;
}

PyObject *pd_call_closest(BroadPhaseObject *self, PyObject *arguments) {
    enum { WEIGHTS, GAP, NORMAL, DISTANCE, FEATURE, RESULTS };
    long long search;
    int kind;
    result results[RESULTS] = {[FEATURE] = {NPY_INT32, 0, sizeof(int), 0, NULL}};
    const int columns[FEATURE] = {[WEIGHTS] = 4, [GAP] = 3, [NORMAL] = 3, [DISTANCE] = 0};
    if (!PyArg_ParseTuple(arguments, "Li:closest", &search, &kind)) return NULL;
    if (!check_batch(kind, 0, 0.0) || !enter(self, search)) return NULL;
    pd_found_pairs *found = &self->found;
    pd_context *context = self->context;
    int which = kind - PD_VERTEX_TRIANGLE;
    size_t n = found->lists[which].n;
    for (int i = 0; i < FEATURE; i++) results[i] = (result){PD_NPY_REAL, columns[i], sizeof(real), 0, NULL};
    pd_status status = PD_OK;
    ResultsObject *owner = make_results(self, n, RESULTS, results, &status);
    if (owner) {
        Py_BEGIN_ALLOW_THREADS status = list_corners(self, which);
        if (!status) status = grow(context, (void **)&found->gathered, &found->gathered_capacity, n, 12 * sizeof(real));
        if (!status) status = pd_rows_gather(context, 4 * (int)n, found->corners[which], self->x_t0, found->gathered);
        if (!status)
            status = pd_pair_closest_batch(context, kind, (int)n, found->gathered, results[WEIGHTS].data, results[GAP].data,
                                           results[NORMAL].data, results[DISTANCE].data, results[FEATURE].data);
        Py_END_ALLOW_THREADS
    }
    pd_broad_phase_leave(self);
    if (owner && !status) return arrays_of(self, owner, n, RESULTS, results);
    Py_XDECREF((PyObject *)owner);
    return status ? raise_from(self, status) : NULL;
}

static PyType_Slot results_slots[] = {
    {Py_tp_dealloc, (void *)results_dealloc},
    {Py_tp_doc, "Memory of the results of a batch; its arrays keep it."},
    {0, NULL},
};

PyType_Spec pd_results_type_spec = {
    .name = "pdgpu.backend.Results",
    .basicsize = sizeof(ResultsObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = results_slots,
};
