/* The arrays of a simulation, checked and stored: the core relies on the checks. */
#include "python/binding/material_functions.h"
#include "python/simulation/simulation_object.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { PD_RIGID_FEWEST = 8 }; /* a tetrahedron, and the four rows with the mass */

/* Stores an array in a list, since the core borrows it for its life; *array = NULL for None. Returns 0 with an exception set. */
static int keep_or_none(PyArrayObject **array, PyObject *kept, PyObject *object, int type, int n_dimensions, const npy_intp *shape,
                        const char *name) {
    *array = object == Py_None ? NULL : pd_array_in_kept(kept, object, type, n_dimensions, shape, name);
    return *array || object == Py_None;
}

/* (kind, vertices, rest, parameters, damping or None[, functions]) -> a set of arrays stored in the list. Returns 0 with an exception
 * set. */
static int read_set(PyObject *item, PyObject *kept, int n_vertices, pd_element_set *set) {
    int kind;
    PyObject *vertices_object, *rest_object, *parameters_object, *damping_object, *functions = Py_None;
    if (!PyTuple_Check(item)) {
        PyErr_Format(PyExc_TypeError, "elements: expected tuples (kind, vertices, rest, parameters, damping[, functions]), got %R", item);
        return 0;
    }
    if (!PyArg_ParseTuple(item, "iOOOO|O:elements", &kind, &vertices_object, &rest_object, &parameters_object, &damping_object, &functions))
        return 0;
    pd_kind_shape shape = pd_kind_shape_of(kind);
    if (!shape.vertices) {
        PyErr_Format(PyExc_ValueError, "elements: kind %d is unknown", kind);
        return 0;
    }
    npy_intp vertices_shape[2] = {-1, shape.vertices};
    PyArrayObject *vertices = pd_array_in_kept(kept, vertices_object, NPY_INT32, 2, vertices_shape, "vertices");
    if (!vertices) return 0;
    int n = pd_array_length(vertices, 0, "vertices");
    if (n < 0) return 0;
    npy_intp rest_shape[2] = {n, shape.rest}, parameters_shape[2] = {n, shape.parameters}, damping_shape[1] = {n};
    PyArrayObject *rest = pd_array_in_kept(kept, rest_object, NPY_FLOAT64, 2, rest_shape, "rest");
    if (!rest) return 0;
    PyArrayObject *parameters = pd_array_in_kept(kept, parameters_object, NPY_FLOAT64, 2, parameters_shape, "parameters");
    if (!parameters) return 0;
    PyArrayObject *damping;
    if (!keep_or_none(&damping, kept, damping_object, NPY_FLOAT64, 1, damping_shape, "damping")) return 0;
    /* a world box may be open: its limits are parameters that may be infinite */
    if (pd_array_check_indices(vertices, n_vertices, "vertices", "vertices") < 0 || pd_array_check_finite(rest, "rest") < 0 ||
        pd_array_check_range(parameters, -INFINITY, INFINITY, "parameters") < 0 ||
        (damping && pd_array_check_range(damping, 0.0, DBL_MAX, "damping") < 0))
        return 0;
    *set = (pd_element_set){.kind = kind,
                            .n = n,
                            .vertices = PyArray_DATA(vertices),
                            .rest = PyArray_DATA(rest),
                            .parameters = PyArray_DATA(parameters),
                            .damping = damping ? PyArray_DATA(damping) : NULL};
    return pd_read_material_functions(kept, functions, set);
}

/* The list of sets, each kind at most once. Returns 0 with an exception set. */
static int read_sets(PyObject *list, PyObject *kept, pd_description *out) {
    int seen[PD_KIND_COUNT] = {0}, done = 0;
    // a private tuple: reading a kind may call __index__, which could change the list
    PyObject *elements = PyList_AsTuple(list);
    if (!elements) return 0;
    Py_ssize_t n_sets = PyTuple_Size(elements);
    pd_element_set *sets = NULL;
    if (n_sets > PD_KIND_COUNT) {
        PyErr_Format(PyExc_ValueError, "elements: %zd sets, but there are only %d kinds", n_sets, (int)PD_KIND_COUNT);
        goto done;
    }
    out->sets = sets = calloc((size_t)n_sets + 1, sizeof *sets);
    out->n_sets = (int)n_sets;
    if (!sets) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t s = 0; s < n_sets; s++) {
        if (!read_set(PyTuple_GetItem(elements, s), kept, out->n_vertices, &sets[s])) goto done;
        if (seen[sets[s].kind]++) {
            PyErr_Format(PyExc_ValueError, "elements: kind %d is given twice", sets[s].kind);
            goto done;
        }
    }
    done = 1;
done:
    Py_DECREF(elements);
    return done;
}

int pd_read_description(PyObject *kept, PyObject *masses_object, PyObject *fixed_object, PyObject *elements, PyObject *subspace_object,
                        pd_description *out) {
    npy_intp any[1] = {-1};
    PyArrayObject *masses = pd_array_in_kept(kept, masses_object, NPY_FLOAT64, 1, any, "masses"), *fixed, *subspace;
    *out = (pd_description){0};
    if (!masses) return 0;
    int n = pd_array_length(masses, 0, "masses");
    npy_intp count[1] = {n}, subspace_shape[3] = {n, 3, 3};
    if (n < 0 || !(fixed = pd_array_in_kept(kept, fixed_object, NPY_UINT8, 1, count, "fixed")) ||
        !keep_or_none(&subspace, kept, subspace_object, NPY_FLOAT64, 3, subspace_shape, "subspace"))
        return 0;
    if (pd_array_check_range(masses, 0.0, DBL_MAX, "masses") < 0 || pd_array_check_range(fixed, 0, 1, "fixed") < 0 ||
        (subspace && pd_array_check_finite(subspace, "subspace") < 0))
        return 0;
    out->n_vertices = n;
    out->masses = PyArray_DATA(masses);
    out->fixed = PyArray_DATA(fixed);
    out->subspace = subspace ? PyArray_DATA(subspace) : NULL;
    return read_sets(elements, kept, out);
}

/* Checks that rows of `bodies` are consecutive ranges of vertices with the structure of a body. Returns 0 with an exception set. */
static int check_rigid(const pd_rigid_rows *bodies, const pd_description *description) {
    int next = 0;
    for (int b = 0; b < description->n_rigid; b++) {
        const pd_rigid_rows *rows = &bodies[b];
        if (rows->first < next || rows->n < PD_RIGID_FEWEST || rows->n > description->n_vertices - rows->first) {
            PyErr_Format(PyExc_ValueError, "rigid: body %d has rows %d to %d + %d of %d", b, rows->first, rows->first, rows->n,
                         description->n_vertices);
            return 0;
        }
        next = rows->first + rows->n;
        for (int p = 0; p < 2; p++) {
            int pin = rows->pins[p];
            if (pin >= -1 && pin < rows->n - 4 && !(p && pin >= 0 && (rows->pins[0] < 0 || rows->pins[0] == pin))) continue;
            PyErr_Format(PyExc_ValueError, "rigid: body %d is held at %d and %d", b, rows->pins[0], rows->pins[1]);
            return 0;
        }
        for (int i = next - 4; i < next; i++)
            if (!(description->masses[i] > 0.0)) {
                PyErr_Format(PyExc_ValueError, "rigid: vertex %d of body %d carries no mass", i, b);
                return 0;
            }
    }
    return 1;
}

int pd_read_rigid(PyObject *kept, PyObject *bodies_object, PyObject *arms_object, pd_description *description) {
    npy_intp shape[2] = {-1, 4}, arms_shape[2] = {description->n_vertices, 3};
    PyArrayObject *bodies, *arms;
    if (!keep_or_none(&bodies, kept, bodies_object, NPY_INT32, 2, shape, "rigid") ||
        !keep_or_none(&arms, kept, arms_object, NPY_FLOAT64, 2, arms_shape, "arms"))
        return 0;
    if (!bodies) return 1;
    if (!arms) {
        PyErr_SetString(PyExc_TypeError, "arms: rigid bodies need them");
        return 0;
    }
    if (pd_array_check_finite(arms, "arms") < 0) return 0;
    description->n_rigid = pd_array_length(bodies, 0, "rigid");
    description->rigid = (const pd_rigid_rows *)PyArray_DATA(bodies); // four ints
    description->arms = PyArray_DATA(arms);
    return description->n_rigid >= 0 && check_rigid(description->rigid, description);
}

int pd_read_colours(PyObject *kept, PyObject *object, const pd_description *description, const int **colours) {
    npy_intp count[1] = {description->n_vertices};
    PyArrayObject *array = pd_array_in_kept(kept, object, NPY_INT32, 1, count, "colours");
    if (!array || pd_array_check_range(array, 0, description->n_vertices - 1, "colours") < 0) return 0;
    *colours = PyArray_DATA(array);
    return 1;
}

int pd_read_vertices(PyObject *kept, PyObject *object, const pd_description *description, const char *name, const unsigned char **marks) {
    npy_intp count[1] = {description->n_vertices};
    *marks = NULL;
    if (object == Py_None) return 1;
    PyArrayObject *array = pd_array_in_kept(kept, object, NPY_UINT8, 1, count, name);
    if (!array || pd_array_check_range(array, 0, 1, name) < 0) return 0;
    *marks = PyArray_DATA(array);
    return 1;
}
