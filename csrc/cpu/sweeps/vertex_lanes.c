/* The contact of a block of vertices; see vertex_lanes.h. As in cpu/contact/contact.c, all lanes run the same instructions, and extreme
 * pairs run one by one. So the result of a role depends neither on its neighbours nor on their number. */
#include "cpu/sweeps/vertex_lanes.h"

#include "updates/sweeps/vertex_update.h"

#include <limits.h>

enum { LANES = PD_CONTACT_LANES, NUMBERS = 8, AHEAD = 8, RECORDS_AHEAD = 32 };

/* Results of the roles of some lanes; plain 0: undefined. */
typedef struct results {
    real number[NUMBERS][LANES];
    int plain[LANES];
} results;

PD_INLINE void corners_of_kind(pd_pair_potential potential, int kind, const pd_role_lanes *lanes, results *out) {
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        pd_points4 x = pd_contact_lanes_corners(&lanes->pairs, l);
        pd_nearest nearest = pd_contact_nearest(kind, x);
        pd_contact_corner corner = pd_contact_corner_of(potential, pd_contact_lanes_limits(&lanes->pairs, l), kind, x, nearest,
                                                        lanes->corners[l], lanes->partners[l]);
        out->plain[l] = pd_contact_is_plain(kind, x, nearest);
        out->number[0][l] = corner.slope.x, out->number[1][l] = corner.slope.y, out->number[2][l] = corner.slope.z;
        out->number[3][l] = corner.normal.x, out->number[4][l] = corner.normal.y, out->number[5][l] = corner.normal.z;
        out->number[6][l] = corner.stiffness, out->number[7][l] = corner.energy;
    }
}

PD_INLINE void energies_of_kind(pd_pair_potential potential, int kind, const pd_contact_lanes *pairs, const real *partners, results *out) {
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        pd_points4 x = pd_contact_lanes_corners(pairs, l);
        pd_nearest nearest = pd_contact_nearest(kind, x);
        out->plain[l] = pd_contact_is_plain(kind, x, nearest);
        out->number[0][l] = pd_contact_energy(potential, pd_contact_lanes_limits(pairs, l), kind, x, nearest) / partners[l];
    }
}

/* One copy of each loop per kind of pair and contact potential, in which both are constants. */
static __attribute__((noinline)) void corners(const pd_pair_potential *potential, const pd_role_lanes *lanes, results *out) {
#define PD_LOOP(KIND) corners_of_kind(of_potential, KIND, lanes, out)
    PD_CONTACT_OF_POTENTIAL_AND_KIND(potential, lanes->kind);
#undef PD_LOOP
}

static __attribute__((noinline)) void energies(const pd_pair_potential *potential, int kind, const pd_contact_lanes *pairs,
                                               const real *partners, results *out) {
#define PD_LOOP(KIND) energies_of_kind(of_potential, KIND, pairs, partners, out)
    PD_CONTACT_OF_POTENTIAL_AND_KIND(potential, kind);
#undef PD_LOOP
}

/* One role of an extreme pair. With d not NULL: only the energy, for a displacement -d of its corner. */
static void alone(const pd_contact_sweep *contact, int role, real partners, const real *d, real *found) {
    const pd_contact_record *pair = contact->records + role / 4;
    real at[12];
    pd_contact_limits limits;
    pd_contact_update_gather_record(pair, contact->points, at, &limits);
    if (d) pd_vertex_update_shift(pair->kind, role % 4, partners, d, at);
    pd_nearest nearest = pd_contact_closest(pair->kind, at);
    if (d) {
        found[0] = pd_contact_energy(contact->potential, limits, pair->kind, pd_points4_load(at), nearest) / partners;
        return;
    }
    pd_contact_corner corner =
        pd_contact_corner_of(contact->potential, limits, pair->kind, pd_points4_load(at), nearest, role % 4, partners);
    pd_vector_store(corner.slope, found), pd_vector_store(corner.normal, found + 3);
    found[6] = corner.stiffness, found[7] = corner.energy;
}

/* ---- gathering -------------------------------------------------------------------------------------------------------------------- */

/* A macro, since a compiler removes calls of a function that only prefetches. */
#define FETCH_POINTS(block, role)                                                           \
    for (int j = 0; j < 4; j++) {                                                           \
        int point = (block)->contact->records[(role) / 4].points[j];                        \
        __builtin_prefetch((block)->contact->points + 3 * (size_t)(point < 0 ? 0 : point)); \
    }

void pd_vertex_lanes_fetch_roles(const pd_vertex_block *block, int v) {
    const pd_contact_sweep *contact = block->contact;
    int vertex = block->vertices[v];
    if (vertex < 0) return;
    __builtin_prefetch(contact->incidence.roles + contact->incidence.start[vertex]);
}

void pd_vertex_lanes_fetch_records(const pd_vertex_block *block, int v) {
    const pd_contact_sweep *contact = block->contact;
    const pd_incidence *incidence = &contact->incidence;
    int vertex = block->vertices[v];
    if (vertex < 0) return;
    for (int r = incidence->start[vertex]; r < incidence->start[vertex + 1]; r++) PD_FETCH_RECORD(contact->records, incidence->roles[r]);
    if (contact->lagged.n > 0) pd_vertex_block_fetch_friction(block, vertex);
}

static void put_role(const pd_vertex_block *block, const pd_contact_record *pair, int corner, int row, int vertex, pd_role_lanes *lanes) {
    const real *points = block->contact->points;
    int l = lanes->count++, n = pd_contact_corners(pair->kind);
    for (int j = 0; j < 4; j++) {
        const real *at = points + 3 * (size_t)pair->points[j < n ? j : 0];
        for (int i = 0; i < 3; i++) lanes->pairs.x[3 * j + i][l] = at[i];
    }
    lanes->pairs.activation[l] = pair->activation, lanes->pairs.separation[l] = pair->separation;
    lanes->pairs.weight[l] = pair->weight, lanes->pairs.threshold[l] = pair->threshold;
    lanes->rows[l] = row, lanes->corners[l] = corner;
    lanes->partners[l] = pd_vertex_update_partners(block->sweep, block->model, pair->points, vertex);
}

static void repeat_last(pd_role_lanes *lanes) {
    for (int l = lanes->count, last = lanes->count - 1; l < LANES; l++) {
        for (int i = 0; i < 12; i++) lanes->pairs.x[i][l] = lanes->pairs.x[i][last];
        lanes->pairs.activation[l] = lanes->pairs.activation[last], lanes->pairs.separation[l] = lanes->pairs.separation[last];
        lanes->pairs.weight[l] = lanes->pairs.weight[last], lanes->pairs.threshold[l] = lanes->pairs.threshold[last];
        lanes->corners[l] = lanes->corners[last], lanes->partners[l] = lanes->partners[last];
    }
}

/* The displacement to assume for a vertex that moves by -d: at most two partners move. */
static real farthest(const real d[3]) { return 2 * pd_vertex_update_length(d); }

/* The roles that a run gathers: up to the displacement to assume for -d, or up to the expected displacement if d is NULL. beyond: a run
 * with all roles up to the expected displacement, which are left out; NULL: none is left out. */
typedef struct role_choice {
    const real (*d)[3];
    const pd_contact_run *beyond;
} role_choice;

/* Tells whether a run has all roles of row v that may act for displacement -d[v]. */
static int suffices(const pd_contact_run *run, const real (*d)[3], int v) { return farthest(d[v]) < run->slack[v]; }

/* Gathers a part of the roles of one row, up to the length of a run. Returns the end of the roles that were considered. */
static int gather_range(const pd_vertex_block *block, const role_choice *choice, const pd_block_range *range,
                        int open[PD_CONTACT_PAIR_COUNT], pd_contact_run *run) {
    const pd_contact_sweep *contact = block->contact;
    const int *roles = contact->incidence.roles, owner = range->owner, vertex = block->vertices[owner];
    const real most = choice->d ? farthest(choice->d[owner]) : block->expected[owner];
    const real least = choice->beyond ? block->expected[owner] : -(real)INFINITY;
    pd_role_list *list = &run->list;
    int r = range->begin;
    for (; r < range->end && list->n < PD_BLOCK_ROLES; r++) {
        const pd_contact_record *pair = contact->records + roles[r] / 4;
        if (r + RECORDS_AHEAD < range->end) PD_FETCH_RECORD(contact->records, roles[r + RECORDS_AHEAD]);
        if (r + AHEAD < range->end) FETCH_POINTS(block, roles[r + AHEAD]);
        real slack = pd_vertex_update_slack(contact, pair);
        if (slack <= least) continue;
        if (slack > most) {
            run->slack[owner] = pd_min(run->slack[owner], slack);
            continue;
        }
        int *lanes = open + pair->kind;
        if (*lanes < 0 || run->lanes[*lanes].count == LANES) {
            *lanes = run->n_lanes++;
            run->lanes[*lanes].kind = pair->kind, run->lanes[*lanes].count = 0;
        }
        list->roles[list->n] = roles[r], list->owners[list->n] = owner;
        put_role(block, pair, roles[r] % 4, list->n++, vertex, run->lanes + *lanes);
    }
    return r;
}

/* Gathers the next run of the chosen roles. Returns 0 if there is none, and the last one stays. */
static int gather_run(const pd_vertex_block *block, const role_choice *choice, pd_block_cursor *next, pd_contact_run *run) {
    pd_role_list *list = &run->list;
    pd_block_range range;
    int open[PD_CONTACT_PAIR_COUNT], begins = next->v == 0 && next->r < 0;
    if (next->v == block->n) return 0;
    for (int kind = 0; kind < PD_CONTACT_PAIR_COUNT; kind++) open[kind] = -1;
    for (int v = 0; v < block->n; v++) run->slack[v] = (real)INFINITY;
    run->n_lanes = list->n = 0;
    while (list->n < PD_BLOCK_ROLES && pd_block_next_range(block, &block->contact->incidence, next, INT_MAX, &range))
        if (!choice->beyond || !suffices(choice->beyond, choice->d, range.owner)) next->r = gather_range(block, choice, &range, open, run);
    list->whole = begins && next->v == block->n;
    for (int kind = 0; kind < PD_CONTACT_PAIR_COUNT; kind++)
        if (open[kind] >= 0) repeat_last(run->lanes + open[kind]);
    return 1;
}

/* ---- evaluation ---------------------------------------------------------------------------------------------------------------------- */

static void add_corners(const pd_vertex_block *block, pd_contact_run *run, real (*sums)[9], double *total) {
    for (int k = 0; k < run->n_lanes; k++) {
        const pd_role_lanes *lanes = run->lanes + k;
        results found;
        corners(&block->contact->potential, lanes, &found);
        for (int l = 0; l < lanes->count; l++) {
            real *row = run->found[lanes->rows[l]];
            for (int i = 0; i < NUMBERS; i++) row[i] = found.number[i][l];
            if (!found.plain[l]) alone(block->contact, run->list.roles[lanes->rows[l]], lanes->partners[l], NULL, row);
        }
    }
    for (int i = 0; i < run->list.n; i++) {
        const real *found = run->found[i];
        if (found[7] == 0) continue; // beyond its activation distance
        pd_contact_corner corner = {found[7], pd_vector_load(found), pd_vector_load(found + 3), found[6]};
        pd_contact_corner_add(corner, sums[run->list.owners[i]]);
        total[run->list.owners[i]] += (double)found[7];
    }
}

static int takes_part(const pd_vertex_block *block, const pd_role_list *list, const pd_role_lanes *lanes) {
    for (int l = 0; l < lanes->count; l++)
        if (block->vertices[list->owners[lanes->rows[l]]] >= 0) return 1;
    return 0;
}

/* Tells whether a run has all roles that may act for displacements -d of the vertices. */
static int is_enough(const pd_vertex_block *block, const pd_contact_run *run, const real (*d)[3]) {
    int enough = 1;
    for (int v = 0; v < block->n && enough; v++) enough = block->vertices[v] < 0 || suffices(run, d, v);
    return enough;
}

static void add_energies(const pd_vertex_block *block, const real (*d)[3], pd_contact_run *run, double *total) {
    for (int k = 0; k < run->n_lanes; k++) {
        const pd_role_lanes *lanes = run->lanes + k;
        pd_contact_lanes there = lanes->pairs;
        results found;
        if (!takes_part(block, &run->list, lanes)) continue;
        for (int l = 0; l < lanes->count; l++) {
            const real *move = d[run->list.owners[lanes->rows[l]]];
            for (int c = 0; c < 3; c++) there.x[3 * lanes->corners[l] + c][l] -= lanes->partners[l] * move[c];
            for (int j = 3 * pd_contact_corners(lanes->kind); lanes->corners[l] == 0 && j < 12; j++) there.x[j][l] = there.x[j % 3][l];
        }
        energies(&block->contact->potential, lanes->kind, &there, lanes->partners, &found);
        for (int l = 0; l < lanes->count; l++) {
            int row = lanes->rows[l];
            run->found[row][0] = found.number[0][l];
            if (!found.plain[l]) alone(block->contact, run->list.roles[row], lanes->partners[l], d[run->list.owners[row]], run->found[row]);
        }
    }
    for (int i = 0; i < run->list.n; i++)
        if (block->vertices[run->list.owners[i]] >= 0) total[run->list.owners[i]] += (double)run->found[i][0];
}

void pd_vertex_lanes_contact(pd_vertex_block *block, real (*sums)[9], double *total) {
    pd_block_cursor next = {0, -1};
    for (int v = 0; v < block->n; v++) {
        for (int i = 0; i < 9; i++) sums[v][i] = 0;
        total[v] = 0.0;
    }
    const role_choice expected = {NULL, NULL};
    while (gather_run(block, &expected, &next, &block->run)) add_corners(block, &block->run, sums, total);
    if (block->contact->lagged.n > 0) pd_vertex_block_add_friction(block, sums, total);
}

/* The gathered roles, and only those roles that may act in addition. */
void pd_vertex_lanes_energies(pd_vertex_block *block, const real (*d)[3], double *total) {
    pd_block_cursor next = {0, -1};
    const int whole = block->run.list.whole;
    const role_choice choice = {d, whole ? &block->run : NULL};
    for (int v = 0; v < block->n; v++) total[v] = 0.0;
    if (whole) add_energies(block, d, &block->run, total);
    if (!whole || !is_enough(block, &block->run, d))
        while (gather_run(block, &choice, &next, &block->more)) add_energies(block, d, &block->more, total);
    if (block->contact->lagged.n > 0) pd_vertex_block_add_friction_energies(block, d, total);
}
