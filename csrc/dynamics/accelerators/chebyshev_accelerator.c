/* The Chebyshev semi-iterative method as an outer acceleration [Wang 2015, Algorithm 1]:
 *
 *     x_{k+1} = omega (gamma (x^ - x_k) + x_k - x_{k-1}) + x_{k-1},   x^ = x_k - d_k
 *
 * for the step s_{k+1} = x_{k+1} - x_k = -omega gamma d_k + (omega - 1) s_k. It needs two numbers on the host, and no pass over vectors
 * except the move. Its weights are arguments of the loops. So each chunk of a step has its own graph until omega has converged in the
 * last bit of `real`. */
#include "dynamics/accelerator.h"
#include "linear/chebyshev.h"

#include <stdlib.h>

typedef struct outer_chebyshev {
    pd_chebyshev settings;
    int k;        /* the next iteration of the sequence, from 0 */
    double omega; /* of the previous iteration */
} outer_chebyshev;

static pd_status reset(void *self, const pd_problem *problem) {
    outer_chebyshev *sequence = self;
    (void)problem;
    sequence->k = 0;
    sequence->omega = 1.0;
    return PD_OK;
}

static pd_status create(void **self, const pd_problem *problem, const pd_accelerated *iteration, const void *settings) {
    outer_chebyshev *sequence = *self = malloc(sizeof *sequence);
    (void)iteration;
    if (!sequence) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for an acceleration");
    sequence->settings = *(const pd_chebyshev *)settings;
    sequence->settings.enabled = 1;
    return reset(sequence, problem);
}

static void destroy(void *self, const pd_problem *problem) {
    (void)problem;
    free(self);
}

static void weights(void *self, double weights[2]) {
    outer_chebyshev *sequence = self;
    sequence->omega = pd_chebyshev_omega(&sequence->settings, sequence->k++, sequence->omega);
    weights[0] = -sequence->omega * sequence->settings.under_relaxation;
    weights[1] = sequence->omega - 1.0;
}

const pd_accelerator pd_chebyshev_accelerator = {.name = "chebyshev",
                                                 .options = pd_chebyshev_options,
                                                 .settings_size = sizeof(pd_chebyshev),
                                                 .create = create,
                                                 .destroy = destroy,
                                                 .reset = reset,
                                                 .weights = weights};
