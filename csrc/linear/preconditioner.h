/* The interface of a preconditioner to conjugate gradients: a table of functions over its own private memory. It uses an operator, and
 * does not depend on the global step, the Hessian or contact.
 *
 *     create -> { refresh, { apply } } -> destroy */
#ifndef PD_LINEAR_PRECONDITIONER_H
#define PD_LINEAR_PRECONDITIONER_H

#include "linear/linear_solver.h"
#include "loops/schwarz_loops.h"

/* The entries of an operator, for preconditioners that need more than its products. */
typedef struct pd_operator_entries {
    int n;                          /* nodes: rows, or three rows each */
    const int *row_start, *columns; /* H: the pattern over them, with the diagonal */
    long long revision;             /* of the pattern, at least 0 */
    long long choice;               /* what is chosen by the values may be kept while this is constant: within a step */
    pd_node_matrix matrix;          /* the values on it, B */
    int turns;                      /* its slow motions are translations and rotations of parts, about `points`. 0: translations */
    const real *points;             /* B [n,3] m; valid at a refresh */
} pd_operator_entries;

/* A symmetric operator on vectors [n,width] that its owner changes: A of a global step, or the Hessian of G with its contact pairs. */
typedef struct pd_operator {
    pd_context *context;
    const pd_matrix *rows; /* number of rows, and scratch of reductions */
    int width;
    void *owner;
    /* q = A p [n,width] and the p.q of every column into sums; p as for pd_pcg_direction_bytes. */
    pd_status (*product)(void *owner, const real *p, real *q, double *sums);
    /* Writes the inverses of its diagonal (M->block 1) or of the 3x3 blocks on it to M->inverse. indefinite [1]  B  out: the number of
     * those that are not positive definite, if the owner counts them. */
    pd_status (*invert)(void *owner, const pd_block_inverses *M, double *indefinite);
    const real *inverses;      /* B [n,3,3] inverses of blocks that the owner keeps, which replace `invert`; NULL: none */
    const unsigned char *held; /* H [n_held] vertices whose rows stay zero in every vector; n_held 0: none */
    const real *projectors;    /* B [n_held,3,3] on the lines and planes of vertices; NULL: none */
    int n_held;
    int has_blocks; /* it has 3x3 blocks on its diagonal. 0: M->block is 1 */
    /* The largest eigenvalue of D^-1 A, D the diagonal or the kept blocks, and an upper bound of it after every later change.
     * Synchronises. NULL: no bound; it is estimated after every change. */
    pd_status (*largest)(void *owner, double *lambda);
    /* Its entries with those of contact pairs, for a preconditioner that is `assembled`. Before the first refresh only the pattern is
     * valid. Allocates in the first call. Errors: PD_ERROR_MEMORY. */
    pd_status (*entries)(void *owner, pd_operator_entries *out);
} pd_operator;

typedef struct pd_preconditioner {
    const char *name; /* of the option of a solver, for messages */
    /* Allocates its memory, including all that apply needs. A has not been used before. A partial *self after a failure is destroyed by
     * the caller. */
    pd_status (*create)(void **self, const pd_operator *A, const pd_linear_settings *settings);
    void (*destroy)(void *self, pd_context *context); /* NULL is allowed for self */
    /* Takes new values of A. indefinite [1]  B  out  above 0 if A is found not positive definite. Synchronises only if A has no
     * `largest`. Allocates nothing, except memory that depends on the pattern after a new revision of `entries`. */
    pd_status (*refresh)(void *self, const pd_operator *A, double *indefinite);
    /* z = M^-1 r [n,width], M symmetric, positive definite and constant until the next refresh. A failure ends the solve. NULL: the
     * passes of conjugate gradients apply `inverses`. */
    pd_status (*apply)(void *self, const pd_operator *A, const real *r, real *z);
    const pd_block_inverses *(*inverses)(const void *self); /* with apply NULL */
    int waits;                                              /* apply synchronises: it cannot be captured into a graph */
    int assembled;                                          /* it reads the entries of A */
    int block;                                              /* rows of the blocks that the matrix must consist of; 1: any matrix */
} pd_preconditioner;

/* A preconditioner with its memory. */
typedef struct pd_preconditioned {
    const pd_preconditioner *kind;
    void *memory;
    const pd_block_inverses *inverses; /* NULL: by `apply` */
} pd_preconditioned;

/* Creates that of settings->preconditioner. Errors: PD_ERROR_MEMORY, PD_ERROR_SINGULAR. */
pd_status pd_preconditioned_create(pd_preconditioned *self, const pd_operator *A, const pd_linear_settings *settings);
void pd_preconditioned_destroy(pd_preconditioned *self, pd_context *context);
pd_status pd_preconditioned_refresh(const pd_preconditioned *self, const pd_operator *A, double *indefinite);

/* The preconditioner of a kind (PD_PRECONDITIONER_...). */
const pd_preconditioner *pd_preconditioner_of(int kind);

#endif
