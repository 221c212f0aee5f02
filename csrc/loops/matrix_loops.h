/* The loops of linear systems: a part of backend.h, under the same rules, that only what solves one includes. */
#ifndef PD_LOOPS_MATRIX_LOOPS_H
#define PD_LOOPS_MATRIX_LOOPS_H

#include "loops/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- linear systems: A d = r for one or several right-hand sides ------------------------------------------------------- */

/* Sparse symmetric matrix that acts on every column of [n,width] vectors alike. In a simulation the rows of fixed vertices are 1 on
 * the diagonal and empty elsewhere. */
typedef struct pd_matrix {
    int n;
    int *row_start;       /* B [n+1] */
    int *columns;         /* B, the diagonal left out */
    real *values;         /* B */
    real *diagonal;       /* B [n] */
    double *partial_sums; /* B [2 (n / (PD_SUM_BLOCK - 2) + 1), width] scratch of the reductions, for the widest vectors it serves */
    real *iterates;       /* B pd_iterates_scratch bytes: two for pd_jacobi_sweeps, NULL: it does without; one for pd_gauss_seidel_sweeps */
    const real
        *subspace; /* B [n,3,3] borrowed projectors, by vertex, on what it is held in, or NULL. Width 3: the residual that counts, and that
                           * pd_gauss_seidel_sweeps corrects by, is P_i (r - A d)_i */
    const real
        *coupling; /* B [n,3,3] borrowed, by vertex: symmetric blocks B that A has on its diagonal beside `diagonal`, or NULL. Width 3, and
                           * read by pd_matrix_residual, pd_jacobi_sweeps, pd_gauss_seidel_sweeps and pd_pcg_product alone */
    const real *inverses; /* B [n,3,3] borrowed, with them: (a_ii I + B_i)^-1 instead of 1/a_ii */
} pd_matrix;

/* y = A x. */
pd_status pd_matrix_multiply(pd_context *context, const pd_matrix *matrix, int width, const real *x, real *y);

/* q = scale D^-1 (r - A d). */
pd_status pd_matrix_correction(pd_context *context, const pd_matrix *matrix, int width, double scale, const real *r, const real *d,
                               real *q);

/* out [2]  B: sum |P (r - A d)|^2 with products and sums in double, P = I without a subspace, and sum |d - target|^2 (0 where target is
 * NULL). */
pd_status pd_matrix_residual(pd_context *context, const pd_matrix *matrix, int width, const real *r, const real *d, const real *target,
                             double *out);

/* out = sum x_i y_i over n width numbers, in double. */
pd_status pd_matrix_dot(pd_context *context, const pd_matrix *matrix, int width, const real *x, const real *y, double *out /* B */);

/* What an iteration of a simulation does before its sweeps and after them, so that a backend may do it within the first and the last. Width
 * 3. */
typedef struct pd_gather { /* pd_gather_forces into the residual */
    const pd_model *model;
    const pd_step_data *step;
    const real *offset;
    real *gradient; /* the residual of the sweeps */
} pd_gather;

typedef struct pd_move { /* pd_advance by the d that the sweeps come to, without a report */
    const pd_model *model;
    const pd_step_data *data;
    double alpha, beta;
    real *step, *x, *offset;
} pd_move;

typedef struct pd_sweep_ends {
    const pd_gather *gather; /* NULL: the residual is there */
    const pd_move *move;     /* NULL: nothing moves. Sweeps to the end alone have one */
} pd_sweep_ends;

/* The two by themselves, for who has no sweep to do them in. */
static inline pd_status pd_gather_now(pd_context *context, const pd_gather *gather) {
    return gather ? pd_gather_forces(context, gather->model, gather->step, gather->offset, gather->gradient) : PD_OK;
}

static inline pd_status pd_move_now(pd_context *context, const pd_move *move, const real *d) {
    return move ? pd_advance(context, move->model, move->data, move->alpha, d, move->beta, move->step, move->x, move->offset, NULL) : PD_OK;
}

/* Bytes of scratch for so many internal iterates of sweeps, in padded rows; 0: this backend does not use them. */
size_t pd_iterates_scratch(int n, int width, int iterates);

/* How sweeps begin and end, whatever the buffers hold: d and previous are zero, and the first sweep needs no product; the sweeps are not
 * continued, and what is left in buffers[1] is not the iterate before; of pd_block_sweeps, d is `add` and previous zero, for two sweeps at least
 * or for one to the end. */
enum { PD_SWEEPS_FROM_ZERO = 1, PD_SWEEPS_TO_THE_END = 2, PD_SWEEPS_FROM_CONSTANT = 4 };

/* Weighted Jacobi with Chebyshev extrapolation: n_sweeps times
 *     d^ = weight D^-1 (r - A d) + d,   previous <- omega (d^ - previous) + previous,   the two change places
 * [Wang 2015, Eq. 20 and 12]. buffers = {d, previous} in and out. omegas [n_sweeps] H; where omega is 1, previous is not read. */
pd_status pd_jacobi_sweeps(pd_context *context, const pd_matrix *matrix, int width, const real *residual, double weight,
                           const double *omegas, int n_sweeps, int from_to, pd_sweep_ends ends, real *buffers[2]);

/* previous <- omega (gamma (hat - d) + d - previous) + previous; hat itself where omega = gamma = 1. */
pd_status pd_extrapolate(pd_context *context, const pd_matrix *matrix, int width, double omega, double gamma, const real *hat,
                         const real *d, real *previous);

/* The rows of a matrix sorted by colour: row t of `matrix` is row rows[t] of A; its columns are those of A. */
typedef struct pd_coloured_matrix {
    pd_matrix matrix;
    int *rows;               /* B [n] */
    int n_colours;           /* 1 and `sequential` for the natural order */
    const int *colour_start; /* H [n_colours+1] */
    int sequential;          /* rows of a colour depend on each other: one thread, in order */
} pd_coloured_matrix;

/* Gauss-Seidel sweeps, colour after colour, the rows of a colour in parallel (symmetric: after each another one, all in reverse):
 *     d_i += omega P_i (r_i - sum_j a_ij d_j) / a_ii, P_i = I without a subspace.
 * from  B: where they begin, d itself or another vector; NULL: at zero */
pd_status pd_gauss_seidel_sweeps(pd_context *context, const pd_coloured_matrix *coloured, int width, const real *residual, double omega,
                                 int n_sweeps, int symmetric, const real *from, real *d);

/* Rows of PD_BLOCK_ROWS neighbouring vertices share most of their columns. Such a block lists the columns it reads once, and its rows
 * address that list with 16 bits: on a GPU the list is what is loaded into shared memory, on a CPU it stays in the first-level cache.
 * Long rows are split into segments of at most PD_SEGMENT entries, one thread each on a GPU [Lan et al. 2022, Appendix A]. */
#define PD_BLOCK_ROWS 16
#define PD_SEGMENT    32
typedef struct pd_block_matrix {
    int n, n_blocks, largest_list;
    int *rows;             /* B [n] row of the operator in each slot; block b holds the slots from b PD_BLOCK_ROWS on */
    int *list_start;       /* B [n_blocks+1] */
    int *list;             /* B columns that a block reads */
    int *segment_start;    /* B [n+1] segments of each slot */
    int *entry_start;      /* B [n_segments+1] */
    unsigned short *local; /* B [n_entries] column as a position in the block's list */
    real *values;          /* B [n_entries] */
    real *scratch;         /* B pd_block_scratch bytes */
} pd_block_matrix;

/* Bytes of P->scratch for vectors of `width` columns. */
size_t pd_block_scratch(const pd_context *context, const pd_block_matrix *P, int width);

/* hat = P in + add, extrapolated as in pd_extrapolate. previous may be neither `in` nor `add`. */
pd_status pd_block_sweep(pd_context *context, const pd_block_matrix *P, int width, const real *in, const real *add, double omega,
                         double gamma, const real *d, real *previous);

/* n_sweeps times previous <- P d + add, extrapolated as in pd_extrapolate, then the two change places. buffers = {d, previous} in and
 * out; omegas [n_sweeps] H; move: as in pd_sweep_ends, after no sweep too. */
pd_status pd_block_sweeps(pd_context *context, const pd_block_matrix *P, int width, const real *add, const double *omegas, double gamma,
                          int n_sweeps, int from_to, const pd_move *move, real *buffers[2]);

/* The products B_is B_sj that a matrix R^2 is summed from, path by path i-s-j [Lan et al. 2022, Eq. 14]. */
typedef struct pd_path_products {
    long long *path_start; /* B [n_entries+1] */
    int *via;              /* B s */
    real *products;        /* B B_is B_sj: the A-products */
    real *hops;            /* B [n_entries] B_ij, 0 where i and j are no neighbours */
    unsigned char *own;    /* B [n_entries] 1: the entry (i,i) */
} pd_path_products;

/* A-coefficients from A-products: for the slots of the marked rows (B [n], by row) and the present diagonal D
 *     value_ij = a own + b hop / D_i + c / D_i sum over paths of product / D_s. */
pd_status pd_refresh_products(pd_context *context, const pd_path_products *paths, const pd_block_matrix *P, const real *diagonal, double a,
                              double b, double c, const unsigned char *marks);

/* The rows e_i^T (a_0 I + a_1 R + .. + a_m R^m), R = (1-w) I + w D^-1 B, of an operator for which no products are kept. Each is made by
 * repeated products with R on the columns within m hops of its block, its support. */
typedef struct pd_row_polynomial {
    int degree;
    double weight, coefficients[5]; /* w, a; degree <= 4 */
    int *row_start, *columns;       /* B the negated off-diagonal part of A, [n+1] and */
    double *values;                 /* B [nnz] */
    int *support_start, *support;   /* B [n_blocks+1] and columns, ascending */
    int largest_support;
    int same; /* the supports are the lists of the block matrix */
    int workers;
    void *scratch; /* B, pd_row_scratch bytes, zero between two calls */
} pd_row_polynomial;

/* Bytes that `workers` rows in the making need; *workers: as many as this backend makes at once. */
size_t pd_row_scratch(const pd_context *context, int n, int largest_support, int *workers);

/* values of the slots of the marked rows (B [n], by row) from the diagonal D (B [n]), computed in double and rounded once. */
pd_status pd_refresh_rows(pd_context *context, const pd_row_polynomial *polynomial, const pd_block_matrix *P, const double *diagonal,
                          const unsigned char *marks);

/* M^-1 of a block-diagonal M: the inverse diagonal of a matrix, or the inverses of the 3x3 blocks on it. Of another M, z = M^-1 r itself. */
typedef struct pd_block_inverses {
    int block;     /* 1 or 3; 3 only for width 1 and n a multiple of 3, or for width 3; 0: z, for pd_pcg_redirect alone */
    real *inverse; /* B [n] or [n width/3,3,3]; z [n,width] */
} pd_block_inverses;

/* ---- a diagonal that changes: all B, [n] ---------------------------------------------------------------------------------------- */

/* total = base + added; base where added is NULL. */
pd_status pd_diagonal_sum(pd_context *context, int n, const double *base, const double *added, double *total);

/* rounded_t = total of row rows[t] (rows NULL: of row t). */
pd_status pd_diagonal_round(pd_context *context, int n, const double *total, const int *rows, real *rounded);

/* The inverses of a matrix, computed in double. blocks [n,3]: the 3x3 blocks on the diagonal, whose own diagonal `total` replaces; not
 * read where M->block is 1. */
pd_status pd_diagonal_inverses(pd_context *context, int n, const double *blocks, const double *total, const pd_block_inverses *M);

/* inverses [n,3,3] = (total_i I + coupling_i)^-1, coupling [n,3,3], computed in double. */
pd_status pd_coupled_inverses(pd_context *context, int n, const double *total, const real *coupling, real *inverses);

/* marks = whether `total` differs from `last`, then last = total. */
pd_status pd_diagonal_compare(pd_context *context, int n, const double *total, double *last, unsigned char *marks);

/* wider_i = whether i or a column of row i is marked: one ring more. wider may not be marks. */
pd_status pd_marks_spread(pd_context *context, int n, const int *row_start, const int *columns, const unsigned char *marks,
                          unsigned char *wider);

/* The three passes of one iteration of preconditioned conjugate gradients, every column a system of its own.
 * sums  B [6,width]: p.q, r.z, r.z of the iteration before, r.r of every column, and room for two more. alpha = rz/pq and
 * beta = rz/rz_before are formed where they lie, so nothing waits for the host; where pq or rz_before is not positive they are 0. */
/* Bytes of p, which these three alone read and write: rows of three may be filled up to four numbers. */
size_t pd_pcg_direction_bytes(int n, int width);
pd_status pd_pcg_product(pd_context *context, const pd_matrix *matrix, int width, const real *p, real *q, double *sums); /* q = A p; pq */
/* Where a system of one column ends by itself: alpha is 0 from then on, so that d, r and rr stay. */
enum { PD_PCG_GOES_ON, PD_PCG_CONVERGED, PD_PCG_NOT_CONVEX };
typedef struct pd_pcg_end {
    /* B [2] one of these: |r| is at most `norm`; p.q is not positive. And the iterations until then. NULL: it does not end */
    double *why;
    double norm;
} pd_pcg_end;
/* d += alpha p; r -= alpha q; z = M^-1 r is not stored; rz_before = rz, then new rz and rr. start != 0: d = 0, alpha = 0, and it goes
 * on. */
pd_status pd_pcg_advance(pd_context *context, const pd_matrix *matrix, int width, const pd_block_inverses *M, int start, const real *p,
                         const real *q, real *d, real *r, double *sums, pd_pcg_end end);
/* p = M^-1 r + beta p; start != 0: beta = 0. r is not read where M->block is 0. */
pd_status pd_pcg_redirect(pd_context *context, const pd_matrix *matrix, int width, const pd_block_inverses *M, int start, const real *r,
                          real *p, const double *sums);

/* pd_pcg_advance in two passes, for a preconditioner that is applied between them.
 * d += alpha p, r -= alpha q; nothing where `end` says that it has ended. sums NULL: alpha is 1. q NULL: r stays. */
pd_status pd_pcg_move(pd_context *context, const pd_matrix *matrix, int width, const real *p, const real *q, real *d, real *r,
                      const double *sums, pd_pcg_end end);
/* rz_before = rz, then rz = r.z and rr = r.r. The iteration also ends where rz is not positive: the preconditioner is indefinite. */
pd_status pd_pcg_measure(pd_context *context, const pd_matrix *matrix, int width, int start, const real *r, const real *z, double *sums,
                         pd_pcg_end end);
/* p = scale M^-1 r + keep p: the direction of a method whose numbers the host knows. keep 0: p is not read. */
pd_status pd_pcg_combine(pd_context *context, const pd_matrix *matrix, int width, const pd_block_inverses *M, double scale, double keep,
                         const real *r, real *p);

/* Every one of `width` numbers <- their sum. With pq after pd_pcg_product and rz after pd_pcg_advance the columns are one system: what
 * couples them, as a projection of every row does, is none column by column. */
pd_status pd_join_columns(pd_context *context, int width, double *sums /* B */);

/* The Hessian of G as pd_hessian fills it, as a matrix over the coordinates of the free vertices: rows and columns of fixed ones count
 * as zero; at a vertex that is held on a line or in a plane the product is projected on it, and so p must be. */
typedef struct pd_hessian_matrix {
    int n;                      /* vertices */
    const int *row_start;       /* B [n+1] */
    const int *columns;         /* B [nnz] */
    const int *diagonal_slots;  /* B [n] */
    const real *blocks;         /* B [nnz,3,3] */
    const unsigned char *fixed; /* B [n] */
    const real *subspace;       /* B [n,3,3] projectors, or NULL */
    double shift;               /* N/m, added to the diagonal */
    double *partial_sums;       /* B [n / PD_SUM_BLOCK + 1] scratch of the reductions */
} pd_hessian_matrix;

/* q = (H + shift I) p, zero at fixed vertices; p must be zero there. sums [1]  B  out  p.q. The pass of conjugate gradients for which
 * pd_pcg_product stands elsewhere; pd_pcg_advance and pd_pcg_redirect serve both, with width 1 and 3n rows. */
pd_status pd_hessian_product(pd_context *context, const pd_hessian_matrix *H, const real *p, real *q, double *sums);

/* The inverses of H by updates/linear/preconditioner.h; zero at fixed vertices, so that conjugate gradients never move them.
 * indefinite [1]  B  out  the number of free vertices whose diagonal, or block on it, is not positive definite. */
pd_status pd_hessian_inverses(pd_context *context, const pd_hessian_matrix *H, const pd_block_inverses *M, double *indefinite);

#ifdef __cplusplus
}
#endif

#endif
