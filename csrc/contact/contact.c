/* Contact as a term of the incremental potential; see contact.h. */
#include "contact/contact.h"

#include "base/clock.h"
#include "contact/guard.h"
#include "contact/near.h"
#include "contact/proximity.h"
#include "contact/room.h"
#include "linear/upload.h"

#include <math.h>
#include <stdlib.h>

/* With the guard by reach pairs are listed this far beyond where they act: as far, at the most, a point may then go in two iterations. */
static const double REACH_FACTOR = 4.0;

/* The same for methods that keep each vertex within its reach under the other guard: there a vertex that nothing is near may go as far as it
 * likes, so that what is listed need only keep such vertices out of what they would soon meet. */
static const double WIDER = 2.0;

/* The part of a gap that a move may use up, as in geometry/motion.h. */
static const double GAP_FRACTION = 0.9;

/* A sweep looks at pairs that are so far beyond where they act, in activation distances, and keeps clear of the others. */
static const double NEAR = 0.5;

/* Pairs are searched for up to so many times the distance at which they act, and again once they may be too few. */
static const double SEARCH_FACTOR = 2.0;

struct pd_contact {
    pd_context *context;
    pd_contact_law law;
    pd_contact_scene scene;
    int n_vertices, n_driven;
    double culling;        /* s spent in finding pairs that are near, so far */
    int by_reach, widened; /* the guard; pd_contact_widen */
    double reach;          /* the distance up to which all pairs are listed, radii subtracted, m: at least that at which they act */
    pd_broad_phase *phase;
    pd_surface *surface;
    pd_colliders *planes; /* as many as there are planes */
    pd_proximity *proximity;
    pd_guard *guard;
    pd_near *near;
    pd_friction *friction[PD_LAG_COUNT]; /* NULL without friction */
    pd_penalty *penalty[PD_LAG_COUNT];   /* NULL without a penalty */
    int interval;                        /* pd_contact_interval */
    int every_visit;                     /* of friction: pd_penalty_description */
    int fresh;                           /* no detection yet since the step began */
    int lag, lags;                       /* the one that acts; pd_contact_lags */
    long long searches;

    real *driven, *targets, *kept; /* B [n_driven,3] m */
    int ahead;

    int n, listed; /* pairs; listed: they are those of the surface's points */
    size_t capacity, hessian_capacity, partial_capacity;
    pd_contact_columns columns;
    real *values, *corners; /* B [capacity], [capacity,4,3] */
    double *partial;        /* B [capacity / PD_SUM_BLOCK + 2] */
    real *hessians;         /* B [hessian_capacity,12,12] */
    pd_incidence incidence;
    double *energy; /* B [2] */

    real *reaches;           /* B [n_vertices] m */
    unsigned char *touching; /* B [n_vertices] in this step so far */
};

/* ---- making and unmaking ------------------------------------------------------------------------------------------------------------ */

static size_t driven_bytes(const pd_contact *self) { return 3 * (size_t)self->n_driven * sizeof(real); }

static pd_status create_scene(pd_contact_scene *scene, pd_context *context, const pd_contact_description *d) {
    pd_status status = PD_OK;
    size_t n = (size_t)d->phase.n_points;
    scene->activation = (real)d->activation, scene->separation = (real)d->separation;
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&scene->rest, d->rest, 3 * n * sizeof(real)));
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&scene->radii, d->radii, n * sizeof(real)));
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&scene->bodies, d->bodies, n * sizeof(int)));
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&scene->areas, d->areas, n * sizeof(real)));
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&scene->edge_areas, d->edge_areas, (size_t)d->phase.n[PD_EDGES] * sizeof(real)));
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&scene->planes, d->planes, (size_t)d->n_planes * sizeof(int)));
done:
    return status;
}

static pd_status create_searches(pd_contact *self, const pd_contact_description *d) {
    pd_context *context = self->context;
    pd_status status;
    pd_surface_description surface = {d->phase.n_points, self->n_vertices, self->n_vertices, NULL, NULL, d->bodies};
    pd_guard_description guard = {d->phase, d->separation, d->activation, self->scene.radii, d->planes, d->n_planes, d->asked, d->n_asked};
    int *owners = calloc((size_t)d->n_planes + 1, sizeof *owners);
    if (!owners) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for %d planes", d->n_planes);
    PD_TRY(pd_surface_create(&self->surface, context, &surface));
    PD_TRY(pd_broad_phase_create(&self->phase, context, &d->phase));
    PD_TRY(pd_colliders_create(&self->planes, context, d->n_planes));
    PD_TRY(pd_proximity_create(&self->proximity, context, self->phase, self->surface, self->planes, d->asked, d->n_asked, owners));
    pd_proximity_set_scene(self->proximity, self->scene.radii, self->scene.planes);
    if (self->interval < 0 && !d->two_way.steps) PD_TRY(pd_guard_create(&self->guard, context, &guard));
done:
    free(owners);
    return status;
}

pd_status pd_contact_create(pd_contact **out, pd_context *context, const pd_contact_description *d, int n_vertices) {
    pd_status status = PD_OK;
    pd_contact *self = *out = calloc(1, sizeof *self);
    if (!self) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for contact");
    self->context = context;
    self->law = d->law;
    self->n_vertices = n_vertices;
    self->n_driven = d->phase.n_points - n_vertices;
    self->interval = d->penalty.interval;
    self->every_visit = d->penalty.every_visit;
    self->by_reach = d->guard == PD_GUARD_REACH;
    PD_TRY(create_scene(&self->scene, context, d));
    self->reach = (d->activation * (self->by_reach ? REACH_FACTOR : 1.0) + d->separation) * (1.0 + 8.0 * (double)PD_EPSILON);
    PD_TRY(create_searches(self, d));
    PD_TRY(pd_memory_create(context, (void **)&self->energy, 2 * sizeof *self->energy));
    PD_TRY(pd_memory_create(context, (void **)&self->reaches, (size_t)n_vertices * sizeof(real)));
    PD_TRY(pd_memory_create(context, (void **)&self->touching, (size_t)n_vertices));
    PD_TRY(pd_near_create(&self->near, context, n_vertices, d->phase.n_points));
    real **places[] = {&self->driven, &self->targets, &self->kept};
    for (int i = 0; i < 3; i++) PD_TRY(pd_upload(context, (void **)places[i], d->rest + 3 * (size_t)n_vertices, driven_bytes(self)));
    self->lags = d->friction.extent > 0 ? d->friction.lags : 1;
    for (int lag = 0; lag < PD_LAG_COUNT && d->friction.extent > 0; lag++)
        PD_TRY(pd_friction_create(&self->friction[lag], context, &d->friction, d->phase.n_points));
    for (int lag = 0; lag < PD_LAG_COUNT && self->interval >= 0; lag++)
        PD_TRY(pd_penalty_create(&self->penalty[lag], context, &d->penalty, self->phase, &self->scene, d->n_planes, d->asked, d->n_asked,
                                 (double)d->law.stiffness, d->phase.n_points));
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
    const pd_contact_columns *c = &self->columns;
    const void *memory[] = {scene->rest,    scene->radii,  scene->bodies, scene->areas,  scene->edge_areas, scene->planes,
                            self->driven,   self->targets, self->kept,    self->values,  self->corners,     self->partial,
                            self->hessians, self->energy,  c->kind,       c->points,     c->activation,     c->separation,
                            c->weight,      c->threshold,  self->reaches, self->touching};
    for (int lag = 0; lag < PD_LAG_COUNT; lag++) {
        pd_friction_destroy(self->friction[lag]);
        pd_penalty_destroy(self->penalty[lag]);
    }
    pd_guard_destroy(self->guard);
    pd_near_destroy(self->near);
    pd_proximity_destroy(self->proximity);
    pd_colliders_destroy(self->planes);
    pd_broad_phase_destroy(self->phase);
    pd_surface_destroy(self->surface);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(self->context, (void *)(uintptr_t)memory[i]);
    free(self);
}

/* ---- driven points -------------------------------------------------------------------------------------------------------------------- */

int pd_contact_n_driven(const pd_contact *self) { return self->n_driven; }

pd_status pd_contact_set_driven(pd_contact *self, const real *positions, const real *targets) {
    pd_status status = PD_OK;
    if (positions) PD_TRY(pd_memory_upload(self->context, self->driven, positions, driven_bytes(self)));
    if (targets) PD_TRY(pd_memory_upload(self->context, self->targets, targets, driven_bytes(self)));
done:
    return status;
}

pd_status pd_contact_get_driven(const pd_contact *self, real *positions) {
    return pd_memory_download(self->context, positions, self->driven, driven_bytes(self));
}

void pd_contact_look_ahead(pd_contact *self, int ahead) { self->ahead = ahead; }

pd_status pd_contact_drive(pd_contact *self, double part) {
    return pd_move_towards(self->context, self->n_driven, NULL, part, self->targets, self->driven);
}

pd_status pd_contact_keep_driven(pd_contact *self) { return pd_memory_copy(self->context, self->kept, self->driven, driven_bytes(self)); }

pd_status pd_contact_restore_driven(pd_contact *self) {
    return pd_memory_copy(self->context, self->driven, self->kept, driven_bytes(self));
}

pd_status pd_contact_behind(pd_contact *self, double *distance) {
    double move[2] = {0.0, 0.0}, *scratch = self->energy; // room for two
    pd_status status = PD_OK;
    if (self->n_driven > 0) {
        PD_TRY(pd_largest_move(self->context, self->n_driven, self->targets, self->driven, scratch));
        PD_TRY(pd_memory_download(self->context, move, scratch, sizeof move));
    }
    *distance = sqrt(move[0]);
done:
    return status;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------------------------ */

static pd_status place_points(const pd_contact *self, const real *x, const real *driven, real *points) {
    size_t n = 3 * (size_t)self->n_vertices;
    pd_status status = pd_memory_copy(self->context, points, x, n * sizeof(real));
    return status ? status : pd_memory_copy(self->context, points + n, driven, driven_bytes(self));
}

static pd_status make_room(pd_contact *self, size_t n) {
    pd_contact_columns *c = &self->columns;
    const pd_room rooms[] = {PD_ROOM(c->kind, 1),   PD_ROOM(c->points, 4),    PD_ROOM(c->activation, 1), PD_ROOM(c->separation, 1),
                             PD_ROOM(c->weight, 1), PD_ROOM(c->threshold, 1), PD_ROOM(self->values, 1),  PD_ROOM(self->corners, 12)};
    const pd_room partial[] = {{(void **)&self->partial, sizeof *self->partial, PD_SUM_BLOCK}};
    pd_status status = pd_rooms_grow(self->context, n, "pairs in contact", PD_ROOMS(rooms), &self->capacity, NULL);
    if (!status) status = pd_rooms_grow(self->context, n, "sums over pairs in contact", PD_ROOMS(partial), &self->partial_capacity, NULL);
    return status;
}

pd_status pd_contact_place(pd_contact *self, const real *x) {
    pd_status status;
    int searched;
    size_t n;
    double begun = pd_seconds();
    PD_TRY(place_points(self, x, self->ahead ? self->targets : self->driven, self->surface->points));
    if (self->interval >= 0) return PD_OK;
    PD_TRY(pd_proximity_update(self->proximity, self->reach, SEARCH_FACTOR * self->reach, &searched));
    self->searches += searched;
    if (self->listed && !searched && !(pd_proximity_moved(self->proximity) > 0.0)) return PD_OK;
    self->listed = self->n = 0;
    PD_TRY(pd_proximity_activate(self->proximity, self->reach));
    const pd_active_pairs *active = pd_proximity_active(self->proximity, &n);
    PD_TRY(make_room(self, n));
    PD_TRY(pd_contact_describe(self->context, &self->scene, active, (int)n, &self->columns));
    PD_TRY(pd_proximity_incidence(self->proximity, self->columns.points, &self->incidence));
    self->n = (int)n;
    self->listed = 1;
    self->culling += pd_seconds() - begun;
done:
    return status;
}

static pd_contact_pairs pairs_of(const pd_contact *self) {
    const pd_contact_columns *c = &self->columns;
    return (pd_contact_pairs){self->n, c->kind, c->points, c->activation, c->separation, c->weight, c->threshold};
}

static pd_status evaluate(const pd_contact *self, int quantity, real *out) {
    pd_contact_pairs pairs = pairs_of(self);
    return pd_contact_batch(self->context, &self->law, quantity, &pairs, self->surface->points, out);
}

/* The pairs that act, whether they are a law's or a penalty's: how many, their points and the incidence of these. */
typedef struct acting_pairs {
    int n;
    const int *points;
    const pd_incidence *incidence;
} acting_pairs;

static acting_pairs acting_of(const pd_contact *self, pd_penalty_view *view) {
    if (!self->penalty[self->lag]) return (acting_pairs){self->n, self->columns.points, &self->incidence};
    *view = pd_penalty_pairs_of(self->penalty[self->lag]);
    return (acting_pairs){view->pairs.at.n, view->pairs.at.points, &view->incidence};
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

/* ---- friction ---------------------------------------------------------------------------------------------------------------------------- */

int pd_contact_lags(const pd_contact *self) { return self->lags; }

pd_friction *pd_contact_friction(const pd_contact *self, int lag) { return self->friction[lag]; }

pd_status pd_contact_lag_again(pd_contact *self, const real *x) {
    pd_friction *friction = self->friction[self->lag];
    pd_status status = PD_OK;
    if (!friction || self->interval >= 0) return PD_OK; // with a penalty every detection lags
    PD_TRY(pd_contact_place(self, x));
    pd_contact_pairs pairs = pairs_of(self);
    PD_TRY(pd_friction_lag(friction, &self->law, &pairs, &self->incidence, pd_contact_pairs_of(self).keys, self->surface->points));
done:
    return status;
}

/* A question is about the pairs that are found where it is asked from. */
static pd_status begin_penalty(pd_contact *self, const real *x) {
    pd_penalty *penalty = self->penalty[self->lag];
    pd_friction *friction = self->friction[self->lag];
    pd_status status = PD_OK;
    PD_TRY(place_points(self, x, self->driven, self->surface->points));
    PD_TRY(pd_penalty_begin(penalty, self->surface->points));
    pd_penalty_forget(penalty);
    if (friction) pd_friction_forget(friction);
    if (friction) PD_TRY(pd_friction_begin(friction, self->surface->points));
    self->fresh = 1;
    if (self->lag == PD_LAG_OF_QUESTION) PD_TRY(pd_contact_detect(self, x));
done:
    return status;
}

pd_status pd_contact_detect(pd_contact *self, const real *x) {
    pd_penalty *penalty = self->penalty[self->lag];
    pd_friction *friction = self->friction[self->lag];
    pd_status status = PD_OK;
    if (!penalty) return PD_OK;
    PD_TRY(pd_contact_place(self, x));
    PD_TRY(pd_penalty_detect(penalty, self->surface->points));
    if (friction) { // a first guess falls through what carries it: its forces are none
        pd_penalty_view view = pd_penalty_pairs_of(penalty);
        const real *forces_at = self->fresh ? pd_penalty_start(penalty) : self->surface->points;
        PD_TRY(pd_friction_lag_frozen(friction, &view.pairs, &view.incidence, view.keys, forces_at));
    }
    self->fresh = 0;
done:
    return status;
}

pd_status pd_contact_follow_friction(pd_contact *self) {
    pd_friction *friction = self->friction[self->lag];
    if (!friction || !self->every_visit) return PD_OK;
    pd_penalty_view view = pd_penalty_pairs_of(self->penalty[self->lag]);
    return pd_friction_follow(friction, &view.pairs, self->surface->points);
}

int pd_contact_interval(const pd_contact *self) { return self->interval; }

pd_penalty *pd_contact_penalty(const pd_contact *self, int lag) { return self->penalty[lag]; }

pd_status pd_contact_begin(pd_contact *self, const real *x, int lag) {
    int ahead = self->ahead, begun = 0;
    pd_status status = PD_OK;
    if (!self->friction[lag] && !self->penalty[lag]) return PD_OK;
    self->lag = lag;
    if (self->penalty[lag]) {
        self->ahead = 0;
        PD_TRY(begin_penalty(self, x));
        goto done;
    }
    if (lag == PD_LAG_OF_QUESTION) { // which is asked again and again from one state
        PD_TRY(place_points(self, x, self->driven, self->surface->points));
        PD_TRY(pd_friction_has_begun(self->friction[lag], self->surface->points, &begun));
        if (begun) return PD_OK;
    }
    self->ahead = 0;
    PD_TRY(pd_contact_lag_again(self, x));
    PD_TRY(pd_friction_begin(self->friction[lag], self->surface->points));
done:
    self->ahead = ahead;
    return status;
}

void pd_contact_forget_step(pd_contact *self) {
    if (self->penalty[PD_LAG_OF_STEP]) pd_penalty_forget(self->penalty[PD_LAG_OF_STEP]);
    if (self->friction[PD_LAG_OF_STEP]) pd_friction_forget(self->friction[PD_LAG_OF_STEP]);
}

/* ---- the potential ------------------------------------------------------------------------------------------------------------------- */

pd_status pd_contact_potential(pd_contact *self, const real *x, double *energy) {
    pd_status status = pd_contact_place(self, x);
    if (status) return status;
    if (self->penalty[self->lag]) return pd_penalty_potential(self->penalty[self->lag], self->surface->points, energy);
    PD_TRY(evaluate(self, PD_CONTACT_ENERGY, self->values));
    PD_TRY(pd_contact_sum(self->context, self->n, self->values, self->partial, 0, self->energy));
    PD_TRY(pd_memory_download(self->context, energy, self->energy, sizeof *energy));
done:
    return status;
}

pd_status pd_contact_friction_potential(pd_contact *self, double *energy) {
    pd_friction *friction = self->friction[self->lag];
    *energy = 0.0;
    pd_status status = pd_contact_follow_friction(self);
    return status || !friction ? status : pd_friction_potential(friction, self->surface->points, energy);
}

pd_status pd_contact_add_gradient(pd_contact *self, const pd_model *model, const real *x, real *gradient) {
    pd_friction *friction = self->friction[self->lag];
    pd_status status = pd_contact_place(self, x);
    if (status) return status;
    if (self->penalty[self->lag]) PD_TRY(pd_penalty_add_gradient(self->penalty[self->lag], model, self->surface->points, gradient));
    if (self->n > 0) {
        PD_TRY(evaluate(self, PD_CONTACT_GRADIENT, self->corners));
        PD_TRY(pd_contact_gather(self->context, model, &self->incidence, self->corners, gradient));
    }
    PD_TRY(pd_contact_follow_friction(self));
    if (friction) PD_TRY(pd_friction_add_gradient(friction, model, self->surface->points, gradient));
done:
    return status;
}

pd_status pd_contact_hessians(pd_contact *self, const real *x, int psd) {
    pd_status status = pd_contact_place(self, x);
    if (status) return status;
    pd_penalty_view view;
    const pd_room rooms[] = {PD_ROOM(self->hessians, 144)};
    size_t n = (size_t)acting_of(self, &view).n;
    PD_TRY(make_room(self, n));
    PD_TRY(pd_rooms_grow(self->context, n, "Hessians of pairs in contact", PD_ROOMS(rooms), &self->hessian_capacity, NULL));
    if (self->penalty[self->lag])
        PD_TRY(pd_penalty_hessians(self->penalty[self->lag], self->surface->points, self->hessians));
    else
        PD_TRY(evaluate(self, psd ? PD_CONTACT_HESSIAN_PSD : PD_CONTACT_HESSIAN, self->hessians));
    PD_TRY(pd_contact_follow_friction(self));
    if (self->friction[self->lag]) PD_TRY(pd_friction_hessians(self->friction[self->lag], self->surface->points));
done:
    return status;
}

pd_status pd_contact_add_blocks(pd_contact *self, const pd_model *model, const int *diagonal_slots, real *blocks) {
    pd_friction *friction = self->friction[self->lag];
    pd_penalty_view view;
    acting_pairs acting = acting_of(self, &view);
    pd_status status = PD_OK;
    if (acting.n > 0) status = pd_contact_gather_blocks(self->context, model, acting.incidence, self->hessians, diagonal_slots, blocks);
    return status || !friction ? status : pd_friction_add_blocks(friction, model, diagonal_slots, blocks);
}

pd_status pd_contact_bounds(pd_contact *self, const pd_model *model, double *bounds) {
    pd_friction *friction = self->friction[self->lag];
    pd_penalty_view view;
    acting_pairs acting = acting_of(self, &view);
    pd_status status = pd_memory_clear(self->context, bounds, (size_t)model->n_vertices * sizeof(double));
    if (!status && acting.n > 0)
        status = pd_contact_gather_bounds(self->context, model, acting.incidence, acting.points, self->hessians, bounds);
    return status || !friction ? status : pd_friction_add_bounds(friction, model, bounds);
}

pd_status pd_contact_add_product(pd_contact *self, const pd_model *model, const real *p, real *q, double *sums) {
    pd_context *context = self->context;
    pd_friction *friction = self->friction[self->lag];
    pd_penalty_view view;
    acting_pairs acting = acting_of(self, &view);
    pd_status status = PD_OK;
    if (acting.n > 0) {
        PD_TRY(pd_contact_product(context, model, acting.n, acting.points, self->hessians, 0, p, self->corners, self->values));
        PD_TRY(pd_contact_gather(context, model, acting.incidence, self->corners, q));
        PD_TRY(pd_contact_sum(context, acting.n, self->values, self->partial, 1, sums));
    }
    if (friction) PD_TRY(pd_friction_add_product(friction, model, p, 0, q, sums));
done:
    return status;
}

pd_status pd_contact_add_curvature(pd_contact *self, const pd_model *model, const real *p, double *sum) {
    pd_context *context = self->context;
    pd_friction *friction = self->friction[self->lag];
    pd_penalty_view view;
    acting_pairs acting = acting_of(self, &view);
    pd_status status = PD_OK;
    if (acting.n > 0) {
        PD_TRY(pd_contact_product(context, model, acting.n, acting.points, self->hessians, 1, p, self->corners, self->values));
        PD_TRY(pd_contact_sum(context, acting.n, self->values, self->partial, 1, sum));
    }
    if (friction) PD_TRY(pd_friction_add_product(friction, model, p, 1, NULL, sum));
done:
    return status;
}

/* ---- for the host ------------------------------------------------------------------------------------------------------------------- */

pd_status pd_contact_read(pd_contact *self, int quantity, real *out) {
    size_t size = (size_t)pd_contact_quantity_size(quantity), n = (size_t)self->n;
    pd_status status = PD_OK;
    real *memory = size == 1 ? self->values : self->corners;
    if (size != 1 && size != 12) return pd_fail(pd_context_error(self->context), PD_ERROR_VALUE, "quantity: %d is not read back", quantity);
    PD_TRY(evaluate(self, quantity, memory));
    PD_TRY(pd_memory_download(self->context, out, memory, n * size * sizeof(real)));
done:
    return status;
}

pd_status pd_contact_read_columns(pd_contact *self, const pd_contact_columns *out, uint64_t *keys) {
    const pd_contact_columns *c = &self->columns;
    size_t n = (size_t)self->n;
    pd_status status = PD_OK;
    const struct {
        void *host;
        const void *memory;
        size_t bytes;
    } columns[] = {{out->kind, c->kind, sizeof(int)},
                   {out->points, c->points, 4 * sizeof(int)},
                   {out->activation, c->activation, sizeof(real)},
                   {out->separation, c->separation, sizeof(real)},
                   {out->weight, c->weight, sizeof(real)},
                   {out->threshold, c->threshold, sizeof(real)},
                   {keys, pd_contact_pairs_of(self).keys, sizeof *keys}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (columns[i].host) PD_TRY(pd_memory_download(self->context, columns[i].host, columns[i].memory, n * columns[i].bytes));
done:
    return status;
}

/* ---- the guard ------------------------------------------------------------------------------------------------------------------------ */

pd_status pd_contact_limit(pd_contact *self, const real *x_0, const real *x_1, int driven, double *part) {
    pd_status status;
    *part = 1.0;
    if (self->interval >= 0) return PD_OK;
    if (self->by_reach) {
        size_t n_points = (size_t)(self->n_vertices + self->n_driven);
        double farthest = self->reach - (double)self->scene.separation, rounding = 16.0 * (double)PD_EPSILON;
        PD_TRY(pd_contact_place(self, x_0));
        PD_TRY(evaluate(self, PD_CONTACT_DISTANCE, self->values));
        PD_TRY(place_points(self, x_1, driven ? self->targets : self->driven, pd_guard_end(self->guard)));
        PD_TRY(pd_contact_reach_part(self->context, (int)n_points, &self->incidence, self->values, self->columns.separation, farthest,
                                     rounding * pd_proximity_size(self->proximity), GAP_FRACTION, self->surface->points,
                                     pd_guard_end(self->guard), self->energy));
        PD_TRY(pd_memory_download(self->context, part, self->energy, sizeof *part));
        return PD_OK;
    }
    // what the caller makes of x_0 + part (x_1 - x_0) is rounded, and so may x_1 have been
    double rounding = 2.0 * (double)PD_EPSILON * pd_proximity_size(self->proximity);
    PD_TRY(place_points(self, x_0, self->driven, pd_guard_start(self->guard)));
    PD_TRY(place_points(self, x_1, driven ? self->targets : self->driven, pd_guard_end(self->guard)));
    PD_TRY(pd_guard_part(self->guard, rounding, part));
done:
    return status;
}

pd_status pd_contact_hits(pd_contact *self, const pd_active_pairs **hits, size_t *n) { return pd_guard_hits(self->guard, hits, n); }

/* ---- for what answers contact in another way than by a law ----------------------------------------------------------------------------- */

pd_status pd_contact_points_ahead(const pd_contact *self, const real *x, real *points) {
    return place_points(self, x, self->targets, points);
}

pd_status pd_contact_points_now(const pd_contact *self, const real *x, real *points) { return place_points(self, x, self->driven, points); }

pd_status pd_contact_points_begun(const pd_contact *self, const real *x, real *points) { return place_points(self, x, self->kept, points); }

const pd_active_pairs *pd_contact_near(const pd_contact *self, size_t *n) { return pd_proximity_active(self->proximity, n); }

pd_status pd_contact_distances(pd_contact *self, const real **distances) {
    *distances = self->values;
    return self->n ? evaluate(self, PD_CONTACT_DISTANCE, self->values) : PD_OK;
}

pd_status pd_contact_describe_pairs(const pd_contact *self, const pd_active_pairs *pairs, int n, const pd_contact_columns *out) {
    return pd_contact_describe(self->context, &self->scene, pairs, n, out);
}

const pd_contact_scene *pd_contact_scene_of(const pd_contact *self) { return &self->scene; }

void pd_contact_list_up_to(pd_contact *self, double reach) {
    self->listed = self->listed && self->reach == reach;
    self->reach = reach;
}

double pd_contact_listed_up_to(const pd_contact *self) { return self->reach; }

double pd_contact_searched_up_to(const pd_contact *self) { return pd_proximity_reach(self->proximity); }

/* ---- each vertex by its own reach ----------------------------------------------------------------------------------------------------- */

void pd_contact_widen(pd_contact *self) {
    if (self->by_reach || self->widened || self->interval >= 0) return;
    self->reach = (self->reach - (double)self->scene.separation) * WIDER + (double)self->scene.separation;
    self->widened = 1;
}

pd_status pd_contact_begin_touching(pd_contact *self) {
    pd_near_forget(self->near); // what is near follows from the state alone
    return pd_memory_clear(self->context, self->touching, (size_t)self->n_vertices);
}

double pd_contact_rounding(const pd_contact *self) { return 16.0 * (double)PD_EPSILON * pd_proximity_size(self->proximity); }

double pd_contact_certain_reach(const pd_contact *self) {
    if (pd_near_certain(self->near) > 0.0) return pd_near_certain(self->near);
    double reach = 0.5 * GAP_FRACTION * (self->reach - (double)self->scene.separation - pd_contact_rounding(self));
    return reach > 0.0 ? reach : 0.0;
}

static void add_friction(const pd_contact *self, pd_contact_sweep *sweep) {
    if (!self->friction[self->lag]) return;
    pd_friction_view view = pd_friction_pairs_of(self->friction[self->lag]);
    sweep->lagged = view.pairs, sweep->lagged_incidence = view.incidence, sweep->slipping = view.slipping;
    sweep->slipping.y = sweep->points;
    sweep->rubbing = view.scene, sweep->every_visit = self->every_visit;
}

/* Nobody has a reach. */
static pd_status reach_with_penalty(pd_contact *self, pd_contact_sweep *sweep) {
    pd_penalty *penalty = self->penalty[self->lag];
    pd_penalty_view view = pd_penalty_pairs_of(penalty);
    pd_status status = pd_penalty_mark_touching(penalty, self->surface->points, self->n_vertices, self->touching);
    *sweep = (pd_contact_sweep){.frozen = view.pairs, .incidence = view.incidence, .points = self->surface->points};
    add_friction(self, sweep);
    return status;
}

/* The pairs near x, and where the others keep to. */
static pd_status list_near(pd_contact *self, const real *x) {
    pd_status status;
    pd_near_forget(self->near);
    PD_TRY(pd_contact_place(self, x));
    pd_contact_pairs pairs = pairs_of(self);
    if (self->n) PD_TRY(evaluate(self, PD_CONTACT_DISTANCE, self->values));
    double certain = pd_contact_certain_reach(self);
    const pd_near_list list = {.pairs = &pairs,
                               .incidence = &self->incidence,
                               .distance = self->values,
                               .points = self->surface->points,
                               .cut = NEAR * (double)self->scene.activation,
                               .far = self->by_reach ? certain : (double)INFINITY,
                               .certain = certain,
                               .rounding = pd_contact_rounding(self),
                               .fraction = GAP_FRACTION};
    PD_TRY(pd_near_list_anew(self->near, &list));
done:
    return status;
}

pd_status pd_contact_reach(pd_contact *self, const real *x, pd_contact_sweep *sweep) {
    real *points = self->surface->points;
    pd_status status;
    int holds;
    PD_TRY(place_points(self, x, self->ahead ? self->targets : self->driven, points));
    if (self->penalty[self->lag]) return reach_with_penalty(self, sweep);
    PD_TRY(pd_near_holds(self->near, points, &holds));
    if (!holds) PD_TRY(list_near(self, x));
    *sweep = (pd_contact_sweep){.law = self->law, .reach = self->reaches, .points = points};
    PD_TRY(pd_near_reaches(self->near, &self->law, points, self->reaches, self->touching, sweep));
    add_friction(self, sweep);
done:
    return status;
}

const unsigned char *pd_contact_touching(const pd_contact *self) { return self->touching; }

const real *pd_contact_reaches_of(const pd_contact *self) { return self->interval >= 0 ? NULL : self->reaches; }

int pd_contact_is_by_reach(const pd_contact *self) { return self->by_reach; }

real pd_contact_thickness(const pd_contact *self) { return self->scene.separation; }

pd_contact_seconds pd_contact_seconds_of(const pd_contact *self) {
    pd_contact_seconds spent = {0};
    if (self->guard) pd_guard_seconds(self->guard, &spent.culling, &spent.impact);
    spent.culling += self->culling;
    return spent;
}

long long pd_contact_searches(const pd_contact *self) {
    return self->penalty[PD_LAG_OF_STEP] ? pd_penalty_detections(self->penalty[PD_LAG_OF_STEP]) : self->searches;
}
