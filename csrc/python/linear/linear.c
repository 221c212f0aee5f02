/* The type Linear of a backend module: one matrix, one linear solver, any number of solves (pdgpu.linear). */
#include "python/binding/backend_module.h"

#include "base/clock.h"
#include "linear/preconditioner.h"
#include "python/binding/errors.h"
#include "python/binding/instance.h"
#include "python/binding/names.h"
#include "python/binding/one_call.h"
#include "python/binding/options.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    PyObject_HEAD pd_context *context;
    pd_linear *core;
    pd_one_call calls;
    int n, width, iterations;
    real *residual, *direction, *start, *target; /* B [n,width] */
    PyObject *function;                          /* called by the solver; NULL: none */
    double refresh_seconds; /* of the last added diagonal, with its transfer to the device; below 0: none since the setup of the solver */
} LinearObject;

int pd_read_chebyshev(PyObject *object, pd_chebyshev *out) {
    static const pd_option_reader reader = {"chebyshev", "an extrapolation", NULL, NULL};
    *out = (pd_chebyshev){0, 0.0, 1, 1.0};
    if (object == Py_None) return 1;
    out->enabled = 1;
    return pd_read_options(&reader, object, &(pd_option_list){pd_chebyshev_options, out}, 1);
}

int pd_check_spectrum(double weight, double omega, double rho) {
    return pd_number_in_range(weight, 0.0, DBL_MAX, "weight") && pd_number_in_range(omega, 0.0, 2.0, "omega") &&
           pd_number_in_range(rho, 0.0, DBL_MAX, "rho");
}

/* None or a dict of pd_anderson_options. */
static int read_anderson(PyObject *object, pd_anderson_settings *out) {
    static const pd_option_reader reader = {"anderson", "an acceleration", NULL, NULL};
    *out = (pd_anderson_settings){0, 0.0, PD_SAFEGUARD_AUTOMATIC};
    return object == Py_None || pd_read_options(&reader, object, &(pd_option_list){pd_anderson_options, out}, 1);
}

static int read_part(const void *user, PyObject *value, const pd_option *option, void *place) {
    (void)user;
    if (option->type == PD_OPTION_FUNCTION) return pd_read_vector_function(value, place);
    if (option->type == PD_OPTION_ANDERSON) return read_anderson(value, place);
    return option->type == PD_OPTION_CHEBYSHEV && pd_read_chebyshev(value, place);
}

int pd_read_linear_settings(PyObject *object, pd_linear_settings *s) {
    static const pd_option_reader reader = {"linear", "a linear solver", read_part, NULL};
    memset(s, 0, sizeof *s);
    return pd_read_options(&reader, object, &(pd_option_list){pd_linear_options, s}, 1);
}

static PyObject *raise_from(LinearObject *self, pd_status status) {
    return pd_raise_of((PyObject *)self, status, pd_context_error(self->context));
}

/* One call of the core without the GIL: 1, or 0 with an exception set. */
static int call(LinearObject *self, pd_status (*function)(LinearObject *self, const void *given, void *out), const void *given, void *out) {
    pd_status status;
    if (!pd_one_call_enter(&self->calls)) return 0;
    Py_BEGIN_ALLOW_THREADS status = function(self, given, out);
    Py_END_ALLOW_THREADS pd_one_call_leave(&self->calls);
    if (status) raise_from(self, status);
    return !status;
}

/* (row_start, columns, values) to a csr of arrays kept by the list. Checks every index that the core uses. */
static int read_csr(PyObject *object, PyObject *kept, const char *name, pd_csr *out) {
    PyObject *parts[3];
    npy_intp any[1] = {-1};
    if (!PyTuple_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s: expected (row_start, columns, values)", name);
        return 0;
    }
    if (!PyArg_ParseTuple(object, "OOO", &parts[0], &parts[1], &parts[2])) return 0;
    PyArrayObject *row_start = pd_array_in_kept(kept, parts[0], NPY_INT32, 1, any, "row_start");
    if (!row_start) return 0;
    PyArrayObject *columns = pd_array_in_kept(kept, parts[1], NPY_INT32, 1, any, "columns");
    if (!columns) return 0;
    int count = pd_array_length(columns, 0, "columns"), rows = pd_array_length(row_start, 0, "row_start");
    if (count < 0 || rows < 0) return 0;
    npy_intp shape[1] = {count};
    PyArrayObject *values = pd_array_in_kept(kept, parts[2], NPY_FLOAT64, 1, shape, "values");
    if (!values || pd_array_check_finite(values, name) < 0) return 0;
    *out = (pd_csr){rows - 1, PyArray_DATA(row_start), PyArray_DATA(columns), PyArray_DATA(values)};
    int valid = rows >= 2 && out->row_start[0] == 0 && out->row_start[rows - 1] == count;
    for (int i = 0; valid && i < out->n; i++) valid = out->row_start[i] <= out->row_start[i + 1];
    for (int s = 0; valid && s < count; s++) valid = out->columns[s] >= 0 && out->columns[s] < out->n;
    for (int i = 0; valid && i < out->n; i++)
        for (int s = out->row_start[i] + 1; valid && s < out->row_start[i + 1]; s++) valid = out->columns[s - 1] < out->columns[s];
    if (!valid) PyErr_Format(PyExc_ValueError, "%s: not a square matrix in compressed rows with ascending columns", name);
    return valid;
}

static PyObject *create(PyTypeObject *type, PyObject *arguments, PyObject *keywords, PyObject *kept) {
    static char *names[] = {"matrix", "bending", "width", "settings", "threads", NULL};
    PyObject *matrix, *bending, *options;
    int width, threads;
    pd_csr A, bending_csr;
    pd_linear_settings settings;
    pd_error error = {0};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOiOi:Linear", names, &matrix, &bending, &width, &options, &threads))
        return NULL;
    if (!read_csr(matrix, kept, "matrix", &A) || !pd_read_linear_settings(options, &settings)) return NULL;
    if (bending != Py_None && !read_csr(bending, kept, "bending", &bending_csr)) return NULL;
    if (bending != Py_None && bending_csr.n != A.n)
        return PyErr_Format(PyExc_ValueError, "bending: expected %d rows, got %d", A.n, bending_csr.n);
    if (width < 1) return PyErr_Format(PyExc_ValueError, "width: must be at least 1, got %d", width);
    if (pd_preconditioner_of(settings.preconditioner)->block == 3 && (width != 1 || A.n % 3))
        return PyErr_Format(PyExc_ValueError, "preconditioner: blocks of 3 rows need one column and a multiple of 3 rows");
    for (int i = 0; i < A.n; i++) {
        int found = 0;
        for (int s = A.row_start[i]; s < A.row_start[i + 1]; s++) found |= A.columns[s] == i && A.values[s] > 0.0;
        if (!found) return PyErr_Format(PyExc_ValueError, "matrix: the diagonal must be positive, it is not at row %d", i);
    }

    LinearObject *self = pd_instance_create(type);
    if (!self) return NULL;
    pd_module_state *state = PyModule_GetState(PyType_GetModule(type));
    size_t bytes = (size_t)A.n * (size_t)width * sizeof(real);
    self->function = settings.function.user;
    Py_XINCREF(self->function);
    self->n = A.n, self->width = width, self->iterations = settings.iterations, self->refresh_seconds = -1.0;
    if (!pd_one_call_create(&self->calls, "linear system")) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    pd_status status = pd_context_create(&self->context, (pd_place){state->device, threads}, &error);
    if (status) {
        Py_DECREF((PyObject *)self);
        return pd_raise(PyType_GetModule(type), status, &error);
    }
    Py_BEGIN_ALLOW_THREADS status =
        pd_linear_create(&self->core, self->context, state->cholesky, &settings, &A, NULL, bending == Py_None ? NULL : &bending_csr, width);
    if (!status) status = pd_memory_create(self->context, (void **)&self->residual, bytes);
    if (!status) status = pd_memory_create(self->context, (void **)&self->direction, bytes);
    if (!status) status = pd_memory_create(self->context, (void **)&self->start, bytes);
    if (!status) status = pd_memory_create(self->context, (void **)&self->target, bytes);
    Py_END_ALLOW_THREADS if (status) {
        raise_from(self, status);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyObject *linear_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    PyObject *kept = PyList_New(0), *result = kept ? create(type, arguments, keywords, kept) : NULL;
    Py_XDECREF(kept);
    return result;
}

static void linear_dealloc(LinearObject *self) {
    pd_linear_destroy(self->core);
    if (self->context) {
        PD_MEMORIES_DESTROY(self->context, self->residual, self->direction, self->start, self->target);
        pd_context_destroy(self->context);
    }
    pd_one_call_destroy(&self->calls);
    Py_XDECREF(self->function);
    pd_instance_destroy(self);
}

PyObject *pd_build_weight(const pd_linear *linear) {
    return Py_BuildValue("{sdsd}", "weight", linear ? pd_linear_weight(linear) : 0.0, "largest_eigenvalue",
                         linear ? pd_linear_largest_eigenvalue(linear) : 0.0);
}

static PyObject *linear_weight(LinearObject *self, PyObject *unused) {
    (void)unused;
    return pd_build_weight(self->core);
}

static PyObject *linear_colours(LinearObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromLong(pd_linear_colours(self->core));
}

static pd_status cost_of(LinearObject *self, const void *given, void *out) {
    (void)given;
    return pd_linear_cost(self->core, out);
}

static PyObject *linear_cost(LinearObject *self, PyObject *unused) {
    pd_a_jacobi_cost cost;
    (void)unused;
    if (!call(self, cost_of, NULL, &cost)) return NULL;
    if (self->refresh_seconds >= 0.0 && cost.bytes > 0) cost.refresh_seconds = self->refresh_seconds;
    return Py_BuildValue("{sLsLsLsLsd}", "nonzeros", cost.nonzeros, "paths", cost.paths, "bytes", cost.bytes, "rows_recomputed",
                         cost.rows_recomputed, "refresh_seconds", cost.refresh_seconds);
}

PyObject *pd_build_counts(pd_counts counts) {
    return Py_BuildValue("{sLsLsLsLsL}", "waits", counts.waits, "allocations", counts.allocations, "captures", counts.captures, "launches",
                         counts.launches, "refused", counts.refused);
}

static PyObject *linear_counts(LinearObject *self, PyObject *unused) {
    (void)unused;
    return pd_build_counts(pd_context_counts(self->context));
}

typedef struct {
    double weight, omega, rho;
    pd_chebyshev chebyshev;
} spectrum;

static pd_status set_spectrum(LinearObject *self, const void *given, void *out) {
    const spectrum *to = given;
    (void)out;
    self->refresh_seconds = -1.0;
    return pd_linear_set(self->core, to->weight, to->omega, to->rho, &to->chebyshev);
}

static PyObject *linear_set(LinearObject *self, PyObject *arguments) {
    spectrum to;
    PyObject *object;
    if (!PyArg_ParseTuple(arguments, "dddO:set", &to.weight, &to.omega, &to.rho, &object)) return NULL;
    if (!pd_check_spectrum(to.weight, to.omega, to.rho) || !pd_read_chebyshev(object, &to.chebyshev)) return NULL;
    if (!call(self, set_spectrum, &to, NULL)) return NULL;
    Py_RETURN_NONE;
}

static pd_status prepare(LinearObject *self, const void *given, void *out) {
    pd_status status = pd_linear_prepare(self->core);
    (void)given, (void)out;
    return status ? status : pd_context_synchronise(self->context); // the caller measures the time
}

static PyObject *linear_prepare(LinearObject *self, PyObject *unused) {
    (void)unused;
    if (!call(self, prepare, NULL, NULL)) return NULL;
    Py_RETURN_NONE;
}

static pd_status set_diagonal(LinearObject *self, const void *given, void *out) {
    double begin = pd_seconds();
    pd_status status = pd_linear_upload_diagonal(self->core, given);
    (void)out;
    if (!status) status = pd_context_synchronise(self->context);
    self->refresh_seconds = pd_seconds() - begin;
    return status;
}

static PyObject *linear_set_diagonal(LinearObject *self, PyObject *object) {
    npy_intp shape[1] = {self->n};
    PyArrayObject *added = NULL;
    if (pd_array_in_or_none(&added, object, NPY_FLOAT64, 1, shape, "added") < 0) return NULL;
    if (added && pd_array_check_range(added, 0.0, DBL_MAX, "added") < 0) return NULL;
    if (!call(self, set_diagonal, added ? PyArray_DATA(added) : NULL, NULL)) return NULL;
    Py_RETURN_NONE;
}

/* ---- the solve ------------------------------------------------------------------------------------------------------------ */

typedef struct {
    PyThreadState *thread;
    double *record; /* [capacity, PD_LINEAR_RECORD_COLUMNS] or NULL */
    npy_intp rows, capacity;
    double first, last, distance; /* at the first and at the last measurement */
} Watch;

static int interrupted(void *user) {
    Watch *watch = user;
    return pd_signal_raised(&watch->thread);
}

static void record(void *user, int iteration, double seconds, double residual_norm, double distance) {
    Watch *watch = user;
    if (iteration == 0) watch->first = residual_norm;
    watch->last = residual_norm;
    watch->distance = distance;
    if (!watch->record || watch->rows >= watch->capacity) return;
    double *row = watch->record + watch->rows++ * PD_LINEAR_RECORD_COLUMNS;
    row[PD_LINEAR_RECORD_ITERATION] = iteration;
    row[PD_LINEAR_RECORD_SECONDS] = seconds;
    row[PD_LINEAR_RECORD_RESIDUAL_NORM] = residual_norm;
    row[PD_LINEAR_RECORD_DISTANCE] = distance;
}

static PyObject *linear_solve(LinearObject *self, PyObject *arguments) {
    PyObject *residual_object, *start_object, *target_object, *record_object;
    int every, counted;
    npy_intp shape[2] = {self->n, self->width}, rows[2] = {-1, PD_LINEAR_RECORD_COLUMNS};
    PyArrayObject *start = NULL, *target = NULL, *table = NULL;
    if (!PyArg_ParseTuple(arguments, "OOOOip:solve", &residual_object, &start_object, &target_object, &record_object, &every, &counted))
        return NULL;
    PyArrayObject *residual = pd_array_in(residual_object, PD_NPY_REAL, 2, shape, "residual");
    if (!residual || pd_array_check_finite(residual, "residual") < 0) return NULL;
    if (pd_array_in_or_none(&start, start_object, PD_NPY_REAL, 2, shape, "start") < 0) return NULL;
    if (start && pd_array_check_finite(start, "start") < 0) return NULL;
    if (pd_array_in_or_none(&target, target_object, PD_NPY_REAL, 2, shape, "target") < 0) return NULL;
    if (target && pd_array_check_finite(target, "target") < 0) return NULL;
    if (record_object != Py_None && !(table = pd_array_in_out(record_object, NPY_FLOAT64, 2, rows, "record"))) return NULL;
    if (every < 1) return PyErr_Format(PyExc_ValueError, "every: must be at least 1, got %d", every);
    PyArrayObject *direction = pd_array_out(PD_NPY_REAL, 2, shape);
    if (!direction) return NULL;
    if (!pd_one_call_enter(&self->calls)) {
        Py_DECREF((PyObject *)direction);
        return NULL;
    }
    size_t bytes = (size_t)self->n * (size_t)self->width * sizeof(real);
    const void *source = PyArray_DATA(residual), *target_source = target ? PyArray_DATA(target) : NULL;
    const void *start_source = start ? PyArray_DATA(start) : NULL;
    void *answer = PyArray_DATA(direction);
    Watch watch = {NULL, table ? PyArray_DATA(table) : NULL, 0, table ? PyArray_DIM(table, 0) : 0, 0.0, 0.0, 0.0};
    pd_linear_observer observer = {&watch, record, interrupted, target ? self->target : NULL, start ? self->start : NULL, every, counted};
    pd_linear_result result;
    watch.thread = PyEval_SaveThread();
    pd_status status = pd_memory_upload(self->context, self->residual, source, bytes);
    if (!status && start) status = pd_memory_upload(self->context, self->start, start_source, bytes);
    if (!status && target) status = pd_memory_upload(self->context, self->target, target_source, bytes);
    if (!status) status = pd_linear_solve(self->core, self->residual, self->direction, &observer, &result);
    if (!status) status = pd_memory_download(self->context, answer, self->direction, bytes);
    PyEval_RestoreThread(watch.thread);
    pd_one_call_leave(&self->calls);
    if (status) {
        Py_DECREF((PyObject *)direction);
        return raise_from(self, status);
    }
    static const char *const stops[] = {PD_LINEAR_STOP_TABLE(PD_NAME_AT)};
    return Py_BuildValue("{sNsssisdsnsdsd}", "direction", direction, "status", stops[result.stop], "iterations", result.iterations,
                         "seconds", result.seconds, "rows", (Py_ssize_t)watch.rows, "first_norm", watch.first, "last_norm", watch.last);
}

static PyMethodDef linear_methods[] = {
    {"weight", (PyCFunction)linear_weight, METH_NOARGS,
     "weight($self, /)\n--\n\nOf Jacobi or A-Jacobi, a dict: weight, and the estimated largest_eigenvalue of D^-1 A."},
    {"colours", (PyCFunction)linear_colours, METH_NOARGS, "colours($self, /)\n--\n\nColours of a Gauss-Seidel solver once prepared, or 0."},
    {"cost", (PyCFunction)linear_cost, METH_NOARGS,
     "cost($self, /)\n--\n\nOf A-Jacobi, a dict: nonzeros, paths, bytes, and the rows_recomputed and refresh_seconds of the last refresh."},
    {"set", (PyCFunction)linear_set, METH_VARARGS,
     "set($self, weight, omega, rho, chebyshev, /)\n--\n\nWhat the spectrum tells: weight, SOR's omega, rho of one weighted Jacobi step, "
     "extrapolation."},
    {"prepare", (PyCFunction)linear_prepare, METH_NOARGS, "prepare($self, /)\n--\n\nFactorises, colours, aggregates."},
    {"counts", (PyCFunction)linear_counts, METH_NOARGS,
     "counts($self, /)\n--\n\nSo far: waits of the host for the device, allocations of backend memory, captures and launches of graphs, "
     "captures refused."},
    {"set_diagonal", (PyCFunction)linear_set_diagonal, METH_O,
     "set_diagonal($self, added, /)\n--\n\nThe matrix becomes A_0 + diag(added); None: A_0."},
    {"solve", (PyCFunction)linear_solve, METH_VARARGS,
     "solve($self, residual, start, target, record, every, counted, /)\n--\n\nSolves A d = residual from d = 0 (the biased A-Jacobi from "
     "start); returns a dict: direction, status, iterations, "
     "seconds, rows (recorded), first_norm and last_norm of the residual."},
    {NULL, NULL, 0, NULL},
};

PD_TYPE_SPEC(linear, "Linear", LinearObject, "A matrix and a linear solver in one precision; pdgpu.linear has the functions to use.");
