/* What the record of a step says of contact; see contact_record.h. */
#include "dynamics/contact/contact_record.h"

#include "contact/projective/projective.h"
#include "contact/two_way/two_way.h"
#include "dynamics/step/frame.h"

#include <stdlib.h>

struct pd_contact_recorder {
    size_t capacity;
    uint64_t *keys, *previous; /* [capacity] of the active pairs, ascending */
    size_t n, n_previous;
    real *distance, *activation, *separation; /* [capacity] */
    long long searches;                       /* when the record began */
};

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

/* Keys of one sorted list that the other has not. */
static size_t count_missing(const uint64_t *keys, size_t n, const uint64_t *others, size_t n_others) {
    size_t missing = 0, j = 0;
    for (size_t i = 0; i < n; i++) {
        while (j < n_others && others[j] < keys[i]) j++;
        missing += j == n_others || others[j] != keys[i];
    }
    return missing;
}

/* keys, distance, activation and separation of the n pairs that may act. */
static pd_status read_gaps(pd_contact *contact, int lag, pd_contact_recorder *r, size_t n) {
    pd_contact_columns columns = {.activation = r->activation, .separation = r->separation};
    pd_penalty *penalty = pd_contact_penalty(contact, lag);
    pd_status status = PD_OK;
    if (!penalty) {
        PD_TRY(pd_contact_read_columns(contact, &columns, r->keys));
        return pd_contact_read(contact, PD_CONTACT_DISTANCE, r->distance);
    }
    pd_penalty_view view = pd_penalty_pairs_of(penalty);
    PD_TRY(pd_penalty_read_back(penalty, r->keys, view.keys, n * sizeof *r->keys));
    PD_TRY(pd_penalty_read(penalty, PD_PENALTY_REACH, pd_contact_points(contact), r->activation));
    PD_TRY(pd_penalty_read(penalty, PD_PENALTY_GAP, pd_contact_points(contact), r->distance));
    for (size_t p = 0; p < n; p++) r->separation[p] = 0;
done:
    return status;
}

/* Room for n pairs; the keys of the row before become the previous ones. */
static pd_status next_keys(pd_contact_recorder *r, size_t n, pd_error *error) {
    pd_status status = need(r, n, error);
    uint64_t *keys = r->previous;
    if (status) return status;
    r->previous = r->keys, r->n_previous = r->n;
    r->keys = keys, r->n = 0;
    return PD_OK;
}

/* Of n pairs whose distances and separations have been read: less what their separations are above that of the scene. */
static double least_distance(const pd_contact_recorder *r, size_t n, double thickness) {
    double least = HUGE_VAL;
    for (size_t p = 0; p < n; p++) least = fmin(least, (double)r->distance[p] - ((double)r->separation[p] - thickness));
    return least;
}

/* Of contact by projections: in a step the pairs that it has so far, and the distances where the state is. */
static pd_status projective_row(pd_simulation *self, const real *x, pd_contact_row *row) {
    const pd_problem *problem = self->problem;
    pd_contact_recorder *r = self->recorder;
    const real *state = x ? problem->trial : self->safe.apart ? self->safe.x : self->iterate.x;
    const uint64_t *keys;
    pd_status status = PD_OK;
    if (x) PD_TRY(pd_memory_upload(problem->context, problem->trial, x, pd_problem_bytes(problem)));
    PD_TRY(pd_projective_potential(problem->projective, self->iterate.x, &row->potential));
    size_t n_pairs = (size_t)pd_projective_pairs(problem->projective, &keys);
    PD_TRY(pd_contact_find(problem->contact, state));
    size_t n = (size_t)pd_contact_pairs_of(problem->contact).n;
    PD_TRY(next_keys(r, n > n_pairs ? n : n_pairs, problem->error));
    pd_contact_columns columns = {.separation = r->separation};
    PD_TRY(pd_contact_read_columns(problem->contact, &columns, NULL));
    PD_TRY(pd_contact_read(problem->contact, PD_CONTACT_DISTANCE, r->distance));
    row->smallest_distance = least_distance(r, n, (double)pd_contact_thickness(problem->contact));
    PD_TRY(pd_memory_download(problem->context, r->keys, keys, n_pairs * sizeof *r->keys));
    r->n = n_pairs;
done:
    return status;
}

static pd_status need_recorder(pd_simulation *self) {
    if (self->recorder || (self->recorder = calloc(1, sizeof *self->recorder))) return PD_OK;
    return pd_fail(self->problem->error, PD_ERROR_MEMORY, "out of memory for a record of contact");
}

/* What came and went since the row before; `first`: of a record. */
static void compare_keys(pd_contact_recorder *r, const pd_contact *contact, int first, pd_contact_row *row) {
    if (first) r->searches = pd_contact_searches(contact);
    row->active = (double)r->n;
    row->entered = first ? 0.0 : (double)count_missing(r->keys, r->n, r->previous, r->n_previous);
    row->left = first ? 0.0 : (double)count_missing(r->previous, r->n_previous, r->keys, r->n);
    row->searches = (double)(pd_contact_searches(contact) - r->searches);
}

pd_status pd_simulation_contact_row(pd_simulation *self, const real *x, int first, pd_contact_row *row) {
    const pd_problem *problem = self->problem;
    pd_contact *contact = problem->contact;
    pd_error *error = problem->error;
    pd_status status = PD_OK;
    *row = (pd_contact_row){.smallest_distance = HUGE_VAL};
    if (!contact) return PD_OK;
    PD_TRY(need_recorder(self));
    pd_contact_recorder *r = self->recorder;
    double ahead = (double)pd_contact_thickness(contact);
    if (problem->projective) {
        PD_TRY(projective_row(self, x, row));
        compare_keys(r, contact, first, row);
        goto done;
    }
    if (x) PD_TRY(pd_contact_begin(contact, problem->x_t, PD_LAG_OF_QUESTION));
    if (x) PD_TRY(pd_memory_upload(problem->context, problem->trial, x, pd_problem_bytes(problem)));
    pd_contact_look_ahead(contact, x != NULL);
    PD_TRY(pd_contact_potential(contact, x ? problem->trial : self->iterate.x, &row->potential));
    PD_TRY(pd_contact_friction_potential(contact, &row->friction));
    size_t n = (size_t)pd_contact_pairs_of(contact).n;
    PD_TRY(next_keys(r, n, error));
    PD_TRY(read_gaps(contact, x ? PD_LAG_OF_QUESTION : PD_LAG_OF_STEP, r, n));
    for (size_t p = 0; p < n; p++) {
        double d = (double)r->distance[p], separation = (double)r->separation[p];
        row->smallest_distance = fmin(row->smallest_distance, d - (separation - ahead));
        if (d < separation + (double)r->activation[p]) r->keys[r->n++] = r->keys[p];
    }
    compare_keys(r, contact, first, row);
done:
    return pd_problem_keep_error(problem, status);
}

pd_status pd_simulation_update_gap(pd_simulation *self, double *smallest) {
    const pd_problem *problem = self->problem;
    pd_contact *contact = pd_two_way_contact(problem->two_way);
    size_t n = (size_t)pd_contact_pairs_of(contact).n;
    pd_status status = PD_OK;
    *smallest = HUGE_VAL;
    PD_TRY(need_recorder(self));
    pd_contact_recorder *r = self->recorder;
    PD_TRY(need(r, n, problem->error));
    pd_contact_columns columns = {.separation = r->separation};
    PD_TRY(pd_contact_read_columns(contact, &columns, NULL));
    PD_TRY(pd_contact_read(contact, PD_CONTACT_DISTANCE, r->distance));
    *smallest = least_distance(r, n, (double)pd_contact_thickness(contact));
done:
    return status;
}
