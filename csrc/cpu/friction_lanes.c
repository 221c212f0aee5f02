/* The friction of a block of vertices, see vertex_block.h. */
#include "cpu/vertex_block.h"
#include "updates/vertex_update.h"

enum { AHEAD = 6 };

/* A macro, since a compiler takes a function that does nothing but this for one that does nothing. */
#define FETCH_POINTS(contact, role)                                                        \
    for (int j = 0; j < 4; j++) {                                                          \
        int point = (contact)->lagged.points[(role) / 4 * 4 + j];                          \
        __builtin_prefetch((contact)->slipping.y + 3 * (size_t)(point < 0 ? 0 : point));   \
        __builtin_prefetch((contact)->slipping.y_t + 3 * (size_t)(point < 0 ? 0 : point)); \
    }
#define FETCH_PAIR(contact, role)                                                 \
    do {                                                                          \
        __builtin_prefetch((contact)->lagged.points + (role) / 4 * 4);            \
        __builtin_prefetch((contact)->lagged.weights + (role) / 4 * 4);           \
        __builtin_prefetch((contact)->lagged.normals + 3 * (size_t)((role) / 4)); \
        __builtin_prefetch((contact)->lagged.strength + (role) / 4);              \
    } while (0)

/* The next run, without pairs that have no friction or in which the vertex does not count; 0: there is none, and the last one stays. */
static int gather_run(pd_vertex_block *block, pd_block_cursor *next) {
    const pd_contact_sweep *contact = block->contact;
    pd_friction_run *run = &block->friction;
    pd_role_list *list = &run->list;
    if (next->v == block->n) return 0;
    int listed = pd_block_next_roles(block, &contact->lagged_incidence, next, list), n = 0;
    for (int i = 0; i < listed && i < 2 * AHEAD; i++) FETCH_PAIR(contact, list->roles[i]);
    for (int i = 0; i < listed; i++) {
        int role = list->roles[i], p = role / 4, owner = list->owners[i];
        if (i + 2 * AHEAD < listed) FETCH_PAIR(contact, list->roles[i + 2 * AHEAD]);
        if (i + AHEAD < listed) FETCH_POINTS(contact, list->roles[i + AHEAD]);
        real strength = contact->lagged.strength[p], weight = contact->lagged.weights[role];
        if (!(strength > 0) || weight == 0) continue;
        pd_vector slip = pd_friction_update_slip(&contact->lagged, &contact->slipping, p);
        const real *normal = contact->lagged.normals + 3 * (size_t)p;
        list->roles[n] = role, list->owners[n] = owner;
        run->slip[0][n] = slip.x, run->slip[1][n] = slip.y, run->slip[2][n] = slip.z;
        for (int c = 0; c < 3; c++) run->normal[c][n] = normal[c];
        run->strength[n] = strength, run->weight[n] = weight;
        run->partners[n++] =
            pd_vertex_update_partners(block->sweep, block->model, contact->lagged.points + 4 * (size_t)p, block->vertices[owner]);
    }
    list->n = n;
    return 1;
}

static inline pd_vector row_of(real (*x)[PD_BLOCK_ROLES], int i) { return pd_vector_of(x[0][i], x[1][i], x[2][i]); }

static void add_corners(pd_vertex_block *block, real (*sums)[9], double *total) {
    pd_friction_run *run = &block->friction;
    real extent = block->contact->slipping.extent, (*found)[PD_BLOCK_ROLES] = run->found;
    const int *owners = run->list.owners;
#pragma omp simd
    for (int i = 0; i < run->list.n; i++) {
        pd_vector u = row_of(run->slip, i);
        pd_friction_terms terms = pd_friction_terms_of(u, extent);
        pd_friction_corner corner =
            pd_friction_corner_of(run->strength[i], row_of(run->normal, i), u, terms, run->weight[i], run->partners[i]);
        found[0][i] = corner.slope.x, found[1][i] = corner.slope.y, found[2][i] = corner.slope.z;
        found[3][i] = corner.block.xx, found[4][i] = corner.block.xy, found[5][i] = corner.block.xz;
        found[6][i] = corner.block.yy, found[7][i] = corner.block.yz, found[8][i] = corner.block.zz;
        found[9][i] = corner.energy;
    }
    for (int i = 0; i < run->list.n; i++) {
        for (int c = 0; c < 9; c++) sums[owners[i]][c] += found[c][i];
        total[owners[i]] += (double)found[9][i];
    }
}

static void add_energies(pd_vertex_block *block, const real (*d)[3], double *total) {
    pd_friction_run *run = &block->friction;
    real extent = block->contact->slipping.extent, (*move)[PD_BLOCK_ROLES] = run->found + 1;
    const int *owners = run->list.owners;
    for (int i = 0; i < run->list.n; i++)
        for (int c = 0; c < 3; c++) move[c][i] = d[owners[i]][c];
#pragma omp simd
    for (int i = 0; i < run->list.n; i++)
        run->found[0][i] = pd_friction_corner_energy(run->strength[i], row_of(run->normal, i), row_of(run->slip, i), row_of(move, i),
                                                     extent, run->weight[i], run->partners[i]);
    for (int i = 0; i < run->list.n; i++)
        if (block->vertices[owners[i]] >= 0) total[owners[i]] += (double)run->found[0][i];
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
