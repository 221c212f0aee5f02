/* The clock of all timings: monotonic seconds. Only differences have a meaning. */
#ifndef PD_BASE_CLOCK_H
#define PD_BASE_CLOCK_H

#include <time.h>

static inline double pd_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Adds the time since `since` to *spent, and begins the next lap. */
static inline void pd_lap(double *since, double *spent) {
    double now = pd_seconds();
    *spent += now - *since;
    *since = now;
}

#endif
