/* Linear solvers: d with A d = r, from d = 0, for a symmetric positive definite A and one or several right-hand sides.
 *
 * Every solver works on the correction d, never on positions: r is formed by the caller in the best way it can (a simulation sums it
 * from element forces, pdgpu.linear.solve forms b - A x0 in double), so float32 loses no digits to the size of x. The same
 * object serves as the global step of Projective Dynamics (A over the vertices, three columns, rows of fixed vertices left out)
 * and alone. */
#ifndef PD_LINEAR_LINEAR_SOLVER_H
#define PD_LINEAR_LINEAR_SOLVER_H

#include "base/option.h"
#include "linear/chebyshev.h"
#include "loops/matrix_loops.h"
#include "sparse/cholesky.h"
#include "sparse/system_matrix.h"

/*  X(KIND, name of its pd_linear_method), in the order of KINDS in python/pdgpu/linear/linear_solvers.py: a new solver is one file and one
 * line here */
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

/*  X(KIND, name of its pd_preconditioner), in the order of PRECONDITIONERS in python/pdgpu/linear/linear_solvers.py: a new preconditioner is
 * one file of linear/preconditioners and one line here */
#define PD_PRECONDITIONER_TABLE(X)            \
    X(PD_PRECONDITIONER_JACOBI, jacobi)       \
    X(PD_PRECONDITIONER_BLOCK, block)         \
    X(PD_PRECONDITIONER_CHEBYSHEV, chebyshev) \
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

/* A function of the caller: z = f(r), both H [rows,width]; PD_OK, or a status that ends the solve. */
typedef struct pd_vector_function {
    void *user;
    pd_status (*apply)(void *user, const real *r, real *z, int rows, int width); /* NULL: there is none */
} pd_vector_function;

typedef struct pd_linear_settings {
    int kind;
    int iterations;              /* of a solve */
    double tolerance;            /* stop at |r - A d| <= tolerance |r|; 0: never */
    int check_every;             /* iterations between two checks of the residual */
    double weight;               /* Jacobi, A-Jacobi; 0: 1.8 / (the largest eigenvalue of D^-1 A) */
    double omega;                /* SOR */
    double rho;                  /* spectral radius of one weighted Jacobi step, for the composed A-Jacobi */
    int natural;                 /* Gauss-Seidel: rows in their natural order instead of by colours */
    int preconditioner;          /* PCG: PD_PRECONDITIONER_... */
    pd_vector_function function; /* of PD_LINEAR_FUNCTION and PD_PRECONDITIONER_FUNCTION; `user` is borrowed for the life of the solver */
    int degree;                  /* of the polynomial of PD_PRECONDITIONER_CHEBYSHEV */
    int order, composed;         /* A-Jacobi */
    int suppression;             /* A-Jacobi: PD_SUPPRESS_... */
    int biased;                  /* A-Jacobi: suppress inside R^2 as printed, instead of in a preconditioner */
    double threshold;            /* of PD_SUPPRESS_THRESHOLD */
    int positive;                /* Chebyshev on [0, rho] instead of [-rho, rho] */
    const unsigned char *prone;  /* Schur: H [n], 1 in the second part; borrowed for the life of the solver, and no option of its own */
    double active;               /* Schur: what contact counts for at every prone vertex once it counts at one, N/m; 0: for what it adds */
    pd_chebyshev chebyshev;      /* rho is that of one step (A-Jacobi: of one weighted Jacobi step); restarts in every solve */
} pd_linear_settings;

extern const pd_option pd_linear_options[];

typedef enum pd_linear_stop { PD_LINEAR_ITERATION_CAP, PD_LINEAR_CONVERGED, PD_LINEAR_STALLED, PD_LINEAR_DIVERGED } pd_linear_stop;

typedef struct pd_linear_result {
    pd_linear_stop stop;
    int iterations;
    double seconds;
} pd_linear_result;

/* Who watches a solve. With an observer, or a tolerance, divergence and stalling are noticed. */
typedef struct pd_linear_observer {
    void *user;
    /* After every iteration, and for iteration 0, outside the clock: Frobenius norms of r - A d and of d - target. */
    void (*record)(void *user, int iteration, double seconds, double residual_norm, double distance);
    int (*interrupted)(void *user);
    const real *target; /* B [n,width] or NULL */
    const real *start;  /* B [n,width] or NULL: the first iterate of the biased A-Jacobi, whose answer depends on x itself */
    int every;          /* iterations between two records */
    int counted;        /* looking at the residual counts as time of the solver, which stops by it */
} pd_linear_observer;

/* What A-Jacobi costs. */
typedef struct pd_a_jacobi_cost {
    long long nonzeros, paths, bytes, rows_recomputed;
    double refresh_seconds; /* of all rows, when the operator was made */
} pd_a_jacobi_cost;

typedef struct pd_linear pd_linear;

/* Copies A (for fixed != NULL only its free block) into backend memory and resolves the weight. `bending`, may be NULL: the part of A
 * that PD_SUPPRESS_BENDING leaves out. `fixed` is borrowed for the life of the solver. Nothing is factorised or coloured before
 * pd_linear_prepare.
 * Errors: PD_ERROR_MEMORY. */
pd_status pd_linear_create(pd_linear **out, pd_context *context, const pd_cholesky_functions *cholesky, const pd_linear_settings *settings,
                           const pd_csr *A, const unsigned char *fixed /* H [n] or NULL */, const pd_csr *bending, int width);
void pd_linear_destroy(pd_linear *self); /* NULL is allowed */

/* From here on A d = r in the lines and planes that vertices are held in: P A P d = P r, d = P d, for a residual r = P r of width 3. Before
 * pd_linear_prepare; both are borrowed for the life of the solver, NULL: nothing is held.
 *   subspace  H [n,3,3]  projectors      projectors  B [n,3,3]  the same
 * What is precomputed of A is not of P A P: weights and radii are, as those of a restriction are no larger; A-Jacobi's products are not.
 * Errors: PD_ERROR_VALUE for A-Jacobi. */
pd_status pd_linear_restrict(pd_linear *self, const double *subspace, const real *projectors);

/* From here on (A + B) d = r with symmetric positive semidefinite 3x3 blocks on the diagonal, for a residual of width 3: coupling  B
 * [n,3,3], borrowed for the life of the solver, zero now and in fixed rows; its contents may change before every pd_linear_set_diagonal.
 * Before pd_linear_prepare. Weights and radii stay, since blocks that stand on A and on its diagonal alike move Rayleigh quotients towards
 * 1. Direct then factorises three rows for every vertex. Errors: PD_ERROR_MEMORY; PD_ERROR_VALUE for A-Jacobi and Schur, whose matrices are
 * one for all columns. */
pd_status pd_linear_couple(pd_linear *self, const real *coupling);

double pd_linear_weight(const pd_linear *self);
/* The largest eigenvalue of D^-1 A behind it; 0 for solvers without a weight. */
double pd_linear_largest_eigenvalue(const pd_linear *self);
/* What only a look at the spectrum can tell, set before or between solves; prepares again what depends on it. */
pd_status pd_linear_set(pd_linear *self, double weight, double omega, double rho, const pd_chebyshev *chebyshev);
pd_status pd_linear_prepare(pd_linear *self);

/* direction  B [n,width]  out      residual r  B [n,width]  in      observer: NULL in a simulation
 * Memory: allocates nothing. Errors: PD_ERROR_SINGULAR where conjugate gradients meet a direction of negative curvature
 * and the residual is looked at (observer or tolerance; else they stay where they are); PD_INTERRUPTED. Divergence is no error but
 * result->stop. */
pd_status pd_linear_solve(pd_linear *self, const real *residual, real *direction, const pd_linear_observer *observer,
                          pd_linear_result *result);

/* An iteration of a simulation: pd_gather_forces into the residual (gather NULL: it is there), the solve, and pd_advance by d (move NULL: no
 * move). The sweeps of Jacobi and A-Jacobi take both with them. */
pd_status pd_linear_solve_between(pd_linear *self, const pd_gather *gather, const real *residual, const pd_move *move, real *direction);

/* A = A_0 + diag(added) from here on. added  B [n], nonnegative and finite, read here and not kept; NULL: zero. Only contents change, so
 * graphs made before go on; what follows from the diagonal is rebuilt on the device: the preconditioner, the rows sorted by colour, and
 * of A-Jacobi's operator the rows that feel the change. Weights, omega and rho stay, and so do the extrapolations made for them.
 * Memory: allocates nothing. Waits for nothing.
 * Direct is the exception: it takes the diagonal to the host and factorises again, in memory of its own and its library's. So does Schur, in
 * the memory that it has. Errors: PD_ERROR_SINGULAR from both, PD_ERROR_VALUE from Schur (schur.h); the next solve reports it again. */
pd_status pd_linear_set_diagonal(pd_linear *self, const double *added);
/* A = A_0 + entries from here on, of Direct, in whose matrix there must be room for those of revision 0 (pd_csr_with_room), and Schur,
 * whose region must hold them; for free rows. Factorises again where a value has changed, in the memory that it has; where the revision is
 * another, Direct analyses its matrix again, too, and that takes memory. entries  H, borrowed until the next call.
 * Errors: as of pd_linear_set_diagonal; PD_ERROR_VALUE for the other solvers. */
pd_status pd_linear_set_entries(pd_linear *self, const pd_entries *entries);
/* The same as pd_linear_set_diagonal with added  H [n]. The first call makes room for it in backend memory. */
pd_status pd_linear_upload_diagonal(pd_linear *self, const double *added);

/* Whether a solve without an observer runs on the device alone, with the same arguments every time: so it can be part of a graph. Direct
 * solves on the host, and a tolerance is tested there. */
int pd_linear_capturable(const pd_linear *self);
/* Grows with every change (pd_linear_set) that a graph made before does not know of. */
int pd_linear_revision(const pd_linear *self);

int pd_linear_colours(const pd_linear *self); /* 0: none */
/* Zeros but for A-Jacobi. Waits: the rows are counted where they are marked. */
pd_status pd_linear_cost(pd_linear *self, pd_a_jacobi_cost *out);
const pd_matrix *pd_linear_matrix(const pd_linear *self); /* A in backend memory; n = 0 for Direct and Schur */

#endif
