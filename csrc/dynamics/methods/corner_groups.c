/* The corners of a sweep in groups of vector lanes, by families, and the list of all others; see corner_groups.h. */
#include "dynamics/methods/corner_groups.h"

#include "elements/shape_target_corner.h"
#include "elements/spring.h"
#include "elements/stvk_corner.h"
#include "linear/upload.h"
#include "threads/team.h"
#include "updates/elements/vertex_correction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* For each family: the numbers of other vertices, slots and numbers of a corner. */
static const struct {
    int others, slots, numbers;
} layout[PD_CORNER_FAMILIES] = {{3, 3, PD_CORNER_NUMBERS},
                                {3, 3, PD_ROTATED_NUMBERS},
                                {3, PD_TARGET_SLOTS, PD_TARGET_NUMBERS},
                                {2, 2, PD_STVK_NUMBERS},
                                {1, 1, PD_SPRING_NUMBERS}};

enum { PIECE = 1 << 17, MOST_NUMBERS = PD_ROTATED_NUMBERS }; /* updates; numbers of a corner of any family */

void pd_corner_groups_destroy(pd_vertex_sweep *sweep, pd_context *context) {
    void *memory[] = {sweep->updates,          sweep->corner_start,     sweep->corners,
                      sweep->neighbours.start, sweep->neighbours.slots, sweep->neighbours.weights};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(context, memory[i]);
    for (int f = 0; f < PD_CORNER_FAMILIES; f++) {
        pd_memory_destroy(context, sweep->groups[f].start);
        pd_memory_destroy(context, sweep->groups[f].records);
    }
}

int pd_corner_family(const pd_element_set *set, int element, int grouped) {
    pd_kind_shape shape = pd_kind_shape_of(set->kind);
    if (!grouped) return PD_CORNERS_SINGLE;
    if (shape.corners == PD_CORNERS_QUADRATIC && set->parameters[2 * (size_t)element + 1] > 0.0) return PD_CORNERS_SINGLE; // bent at rest
    if (grouped == PD_GROUPS_EXACT && shape.corners != PD_CORNERS_NEO_HOOKEAN && shape.corners != PD_CORNERS_QUADRATIC)
        return PD_CORNERS_SINGLE;
    return shape.corners;
}

/* ---- numbers of corners ---------------------------------------------------------------------------------------------------------- */

/* The three other corners of a tet, in an order that orients their face towards the corner in front. */
static const int opposite[4][3] = {{1, 3, 2}, {0, 2, 3}, {0, 3, 1}, {0, 1, 2}};

/* Rest gradients of the three other corners of a tet, [9], in the order of rotated_corner.h and shape_target_corner.h. */
static void other_gradients(const double *rest, int corner, double numbers[9]) {
    for (int j = 0; j < 3; j++)
        for (int c = 0; c < 3; c++) {
            int other = opposite[corner][j];
            numbers[3 * j + c] = other > 0 ? rest[3 * (other - 1) + c] : -(rest[c] + rest[3 + c] + rest[6 + c]);
        }
}

/* Numbers of a neo-Hookean tet's corner, and mu V |g_i|^2; see pd_neo_hookean_corner. */
static double neo_hookean_numbers(const double *rest, const double *parameters, int corner, double numbers[PD_CORNER_NUMBERS]) {
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

/* Numbers of a StVK triangle's corner; see stvk_corner.h. */
static void stvk_numbers(const double *rest, const double *parameters, int corner, double numbers[PD_STVK_NUMBERS]) {
    const double g[3][2] = {{-(rest[0] + rest[2]), -(rest[1] + rest[3])}, {rest[0], rest[1]}, {rest[2], rest[3]}};
    const double *i = g[corner], *a = g[(corner + 1) % 3], *b = g[(corner + 2) % 3], size = sqrt(i[0] * i[0] + i[1] * i[1]);
    numbers[PD_STVK_A1] = size > 0.0 ? (a[0] * i[0] + a[1] * i[1]) / size : 0.0;
    numbers[PD_STVK_B1] = size > 0.0 ? (b[0] * i[0] + b[1] * i[1]) / size : 0.0;
    numbers[PD_STVK_A2] = size > 0.0 ? (a[1] * i[0] - a[0] * i[1]) / size : 0.0;
    numbers[PD_STVK_WEIGHT] = parameters[0];
    numbers[PD_STVK_LAME] = parameters[1];
}

/* The numbers of a corner of a family, and its addition to the constant part of the block, N/m. */
static double corner_numbers(const pd_element_set *set, int family, int element, int corner, double numbers[MOST_NUMBERS]) {
    pd_kind_shape shape = pd_kind_shape_of(set->kind);
    const double *parameters = set->parameters + (size_t)shape.parameters * (size_t)element;
    const double *rest = set->rest + (size_t)shape.rest * (size_t)element;
    if (family == PD_CORNERS_NEO_HOOKEAN) return neo_hookean_numbers(rest, parameters, corner, numbers);
    if (family == PD_CORNERS_ROTATED || family == PD_CORNERS_TARGET) {
        other_gradients(rest, corner, numbers);
        numbers[family == PD_CORNERS_TARGET ? PD_TARGET_WEIGHT : PD_ROTATED_WEIGHT] = parameters[0];
    }
    if (family == PD_CORNERS_ROTATED) numbers[PD_ROTATED_LAME] = shape.parameters > 1 ? parameters[1] : 0.0;
    if (family == PD_CORNERS_STVK_TRIANGLE) stvk_numbers(rest, parameters, corner, numbers);
    if (family == PD_CORNERS_SPRING) {
        numbers[PD_SPRING_STIFFNESS] = parameters[0];
        numbers[PD_SPRING_LENGTH] = parameters[1];
        numbers[PD_SPRING_SIGN] = corner == 0 ? 1.0 : -1.0;
    }
    return 0.0;
}

/* w c_i^2 of corner i of an element w/2 |sum c_i x_i|^2, N/m. */
static double quadratic_stiffness(const pd_element_set *set, int element, int corner) {
    pd_kind_shape shape = pd_kind_shape_of(set->kind);
    const double *rest = set->rest + (size_t)shape.rest * (size_t)element;
    double c = corner > 0 ? rest[corner - 1] : 0.0;
    for (int i = 1; i < shape.vertices && corner == 0; i++) c -= rest[i - 1];
    return set->parameters[(size_t)shape.parameters * (size_t)element] * c * c;
}

/* Vertex j of the other vertices of a corner of a family. */
static int other_corner(int family, int corner, int j) {
    if (layout[family].others == 3) return opposite[corner][j];
    return (corner + 1 + j) % (layout[family].others + 1);
}

/* ---- groups ------------------------------------------------------------------------------------------------------------------------ */

/* The corners of each update: groups of lanes, by families, and a list of all others. They are written for a piece of the updates at a
 * time, in host memory that is reused for the next piece: together they are the largest arrays of a simulation. */
typedef struct group_list {
    int *start;   /* [n+1] */
    size_t first; /* of the piece */
    size_t most;  /* maximum of groups in a piece */
    char *records;
} group_list;

typedef struct corner_lists {
    int *corner_start;   /* [n+1] */
    size_t first_corner; /* of the piece */
    int *corners;
    pd_update *updates; /* [n] all */
    group_list groups[PD_CORNER_FAMILIES];
} corner_lists;

static size_t group_bytes(int family) { return pd_corner_group_bytes(layout[family].numbers, layout[family].slots, pd_corner_lanes()); }

static size_t piece_end(const pd_sweep_order *order, size_t first) {
    return first + PIECE < (size_t)order->n ? first + PIECE : (size_t)order->n;
}

/* Counts the corners and groups of each update. */
static void count_corners(const pd_sweep_order *order, corner_lists *lists) {
    const pd_problem *self = order->problem;
    int width = pd_corner_lanes();
#pragma omp parallel for num_threads(pd_team(pd_context_threads(self->context), order->n, 100)) schedule(static)
    for (int t = 0; t < order->n; t++) {
        int vertex = order->vertices[t], lanes[PD_CORNER_FAMILIES + 1] = {0}, others = 0;
        for (int s = self->corners->start[vertex]; s < self->corners->start[vertex + 1]; s++) {
            int element, position;
            const pd_element_set *set = pd_corner_set(self->sets, self->corners->corners[s], &element, &position);
            int family = pd_corner_family(set, element, order->grouped);
            if (family >= 0)
                lanes[family]++;
            else
                others++;
        }
        lists->corner_start[t + 1] = others;
        for (int f = 0; f < PD_CORNER_FAMILIES; f++) lists->groups[f].start[t + 1] = (lanes[f] + width - 1) / width;
    }
    for (size_t t = 0; t < (size_t)order->n; t++) { // no sum exceeds the number of corners, an int
        lists->corner_start[t + 1] += lists->corner_start[t];
        for (int f = 0; f < PD_CORNER_FAMILIES; f++) lists->groups[f].start[t + 1] += lists->groups[f].start[t];
    }
}

/* The numbers of a group, followed by its slots. */
static real *numbers_of(const group_list *list, int family, size_t group) { return (real *)(list->records + group * group_bytes(family)); }

static int *slots_of(const group_list *list, int family, size_t group) {
    return (int *)(numbers_of(list, family, group) + (size_t)layout[family].numbers * (size_t)pd_corner_lanes());
}

/* An unused lane reads the vertex itself and multiplies it by zero. */
static void clear_groups(group_list *list, int family, int slot, size_t group, size_t end) {
    size_t slots = (size_t)layout[family].others * (size_t)pd_corner_lanes();
    for (; group < end; group++) {
        memset(numbers_of(list, family, group), 0, group_bytes(family));
        for (size_t i = 0; i < slots; i++) slots_of(list, family, group)[i] = slot;
    }
}

/* The only family of corners in an update of a kind, -1: any. */
static int family_of(const pd_sweep_order *order, int t) {
    return order->kinds[t] == PD_UPDATES_NEO_HOOKEAN ? PD_CORNERS_NEO_HOOKEAN
           : order->kinds[t] == PD_UPDATES_ROTATED   ? PD_CORNERS_ROTATED
                                                     : -1;
}

static void list_update(const pd_sweep_order *order, corner_lists *lists, double inverse_h2, int t) {
    const pd_problem *self = order->problem;
    int vertex = order->vertices[t];
    int *corners = lists->corners + 2 * ((size_t)lists->corner_start[t] - lists->first_corner);
    int lanes[PD_CORNER_FAMILIES] = {0}, width = pd_corner_lanes(), only = family_of(order, t);
    double constant = self->masses[vertex] * inverse_h2;
    for (int f = 0; f < PD_CORNER_FAMILIES; f++) {
        group_list *list = &lists->groups[f];
        clear_groups(list, f, order->slots[t], (size_t)list->start[t] - list->first, (size_t)list->start[t + 1] - list->first);
    }
    for (int s = self->corners->start[vertex]; s < self->corners->start[vertex + 1]; s++) {
        int element, position;
        const pd_element_set *set = pd_corner_set(self->sets, self->corners->corners[s], &element, &position);
        int family = pd_corner_family(set, element, order->grouped);
        if (family == PD_CORNERS_SINGLE) {
            *corners++ = (int)(set - self->sets);
            *corners++ = element * pd_kind_shape_of(set->kind).vertices + position;
            continue;
        }
        if (family == PD_CORNERS_QUADRATIC) {
            constant += quadratic_stiffness(set, element, position);
            continue;
        }
        double values[MOST_NUMBERS];
        constant += corner_numbers(set, family, element, position, values);
        int k = pd_kind_shape_of(set->kind).vertices;
        const group_list *list = &lists->groups[family];
        size_t group = (size_t)list->start[t] - list->first + (size_t)(lanes[family] / width), l = (size_t)(lanes[family] % width);
        for (int j = 0; j < layout[family].others; j++)
            slots_of(list, family, group)[(size_t)(j * width) + l] =
                order->slot_of[set->vertices[(size_t)k * (size_t)element + (size_t)other_corner(family, position, j)]];
        if (family == PD_CORNERS_TARGET) slots_of(list, family, group)[(size_t)(3 * width) + l] = element;
        for (int j = 0; j < layout[family].numbers; j++) numbers_of(list, family, group)[(size_t)(j * width) + l] = (real)values[j];
        lanes[family]++;
    }
    lists->updates[t] = (pd_update){.vertex = vertex,
                                    .slot = order->slots[t],
                                    .first = only < 0 ? 0 : lists->groups[only].start[t],
                                    .end = only < 0 ? 0 : lists->groups[only].start[t + 1],
                                    .diagonal = (real)constant,
                                    .mass = (real)self->masses[vertex]};
}

/* Host memory for the groups of a piece, backend memory for all. */
static pd_status make_groups(const pd_sweep_order *order, group_list *list, pd_corner_groups *out, int family) {
    const pd_problem *self = order->problem;
    pd_status status = PD_OK;
    size_t n = (size_t)order->n, groups = (size_t)list->start[n];
    for (size_t first = 0; first < n; first += PIECE) {
        size_t here = (size_t)(list->start[piece_end(order, first)] - list->start[first]);
        if (here > list->most) list->most = here;
    }
    if (groups == 0) return PD_OK;
    list->records = malloc(list->most * group_bytes(family));
    if (!list->records) return pd_fail(self->error, PD_ERROR_MEMORY, "out of memory for a sweep over %d vertices", order->n);
    PD_TRY(pd_memory_create(self->context, (void **)&out->records, groups * group_bytes(family)));
    PD_TRY(pd_upload(self->context, (void **)&out->start, list->start, (n + 1) * sizeof(int)));
done:
    return status;
}

static pd_status upload_groups(const pd_sweep_order *order, const group_list *list, pd_corner_groups *out, int family, size_t end) {
    size_t bytes = group_bytes(family), groups = (size_t)list->start[end] - list->first;
    if (groups == 0) return PD_OK;
    return pd_memory_upload(order->problem->context, out->records + bytes * list->first, list->records, bytes * groups);
}

pd_status pd_corner_groups_create(const pd_sweep_order *order, pd_vertex_sweep *out) {
    const pd_problem *self = order->problem;
    pd_context *context = self->context;
    pd_status status = PD_OK;
    size_t n = (size_t)order->n, most_corners = 0;
    double inverse_h2 = self->h > 0 ? 1.0 / (self->h * self->h) : 0.0;
    corner_lists lists = {.corner_start = calloc(n + 1, sizeof(int)), .updates = malloc(n * sizeof *lists.updates + 1)};
    if (!lists.corner_start || !lists.updates) goto memory;
    for (int f = 0; f < PD_CORNER_FAMILIES; f++)
        if (!(lists.groups[f].start = calloc(n + 1, sizeof(int)))) goto memory;
    count_corners(order, &lists);
    for (size_t first = 0; first < n; first += PIECE) {
        size_t corners = (size_t)(lists.corner_start[piece_end(order, first)] - lists.corner_start[first]);
        if (corners > most_corners) most_corners = corners;
    }
    lists.corners = malloc(most_corners * 2 * sizeof(int) + 1);
    if (!lists.corners) goto memory;

    PD_TRY(pd_memory_create(context, (void **)&out->corners, (size_t)lists.corner_start[n] * 2 * sizeof(int)));
    for (int f = 0; f < PD_CORNER_FAMILIES; f++) PD_TRY(make_groups(order, &lists.groups[f], &out->groups[f], f));
    for (size_t first = 0; first < n; first += PIECE) {
        size_t end = piece_end(order, first);
        lists.first_corner = (size_t)lists.corner_start[first];
        for (int f = 0; f < PD_CORNER_FAMILIES; f++) lists.groups[f].first = (size_t)lists.groups[f].start[first];
#pragma omp parallel for num_threads(pd_team(pd_context_threads(context), (long long)(end - first), 300)) schedule(static)
        for (int t = (int)first; t < (int)end; t++) list_update(order, &lists, inverse_h2, t);
        size_t corners = (size_t)lists.corner_start[end] - lists.first_corner;
        PD_TRY(pd_memory_upload(context, out->corners + 2 * lists.first_corner, lists.corners, corners * 2 * sizeof(int)));
        for (int f = 0; f < PD_CORNER_FAMILIES; f++) PD_TRY(upload_groups(order, &lists.groups[f], &out->groups[f], f, end));
    }
    for (int k = 0; k < self->model->n_kinds; k++)
        if (self->model->kinds[k].kind == PD_SHAPE_TARGET) out->groups[PD_CORNERS_TARGET].parameters = self->model->kinds[k].parameters;
    out->n_corners = lists.corner_start[n];
    PD_TRY(pd_upload(context, (void **)&out->corner_start, lists.corner_start, (n + 1) * sizeof(int)));
    PD_TRY(pd_upload(context, (void **)&out->updates, lists.updates, n * sizeof *lists.updates));
    goto done;
memory:
    status = pd_fail(self->error, PD_ERROR_MEMORY, "out of memory for a sweep over %d vertices", order->n);
done:
    free(lists.corner_start);
    free(lists.corners);
    free(lists.updates);
    for (int f = 0; f < PD_CORNER_FAMILIES; f++) {
        free(lists.groups[f].start);
        free(lists.groups[f].records);
    }
    return status;
}
