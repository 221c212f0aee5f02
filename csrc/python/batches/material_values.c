/* The results of the functions of a material in Python for a batch of single elements, as parameters of element_batch. */
#include "python/binding/backend_module.h"

#include "elements/custom.h"
#include "elements/element.h"
#include "mesh/material_values.h"
#include "python/binding/errors.h"
#include "python/binding/material_functions.h"

#include <math.h>
#include <stdlib.h>

typedef struct batch {
    pd_kind_shape shape;
    const pd_material_functions *functions;
    int requested;
    const real *x, *rest;
    real *parameters;
} batch;

/* Elements begin .. begin + n - 1, all of one material. */
static pd_status fill_batch(const batch *self, const pd_material_functions *f, int begin, int n, double *found, pd_error *error) {
    const int k = self->shape.vertices, d = self->shape.columns, width = pd_material_width(d);
    for (int i = 0; i < n; i++) {
        const size_t e = (size_t)(begin + i);
        real F[3 * PD_MAX_COLUMNS];
        pd_element_deformation(k, d, self->x + e * 3 * (size_t)k, self->rest + e * (size_t)self->shape.rest, F);
        for (int c = 0; c < 3 * d; c++) f->F[3 * d * i + c] = (double)F[c];
        f->elements[i] = begin + i - f->first;
    }
    pd_status status = pd_material_values(f, self->requested, n, d, found, error);
    for (int i = 0; i < n && !status; i++) {
        real *p = self->parameters + (size_t)(begin + i) * (size_t)self->shape.parameters;
        for (int q = 0; q < PD_MATERIAL_QUANTITIES; q++) {
            int from, end;
            pd_material_columns((pd_material_quantity)q, d, &from, &end);
            for (int c = from; c < end && (self->requested & 1 << q); c++)
                p[PD_CUSTOM_ENERGY + c] = (real)((double)p[PD_CUSTOM_MEASURE] * found[(size_t)i * (size_t)width + (size_t)c]);
        }
    }
    return status;
}

static pd_status fill(const batch *self, int n_functions, pd_error *error) {
    double *found = malloc((size_t)PD_MATERIAL_BATCH * (size_t)pd_material_width(PD_MAX_COLUMNS) * sizeof *found);
    pd_status status = found ? PD_OK : pd_fail(error, PD_ERROR_MEMORY, "out of memory for batches of %d elements", (int)PD_MATERIAL_BATCH);
    for (int m = 0; m < n_functions && !status; m++) {
        const pd_material_functions *f = &self->functions[m];
        for (int b = f->first; b < f->first + f->n && !status; b += f->most)
            status = fill_batch(self, f, b, f->first + f->n - b < f->most ? f->first + f->n - b : f->most, found, error);
    }
    free(found);
    return status;
}

static PyObject *material_values(PyObject *module, PyObject *arguments) {
    int kind, requested;
    PyObject *x_object, *rest_object, *parameters_object, *functions, *kept = NULL;
    PyArrayObject *parameters = NULL;
    if (!PyArg_ParseTuple(arguments, "iiOOOO:material_values", &kind, &requested, &x_object, &rest_object, &parameters_object, &functions))
        return NULL;
    pd_kind_shape shape = pd_kind_shape_of(kind);
    if (!pd_kind_is_custom(kind)) return PyErr_Format(PyExc_ValueError, "kind: %d has no functions of a material", kind);
    npy_intp x_shape[3] = {-1, shape.vertices, 3};
    if (!(kept = PyList_New(0))) return NULL;
    PyArrayObject *x = pd_array_in_kept(kept, x_object, PD_NPY_REAL, 3, x_shape, "x"), *rest;
    int n = x ? pd_array_length(x, 0, "x") : -1;
    npy_intp rest_shape[2] = {n, shape.rest}, parameters_shape[2] = {n, shape.parameters};
    pd_element_set set = {.kind = kind, .n = n};
    if (n < 0 || pd_array_check_finite(x, "x") < 0 || !(rest = pd_array_in_kept(kept, rest_object, PD_NPY_REAL, 2, rest_shape, "rest")) ||
        pd_array_check_finite(rest, "rest") < 0 || !pd_read_material_functions(kept, functions, &set) ||
        !(parameters = pd_array_in_private(parameters_object, PD_NPY_REAL, 2, parameters_shape, "parameters")))
        goto done;
    if (pd_array_check_finite(parameters, "parameters") < 0) {
        Py_CLEAR(parameters);
        goto done;
    }
    const batch self = {shape, set.functions, requested, PyArray_DATA(x), PyArray_DATA(rest), PyArray_DATA(parameters)};
    pd_error error = {0};
    pd_status status;
    Py_BEGIN_ALLOW_THREADS status = fill(&self, set.n_functions, &error);
    Py_END_ALLOW_THREADS if (status) {
        pd_raise(module, status, &error);
        Py_CLEAR(parameters);
    }
done:
    Py_DECREF(kept);
    return (PyObject *)parameters;
}

PyMethodDef pd_material_methods[] = {
    {"material_values", material_values, METH_VARARGS,
     "material_values($module, kind, requested, x, rest, parameters, functions, /)\n--\n\n"
     "The parameters with the results of the functions of a material at x (n,k,3). requested is a sum of 1 energy, 2 stress, 4 Hessian. "
     "functions is a list as in a set of Simulation."},
    {NULL, NULL, 0, NULL},
};
