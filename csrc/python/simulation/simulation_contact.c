/* Contact of a simulation: prescribed points, and the present pairs. */
#include "python/simulation/simulation_object.h"

#include "dynamics/contact/contact_record.h"
#include "dynamics/responses/projective_response.h"
#include "elements/contact/pair.h"
#include "elements/contact/projection.h"

#include <float.h>
#include <limits.h>

/* ---- prescribed points ---- */

static npy_intp n_prescribed(pd_simulation_object *self) {
    pd_contact *contact = pd_simulation_contact(self->core);
    return contact ? pd_contact_n_prescribed(contact) : 0;
}

static pd_status prescribed(pd_simulation *core, const void *given, void *out) {
    pd_contact *contact = pd_simulation_contact(core);
    (void)given;
    return contact ? pd_simulation_keep_error(core, pd_contact_get_prescribed(contact, out)) : PD_OK;
}

PyObject *pd_call_prescribed(pd_simulation_object *self, PyObject *unused) {
    npy_intp shape[2] = {n_prescribed(self), 3};
    (void)unused;
    return pd_object_fill(self, prescribed, NULL, pd_array_out(PD_NPY_REAL, 2, shape));
}

static pd_status set_prescribed(pd_simulation *core, const void *given, void *out) {
    const real *const *slots = given;
    pd_contact *contact = pd_simulation_contact(core);
    (void)out;
    return contact ? pd_simulation_keep_error(core, pd_contact_set_prescribed(contact, slots[0], slots[1])) : PD_OK;
}

PyObject *pd_call_set_prescribed(pd_simulation_object *self, PyObject *arguments) {
    static const char *const names[] = {"positions", "targets"};
    PyObject *objects[2];
    PyArrayObject *arrays[2];
    const real *slots[2] = {NULL, NULL};
    npy_intp shape[2] = {n_prescribed(self), 3};
    if (!PyArg_ParseTuple(arguments, "OO:set_driven", &objects[0], &objects[1])) return NULL;
    for (int i = 0; i < 2; i++) {
        if (pd_array_in_or_none(&arrays[i], objects[i], PD_NPY_REAL, 2, shape, names[i]) < 0) return NULL;
        if (arrays[i] && pd_check_coordinates(arrays[i], names[i]) < 0) return NULL;
        if (arrays[i]) slots[i] = PyArray_DATA(arrays[i]);
    }
    if (!pd_object_call(self, set_prescribed, slots, NULL)) return NULL;
    Py_RETURN_NONE;
}

/* ---- the stiffness of an adaptive contact potential ---- */

PyObject *pd_call_doublings(pd_simulation_object *self, PyObject *unused) {
    pd_contact *contact = pd_simulation_contact(self->core);
    pd_contact_doublings found = contact ? pd_contact_doublings_of(contact) : (pd_contact_doublings){0, 0};
    (void)unused;
    return Py_BuildValue("(ii)", found.now, found.next);
}

static pd_status set_doublings(pd_simulation *core, const void *given, void *out) {
    pd_contact *contact = pd_simulation_contact(core);
    const pd_contact_doublings *doublings = given;
    (void)out;
    if (contact ? pd_contact_set_doublings(contact, *doublings) : doublings->now == 0 && doublings->next == 0) return PD_OK;
    return pd_fail(pd_simulation_error(core), PD_ERROR_VALUE,
                   "doublings: expected 0 <= now <= next <= %d, and 0 with a stiffness that does not adapt, got %d and %d",
                   PD_MOST_DOUBLINGS, doublings->now, doublings->next);
}

PyObject *pd_call_set_doublings(pd_simulation_object *self, PyObject *arguments) {
    pd_contact_doublings doublings;
    if (!PyArg_ParseTuple(arguments, "ii:set_doublings", &doublings.now, &doublings.next)) return NULL;
    if (!pd_object_call(self, set_doublings, &doublings, NULL)) return NULL;
    Py_RETURN_NONE;
}

static pd_status find_pairs_at(pd_simulation *core, const void *given, void *out) {
    (void)out;
    return pd_simulation_keep_error(core, pd_contact_find_at(pd_simulation_contact(core), given));
}

PyObject *pd_call_find_pairs_at(pd_simulation_object *self, PyObject *object) {
    const real *x;
    if (!pd_simulation_contact(self->core)) return PyErr_Format(PyExc_ValueError, "contact: this simulation has none");
    if (!pd_object_read_vectors(self, object, "x", &x) || !pd_object_call(self, find_pairs_at, x, NULL)) return NULL;
    Py_RETURN_NONE;
}

/* ---- contact in a record ---- */

typedef struct {
    const real *x;
    int first;
} row_request;

static pd_status contact_row(pd_simulation *core, const void *given, void *out) {
    const row_request *request = given;
    pd_status status = pd_simulation_begin(core);
    return status ? status : pd_simulation_contact_row(core, request->x, request->first, out);
}

PyObject *pd_call_contact_row(pd_simulation_object *self, PyObject *arguments) {
    PyObject *object;
    row_request request;
    pd_contact_row row;
    if (!PyArg_ParseTuple(arguments, "Op:contact_row", &object, &request.first)) return NULL;
    if (!pd_object_read_vectors(self, object, "x", &request.x) || !pd_object_call(self, contact_row, &request, &row)) return NULL;
    return Py_BuildValue("{sdsdsdsdsdsd}", "contact_potential", row.potential, "friction_potential", row.friction, "active_contacts",
                         row.active, "contacts_entered", row.entered, "contacts_left", row.left, "smallest_distance",
                         row.smallest_distance);
}

/* ---- pairs --------------------------------------------------------------------------------------------------------------------------- */

static pd_status slot(pd_simulation *core) {
    pd_contact *contact = pd_simulation_contact(core);
    pd_contact_set_ahead(contact, 0);
    return pd_simulation_keep_error(core, pd_contact_find(contact, pd_simulation_positions(core)));
}

/* A dict for columns; the call has entered the simulation. NULL with an exception. */
static PyObject *begin_columns(pd_simulation_object *self) {
    if (!pd_simulation_contact(self->core)) return PyErr_Format(PyExc_ValueError, "contact: this simulation has none");
    PyObject *columns = PyDict_New();
    if (columns && pd_object_enter(self)) return columns;
    Py_XDECREF(columns);
    return NULL;
}

/* Leaves the simulation. Returns the dict after success, else NULL with an exception; `complete` = 0: the exception is already set. */
static PyObject *end_columns(pd_simulation_object *self, PyObject *columns, int complete, pd_status status) {
    pd_simulation_keep_error(self->core, status);
    pd_object_leave(self);
    if (complete && !status) return columns;
    Py_DECREF(columns);
    return status ? pd_object_raise(self, status) : NULL;
}

/* Columns of the pairs with friction in the last step, at the present state. */
typedef struct {
    npy_intp n;
    uint64_t *keys;
    int *points;
    real *strength, *slip, *force, *gradient;
} friction_columns;

static pd_status read_lagged(pd_simulation *core, const friction_columns *out) {
    pd_contact *contact = pd_simulation_contact(core);
    pd_friction *friction = pd_contact_friction(contact, PD_LAG_OF_STEP);
    pd_friction_view view = pd_friction_pairs_of(friction);
    pd_context *context = pd_simulation_context(core);
    const real *points = pd_contact_points(contact);
    size_t n = (size_t)out->n;
    pd_status status;
    PD_TRY(pd_contact_follow_friction(contact));
    PD_TRY(pd_memory_download(context, out->keys, view.keys, n * sizeof *out->keys));
    PD_TRY(pd_memory_download(context, out->points, view.pairs.points, 4 * n * sizeof *out->points));
    PD_TRY(pd_memory_download(context, out->strength, view.pairs.strength, n * sizeof *out->strength));
    PD_TRY(pd_friction_read(friction, PD_FRICTION_SLIP, points, out->slip));
    PD_TRY(pd_friction_read(friction, PD_FRICTION_FORCE, points, out->force));
    PD_TRY(pd_friction_read(friction, PD_FRICTION_GRADIENT, points, out->gradient));
done:
    return status;
}

PyObject *pd_call_friction_columns(pd_simulation_object *self, PyObject *unused) {
    pd_contact *contact = pd_simulation_contact(self->core);
    PyObject *columns = begin_columns(self);
    pd_status status;
    (void)unused;
    if (!columns) return NULL;
    pd_friction *friction = pd_contact_friction(contact, PD_LAG_OF_STEP);
    friction_columns out = {.n = friction ? pd_friction_pairs_of(friction).pairs.n : 0};
    int complete = (out.keys = pd_array_column(columns, "key", NPY_UINT64, out.n, 0, 0)) &&
                   (out.points = pd_array_column(columns, "vertices", NPY_INT32, out.n, 4, 0)) &&
                   (out.strength = pd_array_column(columns, "strength", PD_NPY_REAL, out.n, 0, 0)) &&
                   (out.slip = pd_array_column(columns, "slip", PD_NPY_REAL, out.n, 3, 0)) &&
                   (out.force = pd_array_column(columns, "force", PD_NPY_REAL, out.n, 3, 0)) &&
                   (out.gradient = pd_array_column(columns, "gradient", PD_NPY_REAL, out.n, 4, 3));
    status = PD_OK;
    if (complete && out.n > 0) {
        Py_BEGIN_ALLOW_THREADS status = slot(self->core);
        if (!status) status = read_lagged(self->core, &out);
        Py_END_ALLOW_THREADS
    }
    return end_columns(self, columns, complete, status);
}

/* Columns of the penalty pairs of the last step, at the present state. */
typedef struct {
    npy_intp n;
    uint64_t *keys;
    int *points;
    real *weights, *normals, *range, *gap, *gradient;
} penalty_columns;

static pd_status read_penalised(pd_simulation *core, const penalty_columns *out) {
    pd_contact *contact = pd_simulation_contact(core);
    pd_penalty *penalty = pd_contact_penalty(contact, PD_LAG_OF_STEP);
    pd_penalty_view view = pd_penalty_pairs_of(penalty);
    const pd_lagged_pairs *at = &view.pairs.at;
    const real *points = pd_contact_points(contact);
    size_t n = (size_t)out->n;
    pd_status status;
    PD_TRY(pd_penalty_read_back(penalty, out->keys, view.keys, n * sizeof *out->keys));
    PD_TRY(pd_penalty_read_back(penalty, out->points, at->points, 4 * n * sizeof *out->points));
    PD_TRY(pd_penalty_read_back(penalty, out->weights, at->weights, 4 * n * sizeof *out->weights));
    PD_TRY(pd_penalty_read_back(penalty, out->normals, at->normals, 3 * n * sizeof *out->normals));
    PD_TRY(pd_penalty_read(penalty, PD_PENALTY_RANGE, points, out->range));
    PD_TRY(pd_penalty_read(penalty, PD_PENALTY_GAP, points, out->gap));
    PD_TRY(pd_penalty_read(penalty, PD_PENALTY_GRADIENT, points, out->gradient));
done:
    return status;
}

PyObject *pd_call_penalty_columns(pd_simulation_object *self, PyObject *unused) {
    pd_contact *contact = pd_simulation_contact(self->core);
    PyObject *columns = begin_columns(self);
    pd_status status;
    (void)unused;
    if (!columns) return NULL;
    pd_penalty *penalty = pd_contact_penalty(contact, PD_LAG_OF_STEP);
    penalty_columns out = {.n = penalty ? pd_penalty_pairs_of(penalty).pairs.at.n : 0};
    int complete = (out.keys = pd_array_column(columns, "key", NPY_UINT64, out.n, 0, 0)) &&
                   (out.points = pd_array_column(columns, "vertices", NPY_INT32, out.n, 4, 0)) &&
                   (out.weights = pd_array_column(columns, "weights", PD_NPY_REAL, out.n, 4, 0)) &&
                   (out.normals = pd_array_column(columns, "normal", PD_NPY_REAL, out.n, 3, 0)) &&
                   (out.range = pd_array_column(columns, "reach", PD_NPY_REAL, out.n, 0, 0)) &&
                   (out.gap = pd_array_column(columns, "gap", PD_NPY_REAL, out.n, 0, 0)) &&
                   (out.gradient = pd_array_column(columns, "gradient", PD_NPY_REAL, out.n, 4, 3));
    status = PD_OK;
    if (complete && out.n > 0) {
        Py_BEGIN_ALLOW_THREADS status = slot(self->core);
        if (!status) status = read_penalised(self->core, &out);
        Py_END_ALLOW_THREADS
    }
    return end_columns(self, columns, complete, status);
}

PyObject *pd_call_projective_columns(pd_simulation_object *self, PyObject *unused) {
    pd_projective *projective = pd_simulation_projective(self->core);
    PyObject *columns = begin_columns(self);
    pd_status status = PD_OK;
    (void)unused;
    if (!columns) return NULL;
    npy_intp n = projective ? pd_projective_frozen(projective) : 0, n_points = projective ? pd_projective_n_points(projective) : 0;
    pd_projective_forces out = {0};
    int complete = (out.key = pd_array_column(columns, "key", NPY_UINT64, n, 0, 0)) &&
                   (out.kind = pd_array_column(columns, "kind", NPY_INT32, n, 0, 0)) &&
                   (out.points = pd_array_column(columns, "vertices", NPY_INT32, n, 4, 0)) &&
                   (out.weights = pd_array_column(columns, "weights", PD_NPY_REAL, n, 4, 0)) &&
                   (out.normal = pd_array_column(columns, "normal", PD_NPY_REAL, n, 3, 0)) &&
                   (out.target = pd_array_column(columns, "target", PD_NPY_REAL, n, 0, 0)) &&
                   (out.friction = pd_array_column(columns, "friction", PD_NPY_REAL, n, 0, 0)) &&
                   (out.gradient = pd_array_column(columns, "gradient", PD_NPY_REAL, n, 4, 3)) &&
                   (out.begun = pd_array_column(columns, "begun", PD_NPY_REAL, n_points, 3, 0));
    if (complete && projective) {
        Py_BEGIN_ALLOW_THREADS status = pd_projective_read(projective, pd_simulation_positions(self->core), &out);
        Py_END_ALLOW_THREADS
    }
    return end_columns(self, columns, complete, status);
}

PyObject *pd_call_contact_columns(pd_simulation_object *self, PyObject *unused) {
    pd_contact *contact = pd_simulation_contact(self->core);
    PyObject *columns = begin_columns(self);
    pd_status status;
    (void)unused;
    if (!columns) return NULL;
    Py_BEGIN_ALLOW_THREADS status = slot(self->core);
    Py_END_ALLOW_THREADS npy_intp n = pd_contact_pairs_of(contact).n;
    pd_contact_columns out = {0};
    uint64_t *keys = NULL;
    real *distance = NULL, *gradient = NULL;
    int complete = !status && (out.kind = pd_array_column(columns, "kind", NPY_INT32, n, 0, 0)) &&
                   (out.points = pd_array_column(columns, "vertices", NPY_INT32, n, 4, 0)) &&
                   (out.activation = pd_array_column(columns, "activation", PD_NPY_REAL, n, 0, 0)) &&
                   (out.separation = pd_array_column(columns, "separation", PD_NPY_REAL, n, 0, 0)) &&
                   (out.weight = pd_array_column(columns, "weight", PD_NPY_REAL, n, 0, 0)) &&
                   (out.threshold = pd_array_column(columns, "threshold", PD_NPY_REAL, n, 0, 0)) &&
                   (keys = pd_array_column(columns, "key", NPY_UINT64, n, 0, 0)) &&
                   (distance = pd_array_column(columns, "distance", PD_NPY_REAL, n, 0, 0)) &&
                   (gradient = pd_array_column(columns, "gradient", PD_NPY_REAL, n, 4, 3));
    if (complete) {
        Py_BEGIN_ALLOW_THREADS status = pd_contact_read_columns(contact, &out, keys);
        if (!status) status = pd_contact_read(contact, PD_CONTACT_DISTANCE, distance);
        if (!status) status = pd_contact_read(contact, PD_CONTACT_GRADIENT, gradient);
        Py_END_ALLOW_THREADS
    }
    return end_columns(self, columns, complete, status);
}
