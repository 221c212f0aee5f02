/* The settings of a simulation: a solver by its name and a dict, filled into what the frame and the method declare (dynamics/option.h). */
#include "python/simulation_object.h"

#include "dynamics/methods.h"

#include <stdlib.h>
#include <string.h>

/* What reading a setting may need beside its value. */
typedef struct {
    PyObject *kept; /* list of the arrays that live as long as the core */
    const pd_description *description;
} Reader;

/* A whole number that is one: True and 3.0 are none. */
static int read_count(PyObject *value, const pd_option *option, int *out) {
    if (!PyLong_Check(value) || PyBool_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected an integer, got %R", option->name, value);
        return 0;
    }
    double number = PyFloat_AsDouble(value); // exact as far as an int reaches
    if (number == -1.0 && PyErr_Occurred()) return 0;
    if (!pd_number_in_range(number, option->least, option->most, option->name)) return 0;
    *out = (int)number;
    return 1;
}

static int read_number(PyObject *value, const pd_option *option, double *out) {
    *out = PyFloat_AsDouble(value);
    if (*out == -1.0 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) PyErr_Format(PyExc_TypeError, "%s: expected a number, got %R", option->name, value);
        return 0;
    }
    return pd_number_in_range(*out, option->least, option->most, option->name);
}

static int read_flag(PyObject *value, const pd_option *option, int *out) {
    if (!PyBool_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected True or False, got %R", option->name, value);
        return 0;
    }
    *out = value == Py_True;
    return 1;
}

/* Each returns 0 with an exception set. */
static int read_setting(const Reader *reader, PyObject *value, const pd_option *option, void *settings) {
    void *place = (char *)settings + option->offset;
    switch (option->type) {
    case PD_OPTION_FLAG: return read_flag(value, option, place);
    case PD_OPTION_COUNT: return read_count(value, option, place);
    case PD_OPTION_NUMBER: return read_number(value, option, place);
    case PD_OPTION_COLOURS: return pd_read_colours(reader->kept, value, reader->description, place);
    case PD_OPTION_LINEAR: return pd_read_linear_settings(value, place);
    case PD_OPTION_CHEBYSHEV: return pd_read_chebyshev(value, place);
    default: PyErr_Format(PyExc_SystemError, "%s: a type of setting that nothing reads", option->name); return 0;
    }
}

/* All settings of a list of options; *count grows by their number. */
static int read_settings(const Reader *reader, PyObject *dict, const pd_option *options, const char *solver, void *settings,
                         Py_ssize_t *count) {
    for (const pd_option *option = options; option->name; option++, ++*count) {
        PyObject *value = PyDict_GetItemString(dict, option->name);
        if (!value) {
            PyErr_Format(PyExc_TypeError, "settings: %s needs '%s'", solver, option->name);
            return 0;
        }
        Py_INCREF(value); // what reads it may run Python code, which may change the dict
        int read = read_setting(reader, value, option, settings);
        Py_DECREF(value);
        if (!read) return 0;
    }
    return 1;
}

static int is_declared(const pd_option *options, PyObject *name) {
    for (const pd_option *option = options; option->name; option++)
        if (PyUnicode_CompareWithASCIIString(name, option->name) == 0) return 1;
    return 0;
}

/* Names that nobody declares. */
static int refuse_unknown(PyObject *dict, const pd_method *method) {
    PyObject *name, *value;
    Py_ssize_t place = 0;
    while (PyDict_Next(dict, &place, &name, &value)) {
        if (PyUnicode_Check(name) && (is_declared(pd_frame_options, name) || is_declared(method->options, name))) continue;
        PyErr_Format(PyExc_TypeError, "settings: %s takes no %R", method->name, name);
        return 0;
    }
    return 1;
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
    if (!method && !PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "solver: there is no %R", solver);
    return method;
}

int pd_read_settings(PyObject *kept, PyObject *solver, PyObject *dict, const pd_description *description, pd_settings *out) {
    Reader reader = {kept, description};
    Py_ssize_t count = 0;
    if (!(out->method = read_method(solver)) || !pd_number_in_range(out->h, 0.0, DBL_MAX, "h")) return 0;
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "settings: expected a dict, got %R", dict);
        return 0;
    }
    void *own = calloc(1, out->method->settings_size + 1);
    out->own = own;
    if (!own) {
        PyErr_NoMemory();
        return 0;
    }
    return read_settings(&reader, dict, pd_frame_options, out->method->name, out, &count) &&
           read_settings(&reader, dict, out->method->options, out->method->name, own, &count) &&
           (PyDict_Size(dict) == count || refuse_unknown(dict, out->method));
}

int pd_add_solvers(PyObject *module) {
    PyObject *solvers = PyDict_New();
    int failed = !solvers;
    for (int i = 0; i < PD_METHOD_COUNT && !failed; i++) {
        const pd_option *lists[] = {pd_frame_options, pd_methods[i]->options};
        PyObject *names = PyList_New(0);
        failed = !names || PyDict_SetItemString(solvers, pd_methods[i]->name, names) < 0;
        for (int l = 0; l < 2; l++)
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
