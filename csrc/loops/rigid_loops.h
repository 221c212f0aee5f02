/* Loops over rigid bodies (dynamics/rigid/rigid.h); updates/rigid/rigid_update.h has the work on one body. The rules of backend.h apply.
 *
 * All vectors B [n_vertices,3]. A loop that needs the pose skips a body whose points are no longer rigid, and records its index in
 * `inverted`. */
#ifndef PD_LOOPS_RIGID_LOOPS_H
#define PD_LOOPS_RIGID_LOOPS_H

#include "loops/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of rows with the mass of a body: its last ones. */
enum { PD_RIGID_CARRIERS = 4 };

/* Rows first .. first + n - 1; the body may be held in a point or an axis; pins relative to `first`, or -1. */
typedef struct pd_rigid_rows {
    int first, n, pins[2];
} pd_rigid_rows;

typedef struct pd_rigid_body {
    pd_rigid_rows rows;
    double radius; /* of gyration, m */
    double extent; /* the largest distance of its rows from its pivot, m */
} pd_rigid_body;

/* All B. */
typedef struct pd_bodies {
    int n, n_rows;         /* of all bodies */
    pd_rigid_body *bodies; /* [n] */
    double *arms;          /* [n_vertices,3] of their rows p_i, m */
    int *inverted;         /* [1] the lowest index of a body whose points are no longer rigid; otherwise unchanged */
} pd_bodies;

/* x, offset: moves each body to the pose closest to its points with mass. */
pd_status pd_bodies_place(pd_context *context, const pd_bodies *bodies, real *x, real *offset);

/* gradient over their rows -> force and torque / radius in the first two rows with mass, zeros in the others.
 *   curvature [n,3,3]  B  out  N/m, the gradient's part of the Hessian of the rotations */
pd_status pd_bodies_gather(pd_context *context, const pd_bodies *bodies, const real *x, real *gradient, double *curvature);

/* correction: the six numbers of each -> displacements of its rows / alpha. */
pd_status pd_bodies_spread(pd_context *context, const pd_bodies *bodies, const real *x, double alpha, real *correction);

/* Sets their rows to zero. */
pd_status pd_bodies_clear(pd_context *context, const pd_bodies *bodies, real *vector);

/* Moves their rows in x and offset (may be NULL) by this fraction of the path from x to x_1. */
pd_status pd_bodies_go(pd_context *context, const pd_bodies *bodies, const real *x_1, double fraction, real *x, real *offset);

/* slack [n_vertices]  B  out  m: the largest distance of their rows on the path to x_1 from the straight line to it; others unchanged. */
pd_status pd_bodies_bend(pd_context *context, const pd_bodies *bodies, const real *x_0, const real *x_1, real *slack);

/* Their rows in `ends` <- end points of straight paths with the lengths of the arcs from x_0 to x_1. */
pd_status pd_bodies_stretch(pd_context *context, const pd_bodies *bodies, const real *x_0, const real *x_1, real *ends);

/* turns [n]  B  out  rad: the rotations in a correction. */
pd_status pd_bodies_turn(pd_context *context, const pd_bodies *bodies, const real *correction, double *turns);

/* Their rotations: row i moves by T_i^T phi, phi the rotation vector times the radius, for a body held in an axis its part along it.
 *   T [n_vertices,3,3]  B  out, of their rows      along [n,3,3]  B  out, the projector on the rotations that its pins leave free */
pd_status pd_bodies_arms(pd_context *context, const pd_bodies *bodies, const real *x, double *T, double *along);

/* ---- a step: free motion and velocity (updates/rigid/rigid_motion.h), h > 0 ---- */

/* The rows of rotating bodies: predicted_displacement = y - x_t, x and offset, after pd_first_guess for all vertices. */
pd_status pd_bodies_first_guess(pd_context *context, const pd_bodies *bodies, int guess, double h, const real *x_t, const real *v,
                                const real *external_acceleration, real *x, real *offset, real *predicted_displacement);

/* The same for the offset of another x, after pd_offset. */
pd_status pd_bodies_offset(pd_context *context, const pd_bodies *bodies, double h, const real *x, const real *x_t, const real *v,
                           const real *external_acceleration, real *offset);

/* v of all rows except pins, for a rotating body; v is the output of pd_vertex_update_velocity.
 *   v_t [n_vertices,3]  B  in  m/s, at the start of the step      turns [n]  B  out  rad, h |w| at its end */
pd_status pd_bodies_velocity(pd_context *context, const pd_bodies *bodies, double h, const real *x, const real *x_t,
                             const real *external_acceleration, const real *offset, const real *v_t, real *v, double *turns);

/* For each body its 6x6 matrix by rows, N/m, and six numbers of scratch; pd_bodies_solve overwrites it. */
enum { PD_RIGID_SYSTEM = 42 };

/* The six numbers of correction = matrix^-1 those of gradient; with `again` only for bodies marked in `left`. `limited`: limits rotations to
 * one radian.
 *   systems [n,PD_RIGID_SYSTEM]  B      left [n]  B  in/out  1: its matrix is not positive definite, correction is unchanged */
pd_status pd_bodies_solve(pd_context *context, const pd_bodies *bodies, double *systems, int again, int limited, const real *gradient,
                          real *correction, int *left);

#ifdef __cplusplus
}
#endif

#endif
