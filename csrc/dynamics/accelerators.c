/* The list of all outer accelerations; see accelerators.h. */
#include "dynamics/accelerators.h"

#include <string.h>

#define PD_DECLARE_ACCELERATOR(accelerator) extern const pd_accelerator accelerator;
PD_ACCELERATOR_TABLE(PD_DECLARE_ACCELERATOR)
#undef PD_DECLARE_ACCELERATOR

const pd_accelerator *const pd_accelerators[] = {
#define PD_LIST_ACCELERATOR(accelerator) &accelerator,
    PD_ACCELERATOR_TABLE(PD_LIST_ACCELERATOR)
#undef PD_LIST_ACCELERATOR
};

const pd_accelerator *pd_accelerator_find(const char *name) {
    for (int i = 0; i < PD_ACCELERATOR_COUNT; i++)
        if (strcmp(pd_accelerators[i]->name, name) == 0) return pd_accelerators[i];
    return NULL;
}
