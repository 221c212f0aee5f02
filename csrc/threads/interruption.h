/* How a long computation on the host learns of Ctrl-C. */
#ifndef PD_THREADS_INTERRUPTION_H
#define PD_THREADS_INTERRUPTION_H

#include "base/status.h"

/* Zeroed but for the first two members by whoever starts the computation. */
typedef struct pd_interruption {
    int (*asked)(void *user); /* whether to stop; called by the thread that called the computation, and by no other of its team */
    void *user;
    double next; /* pd_seconds() from which on it is asked again */
    int stopped; /* read by the whole team */
} pd_interruption;

/* Whether to stop: what every thread of a team asks before each pair, point or row. NULL never stops. Between two calls of asked() pass at
 * least some hundredths of a second, so that it may be dear. */
int pd_interrupted(pd_interruption *interruption);

/* PD_OK, or PD_INTERRUPTED once it was said: what a loop returns that left items out. */
pd_status pd_interruption_status(const pd_interruption *interruption, pd_error *error);

#endif
