/* The settings of a simulation: a solver name and a dict, read into the declared options of the frame and of the method. */
#include "python/simulation/simulation_object.h"

#include "dynamics/accelerators.h"
#include "dynamics/methods.h"
#include "python/binding/options.h"

#include <stdlib.h>
#include <string.h>

/* The accelerators as settings of a solver, of which at most one may be set. */
static void list_accelerators(pd_option options[PD_ACCELERATOR_COUNT + 1]) {
    const size_t place = offsetof(pd_settings, acceleration);
    for (int i = 0; i < PD_ACCELERATOR_COUNT; i++) options[i] = (pd_option){pd_accelerators[i]->name, PD_OPTION_ACCELERATOR, place, 0, 0};
    options[PD_ACCELERATOR_COUNT] = (pd_option)PD_OPTIONS_END;
}

int pd_read_acceleration(PyObject *value, const char *name, pd_acceleration *out) {
    const pd_accelerator *accelerator = pd_accelerator_find(name);
    const pd_option_reader reader = {name, "an acceleration", NULL, NULL};
    if (value == Py_None) return 1;
    if (out->accelerator) {
        PyErr_Format(PyExc_ValueError, "settings: a solver has one acceleration, and '%s' and '%s' are given: leave one out",
                     out->accelerator->name, name);
        return 0;
    }
    void *settings = calloc(1, accelerator->settings_size + 1);
    out->accelerator = accelerator;
    out->settings = settings;
    if (!settings) {
        PyErr_NoMemory();
        return 0;
    }
    return pd_read_options(&reader, value, &(pd_option_list){accelerator->options, settings}, 1);
}

/* Data for the conversion of a setting. */
typedef struct {
    PyObject *kept; /* list of the arrays that live as long as the core */
    const pd_description *description;
} Arrays;

/* A linear solver. Its function is kept as long as the core. */
static int read_linear(PyObject *kept, PyObject *value, pd_linear_settings *out) {
    if (!pd_read_linear_settings(value, out)) return 0;
    return !out->function.user || PyList_Append(kept, out->function.user) == 0;
}

static int read_setting(const void *user, PyObject *value, const pd_option *option, void *slot) {
    const Arrays *arrays = user;
    switch (option->type) {
    case PD_OPTION_COLOURS: return pd_read_colours(arrays->kept, value, arrays->description, slot);
    case PD_OPTION_VERTICES: return pd_read_vertices(arrays->kept, value, arrays->description, option->name, slot);
    case PD_OPTION_LINEAR: return read_linear(arrays->kept, value, slot);
    case PD_OPTION_ACCELERATOR: return pd_read_acceleration(value, option->name, slot);
    default: return 0;
    }
}

/* The method of that name; NULL with an exception set. */
static const pd_method *read_method(PyObject *solver) {
    Py_ssize_t length;
    if (!PyUnicode_Check(solver)) {
        PyErr_Format(PyExc_TypeError, "solver: expected the name of one, got %R", solver);
        return NULL;
    }
    const char *name = PyUnicode_AsUTF8AndSize(solver, &length);
    const pd_method *method = name && strlen(name) == (size_t)length ? pd_method_find(name) : NULL;
    if (!method && !PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "solver: %R is unknown", solver);
    return method;
}

int pd_read_settings(PyObject *kept, PyObject *solver, PyObject *dict, const pd_description *description, pd_settings *out) {
    if (!(out->method = read_method(solver)) || !pd_number_in_range(out->h, 0.0, DBL_MAX, "h")) return 0;
    void *method_settings = calloc(1, out->method->settings_size + 1);
    out->method_settings = method_settings;
    if (!method_settings) {
        PyErr_NoMemory();
        return 0;
    }
    Arrays arrays = {kept, description};
    pd_option_reader reader = {"settings", out->method->name, read_setting, &arrays};
    pd_option accelerators[PD_ACCELERATOR_COUNT + 1];
    list_accelerators(accelerators);
    pd_option_list lists[] = {{pd_frame_options, out}, {accelerators, out}, {out->method->options, method_settings}};
    return pd_read_options(&reader, dict, lists, 3);
}

int pd_add_solvers(PyObject *module) {
    PyObject *solvers = PyDict_New();
    pd_option accelerators[PD_ACCELERATOR_COUNT + 1];
    list_accelerators(accelerators);
    int failed = !solvers;
    for (int i = 0; i < PD_METHOD_COUNT && !failed; i++) {
        const pd_option *lists[] = {pd_frame_options, accelerators, pd_methods[i]->options};
        PyObject *names = PyList_New(0);
        failed = !names || PyDict_SetItemString(solvers, pd_methods[i]->name, names) < 0;
        for (int l = 0; l < 3; l++)
            for (const pd_option *option = lists[l]; option->name && !failed; option++) {
                PyObject *name = PyUnicode_FromString(option->name);
                failed = !name || PyList_Append(names, name) < 0;
                Py_XDECREF(name);
            }
        Py_XDECREF(names);
    }
    if (!failed) failed = PyModule_AddObjectRef(module, "SOLVERS", solvers) < 0;
    Py_XDECREF(solvers);
    return failed ? -1 : 0;
}
