/* Growable lists in backend memory; see growable_list.h. */
#include "contact/growable_list.h"

enum { FEWEST = 1024, MANY = 1 << 20 };

size_t pd_grown_capacity(size_t capacity, size_t needed) {
    size_t size = capacity > 0 ? capacity : FEWEST;
    while (size < needed && 2 * size <= MANY) size *= 2;
    if (size >= needed) return size;
    size_t quarter = size + size / 4, spare = needed + needed / 8;
    return quarter > spare ? quarter : spare;
}

pd_status pd_growables_grow(pd_context *context, size_t needed, const char *of, int n, const pd_growable *lists, size_t *capacity,
                            long long *revision) {
    void *fresh[PD_MOST_GROWABLES] = {NULL};
    size_t size = pd_grown_capacity(*capacity, needed);
    pd_status status = PD_OK;
    if (n > PD_MOST_GROWABLES)
        return pd_fail(pd_context_error(context), PD_ERROR_VALUE, "%d arrays of %s, at most %d can grow", n, of, PD_MOST_GROWABLES);
    if (needed <= *capacity) return PD_OK;
    for (int i = 0; i < n && !status; i++) status = pd_memory_create(context, &fresh[i], (size / lists[i].shared_by + 2) * lists[i].bytes);
    if (status) {
        pd_error cause = *pd_context_error(context);
        for (int i = 0; i < n; i++) pd_memory_destroy(context, fresh[i]);
        return pd_fail(pd_context_error(context), status, "no memory for %zu %s: %.300s", needed, of, cause.text);
    }
    for (int i = 0; i < n; i++) {
        pd_memory_destroy(context, *lists[i].memory);
        *lists[i].memory = fresh[i];
    }
    *capacity = size;
    if (revision) ++*revision;
    return PD_OK;
}

pd_status pd_work_grow(pd_context *context, pd_work *work, size_t n) {
    size_t bytes;
    void *memory = NULL;
    pd_status status = pd_work_bytes(context, n, &bytes);
    if (status || bytes <= work->bytes) return status;
    status = pd_memory_create(context, &memory, bytes);
    if (status) return status;
    pd_memory_destroy(context, work->memory);
    *work = (pd_work){memory, bytes};
    return PD_OK;
}
