/* The constraints of the two-way method in backend memory; see two_way_list.h. */
#include "contact/two_way/two_way_list.h"

#include "contact/growable_list.h"

#include <limits.h>
#include <stdlib.h>

pd_status pd_two_way_list_grow(pd_two_way_list *rows, pd_context *context, size_t n, int rubs) {
    pd_two_way_rows *r = &rows->at;
    const pd_growable plain[] = {PD_GROWABLE(r->kind, 1),        PD_GROWABLE(r->points, 4),
                                 PD_GROWABLE(r->length, 1),      PD_GROWABLE(r->value, 1),
                                 PD_GROWABLE(r->jacobian[0], 6), PD_GROWABLE(r->jacobian[1], 6),
                                 PD_GROWABLE(r->inverse, 1),     PD_GROWABLE(r->yield[0], 6),
                                 PD_GROWABLE(r->yield[1], 6),    PD_GROWABLE(r->ahead, 1),
                                 PD_GROWABLE(r->movers, 4),      PD_GROWABLE(r->multiplier, 1),
                                 PD_GROWABLE(r->colour, 1),      PD_GROWABLE(rows->incidence.roles, 4)};
    const pd_growable of_friction[] = {PD_GROWABLE(r->coefficient, 1), PD_GROWABLE(r->weights, 4), PD_GROWABLE(r->normal, 3),
                                       PD_GROWABLE(r->share, 1),       PD_GROWABLE(r->slid, 3),    PD_GROWABLE(r->tangential, 3)};
    size_t before = rows->capacity;
    if (4 * n > INT_MAX) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "%zu constraints of contact are too many", n);
    // an allocated array signals friction
    pd_status status = rubs ? pd_growables_grow(context, n, "constraints with friction", PD_GROWABLES(of_friction), &before, NULL) : PD_OK;
    return status ? status : pd_growables_grow(context, n, "constraints of contact", PD_GROWABLES(plain), &rows->capacity, NULL);
}

static pd_status ensure_capacity(pd_two_way_colouring *self, pd_context *context, size_t n) {
    const pd_growable keys[] = {PD_GROWABLE(self->keys, 1), PD_GROWABLE(self->scratch, 1)};
    const pd_growable colours[] = {PD_GROWABLE(self->fresh, 1), PD_GROWABLE(self->order, 1), PD_GROWABLE(self->first, 1)};
    pd_status status;
    PD_TRY(pd_growables_grow(context, 4 * n, "corners of constraints", PD_GROWABLES(keys), &self->key_capacity, NULL));
    PD_TRY(pd_growables_grow(context, n, "colours of constraints", PD_GROWABLES(colours), &self->colour_capacity, NULL));
    PD_TRY(pd_work_grow(context, &self->work, self->key_capacity));
done:
    return status;
}

pd_status pd_two_way_list_join(pd_two_way_list *rows, pd_two_way_colouring *self, pd_context *context, int n_points) {
    pd_active_pairs pairs = {.points = rows->at.points};
    size_t n = (size_t)rows->at.n;
    pd_status status;
    PD_TRY(ensure_capacity(self, context, n));
    PD_TRY(pd_incidence_list(context, n, &pairs, n_points, self->keys, self->scratch, &self->work, &rows->incidence));
done:
    return status;
}

/* Increases the capacity to the starts of n colours. */
static pd_status make_starts(pd_two_way_list *rows, pd_context *context, size_t n) {
    size_t size = rows->starts_capacity ? rows->starts_capacity : 64;
    if (n + 1 <= rows->starts_capacity) return PD_OK;
    while (size < n + 1) size *= 2;
    int *starts = realloc(rows->starts, size * sizeof *starts);
    if (!starts) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for %zu colours", size);
    rows->starts = starts, rows->starts_capacity = size;
    return PD_OK;
}

pd_status pd_two_way_list_colour(pd_two_way_list *rows, pd_two_way_list *spare, pd_two_way_colouring *self, pd_context *context,
                                 const pd_model *model, int n_points, int rubs) {
    pd_two_way_list swap;
    size_t n = (size_t)rows->at.n;
    int row_bits = pd_key_bits(n);
    uint64_t left = n, n_colours = 0;
    pd_status status = PD_OK;
    rows->n_colours = 0;
    if (n == 0) return PD_OK;
    while (left > 0) {
        PD_TRY(pd_two_way_colour_round(context, model, &rows->at, &rows->incidence, self->fresh, self->found));
        PD_TRY(pd_memory_download(context, &left, self->found, sizeof left));
    }
    PD_TRY(pd_two_way_colour_keys(context, &rows->at, row_bits, self->keys));
    PD_TRY(pd_sort_keys(context, n, row_bits, 2 * row_bits, self->keys, self->scratch, &self->work));
    PD_TRY(pd_two_way_colour_starts(context, rows->at.n, row_bits, self->keys, self->order, self->first, self->found));
    PD_TRY(pd_memory_download(context, &n_colours, self->found, sizeof n_colours));
    PD_TRY(pd_two_way_list_grow(spare, context, n, rubs));
    PD_TRY(make_starts(spare, context, n_colours));
    PD_TRY(pd_memory_download(context, spare->starts, self->first, (n_colours + 1) * sizeof *spare->starts));
    PD_TRY(pd_two_way_arrange(context, n_points, self->order, &rows->at, &rows->incidence, self->fresh, &spare->at, &spare->incidence));
    spare->at.n = rows->at.n;
    spare->n_colours = (int)n_colours;
    swap = *rows, *rows = *spare, *spare = swap;
done:
    return status;
}

void pd_two_way_list_destroy(pd_two_way_list *rows, pd_context *context) {
    const pd_two_way_rows *r = &rows->at;
    void *memory[] = {r->kind,     r->points,   r->length, r->value,      r->jacobian[0], r->jacobian[1],        r->inverse,
                      r->yield[0], r->yield[1], r->ahead,  r->movers,     r->multiplier,  r->coefficient,        r->weights,
                      r->normal,   r->share,    r->slid,   r->tangential, r->colour,      rows->incidence.start, rows->incidence.roles};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(context, memory[i]);
    free(rows->starts);
}

void pd_two_way_colouring_destroy(pd_two_way_colouring *self, pd_context *context) {
    void *memory[] = {self->keys, self->scratch, self->fresh, self->order, self->first, self->work.memory, self->found};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) pd_memory_destroy(context, memory[i]);
}
