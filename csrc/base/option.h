/* The settings of a solver by name: Python must give exactly the declared ones (python/binding/options.h reads them). */
#ifndef PD_BASE_OPTION_H
#define PD_BASE_OPTION_H

#include <float.h>
#include <limits.h>
#include <stddef.h>

typedef enum pd_option_type {
    PD_OPTION_FLAG,        /* int, 0 or 1 */
    PD_OPTION_COUNT,       /* int in [least, most] */
    PD_OPTION_NUMBER,      /* double in [least, most] */
    PD_OPTION_COLOURS,     /* const int * [n_vertices], borrowed: no two free vertices of an element have the same */
    PD_OPTION_VERTICES,    /* const unsigned char * [n_vertices], borrowed: flags; None: NULL */
    PD_OPTION_LINEAR,      /* pd_linear_settings */
    PD_OPTION_CHEBYSHEV,   /* pd_chebyshev, or None: not enabled */
    PD_OPTION_ANDERSON,    /* pd_anderson_settings, or None: a window of 0 */
    PD_OPTION_FUNCTION,    /* pd_vector_function, or None: no function */
    PD_OPTION_ACCELERATOR, /* pd_acceleration, by the accelerator of the option's name; None: another one */
    PD_OPTION_TYPE_COUNT
} pd_option_type;

/* One setting: its name, and its place in the structure of the settings. A list ends with a name of NULL. */
typedef struct pd_option {
    const char *name;
    pd_option_type type;
    size_t offset;
    double least, most;
} pd_option;

#define PD_OPTION(settings, member, type, least, most) {#member, type, offsetof(settings, member), least, most}
#define PD_FLAG(settings, member)                      PD_OPTION(settings, member, PD_OPTION_FLAG, 0, 1)
#define PD_COUNT_FROM(settings, member, least)         PD_OPTION(settings, member, PD_OPTION_COUNT, least, INT_MAX)
#define PD_NUMBER_FROM(settings, member, least)        PD_OPTION(settings, member, PD_OPTION_NUMBER, least, DBL_MAX)
#define PD_LINEAR(settings, member)                    PD_OPTION(settings, member, PD_OPTION_LINEAR, 0, 0)
#define PD_OPTIONS_END                                 {NULL, PD_OPTION_FLAG, 0, 0, 0}

#endif
