/* The points by which a scene touches; see surface.h. */
#include "contact/surface.h"

#include "linear/upload.h"

#include <stdlib.h>

pd_status pd_surface_create(pd_surface **out, pd_context *context, const pd_surface_description *d) {
    pd_status status = PD_OK;
    size_t n = (size_t)d->n_points, n_weights = 4 * (size_t)d->n_embedded;
    pd_surface *surface = *out = calloc(1, sizeof *surface);
    if (!surface) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for a surface");
    surface->context = context;
    surface->n_points = d->n_points, surface->n_vertices = d->n_vertices, surface->n_embedded = d->n_embedded;
    PD_TRY(pd_memory_create(context, (void **)&surface->points, 3 * n * sizeof(real) + 1));
    PD_TRY(pd_upload_ints(context, &surface->owner, d->owner, n));
    if (d->rows) {
        PD_TRY(pd_upload_ints(context, &surface->rows, d->rows, n_weights));
        PD_TRY(pd_upload(context, (void **)&surface->weights, d->weights, n_weights * sizeof *d->weights));
    }
done:
    if (status) {
        pd_surface_destroy(surface);
        *out = NULL;
    }
    return status;
}

void pd_surface_destroy(pd_surface *surface) {
    if (!surface) return;
    pd_memory_destroy(surface->context, surface->points);
    pd_memory_destroy(surface->context, surface->owner);
    pd_memory_destroy(surface->context, surface->rows);
    pd_memory_destroy(surface->context, surface->weights);
    free(surface);
}

pd_status pd_surface_drive(pd_surface *surface, const real *positions) {
    size_t first = 3 * (size_t)surface->n_embedded, n = 3 * (size_t)surface->n_points - first;
    return n > 0 ? pd_memory_upload(surface->context, surface->points + first, positions, n * sizeof(real)) : PD_OK;
}

pd_status pd_surface_place(pd_surface *surface, const real *x) {
    if (surface->rows) return pd_embed_points(surface->context, surface->n_embedded, surface->rows, surface->weights, x, surface->points);
    return pd_memory_copy(surface->context, surface->points, x, 3 * (size_t)surface->n_embedded * sizeof(real));
}
