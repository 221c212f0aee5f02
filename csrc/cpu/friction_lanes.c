/* The friction of a block of vertices, see vertex_block.h. */
#include "cpu/vertex_block.h"
#include "updates/vertex_update.h"

enum { LANES = PD_CONTACT_LANES, AHEAD = 8, RECORDS_AHEAD = 32 };

#define FETCH_MOVES(contact, role) \
    for (int j = 0; j < 4; j++) __builtin_prefetch((contact)->slipping.moves + 4 * (size_t)(contact)->lagged.records[(role) / 4].points[j])

static void put_role(pd_friction_run *run, const pd_lagged_record *pair, const real *moves, int corner, int owner) {
    int l = run->n % LANES;
    pd_friction_lanes *lanes = run->lanes + run->n++ / LANES;
    real move[4];
    pd_friction_update_kept_move(pair->points, pair->weights, moves, move);
    for (int c = 0; c < 3; c++) lanes->slip[c][l] = move[c], lanes->normal[c][l] = pair->normal[c];
    lanes->strength[l] = pair->strength, lanes->weight[l] = pair->weights[corner], lanes->partners[l] = pair->partners[corner];
    lanes->owners[l] = owner;
}

#define COLUMN(x, l) pd_vector_of((x)[0][l], (x)[1][l], (x)[2][l])

/* Of moves what is across the normals. */
static void take_slips(pd_friction_run *run) {
    for (int k = 0; LANES * k < run->n; k++) {
        pd_friction_lanes *lanes = run->lanes + k;
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            pd_vector slip = pd_friction_slip(COLUMN(lanes->slip, l), COLUMN(lanes->normal, l));
            lanes->slip[0][l] = slip.x, lanes->slip[1][l] = slip.y, lanes->slip[2][l] = slip.z;
        }
    }
}

/* The columns behind the last role rub with no force. */
static void fill_up(pd_friction_run *run) {
    pd_friction_lanes *lanes = run->lanes + run->n / LANES;
    for (int l = run->n % LANES; l > 0 && l < LANES; l++) {
        for (int c = 0; c < 3; c++) lanes->slip[c][l] = lanes->normal[c][l] = 0;
        lanes->strength[l] = lanes->weight[l] = 0, lanes->partners[l] = 1;
    }
}

/* The next run, without pairs that have no friction or in which the vertex does not count; 0: there is none, and the last one stays. */
static int gather_run(pd_vertex_block *block, pd_block_cursor *next) {
    const pd_contact_sweep *contact = block->contact;
    pd_friction_run *run = &block->friction;
    pd_role_list *list = &run->list;
    if (next->v == block->n) return 0;
    int listed = pd_block_next_roles(block, &contact->lagged_incidence, next, list);
    for (int i = 0; i < listed && i < RECORDS_AHEAD; i++) PD_FETCH_RECORD(contact->lagged.records, list->roles[i]);
    run->n = 0;
    for (int i = 0; i < listed; i++) {
        int role = list->roles[i], owner = list->owners[i];
        const pd_lagged_record *pair = contact->lagged.records + role / 4;
        if (i + RECORDS_AHEAD < listed) PD_FETCH_RECORD(contact->lagged.records, list->roles[i + RECORDS_AHEAD]);
        if (i + AHEAD < listed) FETCH_MOVES(contact, list->roles[i + AHEAD]);
        if (!(pair->strength > 0) || pair->weights[role % 4] == 0) continue;
        put_role(run, pair, contact->slipping.moves, role % 4, owner);
    }
    fill_up(run);
    take_slips(run);
    return 1;
}

static inline int count_of(const pd_friction_run *run, int k) { return run->n - LANES * k < LANES ? run->n - LANES * k : LANES; }

static void add_corners(pd_vertex_block *block, real (*sums)[9], double *total) {
    const pd_friction_run *run = &block->friction;
    real extent = block->contact->slipping.extent;
    for (int k = 0; LANES * k < run->n; k++) {
        const pd_friction_lanes *lanes = run->lanes + k;
        real found[10][LANES];
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            pd_vector u = COLUMN(lanes->slip, l);
            pd_friction_terms terms = pd_friction_terms_of(u, extent);
            pd_friction_corner corner =
                pd_friction_corner_of(lanes->strength[l], COLUMN(lanes->normal, l), u, terms, lanes->weight[l], lanes->partners[l]);
            found[0][l] = corner.slope.x, found[1][l] = corner.slope.y, found[2][l] = corner.slope.z;
            found[3][l] = corner.block.xx, found[4][l] = corner.block.xy, found[5][l] = corner.block.xz;
            found[6][l] = corner.block.yy, found[7][l] = corner.block.yz, found[8][l] = corner.block.zz;
            found[9][l] = corner.energy;
        }
        for (int l = 0, n = count_of(run, k); l < n;) {
            int owner = lanes->owners[l];
            real sum[9];
            double energy = total[owner];
            for (int c = 0; c < 9; c++) sum[c] = sums[owner][c];
            for (; l < n && lanes->owners[l] == owner; l++) { // in registers
                for (int c = 0; c < 9; c++) sum[c] += found[c][l];
                energy += (double)found[9][l];
            }
            for (int c = 0; c < 9; c++) sums[owner][c] = sum[c];
            total[owner] = energy;
        }
    }
}

static int takes_part(const pd_vertex_block *block, const pd_friction_lanes *lanes, int n) {
    for (int l = 0; l < n; l++)
        if (block->vertices[lanes->owners[l]] >= 0) return 1;
    return 0;
}

static void add_energies(pd_vertex_block *block, const real (*d)[3], double *total) {
    const pd_friction_run *run = &block->friction;
    real extent = block->contact->slipping.extent;
    for (int k = 0; LANES * k < run->n; k++) {
        const pd_friction_lanes *lanes = run->lanes + k;
        real found[LANES], move[3][LANES] = {{0}};
        int n = count_of(run, k);
        if (!takes_part(block, lanes, n)) continue;
        for (int l = 0; l < n; l++)
            for (int c = 0; c < 3; c++) move[c][l] = d[lanes->owners[l]][c];
#pragma omp simd
        for (int l = 0; l < LANES; l++)
            found[l] = pd_friction_corner_energy(lanes->strength[l], COLUMN(lanes->normal, l), COLUMN(lanes->slip, l), COLUMN(move, l),
                                                 extent, lanes->weight[l], lanes->partners[l]);
        for (int l = 0; l < n; l++)
            if (block->vertices[lanes->owners[l]] >= 0) total[lanes->owners[l]] += (double)found[l];
    }
}

/* A vertex's share is summed up before it is added, as pd_vertex_update_contact does. */
static void add_shares(const pd_vertex_block *block, const double *shares, double *total) {
    for (int v = 0; v < block->n; v++)
        if (block->vertices[v] >= 0) total[v] += shares[v];
}

void pd_vertex_block_add_friction(pd_vertex_block *block, real (*sums)[9], double *total) {
    pd_block_cursor next = {0, -1};
    double shares[PD_BLOCK_VERTICES] = {0.0};
    while (gather_run(block, &next)) add_corners(block, sums, shares);
    add_shares(block, shares, total);
}

void pd_vertex_block_add_friction_energies(pd_vertex_block *block, const real (*d)[3], double *total) {
    pd_block_cursor next = {0, -1};
    double shares[PD_BLOCK_VERTICES] = {0.0};
    if (block->friction.list.whole)
        add_energies(block, d, shares);
    else
        while (gather_run(block, &next)) add_energies(block, d, shares);
    add_shares(block, shares, total);
}
