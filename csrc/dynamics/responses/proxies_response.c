/* Contact by proxies as a response; see proxies_response.h. */
#include "dynamics/responses/proxies_response.h"

#include "dynamics/response.h"
#include "dynamics/step/frame.h"

static pd_proxies *proxies_of(const pd_problem *problem) { return problem->response_memory; }

static int wanted(const pd_description *description) { return description->proxies != NULL; }

static pd_status create(pd_problem *problem, const pd_description *description) {
    pd_proxies *proxies = NULL;
    pd_status status = pd_proxies_create(&proxies, problem->context, description->proxies, description->n_vertices, problem->fixed);
    problem->response_memory = proxies;
    return status;
}

static void destroy(pd_problem *problem) { pd_proxies_destroy(proxies_of(problem)); }

static pd_status potential(const pd_problem *problem, const real *x, double *energies) {
    return pd_proxies_potential(proxies_of(problem), x, &energies[PD_ENERGY_CONTACT]);
}

static pd_status gradient(const pd_problem *problem, const real *x, real *out) {
    return pd_proxies_add_gradient(proxies_of(problem), x, out);
}

static pd_status held_gradient(const pd_problem *problem, const real *x, real *out) {
    return pd_proxies_add_held_gradient(proxies_of(problem), x, out);
}

static const pd_entries *pattern(const pd_problem *problem) { return pd_proxies_pattern(proxies_of(problem)); }
static pd_status entries(const pd_problem *problem, const pd_entries **out) { return pd_proxies_matrix(proxies_of(problem), out); }
static const double *bounds(const pd_problem *problem) { return pd_proxies_bounds(proxies_of(problem)); }
static int changes(const pd_problem *problem) { return !pd_proxies_per_step(proxies_of(problem)); }

/* The active proxies change in every iteration, unless they are held. */
static int keeps_potential(const pd_simulation *self) { return !changes(self->problem); }

static pd_status first_guess(pd_simulation *self, int given) {
    (void)given;
    return pd_proxies_begin(proxies_of(self->problem), self->iterate.x);
}

static pd_status close(pd_simulation *self, pd_step_result *result) {
    (void)result;
    return pd_proxies_end(proxies_of(self->problem), 1);
}

static pd_status restore(pd_simulation *self) { return pd_proxies_end(proxies_of(self->problem), 0); }

static void forget(const pd_problem *problem) { pd_proxies_forget_step(proxies_of(problem)); }

const pd_contact_response pd_proxies_response = {.name = "proxies",
                                                 .needs = PD_TAKES_PROXIES,
                                                 .treats = PD_TREATS_RIGID | PD_TREATS_INTEGRATORS,
                                                 .wanted = wanted,
                                                 .create = create,
                                                 .destroy = destroy,
                                                 .potential = potential,
                                                 .gradient = gradient,
                                                 .keeps_potential = keeps_potential,
                                                 .pattern = pattern,
                                                 .entries = entries,
                                                 .bounds = bounds,
                                                 .held_gradient = held_gradient,
                                                 .changes = changes,
                                                 .first_guess = first_guess,
                                                 .close = close,
                                                 .restore = restore,
                                                 .forget = forget,
                                                 .waits = 1};

pd_proxies *pd_simulation_proxies(pd_simulation *self) {
    return self->problem->response == &pd_proxies_response ? proxies_of(self->problem) : NULL;
}
