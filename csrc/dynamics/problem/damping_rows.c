/* The pattern of the damping matrix; see damping_rows.h and pd_damping in element_loops.h. */
#include "dynamics/problem/damping_rows.h"

#include "linear/upload.h"

#include <limits.h>
#include <stdlib.h>

enum { WORLD = -1 };

/* Row by row. The vertices of a row are in the order of their first corner. */
typedef struct rows {
    const pd_description *description;
    const pd_corners *corners;
    int *entry_of;               /* [n+1] the entry of a vertex in the last row that contains it; 0: that of the fixed world */
    int *start;                  /* [n+1] */
    int *columns;                /* [entries], NULL: only counts */
    int *entries[PD_KIND_COUNT]; /* [elements,k,k] of the sets with damping */
} rows;

static int is_damped(const pd_element_set *set, int element) { return set->damping && set->damping[element] > 0.0; }

/* The entry of a vertex in the row that begins at `first` and has reached `end`, which grows for a new vertex. */
static int entry_in_row(rows *self, int vertex, int first, size_t *end) {
    int *entry = &self->entry_of[vertex + 1];
    if (*entry < first) {
        *entry = (int)*end;
        if (self->columns) self->columns[*end] = vertex;
        ++*end;
    }
    return *entry;
}

/* Returns the number of entries; INT_MAX for too many. */
static size_t fill(rows *self) {
    const pd_description *description = self->description;
    size_t end = 0;
    for (int i = 0; i <= description->n_vertices; i++) self->entry_of[i] = -1;
    for (int i = 0; i < description->n_vertices; i++) {
        int first = self->start[i] = (int)end;
        for (int c = self->corners->start[i]; c < self->corners->start[i + 1]; c++) {
            int element, a;
            const pd_element_set *set = pd_corner_set(description->sets, self->corners->corners[c], &element, &a);
            size_t k = (size_t)pd_kind_shape_of(set->kind).vertices, corner = k * (size_t)element + (size_t)a;
            int *entries = self->entries[set - description->sets];
            if (!is_damped(set, element)) continue;
            for (size_t b = 0; b < k; b++) {
                if ((int)b == a && k > 1) continue;
                int entry = entry_in_row(self, k == 1 ? WORLD : set->vertices[k * (size_t)element + b], first, &end);
                if (entries) entries[k * corner + b] = entry;
            }
            if (end > INT_MAX / 9 - 9) return INT_MAX;
        }
    }
    self->start[description->n_vertices] = (int)end;
    return end;
}

/* Rejects damped elements of rigid bodies: these have no deformation, and the loops over bodies have no damping. */
static pd_status refuse_bodies(pd_context *context, const pd_description *description) {
    for (int s = 0; s < description->n_sets; s++) {
        const pd_element_set *set = &description->sets[s];
        int k = pd_kind_shape_of(set->kind).vertices;
        for (int c = 0; set->damping && description->n_rigid > 0 && c < set->n * k; c++)
            for (int b = 0; b < description->n_rigid && is_damped(set, c / k); b++) {
                const pd_rigid_rows *body = &description->rigid[b];
                if (set->vertices[c] >= body->first && set->vertices[c] < body->first + body->n)
                    return pd_fail(pd_context_error(context), PD_ERROR_VALUE,
                                   "damping: %g s of %s %d, whose vertex %d is one of a rigid body", set->damping[c / k],
                                   pd_kind_shape_of(set->kind).name, c / k, set->vertices[c]);
            }
    }
    return PD_OK;
}

/* The entries of the corners of sets with damping; -1: none. */
static int make_entries(rows *self) {
    for (int s = 0; s < self->description->n_sets; s++) {
        const pd_element_set *set = &self->description->sets[s];
        size_t k = (size_t)pd_kind_shape_of(set->kind).vertices, count = (size_t)set->n * k * k;
        if (!set->damping) continue;
        if (!(self->entries[s] = malloc(count * sizeof(int) + 1))) return 0;
        for (size_t i = 0; i < count; i++) self->entries[s][i] = -1;
    }
    return 1;
}

static int has_any(const pd_description *description) {
    for (int s = 0; s < description->n_sets; s++)
        for (int e = 0; e < description->sets[s].n; e++)
            if (is_damped(&description->sets[s], e)) return 1;
    return 0;
}

pd_status pd_damping_rows_create(pd_model *model, pd_context *context, const pd_description *description, const pd_corners *corners) {
    pd_status status = PD_OK;
    size_t n = (size_t)description->n_vertices, count;
    rows self = {.description = description, .corners = corners};
    if (!has_any(description)) return PD_OK;
    PD_TRY(refuse_bodies(context, description));
    self.entry_of = malloc((n + 1) * sizeof(int));
    self.start = malloc((n + 1) * sizeof(int));
    if (!self.entry_of || !self.start) goto memory;
    if ((count = fill(&self)) == INT_MAX) {
        status = pd_fail(pd_context_error(context), PD_ERROR_VALUE, "damping: its matrix has more blocks than can be numbered");
        goto done;
    }
    self.columns = malloc(count * sizeof(int) + 1);
    if (!self.columns || !make_entries(&self)) goto memory;
    fill(&self);
    PD_TRY(pd_upload(context, (void **)&model->damping.start, self.start, (n + 1) * sizeof(int)));
    PD_TRY(pd_upload(context, (void **)&model->damping.columns, self.columns, count * sizeof(int)));
    PD_TRY(pd_memory_create(context, (void **)&model->damping.blocks, (9 * count + 1) * sizeof(real)));
    PD_TRY(pd_memory_clear(context, model->damping.blocks, (9 * count + 1) * sizeof(real)));
    for (int s = 0; s < description->n_sets; s++) {
        size_t k = (size_t)pd_kind_shape_of(description->sets[s].kind).vertices, entries = (size_t)description->sets[s].n * k * k;
        if (self.entries[s]) PD_TRY(pd_upload(context, (void **)&model->kinds[s].damping_entries, self.entries[s], entries * sizeof(int)));
    }
    goto done;
memory:
    status = pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for the damping of %zu vertices", n);
done:
    free(self.entry_of);
    free(self.start);
    free(self.columns);
    for (int s = 0; s < PD_KIND_COUNT; s++) free(self.entries[s]);
    return status;
}
