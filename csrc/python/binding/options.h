/* Settings from Python by name: a dict that holds exactly what lists of options declare (base/option.h). */
#ifndef PD_PYTHON_BINDING_OPTIONS_H
#define PD_PYTHON_BINDING_OPTIONS_H

#include <Python.h>

#include "base/option.h"

/* Options and the structure that they fill. */
typedef struct pd_option_list {
    const pd_option *options;
    void *settings;
} pd_option_list;

/* What the messages call a dict and who declares its names, and what reads the types beyond a flag, a count and a number into their place:
 * `read` returns 0 with an exception set, or without one for a type that it does not know, and is NULL where there are none. */
typedef struct pd_option_reader {
    const char *argument, *owner;
    int (*read)(const void *user, PyObject *value, const pd_option *option, void *slot);
    const void *user;
} pd_option_reader;

/* An undeclared name, a missing one, and a value of another type or out of its range are errors that name it. Returns 0 with
 * an exception set. */
int pd_read_options(const pd_option_reader *reader, PyObject *dict, const pd_option_list *lists, int n_lists);

#endif
