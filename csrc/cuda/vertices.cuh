/* The part of the model for loops without elements: 32 bytes of 1.2 KB. By value, since device memory would add a read before all
 * others. */
#ifndef PD_CUDA_VERTICES_CUH
#define PD_CUDA_VERTICES_CUH

#include "loops/backend.h"

struct pd_vertices {
    int n;
    real *masses;
    unsigned char *fixed;
    real *subspace;

    /* For functions that take a model and read no more than these members. The compiler removes the others. */
    __device__ __forceinline__ pd_model model() const {
        pd_model model = {};
        model.n_vertices = n, model.masses = masses, model.fixed = fixed, model.subspace = subspace;
        return model;
    }
};

static inline pd_vertices pd_vertices_of(const pd_model *model) {
    return {model->n_vertices, model->masses, model->fixed, model->subspace};
}

#endif
