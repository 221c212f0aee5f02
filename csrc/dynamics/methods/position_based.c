/* Position-based dynamics in Jacobi form [Müller et al. 2007; Macklin et al. 2014; Wang 2015, Sec. 5.3, Eq. 22].
 *
 *     q_i^{k+1} = q_i^k + alpha sum_c dq_{i,c},    q^0 = y,
 *
 * with dq_{i,c} the moves of updates/elements/position_based.h, which satisfy constraint c. This is Wang's sum, not the average of Macklin
 * et al.: so a vertex with few constraints moves no further than its share, and linear momentum is conserved.
 *
 * The method minimises no potential and has no stiffness parameter: the apparent stiffness of a body depends on the number of iterations.
 * Inertia enters only through the first guess y, so there is no quasistatic form. Close to its limit the iteration is I - alpha sum_c P_c,
 * with the mass-weighted projections P_c. So alpha must stay below 2 / lambda, lambda the largest eigenvalue of their sum. lambda is at
 * most the number of constraints of a vertex, so tets need a much smaller alpha than springs. */
#include "dynamics/method.h"

#include <stdlib.h>

typedef struct settings {
    double relaxation; /* alpha */
} settings;

static const pd_option options[] = {PD_NUMBER_FROM(settings, relaxation, 0.0), PD_OPTIONS_END};

static pd_status create(void **self, const pd_problem *problem, const void *given) {
    if (!(problem->h > 0))
        return pd_fail(problem->error, PD_ERROR_VALUE,
                       "dt: None (quasistatic), but PBD needs a time step: inertia and loads enter only through its first guess");
    settings *memory = malloc(sizeof *memory);
    if (!memory) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    *memory = *(const settings *)given;
    *self = memory;
    return PD_OK;
}

static void destroy(void *self, const pd_problem *problem) {
    (void)problem;
    free(self);
}

static pd_status correction(void *self, const pd_problem *problem, pd_iterate *iterate) {
    const settings *memory = self;
    pd_context_tally(problem->context)->sweeps++;
    // the frame subtracts the correction
    return pd_constraint_moves(problem->context, problem->model, -memory->relaxation, iterate->x, iterate->correction);
}

const pd_method pd_position_based_method = {.name = "PBD",
                                            .options = options,
                                            .settings_size = sizeof(settings),
                                            .create = create,
                                            .destroy = destroy,
                                            .correction = correction,
                                            .capturable = pd_always,
                                            .cure = "take a smaller relaxation",
                                            .implicit_euler_only = 1,
                                            .ignores_material = 1};
