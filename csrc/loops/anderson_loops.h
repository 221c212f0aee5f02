/* The loops of Anderson acceleration over the vectors of a fixed-point iteration (updates/linear/anderson_update.h). The rules of backend.h
 * hold. */
#ifndef PD_LOOPS_ANDERSON_LOOPS_H
#define PD_LOOPS_ANDERSON_LOOPS_H

#include "loops/element_loops.h"
#include "updates/linear/anderson_update.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One vector of the state of an iteration: g = x - correction; or, in place, `values` hold g, and x is what the last combination left in
 * `held`. */
typedef struct pd_anderson_part {
    int n, width, in_place;
    const unsigned char *fixed; /* B [n] rows that take no part, or NULL */
    const real *row_weights;    /* B [n] of the inner product, or NULL: 1 */
    double scale;               /* factor on them */
    const real *x, *correction; /* B [n,width], or NULL */
    const real *positions;      /* B [n,width] whose squares are summed, or NULL */
    real *values, *held;        /* B [n,width], or NULL */
    real *last_f, *last_g;      /* B [n,width] of the iterate before */
    real *df, *dg;              /* B [window,n,width] */
    double *partial_sums;       /* B scratch, one set of sums for each PD_SUM_BLOCK rows */
} pd_anderson_part;

/* Writes the newest differences at the place that `state` names, and f and g of this iterate; sums  B [pd_anderson_sums(window)]  out. */
pd_status pd_anderson_record(pd_context *context, const pd_anderson_part *part, int window, const pd_anderson_state *state /* B */,
                             double *sums);

/* pd_anderson_advance and pd_anderson_accept, by one thread. */
pd_status pd_anderson_find(pd_context *context, pd_anderson_state *state /* B */, const double *sums, int n_parts, int window,
                           double regularization, double growth);
pd_status pd_anderson_decide(pd_context *context, pd_anderson_state *state /* B */, const double *energies, int n, int n_vertices,
                             const double stiffness[2] /* H */);

/* The combined move: out B [n,width] = correction + sum of weights x dg; of a part in place, values and held = values - that sum. */
pd_status pd_anderson_combine(pd_context *context, const pd_anderson_part *part, int window, const pd_anderson_state *state /* B */,
                              real *out);
/* correction = combined [count] where the state has accepted it. */
pd_status pd_anderson_take(pd_context *context, const pd_anderson_state *state /* B */, long long count, const real *combined,
                           real *correction);

#ifdef __cplusplus
}
#endif

#endif
