/* The module _host: what is always double and needs no backend, shown to Python.
 *
 * Built for the baseline processor, so it can be imported anywhere and say whether the backends would run. */
#define PD_IMPORT_ARRAY
#include "python/binding/arrays.h"

#include "python/host/host_module.h"

#include "threads/team.h"

/* The backends of an x86-64 build are compiled for x86-64-v3 (AVX2, FMA, BMI); an older processor would die of SIGILL. */
static int cpu_supports_backend(void) {
#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
#else
    return 1;
#endif
}

PyDoc_STRVAR(cpu_supports_backend_doc, "cpu_supports_backend($module, /)\n--\n\n"
                                       "Whether this processor has the instructions the CPU backends are compiled for\n"
                                       "(x86-64: AVX2, FMA, BMI, BMI2; elsewhere always True).");

static PyObject *host_cpu_supports_backend(PyObject *module, PyObject *arguments) {
    (void)module;
    (void)arguments;
    return PyBool_FromLong(cpu_supports_backend());
}

static PyMethodDef module_methods[] = {
    {"cpu_supports_backend", host_cpu_supports_backend, METH_NOARGS, cpu_supports_backend_doc},
    {NULL, NULL, 0, NULL},
};

static int host_execute(PyObject *module) {
    if (pd_arrays_import() < 0) return -1;
    pd_team_survive_forks();
    if (PyModule_AddFunctions(module, pd_host_mesh_methods) < 0) return -1;
    if (PyModule_AddFunctions(module, pd_host_intersection_methods) < 0) return -1;
    if (PyModule_AddFunctions(module, pd_host_surface_methods) < 0) return -1;
    if (PyModule_AddFunctions(module, pd_host_matrix_methods) < 0) return -1;
    if (PyModule_AddFunctions(module, pd_host_contact_methods) < 0) return -1;
#ifdef PD_HAVE_GMP
    if (PyModule_AddObjectRef(module, "HAS_GMP", Py_True) < 0) return -1;
#else
    if (PyModule_AddObjectRef(module, "HAS_GMP", Py_False) < 0) return -1;
#endif
    if (PyModule_AddStringConstant(module, "COMMIT", PD_COMMIT) < 0) return -1;
    if (pd_host_add_cholesky(module) < 0 || pd_host_add_names(module) < 0) return -1;
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)host_execute},
#if defined(Py_mod_multiple_interpreters) && Py_LIMITED_API + 0 >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED}, /* as NumPy's own core */
#endif
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_host",
    .m_doc = "Meshes, masses, rest shapes and colourings in double precision. Arrays are taken strictly: float64 or int32,\n"
             "C-contiguous; pdgpu's Python layer converts.",
    .m_size = 0,
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__host(void);
PyMODINIT_FUNC PyInit__host(void) { return PyModuleDef_Init(&module_definition); }
