/* Contact as a term of the incremental potential; see contact.h. */
#include "contact/potential/contact_parts.h"

#include "base/clock.h"
#include "contact/growable_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With displacement bounds, pairs are listed up to this multiple of their activation distance. A point then moves at most that far in
 * two iterations. */
static const double RANGE_FACTOR = 4.0;

/* The search distance of candidates, in multiples of the listing distance. The search is repeated when the displacement bound falls below
 * the listing distance. A larger factor for wide lists gives many candidates and hardly fewer searches (benchmarks/violent_contact.py). */
static const double SEARCH_FACTOR = 2.0, SEARCH_FACTOR_OF_WIDE = 1.2;

/* ---- creation and destruction ------------------------------------------------------------------------------------------------------- */

static size_t prescribed_bytes(const pd_contact *self) { return 3 * (size_t)self->n_prescribed * sizeof(real); }

static int has_panels(const pd_contact_description *d) {
    for (int t = 0; d->panels && t < d->phase.n[PD_TRIANGLES]; t++)
        if (d->panels[t] >= 0) return 1;
    return 0;
}

static pd_status create_scene(pd_contact_scene *scene, pd_context *context, const pd_contact_description *d, int n_moving) {
    pd_status status = PD_OK;
    size_t n = (size_t)d->phase.n_points;
    scene->activation = (real)d->activation, scene->separation = (real)d->separation;
    scene->weighting = d->weighting, scene->n_moving = n_moving;
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&scene->rest, d->rest, 3 * n * sizeof(real)));
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&scene->radii, d->radii, n * sizeof(real)));
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&scene->bodies, d->bodies, n * sizeof(int)));
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&scene->areas, d->areas, n * sizeof(real)));
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&scene->edge_areas, d->edge_areas, (size_t)d->phase.n[PD_EDGES] * sizeof(real)));
    PD_TRY(
        pd_upload(context, (void **)(uintptr_t)&scene->triangle_areas, d->triangle_areas, (size_t)d->phase.n[PD_TRIANGLES] * sizeof(real)));
    if (has_panels(d))
        PD_TRY(pd_upload(context, (void **)(uintptr_t)&scene->panels, d->panels, (size_t)d->phase.n[PD_TRIANGLES] * sizeof(int)));
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&scene->planes, d->planes, (size_t)d->n_planes * sizeof(int)));
done:
    return status;
}

/* Creates the surface. With embedded points, the vertices are points of weight 1. */
static pd_status create_surface(pd_contact *self, const pd_contact_description *d) {
    pd_surface_description surface = {d->phase.n_points, self->n_vertices, self->n_moving, NULL, NULL, d->bodies};
    size_t own = 4 * (size_t)self->n_vertices, carried = 4 * (size_t)d->n_embedded;
    if (!carried) return pd_surface_create(&self->surface, self->context, &surface);
    int *rows = malloc((own + carried) * sizeof *rows);
    real *weights = calloc(own + carried, sizeof *weights);
    pd_status status = PD_OK;
    if (!rows || !weights) PD_TRY(pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for %d points", self->n_moving));
    for (size_t r = 0; r < own; r++) rows[r] = r % 4 ? -1 : (int)(r / 4), weights[r] = (real)(r % 4 == 0);
    memcpy(rows + own, d->rows, carried * sizeof *rows);
    memcpy(weights + own, d->weights, carried * sizeof *weights);
    surface.rows = rows, surface.weights = weights;
    PD_TRY(pd_surface_create(&self->surface, self->context, &surface));
done:
    free(rows);
    free(weights);
    return status;
}

static pd_status create_searches(pd_contact *self, const pd_contact_description *d) {
    pd_context *context = self->context;
    pd_status status;
    const real *radii = pd_contact_is_thick(d) ? self->scene.radii : NULL; // otherwise loops skip the radii
    pd_ccd_limiter_description limiter = {d->phase,  d->separation, d->activation,
                                          radii,     d->planes,     d->n_planes,
                                          d->tested, d->n_tested,   d->two_way.lengths_by == PD_TWO_WAY_IMPACTS};
    int *owners = calloc((size_t)d->n_planes + 1, sizeof *owners);
    if (!owners) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for %d planes", d->n_planes);
    PD_TRY(create_surface(self, d));
    PD_TRY(pd_broad_phase_create(&self->phase, context, &d->phase));
    PD_TRY(pd_colliders_create(&self->planes, context, d->n_planes));
    PD_TRY(pd_colliders_create(&self->fields, context, d->penalty.n_fields));
    for (int k = 0; k < d->penalty.n_fields; k++) {
        const pd_collider *field = &d->penalty.fields[k];
        PD_TRY(pd_colliders_set(self->fields, k, field, field->grid.values));
    }
    PD_TRY(pd_proximity_create(&self->proximity, context, self->phase, self->surface, self->planes, d->tested, d->n_tested, owners));
    PD_TRY(pd_contact_list_positions(self, d));
    pd_proximity_set_scene(self->proximity, radii, self->scene.planes, self->positions, self->n_positions);
    if (self->interval < 0 && (!d->two_way.steps || d->two_way.lengths_by != PD_TWO_WAY_DISTANCES))
        PD_TRY(pd_ccd_limiter_create(&self->limiter, context, &limiter));
done:
    free(owners);
    return status;
}

/* Chooses the points that may come into contact: corners of primitives of the broad phase, and prescribed points. With displacement
 * bounds all points are chosen, since each needs a bound. */
static pd_status choose_points(pd_contact *self, const pd_contact_description *d) {
    pd_status status = PD_OK;
    int n_points = d->phase.n_points, all = self->by_bounds;
    size_t n = (size_t)n_points, n_vertices = (size_t)self->n_vertices;
    int *rows = malloc(n * sizeof *rows + 1);
    real *displacement_bounds = malloc(n * sizeof *displacement_bounds + 1);
    self->chosen_flags = calloc(n + 1, 1);
    if (!rows || !displacement_bounds || !self->chosen_flags)
        PD_TRY(pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for %d points in contact", n_points));
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++)
        for (size_t i = 0; i < (size_t)d->phase.n[kind] * (size_t)(kind + 1); i++) self->chosen_flags[d->phase.corners[kind][i]] = 1;
    for (int i = 0; i < n_points; i++) {
        if (all || i >= self->n_moving) self->chosen_flags[i] = 1;
        if (self->chosen_flags[i]) rows[self->chosen.n++] = i;
        if (self->chosen_flags[i] && i < self->n_moving) self->chosen.n_vertices++;
    }
    for (int r = 0; r < 4 * d->n_embedded; r++) // vertices with embedded points
        if (d->rows[r] >= 0 && self->chosen_flags[self->n_vertices + r / 4]) self->chosen_flags[d->rows[r]] = 1;
    for (size_t i = 0; i < n; i++) displacement_bounds[i] = (real)INFINITY;
    PD_TRY(pd_upload(self->context, (void **)(uintptr_t)&self->chosen.rows, rows, (size_t)self->chosen.n * sizeof *rows));
    PD_TRY(pd_upload(self->context, (void **)&self->displacement_bounds, displacement_bounds, n_vertices * sizeof *displacement_bounds));
    if (d->n_embedded)
        PD_TRY(pd_memory_upload(self->context, self->surface->displacement_bounds, displacement_bounds,
                                (size_t)self->n_moving * sizeof *displacement_bounds));
done:
    free(rows);
    free(displacement_bounds);
    return status;
}

pd_status pd_contact_create(pd_contact **out, pd_context *context, const pd_contact_description *d, int n_vertices) {
    pd_status status = PD_OK;
    pd_contact *self = *out = calloc(1, sizeof *self);
    if (!self) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for contact");
    self->context = context;
    self->potential = d->potential;
    self->stiffness = d->potential.stiffness;
    self->adaptive = d->adaptive;
    self->n_vertices = n_vertices;
    self->n_moving = n_vertices + d->n_embedded;
    self->n_prescribed = d->phase.n_points - self->n_moving;
    self->interval = d->penalty.interval;
    self->every_visit = d->penalty.every_visit;
    self->by_bounds = d->limiter == PD_LIMITER_BOUNDS;
    PD_TRY(create_scene(&self->scene, context, d, self->n_moving));
    self->chooses_triangles = self->scene.panels && !(d->projective.stiffness > 0);
    self->range = (d->activation * (self->by_bounds ? RANGE_FACTOR : 1.0) + d->separation) * (1.0 + 8.0 * (double)PD_EPSILON);
    PD_TRY(create_searches(self, d));
    PD_TRY(pd_memory_create(context, (void **)&self->energy, 2 * sizeof *self->energy));
    PD_TRY(pd_memory_create(context, (void **)&self->closing, sizeof *self->closing));
    PD_TRY(choose_points(self, d));
    PD_TRY(pd_memory_create(context, (void **)&self->touching, (size_t)n_vertices));
    PD_TRY(pd_memory_create(context, (void **)&self->held, (size_t)n_vertices * sizeof *self->held));
    PD_TRY(pd_neighbour_list_create(&self->near, context, n_vertices, d->phase.n_points, self->chosen));
    real **slots[] = {&self->prescribed, &self->targets, &self->kept};
    for (int i = 0; i < 3; i++) PD_TRY(pd_upload(context, (void **)slots[i], d->rest + 3 * (size_t)self->n_moving, prescribed_bytes(self)));
    self->lags = d->friction.extent > 0 ? d->friction.lags : 1;
    for (int lag = 0; lag < PD_LAG_COUNT && d->friction.extent > 0; lag++)
        PD_TRY(pd_friction_create(&self->friction[lag], context, &d->friction, d->phase.n_points));
    for (int lag = 0; lag < PD_LAG_COUNT && self->interval >= 0; lag++)
        PD_TRY(pd_penalty_create(&self->penalty[lag], context, &d->penalty, self->phase, self->fields->memory, &self->scene, d->n_planes,
                                 d->tested, d->n_tested, (double)d->potential.stiffness, d->phase.n_points));
done:
    if (status) {
        pd_contact_destroy(self);
        *out = NULL;
    }
    return status;
}

void pd_contact_destroy(pd_contact *self) {
    if (!self) return;
    const pd_contact_scene *scene = &self->scene;
    const void *memory[] = {scene->rest,      scene->radii,          scene->bodies,
                            scene->areas,     scene->edge_areas,     scene->planes,
                            self->prescribed, self->targets,         self->kept,
                            self->values,     self->corners,         self->partial,
                            self->hessians,   self->energy,          self->displacement_bounds,
                            self->touching,   self->chosen.rows,     self->found_at,
                            self->closing,    scene->triangle_areas, self->planes_of_listed,
                            self->held,       scene->panels,         self->positions};
    for (int lag = 0; lag < PD_LAG_COUNT; lag++) {
        pd_friction_destroy(self->friction[lag]);
        pd_penalty_destroy(self->penalty[lag]);
    }
    pd_contact_columns_destroy(self->context, &self->columns);
    pd_ccd_limiter_destroy(self->limiter);
    pd_neighbour_list_destroy(self->near);
    pd_proximity_destroy(self->proximity);
    pd_colliders_destroy(self->planes);
    pd_colliders_destroy(self->fields);
    pd_broad_phase_destroy(self->phase);
    pd_surface_destroy(self->surface);
    free(self->chosen_flags);
    pd_outbox_destroy(self->context, &self->sent);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(self->context, (void *)(uintptr_t)memory[i]);
    free(self);
}

/* ---- prescribed points --------------------------------------------------------------------------------------------------------------- */

int pd_contact_n_prescribed(const pd_contact *self) { return self->n_prescribed; }

int pd_contact_n_points(const pd_contact *self) { return self->n_moving + self->n_prescribed; }

pd_status pd_contact_set_prescribed(pd_contact *self, const real *positions, const real *targets) {
    pd_status status = PD_OK;
    if (positions) PD_TRY(pd_memory_upload(self->context, self->prescribed, positions, prescribed_bytes(self)));
    if (targets && !pd_was_sent(&self->sent, targets, prescribed_bytes(self))) // the targets equal the last upload
        PD_TRY(pd_send(self->context, &self->sent, self->targets, targets, prescribed_bytes(self)));
done:
    return status;
}

pd_status pd_contact_get_prescribed(const pd_contact *self, real *positions) {
    return pd_memory_download(self->context, positions, self->prescribed, prescribed_bytes(self));
}

real *pd_contact_prescribed(const pd_contact *self) { return self->prescribed; }

const real *pd_contact_targets(const pd_contact *self) { return self->targets; }

pd_status pd_contact_get_bodies(const pd_contact *self, int *bodies) {
    return pd_memory_download(self->context, bodies, self->scene.bodies, (size_t)pd_contact_n_points(self) * sizeof *bodies);
}

void pd_contact_set_ahead(pd_contact *self, int ahead) {
    self->ahead = ahead;
    pd_contact_use_doublings(self, ahead ? self->doublings.next : self->doublings.now);
}

pd_status pd_contact_move_prescribed(pd_contact *self, double fraction) {
    return pd_move_towards(self->context, self->n_prescribed, NULL, fraction, self->targets, self->prescribed);
}

pd_status pd_contact_keep_prescribed(pd_contact *self) {
    return pd_memory_copy(self->context, self->kept, self->prescribed, prescribed_bytes(self));
}

pd_status pd_contact_restore_prescribed(pd_contact *self) {
    return pd_memory_copy(self->context, self->prescribed, self->kept, prescribed_bytes(self));
}

pd_status pd_contact_target_lag(pd_contact *self, double *distance) {
    double move[2] = {0.0, 0.0}, *scratch = self->energy; // it has two elements
    pd_status status = PD_OK;
    if (self->n_prescribed > 0) {
        PD_TRY(pd_largest_move(self->context, self->n_prescribed, NULL, self->targets, self->prescribed, scratch));
        PD_TRY(pd_memory_download(self->context, move, scratch, sizeof move));
    }
    *distance = sqrt(move[0]);
done:
    return status;
}

/* ---- pairs --------------------------------------------------------------------------------------------------------------------------- */

pd_status pd_contact_set_points(const pd_contact *self, const real *x, const real *prescribed, real *points) {
    pd_status status = pd_surface_follow(self->surface, x, points);
    return status ? status : pd_memory_copy(self->context, points + 3 * (size_t)self->n_moving, prescribed, prescribed_bytes(self));
}

pd_status pd_contact_ensure_capacity(pd_contact *self, size_t n) {
    pd_contact_columns *c = &self->columns;
    const pd_growable lists[] = {PD_GROWABLE(c->kind, 1),       PD_GROWABLE(c->points, 4), PD_GROWABLE(c->activation, 1),
                                 PD_GROWABLE(c->separation, 1), PD_GROWABLE(c->weight, 1), PD_GROWABLE(c->threshold, 1),
                                 PD_GROWABLE(self->values, 1),  PD_GROWABLE(c->panel, 1)};
    const pd_growable partial[] = {{(void **)&self->partial, sizeof *self->partial, PD_SUM_BLOCK}};
    pd_status status = pd_growables_grow(self->context, n, "pairs in contact", PD_GROWABLES(lists), &self->capacity, NULL);
    if (!status)
        status = pd_growables_grow(self->context, n, "sums over pairs in contact", PD_GROWABLES(partial), &self->partial_capacity, NULL);
    return status;
}

pd_status pd_contact_ensure_corners(pd_contact *self, size_t n) {
    const pd_growable lists[] = {PD_GROWABLE(self->corners, 12)};
    return pd_growables_grow(self->context, n, "corners of pairs in contact", PD_GROWABLES(lists), &self->corner_capacity, NULL);
}

/* m */
static double search_up_to(const pd_contact *self, double range) { return range * (self->widened ? SEARCH_FACTOR_OF_WIDE : SEARCH_FACTOR); }

/* A search made for a record is counted where the step goes on with its pairs, which it would have searched for itself. */
static void count_search(pd_contact *self, int searched) {
    pd_tally *tally = pd_context_tally(self->context);
    self->searches += searched;
    self->uncounted = self->uncounted || searched;
    if (!tally->counting) return;
    tally->searches += self->uncounted;
    self->uncounted = 0;
}

/* The columns of the first n active pairs, or of active->count if that is less. */
static pd_status describe_active(pd_contact *self, const pd_active_pairs *active, int n) {
    const pd_contact_columns *c = &self->columns;
    const pd_contact_pairs pairs = pd_contact_columns_pairs(c, n, active->count);
    pd_status status = pd_contact_describe(self->context, &self->scene, active, n, c);
    if (status || !self->chooses_triangles) return status;
    return pd_contact_choose_triangles(self->context, &pairs, c->panel, self->surface->points, self->values, c->weight, NULL);
}

/* The list of all pairs of the surface's points nearer than `range`. A search covers the widest list. */
static pd_status list_pairs(pd_contact *self, double range) {
    pd_status status;
    int searched;
    size_t n;
    PD_TRY(pd_proximity_update(self->proximity, range, search_up_to(self, fmax(range, self->range)), &searched));
    count_search(self, searched);
    if (self->listed && !searched && self->holds == range && !(pd_proximity_moved(self->proximity) > 0.0)) return PD_OK;
    self->listed = self->n = 0;
    PD_TRY(pd_proximity_activate(self->proximity, range));
    const pd_active_pairs *active = pd_proximity_active(self->proximity, &n);
    PD_TRY(pd_contact_ensure_capacity(self, n));
    PD_TRY(describe_active(self, active, (int)n));
    PD_TRY(pd_proximity_incidence(self->proximity, self->columns.points, &self->incidence));
    self->n = (int)n;
    self->listed = 1;
    self->holds = range;
done:
    return status;
}

pd_status pd_contact_find(pd_contact *self, const real *x) {
    pd_status status;
    int searched;
    double begun = pd_seconds();
    PD_TRY(pd_contact_set_points(self, x, self->ahead ? self->targets : self->prescribed, self->surface->points));
    if (self->interval >= 0) return PD_OK;
    if (self->listed && self->lasting > 0.0) {
        PD_TRY(pd_proximity_update(self->proximity, -HUGE_VAL, 0.0, &searched));
        self->holds = pd_proximity_lower(self->proximity, self->holds);
        if (self->holds > self->range) goto timed;
        self->listed = 0;
    }
    PD_TRY(list_pairs(self, self->lasting > 0.0 ? self->lasting : self->range));
timed:
    self->culling += pd_seconds() - begun;
done:
    return status;
}

pd_status pd_contact_find_acting(pd_contact *self, const real *x) {
    pd_status status;
    if (!self->widened) return pd_contact_find(self, x);
    double begun = pd_seconds();
    PD_TRY(pd_contact_set_points(self, x, self->ahead ? self->targets : self->prescribed, self->surface->points));
    PD_TRY(list_pairs(self, self->acts));
    self->culling += pd_seconds() - begun;
done:
    return status;
}

void pd_contact_forget_neighbours(pd_contact *self) {
    self->listed = self->n = 0;
    pd_proximity_forget(self->proximity);
}

pd_status pd_contact_find_async(pd_contact *self, const real *x, double expected, pd_active_pairs *near, const real **distances,
                                pd_contact_pairs *limits) {
    const pd_contact_columns *c = &self->columns;
    pd_status status;
    double begun = pd_seconds();
    self->listed = self->n = 0;
    PD_TRY(pd_contact_set_points(self, x, self->ahead ? self->targets : self->prescribed, self->surface->points));
    PD_TRY(pd_proximity_activate_async(self->proximity, self->range, search_up_to(self, self->range), expected, near));
    PD_TRY(pd_contact_ensure_capacity(self, near->capacity));
    PD_TRY(describe_active(self, near, (int)near->capacity));
    *limits = pd_contact_columns_pairs(c, (int)near->capacity, near->count);
    PD_TRY(pd_contact_batch(self->context, &self->potential, PD_CONTACT_DISTANCE, PD_FILTER_NONE, limits, self->surface->points,
                            self->values));
    *distances = self->values;
    self->culling += pd_seconds() - begun;
done:
    return status;
}

pd_status pd_contact_find_result(pd_contact *self, double *went, int *complete) {
    pd_status status;
    int searched;
    size_t n;
    PD_TRY(pd_proximity_activate_result(self->proximity, self->range, went, &searched, complete));
    if (!*complete) return PD_OK;
    count_search(self, searched);
    pd_proximity_active(self->proximity, &n);
    PD_TRY(pd_proximity_incidence(self->proximity, self->columns.points, &self->incidence));
    self->n = (int)n;
    self->listed = 1;
    self->holds = self->range;
done:
    return status;
}

pd_contact_pairs pd_contact_listed(const pd_contact *self) { return pd_contact_columns_pairs(&self->columns, self->n, NULL); }

pd_status pd_contact_evaluate(const pd_contact *self, int quantity, pd_hessian_filter filter, real *out) {
    pd_contact_pairs pairs = pd_contact_listed(self);
    return pd_contact_batch(self->context, &self->potential, quantity, filter, &pairs, self->surface->points, out);
}

pd_contact_acting_pairs pd_contact_acting(const pd_contact *self, pd_penalty_view *view) {
    if (!self->penalty[self->lag]) return (pd_contact_acting_pairs){self->n, self->columns.points, &self->incidence};
    *view = pd_penalty_pairs_of(self->penalty[self->lag]);
    return (pd_contact_acting_pairs){view->pairs.at.n, view->pairs.at.points, &view->incidence};
}

pd_contact_view pd_contact_pairs_of(const pd_contact *self) {
    size_t n;
    const pd_friction *friction = self->friction[self->lag];
    pd_contact_view view = {.n = self->n,
                            .columns = self->columns,
                            .keys = pd_proximity_active(self->proximity, &n)->key,
                            .incidence = self->incidence,
                            .hessians = self->hessians};
    if (friction) view.friction = pd_friction_pairs_of(friction);
    if (self->penalty[self->lag]) {
        pd_penalty_view frozen = pd_penalty_pairs_of(self->penalty[self->lag]);
        view.n = frozen.pairs.at.n, view.columns.points = frozen.pairs.at.points, view.keys = frozen.keys;
    }
    return view;
}

const real *pd_contact_points(const pd_contact *self) { return self->surface->points; }

pd_contact_rows pd_contact_rows_of(const pd_contact *self) {
    return (pd_contact_rows){self->n_moving, self->surface->host_rows, self->surface->host_weights};
}

int pd_contact_is_embedded(const pd_contact *self) { return self && self->surface->rows; }

/* ---- statistics ---------------------------------------------------------------------------------------------------------------------- */

pd_contact_seconds pd_contact_seconds_of(const pd_contact *self) {
    pd_contact_seconds spent = {0};
    if (self->limiter) pd_ccd_limiter_seconds(self->limiter, &spent.culling, &spent.impact);
    spent.culling += self->culling;
    return spent;
}

long long pd_contact_searches(const pd_contact *self) {
    return self->penalty[PD_LAG_OF_STEP] ? pd_penalty_detections(self->penalty[PD_LAG_OF_STEP]) : self->searches;
}
