/* Rigid bodies among the vertices of a model.
 *
 * A rigid body is a run of rows that move together: x_i = c + R p_i. Its last four rows carry its mass, a quarter each, at the corners of a
 * tetrahedron that has the body's centre and second moments J, so that the inertia of these four vertices is that of the body to the last
 * term,
 *     sum of m/4 |x_i - y_i|^2 / (2h^2) = m/(2h^2) |c - c*|^2 + 1/(2h^2) tr[(R - R*) J (R - R*)^T],
 * c* = c_t + h v_t + h^2 a [Ferguson et al. 2021, minimise over rotations] and R* the free motion of the body from R_t, which keeps its
 * angular momentum (updates/rigid/rigid_motion.h). x and v of the state hold c, R, cdot and the spin w: v_i = cdot + w x r_i. The rows before
 * them are points of the surface without mass.
 *
 * What methods see of a body are six numbers in place of its rows: of a gradient force and torque, of a direction a translation and a
 * rotation vector, in the first two of the four rows that carry the mass, zeros in all others. Torques are divided by the radius of
 * gyration and rotation vectors multiplied, so that norms have one unit and products of the two stay what they are. A body that is held in
 * a point or an axis turns about that, and has no force.
 *
 * What a body does with its rows is done where they lie (loops/rigid_loops.h); only its part of a Hessian is put together on the host, for
 * what factorises there. */
#ifndef PD_DYNAMICS_RIGID_RIGID_H
#define PD_DYNAMICS_RIGID_RIGID_H

#include "dynamics/problem/problem.h"
#include "loops/rigid_loops.h"

struct pd_rigid {
    pd_rigid_body *bodies; /* H [n] */
    int n;
    pd_bodies set;         /* B the same, with their arms */
    int *body_of;          /* H [n_vertices] or -1 */
    unsigned char *joined; /* H [n] 1: a row is a corner of an element, of a joint or an attachment */
    int n_joined;
    unsigned char *excluded;    /* H [n_vertices] 1: no unknown of a reduced system stands there */
    real *slack, *host_slack;   /* B, H [n_vertices] of pd_rigid_bend, m */
    unsigned char *others_move; /* B [n_vertices] 1: of no body */
    double
        *curvature; /* [n,9] of the rotations at the point of the last gradient, N/m: what the gradient adds to the Hessian of (c, theta) */
    double *along;  /* [n,9] the projectors on the rotations that their pins leave free, at the point of the last Hessian */
    double *turns;  /* [n_vertices,3,3] of their rows, T of loops/rigid_loops.h, there */
    double *angles; /* [n] rad */
    double *host_curvature, *host_along, *host_turns, *host_angles; /* H: the four, where they are read */
};

/* *out = NULL where the description has none. Errors: PD_ERROR_MEMORY. */
pd_status pd_rigid_create(pd_rigid **out, const pd_problem *problem, const pd_description *description);
void pd_rigid_destroy(pd_rigid *self, pd_context *context); /* NULL is allowed */

/* All vectors B [n,3]. Each function waits. Errors: PD_DIVERGED where a body's points have lost their shape, those of a device. */

/* x, offset: each body goes to the pose nearest to the points that carry its mass; a free one without any force is then where G is
 * smallest. */
pd_status pd_rigid_place(const pd_problem *problem, real *x, real *offset);
/* gradient over the rows of bodies -> force and torque / radius; keeps the curvature. */
pd_status pd_rigid_gather(const pd_problem *problem, const real *x, real *gradient);
/* direction: the six numbers of a body -> 1/alpha of what its rows have to be moved by, so that -alpha times the six turn it on an arc. */
pd_status pd_rigid_spread(const pd_problem *problem, const real *x, double alpha, real *direction);

/* Zeros in the rows of bodies. */
pd_status pd_rigid_clear(const pd_problem *problem, real *vector);

/* rigid_motion.c: of bodies that turn, what pd_first_guess and pd_offset have done for vertices; and the velocity of all bodies, v_t that
 * at the start of the step. h > 0. */
pd_status pd_rigid_first_guess(const pd_problem *problem, int guess, const real *v, real *x, real *offset, real *drift);
pd_status pd_rigid_offset(const pd_problem *problem, const real *x, const real *v, real *offset);
pd_status pd_rigid_velocity(const pd_problem *problem, const real *x, const real *offset, const real *v_t, real *v);

/* rigid_path.c: the way from x to x_1, on which the centre goes straight, or what holds the body stays, and the body turns evenly about the
 * axis of the smallest rotation that leads there. Rows of bodies in x and offset go to where they are after this part of the way from x to
 * x_1; offset may be NULL. */
pd_status pd_rigid_go(const pd_problem *problem, const real *x_1, double part, real *x, real *offset);
/* How far vertices are from the straight way to x_1 on that way, at most: self->host_slack, 0 of the vertices of no body. */
pd_status pd_rigid_bend(const pd_problem *problem, const real *x_0, const real *x_1);
/* ends <- where straight ways from x_0 lead that are as long as those of all points to x_1: of bodies the arcs. */
pd_status pd_rigid_stretch(const pd_problem *problem, const real *x_0, const real *x_1, real *ends);
/* The largest rotation in a direction, rad. */
pd_status pd_rigid_largest_turn(const pd_problem *problem, const real *direction, double *turn);

/* For the files above, of what a loop over bodies returned: also whether they have kept their shape. Waits. */
pd_status pd_rigid_told(const pd_problem *problem, pd_status status);

#endif
