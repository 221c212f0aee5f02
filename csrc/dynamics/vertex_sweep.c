/* Builds the sweep of a simulation, once; see vertex_sweep.h and pd_vertex_sweep in backend.h. */
#include "dynamics/vertex_sweep.h"

#include "elements/vertex_step.h"
#include "host/ordering.h"
#include "linear/upload.h"

#include <stdlib.h>
#include <string.h>

void pd_vertex_sweep_destroy(pd_vertex_sweep *sweep, pd_context *context) {
    void *memory[] = {sweep->order,   sweep->vertices,    sweep->places,       sweep->diagonal,     sweep->corner_start,
                      sweep->corners, sweep->group_start, sweep->group_places, sweep->group_numbers};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(context, memory[i]);
    for (int k = 0; k < PD_KIND_COUNT; k++) pd_memory_destroy(context, sweep->corner_places[k]);
    free((void *)sweep->colour_start);
    memset(sweep, 0, sizeof *sweep);
}

/* What the pieces below share while a sweep is built, in host memory. */
typedef struct builder {
    pd_simulation *simulation;
    int n;                  /* turns */
    int *order, *place_of;  /* [n_vertices] */
    int *vertices, *places; /* [n] */
    int *colour_start;
    int *first_corner;   /* [n_sets+1] */
    int *kind_of_corner; /* [n_corners] set of each corner */
} builder;

static void builder_free(builder *b) {
    free(b->order);
    free(b->place_of);
    free(b->vertices);
    free(b->places);
    free(b->colour_start);
    free(b->first_corner);
    free(b->kind_of_corner);
}

/* Turns sorted by colour, by place within a colour. */
static pd_status sort_turns(builder *b, pd_vertex_sweep *out, const int *colours) {
    pd_simulation *self = b->simulation;
    int n_vertices = self->model.n_vertices, n_colours = 1;
    for (int i = 0; colours && i < n_vertices; i++)
        if (colours[i] >= n_colours) n_colours = colours[i] + 1;
    b->colour_start = calloc((size_t)n_colours + 2, sizeof(int));
    if (!b->colour_start) return pd_fail(&self->error, PD_ERROR_MEMORY, "out of memory for %d colours", n_colours);
    for (int i = 0; i < n_vertices; i++)
        if (!self->fixed[i]) b->colour_start[(colours ? colours[i] : 0) + 2]++;
    for (int c = 0; c < n_colours; c++) b->colour_start[c + 2] += b->colour_start[c + 1];
    for (int place = 0; place < n_vertices; place++) {
        int vertex = b->order[place];
        if (self->fixed[vertex]) continue;
        int turn = b->colour_start[(colours ? colours[vertex] : 0) + 1]++;
        b->vertices[turn] = vertex;
        b->places[turn] = place;
    }
    b->n = b->colour_start[n_colours];
    out->n = b->n;
    out->n_colours = n_colours;
    return PD_OK;
}

static pd_status check_colours(const builder *b, const int *colours) {
    pd_simulation *self = b->simulation;
    for (int i = 0; i < self->model.n_vertices; i++) {
        if (colours[i] < 0) return pd_fail(&self->error, PD_ERROR_VALUE, "colours: %d at vertex %d is negative", colours[i], i);
        for (int s = self->pattern.row_start[i]; s < self->pattern.row_start[i + 1]; s++) {
            int j = self->pattern.columns[s];
            if (j != i && colours[j] == colours[i])
                return pd_fail(&self->error, PD_ERROR_VALUE, "colours: neighbours %d and %d have the same colour %d", i, j, colours[i]);
        }
    }
    return PD_OK;
}

static int is_grouped(const pd_element_set *set, int element, int grouped) {
    return grouped && set->kind == PD_NEO_HOOKEAN_TET && (!set->damping || set->damping[element] <= 0.0);
}

/* The three other corners of a tet, turned so that their face is seen from the corner in front. */
static const int opposite[4][3] = {{1, 3, 2}, {0, 2, 3}, {0, 3, 1}, {0, 1, 2}};

/* Numbers of corner `corner` of a neo-Hookean tet, and mu V |g_i|^2; see pd_neo_hookean_corner. */
static double corner_numbers(const double *rest, const double *parameters, int corner, double numbers[PD_CORNER_NUMBERS]) {
    double g[4][3] = {{0.0}}, mu = 0.5 * parameters[0];
    for (int i = 1; i < 4; i++)
        for (int c = 0; c < 3; c++) g[i][c] = rest[3 * (i - 1) + c], g[0][c] -= g[i][c];
    double own = mu * (g[corner][0] * g[corner][0] + g[corner][1] * g[corner][1] + g[corner][2] * g[corner][2]);
    for (int j = 0; j < 3; j++) {
        const double *other = g[opposite[corner][j]];
        numbers[PD_CORNER_A + j] = mu * (g[corner][0] * other[0] + g[corner][1] * other[1] + g[corner][2] * other[2]);
    }
    double inverse = g[1][0] * (g[2][1] * g[3][2] - g[2][2] * g[3][1]) + g[1][1] * (g[2][2] * g[3][0] - g[2][0] * g[3][2]) +
                     g[1][2] * (g[2][0] * g[3][1] - g[2][1] * g[3][0]); // 1/(6 V)
    numbers[PD_CORNER_VOLUME] = parameters[1] * inverse * inverse;
    numbers[PD_CORNER_PRESSURE] = (parameters[1] + mu) * inverse;
    return own;
}

/* Which corners each turn reads: groups of neo-Hookean ones, and a list of all others. */
static pd_status list_corners(builder *b, pd_vertex_sweep *out, int grouped) {
    pd_simulation *self = b->simulation;
    pd_status status = PD_OK;
    size_t n = (size_t)b->n;
    double inverse_h2 = self->settings.h > 0 ? 1.0 / (self->settings.h * self->settings.h) : 0.0;
    int *corner_start = calloc(n + 1, sizeof(int)), *group_start = calloc(n + 1, sizeof(int)), *corners = NULL, *group_places = NULL;
    real *numbers = NULL, *diagonal = malloc(n * sizeof(real) + 1);
    if (!corner_start || !group_start || !diagonal) goto memory;

    // sizes
    for (size_t t = 0; t < n; t++) {
        int vertex = b->vertices[t], lanes = 0, others = 0;
        for (int s = self->corners.start[vertex]; s < self->corners.start[vertex + 1]; s++) {
            int corner = self->corners.corners[s], kind = b->kind_of_corner[corner];
            int k = pd_kind_shape_of(self->sets[kind].kind).vertices;
            if (is_grouped(&self->sets[kind], (corner - b->first_corner[kind]) / k, grouped))
                lanes++;
            else
                others++;
        }
        corner_start[t + 1] = corner_start[t] + others;
        group_start[t + 1] = group_start[t] + (lanes + PD_CORNER_LANES - 1) / PD_CORNER_LANES;
    }
    size_t n_corners = (size_t)corner_start[n], n_lanes = (size_t)group_start[n] * PD_CORNER_LANES;
    corners = malloc(n_corners * 2 * sizeof(int) + 1);
    group_places = malloc(n_lanes * 3 * sizeof(int) + 1);
    numbers = calloc(n_lanes * PD_CORNER_NUMBERS + 1, sizeof(real));
    if (!corners || !group_places || !numbers) goto memory;

    // contents
    for (size_t t = 0; t < n; t++) {
        int vertex = b->vertices[t];
        size_t next = 2 * (size_t)corner_start[t], lane = (size_t)group_start[t] * PD_CORNER_LANES,
               end = (size_t)group_start[t + 1] * PD_CORNER_LANES;
        double own = self->masses[vertex] * inverse_h2;
        for (size_t l = lane; l < end; l++) // an unused lane reads the vertex itself and multiplies it by zero
            for (int j = 0; j < 3; j++)
                group_places[(l / PD_CORNER_LANES * 3 + (size_t)j) * PD_CORNER_LANES + l % PD_CORNER_LANES] = b->places[t];
        for (int s = self->corners.start[vertex]; s < self->corners.start[vertex + 1]; s++) {
            int corner = self->corners.corners[s], kind = b->kind_of_corner[corner], local = corner - b->first_corner[kind];
            const pd_element_set *set = &self->sets[kind];
            pd_kind_shape shape = pd_kind_shape_of(set->kind);
            int element = local / shape.vertices;
            if (!is_grouped(set, element, grouped)) {
                corners[next++] = kind;
                corners[next++] = local;
                continue;
            }
            double values[PD_CORNER_NUMBERS];
            own += corner_numbers(set->rest + 9 * (size_t)element, set->parameters + 2 * (size_t)element, local % 4, values);
            size_t group = lane / PD_CORNER_LANES, l = lane % PD_CORNER_LANES;
            for (int j = 0; j < 3; j++)
                group_places[(group * 3 + (size_t)j) * PD_CORNER_LANES + l] =
                    b->place_of[set->vertices[4 * (size_t)element + (size_t)opposite[local % 4][j]]];
            for (int j = 0; j < PD_CORNER_NUMBERS; j++)
                numbers[(group * PD_CORNER_NUMBERS + (size_t)j) * PD_CORNER_LANES + l] = (real)values[j];
            lane++;
        }
        diagonal[t] = (real)own;
    }
    out->n_corners = corner_start[n];
    PD_TRY(pd_upload(self->context, (void **)&out->corner_start, corner_start, (n + 1) * sizeof(int)));
    PD_TRY(pd_upload(self->context, (void **)&out->corners, corners, n_corners * 2 * sizeof(int)));
    PD_TRY(pd_upload(self->context, (void **)&out->group_start, group_start, (n + 1) * sizeof(int)));
    PD_TRY(pd_upload(self->context, (void **)&out->group_places, group_places, n_lanes * 3 * sizeof(int)));
    PD_TRY(pd_upload(self->context, (void **)&out->group_numbers, numbers, n_lanes * PD_CORNER_NUMBERS * sizeof(real)));
    PD_TRY(pd_upload(self->context, (void **)&out->diagonal, diagonal, n * sizeof(real)));
    goto done;
memory:
    status = pd_fail(&self->error, PD_ERROR_MEMORY, "out of memory for a sweep over %d vertices", b->n);
done:
    free(corner_start);
    free(group_start);
    free(corners);
    free(group_places);
    free(numbers);
    free(diagonal);
    return status;
}

/* PDGPU_TURN_THREADS, for measuring; unset: 0. */
static pd_status read_turn_threads(pd_simulation *self, int *threads) {
    const char *text = getenv("PDGPU_TURN_THREADS");
    *threads = 0;
    if (!text || !*text) return PD_OK;
    char *end;
    long value = strtol(text, &end, 10);
    if (*end || (value != 1 && value != 4 && value != 8 && value != 16 && value != 32))
        return pd_fail(&self->error, PD_ERROR_VALUE, "PDGPU_TURN_THREADS: expected 1, 4, 8, 16 or 32, got '%s'", text);
    *threads = (int)value;
    return PD_OK;
}

/* The corners of every element as places. */
static pd_status place_elements(builder *b, pd_vertex_sweep *out) {
    pd_simulation *self = b->simulation;
    for (int s = 0; s < self->n_sets; s++) {
        const pd_element_set *set = &self->sets[s];
        size_t count = (size_t)set->n * (size_t)pd_kind_shape_of(set->kind).vertices;
        int *places = malloc(count * sizeof(int) + 1);
        if (!places) return pd_fail(&self->error, PD_ERROR_MEMORY, "out of memory for a sweep over %d elements", set->n);
        for (size_t i = 0; i < count; i++) places[i] = b->place_of[set->vertices[i]];
        pd_status status = pd_upload(self->context, (void **)&out->corner_places[s], places, count * sizeof(int));
        free(places);
        if (status) return status;
    }
    return PD_OK;
}

pd_status pd_vertex_sweep_create(pd_vertex_sweep *out, pd_simulation *simulation, const int *colours, int grouped) {
    pd_status status = PD_OK;
    size_t n = (size_t)simulation->model.n_vertices;
    builder b = {.simulation = simulation};
    memset(out, 0, sizeof *out);
    PD_TRY(read_turn_threads(simulation, &out->turn_threads));
    b.order = malloc(n * sizeof(int) + 1);
    b.place_of = malloc(n * sizeof(int) + 1);
    b.vertices = malloc(n * sizeof(int) + 1);
    b.places = malloc(n * sizeof(int) + 1);
    b.first_corner = calloc((size_t)simulation->n_sets + 1, sizeof(int));
    b.kind_of_corner = malloc((size_t)simulation->corners.n_corners * sizeof(int) + 1);
    if (!b.order || !b.place_of || !b.vertices || !b.places || !b.first_corner || !b.kind_of_corner) {
        status = pd_fail(&simulation->error, PD_ERROR_MEMORY, "out of memory for a sweep over %zu vertices", n);
        goto done;
    }
    for (int s = 0, corner = 0; s < simulation->n_sets; s++) {
        int count = simulation->sets[s].n * pd_kind_shape_of(simulation->sets[s].kind).vertices;
        b.first_corner[s] = corner;
        for (int end = corner + count; corner < end; corner++) b.kind_of_corner[corner] = s;
    }
    if (colours) PD_TRY(check_colours(&b, colours));
    PD_TRY(pd_breadth_first_order(b.order, &simulation->pattern, &simulation->error));
    for (size_t place = 0; place < n; place++) b.place_of[b.order[place]] = (int)place;
    PD_TRY(sort_turns(&b, out, colours));
    PD_TRY(list_corners(&b, out, grouped));
    PD_TRY(place_elements(&b, out));
    PD_TRY(pd_upload(simulation->context, (void **)&out->order, b.order, n * sizeof(int)));
    PD_TRY(pd_upload(simulation->context, (void **)&out->vertices, b.vertices, (size_t)b.n * sizeof(int)));
    PD_TRY(pd_upload(simulation->context, (void **)&out->places, b.places, (size_t)b.n * sizeof(int)));
    out->colour_start = b.colour_start;
    b.colour_start = NULL;
done:
    builder_free(&b);
    if (status) pd_vertex_sweep_destroy(out, simulation->context);
    return status;
}
