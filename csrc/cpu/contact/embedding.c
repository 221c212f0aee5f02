/* Loops over embedded points. */
#include "cpu/context.h"

#include "updates/contact/embedding_update.h"

enum { NANOSECONDS = 20 };

pd_status pd_embedding_gather(pd_context *context, const pd_model *model, const pd_embedding *embedding, const real *forces, real *out) {
#pragma omp parallel for num_threads(pd_threads(context, embedding->n_vertices, NANOSECONDS)) schedule(static)
    for (int v = 0; v < embedding->n_vertices; v++) pd_embedding_update_gather(model, embedding, forces, v, out);
    return PD_OK;
}

pd_status pd_embedding_bounds(pd_context *context, const pd_model *model, const pd_embedding *embedding, const double *bounds,
                              double *out) {
#pragma omp parallel for num_threads(pd_threads(context, embedding->n_vertices, NANOSECONDS)) schedule(static)
    for (int v = 0; v < embedding->n_vertices; v++) out[v] = pd_embedding_update_bound(model, embedding, bounds, v);
    return PD_OK;
}

pd_status pd_embedding_displacement_bounds(pd_context *context, const pd_embedding *embedding, const real *of_points,
                                           const unsigned char *marks, real *bound, unsigned char *touching) {
#pragma omp parallel for num_threads(pd_threads(context, embedding->n_vertices, NANOSECONDS)) schedule(static)
    for (int v = 0; v < embedding->n_vertices; v++)
        bound[v] = pd_embedding_update_displacement_bound(embedding, of_points, marks, v, touching + v);
    return PD_OK;
}
