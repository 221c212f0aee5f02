/* The pairs of one rigid body in a sweep, several per vector register, instead of pd_group_add_near_pairs. As in
 * cpu/contact/contact.c, extreme pairs run one by one. Sums run over the lanes of a register first, in an order that depends on the list
 * of pairs only. */
#ifndef PD_CPU_RIGID_PAIR_LANES_H
#define PD_CPU_RIGID_PAIR_LANES_H

#define PD_GROUP_ADD_NEAR_PAIRS pd_lanes_add_near_pairs

#include "cpu/contact/contact_lanes.h"
#include "updates/rigid/rigid_sums.h"

static void pd_lanes_add_near_pairs(const pd_model *model, const pd_body_sweep *sweep, int place, int group, double fraction, int with,
                                    pd_twist_sums *sums, pd_group_sum *sum);

#include "updates/rigid/rigid_pairs.h"

enum { PD_BODY_ARMS = 64 /* rows of a body with stored arms */, PD_TWIST_NUMBERS = 28 /* forces, gradient, block */ };

/* The corners of pairs as levers: sum and arm of corner j in rows 4 j .. 4 j + 3. */
typedef struct pd_lever_lanes {
    double of[16][PD_CONTACT_LANES];
} pd_lever_lanes;

typedef struct pd_pair_lanes {
    double number[PD_TWIST_NUMBERS][PD_CONTACT_LANES]; /* undefined for pairs that do not act */
    double energy[PD_CONTACT_LANES], gap[PD_CONTACT_LANES];
    int plain[PD_CONTACT_LANES]; /* 0: all numbers are undefined */
    int acts[PD_CONTACT_LANES];  /* within the activation distance; the energy of parallel edges is zero there */
} pd_pair_lanes;

PD_INLINE pd_lever pd_lever_of_lane(const pd_lever_lanes *levers, int corner, int l) {
    const double(*of)[PD_CONTACT_LANES] = levers->of + 4 * corner;
    return pd_lever_of(of[0][l], of[1][l], of[2][l], of[3][l]);
}

PD_INLINE void pd_pair_energies_of_kind(pd_pair_potential potential, int kind, const pd_contact_lanes *lanes, pd_pair_lanes *out) {
#pragma omp simd
    for (int l = 0; l < PD_CONTACT_LANES; l++) {
        pd_points4 x = pd_contact_lanes_corners(lanes, l);
        pd_contact_limits limits = pd_contact_lanes_limits(lanes, l);
        pd_nearest nearest = pd_contact_nearest(kind, x);
        out->plain[l] = pd_contact_is_plain(kind, x, nearest);
        out->gap[l] = (double)nearest.distance - (double)limits.separation;
        out->acts[l] = !(nearest.distance >= limits.separation + limits.activation);
        out->energy[l] = (double)pd_contact_energy(potential, limits, kind, x, nearest);
    }
}

PD_INLINE void pd_pair_twists_of_kind(pd_pair_potential potential, int kind, const pd_contact_lanes *lanes, const pd_lever_lanes *levers,
                                      pd_pair_lanes *out) {
#pragma omp simd
    for (int l = 0; l < PD_CONTACT_LANES; l++) {
        pd_points4 x = pd_contact_lanes_corners(lanes, l);
        pd_contact_limits limits = pd_contact_lanes_limits(lanes, l);
        pd_nearest nearest = pd_contact_nearest(kind, x);
        pd_levers4 at;
        at.a = pd_lever_of_lane(levers, 0, l), at.b = pd_lever_of_lane(levers, 1, l);
        at.c = pd_lever_of_lane(levers, 2, l), at.d = pd_lever_of_lane(levers, 3, l);
        pd_twist_terms terms = pd_contact_motion(potential, limits, kind, x, nearest, at);
        double(*to)[PD_CONTACT_LANES] = out->number;
        out->plain[l] = pd_contact_is_plain(kind, x, nearest);
        out->gap[l] = (double)nearest.distance - (double)limits.separation;
        out->acts[l] = !(nearest.distance >= limits.separation + limits.activation);
        out->energy[l] = (double)pd_contact_energy(potential, limits, kind, x, nearest);
        to[0][l] = terms.forces;
        to[1][l] = terms.gradient.sx, to[2][l] = terms.gradient.sy, to[3][l] = terms.gradient.sz;
        to[4][l] = terms.gradient.tx, to[5][l] = terms.gradient.ty, to[6][l] = terms.gradient.tz;
        pd_twist_block K = terms.block;
        to[7][l] = K.sx.sx, to[8][l] = K.sx.sy, to[9][l] = K.sx.sz, to[10][l] = K.sx.tx, to[11][l] = K.sx.ty, to[12][l] = K.sx.tz;
        to[13][l] = K.sy.sy, to[14][l] = K.sy.sz, to[15][l] = K.sy.tx, to[16][l] = K.sy.ty, to[17][l] = K.sy.tz;
        to[18][l] = K.sz.sz, to[19][l] = K.sz.tx, to[20][l] = K.sz.ty, to[21][l] = K.sz.tz;
        to[22][l] = K.tx.tx, to[23][l] = K.tx.ty, to[24][l] = K.tx.tz;
        to[25][l] = K.ty.ty, to[26][l] = K.ty.tz, to[27][l] = K.tz.tz;
    }
}

/* One copy of each loop per kind of pair and contact potential, in which both are constants. */
static __attribute__((noinline)) void pd_pair_energies(const pd_pair_potential *potential, int kind, const pd_contact_lanes *lanes,
                                                       pd_pair_lanes *out) {
#define PD_LOOP(KIND) pd_pair_energies_of_kind(of_potential, KIND, lanes, out)
    PD_CONTACT_OF_POTENTIAL_AND_KIND(potential, kind);
#undef PD_LOOP
}

static __attribute__((noinline)) void pd_pair_twists(const pd_pair_potential *potential, int kind, const pd_contact_lanes *lanes,
                                                     const pd_lever_lanes *levers, pd_pair_lanes *out) {
#define PD_LOOP(KIND) pd_pair_twists_of_kind(of_potential, KIND, lanes, levers, out)
    PD_CONTACT_OF_POTENTIAL_AND_KIND(potential, kind);
#undef PD_LOOP
}

/* A body whose pairs are evaluated. */
typedef struct pd_lane_body {
    const pd_model *model;
    const pd_body_sweep *sweep;
    int place, group, with, first, n_rows; /* n_rows: with stored arms */
    double arms[PD_BODY_ARMS][3];
} pd_lane_body;

/* Pairs of one kind, collected for one register. */
typedef struct pd_lane_pairs {
    int n, pairs[PD_CONTACT_LANES];
} pd_lane_pairs;

/* Returns 0 if the body has corners in both primitives of a pair of edges. */
static int pd_lever_lanes_gather(const pd_lane_body *body, const pd_lane_pairs *collected, int kind, pd_lever_lanes *out) {
    const pd_body_sweep *sweep = body->sweep;
    int apart = 1;
    for (int l = 0; l < PD_CONTACT_LANES; l++) {
        const int *points = sweep->pairs.points + 4 * (size_t)collected->pairs[l < collected->n ? l : collected->n - 1];
        unsigned moving = 0;
        for (int j = 0; j < 4; j++) {
            int row = points[j] - body->first;
            pd_lever lever = pd_lever_of(0.0, 0.0, 0.0, 0.0);
            if (row < 0 || row >= body->n_rows)
                lever = pd_body_corner(body->model, sweep, body->group, body->place, points[j]);
            else if (!body->model->fixed[points[j]])
                lever = pd_lever_of(1.0, body->arms[row][0], body->arms[row][1], body->arms[row][2]);
            moving |= (unsigned)(lever.sum > 0.0) << j;
            out->of[4 * j][l] = lever.sum, out->of[4 * j + 1][l] = lever.x;
            out->of[4 * j + 2][l] = lever.y, out->of[4 * j + 3][l] = lever.z;
        }
        apart = apart && !(kind == PD_EDGE_EDGE && (moving & 3) && (moving & 12));
    }
    return apart;
}

/* Evaluates and adds the collected pairs. */
static void pd_lanes_flush(const pd_lane_body *body, int kind, pd_lane_pairs *collected, pd_twist_sums *sums, pd_group_sum *sum) {
    const pd_body_sweep *sweep = body->sweep;
    pd_contact_lanes lanes;
    pd_lever_lanes levers;
    pd_pair_lanes found;
    int n = collected->n, lane_wise = 1;
    if (!n) return;
    if (body->with) lane_wise = pd_lever_lanes_gather(body, collected, kind, &levers);
    if (lane_wise) {
        pd_contact_lanes_gather(&sweep->pairs, sweep->points, kind, collected->pairs, n, &lanes);
        if (body->with)
            pd_pair_twists(&sweep->potential, kind, &lanes, &levers, &found);
        else
            pd_pair_energies(&sweep->potential, kind, &lanes, &found);
    }
    collected->n = 0;
    double acts[PD_CONTACT_LANES];
    for (int l = 0; l < PD_CONTACT_LANES; l++) {
        acts[l] = 0.0;
        if (l >= n) continue;
        if (!lane_wise || !found.plain[l]) {
            pd_group_add_pair(body->model, sweep, collected->pairs[l], body->place, body->group, body->with, sums, sum);
            continue;
        }
        sum->least = pd_least_of(sum->least, found.gap[l]);
        if (!found.acts[l]) continue;
        pd_group_add_energy(found.energy[l], sum);
        acts[l] = 1.0;
    }
    if (!body->with || !lane_wise) return;
    double of_number[PD_TWIST_NUMBERS];
    for (int i = 0; i < PD_TWIST_NUMBERS; i++) {
        double total = 0.0;
#pragma omp simd reduction(+ : total)
        for (int l = 0; l < PD_CONTACT_LANES; l++) total += acts[l] > 0.0 ? found.number[i][l] : 0.0;
        of_number[i] = total;
    }
    sum->forces += of_number[0];
    for (int i = 0; i < 6; i++) sums->gradient[i] += of_number[1 + i];
    for (int i = 0; i < 21; i++) sums->block[i] += of_number[7 + i];
}

static void pd_lanes_add_near_pairs(const pd_model *model, const pd_body_sweep *sweep, int place, int group, double fraction, int with,
                                    pd_twist_sums *sums, pd_group_sum *sum) {
    const pd_body_way *way = &sweep->groups.ways[place];
    const pd_rigid_rows *rows = &pd_body_at(sweep, place)->rows;
    pd_lane_pairs collected[PD_CONTACT_PAIR_COUNT];
    pd_lane_body body;
    body.model = model, body.sweep = sweep, body.place = place, body.group = group, body.with = with;
    body.first = rows->first, body.n_rows = rows->n <= PD_BODY_ARMS ? rows->n : 0;
    for (int i = 0; i < body.n_rows && with; i++) pd_body_arm(way, sweep->start, rows->first + i, body.arms[i]);
    for (int kind = 0; kind < PD_CONTACT_PAIR_COUNT; kind++) collected[kind].n = 0;
    for (int k = way->own; k < way->own + way->n_own; k++) {
        int p = sweep->own[k], kind = sweep->pairs.kind[p];
        int in_lanes = sweep->pairs.weight[p] > 0 && with <= 1 && !(with && sweep->others[k] >= 0);
        if (!in_lanes || !pd_body_may_act(sweep, p, pd_body_gap_after(sweep, way, k, fraction))) {
            pd_group_add_listed_pair(model, sweep, k, place, group, fraction, with, sums, sum);
        } else {
            collected[kind].pairs[collected[kind].n++] = p;
            if (collected[kind].n == PD_CONTACT_LANES) pd_lanes_flush(&body, kind, &collected[kind], sums, sum);
        }
    }
    for (int kind = 0; kind < PD_CONTACT_PAIR_COUNT; kind++) pd_lanes_flush(&body, kind, &collected[kind], sums, sum);
}

#endif
