/* The energy added by contact of the two-way interior point method in a step. */
#ifndef PD_DYNAMICS_RESPONSES_TWO_WAY_ENERGY_H
#define PD_DYNAMICS_RESPONSES_TWO_WAY_ENERGY_H

#include "dynamics/step/frame.h"

/* After the last update of a step, before its velocity:
 *     gain = K(v) + E(x) - K(v_t) - E(z) - W,     W of the load, and of prescribed motions
 * K is the kinetic energy of free vertices, E that of the elements, z = x_t with the pins at x. A step of implicit Euler with a convex E
 * loses energy (energy.c), and obstacles at rest do no work, so gain is at most 0. `explained` is the tolerance for inexact solves and pairs
 * that gain their distance. J; 0 and 0 without rows of contact, or if unknown. Synchronises. */
pd_status pd_two_way_energy(pd_simulation *self, const pd_vertex_update_result *update, double *gain, double *explained);

#endif
