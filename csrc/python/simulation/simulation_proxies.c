/* Proxies of a simulation: their description, the colliders that they are kept out of, and their positions. */
#include "python/simulation/simulation_object.h"

#include "dynamics/responses/proxies_response.h"

#include <float.h>

/* An array of the dict, kept by the list. Returns NULL with an exception set. */
static void *data_of(PyObject *kept, PyObject *dict, const char *name, int type, int dimensions, npy_intp *shape) {
    PyObject *object = PyDict_GetItemString(dict, name);
    if (!object) return PyErr_Format(PyExc_ValueError, "proxies: %s is missing", name);
    PyArrayObject *array = pd_array_in_kept(kept, object, type, dimensions, shape, name);
    if (!array) return NULL;
    int length = pd_array_length(array, 0, name);
    if (length < 0) return NULL;
    shape[0] = length;
    if (type == PD_NPY_REAL &&
        pd_array_check_range(array, dimensions == 1 ? 0.0 : -PD_LARGEST_WEIGHT,
                             dimensions == 1 ? (double)(sizeof(real) == sizeof(float) ? FLT_MAX : DBL_MAX) : PD_LARGEST_WEIGHT, name) < 0)
        return NULL;
    return PyArray_DATA(array);
}

static int count_of(PyObject *dict, const char *name, long most, int *out) {
    PyObject *object = PyDict_GetItemString(dict, name);
    long value = object ? PyLong_AsLong(object) : -1;
    if (value == -1 && PyErr_Occurred()) return 0;
    if (value < 0 || value > most) {
        PyErr_Format(PyExc_ValueError, "%s: %ld is not from 0 to %ld", name, value, most);
        return 0;
    }
    *out = (int)value;
    return 1;
}

int pd_read_proxies(PyObject *kept, PyObject *object, int n_vertices, pd_proxies_description *out) {
    npy_intp shape[2] = {-1, 4};
    *out = (pd_proxies_description){0};
    if (object == Py_None) return 1;
    if (!PyDict_Check(object)) {
        PyErr_Format(PyExc_TypeError, "proxies: expected a dict or None, got %R", object);
        return 0;
    }
    if (!(out->rows = data_of(kept, object, "rows", NPY_INT32, 2, shape)) ||
        !(out->weights = data_of(kept, object, "weights", PD_NPY_REAL, 2, shape)) ||
        !(out->stiffness = data_of(kept, object, "stiffness", PD_NPY_REAL, 1, shape)) ||
        !count_of(object, "n_colliders", 1000000, &out->n_colliders) || !count_of(object, "per_step", 1, &out->per_step))
        return 0;
    out->n = (int)shape[0];
    for (int r = 0; r < 4 * out->n; r++)
        if (out->rows[r] < -1 || out->rows[r] >= n_vertices) {
            PyErr_Format(PyExc_ValueError, "rows: index %d at %d is out of range for %d vertices", out->rows[r], r, n_vertices);
            return 0;
        }
    PyObject *rest = PyDict_GetItemString(object, "rest");
    return !rest || rest == Py_None || pd_read_rest(kept, rest, n_vertices, out->n, &out->rest);
}

/* One collider of a list, a tuple as the arguments of collider_query. Returns 0 with an exception set. */
static int set_collider(pd_simulation_object *self, pd_colliders *colliders, int which, PyObject *given) {
    int shape;
    double spacing;
    PyObject *frame, *size, *values_object;
    PyArrayObject *values;
    pd_collider collider = {0};
    if (!PyTuple_Check(given)) {
        PyErr_Format(PyExc_TypeError, "colliders: expected tuples, got %R", given);
        return 0;
    }
    if (!PyArg_ParseTuple(given, "iOOdO:colliders", &shape, &frame, &size, &spacing, &values_object)) return 0;
    if (pd_read_collider(shape, frame, size, spacing, values_object, &collider, &values) < 0) return 0;
    if (!pd_object_enter(self)) return 0;
    pd_status status = pd_simulation_keep_error(
        self->core, pd_colliders_set(colliders, which, &collider, values ? (const real *)PyArray_DATA(values) : NULL));
    pd_object_leave(self);
    if (status) pd_object_raise(self, status);
    return !status;
}

PyObject *pd_call_set_proxy_colliders(pd_simulation_object *self, PyObject *object) {
    pd_proxies *proxies = pd_simulation_proxies(self->core);
    pd_colliders *colliders = proxies ? pd_proxies_colliders(proxies) : NULL;
    Py_ssize_t n = colliders ? colliders->n : 0;
    PyObject *tuple = PySequence_Tuple(object);
    if (!tuple) return NULL;
    int done = PyTuple_Size(tuple) == n;
    if (!done) PyErr_Format(PyExc_ValueError, "colliders: expected %zd, got %zd", n, PyTuple_Size(tuple));
    for (Py_ssize_t k = 0; k < n && done; k++) {
        PyObject *given = PyTuple_GetItem(tuple, k);
        done = given == Py_None || set_collider(self, colliders, (int)k, given);
    }
    Py_DECREF(tuple);
    if (!done) return NULL;
    Py_RETURN_NONE;
}

PyObject *pd_call_proxy_columns(pd_simulation_object *self, PyObject *unused) {
    pd_proxies *proxies = pd_simulation_proxies(self->core);
    PyObject *columns = PyDict_New();
    (void)unused;
    if (!columns) return NULL;
    npy_intp n = proxies ? pd_proxies_count(proxies) : 0;
    pd_status status = PD_OK;
    real *y, *target = NULL, *weights = NULL;
    int *carriers = NULL;
    unsigned char *active = NULL;
    long long *churn = NULL;
    int complete = (y = pd_array_column(columns, "points", PD_NPY_REAL, n, 3, 0)) &&
                   (target = pd_array_column(columns, "targets", PD_NPY_REAL, n, 3, 0)) &&
                   (carriers = pd_array_column(columns, "carriers", NPY_INT32, n, 4, 0)) &&
                   (weights = pd_array_column(columns, "carrier_weights", PD_NPY_REAL, n, 4, 0)) &&
                   (active = pd_array_column(columns, "active", NPY_UINT8, n, 0, 0)) &&
                   (churn = pd_array_column(columns, "churn", NPY_INT64, 2, 0, 0)) && pd_object_enter(self);
    if (complete) {
        churn[0] = churn[1] = 0;
        Py_BEGIN_ALLOW_THREADS if (proxies) status =
            pd_simulation_keep_error(self->core, pd_proxies_read(proxies, pd_simulation_positions(self->core), y, target, active, carriers,
                                                                 weights, &churn[0], &churn[1]));
        Py_END_ALLOW_THREADS pd_object_leave(self);
        if (!status) return columns;
        pd_object_raise(self, status);
    }
    Py_DECREF(columns);
    return NULL;
}
