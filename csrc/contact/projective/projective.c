/* Contact by projections that are constant between two detections; see projective.h. */
#include "contact/projective/projective.h"

#include "base/clock.h"
#include "contact/detection/incidence.h"
#include "contact/growable_list.h"
#include "contact/projective/projective_parts.h"
#include "elements/contact/projection.h"
#include "linear/upload.h"
#include "loops/projective_loops.h"

#include <limits.h>
#include <stdlib.h>

/* Sweeps over the rebounding pairs. A vertex in several pairs is shared among them, so that one pair affects the others. */
enum { REBOUND_SWEEPS = 20 };

pd_status pd_projective_create(pd_projective **out, pd_context *context, pd_contact *contact, const pd_model *model,
                               const pd_contact_description *d, double h) {
    const pd_friction_description *friction = &d->friction;
    pd_status status = PD_OK;
    size_t n = (size_t)d->phase.n_points, n_vertices = (size_t)model->n_vertices, n_owners = (size_t)friction->n_owners;
    pd_projective *self = *out = calloc(1, sizeof *self);
    if (!self) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for contact");
    self->context = context, self->contact = contact, self->model = model;
    self->settings = d->projective;
    self->activation = d->activation;
    self->n_points = d->phase.n_points;
    self->inverse_h = 1.0 / h;
    self->freezing.strength = (real)(d->projective.stiffness / (h * h));
    self->freezing.n_owners = friction->n_owners;
    self->freezing.target = d->projective.target;
    self->freezing.restitution = (real)d->projective.restitution;
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&self->freezing.owners, friction->owners, n * sizeof(int)));
    PD_TRY(
        pd_upload(context, (void **)(uintptr_t)&self->freezing.coefficients, friction->coefficients, n_owners * n_owners * sizeof(real)));
    PD_TRY(pd_memory_create(context, (void **)&self->points, 3 * n * sizeof(real)));
    PD_TRY(pd_memory_create(context, (void **)&self->begun, 3 * n * sizeof(real)));
    PD_TRY(pd_memory_create(context, (void **)&self->diagonal, n_vertices * sizeof(double)));
    if (d->projective.blocks) {
        PD_TRY(pd_memory_create(context, (void **)&self->coupling, 9 * n_vertices * sizeof(real)));
        PD_TRY(pd_memory_clear(context, self->coupling, 9 * n_vertices * sizeof(real)));
    }
    PD_TRY(pd_memory_create(context, (void **)&self->touching, n_vertices));
    PD_TRY(pd_memory_create(context, (void **)&self->energy, sizeof(double)));
    if (d->projective.target == PD_TARGET_REFLECTED) { // the targets then model restitution
        PD_TRY(pd_memory_create(context, (void **)&self->velocities, 3 * n * sizeof(real)));
        self->freezing.velocities = self->velocities;
    } else if (d->projective.restitution > 0) {
        PD_TRY(pd_memory_create(context, (void **)&self->velocities, 3 * n * sizeof(real)));
        PD_TRY(pd_memory_create(context, (void **)&self->count, n * sizeof *self->count));
    }
    PD_TRY(pd_memory_create(context, (void **)&self->hits.count, sizeof *self->hits.count));
    PD_TRY(pd_memory_create(context, (void **)&self->near.count, sizeof *self->near.count));
    PD_TRY(pd_memory_create(context, (void **)&self->round, sizeof *self->round));
    PD_TRY(pd_memory_create(context, (void **)&self->incidence.start, (n + 1) * sizeof *self->incidence.start));
done:
    if (status) {
        pd_projective_destroy(self);
        *out = NULL;
    }
    return status;
}

static void release_list(pd_context *context, list *list) {
    pd_kept_pairs *p = &list->pairs;
    void *memory[] = {p->kind, p->points, p->key, p->stiffening, p->gap, p->normal, p->pressed};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(context, memory[i]);
}

static void release_joining(pd_context *context, joining *j) {
    void *memory[] = {j->flags, j->rows, j->starts, j->work.memory, j->count};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(context, memory[i]);
}

void pd_projective_destroy(pd_projective *self) {
    if (!self) return;
    const pd_projected_pairs *f = &self->frozen;
    const void *memory[] = {self->freezing.owners,
                            self->freezing.coefficients,
                            f->weights,
                            f->normal,
                            f->target,
                            f->k,
                            f->scale,
                            f->friction,
                            self->values,
                            self->corners,
                            self->partial,
                            self->round,
                            self->key_work.memory,
                            self->keys,
                            self->scratch,
                            self->incidence.start,
                            self->incidence.roles,
                            self->points,
                            self->begun,
                            self->diagonal,
                            self->coupling,
                            self->touching,
                            self->energy,
                            self->velocities,
                            self->count};
    pd_contact_columns_destroy(self->context, &self->columns);
    release_list(self->context, &self->kept);
    release_list(self->context, &self->spare);
    release_joining(self->context, &self->hits);
    release_joining(self->context, &self->near);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(self->context, (void *)(uintptr_t)memory[i]);
    free(self);
}

const pd_projective_description *pd_projective_settings(const pd_projective *self) { return &self->settings; }

double pd_projective_activation(const pd_projective *self) { return self->activation; }

const double *pd_projective_diagonal(const pd_projective *self) { return self->diagonal; }

const real *pd_projective_coupling(const pd_projective *self) { return self->coupling; }

const unsigned char *pd_projective_touching(const pd_projective *self) { return self->touching; }

void pd_projective_forget(pd_projective *self) { self->n = self->frozen.n = 0; }

int pd_projective_n_points(const pd_projective *self) { return self->n_points; }

pd_status pd_projective_read(pd_projective *self, const real *x, const pd_projective_forces *out) {
    pd_context *context = self->context;
    const pd_projected_pairs *p = &self->frozen;
    size_t n = (size_t)p->n, scalars = n * sizeof(real);
    const struct {
        void *to;
        const void *from;
        size_t bytes;
    } copies[] = {{out->gradient, self->corners, 12 * scalars},
                  {out->key, self->kept.pairs.key, n * sizeof *out->key},
                  {out->kind, self->columns.kind, n * sizeof *out->kind},
                  {out->points, p->points, 4 * n * sizeof *out->points},
                  {out->weights, p->weights, 4 * scalars},
                  {out->normal, p->normal, 3 * scalars},
                  {out->target, p->target, scalars},
                  {out->k, p->k, scalars},
                  {out->friction, p->friction, scalars}};
    pd_status status = PD_OK;
    if (out->begun) PD_TRY(pd_memory_download(context, out->begun, self->begun, 3 * (size_t)self->n_points * sizeof(real)));
    if (n == 0) return PD_OK;
    PD_TRY(pd_contact_points_now(self->contact, x, self->points));
    PD_TRY(pd_projective_batch(context, p, self->points, self->begun, NULL, self->corners));
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        if (copies[i].to) PD_TRY(pd_memory_download(context, copies[i].to, copies[i].from, copies[i].bytes));
done:
    return status;
}

int pd_projective_frozen(const pd_projective *self) { return self->frozen.n; }

double pd_projective_seconds(const pd_projective *self) { return self->seconds; }

int pd_projective_pairs(const pd_projective *self, const uint64_t **keys) {
    *keys = self->kept.pairs.key;
    return self->acts ? self->n : 0;
}

/* ---- capacities ---------------------------------------------------------------------------------------------------------------------- */

/* Increases the capacity of the data that every freeze rebuilds. */
static pd_status ensure_capacity(pd_projective *self, size_t n) {
    pd_contact_columns *c = &self->columns;
    pd_projected_pairs *f = &self->frozen;
    const pd_growable columns[] = {PD_GROWABLE(c->kind, 1),       PD_GROWABLE(c->points, 4), PD_GROWABLE(c->activation, 1),
                                   PD_GROWABLE(c->separation, 1), PD_GROWABLE(c->weight, 1), PD_GROWABLE(c->threshold, 1)};
    const pd_growable frozen[] = {PD_GROWABLE(f->weights, 4),   PD_GROWABLE(f->normal, 3),     PD_GROWABLE(f->target, 1),
                                  PD_GROWABLE(f->k, 1),         PD_GROWABLE(f->scale, 1),      PD_GROWABLE(f->friction, 1),
                                  PD_GROWABLE(self->values, 1), PD_GROWABLE(self->corners, 12)};
    const pd_growable partial[] = {{(void **)&self->partial, sizeof *self->partial, PD_SUM_BLOCK}};
    const pd_growable keys[] = {PD_GROWABLE(self->keys, 1), PD_GROWABLE(self->scratch, 1)},
                      roles[] = {PD_GROWABLE(self->incidence.roles, 1)};
    pd_context *context = self->context;
    pd_status status = PD_OK;
    size_t before = self->capacity;
    if (4 * n > INT_MAX) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "%zu pairs in contact are too many", n);
    PD_TRY(pd_growables_grow(context, n, "pairs in contact", PD_GROWABLES(columns), &before, NULL));
    PD_TRY(pd_growables_grow(context, n, "pairs in contact", PD_GROWABLES(frozen), &self->capacity, NULL));
    PD_TRY(pd_growables_grow(context, n, "sums over pairs in contact", PD_GROWABLES(partial), &self->partial_capacity, NULL));
    PD_TRY(pd_growables_grow(context, 4 * n, "corners of pairs in contact", PD_GROWABLES(keys), &self->key_capacity, NULL));
    PD_TRY(pd_growables_grow(context, 4 * n, "corners of pairs in contact", PD_GROWABLES(roles), &self->role_capacity, NULL));
    PD_TRY(pd_work_grow(self->context, &self->key_work, self->key_capacity));
done:
    return status;
}

static pd_status find_roles(pd_projective *self) {
    pd_active_pairs pairs = {.points = self->columns.points};
    return pd_incidence_list(self->context, (size_t)self->n, &pairs, self->n_points, self->keys, self->scratch, &self->key_work,
                             &self->incidence);
}

pd_status pd_projective_freeze(pd_projective *self, const real *x, double left) {
    pd_context *context = self->context;
    const pd_contact_columns *c = &self->columns;
    pd_status status;
    PD_TRY(pd_projective_find_active(self, x));
    double begun = pd_seconds();
    self->freezing.left = (real)(left / self->inverse_h);
    PD_TRY(pd_projective_join_active(self));
    PD_TRY(ensure_capacity(self, (size_t)self->n));
    const pd_kept_pairs *kept = &self->kept.pairs;
    pd_active_pairs all = {.kind = kept->kind, .points = kept->points, .key = kept->key};
    if (self->n) PD_TRY(pd_contact_describe_pairs(self->contact, &all, self->n, c));
    PD_TRY(find_roles(self));
    self->frozen.n = self->n;
    self->frozen.points = c->points;
    const pd_contact_pairs pairs = pd_contact_columns_pairs(c, self->n, NULL);
    PD_TRY(
        pd_projective_freeze_pairs(context, self->model, &pairs, &self->freezing, pd_contact_points(self->contact), kept, &self->frozen));
    PD_TRY(pd_projective_gather_diagonal(context, self->model, &self->incidence, &self->frozen, self->diagonal, self->coupling,
                                         self->touching));
    self->seconds += pd_seconds() - begun;
done:
    return status;
}

pd_status pd_projective_press(pd_projective *self, const real *x) {
    pd_status status = pd_contact_points_ahead(self->contact, x, self->points);
    return status ? status : pd_projective_mark_pressed(self->context, &self->frozen, self->points, self->kept.pairs.pressed);
}

/* ---- the term of the objective ------------------------------------------------------------------------------------------------------- */

pd_status pd_projective_add_gradient(pd_projective *self, const real *x, real *gradient) {
    pd_status status = PD_OK;
    if (!self->acts || !self->frozen.n) return PD_OK;
    PD_TRY(pd_contact_points_ahead(self->contact, x, self->points));
    PD_TRY(pd_projective_batch(self->context, &self->frozen, self->points, self->begun, NULL, self->corners));
    PD_TRY(pd_contact_gather(self->context, self->model, &self->incidence, self->corners, gradient));
done:
    return status;
}

pd_status pd_projective_potential(pd_projective *self, const real *x, double *energy) {
    pd_status status = PD_OK;
    *energy = 0.0;
    if (!self->acts || !self->frozen.n) return PD_OK;
    PD_TRY(pd_contact_points_ahead(self->contact, x, self->points));
    PD_TRY(pd_projective_batch(self->context, &self->frozen, self->points, self->begun, self->values, NULL));
    PD_TRY(pd_contact_sum(self->context, self->frozen.n, self->values, self->partial, 0, self->energy));
    PD_TRY(pd_memory_download(self->context, energy, self->energy, sizeof *energy));
done:
    return status;
}

/* ---- restitution --------------------------------------------------------------------------------------------------------------------- */

pd_status pd_projective_rebound(pd_projective *self, const real *x, const real *offset, real *v) {
    pd_context *context = self->context;
    const pd_model *model = self->model;
    const pd_projective_description *settings = &self->settings;
    const pd_projected_pairs *pairs = &self->frozen;
    size_t bytes = 3 * (size_t)model->n_vertices * sizeof(real);
    pd_status status = PD_OK;
    if (!self->count) return PD_OK;
    self->active_known = 0;
    self->freezing.target = PD_TARGET_HELD; // only for the normals: the forces stay those of the step
    status = pd_projective_freeze(self, x, 0.0);
    self->freezing.target = settings->target;
    if (status) return status;
    const real *y = pd_contact_points(self->contact);
    PD_TRY(pd_projective_velocities(context, model, self->n_points, self->inverse_h, y, self->begun, offset, NULL, self->velocities));
    PD_TRY(pd_projective_rebounds(context, pairs, self->kept.pairs.pressed, self->velocities, settings->restitution, settings->rest_speed,
                                  self->values));
    PD_TRY(pd_projective_count_rebounds(context, model, self->n_points, &self->incidence, self->values, self->count));
    PD_TRY(pd_projective_velocities(context, model, self->n_points, self->inverse_h, y, self->begun, offset, v, self->velocities));
    for (int sweep = 0; sweep < REBOUND_SWEEPS && pairs->n; sweep++) {
        PD_TRY(pd_projective_impulses(context, model, pairs, self->values, self->count, self->velocities, self->corners));
        PD_TRY(pd_contact_gather(context, model, &self->incidence, self->corners, self->velocities));
    }
    PD_TRY(pd_memory_copy(context, v, self->velocities, bytes));
done:
    return status;
}
