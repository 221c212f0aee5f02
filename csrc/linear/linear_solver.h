/* Linear solvers: d with A d = r, from d = 0, for a symmetric positive definite A and one or several right-hand sides.
 *
 * Every solver computes the correction d, never positions. The caller forms r with the least rounding: a simulation sums element forces,
 * pdgpu.linear.solve forms b - A x0 in double. So float32 loses no digits to the size of x. The same object is the global step of
 * Projective Dynamics (A over the vertices, three columns, without rows of fixed vertices) and a solver of its own. */
#ifndef PD_LINEAR_LINEAR_SOLVER_H
#define PD_LINEAR_LINEAR_SOLVER_H

#include "base/option.h"
#include "linear/anderson.h"
#include "linear/chebyshev.h"
#include "loops/matrix_loops.h"
#include "sparse/cholesky.h"
#include "sparse/system_matrix.h"

/*  X(KIND, name of its pd_linear_method), in the order of KINDS in python/pdgpu/linear/linear_solvers.py. A new solver is one file and one
 * line here. */
#define PD_LINEAR_TABLE(X)                                      \
    X(PD_LINEAR_DIRECT, direct)                                 \
    X(PD_LINEAR_JACOBI, jacobi)                                 \
    X(PD_LINEAR_GAUSS_SEIDEL, gauss_seidel)                     \
    X(PD_LINEAR_SYMMETRIC_GAUSS_SEIDEL, symmetric_gauss_seidel) \
    X(PD_LINEAR_SOR, sor)                                       \
    X(PD_LINEAR_PCG, pcg)                                       \
    X(PD_LINEAR_A_JACOBI, a_jacobi)                             \
    X(PD_LINEAR_SCHUR, schur)                                   \
    X(PD_LINEAR_FUNCTION, function)

enum {
#define PD_LINEAR_KIND(KIND, name) KIND,
    PD_LINEAR_TABLE(PD_LINEAR_KIND)
#undef PD_LINEAR_KIND
        PD_LINEAR_COUNT
};

/*  X(KIND, name of its pd_preconditioner), in the order of PRECONDITIONERS in python/pdgpu/linear/linear_solvers.py. A new preconditioner
 * is one file of linear/preconditioners and one line here. */
#define PD_PRECONDITIONER_TABLE(X)              \
    X(PD_PRECONDITIONER_JACOBI, jacobi)         \
    X(PD_PRECONDITIONER_BLOCK, block)           \
    X(PD_PRECONDITIONER_CHEBYSHEV, chebyshev)   \
    X(PD_PRECONDITIONER_MULTILEVEL, multilevel) \
    X(PD_PRECONDITIONER_AMG, amg)               \
    X(PD_PRECONDITIONER_FUNCTION, function)

enum {
#define PD_PRECONDITIONER_KIND(KIND, name) KIND,
    PD_PRECONDITIONER_TABLE(PD_PRECONDITIONER_KIND)
#undef PD_PRECONDITIONER_KIND
        PD_PRECONDITIONER_COUNT
};

enum { PD_NAMED_PRECONDITIONER_COUNT = PD_PRECONDITIONER_FUNCTION }; /* those that need no function: the first ones */

enum { PD_LARGEST_PRECONDITIONER_DEGREE = 100 };

enum { PD_SUPPRESS_NOTHING, PD_SUPPRESS_THRESHOLD, PD_SUPPRESS_BENDING };

/* A function of the caller: z = f(r), both H [rows,width]. Returns PD_OK, or a status that ends the solve. */
typedef struct pd_vector_function {
    void *user;
    pd_status (*apply)(void *user, const real *r, real *z, int rows, int width); /* NULL: none */
} pd_vector_function;

typedef struct pd_linear_settings {
    int kind;
    int iterations;                  /* of a solve */
    double tolerance;                /* stop at |r - A d| <= tolerance |r|; 0: never */
    int check_every;                 /* iterations between two checks of the residual */
    double weight;                   /* Jacobi, A-Jacobi; 0: 1.8 / (the largest eigenvalue of D^-1 A) */
    double omega;                    /* SOR */
    double rho;                      /* spectral radius of a weighted Jacobi step, for the composed A-Jacobi */
    int natural;                     /* Gauss-Seidel: natural order of the rows instead of colours */
    int preconditioner;              /* PCG: PD_PRECONDITIONER_... */
    pd_vector_function function;     /* of PD_LINEAR_FUNCTION and PD_PRECONDITIONER_FUNCTION; `user` is borrowed */
    int degree;                      /* of the polynomial of PD_PRECONDITIONER_CHEBYSHEV */
    int order, composed;             /* A-Jacobi */
    int suppression;                 /* A-Jacobi: PD_SUPPRESS_... */
    int biased;                      /* A-Jacobi: suppress inside R^2 as printed, not in a preconditioner */
    double threshold;                /* of PD_SUPPRESS_THRESHOLD */
    int positive;                    /* Chebyshev on [0, rho] instead of [-rho, rho] */
    const unsigned char *in_contact; /* Schur: H [n], 1 in the second part; borrowed, and no option of its own */
    double active;                   /* Schur: stiffness of contact at every vertex of the contact region once it acts at one, N/m; 0: the
                                  * added stiffness */
    pd_anderson_settings anderson;   /* window 0: none; restarts in every solve */
    pd_chebyshev chebyshev;          /* rho is that of one step (A-Jacobi: of one weighted Jacobi step); restarts in every solve */
} pd_linear_settings;

/* The same solver with the inverses of the 3x3 diagonal blocks as preconditioner. */
static inline pd_linear_settings pd_linear_by_blocks(pd_linear_settings settings) {
    settings.preconditioner = PD_PRECONDITIONER_BLOCK;
    return settings;
}

extern const pd_option pd_linear_options[];

typedef enum pd_linear_stop { PD_LINEAR_ITERATION_CAP, PD_LINEAR_CONVERGED, PD_LINEAR_STALLED, PD_LINEAR_DIVERGED } pd_linear_stop;

typedef struct pd_linear_result {
    pd_linear_stop stop;
    int iterations;
    double seconds;
} pd_linear_result;

/* The observer of a solve. Divergence and stalling are detected with an observer or a tolerance. */
typedef struct pd_linear_observer {
    void *user;
    /* After every iteration, and for iteration 0, outside the timing: Frobenius norms of r - A d and of d - target. */
    void (*record)(void *user, int iteration, double seconds, double residual_norm, double distance);
    int (*interrupted)(void *user);
    const real *target; /* B [n,width] or NULL */
    const real *start;  /* B [n,width] or NULL: the first iterate of the biased A-Jacobi, whose result depends on x itself */
    int every;          /* iterations between two records */
    int counted;        /* checks of the residual are timed, for a solver that stops by it */
} pd_linear_observer;

/* The cost of A-Jacobi. */
typedef struct pd_a_jacobi_cost {
    long long nonzeros, paths, bytes, rows_recomputed;
    double refresh_seconds; /* for all rows, at the creation of the operator */
} pd_a_jacobi_cost;

typedef struct pd_linear pd_linear;

/* Copies A (for fixed != NULL only its free block) into backend memory and resolves the weight. `bending`, may be NULL: the part of A
 * that PD_SUPPRESS_BENDING leaves out. `fixed` is borrowed for the life of the solver. Factors and colours follow in pd_linear_prepare.
 * Errors: PD_ERROR_MEMORY. */
pd_status pd_linear_create(pd_linear **out, pd_context *context, const pd_cholesky_functions *cholesky, const pd_linear_settings *settings,
                           const pd_csr *A, const unsigned char *fixed /* H [n] or NULL */, const pd_csr *bending, int width);
void pd_linear_destroy(pd_linear *self); /* NULL is allowed */

/* Restricts A d = r to lines and planes of vertices: P A P d = P r, d = P d, for a residual r = P r of width 3. Call it before
 * pd_linear_prepare. Both are borrowed for the life of the solver; NULL: no lines and planes.
 *   subspace  H [n,3,3]  projectors      projectors  B [n,3,3]  the same
 * Data precomputed for A are not those of P A P. Weights and radii stay valid, since those of a restriction are no larger; A-Jacobi's
 * products do not.
 * Errors: PD_ERROR_VALUE for A-Jacobi. */
pd_status pd_linear_restrict(pd_linear *self, const double *subspace, const real *projectors);

/* Solves (A + B) d = r with symmetric positive semidefinite 3x3 blocks on the diagonal, for a residual of width 3: coupling  B [n,3,3],
 * borrowed for the life of the solver, zero now and in fixed rows. Its contents may change before every pd_linear_set_diagonal. Call it
 * before pd_linear_prepare. Weights and radii stay valid: blocks in A and in its diagonal alike move Rayleigh quotients towards 1.
 * Direct then factorises three rows per vertex.
 * Errors: PD_ERROR_MEMORY; PD_ERROR_VALUE for A-Jacobi and Schur, whose matrices are the same for all columns. */
pd_status pd_linear_couple(pd_linear *self, const real *coupling);

double pd_linear_weight(const pd_linear *self);
/* The largest eigenvalue of D^-1 A from which the weight follows; 0 for solvers without a weight. */
double pd_linear_largest_eigenvalue(const pd_linear *self);
/* Sets parameters that follow from the spectrum, before or between solves. Prepares again the data that depend on them. */
pd_status pd_linear_set(pd_linear *self, double weight, double omega, double rho, const pd_chebyshev *chebyshev);
pd_status pd_linear_prepare(pd_linear *self);

/* correction  B [n,width]  out      residual r  B [n,width]  in      observer: NULL in a simulation
 * Memory: allocates nothing.
 * Errors: PD_ERROR_SINGULAR if conjugate gradients meet a direction of negative curvature while the residual is read (observer or
 * tolerance; otherwise they stop there); PD_INTERRUPTED. Divergence is no error but result->stop. */
pd_status pd_linear_solve(pd_linear *self, const real *residual, real *correction, const pd_linear_observer *observer,
                          pd_linear_result *result);

/* An iteration of a simulation: pd_gather_forces into the residual (gather NULL: it is given), the solve, and pd_advance by d (move
 * NULL: no move). The sweeps of Jacobi and A-Jacobi include both. */
pd_status pd_linear_solve_between(pd_linear *self, const pd_gather *gather, const real *residual, const pd_move *move, real *correction);

/* Sets A = A_0 + diag(added). added  B [n], nonnegative and finite, read now and not kept; NULL: zero. Only contents change, so recorded
 * graphs stay valid. The device rebuilds the data that depend on the diagonal: the preconditioner, the rows sorted by colour, and the
 * affected rows of A-Jacobi's operator. Weights, omega, rho and the extrapolations for them stay.
 * Memory: allocates nothing. Does not synchronise. Direct is the exception: it downloads the diagonal and factorises again, in its own
 * memory and its library's. So does Schur, in its existing memory. Errors: PD_ERROR_SINGULAR from both, PD_ERROR_VALUE from Schur
 * (schur.h); the next solve reports it again. */
pd_status pd_linear_set_diagonal(pd_linear *self, const double *added);
/* Sets A = A_0 + entries. For Direct, whose pattern must have the entries of revision 0 (pd_csr_with_capacity), and Schur, whose region must
 * contain them; for free rows. Factorises again in its existing memory if a value has changed. For another revision, Direct also
 * analyses its matrix again, which allocates. entries  H, borrowed until the next call.
 * Errors: as of pd_linear_set_diagonal; PD_ERROR_VALUE for the other solvers. */
pd_status pd_linear_set_entries(pd_linear *self, const pd_entries *entries);
/* As pd_linear_set_diagonal with added  H [n]. The first call allocates a copy in backend memory. */
pd_status pd_linear_upload_diagonal(pd_linear *self, const double *added);

/* Tells whether a solve without an observer runs on the device only, with constant arguments, so that a graph can contain it. Direct
 * solves on the host, and a tolerance is tested there. */
int pd_linear_capturable(const pd_linear *self);
/* Counts the changes (pd_linear_set) that invalidate a recorded graph. */
int pd_linear_revision(const pd_linear *self);

int pd_linear_colours(const pd_linear *self); /* 0: none */
/* Zeros except for A-Jacobi. Synchronises: the device counts the rows. */
pd_status pd_linear_cost(pd_linear *self, pd_a_jacobi_cost *out);
const pd_matrix *pd_linear_matrix(const pd_linear *self); /* A in backend memory; n = 0 for Direct and Schur */

#endif
