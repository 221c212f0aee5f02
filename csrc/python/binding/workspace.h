/* A context and device memory for batches, which each module keeps between calls. A call creates a stream and memory only if it is the
 * first, needs more than earlier calls, or runs concurrently with another one. */
#ifndef PD_PYTHON_BINDING_WORKSPACE_H
#define PD_PYTHON_BINDING_WORKSPACE_H

#include "loops/backend.h"
#include "python/binding/transfer.h"

/* Arrays of a call, and one extra block for other data. After a call, more than WORKSPACE_KEPT bytes are freed. */
enum { PD_WORKSPACE_ARRAYS = 8, PD_WORKSPACE_EXTRA = PD_WORKSPACE_ARRAYS, PD_WORKSPACE_BLOCKS, PD_WORKSPACE_KEPT = 1 << 28 };

typedef struct pd_workspace {
    pd_context *context; /* NULL: not yet created */
    void *memory[PD_WORKSPACE_BLOCKS];
    size_t bytes[PD_WORKSPACE_BLOCKS];
    pd_transfer transfer;
} pd_workspace;

/* With the GIL. Takes the kept workspace of the module, which is empty during another call. Returns it to the module afterwards, or
 * destroys it if there is another one, or if `status` is a failure. */
static inline pd_workspace pd_workspace_take(pd_workspace *kept) {
    pd_workspace taken = *kept;
    *kept = (pd_workspace){0};
    return taken;
}
void pd_workspace_leave(pd_workspace *kept, pd_workspace *self, pd_status status);

/* Creates the context if there is none for this place. Fills `error` on failure. */
pd_status pd_workspace_open(pd_workspace *self, pd_place place, pd_error *error);
/* At least `bytes` of backend memory with undefined content: block 0 .. PD_WORKSPACE_BLOCKS - 1. */
pd_status pd_workspace_memory(pd_workspace *self, int block, size_t bytes, void **out);
void pd_workspace_destroy(pd_workspace *self);

#endif
