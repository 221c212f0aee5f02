/* Creates the sweep of a simulation, once; see vertex_sweep.h and pd_vertex_sweep in sweep_loops.h. */
#include "dynamics/methods/vertex_sweep.h"

#include "contact/potential/contact.h"
#include "dynamics/methods/corner_groups.h"
#include "dynamics/rigid/rigid.h"
#include "linear/upload.h"
#include "sparse/ordering.h"
#include "threads/team.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void pd_vertex_sweep_destroy(pd_vertex_sweep *sweep, pd_context *context) {
    void *memory[] = {sweep->order,         sweep->may_touch,      sweep->colours,
                      sweep->damping.slots, sweep->damping.starts, sweep->damping.displacements,
                      sweep->filtered.sums, sweep->filtered.pairs, sweep->blocks};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(context, memory[i]);
    for (int k = 0; k < PD_KIND_COUNT; k++) pd_memory_destroy(context, sweep->corner_slots[k]);
    pd_corner_groups_destroy(sweep, context);
    free((void *)sweep->colour_start);
    free((void *)sweep->kind_end);
    memset(sweep, 0, sizeof *sweep);
}

/* Data shared during the creation of a sweep, in host memory. */
typedef struct builder {
    const pd_problem *problem;
    int n;                 /* updates */
    int *order, *slot_of;  /* [n_vertices] */
    int *vertices, *slots; /* [n] */
    unsigned char *kinds;  /* [n] pd_update_kind */
    int *colour_start, *kind_end;
} builder;

static void builder_free(builder *b) {
    free(b->order);
    free(b->slot_of);
    free(b->vertices);
    free(b->slots);
    free(b->kinds);
    free(b->colour_start);
    free(b->kind_end);
}

/* Tells whether a sweep skips a vertex: it is fixed, or moves with its rigid body. */
static int passed_over(const pd_problem *self, int i) { return self->fixed[i] || (self->rigid && self->rigid->body_of[i] >= 0); }

/* A damped vertex is mixed, since damping is one more sum. */
static pd_update_kind kind_of(const pd_problem *self, int vertex, int grouped) {
    int corners[PD_CORNER_FAMILIES + 1] = {0}, all = self->corners->start[vertex + 1] - self->corners->start[vertex];
    for (int s = self->corners->start[vertex]; s < self->corners->start[vertex + 1]; s++) {
        int element, position;
        const pd_element_set *set = pd_corner_set(self->sets, self->corners->corners[s], &element, &position);
        int family = pd_corner_family(set, element, grouped);
        if (set->damping && set->damping[element] > 0.0) return PD_UPDATES_MIXED;
        if (family >= 0) corners[family]++;
    }
    if (all > 0 && corners[PD_CORNERS_NEO_HOOKEAN] == all) return PD_UPDATES_NEO_HOOKEAN;
    if (all > 0 && corners[PD_CORNERS_ROTATED] == all) return PD_UPDATES_ROTATED;
    return PD_UPDATES_MIXED;
}

/* Updates sorted by colour, by kind within a colour, by slot within a kind. */
static pd_status sort_updates(builder *b, pd_vertex_sweep *out, const int *colours, int grouped) {
    const pd_problem *self = b->problem;
    int n_vertices = self->model->n_vertices, n_colours = 1;
    for (int i = 0; colours && i < n_vertices; i++)
        if (colours[i] >= n_colours) n_colours = colours[i] + 1;
    if (n_colours > INT_MAX / PD_UPDATE_KINDS) return pd_fail(self->error, PD_ERROR_VALUE, "colours: %d are too many", n_colours);
    size_t parts = (size_t)n_colours * PD_UPDATE_KINDS;
    b->colour_start = calloc((size_t)n_colours + 1, sizeof(int));
    b->kind_end = calloc(parts, sizeof(int));
    int *part_of = malloc((size_t)n_vertices * sizeof(int) + 1), *next = calloc(parts + 1, sizeof(int));
    if (!b->colour_start || !b->kind_end || !part_of || !next) {
        free(part_of);
        free(next);
        return pd_fail(self->error, PD_ERROR_MEMORY, "out of memory for %d colours", n_colours);
    }
#pragma omp parallel for num_threads(pd_team(pd_context_threads(self->context), n_vertices, 30)) schedule(static)
    for (int i = 0; i < n_vertices; i++)
        part_of[i] = passed_over(self, i) ? -1 : (colours ? colours[i] : 0) * PD_UPDATE_KINDS + (int)kind_of(self, i, grouped);
    for (int i = 0; i < n_vertices; i++)
        if (part_of[i] >= 0) next[part_of[i] + 1]++;
    for (size_t p = 0; p < parts; p++) b->kind_end[p] = next[p + 1] += next[p];
    for (int c = 0; c < n_colours; c++) b->colour_start[c + 1] = b->kind_end[(size_t)c * PD_UPDATE_KINDS + PD_UPDATE_KINDS - 1];
    for (int slot = 0; slot < n_vertices; slot++) {
        int vertex = b->order[slot];
        if (part_of[vertex] < 0) continue;
        int update = next[part_of[vertex]]++;
        b->vertices[update] = vertex;
        b->slots[update] = slot;
        b->kinds[update] = (unsigned char)(part_of[vertex] % PD_UPDATE_KINDS);
    }
    free(part_of);
    free(next);
    b->n = b->colour_start[n_colours];
    out->n = b->n;
    out->n_colours = n_colours;
    return PD_OK;
}

/* Tells whether two vertices of an element would move at once, which a sweep must not do. */
static int clash(const pd_problem *self, const int *colours, int i, int j) {
    return i != j && colours[i] == colours[j] && !passed_over(self, i) && !passed_over(self, j);
}

static pd_status check_colours(const builder *b, const int *colours) {
    const pd_problem *self = b->problem;
    for (int i = 0; i < self->model->n_vertices; i++)
        if (colours[i] < 0) return pd_fail(self->error, PD_ERROR_VALUE, "colours: %d at vertex %d is negative", colours[i], i);
    for (int s = 0; s < self->n_sets; s++) {
        const pd_element_set *set = &self->sets[s];
        pd_kind_shape shape = pd_kind_shape_of(set->kind);
        int k = shape.vertices, first = set->n; // the first element with two of one colour
#pragma omp parallel for num_threads(pd_team(pd_context_threads(self->context), set->n, 20)) schedule(static) reduction(min : first)
        for (int e = 0; e < set->n; e++)
            for (int a = 0; a < k; a++)
                for (int c = 0; c < a; c++) {
                    int i = set->vertices[(size_t)e * (size_t)k + (size_t)a], j = set->vertices[(size_t)e * (size_t)k + (size_t)c];
                    if (e < first && clash(self, colours, i, j)) first = e;
                }
        for (int a = 0; first < set->n && a < k; a++)
            for (int c = 0; c < a; c++) {
                int i = set->vertices[(size_t)first * (size_t)k + (size_t)c], j = set->vertices[(size_t)first * (size_t)k + (size_t)a];
                if (clash(self, colours, i, j))
                    return pd_fail(self->error, PD_ERROR_VALUE, "colours: vertices %d and %d of %s %d have the same colour %d", i, j,
                                   shape.name, first, colours[i]);
            }
    }
    return PD_OK;
}

/* Reads PDGPU_UPDATE_THREADS, for measurements; unset: 0. */
static pd_status read_update_threads(const pd_problem *self, int *threads) {
    const char *text = getenv("PDGPU_UPDATE_THREADS");
    *threads = 0;
    if (!text || !*text) return PD_OK;
    char *end;
    long value = strtol(text, &end, 10);
    if (*end || (value != 1 && value != 4 && value != 8 && value != 16 && value != 32))
        return pd_fail(self->error, PD_ERROR_VALUE, "PDGPU_UPDATE_THREADS: expected 1, 4, 8, 16 or 32, got '%s'", text);
    *threads = (int)value;
    return PD_OK;
}

/* The corners of the elements as slots, for sets with ungrouped corners: a grouped corner has its own slots. */
static pd_status number_elements(builder *b, pd_vertex_sweep *out, int grouped) {
    const pd_problem *self = b->problem;
    for (int s = 0; s < self->n_sets; s++) {
        const pd_element_set *set = &self->sets[s];
        size_t count = (size_t)set->n * (size_t)pd_kind_shape_of(set->kind).vertices;
        int e = 0;
        while (e < set->n && pd_corner_family(set, e, grouped) >= 0) e++;
        if (e == set->n) continue;
        int *slots = malloc(count * sizeof(int) + 1);
        if (!slots) return pd_fail(self->error, PD_ERROR_MEMORY, "out of memory for a sweep over %d elements", set->n);
#pragma omp parallel for num_threads(pd_team(pd_context_threads(self->context), (long long)count, 3)) schedule(static)
        for (size_t i = 0; i < count; i++) slots[i] = b->slot_of[set->vertices[i]];
        pd_status status = pd_upload(self->context, (void **)&out->corner_slots[s], slots, count * sizeof(int));
        free(slots);
        if (status) return status;
    }
    return PD_OK;
}

/* The places of the entries of the damping matrix in the order of the sweep. */
static pd_status describe_damping(const builder *b, pd_vertex_sweep *out) {
    const pd_problem *self = b->problem;
    pd_status status = PD_OK;
    int n = self->model->n_vertices, count, *slots = NULL;
    if (!self->model->damping.start) return PD_OK;
    PD_TRY(pd_memory_download(self->context, &count, self->model->damping.start + n, sizeof count));
    if (!(slots = malloc((size_t)count * sizeof(int) + 1)))
        PD_TRY(pd_fail(self->error, PD_ERROR_MEMORY, "out of memory for the damping of %d vertices", n));
    PD_TRY(pd_memory_download(self->context, slots, self->model->damping.columns, (size_t)count * sizeof(int)));
    for (int s = 0; s < count; s++) slots[s] = slots[s] < 0 ? n : b->slot_of[slots[s]];
    PD_TRY(pd_upload(self->context, (void **)&out->damping.slots, slots, (size_t)count * sizeof(int)));
    PD_TRY(pd_memory_create(self->context, (void **)&out->damping.starts, (size_t)n * 4 * sizeof(real)));
    PD_TRY(pd_memory_create(self->context, (void **)&out->damping.displacements, ((size_t)n + 1) * 4 * sizeof(real)));
    PD_TRY(pd_memory_clear(self->context, out->damping.displacements, ((size_t)n + 1) * 4 * sizeof(real)));
done:
    free(slots);
    return status;
}

/* The data of contact for a sweep: colours, which tell the corners of a pair that move at once, and the vertices that may come into
 * contact. */
static pd_status describe_contact(const builder *b, pd_vertex_sweep *out, const int *colours) {
    const pd_problem *self = b->problem;
    const unsigned char *chosen = pd_contact_chosen(self->contact);
    pd_status status = PD_OK;
    size_t n = (size_t)self->model->n_vertices;
    int *kept = malloc(n * sizeof(int) + 1);
    unsigned char *may_touch = malloc((size_t)b->n + 1);
    if (!kept || !may_touch) PD_TRY(pd_fail(self->error, PD_ERROR_MEMORY, "out of memory for the colours of %zu vertices", n));
    for (size_t i = 0; i < n; i++) kept[i] = passed_over(self, (int)i) ? -1 : colours ? colours[i] : 0;
    for (size_t t = 0; t < (size_t)b->n; t++) may_touch[t] = chosen[b->vertices[t]];
    PD_TRY(pd_upload(self->context, (void **)&out->colours, kept, n * sizeof(int)));
    PD_TRY(pd_upload(self->context, (void **)&out->may_touch, may_touch, (size_t)b->n));
    if (pd_sweep_scratch(self->context) > 0) PD_TRY(pd_memory_create(self->context, &out->blocks, pd_sweep_scratch(self->context)));
done:
    free(kept);
    free(may_touch);
    return status;
}

/* The filter of the blocks of the corners; none with PD_HESSIAN_AUTO. */
static pd_status describe_filter(const builder *b, pd_vertex_sweep *out, pd_hessian_setting hessian) {
    const pd_problem *self = b->problem;
    if (hessian == PD_HESSIAN_AUTO) return PD_OK;
    if (hessian == PD_HESSIAN_ADAPTIVE)
        return pd_fail(
            self->error, PD_ERROR_VALUE,
            "hessian: adaptive (%d) compares G with the quadratic model of a whole iteration, and a sweep over vertices has none; "
            "clamp (%d) and absolute (%d) are filters of its blocks",
            PD_HESSIAN_ADAPTIVE, PD_HESSIAN_CLAMP, PD_HESSIAN_ABSOLUTE);
    out->filtered.filter = hessian == PD_HESSIAN_CLAMP      ? PD_FILTER_CLAMP
                           : hessian == PD_HESSIAN_ABSOLUTE ? PD_FILTER_ABSOLUTE
                                                            : PD_FILTER_NONE;
    pd_status status = pd_memory_create(self->context, (void **)&out->filtered.sums, (size_t)(b->n + 1) * 9 * sizeof(real));
    if (status || !self->contact) return status;
    return pd_memory_create(self->context, (void **)&out->filtered.pairs, (size_t)(b->n + 1) * 6 * sizeof(real));
}

pd_status pd_vertex_sweep_create(pd_vertex_sweep *out, const pd_problem *problem, const int *colours, int grouped,
                                 pd_hessian_setting hessian) {
    pd_status status = PD_OK;
    size_t n = (size_t)problem->model->n_vertices;
    builder b = {.problem = problem};
    memset(out, 0, sizeof *out);
    if (grouped && hessian != PD_HESSIAN_AUTO) grouped = hessian == PD_HESSIAN_EXACT ? PD_GROUPS_EXACT : PD_GROUPS_NONE;
    PD_TRY(read_update_threads(problem, &out->update_threads));
    b.order = malloc(n * sizeof(int) + 1);
    b.slot_of = malloc(n * sizeof(int) + 1);
    b.vertices = malloc(n * sizeof(int) + 1);
    b.slots = malloc(n * sizeof(int) + 1);
    b.kinds = malloc(n + 1);
    if (!b.order || !b.slot_of || !b.vertices || !b.slots || !b.kinds) {
        status = pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for a sweep over %zu vertices", n);
        goto done;
    }
    if (colours) PD_TRY(check_colours(&b, colours));
    PD_TRY(pd_breadth_first_order(b.order, (int)n, problem->sets, problem->corners, problem->error));
    for (size_t slot = 0; slot < n; slot++) b.slot_of[b.order[slot]] = (int)slot;
    PD_TRY(sort_updates(&b, out, colours, grouped));
    pd_sweep_order sweep_order = {problem, b.n, grouped, b.vertices, b.slots, b.kinds, b.slot_of};
    PD_TRY(pd_corner_groups_create(&sweep_order, out));
    PD_TRY(pd_neighbour_rows_create(&sweep_order, out));
    PD_TRY(number_elements(&b, out, grouped));
    PD_TRY(describe_damping(&b, out));
    PD_TRY(describe_filter(&b, out, hessian));
    if (problem->contact) PD_TRY(describe_contact(&b, out, colours));
    PD_TRY(pd_upload(problem->context, (void **)&out->order, b.order, n * sizeof(int)));
    out->colour_start = b.colour_start;
    out->kind_end = b.kind_end;
    b.colour_start = b.kind_end = NULL;
done:
    builder_free(&b);
    if (status) pd_vertex_sweep_destroy(out, problem->context);
    return status;
}
