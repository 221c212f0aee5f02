/* A penalty as a term of the incremental potential; see penalty.h. */
#include "contact/penalty/penalty.h"

#include "contact/detection/incidence.h"
#include "contact/detection/proximity.h"
#include "contact/growable_list.h"
#include "linear/upload.h"
#include "updates/contact/penalty_update.h"

#include <limits.h>
#include <stdlib.h>

struct pd_penalty {
    pd_context *context;
    pd_broad_phase *phase;
    pd_penalty_search search;
    int n_points, n_planes;
    pd_nearness near;
    real *start; /* B [n_points,3] */
    real *end;   /* B [n_points,3] */
    pd_work work;
    long long detections;
    int unread;                                     /* detections that the host has not read yet */
    pd_watched_capacities capacities;               /* counts and capacities of the last detection: of the broad phase, and of the pairs */
    uint64_t *most;                                 /* B [PD_MOST_WATCHED_CAPACITIES] the largest counts of these detections */
    uint64_t seen_most[PD_MOST_WATCHED_CAPACITIES]; /* the host's last copy of them and of `found` */
    uint64_t seen_found;

    size_t candidate_capacity;
    unsigned char *flags; /* B [candidate_capacity] */
    int *starts;          /* B [candidate_capacity / 32 + 2] */
    uint64_t *found;      /* B [1] */

    pd_active_pairs active;
    int *rows; /* B [active.capacity] their candidates */
    pd_frozen_pairs pairs;
    pd_incidence incidence;
    size_t pair_capacity, partial_capacity;
    uint64_t *keys, *scratch; /* B [4 pair_capacity] of roles */
    real *values, *corners;   /* B [capacity], [capacity,4,3] */
    double *partial;          /* B [capacity / PD_SUM_BLOCK + 2] */
    double *energy;           /* B [1] */
};

pd_status pd_penalty_create(pd_penalty **out, pd_context *context, const pd_penalty_description *d, pd_broad_phase *phase,
                            const pd_collider *fields, const pd_contact_scene *scene, int n_planes, const int *tested, int n_tested,
                            double stiffness, int n_points) {
    size_t n = (size_t)n_points;
    pd_status status = PD_OK;
    pd_penalty *self = *out = calloc(1, sizeof *self);
    if (!self) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for a penalty");
    self->context = context;
    self->phase = phase;
    self->n_points = n_points, self->n_planes = n_planes;
    self->pairs.stiffness = (real)stiffness;
    pd_penalty_search *search = &self->search;
    search->scene = *scene;
    search->thickness = scene->activation, search->depth = (real)d->depth;
    double kept = (double)PD_PENALTY_KEPT * (double)scene->activation + (double)scene->separation;
    self->near = (pd_nearness){d->depth > kept ? d->depth : kept, kept}; // edges are not searched for inside a body
    pd_candidates *c = &search->candidates;
    c->vertices = pd_broad_phase_primitives(phase, PD_VERTICES)->corners;
    c->edges = pd_broad_phase_primitives(phase, PD_EDGES)->corners;
    c->triangles = pd_broad_phase_primitives(phase, PD_TRIANGLES)->corners;
    c->radii = scene->radii, c->planes = scene->planes;
    PD_TRY(pd_upload_ints(context, (int **)(uintptr_t)&c->tested, tested, (size_t)n_tested));
    c->n_tested = n_tested;
    PD_TRY(pd_upload_ints(context, (int **)(uintptr_t)&search->outward, d->outward,
                          (size_t)pd_broad_phase_primitives(phase, PD_TRIANGLES)->n));
    PD_TRY(pd_upload_ints(context, (int **)(uintptr_t)&search->fields_of_planes, d->fields_of_planes, (size_t)n_planes));
    PD_TRY(pd_upload_ints(context, (int **)(uintptr_t)&search->ring_start, d->ring_start, n + 1));
    PD_TRY(pd_upload_ints(context, (int **)(uintptr_t)&search->rings, d->rings, (size_t)d->n_rings));
    size_t n_tets = (size_t)d->n_tets;
    PD_TRY(pd_upload_ints(context, (int **)(uintptr_t)&search->tets.corners, d->tets.corners, 4 * n_tets));
    PD_TRY(pd_upload_ints(context, (int **)(uintptr_t)&search->tets.neighbours, d->tets.neighbours, 4 * n_tets));
    PD_TRY(pd_upload_ints(context, (int **)(uintptr_t)&search->tets.behind, d->tets.behind,
                          (size_t)pd_broad_phase_primitives(phase, PD_TRIANGLES)->n));
    PD_TRY(pd_memory_create(context, (void **)&self->start, 3 * n * sizeof(real) + 1));
    PD_TRY(pd_memory_create(context, (void **)&self->end, 3 * n * sizeof(real) + 1));
    PD_TRY(pd_memory_create(context, (void **)&self->incidence.start, (n + 1) * sizeof(int)));
    PD_TRY(pd_memory_create(context, (void **)&self->found, sizeof *self->found));
    PD_TRY(pd_memory_create(context, (void **)&self->most, sizeof self->seen_most));
    PD_TRY(pd_memory_create(context, (void **)&self->energy, sizeof *self->energy));
    search->start = self->start, search->end = self->end, search->fields = fields;
    pd_penalty_forget(self);
    PD_TRY(pd_memory_clear(context, self->incidence.start, (n + 1) * sizeof(int)));
done:
    if (status) {
        pd_penalty_destroy(self);
        *out = NULL;
    }
    return status;
}

void pd_penalty_destroy(pd_penalty *self) {
    if (!self) return;
    const pd_penalty_search *s = &self->search;
    const void *memory[] = {s->candidates.tested,
                            s->outward,
                            s->fields_of_planes,
                            s->ring_start,
                            s->rings,
                            s->tets.corners,
                            s->tets.neighbours,
                            s->tets.behind,
                            self->start,
                            self->end,
                            self->work.memory,
                            self->flags,
                            self->starts,
                            self->found,
                            self->most,
                            self->active.kind,
                            self->active.points,
                            self->active.key,
                            self->rows,
                            self->pairs.at.points,
                            self->pairs.at.weights,
                            self->pairs.at.normals,
                            self->pairs.at.strength,
                            self->pairs.range,
                            self->pairs.offset,
                            self->incidence.start,
                            self->incidence.roles,
                            self->keys,
                            self->scratch,
                            self->values,
                            self->corners,
                            self->partial,
                            self->energy};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(self->context, (void *)(uintptr_t)memory[i]);
    free(self);
}

/* ---- detection ---------------------------------------------------------------------------------------------------------------------- */

pd_status pd_penalty_begin(pd_penalty *self, const real *y) {
    pd_penalty_forget(self);
    pd_status status = pd_memory_clear(self->context, self->most, sizeof self->seen_most);
    return status ? status : pd_memory_copy(self->context, self->start, y, 3 * (size_t)self->n_points * sizeof(real));
}

void pd_penalty_forget(pd_penalty *self) {
    self->pairs.at.n = 0, self->pairs.at.count = NULL;
    self->unread = 0;
}

static pd_status ensure_candidate_capacity(pd_penalty *self, size_t n) {
    const pd_growable lists[] = {PD_GROWABLE(self->flags, 1), {(void **)&self->starts, sizeof *self->starts, 32}};
    pd_status status = pd_growables_grow(self->context, n, "candidates", PD_GROWABLES(lists), &self->candidate_capacity, NULL);
    return status ? status : pd_work_grow(self->context, &self->work, self->candidate_capacity / 32 + 1);
}

static pd_status ensure_capacity(pd_penalty *self, size_t n) {
    pd_active_pairs *a = &self->active;
    pd_lagged_pairs *p = &self->pairs.at;
    const pd_growable found[] = {PD_GROWABLE(a->kind, 1), PD_GROWABLE(a->points, 4), PD_GROWABLE(a->key, 1), PD_GROWABLE(self->rows, 1)};
    const pd_growable lists[] = {PD_GROWABLE(p->points, 4),    PD_GROWABLE(p->weights, 4),        PD_GROWABLE(p->normals, 3),
                                 PD_GROWABLE(p->strength, 1),  PD_GROWABLE(self->pairs.range, 1), PD_GROWABLE(self->pairs.offset, 1),
                                 PD_GROWABLE(self->values, 1), PD_GROWABLE(self->corners, 12),    PD_GROWABLE(self->incidence.roles, 4),
                                 PD_GROWABLE(self->keys, 4),   PD_GROWABLE(self->scratch, 4)};
    const pd_growable partial[] = {{(void **)&self->partial, sizeof *self->partial, PD_SUM_BLOCK}};
    pd_status status = pd_growables_grow(self->context, n, "pairs that are near", PD_GROWABLES(found), &a->capacity, NULL);
    if (!status) status = pd_growables_grow(self->context, n, "pairs with a penalty", PD_GROWABLES(lists), &self->pair_capacity, NULL);
    if (!status)
        status =
            pd_growables_grow(self->context, n, "sums over pairs with a penalty", PD_GROWABLES(partial), &self->partial_capacity, NULL);
    return status ? status : pd_work_grow(self->context, &self->work, 4 * self->pair_capacity);
}

static pd_status list_roles(pd_penalty *self, size_t n) {
    pd_active_pairs named = self->active;
    named.points = self->pairs.at.points;
    return pd_incidence_list(self->context, n, &named, self->n_points, self->keys, self->scratch, &self->work, &self->incidence);
}

pd_status pd_penalty_detect_async(pd_penalty *self, const real *y) {
    pd_context *context = self->context;
    pd_candidates *c = &self->search.candidates;
    pd_pairs vertex_triangle, edge_edge;
    pd_watched_capacities *capacities = &self->capacities;
    pd_status status;
    self->pairs.at.n = 0;
    capacities->n = 0;
    PD_TRY(pd_memory_copy(context, self->end, y, 3 * (size_t)self->n_points * sizeof(real)));
    PD_TRY(pd_broad_phase_find_within_async(self->phase, self->start, self->end, &self->near, &vertex_triangle, &edge_edge, capacities));
    PD_TRY(pd_candidates_take(c, context, &vertex_triangle, &edge_edge, self->n_planes));
    PD_TRY(ensure_candidate_capacity(self, c->n));
    PD_TRY(ensure_capacity(self, 1));
    PD_TRY(pd_penalty_find(context, &self->search, self->flags));
    PD_TRY(pd_select_rows(context, c->n, self->flags, self->starts, &self->work, self->active.capacity, self->rows, self->found));
    pd_watch_capacity(capacities, self->found, self->active.capacity);
    PD_TRY(pd_keep_most(context, capacities, self->most));
    self->active.count = self->found;
    size_t n = self->active.capacity;
    if (pd_fetches_at_once(context)) { // the count is known: loops cover the pairs only
        PD_TRY(pd_memory_fetch(context, &self->seen_found, self->found, sizeof self->seen_found));
        if (self->seen_found < n) n = (size_t)self->seen_found;
    }
    PD_TRY(pd_active_fill(context, c, self->rows, &self->active));
    PD_TRY(pd_penalty_freeze(context, &self->search, &self->active, (int)n, &self->pairs));
    PD_TRY(list_roles(self, n));
    self->pairs.at.n = (int)n, self->pairs.at.count = self->found;
    self->unread++;
    self->detections++;
    pd_context_tally(context)->searches++;
done:
    return status;
}

pd_status pd_penalty_fetch(pd_penalty *self) {
    pd_status status = PD_OK;
    if (!self->unread) return PD_OK;
    PD_TRY(pd_broad_phase_fetch(self->phase));
    PD_TRY(pd_memory_fetch(self->context, self->seen_most, self->most, sizeof self->seen_most));
    PD_TRY(pd_memory_fetch(self->context, &self->seen_found, self->found, sizeof self->seen_found));
done:
    return status;
}

pd_status pd_penalty_detect_result(pd_penalty *self, int *complete) {
    const pd_watched_capacities *capacities = &self->capacities;
    uint64_t pairs = self->unread ? self->seen_most[capacities->n - 1] : 0;
    pd_status status = PD_OK;
    *complete = 1;
    if (!self->unread) return PD_OK;
    PD_TRY(pd_memory_clear(self->context, self->most, sizeof self->seen_most));
    if (capacities->n > 1) PD_TRY(pd_broad_phase_find_within_result(self->phase, self->seen_most, complete));
    if (pairs > self->active.capacity) {
        *complete = 0;
        if (pairs > INT_MAX / 4)
            return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY,
                           "%llu pairs have a penalty, at most %d are possible; take a smaller distance", (unsigned long long)pairs,
                           INT_MAX / 4);
        PD_TRY(ensure_capacity(self, (size_t)pairs));
    }
    if (!*complete) self->detections -= self->unread, pd_context_tally(self->context)->searches -= self->unread;
    self->pairs.at.n = *complete ? (int)self->seen_found : 0, self->pairs.at.count = NULL;
    self->unread = 0;
done:
    return status;
}

int pd_penalty_is_pending(const pd_penalty *self) { return self->unread; }

pd_status pd_penalty_detect(pd_penalty *self, const real *y) {
    pd_status status = PD_OK;
    for (int complete = 0; !complete;) {
        PD_TRY(pd_penalty_detect_async(self, y));
        PD_TRY(pd_penalty_fetch(self));
        PD_TRY(pd_context_synchronise(self->context));
        PD_TRY(pd_penalty_detect_result(self, &complete));
    }
done:
    if (status) pd_penalty_forget(self);
    return status;
}

/* ---- the potential ------------------------------------------------------------------------------------------------------------------- */

pd_status pd_penalty_potential(pd_penalty *self, const real *y, double *energy) {
    pd_status status = PD_OK;
    *energy = 0.0;
    if (self->pairs.at.n == 0) return PD_OK;
    PD_TRY(pd_penalty_batch(self->context, PD_PENALTY_ENERGY, &self->pairs, y, self->values));
    PD_TRY(pd_contact_sum(self->context, self->pairs.at.n, self->values, self->partial, 0, self->energy));
    PD_TRY(pd_memory_download(self->context, energy, self->energy, sizeof *energy));
done:
    return status;
}

pd_status pd_penalty_add_gradient(pd_penalty *self, const pd_model *model, const real *y, real *gradient) {
    if (self->pairs.at.n == 0) return PD_OK;
    pd_status status = pd_penalty_batch(self->context, PD_PENALTY_GRADIENT, &self->pairs, y, self->corners);
    return status ? status : pd_contact_gather(self->context, model, &self->incidence, self->corners, gradient);
}

pd_status pd_penalty_hessians(pd_penalty *self, const real *y, real *out) {
    return pd_penalty_batch(self->context, PD_PENALTY_HESSIAN, &self->pairs, y, out);
}

pd_status pd_penalty_mark_touching(pd_penalty *self, const real *y, int n_vertices, unsigned char *touching) {
    if (self->pairs.at.n == 0) return PD_OK;
    return pd_penalty_touching(self->context, n_vertices, &self->incidence, &self->pairs, y, touching);
}

/* ---- reports ------------------------------------------------------------------------------------------------------------------------- */

pd_penalty_view pd_penalty_pairs_of(const pd_penalty *self) { return (pd_penalty_view){self->pairs, self->incidence, self->active.key}; }

const real *pd_penalty_start(const pd_penalty *self) { return self->start; }

pd_status pd_penalty_read(pd_penalty *self, int quantity, const real *y, real *out) {
    size_t size = (size_t)pd_penalty_quantity_size(quantity);
    pd_status status = PD_OK;
    if (self->pairs.at.n == 0) return PD_OK;
    PD_TRY(pd_penalty_batch(self->context, quantity, &self->pairs, y, self->corners)); // its capacity suffices for every quantity
    PD_TRY(pd_memory_download(self->context, out, self->corners, (size_t)self->pairs.at.n * size * sizeof(real)));
done:
    return status;
}

pd_status pd_penalty_read_back(const pd_penalty *self, void *out, const void *column, size_t bytes) {
    return bytes ? pd_memory_download(self->context, out, column, bytes) : PD_OK;
}

long long pd_penalty_detections(const pd_penalty *self) { return self->detections; }
