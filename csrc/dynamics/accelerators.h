/* The list of all outer accelerations, one line each. No other file except the accelerator's own names it. */
#ifndef PD_DYNAMICS_ACCELERATORS_H
#define PD_DYNAMICS_ACCELERATORS_H

#include "dynamics/accelerator.h"

#define PD_ACCELERATOR_TABLE(ACCELERATOR) \
    ACCELERATOR(pd_chebyshev_accelerator) \
    ACCELERATOR(pd_anderson_accelerator)

/* [PD_ACCELERATOR_COUNT], in the order of the table. */
extern const pd_accelerator *const pd_accelerators[];

enum {
#define PD_COUNT_ACCELERATOR(accelerator) accelerator##_place,
    PD_ACCELERATOR_TABLE(PD_COUNT_ACCELERATOR)
#undef PD_COUNT_ACCELERATOR
        PD_ACCELERATOR_COUNT
};

/* The accelerator of that name; NULL: none. */
const pd_accelerator *pd_accelerator_find(const char *name);

#endif
