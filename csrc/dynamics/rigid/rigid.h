/* Rigid bodies among the vertices of a model.
 *
 * A rigid body is a range of rows that move together: x_i = c + R p_i. Its last four rows carry a quarter of its mass each. They are the
 * corners of a tetrahedron with the body's centre and second moments J, so that their inertia is exactly that of the body:
 *     sum of m/4 |x_i - y_i|^2 / (2h^2) = m/(2h^2) |c - c*|^2 + 1/(2h^2) tr[(R - R*) J (R - R*)^T],
 * c* = c_t + h v_t + h^2 a [Ferguson et al. 2021, minimise over rotations]. R* is the free motion of the body from R_t, which conserves its
 * angular momentum (updates/rigid/rigid_motion.h). x and v of the state encode c, R, cdot and the spin w: v_i = cdot + w x r_i. The rows
 * before these four are massless points of the surface.
 *
 * Methods see six numbers of a body instead of its rows: force and torque of a gradient, translation and rotation vector of a correction.
 * They are in the first two of the four rows with mass; all other rows are zero. Torques are divided by the radius of gyration and rotation
 * vectors multiplied by it, so that norms have one unit and products are unchanged. A body that is held in a point or an axis rotates about
 * it, and has no force.
 *
 * The work on rows runs on the backend (loops/rigid_loops.h); only the body's part of a Hessian is assembled on the host, for
 * factorisations there. */
#ifndef PD_DYNAMICS_RIGID_RIGID_H
#define PD_DYNAMICS_RIGID_RIGID_H

#include "dynamics/problem/problem.h"
#include "loops/rigid_loops.h"

struct pd_rigid {
    pd_rigid_body *bodies; /* H [n] */
    int n;
    pd_bodies set;         /* B the same, with their lever arms */
    int *body_of;          /* H [n_vertices] or -1 */
    unsigned char *joined; /* H [n] 1: a row is a corner of an element, a joint or an attachment */
    int n_joined;
    unsigned char *excluded;    /* H [n_vertices] 1: no unknown of a reduced system */
    real *slack, *host_slack;   /* B, H [n_vertices] of pd_rigid_bend, m */
    unsigned char *others_move; /* B [n_vertices] 1: of no body */
    double *curvature; /* [n,9] of the rotations at the point of the last gradient, N/m: the gradient's part of the Hessian in (c, theta) */
    double *along;     /* [n,9] the projectors on the free rotations, at the point of the last Hessian */
    double *turns;     /* [n_vertices,3,3] of their rows, T of loops/rigid_loops.h, at the same point */
    double *angles;    /* [n] rad */
    double *host_curvature, *host_along, *host_turns, *host_angles; /* H: copies of the four on the host */
};

/* *out = NULL for a description without bodies. Errors: PD_ERROR_MEMORY. */
pd_status pd_rigid_create(pd_rigid **out, const pd_problem *problem, const pd_description *description);
void pd_rigid_destroy(pd_rigid *self, pd_context *context); /* NULL is allowed */

/* All vectors B [n,3]. Each function synchronises. Errors: PD_DIVERGED if a body's points are no longer rigid, those of a device. */

/* x, offset: moves each body to the pose closest to its points with mass; a free body without forces is then at the minimum of G. */
pd_status pd_rigid_place(const pd_problem *problem, real *x, real *offset);
/* gradient over the rows of bodies -> force and torque / radius; stores the curvature. */
pd_status pd_rigid_gather(const pd_problem *problem, const real *x, real *gradient);
/* correction: the six numbers of a body -> displacements of its rows / alpha, so that -alpha times the six rotates it on an arc. */
pd_status pd_rigid_spread(const pd_problem *problem, const real *x, double alpha, real *correction);

/* Sets the rows of bodies to zero. */
pd_status pd_rigid_clear(const pd_problem *problem, real *vector);

/* rigid_motion.c: pd_first_guess and pd_offset for rotating bodies; and the velocity of all bodies, with v_t that at the start of the step.
 * h > 0. */
pd_status pd_rigid_first_guess(const pd_problem *problem, int guess, const real *v, real *x, real *offset, real *predicted_displacement);
pd_status pd_rigid_offset(const pd_problem *problem, const real *x, const real *v, real *offset);
pd_status pd_rigid_velocity(const pd_problem *problem, const real *x, const real *offset, const real *v_t, real *v);

/* rigid_path.c: the path from x to x_1. On it the centre moves on a straight line, or the held point stays, and the body rotates evenly
 * about the axis of the smallest rotation to x_1. Rows of bodies in x and offset move by this fraction of the path from x to x_1; offset
 * may be NULL. */
pd_status pd_rigid_go(const pd_problem *problem, const real *x_1, double fraction, real *x, real *offset);
/* The largest distance of vertices on that path from the straight line to x_1: self->host_slack, 0 for vertices of no body. */
pd_status pd_rigid_bend(const pd_problem *problem, const real *x_0, const real *x_1);
/* ends <- end points of straight paths from x_0 with the lengths of the paths of all points to x_1; for bodies the lengths of the arcs. */
pd_status pd_rigid_stretch(const pd_problem *problem, const real *x_0, const real *x_1, real *ends);
/* The largest rotation in a correction, rad. */
pd_status pd_rigid_largest_turn(const pd_problem *problem, const real *correction, double *turn);

/* For the files above: the status of a loop over bodies, and a test that they are still rigid. Synchronises. */
pd_status pd_rigid_result(const pd_problem *problem, pd_status status);

#endif
