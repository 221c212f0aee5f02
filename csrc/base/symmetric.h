/* Small symmetric matrices of any size that is constant at the call: their eigenvalues, filtered (hessian_filter.h). */
#ifndef PD_BASE_SYMMETRIC_H
#define PD_BASE_SYMMETRIC_H

#include "base/matrix3.h"

enum { PD_SYMMETRIC_MOST = 9 };

/* Smaller entries are below the rounding of a matrix with largest entry 1, and count as zero. Their squares are still far from
 * underflow. */
#define PD_SYMMETRIC_LOST ((real)0.125 * PD_EPSILON)

/* A [n,n] = Z^T T Z with T tridiagonal, diagonal d [n], below it e [n-1], by Householder reflections; A, entries up to 1, is
 * overwritten.
 * [Golub and Van Loan 2013, Algorithm 8.3.1] */
PD_FUNCTION void pd_symmetric_tridiagonalise(int n, real *A, real *Z, real *d, real *e) {
    real v[PD_SYMMETRIC_MOST], w[PD_SYMMETRIC_MOST];
    for (int i = 0; i < n * n; i++) Z[i] = (real)(i / n == i % n);
    for (int k = 0; k + 2 < n; k++) {
        real below = 0;
        for (int i = k + 2; i < n; i++) below += A[n * i + k] * A[n * i + k];
        e[k] = A[n * (k + 1) + k];
        if (!(below > PD_SYMMETRIC_LOST * PD_SYMMETRIC_LOST)) continue;
        real length = pd_sqrt(below + e[k] * e[k]), image = e[k] > 0 ? -length : length;
        for (int i = 0; i < n; i++) v[i] = i > k ? A[n * i + k] : (real)0;
        v[k + 1] -= image;
        real factor = (real)2 / (below + v[k + 1] * v[k + 1]), dot = 0;
        e[k] = image;
        for (int i = k + 1; i < n; i++) {
            real sum = 0;
            for (int j = k + 1; j < n; j++) sum += A[n * i + j] * v[j];
            w[i] = factor * sum;
            dot += w[i] * v[i];
        }
        for (int i = k + 1; i < n; i++) w[i] -= (real)0.5 * factor * dot * v[i];
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++) A[n * i + j] -= v[i] * w[j] + w[i] * v[j];
        for (int j = 0; j < n; j++) w[j] = 0;
        for (int i = k + 1; i < n; i++)
            for (int j = 0; j < n; j++) w[j] += factor * v[i] * Z[n * i + j];
        for (int i = k + 1; i < n; i++)
            for (int j = 0; j < n; j++) Z[n * i + j] -= v[i] * w[j];
    }
    for (int i = 0; i < n; i++) d[i] = A[(n + 1) * i];
    if (n > 1) e[n - 2] = A[n * (n - 1) + n - 2];
}

/* The eigenvalues d [n], unordered, of the tridiagonal matrix (d, e), entries up to some 1, by implicit QL steps with Wilkinson's shift;
 * each row of Z is rotated too. [Golub and Van Loan 2013, Algorithm 8.3.3, from the lower end: Bowdler et al. 1968, tql2] */
PD_FUNCTION void pd_tridiagonal_eigen(int n, real *d, real *e, real *Z) {
    for (int l = 0; l < n; l++)
        for (int iteration = 0; iteration < 30; iteration++) { // two or three are usual
            int m = l;
            while (m < n - 1 && pd_fabs(e[m]) > PD_SYMMETRIC_LOST) m++;
            if (m == l) break;
            real g = (d[l + 1] - d[l]) / ((real)2 * e[l]), r = pd_sqrt(g * g + (real)1), s = 1, c = 1, p = 0;
            g = d[m] - d[l] + e[l] / (g + (g < 0 ? -r : r));
            int i = m - 1;
            for (; i >= l; i--) {
                real f = s * e[i], b = c * e[i];
                r = pd_sqrt(f * f + g * g);
                // the square of a lost entry counts as zero; with smaller ones the squares of f and g would underflow, and s, c be no
                // rotation
                e[i + 1] = r > PD_SYMMETRIC_LOST * PD_SYMMETRIC_LOST ? r : (real)0;
                if (!(r > PD_SYMMETRIC_LOST * PD_SYMMETRIC_LOST)) break;
                s = f / r, c = g / r;
                g = d[i + 1] - p;
                r = (d[i] - g) * s + (real)2 * c * b;
                p = s * r;
                d[i + 1] = g + p;
                g = c * r - b;
                for (int k = 0; k < n; k++) {
                    real upper = Z[n * i + k], lower = Z[n * (i + 1) + k];
                    Z[n * (i + 1) + k] = s * upper + c * lower;
                    Z[n * i + k] = c * upper - s * lower;
                }
            }
            if (i >= l) { // the matrix decouples here
                d[i + 1] -= p;
                e[m] = 0;
                continue;
            }
            d[l] -= p;
            e[l] = g;
            e[m] = 0;
        }
}

/* The Jacobi rotation of rows p and q that makes s_pq zero, of a matrix with entries up to 1: row p <- c p - s q, row q <- s p + c q,
 * and the diagonal changes by -+ tangent s_pq. For an s_pq that counts as zero it is the identity. By value, for matrices in vector
 * lanes: all lanes take the same path, unlike in the steps above. [Golub and Van Loan 2013, Sec. 8.5] */
typedef struct pd_symmetric_rotation {
    real c, s, tangent;
    int counts; /* it is not the identity */
} pd_symmetric_rotation;

PD_LANE_FUNCTION pd_symmetric_rotation pd_symmetric_rotation_of(real pp, real pq, real qq) {
    pd_symmetric_rotation out;
    out.counts = pd_fabs(pq) > PD_SYMMETRIC_LOST;
    real apart = qq - pp, twice = (real)2 * pq, length = pd_sqrt(apart * apart + twice * twice);
    real tangent = twice / (apart + (apart < 0 ? -length : length));
    out.tangent = out.counts ? tangent : (real)0;
    out.c = (real)1 / pd_sqrt((real)1 + out.tangent * out.tangent);
    out.s = out.c * out.tangent;
    return out;
}

/* S [n,n], symmetric, n <= PD_SYMMETRIC_MOST, with filtered eigenvalues as a sum of products: the first rows of vectors [n,n] are z_0,
 * z_1, .. with S+ = sum z z^T, the eigenvectors of the positive filtered eigenvalues times their roots. Returns their number. Errors are
 * a few rounding errors of |S|. S may be the same array as vectors. Not for PD_FILTER_NONE: negative eigenvalues have no roots. */
PD_LARGE_FUNCTION int pd_symmetric_squares(int n, const real *S, pd_hessian_filter filter, real *vectors) {
    real A[PD_SYMMETRIC_MOST * PD_SYMMETRIC_MOST], d[PD_SYMMETRIC_MOST], e[PD_SYMMETRIC_MOST];
    real size = pd_largest(S, n * n);
    int count = 0;
    if (!(size > 0)) return 0;
    for (int i = 0; i < n * n; i++) A[i] = S[i] / size;
    pd_symmetric_tridiagonalise(n, A, vectors, d, e);
    e[n - 1] = 0;
    pd_tridiagonal_eigen(n, d, e, vectors);
    for (int m = 0; m < n; m++) {
        real kept = pd_filter_eigenvalue(filter, d[m]);
        if (!(kept > 0)) continue;
        real root = pd_sqrt(size * kept);
        for (int i = 0; i < n; i++) vectors[n * count + i] = root * vectors[n * m + i];
        count++;
    }
    return count;
}

/* Filters the eigenvalues of S, which stays exactly symmetric. */
PD_FUNCTION void pd_symmetric_filter(int n, real *S, pd_hessian_filter filter) {
    real vectors[PD_SYMMETRIC_MOST * PD_SYMMETRIC_MOST];
    if (filter == PD_FILTER_NONE) return;
    int count = pd_symmetric_squares(n, S, filter, vectors);
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            real sum = 0;
            for (int m = 0; m < count; m++) sum += vectors[n * m + i] * vectors[n * m + j];
            S[n * i + j] = S[n * j + i] = sum;
        }
}

#endif
