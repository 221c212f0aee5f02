/* Loops over embedded points, one thread per vertex. */
#include "cuda/context.cuh"
#include "cuda/vertices.cuh"

#include "updates/contact/embedding_update.h"

static __global__ void gather_kernel(pd_vertices vertices, pd_embedding embedding, const real *forces, real *out) {
    const pd_model model = vertices.model();
    int v = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (v < embedding.n_vertices) pd_embedding_update_gather(&model, &embedding, forces, v, out);
}

pd_status pd_embedding_gather(pd_context *context, const pd_model *model, const pd_embedding *embedding, const real *forces, real *out) {
    PD_LAUNCH(context, gather_kernel, embedding->n_vertices, pd_vertices_of(model), *embedding, forces, out);
    return PD_OK;
}

static __global__ void bounds_kernel(pd_vertices vertices, pd_embedding embedding, const double *bounds, double *out) {
    const pd_model model = vertices.model();
    int v = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (v < embedding.n_vertices) out[v] = pd_embedding_update_bound(&model, &embedding, bounds, v);
}

pd_status pd_embedding_bounds(pd_context *context, const pd_model *model, const pd_embedding *embedding, const double *bounds,
                              double *out) {
    PD_LAUNCH(context, bounds_kernel, embedding->n_vertices, pd_vertices_of(model), *embedding, bounds, out);
    return PD_OK;
}

static __global__ void displacement_bounds_kernel(pd_embedding embedding, const real *of_points, const unsigned char *marks, real *bound,
                                                  unsigned char *touching) {
    int v = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (v < embedding.n_vertices) bound[v] = pd_embedding_update_displacement_bound(&embedding, of_points, marks, v, touching + v);
}

pd_status pd_embedding_displacement_bounds(pd_context *context, const pd_embedding *embedding, const real *of_points,
                                           const unsigned char *marks, real *bound, unsigned char *touching) {
    PD_LAUNCH(context, displacement_bounds_kernel, embedding->n_vertices, *embedding, of_points, marks, bound, touching);
    return PD_OK;
}
