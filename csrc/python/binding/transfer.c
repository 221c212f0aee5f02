#include "python/binding/transfer.h"

#include <string.h>

void pd_transfer_destroy(pd_transfer *self, pd_context *context) {
    if (context) pd_pinned_destroy(context, self->memory);
    *self = (pd_transfer){0};
}

pd_status pd_transfer_open(pd_transfer *self, pd_context *context, size_t bytes) {
    size_t size = 4096;
    self->used = 0, self->n_arriving = 0;
    bytes += PD_TRANSFER_ARRAYS * 64;
    if (bytes > PD_TRANSFER_MOST) bytes = PD_TRANSFER_MOST;
    if (pd_fetches_at_once(context) || (self->memory && bytes <= self->bytes)) return PD_OK;
    while (size < bytes) size *= 2;
    pd_transfer_destroy(self, context);
    void *memory;
    pd_status status = pd_pinned_create(context, &memory, size);
    if (status) return status;
    self->memory = memory, self->bytes = size;
    return PD_OK;
}

/* Space of `bytes` bytes, or NULL. */
static char *take(pd_transfer *self, size_t bytes, size_t *from) {
    if (!self->memory || bytes > self->bytes - self->used) return NULL;
    *from = self->used;
    size_t rounded = (bytes + 63) / 64 * 64;
    self->used = rounded < self->bytes - *from ? *from + rounded : self->bytes;
    return self->memory + *from;
}

pd_status pd_transfer_send(pd_transfer *self, pd_context *context, void *target, const void *source, size_t bytes) {
    size_t from;
    if (pd_fetches_at_once(context)) return pd_memory_copy(context, target, source, bytes);
    char *pinned = take(self, bytes, &from);
    if (!pinned) return pd_memory_upload(context, target, source, bytes);
    memcpy(pinned, source, bytes);
    return pd_memory_send(context, target, pinned, bytes);
}

pd_status pd_transfer_receive(pd_transfer *self, pd_context *context, void *target, const void *source, size_t bytes) {
    size_t from;
    if (pd_fetches_at_once(context)) return pd_memory_copy(context, target, source, bytes);
    char *pinned = self->n_arriving < PD_TRANSFER_ARRAYS ? take(self, bytes, &from) : NULL;
    if (!pinned) return pd_memory_download(context, target, source, bytes);
    self->arriving[self->n_arriving].target = target;
    self->arriving[self->n_arriving].from = from;
    self->arriving[self->n_arriving++].bytes = bytes;
    return pd_memory_receive(context, pinned, source, bytes);
}

pd_status pd_transfer_synchronise(pd_transfer *self, pd_context *context) {
    pd_status status = pd_context_synchronise(context);
    for (int i = 0; i < self->n_arriving && !status; i++)
        memcpy(self->arriving[i].target, self->memory + self->arriving[i].from, self->arriving[i].bytes);
    self->n_arriving = 0;
    return status;
}
