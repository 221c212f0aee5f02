/* Loops that select the neighbour pairs. */
#include "cpu/contact/contact_lanes.h"
#include "updates/contact/vertex_bound.h"

enum { POINTS = 1024 /* points whose roles are read in sequence, so that only the first needs a search */ };

pd_status pd_contact_balls(pd_context *context, const pd_chosen_points *chosen, const pd_incidence *incidence, const real *distance,
                           const pd_contact_pairs *pairs, double cut, double far, double rounding, double fraction, real *balls) {
#pragma omp parallel for num_threads(pd_threads(context, chosen->n, 50)) schedule(static)
    for (int k = 0; k < chosen->n; k++)
        balls[chosen->rows[k]] = pd_contact_update_ball(incidence, distance, pairs, cut, far, rounding, fraction, chosen->rows[k]);
    return PD_OK;
}

pd_status pd_contact_used(pd_context *context, const pd_chosen_points *chosen, const real *balls, double certain, const real *start,
                          const real *points, double *used) {
    double most = 0.0;
#pragma omp parallel for num_threads(pd_threads(context, chosen->n, 5)) schedule(static) reduction(max : most)
    for (int k = 0; k < chosen->n; k++) {
        double here = pd_contact_update_used(k >= chosen->n_vertices, balls, certain, start, points, chosen->rows[k]);
        most = here > most ? here : most;
    }
    *used = most;
    return PD_OK;
}

/* Normal and heights of pairs of one kind. */
typedef struct lane_planes {
    real number[8][PD_CONTACT_LANES];
    int plain[PD_CONTACT_LANES]; /* 0: the numbers are undefined */
} lane_planes;

PD_INLINE void planes_of_kind(int kind, const pd_contact_lanes *lanes, lane_planes *out) {
#pragma omp simd
    for (int l = 0; l < PD_CONTACT_LANES; l++) {
        pd_points4 x = pd_contact_lanes_corners(lanes, l);
        pd_nearest nearest = pd_contact_nearest(kind, x);
        pd_side_heights heights = pd_side_heights_of(kind, x, nearest.normal, nearest.distance);
        out->plain[l] = pd_contact_is_plain(kind, x, nearest);
        out->number[0][l] = nearest.normal.x, out->number[1][l] = nearest.normal.y, out->number[2][l] = nearest.normal.z;
        out->number[3][l] = heights.a, out->number[4][l] = heights.b, out->number[5][l] = heights.c, out->number[6][l] = heights.d;
        out->number[7][l] = heights.margin;
    }
}

static __attribute__((noinline)) void lane_planes_of(int kind, const pd_contact_lanes *lanes, lane_planes *out) {
#define PD_CALL(KIND) planes_of_kind(KIND, lanes, out)
    PD_CONTACT_OF_KIND(kind, PD_CALL)
#undef PD_CALL
}

static void set_planes(const pd_contact_pairs *pairs, const real *x, double rounding, double fraction, int kind, const int *chosen, int n,
                       pd_separating_plane *planes) {
    pd_contact_lanes lanes;
    lane_planes found;
    for (int first = 0; first < n; first += PD_CONTACT_LANES) {
        int count = n - first < PD_CONTACT_LANES ? n - first : PD_CONTACT_LANES;
        pd_contact_lanes_gather(pairs, x, kind, chosen + first, count, &lanes);
        lane_planes_of(kind, &lanes, &found);
        for (int l = 0; l < count; l++) {
            int p = chosen[first + l];
            pd_separating_plane *plane = planes + p;
            if (!found.plain[l]) {
                pd_contact_update_plane(pairs, x, rounding, fraction, 0, p, plane);
                continue;
            }
            const real normal[3] = {found.number[0][l], found.number[1][l], found.number[2][l]};
            const pd_side_heights heights = {found.number[3][l], found.number[4][l], found.number[5][l], found.number[6][l],
                                             found.number[7][l]};
            pd_separating_plane_set(heights, pairs->separation[p], rounding, fraction, (double)INFINITY, normal, plane);
        }
    }
}

pd_status pd_contact_planes(pd_context *context, const pd_contact_pairs *pairs, const real *x, double rounding, double fraction,
                            pd_separating_plane *planes) {
    int n = pairs->n, blocks = (n + PD_CONTACT_MOST - 1) / PD_CONTACT_MOST;
#pragma omp parallel for num_threads(pd_threads(context, n, 40)) schedule(static)
    for (int block = 0; block < blocks; block++) {
        int first = PD_CONTACT_MOST * block, end = n - first < PD_CONTACT_MOST ? n : first + PD_CONTACT_MOST;
        pd_contact_kinds chosen;
        pd_contact_sort_kinds(pairs, first, end, &chosen);
        for (int kind = 0; kind < PD_CONTACT_PAIR_COUNT; kind++)
            set_planes(pairs, x, rounding, fraction, kind, chosen.pairs[kind], chosen.n[kind], planes);
    }
    return PD_OK;
}

pd_status pd_contact_neighbour_flags(pd_context *context, const pd_contact_pairs *pairs, const pd_incidence *incidence,
                                     const real *distance, double rounding, double cut, int n_points, unsigned char *flags,
                                     unsigned char *role_flags) {
    int n_roles = incidence->start[n_points];
#pragma omp parallel num_threads(pd_threads(context, pairs->n, 10))
    {
#pragma omp for schedule(static)
        for (int p = 0; p < pairs->n; p++)
            flags[p] = (unsigned char)!((double)pd_contact_update_slack(pairs, distance[p], rounding, p) > cut);
#pragma omp for schedule(static)
        for (int r = 0; r < 4 * pairs->n; r++) role_flags[r] = r < n_roles ? flags[incidence->roles[r] / 4] : 0;
    }
    return PD_OK;
}

pd_status pd_contact_take(pd_context *context, int n, const int *rows, const pd_contact_pairs *pairs, const pd_contact_columns *out,
                          pd_contact_record *records, int *ranks) {
#pragma omp parallel for num_threads(pd_threads(context, n, 10)) schedule(static)
    for (int to = 0; to < n; to++) {
        pd_contact_update_take(pairs, rows[to], out, records, to);
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
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 20)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) pd_bound_move(model, contact, i, d + 3 * (size_t)i);
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
