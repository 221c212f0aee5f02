/* What touches in a simulation: the description of a scene's contact, the driven points, and the pairs as they are. */
#include "python/simulation_object.h"

#include "contact/projective.h"
#include "dynamics/contact_record.h"
#include "elements/contact/pair.h"
#include "elements/contact/projection.h"

#include <float.h>
#include <limits.h>

/* An entry of the dict; a borrowed reference, or NULL with an exception set. */
static PyObject *entry(PyObject *dict, const char *name) {
    PyObject *object = PyDict_GetItemString(dict, name);
    if (!object) PyErr_Format(PyExc_ValueError, "contact: %s is missing", name);
    return object;
}

/* An array of the dict, kept by the list: its data and its length, which `shape` demands where it is not -1. Returns 0 with an exception set. */
static int array_of(PyObject *kept, PyObject *dict, const char *name, int type, int dimensions, npy_intp *shape, const void *data) {
    PyObject *object = entry(dict, name);
    PyArrayObject *array = object ? pd_array_in_kept(kept, object, type, dimensions, shape, name) : NULL;
    if (!array) return 0;
    int length = pd_array_length(array, 0, name);
    if (length < 0) return 0;
    shape[0] = length;
    *(const void **)(uintptr_t)data = PyArray_DATA(array);
    if (type == PD_NPY_REAL) return pd_array_check_range(array, -PD_LARGEST_COORDINATE, PD_LARGEST_COORDINATE, name) == 0;
    return 1;
}

static int indices_of(PyObject *kept, PyObject *dict, const char *name, int width, int n_points, npy_intp *rows, const int **data) {
    npy_intp shape[2] = {-1, width};
    if (!array_of(kept, dict, name, NPY_INT32, width > 0 ? 2 : 1, shape, data)) return 0;
    *rows = shape[0];
    npy_intp count = shape[0] * (width > 0 ? width : 1);
    for (npy_intp i = 0; i < count; i++)
        if ((*data)[i] < 0 || (*data)[i] >= n_points) {
            PyErr_Format(PyExc_ValueError, "%s: index %d at %zd is out of range for %d points", name, (*data)[i], (Py_ssize_t)i, n_points);
            return 0;
        }
    return 1;
}

static int number_of(PyObject *dict, const char *name, double least, double most, double *out) {
    PyObject *object = entry(dict, name);
    if (!object) return 0;
    *out = PyFloat_AsDouble(object);
    return !(*out == -1.0 && PyErr_Occurred()) && pd_number_in_range(*out, least, most, name);
}

/* The tets behind the surfaces. Returns 0 with an exception set. */
static int read_tets(PyObject *kept, PyObject *object, int n_points, int n_triangles, pd_penalty_description *out) {
    npy_intp rows, shape[2] = {-1, 4}, one[1] = {n_triangles};
    if (!indices_of(kept, object, "tets", 4, n_points, &rows, &out->tets.corners)) return 0;
    shape[0] = out->n_tets = (int)rows;
    if (!array_of(kept, object, "tet_neighbours", NPY_INT32, 2, shape, &out->tets.neighbours) ||
        !array_of(kept, object, "behind", NPY_INT32, 1, one, &out->tets.behind))
        return 0;
    for (npy_intp i = 0; i < 4 * rows + n_triangles; i++) {
        int tet = i < 4 * rows ? out->tets.neighbours[i] : out->tets.behind[i - 4 * rows];
        if (tet < -1 || tet >= rows) {
            PyErr_Format(PyExc_ValueError, "%s: tet %d is out of range for %zd tets", i < 4 * rows ? "tet_neighbours" : "behind", tet,
                         (Py_ssize_t)rows);
            return 0;
        }
    }
    return 1;
}

/* The penalty, if there is one. Returns 0 with an exception set. */
static int read_penalty(PyObject *kept, PyObject *object, int n_points, int n_triangles, pd_penalty_description *out) {
    double interval, every_visit;
    npy_intp one[1] = {n_triangles}, rows;
    if (!number_of(object, "detection_interval", -1, 1e9, &interval) || !number_of(object, "every_visit", 0, 1, &every_visit) ||
        !number_of(object, "depth", 0, PD_LARGEST_COORDINATE, &out->depth))
        return 0;
    out->interval = (int)interval, out->every_visit = (int)every_visit;
    if (!array_of(kept, object, "outward", NPY_INT32, 1, one, &out->outward)) return 0;
    one[0] = n_points + 1;
    if (!array_of(kept, object, "ring_start", NPY_INT32, 1, one, &out->ring_start)) return 0;
    if (!indices_of(kept, object, "rings", 0, n_triangles, &rows, &out->rings)) return 0;
    out->n_rings = (int)rows;
    if (!read_tets(kept, object, n_points, n_triangles, out)) return 0;
    for (int i = 0; i < n_points; i++)
        if (out->ring_start[i] < 0 || out->ring_start[i + 1] < out->ring_start[i] || out->ring_start[i + 1] > rows) {
            PyErr_Format(PyExc_ValueError, "ring_start: %d at %d is out of range", out->ring_start[i + 1], i + 1);
            return 0;
        }
    return 1;
}

/* Who rubs on whom. Returns 0 with an exception set. */
static int read_friction(PyObject *kept, PyObject *object, npy_intp n_points, pd_friction_description *out) {
    npy_intp points[1] = {n_points}, square[2] = {-1, -1};
    double lags;
    if (!number_of(object, "slip", 0, PD_LARGEST_COORDINATE, &out->extent) || !number_of(object, "lags", 1, 1e6, &lags)) return 0;
    out->lags = (int)lags;
    if (out->extent > 0 && !((real)out->extent > 0)) {
        PyErr_Format(PyExc_ValueError, "slip: %g m is zero in this precision", out->extent);
        return 0;
    }
    if (!array_of(kept, object, "coefficients", PD_NPY_REAL, 2, square, &out->coefficients)) return 0;
    square[1] = square[0];
    if (!array_of(kept, object, "coefficients", PD_NPY_REAL, 2, square, &out->coefficients)) return 0;
    out->n_owners = (int)square[0];
    for (npy_intp i = 0; i < square[0] * square[0]; i++) {
        npy_intp mirrored = i % square[0] * square[0] + i / square[0];
        if (!(out->coefficients[i] >= 0) || out->coefficients[i] != out->coefficients[mirrored]) {
            PyErr_Format(PyExc_ValueError, "coefficients: entry %zd is negative or not symmetric", (Py_ssize_t)i);
            return 0;
        }
    }
    if (!array_of(kept, object, "owners", NPY_INT32, 1, points, &out->owners)) return 0;
    for (npy_intp i = 0; i < n_points; i++)
        if (out->owners[i] < 0 || out->owners[i] >= out->n_owners) {
            PyErr_Format(PyExc_ValueError, "owners: %d at %zd is out of range for %d bodies and obstacles", out->owners[i], (Py_ssize_t)i,
                         out->n_owners);
            return 0;
        }
    return 1;
}

/* Of contact by projections; an entry that is None stands for none. Returns 0 with an exception set. */
static int read_projective(PyObject *object, pd_projective_description *out) {
    PyObject *dict = entry(object, "projective");
    double outer, inner, target, hits_alone, cut_back, printed, most = sizeof(real) == sizeof(float) ? FLT_MAX : DBL_MAX;
    if (!dict || dict == Py_None) return dict != NULL;
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "projective: expected a dict or None, got %R", dict);
        return 0;
    }
    if (!number_of(dict, "stiffness", DBL_MIN, most, &out->stiffness) || !number_of(dict, "tolerance", 0, DBL_MAX, &out->tolerance) ||
        !number_of(dict, "restitution", 0, 1, &out->restitution) || !number_of(dict, "rest_speed", 0, DBL_MAX, &out->rest_speed) ||
        !number_of(dict, "outer", 1, INT_MAX, &outer) || !number_of(dict, "inner", 1, INT_MAX, &inner) ||
        !number_of(dict, "target", 0, PD_TARGET_COUNT - 1, &target) || !number_of(dict, "hits_alone", 0, 1, &hits_alone) ||
        !number_of(dict, "cut_back", 0, 1, &cut_back) || !number_of(dict, "printed", 0, 1, &printed))
        return 0;
    out->outer = (int)outer, out->inner = (int)inner, out->target = (int)target;
    out->hits_alone = (int)hits_alone, out->cut_back = (int)cut_back, out->printed = (int)printed;
    return 1;
}

/* Of the two-way interior point method; an entry that is None stands for none. Returns 0 with an exception set. */
static int read_two_way(PyObject *kept, PyObject *object, int n_vertices, pd_two_way_description *out) {
    PyObject *dict = entry(object, "two_way");
    double steps, sweeps, every;
    npy_intp rows, one[1];
    if (!dict || dict == Py_None) return dict != NULL;
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "two_way: expected a dict or None, got %R", dict);
        return 0;
    }
    if (!number_of(dict, "steps", 1, INT_MAX, &steps) || !number_of(dict, "sweeps", 1, INT_MAX, &sweeps) ||
        !number_of(dict, "every", 0, INT_MAX, &every) || !number_of(dict, "edge_limit", 1, DBL_MAX, &out->edge_limit) ||
        !number_of(dict, "farthest", 0, PD_LARGEST_COORDINATE, &out->farthest) ||
        !indices_of(kept, dict, "edges", 2, n_vertices, &rows, &out->edges))
        return 0;
    out->steps = (int)steps, out->sweeps = (int)sweeps, out->every = (int)every;
    out->n_edges = (int)(one[0] = rows);
    if (!array_of(kept, dict, "lengths", PD_NPY_REAL, 1, one, &out->lengths)) return 0;
    for (int e = 0; e < out->n_edges; e++)
        if (!(out->lengths[e] > 0) || out->edges[2 * e] == out->edges[2 * e + 1]) {
            PyErr_Format(PyExc_ValueError, "edges: %d at rest has no length", e);
            return 0;
        }
    return 1;
}

int pd_read_contact(PyObject *kept, PyObject *object, int n_vertices, pd_contact_description *out) {
    static const char *const kinds[] = {"vertices", "edges", "triangles"}, *const tags[] = {"vertex_tags", "edge_tags", "triangle_tags"},
                             *const radii[] = {"vertex_radii", "edge_radii", "triangle_radii"},
                             *const names[] = {"vertex_names", "edge_names", "triangle_names"};
    double law, physical, stiffness, guard, most = sizeof(real) == sizeof(float) ? FLT_MAX : DBL_MAX;
    npy_intp points[2] = {-1, 3}, one[1], rows, named;
    *out = (pd_contact_description){0};
    if (object == Py_None) return 1;
    if (!PyDict_Check(object)) {
        PyErr_Format(PyExc_TypeError, "contact: expected a dict or None, got %R", object);
        return 0;
    }
    if (!number_of(object, "law", 0, PD_LAW_COUNT - 1, &law) || !number_of(object, "physical", 0, 1, &physical) ||
        !number_of(object, "stiffness", 0, most, &stiffness) || !number_of(object, "guard", 0, PD_GUARD_COUNT - 1, &guard) ||
        !number_of(object, "activation", DBL_MIN, PD_LARGEST_COORDINATE, &out->activation) ||
        !number_of(object, "separation", 0, PD_LARGEST_COORDINATE, &out->separation))
        return 0;
    out->law = (pd_contact_law){(int)law, (int)physical, (real)stiffness};
    out->guard = (int)guard;
    if (!array_of(kept, object, "rest", PD_NPY_REAL, 2, points, &out->rest)) return 0;
    int n = out->phase.n_points = (int)points[0];
    if (n < n_vertices) {
        PyErr_Format(PyExc_ValueError, "rest: %d points are fewer than %d vertices", n, n_vertices);
        return 0;
    }
    out->phase.rest = out->rest;
    one[0] = n;
    if (!array_of(kept, object, "radii", PD_NPY_REAL, 1, one, &out->radii) ||
        !array_of(kept, object, "areas", PD_NPY_REAL, 1, one, &out->areas) ||
        !array_of(kept, object, "bodies", NPY_INT32, 1, one, &out->bodies))
        return 0;
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) {
        if (!indices_of(kept, object, kinds[kind], kind + 1, n, &rows, &out->phase.corners[kind])) return 0;
        out->phase.n[kind] = (int)(one[0] = rows);
        if (!indices_of(kept, object, names[kind], kind + 1, n, &named, &out->phase.names[kind])) return 0;
        if (named != rows) {
            PyErr_Format(PyExc_ValueError, "%s: expected %zd rows, got %zd", names[kind], (Py_ssize_t)rows, (Py_ssize_t)named);
            return 0;
        }
        if (!array_of(kept, object, tags[kind], NPY_INT32, 1, one, &out->phase.tags[kind]) ||
            !array_of(kept, object, radii[kind], PD_NPY_REAL, 1, one, &out->phase.radii[kind]))
            return 0;
    }
    one[0] = out->phase.n[PD_EDGES];
    if (!array_of(kept, object, "edge_areas", PD_NPY_REAL, 1, one, &out->edge_areas)) return 0;
    // behind the point of a plane lies its normal
    if (!indices_of(kept, object, "planes", 0, n - 1, &rows, &out->planes)) return 0;
    out->n_planes = (int)rows;
    if (!indices_of(kept, object, "asked", 0, n_vertices, &rows, &out->asked)) return 0;
    out->n_asked = (int)rows;
    return read_penalty(kept, object, n, out->phase.n[PD_TRIANGLES], &out->penalty) && read_friction(kept, object, n, &out->friction) &&
           read_projective(object, &out->projective) && read_two_way(kept, object, n_vertices, &out->two_way);
}

/* ---- driven points --------------------------------------------------------------------------------------------------------------------- */

static npy_intp n_driven(pd_simulation_object *self) {
    pd_contact *contact = pd_simulation_contact(self->core);
    return contact ? pd_contact_n_driven(contact) : 0;
}

static pd_status driven(pd_simulation *core, const void *given, void *out) {
    pd_contact *contact = pd_simulation_contact(core);
    (void)given;
    return contact ? pd_simulation_keep_error(core, pd_contact_get_driven(contact, out)) : PD_OK;
}

PyObject *pd_call_driven(pd_simulation_object *self, PyObject *unused) {
    npy_intp shape[2] = {n_driven(self), 3};
    (void)unused;
    return pd_object_fill(self, driven, NULL, pd_array_out(PD_NPY_REAL, 2, shape));
}

static pd_status set_driven(pd_simulation *core, const void *given, void *out) {
    const real *const *places = given;
    pd_contact *contact = pd_simulation_contact(core);
    (void)out;
    return contact ? pd_simulation_keep_error(core, pd_contact_set_driven(contact, places[0], places[1])) : PD_OK;
}

PyObject *pd_call_set_driven(pd_simulation_object *self, PyObject *arguments) {
    static const char *const names[] = {"positions", "targets"};
    PyObject *objects[2];
    PyArrayObject *arrays[2];
    const real *places[2] = {NULL, NULL};
    npy_intp shape[2] = {n_driven(self), 3};
    if (!PyArg_ParseTuple(arguments, "OO:set_driven", &objects[0], &objects[1])) return NULL;
    for (int i = 0; i < 2; i++) {
        if (pd_array_in_or_none(&arrays[i], objects[i], PD_NPY_REAL, 2, shape, names[i]) < 0) return NULL;
        if (arrays[i] && pd_check_coordinates(arrays[i], names[i]) < 0) return NULL;
        if (arrays[i]) places[i] = PyArray_DATA(arrays[i]);
    }
    if (!pd_object_call(self, set_driven, places, NULL)) return NULL;
    Py_RETURN_NONE;
}

/* ---- what a record says ---------------------------------------------------------------------------------------------------------------- */

typedef struct {
    const real *x;
    int first;
} row_request;

static pd_status contact_row(pd_simulation *core, const void *given, void *out) {
    const row_request *asked = given;
    pd_status status = pd_simulation_begin(core);
    return status ? status : pd_simulation_contact_row(core, asked->x, asked->first, out);
}

PyObject *pd_call_contact_row(pd_simulation_object *self, PyObject *arguments) {
    PyObject *object;
    row_request asked;
    pd_contact_row row;
    if (!PyArg_ParseTuple(arguments, "Op:contact_row", &object, &asked.first)) return NULL;
    if (!pd_object_read_vectors(self, object, "x", &asked.x) || !pd_object_call(self, contact_row, &asked, &row)) return NULL;
    return Py_BuildValue("{sdsdsdsdsdsdsd}", "contact_potential", row.potential, "friction_potential", row.friction, "active_contacts",
                         row.active, "contacts_entered", row.entered, "contacts_left", row.left, "smallest_distance", row.smallest_distance,
                         "searches", row.searches);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------------------------ */

static pd_status place(pd_simulation *core) {
    pd_contact *contact = pd_simulation_contact(core);
    pd_contact_look_ahead(contact, 0);
    return pd_simulation_keep_error(core, pd_contact_place(contact, pd_simulation_positions(core)));
}

/* A dict for columns, with the simulation entered, or NULL with an exception. */
static PyObject *begin_columns(pd_simulation_object *self) {
    if (!pd_simulation_contact(self->core)) return PyErr_Format(PyExc_ValueError, "contact: this simulation has none");
    PyObject *columns = PyDict_New();
    if (columns && pd_object_enter(self)) return columns;
    Py_XDECREF(columns);
    return NULL;
}

/* Leaves the simulation. The dict where all went well, else NULL with an exception; `complete` = 0: it is set already. */
static PyObject *end_columns(pd_simulation_object *self, PyObject *columns, int complete, pd_status status) {
    pd_simulation_keep_error(self->core, status);
    pd_object_leave(self);
    if (complete && !status) return columns;
    Py_DECREF(columns);
    return status ? pd_object_raise(self, status) : NULL;
}

/* Columns of the pairs with friction in the last step, as they are where the state is. */
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
        Py_BEGIN_ALLOW_THREADS status = place(self->core);
        if (!status) status = read_lagged(self->core, &out);
        Py_END_ALLOW_THREADS
    }
    return end_columns(self, columns, complete, status);
}

/* Columns of the pairs with a penalty of the last step, as they are where the state is. */
typedef struct {
    npy_intp n;
    uint64_t *keys;
    int *points;
    real *weights, *normals, *reach, *gap, *gradient;
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
    PD_TRY(pd_penalty_read_back(penalty, out->reach, view.pairs.reach, n * sizeof *out->reach));
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
                   (out.reach = pd_array_column(columns, "reach", PD_NPY_REAL, out.n, 0, 0)) &&
                   (out.gap = pd_array_column(columns, "gap", PD_NPY_REAL, out.n, 0, 0)) &&
                   (out.gradient = pd_array_column(columns, "gradient", PD_NPY_REAL, out.n, 4, 3));
    status = PD_OK;
    if (complete && out.n > 0) {
        Py_BEGIN_ALLOW_THREADS status = place(self->core);
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
    Py_BEGIN_ALLOW_THREADS status = place(self->core);
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
