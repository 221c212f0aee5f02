/* Step limits, displacement bounds and the positions of points; see contact.h. */
#include "contact/growable_list.h"
#include "contact/potential/contact_parts.h"
#include "linear/upload.h"

#include <math.h>
#include <stdlib.h>

/* The same for methods with displacement bounds under the other step limiter. There a vertex without neighbour pairs has no bound, so the
 * list only needs the pairs that such a vertex could meet soon. */
static const double WIDER = 2.0;

/* The fraction of a gap that a move may close, as in geometry/motion.h. */
static const double GAP_FRACTION = 0.9;

/* In activation distances: pairs up to this far beyond activation take part in a sweep; displacement bounds cover the others. */
static const double NEAR = 0.5;

/* ---- positions ----------------------------------------------------------------------------------------------------------------------- */

pd_status pd_contact_list_positions(pd_contact *self, const pd_contact_description *d) {
    size_t n = (size_t)d->phase.n_points;
    pd_status status = PD_OK;
    if (!d->n_planes) return PD_OK;
    int *rows = malloc(n * sizeof *rows + 1);
    unsigned char *is_normal = calloc(n + 1, 1);
    if (!rows || !is_normal)
        PD_TRY(pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for %zu points in contact", n));
    for (int k = 0; k < d->n_planes; k++) is_normal[d->planes[k] + 1] = 1;
    for (size_t i = 0; i < n; i++)
        if (!is_normal[i]) rows[self->n_positions++] = (int)i;
    PD_TRY(pd_upload_ints(self->context, &self->positions, rows, (size_t)self->n_positions));
done:
    free(rows);
    free(is_normal);
    return status;
}

/* ---- the step limiter ---------------------------------------------------------------------------------------------------------------- */

/* The factor from the rounding error of a vertex to that of a point: a point is a sum of four products and may move farther than its
 * vertices. */
static double points_to_vertices(const pd_contact *self) { return self->surface->rows ? 4.0 * (double)self->surface->largest : 1.0; }

/* Bounds the rounding of x_0 + part (x_1 - x_0) by the caller, and that of x_1. */
static double rounding_of_way(const pd_contact *self) {
    return 2.0 * points_to_vertices(self) * (double)PD_EPSILON * pd_proximity_size(self->proximity);
}

static pd_status set_way_to(const pd_contact *self, const real *x_0, const real *x_1, const real *prescribed_1) {
    pd_status status = pd_contact_set_points(self, x_0, self->prescribed, pd_ccd_limiter_start(self->limiter));
    return status ? status : pd_contact_set_points(self, x_1, prescribed_1, pd_ccd_limiter_end(self->limiter));
}

static pd_status set_way(const pd_contact *self, const real *x_0, const real *x_1, int prescribed) {
    return set_way_to(self, x_0, x_1, prescribed ? self->targets : self->prescribed);
}

/* The distance, m, up to which no move brings a point to a pair that is not listed. */
static double outer_bound(const pd_contact *self) {
    return 0.5 * GAP_FRACTION * (self->range - (double)self->scene.separation - pd_contact_rounding(self));
}

/* The fraction on which all points stay on their sides of the planes of the listed pairs at x_0, and move at most `outer`, m. */
static pd_status bound_by_planes(pd_contact *self, const real *x_0, const real *x_1, const real *prescribed_1, double outer, int curved,
                                 double *fraction) {
    const pd_growable planes[] = {PD_GROWABLE(self->planes_of_listed, 1)};
    real *end = pd_ccd_limiter_end(self->limiter);
    pd_status status;
    PD_TRY(pd_contact_find(self, x_0));
    pd_contact_pairs pairs = pd_contact_listed(self);
    PD_TRY(pd_growables_grow(self->context, (size_t)self->n, "pairs in contact", PD_GROWABLES(planes), &self->plane_capacity, NULL));
    PD_TRY(
        pd_contact_planes(self->context, &pairs, self->surface->points, pd_contact_rounding(self), GAP_FRACTION, self->planes_of_listed));
    PD_TRY(pd_contact_set_points(self, x_1, prescribed_1, end));
    PD_TRY(pd_contact_bound_fraction(self->context, pd_contact_n_points(self), &self->incidence, pairs.kind, self->planes_of_listed, outer,
                                     curved, self->surface->points, end, self->energy));
    PD_TRY(pd_memory_download(self->context, fraction, self->energy, sizeof *fraction));
done:
    return status;
}

static pd_status limit_to(pd_contact *self, const real *x_0, const real *x_1, const real *prescribed_1, int curved, double *fraction) {
    pd_status status;
    *fraction = 1.0;
    if (self->interval >= 0) return PD_OK;
    if (self->by_bounds) return bound_by_planes(self, x_0, x_1, prescribed_1, outer_bound(self), curved, fraction);
    PD_TRY(set_way_to(self, x_0, x_1, prescribed_1));
    PD_TRY(pd_ccd_limiter_fraction(self->limiter, rounding_of_way(self), NULL, self->n_vertices, fraction));
done:
    return status;
}

pd_status pd_contact_limit_to(pd_contact *self, const real *x_0, const real *x_1, const real *prescribed_1, double *fraction) {
    return limit_to(self, x_0, x_1, prescribed_1, 0, fraction);
}

pd_status pd_contact_limit(pd_contact *self, const real *x_0, const real *x_1, int prescribed, double *fraction) {
    return limit_to(self, x_0, x_1, prescribed ? self->targets : self->prescribed, 0, fraction);
}

pd_status pd_contact_limit_short(pd_contact *self, const real *x_0, const real *x_1, double *fraction) {
    pd_status status;
    double move[2] = {0.0};
    if (self->interval >= 0 || self->by_bounds) return pd_contact_limit(self, x_0, x_1, 0, fraction);
    PD_TRY(pd_contact_largest_move(self, x_1, x_0, self->energy));
    PD_TRY(pd_memory_download(self->context, move, self->energy, sizeof move));
    *fraction = 0.0;
    // inner vertices may go farther
    if (sqrt(move[0]) <= outer_bound(self)) PD_TRY(bound_by_planes(self, x_0, x_1, self->prescribed, (double)INFINITY, 0, fraction));
    if (!(*fraction >= 1.0)) PD_TRY(pd_contact_limit(self, x_0, x_1, 0, fraction));
done:
    return status;
}

pd_status pd_contact_limit_arcs(pd_contact *self, const real *x_0, const real *x_1, int prescribed, double *fraction) {
    return limit_to(self, x_0, x_1, prescribed ? self->targets : self->prescribed, 1, fraction);
}

pd_status pd_contact_closing_of(pd_contact *self, const real *x_0, const real *x_1, const real *prescribed_1, double floor,
                                pd_closing *closing) {
    real *end = pd_ccd_limiter_end(self->limiter);
    pd_status status = PD_OK;
    *closing = (pd_closing){(double)INFINITY, (double)INFINITY, 1.0};
    PD_TRY(pd_contact_find(self, x_0));
    if (!self->n) return PD_OK;
    PD_TRY(pd_contact_ensure_corners(self, (size_t)self->n));
    PD_TRY(pd_contact_evaluate(self, PD_CONTACT_DISTANCE, PD_FILTER_NONE, self->values));
    PD_TRY(pd_contact_set_points(self, x_1, prescribed_1, end));
    pd_contact_pairs pairs = pd_contact_listed(self);
    PD_TRY(pd_contact_batch(self->context, &self->potential, PD_CONTACT_DISTANCE, PD_FILTER_NONE, &pairs, end, self->corners));
    PD_TRY(pd_contact_closing(self->context, &pairs, self->values, self->corners, 0.25 * pd_contact_rounding(self), floor, self->closing));
    PD_TRY(pd_memory_download(self->context, closing, self->closing, sizeof *closing));
done:
    return status;
}

pd_status pd_contact_limit_curved(pd_contact *self, const real *x_0, const real *x_1, int prescribed, const real *slack, double *fraction) {
    pd_status status;
    PD_TRY(set_way(self, x_0, x_1, prescribed));
    PD_TRY(pd_ccd_limiter_fraction(self->limiter, rounding_of_way(self), slack, self->n_vertices, fraction));
done:
    return status;
}

pd_status pd_contact_limit_each(pd_contact *self, const real *x_0, int prescribed, real *x_1, double *fraction) {
    size_t bytes = 3 * (size_t)self->n_vertices * sizeof(real);
    pd_status status;
    PD_TRY(set_way(self, x_0, x_1, prescribed));
    PD_TRY(pd_ccd_limiter_move_each(self->limiter, rounding_of_way(self), self->n_moving, fraction));
    PD_TRY(pd_memory_copy(self->context, x_1, pd_ccd_limiter_end(self->limiter), bytes));
done:
    return status;
}

pd_status pd_contact_limit_async(pd_contact *self, const real *x_0, const real *x_1, const pd_active_pairs **hits) {
    pd_status status;
    PD_TRY(set_way(self, x_0, x_1, 1));
    PD_TRY(pd_ccd_limiter_fraction_async(self->limiter, rounding_of_way(self), hits));
done:
    return status;
}

pd_status pd_contact_limit_result(pd_contact *self, double *fraction, int *complete) {
    return pd_ccd_limiter_fraction_result(self->limiter, fraction, complete);
}

pd_status pd_contact_hits(pd_contact *self, const pd_active_pairs **hits, size_t *n, int *complete) {
    return pd_ccd_limiter_hits(self->limiter, hits, n, complete);
}

pd_ccd_limiter *pd_contact_ccd_limiter(const pd_contact *self) { return self->limiter; }

pd_status pd_contact_go(pd_contact *self, const double *fraction, const double *prescribed, const real *x_1, real *x) {
    pd_status status = pd_move_fraction_of_way(self->context, self->n_vertices, fraction, x_1, x);
    return status ? status : pd_move_fraction_of_way(self->context, self->n_prescribed, prescribed, self->targets, self->prescribed);
}

/* ---- for contact without a contact potential ----------------------------------------------------------------------------------------- */

pd_status pd_contact_points_ahead(const pd_contact *self, const real *x, real *points) {
    return pd_contact_set_points(self, x, self->targets, points);
}

pd_status pd_contact_points_now(const pd_contact *self, const real *x, real *points) {
    return pd_contact_set_points(self, x, self->prescribed, points);
}

pd_status pd_contact_points_begun(const pd_contact *self, const real *x, real *points) {
    return pd_contact_set_points(self, x, self->kept, points);
}

const pd_active_pairs *pd_contact_active_pairs(const pd_contact *self, size_t *n) { return pd_proximity_active(self->proximity, n); }

pd_status pd_contact_distances(pd_contact *self, const real **distances) {
    *distances = self->values;
    return self->n ? pd_contact_evaluate(self, PD_CONTACT_DISTANCE, PD_FILTER_NONE, self->values) : PD_OK;
}

pd_status pd_contact_describe_pairs(const pd_contact *self, const pd_active_pairs *pairs, int n, const pd_contact_columns *out) {
    return pd_contact_describe(self->context, &self->scene, pairs, n, out);
}

pd_pair_potential pd_contact_pair_potential(const pd_contact *self) { return self->potential; }

const pd_contact_scene *pd_contact_scene_of(const pd_contact *self) { return &self->scene; }

void pd_contact_list_up_to(pd_contact *self, double range, double lasting) {
    self->listed = self->listed && lasting == 0.0 && self->lasting == 0.0 && self->range == range;
    self->range = range, self->lasting = lasting;
}

double pd_contact_lists_up_to(const pd_contact *self) { return self->range; }

double pd_contact_listed_up_to(const pd_contact *self) { return self->holds; }

double pd_contact_searched_up_to(const pd_contact *self) { return pd_proximity_range(self->proximity); }

/* ---- displacement bounds ------------------------------------------------------------------------------------------------------------- */

void pd_contact_widen(pd_contact *self) {
    if (self->by_bounds || self->widened || self->interval >= 0) return;
    self->acts = self->range;
    self->range = (self->range - (double)self->scene.separation) * WIDER + (double)self->scene.separation;
    self->widened = 1;
}

void pd_contact_share(pd_contact *self, const int *colours) {
    for (int lag = 0; lag < PD_LAG_COUNT; lag++)
        if (self->friction[lag]) pd_friction_share(self->friction[lag], colours, self->n_vertices);
}

const unsigned char *pd_contact_chosen(const pd_contact *self) { return self->chosen_flags; }

pd_status pd_contact_largest_move(pd_contact *self, const real *x, const real *previous, double *move) {
    const pd_surface *surface = self->surface;
    if (!surface->rows) return pd_largest_move(self->context, self->chosen.n_vertices, self->chosen.rows, x, previous, move);
    pd_status status = PD_OK;
    PD_TRY(pd_surface_follow(surface, x, surface->moves));
    PD_TRY(pd_surface_follow(surface, previous, surface->forces));
    PD_TRY(pd_largest_move(self->context, self->chosen.n_vertices, self->chosen.rows, surface->moves, surface->forces, move));
done:
    return status;
}

pd_status pd_contact_begin_touching(pd_contact *self) {
    pd_neighbour_list_forget(self->near); // the neighbour list must depend on the state only
    pd_status status = pd_memory_clear(self->context, self->touching, (size_t)self->n_vertices);
    if (!status) status = pd_memory_clear(self->context, self->held, (size_t)self->n_vertices * sizeof *self->held);
    if (status || !self->surface->rows) return status;
    return pd_memory_clear(self->context, self->surface->touching, (size_t)self->n_moving);
}

double pd_contact_rounding(const pd_contact *self) {
    return 16.0 * points_to_vertices(self) * (double)PD_EPSILON * pd_proximity_size(self->proximity);
}

double pd_contact_certain_bound(const pd_contact *self) {
    if (pd_neighbour_list_certain_bound(self->near) > 0.0) return pd_neighbour_list_certain_bound(self->near);
    return fmax(outer_bound(self), 0.0);
}

static pd_status add_friction(const pd_contact *self, pd_contact_sweep *sweep) {
    if (!self->friction[self->lag]) return PD_OK;
    pd_friction_view view = pd_friction_pairs_of(self->friction[self->lag]);
    sweep->lagged = view.pairs, sweep->lagged_incidence = view.incidence, sweep->lagged_records = view.records;
    sweep->slipping = view.slipping;
    sweep->slipping.y = sweep->points;
    sweep->rubbing = view.scene, sweep->every_visit = self->every_visit;
    if (self->penalty[self->lag]) { // frozen pairs are the same for both reads
        pd_penalty_view frozen = pd_penalty_pairs_of(self->penalty[self->lag]);
        const pd_lagged_pairs *at = &frozen.pairs.at;
        sweep->lagged.points = at->points, sweep->lagged.weights = at->weights, sweep->lagged.normals = at->normals;
        sweep->lagged_incidence = frozen.incidence;
    }
    return view.pairs.n > 0 ? pd_friction_moves(self->context, &self->chosen, &sweep->slipping) : PD_OK;
}

/* Transfers displacement bounds and contact flags from points to vertices. */
static pd_status carry_bounds(pd_contact *self) {
    const pd_surface *surface = self->surface;
    return pd_embedding_displacement_bounds(self->context, &surface->embedding, surface->displacement_bounds, surface->touching,
                                            self->displacement_bounds, self->touching);
}

/* No vertex has a displacement bound. */
static pd_status bounds_with_penalty(pd_contact *self, pd_contact_sweep *sweep) {
    pd_penalty *penalty = self->penalty[self->lag];
    pd_penalty_view view = pd_penalty_pairs_of(penalty);
    const pd_surface *surface = self->surface;
    unsigned char *touching = surface->rows ? surface->touching : self->touching;
    pd_status status = pd_penalty_mark_touching(penalty, surface->points, self->n_moving, touching);
    if (!status && surface->rows) status = carry_bounds(self);
    *sweep =
        (pd_contact_sweep){.frozen = view.pairs, .incidence = view.incidence, .points = surface->points, .embedding = surface->embedding};
    return status ? status : add_friction(self, sweep);
}

/* Lists the neighbour pairs at x, and the displacement bounds of the other vertices. */
static pd_status list_neighbour_pairs(pd_contact *self, const real *x) {
    pd_status status;
    pd_neighbour_list_forget(self->near);
    PD_TRY(pd_contact_find(self, x));
    pd_contact_pairs pairs = pd_contact_listed(self);
    if (self->n) PD_TRY(pd_contact_evaluate(self, PD_CONTACT_DISTANCE, PD_FILTER_NONE, self->values));
    double certain = pd_contact_certain_bound(self), rounding = pd_contact_rounding(self);
    int evaluates_list = self->widened || self->by_bounds;
    double inactive = self->range - (double)self->scene.separation - (double)self->scene.activation; // of unlisted pairs
    const pd_neighbour_pairs list = {.pairs = &pairs,
                                     .panel = self->chooses_triangles ? self->columns.panel : NULL,
                                     .incidence = &self->incidence,
                                     .distance = self->values,
                                     .points = self->surface->points,
                                     .cut = NEAR * (double)self->scene.activation,
                                     .far = self->by_bounds ? certain : (double)INFINITY,
                                     .certain = certain,
                                     .inactive_bound = evaluates_list ? 0.5 * (inactive - rounding) : (double)INFINITY,
                                     .rounding = rounding,
                                     .fraction = GAP_FRACTION};
    PD_TRY(pd_neighbour_list_rebuild(self->near, &list));
done:
    return status;
}

pd_status pd_contact_bound_displacements(pd_contact *self, const real *x, pd_contact_sweep *sweep) {
    const pd_surface *surface = self->surface;
    real *points = surface->points;
    pd_status status;
    int holds;
    PD_TRY(pd_contact_set_points(self, x, self->ahead ? self->targets : self->prescribed, points));
    if (self->penalty[self->lag]) return bounds_with_penalty(self, sweep);
    PD_TRY(pd_neighbour_list_update(self->near, points, &holds));
    if (!holds) PD_TRY(list_neighbour_pairs(self, x));
    *sweep = (pd_contact_sweep){.potential = self->potential,
                                .held = self->held,
                                .displacement_bound = self->displacement_bounds,
                                .points = points,
                                .embedding = surface->embedding};
    if (surface->rows) {
        PD_TRY(pd_neighbour_list_bounds(self->near, &self->potential, points, surface->displacement_bounds, surface->touching, sweep));
        PD_TRY(carry_bounds(self));
    } else {
        PD_TRY(pd_neighbour_list_bounds(self->near, &self->potential, points, self->displacement_bounds, self->touching, sweep));
    }
    PD_TRY(add_friction(self, sweep));
done:
    return status;
}

pd_status pd_contact_held(pd_contact *self, double *most) {
    pd_status status = PD_OK;
    *most = 0.0;
    if (self->interval >= 0) return PD_OK;
    PD_TRY(pd_contact_most(self->context, self->n_vertices, self->held, self->energy));
    PD_TRY(pd_memory_download(self->context, most, self->energy, sizeof *most));
done:
    return status;
}

const unsigned char *pd_contact_touching(const pd_contact *self) { return self->touching; }

const real *pd_contact_displacement_bounds_of(const pd_contact *self) { return self->interval >= 0 ? NULL : self->displacement_bounds; }

int pd_contact_uses_bounds(const pd_contact *self) { return self->by_bounds; }

int pd_contact_is_thick(const pd_contact_description *d) {
    for (int i = 0; i < d->phase.n_points; i++)
        if (d->radii[i] > 0) return 1;
    return 0;
}

real pd_contact_thickness(const pd_contact *self) { return self->scene.separation; }
