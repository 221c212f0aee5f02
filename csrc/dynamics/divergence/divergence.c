/* Detection of divergence; see divergence.h. */
#include "dynamics/divergence/divergence.h"

#include "dynamics/divergence/energy.h"
#include "dynamics/problem/potential.h"
#include "dynamics/problem/rounding.h"
#include "dynamics/response.h"

/* The vertex to name: the first with a non-finite coordinate, otherwise that with the largest gradient. */
static pd_status worst_vertex(pd_simulation *self, int *vertex) {
    const pd_problem *problem = self->problem;
    pd_status status = PD_OK;
    double largest = -1.0;
    PD_TRY(pd_find_not_finite(problem->context, problem->model, self->iterate.x, vertex));
    if (*vertex >= 0) goto done;
    PD_TRY(pd_problem_gradient(problem, self->iterate.x, self->iterate.offset, problem->trial_gradient));
    PD_TRY(pd_memory_download(problem->context, problem->staging, problem->trial_gradient, pd_problem_bytes(problem)));
    *vertex = 0;
    for (int i = 0; i < problem->model->n_vertices; i++) {
        const real *g = problem->staging + 3 * (size_t)i;
        double square = (double)g[0] * (double)g[0] + (double)g[1] * (double)g[1] + (double)g[2] * (double)g[2];
        if (!(square <= largest)) largest = square, *vertex = i;
        if (!isfinite(square)) break;
    }
done:
    return status;
}

pd_status pd_diverged(pd_simulation *self, int iteration, const char *why) {
    pd_error *error = self->problem->error;
    int vertex = 0;
    pd_status status = worst_vertex(self, &vertex);
    if (status) return status;
    error->iteration = iteration;
    error->vertex = vertex;
    const char *cure = self->method->cure ? self->method->cure : "";
    return pd_fail(error, PD_DIVERGED, "%s diverged at iteration %d: %s; worst vertex %d%s%s", self->method->name, iteration, why, vertex,
                   *cure ? "; " : "", cure);
}

pd_status pd_divergence_of_iterate(pd_simulation *self, const pd_growth *growth, double squared_moves, int iteration) {
    const pd_problem *problem = self->problem;
    double norm = growth->norm, moves = growth->moves;
    if (!isfinite(squared_moves)) return pd_diverged(self, iteration, "not finite");
    if (self->method->has_safeguard && self->method->has_safeguard(self->method_memory)) return PD_OK;
    if (!isfinite(norm)) return pd_diverged(self, iteration, "not finite");
    if (moves > 1e8 * growth->first_moves && moves > pd_rounding_size(problem))
        return pd_diverged(self, iteration, "the moves grew by more than 1e8");
    const pd_contact_response *response = problem->response;
    int moved = response->every && response->every(problem) > 0; // by contact, in between
    if (self->method->minimises_potential && !response->unbounded && !moved && norm > 1e8 * growth->first_norm &&
        norm * norm > 1e8 * pd_rounding_of_potential(problem, 0.0) * problem->rounding->matrix_trace)
        return pd_diverged(self, iteration, "the gradient norm grew by more than 1e8");
    return PD_OK;
}

pd_status pd_divergence_of_descent(pd_simulation *self, const pd_growth *growth, int iteration) {
    double first = growth->first_potential;
    if (!self->method->minimises_potential || iteration == 0) return PD_OK;
    const pd_contact_response *response = self->problem->response;
    if (response->keeps_potential && !response->keeps_potential(self)) return PD_OK;
    if (self->limiter.drives > 1) return PD_OK; // pins and obstacles have moved since, and done work
    if (growth->potential <= first + 1e-6 * fabs(first) + pd_rounding_of_potential(self->problem, growth->first_magnitude)) return PD_OK;
    return pd_diverged(self, iteration, "the incremental potential ended above its first value");
}

pd_status pd_divergence_of_run(pd_simulation *self, const real *targets, int iteration) {
    pd_error *error = self->problem->error;
    pd_energy_excess excess;
    pd_status status = pd_energy_step(self, targets, &excess);
    if (status || excess.vertex < 0) return status;
    error->iteration = iteration;
    error->vertex = excess.vertex;
    return pd_fail(error, PD_DIVERGED,
                   "%s diverged over the steps: the kinetic energy is %.3g J, where the state at the start of the run, load and pins "
                   "allow %.3g J at most; fastest vertex %d",
                   self->method->name, excess.kinetic, excess.energy, excess.vertex);
}
