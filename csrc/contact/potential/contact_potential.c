/* The contact term of the incremental potential, its gradient and Hessian, and their transfer to the host; see contact.h. */
#include "contact/potential/contact_parts.h"

#include "contact/growable_list.h"

/* ---- the potential ------------------------------------------------------------------------------------------------------------------- */

pd_status pd_contact_potential(pd_contact *self, const real *x, double *energy) {
    pd_status status = pd_contact_find(self, x);
    if (status) return status;
    if (self->penalty[self->lag]) return pd_penalty_potential(self->penalty[self->lag], self->surface->points, energy);
    PD_TRY(pd_contact_evaluate(self, PD_CONTACT_ENERGY, PD_FILTER_NONE, self->values));
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

/* Adds the gradient of the points to that of the vertices. */
static pd_status add_gradient(pd_contact *self, const pd_model *model, real *gradient) {
    pd_friction *friction = self->friction[self->lag];
    pd_status status = PD_OK;
    if (self->penalty[self->lag]) PD_TRY(pd_penalty_add_gradient(self->penalty[self->lag], model, self->surface->points, gradient));
    if (self->n > 0) {
        PD_TRY(pd_contact_ensure_corners(self, (size_t)self->n));
        PD_TRY(pd_contact_evaluate(self, PD_CONTACT_GRADIENT, PD_FILTER_NONE, self->corners));
        PD_TRY(pd_contact_gather(self->context, model, &self->incidence, self->corners, gradient));
    }
    PD_TRY(pd_contact_follow_friction(self));
    if (friction) PD_TRY(pd_friction_add_gradient(friction, model, self->surface->points, gradient));
done:
    return status;
}

pd_status pd_contact_add_gradient(pd_contact *self, const pd_model *model, const real *x, real *gradient) {
    const pd_surface *surface = self->surface;
    pd_status status = pd_contact_find(self, x);
    if (status || !surface->rows) return status ? status : add_gradient(self, model, gradient);
    PD_TRY(pd_memory_clear(self->context, surface->forces, 3 * (size_t)self->n_moving * sizeof(real)));
    PD_TRY(add_gradient(self, &surface->model, surface->forces));
    PD_TRY(pd_embedding_gather(self->context, model, &surface->embedding, surface->forces, gradient));
done:
    return status;
}

pd_status pd_contact_hessians(pd_contact *self, const real *x, pd_hessian_filter filter) {
    pd_status status = pd_contact_find(self, x);
    if (status) return status;
    pd_penalty_view view;
    const pd_growable lists[] = {PD_GROWABLE(self->hessians, 144)};
    size_t n = (size_t)pd_contact_acting(self, &view).n;
    PD_TRY(pd_contact_ensure_capacity(self, n));
    PD_TRY(pd_contact_ensure_corners(self, n)); // for products
    PD_TRY(pd_growables_grow(self->context, n, "Hessians of pairs in contact", PD_GROWABLES(lists), &self->hessian_capacity, NULL));
    if (self->penalty[self->lag])
        PD_TRY(pd_penalty_hessians(self->penalty[self->lag], self->surface->points, self->hessians));
    else
        PD_TRY(pd_contact_evaluate(self, PD_CONTACT_HESSIAN, filter, self->hessians));
    PD_TRY(pd_contact_follow_friction(self));
    if (self->friction[self->lag]) PD_TRY(pd_friction_hessians(self->friction[self->lag], self->surface->points));
done:
    return status;
}

/* Stores the slips at x by a function of friction.h. */
static pd_status keep_slips(pd_contact *self, const real *x, pd_status (*keep)(pd_friction *, const real *)) {
    pd_friction *friction = self->friction[self->lag];
    pd_status status = friction ? pd_contact_find(self, x) : PD_OK;
    return status || !friction ? status : keep(friction, self->surface->points);
}

pd_status pd_contact_remember_slips(pd_contact *self, const real *x) { return keep_slips(self, x, pd_friction_remember_slips); }

pd_status pd_contact_try_slips(pd_contact *self, const real *x) { return keep_slips(self, x, pd_friction_try_slips); }

void pd_contact_forget_slips(pd_contact *self) {
    if (self->friction[self->lag]) pd_friction_forget_slips(self->friction[self->lag]);
}

pd_status pd_contact_add_blocks(pd_contact *self, const pd_model *model, const int *diagonal_slots, real *blocks) {
    pd_friction *friction = self->friction[self->lag];
    pd_penalty_view view;
    pd_contact_acting_pairs acting = pd_contact_acting(self, &view);
    pd_status status = PD_OK;
    if (self->surface->rows) return PD_OK;
    if (acting.n > 0) status = pd_contact_gather_blocks(self->context, model, acting.incidence, self->hessians, diagonal_slots, blocks);
    return status || !friction ? status : pd_friction_add_blocks(friction, model, diagonal_slots, blocks);
}

/* The same for the points. */
static pd_status bounds_of_points(pd_contact *self, const pd_model *model, double *bounds) {
    pd_friction *friction = self->friction[self->lag];
    pd_penalty_view view;
    pd_contact_acting_pairs acting = pd_contact_acting(self, &view);
    pd_status status = pd_memory_clear(self->context, bounds, (size_t)model->n_vertices * sizeof(double));
    if (!status && acting.n > 0)
        status = pd_contact_gather_bounds(self->context, model, acting.incidence, acting.points, self->hessians, bounds);
    return status || !friction ? status : pd_friction_add_bounds(friction, model, bounds);
}

pd_status pd_contact_bounds(pd_contact *self, const pd_model *model, double *bounds) {
    const pd_surface *surface = self->surface;
    if (!surface->rows) return bounds_of_points(self, model, bounds);
    pd_status status = bounds_of_points(self, &surface->model, surface->bounds);
    return status ? status : pd_embedding_bounds(self->context, model, &surface->embedding, surface->bounds, bounds);
}

/* Applies the last Hessians to p, a direction of the points: q += H p unless NULL, and *sums += p.H p. */
static pd_status act_on(pd_contact *self, const pd_model *model, const real *p, real *q, double *sums) {
    pd_context *context = self->context;
    pd_friction *friction = self->friction[self->lag];
    pd_penalty_view view;
    pd_contact_acting_pairs acting = pd_contact_acting(self, &view);
    pd_status status = PD_OK;
    if (acting.n > 0) {
        PD_TRY(pd_contact_product(context, model, acting.n, acting.points, self->hessians, q == NULL, p, self->corners, self->values));
        if (q) PD_TRY(pd_contact_gather(context, model, acting.incidence, self->corners, q));
        PD_TRY(pd_contact_sum(context, acting.n, self->values, self->partial, 1, sums));
    }
    if (friction) PD_TRY(pd_friction_add_product(friction, model, p, q == NULL, q, sums));
done:
    return status;
}

pd_status pd_contact_add_product(pd_contact *self, const pd_model *model, const real *p, real *q, double *sums) {
    return act_on(self, model, p, q, sums);
}

pd_status pd_contact_add_curvature(pd_contact *self, const pd_model *model, const real *p, double *sum) {
    const pd_surface *surface = self->surface;
    if (!surface->rows) return act_on(self, model, p, NULL, sum);
    pd_status status = pd_surface_follow(surface, p, surface->moves);
    return status ? status : act_on(self, &surface->model, surface->moves, NULL, sum);
}

/* ---- transfer to the host ----------------------------------------------------------------------------------------------------------- */

pd_status pd_contact_read(pd_contact *self, int quantity, real *out) {
    size_t size = (size_t)pd_contact_quantity_size(quantity), n = (size_t)self->n;
    pd_status status = PD_OK;
    if (size != 1 && size != 12) return pd_fail(pd_context_error(self->context), PD_ERROR_VALUE, "quantity: %d is not read back", quantity);
    if (size == 12) PD_TRY(pd_contact_ensure_corners(self, n));
    real *memory = size == 1 ? self->values : self->corners;
    PD_TRY(pd_contact_evaluate(self, quantity, PD_FILTER_NONE, memory));
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
    for (size_t i = 0; i < n && out->weight; i++) out->weight[i] = pd_max(out->weight[i], 0);
done:
    return status;
}
