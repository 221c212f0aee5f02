/* Contact by proxies [Wang et al. 2021, Localized collisions, Secs. 4.1, 4.2]. Proxies are points y = W x of the bodies. A spring of
 * rest length zero pulls each proxy inside a collider to the nearest point t of its surface,
 *
 *     E(x) = sum over active proxies of c/2 |y - t|^2,    dE/dx = W^T C (W x - t),    d2E/dx2 = W^T C W     (one matrix for x, y and z)
 *
 * For proxies inside bodies, t is a point of the body, t = W_c x, and W becomes W - W_c (rest_fields.h). The entries of the matrix then
 * change with the active proxies.
 *
 * C and t follow from a detection at each evaluated x, or are constant in a step. The springs act in every direction until the next
 * detection, also along the surface. The gradient is the derivative; the printed one has another sign before t. */
#ifndef PD_CONTACT_PROXIES_PROXIES_H
#define PD_CONTACT_PROXIES_PROXIES_H

#include "contact/detection/colliders.h"
#include "contact/proxies/rest_fields.h"
#include "linear/linear_solver.h"

typedef struct pd_proxies pd_proxies;

/* All arrays H. */
typedef struct pd_proxies_description {
    int n;
    const int *rows;       /* [n,4] vertices, -1: none */
    const real *weights;   /* [n,4] */
    const real *stiffness; /* [n] N/m */
    int n_colliders;
    const pd_rest_description *rest; /* bodies that act as colliders; NULL: none */
    int per_step;                    /* 1: the detection at the first guess holds to the end of the step */
} pd_proxies_description;

/* Proxies of a body whose `fixed` [n_vertices] H vertices do not move. The colliders have no shape yet. Errors: PD_ERROR_MEMORY. */
pd_status pd_proxies_create(pd_proxies **out, pd_context *context, const pd_proxies_description *description, int n_vertices,
                            const unsigned char *fixed);
void pd_proxies_destroy(pd_proxies *proxies); /* NULL is allowed */
pd_colliders *pd_proxies_colliders(pd_proxies *proxies);
int pd_proxies_count(const pd_proxies *proxies);
int pd_proxies_per_step(const pd_proxies *proxies);

/* Begins a step at the first guess x [n_vertices,3] B, and ends it. With per_step the springs of a complete step are kept for
 * pd_proxies_read. */
pd_status pd_proxies_begin(pd_proxies *proxies, const real *x);
pd_status pd_proxies_end(pd_proxies *proxies, int completed);
/* Drops the springs of the last step, after a change of the positions. */
void pd_proxies_forget_step(pd_proxies *proxies);

/* At x: gradient [n_vertices,3] B +=, N, except at fixed vertices; energy H, J: synchronises. */
pd_status pd_proxies_add_gradient(pd_proxies *proxies, const real *x, real *gradient);
/* The same with the springs of the last detection at any x. Targets on bodies move with these. */
pd_status pd_proxies_add_held_gradient(pd_proxies *proxies, const real *x, real *gradient);
pd_status pd_proxies_potential(pd_proxies *proxies, const real *x, double *energy);

/* W^T C W of the last detection over the free vertices. Counts the proxies that have become active or inactive since the last call, and
 * marks an iteration. Synchronises. */
pd_status pd_proxies_matrix(pd_proxies *proxies, const pd_entries **out);
/* A diagonal upper bound of it, H [n_vertices] N/m, after pd_proxies_matrix: c |w_a| sum_b |w_b|. */
const double *pd_proxies_bounds(const pd_proxies *proxies);
/* Its entries for any set of active proxies; with bodies those of the last iteration. */
const pd_entries *pd_proxies_pattern(const pd_proxies *proxies);

/* The springs of the last step at x, with per_step and until pd_proxies_forget_step; otherwise those of a detection at x.
 *   y, target [n,3] m, active [n], carriers, weights [n,4]: H, out; carriers are -1 for targets that are not on a body
 *   entered, left: numbers of proxies that became active, or inactive, between two iterations of the last step.      Synchronises. */
pd_status pd_proxies_read(pd_proxies *proxies, const real *x, real *y, real *target, unsigned char *active, int *carriers, real *weights,
                          long long *entered, long long *left);

#endif
