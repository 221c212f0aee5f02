/* Strict checks of NumPy arrays for the C core, without silent copies.
 *
 * An array is accepted only if dtype, shape and layout are exactly those that the core reads. Otherwise the message names the expected
 * and the actual properties. The Python layer does all conversions, where a reader can see them.
 *
 * Include this header instead of NumPy's. The one file of a module that calls pd_arrays_import() defines PD_IMPORT_ARRAY before the
 * include. In all others NumPy's table of functions is an extern. */
#ifndef PD_PYTHON_BINDING_ARRAYS_H
#define PD_PYTHON_BINDING_ARRAYS_H

#include <Python.h>

#ifndef NPY_NO_DEPRECATED_API
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#endif
#define PY_ARRAY_UNIQUE_SYMBOL pdgpu_array_api
#ifndef PD_IMPORT_ARRAY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#ifdef PD_IMPORT_ARRAY
/* Loads NumPy's table of functions. Called once, when the module is executed. Returns -1 with an exception set. */
static inline int pd_arrays_import(void) { return _import_array(); }
#endif

/* `object` as an array of exactly this type, number of dimensions and shape (-1: any length), C-contiguous, aligned and in native byte
 * order. Returns a BORROWED reference to the same object, or NULL with an exception that names the argument. TypeError: no array, or
 * another dtype. ValueError: another shape or layout.
 *   type  NPY_FLOAT64, NPY_INT32, ...     shape [n_dimensions] */
PyArrayObject *pd_array_in(PyObject *object, int type, int n_dimensions, const npy_intp *shape, const char *name);

/* The same; None (or a missing argument, NULL) gives *array = NULL. Returns 0, or -1 with an exception. */
int pd_array_in_or_none(PyArrayObject **array, PyObject *object, int type, int n_dimensions, const npy_intp *shape, const char *name);

/* pd_array_in for arrays that are kept, or used without the GIL after the check. Makes a private copy, so that the checks stay valid.
 * NEW reference, or NULL with an exception. */
PyArrayObject *pd_array_in_private(PyObject *object, int type, int n_dimensions, const npy_intp *shape, const char *name);

/* The same, kept by a list. BORROWED reference, valid as long as the list, or NULL with an exception. */
PyArrayObject *pd_array_in_kept(PyObject *list, PyObject *object, int type, int n_dimensions, const npy_intp *shape, const char *name);

/* pd_array_in for an array that the core writes: also rejects a read-only one (ValueError). */
PyArrayObject *pd_array_in_out(PyObject *object, int type, int n_dimensions, const npy_intp *shape, const char *name);

/* Checks that every value of a float64, float32, int32 or uint8 array lies in [least, most]. A NaN is an error. Returns 0, or -1 with a
 * ValueError that names the argument, the index and the value. pd_array_check_finite: neither NaN nor infinite. */
int pd_array_check_range(PyArrayObject *array, double least, double most, const char *name);
int pd_array_check_finite(PyArrayObject *array, const char *name);

/* Checks that every index of an int32 array lies in [0, n). The text `of` names the indexed items. Returns 0, or -1 with ValueError. */
int pd_array_check_indices(PyArrayObject *array, int n, const char *of, const char *name);

/* The same for one number: 1, or 0 with a ValueError. */
int pd_number_in_range(double value, double least, double most, const char *name);

/* The length of an axis as an int of the core. Returns -1 with ValueError if it exceeds 2^31 - 1. */
int pd_array_length(PyArrayObject *array, int axis, const char *name);

/* A new C-contiguous array, not initialised. New reference, or NULL with MemoryError. */
PyArrayObject *pd_array_out(int type, int n_dimensions, const npy_intp *shape);

/* The same as a column of n rows, kept by a dictionary: (n,), (n,second) or (n,second,third), 0 for an absent dimension. Returns its
 * memory, or NULL with an exception set. */
void *pd_array_column(PyObject *columns, const char *name, int type, npy_intp n, npy_intp second, npy_intp third);

/* A new array with a copy of C memory of that type and shape. `data` may be NULL if the array is empty. */
PyArrayObject *pd_array_copy(int type, int n_dimensions, const npy_intp *shape, const void *data);

/* A read-only array over memory that `owner` keeps alive. Takes its own reference to owner. */
PyArrayObject *pd_array_view(int type, int n_dimensions, const npy_intp *shape, const void *data, PyObject *owner);

#endif
