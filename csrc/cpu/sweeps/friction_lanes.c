/* The friction of a block of vertices, see vertex_block.h. */
#include "cpu/sweeps/vertex_block.h"
#include "updates/sweeps/vertex_update.h"

#include <string.h>

enum { LANES = PD_CONTACT_LANES, AHEAD = 8 };

#define COLUMN(x, i) pd_vector_of((x)[0][i], (x)[1][i], (x)[2][i])
#define FETCH_MOVES(moves, corners) \
    for (int j = 0; j < 3; j++) __builtin_prefetch((moves) + 4 * (size_t)(corners).others[j])

#define STRENGTH(run, i) pd_fabs((run)->columns[PD_LAGGED_STRENGTH][i])
#define PARTNERS(run, i) ((run)->columns[PD_LAGGED_STRENGTH][i] < 0 ? (real)2 : (real)1)

/* Adds some roles of a vertex, with the displacements of their pairs. */
static void put_roles(const pd_contact_sweep *contact, const pd_block_range *range, int vertex, pd_friction_run *run) {
    int all = range->last - range->first, skipped = range->begin - range->first, n = range->end - range->begin;
    const real *moves = contact->slipping.moves, *own = moves + 4 * (size_t)vertex;
    pd_lagged_roles roles = pd_lagged_roles_of(contact->lagged_records, range->first, all);
    const pd_lagged_corners *corners = roles.corners + skipped;
    for (int k = 0; k < n; k++) {
        real move[4];
        if (k + AHEAD < n) FETCH_MOVES(moves, corners[k + AHEAD]);
        pd_friction_update_kept_move(corners + k, own, moves, move);
        memcpy(run->moves[run->n + k], move, sizeof move);
        run->weights[run->n + k] = corners[k].weights[0], run->owners[run->n + k] = range->owner;
    }
    for (int c = 0; c < PD_LAGGED_COLUMNS; c++)
        memcpy(run->columns[c] + run->n, roles.columns + c * all + skipped, (size_t)n * sizeof(real));
    run->n += n;
}

/* Fills the columns after the last role. */
static void fill_up(pd_friction_run *run) {
    for (int i = run->n; i % LANES != 0; i++) {
        for (int c = 0; c < 4; c++) run->moves[i][c] = 0;
        for (int c = 0; c < PD_LAGGED_COLUMNS; c++) run->columns[c][i] = 0;
        run->weights[i] = 0;
    }
}

/* Projects the displacements onto the tangent planes. */
static void take_slips(pd_friction_run *run) {
    const int whole = (run->n + LANES - 1) / LANES * LANES;
#pragma omp simd
    for (int i = 0; i < whole; i++) {
        pd_vector slip = pd_friction_slip(pd_vector_of(run->moves[i][0], run->moves[i][1], run->moves[i][2]),
                                          COLUMN(run->columns + PD_LAGGED_NORMAL, i));
        run->slips[0][i] = slip.x, run->slips[1][i] = slip.y, run->slips[2][i] = slip.z;
    }
}

/* Gathers the next run; 0: there is none, and the last one stays. */
static int gather_run(pd_vertex_block *block, pd_block_cursor *next) {
    const pd_contact_sweep *contact = block->contact;
    pd_friction_run *run = &block->friction;
    pd_block_range range;
    int begins = next->v == 0 && next->r < 0;
    if (next->v == block->n) return 0;
    run->n = 0;
    while (run->n < PD_BLOCK_ROLES && pd_block_next_range(block, &contact->lagged_incidence, next, PD_BLOCK_ROLES - run->n, &range))
        put_roles(contact, &range, block->vertices[range.owner], run);
    run->whole = begins && next->v == block->n;
    fill_up(run);
    take_slips(run);
    return 1;
}

static inline int count_of(const pd_friction_run *run, int first) { return run->n - first < LANES ? run->n - first : LANES; }

static void add_corners(pd_vertex_block *block, real (*sums)[9], double *total) {
    const pd_friction_run *run = &block->friction;
    const real(*normals)[PD_BLOCK_ROLES + LANES] = run->columns + PD_LAGGED_NORMAL;
    real extent = block->contact->slipping.extent;
    for (int first = 0; first < run->n; first += LANES) {
        real found[10][LANES];
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            int i = first + l;
            pd_vector u = COLUMN(run->slips, i);
            pd_friction_terms terms = pd_friction_terms_of(u, extent);
            pd_friction_corner corner =
                pd_friction_corner_of(STRENGTH(run, i), COLUMN(normals, i), u, terms, run->weights[i], PARTNERS(run, i));
            found[0][l] = corner.slope.x, found[1][l] = corner.slope.y, found[2][l] = corner.slope.z;
            found[3][l] = corner.block.xx, found[4][l] = corner.block.xy, found[5][l] = corner.block.xz;
            found[6][l] = corner.block.yy, found[7][l] = corner.block.yz, found[8][l] = corner.block.zz;
            found[9][l] = corner.energy;
        }
        for (int l = 0, n = count_of(run, first); l < n;) {
            int owner = run->owners[first + l];
            real sum[9];
            double energy = total[owner];
            for (int c = 0; c < 9; c++) sum[c] = sums[owner][c];
            for (; l < n && run->owners[first + l] == owner; l++) { // in registers
                for (int c = 0; c < 9; c++) sum[c] += found[c][l];
                energy += (double)found[9][l];
            }
            for (int c = 0; c < 9; c++) sums[owner][c] = sum[c];
            total[owner] = energy;
        }
    }
}

static int takes_part(const pd_vertex_block *block, const int *owners, int n) {
    for (int l = 0; l < n; l++)
        if (block->vertices[owners[l]] >= 0) return 1;
    return 0;
}

static void add_energies(pd_vertex_block *block, const real (*d)[3], double *total) {
    const pd_friction_run *run = &block->friction;
    const real(*normals)[PD_BLOCK_ROLES + LANES] = run->columns + PD_LAGGED_NORMAL;
    real extent = block->contact->slipping.extent;
    for (int first = 0; first < run->n; first += LANES) {
        const int *owners = run->owners + first;
        real found[LANES], move[3][LANES] = {{0}};
        int n = count_of(run, first);
        if (!takes_part(block, owners, n)) continue;
        for (int l = 0; l < n; l++)
            for (int c = 0; c < 3; c++) move[c][l] = d[owners[l]][c];
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            int i = first + l;
            found[l] = pd_friction_corner_energy(STRENGTH(run, i), COLUMN(normals, i), COLUMN(run->slips, i), COLUMN(move, l), extent,
                                                 run->weights[i], PARTNERS(run, i));
        }
        for (int l = 0; l < n; l++)
            if (block->vertices[owners[l]] >= 0) total[owners[l]] += (double)found[l];
    }
}

/* A vertex's sum is complete before it is added, as in pd_vertex_update_contact. */
static void add_shares(const pd_vertex_block *block, const double *shares, double *total) {
    for (int v = 0; v < block->n; v++)
        if (block->vertices[v] >= 0) total[v] += shares[v];
}

void pd_vertex_block_fetch_friction(const pd_vertex_block *block, int vertex) {
    const int *start = block->contact->lagged_incidence.start + vertex;
    const char *at = block->contact->lagged_records + (size_t)start[0] * PD_LAGGED_ROLE_BYTES;
    const char *end = block->contact->lagged_records + (size_t)start[1] * PD_LAGGED_ROLE_BYTES;
    for (; at < end; at += 64) __builtin_prefetch(at);
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
    if (block->friction.whole)
        add_energies(block, d, shares);
    else
        while (gather_run(block, &next)) add_energies(block, d, shares);
    add_shares(block, shares, total);
}
