/* The loops of additive Schwarz methods on several levels: a part of backend.h with the same rules, which their preconditioner includes
 * (linear/preconditioners/multilevel_preconditioner.c). updates/linear/schwarz.h has the formulas. */
#ifndef PD_LOOPS_SCHWARZ_LOOPS_H
#define PD_LOOPS_SCHWARZ_LOOPS_H

#include "loops/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The values of a symmetric matrix over nodes of `numbers` unknowns each, on the pattern of its owner. */
typedef struct pd_node_matrix {
    int numbers;            /* 1 or 3 */
    int scalar;             /* 1: `values` has one number per entry, a multiple of the identity */
    const real *values;     /* B [entries], or [entries,numbers,numbers] */
    const double *diagonal; /* B [n], or [n,numbers] without `scalar`: replaces the numbers on the diagonal; NULL: they are in values */
    const real *coupling;   /* B [n,3,3] added to the blocks on the diagonal, or NULL */
    const real *projectors; /* B [n,3,3] P of lines and planes: the matrix is P A P, and a multiple of I - P; NULL: none */
    double shift;           /* added to the diagonal, without `diagonal` */
} pd_node_matrix;

/* The maximum unknowns of a domain: 32 nodes of one, or 16 of three or six. */
enum { PD_MOST_DOMAIN_UNKNOWNS = 96 };

/* A level (sparse/domains.h) with its numbers. A node has 1, 3 or 6 of them: a value, a translation, or a translation and a rotation
 * about the centre of its domain on the level before. */
typedef struct pd_schwarz_level {
    int n, n_domains, largest, n_entries;
    int numbers, coarser; /* unknowns of a node here, and on the next level */
    int *domain_start, *nodes, *domain, *row_start, *columns, *rows, *source_start, *sources; /* B, as in pd_domain_level */
    int *places;                                                                              /* B [n] of a node in its domain */
    long long *inverse_start; /* B [n_domains+1] of the inverse of a domain in `inverses` */
    real *inverses;           /* B one after another, symmetric */
    double *values;           /* B [n_entries,numbers,numbers]; NULL on the first level, whose matrix is a pd_node_matrix */
    double *indefinite;       /* B [n_domains] negative pivots of a domain */
    real *arms;               /* B [n,3] from the centre of the domain to the node, m; NULL: without rotations */
    real *centres;            /* B [n_domains,3] */
    real *r, *z;              /* B [n,numbers,columns]; NULL on the first level */
} pd_schwarz_level;

/* Bytes of scratch for `workers` inversions at once, of domains with at most `largest` unknowns; *workers: those of this backend. */
size_t pd_schwarz_scratch(const pd_context *context, int n_domains, int largest, int *workers);

/* centres and arms of a level, from the points [n,3] B of its nodes: the mean of a domain, added up in order. */
pd_status pd_schwarz_place(pd_context *context, const pd_schwarz_level *level, const real *points);

/* coarse->values = T^T A T, A the matrix of `fine`: `matrix` on the first level (otherwise not read), and T the motion of the nodes. */
pd_status pd_schwarz_gather(pd_context *context, const pd_node_matrix *matrix, const pd_schwarz_level *fine,
                            const pd_schwarz_level *coarse);

/* The inverses of all domains, computed in double, and `indefinite`. scratch B of pd_schwarz_scratch bytes. */
pd_status pd_schwarz_invert(pd_context *context, const pd_node_matrix *matrix, const pd_schwarz_level *level, void *scratch, int workers);

/* out [1] B = the sum of flags [n] B. */
pd_status pd_schwarz_count(pd_context *context, const double *flags, int n, double *out);

/* z = the inverses times r, and coarse = T^T r (NULL: the level is the last one). r, z  B [n,numbers,columns]; rows of held nodes stay. */
pd_status pd_schwarz_restrict(pd_context *context, const pd_schwarz_level *level, int columns, const real *r, real *z, real *coarse);

/* z += T coarse. */
pd_status pd_schwarz_extend(pd_context *context, const pd_schwarz_level *level, int columns, const real *coarse, real *z);

#ifdef __cplusplus
}
#endif

#endif
