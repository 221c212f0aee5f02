/* Loops over frozen projections of contact pairs. */
#include "cpu/context.h"
#include "updates/contact/projective_update.h"
#include "updates/contact/vertex_bound.h"

enum { FREEZE_NANOSECONDS = 80, PAIR_NANOSECONDS = 15, SEARCH_NANOSECONDS = 20 };

pd_status pd_projective_mark_new(pd_context *context, const pd_active_pairs *found, const real *distance, const pd_contact_pairs *limits,
                                 int n_kept, const uint64_t *kept, const pd_active_pairs *others, unsigned char *flags) {
    int n = (int)pd_counted(found->capacity, found->count);
#pragma omp parallel for num_threads(pd_threads(context, n, SEARCH_NANOSECONDS)) schedule(static)
    for (int p = 0; p < n; p++) flags[p] = pd_projective_update_new(found, distance, limits, n_kept, kept, others, p);
    for (size_t p = (size_t)n; p < found->capacity; p++) flags[p] = 0;
    return PD_OK;
}

pd_status pd_projective_choose_round(pd_context *context, const pd_round_rules *rules, const pd_earliest *earliest, const double *square,
                                     const double *along, const uint64_t *const found[2], const size_t capacity[2], pd_round *round) {
    int complete = *found[0] <= capacity[0] && *found[1] <= capacity[1];
    (void)context;
    *round = pd_projective_update_round(rules, (double)(real)earliest->time, *square, rules->before > 0.0 ? *along : 0.0);
    if (!complete) round->scale = round->fraction = 0.0;
    return PD_OK;
}

pd_status pd_projective_merge(pd_context *context, int n_kept, const pd_kept_pairs *kept, int n_new, const int *rows,
                              const pd_active_pairs *found, const pd_kept_pairs *out) {
#pragma omp parallel for num_threads(pd_threads(context, n_kept + n_new, SEARCH_NANOSECONDS)) schedule(static)
    for (int e = 0; e < n_kept + n_new; e++) pd_projective_update_merge(n_kept, kept, n_new, rows, found, out, e);
    return PD_OK;
}

pd_status pd_projective_stiffen(pd_context *context, int n, const pd_kept_pairs *kept, int n_hit, const uint64_t *hit) {
#pragma omp parallel for num_threads(pd_threads(context, n, SEARCH_NANOSECONDS)) schedule(static)
    for (int p = 0; p < n; p++)
        if (pd_projective_has(hit, n_hit, kept->key[p])) kept->stiffening[p] *= 2;
    return PD_OK;
}

pd_status pd_projective_mark_pressed(pd_context *context, const pd_projected_pairs *pairs, const real *y, unsigned char *pressed) {
#pragma omp parallel for num_threads(pd_threads(context, pairs->n, PAIR_NANOSECONDS)) schedule(static)
    for (int p = 0; p < pairs->n; p++)
        if (pd_projective_distance(pairs, y, p) < pairs->target[p]) pressed[p] = 1;
    return PD_OK;
}

pd_status pd_projective_freeze_pairs(pd_context *context, const pd_model *model, const pd_contact_pairs *pairs, const pd_freezing *freezing,
                                     const real *y, const pd_kept_pairs *kept, const pd_projected_pairs *out) {
#pragma omp parallel for num_threads(pd_threads(context, pairs->n, FREEZE_NANOSECONDS)) schedule(static)
    for (int p = 0; p < pairs->n; p++) pd_projective_update_freeze(model, pairs, freezing, y, p, kept, out);
    return PD_OK;
}

pd_status pd_projective_batch(pd_context *context, const pd_projected_pairs *pairs, const real *y, const real *y_0, real *values,
                              real *corners) {
#pragma omp parallel for num_threads(pd_threads(context, pairs->n, PAIR_NANOSECONDS)) schedule(static)
    for (int p = 0; p < pairs->n; p++)
        pd_projective_update(pairs, y, y_0, p, values ? values + p : NULL, corners ? corners + 12 * (size_t)p : NULL);
    return PD_OK;
}

pd_status pd_projective_gather_diagonal(pd_context *context, const pd_model *model, const pd_incidence *incidence,
                                        const pd_projected_pairs *pairs, double *diagonal, real *coupling, unsigned char *touching) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, PAIR_NANOSECONDS)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) {
        diagonal[i] = pd_projective_update_diagonal(model, incidence, pairs, i, coupling ? coupling + 9 * (size_t)i : NULL);
        touching[i] = incidence->start[i + 1] > incidence->start[i];
    }
    return PD_OK;
}

pd_status pd_projective_move_within(pd_context *context, const pd_model *model, const pd_contact_sweep *contact, const real *target,
                                    real *x) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, PAIR_NANOSECONDS)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) pd_bound_move_towards(model, contact, target, i, x);
    return PD_OK;
}

pd_status pd_projective_velocities(pd_context *context, const pd_model *model, int n_points, double inverse_h, const real *y,
                                   const real *y_0, const real *offset, const real *v, real *velocities) {
#pragma omp parallel for num_threads(pd_threads(context, n_points, PAIR_NANOSECONDS)) schedule(static)
    for (int i = 0; i < n_points; i++) pd_projective_update_velocity(model, (real)inverse_h, y, y_0, offset, v, i, velocities);
    return PD_OK;
}

pd_status pd_projective_rebounds(pd_context *context, const pd_projected_pairs *pairs, const unsigned char *pressed, const real *velocities,
                                 double restitution, double rest_speed, real *wanted) {
#pragma omp parallel for num_threads(pd_threads(context, pairs->n, PAIR_NANOSECONDS)) schedule(static)
    for (int p = 0; p < pairs->n; p++)
        wanted[p] = pd_projective_update_rebound(pairs, pressed, velocities, (real)restitution, (real)rest_speed, p);
    return PD_OK;
}

pd_status pd_projective_count_rebounds(pd_context *context, const pd_model *model, int n_points, const pd_incidence *incidence,
                                       const real *wanted, int *count) {
#pragma omp parallel for num_threads(pd_threads(context, n_points, PAIR_NANOSECONDS)) schedule(static)
    for (int i = 0; i < n_points; i++) count[i] = pd_projective_update_count(model, incidence, wanted, i);
    return PD_OK;
}

pd_status pd_projective_impulses(pd_context *context, const pd_model *model, const pd_projected_pairs *pairs, const real *wanted,
                                 const int *count, const real *velocities, real *corners) {
#pragma omp parallel for num_threads(pd_threads(context, pairs->n, PAIR_NANOSECONDS)) schedule(static)
    for (int p = 0; p < pairs->n; p++) pd_projective_update_impulse(model, pairs, wanted, count, velocities, p, corners + 12 * (size_t)p);
    return PD_OK;
}
