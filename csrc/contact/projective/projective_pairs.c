/* The pairs of a step of contact by projections, and the limit of its moves; see projective.h. */
#include "contact/growable_list.h"
#include "contact/potential/ccd_limiter.h"
#include "contact/projective/projective_parts.h"

#include <limits.h>

static pd_status ensure_flag_capacity(pd_context *context, joining *j, size_t n) {
    const pd_growable lists[] = {PD_GROWABLE(j->flags, 1), PD_GROWABLE(j->rows, 1), {(void **)&j->starts, sizeof *j->starts, 32}};
    pd_status status = pd_growables_grow(context, n, "pairs in contact", PD_GROWABLES(lists), &j->capacity, NULL);
    return status ? status : pd_work_grow(context, &j->work, j->capacity / 32 + 1);
}

static pd_status ensure_list_capacity(pd_projective *self, list *list, size_t n) {
    pd_kept_pairs *p = &list->pairs;
    const pd_growable lists[] = {PD_GROWABLE(p->kind, 1),       PD_GROWABLE(p->points, 4), PD_GROWABLE(p->key, 1),
                                 PD_GROWABLE(p->stiffening, 1), PD_GROWABLE(p->gap, 1),    PD_GROWABLE(p->normal, 3),
                                 PD_GROWABLE(p->pressed, 1)};
    return pd_growables_grow(self->context, n, "pairs in contact", PD_GROWABLES(lists), &list->capacity, NULL);
}

/* Enqueues the search for pairs of a list that are new. distances and limits select neighbour pairs, if given. */
static pd_status find_joining_async(pd_projective *self, joining *j, const pd_active_pairs *found, const real *distances,
                                    const pd_contact_pairs *limits, const pd_active_pairs *others) {
    pd_context *context = self->context;
    pd_status status = PD_OK;
    size_t n = found->capacity;
    j->found = *found;
    PD_TRY(ensure_flag_capacity(context, j, n));
    PD_TRY(pd_projective_mark_new(context, found, distances, limits, self->n, self->kept.pairs.key, others, j->flags));
    PD_TRY(pd_select_rows(context, n, j->flags, j->starts, &j->work, n, j->rows, j->count));
    PD_TRY(pd_memory_fetch(context, &j->n, j->count, sizeof j->n));
done:
    return status;
}

/* Adds the new pairs to those of the step, after a synchronisation. */
static pd_status join(pd_projective *self, joining *j) {
    pd_status status = PD_OK;
    uint64_t n = j->n;
    j->n = 0;
    if (n == 0) return PD_OK;
    if (n + (uint64_t)self->n > INT_MAX / 4)
        return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "more than %d pairs are in contact in a step", INT_MAX / 4);
    PD_TRY(ensure_list_capacity(self, &self->spare, (size_t)self->n + (size_t)n));
    PD_TRY(pd_projective_merge(self->context, self->n, &self->kept.pairs, (int)n, j->rows, &j->found, &self->spare.pairs));
    list swap = self->kept;
    self->kept = self->spare, self->spare = swap;
    self->n += (int)n;
done:
    return status;
}

pd_status pd_projective_begin(pd_projective *self, const real *x, const real *v) {
    pd_status status = PD_OK;
    self->n = self->frozen.n = 0;
    self->acts = 1;
    self->active_known = self->rounds = 0;
    PD_TRY(pd_contact_find(self->contact, x));
    PD_TRY(pd_contact_points_begun(self->contact, x, self->begun));
    if (!self->freezing.velocities) return PD_OK;
    PD_TRY(pd_contact_points_ahead(self->contact, x, self->points));
    PD_TRY(pd_projective_velocities(self->context, self->model, self->n_points, self->inverse_h, self->points, self->begun, v, v,
                                    self->velocities));
done:
    return status;
}

void pd_projective_end(pd_projective *self) { self->acts = 0; }

pd_status pd_projective_limit_async(pd_projective *self, const real *x_0, const real *x_1) {
    const pd_active_pairs *hits;
    pd_status status;
    PD_TRY(pd_contact_limit_async(self->contact, x_0, x_1, &hits));
    PD_TRY(find_joining_async(self, &self->hits, hits, NULL, NULL, NULL));
done:
    return status;
}

pd_status pd_projective_limit_result(pd_projective *self, double slow, double *fraction, int *complete) {
    pd_status status;
    const pd_active_pairs *hits;
    size_t n;
    self->hits_known = 1;
    PD_TRY(pd_contact_limit_result(self->contact, fraction, complete));
    if (!*complete || !(*fraction < 1.0)) return PD_OK;
    PD_TRY(pd_contact_hits(self->contact, &hits, &n, &self->hits_known));
    if (!self->hits_known) { // the capacities suffice now
        PD_TRY(find_joining_async(self, &self->hits, hits, NULL, NULL, NULL));
        PD_TRY(pd_context_synchronise(self->context));
    }
    PD_TRY(join(self, &self->hits));
    if (*fraction < slow && !self->settings.cut_back)
        PD_TRY(pd_projective_stiffen(self->context, self->n, &self->kept.pairs, (int)n, self->hits.found.key));
done:
    return status;
}

pd_status pd_projective_limit(pd_projective *self, const real *x_0, const real *x_1, double slow, double *fraction) {
    int complete = 0;
    pd_status status = PD_OK;
    while (!complete) {
        PD_TRY(pd_projective_limit_async(self, x_0, x_1));
        PD_TRY(pd_context_synchronise(self->context));
        PD_TRY(pd_projective_limit_result(self, slow, fraction, &complete));
    }
done:
    return status;
}

/* Enqueues the search for new neighbour pairs at x. */
static pd_status find_active_async(pd_projective *self, const real *x) {
    pd_active_pairs near;
    pd_contact_pairs limits;
    const real *distances;
    pd_status status;
    PD_TRY(pd_contact_find_async(self->contact, x, self->went[self->rounds > 0], &near, &distances, &limits));
    PD_TRY(find_joining_async(self, &self->near, &near, distances, &limits, &self->hits.found));
done:
    return status;
}

pd_status pd_projective_move_async(pd_projective *self, const pd_round_rules *rules, const double *square, const double *along,
                                   const real *x_1, real *x, pd_round *round) {
    const pd_ccd_limiter *limiter = pd_contact_ccd_limiter(self->contact);
    const uint64_t *found[2];
    size_t capacity[2];
    pd_status status;
    pd_ccd_limiter_capacity(limiter, found, capacity);
    PD_TRY(pd_projective_choose_round(self->context, rules, pd_ccd_limiter_earliest(limiter), square, along, found, capacity, self->round));
    PD_TRY(pd_contact_go(self->contact, &self->round->scale, &self->round->fraction, x_1, x));
    PD_TRY(pd_memory_fetch(self->context, round, self->round, sizeof *round));
    if (!self->settings.hits_alone) PD_TRY(find_active_async(self, x));
done:
    return status;
}

pd_status pd_projective_move_result(pd_projective *self) {
    double went;
    pd_status status = PD_OK;
    if (self->settings.hits_alone) return PD_OK;
    PD_TRY(pd_contact_find_result(self->contact, &went, &self->active_known));
    self->active_known = self->active_known && self->hits_known; // otherwise the neighbour pairs may include hits
    if (self->rounds++ == 0) self->went[0] = went;
    self->went[1] = went;
done:
    return status;
}

pd_status pd_projective_move_free(pd_projective *self, const real *x_1, real *x) {
    pd_contact_sweep bounds;
    pd_status status = pd_contact_bound_displacements(self->contact, x, &bounds);
    return status ? status : pd_projective_move_within(self->context, self->model, &bounds, x_1, x);
}

pd_status pd_projective_truncate(pd_projective *self, const real *x_1, real *x) {
    double went;
    pd_status status = PD_OK;
    if (!self->settings.hits_alone)
        PD_TRY(pd_contact_find_result(self->contact, &went, &self->active_known)); // the present x, which has not moved
    PD_TRY(pd_projective_move_free(self, x_1, x));
    if (self->settings.hits_alone) return PD_OK;
    PD_TRY(find_active_async(self, x));
    PD_TRY(pd_context_synchronise(self->context));
    PD_TRY(pd_projective_move_result(self));
done:
    return status;
}

pd_status pd_projective_find_active(pd_projective *self, const real *x) {
    int known = self->active_known;
    const real *distances;
    pd_status status = PD_OK;
    size_t n;
    self->active_known = 0;
    if (known) return PD_OK;
    PD_TRY(pd_contact_find(self->contact, x));
    pd_active_pairs near = *pd_contact_active_pairs(self->contact, &n);
    self->near.n = 0;
    if (self->settings.hits_alone || n == 0) return PD_OK;
    PD_TRY(pd_contact_distances(self->contact, &distances));
    pd_contact_columns at = pd_contact_pairs_of(self->contact).columns;
    pd_contact_pairs limits = {.n = (int)n, .activation = at.activation, .separation = at.separation};
    near.capacity = n;
    PD_TRY(find_joining_async(self, &self->near, &near, distances, &limits, NULL));
    PD_TRY(pd_context_synchronise(self->context));
done:
    return status;
}

pd_status pd_projective_join_active(pd_projective *self) { return self->settings.hits_alone ? PD_OK : join(self, &self->near); }
