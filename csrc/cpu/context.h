/* The CPU context, and functions shared by the loops. */
#ifndef PD_CPU_CONTEXT_H
#define PD_CPU_CONTEXT_H

#include "loops/backend.h"
#include "threads/team.h"

/* A loop body that is compiled once per constant argument. */
#define PD_INLINE static inline __attribute__((always_inline))

struct pd_context {
    int threads;
    pd_error error;
    pd_counts counts;
    pd_tally tally;
    double marks[PD_MARK_COUNT]; /* s */
};

/* The threads of a loop over `items` of `nanoseconds` each; see threads/team.h. */
static inline int pd_threads(const pd_context *context, long long items, int nanoseconds) {
    return pd_team(context->threads, items, nanoseconds);
}

/* Sum over blocks of a fixed size, then over the partial sums in order: the bits do not depend on the threads. */
static inline double pd_add_partial_sums(const double *partial, int n) {
    double sum = 0.0;
    for (int b = 0; b < n; b++) sum += partial[b];
    return sum;
}

/* x.y of vectors [n,width], summed in double over blocks of PD_SUM_BLOCK rows; partial_sums: one number per block. */
double pd_dot_of_rows(const pd_context *context, int n, int width, const real *x, const real *y, double *partial_sums);

#endif
