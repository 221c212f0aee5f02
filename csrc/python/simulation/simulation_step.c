/* One step: its record, its observer, and Ctrl-C. */
#include "python/binding/errors.h"
#include "python/binding/names.h"
#include "python/simulation/simulation_object.h"

#include "dynamics/contact/contact_record.h"

#include <stdlib.h>
#include <string.h>

/* The buffers of the record of one step. */
typedef struct {
    pd_simulation_object *self;
    PyThreadState *thread; /* saved while the core runs */
    double *record;        /* [iterations+1, PD_RECORD_COLUMNS] or NULL */
    real *iterates;        /* [iterations+1, n, 3] or NULL */
    PyObject *observer;    /* callable or NULL */
    int rows;

    /* of updates of contact: [reports, PD_UPDATE_COLUMNS], and positions of all points, [reports, n_points, 3]; grown by doubling */
    size_t reports, capacity, n_points;
    double *columns;
    real *path;
} Watch;

static int interrupted(void *user) {
    Watch *watch = user;
    return pd_signal_raised(&watch->thread);
}

/* The columns of a record, in double. */
static void fill_row(double *row, const pd_iteration *iteration, const pd_contact_row *contact) {
#define FROM_OBSERVED                 iteration
#define FROM_RECORDED                 iteration
#define FROM_CONTACT                  contact
#define FILL(NAME, name, PART, field) row[PD_RECORD_##NAME] = (double)FROM_##PART->field;
    PD_RECORD_TABLE(FILL)
#undef FILL
}

/* Takes the reference to the value. Returns 0, or -1 with an exception. */
static int put(PyObject *dict, const char *name, PyObject *value) {
    int failed = value ? PyDict_SetItemString(dict, name, value) : -1;
    Py_XDECREF(value);
    return failed;
}

/* {name: value} of an iteration for its observer, a new reference. */
static PyObject *build_observed(const pd_iteration *iteration, PyObject *positions) {
    PyObject *dict = PyDict_New();
    int failed = !dict;
#define SHOW_OBSERVED(name, field)                                                                                                       \
    failed = failed || put(dict, name,                                                                                                   \
                           _Generic(iteration->field, int: PyLong_FromLong, long long: PyLong_FromLongLong, double: PyFloat_FromDouble)( \
                               iteration->field)) < 0;
#define SHOW_RECORDED(name, field)
#define SHOW_CONTACT(name, field)
#define SHOW(NAME, name, PART, field) SHOW_##PART(name, field)
    PD_RECORD_TABLE(SHOW)
#undef SHOW
    failed = failed || put(dict, "positions", Py_NewRef(positions)) < 0;
    if (failed) Py_CLEAR(dict);
    return dict;
}

static pd_status record(void *user, pd_simulation *core, const pd_iteration *iteration) {
    Watch *watch = user;
    size_t count = (size_t)pd_simulation_n_vertices(core) * 3;
    pd_status status = PD_OK;
    if (iteration->number > watch->self->iterations) return PD_OK;
    if (watch->record) {
        double *row = watch->record + (size_t)iteration->number * PD_RECORD_COLUMNS;
        pd_contact_row contact = {0};
        status = pd_simulation_contact_row(core, NULL, iteration->number == 0, &contact);
        fill_row(row, iteration, &contact);
    }
    if (!status && watch->iterates) status = pd_simulation_get_state(core, watch->iterates + (size_t)iteration->number * count, NULL, NULL);
    watch->rows = iteration->number + 1;
    if (status || !watch->observer) return status;

    PyEval_RestoreThread(watch->thread);
    PyArrayObject *positions = pd_object_new_vectors(watch->self);
    PyObject *answer = NULL;
    if (positions) {
        status = pd_simulation_get_state(core, PyArray_DATA(positions), NULL, NULL);
        if (!status) answer = PyObject_CallFunction(watch->observer, "(N)", build_observed(iteration, (PyObject *)positions));
    }
    if (!status && !answer) status = PD_INTERRUPTED; // the observer's exception is pending
    Py_XDECREF(answer);
    Py_XDECREF((PyObject *)positions);
    watch->thread = PyEval_SaveThread();
    return status;
}

static void forget_reports(Watch *watch) {
    free(watch->columns);
    free(watch->path);
}

/* Extends the buffers by one report of an update. */
static pd_status ensure_capacity(Watch *watch) {
    size_t size = watch->capacity ? 2 * watch->capacity : 16;
    if (watch->reports < watch->capacity) return PD_OK;
    double *columns = realloc(watch->columns, size * PD_UPDATE_COLUMNS * sizeof *columns);
    if (columns) watch->columns = columns;
    real *path = watch->iterates && columns ? realloc(watch->path, size * 3 * watch->n_points * sizeof *path) : NULL;
    if (path) watch->path = path;
    if (!columns || (watch->iterates && !path))
        return pd_fail(pd_simulation_error(watch->self->core), PD_ERROR_MEMORY, "out of memory for a record of %zu steps of contact", size);
    watch->capacity = size;
    return PD_OK;
}

static pd_status update(void *user, pd_simulation *core, const pd_two_way_progress *progress) {
    Watch *watch = user;
    double *row, smallest;
    pd_status status = ensure_capacity(watch);
    if (!status) status = pd_simulation_update_gap(core, &smallest);
    if (status) return status;
    row = watch->columns + watch->reports * PD_UPDATE_COLUMNS;
    row[PD_UPDATE_STEP] = progress->step, row[PD_UPDATE_RESIDUAL] = progress->residual;
    row[PD_UPDATE_SMALLEST_DISTANCE] = smallest;
    row[PD_UPDATE_SEARCHED] = progress->searched, row[PD_UPDATE_LISTED] = progress->listed;
    row[PD_UPDATE_PAIRS] = progress->pairs, row[PD_UPDATE_ROWS] = progress->rows, row[PD_UPDATE_COLOURS] = progress->colours;
    row[PD_UPDATE_SEARCH] = progress->search;
    if (watch->path)
        status = pd_memory_download(pd_simulation_context(core), watch->path + 3 * watch->n_points * watch->reports, progress->points,
                                    3 * watch->n_points * sizeof *watch->path);
    if (!status) watch->reports++;
    return status;
}

/* {name: seconds}, a new reference. */
static PyObject *build_seconds(const char *const *names, const double *seconds, int n) {
    PyObject *dict = PyDict_New();
    int failed = !dict;
    for (int k = 0; k < n && !failed; k++) failed = put(dict, names[k], PyFloat_FromDouble(seconds[k])) < 0;
    if (failed) Py_CLEAR(dict);
    return dict;
}

/* The results of the updates of contact, a new reference: None without updates. */
static PyObject *build_update(const pd_step_result *result, const Watch *watch) {
    static const char *const exits[] = {PD_UPDATE_EXIT_TABLE(PD_NAME_AT)}, *const part_names[] = {PD_UPDATE_PART_TABLE(PD_NAME_AT)};
    const pd_two_way_report *report = &result->update.report;
    npy_intp columns[2] = {(npy_intp)watch->reports, PD_UPDATE_COLUMNS}, path[3] = {(npy_intp)watch->reports, (npy_intp)watch->n_points, 3};
    PyArrayObject *columns_array = NULL, *path_array = NULL;
    PyObject *parts = NULL;
    if (!result->update.updates) Py_RETURN_NONE;
    if (!(columns_array = pd_array_out(NPY_FLOAT64, 2, columns)) || (watch->path && !(path_array = pd_array_out(PD_NPY_REAL, 3, path))) ||
        !(parts = build_seconds(part_names, report->seconds, PD_TWO_WAY_PARTS))) {
        Py_XDECREF((PyObject *)columns_array);
        Py_XDECREF((PyObject *)path_array);
        return NULL;
    }
    if (watch->reports) memcpy(PyArray_DATA(columns_array), watch->columns, watch->reports * PD_UPDATE_COLUMNS * sizeof(double));
    if (path_array && watch->reports) memcpy(PyArray_DATA(path_array), watch->path, watch->reports * 3 * watch->n_points * sizeof(real));
    if (!path_array) Py_INCREF(Py_None);
    return Py_BuildValue("{sssisisisisisdsdsdsdsNsNsN}", "status", exits[report->exit], "updates", result->update.updates, "steps",
                         report->steps, "searches", report->searches, "rows", report->rows, "colours", report->colours, "residual",
                         report->residual, "energy_gain", result->update.gain, "energy_room", result->update.explained, "seconds",
                         result->update.seconds, "parts", parts, "columns", (PyObject *)columns_array, "path",
                         path_array ? (PyObject *)path_array : Py_None);
}

/* The result of `step`: a dict by name. */
static PyObject *build_result(const pd_step_result *result, const Watch *watch) {
    static const char *const stops[] = {PD_STOP_TABLE(PD_NAME_AT)}, *const phase_names[] = {PD_PHASE_TABLE(PD_NAME_AT)};
    PyObject *phases = build_seconds(phase_names, result->phases, PD_PHASE_COUNT), *of_update = phases ? build_update(result, watch) : NULL;
    const pd_rigid_outcome *rigid = &result->rigid;
    if (of_update)
        return Py_BuildValue("{sssNsisdsdsisNsdsdsdsNs{sdsdsdsds(dd)s(ii)}}", "status", stops[result->stop], "at_rounding",
                             PyBool_FromLong(result->at_rounding), "iteration", result->iterations, "solve_seconds", result->seconds,
                             "setup_seconds", result->setup_seconds, "rows", watch->rows, "phases", phases, "device_seconds",
                             result->device_seconds, "behind", result->target_lag, "held_back", result->held_back, "update", of_update,
                             "rigid", "guess", rigid->guess, "end", rigid->end, "before", rigid->before, "after", rigid->after, "turn",
                             rigid->turn[0], rigid->turn[1], "turning", rigid->turning[0], rigid->turning[1]);
    Py_XDECREF(phases);
    return NULL;
}

PyObject *pd_call_step(pd_simulation_object *self, PyObject *arguments) {
    PyObject *targets_object, *record_object, *iterates_object, *observer_object, *guess_object = Py_None, *chosen_object = Py_None,
                                                                                  *functions = Py_None;
    int keep_diverged;
    const real *targets, *guess;
    PyArrayObject *rows = NULL, *iterates = NULL, *chosen = NULL;
    pd_step_result result;
    pd_callback callback;
    if (!PyArg_ParseTuple(arguments, "OOOOp|OOO:step", &targets_object, &record_object, &iterates_object, &observer_object, &keep_diverged,
                          &guess_object, &chosen_object, &functions))
        return NULL;
    npy_intp rows_shape[2] = {(npy_intp)self->iterations + 1, PD_RECORD_COLUMNS};
    npy_intp iterates_shape[3] = {(npy_intp)self->iterations + 1, pd_simulation_n_vertices(self->core), 3};
    if (!pd_object_read_vectors(self, targets_object, "targets", &targets)) return NULL;
    if (!pd_object_read_vectors(self, guess_object, "guess", &guess)) return NULL;
    if (record_object != Py_None && !(rows = pd_array_in_out(record_object, NPY_FLOAT64, 2, rows_shape, "record"))) return NULL;
    if (iterates_object != Py_None && !(iterates = pd_array_in_out(iterates_object, PD_NPY_REAL, 3, iterates_shape, "iterates")))
        return NULL;
    if (observer_object != Py_None && !PyCallable_Check(observer_object))
        return PyErr_Format(PyExc_TypeError, "observer: expected a callable");
    if (chosen_object != Py_None) {
        if (rows || iterates || observer_object == Py_None)
            return PyErr_Format(PyExc_ValueError, "chosen: only for an observer; record and iterates have all rows");
        if (!(chosen = pd_array_in_private(chosen_object, NPY_UINT8, 1, rows_shape, "chosen"))) return NULL;
    }
    if (!pd_object_enter(self)) {
        Py_XDECREF((PyObject *)chosen);
        return NULL;
    }
    if (!pd_functions_begin(self, functions, &callback)) {
        pd_object_leave(self);
        Py_XDECREF((PyObject *)chosen);
        return NULL;
    }

    Watch watch = {self,
                   NULL,
                   rows ? PyArray_DATA(rows) : NULL,
                   iterates ? PyArray_DATA(iterates) : NULL,
                   observer_object != Py_None ? observer_object : NULL,
                   .n_points = (size_t)pd_simulation_n_points(self->core)};
    int recording = watch.record || watch.iterates || watch.observer;
    pd_observer observer = {&watch, recording ? record : NULL, interrupted, watch.record || watch.iterates ? update : NULL,
                            chosen ? PyArray_DATA(chosen) : NULL};
    watch.thread = self->thread = PyEval_SaveThread();
    pd_status status = pd_simulation_step(self->core, targets, guess, &observer, keep_diverged, &result);
    PyEval_RestoreThread(watch.thread);
    pd_functions_end(self);
    self->steps += !status && result.stop != PD_STOP_DIVERGED;
    pd_object_leave(self);
    Py_XDECREF((PyObject *)chosen);
    if (status) {
        forget_reports(&watch);
        pd_object_raise(self, status);
        // the rows written so far are attached to the exception
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
    PyObject *built = build_result(&result, &watch);
    forget_reports(&watch);
    return built;
}
