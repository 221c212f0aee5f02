/* Contact by proxies [Wang et al. 2021, Localized collisions, Secs. 4.1, 4.2]: points y = W x of the bodies, each of which a spring of
 * length zero pulls to the nearest point t of the surface of the collider it is in,
 *
 *     E(x) = sum over active proxies of c/2 |y - t|^2,    dE/dx = W^T C (W x - t),    d2E/dx2 = W^T C W     (one matrix for x, y and z)
 *
 * Where they are kept out of bodies too, t is a point of such a body, t = W_c x, and W becomes W - W_c (rest_fields.h): the
 * entries of the matrix change with the active proxies.
 *
 * C and t are what a detection says, at every x that is asked about, or frozen for a step. The springs act in every direction until the
 * next detection, also along the surface. The gradient is that as derived: the sign before t that is printed is another. */
#ifndef PD_CONTACT_PROXIES_PROXIES_H
#define PD_CONTACT_PROXIES_PROXIES_H

#include "contact/detection/colliders.h"
#include "contact/proxies/rest_fields.h"
#include "linear/linear_solver.h"

typedef struct pd_proxies pd_proxies;

/* All H. */
typedef struct pd_proxies_description {
    int n;
    const int *rows;       /* [n,4] vertices, -1: none */
    const real *weights;   /* [n,4] */
    const real *stiffness; /* [n] N/m */
    int n_colliders;
    const pd_rest_description *rest; /* the bodies they are kept out of; NULL: there are none */
    int per_step;                    /* what a step detects at its first guess holds to its end */
} pd_proxies_description;

/* Of a body whose `fixed` [n_vertices] H vertices do not move. The colliders have no shape yet. Errors: PD_ERROR_MEMORY. */
pd_status pd_proxies_create(pd_proxies **out, pd_context *context, const pd_proxies_description *description, int n_vertices,
                            const unsigned char *fixed);
void pd_proxies_destroy(pd_proxies *proxies); /* NULL is allowed */
pd_colliders *pd_proxies_colliders(pd_proxies *proxies);
int pd_proxies_count(const pd_proxies *proxies);
int pd_proxies_per_step(const pd_proxies *proxies);

/* A step begins at the first guess x [n_vertices,3] B, and ends. With per_step the springs of a completed step are kept for
 * pd_proxies_read. */
pd_status pd_proxies_begin(pd_proxies *proxies, const real *x);
pd_status pd_proxies_end(pd_proxies *proxies, int completed);
/* The positions are no longer those that the last step led to. */
void pd_proxies_forget_step(pd_proxies *proxies);

/* At x: gradient [n_vertices,3] B +=, N, but for fixed vertices; energy H, J: waits. */
pd_status pd_proxies_add_gradient(pd_proxies *proxies, const real *x, real *gradient);
/* The same of the springs that the last detection found, wherever that was; those that bodies carry go along. */
pd_status pd_proxies_add_held_gradient(pd_proxies *proxies, const real *x, real *gradient);
pd_status pd_proxies_potential(pd_proxies *proxies, const real *x, double *energy);

/* W^T C W of the last detection over the free vertices, and that an iteration is made with it, which counts who has come and gone.
 * Waits. */
pd_status pd_proxies_matrix(pd_proxies *proxies, const pd_entries **out);
/* A diagonal above it, H [n_vertices] N/m, after pd_proxies_matrix: c |w_a| sum_b |w_b|. */
const double *pd_proxies_bounds(const pd_proxies *proxies);
/* Its entries whatever is active; with bodies those of the last iteration. */
const pd_entries *pd_proxies_pattern(const pd_proxies *proxies);

/* The springs of the last step at x, with per_step and until pd_proxies_forget_step; else those of a detection at x.
 *   y, target [n,3] m, active [n], carriers, weights [n,4]: H, out; the carriers of a target that no body carries are -1
 *   entered, left: how many became active, or were no longer, between two iterations of the last step.      Waits. */
pd_status pd_proxies_read(pd_proxies *proxies, const real *x, real *y, real *target, unsigned char *active, int *carriers, real *weights,
                          long long *entered, long long *left);

#endif
