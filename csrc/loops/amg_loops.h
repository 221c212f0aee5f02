/* The loops of smoothed aggregation: a part of backend.h with the same rules, which its preconditioner includes
 * (linear/preconditioners/amg_preconditioner.c). updates/linear/amg.h has the formulas. */
#ifndef PD_LOOPS_AMG_LOOPS_H
#define PD_LOOPS_AMG_LOOPS_H

#include "loops/schwarz_loops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A level with a coarser one: the aggregates of its nodes (sparse/aggregates.h), and its numbers. A node has 1, 3 or 6 of them, as in
 * pd_schwarz_level. All arrays are B. */
typedef struct pd_amg_level {
    int n, n_aggregates, n_entries;
    int numbers, coarser;      /* unknowns of a node here, and on the next level */
    int *row_start, *columns;  /* [n+1] and the entries of A */
    const unsigned char *held; /* [n] nodes that do not move, or NULL */
    double *values;            /* [n_entries,numbers,numbers] A; NULL on the first level, whose matrix is a pd_node_matrix */
    double *inverses;          /* [n,numbers,numbers] of the blocks D on the diagonal */
    double *smoother;          /* [n,numbers,numbers] S = inverses / g, g at least the row sums of `strengths` */
    float *strengths;          /* [n_entries] of an entry relative to D, in steps of 1/PD_AMG_STRENGTHS; 1 on the diagonal */
    double *indefinite;        /* [n] negative pivots of D, or NULL */

    int *aggregate;                             /* [n], -1: none */
    int *start, *nodes;                         /* [n_aggregates+1] and the nodes of each aggregate */
    real *arms, *centres;                       /* [n,3] from the centre of the aggregate, m; NULL: without rotations. [n_aggregates,3] */
    int *extension_start, *extension_columns;   /* pattern of P */
    real *extension;                            /* [..,numbers,coarser] P = (I - omega S A) T */
    int *source_start, *sources, *source_rows;  /* the entries of P by columns */
    int *product_start, *product_columns;       /* pattern of A P */
    double *product;                            /* [..,numbers,coarser] A P */
    const int *coarser_start, *coarser_columns; /* pattern of P^T A P, that of the next level */
    double *coarser_values;                     /* [..,coarser,coarser] */

    real *r, *z; /* [n,numbers,columns]; NULL on the first level */
    real *q;     /* [n,numbers,columns] */
} pd_amg_level;

/* inverses and `indefinite`. */
pd_status pd_amg_invert(pd_context *context, const pd_node_matrix *matrix, const pd_amg_level *level);
/* strengths and smoother, from the inverses. */
pd_status pd_amg_weigh(pd_context *context, const pd_node_matrix *matrix, const pd_amg_level *level);
/* extension, product, and then coarser_values = P^T A P. */
pd_status pd_amg_coarsen(pd_context *context, const pd_node_matrix *matrix, const pd_amg_level *level);

/* z = omega S r for q NULL, otherwise z += omega S (r - q).   r, q, z  [n,numbers,columns] */
pd_status pd_amg_relax(pd_context *context, const pd_amg_level *level, int columns, const real *r, const real *q, real *z);
/* q = A z; not for the first level. */
pd_status pd_amg_multiply(pd_context *context, const pd_amg_level *level, int columns, const real *z, real *q);
/* coarse = P^T (r - q). */
pd_status pd_amg_restrict(pd_context *context, const pd_amg_level *level, int columns, const real *r, const real *q, real *coarse);
/* z += P coarse. */
pd_status pd_amg_extend(pd_context *context, const pd_amg_level *level, int columns, const real *coarse, real *z);

#ifdef __cplusplus
}
#endif

#endif
