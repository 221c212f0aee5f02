/* The neighbour list of a sweep; see neighbour_list.h. */
#include "contact/potential/neighbour_list.h"

#include "contact/growable_list.h"
#include "loops/friction_loops.h"

#include <math.h>
#include <stdlib.h>

/* The fraction of its ball that a vertex may have used before its far pairs become neighbour pairs, and of `certain` before all pairs are
 * listed again. A half gives more lists in resting contact, and the same potential. */
static const double MOST_USED = 0.75;

/* If more than 1/LEAST_KEPT of the vertices have left their balls, all pairs are listed again. */
enum { LEAST_KEPT = 8 };

struct pd_neighbour_list {
    pd_context *context;
    int n_vertices, n_points;
    pd_chosen_points chosen;
    int known, panelled;
    double far, certain, inactive_bound, rounding, fraction;
    double gone;         /* the largest displacement at the last check, as a fraction of `certain` */
    real *start, *balls; /* B [n_points,3] x_0, [n_points] radii, m */
    real *begun;         /* B [n_points,3] the begin of an iteration, m */
    real *moved;         /* B [n_points] pd_contact_sweep */
    unsigned char *left; /* B [n_points] points that have used most of their balls */
    pd_bound_use *use;   /* B [1] */
    uint64_t *found;     /* B [2] pairs and roles */
    uint64_t released;   /* vertices that have left their balls since all pairs were listed */

    int n_all;
    size_t listed, capacity; /* rows of all pairs, rows of neighbour pairs */
    pd_contact_columns all;  /* B [listed] of all pairs at the making of the list */
    pd_incidence all_roles;  /* and their incidence */
    unsigned char *flags, *role_flags;
    int *rows, *role_rows, *ranks, *starts;
    pd_work work;

    int n;
    pd_contact_columns columns;
    pd_contact_record *records;
    real *distance;
    pd_incidence incidence;
};

pd_status pd_neighbour_list_create(pd_neighbour_list **out, pd_context *context, int n_vertices, int n_points, pd_chosen_points chosen) {
    pd_status status = PD_OK;
    size_t n = (size_t)n_points;
    pd_neighbour_list *self = *out = calloc(1, sizeof *self);
    if (!self) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for neighbour pairs");
    self->context = context;
    self->n_vertices = n_vertices, self->n_points = n_points;
    self->chosen = chosen;
    PD_TRY(pd_memory_create(context, (void **)&self->start, 3 * n * sizeof(real)));
    PD_TRY(pd_memory_create(context, (void **)&self->balls, n * sizeof(real)));
    PD_TRY(pd_memory_create(context, (void **)&self->moved, n * sizeof(real)));
    PD_TRY(pd_memory_create(context, (void **)&self->left, n + 1));
    PD_TRY(pd_memory_clear(context, self->left, n + 1));
    PD_TRY(pd_memory_create(context, (void **)&self->use, sizeof *self->use));
    PD_TRY(pd_memory_create(context, (void **)&self->found, 2 * sizeof *self->found));
    PD_TRY(pd_memory_create(context, (void **)&self->incidence.start, (n + 1) * sizeof *self->incidence.start));
    PD_TRY(pd_memory_create(context, (void **)&self->all_roles.start, (n + 1) * sizeof *self->all_roles.start));
    PD_TRY(pd_memory_create(context, (void **)&self->begun, 3 * n * sizeof(real)));
done:
    if (status) {
        pd_neighbour_list_destroy(self);
        *out = NULL;
    }
    return status;
}

void pd_neighbour_list_destroy(pd_neighbour_list *self) {
    if (!self) return;
    void *memory[] = {self->start,
                      self->balls,
                      self->moved,
                      self->left,
                      self->use,
                      self->found,
                      self->flags,
                      self->role_flags,
                      self->rows,
                      self->role_rows,
                      self->ranks,
                      self->starts,
                      self->work.memory,
                      self->distance,
                      self->records,
                      self->begun,
                      self->incidence.start,
                      self->incidence.roles,
                      self->all_roles.start,
                      self->all_roles.roles};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(self->context, memory[i]);
    pd_contact_columns_destroy(self->context, &self->columns);
    pd_contact_columns_destroy(self->context, &self->all);
    free(self);
}

void pd_neighbour_list_forget(pd_neighbour_list *self) { self->known = 0; }

double pd_neighbour_list_certain_bound(const pd_neighbour_list *self) { return self->known ? self->certain * (1.0 - self->gone) : 0.0; }

static pd_status ensure_capacity(pd_neighbour_list *self, size_t n) {
    pd_contact_columns *all = &self->all;
    const pd_growable lists[] = {
        PD_GROWABLE(self->flags, 1),     PD_GROWABLE(self->role_flags, 4),     PD_GROWABLE(self->rows, 1),
        PD_GROWABLE(self->role_rows, 4), PD_GROWABLE(self->ranks, 1),          {(void **)&self->starts, sizeof *self->starts, 8},
        PD_GROWABLE(all->kind, 1),       PD_GROWABLE(all->points, 4),          PD_GROWABLE(all->panel, 1),
        PD_GROWABLE(all->activation, 1), PD_GROWABLE(all->separation, 1),      PD_GROWABLE(all->weight, 1),
        PD_GROWABLE(all->threshold, 1),  PD_GROWABLE(self->all_roles.roles, 4)};
    pd_status status = pd_growables_grow(self->context, n, "pairs that may be near", PD_GROWABLES(lists), &self->listed, NULL);
    return status ? status : pd_work_grow(self->context, &self->work, self->listed / 8 + 1);
}

static pd_status ensure_neighbour_capacity(pd_neighbour_list *self, size_t n) {
    pd_contact_columns *c = &self->columns;
    const pd_growable lists[] = {PD_GROWABLE(c->kind, 1),        PD_GROWABLE(c->points, 4),     PD_GROWABLE(c->activation, 1),
                                 PD_GROWABLE(c->separation, 1),  PD_GROWABLE(c->weight, 1),     PD_GROWABLE(c->threshold, 1),
                                 PD_GROWABLE(self->distance, 1), PD_GROWABLE(self->records, 1), PD_GROWABLE(self->incidence.roles, 4),
                                 PD_GROWABLE(c->panel, 1)};
    return pd_growables_grow(self->context, n, "pairs that are near", PD_GROWABLES(lists), &self->capacity, NULL);
}

/* The pairs with flags and their incidence. */
static pd_status select_pairs(pd_neighbour_list *self) {
    pd_context *context = self->context;
    const pd_contact_pairs all = pd_contact_columns_pairs(&self->all, self->n_all, NULL);
    const int *panel = self->panelled ? self->all.panel : NULL;
    size_t n = (size_t)self->n_all;
    uint64_t found[2] = {0, 0};
    pd_status status = PD_OK;
    if (n > 0) {
        PD_TRY(pd_select_rows(context, n, self->flags, self->starts, &self->work, self->listed, self->rows, self->found));
        PD_TRY(pd_select_rows(context, 4 * n, self->role_flags, self->starts, &self->work, 4 * self->listed, self->role_rows,
                              self->found + 1));
        PD_TRY(pd_memory_download(context, found, self->found, sizeof found));
        PD_TRY(ensure_neighbour_capacity(self, (size_t)found[0]));
    }
    self->n = (int)found[0];
    PD_TRY(pd_contact_take(context, self->n, self->rows, &all, panel, &self->columns, self->records, self->ranks));
    PD_TRY(pd_contact_take_roles(context, self->n_points, (int)found[1], self->role_rows, self->ranks, &self->all_roles, &self->incidence));
done:
    return status;
}

pd_status pd_neighbour_list_update(pd_neighbour_list *self, const real *points, int *holds) {
    pd_context *context = self->context;
    pd_bound_use use = {INFINITY, 0};
    pd_status status = PD_OK;
    if (self->known) {
        PD_TRY(pd_contact_used(context, &self->chosen, self->balls, self->far, self->certain, MOST_USED, self->start, points, self->left,
                               self->use));
        PD_TRY(pd_memory_download(context, &use, self->use, sizeof use));
    }
    // the next displacement is expected to be that since the last check
    *holds = use.used <= MOST_USED && use.used * self->certain <= self->inactive_bound && 2.0 * use.used - self->gone <= 1.0 &&
             self->released + use.left <= (uint64_t)self->chosen.n_vertices / LEAST_KEPT;
    if (!*holds) return PD_OK;
    self->gone = use.used, self->released += use.left;
    if (!use.left) return PD_OK;
    const pd_contact_pairs all = pd_contact_columns_pairs(&self->all, self->n_all, NULL);
    self->known = 0;
    PD_TRY(pd_contact_flag_pairs(context, &self->chosen, self->left, self->far, &all, &self->all_roles, self->n_points, self->balls,
                                 self->flags, self->role_flags));
    PD_TRY(select_pairs(self));
    self->known = 1;
done:
    return status;
}

/* A copy of the list: a later search overwrites it. */
static pd_status keep_all(pd_neighbour_list *self, const pd_neighbour_pairs *list) {
    pd_context *context = self->context;
    const pd_contact_pairs *pairs = list->pairs;
    const pd_contact_columns *to = &self->all;
    size_t n = (size_t)pairs->n, roles = 4 * n < list->incidence->capacity ? 4 * n : list->incidence->capacity;
    pd_status status = PD_OK;
    self->n_all = pairs->n;
    PD_TRY(pd_memory_copy(context, to->kind, pairs->kind, n * sizeof *to->kind));
    PD_TRY(pd_memory_copy(context, to->points, pairs->points, 4 * n * sizeof *to->points));
    PD_TRY(pd_memory_copy(context, to->activation, pairs->activation, n * sizeof *to->activation));
    PD_TRY(pd_memory_copy(context, to->separation, pairs->separation, n * sizeof *to->separation));
    PD_TRY(pd_memory_copy(context, to->weight, pairs->weight, n * sizeof *to->weight));
    PD_TRY(pd_memory_copy(context, to->threshold, pairs->threshold, n * sizeof *to->threshold));
    if (list->panel) PD_TRY(pd_memory_copy(context, to->panel, list->panel, n * sizeof *to->panel));
    PD_TRY(pd_memory_copy(context, self->all_roles.roles, list->incidence->roles, roles * sizeof(int)));
    PD_TRY(pd_memory_copy(context, self->all_roles.start, list->incidence->start, ((size_t)self->n_points + 1) * sizeof(int)));
done:
    return status;
}

pd_status pd_neighbour_list_rebuild(pd_neighbour_list *self, const pd_neighbour_pairs *list) {
    pd_context *context = self->context;
    const pd_contact_pairs *pairs = list->pairs;
    size_t n = (size_t)pairs->n;
    pd_status status = PD_OK;
    self->known = 0;
    self->panelled = list->panel != NULL;
    self->far = list->far, self->certain = list->certain, self->inactive_bound = list->inactive_bound;
    self->rounding = list->rounding, self->fraction = list->fraction;
    PD_TRY(ensure_capacity(self, n));
    PD_TRY(pd_memory_copy(context, self->start, list->points, 3 * (size_t)self->n_points * sizeof(real)));
    if (n > 0)
        PD_TRY(pd_contact_neighbour_flags(context, pairs, list->incidence, list->distance, list->rounding, list->fraction, list->cut,
                                          self->n_points, self->flags, self->role_flags));
    PD_TRY(pd_contact_balls(context, &self->chosen, list->incidence, list->distance, list->far, self->balls));
    PD_TRY(keep_all(self, list));
    PD_TRY(select_pairs(self));
    self->known = 1, self->gone = 0.0, self->released = 0;
done:
    return status;
}

pd_status pd_neighbour_list_bounds(pd_neighbour_list *self, const pd_pair_potential *potential, const real *points, real *bound,
                                   unsigned char *touching, pd_contact_sweep *sweep) {
    pd_context *context = self->context;
    const pd_contact_pairs pairs = pd_contact_columns_pairs(&self->columns, self->n, NULL);
    const pd_contact_columns *c = &self->columns;
    pd_status status = PD_OK;
    if (self->n && self->panelled) // self->distance is scratch here
        PD_TRY(pd_contact_choose_triangles(context, &pairs, c->panel, points, self->distance, c->weight, self->records));
    if (self->n) PD_TRY(pd_contact_batch(context, potential, PD_CONTACT_DISTANCE, PD_FILTER_NONE, &pairs, points, self->distance));
    if (self->n) PD_TRY(pd_contact_pair_bounds(context, &pairs, self->distance, self->rounding, self->fraction, self->records));
    PD_TRY(pd_contact_displacement_bounds(context, &self->chosen, &self->incidence, self->distance, self->balls, self->start, points, bound,
                                          touching));
    PD_TRY(pd_memory_clear(context, self->moved, (size_t)self->n_points * sizeof(real)));
    PD_TRY(pd_memory_copy(context, self->begun, points, 3 * (size_t)self->n_points * sizeof(real)));
    const pd_contact_pairs all = pd_contact_columns_pairs(&self->all, self->n_all, NULL);
    const pd_far_pairs far = {self->all_roles, all, self->flags, self->start};
    sweep->records = self->records;
    sweep->bounds = (pd_vertex_bounds){pairs, self->begun, self->rounding, self->fraction, far, self->certain};
    sweep->incidence = self->incidence;
    sweep->moved = self->moved;
done:
    return status;
}
