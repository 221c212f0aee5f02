/* Sweeps over vertices: gradient and 3x3 block of one vertex from its elements, and its step.
 *
 * Corners of undamped neo-Hookean, ARAP and co-rotated tets, the bulk of most scenes, are computed a vector register at a time, on arrays of
 * lanes; all other elements through the table, one macro each. A vertex is one thread's work and its sums have a fixed order, so the bits do
 * not depend on the threads. */
#include "vertex_turn.h"

#include "cpu/context.h"

enum { LANES = PD_CORNER_LANES, STRIDE = PD_POSITION_STRIDE, AHEAD = 8 };

/* ---- groups of corners ------------------------------------------------------------------------------------------------------- */

/* edges [9][LANES] = x_a - x_i, x_b - x_i, x_c - x_i of a group; what the group after the next ones reads is fetched. */
static inline void gather_group(const real *positions, const real *own, const int *places, const real *numbers, int count,
                                real edges[9][LANES]) {
    for (int line = 0; line < LANES * count; line += 64 / (int)sizeof(real)) __builtin_prefetch(numbers + AHEAD * LANES * count + line);
    __builtin_prefetch(places + AHEAD * 3 * LANES);
    __builtin_prefetch(places + AHEAD * 3 * LANES + 16);
    for (int j = 0; j < 3; j++)
        for (int l = 0; l < LANES; l++) {
            const real *other = positions + STRIDE * (size_t)places[LANES * j + l];
            for (int c = 0; c < 3; c++) edges[3 * j + c][l] = other[c] - own[c];
        }
}

static inline void clear_lanes(real lanes[9][LANES]) {
    for (int i = 0; i < 9; i++)
        for (int l = 0; l < LANES; l++) lanes[i][l] = 0;
}

static inline void add_lanes(real lanes[9][LANES], real sum[9]) {
    for (int i = 0; i < 9; i++) {
        real total = 0;
        for (int l = 0; l < LANES; l++) total += lanes[i][l];
        sum[i] += total;
    }
}

static void add_neo_hookean(const pd_corner_groups *groups, const real *positions, const real *own, int turn, real sum[9]) {
    real lanes[9][LANES];
    clear_lanes(lanes);
    for (int group = groups->start[turn]; group < groups->start[turn + 1]; group++) {
        const int *places = groups->places + (size_t)group * 3 * LANES;
        const real *numbers = groups->numbers + (size_t)group * PD_CORNER_NUMBERS * LANES;
        real edges[9][LANES];
        gather_group(positions, own, places, numbers, PD_CORNER_NUMBERS, edges);
#pragma omp simd
        for (int l = 0; l < LANES; l++) pd_neo_hookean_corner(LANES, &edges[0][l], numbers + l, &lanes[0][l]);
    }
    add_lanes(lanes, sum);
}

/* The lanes that the closed form is not good for. */
static void rotate_slowly(real F[9][LANES], const int *good, real R[9][LANES], real *n) {
    for (int l = 0; l < LANES; l++) {
        real f[9], r[9];
        if (good[l]) continue;
        for (int i = 0; i < 9; i++) f[i] = F[i][l];
        n[l] = pd_rotated_slowly(f, r);
        for (int i = 0; i < 9; i++) R[i][l] = r[i];
    }
}

/* What a lane gets does not depend on the others. */
static void add_rotated(const pd_corner_groups *groups, const real *positions, const real *own, int turn, real sum[9]) {
    real lanes[9][LANES];
    clear_lanes(lanes);
    for (int group = groups->start[turn]; group < groups->start[turn + 1]; group++) {
        const int *places = groups->places + (size_t)group * 3 * LANES;
        const real *numbers = groups->numbers + (size_t)group * PD_ROTATED_NUMBERS * LANES;
        const real *weight = numbers + PD_ROTATED_WEIGHT * LANES, *lame = numbers + PD_ROTATED_LAME * LANES;
        real edges[9][LANES], F[9][LANES], R[9][LANES], n[LANES], excess[LANES];
        int good[LANES], all = 1, tense = 0;
        gather_group(positions, own, places, numbers, PD_ROTATED_NUMBERS, edges);
#pragma omp simd
        for (int l = 0; l < LANES; l++) pd_rotated_deformation(LANES, &edges[0][l], numbers + l, &F[0][l]);
#pragma omp simd
        for (int l = 0; l < LANES; l++) good[l] = pd_polar3_closed_lane(&F[0][l], &R[0][l], LANES, n + l);
#pragma omp simd reduction(& : all)
        for (int l = 0; l < LANES; l++) all &= good[l] | ((weight[l] == 0) & (lame[l] == 0)); // an unused lane has F = R = 0
        if (!all) rotate_slowly(F, good, R, n);
#pragma omp simd
        for (int l = 0; l < LANES; l++) excess[l] = pd_rotated_add_lane(LANES, &F[0][l], &R[0][l], n[l], numbers + l, &lanes[0][l]);
#pragma omp simd reduction(| : tense)
        for (int l = 0; l < LANES; l++) tense |= excess[l] > 0;
        if (!tense) continue;
#pragma omp simd
        for (int l = 0; l < LANES; l++) pd_rotated_turn_lane(LANES, &F[0][l], &R[0][l], n[l], excess[l], numbers + l, &lanes[0][l]);
    }
    add_lanes(lanes, sum);
}

static void add_groups(const pd_vertex_sweep *sweep, const real *positions, int turn, real sum[9]) {
    const pd_corner_groups *neo_hookean = &sweep->groups[PD_GROUPS_NEO_HOOKEAN], *rotated = &sweep->groups[PD_GROUPS_ROTATED];
    const real *own = positions + STRIDE * (size_t)sweep->places[turn];
    if (neo_hookean->start && neo_hookean->start[turn + 1] > neo_hookean->start[turn])
        add_neo_hookean(neo_hookean, positions, own, turn, sum);
    if (rotated->start && rotated->start[turn + 1] > rotated->start[turn]) add_rotated(rotated, positions, own, turn, sum);
}

pd_status pd_sweep_vertices(pd_context *context, const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step,
                            pd_sweep_step kind, int in_place, const pd_contact_sweep *contact, const real *x, const real *offset,
                            real *positions, real *direction) {
#pragma omp parallel num_threads(pd_threads(context, sweep->n, 200))
    {
#pragma omp for schedule(static)
        for (int place = 0; place < model->n_vertices; place++)
            for (int c = 0; c < 3; c++) positions[STRIDE * (size_t)place + (size_t)c] = x[3 * (size_t)sweep->order[place] + (size_t)c];
        for (int colour = 0; colour < sweep->n_colours; colour++) {
#pragma omp for schedule(static)
            for (int turn = sweep->colour_start[colour]; turn < sweep->colour_start[colour + 1]; turn++) {
                real sum[9] = {0}, d[3];
                add_groups(sweep, positions, turn, sum);
                pd_turn_add_corners(model, sweep, step, positions, turn, 0, 1, sum);
                pd_turn_step(model, sweep, step, kind, contact, offset, turn, 0, 1, sum, d);
                if (kind == PD_SWEEP_SEARCH)
                    pd_turn_search(model, sweep, step, contact, offset, positions, turn, 0, 1, d);
                else if (in_place)
                    for (int c = 0; c < 3; c++) positions[STRIDE * (size_t)sweep->places[turn] + (size_t)c] -= d[c];
                for (int c = 0; c < 3; c++) direction[3 * (size_t)sweep->vertices[turn] + (size_t)c] = d[c];
            }
            if (!contact || !in_place) continue;
#pragma omp for schedule(static)
            for (int turn = sweep->colour_start[colour]; turn < sweep->colour_start[colour + 1]; turn++)
                pd_turn_commit(sweep, contact, direction, turn);
        }
    }
    return PD_OK;
}
