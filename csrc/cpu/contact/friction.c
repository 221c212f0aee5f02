/* Loops over pairs with friction. */
#include "cpu/contact/contact_lanes.h"
#include "updates/contact/friction_update.h"

enum { LANES = PD_CONTACT_LANES, BLOCK = PD_CONTACT_MOST };
enum { LAG_NANOSECONDS = 40, PAIR_NANOSECONDS = 20, ROLE_NANOSECONDS = 10 };

/* The friction strengths of some lanes. */
typedef struct grips {
    real weights[4][LANES], normal[3][LANES], force[LANES];
    int plain[LANES]; /* 0: they need the scalar code */
} grips;

PD_INLINE void grips_of_kind(pd_pair_potential potential, real least_gap, int kind, const pd_contact_lanes *lanes, grips *out) {
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        pd_points4 x = pd_contact_lanes_corners(lanes, l);
        pd_nearest nearest = pd_contact_nearest(kind, x);
        pd_friction_grip grip = pd_friction_grip_of(potential, pd_contact_lanes_limits(lanes, l), least_gap, kind, x, nearest);
        out->plain[l] = pd_contact_is_plain(kind, x, nearest) & pd_friction_grip_is_sure(kind, x);
        out->weights[0][l] = grip.weights.a, out->weights[1][l] = grip.weights.b;
        out->weights[2][l] = grip.weights.c, out->weights[3][l] = grip.weights.d;
        out->normal[0][l] = grip.normal.x, out->normal[1][l] = grip.normal.y, out->normal[2][l] = grip.normal.z;
        out->force[l] = grip.force;
    }
}

/* One copy of the loop per kind of pair and contact potential, in which both are constants. */
static __attribute__((noinline)) void find_grips(const pd_pair_potential *potential, real least_gap, int kind,
                                                 const pd_contact_lanes *lanes, grips *out) {
#define PD_LOOP(KIND) grips_of_kind(of_potential, least_gap, KIND, lanes, out)
    PD_CONTACT_OF_POTENTIAL_AND_KIND(potential, kind);
#undef PD_LOOP
}

static pd_friction_grip grip_of_lane(const grips *found, int l) {
    const real(*w)[LANES] = found->weights, (*n)[LANES] = found->normal;
    return (pd_friction_grip){{w[0][l], w[1][l], w[2][l], w[3][l]}, pd_vector_of(n[0][l], n[1][l], n[2][l]), found->force[l]};
}

/* Some pairs of one kind. */
static void lag_kind(const pd_pair_potential *potential, const pd_friction_scene *scene, const pd_contact_pairs *pairs, const real *y,
                     int kind, const int *chosen, int n, const pd_lagged_pairs *out) {
    pd_contact_lanes lanes;
    grips found;
    for (int start = 0; start < n; start += LANES) {
        int count = n - start < LANES ? n - start : LANES;
        pd_contact_lanes_gather(pairs, y, kind, chosen + start, count, &lanes);
        find_grips(potential, scene->least_gap, kind, &lanes, &found);
        for (int l = 0; l < count; l++)
            if (found.plain[l])
                pd_friction_update_take(scene, pairs, chosen[start + l], grip_of_lane(&found, l), out);
            else
                pd_friction_update_lag(potential, scene, pairs, y, chosen[start + l], out);
    }
}

pd_status pd_friction_lag_pairs(pd_context *context, const pd_pair_potential *potential, const pd_friction_scene *scene,
                                const pd_contact_pairs *pairs, const real *y, const pd_lagged_pairs *out) {
    int blocks = (pairs->n + BLOCK - 1) / BLOCK;
#pragma omp parallel for num_threads(pd_threads(context, pairs->n, LAG_NANOSECONDS)) schedule(static)
    for (int block = 0; block < blocks; block++) {
        int first = BLOCK * block, end = pairs->n - first < BLOCK ? pairs->n : first + BLOCK;
        pd_contact_kinds chosen;
        pd_contact_sort_kinds(pairs, first, end, &chosen);
        for (int kind = 0; kind < PD_CONTACT_PAIR_COUNT; kind++)
            lag_kind(potential, scene, pairs, y, kind, chosen.pairs[kind], chosen.n[kind], out);
    }
    return PD_OK;
}

pd_status pd_friction_moves(pd_context *context, const pd_chosen_points *chosen, const pd_slipping *slipping) {
#pragma omp parallel for num_threads(pd_threads(context, chosen->n, 5)) schedule(static)
    for (int k = 0; k < chosen->n; k++) pd_friction_update_move(slipping, chosen->rows[k]);
    return PD_OK;
}

pd_status pd_friction_role_flags(pd_context *context, const pd_lagged_pairs *pairs, const pd_incidence *incidence, int n_points,
                                 unsigned char *flags) {
#pragma omp parallel for num_threads(pd_threads(context, 4 * pairs->n, 3)) schedule(static)
    for (int r = 0; r < 4 * pairs->n; r++) flags[r] = pd_friction_update_role_flag(pairs, incidence, n_points, r);
    return PD_OK;
}

int pd_friction_lists_roles(void) { return 1; }

pd_status pd_friction_list_roles(pd_context *context, const pd_friction_scene *scene, const pd_lagged_pairs *pairs,
                                 const pd_incidence *incidence, int n_points, char *records) {
#pragma omp parallel for num_threads(pd_threads(context, 4 * pairs->n, ROLE_NANOSECONDS)) schedule(static)
    for (int i = 0; i < n_points; i++) pd_friction_update_list_roles(scene, pairs, incidence, i, records);
    return PD_OK;
}

pd_status pd_friction_batch(pd_context *context, int quantity, const pd_lagged_pairs *pairs, const pd_slipping *slipping, real *out) {
    size_t size = (size_t)pd_friction_quantity_size(quantity);
    if (!size) return pd_fail(&context->error, PD_ERROR_VALUE, "quantity: %d is unknown", quantity);
    int n = pd_lagged_count(pairs);
#pragma omp parallel for num_threads(pd_threads(context, n, PAIR_NANOSECONDS)) schedule(static)
    for (int p = 0; p < n; p++) pd_friction_update(quantity, pairs, slipping, p, out + size * (size_t)p);
    return PD_OK;
}

pd_status pd_friction_gather_blocks(pd_context *context, const pd_model *model, const pd_incidence *incidence, const pd_lagged_pairs *pairs,
                                    const real *matrices, const int *diagonal_slots, real *blocks) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 10)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++)
        pd_friction_update_gather_block(incidence, pairs, matrices, i, blocks + 9 * (size_t)diagonal_slots[i]);
    return PD_OK;
}

pd_status pd_friction_gather_bounds(pd_context *context, const pd_model *model, const pd_incidence *incidence, const pd_lagged_pairs *pairs,
                                    const real *matrices, double *out) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 20)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) out[i] += pd_friction_update_bound(model, incidence, pairs, matrices, i);
    return PD_OK;
}

pd_status pd_friction_product(pd_context *context, const pd_model *model, const pd_lagged_pairs *pairs, const real *matrices, int all,
                              const real *p, real *corners, real *values) {
    int n = pd_lagged_count(pairs);
#pragma omp parallel for num_threads(pd_threads(context, n, PAIR_NANOSECONDS)) schedule(static)
    for (int pair = 0; pair < n; pair++)
        values[pair] = pd_friction_update_product(model, pairs, matrices, all, p, pair, corners + 12 * (size_t)pair);
    return PD_OK;
}
