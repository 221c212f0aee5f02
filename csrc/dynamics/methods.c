/* The list of all methods; see methods.h. */
#include "dynamics/methods.h"

#include "dynamics/integrator/integrator.h"
#include "dynamics/step/simulation.h"

#include <string.h>

#define PD_DECLARE_METHOD(method) extern const pd_method method;
PD_METHOD_TABLE(PD_DECLARE_METHOD)
#undef PD_DECLARE_METHOD

const pd_method *const pd_methods[] = {
#define PD_LIST_METHOD(method) &method,
    PD_METHOD_TABLE(PD_LIST_METHOD)
#undef PD_LIST_METHOD
};

const pd_option pd_frame_options[] = {PD_COUNT_FROM(pd_settings, iterations, 1),
                                      PD_NUMBER_FROM(pd_settings, tolerance, 0.0),
                                      PD_NUMBER_FROM(pd_settings, step_tolerance, 0.0),
                                      PD_COUNT_FROM(pd_settings, check_every, 1),
                                      PD_OPTION(pd_settings, initialization, PD_OPTION_COUNT, 0, PD_GUESS_COUNT - 1),
                                      PD_FLAG(pd_settings, lower_guess),
                                      PD_OPTION(pd_settings, integrator, PD_OPTION_COUNT, 0, PD_INTEGRATOR_COUNT - 1),
                                      PD_OPTIONS_END};

const pd_method *pd_method_find(const char *name) {
    for (int i = 0; i < PD_METHOD_COUNT; i++)
        if (strcmp(pd_methods[i]->name, name) == 0) return pd_methods[i];
    return NULL;
}
