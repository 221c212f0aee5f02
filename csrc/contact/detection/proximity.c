/* The candidate list and the active pairs; see proximity.h. */
#include "contact/detection/proximity.h"

#include "contact/detection/incidence.h"
#include "contact/detection/side_names.h"
#include "contact/growable_list.h"
#include "linear/upload.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

enum { FEWEST_ACTIVE = 1024 };

/* An int numbers the four roles of each active pair. */
enum { MOST_ACTIVE = INT_MAX / 4 };

/* Results of the loops that the host needs. */
typedef struct findings {
    uint64_t active, chosen;
    double move[2]; /* pd_largest_move */
} findings;

struct pd_proximity {
    pd_context *context;
    pd_broad_phase *phase;
    pd_surface *surface;
    pd_colliders *colliders;
    int *tested, *collider_owner; /* B */
    findings *findings;           /* B [1] */
    pd_work work;
    long long revision;

    double range, moved, size;
    real *previous;       /* B [n_points,3] the points at the last update of the bound */
    const int *positions; /* pd_proximity_set_scene */
    int n_positions;
    int placed; /* 0: `previous` is not set */

    pd_candidates candidates;
    size_t candidate_capacity;
    unsigned char *support; /* B [candidate_capacity] */
    int *starts;            /* B [candidate_capacity / 32 + 2] */

    findings seen; /* of pd_proximity_activate_async */
    int searching; /* pd_proximity_activate_async has enqueued a search up to this distance: */
    double searched;

    size_t n_active;
    real limit; /* of the active pairs, m */
    pd_active_pairs active;
    int *rows; /* B [active.capacity] their candidates */

    size_t key_capacity;
    uint64_t *keys, *scratch; /* B [key_capacity] */

    size_t n_chosen, choice_capacity;
    int unique;
    pd_side_names sides;
    uint64_t *names;      /* B [choice_capacity] names of nearest features */
    unsigned char *first; /* B [choice_capacity] */
    int *chosen;          /* B [choice_capacity] */

    pd_incidence incidence;

    size_t measured_capacity;
    pd_contact_measures measured; /* transfer buffer, if the backend is a device */
};

/* ---- capacities ------------------------------------------------------------------------------------------------------------- */

static pd_status ensure_candidate_capacity(pd_proximity *p, size_t n) {
    const pd_growable lists[] = {PD_GROWABLE(p->support, 1), {(void **)&p->starts, sizeof *p->starts, 32}};
    pd_status status = pd_growables_grow(p->context, n, "candidates", PD_GROWABLES(lists), &p->candidate_capacity, &p->revision);
    return status ? status : pd_work_grow(p->context, &p->work, p->candidate_capacity / 32 + 1);
}

static pd_status ensure_active_capacity(pd_proximity *p, size_t n) {
    pd_active_pairs *a = &p->active;
    const pd_growable lists[] = {PD_GROWABLE(a->kind, 1), PD_GROWABLE(a->points, 4), PD_GROWABLE(a->key, 1), PD_GROWABLE(p->rows, 1)};
    return pd_growables_grow(p->context, n, "pairs that are near", PD_GROWABLES(lists), &a->capacity, &p->revision);
}

static pd_status ensure_key_capacity(pd_proximity *p, size_t n) {
    const pd_growable lists[] = {PD_GROWABLE(p->keys, 1), PD_GROWABLE(p->scratch, 1)};
    pd_status status = pd_growables_grow(p->context, n, "keys of pairs that are near", PD_GROWABLES(lists), &p->key_capacity, &p->revision);
    return status ? status : pd_work_grow(p->context, &p->work, p->key_capacity);
}

/* ---- creation and destruction ------------------------------------------------------------------------------------------------- */

pd_status pd_proximity_create(pd_proximity **out, pd_context *context, pd_broad_phase *phase, pd_surface *surface, pd_colliders *colliders,
                              const int *tested, int n_tested, const int *collider_owner) {
    pd_status status = PD_OK;
    pd_proximity *p = *out = calloc(1, sizeof *p);
    if (!p) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for a proximity set");
    p->context = context;
    p->phase = phase, p->surface = surface, p->colliders = colliders;
    PD_TRY(pd_upload_ints(context, &p->tested, tested, (size_t)n_tested));
    PD_TRY(pd_upload_ints(context, &p->collider_owner, collider_owner, (size_t)colliders->n));
    PD_TRY(pd_memory_create(context, (void **)&p->findings, sizeof *p->findings));
    PD_TRY(pd_memory_create(context, (void **)&p->previous, 3 * (size_t)surface->n_points * sizeof(real) + 1));
    PD_TRY(pd_memory_create(context, (void **)&p->incidence.start, ((size_t)surface->n_points + 1) * sizeof *p->incidence.start));
    PD_TRY(pd_side_names_create(&p->sides, context, surface->n_points, pd_broad_phase_primitives(phase, PD_EDGES),
                                pd_broad_phase_primitives(phase, PD_TRIANGLES)));
    PD_TRY(ensure_active_capacity(p, FEWEST_ACTIVE));
    p->active.count = &p->findings->active;
    p->candidates.vertices = pd_broad_phase_primitives(phase, PD_VERTICES)->corners;
    p->candidates.edges = pd_broad_phase_primitives(phase, PD_EDGES)->corners;
    p->candidates.triangles = pd_broad_phase_primitives(phase, PD_TRIANGLES)->corners;
    p->candidates.colliders = colliders->memory;
    p->candidates.tested = p->tested;
    p->candidates.n_tested = n_tested;
    p->n_positions = surface->n_points;
done:
    if (status) {
        pd_proximity_destroy(p);
        *out = NULL;
    }
    return status;
}

void pd_proximity_set_scene(pd_proximity *p, const real *radii, const int *planes, const int *positions, int n_positions) {
    p->candidates.radii = radii;
    p->candidates.planes = planes;
    if (positions) p->positions = positions, p->n_positions = n_positions;
}

void pd_proximity_destroy(pd_proximity *p) {
    if (!p) return;
    const pd_contact_measures *m = &p->measured;
    void *all[] = {p->tested,      p->collider_owner, p->findings,       p->work.memory,   p->previous,        p->names,
                   p->support,     p->starts,         p->rows,           p->keys,          p->scratch,         p->first,
                   p->active.kind, p->active.points,  p->active.key,     p->chosen,        p->incidence.start, p->incidence.roles,
                   m->kind,        m->feature,        m->points,         m->weights,       m->distance,        m->normal,
                   m->closest,     m->bodies,         p->sides.of_edges, p->sides.of_sides};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) pd_memory_destroy(p->context, all[i]);
    free(p);
}

/* ---- candidates --------------------------------------------------------------------------------------------------------------- */

static pd_status read_findings(const pd_proximity *p, findings *seen) {
    return pd_memory_download(p->context, seen, p->findings, sizeof *seen);
}

pd_status pd_candidates_take(pd_candidates *c, pd_context *context, const pd_pairs *vertex_triangle, const pd_pairs *edge_edge,
                             int n_colliders) {
    size_t n = vertex_triangle->n + edge_edge->n + (size_t)n_colliders * (size_t)c->n_tested;
    if (n > INT_MAX)
        return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "%zu candidate pairs, at most %d are possible; take a smaller distance",
                       n, INT_MAX);
    c->vertex_triangle = vertex_triangle->pairs, c->n_vertex_triangle = vertex_triangle->n;
    c->edge_edge = edge_edge->pairs, c->n_edge_edge = edge_edge->n;
    c->count_vertex_triangle = vertex_triangle->count, c->count_edge_edge = edge_edge->count;
    c->n = n;
    return PD_OK;
}

/* Displacements are measured from the present points from now on. */
static pd_status keep_points(pd_proximity *p) {
    return pd_memory_copy(p->context, p->previous, p->surface->points, 3 * (size_t)p->surface->n_points * sizeof(real));
}

/* Without a successful search there are no candidates and no valid bound. */
void pd_proximity_forget(pd_proximity *p) {
    pd_candidates *c = &p->candidates;
    c->n = c->n_vertex_triangle = c->n_edge_edge = p->n_active = p->n_chosen = 0;
    p->range = 0.0;
    p->moved = HUGE_VAL;
    p->placed = 0;
}

pd_status pd_proximity_search(pd_proximity *p, double range) {
    const real *points = p->surface->points;
    const pd_nearness within = {range, range};
    pd_pairs vertex_triangle, edge_edge;
    pd_status status;
    pd_proximity_forget(p);
    // pd_broad_phase_find_within would synchronise a device once more
    if (pd_fetches_at_once(p->context))
        PD_TRY(pd_broad_phase_find_within(p->phase, points, points, &within, &vertex_triangle, &edge_edge));
    else
        PD_TRY(pd_broad_phase_find(p->phase, points, NULL, 0.5 * range, 0, &vertex_triangle, &edge_edge));
    PD_TRY(pd_candidates_take(&p->candidates, p->context, &vertex_triangle, &edge_edge, p->colliders->n));
    PD_TRY(keep_points(p));
    p->range = range;
    p->placed = 1;
done:
    return status;
}

double pd_proximity_lower(const pd_proximity *p, double distance) {
    if (p->moved == 0.0) return distance;
    /* the displacement has an error below 1e-14 of itself and of the coordinates */
    double move = p->moved + 1e-14 * (p->moved + p->size), lower = distance - 2.0 * move;
    return lower - 1e-15 * fabs(lower);
}

/* Lowers the bound by the displacement of the points. Returns 0 without a displacement. */
static int lower_range(pd_proximity *p, const findings *seen) {
    p->moved = sqrt(seen->move[0]);
    p->size = seen->move[1];
    p->range = pd_proximity_lower(p, p->range);
    return p->moved != 0.0;
}

pd_status pd_proximity_update(pd_proximity *p, double minimum, double maximum, int *searched) {
    pd_context *context = p->context;
    int n = p->n_positions;
    pd_status status = PD_OK;
    *searched = 0;
    if (n > 0) {
        findings seen;
        PD_TRY(pd_largest_move(context, n, p->positions, p->surface->points, p->previous, p->findings->move));
        PD_TRY(read_findings(p, &seen));
        int moved = lower_range(p, &seen);
        if (p->placed && !moved && p->range > minimum) return PD_OK;
        if (p->range > minimum) PD_TRY(keep_points(p));
    }
    if (!p->placed || !(p->range > minimum)) {
        PD_TRY(pd_proximity_search(p, maximum));
        *searched = 1;
    }
done:
    return status;
}

double pd_proximity_moved(const pd_proximity *p) { return p->moved; }

double pd_proximity_size(const pd_proximity *p) { return p->size; }

double pd_proximity_range(const pd_proximity *p) { return p->range; }

void pd_proximity_pairs(const pd_proximity *p, pd_pairs *vertex_triangle, pd_pairs *edge_edge) {
    *vertex_triangle = (pd_pairs){p->candidates.n_vertex_triangle, (int *)(uintptr_t)p->candidates.vertex_triangle, NULL};
    *edge_edge = (pd_pairs){p->candidates.n_edge_edge, (int *)(uintptr_t)p->candidates.edge_edge, NULL};
}

/* ---- active pairs -------------------------------------------------------------------------------------------------------------- */

/* Lists the active pairs, up to the capacity. */
static pd_status list_active(pd_proximity *p) {
    pd_active_pairs *a = &p->active;
    pd_status status;
    PD_TRY(pd_select_rows(p->context, p->candidates.n, p->support, p->starts, &p->work, a->capacity, p->rows, a->count));
    PD_TRY(pd_active_fill(p->context, &p->candidates, p->rows, a));
done:
    return status;
}

static pd_status measure_candidates(pd_proximity *p, double distance) {
    pd_status status;
    PD_TRY(ensure_candidate_capacity(p, p->candidates.n));
    p->limit = (real)distance;
    PD_TRY(pd_candidate_support(p->context, &p->candidates, p->surface->points, p->limit, p->support));
    PD_TRY(list_active(p));
done:
    return status;
}

/* Takes n active pairs, after an increase of the capacity if necessary. */
static pd_status take_active(pd_proximity *p, uint64_t n) {
    pd_status status = PD_OK;
    if (n > MOST_ACTIVE)
        return pd_fail(pd_context_error(p->context), PD_ERROR_MEMORY,
                       "%llu pairs within the distance, at most %d are possible; take a smaller distance", (unsigned long long)n,
                       MOST_ACTIVE);
    if (n > p->active.capacity) {
        PD_TRY(ensure_active_capacity(p, (size_t)n));
        PD_TRY(list_active(p));
    }
    p->n_active = (size_t)n;
done:
    return status;
}

pd_status pd_proximity_activate(pd_proximity *p, double distance) {
    findings seen;
    pd_status status;
    p->n_chosen = 0;
    PD_TRY(measure_candidates(p, distance));
    PD_TRY(read_findings(p, &seen));
    PD_TRY(take_active(p, seen.active));
done:
    if (status) p->n_active = 0;
    return status;
}

pd_status pd_proximity_activate_async(pd_proximity *p, double distance, double maximum, double expected, pd_active_pairs *active) {
    pd_context *context = p->context;
    pd_status status;
    p->searching = !p->placed || !(p->range - 2.0 * expected > distance);
    p->n_active = p->n_chosen = 0;
    p->seen = (findings){0};
    PD_TRY(pd_largest_move(context, p->n_positions, p->positions, p->surface->points, p->previous, p->findings->move));
    if (p->searching) {
        pd_pairs vertex_triangle, edge_edge;
        pd_proximity_forget(p);
        p->searched = maximum;
        PD_TRY(pd_broad_phase_find_async(p->phase, p->surface->points, NULL, 0.5 * maximum, &vertex_triangle, &edge_edge));
        PD_TRY(pd_candidates_take(&p->candidates, p->context, &vertex_triangle, &edge_edge, p->colliders->n));
        PD_TRY(keep_points(p));
    }
    PD_TRY(measure_candidates(p, distance));
    PD_TRY(pd_memory_fetch(context, &p->seen, p->findings, sizeof p->seen));
    *active = p->active;
done:
    return status;
}

/* Drops the rows past the counts, which the host knows now. The rows of active pairs then change with the next activation. */
static void drop_empty_rows(pd_proximity *p, const size_t n[2]) {
    pd_candidates *c = &p->candidates;
    c->n -= c->n_vertex_triangle + c->n_edge_edge - n[0] - n[1];
    c->n_vertex_triangle = n[0], c->n_edge_edge = n[1];
    c->count_vertex_triangle = c->count_edge_edge = NULL;
}

pd_status pd_proximity_activate_result(pd_proximity *p, double distance, double *went, int *searched, int *complete) {
    pd_status status = PD_OK;
    *searched = p->searching;
    *went = sqrt(p->seen.move[0]);
    if (p->searching) {
        size_t n[2];
        p->size = p->seen.move[1];
        PD_TRY(pd_broad_phase_find_result(p->phase, n, complete));
        if (!*complete) return PD_OK;
        p->range = p->searched;
        p->placed = 1;
        drop_empty_rows(p, n);
    } else {
        lower_range(p, &p->seen);
        p->placed = *complete = p->range > distance;
        if (!*complete) return PD_OK;
        PD_TRY(keep_points(p));
    }
    *complete = p->seen.active <= p->active.capacity;
    if (*complete) p->n_active = (size_t)p->seen.active;
done:
    return status;
}

const pd_active_pairs *pd_proximity_active(const pd_proximity *p, size_t *n) {
    *n = p->n_active;
    return &p->active;
}

pd_status pd_proximity_incidence(pd_proximity *p, const int *points, pd_incidence *out) {
    pd_context *context = p->context;
    pd_active_pairs active = p->active;
    size_t n = 4 * p->n_active;
    int n_points = p->surface->n_points;
    const pd_growable lists[] = {PD_GROWABLE(p->incidence.roles, 1)};
    pd_status status;
    if (points) active.points = (int *)(uintptr_t)points;
    PD_TRY(ensure_key_capacity(p, pd_role_keys(p->n_active)));
    PD_TRY(pd_growables_grow(p->context, n, "corners of pairs that are near", PD_GROWABLES(lists), &p->incidence.capacity, &p->revision));
    PD_TRY(pd_incidence_list(context, p->n_active, &active, n_points, p->keys, p->scratch, &p->work, &p->incidence));
    *out = p->incidence;
done:
    return status;
}

/* p->keys: the active pairs, sorted by their nearest features and then by index. If both halves of a name do not fit into a key, a
 * stable sort of the lower half goes first. */
static pd_status sort_by_nearest(pd_proximity *p, int index_bits) {
    pd_context *context = p->context;
    int high = pd_key_bits((uint64_t)p->surface->n_points + 1), low = pd_key_bits((uint64_t)p->surface->n_points + (uint64_t)p->sides.n);
    size_t n = p->n_active;
    pd_status status;
    PD_TRY(pd_nearest_names(context, n, &p->sides, &p->active, p->rows, p->support, p->names));
    if (high + low + index_bits <= 64) {
        PD_TRY(pd_nearest_keys(context, n, p->names, 1, PD_NAME_WHOLE, low, index_bits, p->keys));
        return pd_sort_keys(context, n, index_bits, index_bits + high + low, p->keys, p->scratch, &p->work);
    }
    PD_TRY(pd_nearest_keys(context, n, p->names, 1, PD_NAME_LOW, low, index_bits, p->keys));
    PD_TRY(pd_sort_keys(context, n, index_bits, index_bits + low, p->keys, p->scratch, &p->work));
    PD_TRY(pd_nearest_keys(context, n, p->names, 0, PD_NAME_HIGH, low, index_bits, p->keys));
    return pd_sort_keys(context, n, index_bits, index_bits + high, p->keys, p->scratch, &p->work);
done:
    return status;
}

pd_status pd_proximity_choose(pd_proximity *p, int unique, size_t *n_chosen) {
    pd_context *context = p->context;
    size_t n = p->n_active;
    int index_bits = pd_key_bits(n);
    const pd_growable lists[] = {PD_GROWABLE(p->names, 1), PD_GROWABLE(p->first, 1), PD_GROWABLE(p->chosen, 1)};
    findings seen;
    pd_status status = PD_OK;
    p->unique = unique;
    p->n_chosen = n;
    if (unique && n > 0) {
        p->n_chosen = 0;
        PD_TRY(ensure_key_capacity(p, n));
        PD_TRY(pd_growables_grow(p->context, n, "pairs to choose from", PD_GROWABLES(lists), &p->choice_capacity, &p->revision));
        PD_TRY(sort_by_nearest(p, index_bits));
        PD_TRY(pd_mark_first(context, n, p->names, index_bits, p->keys, p->first));
        PD_TRY(pd_select_rows(context, n, p->first, p->starts, &p->work, n, p->chosen, &p->findings->chosen));
        PD_TRY(read_findings(p, &seen));
        p->n_chosen = (size_t)seen.chosen;
    }
    *n_chosen = p->n_chosen;
done:
    return status;
}

static pd_status measure(const pd_proximity *p, const pd_contact_measures *out) {
    return pd_measure_pairs(p->context, p->n_chosen, p->unique ? p->chosen : NULL, &p->candidates, p->rows, p->limit, p->support,
                            &p->active, p->surface->points, p->surface->owner, p->collider_owner, out);
}

pd_status pd_proximity_measure(pd_proximity *p, const pd_contact_measures *out) {
    pd_context *context = p->context;
    pd_contact_measures *m = &p->measured;
    size_t n = p->n_chosen;
    const pd_growable lists[] = {PD_GROWABLE(m->kind, 1),    PD_GROWABLE(m->feature, 1),  PD_GROWABLE(m->points, 4),
                                 PD_GROWABLE(m->weights, 4), PD_GROWABLE(m->distance, 1), PD_GROWABLE(m->normal, 3),
                                 PD_GROWABLE(m->closest, 6), PD_GROWABLE(m->bodies, 2)};
    void *const host[] = {out->kind, out->feature, out->points, out->weights, out->distance, out->normal, out->closest, out->bodies};
    pd_status status;
    if (!pd_context_location(context).on_device) return measure(p, out);
    PD_TRY(pd_growables_grow(p->context, n, "pairs that are measured", PD_GROWABLES(lists), &p->measured_capacity, &p->revision));
    PD_TRY(measure(p, m));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        PD_TRY(pd_memory_download(context, host[i], *lists[i].memory, n * lists[i].bytes));
done:
    return status;
}

long long pd_proximity_revision(const pd_proximity *p) { return p->revision; }
