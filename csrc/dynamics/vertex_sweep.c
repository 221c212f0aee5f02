/* Builds the sweep of a simulation, once; see vertex_sweep.h and pd_vertex_sweep in backend.h. */
#include "dynamics/vertex_sweep.h"

#include "contact/contact.h"
#include "dynamics/rigid.h"
#include "elements/rotated_corner.h"
#include "linear/upload.h"
#include "sparse/ordering.h"
#include "threads/team.h"
#include "updates/vertex_step.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void pd_vertex_sweep_destroy(pd_vertex_sweep *sweep, pd_context *context) {
    void *memory[] = {sweep->order,    sweep->vertices,     sweep->slots,   sweep->may_touch,
                      sweep->diagonal, sweep->corner_start, sweep->corners, sweep->colours};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(context, memory[i]);
    for (int k = 0; k < PD_KIND_COUNT; k++) pd_memory_destroy(context, sweep->corner_slots[k]);
    for (int f = 0; f < PD_CORNER_FAMILIES; f++) {
        pd_memory_destroy(context, sweep->groups[f].start);
        pd_memory_destroy(context, sweep->groups[f].slots);
        pd_memory_destroy(context, sweep->groups[f].numbers);
    }
    free((void *)sweep->colour_start);
    free((void *)sweep->kind_end);
    memset(sweep, 0, sizeof *sweep);
}

/* What the pieces below share while a sweep is built, in host memory. */
typedef struct builder {
    const pd_problem *problem;
    int n;                 /* updates */
    int *order, *slot_of;  /* [n_vertices] */
    int *vertices, *slots; /* [n] */
    int *colour_start, *kind_end;
} builder;

static void builder_free(builder *b) {
    free(b->order);
    free(b->slot_of);
    free(b->vertices);
    free(b->slots);
    free(b->colour_start);
    free(b->kind_end);
}

/* Whether a sweep passes it over: it is fixed, or moves with its rigid body. */
static int passed_over(const pd_problem *self, int i) { return self->fixed[i] || (self->rigid && self->rigid->body_of[i] >= 0); }

/* The family of an element's corners, PD_CORNERS_SINGLE where they stand in no group. */
static int family_of(const pd_element_set *set, int element, int grouped) {
    if (!grouped || (set->damping && set->damping[element] > 0.0)) return PD_CORNERS_SINGLE;
    return pd_kind_shape_of(set->kind).corners;
}

static pd_update_kind kind_of(const pd_problem *self, int vertex, int grouped) {
    int corners[PD_CORNER_FAMILIES] = {0}, all = self->corners->start[vertex + 1] - self->corners->start[vertex];
    for (int s = self->corners->start[vertex]; s < self->corners->start[vertex + 1]; s++) {
        int element, position;
        const pd_element_set *set = pd_corner_set(self->sets, self->corners->corners[s], &element, &position);
        int family = family_of(set, element, grouped);
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
    }
    free(part_of);
    free(next);
    b->n = b->colour_start[n_colours];
    out->n = b->n;
    out->n_colours = n_colours;
    return PD_OK;
}

/* Whether two vertices of an element would be moved at once, each from where the other was. */
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

/* The three other corners of a tet, turned so that their face is seen from the corner in front. */
static const int opposite[4][3] = {{1, 3, 2}, {0, 2, 3}, {0, 3, 1}, {0, 1, 2}};

/* Numbers of corner `corner` of an ARAP or co-rotated tet; see rotated_corner.h. */
static void rotated_numbers(const pd_element_set *set, int element, int corner, double numbers[PD_ROTATED_NUMBERS]) {
    int count = pd_kind_shape_of(set->kind).parameters;
    const double *rest = set->rest + 9 * (size_t)element, *parameters = set->parameters + (size_t)count * (size_t)element;
    for (int j = 0; j < 3; j++)
        for (int c = 0; c < 3; c++) {
            int other = opposite[corner][j];
            numbers[3 * j + c] = other > 0 ? rest[3 * (other - 1) + c] : -(rest[c] + rest[3 + c] + rest[6 + c]);
        }
    numbers[PD_ROTATED_WEIGHT] = parameters[0];
    numbers[PD_ROTATED_LAME] = count > 1 ? parameters[1] : 0.0;
}

/* Numbers of corner `corner` of a neo-Hookean tet, and mu V |g_i|^2; see pd_neo_hookean_corner. */
static double corner_numbers(const double *rest, const double *parameters, int corner, double numbers[PD_CORNER_NUMBERS]) {
    double g[4][3] = {{0.0}}, mu = 0.5 * parameters[0];
    for (int i = 1; i < 4; i++)
        for (int c = 0; c < 3; c++) g[i][c] = rest[3 * (i - 1) + c], g[0][c] -= g[i][c];
    double square = mu * (g[corner][0] * g[corner][0] + g[corner][1] * g[corner][1] + g[corner][2] * g[corner][2]);
    for (int j = 0; j < 3; j++) {
        const double *other = g[opposite[corner][j]];
        numbers[PD_CORNER_A + j] = mu * (g[corner][0] * other[0] + g[corner][1] * other[1] + g[corner][2] * other[2]);
    }
    double inverse = g[1][0] * (g[2][1] * g[3][2] - g[2][2] * g[3][1]) + g[1][1] * (g[2][2] * g[3][0] - g[2][0] * g[3][2]) +
                     g[1][2] * (g[2][0] * g[3][1] - g[2][1] * g[3][0]); // 1/(6 V)
    numbers[PD_CORNER_VOLUME] = parameters[1] * inverse * inverse;
    numbers[PD_CORNER_PRESSURE] = (parameters[1] + mu) * inverse;
    return square;
}

/* Which corners each update reads: groups of lanes, by families, and a list of all others. They are written for a piece of the updates at a
 * time, into host memory that is used again for the next: together they are the largest arrays of a simulation. */
typedef struct group_list {
    int *start;   /* [n+1] */
    size_t first; /* of the piece */
    size_t most;  /* lanes of a piece */
    int *slots;
    real *numbers;
} group_list;

typedef struct corner_lists {
    int *corner_start;   /* [n+1] */
    size_t first_corner; /* of the piece */
    int *corners;
    real *diagonal; /* [n] of all updates */
    group_list groups[PD_CORNER_FAMILIES];
} corner_lists;

enum { PIECE = 1 << 17, MOST_NUMBERS = PD_ROTATED_NUMBERS }; /* updates; numbers of a corner of any family */
static const int numbers_of[PD_CORNER_FAMILIES] = {PD_CORNER_NUMBERS, PD_ROTATED_NUMBERS};

static size_t piece_end(const builder *b, size_t first) { return first + PIECE < (size_t)b->n ? first + PIECE : (size_t)b->n; }

/* How many corners and groups each update has. */
static void count_corners(const builder *b, corner_lists *lists, int grouped) {
    const pd_problem *self = b->problem;
#pragma omp parallel for num_threads(pd_team(pd_context_threads(self->context), b->n, 100)) schedule(static)
    for (int t = 0; t < b->n; t++) {
        int vertex = b->vertices[t], lanes[PD_CORNER_FAMILIES] = {0}, others = 0;
        for (int s = self->corners->start[vertex]; s < self->corners->start[vertex + 1]; s++) {
            int element, position;
            const pd_element_set *set = pd_corner_set(self->sets, self->corners->corners[s], &element, &position);
            int family = family_of(set, element, grouped);
            if (family >= 0)
                lanes[family]++;
            else
                others++;
        }
        lists->corner_start[t + 1] = others;
        for (int f = 0; f < PD_CORNER_FAMILIES; f++) lists->groups[f].start[t + 1] = (lanes[f] + PD_CORNER_LANES - 1) / PD_CORNER_LANES;
    }
    for (size_t t = 0; t < (size_t)b->n; t++) { // no sum exceeds the number of corners, which is an int
        lists->corner_start[t + 1] += lists->corner_start[t];
        for (int f = 0; f < PD_CORNER_FAMILIES; f++) lists->groups[f].start[t + 1] += lists->groups[f].start[t];
    }
}

/* An unused lane reads the vertex itself and multiplies it by zero. */
static void clear_groups(group_list *list, int count, int slot, size_t lane, size_t end) {
    for (size_t l = lane; l < end; l++)
        for (int j = 0; j < 3; j++) list->slots[(l / PD_CORNER_LANES * 3 + (size_t)j) * PD_CORNER_LANES + l % PD_CORNER_LANES] = slot;
    for (size_t i = lane * (size_t)count; i < end * (size_t)count; i++) list->numbers[i] = 0;
}

static void list_update(const builder *b, corner_lists *lists, int grouped, double inverse_h2, int t) {
    const pd_problem *self = b->problem;
    int vertex = b->vertices[t];
    int *corners = lists->corners + 2 * ((size_t)lists->corner_start[t] - lists->first_corner);
    size_t lanes[PD_CORNER_FAMILIES];
    double constant = self->masses[vertex] * inverse_h2;
    for (int f = 0; f < PD_CORNER_FAMILIES; f++) {
        group_list *list = &lists->groups[f];
        lanes[f] = ((size_t)list->start[t] - list->first) * PD_CORNER_LANES;
        clear_groups(list, numbers_of[f], b->slots[t], lanes[f], ((size_t)list->start[t + 1] - list->first) * PD_CORNER_LANES);
    }
    for (int s = self->corners->start[vertex]; s < self->corners->start[vertex + 1]; s++) {
        int element, position;
        const pd_element_set *set = pd_corner_set(self->sets, self->corners->corners[s], &element, &position);
        int family = family_of(set, element, grouped);
        if (family == PD_CORNERS_SINGLE) {
            *corners++ = (int)(set - self->sets);
            *corners++ = element * pd_kind_shape_of(set->kind).vertices + position;
            continue;
        }
        double values[MOST_NUMBERS];
        if (family == PD_CORNERS_ROTATED)
            rotated_numbers(set, element, position, values);
        else
            constant += corner_numbers(set->rest + 9 * (size_t)element, set->parameters + 2 * (size_t)element, position, values);
        size_t group = lanes[family] / PD_CORNER_LANES, l = lanes[family] % PD_CORNER_LANES, count = (size_t)numbers_of[family];
        for (size_t j = 0; j < 3; j++)
            lists->groups[family].slots[(group * 3 + j) * PD_CORNER_LANES + l] =
                b->slot_of[set->vertices[4 * (size_t)element + (size_t)opposite[position][j]]];
        for (size_t j = 0; j < count; j++) lists->groups[family].numbers[(group * count + j) * PD_CORNER_LANES + l] = (real)values[j];
        lanes[family]++;
    }
    lists->diagonal[t] = (real)constant;
}

/* Host memory for the groups of a piece, backend memory for all. */
static pd_status make_groups(const builder *b, group_list *list, pd_corner_groups *out, int count) {
    const pd_problem *self = b->problem;
    pd_status status = PD_OK;
    size_t n = (size_t)b->n, lanes = (size_t)list->start[n] * PD_CORNER_LANES;
    for (size_t first = 0; first < n; first += PIECE) {
        size_t here = (size_t)(list->start[piece_end(b, first)] - list->start[first]) * PD_CORNER_LANES;
        if (here > list->most) list->most = here;
    }
    if (lanes == 0) return PD_OK;
    list->slots = malloc(list->most * 3 * sizeof(int));
    list->numbers = malloc(list->most * (size_t)count * sizeof(real));
    if (!list->slots || !list->numbers) return pd_fail(self->error, PD_ERROR_MEMORY, "out of memory for a sweep over %d vertices", b->n);
    PD_TRY(pd_memory_create(self->context, (void **)&out->slots, lanes * 3 * sizeof(int)));
    PD_TRY(pd_memory_create(self->context, (void **)&out->numbers, lanes * (size_t)count * sizeof(real)));
    PD_TRY(pd_upload(self->context, (void **)&out->start, list->start, (n + 1) * sizeof(int)));
done:
    return status;
}

static pd_status upload_groups(const builder *b, const group_list *list, pd_corner_groups *out, int count, size_t end) {
    pd_context *context = b->problem->context;
    pd_status status = PD_OK;
    size_t from = list->first * PD_CORNER_LANES, lanes = ((size_t)list->start[end] - list->first) * PD_CORNER_LANES, of = (size_t)count;
    if (lanes == 0) return PD_OK;
    PD_TRY(pd_memory_upload(context, out->slots + 3 * from, list->slots, lanes * 3 * sizeof(int)));
    PD_TRY(pd_memory_upload(context, out->numbers + of * from, list->numbers, lanes * of * sizeof(real)));
done:
    return status;
}

static pd_status list_corners(builder *b, pd_vertex_sweep *out, int grouped) {
    const pd_problem *self = b->problem;
    pd_context *context = self->context;
    pd_status status = PD_OK;
    size_t n = (size_t)b->n, most_corners = 0;
    double inverse_h2 = self->h > 0 ? 1.0 / (self->h * self->h) : 0.0;
    corner_lists lists = {.corner_start = calloc(n + 1, sizeof(int)), .diagonal = malloc(n * sizeof(real) + 1)};
    if (!lists.corner_start || !lists.diagonal) goto memory;
    for (int f = 0; f < PD_CORNER_FAMILIES; f++)
        if (!(lists.groups[f].start = calloc(n + 1, sizeof(int)))) goto memory;
    count_corners(b, &lists, grouped);
    for (size_t first = 0; first < n; first += PIECE) {
        size_t corners = (size_t)(lists.corner_start[piece_end(b, first)] - lists.corner_start[first]);
        if (corners > most_corners) most_corners = corners;
    }
    lists.corners = malloc(most_corners * 2 * sizeof(int) + 1);
    if (!lists.corners) goto memory;

    PD_TRY(pd_memory_create(context, (void **)&out->corners, (size_t)lists.corner_start[n] * 2 * sizeof(int)));
    for (int f = 0; f < PD_CORNER_FAMILIES; f++) PD_TRY(make_groups(b, &lists.groups[f], &out->groups[f], numbers_of[f]));
    for (size_t first = 0; first < n; first += PIECE) {
        size_t end = piece_end(b, first);
        lists.first_corner = (size_t)lists.corner_start[first];
        for (int f = 0; f < PD_CORNER_FAMILIES; f++) lists.groups[f].first = (size_t)lists.groups[f].start[first];
#pragma omp parallel for num_threads(pd_team(pd_context_threads(context), (long long)(end - first), 300)) schedule(static)
        for (int t = (int)first; t < (int)end; t++) list_update(b, &lists, grouped, inverse_h2, t);
        size_t corners = (size_t)lists.corner_start[end] - lists.first_corner;
        PD_TRY(pd_memory_upload(context, out->corners + 2 * lists.first_corner, lists.corners, corners * 2 * sizeof(int)));
        for (int f = 0; f < PD_CORNER_FAMILIES; f++) PD_TRY(upload_groups(b, &lists.groups[f], &out->groups[f], numbers_of[f], end));
    }
    out->n_corners = lists.corner_start[n];
    PD_TRY(pd_upload(context, (void **)&out->corner_start, lists.corner_start, (n + 1) * sizeof(int)));
    PD_TRY(pd_upload(context, (void **)&out->diagonal, lists.diagonal, n * sizeof(real)));
    goto done;
memory:
    status = pd_fail(self->error, PD_ERROR_MEMORY, "out of memory for a sweep over %d vertices", b->n);
done:
    free(lists.corner_start);
    free(lists.corners);
    free(lists.diagonal);
    for (int f = 0; f < PD_CORNER_FAMILIES; f++) {
        free(lists.groups[f].start);
        free(lists.groups[f].slots);
        free(lists.groups[f].numbers);
    }
    return status;
}

/* PDGPU_UPDATE_THREADS, for measuring; unset: 0. */
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

/* The corners of the elements as slots, for the sets that have any outside the groups: a grouped corner has slots of its own. */
static pd_status number_elements(builder *b, pd_vertex_sweep *out, int grouped) {
    const pd_problem *self = b->problem;
    for (int s = 0; s < self->n_sets; s++) {
        const pd_element_set *set = &self->sets[s];
        size_t count = (size_t)set->n * (size_t)pd_kind_shape_of(set->kind).vertices;
        int e = 0;
        while (e < set->n && family_of(set, e, grouped) >= 0) e++;
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

/* What contact asks of a sweep: colours, to tell which corners of a pair move at once, and who may touch. */
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
done:
    free(kept);
    free(may_touch);
    return status;
}

pd_status pd_vertex_sweep_create(pd_vertex_sweep *out, const pd_problem *problem, const int *colours, int grouped) {
    pd_status status = PD_OK;
    size_t n = (size_t)problem->model->n_vertices;
    builder b = {.problem = problem};
    memset(out, 0, sizeof *out);
    PD_TRY(read_update_threads(problem, &out->update_threads));
    b.order = malloc(n * sizeof(int) + 1);
    b.slot_of = malloc(n * sizeof(int) + 1);
    b.vertices = malloc(n * sizeof(int) + 1);
    b.slots = malloc(n * sizeof(int) + 1);
    if (!b.order || !b.slot_of || !b.vertices || !b.slots) {
        status = pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for a sweep over %zu vertices", n);
        goto done;
    }
    if (colours) PD_TRY(check_colours(&b, colours));
    PD_TRY(pd_breadth_first_order(b.order, (int)n, problem->sets, problem->corners, problem->error));
    for (size_t slot = 0; slot < n; slot++) b.slot_of[b.order[slot]] = (int)slot;
    PD_TRY(sort_updates(&b, out, colours, grouped));
    PD_TRY(list_corners(&b, out, grouped));
    PD_TRY(number_elements(&b, out, grouped));
    if (problem->contact) PD_TRY(describe_contact(&b, out, colours));
    PD_TRY(pd_upload(problem->context, (void **)&out->order, b.order, n * sizeof(int)));
    PD_TRY(pd_upload(problem->context, (void **)&out->vertices, b.vertices, (size_t)b.n * sizeof(int)));
    PD_TRY(pd_upload(problem->context, (void **)&out->slots, b.slots, (size_t)b.n * sizeof(int)));
    out->colour_start = b.colour_start;
    out->kind_end = b.kind_end;
    b.colour_start = b.kind_end = NULL;
done:
    builder_free(&b);
    if (status) pd_vertex_sweep_destroy(out, problem->context);
    return status;
}
