/* The begin and the end of a sweep over rows in an iteration of a simulation: a gather of the residual from the corners of elements, and
 * the move of the vertices. Both concern one row only. A sweep that includes them saves a launch each. */
#ifndef PD_CUDA_LINEAR_ENDS_CUH
#define PD_CUDA_LINEAR_ENDS_CUH

#include "updates/time_step.h"

#include "cuda/linear/rows.cuh"

#include "base/rounded.h"

#include <type_traits>

/* ---- the move ------------------------------------------------------------------------------------------------------------------ */

/* The move of one coordinate: one formula, each product rounded, so that observing a step changes no bit of it. The last step is not
 * read if its factor is zero. */
static __device__ __forceinline__ real pd_next_increment(real a, real correction, real b, const real *increment) {
    return b != 0 ? pd_product(a, correction) + pd_product(b, *increment) : pd_product(a, correction);
}

/* The new position of coordinate j, with the new offset `away`; x_t NULL: see pd_advance. */
static __device__ __forceinline__ real pd_next_position(const real *x_t, const real *predicted_displacement, size_t j, real away,
                                                        const real *x, real s) {
    return x_t ? pd_vertex_position(x_t[j], predicted_displacement[j], away) : x[j] + s;
}

/* Moves coordinate j of a free vertex. */
struct pd_moves {
    const unsigned char *fixed;
    const real *x_t, *predicted_displacement;
    real a, b;
    real *increment, *x, *offset;

    __device__ __forceinline__ bool is_free(bool inside, int i) const { return inside && !fixed[i]; }
    __device__ __forceinline__ void operator()(bool free, size_t j, real correction) const {
        if (!free) return;
        const real s = pd_next_increment(a, correction, b, increment + j), away = offset[j] + s;
        increment[j] = s;
        x[j] = pd_next_position(x_t, predicted_displacement, j, away, x, s);
        offset[j] = away;
    }
};

static inline pd_moves pd_moves_of(const pd_move &move) {
    const real *x_t = move.data ? move.data->x_t : nullptr,
               *predicted_displacement = move.data ? move.data->predicted_displacement : nullptr;
    return {move.model->fixed, x_t, predicted_displacement, (real)move.alpha, (real)move.beta, move.increment, move.x, move.offset};
}

/* Moves nothing. */
struct pd_stays {
    __device__ __forceinline__ bool is_free(bool, int) const { return false; }
    __device__ __forceinline__ void operator()(bool, size_t, real) const {}
};

/* ---- the gather ------------------------------------------------------------------------------------------------------------------- */

/* The forces on a vertex, by the PD_LANES threads of its row: one thread per vertex would leave most of the device idle on small meshes.
 * The members are the part of the model that it reads; the whole would be 1.3 KB of arguments. */
struct pd_gathered {
    const int *corner_start, *corners;
    const unsigned char *fixed;
    const real *masses, *subspace, *forces, *external_acceleration, *offset;
    real *gradient;
    real inverse_h2;
    int dynamic;

    /* A thread's place in the corners of its row. No kernel writes the data that it reads. */
    struct place {
        int at, end;
        bool moves;
        real mass;
    };
    __device__ __forceinline__ place begin(pd_row row) const {
        const int i = row.inside ? row.i : 0;
        const bool moves = row.inside && !fixed[i];
        return {(moves ? corner_start[i] : 0) + row.lane, moves ? corner_start[i + 1] : 0, moves, masses[i]};
    }
    /* Coordinate `lane` of the gradient, which is also stored, for lanes below 3. Every thread of a warp must take part. */
    __device__ __forceinline__ real operator()(pd_row row, place here, bool = true, size_t = 0) const {
        const size_t j = 3 * (size_t)(row.inside ? row.i : 0);
        real sum[3] = {0, 0, 0};
        for (; here.at < here.end; here.at += PD_LANES) {
            const real *f = forces + 3 * (size_t)corners[here.at];
#pragma unroll
            for (int a = 0; a < 3; a++) sum[a] += f[a];
        }
        pd_add_lanes<PD_LANES>(sum);
        if (here.moves) {
#pragma unroll
            for (size_t a = 0; a < 3; a++)
                sum[a] += dynamic ? here.mass * inverse_h2 * offset[j + a] : -here.mass * external_acceleration[j + a];
            if (subspace) pd_vertex_project(subspace + 3 * j, sum);
        }
        const real own = pd_of_lane(sum, row.lane);
        if (row.inside && row.lane < 3) gradient[j + (size_t)row.lane] = own;
        return own;
    }
};

static inline pd_gathered pd_gathered_of(const pd_gather &gather) {
    const pd_model *model = gather.model;
    const pd_step_data *step = gather.step;
    return {model->corner_start,
            model->corners,
            model->fixed,
            model->masses,
            model->subspace,
            model->corner_forces,
            step->external_acceleration,
            gather.offset,
            gather.gradient,
            (real)(step->inverse_h * step->inverse_h),
            step->inverse_h > 0};
}

/* Existing data: number j. */
struct pd_given {
    const real *r;

    struct place {};
    __device__ __forceinline__ place begin(pd_row) const { return {}; }
    __device__ __forceinline__ real operator()(pd_row, place, bool active, size_t j) const { return active ? r[j] : (real)0; }
};

template <bool GATHERS> using pd_residual = std::conditional_t<GATHERS, pd_gathered, pd_given>;
template <bool MOVES> using pd_mover = std::conditional_t<MOVES, pd_moves, pd_stays>;

#endif
