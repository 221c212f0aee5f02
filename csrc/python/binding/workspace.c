#include "python/binding/workspace.h"

static void release(pd_workspace *self, int block) {
    if (self->context) pd_memory_destroy(self->context, self->memory[block]);
    self->memory[block] = NULL, self->bytes[block] = 0;
}

void pd_workspace_destroy(pd_workspace *self) {
    for (int i = 0; i < PD_WORKSPACE_BLOCKS; i++) release(self, i);
    pd_transfer_destroy(&self->transfer, self->context);
    pd_context_destroy(self->context);
    self->context = NULL;
}

void pd_workspace_leave(pd_workspace *kept, pd_workspace *self, pd_status status) {
    size_t sum = 0;
    for (int i = 0; i < PD_WORKSPACE_BLOCKS; i++) sum += self->bytes[i];
    // after a failure the context and its memory may be invalid
    if (status || kept->context || sum > PD_WORKSPACE_KEPT)
        pd_workspace_destroy(self);
    else
        *kept = *self;
}

pd_status pd_workspace_open(pd_workspace *self, pd_place place, pd_error *error) {
    int threads = place.threads > 0 ? place.threads : 1;
    int of_another =
        self->context && (pd_context_threads(self->context) != threads || pd_context_location(self->context).device != place.device);
    if (of_another) pd_workspace_destroy(self);
    return self->context ? PD_OK : pd_context_create(&self->context, place, error);
}

pd_status pd_workspace_memory(pd_workspace *self, int block, size_t bytes, void **out) {
    pd_status status = PD_OK;
    if (!self->memory[block] || bytes > self->bytes[block]) {
        release(self, block);
        status = pd_memory_create(self->context, &self->memory[block], bytes);
        if (!status) self->bytes[block] = bytes;
    }
    *out = self->memory[block];
    return status;
}
