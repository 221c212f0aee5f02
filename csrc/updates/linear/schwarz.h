/* The formulas of an additive Schwarz preconditioner on several levels: an entry of a matrix over nodes, of a coarser matrix, the inverse
 * of a domain, and the motion of a node.
 *
 * A node with the arm y from the centre of its domain moves by T (t, w) = t + w x y, where the domain has a translation t and a rotation
 * w; without rotations by t. A node that rotates itself rotates by w. So the coarser matrix has the entries sum T_i^T A_ij T_j, with the
 * rigid motions of a domain as its unknowns: an elastic body resists all others.
 *
 * Before the include a backend defines PD_DOMAIN_WAIT(), which makes the writes of other lanes visible. Without it there is one lane. */
#ifndef PD_UPDATES_LINEAR_SCHWARZ_H
#define PD_UPDATES_LINEAR_SCHWARZ_H

#include "loops/schwarz_loops.h"

#ifndef PD_DOMAIN_WAIT
#define PD_DOMAIN_WAIT() ((void)0)
#endif

#ifdef __CUDACC__
#define PD_DOMAIN_FUNCTION static __device__ __forceinline__
#else
#define PD_DOMAIN_FUNCTION static inline
#endif

/* B [3,3] <- P B Q. */
PD_FUNCTION void pd_between_projectors(const real *P, const real *Q, double *B) {
    double PB[9];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            PB[3 * r + c] = (double)P[3 * r] * B[c] + (double)P[3 * r + 1] * B[3 + c] + (double)P[3 * r + 2] * B[6 + c];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            B[3 * r + c] = PB[3 * r] * (double)Q[c] + PB[3 * r + 1] * (double)Q[3 + c] + PB[3 * r + 2] * (double)Q[6 + c];
}

/* out [numbers,numbers]: entry s = (i,j) of a matrix. With projectors its part off the lines and planes is the mean of its diagonal. */
PD_FUNCTION void pd_node_entry(const pd_node_matrix *A, int s, int i, int j, double *out) {
    size_t node = (size_t)i, entry = (size_t)s;
    if (A->numbers == 1) {
        out[0] = i == j && A->diagonal ? A->diagonal[node] : (double)A->values[entry];
        return;
    }
    double number = !A->scalar ? 0.0 : i == j && A->diagonal ? A->diagonal[node] : (double)A->values[entry];
    for (int c = 0; c < 9; c++) out[c] = A->scalar ? (c % 4 == 0 ? number : 0.0) : (double)A->values[9 * entry + (size_t)c];
    if (i == j) {
        for (int c = 0; c < 3 && !A->scalar; c++) out[4 * c] = A->diagonal ? A->diagonal[3 * node + (size_t)c] : out[4 * c] + A->shift;
        for (int c = 0; c < 9 && A->coupling; c++) out[c] += (double)A->coupling[9 * node + (size_t)c];
    }
    if (!A->projectors) return;
    const real *P = A->projectors + 9 * node;
    double mean = (out[0] + out[4] + out[8]) / 3.0;
    pd_between_projectors(P, A->projectors + 9 * (size_t)j, out);
    for (int c = 0; c < 9 && i == j; c++) out[c] += mean * ((c % 4 == 0 ? 1.0 : 0.0) - (double)P[c]);
}

/* Entry s of the matrix of a level. */
PD_FUNCTION void pd_level_entry(const pd_node_matrix *matrix, const pd_schwarz_level *level, int s, double *out) {
    int count = level->numbers * level->numbers;
    if (!level->values)
        pd_node_entry(matrix, s, level->rows[s], level->columns[s], out);
    else
        for (int c = 0; c < count; c++) out[c] = level->values[(size_t)count * (size_t)s + (size_t)c];
}

/* out = w x y. */
PD_FUNCTION void pd_arm_velocity(const double *w, const real *y, double *out) {
    out[0] = w[1] * (double)y[2] - w[2] * (double)y[1];
    out[1] = w[2] * (double)y[0] - w[0] * (double)y[2];
    out[2] = w[0] * (double)y[1] - w[1] * (double)y[0];
}

/* D [numbers,6] = B T_j of an entry B [numbers,numbers] with the arm y of its column. */
PD_FUNCTION void pd_entry_of_motion(const double *B, int numbers, const real *y, double *D) {
    for (int r = 0; r < numbers; r++) {
        const double *row = B + numbers * r;
        double force[3] = {row[0], row[1], row[2]}, torque[3];
        pd_arm_velocity(force, y, torque); // y x f = -(f x y)
        for (int c = 0; c < 3; c++) {
            D[6 * r + c] = row[c];
            D[6 * r + 3 + c] = -torque[c] + (numbers == 6 ? row[3 + c] : 0.0);
        }
    }
}

/* C [coarser,coarser] += T_i^T B T_j of an entry B [numbers,numbers]; arms y_i, y_j, read with rotations only. */
PD_FUNCTION void pd_add_coarser(const double *B, int numbers, int coarser, const real *y_i, const real *y_j, double *C) {
    double D[36]; // B T_j [numbers,6]
    if (coarser == numbers && numbers < 6) {
        for (int c = 0; c < numbers * numbers; c++) C[c] += B[c];
        return;
    }
    pd_entry_of_motion(B, numbers, y_j, D);
    for (int c = 0; c < 6; c++) {
        double force[3] = {D[c], D[6 + c], D[12 + c]}, torque[3];
        pd_arm_velocity(force, y_i, torque);
        for (int r = 0; r < 3; r++) {
            C[6 * r + c] += force[r];
            C[6 * (r + 3) + c] += -torque[r] + (numbers == 6 ? D[6 * (r + 3) + c] : 0.0);
        }
    }
}

/* Entry e of the coarser matrix, out [coarser,coarser]: the sum of its sources in order. */
PD_FUNCTION void pd_coarser_entry(const pd_node_matrix *matrix, const pd_schwarz_level *fine, const pd_schwarz_level *coarse, int e,
                                  double *out) {
    double B[36];
    for (int c = 0; c < fine->coarser * fine->coarser; c++) out[c] = 0.0;
    for (int k = coarse->source_start[e]; k < coarse->source_start[e + 1]; k++) {
        int s = coarse->sources[k];
        pd_level_entry(matrix, fine, s, B);
        const real *y_i = fine->arms ? fine->arms + 3 * (size_t)fine->rows[s] : NULL;
        const real *y_j = fine->arms ? fine->arms + 3 * (size_t)fine->columns[s] : NULL;
        pd_add_coarser(B, fine->numbers, fine->coarser, y_i, y_j, out);
    }
}

/* The centre of domain k, and the arms of its nodes. */
PD_FUNCTION void pd_domain_place(const pd_schwarz_level *level, const real *points, int k) {
    int begin = level->domain_start[k], end = level->domain_start[k + 1];
    for (int c = 0; c < 3; c++) {
        double sum = 0.0;
        for (int t = begin; t < end; t++) sum += (double)points[3 * (size_t)level->nodes[t] + (size_t)c];
        real centre = (real)(sum / (end - begin));
        level->centres[3 * (size_t)k + (size_t)c] = centre;
        for (int t = begin; t < end; t++) {
            size_t at = 3 * (size_t)level->nodes[t] + (size_t)c;
            level->arms[at] = points[at] - centre;
        }
    }
}

/* Doubles of scratch of pd_domain_invert for m unknowns. */
PD_FUNCTION size_t pd_domain_scratch(int m) { return (size_t)m * ((size_t)m + 3); }

/* A pivot below this fraction of its diagonal counts as zero: it is mostly rounding, as for the rotation of a straight domain about
 * itself. */
PD_FUNCTION double pd_least_pivot(void) { return fmax(1e-10, 8.0 * (double)PD_EPSILON); }

/* The factor on the diagonal of an inverse: its rounding to `real` then leaves no negative eigenvalue, for any condition. */
PD_FUNCTION double pd_inverse_margin(void) { return 1.0 + 8.0 * (double)PD_EPSILON; }

/* Sweeps the lower triangle a [m,m] by `lanes` threads with Gauss' and Jordan's steps, which leave -A^-1 [Goodnight 1979]. A pivot that
 * is at most `least` of its diagonal is left out. column [3 m]: scratch, the diagonal before, and whether each pivot was swept. Returns the
 * number of negative pivots. */
PD_DOMAIN_FUNCTION double pd_sweep(double *a, int m, double least_part, double *column, int lane, int lanes) {
    double *diagonal = column + m, *swept = diagonal + m, negative = 0.0;
    for (int i = lane; i < m; i += lanes) diagonal[i] = a[i * m + i];
    for (int p = 0; p < m; p++) {
        PD_DOMAIN_WAIT();
        for (int i = lane; i < m; i += lanes) column[i] = i < p ? a[p * m + i] : a[i * m + p];
        PD_DOMAIN_WAIT();
        double pivot = column[p], least = least_part * fabs(diagonal[p]);
        int good = pivot > least;
        negative += pivot >= -least ? 0.0 : 1.0;
        if (lane == 0) swept[p] = good;
        if (!good) continue;
        for (int i = 0; i < m; i++) {
            double factor = column[i] / pivot;
            if (i == p) {
                for (int j = lane; j < p; j += lanes) a[p * m + j] = column[j] / pivot;
                continue;
            }
            for (int j = lane; j <= i; j += lanes) a[i * m + j] = j == p ? factor : a[i * m + j] - factor * column[j];
        }
        PD_DOMAIN_WAIT();
        if (lane == 0) a[p * m + p] = -1.0 / pivot;
    }
    return negative;
}

/* The inverse of domain k by `lanes` threads. Pivots of a positive definite matrix are positive. An unknown whose pivot is not positive is
 * left out: its row of the inverse is that of its diagonal. So the inverse is positive definite, up to zeros on the diagonal. */
PD_DOMAIN_FUNCTION void pd_domain_invert(const pd_node_matrix *matrix, const pd_schwarz_level *level, int k, double *a, int lane,
                                         int lanes) {
    int begin = level->domain_start[k], count = level->domain_start[k + 1] - begin, w = level->numbers, m = count * w;
    double *column = a + (size_t)m * (size_t)m, *diagonal = column + m, *swept = diagonal + m, negative = 0.0, B[36];
    real *inverse = level->inverses + level->inverse_start[k];
    for (int e = lane; e < m * m; e += lanes) a[e] = 0.0;
    PD_DOMAIN_WAIT();
    for (int t = lane; t < count; t += lanes) {
        int i = level->nodes[begin + t];
        for (int s = level->row_start[i]; s < level->row_start[i + 1]; s++) {
            int j = level->columns[s];
            if (level->domain[j] != k || level->places[j] > t) continue; // only the lower triangle is read
            pd_level_entry(matrix, level, s, B);
            for (int r = 0; r < w; r++)
                for (int c = 0; c < w; c++) a[(t * w + r) * m + level->places[j] * w + c] += B[w * r + c];
        }
    }
    PD_DOMAIN_WAIT();
    negative = pd_sweep(a, m, pd_least_pivot(), column, lane, lanes);
    PD_DOMAIN_WAIT();
    for (int i = 0; i < m; i++)
        for (int j = lane; j <= i; j += lanes) {
            double own = i == j && diagonal[i] > 0.0 ? 1.0 / diagonal[i] : 0.0;
            double value = swept[i] > 0.0 && swept[j] > 0.0 ? -a[i * m + j] * (i == j ? pd_inverse_margin() : 1.0) : own;
            inverse[(size_t)i * (size_t)m + (size_t)j] = inverse[(size_t)j * (size_t)m + (size_t)i] = (real)value;
        }
    if (lane == 0) level->indefinite[k] = negative;
    PD_DOMAIN_WAIT();
}

/* The number `c` of T^T r of a node; r [numbers] with the distance `stride`. */
PD_FUNCTION real pd_node_force(int numbers, int c, const real *y, const real *r, int stride) {
    if (c < 3) return r[c * stride];
    int a = (c + 1) % 3, b = (c + 2) % 3; // y x f
    return y[a] * r[b * stride] - y[b] * r[a * stride] + (numbers == 6 ? r[c * stride] : (real)0);
}

/* z [numbers] += T v, v [coarser], both with the distance `stride`. */
PD_FUNCTION void pd_node_extend(int numbers, int coarser, const real *y, const real *v, int stride, real *z) {
    for (int c = 0; c < numbers; c++) z[c * stride] += v[c * stride];
    if (coarser < 6) return;
    for (int c = 0; c < 3; c++) {
        int a = (c + 1) % 3, b = (c + 2) % 3; // w x y
        z[c * stride] += v[(3 + a) * stride] * y[b] - v[(3 + b) * stride] * y[a];
    }
}

#endif
