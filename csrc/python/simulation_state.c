/* The state of a simulation: arrays in and out, memory that others read and write in place, and how many steps it is old. */
#include "python/device_array.h"
#include "python/simulation_object.h"

PyObject *pd_call_state(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    PyArrayObject *x = pd_object_new_vectors(self), *v = pd_object_new_vectors(self), *previous = pd_object_new_vectors(self);
    PyObject *result = NULL;
    if (!x || !v || !previous || !pd_object_enter(self)) goto done;
    pd_status status;
    int has_previous = pd_simulation_has_previous(self->core);
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_get_state(self->core, PyArray_DATA(x), PyArray_DATA(v), PyArray_DATA(previous));
    Py_END_ALLOW_THREADS pd_object_leave(self);
    if (status)
        pd_object_raise(self, status);
    else
        result = Py_BuildValue("{sOsOsO}", "positions", x, "velocities", v, "previous_velocities",
                               has_previous ? (PyObject *)previous : Py_None);
done:
    Py_XDECREF((PyObject *)x);
    Py_XDECREF((PyObject *)v);
    Py_XDECREF((PyObject *)previous);
    return result;
}

/* One of them, without the transfer of the others. */
static PyObject *one_state(pd_simulation_object *self, int velocities) {
    PyArrayObject *out = pd_object_new_vectors(self);
    if (!out) return NULL;
    if (!pd_object_enter(self)) {
        Py_DECREF((PyObject *)out);
        return NULL;
    }
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status =
        pd_simulation_get_state(self->core, velocities ? NULL : PyArray_DATA(out), velocities ? PyArray_DATA(out) : NULL, NULL);
    Py_END_ALLOW_THREADS pd_object_leave(self);
    if (status) {
        Py_DECREF((PyObject *)out);
        return pd_object_raise(self, status);
    }
    return (PyObject *)out;
}

PyObject *pd_call_positions(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    return one_state(self, 0);
}

PyObject *pd_call_velocities(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    return one_state(self, 1);
}

PyObject *pd_call_set_state(pd_simulation_object *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"positions", "velocities", "previous_velocities", NULL};
    PyObject *objects[3];
    const real *x, *v, *previous;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO:set_state", names, &objects[0], &objects[1], &objects[2])) return NULL;
    if (!pd_object_read_vectors(self, objects[0], "positions", &x) || !pd_object_read_vectors(self, objects[1], "velocities", &v) ||
        !pd_object_read_vectors(self, objects[2], "previous_velocities", &previous) || !pd_object_enter(self))
        return NULL;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_set_state(self->core, x, v, previous);
    Py_END_ALLOW_THREADS pd_object_leave(self);
    if (status) return pd_object_raise(self, status);
    Py_RETURN_NONE;
}

PyObject *pd_call_set_load(pd_simulation_object *self, PyObject *object) {
    const real *load;
    if (!pd_object_read_vectors(self, object, "load", &load)) return NULL;
    if (!load) return PyErr_Format(PyExc_TypeError, "load: expected an array");
    if (!pd_object_enter(self)) return NULL;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_set_load(self->core, load);
    Py_END_ALLOW_THREADS pd_object_leave(self);
    if (status) return pd_object_raise(self, status);
    Py_RETURN_NONE;
}

/* ---- what lies in the backend's memory --------------------------------------------------------------------------------------- */

static int settle(PyObject *object) {
    pd_simulation_object *self = (pd_simulation_object *)object;
    if (!pd_object_enter(self)) return 0;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_wait(self->core);
    Py_END_ALLOW_THREADS pd_object_leave(self);
    if (status) pd_object_raise(self, status);
    return !status;
}

static PyObject *device_array(pd_simulation_object *self, int velocities) {
    real *x, *v;
    if (!pd_object_enter(self)) return NULL;
    pd_simulation_share(self->core, &x, &v);
    pd_object_leave(self);
    pd_module_state *state = PyModule_GetState(PyType_GetModule(Py_TYPE((PyObject *)self)));
    return pd_device_array_create(state->device_array_type, (PyObject *)self, settle, pd_simulation_place(self->core), velocities ? v : x,
                                  pd_simulation_n_vertices(self->core));
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

PyObject *pd_call_steps(pd_simulation_object *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromLongLong(self->steps);
}

PyObject *pd_call_set_steps(pd_simulation_object *self, PyObject *object) {
    long long steps = PyLong_AsLongLong(object);
    if (steps == -1 && PyErr_Occurred()) return NULL;
    if (steps < 0) return PyErr_Format(PyExc_ValueError, "steps: must not be negative, got %lld", steps);
    self->steps = steps;
    Py_RETURN_NONE;
}
