/* Batches of single elements: one quantity of one kind, for tests and for external code. */
#include "python/binding/backend_module.h"

#include "mesh/element_set.h"
#include "python/batches/mirror.h"
#include "python/binding/errors.h"

#include <math.h>

/* A quantity and the filter of a Hessian, by the number that pdgpu.elements has for both. */
typedef struct request {
    int quantity;
    pd_hessian_filter filter;
} request;

static const request requests[] = {{PD_BATCH_ENERGY, PD_FILTER_NONE},     {PD_BATCH_GRADIENT, PD_FILTER_NONE},
                                   {PD_BATCH_HESSIAN, PD_FILTER_NONE},    {PD_BATCH_HESSIAN, PD_FILTER_CLAMP},
                                   {PD_BATCH_PROJECTION, PD_FILTER_NONE}, {PD_BATCH_STRESS, PD_FILTER_NONE},
                                   {PD_BATCH_BLOCKS, PD_FILTER_CLAMP},    {PD_BATCH_HESSIAN, PD_FILTER_ABSOLUTE}};

/* Shape of the result of a request. Returns its number of dimensions, 0 for an unknown number. */
static int result_shape(int number, npy_intp n, const pd_kind_shape *shape, npy_intp out[4]) {
    out[0] = n;
    if (number < 0 || number >= (int)(sizeof requests / sizeof *requests)) return 0;
    switch (requests[number].quantity) {
    case PD_BATCH_ENERGY: return 1;
    case PD_BATCH_GRADIENT: out[1] = shape->vertices, out[2] = 3; return 3;
    case PD_BATCH_HESSIAN: out[1] = out[2] = 3 * shape->vertices; return 3;
    case PD_BATCH_PROJECTION:
    case PD_BATCH_STRESS: out[1] = 3, out[2] = shape->columns; return 3;
    case PD_BATCH_BLOCKS: out[1] = shape->vertices, out[2] = out[3] = 3; return 4;
    default: return 0;
    }
}

static pd_status run_batch(int kind, request request, int n, pd_mirror *mirror, pd_workspace *space, pd_place place, pd_error *error) {
    void *const *m = mirror->memory;
    pd_status status = pd_workspace_open(space, place, error);
    if (status) return status;
    status = pd_mirror_upload(space, mirror);
    if (!status) status = pd_element_batch(space->context, kind, request.quantity, request.filter, n, m[0], m[1], m[2], m[3]);
    if (!status) status = pd_mirror_finish(space, mirror);
    if (status) *error = *pd_context_error(space->context);
    return status;
}

static PyObject *element_batch(PyObject *module, PyObject *arguments) {
    int kind, number, threads;
    PyObject *x_object, *rest_object, *parameters_object;
    if (!PyArg_ParseTuple(arguments, "iiOOOi:element_batch", &kind, &number, &x_object, &rest_object, &parameters_object, &threads))
        return NULL;
    pd_kind_shape shape = pd_kind_shape_of(kind);
    if (!shape.vertices) return PyErr_Format(PyExc_ValueError, "kind: %d is not an element kind", kind);
    npy_intp x_shape[3] = {-1, shape.vertices, 3};
    PyArrayObject *x = pd_array_in(x_object, PD_NPY_REAL, 3, x_shape, "x");
    if (!x) return NULL;
    int n = pd_array_length(x, 0, "x");
    if (n < 0 || pd_array_check_finite(x, "x") < 0) return NULL;
    npy_intp rest_shape[2] = {n, shape.rest}, parameters_shape[2] = {n, shape.parameters}, out_shape[4];
    PyArrayObject *rest = pd_array_in(rest_object, PD_NPY_REAL, 2, rest_shape, "rest");
    if (!rest || pd_array_check_finite(rest, "rest") < 0) return NULL;
    PyArrayObject *parameters = pd_array_in(parameters_object, PD_NPY_REAL, 2, parameters_shape, "parameters");
    if (!parameters || pd_array_check_range(parameters, -INFINITY, INFINITY, "parameters") < 0)
        return NULL; /* a limit of the world box
                                                                                                              * may be infinite */
    int dimensions = result_shape(number, n, &shape, out_shape);
    if (!dimensions) return PyErr_Format(PyExc_ValueError, "quantity: %d is unknown", number);
    PyArrayObject *out = pd_array_out(PD_NPY_REAL, dimensions, out_shape);
    if (!out) return NULL;
    pd_error error = {0};
    pd_status status;
    pd_module_state *state = PyModule_GetState(module);
    pd_workspace space = pd_workspace_take(&state->workspace);
    pd_mirror mirror = {.n_arrays = 4, .n_in = 3, .arrays = {x, rest, parameters, out}};
    pd_place place = {state->device, threads};
    Py_BEGIN_ALLOW_THREADS status = run_batch(kind, requests[number], n, &mirror, &space, place, &error);
    Py_END_ALLOW_THREADS pd_workspace_leave(&state->workspace, &space, status);
    if (status) {
        Py_DECREF(out);
        return pd_raise(module, status, &error);
    }
    return (PyObject *)out;
}

PyMethodDef pd_element_methods[] = {
    {"element_batch", element_batch, METH_VARARGS,
     "element_batch($module, kind, quantity, x, rest, parameters, threads, /)\n--\n\n"
     "One quantity (0 energy, 1 gradient, 2 Hessian, 3 projected Hessian, 4 projection, 5 dE/dF, 6 corner blocks) of n elements of a "
     "kind.\n"
     "x (n,k,3), rest (n,rest), parameters (n,count), all of this module's precision."},
    {NULL, NULL, 0, NULL},
};
