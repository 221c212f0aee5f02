/* Loops of the two-way interior point method. */
#include "cpu/context.h"
#include "updates/contact/two_way_forward.h"
#include "updates/contact/two_way_update.h"

enum { FEATURE_NANOSECONDS = 150, LINEARISE_NANOSECONDS = 120, ROW_NANOSECONDS = 20, NEIGHBOURS_NANOSECONDS = 200 };

pd_status pd_two_way_metric(pd_context *context, const pd_model *model, int n_points, const pd_two_way_rows *edges,
                            const pd_incidence *of_edges, const pd_two_way_rows *pairs, const pd_incidence *of_pairs, double share,
                            const real *x, const real *y_0, real *inverse, real *curvature, real *goal, real *pushed) {
#pragma omp parallel for num_threads(pd_threads(context, n_points, NEIGHBOURS_NANOSECONDS)) schedule(static)
    for (int i = 0; i < n_points; i++) {
        pd_two_way_update_metric(model, edges, of_edges, pairs, of_pairs, share, x, y_0, i, inverse, curvature, goal);
        pd_two_way_update_gather(inverse, edges, of_edges, pairs, of_pairs, pushed, i);
    }
    return PD_OK;
}

pd_status pd_two_way_undamped(pd_context *context, const pd_model *model, const real *curvature, const real *x, const real *y, real *out) {
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 5)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) pd_two_way_update_undamped(model, curvature, x, y, i, out);
    return PD_OK;
}

pd_status pd_two_way_features(pd_context *context, const pd_model *model, const pd_contact_scene *scene, const pd_contact_pairs *pairs,
                              const pd_two_way_choice *choice, int *kind, int *points, real *length, real *normal) {
#pragma omp parallel for num_threads(pd_threads(context, pairs->n, FEATURE_NANOSECONDS)) schedule(static)
    for (int p = 0; p < pairs->n; p++)
        pd_two_way_update_feature(model, scene, pairs, choice, p, kind + PD_TWO_WAY_FEATURES * (size_t)p,
                                  points + 4 * PD_TWO_WAY_FEATURES * (size_t)p, length + PD_TWO_WAY_FEATURES * (size_t)p,
                                  normal + 3 * (size_t)p);
    return PD_OK;
}

pd_status pd_two_way_mark_first(pd_context *context, int n, const int *kind, const int *points, const pd_incidence *incidence,
                                unsigned char *flags) {
#pragma omp parallel for num_threads(pd_threads(context, n, ROW_NANOSECONDS)) schedule(static)
    for (int p = 0; p < n; p++) flags[p] = pd_two_way_update_first(kind, points, incidence, p);
    return PD_OK;
}

pd_status pd_two_way_take(pd_context *context, int n, const int *rows, const int *kind, const int *points, const real *length,
                          const pd_two_way_rows *before, const pd_incidence *incidence, const pd_two_way_rows *out) {
#pragma omp parallel for num_threads(pd_threads(context, n, ROW_NANOSECONDS)) schedule(static)
    for (int r = 0; r < n; r++) pd_two_way_update_take(kind, points, length, before, incidence, rows[r], out, r);
    return PD_OK;
}

pd_status pd_two_way_linearise(pd_context *context, const pd_model *model, double limit, const pd_rubbing *rubbing, const real *x,
                               const pd_two_way_rows *rows) {
#pragma omp parallel for num_threads(pd_threads(context, rows->n, LINEARISE_NANOSECONDS)) schedule(static)
    for (int p = 0; p < rows->n; p++) pd_two_way_update_linearise(model, limit, rubbing, x, p, rows);
    return PD_OK;
}

pd_status pd_two_way_weigh(pd_context *context, const real *inverse, const real *x, const real *begun, const real *goal,
                           const pd_two_way_rows *rows) {
#pragma omp parallel for num_threads(pd_threads(context, rows->n, ROW_NANOSECONDS)) schedule(static)
    for (int p = 0; p < rows->n; p++) pd_two_way_update_weigh(inverse, x, begun, goal, p, rows);
    return PD_OK;
}

pd_status pd_two_way_colour_round(pd_context *context, const pd_model *model, const pd_two_way_rows *rows, const pd_incidence *incidence,
                                  int *fresh, uint64_t *left) {
    long long without = 0;
#pragma omp parallel for num_threads(pd_threads(context, rows->n, NEIGHBOURS_NANOSECONDS)) schedule(static)
    for (int p = 0; p < rows->n; p++) fresh[p] = pd_two_way_update_colour(model, rows, incidence, p);
    for (int p = 0; p < rows->n; p++) {
        rows->colour[p] = fresh[p];
        without += fresh[p] <= 0;
    }
    *left = (uint64_t)without;
    return PD_OK;
}

pd_status pd_two_way_colour_keys(pd_context *context, const pd_two_way_rows *rows, int row_bits, uint64_t *keys) {
#pragma omp parallel for num_threads(pd_threads(context, rows->n, 2)) schedule(static)
    for (int p = 0; p < rows->n; p++) keys[p] = (uint64_t)(rows->colour[p] - 1) << row_bits | (uint64_t)p;
    return PD_OK;
}

pd_status pd_two_way_colour_starts(pd_context *context, int n, int row_bits, const uint64_t *keys, int *order, int *starts,
                                   uint64_t *n_colours) {
    *n_colours = 0;
#pragma omp parallel for num_threads(pd_threads(context, n, 2)) schedule(static)
    for (int e = 0; e < n; e++) pd_two_way_update_start(n, row_bits, keys, order, starts, n_colours, e);
    return PD_OK;
}

pd_status pd_two_way_arrange(pd_context *context, int n_points, const int *order, const pd_two_way_rows *rows,
                             const pd_incidence *incidence, int *place, const pd_two_way_rows *out, const pd_incidence *out_incidence) {
    int n = rows->n, entries = 4 * n > n_points + 1 ? 4 * n : n_points + 1;
#pragma omp parallel for num_threads(pd_threads(context, n, ROW_NANOSECONDS)) schedule(static)
    for (int e = 0; e < n; e++) pd_two_way_update_arrange(order, rows, place, out, e);
#pragma omp parallel for num_threads(pd_threads(context, entries, 2)) schedule(static)
    for (int e = 0; e < entries; e++) pd_two_way_update_arrange_roles(n_points, incidence, place, out_incidence, e);
    return PD_OK;
}

pd_status pd_two_way_gather(pd_context *context, int n_points, const real *inverse, const pd_two_way_rows *edges,
                            const pd_incidence *of_edges, const pd_two_way_rows *pairs, const pd_incidence *of_pairs, real *pushed) {
#pragma omp parallel for num_threads(pd_threads(context, n_points, ROW_NANOSECONDS)) schedule(static)
    for (int i = 0; i < n_points; i++) pd_two_way_update_gather(inverse, edges, of_edges, pairs, of_pairs, pushed, i);
    return PD_OK;
}

pd_status pd_two_way_arrive(pd_context *context, int n_points, const real *goal, const real *pushed, real *y) {
    int n = 3 * n_points;
#pragma omp parallel for num_threads(pd_threads(context, n, 1)) schedule(static)
    for (int i = 0; i < n; i++) y[i] = goal[i] + pushed[i];
    return PD_OK;
}

/* A colour for one thread runs without an OpenMP team, whose start costs as much as a dozen rows. Colours of a cloth on a ball have
 * about a hundred rows. */
static void project_rows(const real *inverse, const pd_two_way_rows *rows, real *pushed, int begin, int end) {
    for (int p = begin; p < end; p++) pd_two_way_update_project(inverse, rows, pushed, p);
}

pd_status pd_two_way_sweep(pd_context *context, const real *inverse, const pd_two_way_rows *rows, int n_colours, const int *starts,
                           real *pushed) {
    for (int c = 0; c < n_colours; c++) {
        int begin = starts[c], end = starts[c + 1], threads = pd_threads(context, end - begin, ROW_NANOSECONDS);
        if (threads == 1) {
            project_rows(inverse, rows, pushed, begin, end);
            continue;
        }
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int p = begin; p < end; p++) pd_two_way_update_project(inverse, rows, pushed, p);
    }
    return PD_OK;
}

pd_status pd_two_way_repel(pd_context *context, const real *inverse, const pd_two_way_rows *rows, int n_colours, const int *starts,
                           double strength, double range, const real *x, real *y) {
    for (int c = 0; c < n_colours; c++) {
        int begin = starts[c], end = starts[c + 1];
#pragma omp parallel for num_threads(pd_threads(context, end - begin, ROW_NANOSECONDS)) schedule(static)
        for (int p = begin; p < end; p++) pd_two_way_update_repel(inverse, rows, strength, range, x, y, p);
    }
    return PD_OK;
}

pd_status pd_two_way_relax(pd_context *context, const pd_two_way_rows *edges, const pd_incidence *of_edges, const pd_two_way_rows *pairs,
                           const pd_incidence *of_pairs, double penalty, const real *pushed) {
    const pd_two_way_rows *all[] = {edges, pairs};
    for (int i = 0; i < 2; i++) {
#pragma omp parallel for num_threads(pd_threads(context, all[i]->n, ROW_NANOSECONDS)) schedule(static)
        for (int p = 0; p < all[i]->n; p++) pd_two_way_update_relax(edges, of_edges, pairs, of_pairs, all[i], penalty, pushed, p);
    }
    return PD_OK;
}

pd_status pd_two_way_descend(pd_context *context, const pd_model *model, int n_points, const pd_two_way_rows *pairs,
                             const pd_incidence *of_pairs, double strength, double range, const real *x, const real *y_0, real *curvature,
                             real *goal) {
#pragma omp parallel for num_threads(pd_threads(context, n_points, NEIGHBOURS_NANOSECONDS)) schedule(static)
    for (int i = 0; i < n_points; i++) pd_two_way_update_descend(model, pairs, of_pairs, strength, range, x, y_0, i, curvature, goal);
    return PD_OK;
}

pd_status pd_two_way_slabs(pd_context *context, const pd_contact_pairs *pairs, const real *points, const real *y,
                           const pd_two_way_gaps *gaps) {
#pragma omp parallel for num_threads(pd_threads(context, pairs->n, ROW_NANOSECONDS)) schedule(static)
    for (int p = 0; p < pairs->n; p++) pd_two_way_update_slab(pairs, gaps, points, y, p);
    return PD_OK;
}

pd_status pd_two_way_forward(pd_context *context, int n_vertices, const pd_contact_pairs *pairs, const pd_incidence *incidence,
                             const pd_two_way_gaps *gaps, const real *points, const real *y, real *x) {
#pragma omp parallel for num_threads(pd_threads(context, n_vertices, NEIGHBOURS_NANOSECONDS)) schedule(static)
    for (int i = 0; i < n_vertices; i++) pd_two_way_update_forward(pairs, incidence, gaps, points, y, i, x);
    return PD_OK;
}

pd_status pd_two_way_prescribed_fraction(pd_context *context, int n_vertices, int n_points, const pd_contact_pairs *pairs,
                                         const pd_incidence *incidence, const pd_two_way_gaps *gaps, const real *points, const real *y,
                                         double *fraction) {
    double least = 1.0;
#pragma omp parallel for num_threads(pd_threads(context, n_points - n_vertices, NEIGHBOURS_NANOSECONDS)) schedule(static) \
    reduction(min : least)
    for (int i = n_vertices; i < n_points; i++) {
        double here = pd_two_way_update_fraction(pairs, incidence, gaps, points, y, i);
        least = here < least ? here : least;
    }
    *fraction = least;
    return PD_OK;
}
