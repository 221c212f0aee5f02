/* Strict checks of NumPy arrays; see arrays.h. */
#include "python/binding/arrays.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Text of a message, truncated at its capacity: long shapes need no full text. */
typedef struct description {
    char text[160];
    size_t length;
} description;

static void append(description *out, const char *format, ...) {
    if (out->length >= sizeof out->text - 1) return;
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(out->text + out->length, sizeof out->text - out->length, format, arguments);
    va_end(arguments);
    if (written > 0) out->length += (size_t)written;
    if (out->length > sizeof out->text - 1) out->length = sizeof out->text - 1;
}

/* "(*, 3)" with * for any length. */
static void append_shape(description *out, int n_dimensions, const npy_intp *shape) {
    append(out, "(");
    for (int axis = 0; axis < n_dimensions; axis++) {
        const char *separator = axis + 1 < n_dimensions ? ", " : n_dimensions == 1 ? "," : "";
        if (shape[axis] < 0)
            append(out, "*%s", separator);
        else
            append(out, "%lld%s", (long long)shape[axis], separator);
    }
    append(out, ")");
}

/* The name of a dtype as Python prints it, "float32" or ">f8". */
static void append_dtype(description *out, PyArray_Descr *dtype) {
    PyObject *text = PyObject_Str((PyObject *)dtype);
    const char *characters = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    append(out, "%s", characters ? characters : "?");
    PyErr_Clear();
    Py_XDECREF(text);
}

static void append_type_number(description *out, int type) {
    PyArray_Descr *dtype = PyArray_DescrFromType(type);
    if (!dtype) {
        PyErr_Clear();
        append(out, "?");
        return;
    }
    append_dtype(out, dtype);
    Py_DECREF(dtype);
}

/* Sets the exception for an array that differs from the expected one. */
static void raise_mismatch(PyObject *exception, PyArrayObject *array, int type, int n_dimensions, const npy_intp *shape,
                           const char *expected_layout, const char *got_layout, const char *name) {
    description expected = {{0}, 0}, got = {{0}, 0};
    append_type_number(&expected, type);
    append(&expected, " array of shape ");
    append_shape(&expected, n_dimensions, shape);
    append_dtype(&got, PyArray_DESCR(array));
    append(&got, " array of shape ");
    append_shape(&got, PyArray_NDIM(array), PyArray_DIMS(array));
    PyErr_Format(exception, "%s: expected %s%s, got %s%s", name, expected_layout, expected.text, got_layout, got.text);
}

PyArrayObject *pd_array_in(PyObject *object, int type, int n_dimensions, const npy_intp *shape, const char *name) {
    if (!PyArray_Check(object)) {
        description expected = {{0}, 0};
        append_type_number(&expected, type);
        append(&expected, " array of shape ");
        append_shape(&expected, n_dimensions, shape);
        PyObject *kind = PyType_GetName(Py_TYPE(object));
        if (kind) PyErr_Format(PyExc_TypeError, "%s: expected %s, got %U", name, expected.text, kind);
        Py_XDECREF(kind);
        return NULL;
    }

    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_EquivTypenums(PyArray_TYPE(array), type) || !PyArray_ISNOTSWAPPED(array)) {
        raise_mismatch(PyExc_TypeError, array, type, n_dimensions, shape, "", "", name);
        return NULL;
    }
    int fits = PyArray_NDIM(array) == n_dimensions;
    for (int axis = 0; fits && axis < n_dimensions; axis++) fits = shape[axis] < 0 || PyArray_DIM(array, axis) == shape[axis];
    if (!fits) {
        raise_mismatch(PyExc_ValueError, array, type, n_dimensions, shape, "", "", name);
        return NULL;
    }
    if (!PyArray_IS_C_CONTIGUOUS(array)) {
        raise_mismatch(PyExc_ValueError, array, type, n_dimensions, shape, "C-contiguous ", "strided ", name);
        return NULL;
    }
    if (!PyArray_ISALIGNED(array)) {
        raise_mismatch(PyExc_ValueError, array, type, n_dimensions, shape, "aligned ", "misaligned ", name);
        return NULL;
    }
    return array;
}

int pd_array_in_or_none(PyArrayObject **array, PyObject *object, int type, int n_dimensions, const npy_intp *shape, const char *name) {
    *array = NULL;
    if (!object || object == Py_None) return 0;
    *array = pd_array_in(object, type, n_dimensions, shape, name);
    return *array ? 0 : -1;
}

PyArrayObject *pd_array_in_private(PyObject *object, int type, int n_dimensions, const npy_intp *shape, const char *name) {
    PyArrayObject *array = pd_array_in(object, type, n_dimensions, shape, name);
    return array ? pd_array_copy(type, n_dimensions, PyArray_DIMS(array), PyArray_DATA(array)) : NULL;
}

PyArrayObject *pd_array_in_kept(PyObject *list, PyObject *object, int type, int n_dimensions, const npy_intp *shape, const char *name) {
    PyArrayObject *private_copy = pd_array_in_private(object, type, n_dimensions, shape, name);
    int failed = !private_copy || PyList_Append(list, (PyObject *)private_copy) < 0;
    Py_XDECREF((PyObject *)private_copy);
    return failed ? NULL : private_copy;
}

PyArrayObject *pd_array_in_out(PyObject *object, int type, int n_dimensions, const npy_intp *shape, const char *name) {
    PyArrayObject *array = pd_array_in(object, type, n_dimensions, shape, name);
    if (array && !PyArray_ISWRITEABLE(array)) {
        raise_mismatch(PyExc_ValueError, array, type, n_dimensions, shape, "writeable ", "read-only ", name);
        return NULL;
    }
    return array;
}

/* ---- values ------------------------------------------------------------------------------------------------------------------ */

/* "3" or "(3, 1)": the index of this flat number. */
static void append_place(description *out, PyArrayObject *array, npy_intp flat) {
    int n_dimensions = PyArray_NDIM(array);
    append(out, n_dimensions == 1 ? "" : "(");
    for (int axis = 0; axis < n_dimensions; axis++) {
        npy_intp below = 1;
        for (int next = axis + 1; next < n_dimensions; next++) below *= PyArray_DIM(array, next);
        append(out, axis ? ", %lld" : "%lld", (long long)(flat / below % PyArray_DIM(array, axis)));
    }
    append(out, n_dimensions == 1 ? "" : ")");
}

/* "is not finite", or the limits that it violates. */
static void append_fault(description *out, double value, double least, double most) {
    if (!isfinite(value) && !(isinf(least) && isinf(most)))
        append(out, "is not finite");
    else if (isinf(least) && isinf(most))
        append(out, "is not a number");
    else if (most >= DBL_MAX)
        append(out, "is below %.10g", least);
    else
        append(out, "is not between %.10g and %.10g", least, most);
}

static void raise_out_of_range(const char *name, double value, double least, double most, PyArrayObject *array, npy_intp flat) {
    description text = {{0}, 0};
    append(&text, "value %.10g ", value);
    if (array) {
        append(&text, "at ");
        append_place(&text, array, flat);
        append(&text, " ");
    }
    append_fault(&text, value, least, most);
    PyErr_Format(PyExc_ValueError, "%s: %s", name, text.text);
}

int pd_number_in_range(double value, double least, double most, const char *name) {
    if (value >= least && value <= most) return 1;
    raise_out_of_range(name, value, least, most, NULL, 0);
    return 0;
}

/* Tests blocks without a branch, and searches a block again if it holds an invalid number. */
#define CHECK_RANGE(type)                                                                              \
    do {                                                                                               \
        const type *values = PyArray_DATA(array);                                                      \
        for (npy_intp first = 0; first < n; first += BLOCK) {                                          \
            npy_intp last = n - first < BLOCK ? n : first + BLOCK;                                     \
            int bad = 0;                                                                               \
            for (npy_intp i = first; i < last; i++) bad |= !(values[i] >= least && values[i] <= most); \
            for (npy_intp i = first; bad && i < last; i++)                                             \
                if (!(values[i] >= least && values[i] <= most)) {                                      \
                    raise_out_of_range(name, (double)values[i], least, most, array, i);                \
                    return -1;                                                                         \
                }                                                                                      \
        }                                                                                              \
    } while (0)

int pd_array_check_range(PyArrayObject *array, double least, double most, const char *name) {
    enum { BLOCK = 4096 };
    npy_intp n = PyArray_SIZE(array);
    switch (PyArray_TYPE(array)) {
    case NPY_UINT8: CHECK_RANGE(unsigned char); break;
    case NPY_FLOAT32: CHECK_RANGE(float); break;
    case NPY_FLOAT64: CHECK_RANGE(double); break;
    default: CHECK_RANGE(int); break;
    }
    return 0;
}

int pd_array_check_finite(PyArrayObject *array, const char *name) { return pd_array_check_range(array, -DBL_MAX, DBL_MAX, name); }

int pd_array_check_indices(PyArrayObject *array, int n, const char *of, const char *name) {
    const int *indices = PyArray_DATA(array);
    npy_intp size = PyArray_SIZE(array), width = PyArray_NDIM(array) > 1 ? PyArray_DIM(array, 1) : 1;
    for (npy_intp i = 0; i < size; i++)
        if (indices[i] < 0 || indices[i] >= n) {
            PyErr_Format(PyExc_ValueError, "%s: index %d at row %zd is out of range for %d %s", name, indices[i], (Py_ssize_t)(i / width),
                         n, of);
            return -1;
        }
    return 0;
}

int pd_array_length(PyArrayObject *array, int axis, const char *name) {
    npy_intp length = PyArray_DIM(array, axis);
    if (length > INT_MAX) {
        PyErr_Format(PyExc_ValueError, "%s: %zd rows are more than 32-bit indices can number", name, (Py_ssize_t)length);
        return -1;
    }
    return (int)length;
}

PyArrayObject *pd_array_out(int type, int n_dimensions, const npy_intp *shape) {
    return (PyArrayObject *)PyArray_SimpleNew(n_dimensions, (npy_intp *)(Py_uintptr_t)shape, type);
}

void *pd_array_column(PyObject *columns, const char *name, int type, npy_intp n, npy_intp second, npy_intp third) {
    npy_intp shape[3] = {n, second, third};
    PyArrayObject *array = pd_array_out(type, third ? 3 : second ? 2 : 1, shape);
    int failed = !array || PyDict_SetItemString(columns, name, (PyObject *)array) < 0;
    Py_XDECREF((PyObject *)array);
    return failed ? NULL : PyArray_DATA(array);
}

PyArrayObject *pd_array_copy(int type, int n_dimensions, const npy_intp *shape, const void *data) {
    PyArrayObject *array = pd_array_out(type, n_dimensions, shape);
    if (array && PyArray_NBYTES(array) > 0) memcpy(PyArray_DATA(array), data, (size_t)PyArray_NBYTES(array));
    return array;
}

PyArrayObject *pd_array_view(int type, int n_dimensions, const npy_intp *shape, const void *data, PyObject *owner) {
    PyArrayObject *array =
        (PyArrayObject *)PyArray_SimpleNewFromData(n_dimensions, (npy_intp *)(Py_uintptr_t)shape, type, (void *)(Py_uintptr_t)data);
    if (!array) return NULL;
    PyArray_CLEARFLAGS(array, NPY_ARRAY_WRITEABLE);
    Py_INCREF(owner);
    if (PyArray_SetBaseObject(array, owner) < 0) { /* takes the reference, also when it fails */
        Py_DECREF(array);
        return NULL;
    }
    return array;
}
