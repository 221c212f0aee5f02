/* Time integrators other than implicit Euler, as another inertial target and another effective step of the same objective.
 *
 * With s the step between positions, h the effective step and w = s - h, every step is implicit Euler of step h from x_t + w p and v + w q:
 *     y = x_t + w p + h (v + w q) + h^2 a,     G = sum m/(2 h^2) |x - y|^2 + ..,     v_{t+1} = v + w q + h a + (x - y)/h
 * a is the load, and e the acceleration by all other forces of G at the end of the last step, (x - y)/h^2.
 *     trapezoidal rule        h = s/2       p = v                     q = e + a
 *     BDF2                    h = 2 s/3     p = (x_t - x_{t-1})/s     q = (v - v_{t-1})/s
 *     BDF2, first step        h = 2 s/3     p = v                     q = e + a
 * The load is constant in a step. Newmark's method with beta = 1/4 and gamma = 1/2 is the trapezoidal rule: both give x_t + s v + s^2/4 (A_t
 * + A_{t+1}) and v + s/2 (A_t + A_{t+1}) [Newmark 1959; Hairer and Wanner 1996, Solving Ordinary Differential Equations II, Sec. III.1, V.1].
 * The first step of BDF2 is the theta method with theta = 2/3: its error of order s^2 occurs once, so that the order stays 2, and its matrix
 * is that of the other steps. Without a step before, e is computed from the gradient at x_t.
 *
 * Damping and friction use the displacement over the whole step, x - x_t over s: damping coefficients are scaled by h/s, since a model
 * divides them by h. */
#ifndef PD_DYNAMICS_INTEGRATOR_INTEGRATOR_H
#define PD_DYNAMICS_INTEGRATOR_INTEGRATOR_H

#include "dynamics/problem/problem.h"
#include "loops/time_step_loops.h"

enum { PD_IMPLICIT_EULER, PD_BDF2, PD_TRAPEZOIDAL, PD_NEWMARK, PD_INTEGRATOR_COUNT };

struct pd_method;

/* The history of a run: part of its state. B [n,3], zero at fixed vertices. */
struct pd_integrator {
    int kind;         /* PD_BDF2 or PD_TRAPEZOIDAL */
    int has_history;  /* 0: the next step is a first one */
    real *slopes;     /* p of BDF2, m/s; NULL for the trapezoidal rule */
    real *rates;      /* q of BDF2, or e, m/s^2 */
    real *shift;      /* of the present step: w p, m */
    real *velocity;   /* v + w q, m/s */
    double **damping; /* H [n_sets] of the scaled coefficients, or NULL */
    int n_damping;    /* n_sets */
};

/* Refuses a method, a response or a scene that has no such target, and h = 0. Errors: PD_ERROR_TYPE, PD_ERROR_VALUE. */
pd_status pd_integrator_check(int kind, double h, const pd_description *description, const struct pd_method *method,
                              const pd_contact_response *response, pd_error *error);

/* The effective step of a step between positions, s. */
double pd_integrator_effective_step(int kind, double h);

/* Two parts of the creation of a problem: replaces the damping of `sets` by scaled copies, before the model; and allocates the rest. kind:
 * no implicit Euler. pd_integrator_destroy frees the rest after a failure. Errors: PD_ERROR_MEMORY. */
pd_status pd_integrator_create(pd_integrator **out, int kind, double factor, pd_element_set *sets, int n_sets, pd_error *error);
pd_status pd_integrator_allocate(pd_integrator *self, const pd_problem *problem);
void pd_integrator_destroy(pd_integrator *self, pd_context *context); /* NULL is allowed for both */

/* The inertial target of the step from problem->x_t with the velocity v B [n,3]. For another integrator than implicit Euler after
 * pd_integrator_predict. */
pd_inertial pd_integrator_inertial(const pd_problem *problem, const real *v);

/* Computes shift and velocity of a step; the rates of a first step are those of pd_step_target_begin (step_target.h). */
pd_status pd_integrator_predict(const pd_problem *problem, const real *v);

/* Stores the history at the end of a step, after the update of v. */
pd_status pd_integrator_end(const pd_problem *problem, const real *offset, const real *v, const real *v_previous);

#endif
