/* The path of an iterate from one state to another; see path.h. */
#include "dynamics/problem/path.h"

#include "contact/potential/contact.h"
#include "dynamics/orientation/orientation.h"
#include "dynamics/rigid/rigid.h"

/* The number of trials of a shorter path; the slack of each is at most a quarter of that before. */
enum { MOST_TRIALS = 20 };

/* Tells whether prescribed points that are no vertices still move. */
static pd_status obstacles_move(const pd_problem *problem, int prescribed, int *move) {
    double target_lag = 0.0;
    pd_status status = prescribed ? pd_contact_target_lag(problem->contact, &target_lag) : PD_OK;
    *move = target_lag > 0.0;
    return status;
}

pd_status pd_path_limit_by_contact(const pd_problem *problem, const real *x_0, const real *x_1, int prescribed, double *fraction) {
    pd_context *context = problem->context;
    pd_status status = PD_OK;
    if (!problem->rigid)
        return prescribed ? pd_contact_limit(problem->contact, x_0, x_1, 1, fraction)
                          : pd_contact_limit_short(problem->contact, x_0, x_1, fraction);
    const pd_rigid *rigid = problem->rigid;
    if (pd_contact_uses_bounds(problem->contact)) { // displacement bounds hold for arcs as for chords
        PD_TRY(pd_rigid_stretch(problem, x_0, x_1, problem->trial_offset));
        return pd_contact_limit_arcs(problem->contact, x_0, problem->trial_offset, prescribed, fraction);
    }
    // the rounding of a body that is reconstructed from its pose
    real rounding = (real)(0.5 * pd_contact_rounding(problem->contact));
    double length = 1.0;
    int once;
    *fraction = 0.0;
    PD_TRY(obstacles_move(problem, prescribed, &once)); // they move all of their path, which cannot be shortened
    for (int trial = 0; trial < (once ? 1 : MOST_TRIALS) && *fraction < 0.5 * length; trial++) {
        const real *end = x_1;
        double here;
        if (trial > 0) {
            length = fmax(2.0 * *fraction, 0.5 * length);
            PD_TRY(pd_memory_copy(context, problem->trial_offset, x_0, pd_problem_bytes(problem)));
            PD_TRY(pd_path_go(problem, length, x_1, NULL, problem->trial_offset, NULL));
            end = problem->trial_offset;
        }
        PD_TRY(pd_rigid_bend(problem, x_0, end));
        for (int i = 0; i < problem->model->n_vertices; i++) rigid->host_slack[i] += rigid->body_of[i] >= 0 ? rounding : (real)0;
        PD_TRY(pd_contact_limit_curved(problem->contact, x_0, end, prescribed, rigid->host_slack, &here));
        *fraction = fmax(*fraction, here * length);
    }
done:
    return status;
}

pd_status pd_path_limit(const pd_problem *problem, const real *x_0, const real *x_1, int prescribed, double *fraction) {
    pd_status status = PD_OK;
    double oriented;
    *fraction = 1.0;
    if (problem->contact) PD_TRY(pd_path_limit_by_contact(problem, x_0, x_1, prescribed, fraction));
    PD_TRY(pd_orientation_limit(problem, x_0, x_1, &oriented));
    *fraction = fmin(*fraction, oriented);
done:
    return status;
}

pd_status pd_path_go(const pd_problem *problem, double fraction, const real *x_1, const real *offset_1, real *x, real *offset) {
    pd_context *context = problem->context;
    const unsigned char *straight = problem->rigid ? problem->rigid->others_move : NULL;
    int n = problem->model->n_vertices;
    pd_status status = PD_OK;
    if (problem->rigid) PD_TRY(pd_rigid_go(problem, x_1, fraction, x, offset));
    PD_TRY(pd_move_towards(context, n, straight, fraction, x_1, x));
    if (offset) PD_TRY(pd_move_towards(context, n, straight, fraction, offset_1, offset));
done:
    return status;
}
