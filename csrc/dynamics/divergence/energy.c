/* The test whether the steps of a run gain more energy than load and pins supply: a blow-up that no single step shows.
 *
 * A step of implicit Euler with a convex elastic energy E gains energy only from load and pins: the minimum x of G satisfies
 *     |v|^2/2 + E(x) <= |v_t + h a|^2/2 + E(z),      |v|^2 = sum of m |v_i|^2 over free vertices,
 * z = x_t with the pins at their targets (test the condition at the minimum with x - z). Let R^2/2 be the energy at the start of the run. R
 * bounds |v| at all times if it grows in every step by
 *     h |a| + sqrt(sum over pins of r_i |z_i - x_i|^2).
 * The second term is the stretch by moving pins: sqrt(2 E) of squared distances to sets grows by at most the norm of the move in K = sum w
 * S^T S, whose rows the r_i of rounding.c bound. Rounding counts as a force too. The bound does not cover energies that are not convex, nor
 * iterations that end early, since these leave E too large and release it later. LIMIT is the margin for both. In test runs stable solvers
 * stayed below 1.3 R and XPBD below 3.2 R, and runs that diverged reached 12 R or more at the first check. */
#include "dynamics/divergence/energy.h"

#include "dynamics/problem/inertia.h"
#include "dynamics/problem/potential.h"
#include "dynamics/problem/rounding.h"
#include "dynamics/response.h"

/* Steps between two checks of the velocities, and the accepted multiple of the bound: a hundredfold energy. */
enum { CHECK_EVERY = 8 };
static const double LIMIT = 10.0;

/* Off with contact: the energy supplied by obstacles has no bound of this kind. */
static int watched(const pd_simulation *self) {
    return self->settings.h > 0 && !self->shared && !self->method->ignores_material && !self->problem->response->create;
}

/* sqrt(sum m |v|^2) over free vertices of v [n,3] H, and the vertex with the largest share. */
static double mass_norm(const pd_simulation *self, const real *v, int *vertex) {
    double sum = 0.0, largest = -1.0;
    for (int i = 0; i < self->problem->model->n_vertices; i++) {
        const real *u = v + 3 * (size_t)i;
        double part = self->problem->masses[i] * ((double)u[0] * (double)u[0] + (double)u[1] * (double)u[1] + (double)u[2] * (double)u[2]);
        if (self->problem->fixed[i]) continue;
        sum += part;
        if (!(part <= largest)) largest = part, *vertex = i;
    }
    return sqrt(sum);
}

static pd_status download(pd_simulation *self, const real *vector) {
    return pd_memory_download(self->problem->context, self->problem->staging, vector, pd_problem_bytes(self->problem));
}

void pd_energy_set_load(pd_simulation *self, const real *external_acceleration) {
    int vertex;
    self->load_norm = mass_norm(self, external_acceleration, &vertex);
}

pd_status pd_energy_of_elements(const pd_simulation *self, const real *x, double *elastic) {
    double energies[PD_ENERGY_COUNT];
    pd_status status = pd_problem_energies(self->problem, x, self->iterate.offset, energies);
    *elastic = 0.0;
    for (int kind = 0; !status && kind < PD_KIND_COUNT; kind++) *elastic += energies[kind];
    return status;
}

pd_status pd_energy_elastic(pd_simulation *self, double *elastic) {
    *elastic = 0.0;
    return watched(self) ? pd_energy_of_elements(self, self->iterate.x, elastic) : PD_OK;
}

pd_status pd_energy_end_velocity(const pd_simulation *self) {
    const pd_problem *problem = self->problem;
    pd_status status = pd_memory_copy(problem->context, problem->trial, self->v, pd_problem_bytes(problem));
    return status ? status : pd_inertia_velocity(problem, self->iterate.x, self->iterate.offset, problem->trial, problem->trial_offset);
}

pd_status pd_energy_give(pd_simulation *self, double elastic_before) {
    double elastic;
    pd_status status = pd_energy_elastic(self, &elastic);
    if (!status) self->energy_norm = sqrt(self->energy_norm * self->energy_norm + 2.0 * fmax(elastic - elastic_before, 0.0));
    return status;
}

pd_status pd_energy_start(pd_simulation *self) {
    pd_status status = PD_OK;
    double elastic, speed;
    int vertex;
    self->watched_steps = 0;
    if (!watched(self)) return PD_OK;
    PD_TRY(pd_energy_elastic(self, &elastic));
    PD_TRY(download(self, self->v));
    speed = mass_norm(self, self->problem->staging, &vertex);
    self->energy_norm = sqrt(speed * speed + 2.0 * elastic);
done:
    return status;
}

/* The increase of R by this step's moves of pins. */
static pd_status energy_norm_of_pins(pd_simulation *self, const real *targets, double *energy_norm) {
    double sum = 0.0;
    pd_status status = download(self, self->problem->x_t);
    for (int i = 0; !status && i < self->problem->model->n_vertices; i++)
        for (int c = 0; c < 3 && self->problem->fixed[i]; c++) {
            double move = (double)targets[3 * (size_t)i + (size_t)c] - (double)self->problem->staging[3 * (size_t)i + (size_t)c];
            sum += self->problem->rounding->stiffness_rows[i] * move * move;
        }
    *energy_norm = sqrt(sum);
    return status;
}

pd_status pd_energy_step(pd_simulation *self, const real *targets, pd_energy_excess *excess) {
    const pd_problem *problem = self->problem;
    pd_status status = PD_OK;
    double h = self->settings.h, energy_norm = self->energy_norm + h * self->load_norm, pins = 0.0, speed, bound;
    *excess = (pd_energy_excess){-1, 0.0, 0.0};
    if (!watched(self)) return PD_OK;
    if (targets) PD_TRY(energy_norm_of_pins(self, targets, &pins));
    energy_norm += pins;
    if ((self->watched_steps + 1) % CHECK_EVERY == 0) {
        int vertex = 0;
        PD_TRY(pd_energy_end_velocity(self));
        PD_TRY(download(self, problem->trial));
        speed = mass_norm(self, problem->staging, &vertex);
        bound = LIMIT * energy_norm;
        if (!(speed <= bound)) bound += LIMIT * (double)(self->watched_steps + 1) * h * pd_rounding_of_acceleration(problem);
        if (!(speed <= bound)) {
            *excess = (pd_energy_excess){vertex, 0.5 * speed * speed, 0.5 * energy_norm * energy_norm};
            return PD_OK;
        }
    }
    self->energy_norm = energy_norm;
    self->watched_steps++;
done:
    return status;
}
