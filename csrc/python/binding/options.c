/* Settings from Python by name; see options.h. */
#include "python/binding/options.h"

#include "python/binding/arrays.h"

#include <stdio.h>

/* An integer object. True and 3.0 are rejected. */
static int read_count(PyObject *value, const pd_option *option, const char *name, int *out) {
    if (!PyLong_Check(value) || PyBool_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected an integer, got %R", name, value);
        return 0;
    }
    double number = PyFloat_AsDouble(value); // exact for the range of an int
    if (number == -1.0 && PyErr_Occurred()) return 0;
    if (!pd_number_in_range(number, option->least, option->most, name)) return 0;
    *out = (int)number;
    return 1;
}

static int read_number(PyObject *value, const pd_option *option, const char *name, double *out) {
    *out = PyFloat_AsDouble(value);
    if (*out == -1.0 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) PyErr_Format(PyExc_TypeError, "%s: expected a number, got %R", name, value);
        return 0;
    }
    return pd_number_in_range(*out, option->least, option->most, name);
}

static int read_flag(PyObject *value, const char *name, int *out) {
    if (!PyBool_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected True or False, got %R", name, value);
        return 0;
    }
    *out = value == Py_True;
    return 1;
}

/* Each returns 0 with an exception set. */
static int read_option(const pd_option_reader *reader, PyObject *value, const pd_option *option, void *slot) {
    char name[96];
    snprintf(name, sizeof name, "%s: %s", reader->argument, option->name);
    switch (option->type) {
    case PD_OPTION_FLAG: return read_flag(value, name, slot);
    case PD_OPTION_COUNT: return read_count(value, option, name, slot);
    case PD_OPTION_NUMBER: return read_number(value, option, name, slot);
    default: break;
    }
    if (reader->read && reader->read(reader->user, value, option, slot)) return 1;
    if (!PyErr_Occurred()) PyErr_Format(PyExc_SystemError, "%s: a type of setting that nothing reads", name);
    return 0;
}

/* All settings of a list; *count grows by their number. */
static int read_list(const pd_option_reader *reader, PyObject *dict, const pd_option_list *list, Py_ssize_t *count) {
    for (const pd_option *option = list->options; option->name; option++, ++*count) {
        PyObject *value = PyDict_GetItemString(dict, option->name);
        if (!value) {
            PyErr_Format(PyExc_TypeError, "%s: %s needs '%s'", reader->argument, reader->owner, option->name);
            return 0;
        }
        Py_INCREF(value); // the conversion may run Python code, which may change the dict
        int read = read_option(reader, value, option, (char *)list->settings + option->offset);
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

/* Rejects undeclared names. */
static int refuse_unknown(const pd_option_reader *reader, PyObject *dict, const pd_option_list *lists, int n_lists) {
    PyObject *name, *value;
    Py_ssize_t slot = 0;
    while (PyDict_Next(dict, &slot, &name, &value)) {
        int declared = 0;
        for (int l = 0; l < n_lists && PyUnicode_Check(name); l++) declared |= is_declared(lists[l].options, name);
        if (declared) continue;
        PyErr_Format(PyExc_TypeError, "%s: %s takes no %R", reader->argument, reader->owner, name);
        return 0;
    }
    return 1;
}

int pd_read_options(const pd_option_reader *reader, PyObject *dict, const pd_option_list *lists, int n_lists) {
    Py_ssize_t count = 0;
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a dict, got %R", reader->argument, dict);
        return 0;
    }
    for (int l = 0; l < n_lists; l++)
        if (!read_list(reader, dict, &lists[l], &count)) return 0;
    return PyDict_Size(dict) == count || refuse_unknown(reader, dict, lists, n_lists);
}
