/* What the files of a backend module (_cpu_f32, _cpu_f64, _cuda_f32, _cuda_f64) share. */
#ifndef PD_PYTHON_BACKEND_MODULE_H
#define PD_PYTHON_BACKEND_MODULE_H

#include "python/arrays.h"

#include "backend.h"
#include "host/cholesky.h"

/* The NumPy type of `real`. */
#define PD_NPY_REAL (sizeof(real) == sizeof(float) ? NPY_FLOAT32 : NPY_FLOAT64)

typedef struct pd_module_state {
    PyTypeObject *simulation_type;
    const pd_cholesky_functions *cholesky; /* kept alive by the module _host, which is never unloaded */
} pd_module_state;

extern PyType_Spec pd_simulation_type_spec; /* simulation.c */
extern PyMethodDef pd_element_methods[];    /* elements.c */

#endif
