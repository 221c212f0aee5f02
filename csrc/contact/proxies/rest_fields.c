/* Bodies as colliders of proxies; see rest_fields.h. */
#include "contact/proxies/rest_fields.h"

#include "contact/detection/incidence.h"
#include "contact/growable_list.h"
#include "linear/upload.h"

#include <float.h>
#include <limits.h>
#include <stdlib.h>

/* The arrays of a field. */
typedef struct arrays {
    int *start, *list, *skip, *first;
    real *values, *boxes, *corners, *normals; /* values: of the grid */
} arrays;

struct pd_rest_bodies {
    pd_context *context;
    int n, n_fields, n_vertices; /* n: proxies */
    pd_rest_fields fields;
    arrays *arrays; /* H [n_fields] of B */

    pd_primitives points, tets; /* proxies by y; tets by x, whose names are not their corners */
    pd_primitives named;        /* the tets of the tree: the same boxes, with one name each */
    int *order;                 /* B [n] */
    pd_tree *tree;
    uint64_t *keys, *sorted; /* B: of the tets while the tree is built, then of the roles */
    pd_work work;

    pd_pair_buffer buffer;
    uint64_t *scratch; /* B [capacity] */
    int *pairs;        /* B [capacity,2] */
    pd_incidence incidence;
};

static int *counted(int n, int step, int first) {
    int *out = malloc(((size_t)n + 1) * sizeof *out);
    for (int i = 0; out && i < n; i++) out[i] = first + step * i;
    return out;
}

static pd_status upload_numbers(pd_rest_bodies *self, int **out, int n, int step, int first) {
    int *numbers = counted(n, step, first);
    pd_status status = numbers ? pd_upload_ints(self->context, out, numbers, (size_t)n)
                               : pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for %d numbers", n);
    free(numbers);
    return status;
}

/* Proxies are named 0 and up, tets -1 and down, so that no proxy has a corner of a tet. All belong to one body with self-contact. */
static pd_status create_primitives(pd_rest_bodies *self, int n_tets) {
    pd_primitives *points = &self->points, *tets = &self->tets, *named = &self->named;
    pd_status status = PD_OK;
    *points = (pd_primitives){.n = self->n, .k = 1, .index_bits = pd_key_bits((uint64_t)self->n)};
    *tets = (pd_primitives){.n = n_tets, .k = 4, .index_bits = pd_key_bits((uint64_t)n_tets)};
    PD_TRY(upload_numbers(self, &points->corners, self->n, 1, 0));
    PD_TRY(upload_numbers(self, &points->tags, self->n, 0, PD_TAG_SELF));
    PD_TRY(pd_memory_create(self->context, (void **)&points->boxes, ((size_t)self->n + 1) * sizeof *points->boxes));
    PD_TRY(upload_numbers(self, &tets->tags, n_tets, 0, PD_TAG_SELF));
    PD_TRY(pd_memory_create(self->context, (void **)&tets->boxes, ((size_t)n_tets + 1) * sizeof *tets->boxes));
    tets->corners = (int *)(uintptr_t)self->fields.tets;
    *named = *tets;
    named->k = 1;
    named->corners = NULL;
    PD_TRY(upload_numbers(self, &named->corners, n_tets, -1, -1));
    status = pd_memory_create(self->context, (void **)&self->order, ((size_t)self->n + 1) * sizeof *self->order);
done:
    return status;
}

/* Sorts the primitives at x along the Morton curve, into keys. */
static pd_status sort_along_curve(pd_rest_bodies *self, pd_primitives *primitives, const real *x, pd_bound *bound) {
    pd_context *context = self->context;
    int n = primitives->n, bits = primitives->index_bits;
    pd_status status = PD_OK;
    PD_TRY(pd_primitive_boxes(context, primitives, x, NULL, 0));
    PD_TRY(pd_boxes_bound(context, n, primitives->boxes, &self->work, bound));
    PD_TRY(pd_morton_keys(context, n, bits, primitives->boxes, bound, self->keys));
    status = pd_sort_keys(context, (size_t)n, bits, 64, self->keys, self->sorted, &self->work);
done:
    return status;
}

/* The tree over the tets, and the order of the proxies, at rest. */
static pd_status create_tree(pd_rest_bodies *self) {
    pd_context *context = self->context;
    size_t n = (size_t)self->tets.n, roles = 4 * (size_t)self->n, most = n > roles ? n : roles;
    pd_bound *bound = NULL;
    pd_status status = PD_OK;
    PD_TRY(pd_memory_create(context, (void **)&self->keys, (most + 1) * sizeof *self->keys));
    PD_TRY(pd_memory_create(context, (void **)&self->sorted, (most + 1) * sizeof *self->sorted));
    PD_TRY(pd_work_grow(context, &self->work, most));
    PD_TRY(pd_memory_create(context, (void **)&bound, sizeof *bound));
    PD_TRY(sort_along_curve(self, &self->points, self->fields.place, bound));
    PD_TRY(pd_key_items(context, self->n, self->points.index_bits, self->keys, self->order));
    PD_TRY(sort_along_curve(self, &self->tets, self->fields.rest, bound));
    PD_TRY(pd_tree_create(context, &self->tree, self->tets.n));
    status = pd_tree_build(context, self->tree, &self->named, self->keys);
done:
    pd_memory_destroy(context, bound);
    return status;
}

/* Makes a field of the loops from its description. */
static pd_status upload_field(pd_context *context, const pd_rest_field *from, const real *values, arrays *own, pd_rest_field *out) {
    const pd_distance_grid *grid = &from->distance.grid;
    const pd_rest_surface *surface = &from->surface;
    size_t cells = (size_t)from->cells[0] * (size_t)from->cells[1] * (size_t)from->cells[2],
           values_bytes = (size_t)grid->n[0] * (size_t)grid->n[1] * (size_t)grid->n[2] * sizeof(real), nodes = (size_t)surface->n_nodes,
           triangles = (size_t)surface->n_triangles;
    pd_status status = PD_OK;
    *out = *from;
    PD_TRY(pd_upload(context, (void **)&own->values, values, values_bytes));
    PD_TRY(pd_upload_ints(context, &own->start, from->start, cells + 1));
    PD_TRY(pd_upload_ints(context, &own->list, from->tets, (size_t)from->start[cells]));
    PD_TRY(pd_upload_ints(context, &own->skip, surface->skip, nodes));
    PD_TRY(pd_upload_ints(context, &own->first, surface->first, nodes + 1));
    PD_TRY(pd_upload(context, (void **)&own->boxes, surface->boxes, 6 * nodes * sizeof(real)));
    PD_TRY(pd_upload(context, (void **)&own->corners, surface->corners, 9 * triangles * sizeof(real)));
    PD_TRY(pd_upload(context, (void **)&own->normals, surface->normals, 21 * triangles * sizeof(real)));
    out->distance.grid.values = own->values, out->start = own->start, out->tets = own->list;
    out->surface.skip = own->skip, out->surface.first = own->first;
    out->surface.boxes = own->boxes, out->surface.corners = own->corners, out->surface.normals = own->normals;
done:
    return status;
}

static pd_status upload_fields(pd_rest_bodies *self, const pd_rest_description *d, const unsigned char *fixed) {
    pd_context *context = self->context;
    size_t count = (size_t)d->n_fields + 1, n = (size_t)self->n, n_vertices = (size_t)self->n_vertices;
    pd_rest_fields *f = &self->fields;
    pd_status status = PD_OK;
    pd_rest_field *fields = calloc(count, sizeof *fields);
    self->n_fields = d->n_fields;
    self->arrays = calloc(count, sizeof *self->arrays);
    if (!fields || !self->arrays)
        PD_TRY(pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for %d rest shapes", d->n_fields));
    for (int k = 0; k < d->n_fields; k++) PD_TRY(upload_field(context, &d->fields[k], d->values[k], &self->arrays[k], &fields[k]));
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&f->fields, fields, (size_t)d->n_fields * sizeof *fields));
    PD_TRY(pd_upload_ints(context, (int **)(uintptr_t)&f->tets, d->tets, 4 * (size_t)d->n_tets));
    PD_TRY(pd_upload_ints(context, (int **)(uintptr_t)&f->field_of, d->field_of, (size_t)d->n_tets));
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&f->rest, d->rest, 3 * n_vertices * sizeof(real)));
    PD_TRY(pd_upload_ints(context, (int **)(uintptr_t)&f->body, d->body, n));
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&f->place, d->place, 3 * n * sizeof(real)));
    status = pd_upload(context, (void **)(uintptr_t)&f->fixed, fixed, n_vertices);
done:
    free(fields);
    return status;
}

static pd_status ensure_capacity(pd_rest_bodies *self, size_t n) {
    const pd_growable lists[] = {PD_GROWABLE(self->buffer.keys, 1), PD_GROWABLE(self->scratch, 1), PD_GROWABLE(self->pairs, 2)};
    pd_status status = pd_growables_grow(self->context, n, "pairs of a proxy and a tet", PD_GROWABLES(lists), &self->buffer.capacity, NULL);
    return status ? status : pd_work_grow(self->context, &self->work, self->buffer.capacity);
}

pd_status pd_rest_bodies_create(pd_rest_bodies **out, pd_context *context, const pd_rest_description *d, int n_vertices,
                                const unsigned char *fixed, const pd_proxy_points *points) {
    pd_status status = PD_OK;
    pd_rest_bodies *self = *out = calloc(1, sizeof *self);
    if (!self) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for rest shapes");
    self->context = context;
    self->n = points->n, self->n_vertices = n_vertices;
    PD_TRY(upload_fields(self, d, fixed));
    PD_TRY(create_primitives(self, d->n_tets));
    PD_TRY(create_tree(self));
    self->buffer.first_bits = self->points.index_bits, self->buffer.second_bits = self->tets.index_bits;
    PD_TRY(pd_memory_create(context, (void **)&self->buffer.found, sizeof *self->buffer.found));
    PD_TRY(pd_memory_create(context, (void **)&self->incidence.start, ((size_t)n_vertices + 1) * sizeof(int)));
    PD_TRY(pd_memory_create(context, (void **)&self->incidence.roles, (4 * (size_t)self->n + 1) * sizeof(int)));
    self->incidence.capacity = 4 * (size_t)self->n;
    PD_TRY(ensure_capacity(self, 64 * (size_t)self->n));
done:
    if (status) {
        pd_rest_bodies_destroy(self);
        *out = NULL;
    }
    return status;
}

void pd_rest_bodies_destroy(pd_rest_bodies *self) {
    if (!self) return;
    const pd_rest_fields *f = &self->fields;
    for (int k = 0; self->arrays && k < self->n_fields; k++) {
        const arrays *own = &self->arrays[k];
        void *of_field[] = {own->start, own->list, own->skip, own->first, own->values, own->boxes, own->corners, own->normals};
        for (size_t i = 0; i < sizeof of_field / sizeof *of_field; i++) pd_memory_destroy(self->context, of_field[i]);
    }
    const void *memory[] = {f->fields,
                            f->tets,
                            f->field_of,
                            f->rest,
                            f->body,
                            f->place,
                            f->fixed,
                            self->points.corners,
                            self->points.tags,
                            self->points.boxes,
                            self->tets.tags,
                            self->tets.boxes,
                            self->named.corners,
                            self->order,
                            self->keys,
                            self->sorted,
                            self->work.memory,
                            self->buffer.keys,
                            self->buffer.found,
                            self->scratch,
                            self->pairs,
                            self->incidence.start,
                            self->incidence.roles};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(self->context, (void *)(uintptr_t)memory[i]);
    pd_tree_destroy(self->context, self->tree);
    free(self->arrays);
    free(self);
}

/* Lists the pairs of a proxy and a tet whose boxes overlap, up to the capacity, and their number. */
static pd_status search(pd_rest_bodies *self, uint64_t *found) {
    pd_status status = PD_OK;
    PD_TRY(pd_memory_clear(self->context, self->buffer.found, sizeof *self->buffer.found));
    PD_TRY(pd_tree_pairs(self->context, &self->points, self->order, self->tree, &self->named, &self->buffer));
    status = pd_memory_download(self->context, found, self->buffer.found, sizeof *found);
done:
    return status;
}

pd_status pd_rest_bodies_detect(pd_rest_bodies *self, const real *x, const pd_proxy_points *points) {
    pd_context *context = self->context;
    pd_active_pairs carried = {.points = points->free_rows};
    uint64_t found;
    pd_status status = PD_OK;
    PD_TRY(pd_primitive_boxes(context, &self->points, points->y, NULL, 0));
    PD_TRY(pd_primitive_boxes(context, &self->tets, x, NULL, 0));
    PD_TRY(pd_tree_fit(context, self->tree, &self->named, NULL, DBL_MAX));
    PD_TRY(search(self, &found));
    if (found > INT_MAX)
        return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "proxies may lie in %llu tets, at most %d are possible",
                       (unsigned long long)found, INT_MAX);
    if (found > self->buffer.capacity) {
        PD_TRY(ensure_capacity(self, (size_t)found));
        PD_TRY(search(self, &found));
    }
    PD_TRY(pd_sort_pairs(context, (size_t)found, &self->buffer, self->scratch, &self->work, self->pairs));
    PD_TRY(pd_proxy_detect_rest(context, (size_t)found, self->pairs, &self->fields, x, points));
    status =
        pd_incidence_list(context, (size_t)self->n, &carried, self->n_vertices, self->keys, self->sorted, &self->work, &self->incidence);
done:
    return status;
}

pd_status pd_rest_bodies_gather(pd_rest_bodies *self, const pd_proxy_points *points, real *gradient) {
    return pd_proxy_gather_targets(self->context, self->n_vertices, &self->incidence, points, gradient);
}
