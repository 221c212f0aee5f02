/* What a solver contributes to the common frame, and the inside of a simulation that it works on. */
#ifndef PD_DYNAMICS_METHOD_H
#define PD_DYNAMICS_METHOD_H

#include "dynamics/simulation.h"

typedef struct pd_newton pd_newton;
typedef struct pd_nonlinear_cg pd_nonlinear_cg;
typedef struct pd_descent pd_descent;
typedef struct pd_quasi_newton pd_quasi_newton;
typedef struct pd_xpbd pd_xpbd;
typedef struct pd_admm pd_admm;
typedef struct pd_chunks pd_chunks; /* chunk.h */

struct pd_simulation {
    pd_error error;
    pd_settings settings;
    pd_context *context;
    pd_model model;
    const pd_cholesky_functions *cholesky;

    /* host side of the model; the arrays are borrowed from the description */
    pd_element_set *sets; /* [n_sets] */
    int n_sets;
    const double *masses;
    const unsigned char *fixed;
    const double *subspace; /* [n,3,3] or NULL */

    /* made at creation */
    pd_corners corners;
    pd_csr pattern;            /* row_start NULL until first used */
    pd_csr system_matrix;      /* n = 0 until first used */
    int *slots[PD_KIND_COUNT]; /* B, on first use */
    int *diagonal_slots;       /* B, on first use */
    real *hessian_blocks;      /* B [nnz,3,3], on first use */
    double stiffness_sums[2];  /* sum of PD weights: of dimensionless F, and of F in metres */
    double inertia_sum;        /* sum of m/h^2 */
    double matrix_trace;       /* of A: inertia_sum + sum of w |g|^2, N/m */
    double *stiffness_rows;    /* H [n] bound of the Hessian's row sums near rest, N/m; see rounding.c */
    double stiffness_norm;     /* of those of free vertices, N/m */
    double stiffness_by_mass;  /* sqrt(sum of their squares over the masses), N/m/sqrt(kg) */
    double largest_coordinate; /* of x_t, m; negative: not looked at yet, see pd_simulation_size */

    /* state and work vectors, B [n,3] */
    real *x, *v, *v_previous, *load;
    real *x_t, *offset, *targets;
    real *gradient, *direction, *step;
    real *trial, *trial_offset, *trial_gradient;
    int has_previous;
    int shared; /* others may read and write x and v */

    /* energy.c */
    double load_norm;  /* sqrt(sum of m |load|^2) over free vertices, sqrt(J)/s */
    double reach;      /* R, sqrt(J) */
    int watched_steps; /* since the state was set */

    double *scalars; /* B [PD_ENERGY_COUNT + 2] */
    real *staging;   /* H [n,3] */

    /* solvers */
    pd_linear *linear; /* of the global step */
    pd_newton *newton;
    pd_nonlinear_cg *cg;
    pd_descent *descent;
    pd_quasi_newton *quasi_newton;
    pd_xpbd *xpbd;
    pd_admm *admm;
    int prepared;
    pd_chunks *chunks;
    int iteration; /* of the step being solved, from 0 */
    int guarded;   /* the method goes back by itself from iterates that blow up: the frame does not test for them */
    int restarted; /* iteration at which the Chebyshev weights began; a method that goes back to an earlier state sets it */
};

typedef struct pd_method {
    const char *name;
    pd_status (*prepare)(pd_simulation *self);
    /* Writes self->direction from self->x and self->offset. *stalled = 1: no direction lowers the potential. */
    pd_status (*direction)(pd_simulation *self, int *stalled);
    int uses_linear;         /* has a global step with the system matrix, solved by settings.linear */
    int minimises_potential; /* 0: it does not minimise G, and a G that ends higher than it began is no divergence */
    int ignores_material;    /* bodies are not as stiff as their material says: its energy bounds no motion */
    int fills_gradient;      /* direction leaves dG/dx of the x it started from in self->gradient */
    /* After the last iteration's move, inside the clock; NULL: nothing to do. */
    pd_status (*finish)(pd_simulation *self);
    /* Whether direction, with these settings, can be captured into a graph: it waits for nothing, never stalls, passes the same pointers
     * and numbers every time (iteration 0 of a step may differ from the others), and ends with its buffers as it found them.
     * NULL: it cannot. */
    int (*capturable)(const pd_simulation *self);
} pd_method;

extern const pd_method pd_projective_dynamics_method;
extern const pd_method pd_newton_method;
extern const pd_method pd_nonlinear_cg_method;
extern const pd_method pd_position_based_method;
extern const pd_method pd_vertex_block_descent_method;
extern const pd_method pd_block_jacobi_method;
extern const pd_method pd_gradient_descent_method;
extern const pd_method pd_quasi_newton_method;
extern const pd_method pd_xpbd_method;
extern const pd_method pd_admm_method;

void pd_newton_destroy(pd_newton *newton);
void pd_nonlinear_cg_destroy(pd_nonlinear_cg *cg);
void pd_descent_destroy(pd_descent *descent);
void pd_quasi_newton_destroy(pd_quasi_newton *quasi_newton);
void pd_xpbd_destroy(pd_xpbd *xpbd);
void pd_admm_destroy(pd_admm *admm);
int pd_xpbd_colours(const pd_xpbd *xpbd); /* 0: NULL */

/* Shared by the methods: */
int pd_always_capturable(const pd_simulation *self); /* 1: for methods that can be captured with any settings */
const pd_method *pd_simulation_method(const pd_simulation *self);
pd_step_data pd_simulation_step_data(const pd_simulation *self);
pd_status pd_simulation_norm(pd_simulation *self, const real *vector, double *norm);
/* Sum of the parts of G at x, offset (B). `magnitude`, may be NULL: the sum of their absolute values. */
pd_status pd_simulation_potential_at(pd_simulation *self, const real *x, const real *offset, double *potential, double *magnitude);
/* Sums up what the floors of rounding need of the description: stiffness_... , inertia_sum, matrix_trace. Errors: PD_ERROR_MEMORY. */
pd_status pd_simulation_sum_stiffness(pd_simulation *self);
/* The largest |coordinate| of x_t, m. Read back on the first call of a step, so that it follows from the state alone. */
double pd_simulation_size(pd_simulation *self);
/* What rounding alone may change in a potential whose parts add up to `magnitude`, J. */
double pd_simulation_rounding(pd_simulation *self, double magnitude);
/* sqrt(sum of m |a|^2) of the accelerations that forces of that size, rounding of x_t, would cause, sqrt(J)/s. */
double pd_simulation_acceleration_rounding(pd_simulation *self);
/* Restricts a Hessian, blocks [nnz,3,3] H, to the lines and planes that vertices are held in: block (i,j) becomes P_i B P_j. With
 * `filled` the diagonal gets t (I - P_i), t of the block's own size, so that the matrix keeps its inverse. */
void pd_simulation_restrict(const pd_simulation *self, real *blocks, int filled);
/* Makes the pattern of the Hessian. */
pd_status pd_simulation_need_pattern(pd_simulation *self);
/* Makes it, slots and hessian_blocks. */
pd_status pd_simulation_need_hessian(pd_simulation *self);

#endif
