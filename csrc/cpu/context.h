/* What a CPU context holds. */
#ifndef PD_CPU_CONTEXT_H
#define PD_CPU_CONTEXT_H

#include "backend.h"

struct pd_context {
    int threads;
    pd_error error;
};

#endif
