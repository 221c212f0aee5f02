/* The energy added by contact of the two-way interior point method in a step; see two_way_energy.h. */
#include "dynamics/responses/two_way_energy.h"

#include "dynamics/divergence/energy.h"
#include "dynamics/responses/two_way_step.h"

#include <math.h>

/* The tolerance: relative to the initial energy; the distance, in delta, of a motion of all vertices by the load; and the time, s, in which
 * all vertices move by delta. */
static const double EXPLAINED = 0.1, FALL = 2.0, SLOW = 0.1;

/* sum m a.b over free vertices of a, b [n,3] H. */
static double product(const pd_problem *problem, const real *a, const real *b) {
    double sum = 0.0;
    for (int i = 0; i < problem->model->n_vertices; i++) {
        size_t row = 3 * (size_t)i;
        if (problem->fixed[i]) continue;
        sum += problem->masses[i] *
               ((double)a[row] * (double)b[row] + (double)a[row + 1] * (double)b[row + 1] + (double)a[row + 2] * (double)b[row + 2]);
    }
    return sum;
}

/* sum m and sum m |a| over free vertices. */
static void weights(const pd_problem *problem, const real *a, double *mass, double *force) {
    *mass = *force = 0.0;
    for (int i = 0; i < problem->model->n_vertices; i++) {
        const real *row = a + 3 * (size_t)i;
        double square = (double)row[0] * (double)row[0] + (double)row[1] * (double)row[1] + (double)row[2] * (double)row[2];
        if (problem->fixed[i]) continue;
        *mass += problem->masses[i];
        *force += problem->masses[i] * sqrt(square);
    }
}

static pd_status fetch(const pd_simulation *self, real *out, const real *vector) {
    return pd_memory_download(self->problem->context, out, vector, pd_problem_bytes(self->problem));
}

pd_status pd_two_way_energy(pd_simulation *self, const pd_vertex_update_result *update, double *gain, double *explained) {
    const pd_problem *problem = self->problem;
    pd_context *context = problem->context;
    const pd_two_way_load *load = pd_two_way_load_of(self);
    size_t bytes = pd_problem_bytes(problem), n = 3 * (size_t)problem->model->n_vertices;
    real *moves = load->host, *other = load->host + n;
    double h = problem->h, before, after, delta = pd_two_way_distance(load->two_way), speed = delta / SLOW, mass, force;
    pd_status status = PD_OK;
    *gain = *explained = 0.0;
    if (!(h > 0) || !update->report.rows || self->method->ignores_material || !pd_two_way_is_passive(load->two_way)) return PD_OK;
    PD_TRY(pd_memory_copy(context, problem->trial, problem->x_t, bytes));
    PD_TRY(pd_move_towards(context, problem->model->n_vertices, problem->model->fixed, 1.0, self->iterate.x, problem->trial));
    PD_TRY(pd_energy_of_elements(self, problem->trial, &before));
    PD_TRY(pd_energy_of_elements(self, self->iterate.x, &after));
    PD_TRY(fetch(self, other, self->v));
    before += 0.5 * product(problem, other, other);
    PD_TRY(pd_energy_end_velocity(self));
    PD_TRY(fetch(self, other, problem->trial));
    after += 0.5 * product(problem, other, other);
    PD_TRY(fetch(self, moves, self->iterate.x));
    PD_TRY(fetch(self, other, problem->x_t));
    for (size_t i = 0; i < n; i++) moves[i] -= other[i];
    PD_TRY(fetch(self, other, problem->external_acceleration));
    double work = product(problem, other, moves), given = 0.0;
    weights(problem, other, &mass, &force);
    if (load->prescribed) {
        PD_TRY(fetch(self, other, load->found));
        given = fmax(product(problem, other, moves) / (h * h), 0.0);
    }
    *gain = after - before - work - given;
    *explained = EXPLAINED * (before + fmax(work, 0.0) + given) + FALL * force * delta + 0.5 * mass * speed * speed;
done:
    return status;
}
