/* The rigid bodies of a scene in a sweep; see rigid_descent.h. */
#include "dynamics/methods/rigid_descent.h"

#include "contact/growable_list.h"
#include "contact/potential/contact.h"
#include "dynamics/problem/line_search.h"
#include "dynamics/rigid/mechanisms.h"
#include "dynamics/rigid/rigid.h"
#include "linear/upload.h"
#include "loops/rigid_sweep_loops.h"
#include "updates/rigid/rigid_update.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The displacement of a body with a pair in a sweep, in activation distances: pairs are listed up to twice that beyond it. The maximum
 * in the first sweep of a step, then a multiple of the largest displacement in the previous sweep. */
static const double MOST_BOUND = 1.5, LEAST_BOUND = 0.25, MORE_BOUND = 2.0;

struct pd_rigid_descent {
    pd_body_sweep sweep;
    real *x, *offset, *points; /* B [n_vertices,3] the vertices after their move, and without contact the bodies too */
    int *order;                /* B [groups] */
    double *moved;             /* B */
    real *moves;               /* B [bodies,6] */
    unsigned char *beyond;     /* B */
    size_t roles;              /* their capacity */

    /* H */
    pd_mechanisms mechanisms; /* the groups of bodies that are solved together */
    int n, n_colours;
    double farthest;                        /* m, largest displacement in the last sweep */
    double *went;                           /* [bodies] */
    int *colour_of, *colour_start, *sorted; /* [groups], [groups+1], [groups] */
    size_t capacity;
    int *points_of, *neighbour_start, *neighbours; /* [capacity,4], [groups+1], [2 (capacity + n_joined)] */
    unsigned char *flags;                          /* [bodies] */
};

void pd_rigid_descent_destroy(pd_rigid_descent *self, pd_context *context) {
    if (!self) return;
    const pd_body_groups *groups = &self->sweep.groups;
    const void *memory[] = {self->x,
                            self->offset,
                            self->points,
                            self->order,
                            self->moved,
                            self->moves,
                            self->beyond,
                            self->sweep.body_of,
                            self->sweep.element_start,
                            self->sweep.elements,
                            self->sweep.own,
                            self->sweep.others,
                            self->sweep.gaps,
                            groups->start,
                            groups->members,
                            groups->place_of,
                            groups->group_of,
                            groups->column_start,
                            groups->rows,
                            groups->entries,
                            groups->ways,
                            groups->sums};
    void *host[] = {self->colour_of,       self->colour_start, self->sorted, self->points_of,
                    self->neighbour_start, self->neighbours,   self->flags,  self->went};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(context, (void *)(uintptr_t)memory[i]);
    for (size_t i = 0; i < sizeof host / sizeof *host; i++) free(host[i]);
    pd_mechanisms_destroy(&self->mechanisms);
    free(self);
}

/* ---- constant data ------------------------------------------------------------------------------------------------------------------ */

/* The elements of each body without a corner in an earlier body of its group, once each, in start [n+1]; `elements` NULL: only their
 * numbers. */
static void list_elements(const pd_rigid_descent *self, const pd_problem *problem, int *start, int *elements) {
    const pd_rigid *rigid = problem->rigid;
    const int *group_of = self->mechanisms.group_of;
    int n = 0;
    for (int b = 0; b < self->n; b++) {
        const pd_rigid_rows *rows = &rigid->bodies[b].rows;
        start[b] = n;
        for (int i = rows->first; i < rows->first + rows->n; i++)
            for (int s = problem->corners->start[i]; s < problem->corners->start[i + 1]; s++) {
                int element, position, first = 1;
                const pd_element_set *set = pd_corner_set(problem->sets, problem->corners->corners[s], &element, &position);
                const int *vertices = set->vertices + (size_t)element * (size_t)pd_kind_shape_of(set->kind).vertices;
                for (int j = 0; j < position; j++) {
                    int other = rigid->body_of[vertices[j]];
                    first = first && (other < 0 || group_of[other] != group_of[b]);
                }
                if (!first) continue;
                if (elements) elements[2 * n] = (int)(set - problem->sets), elements[2 * n + 1] = element;
                n++;
            }
    }
    start[self->n] = n;
}

static pd_status upload_groups(pd_rigid_descent *self, const pd_problem *problem) {
    const pd_mechanisms *of = &self->mechanisms;
    pd_context *context = problem->context;
    pd_body_groups *groups = &self->sweep.groups;
    pd_status status = PD_OK;
    size_t n = (size_t)of->n;
    const struct {
        const int **to, *from;
        size_t count;
    } lists[] = {{&groups->start, of->start, (size_t)of->n_groups + 1},
                 {&groups->members, of->members, n},
                 {&groups->place_of, of->place_of, n},
                 {&groups->group_of, of->group_of, n},
                 {&groups->column_start, of->column_start, n + 1},
                 {&groups->rows, of->rows, (size_t)of->n_blocks}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        PD_TRY(pd_upload_ints(context, (int **)(uintptr_t)lists[i].to, lists[i].from, lists[i].count));
    PD_TRY(pd_memory_create(context, (void **)&groups->entries, 36 * (size_t)of->n_blocks * sizeof(double)));
    PD_TRY(pd_memory_create(context, (void **)&groups->ways, n * sizeof(pd_body_way)));
    PD_TRY(pd_memory_create(context, (void **)&groups->sums, n * sizeof(pd_body_sum)));
done:
    return status;
}

static pd_status upload_lists(pd_rigid_descent *self, const pd_problem *problem) {
    const pd_rigid *rigid = problem->rigid;
    pd_context *context = problem->context;
    pd_status status = PD_OK;
    size_t n = (size_t)self->n;
    int *start = malloc((n + 1) * sizeof *start), *elements = NULL;
    if (!start) goto memory;
    PD_TRY(pd_mechanisms_create(&self->mechanisms, problem));
    PD_TRY(upload_groups(self, problem));
    list_elements(self, problem, start, NULL);
    elements = malloc(2 * (size_t)start[n] * sizeof *elements + 1);
    if (!elements) goto memory;
    list_elements(self, problem, start, elements);
    self->sweep.bodies = rigid->set.bodies;
    PD_TRY(pd_upload_ints(context, (int **)(uintptr_t)&self->sweep.body_of, rigid->body_of, (size_t)problem->model->n_vertices));
    PD_TRY(pd_upload_ints(context, (int **)(uintptr_t)&self->sweep.element_start, start, n + 1));
    PD_TRY(pd_upload_ints(context, (int **)(uintptr_t)&self->sweep.elements, elements, 2 * (size_t)start[n]));
    goto done;
memory:
    status = pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for %d rigid bodies", self->n);
done:
    free(start);
    free(elements);
    return status;
}

/* ---- colours ------------------------------------------------------------------------------------------------------------------------- */

static pd_status ensure_capacity(pd_rigid_descent *self, const pd_problem *problem, size_t n) {
    if (n <= self->capacity && self->neighbours) return PD_OK;
    size_t capacity = n + n / 2 + 64, entries = 2 * (capacity + (size_t)self->mechanisms.n_joined);
    free(self->points_of);
    free(self->neighbours);
    self->points_of = malloc(4 * capacity * sizeof *self->points_of);
    self->neighbours = malloc(entries * sizeof *self->neighbours);
    self->capacity = self->points_of && self->neighbours ? capacity : 0;
    if (!self->capacity) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for the colours of %zu pairs", n);
    return PD_OK;
}

/* Both groups of a pair; returns 0 if it does not have two. */
static int groups_of(const pd_rigid_descent *self, const pd_problem *problem, const int *points, int pair[2]) {
    int n = 0;
    for (int j = 0; j < 4 && n < 2; j++) {
        int body = points[j] >= 0 && points[j] < problem->model->n_vertices ? problem->rigid->body_of[points[j]] : -1;
        int group = body < 0 ? -1 : self->mechanisms.group_of[body];
        if (group >= 0 && (n == 0 || group != pair[0])) pair[n++] = group;
    }
    return n == 2;
}

static void count_neighbours(const int pair[2], int *where, int *neighbours) {
    for (int side = 0; side < 2; side++) {
        if (neighbours) neighbours[where[pair[side]]] = pair[1 - side];
        where[pair[side]]++;
    }
}

/* For each group those with a common term of G. */
static void list_neighbours(pd_rigid_descent *self, const pd_problem *problem, int n_pairs) {
    const pd_mechanisms *groups = &self->mechanisms;
    int *start = self->neighbour_start, pair[2];
    memset(start, 0, ((size_t)self->n + 2) * sizeof *start);
    for (int pass = 0; pass < 2; pass++) {
        int *where = pass ? start + 1 : start + 2; // the second pass leaves the final start
        int *neighbours = pass ? self->neighbours : NULL;
        for (int p = 0; p < n_pairs; p++)
            if (groups_of(self, problem, self->points_of + 4 * (size_t)p, pair)) count_neighbours(pair, where, neighbours);
        for (int e = 0; e < groups->n_joined; e++) {
            for (int side = 0; side < 2; side++) pair[side] = groups->group_of[groups->joined[2 * e + side]];
            if (pair[0] != pair[1]) count_neighbours(pair, where, neighbours);
        }
        for (int g = 0; g < groups->n_groups && !pass; g++) start[g + 2] += start[g + 1];
    }
}

/* Gives each group the smallest colour that no earlier neighbour has; sorts groups by colour in self->order. */
static pd_status colour_groups(pd_rigid_descent *self, const pd_problem *problem) {
    const int n_groups = self->mechanisms.n_groups;
    memset(self->colour_start, 0, ((size_t)self->n + 1) * sizeof *self->colour_start);
    self->n_colours = 0;
    for (int g = 0; g < n_groups; g++) {
        int begin = self->neighbour_start[g], end = self->neighbour_start[g + 1], colour = 0;
        for (int s = begin; s < end; s++)
            if (self->neighbours[s] < g) self->flags[self->colour_of[self->neighbours[s]]] = 1;
        while (colour < self->n_colours && self->flags[colour]) colour++;
        for (int s = begin; s < end; s++)
            if (self->neighbours[s] < g) self->flags[self->colour_of[self->neighbours[s]]] = 0;
        self->colour_of[g] = colour;
        self->colour_start[colour + 1]++;
        if (colour >= self->n_colours) self->n_colours = colour + 1;
    }
    for (int c = 0; c < self->n_colours; c++) self->colour_start[c + 1] += self->colour_start[c];
    int *next = self->neighbour_start; // not used any more
    memcpy(next, self->colour_start, (size_t)self->n_colours * sizeof *next);
    for (int g = 0; g < n_groups; g++) self->sorted[next[self->colour_of[g]]++] = g;
    return pd_memory_upload(problem->context, self->order, self->sorted, (size_t)n_groups * sizeof(int));
}

/* ---- creation ------------------------------------------------------------------------------------------------------------------------ */

pd_status pd_rigid_descent_create(pd_rigid_descent **out, const pd_problem *problem) {
    pd_status status = PD_OK;
    *out = NULL;
    if (!problem->rigid) return PD_OK;
    pd_rigid_descent *self = calloc(1, sizeof *self);
    if (!self) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    size_t n = (size_t)(self->n = problem->rigid->n);
    self->colour_of = calloc(n, sizeof *self->colour_of);
    self->colour_start = calloc(n + 1, sizeof *self->colour_start);
    self->sorted = calloc(n, sizeof *self->sorted);
    self->neighbour_start = calloc(n + 2, sizeof *self->neighbour_start);
    self->flags = calloc(n, 1);
    self->went = calloc(n, sizeof *self->went);
    if (!self->went || !self->colour_of || !self->colour_start || !self->sorted || !self->neighbour_start || !self->flags)
        PD_TRY(pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for %d rigid bodies", self->n));
    real **vectors[] = {&self->x, &self->offset, &self->points};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        PD_TRY(pd_memory_create(problem->context, (void **)vectors[i], pd_problem_bytes(problem)));
    PD_TRY(pd_memory_create(problem->context, (void **)&self->order, n * sizeof(int)));
    PD_TRY(pd_memory_create(problem->context, (void **)&self->moved, n * sizeof(double)));
    PD_TRY(pd_memory_create(problem->context, (void **)&self->moves, 6 * n * sizeof(real)));
    PD_TRY(pd_memory_create(problem->context, (void **)&self->beyond, n));
    PD_TRY(upload_lists(self, problem));
    pd_body_sweep *sweep = &self->sweep;
    sweep->order = self->order, sweep->start = self->x, sweep->offset = self->offset, sweep->points = self->points;
    sweep->moved = self->moved, sweep->moves = self->moves, sweep->beyond = self->beyond;
    sweep->touches = problem->contact != NULL;
    if (!problem->contact) { // neighbours are constant
        PD_TRY(ensure_capacity(self, problem, 0));
        list_neighbours(self, problem, 0);
        PD_TRY(colour_groups(self, problem));
    }
done:
    if (status)
        pd_rigid_descent_destroy(self, problem->context);
    else
        *out = self;
    return status;
}

/* ---- a sweep ------------------------------------------------------------------------------------------------------------------------- */

/* Limits the vertices to their displacement bounds, or to the first contact. */
static pd_status limit_vertices(pd_rigid_descent *self, const pd_problem *problem, pd_iterate *iterate) {
    pd_status status = PD_OK;
    double found[2], fraction;
    PD_TRY(pd_contact_largest_move(problem->contact, self->x, iterate->x, problem->scalars));
    PD_TRY(pd_memory_download(problem->context, found, problem->scalars, sizeof found));
    if (sqrt(found[0]) <= pd_contact_certain_bound(problem->contact)) return PD_OK;
    PD_TRY(pd_contact_limit(problem->contact, iterate->x, self->x, 0, &fraction));
    if (fraction == 1.0) return PD_OK;
    PD_TRY(pd_direction_scale(problem, iterate, fraction));
    PD_TRY(pd_point_along(problem, iterate, 1.0, self->x, self->offset));
done:
    return status;
}

/* The neighbour pairs at self->x, and the colours; `first` of the step. The listing distance of other users is restored. */
static pd_status find_pairs(pd_rigid_descent *self, const pd_problem *problem, int first) {
    pd_contact *contact = problem->contact;
    pd_body_sweep *sweep = &self->sweep;
    const pd_contact_scene *scene = pd_contact_scene_of(contact);
    pd_status status = PD_OK;
    double act = (double)scene->activation, before = pd_contact_lists_up_to(contact), rounding = pd_contact_rounding(contact);
    sweep->bound = first ? MOST_BOUND * act : fmin(fmax(MORE_BOUND * self->farthest, LEAST_BOUND * act), MOST_BOUND * act);
    pd_contact_list_up_to(contact, (double)scene->separation + act + 2.0 * sweep->bound + rounding, 0.0);
    status = pd_contact_find(contact, self->x);
    if (!status) status = pd_contact_distances(contact, &sweep->distance);
    pd_contact_list_up_to(contact, before, 0.0); // the pairs stay until the next search
    if (status) goto done;
    pd_contact_view view = pd_contact_pairs_of(contact);
    sweep->pairs = pd_contact_columns_pairs(&view.columns, view.n, NULL);
    sweep->potential = pd_contact_pair_potential(contact);
    sweep->incidence = view.incidence;
    sweep->points = (real *)(uintptr_t)pd_contact_points(contact); // for this sweep, until the next search
    sweep->rounding = rounding;
    sweep->displacement_bound = pd_contact_displacement_bounds_of(contact);
    sweep->by_bounds = pd_contact_uses_bounds(contact);
    sweep->lagged = view.friction.pairs, sweep->lagged_incidence = view.friction.incidence;
    sweep->slipping = view.friction.slipping;
    sweep->slipping.y = sweep->points;
    PD_TRY(ensure_capacity(self, problem, (size_t)(view.n + sweep->lagged.n)));
    const pd_growable lists[] = {PD_GROWABLE(sweep->own, 4), PD_GROWABLE(sweep->others, 4), PD_GROWABLE(sweep->gaps, 4)};
    PD_TRY(pd_growables_grow(problem->context, (size_t)view.n, "pairs of rigid bodies", PD_GROWABLES(lists), &self->roles, NULL));
    PD_TRY(pd_memory_download(problem->context, self->points_of, view.columns.points, 4 * (size_t)view.n * sizeof(int)));
    PD_TRY(pd_memory_download(problem->context, self->points_of + 4 * (size_t)view.n, sweep->lagged.points,
                              4 * (size_t)sweep->lagged.n * sizeof(int)));
    list_neighbours(self, problem, view.n + sweep->lagged.n);
    PD_TRY(colour_groups(self, problem));
done:
    return status;
}

pd_status pd_rigid_descent_bodies(pd_rigid_descent *self, const pd_problem *problem, const pd_contact_sweep *bounds, pd_iterate *iterate) {
    pd_context *context = problem->context;
    pd_status status = PD_OK;
    size_t n = (size_t)self->n;
    PD_TRY(pd_rigid_clear(problem, iterate->correction));
    PD_TRY(pd_point_along(problem, iterate, 1.0, self->x, self->offset));
    if (problem->contact) {
        self->sweep.bounds = *bounds;
        PD_TRY(limit_vertices(self, problem, iterate));
        PD_TRY(find_pairs(self, problem, iterate->number == 0));
    } else {
        PD_TRY(pd_memory_copy(context, self->points, self->x, pd_problem_bytes(problem)));
    }
    PD_TRY(pd_memory_clear(context, self->moved, n * sizeof(double)));
    PD_TRY(pd_memory_clear(context, self->beyond, n));
    for (int c = 0; c < self->n_colours; c++)
        PD_TRY(pd_sweep_bodies(context, problem->model, &problem->step, &self->sweep, self->colour_start[c],
                               self->colour_start[c + 1] - self->colour_start[c]));
    for (int b = 0; b < self->n; b++) {
        size_t at = 3 * (size_t)pd_rigid_first_carrier(&problem->rigid->bodies[b]);
        PD_TRY(pd_memory_copy(context, iterate->correction + at, self->moves + 6 * (size_t)b, 6 * sizeof(real)));
    }
    PD_TRY(pd_memory_download(context, self->flags, self->beyond, n));
    for (size_t b = 0; b < n; b++) iterate->beyond = iterate->beyond || self->flags[b];
    memset(self->flags, 0, n);
    PD_TRY(pd_memory_download(context, self->went, self->moved, n * sizeof *self->went));
    self->farthest = 0.0;
    for (size_t b = 0; b < n; b++) self->farthest = fmax(self->farthest, self->went[b]);
done:
    return status;
}
