/* Functions of a material in Python (pdgpu.CustomMaterial), called by the core. */
#ifndef PD_PYTHON_BINDING_MATERIAL_FUNCTIONS_H
#define PD_PYTHON_BINDING_MATERIAL_FUNCTIONS_H

#include <Python.h>

#include "mesh/element_set.h"

/* A list of (name, elements, has_hessian, callable) for all elements of a set with known kind and n. A callable gets (quantity, n, F,
 * elements, out), NumPy arrays whose first n rows are valid: F [.,3,d] and elements [.] are inputs, out is the result. The call takes the
 * GIL on the thread that called the core. The list `kept` owns the data of set->functions. None: no functions, an error for a kind with
 * functions. Returns 0 with an exception set. */
int pd_read_material_functions(PyObject *kept, PyObject *functions, pd_element_set *set);

#endif
