/* The loops of linear systems: a part of backend.h with the same rules, which only solvers of such systems include. */
#ifndef PD_LOOPS_MATRIX_LOOPS_H
#define PD_LOOPS_MATRIX_LOOPS_H

#include "loops/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- linear systems: A d = r for one or several right-hand sides ------------------------------------------------------- */

/* Sparse symmetric matrix that acts on every column of [n,width] vectors separately. In a simulation the rows of fixed vertices are
 * those of the identity. */
typedef struct pd_matrix {
    int n;
    int *row_start;       /* B [n+1] */
    int *columns;         /* B, without the diagonal */
    real *values;         /* B */
    real *diagonal;       /* B [n] */
    double *partial_sums; /* B [2 (n / (PD_SUM_BLOCK - 2) + 1), width] scratch of the reductions, for the widest vectors */
    real *iterates;       /* B pd_iterates_scratch bytes: two for pd_jacobi_sweeps, NULL: none; one for pd_gauss_seidel_sweeps */
    const real *subspace; /* B [n,3,3] borrowed projectors, per vertex, on its line or plane, or NULL. Width 3: the residual in norms and in
                           * pd_gauss_seidel_sweeps is P_i (r - A d)_i */
    const real
        *coupling; /* B [n,3,3] borrowed, per vertex: symmetric blocks B on the diagonal of A in addition to `diagonal`, or NULL. Width 3,
                           * only for pd_matrix_residual, pd_jacobi_sweeps, pd_gauss_seidel_sweeps and pd_pcg_product */
    const real *inverses; /* B [n,3,3] borrowed, with them: (a_ii I + B_i)^-1 instead of 1/a_ii */
} pd_matrix;

/* y = A x. */
pd_status pd_matrix_multiply(pd_context *context, const pd_matrix *matrix, int width, const real *x, real *y);

/* q = scale D^-1 (r - A d). */
pd_status pd_matrix_correction(pd_context *context, const pd_matrix *matrix, int width, double scale, const real *r, const real *d,
                               real *q);

/* out [2]  B: sum |P (r - A d)|^2 with products and sums in double, P = I without a subspace, and sum |d - target|^2 (0 for target
 * NULL). */
pd_status pd_matrix_residual(pd_context *context, const pd_matrix *matrix, int width, const real *r, const real *d, const real *target,
                             double *out);

/* out = sum x_i y_i over n width numbers, in double. */
pd_status pd_matrix_dot(pd_context *context, const pd_matrix *matrix, int width, const real *x, const real *y, double *out /* B */);

/* Work of an iteration of a simulation before and after its sweeps, which a backend may fold into the first and the last. Width 3. */
typedef struct pd_gather { /* pd_gather_forces into the residual */
    const pd_model *model;
    const pd_step_data *step;
    const real *offset;
    real *gradient; /* the residual of the sweeps */
} pd_gather;

typedef struct pd_move { /* pd_advance by the d of the sweeps, without a report */
    const pd_model *model;
    const pd_step_data *data;
    double alpha, beta;
    real *increment, *x, *offset;
} pd_move;

typedef struct pd_sweep_ends {
    const pd_gather *gather; /* NULL: the residual is given */
    const pd_move *move;     /* NULL: no move. Only for sweeps to the end */
} pd_sweep_ends;

/* Both as separate loops, for methods without sweeps. */
static inline pd_status pd_gather_now(pd_context *context, const pd_gather *gather) {
    return gather ? pd_gather_forces(context, gather->model, gather->step, gather->offset, gather->gradient) : PD_OK;
}

static inline pd_status pd_move_now(pd_context *context, const pd_move *move, const real *d) {
    return move ? pd_advance(context, move->model, move->data, move->alpha, d, move->beta, move->increment, move->x, move->offset, NULL)
                : PD_OK;
}

/* Bytes of scratch for `iterates` internal iterates of sweeps, in padded rows; 0: this backend needs none. */
size_t pd_iterates_scratch(int n, int width, int iterates);

/* The begin and the end of sweeps. From zero: d and previous count as zero, and the first sweep needs no product. To the end: the sweeps
 * are not continued, and buffers[1] does not hold the previous iterate. From constant: for pd_block_sweeps, d is `add` and previous
 * zero, for at least two sweeps or one to the end. */
enum { PD_SWEEPS_FROM_ZERO = 1, PD_SWEEPS_TO_THE_END = 2, PD_SWEEPS_FROM_CONSTANT = 4 };

/* Weighted Jacobi with Chebyshev extrapolation: n_sweeps times
 *     d^ = weight D^-1 (r - A d) + d,   previous <- omega (d^ - previous) + previous,   exchange of the two
 * [Wang 2015, Eq. 20 and 12]. buffers = {d, previous} in and out. omegas [n_sweeps] H; for omega = 1, previous is not read. */
pd_status pd_jacobi_sweeps(pd_context *context, const pd_matrix *matrix, int width, const real *residual, double weight,
                           const double *omegas, int n_sweeps, int from_to, pd_sweep_ends ends, real *buffers[2]);

/* previous <- omega (gamma (hat - d) + d - previous) + previous; hat itself for omega = gamma = 1. */
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

/* Gauss-Seidel sweeps, colour by colour, the rows of a colour in parallel (symmetric: after each a second one, in reverse order):
 *     d_i += omega P_i (r_i - sum_j a_ij d_j) / a_ii, P_i = I without a subspace.
 * from  B: the start, d itself or another vector; NULL: zero */
pd_status pd_gauss_seidel_sweeps(pd_context *context, const pd_coloured_matrix *coloured, int width, const real *residual, double omega,
                                 int n_sweeps, int symmetric, const real *from, real *d);

/* Rows of PD_BLOCK_ROWS neighbouring vertices share most of their columns. A block lists its columns once, and its rows address that
 * list with 16 bits. A GPU loads the list into shared memory; on a CPU it stays in the first-level cache. Long rows are split into
 * segments of at most PD_SEGMENT entries, one thread each on a GPU [Lan et al. 2022, Appendix A]. */
#define PD_BLOCK_ROWS 16
#define PD_SEGMENT    32
typedef struct pd_block_matrix {
    int n, n_blocks, largest_list;
    int *rows;             /* B [n] row of the operator in each slot; block b holds the slots from b PD_BLOCK_ROWS on */
    int *list_start;       /* B [n_blocks+1] */
    int *list;             /* B columns of a block */
    int *segment_start;    /* B [n+1] segments of each slot */
    int *entry_start;      /* B [n_segments+1] */
    unsigned short *local; /* B [n_entries] column as a position in the block's list */
    real *values;          /* B [n_entries] */
    real *scratch;         /* B pd_block_scratch bytes */
} pd_block_matrix;

/* Bytes of P->scratch for vectors of `width` columns. */
size_t pd_block_scratch(const pd_context *context, const pd_block_matrix *P, int width);

/* hat = P in + add, extrapolated as in pd_extrapolate. previous must be neither `in` nor `add`. */
pd_status pd_block_sweep(pd_context *context, const pd_block_matrix *P, int width, const real *in, const real *add, double omega,
                         double gamma, const real *d, real *previous);

/* n_sweeps times previous <- P d + add, extrapolated as in pd_extrapolate, then an exchange of the two. buffers = {d, previous} in and
 * out; omegas [n_sweeps] H; move: as in pd_sweep_ends, also for n_sweeps = 0. */
pd_status pd_block_sweeps(pd_context *context, const pd_block_matrix *P, int width, const real *add, const double *omegas, double gamma,
                          int n_sweeps, int from_to, const pd_move *move, real *buffers[2]);

/* The products B_is B_sj whose sums are the entries of R^2, one per path i-s-j [Lan et al. 2022, Eq. 14]. */
typedef struct pd_path_products {
    long long *path_start; /* B [n_entries+1] */
    int *via;              /* B s */
    real *products;        /* B B_is B_sj: the A-products */
    real *hops;            /* B [n_entries] B_ij, 0 unless i and j are neighbours */
    unsigned char *own;    /* B [n_entries] 1: the entry (i,i) */
} pd_path_products;

/* A-coefficients from A-products: for the slots of the marked rows (B [n], by row) and the present diagonal D
 *     value_ij = a own + b hop / D_i + c / D_i sum over paths of product / D_s. */
pd_status pd_refresh_products(pd_context *context, const pd_path_products *paths, const pd_block_matrix *P, const real *diagonal, double a,
                              double b, double c, const unsigned char *marks);

/* The rows e_i^T (a_0 I + a_1 R + .. + a_m R^m), R = (1-w) I + w D^-1 B, of an operator without stored products. Each is computed by
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

/* Bytes of scratch for `workers` rows at once; *workers: the number of this backend. */
size_t pd_row_scratch(const pd_context *context, int n, int largest_support, int *workers);

/* values of the slots of the marked rows (B [n], by row) from the diagonal D (B [n]), computed in double and rounded once. */
pd_status pd_refresh_rows(pd_context *context, const pd_row_polynomial *polynomial, const pd_block_matrix *P, const double *diagonal,
                          const unsigned char *marks);

/* M^-1 of a block-diagonal M: the inverse diagonal of a matrix, or the inverses of its 3x3 blocks. For another M, z = M^-1 r itself. */
typedef struct pd_block_inverses {
    int block;     /* 1 or 3; 3 only for width 1 and n a multiple of 3, or for width 3; 0: z, only for pd_pcg_redirect */
    real *inverse; /* B [n] or [n width/3,3,3]; z [n,width] */
} pd_block_inverses;

/* ---- a changing diagonal: all B, [n] -------------------------------------------------------------------------------------------- */

/* total = base + added; added NULL: base. */
pd_status pd_diagonal_sum(pd_context *context, int n, const double *base, const double *added, double *total);

/* rounded_t = total of row rows[t] (rows NULL: of row t). */
pd_status pd_diagonal_round(pd_context *context, int n, const double *total, const int *rows, real *rounded);

/* The inverses of a matrix, computed in double. blocks [n,3]: the 3x3 blocks on the diagonal, with `total` as their diagonal; not read
 * for M->block 1. */
pd_status pd_diagonal_inverses(pd_context *context, int n, const double *blocks, const double *total, const pd_block_inverses *M);

/* inverses [n,3,3] = (total_i I + coupling_i)^-1, coupling [n,3,3], computed in double. */
pd_status pd_coupled_inverses(pd_context *context, int n, const double *total, const real *coupling, real *inverses);

/* marks = whether `total` differs from `last`, then last = total. */
pd_status pd_diagonal_compare(pd_context *context, int n, const double *total, double *last, unsigned char *marks);

/* wider_i = whether i or a column of row i is marked: one ring more. wider may not be marks. */
pd_status pd_marks_spread(pd_context *context, int n, const int *row_start, const int *columns, const unsigned char *marks,
                          unsigned char *wider);

/* The three passes of one iteration of preconditioned conjugate gradients, every column a separate system. sums  B [6,width]: p.q, r.z,
 * the previous r.z, r.r of every column, and two more. alpha = rz/pq and beta = rz/rz_before are computed on the device, so nothing
 * synchronises. They are 0 unless pq and rz_before are positive. */
/* Bytes of p, which only these three access: rows of three may be padded to four numbers. */
size_t pd_pcg_direction_bytes(int n, int width);
pd_status pd_pcg_product(pd_context *context, const pd_matrix *matrix, int width, const real *p, real *q, double *sums); /* q = A p; pq */
/* The end of a system of one column on the device: alpha is 0 from then on, so that d, r and rr stay. */
enum { PD_PCG_GOES_ON, PD_PCG_CONVERGED, PD_PCG_NOT_CONVEX };
typedef struct pd_pcg_end {
    /* B [2] one of these: |r| is at most `norm`; p.q is not positive. And the iterations until then. NULL: it does not end */
    double *why;
    double norm;
} pd_pcg_end;
/* d += alpha p; r -= alpha q; z = M^-1 r is not stored; rz_before = rz, then new rz and rr. start != 0: d = 0, alpha = 0, and no end. */
pd_status pd_pcg_advance(pd_context *context, const pd_matrix *matrix, int width, const pd_block_inverses *M, int start, const real *p,
                         const real *q, real *d, real *r, double *sums, pd_pcg_end end);
/* p = M^-1 r + beta p; start != 0: beta = 0. r is not read for M->block 0. */
pd_status pd_pcg_redirect(pd_context *context, const pd_matrix *matrix, int width, const pd_block_inverses *M, int start, const real *r,
                          real *p, const double *sums);

/* pd_pcg_advance in two passes, for a preconditioner between them. d += alpha p, r -= alpha q; nothing after the end in `end`. sums
 * NULL: alpha is 1. q NULL: r stays. */
pd_status pd_pcg_move(pd_context *context, const pd_matrix *matrix, int width, const real *p, const real *q, real *d, real *r,
                      const double *sums, pd_pcg_end end);
/* rz_before = rz, then rz = r.z and rr = r.r. The iteration also ends unless rz is positive: the preconditioner is indefinite. */
pd_status pd_pcg_measure(pd_context *context, const pd_matrix *matrix, int width, int start, const real *r, const real *z, double *sums,
                         pd_pcg_end end);
/* p = scale M^-1 r + keep p: the correction of a method with its scalars on the host. keep 0: p is not read. */
pd_status pd_pcg_combine(pd_context *context, const pd_matrix *matrix, int width, const pd_block_inverses *M, double scale, double keep,
                         const real *r, real *p);

/* Replaces every one of `width` numbers by their sum. Applied to pq after pd_pcg_product and to rz after pd_pcg_advance, this makes the
 * columns one system, for coupled columns, as with a projection of every row. */
pd_status pd_join_columns(pd_context *context, int width, double *sums /* B */);

/* The Hessian of G from pd_hessian, as a matrix over the coordinates of the free vertices: rows and columns of fixed ones count as zero.
 * The product is projected on the lines and planes of vertices, and p must be too. */
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

/* q = (H + shift I) p, zero at fixed vertices; p must be zero there. sums [1]  B  out  p.q. This pass of conjugate gradients replaces
 * pd_pcg_product; pd_pcg_advance and pd_pcg_redirect serve both, with width 1 and 3n rows. */
pd_status pd_hessian_product(pd_context *context, const pd_hessian_matrix *H, const real *p, real *q, double *sums);

/* The inverses of H by updates/linear/preconditioner.h; zero at fixed vertices, so that conjugate gradients do not move them. indefinite
 * [1]  B  out  the number of free vertices whose diagonal, or block on it, is not positive definite. */
pd_status pd_hessian_inverses(pd_context *context, const pd_hessian_matrix *H, const pd_block_inverses *M, double *indefinite);

#ifdef __cplusplus
}
#endif

#endif
