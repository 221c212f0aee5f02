/* The type Simulation of a backend module: arrays in, arrays out, the GIL dropped around every call into the core. */
#include "python/backend_module.h"

#include "dynamics/simulation.h"
#include "python/device_array.h"
#include "python/errors.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <pythread.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    PyObject_HEAD pd_simulation *core;
    PyThread_type_lock lock; /* held by the call that is inside the core */
    PyObject *description;   /* the arrays that the core borrows: copies of the caller's, in a list */
    int iterations;
    long long steps; /* taken; counted with the GIL held, before Python code can run: a Ctrl-C finds it and the state in agreement */
} SimulationObject;

/* One call at a time. A second one, from another thread or from an observer, is refused rather than queued: an observer
 * that waited for its own step would wait for ever. */
static int enter(SimulationObject *self) {
    if (PyThread_acquire_lock(self->lock, NOWAIT_LOCK)) return 1;
    PyErr_SetString(PyExc_RuntimeError, "the simulation is busy: another call is running on it");
    return 0;
}

static void leave(SimulationObject *self) { PyThread_release_lock(self->lock); }

static PyObject *raise_from(SimulationObject *self, pd_status status) {
    PyObject *module = PyType_GetModule(Py_TYPE((PyObject *)self));
    return pd_raise(module, status, pd_simulation_error(self->core));
}

/* ---- creation --------------------------------------------------------------------------------------------------------- */

/* What the core borrows as long as it lives is kept in a list; *array = NULL for None. Returns 0 with an exception set. */
static int keep_or_none(PyArrayObject **array, PyObject *kept, PyObject *object, int type, int n_dimensions, const npy_intp *shape,
                        const char *name) {
    *array = object == Py_None ? NULL : pd_array_in_kept(kept, object, type, n_dimensions, shape, name);
    return *array || object == Py_None;
}

/* (kind, vertices, rest, parameters, damping or None) -> set of arrays kept in the list. Returns 0 with an exception set. */
static int read_set(PyObject *item, PyObject *kept, int n_vertices, pd_element_set *set) {
    int kind;
    PyObject *vertices_object, *rest_object, *parameters_object, *damping_object;
    if (!PyTuple_Check(item)) {
        PyErr_Format(PyExc_TypeError, "elements: expected tuples (kind, vertices, rest, parameters, damping), got %R", item);
        return 0;
    }
    if (!PyArg_ParseTuple(item, "iOOOO:elements", &kind, &vertices_object, &rest_object, &parameters_object, &damping_object)) return 0;
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
    *set = (pd_element_set){
        kind, n, PyArray_DATA(vertices), PyArray_DATA(rest), PyArray_DATA(parameters), damping ? PyArray_DATA(damping) : NULL};
    return 1;
}

/* Vertices of one colour are moved at the same time: no two of them in an element, but for those that never move. Returns 0 with an
 * exception set. */
static int check_colours(const int *colours, const unsigned char *fixed, const pd_element_set *sets, Py_ssize_t n_sets) {
    for (Py_ssize_t s = 0; s < n_sets; s++) {
        pd_kind_shape shape = pd_kind_shape_of(sets[s].kind);
        size_t k = (size_t)shape.vertices;
        for (size_t e = 0; e < (size_t)sets[s].n; e++)
            for (size_t a = 0; a < k; a++)
                for (size_t b = a + 1; b < k; b++) {
                    int u = sets[s].vertices[e * k + a], v = sets[s].vertices[e * k + b];
                    if (u == v || colours[u] != colours[v] || fixed[u] || fixed[v]) continue;
                    PyErr_Format(PyExc_ValueError, "colours: vertices %d and %d of %s %zd have the same colour %d", u, v, shape.name,
                                 (Py_ssize_t)e, colours[u]);
                    return 0;
                }
    }
    return 1;
}

/* Returns 0 with an exception set. */
static int check_settings(const pd_settings *s) {
    return pd_number_in_range(s->h, 0.0, DBL_MAX, "h") && pd_number_in_range(s->solver, 0, PD_SOLVER_COUNT - 1, "solver") &&
           pd_number_in_range(s->iterations, 1, INT_MAX, "iterations") && pd_number_in_range(s->tolerance, 0.0, DBL_MAX, "tolerance") &&
           pd_number_in_range(s->check_every, 1, INT_MAX, "check_every") &&
           pd_number_in_range(s->initialization, 0, PD_GUESS_COUNT - 1, "initialization") &&
           pd_number_in_range(s->history, 0, INT_MAX, "history") && pd_number_in_range(s->relaxation, 0.0, DBL_MAX, "relaxation") &&
           pd_number_in_range(s->weight, 0.0, DBL_MAX, "weight");
}

static PyObject *simulation_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"masses",      "fixed",          "elements",    "h",         "solver", "iterations", "tolerance",
                            "check_every", "initialization", "line_search", "chebyshev", "linear", "threads",    "relaxation",
                            "history",     "colours",        "subspace",    "weight",    NULL};
    PyObject *masses_object, *fixed_object, *list, *chebyshev, *linear, *colours_object, *subspace_object;
    PyObject *elements = NULL, *kept = NULL, *result = NULL;
    pd_element_set *sets = NULL;
    pd_settings settings = {.weight = 1.0};
    int threads;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO!diidiipOOidiOO|d:Simulation", names, &masses_object, &fixed_object,
                                     &PyList_Type, &list, &settings.h, &settings.solver, &settings.iterations, &settings.tolerance,
                                     &settings.check_every, &settings.initialization, &settings.line_search, &chebyshev, &linear, &threads,
                                     &settings.relaxation, &settings.history, &colours_object, &subspace_object, &settings.weight))
        return NULL;
    if (!pd_read_chebyshev(chebyshev, &settings.chebyshev) || !pd_read_linear_settings(linear, &settings.linear)) return NULL;
    if (!check_settings(&settings)) return NULL;
    if (!(kept = PyList_New(0))) return NULL;
    npy_intp any[1] = {-1};
    PyArrayObject *masses = pd_array_in_kept(kept, masses_object, NPY_FLOAT64, 1, any, "masses"), *fixed, *colours, *subspace;
    if (!masses) goto done;
    int n = pd_array_length(masses, 0, "masses");
    npy_intp count[1] = {n}, subspace_shape[3] = {n, 3, 3};
    if (n < 0 || !(fixed = pd_array_in_kept(kept, fixed_object, NPY_UINT8, 1, count, "fixed")) ||
        !keep_or_none(&colours, kept, colours_object, NPY_INT32, 1, count, "colours") ||
        !keep_or_none(&subspace, kept, subspace_object, NPY_FLOAT64, 3, subspace_shape, "subspace"))
        goto done;
    if (pd_array_check_range(masses, 0.0, DBL_MAX, "masses") < 0 || pd_array_check_range(fixed, 0, 1, "fixed") < 0 ||
        (colours && pd_array_check_range(colours, 0, n - 1, "colours") < 0) ||
        (subspace && pd_array_check_finite(subspace, "subspace") < 0))
        goto done;
    settings.colours = colours ? PyArray_DATA(colours) : NULL;

    // a tuple of our own: reading a kind may call __index__, and that could change the list
    elements = PyList_AsTuple(list);
    if (!elements) goto done;
    Py_ssize_t n_sets = PyTuple_Size(elements);
    int seen[PD_KIND_COUNT] = {0};
    if (n_sets > PD_KIND_COUNT) {
        PyErr_Format(PyExc_ValueError, "elements: %zd sets, but there are only %d kinds", n_sets, (int)PD_KIND_COUNT);
        goto done;
    }
    sets = calloc((size_t)n_sets + 1, sizeof *sets);
    if (!sets) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t s = 0; s < n_sets; s++) {
        if (!read_set(PyTuple_GetItem(elements, s), kept, n, &sets[s])) goto done;
        if (seen[sets[s].kind]++) {
            PyErr_Format(PyExc_ValueError, "elements: kind %d is given twice", sets[s].kind);
            goto done;
        }
    }
    if (colours && !check_colours(settings.colours, PyArray_DATA(fixed), sets, n_sets)) goto done;

    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    SimulationObject *self = (SimulationObject *)allocate(type, 0);
    if (!self) goto done;
    self->iterations = settings.iterations;
    self->lock = PyThread_allocate_lock();
    if (!self->lock) {
        Py_DECREF((PyObject *)self);
        PyErr_NoMemory();
        goto done;
    }
    Py_INCREF(kept);
    self->description = kept;
    pd_module_state *state = PyModule_GetState(PyType_GetModule(type));
    pd_description description = {n,    PyArray_DATA(masses), PyArray_DATA(fixed), subspace ? PyArray_DATA(subspace) : NULL,
                                  sets, (int)n_sets};
    pd_error error = {0};
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_create(&self->core, &description, &settings, state->cholesky, threads, &error);
    Py_END_ALLOW_THREADS if (status) {
        Py_DECREF((PyObject *)self);
        pd_raise(PyType_GetModule(type), status, &error);
        goto done;
    }
    result = (PyObject *)self;

done:
    Py_XDECREF(elements);
    Py_XDECREF(kept);
    free(sets);
    return result;
}

static void simulation_dealloc(SimulationObject *self) {
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    pd_simulation_destroy(self->core);
    if (self->lock) PyThread_free_lock(self->lock);
    Py_XDECREF(self->description);
    release(self);
    Py_DECREF(type);
}

/* ---- arrays of the state ------------------------------------------------------------------------------------------------ */

static PyArrayObject *new_vectors(SimulationObject *self) {
    npy_intp shape[2] = {pd_simulation_n_vertices(self->core), 3};
    return pd_array_out(PD_NPY_REAL, 2, shape);
}

/* A finite (n,3) argument or None; *data = NULL for None. Returns 0 with an exception set. */
static int read_vectors(SimulationObject *self, PyObject *object, const char *name, const real **data) {
    npy_intp shape[2] = {pd_simulation_n_vertices(self->core), 3};
    PyArrayObject *array = NULL;
    if (pd_array_in_or_none(&array, object, PD_NPY_REAL, 2, shape, name) < 0) return 0;
    if (array && pd_array_check_finite(array, name) < 0) return 0;
    *data = array ? PyArray_DATA(array) : NULL;
    return 1;
}

static PyObject *simulation_state(SimulationObject *self, PyObject *unused) {
    (void)unused;
    PyArrayObject *x = new_vectors(self), *v = new_vectors(self), *previous = new_vectors(self);
    PyObject *result = NULL;
    if (!x || !v || !previous || !enter(self)) goto done;
    pd_status status;
    int has_previous = pd_simulation_has_previous(self->core);
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_get_state(self->core, PyArray_DATA(x), PyArray_DATA(v), PyArray_DATA(previous));
    Py_END_ALLOW_THREADS leave(self);
    if (status)
        raise_from(self, status);
    else
        result = Py_BuildValue("(OOO)", x, v, has_previous ? (PyObject *)previous : Py_None);
done:
    Py_XDECREF((PyObject *)x);
    Py_XDECREF((PyObject *)v);
    Py_XDECREF((PyObject *)previous);
    return result;
}

/* One of them, without the transfer of the others. */
static PyObject *one_state(SimulationObject *self, int velocities) {
    PyArrayObject *out = new_vectors(self);
    if (!out) return NULL;
    if (!enter(self)) {
        Py_DECREF((PyObject *)out);
        return NULL;
    }
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status =
        pd_simulation_get_state(self->core, velocities ? NULL : PyArray_DATA(out), velocities ? PyArray_DATA(out) : NULL, NULL);
    Py_END_ALLOW_THREADS leave(self);
    if (status) {
        Py_DECREF((PyObject *)out);
        return raise_from(self, status);
    }
    return (PyObject *)out;
}

static PyObject *simulation_positions(SimulationObject *self, PyObject *unused) {
    (void)unused;
    return one_state(self, 0);
}

static PyObject *simulation_velocities(SimulationObject *self, PyObject *unused) {
    (void)unused;
    return one_state(self, 1);
}

static PyObject *simulation_set_state(SimulationObject *self, PyObject *arguments) {
    PyObject *objects[3];
    const real *x, *v, *previous;
    if (!PyArg_ParseTuple(arguments, "OOO:set_state", &objects[0], &objects[1], &objects[2])) return NULL;
    if (!read_vectors(self, objects[0], "positions", &x) || !read_vectors(self, objects[1], "velocities", &v) ||
        !read_vectors(self, objects[2], "previous_velocities", &previous) || !enter(self))
        return NULL;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_set_state(self->core, x, v, previous);
    Py_END_ALLOW_THREADS leave(self);
    if (status) return raise_from(self, status);
    Py_RETURN_NONE;
}

static PyObject *simulation_set_load(SimulationObject *self, PyObject *object) {
    const real *load;
    if (!read_vectors(self, object, "load", &load)) return NULL;
    if (!load) return PyErr_Format(PyExc_TypeError, "load: expected an array");
    if (!enter(self)) return NULL;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_set_load(self->core, load);
    Py_END_ALLOW_THREADS leave(self);
    if (status) return raise_from(self, status);
    Py_RETURN_NONE;
}

/* ---- what lies in the backend's memory --------------------------------------------------------------------------------------- */

static int settle(PyObject *object) {
    SimulationObject *self = (SimulationObject *)object;
    if (!enter(self)) return 0;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_wait(self->core);
    Py_END_ALLOW_THREADS leave(self);
    if (status) raise_from(self, status);
    return !status;
}

static PyObject *device_array(SimulationObject *self, int velocities) {
    real *x, *v;
    if (!enter(self)) return NULL;
    pd_simulation_share(self->core, &x, &v);
    leave(self);
    pd_module_state *state = PyModule_GetState(PyType_GetModule(Py_TYPE((PyObject *)self)));
    return pd_device_array_create(state->device_array_type, (PyObject *)self, settle, pd_simulation_place(self->core), velocities ? v : x,
                                  pd_simulation_n_vertices(self->core));
}

static PyObject *simulation_device_positions(SimulationObject *self, PyObject *unused) {
    (void)unused;
    return device_array(self, 0);
}

static PyObject *simulation_device_velocities(SimulationObject *self, PyObject *unused) {
    (void)unused;
    return device_array(self, 1);
}

static PyObject *simulation_counts(SimulationObject *self, PyObject *unused) {
    (void)unused;
    pd_counts counts = pd_simulation_counts(self->core);
    return Py_BuildValue("{sLsLsLsL}", "waits", counts.waits, "allocations", counts.allocations, "captures", counts.captures, "launches",
                         counts.launches);
}

/* ---- diagnostics ----------------------------------------------------------------------------------------------------------- */

static PyObject *simulation_energies(SimulationObject *self, PyObject *object) {
    const real *x;
    if (!read_vectors(self, object, "x", &x)) return NULL;
    npy_intp shape[1] = {PD_ENERGY_COUNT};
    PyArrayObject *out = pd_array_out(NPY_FLOAT64, 1, shape);
    if (!out) return NULL;
    if (!enter(self)) {
        Py_DECREF((PyObject *)out);
        return NULL;
    }
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_begin(self->core);
    if (!status) status = pd_simulation_energies(self->core, x, PyArray_DATA(out));
    Py_END_ALLOW_THREADS leave(self);
    if (status) {
        Py_DECREF((PyObject *)out);
        return raise_from(self, status);
    }
    return (PyObject *)out;
}

static PyObject *simulation_gradient(SimulationObject *self, PyObject *object) {
    const real *x;
    if (!read_vectors(self, object, "x", &x)) return NULL;
    PyArrayObject *out = new_vectors(self);
    if (!out) return NULL;
    if (!enter(self)) {
        Py_DECREF((PyObject *)out);
        return NULL;
    }
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_begin(self->core);
    if (!status) status = pd_simulation_gradient(self->core, x, PyArray_DATA(out));
    Py_END_ALLOW_THREADS leave(self);
    if (status) {
        Py_DECREF((PyObject *)out);
        return raise_from(self, status);
    }
    return (PyObject *)out;
}

static PyObject *simulation_gradient_rounding(SimulationObject *self, PyObject *unused) {
    (void)unused;
    double norm = 0.0;
    if (!enter(self)) return NULL;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_begin(self->core);
    if (!status) norm = pd_simulation_gradient_rounding(self->core);
    Py_END_ALLOW_THREADS leave(self);
    if (status) return raise_from(self, status);
    return PyFloat_FromDouble(norm);
}

/* (row_start, columns, values) of a sparse matrix, as fresh arrays. */
static PyObject *csr_arrays(const pd_csr *matrix, PyArrayObject *values) {
    npy_intp rows[1] = {matrix->n + 1}, count[1] = {matrix->row_start[matrix->n]};
    PyArrayObject *row_start = pd_array_copy(NPY_INT32, 1, rows, matrix->row_start);
    PyArrayObject *columns = pd_array_copy(NPY_INT32, 1, count, matrix->columns);
    PyObject *result = row_start && columns && values ? Py_BuildValue("(OOO)", row_start, columns, values) : NULL;
    Py_XDECREF((PyObject *)row_start);
    Py_XDECREF((PyObject *)columns);
    Py_XDECREF((PyObject *)values);
    return result;
}

static PyObject *simulation_hessian(SimulationObject *self, PyObject *arguments) {
    PyObject *object;
    int psd;
    const real *x;
    if (!PyArg_ParseTuple(arguments, "Op:hessian", &object, &psd)) return NULL;
    if (!read_vectors(self, object, "x", &x)) return NULL;
    const pd_csr *pattern;
    pd_status status;
    if (!enter(self)) return NULL;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_pattern(self->core, &pattern);
    Py_END_ALLOW_THREADS leave(self);
    if (status) return raise_from(self, status);
    npy_intp shape[3] = {pattern->row_start[pattern->n], 3, 3};
    PyArrayObject *blocks = pd_array_out(PD_NPY_REAL, 3, shape);
    if (!blocks) return NULL;
    if (!enter(self)) {
        Py_DECREF((PyObject *)blocks);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_begin(self->core);
    if (!status) status = pd_simulation_hessian(self->core, x, psd, PyArray_DATA(blocks));
    Py_END_ALLOW_THREADS leave(self);
    if (status) {
        Py_DECREF((PyObject *)blocks);
        return raise_from(self, status);
    }
    return csr_arrays(pattern, blocks);
}

static PyObject *simulation_system_matrix(SimulationObject *self, PyObject *unused) {
    (void)unused;
    const pd_csr *A;
    pd_status status;
    if (!enter(self)) return NULL;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_system_matrix(self->core, &A);
    Py_END_ALLOW_THREADS leave(self);
    if (status) return raise_from(self, status);
    npy_intp count[1] = {A->row_start[A->n]};
    return csr_arrays(A, pd_array_copy(NPY_FLOAT64, 1, count, A->values));
}

/* The linear solver of the global step in *linear, NULL where the solver has none. Returns 0 with an exception set. */
static int linear_of(SimulationObject *self, pd_linear **linear) {
    pd_status status;
    if (!enter(self)) return 0;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_linear(self->core, linear);
    Py_END_ALLOW_THREADS leave(self);
    if (status) raise_from(self, status);
    return !status;
}

static PyObject *simulation_constraint_colours(SimulationObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromLong(pd_simulation_constraint_colours(self->core));
}

static PyObject *simulation_linear_weight(SimulationObject *self, PyObject *unused) {
    pd_linear *linear;
    (void)unused;
    if (!linear_of(self, &linear)) return NULL;
    return Py_BuildValue("(dd)", linear ? pd_linear_weight(linear) : 0.0, linear ? pd_linear_largest_eigenvalue(linear) : 0.0);
}

static PyObject *simulation_set_linear(SimulationObject *self, PyObject *arguments) {
    double weight, omega, rho;
    PyObject *object;
    pd_chebyshev chebyshev;
    pd_linear *linear;
    if (!PyArg_ParseTuple(arguments, "dddO:set_linear", &weight, &omega, &rho, &object)) return NULL;
    if (!pd_check_spectrum(weight, omega, rho) || !pd_read_chebyshev(object, &chebyshev) || !linear_of(self, &linear)) return NULL;
    if (!linear) return PyErr_Format(PyExc_ValueError, "this solver has no linear solver");
    if (!enter(self)) return NULL;
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = pd_linear_set(linear, weight, omega, rho, &chebyshev);
    Py_END_ALLOW_THREADS leave(self);
    if (status) return raise_from(self, status);
    Py_RETURN_NONE;
}

static PyObject *simulation_set_chebyshev(SimulationObject *self, PyObject *object) {
    pd_chebyshev chebyshev;
    if (!pd_read_chebyshev(object, &chebyshev) || !enter(self)) return NULL;
    pd_simulation_set_chebyshev(self->core, &chebyshev);
    leave(self);
    Py_RETURN_NONE;
}

/* ---- the step ---------------------------------------------------------------------------------------------------------------- */

static PyObject *simulation_prepare(SimulationObject *self, PyObject *unused) {
    (void)unused;
    double seconds = 0.0;
    pd_status status;
    if (!enter(self)) return NULL;
    Py_BEGIN_ALLOW_THREADS status = pd_simulation_prepare(self->core, &seconds);
    Py_END_ALLOW_THREADS leave(self);
    if (status) return raise_from(self, status);
    return PyFloat_FromDouble(seconds);
}

enum { RECORD_COLUMNS = 7 };

/* What one step records, and where. */
typedef struct {
    SimulationObject *self;
    PyThreadState *thread; /* saved while the core runs */
    double *record;        /* [iterations+1, 7] or NULL */
    real *iterates;        /* [iterations+1, n, 3] or NULL */
    PyObject *observer;    /* callable or NULL */
    int rows;
} Watch;

static int interrupted(void *user) {
    Watch *watch = user;
    return pd_signal_raised(&watch->thread);
}

static pd_status record(void *user, pd_simulation *core, const pd_iteration *iteration) {
    Watch *watch = user;
    size_t count = (size_t)pd_simulation_n_vertices(core) * 3;
    pd_status status = PD_OK;
    if (iteration->number > watch->self->iterations) return PD_OK;
    if (watch->record) {
        double *row = watch->record + (size_t)iteration->number * RECORD_COLUMNS;
        row[0] = iteration->number, row[1] = iteration->seconds, row[4] = iteration->step_norm;
        row[5] = iteration->direction_seconds, row[6] = iteration->advance_seconds;
        status = pd_simulation_evaluate(core, &row[2], &row[3]);
    }
    if (!status && watch->iterates) status = pd_simulation_get_state(core, watch->iterates + (size_t)iteration->number * count, NULL, NULL);
    watch->rows = iteration->number + 1;
    if (status || !watch->observer) return status;

    PyEval_RestoreThread(watch->thread);
    PyArrayObject *positions = new_vectors(watch->self);
    PyObject *answer = NULL;
    if (positions) {
        status = pd_simulation_get_state(core, PyArray_DATA(positions), NULL, NULL);
        if (!status)
            answer = PyObject_CallFunction(watch->observer, "iddddO", iteration->number, iteration->seconds, iteration->direction_seconds,
                                           iteration->advance_seconds, iteration->step_norm, positions);
    }
    if (!status && !answer) status = PD_INTERRUPTED; // the observer's exception is pending
    Py_XDECREF(answer);
    Py_XDECREF((PyObject *)positions);
    watch->thread = PyEval_SaveThread();
    return status;
}

static PyObject *simulation_step(SimulationObject *self, PyObject *arguments) {
    PyObject *targets_object, *record_object, *iterates_object, *observer_object;
    int keep_diverged;
    const real *targets;
    PyArrayObject *rows = NULL, *iterates = NULL;
    pd_step_result result;
    if (!PyArg_ParseTuple(arguments, "OOOOp:step", &targets_object, &record_object, &iterates_object, &observer_object, &keep_diverged))
        return NULL;
    npy_intp rows_shape[2] = {(npy_intp)self->iterations + 1, RECORD_COLUMNS};
    npy_intp iterates_shape[3] = {(npy_intp)self->iterations + 1, pd_simulation_n_vertices(self->core), 3};
    if (!read_vectors(self, targets_object, "targets", &targets)) return NULL;
    if (record_object != Py_None && !(rows = pd_array_in_out(record_object, NPY_FLOAT64, 2, rows_shape, "record"))) return NULL;
    if (iterates_object != Py_None && !(iterates = pd_array_in_out(iterates_object, PD_NPY_REAL, 3, iterates_shape, "iterates")))
        return NULL;
    if (observer_object != Py_None && !PyCallable_Check(observer_object))
        return PyErr_Format(PyExc_TypeError, "observer: expected a callable");
    if (!enter(self)) return NULL;

    Watch watch = {self,
                   NULL,
                   rows ? PyArray_DATA(rows) : NULL,
                   iterates ? PyArray_DATA(iterates) : NULL,
                   observer_object != Py_None ? observer_object : NULL,
                   0};
    int recording = watch.record || watch.iterates || watch.observer;
    pd_observer observer = {&watch, recording ? record : NULL, interrupted};
    watch.thread = PyEval_SaveThread();
    pd_status status = pd_simulation_step(self->core, targets, &observer, keep_diverged, &result);
    PyEval_RestoreThread(watch.thread);
    self->steps += !status && result.stop != PD_STOP_DIVERGED;
    leave(self);
    if (status) {
        raise_from(self, status);
        // the rows written so far go with the exception
        if (status == PD_DIVERGED) {
            PyObject *type, *value, *traceback;
            PyErr_Fetch(&type, &value, &traceback);
            PyErr_NormalizeException(&type, &value, &traceback);
            PyObject *count = value ? PyLong_FromLong(watch.rows) : NULL;
            if (!count || PyObject_SetAttrString(value, "rows", count) < 0) PyErr_Clear();
            Py_XDECREF(count);
            PyErr_Restore(type, value, traceback);
        }
        return NULL;
    }
    static const char *stops[] = {"iteration_cap", "converged", "stalled", "diverged"};
    const double *p = result.phases;
    return Py_BuildValue("(sNidi(ddddd)d)", stops[result.stop], PyBool_FromLong(result.at_rounding), result.iterations, result.seconds,
                         watch.rows, p[PD_PHASE_BEGIN], p[PD_PHASE_FIRST_GUESS], p[PD_PHASE_DIRECTION], p[PD_PHASE_ADVANCE],
                         p[PD_PHASE_VELOCITY], result.device_seconds);
}

static PyObject *simulation_steps(SimulationObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromLongLong(self->steps);
}

static PyObject *simulation_set_steps(SimulationObject *self, PyObject *object) {
    long long steps = PyLong_AsLongLong(object);
    if (steps == -1 && PyErr_Occurred()) return NULL;
    if (steps < 0) return PyErr_Format(PyExc_ValueError, "steps: must not be negative, got %lld", steps);
    self->steps = steps;
    Py_RETURN_NONE;
}

/* ---- the type ----------------------------------------------------------------------------------------------------------------- */

static PyMethodDef simulation_methods[] = {
    {"prepare", (PyCFunction)simulation_prepare, METH_NOARGS,
     "prepare($self, /)\n--\n\nFactorises and estimates what the solver needs; returns the seconds it took, 0 the second time."},
    {"step", (PyCFunction)simulation_step, METH_VARARGS,
     "step($self, targets, record, iterates, observer, keep_diverged, /)\n--\n\n"
     "One time step; returns (status, whether at rounding, iterations, seconds, rows recorded, seconds of the five phases, of the "
     "device)."},
    {"steps", (PyCFunction)simulation_steps, METH_NOARGS, "steps($self, /)\n--\n\nNumber of steps taken."},
    {"set_steps", (PyCFunction)simulation_set_steps, METH_O,
     "set_steps($self, steps, /)\n--\n\nNumber of steps taken so far, for a resumed run."},
    {"state", (PyCFunction)simulation_state, METH_NOARGS,
     "state($self, /)\n--\n\n(positions, velocities, previous velocities or None), fresh copies."},
    {"positions", (PyCFunction)simulation_positions, METH_NOARGS, "positions($self, /)\n--\n\nA fresh copy."},
    {"velocities", (PyCFunction)simulation_velocities, METH_NOARGS, "velocities($self, /)\n--\n\nA fresh copy."},
    {"set_state", (PyCFunction)simulation_set_state, METH_VARARGS,
     "set_state($self, positions, velocities, previous_velocities, /)\n--\n\nNone leaves positions or velocities as they are, and forgets "
     "the previous velocities."},
    {"device_positions", (PyCFunction)simulation_device_positions, METH_NOARGS,
     "device_positions($self, /)\n--\n\nThe positions where they lie, as a DeviceArray that keeps this object alive."},
    {"device_velocities", (PyCFunction)simulation_device_velocities, METH_NOARGS,
     "device_velocities($self, /)\n--\n\nThe velocities where they lie, as a DeviceArray that keeps this object alive."},
    {"counts", (PyCFunction)simulation_counts, METH_NOARGS,
     "counts($self, /)\n--\n\nSo far: waits of the host for the device, allocations of backend memory, captures and launches of graphs."},
    {"set_load", (PyCFunction)simulation_set_load, METH_O,
     "set_load($self, load, /)\n--\n\nAcceleration of gravity and external forces, (n,3) m/s^2."},
    {"energies", (PyCFunction)simulation_energies, METH_O,
     "energies($self, x, /)\n--\n\nParts of the incremental potential at x (None: here), J: elastic by kind, inertia, load, damping."},
    {"gradient", (PyCFunction)simulation_gradient, METH_O, "gradient($self, x, /)\n--\n\ndG/dx at x (None: here), (n,3) N."},
    {"gradient_rounding", (PyCFunction)simulation_gradient_rounding, METH_NOARGS,
     "gradient_rounding($self, /)\n--\n\nNorm of dG/dx, N, that rounding the present positions leaves."},
    {"hessian", (PyCFunction)simulation_hessian, METH_VARARGS,
     "hessian($self, x, psd, /)\n--\n\n(row_start, columns, blocks) of d2G/dx2 over all vertices, blocks (nnz,3,3) N/m."},
    {"system_matrix", (PyCFunction)simulation_system_matrix, METH_NOARGS,
     "system_matrix($self, /)\n--\n\n(row_start, columns, values) of the Projective Dynamics matrix over all vertices, N/m."},
    {"constraint_colours", (PyCFunction)simulation_constraint_colours, METH_NOARGS,
     "constraint_colours($self, /)\n--\n\nColours of the elements in a sweep over constraints; 0 where the solver has none."},
    {"linear_weight", (PyCFunction)simulation_linear_weight, METH_NOARGS,
     "linear_weight($self, /)\n--\n\n(weight, estimated largest eigenvalue of D^-1 A) of a Jacobi or A-Jacobi global step."},
    {"set_linear", (PyCFunction)simulation_set_linear, METH_VARARGS,
     "set_linear($self, weight, omega, rho, chebyshev, /)\n--\n\nWhat the spectrum of the system matrix tells the linear solver."},
    {"set_chebyshev", (PyCFunction)simulation_set_chebyshev, METH_O,
     "set_chebyshev($self, chebyshev, /)\n--\n\nExtrapolation of the outer iteration: None or (rho, start, under_relaxation)."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot simulation_slots[] = {
    {Py_tp_new, (void *)simulation_new},
    {Py_tp_dealloc, (void *)simulation_dealloc},
    {Py_tp_methods, simulation_methods},
    {Py_tp_doc, "A model and its state on one device in one precision; pdgpu.Simulation is the class to use."},
    {0, NULL},
};

PyType_Spec pd_simulation_type_spec = {
    .name = "pdgpu.backend.Simulation",
    .basicsize = sizeof(SimulationObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = simulation_slots,
};
