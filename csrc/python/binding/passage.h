/* Transfers between Python's arrays and the device, through pinned memory, so that a call waits once for all of them. If backend memory
 * is host memory, they are copied at once. */
#ifndef PD_PYTHON_BINDING_PASSAGE_H
#define PD_PYTHON_BINDING_PASSAGE_H

#include "loops/backend.h"

/* PASSAGE_MOST: the maximum of pinned bytes that are kept. A larger transfer goes directly between array and device, with its own
 * synchronisation. */
enum { PD_PASSAGE_ARRAYS = 8, PD_PASSAGE_MOST = 1 << 26 };

typedef struct pd_passage {
    char *memory; /* H, pinned; NULL: not yet allocated */
    size_t bytes, used;
    int n_arriving;
    struct {
        void *target;
        size_t from, bytes;
    } arriving[PD_PASSAGE_ARRAYS];
} pd_passage;

/* Begins a call that transfers at least `bytes` in all. */
pd_status pd_passage_open(pd_passage *self, pd_context *context, size_t bytes);
/* From an array into backend memory, and the other direction. A target is complete after pd_passage_wait. */
pd_status pd_passage_send(pd_passage *self, pd_context *context, void *target /* B */, const void *source /* H */, size_t bytes);
pd_status pd_passage_receive(pd_passage *self, pd_context *context, void *target /* H */, const void *source /* B */, size_t bytes);
pd_status pd_passage_wait(pd_passage *self, pd_context *context);
void pd_passage_destroy(pd_passage *self, pd_context *context);

#endif
