/* The Cholesky functions of _host, as a capsule: the other modules factorise through it and link no sparse library. */
#include "python/host_module.h"

#include "sparse/cholesky.h"

int pd_host_add_cholesky(PyObject *module) {
    PyObject *capsule = PyCapsule_New((void *)(size_t)&pd_cholesky_library, PD_CHOLESKY_CAPSULE, NULL);
    if (!capsule) return -1;
    int failed = PyModule_AddObjectRef(module, "cholesky", capsule);
    Py_DECREF(capsule);
    if (failed < 0) return -1;
#ifdef PD_HAVE_CHOLMOD
    return PyModule_AddObjectRef(module, "HAS_CHOLMOD", Py_True);
#else
    return PyModule_AddObjectRef(module, "HAS_CHOLMOD", Py_False);
#endif
}
