/* The two-way interior point method; see two_way.h.
 *
 * Contradictory rows have no multipliers. The metric adds 2 lambda/(l |x|) to a mass, so a sweep raises lambda in proportion to lambda.
 * The growth is geometric, until RUNAWAY ends the update. A cap on the added metric does not end it earlier: see
 * docs/claims/wang2023.md. */
#include "contact/two_way/two_way.h"

#include "base/clock.h"
#include "contact/growable_list.h"
#include "contact/two_way/two_way_parts.h"
#include "elements/contact/volume_constraint.h"
#include "linear/upload.h"

#include <math.h>
#include <stdlib.h>

/* gamma: the fraction of a gap that a forward step may close [Wang et al. 2023, Table 3]. */
static const double GAMMA = 0.9;

/* D^min in delta [Table 3: 2 mm for 1]. 1.5 and 3 were no faster in small scenes. */
static const double NEAREST = 2.0;

/* The list distance in multiples of the necessary one. The search distance is twice that (contact.c). Factors of 1.2 and 1.7, and of 1.5
 * and 3 for the search, were no faster. */
static const double LASTING = 1.4;

/* In delta: the distance at which the state has arrived at its target; the bound of a negligible move, and the number of these in a row. */
static const double ARRIVED = 0.1, STILL = 1e-3;
enum { STILL_STEPS = 16 };

/* In delta: the update ends if contradictory rows have moved a target this far. */
static const double RUNAWAY = 1e6;

/* ---- creation and destruction -------------------------------------------------------------------------------------------------------- */

/* The rows of edges, whose colours are constant. */
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
    self->rubs |= d->two_way.repulsion > 0; // repulsion needs the same weights and normals
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
    real **slots[] = {&self->y_0, &self->y, &self->ahead, &self->begun, &self->goal, &self->pushed, &self->inverse, &self->curvature};
    for (int i = 0; i < 8; i++) PD_TRY(pd_memory_create(context, (void **)slots[i], i < 6 ? points : 2 * points));
    PD_TRY(pd_two_way_list_grow(&self->pairs, self->context, 1, self->rubs));
    PD_TRY(pd_two_way_list_grow(&self->before, self->context, 1, self->rubs));
    PD_TRY(pd_two_way_ensure_capacity(self, 1));
    PD_TRY(create_edges(self, &d->two_way));
    for (int i = 0; i < 3; i++) {
        all[i]->at.least = self->settings.multipliers == PD_TWO_WAY_LINEAR ? (real)-INFINITY : (real)0;
        all[i]->at.by_distance = self->settings.multipliers == PD_TWO_WAY_BARRIER || self->settings.passes > 1;
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
    void *of_pairs[] = {self->kind,
                        self->points,
                        self->chosen,
                        self->flag_starts,
                        self->length,
                        self->flags,
                        self->normal,
                        self->displacement_bound,
                        self->flag_work.memory};
    real *of_points[] = {self->x,     self->next, self->y_0,    self->y,       self->ahead,
                         self->begun, self->goal, self->pushed, self->inverse, self->curvature};
    for (int i = 0; i < 3; i++) pd_memory_destroy(self->context, (void *)(uintptr_t)of_scene[i]);
    for (int i = 0; i < 9; i++) pd_memory_destroy(self->context, of_pairs[i]);
    for (int i = 0; i < 10; i++) pd_memory_destroy(self->context, of_points[i]);
    pd_two_way_list_destroy(&self->edges, self->context);
    pd_two_way_list_destroy(&self->pairs, self->context);
    pd_two_way_list_destroy(&self->before, self->context);
    pd_two_way_colouring_destroy(&self->colouring, self->context);
    pd_contact_destroy(self->contact);
    free(self);
}

pd_contact *pd_two_way_contact(const pd_two_way *self) { return self->contact; }

int pd_two_way_passes(const pd_two_way *self) { return self->settings.passes; }

int pd_two_way_is_passive(const pd_two_way *self) { return !(self->settings.repulsion > 0) && !self->settings.every; }

double pd_two_way_distance(const pd_two_way *self) { return self->delta; }

int pd_two_way_every(const pd_two_way *self) { return self->settings.every; }

const real *pd_two_way_target(const pd_two_way *self) { return self->y; }

const real *pd_two_way_origin(const pd_two_way *self) { return self->y_0; }

const real *pd_two_way_state(const pd_two_way *self) { return self->x; }

/* ---- a step -------------------------------------------------------------------------------------------------------------------------- */

static size_t bytes_of_state(const pd_two_way *self) { return 3 * (size_t)self->model->n_vertices * sizeof(real); }

pd_status pd_two_way_begin(pd_two_way *self, const real *x_t) {
    pd_status status;
    pd_contact_set_ahead(self->contact, 0);
    PD_TRY(pd_contact_keep_prescribed(self->contact));
    PD_TRY(pd_contact_points_begun(self->contact, x_t, self->begun));
    PD_TRY(pd_memory_copy(self->context, self->x, x_t, bytes_of_state(self)));
done:
    return status;
}

pd_status pd_two_way_restore(pd_two_way *self) { return pd_contact_restore_prescribed(self->contact); }

/* max |a_i - b_i| over vertices, m. */
static pd_status largest_move(const pd_two_way *self, const real *a, const real *b, double *move) {
    double found[2];
    pd_status status = pd_largest_move(self->context, self->model->n_vertices, NULL, a, b, self->scalars);
    if (!status) status = pd_memory_download(self->context, found, self->scalars, sizeof found);
    *move = sqrt(found[0]);
    return status;
}

/* Sets the listing distance to that of the remaining path, whenever the path has halved or doubled. It depends only on the state and the
 * target, so a resumed run has the same lists. */
static void choose_range(pd_two_way *self, double left, int first) {
    double least = NEAREST * self->delta, most = fmax(self->settings.farthest, least), before = pd_contact_lists_up_to(self->contact);
    double wanted = fmin(fmax(self->separation + 1.01 * 2.0 / GAMMA * left, least), most) * (1.0 + 8.0 * (double)PD_EPSILON);
    if (first || wanted < 0.5 * before || wanted > 2.0 * before) pd_contact_list_up_to(self->contact, wanted, LASTING * wanted);
}

/* x^(l+1) from x^(l), and the prescribed points; *move: the largest displacement. */
static pd_status step_forward(pd_two_way *self, const pd_contact_pairs *listed, const pd_incidence *of_listed, const real *distance,
                              double target_lag, double *move) {
    pd_context *context = self->context;
    const real *points = pd_contact_points(self->contact);
    int n = self->model->n_vertices;
    double farthest = pd_contact_listed_up_to(self->contact) - self->separation, rounding = pd_contact_rounding(self->contact),
           fraction = 1.0;
    pd_status status = PD_OK;
    if (self->settings.lengths_by != PD_TWO_WAY_DISTANCES) {
        if (self->settings.lengths_by == PD_TWO_WAY_IMPACT) {
            PD_TRY(pd_contact_limit(self->contact, self->x, self->y, target_lag > 0.0, &fraction));
            PD_TRY(pd_memory_copy(context, self->next, self->x, bytes_of_state(self)));
            PD_TRY(pd_move_towards(context, n, NULL, fraction, self->y, self->next));
        } else {
            PD_TRY(pd_memory_copy(context, self->next, self->y, bytes_of_state(self)));
            PD_TRY(pd_contact_limit_each(self->contact, self->x, target_lag > 0.0, self->next, &fraction));
        }
        PD_TRY(largest_move(self, self->next, self->x, move));
        if (target_lag > 0.0) PD_TRY(pd_contact_move_prescribed(self->contact, fraction));
        *move = fmax(*move, fraction * target_lag);
        return pd_memory_copy(context, self->x, self->next, bytes_of_state(self));
    }
    PD_TRY(pd_two_way_ensure_capacity(self, (size_t)listed->n));
    const pd_two_way_gaps gaps = {distance, self->normal, self->displacement_bound, farthest, rounding, GAMMA};
    PD_TRY(pd_two_way_slabs(context, listed, points, self->y, &gaps));
    PD_TRY(pd_two_way_forward(context, n, listed, of_listed, &gaps, points, self->y, self->next));
    PD_TRY(largest_move(self, self->next, self->x, move));
    if (target_lag > 0.0) {
        PD_TRY(pd_contact_points_ahead(self->contact, self->x, self->ahead));
        PD_TRY(pd_two_way_prescribed_fraction(context, n, self->n_points, listed, of_listed, &gaps, points, self->ahead, self->scalars));
        PD_TRY(pd_memory_download(context, &fraction, self->scalars, sizeof fraction));
        PD_TRY(pd_contact_move_prescribed(self->contact, fraction));
        *move = fmax(*move, fraction * target_lag);
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
    *listed = pd_contact_columns_pairs(&view.columns, view.n, NULL);
    *incidence = view.incidence;
    PD_TRY(pd_contact_distances(self->contact, distance));
    *searches = (int)(pd_contact_searches(self->contact) - before);
done:
    return status;
}

/* Counts the listed pairs within the distance up to which the list is complete. */
static pd_status count_near(const pd_two_way *self, const pd_contact_pairs *listed, const real *distance, int *near) {
    size_t n = (size_t)listed->n;
    double known = pd_contact_listed_up_to(self->contact);
    real *numbers = malloc(2 * n * sizeof *numbers + 1);
    pd_status status = PD_OK;
    *near = 0;
    if (!numbers) PD_TRY(pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for %zu distances", n));
    PD_TRY(pd_memory_download(self->context, numbers, distance, n * sizeof *numbers));
    PD_TRY(pd_memory_download(self->context, numbers + n, listed->separation, n * sizeof *numbers));
    for (size_t p = 0; p < n; p++) *near += (double)numbers[p] - ((double)numbers[n + p] - self->separation) < known;
done:
    free(numbers);
    return status;
}

static pd_status report_progress(const pd_two_way *self, const pd_two_way_watch *watch, int step, const pd_contact_pairs *listed,
                                 const real *distance, int searches, double residual) {
    pd_two_way_progress progress = {.step = step,
                                    .points = pd_contact_points(self->contact),
                                    .searched = pd_contact_searched_up_to(self->contact),
                                    .listed = pd_contact_listed_up_to(self->contact),
                                    .rows = self->pairs.at.n,
                                    .colours = self->pairs.n_colours,
                                    .search = searches,
                                    .residual = residual};
    pd_status status;
    if (!watch || !watch->progress) return PD_OK;
    PD_TRY(count_near(self, listed, distance, &progress.pairs));
    PD_TRY(watch->progress(watch->user, &progress));
done:
    return status;
}

pd_status pd_two_way_update(pd_two_way *self, const real *target, const real *given, const pd_two_way_watch *watch,
                            pd_two_way_report *report) {
    pd_context *context = self->context;
    const double arrived = ARRIVED * self->delta, still = STILL * self->delta, runaway = RUNAWAY * self->delta;
    pd_contact_pairs listed;
    pd_incidence incidence;
    const real *distance;
    pd_status status;
    int at_rest = 0, searches;
    double residual, target_lag;
    *report = (pd_two_way_report){.exit = PD_TWO_WAY_CAP};
    self->seconds = report->seconds;
    PD_TRY(pd_contact_points_ahead(self->contact, target, self->y));
    PD_TRY(pd_contact_points_ahead(self->contact, given ? given : target, self->y_0));
    if (!given) self->pairs.at.n = 0;
    self->untouched = self->filtered || self->settings.repulsion > 0;
    if (self->edges.at.n && !given) PD_TRY(pd_memory_clear(context, self->edges.at.multiplier, (size_t)self->edges.at.n * sizeof(real)));
    PD_TRY(largest_move(self, self->y, self->x, &residual));
    PD_TRY(pd_contact_target_lag(self->contact, &target_lag));
    residual = fmax(residual, target_lag);
    for (int l = 0; l < self->settings.steps; l++) {
        double move;
        if (watch && watch->interrupted && watch->interrupted(watch->user)) return PD_INTERRUPTED;
        self->lap = pd_seconds();
        choose_range(self, residual, l == 0);
        PD_TRY(list_pairs(self, &listed, &incidence, &distance, &searches));
        pd_lap(&self->lap, &self->seconds[PD_TWO_WAY_PAIRS]);
        PD_TRY(pd_two_way_find_rows(self, &listed, &incidence, distance));
        PD_TRY(pd_two_way_step_backward(self, l));
        PD_TRY(pd_two_way_undamped(context, self->model, self->curvature, self->x, self->y, self->next));
        PD_TRY(largest_move(self, self->next, self->x, &residual));
        PD_TRY(pd_contact_target_lag(self->contact, &target_lag));
        if (!(residual <= runaway)) {
            PD_TRY(pd_memory_copy(context, self->y, self->x, bytes_of_state(self)));
            report->residual = residual, report->exit = PD_TWO_WAY_CONTRADICTORY;
            break;
        }
        residual = fmax(residual, target_lag);
        // the last target without the added metric, which does not conserve momentum
        if (residual < arrived && self->settings.multipliers != PD_TWO_WAY_BARRIER)
            PD_TRY(pd_memory_copy(context, self->y, self->next, bytes_of_state(self)));
        pd_lap(&self->lap, &self->seconds[PD_TWO_WAY_BACKWARD]);
        PD_TRY(report_progress(self, watch, l, &listed, distance, searches, residual));
        self->lap = pd_seconds();
        PD_TRY(step_forward(self, &listed, &incidence, distance, target_lag, &move));
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
        PD_TRY(report_progress(self, watch, report->steps, &listed, distance, searches, 0.0));
    }
done:
    return status;
}
