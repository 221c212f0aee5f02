/* The loops over vertices at the begin, in the moves and at the end of a step. The rules of backend.h hold. */
#ifndef PD_LOOPS_TIME_STEP_LOOPS_H
#define PD_LOOPS_TIME_STEP_LOOPS_H

#include "loops/element_loops.h"
#include "updates/time_step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The inertial target of a step, y = x_t + shift + h velocity + h^2 a with a = external_acceleration, and the numbers of its velocity update. */
typedef struct pd_inertial {
    double h, dt;         /* s: the effective step, and the step between positions; 0: quasistatic */
    const real *velocity; /* B [n,3] m/s */
    const real *shift;    /* B [n,3] m, or NULL: 0 */
} pd_inertial;

/* shift and velocity of another integrator than implicit Euler: pd_vertex_predict. slopes: NULL, or B [n,3]. */
pd_status pd_predict(pd_context *context, const pd_model *model, double w, const real *v, const real *slopes, const real *rates,
                     const real *external_acceleration, real *shift, real *velocity);

/* slopes and rates at the end of a step: pd_vertex_history; zero at fixed vertices. */
pd_status pd_keep_history(pd_context *context, const pd_model *model, const pd_inertial *inertial, const real *predicted_displacement,
                          const real *offset, const real *v, const real *v_previous, real *slopes, real *rates);

/* rates = -gradient/mass, m/s^2; zero at fixed vertices. */
pd_status pd_find_rates(pd_context *context, const pd_model *model, const real *gradient, real *rates);

/* First guess x, offset = x - y and predicted_displacement = y - x_t of a step: pd_vertex_first_guess of updates/time_step.h for every free
 * vertex. Fixed vertices go to their targets [n,3] (rows of free vertices are not read), offset 0. v_previous is read if has_previous. */
pd_status pd_first_guess(pd_context *context, const pd_model *model, int guess, const pd_inertial *inertial, const real *x_t, const real *v,
                         const real *v_previous, int has_previous, const real *external_acceleration, const real *targets, real *x,
                         real *offset, real *predicted_displacement);

/* v = velocity + h a + offset/h, a = external_acceleration, for fixed vertices (x - x_t)/dt; v_previous = the old v. h = 0: both zero. */
pd_status pd_vertex_update_velocity(pd_context *context, const pd_model *model, const pd_inertial *inertial, const real *x, const real *x_t,
                                    const real *external_acceleration, const real *offset, real *v, real *v_previous);

/* offset = x - y; zero at fixed vertices. */
pd_status pd_offset(pd_context *context, const pd_model *model, const pd_inertial *inertial, const real *x, const real *x_t,
                    const real *external_acceleration, real *offset);

/* increment = alpha correction + beta increment; then at free vertices offset += increment, and x follows (pd_vertex_position). Without
 * data x += increment, for callers that need an exact bound of the displacement of x.
 *   report [2]  B  out  sum |increment|^2 in m^2, NaN if a free coordinate of x is not finite, and the number of changed coordinates of x;
 *               NULL: not computed */
pd_status pd_advance(pd_context *context, const pd_model *model, const pd_step_data *data, double alpha, const real *correction,
                     double beta, real *increment, real *x, real *offset, double *report);

/* The same with contact: a vertex in contact is not extrapolated but moves by -correction. All moves are within the displacement bounds.
 *   touching  B [n_vertices]      bound  B [n_vertices] m, or NULL */
pd_status pd_advance_touching(pd_context *context, const pd_model *model, double alpha, const real *correction, double beta,
                              const unsigned char *touching, const real *bound, real *increment, real *x, real *offset, double *report);

/* moved = the free vertices at `offset` (pd_vertex_position), x at fixed ones.   all B [n,3], m */
pd_status pd_place_at_offset(pd_context *context, const pd_model *model, const pd_step_data *data, const real *x, const real *offset,
                             real *moved);

/* y = x + alpha d at free vertices, for trial points of a line search. */
pd_status pd_add_scaled(pd_context *context, const pd_model *model, const real *x, double alpha, const real *d, real *y);

#ifdef __cplusplus
}
#endif

#endif
