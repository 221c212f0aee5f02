/* Loops of the two-way interior point method, one thread per constraint or per vertex. */
#include "cuda/context.cuh"
#include "cuda/vertices.cuh"
#include "updates/contact/two_way_forward.h"
#include "updates/contact/two_way_update.h"

static __global__ void feature_kernel(pd_vertices vertices, pd_contact_scene scene, pd_contact_pairs pairs, pd_two_way_choice choice,
                                      int *kind, int *points, real *length, real *normal) {
    const pd_model model = vertices.model();
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < pairs.n)
        pd_two_way_update_feature(&model, &scene, &pairs, &choice, p, kind + PD_TWO_WAY_FEATURES * (size_t)p,
                                  points + 4 * PD_TWO_WAY_FEATURES * (size_t)p, length + PD_TWO_WAY_FEATURES * (size_t)p,
                                  normal + 3 * (size_t)p);
}

pd_status pd_two_way_features(pd_context *context, const pd_model *model, const pd_contact_scene *scene, const pd_contact_pairs *pairs,
                              const pd_two_way_choice *choice, int *kind, int *points, real *length, real *normal) {
    PD_LAUNCH(context, feature_kernel, pairs->n, pd_vertices_of(model), *scene, *pairs, *choice, kind, points, length, normal);
    return PD_OK;
}

static __global__ void first_kernel(int n, const int *kind, const int *points, pd_incidence incidence, unsigned char *flags) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < n) flags[p] = pd_two_way_update_first(kind, points, &incidence, p);
}

pd_status pd_two_way_mark_first(pd_context *context, int n, const int *kind, const int *points, const pd_incidence *incidence,
                                unsigned char *flags) {
    PD_LAUNCH(context, first_kernel, n, n, kind, points, *incidence, flags);
    return PD_OK;
}

static __global__ void take_kernel(int n, const int *rows, const int *kind, const int *points, const real *length, pd_two_way_rows before,
                                   pd_incidence incidence, pd_two_way_rows out) {
    int r = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (r < n) pd_two_way_update_take(kind, points, length, &before, &incidence, rows[r], &out, r);
}

pd_status pd_two_way_take(pd_context *context, int n, const int *rows, const int *kind, const int *points, const real *length,
                          const pd_two_way_rows *before, const pd_incidence *incidence, const pd_two_way_rows *out) {
    PD_LAUNCH(context, take_kernel, n, n, rows, kind, points, length, *before, *incidence, *out);
    return PD_OK;
}

static __global__ void metric_kernel(pd_vertices vertices, int n, pd_two_way_rows edges, pd_incidence of_edges, pd_two_way_rows pairs,
                                     pd_incidence of_pairs, double share, const real *x, const real *y_0, real *inverse, real *curvature,
                                     real *goal, real *pushed) {
    const pd_model model = vertices.model();
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    pd_two_way_update_metric(&model, &edges, &of_edges, &pairs, &of_pairs, share, x, y_0, i, inverse, curvature, goal);
    pd_two_way_update_gather(inverse, &edges, &of_edges, &pairs, &of_pairs, pushed, i);
}

pd_status pd_two_way_metric(pd_context *context, const pd_model *model, int n_points, const pd_two_way_rows *edges,
                            const pd_incidence *of_edges, const pd_two_way_rows *pairs, const pd_incidence *of_pairs, double share,
                            const real *x, const real *y_0, real *inverse, real *curvature, real *goal, real *pushed) {
    PD_LAUNCH(context, metric_kernel, n_points, pd_vertices_of(model), n_points, *edges, *of_edges, *pairs, *of_pairs, share, x, y_0,
              inverse, curvature, goal, pushed);
    return PD_OK;
}

static __global__ void undamped_kernel(pd_vertices vertices, const real *curvature, const real *x, const real *y, real *out) {
    const pd_model model = vertices.model();
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < vertices.n) pd_two_way_update_undamped(&model, curvature, x, y, i, out);
}

pd_status pd_two_way_undamped(pd_context *context, const pd_model *model, const real *curvature, const real *x, const real *y, real *out) {
    PD_LAUNCH(context, undamped_kernel, model->n_vertices, pd_vertices_of(model), curvature, x, y, out);
    return PD_OK;
}

static __global__ void linearise_kernel(pd_vertices vertices, double limit, pd_rubbing rubbing, const real *x, pd_two_way_rows rows) {
    const pd_model model = vertices.model();
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < rows.n) pd_two_way_update_linearise(&model, limit, &rubbing, x, p, &rows);
}

pd_status pd_two_way_linearise(pd_context *context, const pd_model *model, double limit, const pd_rubbing *rubbing, const real *x,
                               const pd_two_way_rows *rows) {
    PD_LAUNCH(context, linearise_kernel, rows->n, pd_vertices_of(model), limit, *rubbing, x, *rows);
    return PD_OK;
}

static __global__ void weigh_kernel(const real *inverse, const real *x, const real *begun, const real *goal, pd_two_way_rows rows) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < rows.n) pd_two_way_update_weigh(inverse, x, begun, goal, p, &rows);
}

pd_status pd_two_way_weigh(pd_context *context, const real *inverse, const real *x, const real *begun, const real *goal,
                           const pd_two_way_rows *rows) {
    PD_LAUNCH(context, weigh_kernel, rows->n, inverse, x, begun, goal, *rows);
    return PD_OK;
}

static __global__ void colour_kernel(pd_vertices vertices, pd_two_way_rows rows, pd_incidence incidence, int *fresh) {
    const pd_model model = vertices.model();
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < rows.n) fresh[p] = pd_two_way_update_colour(&model, &rows, &incidence, p);
}

/* An integer count: it does not depend on the order of its additions. */
static __global__ void settle_kernel(int n, const int *fresh, int *colours, unsigned long long *left) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p >= n) return;
    colours[p] = fresh[p];
    if (fresh[p] <= 0) atomicAdd(left, 1ull);
}

pd_status pd_two_way_colour_round(pd_context *context, const pd_model *model, const pd_two_way_rows *rows, const pd_incidence *incidence,
                                  int *fresh, uint64_t *left) {
    pd_status status = pd_memory_clear(context, left, sizeof *left);
    if (status) return status;
    PD_LAUNCH(context, colour_kernel, rows->n, pd_vertices_of(model), *rows, *incidence, fresh);
    PD_LAUNCH(context, settle_kernel, rows->n, rows->n, fresh, rows->colour, (unsigned long long *)left);
    return PD_OK;
}

static __global__ void colour_keys_kernel(int n, int row_bits, const int *colours, uint64_t *keys) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < n) keys[p] = (uint64_t)(colours[p] - 1) << row_bits | (uint64_t)p;
}

pd_status pd_two_way_colour_keys(pd_context *context, const pd_two_way_rows *rows, int row_bits, uint64_t *keys) {
    PD_LAUNCH(context, colour_keys_kernel, rows->n, rows->n, row_bits, rows->colour, keys);
    return PD_OK;
}

static __global__ void colour_starts_kernel(int n, int row_bits, const uint64_t *keys, int *order, int *starts, uint64_t *n_colours) {
    int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (e < n) pd_two_way_update_start(n, row_bits, keys, order, starts, n_colours, e);
}

pd_status pd_two_way_colour_starts(pd_context *context, int n, int row_bits, const uint64_t *keys, int *order, int *starts,
                                   uint64_t *n_colours) {
    pd_status status = pd_memory_clear(context, n_colours, sizeof *n_colours);
    if (status) return status;
    PD_LAUNCH(context, colour_starts_kernel, n, n, row_bits, keys, order, starts, n_colours);
    return PD_OK;
}

static __global__ void arrange_kernel(const int *order, pd_two_way_rows rows, int *place, pd_two_way_rows out) {
    int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (e < rows.n) pd_two_way_update_arrange(order, &rows, place, &out, e);
}

static __global__ void arrange_roles_kernel(int entries, int n_points, pd_incidence incidence, const int *place, pd_incidence out) {
    int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (e < entries) pd_two_way_update_arrange_roles(n_points, &incidence, place, &out, e);
}

pd_status pd_two_way_arrange(pd_context *context, int n_points, const int *order, const pd_two_way_rows *rows,
                             const pd_incidence *incidence, int *place, const pd_two_way_rows *out, const pd_incidence *out_incidence) {
    int n = rows->n, entries = 4 * n > n_points + 1 ? 4 * n : n_points + 1;
    PD_LAUNCH(context, arrange_kernel, n, order, *rows, place, *out);
    PD_LAUNCH(context, arrange_roles_kernel, entries, entries, n_points, *incidence, place, *out_incidence);
    return PD_OK;
}

static __global__ void gather_kernel(int n, const real *inverse, pd_two_way_rows edges, pd_incidence of_edges, pd_two_way_rows pairs,
                                     pd_incidence of_pairs, real *pushed) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) pd_two_way_update_gather(inverse, &edges, &of_edges, &pairs, &of_pairs, pushed, i);
}

pd_status pd_two_way_gather(pd_context *context, int n_points, const real *inverse, const pd_two_way_rows *edges,
                            const pd_incidence *of_edges, const pd_two_way_rows *pairs, const pd_incidence *of_pairs, real *pushed) {
    PD_LAUNCH(context, gather_kernel, n_points, n_points, inverse, *edges, *of_edges, *pairs, *of_pairs, pushed);
    return PD_OK;
}

static __global__ void arrive_kernel(int n, const real *goal, const real *pushed, real *y) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) y[i] = goal[i] + pushed[i];
}

pd_status pd_two_way_arrive(pd_context *context, int n_points, const real *goal, const real *pushed, real *y) {
    PD_LAUNCH(context, arrive_kernel, 3 * n_points, 3 * n_points, goal, pushed, y);
    return PD_OK;
}

static __global__ void project_kernel(const real *inverse, pd_two_way_rows rows, int begin, int n, real *pushed) {
    int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (e < n) pd_two_way_update_project(inverse, &rows, pushed, begin + e);
}

pd_status pd_two_way_sweep(pd_context *context, const real *inverse, const pd_two_way_rows *rows, int n_colours, const int *starts,
                           real *pushed) {
    for (int c = 0; c < n_colours; c++) {
        int n = starts[c + 1] - starts[c];
        PD_LAUNCH(context, project_kernel, n, inverse, *rows, starts[c], n, pushed);
    }
    return PD_OK;
}

static __global__ void repel_kernel(const real *inverse, pd_two_way_rows rows, int begin, int n, double strength, double range,
                                    const real *x, real *y) {
    int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (e < n) pd_two_way_update_repel(inverse, &rows, strength, range, x, y, begin + e);
}

pd_status pd_two_way_repel(pd_context *context, const real *inverse, const pd_two_way_rows *rows, int n_colours, const int *starts,
                           double strength, double range, const real *x, real *y) {
    for (int c = 0; c < n_colours; c++) {
        int n = starts[c + 1] - starts[c];
        PD_LAUNCH(context, repel_kernel, n, inverse, *rows, starts[c], n, strength, range, x, y);
    }
    return PD_OK;
}

static __global__ void relax_kernel(pd_two_way_rows edges, pd_incidence of_edges, pd_two_way_rows pairs, pd_incidence of_pairs,
                                    pd_two_way_rows rows, double penalty, const real *pushed) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < rows.n) pd_two_way_update_relax(&edges, &of_edges, &pairs, &of_pairs, &rows, penalty, pushed, p);
}

pd_status pd_two_way_relax(pd_context *context, const pd_two_way_rows *edges, const pd_incidence *of_edges, const pd_two_way_rows *pairs,
                           const pd_incidence *of_pairs, double penalty, const real *pushed) {
    if (edges->n) PD_LAUNCH(context, relax_kernel, edges->n, *edges, *of_edges, *pairs, *of_pairs, *edges, penalty, pushed);
    if (pairs->n) PD_LAUNCH(context, relax_kernel, pairs->n, *edges, *of_edges, *pairs, *of_pairs, *pairs, penalty, pushed);
    return PD_OK;
}

static __global__ void descend_kernel(pd_vertices vertices, int n, pd_two_way_rows pairs, pd_incidence of_pairs, double strength,
                                      double range, const real *x, const real *y_0, real *curvature, real *goal) {
    const pd_model model = vertices.model();
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) pd_two_way_update_descend(&model, &pairs, &of_pairs, strength, range, x, y_0, i, curvature, goal);
}

pd_status pd_two_way_descend(pd_context *context, const pd_model *model, int n_points, const pd_two_way_rows *pairs,
                             const pd_incidence *of_pairs, double strength, double range, const real *x, const real *y_0, real *curvature,
                             real *goal) {
    PD_LAUNCH(context, descend_kernel, n_points, pd_vertices_of(model), n_points, *pairs, *of_pairs, strength, range, x, y_0, curvature,
              goal);
    return PD_OK;
}

static __global__ void slab_kernel(pd_contact_pairs pairs, const real *points, const real *y, pd_two_way_gaps gaps) {
    int p = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (p < pairs.n) pd_two_way_update_slab(&pairs, &gaps, points, y, p);
}

pd_status pd_two_way_slabs(pd_context *context, const pd_contact_pairs *pairs, const real *points, const real *y,
                           const pd_two_way_gaps *gaps) {
    PD_LAUNCH(context, slab_kernel, pairs->n, *pairs, points, y, *gaps);
    return PD_OK;
}

static __global__ void forward_kernel(int n, pd_contact_pairs pairs, pd_incidence incidence, pd_two_way_gaps gaps, const real *points,
                                      const real *y, real *x) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) pd_two_way_update_forward(&pairs, &incidence, &gaps, points, y, i, x);
}

pd_status pd_two_way_forward(pd_context *context, int n_vertices, const pd_contact_pairs *pairs, const pd_incidence *incidence,
                             const pd_two_way_gaps *gaps, const real *points, const real *y, real *x) {
    PD_LAUNCH(context, forward_kernel, n_vertices, n_vertices, *pairs, *incidence, *gaps, points, y, x);
    return PD_OK;
}

static __global__ void prescribed_fraction_kernel(double *fraction) { *fraction = 1.0; }

static __global__ void prescribed_kernel(int first, int n, pd_contact_pairs pairs, pd_incidence incidence, pd_two_way_gaps gaps,
                                         const real *points, const real *y, double *fraction) {
    int i = first + (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    double here = pd_two_way_update_fraction(&pairs, &incidence, &gaps, points, y, i);
    // nonnegative numbers have the order of their bits, and a minimum does not depend on the schedule
    unsigned long long bits;
    memcpy(&bits, &here, sizeof bits);
    if (here < 1.0) atomicMin((unsigned long long *)fraction, bits);
}

pd_status pd_two_way_prescribed_fraction(pd_context *context, int n_vertices, int n_points, const pd_contact_pairs *pairs,
                                         const pd_incidence *incidence, const pd_two_way_gaps *gaps, const real *points, const real *y,
                                         double *fraction) {
    PD_LAUNCH_SHAPE(context, prescribed_fraction_kernel, 1u, 1u, fraction);
    PD_LAUNCH(context, prescribed_kernel, n_points - n_vertices, n_vertices, n_points, *pairs, *incidence, *gaps, points, y, fraction);
    return PD_OK;
}
