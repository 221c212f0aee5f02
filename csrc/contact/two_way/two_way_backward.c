/* The backward step of the two-way interior point method; see two_way.h. */
#include "contact/two_way/two_way_parts.h"

#include "base/clock.h"
#include "contact/growable_list.h"

#include <limits.h>
#include <math.h>

/* Limits of the pairs with rows, in required gaps: at the present state, at the target, and for the distance at the target of pairs that
 * were clear. A row that appears and disappears oscillates: with half of CLEAR, updates did not converge. */
static const double FAR = 4.0, NEAR = 1.0, CLEAR = 1.5;

/* The penalty of an augmented Lagrangian, relative to the denominator of a row and of the rows that meet in it. A step of descent is
 * 1/(1 + PENALTY) of the path. */
static const double PENALTY = 1.0;

/* The maximum number of doublings of the sweeps; the added metric grows with each. */
enum { MOST_LATE = 6 };
static const double SHARE = 0.25;

pd_status pd_two_way_ensure_capacity(pd_two_way *self, size_t n) {
    const pd_growable lists[] = {PD_GROWABLE(self->kind, 1),
                                 PD_GROWABLE(self->points, 4),
                                 PD_GROWABLE(self->chosen, 1),
                                 PD_GROWABLE(self->length, 1),
                                 PD_GROWABLE(self->flags, 1),
                                 PD_GROWABLE(self->normal, 3),
                                 PD_GROWABLE(self->displacement_bound, 4),
                                 {(void **)&self->flag_starts, sizeof(int), 32}};
    pd_status status = pd_growables_grow(self->context, n, "pairs near each other", PD_GROWABLES(lists), &self->feature_capacity, NULL);
    return status ? status : pd_work_grow(self->context, &self->flag_work, self->feature_capacity / 32 + 1);
}

/* Tells whether rows are swept in sequence, by colours. */
static int sweeps_rows(const pd_two_way *self) {
    return self->settings.multipliers == PD_TWO_WAY_GAUSS_SEIDEL || self->settings.multipliers == PD_TWO_WAY_LINEAR;
}

/* The rows of the pairs at x^(l), with the multipliers of the same rows before. */
pd_status pd_two_way_find_rows(pd_two_way *self, const pd_contact_pairs *listed, const pd_incidence *of_listed, const real *distance) {
    pd_context *context = self->context;
    const pd_contact_scene *scene = pd_contact_scene_of(self->contact);
    // unilateral rows, which only push, except for those of the filter
    int plain = self->settings.multipliers != PD_TWO_WAY_LINEAR && self->settings.multipliers != PD_TWO_WAY_BARRIER && !self->untouched;
    const pd_two_way_choice choice = {pd_contact_points(self->contact),
                                      self->y,
                                      distance,
                                      FAR,
                                      NEAR,
                                      plain ? CLEAR : (double)INFINITY,
                                      self->settings.recovery < 1.0 ? self->begun : NULL,
                                      self->settings.recovery};
    pd_two_way_list swap = self->before;
    size_t n = (size_t)listed->n;
    uint64_t found = 0;
    pd_status status = PD_OK;
    self->before = self->pairs, self->pairs = swap;
    self->pairs.at.n = 0;
    if (n > 0) {
        n *= PD_TWO_WAY_FEATURES;
        PD_TRY(pd_two_way_ensure_capacity(self, n));
        PD_TRY(pd_two_way_features(context, self->model, scene, listed, &choice, self->kind, self->points, self->length, self->normal));
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

/* The denominators of rows in the metric, about a goal. */
static pd_status weigh(const pd_two_way *self, const pd_two_way_list *rows, const real *goal) {
    if (!rows->at.n) return PD_OK;
    return pd_two_way_weigh(self->context, self->inverse, pd_contact_points(self->contact), self->begun, goal, &rows->at);
}

/* The metric, the displacement by the multipliers in it, and the residuals of the rows. */
static pd_status measure(const pd_two_way *self, double share) {
    pd_status status;
    PD_TRY(pd_two_way_metric(self->context, self->model, self->n_points, &self->edges.at, &self->edges.incidence, &self->pairs.at,
                             &self->pairs.incidence, share, pd_contact_points(self->contact), self->y_0, self->inverse, self->curvature,
                             self->goal, self->pushed));
    PD_TRY(weigh(self, &self->edges, self->goal));
    PD_TRY(weigh(self, &self->pairs, self->goal));
done:
    return status;
}

/* W J^T lambda, into out. */
static pd_status gather(const pd_two_way *self, const pd_two_way_rows *edges, real *out) {
    return pd_two_way_gather(self->context, self->n_points, self->inverse, edges, &self->edges.incidence, &self->pairs.at,
                             &self->pairs.incidence, out);
}

/* Updates all multipliers at once: by Jacobi, after each of which y follows from them; or with a step of gradient descent for y,
 *     y' = y - W grad L/(1 + p),     L = |y - y_0|_M^2 / 2 + sum (max(0, lambda - p r)^2 - lambda^2) / (2 p),
 *     lambda' = max(0, lambda - p r)
 * [Tang et al. 2018, I-Cloth, in the form of Wang et al. 2023, Sec. 4.3.2; the penalty p of a row is relative to its denominator]. */
static pd_status relax(pd_two_way *self, int sweeps) {
    int augmented = self->settings.multipliers == PD_TWO_WAY_AUGMENTED;
    double part = 1.0 / (1.0 + PENALTY);
    pd_status status = PD_OK;
    for (int sweep = 0; sweep < sweeps; sweep++) {
        PD_TRY(pd_two_way_relax(self->context, &self->edges.at, &self->edges.incidence, &self->pairs.at, &self->pairs.incidence,
                                augmented ? PENALTY : 1.0, self->pushed));
        PD_TRY(gather(self, &self->edges.at, augmented ? self->ahead : self->pushed));
        if (augmented) PD_TRY(pd_move_towards(self->context, self->model->n_vertices, NULL, part, self->ahead, self->pushed));
    }
done:
    return status;
}

/* One sweep of rows. */
static pd_status sweep(const pd_two_way *self, const pd_two_way_list *rows, const pd_two_way_rows *at) {
    if (!at->n) return PD_OK;
    return pd_two_way_sweep(self->context, self->inverse, at, rows->n_colours, rows->starts, self->pushed);
}

/* y^(0) with repulsion by the first neighbour pairs, and with filtered friction that of the sweeps of one backward step [Wang et al. 2023,
 * Secs. 6.2, 6.3]. The printed method also adds the impulses of the collisions. Those of one sweep overshoot and would stay: cubes that
 * meet obliquely then get a sideways impulse without friction. */
static pd_status filter(pd_two_way *self) {
    pd_two_way_list *pairs = &self->pairs;
    pd_two_way_rows no_edges = self->edges.at;
    size_t n = (size_t)pairs->at.n, bytes = 3 * (size_t)self->n_points * sizeof(real);
    pd_status status = PD_OK;
    no_edges.n = 0;
    if (self->settings.repulsion > 0)
        PD_TRY(pd_two_way_repel(self->context, self->inverse, &pairs->at, pairs->n_colours, pairs->starts, self->settings.repulsion,
                                self->activation, pd_contact_points(self->contact), self->y_0));
    if (self->filtered) {
        PD_TRY(weigh(self, pairs, self->y_0));
        PD_TRY(pd_memory_clear(self->context, self->pushed, bytes));
        for (int i = 0; i < self->settings.sweeps; i++) PD_TRY(sweep(self, pairs, &pairs->at));
        PD_TRY(pd_memory_clear(self->context, pairs->at.multiplier, n * sizeof(real)));
        PD_TRY(gather(self, &no_edges, self->pushed));
        PD_TRY(pd_two_way_arrive(self->context, self->n_points, self->y_0, self->pushed, self->y_0));
        PD_TRY(pd_memory_clear(self->context, pairs->at.tangential, 3 * n * sizeof(real)));
    }
    self->untouched = 0;
done:
    return status;
}

/* The sweeps double with each `late`, while an update has not converged. */
static int more_sweeps(int sweeps, int late) { return sweeps <= INT_MAX >> late ? sweeps << late : INT_MAX; }

pd_status pd_two_way_step_backward(pd_two_way *self, int l) {
    pd_context *context = self->context;
    const pd_model *model = self->model;
    const real *x = pd_contact_points(self->contact);
    pd_two_way_list *all[] = {&self->edges, &self->pairs};
    pd_two_way_rows rows[2];
    int late = self->settings.patience > 0 ? l / self->settings.patience : 0;
    int sweeps = more_sweeps(self->settings.sweeps, late < MOST_LATE ? late : MOST_LATE);
    double share = 1.0 + SHARE * (late < MOST_LATE ? late : MOST_LATE);
    pd_status status = PD_OK;
    for (int i = 0; i < 2; i++)
        if (all[i]->at.n) PD_TRY(pd_two_way_linearise(context, model, self->settings.edge_limit, &self->rubbing, x, &all[i]->at));
    if (self->settings.multipliers == PD_TWO_WAY_BARRIER) {
        PD_TRY(pd_two_way_descend(context, model, self->n_points, &self->pairs.at, &self->pairs.incidence, self->settings.strength,
                                  self->activation, x, self->y_0, self->curvature, self->goal));
        return pd_memory_copy(context, self->y, self->goal, 3 * (size_t)self->n_points * sizeof(real));
    }
    PD_TRY(measure(self, share));
    if (self->untouched && self->pairs.at.n) {
        PD_TRY(filter(self));
        PD_TRY(measure(self, share));
    }
    if (sweeps_rows(self)) {
        for (int i = 0; i < 2; i++) rows[i] = all[i]->at;
        if (self->filtered) rows[1].coefficient = NULL;
        for (int n = 0; n < sweeps; n++)
            for (int i = 0; i < 2; i++) PD_TRY(sweep(self, all[i], &rows[i]));
    } else {
        PD_TRY(relax(self, sweeps));
    }
    PD_TRY(pd_two_way_arrive(context, self->n_points, self->goal, self->pushed, self->y));
done:
    return status;
}
