/* Sweeps over vertices: gradient and 3x3 block of one vertex from its elements, and its step.
 *
 * Neo-Hookean corners, the bulk of most scenes, are computed a vector register at a time (pd_neo_hookean_corner on arrays of lanes);
 * all other elements through the table, one macro each. A vertex is one thread's work and its sums have a fixed order, so the bits do
 * not depend on the threads. */
#include "vertex_turn.h"

#include "cpu/context.h"

enum { LANES = PD_CORNER_LANES, STRIDE = PD_POSITION_STRIDE, AHEAD = 8 };

/* ---- groups of neo-Hookean corners ------------------------------------------------------------------------------------------- */

static void add_groups(const pd_vertex_sweep *sweep, const real *positions, int turn, real sum[9]) {
    real lanes[9][LANES];
    const real *own = positions + STRIDE * (size_t)sweep->places[turn];
    for (int i = 0; i < 9; i++)
        for (int l = 0; l < LANES; l++) lanes[i][l] = 0;
    for (int group = sweep->group_start[turn]; group < sweep->group_start[turn + 1]; group++) {
        const int *places = sweep->group_places + (size_t)group * 3 * LANES;
        const real *numbers = sweep->group_numbers + (size_t)group * PD_CORNER_NUMBERS * LANES;
        for (int line = 0; line < LANES * PD_CORNER_NUMBERS; line += 64 / (int)sizeof(real))
            __builtin_prefetch(numbers + AHEAD * LANES * PD_CORNER_NUMBERS + line);
        __builtin_prefetch(places + AHEAD * 3 * LANES);
        __builtin_prefetch(places + AHEAD * 3 * LANES + 16);
        real edges[9][LANES]; // x_a - x_i, x_b - x_i, x_c - x_i
        for (int j = 0; j < 3; j++)
            for (int l = 0; l < LANES; l++) {
                const real *other = positions + STRIDE * (size_t)places[LANES * j + l];
                for (int c = 0; c < 3; c++) edges[3 * j + c][l] = other[c] - own[c];
            }
#pragma omp simd
        for (int l = 0; l < LANES; l++) pd_neo_hookean_corner(LANES, &edges[0][l], numbers + l, &lanes[0][l]);
    }
    for (int i = 0; i < 9; i++) {
        real total = 0;
        for (int l = 0; l < LANES; l++) total += lanes[i][l];
        sum[i] += total;
    }
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
                if (sweep->group_start[turn + 1] > sweep->group_start[turn]) add_groups(sweep, positions, turn, sum);
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
