/* Declarations shared by the files of a backend module (_cpu_f32, _cpu_f64, _cuda_f32, _cuda_f64). */
#ifndef PD_PYTHON_BINDING_BACKEND_MODULE_H
#define PD_PYTHON_BINDING_BACKEND_MODULE_H

#include "python/binding/arrays.h"

#include "linear/linear_solver.h"
#include "loops/backend.h"
#include "python/binding/workspace.h"
#include "sparse/cholesky.h"

/* The NumPy type of `real`. */
#define PD_NPY_REAL (sizeof(real) == sizeof(float) ? NPY_FLOAT32 : NPY_FLOAT64)

/* The largest coordinate, m: differences, sums with a margin and lengths do not overflow (LARGEST of
 * python/pdgpu/_internal/arguments.py). */
#define PD_LARGEST_COORDINATE (sizeof(real) == sizeof(float) ? 1e37 : 1e307)

/* Of a point inside the element that carries it, or not far outside. */
#define PD_LARGEST_WEIGHT 1e3

/* Returns 0, or -1 with a ValueError if a value of x is not finite or exceeds the limit. */
static inline int pd_check_coordinates(PyArrayObject *x, const char *name) {
    return pd_array_check_range(x, -PD_LARGEST_COORDINATE, PD_LARGEST_COORDINATE, name);
}

typedef struct pd_module_state {
    PyTypeObject *simulation_type;
    PyTypeObject *linear_type;
    PyTypeObject *device_array_type;
    PyTypeObject *broad_phase_type;
    PyTypeObject *proximity_type;
    PyTypeObject *results_type;
    int device;                            /* the number of the module's device */
    pd_workspace workspace;                /* kept between batches */
    double loop_seconds;                   /* of the last batch of pairs */
    const pd_cholesky_functions *cholesky; /* kept alive by the module _host, which is never unloaded */
} pd_module_state;

extern PyType_Spec pd_simulation_type_spec;  /* simulation.c */
extern PyType_Spec pd_linear_type_spec;      /* linear.c */
extern PyType_Spec pd_broad_phase_type_spec; /* broad_phase.c */
extern PyType_Spec pd_proximity_type_spec;   /* proximity.c */
extern PyMethodDef pd_element_methods[];     /* elements.c */
extern PyMethodDef pd_material_methods[];    /* material_values.c */
extern PyMethodDef pd_geometry_methods[];    /* geometry.c */
extern PyMethodDef pd_contact_methods[];     /* contact.c */

/* SOLVERS: name -> the names of its settings. Returns 0, or -1 with an exception set. (simulation_settings.c) */
int pd_add_solvers(PyObject *module);

/* None or a dict of pd_chebyshev_options. Returns 0 with an exception set. (linear.c) */
int pd_read_chebyshev(PyObject *object, pd_chebyshev *out);
/* Checks the range of the numbers of pd_linear_set: 1, or 0 with a ValueError. (linear.c) */
int pd_check_spectrum(double weight, double omega, double rho);
/* The dict of pd_linear_options from python/pdgpu/linear/linear_solvers.py. Returns 0 with an exception set. (linear.c) */
int pd_read_linear_settings(PyObject *object, pd_linear_settings *out);
/* linear_function.c: a callable or None. out->user is the callable, borrowed. Returns 0 with an exception set. */
int pd_read_vector_function(PyObject *value, pd_vector_function *out);
/* A dict: weight, largest_eigenvalue; zeros for NULL. (linear.c) */
PyObject *pd_build_weight(const pd_linear *linear);
/* A dict of the work counts of a context. (linear.c) */
PyObject *pd_build_counts(pd_counts counts);

/* A collider without the values of its grid, which the caller gets in *values, or NULL: a BORROWED reference. Returns 0, or -1 with an
 * exception. (geometry.c) */
int pd_read_collider(int shape, PyObject *frame, PyObject *size, double spacing, PyObject *values_object, pd_collider *collider,
                     PyArrayObject **values);

#endif
