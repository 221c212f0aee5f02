/* The scalars of Anderson acceleration, type II [Anderson 1965; Walker and Ni 2011, Eqs. 2.1 to 2.3; Peng et al. 2018, Algorithm 1]. They
 * stay in backend memory: one thread updates them between two passes over the vectors.
 *
 * With g_k = G(x_k) and f_k = g_k - x_k the next iterate is
 *
 *     x_{k+1} = g_k - sum_j gamma_j dg_j,    gamma = argmin |f_k - sum_j gamma_j df_j|^2 + r sum_j |df_j|^2 gamma_j^2,
 *
 * df_j and dg_j the differences of the last m iterates. The columns are scaled to length 1 and the normal equations are solved in double:
 * (C + r I) c = b with C_ij = df_i.df_j / (|df_i| |df_j|). Products need one pass over the vectors, where a QR factorisation needs m. The
 * factor goes from the newest difference to the oldest one and leaves out a column that depends on newer ones. */
#ifndef PD_UPDATES_LINEAR_ANDERSON_UPDATE_H
#define PD_UPDATES_LINEAR_ANDERSON_UPDATE_H

#include "updates/potential_rounding.h"

enum { PD_ANDERSON_LARGEST_WINDOW = 30 };

/* Sums over the vectors: df.df_j [window] with df the newest difference, f.df_j [window], f.f, and x.x of the positions. */
enum { PD_ANDERSON_MOST_SUMS = 2 * PD_ANDERSON_LARGEST_WINDOW + 2 };
PD_FUNCTION int pd_anderson_sums(int window) { return 2 * window + 2; }

/* All zero: a sequence that begins. */
typedef struct pd_anderson_state {
    int begun;                                                                /* the iterate before is known */
    int stored, next;                                                         /* differences in memory, and the place of the next one */
    int combined;                                                             /* the last move was no plain step */
    int has_bound;                                                            /* the value below is known */
    int accepted;                                                             /* of the last decision */
    double square;                                                            /* f.f of the iterate before */
    double size;                                                              /* x.x of the positions */
    double bound;                                                             /* least potential of a point that was accepted, J */
    double products[PD_ANDERSON_LARGEST_WINDOW * PD_ANDERSON_LARGEST_WINDOW]; /* df_i.df_j, by places */
    double right[PD_ANDERSON_LARGEST_WINDOW];                                 /* f.df_j, by places */
    double weights[PD_ANDERSON_LARGEST_WINDOW];                               /* gamma_j, by places; 0: not used */
    double factor[PD_ANDERSON_LARGEST_WINDOW * PD_ANDERSON_LARGEST_WINDOW];   /* scratch of a solve, newest first */
    double solution[PD_ANDERSON_LARGEST_WINDOW];                              /* the same */
} pd_anderson_state;

/* Differences in memory after the next iterate has been recorded. */
PD_FUNCTION int pd_anderson_stored(const pd_anderson_state *s, int window) {
    return !s->begun ? 0 : s->stored < window ? s->stored + 1 : window;
}

/* Place of the i-th newest difference. */
PD_FUNCTION int pd_anderson_place(const pd_anderson_state *s, int i, int window) { return (s->next - 1 - i + 2 * window) % window; }

/* Cholesky factor of C + r I, row by row; a row of zeros for a column that depends on those before it. */
PD_FUNCTION void pd_anderson_factorize(pd_anderson_state *s, int window, double regularization) {
    const int n = s->stored, w = PD_ANDERSON_LARGEST_WINDOW;
    double *L = s->factor;
    for (int i = 0; i < n; i++) {
        int p = pd_anderson_place(s, i, window);
        double own = s->products[w * p + p];
        for (int j = 0; j <= i; j++) {
            int q = pd_anderson_place(s, j, window);
            double scale = sqrt(own) * sqrt(s->products[w * q + q]), sum = scale > 0.0 ? s->products[w * p + q] / scale : 0.0;
            if (i == j) sum += regularization;
            for (int c = 0; c < j; c++) sum -= L[w * i + c] * L[w * j + c];
            if (i > j)
                L[w * i + j] = L[w * j + j] > 0.0 ? sum / L[w * j + j] : 0.0;
            else
                L[w * i + i] = own > 0.0 && sum > 1e-14 ? sqrt(sum) : 0.0;
        }
        if (L[w * i + i] > 0.0) continue;
        for (int j = 0; j <= i; j++) L[w * i + j] = 0.0;
    }
}

/* weights of the newest f; all 0 where they are no numbers. */
PD_FUNCTION void pd_anderson_weigh(pd_anderson_state *s, int window, double regularization) {
    const int n = s->stored, w = PD_ANDERSON_LARGEST_WINDOW;
    double *L = s->factor, *c = s->solution, size = 0.0;
    pd_anderson_factorize(s, window, regularization);
    for (int i = 0; i < n; i++) {
        int p = pd_anderson_place(s, i, window);
        c[i] = 0.0;
        if (!(L[w * i + i] > 0.0)) continue;
        double sum = s->right[p] / sqrt(s->products[w * p + p]);
        for (int j = 0; j < i; j++) sum -= L[w * i + j] * c[j];
        c[i] = sum / L[w * i + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        if (!(L[w * i + i] > 0.0)) continue;
        double sum = c[i];
        for (int j = i + 1; j < n; j++) sum -= L[w * j + i] * c[j];
        c[i] = sum / L[w * i + i];
    }
    for (int i = 0; i < n; i++) {
        int p = pd_anderson_place(s, i, window);
        double gamma = L[w * i + i] > 0.0 ? c[i] / sqrt(s->products[w * p + p]) : 0.0;
        s->weights[p] = gamma;
        size += gamma * gamma;
    }
    s->combined = size > 0.0 && size < 1e20; // false for NaN
    for (int j = 0; !s->combined && j < window; j++) s->weights[j] = 0.0;
}

/* Takes the sums of one iterate in, [n_parts, pd_anderson_sums(window)] of the parts of the vectors, and finds the weights of its move.
 *   growth  0, or the factor by which |f| may grow after a move that was no plain step. Where it grows more, the weights lead to g_{k-1},
 *           the end of the plain step before, and the sequence begins again. */
PD_FUNCTION void pd_anderson_advance(pd_anderson_state *s, const double *sums, int n_parts, int window, double regularization,
                                     double growth) {
    const int count = pd_anderson_sums(window), w = PD_ANDERSON_LARGEST_WINDOW, place = s->next;
    double square = 0.0;
    for (int p = 0; p < n_parts; p++) square += sums[p * count + 2 * window];
    s->size = sums[2 * window + 1];
    for (int j = 0; j < window; j++) s->weights[j] = 0.0;
    if (growth > 0.0 && s->begun && s->combined && !(square <= growth * growth * s->square)) {
        s->weights[place] = 1.0;
        s->begun = s->stored = s->next = s->combined = 0;
        return;
    }
    if (s->begun) {
        s->stored = pd_anderson_stored(s, window);
        s->next = (place + 1) % window;
        for (int j = 0; j < s->stored; j++) {
            double product = 0.0, right = 0.0;
            for (int p = 0; p < n_parts; p++) product += sums[p * count + j], right += sums[p * count + window + j];
            s->products[w * place + j] = s->products[w * j + place] = product;
            s->right[j] = right;
        }
        pd_anderson_weigh(s, window, regularization);
    }
    s->begun = 1;
    s->square = square;
}

/* Accepts the combined point, whose potential has n parts, where it is no higher than the least of those accepted before, but for
 * rounding. The first point of a sequence is that of a plain step, which sets the bound.
 *   stiffness  w of pd_potential_rounding is stiffness[0] + stiffness[1] size, size in m^2 the mean |x|^2 of n_vertices points */
PD_FUNCTION void pd_anderson_accept(pd_anderson_state *s, const double *energies, int n, int n_vertices, double stiffness_0,
                                    double stiffness_1) {
    double potential = 0.0, magnitude = 0.0;
    for (int i = 0; i < n; i++) potential += energies[i], magnitude += fabs(energies[i]);
    double rounding = pd_potential_rounding(magnitude, stiffness_0 + stiffness_1 * s->size / (double)n_vertices);
    if (!s->has_bound) s->bound = potential;
    s->has_bound = 1;
    s->accepted = potential <= s->bound + rounding;
    if (potential < s->bound) s->bound = potential;
    if (!s->accepted) s->combined = 0;
}

#endif
