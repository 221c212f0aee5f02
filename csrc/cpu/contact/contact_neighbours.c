/* Loops that select the neighbour pairs. */
#include "cpu/contact/plane_lanes.h"
#include "cpu/context.h"

enum { POINTS = 1024 /* points whose roles are read in sequence, so that only the first needs a search */ };

pd_status pd_contact_balls(pd_context *context, const pd_chosen_points *chosen, const pd_incidence *incidence, const real *pair_bounds,
                           double far, real *balls) {
#pragma omp parallel for num_threads(pd_threads(context, chosen->n, 50)) schedule(static)
    for (int k = 0; k < chosen->n; k++) balls[chosen->rows[k]] = pd_contact_update_ball(incidence, pair_bounds, far, chosen->rows[k]);
    return PD_OK;
}

pd_status pd_contact_used(pd_context *context, const pd_chosen_points *chosen, const real *balls, double far, double certain, double most,
                          const real *start, const real *points, unsigned char *left, pd_bound_use *use) {
    double used = 0.0;
    uint64_t n_left = 0;
#pragma omp parallel for num_threads(pd_threads(context, chosen->n, 5)) schedule(static) reduction(max : used) reduction(+ : n_left)
    for (int k = 0; k < chosen->n; k++) {
        int i = chosen->rows[k];
        double here = pd_contact_update_used(k >= chosen->n_vertices, balls, far, certain, most, start, points, i, left + i);
        used = here > used ? here : used;
        n_left += left[i];
    }
    *use = (pd_bound_use){used, n_left};
    return PD_OK;
}

/* role_flags [4 n_pairs] from the flags of the pairs. */
static void flag_roles(const pd_incidence *incidence, int n_points, int n_pairs, const unsigned char *flags, unsigned char *role_flags) {
    int n_roles = incidence->start[n_points];
#pragma omp for schedule(static)
    for (int r = 0; r < 4 * n_pairs; r++) role_flags[r] = r < n_roles ? flags[incidence->roles[r] / 4] : 0;
}

pd_status pd_contact_neighbour_flags(pd_context *context, const pd_contact_pairs *pairs, const pd_incidence *incidence, real *distance,
                                     double rounding, double fraction, double cut, int n_points, unsigned char *flags,
                                     unsigned char *role_flags) {
#pragma omp parallel num_threads(pd_threads(context, pairs->n, 10))
    {
#pragma omp for schedule(static)
        for (int p = 0; p < pairs->n; p++) {
            distance[p] = pd_contact_update_far_pair_bound(pairs, distance[p], cut, rounding, fraction, p);
            flags[p] = distance[p] == (real)INFINITY;
        }
        flag_roles(incidence, n_points, pairs->n, flags, role_flags);
    }
    return PD_OK;
}

pd_status pd_contact_flag_pairs(pd_context *context, const pd_chosen_points *chosen, const unsigned char *left, double far,
                                const pd_contact_pairs *pairs, const pd_incidence *incidence, int n_points, real *balls,
                                unsigned char *flags, unsigned char *role_flags) {
#pragma omp parallel num_threads(pd_threads(context, pairs->n, 10))
    {
#pragma omp for schedule(static)
        for (int k = 0; k < chosen->n; k++)
            if (left[chosen->rows[k]]) balls[chosen->rows[k]] = (real)far;
#pragma omp for schedule(static)
        for (int p = 0; p < pairs->n; p++) flags[p] |= pd_contact_update_has_marked_corner(pairs->points + 4 * (size_t)p, left);
        flag_roles(incidence, n_points, pairs->n, flags, role_flags);
    }
    return PD_OK;
}

pd_status pd_contact_take(pd_context *context, int n, const int *rows, const pd_contact_pairs *pairs, const int *panel,
                          const pd_contact_columns *out, pd_contact_record *records, int *ranks) {
#pragma omp parallel for num_threads(pd_threads(context, n, 10)) schedule(static)
    for (int to = 0; to < n; to++) {
        pd_contact_update_take(pairs, panel, rows[to], out, records, to);
        ranks[rows[to]] = to;
    }
    return PD_OK;
}

pd_status pd_contact_take_roles(pd_context *context, int n_points, int n_roles, const int *role_rows, const int *ranks,
                                const pd_incidence *incidence, const pd_incidence *out) {
    int blocks = n_points / POINTS + 1;
#pragma omp parallel for num_threads(pd_threads(context, n_points, 5)) schedule(static)
    for (int block = 0; block < blocks; block++) {
        int end = block + 1 < blocks ? POINTS * (block + 1) : n_points + 1;
        int next = pd_contact_update_rows_below(role_rows, n_roles, incidence->start[POINTS * block]);
        for (int i = POINTS * block; i < end; i++)
            next = pd_contact_update_take_roles(n_points, n_roles, role_rows, ranks, incidence, out, next, i);
    }
    return PD_OK;
}

pd_status pd_contact_bound_moves(pd_context *context, const pd_model *model, const pd_contact_sweep *contact, real *d) {
#pragma omp parallel num_threads(pd_threads(context, model->n_vertices, 20))
    {
        pd_separating_plane kept[PD_BOUND_KEPT];
        pd_bound_planes planes;
#pragma omp for schedule(dynamic, 64)
        for (int i = 0; i < model->n_vertices; i++) {
            real *move = d + 3 * (size_t)i;
            int exceeds = !model->fixed[i] && pd_bound_exceeds(pd_bound_most(contact, i), move);
            if (exceeds) pd_plane_lanes(contact, i, kept, &planes);
            pd_bound_move(model, contact, i, exceeds ? &planes : NULL, move);
        }
    }
    return PD_OK;
}

pd_status pd_contact_closing(pd_context *context, const pd_contact_pairs *pairs, const real *before, const real *after, double least,
                             double floor, pd_closing *closing) {
    double from = (double)INFINITY, to = (double)INFINITY, fraction = 1.0;
#pragma omp parallel for num_threads(pd_threads(context, pairs->n, 2)) schedule(static) reduction(min : from, to, fraction)
    for (int p = 0; p < pairs->n; p++) {
        pd_closing here = {from, to, fraction};
        pd_contact_update_closing(pairs, before, after, least, floor, p, &here);
        from = here.before, to = here.after, fraction = here.fraction;
    }
    *closing = (pd_closing){from, to, fraction};
    return PD_OK;
}

pd_status pd_contact_most(pd_context *context, int n, const real *values, double *most) {
    double found = 0.0;
#pragma omp parallel for num_threads(pd_threads(context, n, 1)) schedule(static) reduction(max : found)
    for (int i = 0; i < n; i++) {
        double here = values[i] >= 0 ? (double)values[i] : (double)INFINITY;
        found = here > found ? here : found;
    }
    *most = found;
    return PD_OK;
}
