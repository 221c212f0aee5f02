/* Anderson acceleration of a fixed-point iteration on vectors in backend memory, with a window of earlier iterates; the formulas are in
 * updates/linear/anderson_update.h. The linear solvers and the outer iteration of a simulation use it. It neither synchronises nor allocates
 * after its creation, so a graph can contain it. */
#ifndef PD_LINEAR_ANDERSON_H
#define PD_LINEAR_ANDERSON_H

#include "base/option.h"
#include "loops/anderson_loops.h"

/* What a combined move is tested by. POTENTIAL: the potential at its end, before it is made. RESIDUAL: |f| at its end; a move after which
 * it grows is undone by the next one. */
enum { PD_SAFEGUARD_AUTOMATIC, PD_SAFEGUARD_POTENTIAL, PD_SAFEGUARD_RESIDUAL, PD_SAFEGUARD_NONE, PD_SAFEGUARD_COUNT };

typedef struct pd_anderson_settings {
    int window;            /* differences in memory, 1 to PD_ANDERSON_LARGEST_WINDOW; 0: no acceleration */
    double regularization; /* r */
    int safeguard;         /* PD_SAFEGUARD_... */
} pd_anderson_settings;

extern const pd_option pd_anderson_options[];

enum { PD_ANDERSON_MOST_PARTS = 64 };

typedef struct pd_anderson {
    pd_context *context;
    pd_anderson_settings settings; /* with another safeguard than AUTOMATIC */
    int n_parts;
    pd_anderson_part parts[PD_ANDERSON_MOST_PARTS];
    pd_anderson_state *state; /* B */
    double *sums;             /* B [n_parts, pd_anderson_sums(window)] */
} pd_anderson;

/* Allocates the memory of the parts, of which the caller has set n, width and the pointers of its own; `held` is allocated for parts
 * in place. `self` is zero but for n_parts and parts. pd_anderson_destroy frees a partial one. Errors: PD_ERROR_MEMORY. */
pd_status pd_anderson_create(pd_anderson *self, pd_context *context, const pd_anderson_settings *settings);
void pd_anderson_destroy(pd_anderson *self);
/* Begins a new sequence; `held` stays. */
pd_status pd_anderson_reset(pd_anderson *self);
/* Takes in the iterate: afterwards the state has the weights of its move. */
pd_status pd_anderson_observe(pd_anderson *self);

#endif
