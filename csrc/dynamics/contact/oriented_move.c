/* The limit of the frame for tets that must not invert; see oriented_move.h. */
#include "dynamics/contact/oriented_move.h"

#include "dynamics/contact/safe_move.h"
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
    pd_safe *safe = &self->safe;
    int n = problem->model->n_vertices;
    double away;
    pd_status status = PD_OK;
    if (!is_oriented(self)) return PD_OK;
    if (given) return pd_orientation_check(problem, "guess", iterate->x);
    if (problem->response->limits) return PD_OK;
    PD_TRY(pd_memory_copy(problem->context, safe->x, problem->x_t, pd_problem_bytes(problem)));
    PD_TRY(pd_inertia_offset(problem, safe->x, self->v, safe->offset));
    PD_TRY(pd_orientation_limit(problem, safe->x, iterate->x, &safe->part));
    if (safe->part == 1.0) return PD_OK;
    PD_TRY(pd_safe_try_targets(self, problem->x_t, &away));
    PD_TRY(pd_move_towards(problem->context, n, problem->model->fixed, 1.0, safe->x, iterate->x));
    PD_TRY(pd_move_towards(problem->context, n, problem->model->fixed, 1.0, safe->offset, iterate->offset));
    safe->arrived = away == 0.0;
    safe->drives = 1;
    safe->room = 0.0, safe->waits = 0;
    if (!safe->arrived) PD_TRY(pd_orientation_limit(problem, safe->x, iterate->x, &safe->part));
    if (safe->part < 1.0) PD_TRY(pd_safe_return(self, safe->part *= SHARE));
done:
    return status;
}

pd_status pd_oriented_advance(pd_simulation *self, int *moved) {
    const pd_problem *problem = self->problem;
    pd_safe *safe = &self->safe;
    double part, away;
    pd_status status = PD_OK;
    if (!is_oriented(self) || problem->response->limits || safe->arrived) return PD_OK;
    PD_TRY(pd_safe_try_targets(self, self->iterate.x, &away));
    PD_TRY(pd_orientation_limit(problem, self->iterate.x, problem->trial, &part));
    if (part < 1.0 && part * away < OPENED * safe->room && safe->waits < LONGEST_WAIT) {
        safe->waits++;
        return PD_OK;
    }
    safe->arrived = part == 1.0;
    safe->waits = 0, safe->room = (1.0 - SHARE) * part * away;
    if (!safe->arrived) part *= SHARE;
    PD_TRY(pd_move_towards(problem->context, problem->model->n_vertices, NULL, part, problem->trial, self->iterate.x));
    *moved = part > 0.0;
    safe->drives += *moved;
done:
    return status;
}

pd_status pd_oriented_limit(pd_simulation *self, double *part) {
    const pd_problem *problem = self->problem;
    const pd_iterate *iterate = &self->iterate;
    int searched = iterate->limit > 0.0 && !self->accelerator, holds;
    pd_status status = PD_OK;
    *part = 1.0;
    if (!is_oriented(self)) return PD_OK;
    if (searched || iterate->replaced || self->method->keeps_orientation) {
        PD_TRY(pd_orientation_holds(problem, iterate->x, &holds));
        if (searched && !problem->response->limits) *part = iterate->limit;
        if (holds) return PD_OK;
    }
    PD_TRY(pd_orientation_limit(problem, self->safe.x, iterate->x, part));
    if (*part < 1.0) PD_TRY(pd_safe_shorten(self, *part));
done:
    return status;
}
