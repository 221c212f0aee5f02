/* The list of all methods, one line each. No other file except the method's own names it. */
#ifndef PD_DYNAMICS_METHODS_H
#define PD_DYNAMICS_METHODS_H

#include "dynamics/method.h"

#define PD_METHOD_TABLE(METHOD)            \
    METHOD(pd_projective_dynamics_method)  \
    METHOD(pd_newton_method)               \
    METHOD(pd_nonlinear_cg_method)         \
    METHOD(pd_position_based_method)       \
    METHOD(pd_vertex_block_descent_method) \
    METHOD(pd_block_jacobi_method)         \
    METHOD(pd_gradient_descent_method)     \
    METHOD(pd_quasi_newton_method)         \
    METHOD(pd_xpbd_method)                 \
    METHOD(pd_admm_method)                 \
    METHOD(pd_callback_method)

/* [PD_METHOD_COUNT], in the order of the table. */
extern const pd_method *const pd_methods[];

enum {
#define PD_COUNT_METHOD(method) method##_place,
    PD_METHOD_TABLE(PD_COUNT_METHOD)
#undef PD_COUNT_METHOD
        PD_METHOD_COUNT
};

/* The settings of every method in addition to its own, in pd_settings. One of the accelerators (accelerators.h) is added to them. */
extern const pd_option pd_frame_options[];

/* The method of that name; NULL: none. */
const pd_method *pd_method_find(const char *name);

#endif
