/* Interruptions; see interruption.h. */
#include "threads/interruption.h"

#include "base/clock.h"

#include <stddef.h>
#ifdef _OPENMP
#include <omp.h>
#endif

static const double PAUSE = 0.05; /* s */

static int is_caller(void) {
#ifdef _OPENMP
    return omp_get_thread_num() == 0;
#else
    return 1;
#endif
}

int pd_interrupted(pd_interruption *interruption) {
    int stopped;
    if (!interruption) return 0;
#pragma omp atomic read
    stopped = interruption->stopped;
    if (stopped || !is_caller()) return stopped;
    double now = pd_seconds();
    if (now < interruption->next) return 0;
    stopped = interruption->is_requested(interruption->user) != 0;
    interruption->next = pd_seconds() + PAUSE;
    if (stopped) {
#pragma omp atomic write
        interruption->stopped = 1;
    }
    return stopped;
}

pd_status pd_interruption_status(const pd_interruption *interruption, pd_error *error) {
    return interruption && interruption->stopped ? pd_fail(error, PD_INTERRUPTED, "interrupted") : PD_OK;
}
