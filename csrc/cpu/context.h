/* What a CPU context holds. */
#ifndef PD_CPU_CONTEXT_H
#define PD_CPU_CONTEXT_H

#include "backend.h"

struct pd_context {
    int threads;
    pd_error error;
};

/* Threads worth waking for so many items of so many nanoseconds each: a parallel region costs some ten microseconds, and much more
 * where another process holds a core. The bits of a result do not depend on it. */
static inline int pd_threads(const pd_context *context, long long items, int nanoseconds) {
    return items * nanoseconds < 30000 ? 1 : context->threads;
}

#endif
