/* Batches of pairs in contact: distance, energy, gradient, Hessian, blocks of the corners. */
#include "python/backend_module.h"

#include "contact_loops.h"
#include "elements/contact/pair.h"
#include "python/errors.h"
#include "python/mirror.h"

#include <float.h>

enum { KIND, POINTS, ACTIVATION, SEPARATION, WEIGHT, THRESHOLD, POSITIONS, RESULT, ARRAY_COUNT };

static pd_status run_batch(const pd_contact_law *law, int quantity, int n, pd_mirror *mirror, int threads, pd_error *error) {
    pd_context *context = NULL;
    pd_status status = pd_context_create(&context, threads, error);
    if (status) return status;
    status = pd_mirror_upload(context, mirror);
    if (!status) {
        void **m = mirror->memory;
        pd_contact_pairs pairs = {.n = n,
                                  .kind = m[KIND],
                                  .points = m[POINTS],
                                  .activation = m[ACTIVATION],
                                  .separation = m[SEPARATION],
                                  .weight = m[WEIGHT],
                                  .threshold = m[THRESHOLD]};
        status = pd_contact_batch(context, law, quantity, &pairs, m[POSITIONS], m[RESULT]);
    }
    if (!status) status = pd_mirror_download(context, mirror);
    if (!status) status = pd_context_wait(context);
    if (status) *error = *pd_context_error(context);
    pd_mirror_destroy(context, mirror);
    pd_context_destroy(context);
    return status;
}

/* Whether every pair is of a known kind and has its points among n_points. Returns 0, or -1 with an exception. */
static int check_pairs(const pd_mirror *mirror, int n, npy_intp n_points) {
    const int *kinds = PyArray_DATA(mirror->arrays[KIND]), *points = PyArray_DATA(mirror->arrays[POINTS]);
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
    }
    return 0;
}

static PyObject *contact_batch(PyObject *module, PyObject *arguments) {
    static const char *const names[] = {"kind", "points", "activation", "separation", "weight", "threshold", "x"};
    static const double least[] = {0, 0, DBL_MIN, 0, 0, 0};
    int quantity, threads, n = 0;
    double stiffness;
    PyObject *objects[RESULT];
    pd_contact_law law = {0};
    pd_mirror mirror = {.n_arrays = ARRAY_COUNT, .n_in = RESULT};
    if (!PyArg_ParseTuple(arguments, "iidiOOOOOOOi:contact_batch", &law.kind, &law.physical, &stiffness, &quantity, &objects[KIND],
                          &objects[POINTS], &objects[ACTIVATION], &objects[SEPARATION], &objects[WEIGHT], &objects[THRESHOLD],
                          &objects[POSITIONS], &threads))
        return NULL;
    if (law.kind < 0 || law.kind >= PD_LAW_COUNT) return PyErr_Format(PyExc_ValueError, "law: %d is unknown", law.kind);
    if (!pd_number_in_range(stiffness, 0.0, sizeof(real) == sizeof(float) ? FLT_MAX : DBL_MAX, "stiffness")) return NULL;
    law.stiffness = (real)stiffness;
    int size = pd_contact_quantity_size(quantity);
    if (!size) return PyErr_Format(PyExc_ValueError, "quantity: %d is unknown", quantity);

    // kinds and points are checked and then trusted: copies that no other thread can write
    npy_intp one[1] = {-1}, four[2] = {-1, 4}, three[2] = {-1, 3};
    PyArrayObject *result = NULL;
    mirror.arrays[KIND] = pd_array_in_private(objects[KIND], NPY_INT32, 1, one, names[KIND]);
    if (!mirror.arrays[KIND]) goto done;
    n = pd_array_length(mirror.arrays[KIND], 0, names[KIND]);
    if (n < 0) goto done;
    one[0] = four[0] = n;
    mirror.arrays[POINTS] = pd_array_in_private(objects[POINTS], NPY_INT32, 2, four, names[POINTS]);
    if (!mirror.arrays[POINTS]) goto done;
    for (int i = ACTIVATION; i <= THRESHOLD; i++) {
        mirror.arrays[i] = pd_array_in(objects[i], PD_NPY_REAL, 1, one, names[i]);
        if (!mirror.arrays[i] || pd_array_check_range(mirror.arrays[i], least[i], PD_LARGEST_COORDINATE, names[i]) < 0) goto done;
    }
    mirror.arrays[POSITIONS] = pd_array_in(objects[POSITIONS], PD_NPY_REAL, 2, three, names[POSITIONS]);
    if (!mirror.arrays[POSITIONS] || pd_check_coordinates(mirror.arrays[POSITIONS], names[POSITIONS]) < 0) goto done;
    if (check_pairs(&mirror, n, PyArray_DIM(mirror.arrays[POSITIONS], 0)) < 0) goto done;

    npy_intp shapes[][4] = {{n}, {n}, {n}, {n}, {n, 4, 3}, {n, 12, 12}, {n, 12, 12}, {n, 4, 3, 3}, {n, 4, 3, 3}};
    result = pd_array_out(PD_NPY_REAL, size == 1 ? 1 : size == 36 ? 4 : 3, shapes[quantity]);
    if (!result) goto done;
    mirror.arrays[RESULT] = result;
    pd_error error = {0};
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = run_batch(&law, quantity, n, &mirror, threads, &error);
    Py_END_ALLOW_THREADS if (status) {
        Py_CLEAR(result);
        pd_raise(module, status, &error);
    }

done:
    Py_XDECREF((PyObject *)mirror.arrays[KIND]);
    Py_XDECREF((PyObject *)mirror.arrays[POINTS]);
    return (PyObject *)result;
}

PyMethodDef pd_contact_methods[] = {
    {"contact_batch", contact_batch, METH_VARARGS,
     "contact_batch($module, law, physical, stiffness, quantity, kind, points, activation, separation, weight, threshold, x, threads, /)\n"
     "--\n\n"
     "One quantity (0 distance, 1 mollifier threshold, 2 activation distance at rest, 3 energy, 4 gradient, 5 Hessian, 6 projected "
     "Hessian,\n"
     "7 and 8 their corner blocks) of n pairs in contact.\n"
     "kind (n,) and points (n,4) int32, x (.,3) and the others (n,) of this module's precision."},
    {NULL, NULL, 0, NULL},
};
