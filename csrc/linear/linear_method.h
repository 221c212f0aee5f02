/* The interface of a linear solver to the common frame (linear_solver.c), and the members of pd_linear. */
#ifndef PD_LINEAR_LINEAR_METHOD_H
#define PD_LINEAR_LINEAR_METHOD_H

#include "linear/linear_solver.h"
#include "sparse/aggregation.h"

/* The maximum number of iterations in one call of a method: their omegas are computed together. */
enum { PD_LINEAR_CHUNK = 64 };

struct pd_linear {
    pd_context *context;
    const pd_cholesky_functions *cholesky;
    pd_linear_settings settings;
    const struct pd_linear_method *method;
    int width, prepared;
    int revision;               /* of the arguments of a solve: see pd_linear_revision */
    int measured;               /* the present solve reads the residual */
    const unsigned char *fixed; /* H, borrowed; may be NULL */
    const double *subspace;     /* H [n,3,3], borrowed; NULL: no lines and planes */
    const real *projectors;     /* B [n,3,3], the same on the device */
    const real *coupling;       /* B [n,3,3], borrowed: pd_linear_couple; NULL: none */
    real *inverses;             /* B [n,3,3] with it: (total I + coupling)^-1 */
    double largest_eigenvalue;  /* of D^-1 A; 0: not computed */

    pd_csr A;                  /* H, the free block with 1 on fixed diagonals; A_0, without the added diagonal */
    pd_csr bending;            /* H, n = 0: none */
    pd_matrix matrix;          /* A in backend memory; n = 0 for Direct */
    double *base;              /* B [n] the diagonal of A_0 */
    double *uploaded;          /* B [n] the addition of pd_linear_upload_diagonal, or NULL */
    int shifted;               /* the two may differ */
    const pd_entries *entries; /* H, borrowed; NULL: none so far */
    double *added;             /* H [entries->capacity] their values in the factor */
    long long entered;         /* the revision of those values */
    double *total;             /* B [n] that of A, before the rounding to matrix.diagonal and to the methods' copies */

    /* of the present solve, B [n,width] */
    const real *residual, *start;
    real *current, *previous, *spare; /* the iterate, the previous one, a third; they are exchanged */
    real *buffers[2];                 /* memory of two of them; the third is the caller's `correction` */
    pd_sweep_ends ends;               /* work folded into the first and the last sweep of a method that allows it */
    double *scalars;                  /* B [6 width + 2]; the last two are those of a check of the residual */

    pd_anderson *anderson; /* of the iterates of a solve; NULL: none */
    void *memory;          /* of the method; NULL before its preparation */
};

typedef struct pd_linear_method {
    const char *name;
    /* Frees its memory. NULL: it has none. */
    void (*destroy)(void *memory, pd_context *context);
    /* Prepares all that a solve needs, with the diagonal in self->total; called again after pd_linear_set. */
    pd_status (*prepare)(pd_linear *self);
    /* Recomputes the data that depend on self->total only, in place: no allocation and, except for Direct, no synchronisation. NULL:
     * none depend. */
    pd_status (*refresh)(pd_linear *self);
    /* For an exact method: self->entries have changed, factorises again. NULL: it takes none. */
    pd_status (*add_entries)(pd_linear *self);
    /* Iterations k .. k+n-1 (n <= PD_LINEAR_CHUNK) with their omegas. At k = 0 the iterate is zero, and `current` is not read. */
    pd_status (*iterate)(pd_linear *self, int k, int n, const double *omegas, double gamma);
    /* Tells whether the first and the last sweep of a solve without an observer fold self->ends; NULL: they do not. */
    int (*folds)(const pd_linear *self);
    /* Spectral radius of one step from that of one weighted Jacobi step; NULL: the same. */
    double (*step_rho)(const pd_linear_settings *settings, double rho);
    /* Norm of the residual in the recurrence, if that is cheaper than a check; NULL: none. */
    pd_status (*residual_norm)(pd_linear *self, double *norm);
    /* Colours of its rows, and its cost; NULL: 0. */
    int (*colours)(const pd_linear *self);
    pd_status (*cost)(pd_linear *self, pd_a_jacobi_cost *out);
    /* A chunk ends with the iterate in `current` after n exchanges of current and previous; 0: it stays in place. */
    int exchanges;
    int weighted; /* it needs the largest eigenvalue of D^-1 A */
    /* its memory holds powers of the iteration matrix: a new weight requires new memory, and lines and planes are not possible */
    int polynomial;
    int exact;   /* one iteration solves the system, on the host */
    int waits;   /* an iteration synchronises: it cannot be captured into a graph */
    int krylov;  /* it builds on all its iterates, and is no fixed-point iteration */
    int coupled; /* it takes 3x3 blocks on the diagonal */
} pd_linear_method;

#define PD_LINEAR_METHOD(KIND, name) extern const pd_linear_method pd_##name##_method;
PD_LINEAR_TABLE(PD_LINEAR_METHOD)
#undef PD_LINEAR_METHOD

/* ---- shared by the methods (matrix.c) -------------------------------------------------------------------------------------- */

/* Uploads a host matrix to backend memory, with a separate diagonal: row t of the result is row order[t] of A (order NULL: t). */
pd_status pd_matrix_upload(pd_matrix *out, pd_context *context, const pd_csr *A, const int *order, int width);
void pd_matrix_destroy(pd_matrix *matrix, pd_context *context);

/* Allocates `iterates` internal iterates of sweeps over a matrix. */
pd_status pd_linear_need_iterates(pd_linear *self, pd_matrix *matrix, int iterates);

static inline void pd_linear_exchange(pd_linear *self) {
    real *swap = self->current;
    self->current = self->previous;
    self->previous = swap;
}

/* The largest eigenvalue of D^-1 A to rounding (in exact arithmetic a lower bound), >= 1; `buffers` are scratch. Errors:
 * PD_ERROR_MEMORY. */
pd_status pd_largest_eigenvalue(pd_linear *self, double *lambda);

/* Makes `spare` with x^, the next iterate, extrapolated. */
pd_status pd_linear_accept(pd_linear *self, double omega, double gamma);

static inline size_t pd_linear_bytes(const pd_linear *self) { return (size_t)self->A.n * (size_t)self->width * sizeof(real); }

#endif
