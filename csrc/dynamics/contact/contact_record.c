/* The contact quantities in the record of a step; see contact_record.h. */
#include "dynamics/contact/contact_record.h"

#include "contact/potential/contact.h"
#include "dynamics/response.h"
#include "dynamics/step/frame.h"

#include <stdlib.h>

static void release(pd_contact_recorder *r) {
    void *memory[] = {r->keys, r->previous, r->distance, r->activation, r->separation};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) free(memory[i]);
}

void pd_contact_recorder_destroy(pd_contact_recorder *recorder) {
    if (recorder) release(recorder);
    free(recorder);
}

static pd_status need(pd_contact_recorder *r, size_t n, pd_error *error) {
    size_t size = r->capacity > 0 ? r->capacity : 1024;
    if (n <= r->capacity) return PD_OK;
    while (size < n) size *= 2;
    struct {
        void **memory;
        size_t bytes;
    } arrays[] = {{(void **)&r->keys, sizeof(uint64_t)},
                  {(void **)&r->previous, sizeof(uint64_t)},
                  {(void **)&r->distance, sizeof(real)},
                  {(void **)&r->activation, sizeof(real)},
                  {(void **)&r->separation, sizeof(real)}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        void *memory = realloc(*arrays[i].memory, size * arrays[i].bytes);
        if (!memory) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for a record of %zu pairs in contact", n);
        *arrays[i].memory = memory;
    }
    r->capacity = size;
    return PD_OK;
}

/* The number of keys of one sorted list that the other lacks. */
static size_t count_missing(const uint64_t *keys, size_t n, const uint64_t *others, size_t n_others) {
    size_t missing = 0, j = 0;
    for (size_t i = 0; i < n; i++) {
        while (j < n_others && others[j] < keys[i]) j++;
        missing += j == n_others || others[j] != keys[i];
    }
    return missing;
}

pd_status pd_contact_recorder_next(pd_contact_recorder *r, size_t n, pd_error *error) {
    pd_status status = need(r, n, error);
    uint64_t *keys = r->previous;
    if (status) return status;
    r->previous = r->keys, r->n_previous = r->n;
    r->keys = keys, r->n = 0;
    return PD_OK;
}

double pd_contact_recorder_least(const pd_contact_recorder *r, size_t n, double thickness) {
    double least = HUGE_VAL;
    for (size_t p = 0; p < n; p++) least = fmin(least, (double)r->distance[p] - ((double)r->separation[p] - thickness));
    return least;
}

static pd_status need_recorder(pd_simulation *self) {
    if (self->recorder || (self->recorder = calloc(1, sizeof *self->recorder))) return PD_OK;
    return pd_fail(self->problem->error, PD_ERROR_MEMORY, "out of memory for a record of contact");
}

/* The numbers of new and removed pairs since the previous row; `first`: the first row of a record. */
static void compare_keys(const pd_contact_recorder *r, int first, pd_contact_row *row) {
    row->active = (double)r->n;
    row->entered = first ? 0.0 : (double)count_missing(r->keys, r->n, r->previous, r->n_previous);
    row->left = first ? 0.0 : (double)count_missing(r->previous, r->n_previous, r->keys, r->n);
}

pd_status pd_simulation_contact_row(pd_simulation *self, const real *x, int first, pd_contact_row *row) {
    const pd_problem *problem = self->problem;
    pd_status status = PD_OK;
    *row = (pd_contact_row){.smallest_distance = HUGE_VAL};
    if (!problem->response->row) return PD_OK;
    PD_TRY(need_recorder(self));
    PD_TRY(problem->response->row(self, self->recorder, x, row));
    compare_keys(self->recorder, first, row);
done:
    return pd_problem_keep_error(problem, status);
}

pd_status pd_simulation_update_gap(pd_simulation *self, double *smallest) {
    const pd_problem *problem = self->problem;
    pd_contact *contact = problem->scene;
    size_t n = (size_t)pd_contact_pairs_of(contact).n;
    pd_status status = PD_OK;
    *smallest = HUGE_VAL;
    PD_TRY(need_recorder(self));
    pd_contact_recorder *r = self->recorder;
    PD_TRY(need(r, n, problem->error));
    pd_contact_columns columns = {.separation = r->separation};
    PD_TRY(pd_contact_read_columns(contact, &columns, NULL));
    PD_TRY(pd_contact_read(contact, PD_CONTACT_DISTANCE, r->distance));
    *smallest = pd_contact_recorder_least(r, n, (double)pd_contact_thickness(contact));
done:
    return status;
}
