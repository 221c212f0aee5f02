/* Functions of a material in Python (pdgpu.CustomMaterial), as the core calls them. */
#ifndef PD_PYTHON_BINDING_MATERIAL_FUNCTIONS_H
#define PD_PYTHON_BINDING_MATERIAL_FUNCTIONS_H

#include <Python.h>

#include "mesh/element_set.h"

/* A list of (name, elements, has_hessian, callable) of all elements of a set, whose kind and n are known. A callable gets (quantity, n, F,
 * elements, out), NumPy arrays of which the first n rows count: F [.,3,d] and elements [.] are read, out is filled. It takes the GIL on
 * the thread that called the core. What set->functions points at is kept by the list `kept`. None: there are none, which is an error for a
 * kind that needs some. Returns 0 with an exception set. */
int pd_read_material_functions(PyObject *kept, PyObject *functions, pd_element_set *set);

#endif
