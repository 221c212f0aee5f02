/* Sparse matrices over the vertices: the graph of the elements, and the matrix of the Projective Dynamics global step. */
#ifndef PD_SPARSE_SYSTEM_MATRIX_H
#define PD_SPARSE_SYSTEM_MATRIX_H

#include "base/status.h"
#include "mesh/corners.h"

/* Compressed sparse rows, columns ascending in each row. Arrays are owned; pd_csr_destroy frees them. */
typedef struct pd_csr {
    int n;          /* rows */
    int *row_start; /* [n+1] */
    int *columns;   /* [row_start[n]] */
    double *values; /* [row_start[n]], or NULL for a bare pattern */
} pd_csr;

/* The slot of entry (i,j) among ascending columns, or -1. */
static inline int pd_csr_slot(const pd_csr *pattern, int i, int j) {
    int low = pattern->row_start[i], high = pattern->row_start[i + 1];
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (pattern->columns[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    return low < pattern->row_start[i + 1] && pattern->columns[low] == j ? low : -1;
}

/* Numbers that are added to a symmetric matrix, those on and below the diagonal: rows[k] >= columns[k], by row, then by column, none
 * twice. */
typedef struct pd_entries {
    int n, capacity;           /* capacity: the most there will be */
    long long revision;        /* of which they are: the same number, the same rows and columns */
    const int *rows, *columns; /* [n] */
    const double *values;      /* [n] */
} pd_entries;

/* Copies `matrix`, with room for entries and their mirror images where it has none: zeros. Errors: PD_ERROR_MEMORY. */
pd_status pd_csr_with_room(pd_csr *out, const pd_csr *matrix, const pd_entries *entries, pd_error *error);
void pd_csr_destroy(pd_csr *matrix);

/* Entry (i,j) of a matrix with ascending columns, 0 where it has none. */
double pd_csr_entry(const pd_csr *matrix, int i, int j);

/* Pattern of the elements' Hessian: vertex i meets vertex j where an element holds both; the diagonal is always there. */
pd_status pd_pattern_create(pd_csr *out, int n_vertices, const pd_element_set *sets, int n_sets, const pd_corners *corners,
                            pd_error *error);

/* The matrix of the Projective Dynamics global step [Bouaziz et al. 2014, Eq. 10],
 *     A = M/h^2 + sum_e (1 + k_d/h) w_e S_e^T S_e,   (S^T S)_ij = g_i . g_j,
 * over all vertices. k_d is the damping time [s] of the element: the damping potential's Hessian is at most (k_d/h) w S^T S,
 * so with the factor A stays an upper bound of the Hessian and every global step lowers the potential.
 *   masses_over_h2 [n]  kg/s^2 (0: quasistatic)      inverse_h  1/s (0: quasistatic)
 * Entries that cancel to rounding, |a_ij| <= 1e-14 sqrt(a_ii a_jj), are dropped. Order fixed: same bits for every thread count. */
pd_status pd_system_matrix_create(pd_csr *out, int n_vertices, const double *masses_over_h2, double inverse_h, const pd_element_set *sets,
                                  int n_sets, const pd_csr *pattern, const pd_corners *corners, int threads, pd_error *error);

/* Positions in `pattern` of every element's blocks: slots [n,k,k] for one set. */
void pd_pattern_slots(const pd_csr *pattern, const pd_element_set *set, int *slots, int threads);

#endif
