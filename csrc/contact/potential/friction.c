/* Friction as a term of the incremental potential; see friction.h. */
#include "contact/potential/friction.h"

#include "contact/growable_list.h"
#include "linear/upload.h"
#include "loops/penalty_loops.h"

#include <stdlib.h>

struct pd_friction {
    pd_context *context;
    pd_friction_scene scene;
    int n_points;
    real extent;
    real *begun; /* B [n_points,3] the begin of the step, m */
    real *moves; /* B [n_points,4] pd_slipping */
    int knows;   /* the begin of the step is known */

    pd_lagged_pairs pairs;  /* n = 0 before the first lag */
    pd_incidence incidence; /* of the pairs with friction */
    unsigned char *flags;   /* B [role_capacity] */
    int *rows, *starts;
    size_t role_capacity;
    char *records; /* B [record_capacity,PD_LAGGED_ROLE_BYTES] roles of the incidence, in the order of a sweep */
    size_t record_capacity;
    pd_work work;
    uint64_t *found; /* B [1] */
    uint64_t *keys;
    size_t capacity, derivative_capacity, partial_capacity;
    real *values;             /* B [capacity] */
    real *corners, *matrices; /* B [derivative_capacity,4,3], [.,3,3] */
    real *before, *tried;     /* B [derivative_capacity,3] pd_slipping */
    int remembers, has_tried; /* they are those of this lag */
    double *partial;          /* B [capacity / PD_SUM_BLOCK + 2] */
    double *energy;           /* B [2] */
};

pd_status pd_friction_create(pd_friction **out, pd_context *context, const pd_friction_description *d, int n_points) {
    pd_status status = PD_OK;
    size_t n = (size_t)n_points, n_owners = (size_t)d->n_owners;
    pd_friction *self = *out = calloc(1, sizeof *self);
    if (!self) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for friction");
    self->context = context;
    self->n_points = n_points;
    self->extent = (real)d->extent;
    self->scene.least_gap = (real)d->least_gap;
    self->scene.n_owners = d->n_owners;
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&self->scene.owners, d->owners, n * sizeof(int)));
    PD_TRY(pd_upload(context, (void **)(uintptr_t)&self->scene.coefficients, d->coefficients, n_owners * n_owners * sizeof(real)));
    PD_TRY(pd_memory_create(context, (void **)&self->begun, 3 * n * sizeof(real)));
    PD_TRY(pd_memory_create(context, (void **)&self->moves, 4 * n * sizeof(real)));
    PD_TRY(pd_memory_clear(context, self->moves, 4 * n * sizeof(real))); // kinds with fewer corners leave rows unwritten
    PD_TRY(pd_memory_create(context, (void **)&self->incidence.start, (n + 1) * sizeof(int)));
    PD_TRY(pd_memory_create(context, (void **)&self->energy, 2 * sizeof *self->energy));
    PD_TRY(pd_memory_create(context, (void **)&self->found, sizeof *self->found));
done:
    if (status) {
        pd_friction_destroy(self);
        *out = NULL;
    }
    return status;
}

void pd_friction_destroy(pd_friction *self) {
    if (!self) return;
    const pd_lagged_pairs *p = &self->pairs;
    const void *memory[] = {self->scene.owners, self->scene.coefficients,
                            self->begun,        self->moves,
                            p->points,          p->weights,
                            p->normals,         self->records,
                            p->strength,        self->incidence.start,
                            self->flags,        self->rows,
                            self->starts,       self->work.memory,
                            self->found,        self->keys,
                            self->values,       self->corners,
                            self->matrices,     self->incidence.roles,
                            self->partial,      self->energy,
                            self->before,       self->tried};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(self->context, (void *)(uintptr_t)memory[i]);
    free(self);
}

void pd_friction_share(pd_friction *self, const int *colours, int n_vertices) {
    self->scene.colours = colours, self->scene.n_vertices = n_vertices;
}

/* ---- the lag ------------------------------------------------------------------------------------------------------------------------- */

pd_status pd_friction_has_begun(pd_friction *self, const real *y, int *begun) {
    double move[2];
    pd_status status = PD_OK;
    *begun = 0;
    if (!self->knows) return PD_OK;
    PD_TRY(pd_largest_move(self->context, self->n_points, NULL, y, self->begun, self->energy));
    PD_TRY(pd_memory_download(self->context, move, self->energy, sizeof move));
    *begun = move[0] == 0.0;
done:
    return status;
}

pd_status pd_friction_begin(pd_friction *self, const real *y) {
    self->knows = 1;
    return pd_memory_copy(self->context, self->begun, y, 3 * (size_t)self->n_points * sizeof(real));
}

static pd_status ensure_capacity(pd_friction *self, size_t n) {
    pd_lagged_pairs *p = &self->pairs;
    const pd_growable lists[] = {PD_GROWABLE(p->points, 4),   PD_GROWABLE(p->weights, 4),   PD_GROWABLE(p->normals, 3),
                                 PD_GROWABLE(p->strength, 1), PD_GROWABLE(self->values, 1), PD_GROWABLE(self->incidence.roles, 4),
                                 PD_GROWABLE(self->keys, 1)};
    const pd_growable partial[] = {{(void **)&self->partial, sizeof *self->partial, PD_SUM_BLOCK}};
    pd_status status = pd_growables_grow(self->context, n, "pairs with friction", PD_GROWABLES(lists), &self->capacity, NULL);
    if (!status)
        status = pd_growables_grow(self->context, n, "sums over pairs with friction", PD_GROWABLES(partial), &self->partial_capacity, NULL);
    return status;
}

/* The arrays that a sweep over vertices does not need. */
static pd_status ensure_derivatives(pd_friction *self) {
    const pd_growable lists[] = {PD_GROWABLE(self->corners, 12), PD_GROWABLE(self->matrices, 9), PD_GROWABLE(self->before, 3),
                                 PD_GROWABLE(self->tried, 3)};
    return pd_growables_grow(self->context, (size_t)self->pairs.n, "derivatives of pairs with friction", PD_GROWABLES(lists),
                             &self->derivative_capacity, NULL);
}

/* Lists n roles as sweeps read them. */
static pd_status list_roles(pd_friction *self, size_t n) {
    const pd_growable lists[] = {{(void **)&self->records, PD_LAGGED_ROLE_BYTES, 1}};
    if (!pd_friction_lists_roles()) return PD_OK;
    pd_status status = pd_growables_grow(self->context, n, "roles with friction", PD_GROWABLES(lists), &self->record_capacity, NULL);
    if (status) return status;
    return pd_friction_list_roles(self->context, &self->scene, &self->pairs, &self->incidence, self->n_points, self->records);
}

/* Selects the roles with friction: most listed pairs are too far apart. */
static pd_status take_roles(pd_friction *self, size_t n, const pd_incidence *incidence) {
    pd_context *context = self->context;
    const pd_growable lists[] = {
        PD_GROWABLE(self->flags, 1), PD_GROWABLE(self->rows, 1), {(void **)&self->starts, sizeof *self->starts, 32}};
    pd_status status = PD_OK;
    uint64_t found;
    PD_TRY(pd_growables_grow(context, 4 * n, "roles with friction", PD_GROWABLES(lists), &self->role_capacity, NULL));
    PD_TRY(pd_work_grow(context, &self->work, self->role_capacity / 32 + 1));
    PD_TRY(pd_friction_role_flags(context, &self->pairs, incidence, self->n_points, self->flags));
    PD_TRY(pd_select_rows(context, 4 * n, self->flags, self->starts, &self->work, self->role_capacity, self->rows, self->found));
    PD_TRY(pd_memory_download(context, &found, self->found, sizeof found));
    PD_TRY(pd_contact_take_roles(context, self->n_points, (int)found, self->rows, NULL, incidence, &self->incidence));
    PD_TRY(list_roles(self, (size_t)found));
done:
    return status;
}

/* Takes n pairs with these keys. */
static pd_status take_names(pd_friction *self, size_t n, const uint64_t *keys) {
    pd_status status = PD_OK;
    PD_TRY(pd_memory_copy(self->context, self->keys, keys, n * sizeof *keys));
    self->pairs.n = (int)n;
done:
    return status;
}

void pd_friction_counted(pd_friction *self, int n) { self->pairs.n = n, self->pairs.count = NULL; }

pd_status pd_friction_lag(pd_friction *self, const pd_pair_potential *potential, const pd_contact_pairs *pairs,
                          const pd_incidence *incidence, const uint64_t *keys, const real *y) {
    pd_context *context = self->context;
    size_t n = (size_t)pairs->n;
    pd_status status = PD_OK;
    self->pairs.n = self->remembers = self->has_tried = 0;
    self->knows = 0; // unknown until the caller gives the begin of the step
    if (n == 0) return PD_OK;
    PD_TRY(ensure_capacity(self, n));
    PD_TRY(pd_friction_lag_pairs(context, potential, &self->scene, pairs, y, &self->pairs));
    self->pairs.n = (int)n;
    PD_TRY(take_roles(self, n, incidence));
    status = take_names(self, n, keys);
done:
    return status;
}

pd_status pd_friction_lag_frozen(pd_friction *self, const pd_frozen_pairs *pairs, const pd_incidence *incidence, const uint64_t *keys,
                                 const real *y) {
    pd_context *context = self->context;
    const pd_lagged_pairs *from = &pairs->at;
    size_t n = (size_t)from->n;
    pd_status status = PD_OK;
    self->pairs.n = self->remembers = self->has_tried = 0;
    if (n == 0) return PD_OK;
    PD_TRY(ensure_capacity(self, n));
    PD_TRY(pd_memory_copy(context, self->pairs.points, from->points, 4 * n * sizeof(int)));
    PD_TRY(pd_memory_copy(context, self->pairs.weights, from->weights, 4 * n * sizeof(real)));
    PD_TRY(pd_memory_copy(context, self->pairs.normals, from->normals, 3 * n * sizeof(real)));
    PD_TRY(pd_penalty_strengths(context, &self->scene, pairs, y, self->pairs.strength));
    // all roles, since the strength of a pair may change at every visit and their number is not read back
    PD_TRY(pd_memory_copy(context, self->incidence.start, incidence->start, ((size_t)self->n_points + 1) * sizeof(int)));
    PD_TRY(pd_memory_copy(context, self->incidence.roles, incidence->roles, 4 * n * sizeof(int)));
    self->pairs.count = from->count;
    PD_TRY(take_names(self, n, keys));
    status = ensure_derivatives(self); // here, since a recorded graph may compute the gradient
done:
    return status;
}

pd_status pd_friction_follow(pd_friction *self, const pd_frozen_pairs *pairs, const real *y) {
    if (self->pairs.n == 0) return PD_OK;
    return pd_penalty_strengths(self->context, &self->scene, pairs, y, self->pairs.strength);
}

void pd_friction_forget(pd_friction *self) { self->pairs.n = self->knows = 0; }

/* ---- the potential ------------------------------------------------------------------------------------------------------------------- */

static pd_status evaluate(const pd_friction *self, int quantity, const real *y, real *out) {
    pd_slipping slipping = {
        y, self->begun, self->extent, NULL, self->remembers ? self->before : NULL, self->has_tried ? self->tried : NULL};
    return pd_friction_batch(self->context, quantity, &self->pairs, &slipping, out);
}

pd_status pd_friction_potential(pd_friction *self, const real *y, double *energy) {
    pd_status status = PD_OK;
    *energy = 0.0;
    if (self->pairs.n == 0) return PD_OK;
    PD_TRY(evaluate(self, PD_FRICTION_ENERGY, y, self->values));
    PD_TRY(pd_contact_sum(self->context, self->pairs.n, self->values, self->partial, 0, self->energy));
    PD_TRY(pd_memory_download(self->context, energy, self->energy, sizeof *energy));
done:
    return status;
}

pd_status pd_friction_add_gradient(pd_friction *self, const pd_model *model, const real *y, real *gradient) {
    if (self->pairs.n == 0) return PD_OK;
    pd_status status = ensure_derivatives(self);
    if (!status) status = evaluate(self, PD_FRICTION_GRADIENT, y, self->corners);
    return status ? status : pd_contact_gather(self->context, model, &self->incidence, self->corners, gradient);
}

pd_status pd_friction_hessians(pd_friction *self, const real *y) {
    pd_status status = ensure_derivatives(self);
    return status || self->pairs.n == 0 ? status : evaluate(self, PD_FRICTION_MATRIX, y, self->matrices);
}

pd_status pd_friction_remember_slips(pd_friction *self, const real *y) {
    pd_status status = ensure_derivatives(self);
    if (!status && self->pairs.n > 0) status = evaluate(self, PD_FRICTION_SLIP, y, self->before);
    self->remembers = status == PD_OK && self->pairs.n > 0;
    return status;
}

pd_status pd_friction_try_slips(pd_friction *self, const real *y) {
    pd_status status = PD_OK;
    if (!self->remembers) return PD_OK;
    PD_TRY(evaluate(self, PD_FRICTION_SLIP, y, self->tried));
    self->has_tried = 1;
done:
    return status;
}

void pd_friction_forget_slips(pd_friction *self) { self->remembers = self->has_tried = 0; }

pd_status pd_friction_add_blocks(pd_friction *self, const pd_model *model, const int *diagonal_slots, real *blocks) {
    if (self->pairs.n == 0) return PD_OK;
    return pd_friction_gather_blocks(self->context, model, &self->incidence, &self->pairs, self->matrices, diagonal_slots, blocks);
}

pd_status pd_friction_add_bounds(pd_friction *self, const pd_model *model, double *bounds) {
    if (self->pairs.n == 0) return PD_OK;
    return pd_friction_gather_bounds(self->context, model, &self->incidence, &self->pairs, self->matrices, bounds);
}

pd_status pd_friction_add_product(pd_friction *self, const pd_model *model, const real *p, int all, real *q, double *sums) {
    pd_status status = PD_OK;
    if (self->pairs.n == 0) return PD_OK;
    PD_TRY(pd_friction_product(self->context, model, &self->pairs, self->matrices, all, p, self->corners, self->values));
    if (q) PD_TRY(pd_contact_gather(self->context, model, &self->incidence, self->corners, q));
    PD_TRY(pd_contact_sum(self->context, self->pairs.n, self->values, self->partial, 1, sums));
done:
    return status;
}

/* ---- reports ------------------------------------------------------------------------------------------------------------------------- */

pd_friction_view pd_friction_pairs_of(const pd_friction *self) {
    pd_slipping slipping = {NULL, self->begun, self->extent, self->moves, NULL, NULL};
    return (pd_friction_view){self->pairs, self->incidence, self->records, self->keys, self->matrices, slipping, self->scene};
}

pd_status pd_friction_read(pd_friction *self, int quantity, const real *y, real *out) {
    size_t size = (size_t)pd_friction_quantity_size(quantity);
    pd_status status = PD_OK;
    if (self->pairs.n == 0) return PD_OK;
    PD_TRY(ensure_derivatives(self));
    PD_TRY(evaluate(self, quantity, y, self->corners)); // its capacity suffices for every quantity
    PD_TRY(pd_memory_download(self->context, out, self->corners, (size_t)self->pairs.n * size * sizeof(real)));
done:
    return status;
}
