/* Batches of pairs in contact: distance, energy, gradient, Hessian, blocks of the corners; and their sums over a mesh. */
#include "python/binding/backend_module.h"

#include "elements/contact/pair.h"
#include "loops/contact_loops.h"
#include "python/batches/mirror.h"
#include "python/binding/errors.h"
#include "sparse/pair_matrix.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { KIND, POINTS, ACTIVATION, SEPARATION, WEIGHT, THRESHOLD, POSITIONS, RESULT, ARRAY_COUNT };

/* Checks that every pair is of a known kind and has its points among n_points. Corners that a kind lacks become -1. Returns 0, or -1
 * with an exception. */
static int check_pairs(pd_mirror *mirror, int n, npy_intp n_points) {
    const int *kinds = PyArray_DATA(mirror->arrays[KIND]);
    int *points = PyArray_DATA(mirror->arrays[POINTS]);
    for (int p = 0; p < n; p++) {
        if (kinds[p] < 0 || kinds[p] >= PD_CONTACT_PAIR_COUNT) {
            PyErr_Format(PyExc_ValueError, "kind: %d at %d is not a kind of pair", kinds[p], p);
            return -1;
        }
        for (int j = 0; j < pd_contact_corners(kinds[p]); j++)
            if (points[4 * (size_t)p + (size_t)j] < 0 || points[4 * (size_t)p + (size_t)j] >= n_points) {
                PyErr_Format(PyExc_ValueError, "points: index %d at (%d, %d) is out of range for %zd points",
                             points[4 * (size_t)p + (size_t)j], p, j, (Py_ssize_t)n_points);
                return -1;
            }
        for (int j = pd_contact_corners(kinds[p]); j < 4; j++) points[4 * (size_t)p + (size_t)j] = -1;
    }
    return 0;
}

/* A quantity and the filter of a Hessian or its blocks, by the number that pdgpu.contact has for both. */
static const struct {
    int quantity;
    pd_hessian_filter filter;
} requests[] = {{PD_CONTACT_DISTANCE, PD_FILTER_NONE},   {PD_CONTACT_THRESHOLD, PD_FILTER_NONE}, {PD_CONTACT_ACTIVATION, PD_FILTER_NONE},
                {PD_CONTACT_ENERGY, PD_FILTER_NONE},     {PD_CONTACT_GRADIENT, PD_FILTER_NONE},  {PD_CONTACT_HESSIAN, PD_FILTER_NONE},
                {PD_CONTACT_HESSIAN, PD_FILTER_CLAMP},   {PD_CONTACT_BLOCKS, PD_FILTER_NONE},    {PD_CONTACT_BLOCKS, PD_FILTER_CLAMP},
                {PD_CONTACT_HESSIAN, PD_FILTER_ABSOLUTE}};

/* The arguments of both functions: a contact potential, a quantity, n pairs and positions. */
typedef struct batch {
    pd_pair_potential potential;
    pd_hessian_filter filter;
    int number, quantity, size, n, threads; /* number: that of a request */
    pd_mirror mirror;                       /* kinds and points are owned, the rest is borrowed. The function sets RESULT. */
} batch;

/* Returns 0, or -1 with an exception. The caller calls batch_release in both cases. */
static int batch_read(batch *out, double stiffness, PyObject *const objects[RESULT]) {
    static const char *const names[] = {"kind", "points", "activation", "separation", "weight", "threshold", "x"};
    static const double least[] = {0, 0, DBL_MIN, 0, 0, 0};
    PyArrayObject **arrays = out->mirror.arrays;
    out->mirror.n_arrays = ARRAY_COUNT, out->mirror.n_in = RESULT;
    if (out->potential.kind < 0 || out->potential.kind >= PD_PAIR_POTENTIAL_COUNT) {
        PyErr_Format(PyExc_ValueError, "law: %d is unknown", out->potential.kind);
        return -1;
    }
    if (!pd_number_in_range(stiffness, 0.0, sizeof(real) == sizeof(float) ? FLT_MAX : DBL_MAX, "stiffness")) return -1;
    out->potential.stiffness = (real)stiffness;
    if (out->number < 0 || out->number >= (int)(sizeof requests / sizeof *requests)) {
        PyErr_Format(PyExc_ValueError, "quantity: %d is unknown", out->number);
        return -1;
    }
    out->quantity = requests[out->number].quantity, out->filter = requests[out->number].filter;
    out->size = pd_contact_quantity_size(out->quantity);
    // The checks must stay valid: copies that no other thread can write.
    npy_intp one[1] = {-1}, four[2] = {-1, 4}, three[2] = {-1, 3};
    arrays[KIND] = pd_array_in_private(objects[KIND], NPY_INT32, 1, one, names[KIND]);
    if (!arrays[KIND]) return -1;
    out->n = pd_array_length(arrays[KIND], 0, names[KIND]);
    if (out->n < 0) return -1;
    one[0] = four[0] = out->n;
    arrays[POINTS] = pd_array_in_private(objects[POINTS], NPY_INT32, 2, four, names[POINTS]);
    if (!arrays[POINTS]) return -1;
    for (int i = ACTIVATION; i <= THRESHOLD; i++) {
        arrays[i] = pd_array_in(objects[i], PD_NPY_REAL, 1, one, names[i]);
        if (!arrays[i] || pd_array_check_range(arrays[i], least[i], PD_LARGEST_COORDINATE, names[i]) < 0) return -1;
    }
    arrays[POSITIONS] = pd_array_in(objects[POSITIONS], PD_NPY_REAL, 2, three, names[POSITIONS]);
    if (!arrays[POSITIONS] || pd_check_coordinates(arrays[POSITIONS], names[POSITIONS]) < 0) return -1;
    return check_pairs(&out->mirror, out->n, PyArray_DIM(arrays[POSITIONS], 0));
}

static void batch_release(batch *batch) {
    Py_XDECREF((PyObject *)batch->mirror.arrays[KIND]);
    Py_XDECREF((PyObject *)batch->mirror.arrays[POINTS]);
}

/* The pairs of a batch, once its mirror is uploaded. */
static pd_contact_pairs pairs_of(const batch *batch) {
    void *const *m = batch->mirror.memory;
    return (pd_contact_pairs){.n = batch->n,
                              .kind = m[KIND],
                              .points = m[POINTS],
                              .activation = m[ACTIVATION],
                              .separation = m[SEPARATION],
                              .weight = m[WEIGHT],
                              .threshold = m[THRESHOLD]};
}

static pd_status run_batch(batch *batch, pd_workspace *space, pd_place place, pd_error *error) {
    pd_status status = pd_workspace_open(space, place, error);
    if (status) return status;
    pd_context *context = space->context;
    status = pd_mirror_upload(space, &batch->mirror);
    if (!status) {
        pd_contact_pairs pairs = pairs_of(batch);
        status = pd_contact_batch(context, &batch->potential, batch->quantity, batch->filter, &pairs, batch->mirror.memory[POSITIONS],
                                  batch->mirror.memory[RESULT]);
    }
    if (!status) status = pd_mirror_finish(space, &batch->mirror);
    if (status) *error = *pd_context_error(context);
    return status;
}

static PyObject *contact_batch(PyObject *module, PyObject *arguments) {
    double stiffness;
    PyObject *objects[RESULT];
    PyArrayObject *result = NULL;
    batch batch = {0};
    if (!PyArg_ParseTuple(arguments, "iidiOOOOOOOi:contact_batch", &batch.potential.kind, &batch.potential.physical, &stiffness,
                          &batch.number, &objects[KIND], &objects[POINTS], &objects[ACTIVATION], &objects[SEPARATION], &objects[WEIGHT],
                          &objects[THRESHOLD], &objects[POSITIONS], &batch.threads))
        return NULL;
    if (batch_read(&batch, stiffness, objects) < 0) goto done;
    npy_intp n = batch.n;
    npy_intp shapes[][4] = {{n}, {n}, {n}, {n}, {n, 4, 3}, {n, 12, 12}, {n, 4, 3, 3}};
    result = pd_array_out(PD_NPY_REAL, batch.size == 1 ? 1 : batch.size == 36 ? 4 : 3, shapes[batch.quantity]);
    if (!result) goto done;
    batch.mirror.arrays[RESULT] = result;
    pd_error error = {0};
    pd_status status;
    pd_module_state *state = PyModule_GetState(module);
    pd_workspace space = pd_workspace_take(&state->workspace);
    pd_place place = {state->device, batch.threads};
    Py_BEGIN_ALLOW_THREADS status = run_batch(&batch, &space, place, &error);
    Py_END_ALLOW_THREADS pd_workspace_leave(&state->workspace, &space, status);
    if (status) {
        Py_CLEAR(result);
        pd_raise(module, status, &error);
    }

done:
    batch_release(&batch);
    return (PyObject *)result;
}

/* Sums of gradients or Hessians, in double. */
typedef struct sum {
    double *values; /* [n_points,3], or the entries of a matrix */
    int entries;
    const int *slots, *strides; /* of pd_pair_matrix_add; NULL for gradients */
    int touching;               /* out: the first pair that has no derivative, or -1 */
} sum;

/* Numbers per thread that stay in its cache until they are summed, and the most threads. */
enum { CHUNK = 256 * 144, MOST_TEAM = 64 };

/* The numbers of one chunk, in the memory of the backend and as doubles on the host. */
typedef struct chunk {
    void *memory; /* B */
    real *narrow;
    double *wide;
} chunk;

/* Copies the numbers to `wide`, or gives the address where they already are doubles. */
static pd_status chunk_fetch(pd_context *context, const pd_mirror *mirror, chunk *chunk, size_t n, const double **out) {
    pd_status status = PD_OK;
    const real *narrow = mirror->in_place ? chunk->memory : chunk->narrow;
    if (!mirror->in_place) status = pd_memory_download(context, chunk->narrow, chunk->memory, n * sizeof *narrow);
    if (!status) status = pd_context_synchronise(context);
    *out = chunk->wide;
    if (sizeof(real) == sizeof(double))
        *out = (const double *)(const void *)narrow;
    else
        for (size_t i = 0; i < n && !status; i++) chunk->wide[i] = (double)narrow[i];
    return status;
}

static pd_status run_sum(batch *batch, sum *sum, pd_workspace *space, pd_place place, pd_error *error) {
    chunk chunk = {0};
    size_t size = (size_t)batch->size;
    pd_status status = pd_workspace_open(space, place, error);
    if (status) return status;
    pd_context *context = space->context;
    int threads = pd_context_threads(context), team = threads < MOST_TEAM ? threads : MOST_TEAM, most = CHUNK / batch->size * team;
    if (most > batch->n) most = batch->n;
    size_t capacity = (size_t)most * size + 1;
    const double *wide = NULL;
    const int *points = PyArray_DATA(batch->mirror.arrays[POINTS]);
    status = pd_mirror_upload(space, &batch->mirror);
    if (!status) status = pd_workspace_memory(space, PD_WORKSPACE_EXTRA, capacity * sizeof(real), &chunk.memory);
    chunk.narrow = malloc(capacity * sizeof *chunk.narrow), chunk.wide = malloc(capacity * sizeof *chunk.wide);
    if (!status && (!chunk.narrow || !chunk.wide))
        status = pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for the derivatives of %d pairs", most);
    pd_contact_pairs all = pairs_of(batch);
    for (int first = 0; first < batch->n && !status && sum->touching < 0; first += most) {
        int count = batch->n - first < most ? batch->n - first : most;
        pd_contact_pairs pairs = {count,
                                  all.kind + first,
                                  all.points + 4 * (size_t)first,
                                  all.activation + first,
                                  all.separation + first,
                                  all.weight + first,
                                  all.threshold + first,
                                  NULL};
        status = pd_contact_batch(context, &batch->potential, batch->quantity, batch->filter, &pairs, batch->mirror.memory[POSITIONS],
                                  chunk.memory);
        if (!status) status = chunk_fetch(context, &batch->mirror, &chunk, (size_t)count * size, &wide);
        if (status) break;
        for (int p = 0; p < count && sum->touching < 0; p++)
            if (!isfinite(wide[size * (size_t)p])) sum->touching = first + p;
        if (sum->slots)
            pd_pair_matrix_add(sum->values, sum->entries, sum->slots + 16 * (size_t)first, sum->strides + 4 * (size_t)first, wide, count,
                               threads);
        else
            pd_pair_vector_add(sum->values, points + 4 * (size_t)first, wide, count);
    }
    if (status) *error = *pd_context_error(context);
    free(chunk.narrow);
    free(chunk.wide);
    return status;
}

static PyObject *contact_sum(PyObject *module, PyObject *arguments) {
    double stiffness;
    PyObject *objects[RESULT], *values_object, *slots_object, *strides_object, *result = NULL;
    PyArrayObject *slots = NULL, *strides = NULL;
    batch batch = {0};
    sum sum = {.touching = -1};
    if (!PyArg_ParseTuple(arguments, "iidiOOOOOOOOOOi:contact_sum", &batch.potential.kind, &batch.potential.physical, &stiffness,
                          &batch.number, &objects[KIND], &objects[POINTS], &objects[ACTIVATION], &objects[SEPARATION], &objects[WEIGHT],
                          &objects[THRESHOLD], &objects[POSITIONS], &values_object, &slots_object, &strides_object, &batch.threads))
        return NULL;
    if (batch_read(&batch, stiffness, objects) < 0) goto done;
    if (batch.size != 12 && batch.size != 144) {
        PyErr_Format(PyExc_ValueError, "quantity: %d is neither a gradient nor a Hessian", batch.number);
        goto done;
    }
    npy_intp entries[2] = {-1, 3}, slots_shape[3] = {batch.n, 4, 4}, strides_shape[2] = {batch.n, 4};
    if (batch.size == 12) entries[0] = PyArray_DIM(batch.mirror.arrays[POSITIONS], 0);
    PyArrayObject *values = pd_array_in_out(values_object, NPY_FLOAT64, batch.size == 12 ? 2 : 1, entries, "values");
    if (!values) goto done;
    sum.values = PyArray_DATA(values);
    if (batch.size == 144) {
        sum.entries = pd_array_length(values, 0, "values");
        if (sum.entries < 0) goto done;
        if (!(slots = pd_array_in_private(slots_object, NPY_INT32, 3, slots_shape, "slots"))) goto done;
        if (!(strides = pd_array_in_private(strides_object, NPY_INT32, 2, strides_shape, "strides"))) goto done;
        sum.slots = PyArray_DATA(slots), sum.strides = PyArray_DATA(strides);
        size_t wrong = pd_pair_slots_wrong(sum.slots, sum.strides, batch.n, sum.entries);
        if (wrong--) {
            PyErr_Format(PyExc_ValueError, "slots: %d at (%zd, %d, %d), in rows of %d, is out of range for %d values", sum.slots[wrong],
                         (Py_ssize_t)(wrong / 16), (int)(wrong / 4 % 4), (int)(wrong % 4), sum.strides[wrong / 4], sum.entries);
            goto done;
        }
    }
    pd_error error = {0};
    pd_status status;
    pd_module_state *state = PyModule_GetState(module);
    pd_workspace space = pd_workspace_take(&state->workspace);
    pd_place place = {state->device, batch.threads};
    Py_BEGIN_ALLOW_THREADS status = run_sum(&batch, &sum, &space, place, &error);
    Py_END_ALLOW_THREADS pd_workspace_leave(&state->workspace, &space, status);
    if (status)
        pd_raise(module, status, &error);
    else
        result = PyLong_FromLong(sum.touching);

done:
    batch_release(&batch);
    Py_XDECREF((PyObject *)slots);
    Py_XDECREF((PyObject *)strides);
    return result;
}

PyMethodDef pd_contact_methods[] = {
    {"contact_batch", contact_batch, METH_VARARGS,
     "contact_batch($module, law, physical, stiffness, quantity, kind, points, activation, separation, weight, threshold, x, threads, /)\n"
     "--\n\n"
     "One quantity (0 distance, 1 mollifier threshold, 2 activation distance at rest, 3 energy, 4 gradient, 5 Hessian, 6 projected "
     "Hessian,\n"
     "7 and 8 their corner blocks) of n pairs in contact.\n"
     "kind (n,) and points (n,4) int32, x (.,3) and the others (n,) of this module's precision."},
    {"contact_sum", contact_sum, METH_VARARGS,
     "contact_sum($module, law, physical, stiffness, quantity, kind, points, activation, separation, weight, threshold, x, values, slots, "
     "strides, threads, /)\n"
     "--\n\n"
     "Adds the gradients (4) of n pairs to values (.,3), or their Hessians (5, projected 6) to the values of the matrix of\n"
     "_host.pair_pattern, whose slots (n,4,4) are theirs and strides (n,4) the lengths of the rows of their vertices; all else as for\n"
     "contact_batch. values float64, slots and strides int32, not read for gradients. Returns the first pair that has no derivative, "
     "since\n"
     "nothing is left of its gap, or -1: if there is one, values are of no use."},
    {NULL, NULL, 0, NULL},
};
