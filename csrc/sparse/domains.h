/* Domains of a symmetric sparse matrix, and the coarser matrices whose rows are domains: the symbolic part of a multilevel additive
 * Schwarz preconditioner [Wu, Wang, Wang 2022, GPU-based multilevel additive Schwarz preconditioner for cloth and deformable bodies].
 *
 * A node is a row of the matrix, or three of them. A domain has at most `size` nodes. It grows breadth-first in the graph of the matrix,
 * from a neighbour of an earlier domain, or from the lowest free node if there is none. So domains are connected for any numbering of
 * the nodes, and need no positions. The paper cuts a Morton curve instead. */
#ifndef PD_SPARSE_DOMAINS_H
#define PD_SPARSE_DOMAINS_H

#include "base/status.h"

enum { PD_MOST_LEVELS = 16 };

/* The nodes of one level, and the graph of its matrix. Owns all arrays. */
typedef struct pd_domain_level {
    int n, n_domains, largest; /* nodes, domains, nodes of the largest one */
    int *domain_start;         /* [n_domains+1] */
    int *nodes;                /* [domain_start[n_domains]] by domain, in the order of their growth */
    int *domain;               /* [n] of each node, which is a node of the next level; -1: a held node, in none */
    int *row_start, *columns;  /* [n+1] and entries of the matrix */
    int *rows;                 /* [entries] */
    int *source_start;         /* [entries+1] on all levels except the first: the entries of the level before whose sum this is */
    int *sources;
} pd_domain_level;

typedef struct pd_domains {
    int n_levels;
    pd_domain_level levels[PD_MOST_LEVELS];
} pd_domains;

/* The domains of a matrix of n nodes: a symmetric pattern with the diagonal. Levels end with one domain, or where less than a quarter of
 * the nodes would disappear.
 *   row_start [n+1]      columns      held [n]: 1 for nodes that belong to no domain; NULL: none
 *   size: the most nodes of a domain
 * *out is destroyed by the caller, also after a failure. Errors: PD_ERROR_MEMORY. */
pd_status pd_domains_create(pd_domains *out, int n, const int *row_start, const int *columns, const unsigned char *held, int size,
                            pd_error *error);
void pd_domains_destroy(pd_domains *self);

#endif
