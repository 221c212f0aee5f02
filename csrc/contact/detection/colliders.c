/* Colliders in backend memory; see colliders.h. */
#include "contact/detection/colliders.h"

#include <stdlib.h>
#include <string.h>

pd_status pd_colliders_create(pd_colliders **out, pd_context *context, int n) {
    pd_status status = PD_OK;
    size_t count = (size_t)n + 1;
    pd_colliders *colliders = *out = calloc(1, sizeof *colliders);
    if (!colliders) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for colliders");
    colliders->context = context;
    colliders->n = n;
    colliders->known = calloc(count, sizeof *colliders->known);
    colliders->values = calloc(count, sizeof *colliders->values);
    if (!colliders->known || !colliders->values)
        PD_TRY(pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for %d colliders", n));
    PD_TRY(pd_memory_create(context, (void **)&colliders->memory, count * sizeof *colliders->memory));
done:
    if (status) {
        pd_colliders_destroy(colliders);
        *out = NULL;
    }
    return status;
}

void pd_colliders_destroy(pd_colliders *colliders) {
    if (!colliders) return;
    for (int i = 0; i < colliders->n && colliders->values; i++) pd_memory_destroy(colliders->context, colliders->values[i]);
    pd_memory_destroy(colliders->context, colliders->memory);
    free(colliders->values);
    free(colliders->known);
    free(colliders);
}

/* Compares member by member, since the padding between members is undefined. */
static int is_same(const pd_collider *a, const pd_collider *b) {
    return a->shape == b->shape && !memcmp(a->rotation, b->rotation, sizeof a->rotation) &&
           !memcmp(a->translation, b->translation, sizeof a->translation) && !memcmp(a->size, b->size, sizeof a->size) &&
           !memcmp(a->grid.n, b->grid.n, sizeof a->grid.n) && !memcmp(&a->grid.spacing, &b->grid.spacing, sizeof a->grid.spacing);
}

pd_status pd_colliders_set(pd_colliders *colliders, int which, const pd_collider *collider, const real *values) {
    pd_context *context = colliders->context;
    pd_collider *known = &colliders->known[which];
    pd_status status = PD_OK;
    int fresh = values && (!colliders->values[which] || memcmp(known->grid.n, collider->grid.n, sizeof known->grid.n) != 0);
    if (!fresh && is_same(known, collider)) return PD_OK;
    if (fresh) {
        size_t bytes = (size_t)collider->grid.n[0] * (size_t)collider->grid.n[1] * (size_t)collider->grid.n[2] * sizeof *values;
        pd_memory_destroy(context, colliders->values[which]);
        colliders->values[which] = NULL;
        PD_TRY(pd_memory_create(context, (void **)&colliders->values[which], bytes));
        PD_TRY(pd_memory_upload(context, colliders->values[which], values, bytes));
    }
    *known = *collider;
    known->grid.values = colliders->values[which];
    PD_TRY(pd_memory_upload(context, &colliders->memory[which], known, sizeof *known));
done:
    if (status) known->shape = -1; // no collider equals this one, so that the next call uploads
    return status;
}
