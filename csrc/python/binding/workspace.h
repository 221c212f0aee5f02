/* A context and memory on its device for batches, which each module keeps from one call to the next: a call makes a stream and memory only
 * where it is the first, needs more than those before it, or runs beside another one. */
#ifndef PD_PYTHON_BINDING_WORKSPACE_H
#define PD_PYTHON_BINDING_WORKSPACE_H

#include "loops/backend.h"
#include "python/binding/passage.h"

/* Arrays of a call, and one more block for what is no array of it. More than WORKSPACE_KEPT bytes are given back after a call. */
enum { PD_WORKSPACE_ARRAYS = 8, PD_WORKSPACE_EXTRA = PD_WORKSPACE_ARRAYS, PD_WORKSPACE_BLOCKS, PD_WORKSPACE_KEPT = 1 << 28 };

typedef struct pd_workspace {
    pd_context *context; /* NULL: there is none yet */
    void *memory[PD_WORKSPACE_BLOCKS];
    size_t bytes[PD_WORKSPACE_BLOCKS];
    pd_passage passage;
} pd_workspace;

/* With the GIL: takes what the module kept, which is nothing while another call has it; and leaves it there, or ends it where there is one
 * already or `status` says that the call failed. */
static inline pd_workspace pd_workspace_take(pd_workspace *kept) {
    pd_workspace taken = *kept;
    *kept = (pd_workspace){0};
    return taken;
}
void pd_workspace_leave(pd_workspace *kept, pd_workspace *self, pd_status status);

/* Has a context, made where there is none for this place. `error` is filled where that fails. */
pd_status pd_workspace_open(pd_workspace *self, pd_place place, pd_error *error);
/* At least `bytes` of backend memory, whose content is undefined: block 0 .. PD_WORKSPACE_BLOCKS - 1. */
pd_status pd_workspace_memory(pd_workspace *self, int block, size_t bytes, void **out);
void pd_workspace_destroy(pd_workspace *self);

#endif
