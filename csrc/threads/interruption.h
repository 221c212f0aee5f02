/* Interruption of a long computation on the host, for Ctrl-C. */
#ifndef PD_THREADS_INTERRUPTION_H
#define PD_THREADS_INTERRUPTION_H

#include "base/status.h"

/* The caller of the computation zeroes all but the first two members. */
typedef struct pd_interruption {
    int (*is_requested)(void *user); /* nonzero: stop; only the thread that called the computation calls it */
    void *user;
    double next; /* pd_seconds() of the next call */
    int stopped; /* all threads read it */
} pd_interruption;

/* Tells whether to stop. Every thread calls it before each pair, point or row. NULL never stops. Successive calls of is_requested() are at
 * least some hundredths of a second apart, so that it may be slow. */
int pd_interrupted(pd_interruption *interruption);

/* PD_OK, or PD_INTERRUPTED after a stop: the status of a loop that has skipped items. */
pd_status pd_interruption_status(const pd_interruption *interruption, pd_error *error);

#endif
