/* Settings from Python by name: a dict with exactly the declared options of some lists (base/option.h). */
#ifndef PD_PYTHON_BINDING_OPTIONS_H
#define PD_PYTHON_BINDING_OPTIONS_H

#include <Python.h>

#include "base/option.h"

/* Options and the structure that they fill. */
typedef struct pd_option_list {
    const pd_option *options;
    void *settings;
} pd_option_list;

/* Texts of the messages: the name of the dict, and the declaration of its options. `read` converts types other than flag, count and number.
 * It returns 0 with an exception set, or without one for an unknown type. NULL: no such types. */
typedef struct pd_option_reader {
    const char *argument, *owner;
    int (*read)(const void *user, PyObject *value, const pd_option *option, void *slot);
    const void *user;
} pd_option_reader;

/* An undeclared name, a missing one, and a value of another type or out of its range are errors that name it. Returns 0 with an
 * exception set. */
int pd_read_options(const pd_option_reader *reader, PyObject *dict, const pd_option_list *lists, int n_lists);

#endif
