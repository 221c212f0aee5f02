/* Loops over pairs in contact.
 *
 * Pairs of a kind run several per vector register, over arrays of lanes; those whose size, or whose gap, asks for more care go one by one.
 * Which these are is a matter of the pair alone, and all lanes run the same instructions, so that it does not matter what a pair stands
 * beside. */
#include "contact_turn.h"
#include "cpu/context.h"

enum { LANES = 16, BLOCK = 256 };
enum { ENERGY_NANOSECONDS = 30, GRADIENT_NANOSECONDS = 50, HESSIAN_NANOSECONDS = 1500 };

/* LANES pairs of one kind, number l in column l. */
typedef struct lanes {
    real x[12][LANES];
    real activation[LANES], separation[LANES], weight[LANES], threshold[LANES];
    int plain[LANES];       /* 0: the results mean nothing */
    real result[12][LANES]; /* one number in row 0, or a gradient */
} lanes;

/* Columns without a pair repeat the last one. */
PD_INLINE void gather(const pd_contact_pairs *pairs, const real *x, const int *chosen, int count, lanes *out) {
    for (int l = 0; l < LANES; l++) {
        real at[12];
        pd_contact_limits limits;
        pd_contact_turn_gather(pairs, x, chosen[l < count ? l : count - 1], at, &limits);
        for (int i = 0; i < 12; i++) out->x[i][l] = at[i];
        out->activation[l] = limits.activation, out->separation[l] = limits.separation;
        out->weight[l] = limits.weight, out->threshold[l] = limits.threshold;
    }
}

PD_INLINE pd_points4 lane(real (*x)[LANES], int l) {
    return pd_points4_of(pd_vector_of(x[0][l], x[1][l], x[2][l]), pd_vector_of(x[3][l], x[4][l], x[5][l]),
                         pd_vector_of(x[6][l], x[7][l], x[8][l]), pd_vector_of(x[9][l], x[10][l], x[11][l]));
}

PD_INLINE pd_contact_limits limits_of(const lanes *lanes, int l) {
    return (pd_contact_limits){lanes->activation[l], lanes->separation[l], lanes->weight[l], lanes->threshold[l]};
}

PD_INLINE void numbers_of_kind(pd_contact_law law, int quantity, int kind, lanes *lanes) {
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        pd_points4 x = lane(lanes->x, l);
        pd_nearest nearest = pd_contact_nearest(kind, x);
        lanes->plain[l] = pd_contact_is_plain(kind, x, nearest);
        lanes->result[0][l] = pd_contact_number(law, quantity, limits_of(lanes, l), kind, x, nearest);
    }
}

PD_INLINE void gradients_of_kind(pd_contact_law law, int kind, lanes *lanes) {
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        pd_points4 x = lane(lanes->x, l);
        pd_nearest nearest = pd_contact_nearest(kind, x);
        pd_points4 slopes = pd_contact_gradient(law, limits_of(lanes, l), kind, x, nearest);
        lanes->plain[l] = pd_contact_is_plain(kind, x, nearest);
        lanes->result[0][l] = slopes.a.x, lanes->result[1][l] = slopes.a.y, lanes->result[2][l] = slopes.a.z;
        lanes->result[3][l] = slopes.b.x, lanes->result[4][l] = slopes.b.y, lanes->result[5][l] = slopes.b.z;
        lanes->result[6][l] = slopes.c.x, lanes->result[7][l] = slopes.c.y, lanes->result[8][l] = slopes.c.z;
        lanes->result[9][l] = slopes.d.x, lanes->result[10][l] = slopes.d.y, lanes->result[11][l] = slopes.d.z;
    }
}

/* One copy of the loop for every kind, in which it is a constant. */
#define PD_OF_KIND(kind, call)                                \
    switch (kind) {                                           \
    case PD_VERTEX_VERTEX: call(PD_VERTEX_VERTEX); break;     \
    case PD_VERTEX_EDGE: call(PD_VERTEX_EDGE); break;         \
    case PD_VERTEX_TRIANGLE: call(PD_VERTEX_TRIANGLE); break; \
    case PD_EDGE_EDGE: call(PD_EDGE_EDGE); break;             \
    default: call(PD_VERTEX_PLANE); break;                    \
    }

/* And one for every law. */
static __attribute__((noinline)) void energies(const pd_contact_law *law, int kind, lanes *lanes) {
    pd_contact_law own = *law;
#define PD_CALL(KIND) numbers_of_kind(own, PD_CONTACT_ENERGY, KIND, lanes)
#define PD_LAW_CASE(LAW, name) \
    case LAW: own.kind = LAW; PD_OF_KIND(kind, PD_CALL) break;
    switch (law->kind) { PD_CONTACT_LAW_TABLE(PD_LAW_CASE) }
#undef PD_LAW_CASE
#undef PD_CALL
}

static __attribute__((noinline)) void gradients(const pd_contact_law *law, int kind, lanes *lanes) {
    pd_contact_law own = *law;
#define PD_CALL(KIND) gradients_of_kind(own, KIND, lanes)
#define PD_LAW_CASE(LAW, name) \
    case LAW: own.kind = LAW; PD_OF_KIND(kind, PD_CALL) break;
    switch (law->kind) { PD_CONTACT_LAW_TABLE(PD_LAW_CASE) }
#undef PD_LAW_CASE
#undef PD_CALL
}

static __attribute__((noinline)) void distances(const pd_contact_law *law, int quantity, int kind, lanes *lanes) {
    pd_contact_law any = *law;
#define PD_CALL(KIND)            numbers_of_kind(any, PD_CONTACT_DISTANCE, KIND, lanes)
#define PD_CALL_ACTIVATION(KIND) numbers_of_kind(any, PD_CONTACT_ACTIVATION, KIND, lanes)
    if (quantity == PD_CONTACT_DISTANCE)
        PD_OF_KIND(kind, PD_CALL)
    else
        PD_OF_KIND(kind, PD_CALL_ACTIVATION)
#undef PD_CALL
#undef PD_CALL_ACTIVATION
}

/* A number or a gradient of some pairs of one kind. */
static void lanes_of_kind(const pd_contact_law *law, int quantity, const pd_contact_pairs *pairs, const real *x, int kind,
                          const int *chosen, int n, real *out) {
    lanes lanes;
    for (int start = 0; start < n; start += LANES) {
        int count = n - start < LANES ? n - start : LANES;
        gather(pairs, x, chosen + start, count, &lanes);
        if (quantity == PD_CONTACT_ENERGY)
            energies(law, kind, &lanes);
        else if (quantity == PD_CONTACT_GRADIENT)
            gradients(law, kind, &lanes);
        else
            distances(law, quantity, kind, &lanes);
        for (int l = 0; l < count; l++) {
            int p = chosen[start + l];
            if (quantity != PD_CONTACT_GRADIENT) {
                out[p] = lanes.plain[l] ? lanes.result[0][l] : pd_contact_turn_number(law, quantity, pairs, x, p);
                continue;
            }
            real *result = out + 12 * (size_t)p;
            if (!lanes.plain[l]) {
                pd_contact_turn_gradient(law, pairs, x, p, result);
                continue;
            }
            for (int i = 0; i < 12; i++) result[i] = i < 3 * pd_contact_corners(kind) ? lanes.result[i][l] : (real)0;
        }
    }
}

/* Pairs first .. end - 1, at most BLOCK, kind by kind. */
static void lanes_of_block(const pd_contact_law *law, int quantity, const pd_contact_pairs *pairs, const real *x, int first, int end,
                           real *out) {
    int chosen[PD_CONTACT_PAIR_COUNT][BLOCK], counts[PD_CONTACT_PAIR_COUNT] = {0};
    for (int p = first; p < end; p++) chosen[pairs->kind[p]][counts[pairs->kind[p]]++] = p;
    for (int kind = 0; kind < PD_CONTACT_PAIR_COUNT; kind++) lanes_of_kind(law, quantity, pairs, x, kind, chosen[kind], counts[kind], out);
}

pd_status pd_contact_batch(pd_context *context, const pd_contact_law *law, int quantity, const pd_contact_pairs *pairs, const real *x,
                           real *out) {
    size_t size = (size_t)pd_contact_quantity_size(quantity);
    if (!size) return pd_fail(&context->error, PD_ERROR_VALUE, "quantity: %d is unknown", quantity);
    int nanoseconds = quantity < PD_CONTACT_GRADIENT ? ENERGY_NANOSECONDS : size == 12 ? GRADIENT_NANOSECONDS : HESSIAN_NANOSECONDS;
    int blocks = (pairs->n + BLOCK - 1) / BLOCK;
#pragma omp parallel for num_threads(pd_threads(context, pairs->n, nanoseconds)) schedule(static)
    for (int block = 0; block < blocks; block++) {
        int first = BLOCK * block, end = pairs->n - first < BLOCK ? pairs->n : first + BLOCK;
        if (size <= 12 && quantity != PD_CONTACT_THRESHOLD) {
            lanes_of_block(law, quantity, pairs, x, first, end, out);
            continue;
        }
        for (int p = first; p < end; p++) {
            real *result = out + size * (size_t)p;
            switch (quantity) {
            case PD_CONTACT_THRESHOLD: *result = pd_contact_turn_number(law, quantity, pairs, x, p); break;
            case PD_CONTACT_HESSIAN:
            case PD_CONTACT_HESSIAN_PSD: pd_contact_turn_hessian(law, pairs, x, p, quantity == PD_CONTACT_HESSIAN_PSD, result); break;
            default: pd_contact_turn_blocks(law, pairs, x, p, quantity == PD_CONTACT_BLOCKS_PSD, result);
            }
        }
    }
    return PD_OK;
}

pd_status pd_contact_describe(pd_context *context, const pd_contact_scene *scene, const pd_active_pairs *active, int n,
                              const pd_contact_columns *out) {
#pragma omp parallel for num_threads(pd_threads(context, n, ENERGY_NANOSECONDS)) schedule(static)
    for (int p = 0; p < n; p++) pd_contact_turn_describe(scene, active, (size_t)p, out);
    return PD_OK;
}

pd_status pd_contact_sum(pd_context *context, int n, const real *values, double *partial, int also, double *out) {
    int blocks = (n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK;
#pragma omp parallel for num_threads(pd_threads(context, n, 1)) schedule(static)
    for (int b = 0; b < blocks; b++) {
        int end = (b + 1) * PD_SUM_BLOCK < n ? (b + 1) * PD_SUM_BLOCK : n;
        double sum = 0.0;
        for (int i = b * PD_SUM_BLOCK; i < end; i++) sum += (double)values[i];
        partial[b] = sum;
    }
    *out = (also ? *out : 0.0) + pd_add_partial_sums(partial, blocks);
    return PD_OK;
}

pd_status pd_contact_gather(pd_context *context, const pd_model *model, const pd_incidence *incidence, const real *corners, real *out) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 10)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) pd_contact_turn_gather_vertex(model, incidence, corners, i, out);
    return PD_OK;
}

pd_status pd_contact_gather_blocks(pd_context *context, const pd_model *model, const pd_incidence *incidence, const real *hessians,
                                   const int *diagonal_slots, real *blocks) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 10)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++)
        pd_contact_turn_gather_block(incidence, hessians, i, blocks + 9 * (size_t)diagonal_slots[i]);
    return PD_OK;
}

pd_status pd_contact_product(pd_context *context, const pd_model *model, int n, const int *points, const real *hessians, const real *p,
                             real *corners, real *values) {
#pragma omp parallel for num_threads(pd_threads(context, n, ENERGY_NANOSECONDS)) schedule(static)
    for (int pair = 0; pair < n; pair++)
        values[pair] =
            pd_contact_turn_product(model, points + 4 * (size_t)pair, hessians + 144 * (size_t)pair, p, corners + 12 * (size_t)pair);
    return PD_OK;
}

pd_status pd_move_towards(pd_context *context, int n, const unsigned char *mask, double t, const real *target, real *x) {
    real part = (real)t;
#pragma omp parallel for num_threads(pd_threads(context, n, 3)) schedule(static)
    for (int i = 0; i < n; i++)
        for (size_t c = 3 * (size_t)i; c < 3 * (size_t)i + 3 && !(mask && !mask[i]); c++)
            x[c] = part == 1 ? target[c] : x[c] + part * (target[c] - x[c]);
    return PD_OK;
}

pd_status pd_contact_reach_part(pd_context *context, int n_points, const pd_incidence *incidence, const real *distance,
                                const real *separation, double farthest, double rounding, double fraction, const real *x_0, const real *x_1,
                                double *part) {
    double least = 1.0;
#pragma omp parallel for num_threads(pd_threads(context, n_points, 20)) schedule(static) reduction(min : least)
    for (int i = 0; i < n_points; i++) {
        double here = pd_contact_turn_reach(incidence, distance, separation, farthest, rounding, fraction, x_0, x_1, i);
        least = here < least ? here : least;
    }
    *part = least;
    return PD_OK;
}
