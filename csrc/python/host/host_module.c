/* The module _host: functions in double precision that need no backend.
 *
 * It is compiled for the baseline processor. So it can be imported on any processor and name the instruction sets that the backends need
 * and the processor lacks. */
#define PD_IMPORT_ARRAY
#include "python/binding/arrays.h"

#include "python/host/host_module.h"
#include "python/host/processor.h"

#include "threads/team.h"

PyDoc_STRVAR(missing_instructions_doc, "missing_instructions($module, /)\n--\n\n"
                                       "The instruction sets that the CPU backends are compiled for and this processor lacks, a tuple of\n"
                                       "names such as 'AVX2'. Empty: the backends run here. On processors other than x86-64 always empty.");

static PyObject *host_missing_instructions(PyObject *module, PyObject *arguments) {
    (void)module;
    (void)arguments;
    PyObject *names = PyList_New(0), *result = NULL;
    if (!names) return NULL;
    for (const pd_instruction_set *wanted = pd_required_instructions; wanted->name; wanted++) {
        if (pd_processor_has(wanted)) continue;
        PyObject *name = PyUnicode_FromString(wanted->name);
        int failed = !name || PyList_Append(names, name) < 0;
        Py_XDECREF(name);
        if (failed) goto done;
    }
    result = PyList_AsTuple(names);
done:
    Py_DECREF(names);
    return result;
}

static PyMethodDef module_methods[] = {
    {"missing_instructions", host_missing_instructions, METH_NOARGS, missing_instructions_doc},
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
    if (PyModule_AddStringConstant(module, "CPU_ARCH", PD_CPU_ARCH) < 0) return -1;
    if (pd_host_add_cholesky(module) < 0 || pd_host_add_names(module) < 0) return -1;
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)host_execute},
#if defined(Py_mod_multiple_interpreters) && Py_LIMITED_API + 0 >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED}, /* as NumPy's own core does */
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
