/* Sweeps over vertices, one thread per vertex and one launch per colour. */
#include "vertex_turn.h"

#include "cuda/context.cuh"

static __global__ void place_kernel(int n, const int *order, const real *x, real *positions) {
    int place = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (place >= n) return;
    for (int c = 0; c < 3; c++) positions[PD_POSITION_STRIDE * (size_t)place + (size_t)c] = x[3 * (size_t)order[place] + (size_t)c];
}

static __device__ void add_groups(const pd_vertex_sweep &sweep, const real *positions, int turn, real sum[9]) {
    const real *own = positions + PD_POSITION_STRIDE * (size_t)sweep.places[turn];
    for (int group = sweep.group_start[turn]; group < sweep.group_start[turn + 1]; group++)
        for (int l = 0; l < PD_CORNER_LANES; l++) {
            real edges[9], numbers[PD_CORNER_NUMBERS];
            for (int j = 0; j < 3; j++) {
                int place = sweep.group_places[((size_t)group * 3 + (size_t)j) * PD_CORNER_LANES + (size_t)l];
                for (int c = 0; c < 3; c++) edges[3 * j + c] = positions[PD_POSITION_STRIDE * (size_t)place + (size_t)c] - own[c];
            }
            for (int j = 0; j < PD_CORNER_NUMBERS; j++)
                numbers[j] = sweep.group_numbers[((size_t)group * PD_CORNER_NUMBERS + (size_t)j) * PD_CORNER_LANES + (size_t)l];
            pd_neo_hookean_corner(1, edges, numbers, sum);
        }
}

static __global__ void turn_kernel(pd_model model, pd_vertex_sweep sweep, pd_step_data step, pd_sweep_step kind, int in_place, int begin,
                                   int end, const real *offset, real *positions, real *direction) {
    int turn = begin + (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (turn >= end) return;
    real sum[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, d[3];
    add_groups(sweep, positions, turn, sum);
    pd_turn_step(&model, &sweep, &step, kind, offset, positions, turn, sum, d);
    if (kind == PD_SWEEP_SEARCH)
        pd_turn_search(&model, &sweep, &step, offset, positions, turn, d);
    else if (in_place)
        for (int c = 0; c < 3; c++) positions[PD_POSITION_STRIDE * (size_t)sweep.places[turn] + (size_t)c] -= d[c];
    for (int c = 0; c < 3; c++) direction[3 * (size_t)sweep.vertices[turn] + (size_t)c] = d[c];
}

pd_status pd_sweep_vertices(pd_context *context, const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step,
                            pd_sweep_step kind, int in_place, const real *x, const real *offset, real *positions, real *direction) {
    PD_LAUNCH(context, place_kernel, model->n_vertices, model->n_vertices, sweep->order, x, positions);
    for (int colour = 0; colour < sweep->n_colours; colour++) {
        int begin = sweep->colour_start[colour], end = sweep->colour_start[colour + 1];
        PD_LAUNCH(context, turn_kernel, end - begin, *model, *sweep, *step, kind, in_place, begin, end, offset, positions, direction);
    }
    return PD_OK;
}
