/* A backend module: the type Simulation, batches of elements, and properties of the backend. Built once per device and precision;
 * PD_MODULE_NAME selects these. */
#define PD_IMPORT_ARRAY
#include "python/binding/backend_module.h"

#include "loops/sparse_loops.h"
#include "python/binding/device_array.h"
#include "python/binding/errors.h"
#include "python/collision/broad_phase.h"

#include <string.h>

#define PD_PASTE_(a, b) a##b
#define PD_PASTE(a, b)  PD_PASTE_(a, b)
#define PD_QUOTE_(a)    #a
#define PD_QUOTE(a)     PD_QUOTE_(a)
#define PD_INIT_NAME    PD_PASTE(PyInit_, PD_MODULE_NAME)

static PyObject *module_devices(PyObject *module, PyObject *arguments) {
    (void)arguments;
    pd_error error = {0};
    int count = 0;
    pd_status status = pd_device_count(&count, &error);
    if (status) return pd_raise(module, status, &error);
    PyObject *names = PyList_New(0);
    for (int i = 0; names && i < count; i++) {
        char name[256];
        status = pd_device_name(i, name, &error);
        PyObject *text = status ? NULL : PyUnicode_FromString(name);
        if (!text || PyList_Append(names, text) < 0) Py_CLEAR(names);
        Py_XDECREF(text);
    }
    if (status) return pd_raise(module, status, &error);
    return names;
}

static PyObject *module_unavailable(PyObject *module, PyObject *arguments) {
    (void)arguments;
    pd_error error = {0};
    int count = 0;
    pd_status status = pd_device_count(&count, &error);
    if (status) return pd_raise(module, status, &error);
    if (count > 0) Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(error.text, (Py_ssize_t)strlen(error.text), "replace");
}

static PyObject *module_versions(PyObject *module, PyObject *arguments) {
    (void)module;
    (void)arguments;
    char text[256];
    pd_device_versions(text);
    return PyUnicode_FromString(text);
}

static PyObject *module_use_device(PyObject *module, PyObject *number) {
    long device = PyLong_AsLong(number);
    if (device == -1 && PyErr_Occurred()) return NULL;
    int count = 0;
    pd_error error = {0};
    pd_status status = pd_device_count(&count, &error);
    if (status) return pd_raise(module, status, &error);
    if (device < 0 || device >= count) return PyErr_Format(PyExc_ValueError, "device: %ld is out of range for %d devices", device, count);
    pd_module_state *state = PyModule_GetState(module);
    pd_workspace_destroy(&state->workspace);
    state->device = (int)device;
    Py_RETURN_NONE;
}

static PyObject *module_workspace_counts(PyObject *module, PyObject *arguments) {
    (void)arguments;
    const pd_module_state *state = PyModule_GetState(module);
    if (!state->workspace.context) Py_RETURN_NONE;
    return pd_build_counts(pd_context_counts(state->workspace.context));
}

static PyObject *module_direct_library(PyObject *module, PyObject *arguments) {
    char text[64];
    (void)module;
    (void)arguments;
    pd_sparse_library(text);
    return PyUnicode_FromString(text);
}

static PyMethodDef module_methods[] = {
    {"direct_library", module_direct_library, METH_NOARGS,
     "direct_library($module, /)\n--\n\nThe library that factorises sparse matrices in this backend's memory, and its version; empty: the "
     "host's "
     "does."},
    {"use_device", module_use_device, METH_O,
     "use_device($module, number, /)\n--\n\nWhere what is made and called from now on works; 0 until then. pdgpu._internal.backends has a "
     "module for "
     "each device."},
    {"workspace_counts", module_workspace_counts, METH_NOARGS,
     "workspace_counts($module, /)\n--\n\nA dict: what batches have asked of the context they share, None before the first; for tests."},
    {"devices", module_devices, METH_NOARGS,
     "devices($module, /)\n--\n\nNames of the devices this backend can use; empty where there is none."},
    {"unavailable", module_unavailable, METH_NOARGS,
     "unavailable($module, /)\n--\n\nWhy there is no device this backend can use; None where there is one."},
    {"versions", module_versions, METH_NOARGS,
     "versions($module, /)\n--\n\nOf the device's runtime and driver; of the compiler on the CPU."},
    {NULL, NULL, 0, NULL},
};

/* KINDS: name -> (id, vertices k, columns d, parameters), in the order of the table, so ids are 0, 1, 2, .. */
static int add_kinds(PyObject *module) {
    PyObject *kinds = PyDict_New();
    int failed = !kinds;
#define PD_ADD_KIND(KIND, name, k, d, count, ...)                            \
    if (!failed) {                                                           \
        PyObject *entry = Py_BuildValue("(iiii)", (int)(KIND), k, d, count); \
        failed = !entry || PyDict_SetItemString(kinds, #name, entry) < 0;    \
        Py_XDECREF(entry);                                                   \
    }
    PD_ELEMENT_TABLE(PD_ADD_KIND)
#undef PD_ADD_KIND
    if (!failed) failed = PyModule_AddObjectRef(module, "KINDS", kinds) < 0;
    Py_XDECREF(kinds);
    return failed ? -1 : 0;
}

static int module_execute(PyObject *module) {
    if (pd_arrays_import() < 0) return -1;
    pd_module_state *state = PyModule_GetState(module);

    // only _host contains the factorisation
    PyObject *host = PyImport_ImportModule("pdgpu._host");
    PyObject *capsule = host ? PyObject_GetAttrString(host, "cholesky") : NULL;
    state->cholesky = capsule ? PyCapsule_GetPointer(capsule, PD_CHOLESKY_CAPSULE) : NULL;
    Py_XDECREF(capsule);
    Py_XDECREF(host);
    if (!state->cholesky) return -1;

    state->simulation_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &pd_simulation_type_spec, NULL);
    if (!state->simulation_type) return -1;
    if (PyModule_AddType(module, state->simulation_type) < 0) return -1;
    state->linear_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &pd_linear_type_spec, NULL);
    if (!state->linear_type) return -1;
    if (PyModule_AddType(module, state->linear_type) < 0) return -1;
    state->device_array_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &pd_device_array_type_spec, NULL);
    if (!state->device_array_type) return -1;
    if (PyModule_AddType(module, state->device_array_type) < 0) return -1;
    state->broad_phase_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &pd_broad_phase_type_spec, NULL);
    if (!state->broad_phase_type) return -1;
    if (PyModule_AddType(module, state->broad_phase_type) < 0) return -1;
    state->proximity_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &pd_proximity_type_spec, NULL);
    if (!state->proximity_type) return -1;
    if (PyModule_AddType(module, state->proximity_type) < 0) return -1;
    state->results_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &pd_results_type_spec, NULL);
    if (!state->results_type) return -1;
    if (PyModule_AddFunctions(module, pd_element_methods) < 0) return -1;
    if (PyModule_AddFunctions(module, pd_material_methods) < 0) return -1;
    if (PyModule_AddFunctions(module, pd_geometry_methods) < 0) return -1;
    if (PyModule_AddFunctions(module, pd_contact_methods) < 0) return -1;
    if (pd_add_solvers(module) < 0) return -1;
    return add_kinds(module);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
    pd_module_state *state = PyModule_GetState(module);
    Py_VISIT(state->simulation_type);
    Py_VISIT(state->linear_type);
    Py_VISIT(state->device_array_type);
    Py_VISIT(state->broad_phase_type);
    Py_VISIT(state->proximity_type);
    Py_VISIT(state->results_type);
    return 0;
}

static int module_clear(PyObject *module) {
    pd_module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->simulation_type);
    Py_CLEAR(state->linear_type);
    Py_CLEAR(state->device_array_type);
    Py_CLEAR(state->broad_phase_type);
    Py_CLEAR(state->proximity_type);
    Py_CLEAR(state->results_type);
    return 0;
}

static void module_free(void *module) {
    pd_module_state *state = PyModule_GetState(module);
    if (state) pd_workspace_destroy(&state->workspace);
    (void)module_clear(module);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)module_execute},
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = PD_QUOTE(PD_MODULE_NAME),
    .m_doc = "One backend of pdgpu in one precision. Arrays are taken strictly; pdgpu's Python layer converts.",
    .m_size = sizeof(pd_module_state),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PD_INIT_NAME(void);
PyMODINIT_FUNC PD_INIT_NAME(void) { return PyModuleDef_Init(&module_definition); }
