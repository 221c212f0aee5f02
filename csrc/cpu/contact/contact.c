/* Loops over contact pairs.
 *
 * Pairs of a kind run several per vector register, over arrays of lanes. Pairs of an extreme size or gap run one by one. This choice
 * depends on the pair only, and all lanes run the same instructions. So the bits of a pair do not depend on its neighbours in the
 * register. */
#include "cpu/contact/contact_lanes.h"
#include "updates/contact/panel_update.h"
#include "updates/contact/separating_plane.h"

#include <string.h>

enum { LANES = PD_CONTACT_LANES, BLOCK = PD_CONTACT_MOST };
enum { ENERGY_NANOSECONDS = 30, GRADIENT_NANOSECONDS = 50, HESSIAN_NANOSECONDS = 400 };

/* One number of every lane in row 0, or a gradient. */
typedef struct results {
    real number[12][LANES];
    int plain[LANES]; /* 0: the numbers are undefined */
} results;

PD_INLINE void numbers_of_kind(pd_pair_potential potential, int quantity, int kind, const pd_contact_lanes *lanes, results *out) {
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        pd_points4 x = pd_contact_lanes_corners(lanes, l);
        pd_nearest nearest = pd_contact_nearest(kind, x);
        out->plain[l] = pd_contact_is_plain(kind, x, nearest);
        out->number[0][l] = pd_contact_number(potential, quantity, pd_contact_lanes_limits(lanes, l), kind, x, nearest);
    }
}

PD_INLINE void gradients_of_kind(pd_pair_potential potential, int kind, const pd_contact_lanes *lanes, results *out) {
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        pd_points4 x = pd_contact_lanes_corners(lanes, l);
        pd_nearest nearest = pd_contact_nearest(kind, x);
        pd_points4 slopes = pd_contact_gradient(potential, pd_contact_lanes_limits(lanes, l), kind, x, nearest);
        out->plain[l] = pd_contact_is_plain(kind, x, nearest);
        out->number[0][l] = slopes.a.x, out->number[1][l] = slopes.a.y, out->number[2][l] = slopes.a.z;
        out->number[3][l] = slopes.b.x, out->number[4][l] = slopes.b.y, out->number[5][l] = slopes.b.z;
        out->number[6][l] = slopes.c.x, out->number[7][l] = slopes.c.y, out->number[8][l] = slopes.c.z;
        out->number[9][l] = slopes.d.x, out->number[10][l] = slopes.d.y, out->number[11][l] = slopes.d.z;
    }
}

/* One copy of each loop per kind of pair and contact potential, in which both are constants. */
static __attribute__((noinline)) void energies(const pd_pair_potential *potential, int kind, const pd_contact_lanes *lanes, results *out) {
#define PD_LOOP(KIND) numbers_of_kind(of_potential, PD_CONTACT_ENERGY, KIND, lanes, out)
    PD_CONTACT_OF_POTENTIAL_AND_KIND(potential, kind);
#undef PD_LOOP
}

static __attribute__((noinline)) void gradients(const pd_pair_potential *potential, int kind, const pd_contact_lanes *lanes, results *out) {
#define PD_LOOP(KIND) gradients_of_kind(of_potential, KIND, lanes, out)
    PD_CONTACT_OF_POTENTIAL_AND_KIND(potential, kind);
#undef PD_LOOP
}

static __attribute__((noinline)) void distances(const pd_pair_potential *potential, int quantity, int kind, const pd_contact_lanes *lanes,
                                                results *out) {
    pd_pair_potential any = *potential;
#define PD_CALL(KIND)            numbers_of_kind(any, PD_CONTACT_DISTANCE, KIND, lanes, out)
#define PD_CALL_ACTIVATION(KIND) numbers_of_kind(any, PD_CONTACT_ACTIVATION, KIND, lanes, out)
    if (quantity == PD_CONTACT_DISTANCE)
        PD_CONTACT_OF_KIND(kind, PD_CALL)
    else
        PD_CONTACT_OF_KIND(kind, PD_CALL_ACTIVATION)
#undef PD_CALL
#undef PD_CALL_ACTIVATION
}

/* A number or a gradient of some pairs of one kind. */
static void lanes_of_kind(const pd_pair_potential *potential, int quantity, const pd_contact_pairs *pairs, const real *x, int kind,
                          const int *chosen, int n, real *out) {
    pd_contact_lanes lanes;
    results found;
    for (int start = 0; start < n; start += LANES) {
        int count = n - start < LANES ? n - start : LANES;
        pd_contact_lanes_gather(pairs, x, kind, chosen + start, count, &lanes);
        if (quantity == PD_CONTACT_ENERGY)
            energies(potential, kind, &lanes, &found);
        else if (quantity == PD_CONTACT_GRADIENT)
            gradients(potential, kind, &lanes, &found);
        else
            distances(potential, quantity, kind, &lanes, &found);
        for (int l = 0; l < count; l++) {
            int p = chosen[start + l];
            if (quantity != PD_CONTACT_GRADIENT) {
                out[p] = found.plain[l] ? found.number[0][l] : pd_contact_update_number(potential, quantity, pairs, x, p);
                continue;
            }
            real *result = out + 12 * (size_t)p;
            if (!found.plain[l]) {
                pd_contact_update_gradient(potential, pairs, x, p, result);
                continue;
            }
            for (int i = 0; i < 12; i++) result[i] = i < 3 * pd_contact_corners(kind) ? found.number[i][l] : (real)0;
        }
    }
}

/* Sets the Hessians of vertex-triangle pairs without weight to zero, and leaves these pairs out. */
static void drop_weightless(const pd_contact_pairs *pairs, pd_contact_kinds *chosen, real *out) {
    int kept = 0, *here = chosen->pairs[PD_VERTEX_TRIANGLE];
    for (int k = 0; k < chosen->n[PD_VERTEX_TRIANGLE]; k++) {
        int p = here[k];
        if (pairs->weight[p] < 0)
            memset(out + 144 * (size_t)p, 0, 144 * sizeof *out);
        else
            here[kept++] = p;
    }
    chosen->n[PD_VERTEX_TRIANGLE] = kept;
}

/* Pairs first .. end - 1, at most BLOCK, kind by kind. */
static void lanes_of_block(const pd_pair_potential *potential, int quantity, const pd_contact_pairs *pairs, const real *x, int first,
                           int end, real *out) {
    pd_contact_kinds chosen;
    pd_contact_sort_kinds(pairs, first, end, &chosen);
    if (quantity == PD_CONTACT_HESSIAN) drop_weightless(pairs, &chosen, out);
    for (int kind = 0; kind < PD_CONTACT_PAIR_COUNT; kind++)
        if (quantity == PD_CONTACT_HESSIAN)
            pd_contact_clamped_hessians(potential, pairs, x, kind, chosen.pairs[kind], chosen.n[kind], out);
        else
            lanes_of_kind(potential, quantity, pairs, x, kind, chosen.pairs[kind], chosen.n[kind], out);
}

pd_status pd_contact_batch(pd_context *context, const pd_pair_potential *potential, int quantity, pd_hessian_filter filter,
                           const pd_contact_pairs *pairs, const real *x, real *out) {
    size_t size = (size_t)pd_contact_quantity_size(quantity);
    if (!size) return pd_fail(&context->error, PD_ERROR_VALUE, "quantity: %d is unknown", quantity);
    int nanoseconds = quantity < PD_CONTACT_GRADIENT ? ENERGY_NANOSECONDS : size == 12 ? GRADIENT_NANOSECONDS : HESSIAN_NANOSECONDS;
    int n = (int)pd_counted((size_t)pairs->n, pairs->count), blocks = (n + BLOCK - 1) / BLOCK;
    int in_lanes = size == 144 ? filter == PD_FILTER_CLAMP : size <= 12 && quantity != PD_CONTACT_THRESHOLD;
#pragma omp parallel for num_threads(pd_threads(context, n, nanoseconds)) schedule(static)
    for (int block = 0; block < blocks; block++) {
        int first = BLOCK * block, end = n - first < BLOCK ? n : first + BLOCK;
        if (in_lanes) {
            lanes_of_block(potential, quantity, pairs, x, first, end, out);
            continue;
        }
        for (int p = first; p < end; p++) {
            real *result = out + size * (size_t)p;
            switch (quantity) {
            case PD_CONTACT_THRESHOLD: *result = pd_contact_update_number(potential, quantity, pairs, x, p); break;
            case PD_CONTACT_HESSIAN: pd_contact_update_hessian(potential, pairs, x, p, filter, result); break;
            default: pd_contact_update_blocks(potential, pairs, x, p, filter, result);
            }
        }
    }
    return PD_OK;
}

pd_status pd_contact_describe(pd_context *context, const pd_contact_scene *scene, const pd_active_pairs *active, int n,
                              const pd_contact_columns *out) {
    n = (int)pd_counted((size_t)n, active->count);
#pragma omp parallel for num_threads(pd_threads(context, n, ENERGY_NANOSECONDS)) schedule(static)
    for (int p = 0; p < n; p++) pd_contact_update_describe(scene, active, (size_t)p, out);
    return PD_OK;
}

/* The distances of vertex-triangle pairs, and the numbers of free parameters of their closest points. */
static __attribute__((noinline)) void panel_orders(const pd_contact_lanes *lanes, results *out) {
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        pd_points4 x = pd_contact_lanes_corners(lanes, l);
        pd_nearest nearest = pd_contact_nearest(PD_VERTEX_TRIANGLE, x);
        out->plain[l] = pd_contact_is_plain(PD_VERTEX_TRIANGLE, x, nearest);
        out->number[0][l] = nearest.distance, out->number[1][l] = nearest.n_free;
    }
}

/* order [first .. end - 1], at most BLOCK pairs. */
static void order_block(const pd_contact_pairs *pairs, const int *panels, const real *x, int first, int end, real *order) {
    int chosen[BLOCK], n = 0;
    for (int p = first; p < end; p++) {
        order[p] = 0;
        if (panels[p] >= 0) chosen[n++] = p;
    }
    for (int start = 0; start < n; start += LANES) {
        int count = n - start < LANES ? n - start : LANES;
        pd_contact_lanes lanes;
        results found;
        pd_contact_lanes_gather_corners(pairs, x, PD_VERTEX_TRIANGLE, chosen + start, count, &lanes);
        panel_orders(&lanes, &found);
        for (int l = 0; l < count; l++) {
            int p = chosen[start + l];
            order[p] = found.plain[l] ? pd_panel_update_order_of(found.number[0][l], found.number[1][l])
                                      : pd_panel_update_order(pairs, panels, x, p);
        }
    }
}

pd_status pd_contact_choose_triangles(pd_context *context, const pd_contact_pairs *pairs, const int *panels, const real *x, real *order,
                                      real *weight, pd_contact_record *records) {
    int n = (int)pd_counted((size_t)pairs->n, pairs->count), blocks = (n + BLOCK - 1) / BLOCK;
#pragma omp parallel num_threads(pd_threads(context, n, ENERGY_NANOSECONDS))
    {
#pragma omp for schedule(static)
        for (int block = 0; block < blocks; block++)
            order_block(pairs, panels, x, BLOCK * block, n - BLOCK * block < BLOCK ? n : BLOCK * (block + 1), order);
#pragma omp for schedule(static)
        for (int p = 0; p < n; p++) pd_panel_update_weight(pairs, panels, order, n, weight, records, p);
    }
    return PD_OK;
}

pd_status pd_contact_mark_collapsed(pd_context *context, const pd_contact_pairs *pairs, real *values) {
#pragma omp parallel for num_threads(pd_threads(context, pairs->n, 2)) schedule(static)
    for (int p = 0; p < pairs->n; p++) values[p] = pd_contact_update_collapsed(pairs, values[p], p);
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
    for (int i = 0; i < model->n_vertices; i++) pd_contact_update_gather_vertex(model, incidence, corners, i, out);
    return PD_OK;
}

pd_status pd_contact_gather_blocks(pd_context *context, const pd_model *model, const pd_incidence *incidence, const real *hessians,
                                   const int *diagonal_slots, real *blocks) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 10)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++)
        pd_contact_update_gather_block(incidence, hessians, i, blocks + 9 * (size_t)diagonal_slots[i]);
    return PD_OK;
}

pd_status pd_contact_gather_bounds(pd_context *context, const pd_model *model, const pd_incidence *incidence, const int *points,
                                   const real *hessians, double *out) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 20)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) out[i] = pd_contact_update_bound(model, incidence, points, hessians, i);
    return PD_OK;
}

pd_status pd_contact_product(pd_context *context, const pd_model *model, int n, const int *points, const real *hessians, int all,
                             const real *p, real *corners, real *values) {
#pragma omp parallel for num_threads(pd_threads(context, n, ENERGY_NANOSECONDS)) schedule(static)
    for (int pair = 0; pair < n; pair++)
        values[pair] =
            pd_contact_update_product(model, points + 4 * (size_t)pair, hessians + 144 * (size_t)pair, all, p, corners + 12 * (size_t)pair);
    return PD_OK;
}

pd_status pd_move_towards(pd_context *context, int n, const unsigned char *mask, double t, const real *target, real *x) {
    real fraction = (real)t;
#pragma omp parallel for num_threads(pd_threads(context, n, 3)) schedule(static)
    for (int i = 0; i < n; i++)
        for (size_t c = 3 * (size_t)i; c < 3 * (size_t)i + 3 && !(mask && !mask[i]); c++)
            x[c] = fraction == 1 ? target[c] : x[c] + fraction * (target[c] - x[c]);
    return PD_OK;
}

pd_status pd_move_fraction_of_way(pd_context *context, int n, const double *fraction, const real *target, real *x) {
    return pd_move_towards(context, n, NULL, *fraction, target, x);
}

pd_status pd_contact_bound_fraction(pd_context *context, int n_points, const pd_incidence *incidence, const int *kind,
                                    const pd_separating_plane *planes, double outer, int curved, const real *x_0, const real *x_1,
                                    double *fraction) {
    double least = 1.0;
#pragma omp parallel for num_threads(pd_threads(context, n_points, 20)) schedule(static) reduction(min : least)
    for (int i = 0; i < n_points; i++) {
        double here = pd_contact_update_displacement_bound(incidence, kind, planes, outer, curved, x_0, x_1, i);
        least = here < least ? here : least;
    }
    *fraction = least;
    return PD_OK;
}

pd_status pd_contact_displacement_bounds(pd_context *context, const pd_chosen_points *chosen, const pd_incidence *incidence,
                                         const real *pair_bounds, const real *balls, const real *start, const real *points, real *bound,
                                         unsigned char *touching) {
#pragma omp parallel for num_threads(pd_threads(context, chosen->n_vertices, 20)) schedule(static)
    for (int k = 0; k < chosen->n_vertices; k++) {
        int i = chosen->rows[k];
        bound[i] = pd_contact_update_displacement_bound_of(incidence, pair_bounds, balls, start, points, i, touching + i);
    }
    return PD_OK;
}

pd_status pd_contact_pair_bounds(pd_context *context, const pd_contact_pairs *pairs, real *distance, double rounding, double fraction,
                                 pd_contact_record *records) {
#pragma omp parallel for num_threads(pd_threads(context, pairs->n, 2)) schedule(static)
    for (int p = 0; p < pairs->n; p++) {
        records[p].slack = pd_contact_update_slack(pairs, distance[p], rounding, p);
        distance[p] = pd_contact_update_pair_bound(pairs, distance[p], rounding, fraction, p);
    }
    return PD_OK;
}
