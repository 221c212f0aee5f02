/* Projective Dynamics [Bouaziz et al. 2014, Algorithm 1; Wang 2015, Sec. 4; Lan et al. 2022, Eqs. 1-3].
 *
 * One iteration projects every element (local step) and solves one linear system with the constant matrix
 * A = M/h^2 + sum w S^T S (global step):
 *
 *     A x^{k+1} = M/h^2 y + sum w S^T T^k,   T^k = projection of S x^k.
 *
 * Written for the correction d = x^{k+1} - x^k this is A d = M/h^2 (y - x^k) + sum w S^T (T^k - S x^k) = -dG/dx, so the right-hand
 * side is the gradient of the incremental potential, and float32 loses nothing to the size of the coordinates. Since every
 * element's Hessian is at most w S^T S, A is an upper bound of the Hessian of G and an exact global step never raises G. */
#include "dynamics/global_step.h"
#include "dynamics/method.h"
#include "dynamics/potential.h"

typedef struct settings {
    pd_linear_settings linear;
} settings;

static const pd_option options[] = {PD_LINEAR(settings, linear), PD_OPTIONS_END};

/* Its memory is the linear solver of the global step. */
static pd_status create(void **self, const pd_problem *problem, const void *given) {
    const settings *settings = given;
    return pd_problem_linear_create((pd_linear **)self, problem, &settings->linear);
}

static void destroy(void *self, const pd_problem *problem) {
    (void)problem;
    pd_linear_destroy(self);
}

static pd_status refresh(void *self, const pd_problem *problem) {
    (void)problem;
    return pd_linear_prepare(self);
}

static pd_status direction(void *self, const pd_problem *problem, pd_iterate *iterate) {
    pd_linear *linear = self;
    pd_status status = PD_OK;

    // local step and right-hand side
    PD_TRY(pd_problem_gradient(problem, iterate->x, iterate->offset, iterate->gradient));

    // global step: A d = gradient, used with a minus sign by the frame
    pd_linear_result result;
    PD_TRY(pd_linear_solve(linear, iterate->gradient, iterate->direction, NULL, &result));

done:
    return status;
}

static int capturable(const void *self) { return pd_linear_capturable(self); }

static pd_linear *linear_of(const void *self) { return (pd_linear *)self; }

const pd_method pd_projective_dynamics_method = {.name = "ProjectiveDynamics",
                                                 .options = options,
                                                 .settings_size = sizeof(settings),
                                                 .create = create,
                                                 .destroy = destroy,
                                                 .refresh = refresh,
                                                 .direction = direction,
                                                 .capturable = capturable,
                                                 .linear = linear_of,
                                                 .minimises_potential = 1,
                                                 .fills_gradient = 1};
