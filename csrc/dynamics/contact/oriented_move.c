/* The limit of the frame for tets that must not invert; see oriented_move.h. */
#include "dynamics/contact/oriented_move.h"

#include "dynamics/contact/step_limiter.h"
#include "dynamics/orientation/orientation.h"
#include "dynamics/problem/inertia.h"
#include "dynamics/response.h"
#include "loops/contact_loops.h"

/* The limit leaves a tenth of a volume. A motion of pins by this part of its free path leaves about half. Pins then wait until the free path
 * has opened again, to this multiple of the one that they left, but for so many iterations at most: without waiting, tets were crushed that no
 * iteration had time to open. */
static const double SHARE = 5.0 / 9.0, OPENED = 2.0;
enum { LONGEST_WAIT = 3 };

static int is_oriented(const pd_simulation *self) { return self->problem->model->is_oriented; }

pd_status pd_oriented_begin(pd_simulation *self) {
    return is_oriented(self) ? pd_orientation_check(self->problem, "positions", self->problem->x_t) : PD_OK;
}

pd_status pd_oriented_first_guess(pd_simulation *self, int given) {
    const pd_problem *problem = self->problem;
    pd_iterate *iterate = &self->iterate;
    pd_step_limiter *limiter = &self->limiter;
    int n = problem->model->n_vertices;
    double away;
    pd_status status = PD_OK;
    if (!is_oriented(self)) return PD_OK;
    if (given) return pd_orientation_check(problem, "guess", iterate->x);
    if (problem->response->limits) return PD_OK;
    PD_TRY(pd_memory_copy(problem->context, limiter->x, problem->x_t, pd_problem_bytes(problem)));
    PD_TRY(pd_inertia_offset(problem, limiter->x, self->v, limiter->offset));
    PD_TRY(pd_orientation_limit(problem, limiter->x, iterate->x, &limiter->fraction));
    if (limiter->fraction == 1.0) return PD_OK;
    PD_TRY(pd_step_limiter_try_targets(self, problem->x_t, &away));
    PD_TRY(pd_move_towards(problem->context, n, problem->model->fixed, 1.0, limiter->x, iterate->x));
    PD_TRY(pd_move_towards(problem->context, n, problem->model->fixed, 1.0, limiter->offset, iterate->offset));
    limiter->arrived = away == 0.0;
    limiter->drives = 1;
    limiter->unused = 0.0, limiter->waited = 0;
    if (!limiter->arrived) PD_TRY(pd_orientation_limit(problem, limiter->x, iterate->x, &limiter->fraction));
    if (limiter->fraction < 1.0) PD_TRY(pd_step_limiter_return(self, limiter->fraction *= SHARE));
done:
    return status;
}

pd_status pd_oriented_advance(pd_simulation *self, int *moved) {
    const pd_problem *problem = self->problem;
    pd_step_limiter *limiter = &self->limiter;
    double fraction, away;
    pd_status status = PD_OK;
    if (!is_oriented(self) || problem->response->limits || limiter->arrived) return PD_OK;
    PD_TRY(pd_step_limiter_try_targets(self, self->iterate.x, &away));
    PD_TRY(pd_orientation_limit(problem, self->iterate.x, problem->trial, &fraction));
    if (fraction < 1.0 && fraction * away < OPENED * limiter->unused && limiter->waited < LONGEST_WAIT) {
        limiter->waited++;
        return PD_OK;
    }
    limiter->arrived = fraction == 1.0;
    limiter->waited = 0, limiter->unused = (1.0 - SHARE) * fraction * away;
    if (!limiter->arrived) fraction *= SHARE;
    PD_TRY(pd_move_towards(problem->context, problem->model->n_vertices, NULL, fraction, problem->trial, self->iterate.x));
    *moved = fraction > 0.0;
    limiter->drives += *moved;
done:
    return status;
}

pd_status pd_oriented_limit(pd_simulation *self, double *fraction) {
    const pd_problem *problem = self->problem;
    const pd_iterate *iterate = &self->iterate;
    int searched = iterate->limit > 0.0 && !self->accelerator, holds;
    pd_status status = PD_OK;
    *fraction = 1.0;
    if (!is_oriented(self)) return PD_OK;
    if (searched || iterate->replaced || self->method->keeps_orientation) {
        PD_TRY(pd_orientation_holds(problem, iterate->x, &holds));
        if (searched && !problem->response->limits) *fraction = iterate->limit;
        if (holds) return PD_OK;
    }
    PD_TRY(pd_orientation_limit(problem, self->limiter.x, iterate->x, fraction));
    if (*fraction < 1.0) PD_TRY(pd_step_limiter_shorten(self, *fraction));
done:
    return status;
}
