/* The contact of a block of vertices, see vertex_lanes.h. As in cpu/contact.c all lanes run the same instructions, and a pair that asks for more
 * care goes by itself, so that it does not matter what a role stands beside, nor how many there are at a time. */
#include "cpu/vertex_lanes.h"

#include "cpu/contact_lanes.h"
#include "updates/vertex_update.h"

enum { LANES = PD_CONTACT_LANES, MOST = 256, NUMBERS = 8 };

/* Roles that are looked at together; a vertex with more of them has several runs. */
typedef struct run {
    int n, counts[PD_CONTACT_PAIR_COUNT];
    int roles[MOST], owners[MOST]; /* owners: rows of the block */
    real partners[MOST];
    int of_kind[PD_CONTACT_PAIR_COUNT][MOST]; /* rows of the run */
    real found[MOST][NUMBERS];                /* pd_contact_corner, or an energy */
} run;

/* LANES roles of one kind. */
typedef struct role_lanes {
    pd_contact_lanes pairs;
    int corners[LANES];
    real partners[LANES];
    real found[NUMBERS][LANES];
    int plain[LANES]; /* 0: what is found means nothing */
} role_lanes;

PD_INLINE void corners_of_kind(pd_contact_law law, int kind, role_lanes *lanes) {
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        pd_points4 x = pd_contact_lanes_corners(&lanes->pairs, l);
        pd_nearest nearest = pd_contact_nearest(kind, x);
        pd_contact_corner corner =
            pd_contact_corner_of(law, pd_contact_lanes_limits(&lanes->pairs, l), kind, x, nearest, lanes->corners[l], lanes->partners[l]);
        lanes->plain[l] = pd_contact_is_plain(kind, x, nearest);
        lanes->found[0][l] = corner.slope.x, lanes->found[1][l] = corner.slope.y, lanes->found[2][l] = corner.slope.z;
        lanes->found[3][l] = corner.normal.x, lanes->found[4][l] = corner.normal.y, lanes->found[5][l] = corner.normal.z;
        lanes->found[6][l] = corner.stiffness, lanes->found[7][l] = corner.energy;
    }
}

PD_INLINE void energies_of_kind(pd_contact_law law, int kind, role_lanes *lanes) {
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        pd_points4 x = pd_contact_lanes_corners(&lanes->pairs, l);
        pd_nearest nearest = pd_contact_nearest(kind, x);
        lanes->plain[l] = pd_contact_is_plain(kind, x, nearest);
        lanes->found[0][l] = pd_contact_energy(law, pd_contact_lanes_limits(&lanes->pairs, l), kind, x, nearest) / lanes->partners[l];
    }
}

/* One copy of each loop for every kind of pair and every law, in which both are constants. */
static __attribute__((noinline)) void corners(const pd_contact_law *law, int kind, role_lanes *lanes) {
    pd_contact_law of_kind = *law;
#define PD_CALL(KIND) corners_of_kind(of_kind, KIND, lanes)
#define PD_LAW_CASE(LAW, name) \
    case LAW: of_kind.kind = LAW; PD_CONTACT_OF_KIND(kind, PD_CALL) break;
    switch (law->kind) { PD_CONTACT_LAW_TABLE(PD_LAW_CASE) }
#undef PD_LAW_CASE
#undef PD_CALL
}

static __attribute__((noinline)) void energies(const pd_contact_law *law, int kind, role_lanes *lanes) {
    pd_contact_law of_kind = *law;
#define PD_CALL(KIND) energies_of_kind(of_kind, KIND, lanes)
#define PD_LAW_CASE(LAW, name) \
    case LAW: of_kind.kind = LAW; PD_CONTACT_OF_KIND(kind, PD_CALL) break;
    switch (law->kind) { PD_CONTACT_LAW_TABLE(PD_LAW_CASE) }
#undef PD_LAW_CASE
#undef PD_CALL
}

/* One role whose pair is not plain, where d is not NULL and its corner goes by -d the energy alone. */
static void alone(const pd_contact_sweep *contact, int role, real partners, const real *d, real *found) {
    int kind = contact->pairs.kind[role / 4];
    real at[12];
    pd_contact_limits limits;
    pd_contact_update_gather(&contact->pairs, contact->points, role / 4, at, &limits);
    if (d) pd_vertex_update_shift(kind, role % 4, partners, d, at);
    pd_nearest nearest = pd_contact_closest(kind, at);
    if (d) {
        found[0] = pd_contact_energy(contact->law, limits, kind, pd_points4_load(at), nearest) / partners;
        return;
    }
    pd_contact_corner corner = pd_contact_corner_of(contact->law, limits, kind, pd_points4_load(at), nearest, role % 4, partners);
    pd_vector_store(corner.slope, found), pd_vector_store(corner.normal, found + 3);
    found[6] = corner.stiffness, found[7] = corner.energy;
}

static void lanes_of_kind(const pd_contact_sweep *contact, int kind, const real (*d)[3], run *roles) {
    role_lanes lanes;
    const int *chosen = roles->of_kind[kind];
    for (int start = 0; start < roles->counts[kind]; start += LANES) {
        int count = roles->counts[kind] - start < LANES ? roles->counts[kind] - start : LANES, pairs[LANES];
        for (int l = 0; l < LANES; l++) {
            int row = chosen[start + (l < count ? l : 0)];
            pairs[l] = roles->roles[row] / 4;
            lanes.corners[l] = roles->roles[row] % 4, lanes.partners[l] = roles->partners[row];
        }
        pd_contact_lanes_gather(&contact->pairs, contact->points, kind, pairs, LANES, &lanes.pairs);
        if (d) {
            for (int l = 0; l < count; l++) {
                int row = chosen[start + l], corner = lanes.corners[l];
                for (int c = 0; c < 3; c++) lanes.pairs.x[3 * corner + c][l] -= lanes.partners[l] * d[roles->owners[row]][c];
                for (int j = 3 * pd_contact_corners(kind); corner == 0 && j < 12; j++) lanes.pairs.x[j][l] = lanes.pairs.x[j % 3][l];
            }
            energies(&contact->law, kind, &lanes);
        } else
            corners(&contact->law, kind, &lanes);
        for (int l = 0; l < count; l++) {
            int row = chosen[start + l];
            for (int i = 0; i < (d ? 1 : NUMBERS); i++) roles->found[row][i] = lanes.found[i][l];
            if (!lanes.plain[l])
                alone(contact, roles->roles[row], roles->partners[row], d ? d[roles->owners[row]] : NULL, roles->found[row]);
        }
    }
}

/* Looks at the roles that have been collected, and adds what they say to their vertices. */
static void flush(const pd_contact_sweep *contact, const real (*d)[3], run *roles, real (*sums)[9], double *total) {
    for (int kind = 0; kind < PD_CONTACT_PAIR_COUNT; kind++)
        if (roles->counts[kind]) lanes_of_kind(contact, kind, d, roles);
    for (int i = 0; i < roles->n; i++) {
        const real *found = roles->found[i];
        int owner = roles->owners[i];
        if (d) {
            total[owner] += (double)found[0];
            continue;
        }
        if (found[7] == 0) continue; // farther than it acts
        pd_contact_corner corner = {found[7], pd_vector_load(found), pd_vector_load(found + 3), found[6]};
        pd_contact_corner_add(corner, sums[owner]);
        total[owner] += (double)found[7];
    }
    roles->n = 0;
    for (int kind = 0; kind < PD_CONTACT_PAIR_COUNT; kind++) roles->counts[kind] = 0;
}

static void each_role(const pd_vertex_block *block, const real (*d)[3], real (*sums)[9], double *total) {
    const pd_contact_sweep *contact = block->contact;
    const pd_incidence *incidence = &contact->incidence;
    run roles;
    roles.n = 0;
    for (int kind = 0; kind < PD_CONTACT_PAIR_COUNT; kind++) roles.counts[kind] = 0;
    for (int v = 0; v < block->n; v++) {
        int vertex = block->vertices[v];
        if (vertex < 0) continue;
        real more = d ? 2 * pd_vertex_update_length(d[v]) : (real)0; // two partners at the most
        for (int r = incidence->start[vertex]; r < incidence->start[vertex + 1]; r++) {
            int p = incidence->roles[r] / 4;
            if (!pd_vertex_update_may_act(contact, p, more)) continue;
            int kind = contact->pairs.kind[p];
            roles.roles[roles.n] = incidence->roles[r], roles.owners[roles.n] = v;
            roles.partners[roles.n] = pd_vertex_update_partners(block->sweep, block->model, contact->pairs.points + 4 * (size_t)p, vertex);
            roles.of_kind[kind][roles.counts[kind]++] = roles.n++;
            if (roles.n == MOST) flush(contact, d, &roles, sums, total);
        }
    }
    flush(contact, d, &roles, sums, total);
}

void pd_vertex_lanes_contact(const pd_vertex_block *block, real (*sums)[9], double *total) {
    for (int v = 0; v < block->n; v++) {
        for (int i = 0; i < 9; i++) sums[v][i] = 0;
        total[v] = 0.0;
    }
    each_role(block, NULL, sums, total);
    for (int v = 0; v < block->n; v++)
        if (block->vertices[v] >= 0)
            total[v] += pd_vertex_update_add_all_friction(block->model, block->sweep, block->contact, block->vertices[v], 0, 1, sums[v]);
}

void pd_vertex_lanes_energies(const pd_vertex_block *block, const real (*d)[3], double *total) {
    for (int v = 0; v < block->n; v++) total[v] = 0.0;
    each_role(block, d, NULL, total);
    for (int v = 0; v < block->n; v++)
        if (block->vertices[v] >= 0)
            total[v] += pd_vertex_update_all_friction_energy(block->model, block->sweep, block->contact, block->vertices[v], 0, 1, d[v]);
}
