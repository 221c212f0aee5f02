/* Functions of a material in Python, called by the core; see material_functions.h. */
#include "python/binding/material_functions.h"

#include "python/binding/arrays.h"

#include <stdlib.h>

/* Of one material; the list of the description holds the references. */
typedef struct material_call {
    PyObject *callable, *F, *elements, *out[PD_MATERIAL_QUANTITIES];
} material_call;

/* A pending exception is from a function that was called before, and the core has not returned yet. */
static pd_status evaluate(void *user, pd_material_quantity quantity, int n) {
    const material_call *self = user;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *answer = PyErr_Occurred()
                           ? NULL
                           : PyObject_CallFunction(self->callable, "iiOOO", (int)quantity, n, self->F, self->elements, self->out[quantity]);
    Py_XDECREF(answer);
    PyGILState_Release(state);
    return answer ? PD_OK : PD_INTERRUPTED; // the exception is pending
}

static void free_capsule(PyObject *capsule) { free(PyCapsule_GetPointer(capsule, NULL)); }

/* Zeroed memory, owned by the list; NULL with an exception set. */
static void *keep_memory(PyObject *kept, size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    PyObject *capsule = memory ? PyCapsule_New(memory, NULL, free_capsule) : PyErr_NoMemory();
    if (!capsule) {
        free(memory);
        return NULL;
    }
    int failed = PyList_Append(kept, capsule) < 0;
    Py_DECREF(capsule);
    return failed ? NULL : memory;
}

/* A new array, owned by the list: BORROWED, or NULL with an exception set. */
static PyArrayObject *keep_array(PyObject *kept, int type, int n_dimensions, const npy_intp *shape) {
    PyArrayObject *array = pd_array_out(type, n_dimensions, shape);
    int failed = !array || PyList_Append(kept, (PyObject *)array) < 0;
    Py_XDECREF((PyObject *)array);
    return failed ? NULL : array;
}

/* The buffers of a material, and views of `out` as an array of each quantity. */
static int make_buffers(PyObject *kept, int d, pd_material_functions *f, material_call *call) {
    const int rows = 3 * d;
    f->most = f->n < PD_MATERIAL_BATCH ? f->n + (f->n == 0) : PD_MATERIAL_BATCH;
    npy_intp F_shape[3] = {f->most, 3, d}, out_shape[3] = {f->most, rows, rows}, shifted[4] = {2, f->most, 3, d};
    PyArrayObject *F = keep_array(kept, NPY_FLOAT64, 3, F_shape), *out = F ? keep_array(kept, NPY_FLOAT64, 3, out_shape) : NULL;
    PyArrayObject *elements = out ? keep_array(kept, NPY_INT32, 1, F_shape) : NULL;
    if (!elements) return 0;
    f->F = PyArray_DATA(F), f->out = PyArray_DATA(out), f->elements = PyArray_DATA(elements);
    if (!f->has_hessian) {
        PyArrayObject *scratch = keep_array(kept, NPY_FLOAT64, 4, shifted);
        if (!scratch) return 0;
        f->shifted = PyArray_DATA(scratch);
    }
    // if a function stores references to these, they stay readable after the simulation
    PyArrayObject *views[5] = {pd_array_view(NPY_FLOAT64, 3, F_shape, f->F, (PyObject *)F),
                               pd_array_view(NPY_INT32, 1, F_shape, f->elements, (PyObject *)elements),
                               pd_array_view(NPY_FLOAT64, 1, F_shape, f->out, (PyObject *)out),
                               pd_array_view(NPY_FLOAT64, 3, F_shape, f->out, (PyObject *)out),
                               pd_array_view(NPY_FLOAT64, 3, out_shape, f->out, (PyObject *)out)};
    int failed = 0;
    for (int i = 0; i < 5; i++) {
        failed = failed || !views[i] || PyList_Append(kept, (PyObject *)views[i]) < 0;
        if (views[i] && i >= 2) PyArray_ENABLEFLAGS(views[i], NPY_ARRAY_WRITEABLE);
        Py_XDECREF((PyObject *)views[i]);
    }
    if (failed) return 0;
    call->F = (PyObject *)views[0], call->elements = (PyObject *)views[1];
    for (int q = 0; q < PD_MATERIAL_QUANTITIES; q++) call->out[q] = (PyObject *)views[2 + q];
    f->user = call;
    f->evaluate = evaluate;
    return 1;
}

static int read_one(PyObject *kept, PyObject *item, int d, int first, int left, pd_material_functions *f, material_call *call) {
    PyObject *name;
    int n, has_hessian;
    if (!PyTuple_Check(item)) {
        PyErr_Format(PyExc_TypeError, "functions: expected tuples (name, elements, has_hessian, callable), got %R", item);
        return 0;
    }
    if (!PyArg_ParseTuple(item, "UipO:functions", &name, &n, &has_hessian, &call->callable)) return 0;
    if (!PyCallable_Check(call->callable)) {
        PyErr_Format(PyExc_TypeError, "functions: expected a callable, got %R", call->callable);
        return 0;
    }
    if (n < 0 || n > left) {
        PyErr_Format(PyExc_ValueError, "functions: %d elements, and %d are left", n, left);
        return 0;
    }
    f->name = PyUnicode_AsUTF8AndSize(name, NULL);
    f->first = first, f->n = n, f->has_hessian = has_hessian;
    if (!f->name || PyList_Append(kept, item) < 0) return 0;
    return make_buffers(kept, d, f, call);
}

int pd_read_material_functions(PyObject *kept, PyObject *functions, pd_element_set *set) {
    const pd_kind_shape shape = pd_kind_shape_of(set->kind);
    if (!pd_kind_is_custom(set->kind)) {
        if (functions == Py_None) return 1;
        PyErr_Format(PyExc_TypeError, "functions: %s takes none", shape.name);
        return 0;
    }
    if (!PyList_Check(functions)) {
        PyErr_Format(PyExc_TypeError, "functions: expected a list of tuples for %s, got %R", shape.name, functions);
        return 0;
    }
    PyObject *items = PyList_AsTuple(functions); // a private copy: reading one may run code that changes the list
    if (!items) return 0;
    Py_ssize_t count = PyTuple_Size(items);
    pd_material_functions *all = keep_memory(kept, (size_t)count, sizeof *all);
    material_call *calls = all ? keep_memory(kept, (size_t)count, sizeof *calls) : NULL;
    int first = 0, done = calls != NULL && count <= set->n + 1;
    if (calls && !done) PyErr_Format(PyExc_ValueError, "functions: %zd for %d elements", count, set->n);
    for (Py_ssize_t m = 0; m < count && done; m++) {
        done = read_one(kept, PyTuple_GetItem(items, m), shape.columns, first, set->n - first, &all[m], &calls[m]);
        first += all[m].n;
    }
    if (done && first != set->n) {
        PyErr_Format(PyExc_ValueError, "functions: %s has %d elements, and functions for %d", shape.name, set->n, first);
        done = 0;
    }
    Py_DECREF(items);
    if (done) set->functions = all, set->n_functions = (int)count;
    return done;
}
