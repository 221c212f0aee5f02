/* The assembled Hessian of the incremental potential on the host, for factorisations and output: elements and contact pairs on one
 * pattern, restricted to the lines and planes of vertices. */
#ifndef PD_DYNAMICS_PROBLEM_ASSEMBLED_HESSIAN_H
#define PD_DYNAMICS_PROBLEM_ASSEMBLED_HESSIAN_H

#include "contact/potential/contact.h"
#include "dynamics/problem/problem.h"

#include <stdint.h>

/* All H. Without contact the pattern is that of the elements. */
struct pd_assembled_hessian {
    pd_csr pattern;     /* over the vertices, without values */
    real *blocks;       /* [nnz,3,3] */
    int revision;       /* of the pattern: users repeat their analysis after a change */
    int n_of_elements;  /* blocks of the elements among them */
    int *element_slots; /* [n_of_elements] their places */

    size_t pair_capacity;
    int *points;                  /* [pair_capacity,4] of contact pairs, then of other pairs with friction; -1: none */
    real *hessians;               /* [pair_capacity,12,12] */
    real *weights, *matrices;     /* [pair_capacity,4], [pair_capacity,3,3] with friction: block (i,j) is weight_i weight_j matrix */
    uint64_t *keys, *lagged_keys; /* [pair_capacity] of both */
    size_t new_capacity;
    uint64_t *news; /* [new_capacity] row << 32 | column */
};

/* The numbers of contact pairs, and of other pairs with friction. */
typedef struct pd_pair_counts {
    int contact, friction;
} pd_pair_counts;

/* The vertices that move a pair, and their weights in its corners. */
enum { PD_MOST_MOVERS = 16, PD_MOST_ROWS = 2 * PD_MOST_MOVERS };
typedef struct pd_movers {
    int n, vertices[PD_MOST_MOVERS];
    double shares[PD_MOST_MOVERS][4];
} pd_movers;

/* The rows of a pair in a matrix: list writes at most PD_MOST_ROWS of them and returns their number. */
typedef struct pd_pair_rows {
    int (*list)(const void *owner, int pair, int *rows);
    const void *owner;
} pd_pair_rows;

void pd_assembled_hessian_destroy(pd_assembled_hessian *self);

/* Tells whether products and preconditioners need the assembled Hessian: with rigid bodies, and with embedded points in contact. */
int pd_problem_needs_assembled(const pd_problem *problem);

/* Creates the pattern of the elements, without values; requires pd_problem_need_hessian. Errors: PD_ERROR_MEMORY. */
pd_status pd_problem_create_assembled(const pd_problem *problem);

/* problem->assembled = d2G/dx2 at x (B [n,3]): block (i,j) becomes P_i B P_j, P the projectors on lines and planes. With `filled` the
 * diagonal gets t (I - P_i), t of the block's own size, so that the matrix stays invertible. `filter` as in backend.h. Requires
 * pd_problem_need_hessian.
 *
 * The pattern grows for contact pairs without a block, and keeps the blocks of earlier pairs: an analysis stays valid until a new pair
 * needs a block. It is rebuilt without unused blocks when these are most of the contact blocks, and with `rebuild`, in the first
 * iteration of a step: so that the order of elimination, and with it every bit, depends on the begin of the step only. Memory: allocates
 * only for growth. Errors: PD_ERROR_MEMORY, PD_ERROR_VALUE for more than 2^31 - 1 blocks. */
pd_status pd_problem_assembled_hessian(const pd_problem *problem, const real *x, pd_hessian_filter filter, int filled, int rebuild);
/* The same from problem->hessian and the Hessians of the pairs, which pd_problem_hessian has computed. */
pd_status pd_problem_assemble(const pd_problem *problem, int filled, int rebuild);
/* The same with `base` replacing inertia and elements (pd_problem_hessian_on), filled. */
pd_status pd_problem_assembled_hessian_on(const pd_problem *problem, const real *base, const real *x, int rebuild);

/* For reduced_hessian.c, which assembles the same in other rows. carried: the vertices of embedded points. */

/* Reads points and Hessians of the pairs in contact and with friction. Errors: PD_ERROR_MEMORY. */
pd_status pd_assembled_read_pairs(pd_assembled_hessian *self, const pd_problem *problem, pd_pair_counts *n);
void pd_assembled_find_movers(const pd_assembled_hessian *self, const pd_contact_rows *carried, int pair, pd_movers *out);
/* Sorts keys [n], row << 32 | column, and removes repeats; returns their number. */
size_t pd_keys_sort_once(uint64_t *keys, size_t n);
/* Extends the pattern so that every two rows of n pairs have a block in addition to those of the elements; `rebuild`: removes all
 * others. */
pd_status pd_assembled_cover(pd_assembled_hessian *self, const pd_csr *elements, const pd_pair_rows *rows, int n, int rebuild,
                             pd_error *error);
/* blocks (i,j) = P_i B P_j, filled as above. */
void pd_assembled_restrict(pd_assembled_hessian *self, const pd_problem *problem, int filled);

#endif
