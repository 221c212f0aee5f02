/* Transfer from the host to backend memory. */
#ifndef PD_LINEAR_UPLOAD_H
#define PD_LINEAR_UPLOAD_H

#include "loops/backend.h"

/* *out = a copy of `source` in backend memory, allocated if *out is NULL, otherwise overwritten. pd_upload copies bytes, pd_upload_ints
 * ints. pd_upload_reals rounds doubles to real in pieces, so that the host never holds a second copy of a large array. Errors:
 * PD_ERROR_MEMORY. */
pd_status pd_upload(pd_context *context, void **out, const void *source, size_t bytes);
pd_status pd_upload_ints(pd_context *context, int **out, const int *source, size_t count);
pd_status pd_upload_reals(pd_context *context, real **out, const double *source, size_t count);

/* Host memory of repeated asynchronous uploads. It stays until the copy has ended. */
typedef struct pd_outbox {
    void *memory;    /* H, pinned [bytes]; NULL before the first upload */
    size_t bytes;    /* constant */
    long long waits; /* of the context at the upload */
} pd_outbox;

/* target [bytes] B = source H, which may change after the return. Synchronises only if the host has not done so since the last call.
 * Errors: PD_ERROR_MEMORY. */
pd_status pd_send(pd_context *context, pd_outbox *outbox, void *target, const void *source, size_t bytes);
/* Tells whether these bytes equal the last upload. */
int pd_was_sent(const pd_outbox *outbox, const void *source, size_t bytes);
void pd_outbox_destroy(pd_context *context, pd_outbox *outbox);

#endif
