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
    int first_block[PD_KIND_COUNT + 1]; /* element blocks before those of each set; then their number */
    int *entry_of;                      /* [n+1] the entry of a vertex in the last row that contains it; 0: that of the fixed world */
    int *start;                         /* [n+1] */
    int *columns;                       /* [entries], NULL: only counts */
    int *entry_pairs;                   /* [entries] of pd_damping, NULL: only the rows */
    int *next;                          /* [pairs] the place of the next source, NULL: only counts */
    int *source_start, *sources;        /* [pairs+1], [element blocks or fewer] */
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

/* Adds a source, or counts it, if the row is that of its lower vertex. */
static void put_source(rows *self, int entry, int source) {
    const int pair = self->entry_pairs[entry] / 2;
    if (self->entry_pairs[entry] % 2 != 0) return;
    if (self->sources)
        self->sources[self->next[pair]++] = source;
    else
        self->source_start[pair + 1]++;
}

/* Returns the number of entries, with those that fill groups; INT_MAX for too many. With entry_pairs also the sources of the pairs. */
static size_t fill(rows *self) {
    const pd_description *description = self->description;
    size_t end = 0;
    for (int i = 0; i <= description->n_vertices; i++) self->entry_of[i] = -1;
    for (int i = 0; i < description->n_vertices; i++) {
        int first = self->start[i] = (int)end;
        for (int c = self->corners->start[i]; c < self->corners->start[i + 1]; c++) {
            int element, a;
            const pd_element_set *set = pd_corner_set(description->sets, self->corners->corners[c], &element, &a);
            const int k = pd_kind_shape_of(set->kind).vertices;
            const int block = self->first_block[set - description->sets] + element * PD_DAMPING_PAIRS(k);
            if (!is_damped(set, element)) continue;
            for (int b = 0; b < k; b++) {
                if (b == a && k > 1) continue;
                const int entry = entry_in_row(self, k == 1 ? WORLD : set->vertices[(size_t)element * (size_t)k + (size_t)b], first, &end);
                const int low = a < b ? a : b, high = a < b ? b : a;
                if (self->entry_pairs) put_source(self, entry, block + high * (high - 1) / 2 + low);
            }
            if (end > INT_MAX / 9 - 9) return INT_MAX;
        }
        for (; end % PD_DAMPING_LANES != 0; end++)
            if (self->columns) self->columns[end] = i;
    }
    self->start[description->n_vertices] = (int)end;
    return end;
}

/* Numbers the element blocks; 0 for too many. */
static int number_blocks(rows *self) {
    long long end = 0;
    for (int s = 0; s <= self->description->n_sets; s++) {
        if (end > INT_MAX) return 0;
        self->first_block[s] = (int)end;
        const pd_element_set *set = s < self->description->n_sets ? &self->description->sets[s] : NULL;
        if (set && set->damping) end += (long long)set->n * PD_DAMPING_PAIRS(pd_kind_shape_of(set->kind).vertices);
    }
    return 1;
}

/* The entry of `vertex` in row i, which has one. */
static int find(const rows *self, int i, int vertex) {
    int s = self->start[i];
    while (self->columns[s] != vertex) s++;
    return s;
}

/* Fills entry_pairs; returns the number of pairs. */
static int number_pairs(rows *self) {
    const int n = self->description->n_vertices;
    int pairs = 0;
    for (int i = 0; i < n; i++)
        for (int s = self->start[i]; s < self->start[i + 1]; s++) {
            const int j = self->columns[s];
            if (j != WORLD && j <= i) continue;
            if (j != WORLD) self->entry_pairs[find(self, j, i)] = 2 * pairs + 1;
            self->entry_pairs[s] = 2 * pairs++;
        }
    for (int i = 0; i < n; i++)
        for (int s = self->start[i]; s < self->start[i + 1]; s++)
            if (self->columns[s] == i) self->entry_pairs[s] = 2 * pairs;
    return pairs;
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

static int has_any(const pd_description *description) {
    for (int s = 0; s < description->n_sets; s++)
        for (int e = 0; e < description->sets[s].n; e++)
            if (is_damped(&description->sets[s], e)) return 1;
    return 0;
}

static pd_status out_of_memory(pd_context *context, const pd_description *description) {
    return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for the damping of %d vertices", description->n_vertices);
}

/* The pairs of the model and their sources, from complete rows of `count` entries. */
static pd_status create_pairs(rows *self, pd_model *model, pd_context *context, size_t count) {
    pd_damping *damping = &model->damping;
    pd_status status = PD_OK;
    size_t n_blocks = (size_t)self->first_block[self->description->n_sets], n;
    if (!(self->entry_pairs = malloc(count * sizeof(int) + 1))) PD_TRY(out_of_memory(context, self->description));
    n = (size_t)(damping->n_pairs = number_pairs(self));
    self->source_start = calloc(n + 1, sizeof(int));
    if (!self->source_start) PD_TRY(out_of_memory(context, self->description));
    fill(self);
    for (size_t p = 0; p < n; p++) self->source_start[p + 1] += self->source_start[p];
    self->next = malloc(n * sizeof(int) + 1);
    self->sources = malloc((size_t)self->source_start[n] * sizeof(int) + 1);
    if (!self->next || !self->sources) PD_TRY(out_of_memory(context, self->description));
    for (size_t p = 0; p < n; p++) self->next[p] = self->source_start[p];
    fill(self);
    PD_TRY(pd_upload(context, (void **)&damping->entry_pairs, self->entry_pairs, count * sizeof(int)));
    PD_TRY(pd_upload(context, (void **)&damping->source_start, self->source_start, (n + 1) * sizeof(int)));
    PD_TRY(pd_upload(context, (void **)&damping->sources, self->sources, (size_t)self->source_start[n] * sizeof(int)));
    PD_TRY(pd_memory_create(context, (void **)&damping->element_blocks, 9 * n_blocks * sizeof(real)));
    PD_TRY(pd_memory_create(context, (void **)&damping->pair_blocks, 9 * (n + 1) * sizeof(real)));
    PD_TRY(pd_memory_clear(context, damping->pair_blocks, 9 * (n + 1) * sizeof(real)));
    for (int s = 0; s < self->description->n_sets; s++)
        if (self->description->sets[s].damping) model->kinds[s].damping_blocks = damping->element_blocks + 9 * (size_t)self->first_block[s];
done:
    return status;
}

pd_status pd_damping_rows_create(pd_model *model, pd_context *context, const pd_description *description, const pd_corners *corners) {
    pd_status status = PD_OK;
    size_t n = (size_t)description->n_vertices, count = INT_MAX;
    rows self = {.description = description, .corners = corners};
    if (!has_any(description)) return PD_OK;
    PD_TRY(refuse_bodies(context, description));
    self.entry_of = malloc((n + 1) * sizeof(int));
    self.start = malloc((n + 1) * sizeof(int));
    if (!self.entry_of || !self.start) PD_TRY(out_of_memory(context, description));
    if (!number_blocks(&self) || (count = fill(&self)) == INT_MAX)
        PD_TRY(pd_fail(pd_context_error(context), PD_ERROR_VALUE, "damping: its matrix has more blocks than can be numbered"));
    if (!(self.columns = malloc(count * sizeof(int) + 1))) PD_TRY(out_of_memory(context, description));
    fill(&self);
    PD_TRY(create_pairs(&self, model, context, count));
    PD_TRY(pd_upload(context, (void **)&model->damping.start, self.start, (n + 1) * sizeof(int)));
    PD_TRY(pd_upload(context, (void **)&model->damping.columns, self.columns, count * sizeof(int)));
    PD_TRY(pd_memory_create(context, (void **)&model->damping.blocks, 9 * count * sizeof(real)));
    PD_TRY(pd_memory_clear(context, model->damping.blocks, 9 * count * sizeof(real)));
    PD_TRY(pd_memory_create(context, (void **)&model->damping.diagonals, 6 * n * sizeof(real)));
    PD_TRY(pd_memory_clear(context, model->damping.diagonals, 6 * n * sizeof(real)));
done:
    free(self.entry_of);
    free(self.start);
    free(self.columns);
    free(self.entry_pairs);
    free(self.next);
    free(self.source_start);
    free(self.sources);
    return status;
}
