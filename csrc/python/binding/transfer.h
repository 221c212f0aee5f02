/* Transfers between Python's arrays and the device, through pinned memory, so that a call waits once for all of them. If backend memory
 * is host memory, they are copied at once. */
#ifndef PD_PYTHON_BINDING_TRANSFER_H
#define PD_PYTHON_BINDING_TRANSFER_H

#include "loops/backend.h"

/* PASSAGE_MOST: the maximum of pinned bytes that are kept. A larger transfer goes directly between array and device, with its own
 * synchronisation. */
enum { PD_TRANSFER_ARRAYS = 8, PD_TRANSFER_MOST = 1 << 26 };

typedef struct pd_transfer {
    char *memory; /* H, pinned; NULL: not yet allocated */
    size_t bytes, used;
    int n_arriving;
    struct {
        void *target;
        size_t from, bytes;
    } arriving[PD_TRANSFER_ARRAYS];
} pd_transfer;

/* Begins a call that transfers at least `bytes` in all. */
pd_status pd_transfer_open(pd_transfer *self, pd_context *context, size_t bytes);
/* From an array into backend memory, and the other direction. A target is complete after pd_transfer_synchronise. */
pd_status pd_transfer_send(pd_transfer *self, pd_context *context, void *target /* B */, const void *source /* H */, size_t bytes);
pd_status pd_transfer_receive(pd_transfer *self, pd_context *context, void *target /* H */, const void *source /* B */, size_t bytes);
pd_status pd_transfer_synchronise(pd_transfer *self, pd_context *context);
void pd_transfer_destroy(pd_transfer *self, pd_context *context);

#endif
