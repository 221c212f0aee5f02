/* Sparse matrices over the vertices: the graph of the elements, and the matrix of the Projective Dynamics global step. */
#ifndef PD_SPARSE_SYSTEM_MATRIX_H
#define PD_SPARSE_SYSTEM_MATRIX_H

#include "base/status.h"
#include "mesh/corners.h"

/* Compressed sparse rows, columns ascending in each row. Owns its arrays; pd_csr_destroy frees them. */
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

/* Values to add to a symmetric matrix, on and below the diagonal: rows[k] >= columns[k], sorted by row, then by column, without repeats. */
typedef struct pd_entries {
    int n, capacity;           /* capacity: their maximum number */
    long long revision;        /* constant while number, rows and columns are */
    const int *rows, *columns; /* [n] */
    const double *values;      /* [n] */
} pd_entries;

/* Copies `matrix`, with zeros for missing entries and their mirror images. Errors: PD_ERROR_MEMORY. */
pd_status pd_csr_with_capacity(pd_csr *out, const pd_csr *matrix, const pd_entries *entries, pd_error *error);
void pd_csr_destroy(pd_csr *matrix);

/* Entry (i,j) of a matrix with ascending columns; 0 for a missing entry. */
double pd_csr_entry(const pd_csr *matrix, int i, int j);

/* Pattern of the elements' Hessian: entry (i,j) exists if an element has both vertices, or i = j. */
pd_status pd_pattern_create(pd_csr *out, int n_vertices, const pd_element_set *sets, int n_sets, const pd_corners *corners,
                            pd_error *error);

/* The matrix of the Projective Dynamics global step [Bouaziz et al. 2014, Eq. 10],
 *     A = M/h^2 + sum_e (1 + k_d/h) w_e S_e^T S_e,   (S^T S)_ij = g_i . g_j,
 * over all vertices. k_d is the damping time [s] of the element. The Hessian of the damping potential is at most (k_d/h) w S^T S. So
 * with the factor A stays an upper bound of the Hessian, and every global step lowers the potential.
 *   masses_over_h2 [n]  kg/s^2 (0: quasistatic)      inverse_h  1/s (0: quasistatic)
 * Entries that cancel to rounding, |a_ij| <= 1e-14 sqrt(a_ii a_jj), are dropped. Order: fixed; same bits for every thread count. */
pd_status pd_system_matrix_create(pd_csr *out, int n_vertices, const double *masses_over_h2, double inverse_h, const pd_element_set *sets,
                                  int n_sets, const pd_csr *pattern, const pd_corners *corners, int threads, pd_error *error);

/* Positions in `pattern` of every element's blocks: slots [n,k,k] for one set. */
void pd_pattern_slots(const pd_csr *pattern, const pd_element_set *set, int *slots, int threads);

#endif
