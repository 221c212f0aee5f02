/* The contact surface; see surface.h. */
#include "contact/detection/surface.h"

#include "linear/upload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tells whether a weight exceeds rounding. A smaller weight, as of a point on a face, moves the point by less than its rounding error. */
static int carries(const pd_surface_description *d, size_t r) {
    return d->rows[r] >= 0 && fabs((double)d->weights[r]) > 4.0 * (double)PD_EPSILON;
}

/* W by columns, from its rows. */
static pd_status make_columns(pd_surface *surface, const pd_surface_description *d) {
    pd_status status = PD_OK;
    size_t n = (size_t)d->n_embedded, n_vertices = (size_t)d->n_vertices;
    pd_embedding *out = &surface->embedding;
    int *start = calloc(n_vertices + 2, sizeof *start), *points = malloc((4 * n + 1) * sizeof *points);
    real *shares = malloc((4 * n + 1) * sizeof *shares), *sizes = calloc(n + 1, sizeof *sizes);
    if (!start || !points || !shares || !sizes)
        PD_TRY(pd_fail(pd_context_error(surface->context), PD_ERROR_MEMORY, "out of memory for %d embedded points", d->n_embedded));
    for (size_t r = 0; r < 4 * n; r++)
        if (carries(d, r)) start[d->rows[r] + 2]++;
    for (size_t v = 0; v < n_vertices; v++) start[v + 2] += start[v + 1];
    for (size_t r = 0; r < 4 * n; r++) {
        if (!carries(d, r)) continue;
        int to = start[d->rows[r] + 1]++;
        points[to] = (int)(r / 4), shares[to] = d->weights[r];
        sizes[r / 4] += (real)fabs((double)d->weights[r]);
    }
    surface->largest = 1;
    for (size_t i = 0; i < n; i++) {
        sizes[i] *= (real)1 + 8 * PD_EPSILON; // the rounding errors of the sum and of the point
        if (sizes[i] > surface->largest) surface->largest = sizes[i];
    }
    *out = (pd_embedding){.n_points = d->n_embedded, .n_vertices = d->n_vertices, .rows = surface->rows, .weights = surface->weights};
    PD_TRY(pd_upload(surface->context, (void **)(uintptr_t)&out->sizes, sizes, n * sizeof *sizes));
    PD_TRY(pd_upload_ints(surface->context, (int **)(uintptr_t)&out->start, start, n_vertices + 1));
    PD_TRY(pd_upload_ints(surface->context, (int **)(uintptr_t)&out->points, points, (size_t)start[n_vertices]));
    PD_TRY(pd_upload(surface->context, (void **)(uintptr_t)&out->shares, shares, (size_t)start[n_vertices] * sizeof *shares));
done:
    free(start);
    free(points);
    free(shares);
    free(sizes);
    return status;
}

static pd_status make_embedding(pd_surface *surface, const pd_surface_description *d) {
    pd_context *context = surface->context;
    pd_status status = PD_OK;
    size_t n = (size_t)d->n_embedded;
    surface->host_rows = malloc((4 * n + 1) * sizeof *surface->host_rows);
    surface->host_weights = malloc((4 * n + 1) * sizeof *surface->host_weights);
    if (!surface->host_rows || !surface->host_weights)
        PD_TRY(pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for %d embedded points", d->n_embedded));
    memcpy(surface->host_rows, d->rows, 4 * n * sizeof *surface->host_rows);
    memcpy(surface->host_weights, d->weights, 4 * n * sizeof *surface->host_weights);
    PD_TRY(pd_upload_ints(context, &surface->rows, d->rows, 4 * n));
    PD_TRY(pd_upload(context, (void **)&surface->weights, d->weights, 4 * n * sizeof *d->weights));
    PD_TRY(make_columns(surface, d));
    surface->model.n_vertices = d->n_embedded;
    PD_TRY(pd_memory_create(context, (void **)&surface->model.fixed, n + 1));
    PD_TRY(pd_memory_clear(context, surface->model.fixed, n + 1));
    PD_TRY(pd_memory_create(context, (void **)&surface->moves, 3 * n * sizeof(real) + 1));
    PD_TRY(pd_memory_create(context, (void **)&surface->forces, 3 * n * sizeof(real) + 1));
    PD_TRY(pd_memory_create(context, (void **)&surface->bounds, (n + 1) * sizeof(double)));
    PD_TRY(pd_memory_create(context, (void **)&surface->displacement_bounds, (n + 1) * sizeof(real)));
    PD_TRY(pd_memory_create(context, (void **)&surface->touching, n + 1));
done:
    return status;
}

pd_status pd_surface_create(pd_surface **out, pd_context *context, const pd_surface_description *d) {
    pd_status status = PD_OK;
    size_t n = (size_t)d->n_points;
    pd_surface *surface = *out = calloc(1, sizeof *surface);
    if (!surface) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for a surface");
    surface->context = context;
    surface->n_points = d->n_points, surface->n_vertices = d->n_vertices, surface->n_embedded = d->n_embedded;
    PD_TRY(pd_memory_create(context, (void **)&surface->points, 3 * n * sizeof(real) + 1));
    PD_TRY(pd_upload_ints(context, &surface->owner, d->owner, n));
    if (d->rows) PD_TRY(make_embedding(surface, d));
done:
    if (status) {
        pd_surface_destroy(surface);
        *out = NULL;
    }
    return status;
}

void pd_surface_destroy(pd_surface *surface) {
    if (!surface) return;
    const pd_embedding *e = &surface->embedding;
    const void *memory[] = {surface->points,
                            surface->owner,
                            surface->rows,
                            surface->weights,
                            e->sizes,
                            e->start,
                            e->points,
                            e->shares,
                            surface->model.fixed,
                            surface->moves,
                            surface->forces,
                            surface->bounds,
                            surface->displacement_bounds,
                            surface->touching};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(surface->context, (void *)(uintptr_t)memory[i]);
    free(surface->host_rows);
    free(surface->host_weights);
    free(surface);
}

pd_status pd_surface_drive(pd_surface *surface, const real *positions) {
    size_t first = 3 * (size_t)surface->n_embedded, n = 3 * (size_t)surface->n_points - first;
    return n > 0 ? pd_memory_upload(surface->context, surface->points + first, positions, n * sizeof(real)) : PD_OK;
}

pd_status pd_surface_place(pd_surface *surface, const real *x) { return pd_surface_follow(surface, x, surface->points); }

pd_status pd_surface_follow(const pd_surface *surface, const real *x, real *to) {
    if (surface->rows) return pd_embed_points(surface->context, surface->n_embedded, surface->rows, surface->weights, x, to);
    return pd_memory_copy(surface->context, to, x, 3 * (size_t)surface->n_embedded * sizeof(real));
}
