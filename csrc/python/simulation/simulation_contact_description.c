/* The description of a scene's contact: from a dict of arrays to the structures of the core. */
#include "python/simulation/simulation_object.h"

#include "contact/projective/projective.h"
#include "elements/contact/projection.h"

#include <float.h>
#include <limits.h>

/* An entry of the dict; a borrowed reference, or NULL with an exception set. */
static PyObject *entry(PyObject *dict, const char *name) {
    PyObject *object = PyDict_GetItemString(dict, name);
    if (!object) PyErr_Format(PyExc_ValueError, "contact: %s is missing", name);
    return object;
}

/* An array of the dict, kept by the list: its data and its length. A length in `shape` other than -1 is required. Returns 0 with an
 * exception set. */
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

/* The tets below the surfaces. Returns 0 with an exception set. */
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

/* The penalty, if present. Returns 0 with an exception set. */
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

/* The distance fields that replace planes, kept as long as the simulation. Returns 0 with an exception set. */
static int read_fields(PyObject *kept, PyObject *object, const pd_contact_description *contact, pd_penalty_description *out) {
    PyObject *list = entry(object, "fields"), *memory = NULL;
    npy_intp planes[1] = {contact->n_planes}, nodes[3] = {-1, -1, -1};
    if (!list || !array_of(kept, object, "fields_of_planes", NPY_INT32, 1, planes, &out->fields_of_planes)) return 0;
    if (!PyTuple_Check(list) || PyTuple_Size(list) > contact->n_planes) {
        PyErr_Format(PyExc_TypeError, "fields: expected a tuple of at most %d fields, got %R", contact->n_planes, list);
        return 0;
    }
    out->n_fields = (int)PyTuple_Size(list);
    if (!(memory = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)out->n_fields * (Py_ssize_t)sizeof(pd_collider)))) return 0;
    pd_collider *fields = (pd_collider *)(void *)PyByteArray_AsString(memory);
    int appended = PyList_Append(kept, memory) == 0;
    Py_DECREF(memory);
    if (!appended) return 0;
    for (int k = 0; k < out->n_fields; k++) {
        PyObject *values;
        double spacing, side;
        PyObject *field = PyTuple_GetItem(list, k);
        if (!PyTuple_Check(field)) {
            PyErr_Format(PyExc_TypeError, "fields: expected tuples, got %R", field);
            return 0;
        }
        if (!PyArg_ParseTuple(field, "Odd;fields: expected (values, spacing, side)", &values, &spacing, &side) ||
            !pd_number_in_range(spacing, DBL_MIN, PD_LARGEST_COORDINATE, "spacing") ||
            !pd_number_in_range(side, DBL_MIN, PD_LARGEST_COORDINATE, "side"))
            return 0;
        PyArrayObject *array = pd_array_in_kept(kept, values, PD_NPY_REAL, 3, nodes, "values");
        if (!array || pd_array_check_range(array, -PD_LARGEST_COORDINATE, PD_LARGEST_COORDINATE, "values") < 0) return 0;
        fields[k] = (pd_collider){.shape = PD_DISTANCE_GRID, .size = {(real)side}};
        fields[k].grid.spacing = (real)spacing, fields[k].grid.values = PyArray_DATA(array);
        for (int i = 0; i < 3; i++) {
            if ((fields[k].grid.n[i] = pd_array_length(array, i, "values")) >= 2) continue;
            if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "values: expected at least 2 nodes along each axis");
            return 0;
        }
    }
    out->fields = fields;
    for (int plane = 0; plane < contact->n_planes; plane++) {
        int field = out->fields_of_planes[plane];
        if (field >= -1 && field < out->n_fields && (field < 0 || contact->planes[plane] + 3 < contact->phase.n_points)) continue;
        PyErr_Format(PyExc_ValueError, "fields_of_planes: %d at %d is out of range for %d fields", field, plane, out->n_fields);
        return 0;
    }
    return 1;
}

/* The pairs of bodies with friction. Returns 0 with an exception set. */
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

/* Settings of contact by projections. An entry None is absent. Returns 0 with an exception set. */
static int read_projective(PyObject *object, pd_projective_description *out) {
    PyObject *dict = entry(object, "projective");
    double outer, inner, blocks, target, hits_alone, cut_back, printed, most = sizeof(real) == sizeof(float) ? FLT_MAX : DBL_MAX;
    if (!dict || dict == Py_None) return dict != NULL;
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "projective: expected a dict or None, got %R", dict);
        return 0;
    }
    if (!number_of(dict, "stiffness", DBL_MIN, most, &out->stiffness) || !number_of(dict, "tolerance", 0, DBL_MAX, &out->tolerance) ||
        !number_of(dict, "restitution", 0, 1, &out->restitution) || !number_of(dict, "rest_speed", 0, DBL_MAX, &out->rest_speed) ||
        !number_of(dict, "outer", 1, INT_MAX, &outer) || !number_of(dict, "inner", 1, INT_MAX, &inner) ||
        !number_of(dict, "blocks", 0, 1, &blocks) || !number_of(dict, "target", 0, PD_TARGET_COUNT - 1, &target) ||
        !number_of(dict, "hits_alone", 0, 1, &hits_alone) || !number_of(dict, "cut_back", 0, 1, &cut_back) ||
        !number_of(dict, "printed", 0, 1, &printed))
        return 0;
    out->outer = (int)outer, out->inner = (int)inner, out->blocks = (int)blocks, out->target = (int)target;
    out->hits_alone = (int)hits_alone, out->cut_back = (int)cut_back, out->printed = (int)printed;
    return 1;
}

/* Settings of the two-way interior point method. An entry None is absent. Returns 0 with an exception set. */
static int read_two_way(PyObject *kept, PyObject *object, int n_vertices, pd_two_way_description *out) {
    PyObject *dict = entry(object, "two_way");
    double steps, sweeps, patience, passes, every, multipliers, lengths_by, filtered;
    npy_intp rows, one[1];
    if (!dict || dict == Py_None) return dict != NULL;
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "two_way: expected a dict or None, got %R", dict);
        return 0;
    }
    if (!number_of(dict, "steps", 1, INT_MAX, &steps) || !number_of(dict, "sweeps", 1, INT_MAX, &sweeps) ||
        !number_of(dict, "patience", 0, INT_MAX, &patience) || !number_of(dict, "multipliers", 0, PD_TWO_WAY_BARRIER, &multipliers) ||
        !number_of(dict, "filtered", 0, 1, &filtered) || !number_of(dict, "strength", 0, DBL_MAX, &out->strength) ||
        !number_of(dict, "repulsion", 0, DBL_MAX, &out->repulsion) || !number_of(dict, "lengths_by", 0, PD_TWO_WAY_IMPACTS, &lengths_by) ||
        !number_of(dict, "passes", 1, INT_MAX, &passes) || !number_of(dict, "every", 0, INT_MAX, &every) ||
        !number_of(dict, "edge_limit", 1, DBL_MAX, &out->edge_limit) || !number_of(dict, "recovery", 0, 1, &out->recovery) ||
        !number_of(dict, "farthest", 0, PD_LARGEST_COORDINATE, &out->farthest) ||
        !indices_of(kept, dict, "edges", 2, n_vertices, &rows, &out->edges))
        return 0;
    out->steps = (int)steps, out->sweeps = (int)sweeps, out->patience = (int)patience, out->every = (int)every;
    out->passes = (int)passes;
    out->multipliers = (int)multipliers, out->lengths_by = (int)lengths_by, out->filtered = (int)filtered;
    out->n_edges = (int)(one[0] = rows);
    if (!array_of(kept, dict, "lengths", PD_NPY_REAL, 1, one, &out->lengths)) return 0;
    for (int e = 0; e < out->n_edges; e++)
        if (!(out->lengths[e] > 0) || out->edges[2 * e] == out->edges[2 * e + 1]) {
            PyErr_Format(PyExc_ValueError, "edges: %d at rest has no length", e);
            return 0;
        }
    return 1;
}

/* The embedded points, directly after the vertices. Returns 0 with an exception set. */
static int read_embedding(PyObject *kept, PyObject *dict, int n_vertices, pd_contact_description *out) {
    npy_intp shape[2] = {-1, 4};
    PyObject *rows_object = entry(dict, "carriers"), *weights_object = rows_object ? entry(dict, "carrier_weights") : NULL;
    PyArrayObject *rows = weights_object ? pd_array_in_kept(kept, rows_object, NPY_INT32, 2, shape, "carriers") : NULL;
    if (!rows || (out->n_embedded = pd_array_length(rows, 0, "carriers")) < 0) return 0;
    if (out->n_embedded > out->phase.n_points - n_vertices) {
        PyErr_Format(PyExc_ValueError, "carriers: %d rows are more than the %d points behind the vertices", out->n_embedded,
                     out->phase.n_points - n_vertices);
        return 0;
    }
    shape[0] = out->n_embedded;
    PyArrayObject *weights = pd_array_in_kept(kept, weights_object, PD_NPY_REAL, 2, shape, "carrier_weights");
    if (!weights || pd_array_check_range(rows, -1, n_vertices - 1, "carriers") < 0 ||
        pd_array_check_range(weights, -PD_LARGEST_WEIGHT, PD_LARGEST_WEIGHT, "carrier_weights") < 0)
        return 0;
    out->rows = PyArray_DATA(rows);
    out->weights = PyArray_DATA(weights);
    return 1;
}

/* The names of bodies and obstacles, kept. Returns 0 with an exception set. */
static int read_names(PyObject *kept, PyObject *dict, int n_owners, const char *const **out) {
    PyObject *list = entry(dict, "names");
    if (!list) return 0;
    if (!PyTuple_Check(list) || PyTuple_Size(list) != n_owners) {
        PyErr_Format(PyExc_TypeError, "names: expected a tuple of %d names, got %R", n_owners, list);
        return 0;
    }
    PyObject *memory = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)((size_t)n_owners * sizeof(char *)));
    int appended = memory && PyList_Append(kept, memory) == 0 && PyList_Append(kept, list) == 0;
    Py_XDECREF(memory);
    if (!appended) return 0;
    const char **names = (const char **)(void *)PyByteArray_AsString(memory);
    for (int k = 0; k < n_owners; k++)
        if (!(names[k] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(list, k), NULL))) return 0;
    *out = names;
    return 1;
}

/* Pairs with two prescribed sides. An entry None is absent. Returns 0 with an exception set. */
static int read_prescribed(PyObject *kept, PyObject *object, int n_vertices, const pd_contact_description *contact,
                           pd_prescribed_description *out) {
    static const char *const kinds[] = {"vertices", "edges", "triangles"}, *const tags[] = {"vertex_tags", "edge_tags", "triangle_tags"},
                             *const radii[] = {"vertex_radii", "edge_radii", "triangle_radii"};
    PyObject *dict = entry(object, "prescribed");
    npy_intp rows, n = contact->phase.n_points, points[1] = {n}, one[1];
    if (!dict || dict == Py_None) return dict != NULL;
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "prescribed: expected a dict or None, got %R", dict);
        return 0;
    }
    if (!array_of(kept, dict, "radii", PD_NPY_REAL, 1, points, &out->radii)) return 0;
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) {
        if (!indices_of(kept, dict, kinds[kind], kind + 1, (int)n, &rows, &out->phase.corners[kind])) return 0;
        out->phase.n[kind] = (int)(one[0] = rows);
        if (!array_of(kept, dict, tags[kind], NPY_INT32, 1, one, &out->phase.tags[kind]) ||
            !array_of(kept, dict, radii[kind], PD_NPY_REAL, 1, one, &out->phase.radii[kind]))
            return 0;
    }
    if (!indices_of(kept, dict, "tested", 0, n_vertices, &rows, &out->tested)) return 0;
    out->n_tested = (int)rows;
    out->phase.rest = contact->rest;
    out->phase.n_points = (int)n;
    return read_names(kept, dict, contact->friction.n_owners, &out->names);
}

int pd_read_contact(PyObject *kept, PyObject *object, int n_vertices, pd_contact_description *out) {
    static const char *const kinds[] = {"vertices", "edges", "triangles"}, *const tags[] = {"vertex_tags", "edge_tags", "triangle_tags"},
                             *const radii[] = {"vertex_radii", "edge_radii", "triangle_radii"},
                             *const names[] = {"vertex_names", "edge_names", "triangle_names"};
    double potential, physical, weighting, stiffness, adaptive, limiter, most = sizeof(real) == sizeof(float) ? FLT_MAX : DBL_MAX;
    npy_intp points[2] = {-1, 3}, one[1], rows, named;
    *out = (pd_contact_description){0};
    if (object == Py_None) return 1;
    if (!PyDict_Check(object)) {
        PyErr_Format(PyExc_TypeError, "contact: expected a dict or None, got %R", object);
        return 0;
    }
    if (!number_of(object, "law", 0, PD_PAIR_POTENTIAL_COUNT - 1, &potential) || !number_of(object, "physical", 0, 1, &physical) ||
        !number_of(object, "weighting", 0, PD_WEIGHTING_COUNT - 1, &weighting) || !number_of(object, "stiffness", 0, most, &stiffness) ||
        !number_of(object, "adaptive", 0, 1, &adaptive) || !number_of(object, "guard", 0, PD_LIMITER_COUNT - 1, &limiter) ||
        !number_of(object, "activation", DBL_MIN, PD_LARGEST_COORDINATE, &out->activation) ||
        !number_of(object, "separation", 0, PD_LARGEST_COORDINATE, &out->separation))
        return 0;
    out->potential = (pd_pair_potential){(int)potential, (int)physical, (real)stiffness};
    out->adaptive = (int)adaptive;
    out->limiter = (int)limiter;
    out->weighting = (int)weighting;
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
    one[0] = out->phase.n[PD_TRIANGLES];
    if (!array_of(kept, object, "triangle_areas", PD_NPY_REAL, 1, one, &out->triangle_areas)) return 0;
    if (!array_of(kept, object, "panels", NPY_INT32, 1, one, &out->panels)) return 0;
    // the row after the point of a plane is its normal
    if (!indices_of(kept, object, "planes", 0, n - 1, &rows, &out->planes)) return 0;
    out->n_planes = (int)rows;
    if (!read_embedding(kept, object, n_vertices, out)) return 0;
    if (!indices_of(kept, object, "tested", 0, n_vertices + out->n_embedded, &rows, &out->tested)) return 0;
    out->n_tested = (int)rows;
    out->friction.least_gap = out->adaptive ? PD_COLLAPSED_GAP : 0.0;
    return read_penalty(kept, object, n, out->phase.n[PD_TRIANGLES], &out->penalty) && read_fields(kept, object, out, &out->penalty) &&
           read_friction(kept, object, n, &out->friction) && read_projective(object, &out->projective) &&
           read_two_way(kept, object, n_vertices, &out->two_way) && read_prescribed(kept, object, n_vertices, out, &out->prescribed);
}
