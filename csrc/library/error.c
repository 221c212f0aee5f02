/* Errors of the C interface, its memory, and checks of single arguments. */
#include "library/scene_object.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAME(public, internal) _Static_assert((int)(public) == (int)(internal), #public)
SAME(PDGPU_OK, PD_OK);
SAME(PDGPU_ERROR_VALUE, PD_ERROR_VALUE);
SAME(PDGPU_ERROR_TYPE, PD_ERROR_TYPE);
SAME(PDGPU_ERROR_MEMORY, PD_ERROR_MEMORY);
SAME(PDGPU_ERROR_NOT_FINITE, PD_ERROR_NOT_FINITE);
SAME(PDGPU_ERROR_SINGULAR, PD_ERROR_SINGULAR);
SAME(PDGPU_ERROR_DEVICE, PD_ERROR_DEVICE);
SAME(PDGPU_ERROR_UNSUPPORTED, PD_ERROR_UNSUPPORTED);
SAME(PDGPU_DIVERGED, PD_DIVERGED);
SAME(PDGPU_CANCELLED, PD_INTERRUPTED);

const char *pdgpu_status_name(pdgpu_status status) {
    switch (status) {
    case PDGPU_OK: return "PDGPU_OK";
    case PDGPU_ERROR_VALUE: return "PDGPU_ERROR_VALUE";
    case PDGPU_ERROR_TYPE: return "PDGPU_ERROR_TYPE";
    case PDGPU_ERROR_MEMORY: return "PDGPU_ERROR_MEMORY";
    case PDGPU_ERROR_NOT_FINITE: return "PDGPU_ERROR_NOT_FINITE";
    case PDGPU_ERROR_SINGULAR: return "PDGPU_ERROR_SINGULAR";
    case PDGPU_ERROR_DEVICE: return "PDGPU_ERROR_DEVICE";
    case PDGPU_ERROR_UNSUPPORTED: return "PDGPU_ERROR_UNSUPPORTED";
    case PDGPU_DIVERGED: return "PDGPU_DIVERGED";
    case PDGPU_CANCELLED: return "PDGPU_CANCELLED";
    }
    return "unknown";
}

const char *pdgpu_version(void) { return PD_LIBRARY_VERSION; }

pdgpu_status pd_report(pd_status status, const pd_error *found, pdgpu_error *error) {
    if (!error) return (pdgpu_status)status;
    memset(error, 0, sizeof *error);
    if (!status) return PDGPU_OK;
    snprintf(error->text, sizeof error->text, "%s", found->text[0] || status != PD_INTERRUPTED ? found->text : "cancelled");
    error->iteration = status == PD_DIVERGED ? found->iteration : 0;
    error->vertex = status == PD_DIVERGED ? found->vertex : 0;
    return (pdgpu_status)status;
}

pd_status pd_need(const void *given, const char *name, pd_error *error) {
    return given ? PD_OK : pd_fail(error, PD_ERROR_VALUE, "%s: expected a pointer, got NULL", name);
}

pd_status pd_need_number(double value, double least, int above, const char *name, pd_error *error) {
    if (!(value >= -DBL_MAX && value <= DBL_MAX)) return pd_fail(error, PD_ERROR_NOT_FINITE, "%s: %g is not finite", name, value);
    if (above ? value > least : value >= least) return PD_OK;
    return pd_fail(error, PD_ERROR_VALUE, "%s: must be %s %g, got %g", name, above ? "greater than" : "at least", least, value);
}

pd_status pd_need_finite(const double *values, size_t n, const char *name, pd_error *error) {
    pd_status status = n ? pd_need(values, name, error) : PD_OK;
    for (size_t i = 0; i < n && !status; i++)
        if (!(values[i] >= -DBL_MAX && values[i] <= DBL_MAX))
            status = pd_fail(error, PD_ERROR_NOT_FINITE, "%s: %g at %zu is not finite", name, values[i], i);
    return status;
}

void *pd_arena_take(pd_arena *arena, size_t count, size_t size, pd_error *error) {
    if (arena->n == arena->capacity) {
        int capacity = arena->capacity ? 2 * arena->capacity : 16;
        void **blocks = realloc(arena->blocks, (size_t)capacity * sizeof *blocks);
        if (!blocks) return pd_fail(error, PD_ERROR_MEMORY, "out of memory"), NULL;
        arena->blocks = blocks, arena->capacity = capacity;
    }
    void *block = calloc(count + !count, size);
    if (!block) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for %zu items of %zu bytes", count, size), NULL;
    return arena->blocks[arena->n++] = block;
}

void *pd_arena_copy(pd_arena *arena, const void *items, size_t count, size_t size, pd_error *error) {
    void *block = pd_arena_take(arena, count, size, error);
    if (block && count) memcpy(block, items, count * size);
    return block;
}

void pd_arena_free(pd_arena *arena) {
    for (int i = 0; i < arena->n; i++) free(arena->blocks[i]);
    free(arena->blocks);
    *arena = (pd_arena){NULL, 0, 0};
}
