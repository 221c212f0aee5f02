/* What kernels over elements share. They are macros expanded over the element table, one kernel per kind, as on the CPU: the element's
 * formula is the same function. */
#ifndef PD_CUDA_ELEMENTS_CUH
#define PD_CUDA_ELEMENTS_CUH

#include "elements/element.h"

#include "cuda/context.cuh"

/* F of element e at positions x. */
#define PD_DEFORMATION_AT(k, d, x, e, F)                                                                                                \
    do {                                                                                                                                \
        real at_[3 * (k)];                                                                                                              \
        for (int a_ = 0; a_ < (k); a_++)                                                                                                \
            for (int c_ = 0; c_ < 3; c_++) at_[3 * a_ + c_] = (x)[3 * (size_t)g.vertices[(size_t)(e) * (k) + (size_t)a_] + (size_t)c_]; \
        pd_element_deformation(k, d, at_, g.rest + (size_t)(e) * PD_REST_COUNT(k, d), F);                                               \
    } while (0)

#endif
