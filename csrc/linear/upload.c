/* Transfer from the host to backend memory; see upload.h. */
#include "linear/upload.h"

#include "threads/team.h"

#include <stdlib.h>
#include <string.h>

pd_status pd_upload(pd_context *context, void **out, const void *source, size_t bytes) {
    pd_status status = *out ? PD_OK : pd_memory_create(context, out, bytes);
    return status ? status : pd_memory_upload(context, *out, source, bytes);
}

pd_status pd_upload_ints(pd_context *context, int **out, const int *source, size_t count) {
    return pd_upload(context, (void **)out, source, count * sizeof(int));
}

pd_status pd_upload_reals(pd_context *context, real **out, const double *source, size_t count) {
    enum { PIECE = 1 << 22 };
    if (sizeof(real) == sizeof(double)) return pd_upload(context, (void **)out, source, count * sizeof(real));
    pd_status status = *out ? PD_OK : pd_memory_create(context, (void **)out, count * sizeof(real));
    real *rounded = malloc((count < PIECE ? count : PIECE) * sizeof(real) + 1);
    if (!rounded) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for %zu numbers", count);
    for (size_t first = 0; !status && first < count; first += PIECE) {
        int piece = (int)(count - first < PIECE ? count - first : PIECE);
#pragma omp parallel for num_threads(pd_team(pd_context_threads(context), piece, 1)) schedule(static)
        for (int i = 0; i < piece; i++) rounded[i] = (real)source[first + (size_t)i];
        status = pd_memory_upload(context, *out + first, rounded, (size_t)piece * sizeof(real));
    }
    free(rounded);
    return status;
}

pd_status pd_send(pd_context *context, pd_outbox *outbox, void *target, const void *source, size_t bytes) {
    pd_status status = PD_OK;
    if (!outbox->memory)
        PD_TRY(pd_pinned_create(context, &outbox->memory, bytes));
    else if (!pd_fetches_at_once(context) && pd_context_counts(context).waits == outbox->waits) // the transfer may still be running
        PD_TRY(pd_context_synchronise(context));
    memcpy(outbox->memory, source, bytes);
    outbox->bytes = bytes;
    PD_TRY(pd_memory_send(context, target, outbox->memory, bytes));
    outbox->waits = pd_context_counts(context).waits;
done:
    return status;
}

int pd_was_sent(const pd_outbox *outbox, const void *source, size_t bytes) {
    return outbox->memory && outbox->bytes == bytes && memcmp(outbox->memory, source, bytes) == 0;
}

void pd_outbox_destroy(pd_context *context, pd_outbox *outbox) {
    pd_pinned_destroy(context, outbox->memory);
    outbox->memory = NULL;
}
