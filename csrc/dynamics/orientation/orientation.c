/* Tets that must not invert; see orientation.h. */
#include "dynamics/orientation/orientation.h"

#include "loops/contact_loops.h"
#include "loops/orientation_loops.h"

#include <math.h>

/* Of a fraction at whose end the rounding of coordinates inverts a tet. */
enum { MOST_HALVINGS = 30 };

static pd_status find_shortfall(const pd_problem *problem, const real *x_0, const real *x_1, double *shortfall) {
    pd_status status = pd_orientation_shortfall(problem->context, problem->model, x_0, x_1, problem->scalars);
    return status ? status : pd_memory_download(problem->context, shortfall, problem->scalars, sizeof *shortfall);
}

pd_status pd_orientation_holds(const pd_problem *problem, const real *x, int *holds) {
    double shortfall = 0.0;
    pd_status status = problem->model->is_oriented ? find_shortfall(problem, NULL, x, &shortfall) : PD_OK;
    *holds = shortfall == 0.0;
    return status;
}

pd_status pd_orientation_limit(const pd_problem *problem, const real *x_0, const real *x_1, double *fraction) {
    pd_context *context = problem->context;
    pd_status status = PD_OK;
    double shortfall;
    int holds;
    *fraction = 1.0;
    if (!problem->model->is_oriented) return PD_OK;
    PD_TRY(find_shortfall(problem, x_0, x_1, &shortfall));
    *fraction = fmax(1.0 - shortfall, 0.0);
    PD_TRY(pd_orientation_holds(problem, x_1, &holds));
    if (*fraction == 1.0 && holds) return PD_OK;
    for (int halving = 0; *fraction > 0.0; halving++) {
        PD_TRY(pd_memory_copy(context, problem->trial_offset, x_0, pd_problem_bytes(problem)));
        PD_TRY(pd_move_towards(context, problem->model->n_vertices, NULL, *fraction, x_1, problem->trial_offset));
        PD_TRY(pd_orientation_holds(problem, problem->trial_offset, &holds));
        if (holds) break;
        *fraction = halving < MOST_HALVINGS ? 0.5 * *fraction : 0.0;
    }
done:
    return status;
}

/* det F of tet e of a set at x H [n,3]. */
static double volume_ratio(const pd_element_set *set, const real *x, int e) {
    const int *vertices = set->vertices + 4 * (size_t)e;
    const double *rest = set->rest + 9 * (size_t)e;
    double F[3][3] = {{0.0}};
    for (size_t a = 0; a < 3; a++)
        for (size_t b = 0; b < 3; b++)
            for (size_t i = 1; i < 4; i++)
                F[a][b] += ((double)x[3 * (size_t)vertices[i] + a] - (double)x[3 * (size_t)vertices[0] + a]) * rest[3 * (i - 1) + b];
    return F[0][0] * (F[1][1] * F[2][2] - F[1][2] * F[2][1]) + F[0][1] * (F[1][2] * F[2][0] - F[1][0] * F[2][2]) +
           F[0][2] * (F[1][0] * F[2][1] - F[1][1] * F[2][0]);
}

pd_status pd_orientation_check(const pd_problem *problem, const char *what, const real *x) {
    const pd_element_set *worst = NULL;
    double least = (double)INFINITY;
    int holds, tet = 0;
    pd_status status = PD_OK;
    PD_TRY(pd_orientation_holds(problem, x, &holds));
    if (holds) return PD_OK;
    PD_TRY(pd_memory_download(problem->context, problem->staging, x, pd_problem_bytes(problem)));
    for (int s = 0; s < problem->n_sets; s++)
        for (int e = 0; e < (pd_kind_is_oriented(problem->sets[s].kind) ? problem->sets[s].n : 0); e++) {
            double J = volume_ratio(&problem->sets[s], problem->staging, e);
            if (!(J >= least)) worst = &problem->sets[s], tet = e, least = J;
        }
    status = pd_fail(problem->error, PD_ERROR_VALUE, "%s: tet %d of kind %s is flat or inverted, det F = %g, and its material forbids that",
                     what, tet, worst ? pd_kind_shape_of(worst->kind).name : "none", least);
done:
    return status;
}
