/* Bending of two adjacent edges of a rod: the sum F = (x_1 - x_0)/l_1 + (x_2 - x_0)/l_2 of the directions from their common vertex, with
 * rest lengths l, and its length L at rest.
 *
 *     L = 0 (straight at rest)    E(F) = w/2 |F|^2
 *     L > 0 (bent at rest)        E(F) = w/2 (|F| - L)^2
 *
 * p = {w = 2 k_b/(l_1 + l_2) [J], L}, k_b [N m^2], a beam's Young's modulus times second moment of area. 2 |F|/(l_1 + l_2) is the
 * curvature for edges of rest length, and belongs to half of each of them. w/2 |F|^2 = k_b/2 curvature^2 (l_1 + l_2)/2 is the energy of
 * an Euler-Bernoulli beam. To first order in the angle, |F| equals that of Bergou et al. 2008, Discrete Elastic Rods, Eq. 1: 2
 * sin(phi/2) for 2 tan(phi/2). Twist has no energy, and a bend at rest may rotate about the rod. It is bending.h with other weights. */
#ifndef PD_ELEMENTS_ROD_BENDING_H
#define PD_ELEMENTS_ROD_BENDING_H

#include "elements/bending.h"

/* The table composes the names of a kind's functions; these are those of bending. */
#define pd_rod_bending_energy     pd_bending_energy
#define pd_rod_bending_gradient   pd_bending_gradient
#define pd_rod_bending_hessian    pd_bending_hessian
#define pd_rod_bending_block      pd_bending_block
#define pd_rod_bending_projection pd_bending_projection

#endif
