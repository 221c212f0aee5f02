/* Names of columns, energies, phases and stop reasons as tuples of _host. The index of a name is its constant. */
#include "python/host/host_module.h"

#include "python/binding/names.h"

#define RECORD_NAME(NAME, name, ...)   [PD_RECORD_##NAME] = name,
#define UPDATE_NAME(NAME, name)        [PD_UPDATE_##NAME] = name,
#define LINEAR_RECORD_NAME(NAME, name) [PD_LINEAR_RECORD_##NAME] = name,
#define ENERGY_NAME(KIND, name, ...)   [KIND] = #name,

static const char *const record_columns[] = {PD_RECORD_TABLE(RECORD_NAME)};
static const char *const update_columns[] = {PD_UPDATE_TABLE(UPDATE_NAME)};
static const char *const linear_record_columns[] = {PD_LINEAR_RECORD_TABLE(LINEAR_RECORD_NAME)};
static const char *const phases[] = {PD_PHASE_TABLE(PD_NAME_AT)};
static const char *const stops[] = {PD_STOP_TABLE(PD_NAME_AT)};
static const char *const energies[] = {PD_ELEMENT_TABLE(ENERGY_NAME)[PD_ENERGY_INERTIA] = "inertia", [PD_ENERGY_LOAD] = "load",
                                       [PD_ENERGY_DAMPING] = "damping", [PD_ENERGY_CONTACT] = "contact", [PD_ENERGY_FRICTION] = "friction"};

_Static_assert(sizeof phases / sizeof *phases == PD_PHASE_COUNT, "a phase without a name");
_Static_assert(sizeof energies / sizeof *energies == PD_ENERGY_COUNT, "an energy without a name");

static int add_names(PyObject *module, const char *name, const char *const *names, size_t count) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    int failed = !tuple;
    for (size_t k = 0; k < count && !failed; k++) {
        PyObject *text = PyUnicode_InternFromString(names[k]);
        failed = !text || PyTuple_SetItem(tuple, (Py_ssize_t)k, text) < 0;
    }
    if (!failed) failed = PyModule_AddObjectRef(module, name, tuple) < 0;
    Py_XDECREF(tuple);
    return failed ? -1 : 0;
}

#define ADD_NAMES(name, names) add_names(module, name, names, sizeof(names) / sizeof *(names))

int pd_host_add_names(PyObject *module) {
    return ADD_NAMES("RECORD_COLUMNS", record_columns) || ADD_NAMES("UPDATE_COLUMNS", update_columns) ||
                   ADD_NAMES("LINEAR_RECORD_COLUMNS", linear_record_columns) || ADD_NAMES("PHASES", phases) || ADD_NAMES("STOPS", stops) ||
                   ADD_NAMES("ENERGIES", energies)
               ? -1
               : 0;
}
