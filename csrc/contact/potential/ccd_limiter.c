/* The step limiter by times of impact; see ccd_limiter.h. */
#include "contact/potential/ccd_limiter.h"

#include "base/clock.h"
#include "contact/growable_list.h"
#include "geometry/collision.h"
#include "linear/upload.h"
#include "loops/projective_loops.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rounds in which each point has its own path, each within the path that the round before left. In later rounds all points share the
 * smallest fraction. */
enum { ROUNDS_ALONE = 16, MOST_ROUNDS = 32 };

struct pd_ccd_limiter {
    pd_context *context;
    pd_broad_phase *phase;
    double separation, activation;
    const real *radii;
    real *padded_radii, *host_radii; /* B, H [n_points], with the slack; NULL before the first slack */
    int n_points, n_planes, n_tested;
    int *planes; /* H [n_planes] */
    int *tested; /* B [n_tested] */
    real *start, *end;
    pd_earliest *earliest; /* B [1] */
    size_t capacity;
    int *corners; /* B [capacity,4] */

    /* of the last path, and of pd_ccd_limiter_fraction_async */
    pd_candidates candidates;
    real padded; /* the separation and a bound of the rounding, m */
    size_t flag_capacity;
    unsigned char *flags; /* B [flag_capacity] */
    int *starts;
    pd_work work;
    int *rows; /* B [hits.capacity] */
    pd_active_pairs hits;

    /* the host's last copy */
    pd_earliest seen;
    uint64_t n_hits;

    /* of pd_ccd_limiter_move_each */
    double *parts, *together; /* B [n_points], [1] */
    uint64_t *n_met;          /* B [1] */

    double culling, impact; /* seconds so far */
};

/* Creates the fractions of the points' own paths. They are 1 between two rounds. */
static pd_status create_parts(pd_ccd_limiter *self) {
    size_t n = (size_t)self->n_points;
    double *complete = malloc((n + 1) * sizeof *complete);
    pd_status status = PD_OK;
    if (!complete)
        return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for the paths of %d points", self->n_points);
    for (size_t i = 0; i < n; i++) complete[i] = 1.0;
    PD_TRY(pd_upload(self->context, (void **)&self->parts, complete, n * sizeof *complete));
    PD_TRY(pd_memory_create(self->context, (void **)&self->together, sizeof *self->together));
    PD_TRY(pd_memory_create(self->context, (void **)&self->n_met, sizeof *self->n_met));
    PD_TRY(pd_memory_clear(self->context, self->n_met, sizeof *self->n_met));
done:
    free(complete);
    return status;
}

pd_status pd_ccd_limiter_create(pd_ccd_limiter **out, pd_context *context, const pd_ccd_limiter_description *d) {
    pd_status status = PD_OK;
    size_t bytes = 3 * (size_t)d->phase.n_points * sizeof(real);
    pd_ccd_limiter *self = *out = calloc(1, sizeof *self);
    if (!self) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for a step limiter");
    self->context = context;
    self->separation = d->separation, self->activation = d->activation;
    self->radii = d->radii;
    self->n_points = d->phase.n_points;
    self->n_planes = d->n_planes, self->n_tested = d->n_tested;
    self->planes = malloc(((size_t)d->n_planes + 1) * sizeof *self->planes);
    if (!self->planes) PD_TRY(pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for %d planes", d->n_planes));
    if (d->n_planes) memcpy(self->planes, d->planes, (size_t)d->n_planes * sizeof *self->planes);
    PD_TRY(pd_broad_phase_create(&self->phase, context, &d->phase));
    PD_TRY(pd_upload_ints(context, &self->tested, d->tested, (size_t)d->n_tested));
    PD_TRY(pd_memory_create(context, (void **)&self->start, bytes));
    PD_TRY(pd_memory_create(context, (void **)&self->end, bytes));
    PD_TRY(pd_memory_create(context, (void **)&self->earliest, sizeof *self->earliest));
    if (d->each) PD_TRY(create_parts(self));
done:
    if (status) {
        pd_ccd_limiter_destroy(self);
        *out = NULL;
    }
    return status;
}

void pd_ccd_limiter_destroy(pd_ccd_limiter *self) {
    if (!self) return;
    void *memory[] = {self->tested,   self->start,        self->end,         self->earliest, self->corners,   self->flags,
                      self->starts,   self->padded_radii, self->work.memory, self->rows,     self->hits.kind, self->hits.points,
                      self->hits.key, self->hits.count,   self->parts,       self->together, self->n_met};
    pd_broad_phase_destroy(self->phase);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(self->context, memory[i]);
    free(self->planes);
    free(self->host_radii);
    free(self);
}

real *pd_ccd_limiter_start(pd_ccd_limiter *self) { return self->start; }
real *pd_ccd_limiter_end(pd_ccd_limiter *self) { return self->end; }

/* Adds the slack to the radii; *most: the largest slack. */
static pd_status pad_radii(pd_ccd_limiter *self, const real *slack, int n_slack, double *most) {
    size_t n = (size_t)self->n_points;
    pd_status status = PD_OK;
    if (!self->host_radii && !(self->host_radii = malloc(n * sizeof(real) + 1)))
        return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for the radii of %d points", self->n_points);
    if (!self->padded_radii) PD_TRY(pd_memory_create(self->context, (void **)&self->padded_radii, n * sizeof(real)));
    memset(self->host_radii, 0, n * sizeof(real));
    if (self->radii) PD_TRY(pd_memory_download(self->context, self->host_radii, self->radii, n * sizeof(real)));
    for (int i = 0; i < n_slack; i++) {
        self->host_radii[i] += slack[i];
        *most = fmax(*most, (double)slack[i]);
    }
    PD_TRY(pd_memory_upload(self->context, self->padded_radii, self->host_radii, n * sizeof(real)));
done:
    return status;
}

/* Finds the pairs whose boxes overlap along the path. Boxes are widened by the largest slack. padded: the separation with the rounding
 * bound. */
static pd_status find_candidates_async(pd_ccd_limiter *self, double rounding, double most) {
    pd_context *context = self->context;
    pd_pairs vertex_triangle, edge_edge;
    pd_status status;
    double begun = pd_seconds();
    // each box is wider by half of the separation of a pair; the rounding bound is far below the activation distance
    double margin = 0.5 * self->separation + self->activation / 16.0 + most;
    PD_TRY(pd_broad_phase_find_async(self->phase, self->start, self->end, margin, &vertex_triangle, &edge_edge));
    self->culling += pd_seconds() - begun;
    size_t n = vertex_triangle.n + edge_edge.n;
    if (n + (size_t)self->n_planes * (size_t)self->n_tested > INT_MAX)
        return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "%zu candidate pairs, at most %d are possible; take a shorter step", n,
                       INT_MAX);
    const pd_growable lists[] = {PD_GROWABLE(self->corners, 4)};
    PD_TRY(pd_growables_grow(context, n, "pairs that may meet", PD_GROWABLES(lists), &self->capacity, NULL));
    self->candidates = (pd_candidates){.n = n,
                                       .n_vertex_triangle = vertex_triangle.n,
                                       .n_edge_edge = edge_edge.n,
                                       .vertex_triangle = vertex_triangle.pairs,
                                       .edge_edge = edge_edge.pairs,
                                       .count_vertex_triangle = vertex_triangle.count,
                                       .count_edge_edge = edge_edge.count,
                                       .vertices = pd_broad_phase_primitives(self->phase, PD_VERTICES)->corners,
                                       .edges = pd_broad_phase_primitives(self->phase, PD_EDGES)->corners,
                                       .triangles = pd_broad_phase_primitives(self->phase, PD_TRIANGLES)->corners,
                                       .tested = self->tested,
                                       .n_tested = self->n_tested};
    self->padded = (real)(self->separation + rounding);
    PD_TRY(pd_candidate_points(context, &self->candidates, 0, (int)n, self->corners));
done:
    return status;
}

/* Enqueues the search for the earliest time of impact. */
static pd_status ask(pd_ccd_limiter *self, double rounding, const real *radii, double most) {
    pd_context *context = self->context;
    const pd_candidates *c = &self->candidates;
    pd_status status;
    PD_TRY(find_candidates_async(self, rounding, most));
    double begun = pd_seconds();
    int n = (int)c->n, n_vt = (int)c->n_vertex_triangle, n_ee = (int)c->n_edge_edge;
    const int *corners = self->corners;
    real separation = self->padded;
    PD_TRY(pd_earliest_begin(context, 1, self->earliest));
    PD_TRY(pd_earliest_collision(context, PD_VERTEX_TRIANGLE, PD_CCD_CERTIFIED, n_vt, c->count_vertex_triangle, self->start, self->end,
                                 corners, separation, radii, 0, self->earliest));
    PD_TRY(pd_earliest_collision(context, PD_EDGE_EDGE, PD_CCD_CERTIFIED, n_ee, c->count_edge_edge, self->start, self->end,
                                 corners + 4 * (size_t)n_vt, separation, radii, n_vt, self->earliest));
    for (int plane = 0; plane < self->n_planes; plane++)
        PD_TRY(pd_earliest_plane_collision(context, self->n_tested, self->start, self->end, self->tested, self->planes[plane], separation,
                                           radii, n + plane * self->n_tested, self->earliest));
    PD_TRY(pd_memory_fetch(context, &self->seen, self->earliest, sizeof self->seen));
    self->impact += pd_seconds() - begun;
done:
    return status;
}

/* n of the broad phase, and the points above planes: their times of impact have been computed. */
static void count_pairs(const pd_ccd_limiter *self, const size_t n[2], int times) {
    pd_context_tally(self->context)->ccd_pairs += times * ((long long)(n[0] + n[1]) + (long long)self->n_planes * self->n_tested);
}

static pd_status synchronise_result(pd_ccd_limiter *self, double *fraction, int *complete) {
    double begun = pd_seconds();
    pd_status status = pd_context_synchronise(self->context);
    self->impact += pd_seconds() - begun;
    return status ? status : pd_ccd_limiter_fraction_result(self, fraction, complete);
}

pd_status pd_ccd_limiter_fraction(pd_ccd_limiter *self, double rounding, const real *slack, int n_slack, double *fraction) {
    double most = 0.0;
    int complete = 0;
    pd_status status = PD_OK;
    if (slack) PD_TRY(pad_radii(self, slack, n_slack, &most));
    while (!complete) {
        PD_TRY(ask(self, rounding, slack ? self->padded_radii : self->radii, most));
        PD_TRY(synchronise_result(self, fraction, &complete));
    }
done:
    return status;
}

/* One round: checks all pairs on their whole paths and shortens the paths of the points; *met: the number of pairs that meet. */
static pd_status shorten(pd_ccd_limiter *self, int n_alone, uint64_t *met) {
    pd_context *context = self->context;
    const pd_candidates *c = &self->candidates;
    int n_vt = (int)c->n_vertex_triangle, n_ee = (int)c->n_edge_edge;
    const real *start = self->start, *end = self->end, *radii = self->radii;
    pd_status status;
    PD_TRY(pd_collision_parts(context, PD_VERTEX_TRIANGLE, n_vt, c->count_vertex_triangle, start, end, self->corners, self->padded, radii,
                              self->parts, self->n_met));
    PD_TRY(pd_collision_parts(context, PD_EDGE_EDGE, n_ee, c->count_edge_edge, start, end, self->corners + 4 * (size_t)n_vt, self->padded,
                              radii, self->parts, self->n_met));
    for (int plane = 0; plane < self->n_planes; plane++)
        PD_TRY(pd_plane_parts(context, self->n_tested, start, end, self->tested, self->planes[plane], self->padded, radii, self->parts,
                              self->n_met));
    PD_TRY(pd_memory_download(context, met, self->n_met, sizeof *met));
    PD_TRY(pd_shorten_ways(context, self->n_points, n_alone, start, self->end, self->parts, self->n_met, self->together));
done:
    return status;
}

pd_status pd_ccd_limiter_move_each(pd_ccd_limiter *self, double rounding, int n_alone, double *together) {
    pd_context *context = self->context;
    const double all = 1.0;
    int complete = 0, round = 0;
    uint64_t met = 1;
    size_t n[2];
    pd_status status;
    while (!complete) {
        PD_TRY(find_candidates_async(self, rounding, 0.0));
        double begun = pd_seconds();
        PD_TRY(pd_context_synchronise(context));
        PD_TRY(pd_broad_phase_find_result(self->phase, n, &complete));
        self->culling += pd_seconds() - begun;
    }
    double begun = pd_seconds();
    PD_TRY(pd_memory_upload(context, self->together, &all, sizeof all));
    for (; met && round < MOST_ROUNDS; round++) PD_TRY(shorten(self, round < ROUNDS_ALONE ? n_alone : 0, &met));
    count_pairs(self, n, round);
    PD_TRY(pd_memory_download(context, together, self->together, sizeof *together));
    if (met) { // otherwise the paths would be shortened by rounding errors repeatedly
        PD_TRY(pd_memory_copy(context, self->end, self->start, 3 * (size_t)self->n_points * sizeof(real)));
        *together = 0.0;
    }
    self->impact += pd_seconds() - begun;
done:
    return status;
}

/* Increases the capacity to flags of n candidates and `found` hits. */
static pd_status ensure_hit_capacity(pd_ccd_limiter *self, size_t n, size_t found) {
    pd_context *context = self->context;
    pd_active_pairs *hits = &self->hits;
    const pd_growable flags[] = {PD_GROWABLE(self->flags, 1), {(void **)&self->starts, sizeof *self->starts, 32}};
    const pd_growable pairs[] = {PD_GROWABLE(self->rows, 1), PD_GROWABLE(hits->kind, 1), PD_GROWABLE(hits->points, 4),
                                 PD_GROWABLE(hits->key, 1)};
    pd_status status = PD_OK;
    if (!hits->count) PD_TRY(pd_memory_create(context, (void **)&hits->count, sizeof *hits->count));
    PD_TRY(pd_growables_grow(context, n, "pairs that may meet", PD_GROWABLES(flags), &self->flag_capacity, NULL));
    PD_TRY(pd_growables_grow(context, found, "pairs that meet", PD_GROWABLES(pairs), &hits->capacity, NULL));
    PD_TRY(pd_work_grow(context, &self->work, self->flag_capacity / 32 + 1));
done:
    return status;
}

static size_t n_flags(const pd_ccd_limiter *self) { return self->candidates.n + (size_t)self->n_planes * (size_t)self->n_tested; }

/* Lists the flagged pairs, up to the capacity. */
static pd_status list_hits(pd_ccd_limiter *self) {
    pd_active_pairs *hits = &self->hits;
    pd_status status;
    PD_TRY(pd_select_rows(self->context, n_flags(self), self->flags, self->starts, &self->work, hits->capacity, self->rows, hits->count));
    PD_TRY(pd_active_fill(self->context, &self->candidates, self->rows, hits));
done:
    return status;
}

pd_status pd_ccd_limiter_fraction_async(pd_ccd_limiter *self, double rounding, const pd_active_pairs **hits) {
    pd_context *context = self->context;
    const pd_candidates *c = &self->candidates;
    pd_status status;
    PD_TRY(ask(self, rounding, self->radii, 0.0));
    double begun = pd_seconds();
    PD_TRY(ensure_hit_capacity(self, n_flags(self), 1));
    unsigned char *flags = self->flags;
    PD_TRY(pd_collision_hits(context, PD_VERTEX_TRIANGLE, (int)c->n_vertex_triangle, c->count_vertex_triangle, self->start, self->end,
                             self->corners, self->padded, self->radii, self->earliest, flags));
    PD_TRY(pd_collision_hits(context, PD_EDGE_EDGE, (int)c->n_edge_edge, c->count_edge_edge, self->start, self->end,
                             self->corners + 4 * c->n_vertex_triangle, self->padded, self->radii, self->earliest,
                             flags + c->n_vertex_triangle));
    for (size_t plane = 0; plane < (size_t)self->n_planes; plane++)
        PD_TRY(pd_plane_hits(context, self->n_tested, self->start, self->end, self->tested, self->planes[plane], self->padded, self->radii,
                             self->earliest, flags + c->n + plane * (size_t)self->n_tested));
    PD_TRY(list_hits(self));
    PD_TRY(pd_memory_fetch(context, &self->n_hits, self->hits.count, sizeof self->n_hits));
    *hits = &self->hits;
    self->impact += pd_seconds() - begun;
done:
    return status;
}

pd_status pd_ccd_limiter_fraction_result(pd_ccd_limiter *self, double *fraction, int *complete) {
    *fraction = self->seen.index == INT_MAX ? 1.0 : (double)(real)self->seen.time;
    size_t n[2];
    pd_status status = pd_broad_phase_find_result(self->phase, n, complete);
    if (!status && *complete) count_pairs(self, n, 1);
    return status;
}

pd_status pd_ccd_limiter_hits(pd_ccd_limiter *self, const pd_active_pairs **hits, size_t *n, int *complete) {
    pd_status status = PD_OK;
    *hits = &self->hits;
    *n = (size_t)self->n_hits;
    *complete = *n <= self->hits.capacity;
    if (*complete) return PD_OK;
    PD_TRY(ensure_hit_capacity(self, n_flags(self), *n));
    PD_TRY(list_hits(self));
done:
    return status;
}

const pd_earliest *pd_ccd_limiter_earliest(const pd_ccd_limiter *self) { return self->earliest; }

void pd_ccd_limiter_capacity(const pd_ccd_limiter *self, const uint64_t *found[2], size_t capacity[2]) {
    pd_broad_phase_capacity(self->phase, found, capacity);
}

void pd_ccd_limiter_seconds(const pd_ccd_limiter *self, double *culling, double *impact) {
    *culling = self->culling, *impact = self->impact;
}
