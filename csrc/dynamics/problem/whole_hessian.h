/* The Hessian of the incremental potential on the host, for what factorises or shows it: elements and pairs in contact on one pattern,
 * restricted to the lines and planes that vertices are held in. */
#ifndef PD_DYNAMICS_PROBLEM_WHOLE_HESSIAN_H
#define PD_DYNAMICS_PROBLEM_WHOLE_HESSIAN_H

#include "contact/potential/contact.h"
#include "dynamics/problem/problem.h"

#include <stdint.h>

/* All H. Without contact the pattern is that of the elements. */
struct pd_whole_hessian {
    pd_csr pattern;     /* over the vertices, without values */
    real *blocks;       /* [nnz,3,3] */
    int revision;       /* of the pattern: who has analysed it looks again when this has changed */
    int n_of_elements;  /* blocks of the elements among them */
    int *element_slots; /* [n_of_elements] where they go */

    size_t pair_capacity;
    int *points; /* [pair_capacity,4] of the pairs in contact, and behind them of those with friction that are not among them; -1: none */
    real *hessians;           /* [pair_capacity,12,12] */
    real *weights, *matrices; /* [pair_capacity,4], [pair_capacity,3,3] of those with friction: block (i,j) is weight_i weight_j matrix */
    uint64_t *keys, *lagged_keys; /* [pair_capacity] of both */
    size_t new_capacity;
    uint64_t *news; /* [new_capacity] row << 32 | column */
};

/* How many pairs there are: in contact, and with friction that are not among them. */
typedef struct pd_pair_counts {
    int contact, friction;
} pd_pair_counts;

/* The vertices that move a pair, and how much of each of its corners. */
enum { PD_MOST_MOVERS = 16, PD_MOST_ROWS = 2 * PD_MOST_MOVERS };
typedef struct pd_movers {
    int n, vertices[PD_MOST_MOVERS];
    double shares[PD_MOST_MOVERS][4];
} pd_movers;

/* The rows of a matrix that a pair acts in: list writes at most PD_MOST_ROWS of them and returns how many. */
typedef struct pd_pair_rows {
    int (*list)(const void *owner, int pair, int *rows);
    const void *owner;
} pd_pair_rows;

void pd_whole_hessian_destroy(pd_whole_hessian *self);

/* Whether no product and no preconditioner can do without the whole Hessian: with rigid bodies, and where vertices carry the points that
 * touch. */
int pd_problem_wants_whole(const pd_problem *problem);

/* Makes the pattern of the elements alone, without values; pd_problem_need_hessian has been called. Errors: PD_ERROR_MEMORY. */
pd_status pd_problem_need_whole(const pd_problem *problem);

/* problem->whole = d2G/dx2 at x (B [n,3]): block (i,j) becomes P_i B P_j, P the projectors of the held. With `filled` the diagonal gets
 * t (I - P_i), t of the block's own size, so that the matrix keeps its inverse. `filter` as in backend.h. pd_problem_need_hessian has been
 * called.
 *
 * The pattern grows where pairs are in contact that have no block in it, and keeps those of earlier pairs: an analysis stays good as long
 * as nothing new touches. It is made without them once they are most of what contact has brought, and with `rebuild`, which the first
 * iteration of a step says: so that the order of elimination, and with it every bit, follows from where the step begins. Memory: allocates
 * nothing but for growth. Errors: PD_ERROR_MEMORY, PD_ERROR_VALUE where it has more than 2^31 - 1 blocks. */
pd_status pd_problem_whole_hessian(const pd_problem *problem, const real *x, pd_hessian_filter filter, int filled, int rebuild);
/* The same with `base` instead of inertia and elements (pd_problem_hessian_upon), filled. */
pd_status pd_problem_whole_upon(const pd_problem *problem, const real *base, const real *x, int rebuild);

/* For reduced_hessian.c, which puts the same together in other rows. carried: which vertices carry the points of pairs. */

/* points and hessians of the pairs in contact and with friction. Errors: PD_ERROR_MEMORY. */
pd_status pd_whole_read_pairs(pd_whole_hessian *self, const pd_problem *problem, pd_pair_counts *n);
void pd_whole_find_movers(const pd_whole_hessian *self, const pd_contact_rows *carried, int pair, pd_movers *out);
/* Sorts keys [n], row << 32 | column, and keeps one of each; returns how many. */
size_t pd_keys_sort_once(uint64_t *keys, size_t n);
/* Makes sure that every two rows of n pairs have a block beside those of the elements; `rebuild`: and that there are no others. */
pd_status pd_whole_cover(pd_whole_hessian *self, const pd_csr *elements, const pd_pair_rows *rows, int n, int rebuild, pd_error *error);
/* blocks (i,j) = P_i B P_j, filled as above. */
void pd_whole_restrict(pd_whole_hessian *self, const pd_problem *problem, int filled);

#endif
