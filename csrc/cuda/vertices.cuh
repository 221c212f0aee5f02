/* What a loop that looks at no element is told of the model: of its 1.2 KB these 32 bytes. By value, since memory of the device would be
 * one more read before all others. */
#ifndef PD_CUDA_VERTICES_CUH
#define PD_CUDA_VERTICES_CUH

#include "loops/backend.h"

struct pd_vertices {
    int n;
    real *masses;
    unsigned char *fixed;
    real *subspace;

    /* For functions that take a model and ask for no more of it than this; what is not asked for, the compiler leaves out. */
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
