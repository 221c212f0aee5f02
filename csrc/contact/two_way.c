/* The two-way interior point method; see two_way.h. */
#include "contact/two_way.h"

#include "base/clock.h"
#include "contact/room.h"
#include "contact/two_way_list.h"
#include "elements/contact/volume_constraint.h"
#include "linear/upload.h"

#include <math.h>
#include <stdlib.h>

/* gamma: the part of a gap that a forward step may use up [Wang et al. 2023, Table 3]. */
static const double GAMMA = 0.9;

/* D^min in delta, and the most that it is without regard to the size of edges; D^max is twice as large (contact.c) [Table 3: 2 and 4 mm for 1]. */
static const double NEAREST = 2.0;

/* Pairs are constrained up to so many delta. */
static const double CONSTRAINED = 4.0;

/* Of an augmented Lagrangian, in what a row's denominator and those that meet in it allow; a step of descent is 1/(1 + PENALTY) of the way. */
static const double PENALTY = 1.0;

/* In delta: where the state has come to its target; and what is no move at all, so often in a row. */
static const double ARRIVED = 0.1, STILL = 1e-3;
enum { STILL_STEPS = 16 };

struct pd_two_way {
    pd_context *context;
    pd_contact *contact;
    const pd_model *model;
    pd_two_way_description settings; /* its arrays are not kept */
    double delta, separation, activation;
    int n_points;
    pd_rubbing rubbing;
    int rubs, filtered; /* by a filter alone */
    int untouched;      /* the target has not been filtered yet */

    pd_two_way_list edges, pairs, before; /* `pairs` and `before` change places */
    size_t feature_capacity;              /* of the nearest features of what is listed */
    int *kind, *points, *chosen, *flag_starts;
    real *length, *normal, *width;
    unsigned char *flags;
    pd_work flag_work;
    pd_two_way_colouring colouring;

    real *x, *next;            /* B [n_vertices,3] x^(l), x^(l+1) */
    real *y_0, *y, *ahead;     /* B [n_points,3] y^(0), y^(l), x^(l) with what is driven at its target */
    real *begun, *goal;        /* B [n_points,3] */
    real *inverse, *curvature; /* B [n_points,6] */
    double *scalars;           /* B [2] */

    double lap, *seconds; /* when the part that runs began; [PD_TWO_WAY_PARTS] of the report */
};

/* ---- making and unmaking --------------------------------------------------------------------------------------------------------------- */

static pd_status make_feature_room(pd_two_way *self, size_t n) {
    const pd_room rooms[] = {
        PD_ROOM(self->kind, 1),  PD_ROOM(self->points, 4), PD_ROOM(self->chosen, 1), PD_ROOM(self->length, 1),
        PD_ROOM(self->flags, 1), PD_ROOM(self->normal, 3), PD_ROOM(self->width, 1),  {(void **)&self->flag_starts, sizeof(int), 32}};
    pd_status status = pd_rooms_grow(self->context, n, "pairs near each other", PD_ROOMS(rooms), &self->feature_capacity, NULL);
    return status ? status : pd_work_grow(self->context, &self->flag_work, self->feature_capacity / 32 + 1);
}

/* The rows of edges, whose colours stay. */
static pd_status create_edges(pd_two_way *self, const pd_two_way_description *d) {
    pd_context *context = self->context;
    pd_two_way_list spare = {0};
    pd_two_way_rows *r = &self->edges.at;
    size_t n = (size_t)d->n_edges;
    pd_status status = PD_OK;
    int *kind = malloc((n + 1) * sizeof *kind), *points = malloc((4 * n + 1) * sizeof *points);
    if (!kind || !points) PD_TRY(pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for %d edges", d->n_edges));
    for (size_t e = 0; e < n; e++) {
        kind[e] = PD_EDGE_LENGTH;
        points[4 * e] = d->edges[2 * e], points[4 * e + 1] = d->edges[2 * e + 1];
        points[4 * e + 2] = points[4 * e + 3] = -1;
    }
    PD_TRY(pd_two_way_list_grow(&self->edges, self->context, n, 0));
    PD_TRY(pd_memory_upload(context, r->kind, kind, n * sizeof *kind));
    PD_TRY(pd_memory_upload(context, r->points, points, 4 * n * sizeof *points));
    PD_TRY(pd_memory_upload(context, r->length, d->lengths, n * sizeof(real)));
    PD_TRY(pd_memory_clear(context, r->colour, n * sizeof *r->colour));
    r->n = d->n_edges;
    PD_TRY(pd_memory_create(context, (void **)&spare.incidence.start, ((size_t)self->n_points + 1) * sizeof *spare.incidence.start));
    PD_TRY(pd_two_way_list_join(&self->edges, &self->colouring, context, self->n_points));
    PD_TRY(pd_two_way_list_colour(&self->edges, &spare, &self->colouring, context, self->model, self->n_points, 0));
done:
    pd_two_way_list_destroy(&spare, context);
    free(kind);
    free(points);
    return status;
}

pd_status pd_two_way_create(pd_two_way **out, pd_context *context, pd_contact *contact, const pd_model *model,
                            const pd_contact_description *d) {
    size_t n = (size_t)d->phase.n_points, vertices = 3 * (size_t)model->n_vertices * sizeof(real), points = 3 * n * sizeof(real);
    size_t n_owners = (size_t)d->friction.n_owners;
    pd_status status = PD_OK;
    pd_two_way *self = *out = calloc(1, sizeof *self);
    if (!self) {
        pd_contact_destroy(contact);
        return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for contact");
    }
    self->context = context, self->contact = contact, self->model = model;
    self->settings = d->two_way;
    self->settings.edges = NULL, self->settings.lengths = NULL;
    self->delta = d->activation + d->separation, self->separation = d->separation, self->activation = d->activation;
    self->n_points = d->phase.n_points;
    for (size_t i = 0; i < n_owners * n_owners; i++) self->rubs |= d->friction.coefficients[i] > 0;
    self->filtered = d->two_way.filtered && self->rubs;
    self->rubs |= d->two_way.repulsion > 0; // which takes the same weights and normals
    self->rubbing.n_owners = d->friction.n_owners;
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&self->rubbing.owners, d->friction.owners, n * sizeof(int)));
    PD_TRY(
        pd_upload(context, (void **)(uintptr_t)&self->rubbing.coefficients, d->friction.coefficients, n_owners * n_owners * sizeof(real)));
    pd_two_way_list *all[] = {&self->edges, &self->pairs, &self->before};
    for (int i = 0; i < 3; i++)
        PD_TRY(pd_memory_create(context, (void **)&all[i]->incidence.start, (n + 1) * sizeof *all[i]->incidence.start));
    PD_TRY(pd_memory_create(context, (void **)&self->colouring.found, sizeof *self->colouring.found));
    PD_TRY(pd_memory_create(context, (void **)&self->scalars, 2 * sizeof *self->scalars));
    PD_TRY(pd_memory_create(context, (void **)&self->x, vertices));
    PD_TRY(pd_memory_create(context, (void **)&self->next, vertices));
    real **slots[] = {&self->y_0, &self->y, &self->ahead, &self->begun, &self->goal, &self->inverse, &self->curvature};
    for (int i = 0; i < 7; i++) PD_TRY(pd_memory_create(context, (void **)slots[i], i < 5 ? points : 2 * points));
    PD_TRY(pd_two_way_list_grow(&self->pairs, self->context, 1, self->rubs));
    PD_TRY(pd_two_way_list_grow(&self->before, self->context, 1, self->rubs));
    PD_TRY(make_feature_room(self, 1));
    PD_TRY(create_edges(self, &d->two_way));
    for (int i = 0; i < 3; i++) {
        all[i]->at.least = self->settings.multipliers == PD_TWO_WAY_LINEAR ? (real)-INFINITY : (real)0;
        all[i]->at.by_distance = self->settings.multipliers == PD_TWO_WAY_BARRIER;
    }
done:
    if (status) {
        pd_two_way_destroy(self);
        *out = NULL;
    }
    return status;
}

void pd_two_way_destroy(pd_two_way *self) {
    if (!self) return;
    const void *of_scene[] = {self->rubbing.owners, self->rubbing.coefficients, self->scalars};
    void *of_pairs[] = {self->kind,  self->points, self->chosen, self->flag_starts,     self->length,
                        self->flags, self->normal, self->width,  self->flag_work.memory};
    real *of_points[] = {self->x, self->next, self->y_0, self->y, self->ahead, self->begun, self->goal, self->inverse, self->curvature};
    for (int i = 0; i < 3; i++) pd_memory_destroy(self->context, (void *)(uintptr_t)of_scene[i]);
    for (int i = 0; i < 9; i++) pd_memory_destroy(self->context, of_pairs[i]);
    for (int i = 0; i < 9; i++) pd_memory_destroy(self->context, of_points[i]);
    pd_two_way_list_destroy(&self->edges, self->context);
    pd_two_way_list_destroy(&self->pairs, self->context);
    pd_two_way_list_destroy(&self->before, self->context);
    pd_two_way_colouring_destroy(&self->colouring, self->context);
    pd_contact_destroy(self->contact);
    free(self);
}

pd_contact *pd_two_way_contact(const pd_two_way *self) { return self->contact; }

int pd_two_way_every(const pd_two_way *self) { return self->settings.every; }

const real *pd_two_way_state(const pd_two_way *self) { return self->x; }

/* ---- a step --------------------------------------------------------------------------------------------------------------------------- */

static size_t bytes_of_state(const pd_two_way *self) { return 3 * (size_t)self->model->n_vertices * sizeof(real); }

pd_status pd_two_way_begin(pd_two_way *self, const real *x_t) {
    pd_status status;
    pd_contact_look_ahead(self->contact, 0);
    PD_TRY(pd_contact_keep_driven(self->contact));
    PD_TRY(pd_contact_points_begun(self->contact, x_t, self->begun));
    PD_TRY(pd_memory_copy(self->context, self->x, x_t, bytes_of_state(self)));
done:
    return status;
}

pd_status pd_two_way_restore(pd_two_way *self) { return pd_contact_restore_driven(self->contact); }

/* max |a_i - b_i| over vertices, m. */
static pd_status largest_move(const pd_two_way *self, const real *a, const real *b, double *move) {
    double found[2];
    pd_status status = pd_largest_move(self->context, self->model->n_vertices, NULL, a, b, self->scalars);
    if (!status) status = pd_memory_download(self->context, found, self->scalars, sizeof found);
    *move = sqrt(found[0]);
    return status;
}

/* Pairs are listed as far as the first move wants. From the state and the target alone: a resumed run finds the same. */
static pd_status choose_reach(pd_two_way *self) {
    double move, behind, least = NEAREST * self->delta, most = fmax(self->settings.farthest, 2.0 * least);
    pd_status status;
    PD_TRY(largest_move(self, self->y, self->x, &move));
    PD_TRY(pd_contact_behind(self->contact, &behind));
    double wanted = self->separation + 1.01 * 2.0 / GAMMA * fmax(move, behind);
    pd_contact_list_up_to(self->contact, fmin(fmax(wanted, least), most) * (1.0 + 8.0 * (double)PD_EPSILON));
done:
    return status;
}

/* Whether rows are swept one after the other, by colours. */
static int sweeps_rows(const pd_two_way *self) {
    return self->settings.multipliers == PD_TWO_WAY_GAUSS_SEIDEL || self->settings.multipliers == PD_TWO_WAY_LINEAR;
}

/* The rows of the pairs at x^(l), with the multipliers of those that were there before. */
static pd_status find_rows(pd_two_way *self, const pd_contact_pairs *listed, const pd_incidence *of_listed, const real *distance) {
    pd_context *context = self->context;
    const pd_contact_scene *scene = pd_contact_scene_of(self->contact);
    pd_two_way_list swap = self->before;
    size_t n = (size_t)listed->n;
    uint64_t found = 0;
    pd_status status = PD_OK;
    self->before = self->pairs, self->pairs = swap;
    self->pairs.at.n = 0;
    if (n > 0) {
        n *= PD_TWO_WAY_FEATURES;
        PD_TRY(make_feature_room(self, n));
        PD_TRY(pd_two_way_features(context, self->model, scene, listed, distance, CONSTRAINED, pd_contact_points(self->contact), self->kind,
                                   self->points, self->length));
        PD_TRY(pd_two_way_mark_first(context, (int)n, self->kind, self->points, of_listed, self->flags));
        PD_TRY(pd_select_rows(context, n, self->flags, self->flag_starts, &self->flag_work, n, self->chosen, self->colouring.found));
        PD_TRY(pd_memory_download(context, &found, self->colouring.found, sizeof found));
        PD_TRY(pd_two_way_list_grow(&self->pairs, self->context, (size_t)found, self->rubs));
        self->pairs.at.n = (int)found;
        PD_TRY(pd_two_way_take(context, (int)found, self->chosen, self->kind, self->points, self->length, &self->before.at,
                               &self->before.incidence, &self->pairs.at));
    }
    pd_lap(&self->lap, &self->seconds[PD_TWO_WAY_ROWS]);
    PD_TRY(pd_two_way_list_join(&self->pairs, &self->colouring, context, self->n_points));
    if (sweeps_rows(self))
        PD_TRY(pd_two_way_list_colour(&self->pairs, &self->before, &self->colouring, context, self->model, self->n_points, self->rubs));
    pd_lap(&self->lap, &self->seconds[PD_TWO_WAY_COLOURS]);
done:
    return status;
}

/* The metric, and the rows in it. */
static pd_status measure(const pd_two_way *self) {
    pd_status status;
    PD_TRY(pd_two_way_metric(self->context, self->model, self->n_points, &self->edges.at, &self->edges.incidence, &self->pairs.at,
                             &self->pairs.incidence, pd_contact_points(self->contact), self->y_0, self->inverse, self->curvature,
                             self->goal));
    if (self->edges.at.n) PD_TRY(pd_two_way_weigh(self->context, self->inverse, &self->edges.at));
    if (self->pairs.at.n) PD_TRY(pd_two_way_weigh(self->context, self->inverse, &self->pairs.at));
done:
    return status;
}

/* y = goal + W J^T lambda, into out. */
static pd_status gather(const pd_two_way *self, const pd_two_way_rows *pairs, real *out) {
    return pd_two_way_gather(self->context, self->n_points, self->inverse, &self->edges.at, &self->edges.incidence, pairs,
                             &self->pairs.incidence, self->goal, out);
}

/* Multipliers all at once: by Jacobi, after each of which y is what they make it; or with a step of gradient descent for y,
 *     y' = y - W grad L/(1 + p),     L = |y - y_0|_M^2 / 2 + sum (max(0, lambda - p r)^2 - lambda^2) / (2 p),     lambda' = max(0, lambda - p r)
 * [Tang et al. 2018, I-Cloth, as Wang et al. 2023, Sec. 4.3.2, have it; the penalty p of a row here in parts of what it can bear]. */
static pd_status relax(pd_two_way *self) {
    int augmented = self->settings.multipliers == PD_TWO_WAY_AUGMENTED;
    pd_status status = PD_OK;
    for (int sweep = 0; sweep < self->settings.sweeps; sweep++) {
        PD_TRY(pd_two_way_relax(self->context, self->inverse, &self->edges.at, &self->edges.incidence, &self->pairs.at,
                                &self->pairs.incidence, augmented ? PENALTY : 1.0, pd_contact_points(self->contact), self->y));
        PD_TRY(gather(self, &self->pairs.at, augmented ? self->ahead : self->y));
        if (augmented) PD_TRY(pd_move_towards(self->context, self->model->n_vertices, NULL, 1.0 / (1.0 + PENALTY), self->ahead, self->y));
    }
done:
    return status;
}

/* y^(0) with repulsion by the pairs that are the first to be near, and where friction is a filter with that of the sweeps of one backward step
 * [Wang et al. 2023, Secs. 6.2, 6.3]. As printed the impulses of the collisions are added too; those of one sweep, which overshoots, would then stay:
 * two cubes that met askew got a fifth of their normal impulse sideways without any friction. */
static pd_status filter(pd_two_way *self) {
    pd_two_way_list *pairs = &self->pairs;
    pd_two_way_rows no_edges = self->edges.at;
    const real *x = pd_contact_points(self->contact);
    size_t n = (size_t)pairs->at.n, bytes = 3 * (size_t)self->n_points * sizeof(real);
    pd_status status = PD_OK;
    no_edges.n = 0;
    PD_TRY(pd_memory_copy(self->context, self->y, self->y_0, bytes));
    if (self->settings.repulsion > 0)
        PD_TRY(pd_two_way_repel(self->context, self->inverse, &pairs->at, pairs->n_colours, pairs->starts, self->settings.repulsion,
                                self->activation, x, self->y));
    PD_TRY(pd_memory_copy(self->context, self->y_0, self->y, bytes));
    for (int sweep = 0; self->filtered && sweep < self->settings.sweeps; sweep++)
        PD_TRY(pd_two_way_sweep(self->context, self->inverse, &pairs->at, pairs->n_colours, pairs->starts, x, self->begun, self->y));
    if (self->filtered) {
        PD_TRY(pd_memory_clear(self->context, pairs->at.multiplier, n * sizeof(real)));
        PD_TRY(pd_two_way_gather(self->context, self->n_points, self->inverse, &no_edges, &self->edges.incidence, &pairs->at,
                                 &pairs->incidence, self->y_0, self->y));
        PD_TRY(pd_memory_clear(self->context, pairs->at.tangential, 3 * n * sizeof(real)));
        PD_TRY(pd_memory_copy(self->context, self->y_0, self->y, bytes));
    }
    self->untouched = 0;
done:
    return status;
}

/* y^(l+1) from x^(l): rows of edges first, of pairs last. */
static pd_status step_backward(pd_two_way *self) {
    pd_context *context = self->context;
    const pd_model *model = self->model;
    const real *x = pd_contact_points(self->contact);
    pd_two_way_list *all[] = {&self->edges, &self->pairs};
    pd_two_way_rows rows[2];
    pd_status status = PD_OK;
    for (int i = 0; i < 2; i++)
        if (all[i]->at.n) PD_TRY(pd_two_way_linearise(context, model, self->settings.edge_limit, &self->rubbing, x, &all[i]->at));
    if (self->settings.multipliers == PD_TWO_WAY_BARRIER) {
        PD_TRY(pd_two_way_descend(context, model, self->n_points, &self->pairs.at, &self->pairs.incidence, self->settings.strength,
                                  self->activation, x, self->y_0, self->curvature, self->goal));
        return pd_memory_copy(context, self->y, self->goal, 3 * (size_t)self->n_points * sizeof(real));
    }
    PD_TRY(measure(self));
    if (self->untouched && self->pairs.at.n) {
        PD_TRY(filter(self));
        PD_TRY(measure(self));
    }
    PD_TRY(gather(self, &self->pairs.at, self->y));
    if (!sweeps_rows(self)) return relax(self);
    for (int i = 0; i < 2; i++) rows[i] = all[i]->at;
    if (self->filtered) rows[1].coefficient = NULL;
    for (int sweep = 0; sweep < self->settings.sweeps; sweep++)
        for (int i = 0; i < 2; i++)
            if (rows[i].n)
                PD_TRY(pd_two_way_sweep(context, self->inverse, &rows[i], all[i]->n_colours, all[i]->starts, x, self->begun, self->y));
done:
    return status;
}

/* x^(l+1) from x^(l), and what is driven; *move: the largest. */
static pd_status step_forward(pd_two_way *self, const pd_contact_pairs *listed, const pd_incidence *of_listed, const real *distance,
                              double behind, double *move) {
    pd_context *context = self->context;
    const real *points = pd_contact_points(self->contact);
    int n = self->model->n_vertices;
    double farthest = pd_contact_listed_up_to(self->contact) - self->separation, rounding = pd_contact_rounding(self->contact), part = 1.0;
    pd_status status = PD_OK;
    if (self->settings.lengths_by == PD_TWO_WAY_IMPACT) {
        PD_TRY(pd_contact_limit(self->contact, self->x, self->y, behind > 0.0, &part));
        PD_TRY(pd_memory_copy(context, self->next, self->x, bytes_of_state(self)));
        PD_TRY(pd_move_towards(context, n, NULL, part, self->y, self->next));
        PD_TRY(largest_move(self, self->next, self->x, move));
        if (behind > 0.0) PD_TRY(pd_contact_drive(self->contact, part));
        *move = fmax(*move, part * behind);
        return pd_memory_copy(context, self->x, self->next, bytes_of_state(self));
    }
    PD_TRY(make_feature_room(self, (size_t)listed->n));
    const pd_two_way_gaps gaps = {distance, self->normal, self->width, farthest, rounding, GAMMA};
    PD_TRY(pd_two_way_slabs(context, listed, points, &gaps));
    PD_TRY(pd_two_way_forward(context, n, listed, of_listed, &gaps, points, self->y, self->next));
    PD_TRY(largest_move(self, self->next, self->x, move));
    if (behind > 0.0) {
        PD_TRY(pd_contact_points_ahead(self->contact, self->x, self->ahead));
        PD_TRY(pd_two_way_driven_part(context, n, self->n_points, listed, of_listed, &gaps, points, self->ahead, self->scalars));
        PD_TRY(pd_memory_download(context, &part, self->scalars, sizeof part));
        PD_TRY(pd_contact_drive(self->contact, part));
        *move = fmax(*move, part * behind);
    }
    PD_TRY(pd_memory_copy(context, self->x, self->next, bytes_of_state(self)));
done:
    return status;
}

/* The pairs at x^(l). */
static pd_status list_pairs(pd_two_way *self, pd_contact_pairs *listed, pd_incidence *incidence, const real **distance, int *searches) {
    long long before = pd_contact_searches(self->contact);
    pd_status status;
    PD_TRY(pd_contact_find(self->contact, self->x));
    pd_contact_view view = pd_contact_pairs_of(self->contact);
    const pd_contact_columns *c = &view.columns;
    *listed = (pd_contact_pairs){view.n, c->kind, c->points, c->activation, c->separation, c->weight, c->threshold, NULL};
    *incidence = view.incidence;
    PD_TRY(pd_contact_distances(self->contact, distance));
    *searches = (int)(pd_contact_searches(self->contact) - before);
done:
    return status;
}

static pd_status tell(const pd_two_way *self, const pd_two_way_watch *watch, int step, int pairs, int searches, double residual) {
    const pd_two_way_progress progress = {.step = step,
                                          .points = pd_contact_points(self->contact),
                                          .searched = pd_contact_searched_up_to(self->contact),
                                          .listed = pd_contact_listed_up_to(self->contact),
                                          .pairs = pairs,
                                          .rows = self->pairs.at.n,
                                          .colours = self->pairs.n_colours,
                                          .search = searches,
                                          .residual = residual};
    return watch && watch->progress ? watch->progress(watch->user, &progress) : PD_OK;
}

pd_status pd_two_way_update(pd_two_way *self, const real *target, const pd_two_way_watch *watch, pd_two_way_report *report) {
    pd_context *context = self->context;
    const double arrived = ARRIVED * self->delta, still = STILL * self->delta;
    pd_contact_pairs listed;
    pd_incidence incidence;
    const real *distance;
    pd_status status;
    int at_rest = 0, searches;
    *report = (pd_two_way_report){.exit = PD_TWO_WAY_CAP};
    self->seconds = report->seconds;
    PD_TRY(pd_contact_points_ahead(self->contact, target, self->y_0));
    PD_TRY(pd_memory_copy(context, self->y, self->y_0, 3 * (size_t)self->n_points * sizeof(real)));
    self->pairs.at.n = 0;
    self->untouched = self->filtered || self->settings.repulsion > 0;
    if (self->edges.at.n) PD_TRY(pd_memory_clear(context, self->edges.at.multiplier, (size_t)self->edges.at.n * sizeof(real)));
    PD_TRY(choose_reach(self));
    for (int l = 0; l < self->settings.steps; l++) {
        double residual, behind, move;
        if (watch && watch->interrupted && watch->interrupted(watch->user)) return PD_INTERRUPTED;
        self->lap = pd_seconds();
        PD_TRY(list_pairs(self, &listed, &incidence, &distance, &searches));
        pd_lap(&self->lap, &self->seconds[PD_TWO_WAY_PAIRS]);
        PD_TRY(find_rows(self, &listed, &incidence, distance));
        PD_TRY(step_backward(self));
        PD_TRY(pd_two_way_undamped(context, self->model, self->curvature, self->x, self->y, self->next));
        PD_TRY(largest_move(self, self->next, self->x, &residual));
        PD_TRY(pd_contact_behind(self->contact, &behind));
        residual = fmax(residual, behind);
        // the last target without what lies on the masses, which keeps no momentum
        if (residual < arrived && self->settings.multipliers != PD_TWO_WAY_BARRIER)
            PD_TRY(pd_memory_copy(context, self->y, self->next, bytes_of_state(self)));
        pd_lap(&self->lap, &self->seconds[PD_TWO_WAY_BACKWARD]);
        PD_TRY(tell(self, watch, l, listed.n, searches, residual));
        self->lap = pd_seconds();
        PD_TRY(step_forward(self, &listed, &incidence, distance, behind, &move));
        pd_lap(&self->lap, &self->seconds[PD_TWO_WAY_FORWARD]);
        report->steps = l + 1;
        report->searches += searches;
        report->residual = residual;
        report->rows = self->pairs.at.n > report->rows ? self->pairs.at.n : report->rows;
        report->colours = self->pairs.n_colours > report->colours ? self->pairs.n_colours : report->colours;
        at_rest = move < still ? at_rest + 1 : 0;
        if (residual < arrived) report->exit = PD_TWO_WAY_CONVERGED;
        if (report->exit == PD_TWO_WAY_CAP && at_rest == STILL_STEPS) report->exit = PD_TWO_WAY_STALLED;
        if (report->exit != PD_TWO_WAY_CAP) break;
    }
    if (watch && watch->progress) {
        PD_TRY(list_pairs(self, &listed, &incidence, &distance, &searches));
        PD_TRY(tell(self, watch, report->steps, listed.n, searches, 0.0));
    }
done:
    return status;
}
