/* ADMM on the incremental potential [Overby, Brown, Li, Narain 2017, ADMM ⊇ Projective Dynamics: Fast Simulation of Hyperelastic Models
 * with Dynamic Constraints].
 *
 * G is split into inertia in x and the elements' energies in z, with the constraint z = F(x) and its scaled dual u. One iteration is the
 * local problem of every element (updates/elements/admm.h), and one solve with the matrix of Projective Dynamics, written for d = x - x':
 *
 *     A d = M/h^2 (x - y) + sum w S^T (F(x) - z + u),   A = M/h^2 + sum w S^T S.
 *
 * With contact its gradient is added to the right-hand side, and the projected Hessians of the pairs at x' to the matrix (global_step.h):
 * the energy of contact has no z. So the solve is a Newton step. A line search halves it until its objective decreases, which is w/2 |F(x)
 * - z + u|^2 + inertia + contact: full steps against a stiff barrier with friction cycle.
 *
 * u = 0 at the start of a step. A fixed point has z = F(x) and w u = dE/dF, so x is stationary for G. On the way G may rise, and a short
 * run may end above its start, which is no divergence. The weights are those at rest. The iteration may cycle about the stationary point if
 * the curvature of an energy exceeds its weight, as neo-Hookean volume in strongly stretched tets (lam (s_j s_k)^2), or is negative, as in
 * inverted or crushed tets. Larger weights usually help in the first case, not always in the second. */
#include "contact/potential/contact.h"
#include "dynamics/problem/global_step.h"
#include "dynamics/problem/line_search.h"
#include "dynamics/problem/potential.h"
#include "dynamics/problem/rounding.h"
#include "linear/upload.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_HALVINGS = 30 };

typedef struct settings {
    double weight; /* factor on the weights of all elements */
    pd_linear_settings linear;
} settings;

static const pd_option options[] = {PD_NUMBER_FROM(settings, weight, 0.0), PD_LINEAR(settings, linear), PD_OPTIONS_END};

typedef struct pd_admm {
    pd_global_step global;        /* factor of the weights of all elements */
    real *weights[PD_KIND_COUNT]; /* B [elements] of each kind of the model */
    real *duals[PD_KIND_COUNT];   /* B [elements,3,d] */
} pd_admm;

static void destroy(void *self, const pd_problem *problem) {
    pd_admm *admm = self;
    if (!admm) return;
    pd_global_step_destroy(&admm->global, problem->context);
    for (int s = 0; s < PD_KIND_COUNT; s++) {
        pd_memory_destroy(problem->context, admm->weights[s]);
        pd_memory_destroy(problem->context, admm->duals[s]);
    }
    free(admm);
}

static size_t dual_bytes(const pd_elements *g) { return (size_t)g->n * 3 * (size_t)pd_kind_shape_of(g->kind).columns * sizeof(real); }

/* The weights of a set: to the backend, and to column 0 of a copy of its parameters, for the system matrix. */
static pd_status weigh(const pd_problem *problem, double weight, const pd_element_set *set, double *parameters, real **weights) {
    size_t count = (size_t)pd_kind_shape_of(set->kind).parameters;
    double *column = malloc((size_t)set->n * sizeof(double) + 1);
    if (!column) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for the weights of %d elements", set->n);
    memcpy(parameters, set->parameters, (size_t)set->n * count * sizeof(double));
    for (size_t e = 0; e < (size_t)set->n; e++)
        column[e] = parameters[e * count] = weight * pd_admm_weight(set->kind, set->parameters + e * count);
    pd_status status = pd_upload_reals(problem->context, weights, column, (size_t)set->n);
    free(column);
    return status;
}

static pd_status create(void **self, const pd_problem *problem, const void *given) {
    const settings *settings = given;
    int n = problem->model->n_vertices;
    pd_status status = PD_OK;
    pd_element_set *weighed = calloc((size_t)problem->n_sets + 1, sizeof *weighed);
    pd_admm *admm = *self = calloc(1, sizeof *admm);
    if (!weighed || !admm) {
        status = pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for ADMM of %d vertices", n);
        goto done;
    }
    for (int s = 0; s < problem->n_sets; s++) {
        const pd_element_set *set = &problem->sets[s];
        double *parameters = malloc((size_t)set->n * (size_t)pd_kind_shape_of(set->kind).parameters * sizeof(double) + 1);
        weighed[s] = *set;
        weighed[s].parameters = parameters;
        if (!parameters) {
            status = pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for ADMM of %d elements", set->n);
            goto done;
        }
        PD_TRY(weigh(problem, settings->weight, set, parameters, &admm->weights[s]));
        PD_TRY(pd_memory_create(problem->context, (void **)&admm->duals[s], dual_bytes(&problem->model->kinds[s])));
    }
    PD_TRY(pd_global_step_create(&admm->global, problem, &settings->linear, weighed));
done:
    for (int s = 0; weighed && s < problem->n_sets; s++) free((void *)weighed[s].parameters);
    free(weighed);
    return status;
}

static pd_status refresh(void *self, const pd_problem *problem) {
    (void)problem;
    return pd_linear_prepare(((pd_admm *)self)->global.linear);
}

/* The objective of the solve along d minus its value at x: the quadratic part, in closed form, and contact at x - alpha d; and its
 * slope. */
typedef struct line {
    double slope;     /* of the quadratic part: g . d without contact */
    double curvature; /* d . A d */
    double contact;   /* C at x, J */
} line;

static pd_status contact_slope(const pd_problem *problem, const real *x, const real *d, double *slope) {
    pd_status status = PD_OK;
    PD_TRY(pd_memory_clear(problem->context, problem->trial_gradient, pd_problem_bytes(problem)));
    PD_TRY(pd_contact_add_gradient(problem->contact, problem->model, x, problem->trial_gradient));
    PD_TRY(pd_problem_product(problem, problem->trial_gradient, d, slope));
done:
    return status;
}

static pd_status contact_energy(const pd_problem *problem, const real *x, double *energy) {
    double friction;
    pd_status status = pd_contact_potential(problem->contact, x, energy);
    if (!status) status = pd_contact_friction_potential(problem->contact, &friction);
    if (!status) *energy += friction;
    return status;
}

/* Limits d to its contact-free part, then halves it until the objective of the solve decreases, which is quadratic except for contact. */
static pd_status hold_back(pd_admm *admm, const pd_problem *problem, pd_iterate *iterate) {
    pd_context *context = problem->context;
    const real *x = iterate->x, *d = iterate->correction;
    pd_status status = PD_OK;
    line line;
    double slope, of_contact, alpha = 1.0;
    PD_TRY(pd_global_step_curvature(&admm->global, problem, d, &line.curvature));
    PD_TRY(pd_problem_product(problem, iterate->gradient, d, &slope));
    PD_TRY(contact_slope(problem, x, d, &of_contact));
    PD_TRY(contact_energy(problem, x, &line.contact));
    line.slope = slope - of_contact;
    PD_TRY(pd_add_scaled(context, problem->model, x, -1.0, d, problem->trial));
    PD_TRY(pd_contact_limit(problem->contact, x, problem->trial, 0, &alpha));
    if (!(alpha > 0.0)) return PD_OK; // the frame has the same test
    iterate->limit = alpha;
    for (int k = 0; k < MAX_HALVINGS; k++, alpha *= 0.5) {
        double contact, change, rounding;
        PD_TRY(pd_add_scaled(context, problem->model, x, -alpha, d, problem->trial));
        PD_TRY(contact_energy(problem, problem->trial, &contact));
        change = contact - line.contact + alpha * (0.5 * alpha * line.curvature - line.slope);
        rounding = pd_rounding_of_potential(problem, fabs(contact) + fabs(line.contact) + alpha * fabs(line.slope));
        if (fabs(change) > rounding) {
            if (change <= -1e-4 * alpha * slope) break;
            continue;
        }
        PD_TRY(contact_slope(problem, problem->trial, d, &of_contact)); // see line_search.h
        if (line.slope - alpha * line.curvature + of_contact >= -0.8 * slope) break;
    }
    if (alpha < 1.0) PD_TRY(pd_direction_scale(problem, iterate, alpha));
done:
    return status;
}

static pd_status correction(void *self, const pd_problem *problem, pd_iterate *iterate) {
    pd_admm *admm = self;
    pd_context *context = problem->context;
    const pd_model *model = problem->model;
    pd_status status = PD_OK;
    for (int s = 0; iterate->number == 0 && s < model->n_kinds; s++)
        PD_TRY(pd_memory_clear(context, admm->duals[s], dual_bytes(&model->kinds[s])));
    pd_context_tally(context)->projections++;
    PD_TRY(pd_admm_local(context, model, &problem->step, iterate->x, iterate->offset, admm->weights, admm->duals, iterate->gradient));
    if (problem->contact) PD_TRY(pd_contact_add_gradient(problem->contact, model, iterate->x, iterate->gradient));
    PD_TRY(pd_global_step_refresh(&admm->global, problem, iterate->x, iterate->number == 0));
    PD_TRY(pd_global_step_solve(&admm->global, problem, iterate->gradient, iterate->correction));
    if (problem->contact) PD_TRY(hold_back(admm, problem, iterate));
done:
    return status;
}

/* The duals, in the norm w |u|^2 + m/h^2 |x|^2 of energies. */
static pd_status carries(const void *self, const pd_problem *problem, pd_carried *x, pd_carried *carried, int *n) {
    const pd_admm *admm = self;
    x->row_weights = problem->model->masses;
    x->scale = problem->step.inverse_h * problem->step.inverse_h;
    *n = problem->model->n_kinds;
    for (int s = 0; s < *n; s++) {
        const pd_elements *g = &problem->model->kinds[s];
        carried[s] = (pd_carried){admm->duals[s], g->n, 3 * pd_kind_shape_of(g->kind).columns, admm->weights[s], 1.0};
    }
    return PD_OK;
}

const pd_method pd_admm_method = {.name = "ADMM",
                                  .options = options,
                                  .settings_size = sizeof(settings),
                                  .create = create,
                                  .destroy = destroy,
                                  .refresh = refresh,
                                  .correction = correction,
                                  .carries = carries};
