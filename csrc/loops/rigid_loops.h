/* Loops over rigid bodies (dynamics/rigid/rigid.h); what one of them does with one body stands in updates/rigid/rigid_update.h. The rules
 * of backend.h hold.
 *
 * All vectors B [n_vertices,3]. A loop that asks where a body is leaves one alone whose points have lost their shape, and notes it in
 * `inverted`. */
#ifndef PD_LOOPS_RIGID_LOOPS_H
#define PD_LOOPS_RIGID_LOOPS_H

#include "loops/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many rows carry the mass of a body: its last ones. */
enum { PD_RIGID_CARRIERS = 4 };

/* Rows first .. first + n - 1, of which it may be held in a point or an axis; pins behind `first`, or -1. */
typedef struct pd_rigid_rows {
    int first, n, pins[2];
} pd_rigid_rows;

typedef struct pd_rigid_body {
    pd_rigid_rows rows;
    double radius; /* of gyration, m */
    double extent; /* how far its rows are from what it turns about, at most, m */
} pd_rigid_body;

/* All B. */
typedef struct pd_bodies {
    int n, n_rows;         /* of all of them */
    pd_rigid_body *bodies; /* [n] */
    double *arms;          /* [n_vertices,3] of their rows p_i, m */
    int *inverted;         /* [1] the lowest number of a body whose points have lost their shape; what it was where there is none */
} pd_bodies;

/* x, offset: each body goes to the pose nearest to the points that carry its mass. */
pd_status pd_bodies_place(pd_context *context, const pd_bodies *bodies, real *x, real *offset);

/* gradient over their rows -> force and torque / radius in the first two that carry the mass, zeros in the others.
 *   curvature [n,3,3]  B  out  N/m, what the gradient adds to the Hessian of the rotations */
pd_status pd_bodies_gather(pd_context *context, const pd_bodies *bodies, const real *x, real *gradient, double *curvature);

/* direction: the six numbers of each -> 1/alpha of what its rows have to be moved by. */
pd_status pd_bodies_spread(pd_context *context, const pd_bodies *bodies, const real *x, double alpha, real *direction);

/* Zeros in their rows. */
pd_status pd_bodies_clear(pd_context *context, const pd_bodies *bodies, real *vector);

/* Their rows in x and offset (may be NULL) go this part of the way from x to x_1. */
pd_status pd_bodies_go(pd_context *context, const pd_bodies *bodies, const real *x_1, double part, real *x, real *offset);

/* slack [n_vertices]  B  out  m: how far their rows are from the straight way to x_1 on that way, at most; others stay. */
pd_status pd_bodies_bend(pd_context *context, const pd_bodies *bodies, const real *x_0, const real *x_1, real *slack);

/* Their rows in `ends` <- where straight ways lead that are as long as the arcs from x_0 to x_1. */
pd_status pd_bodies_stretch(pd_context *context, const pd_bodies *bodies, const real *x_0, const real *x_1, real *ends);

/* turns [n]  B  out  rad: the rotations in a direction. */
pd_status pd_bodies_turn(pd_context *context, const pd_bodies *bodies, const real *direction, double *turns);

/* Their rotations: row i moves by T_i^T phi, phi the rotation vector times the radius; of one held in an axis only what is along it.
 *   T [n_vertices,3,3]  B  out, of their rows      along [n,3,3]  B  out, the projector on what its pins leave free */
pd_status pd_bodies_arms(pd_context *context, const pd_bodies *bodies, const real *x, double *T, double *along);

/* ---- a step: free motion and velocity (updates/rigid/rigid_motion.h), h > 0 ---- */

/* The rows of bodies that turn: drift = y - x_t, x and offset, of what pd_first_guess gave all vertices. */
pd_status pd_bodies_first_guess(pd_context *context, const pd_bodies *bodies, int guess, double h, const real *x_t, const real *v,
                                const real *load, real *x, real *offset, real *drift);

/* The same for the offset of another x, as pd_offset gives it. */
pd_status pd_bodies_offset(pd_context *context, const pd_bodies *bodies, double h, const real *x, const real *x_t, const real *v,
                           const real *load, real *offset);

/* v of all rows but pins, that of a turning body, as pd_vertex_update_velocity left them.
 *   v_t [n_vertices,3]  B  in  m/s, at the start of the step      turns [n]  B  out  rad, h |w| at its end */
pd_status pd_bodies_velocity(pd_context *context, const pd_bodies *bodies, double h, const real *x, const real *x_t, const real *load,
                             const real *offset, const real *v_t, real *v, double *turns);

/* For each body its 6x6 matrix by rows, N/m, and six numbers of scratch: used up where it is solved with. */
enum { PD_RIGID_SYSTEM = 42 };

/* The six numbers of direction = matrix^-1 those of gradient; with `again` only of those bodies that were left. `limited`: none turns by
 * more than a radian, what would is shortened.
 *   systems [n,PD_RIGID_SYSTEM]  B      left [n]  B  in/out  1: its matrix is not positive definite, direction is as it was */
pd_status pd_bodies_solve(pd_context *context, const pd_bodies *bodies, double *systems, int again, int limited, const real *gradient,
                          real *direction, int *left);

#ifdef __cplusplus
}
#endif

#endif
