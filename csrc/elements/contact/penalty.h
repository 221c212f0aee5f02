/* The quadratic penalty of one pair whose weights and normal are frozen at a detection:
 *
 *     E(x) = k/2 d^2,     d = max(0, reach - g),     g = n . sum_j beta_j x_j          [Chen et al. 2024, Vertex Block Descent, Eq. 12]
 *
 * beta are the weights of the gap, which add up to zero over the pair, n its unit normal, out of the second of it; `reach` is the gap below
 * which the two push each other apart: the thickness, and the radii of spheres and capsules. Then
 *
 *     dE/dx_j = -k d beta_j n,      d2E/dx_i dx_j = k beta_i beta_j n n^T  where d > 0,
 *
 * which add up to zero over the pair and are positive semidefinite as they are. */
#ifndef PD_ELEMENTS_CONTACT_PENALTY_H
#define PD_ELEMENTS_CONTACT_PENALTY_H

#include "geometry/vector.h"

/* d, m; 0 where the gap is no number. */
PD_LANE_FUNCTION real pd_penalty_depth(real gap, real reach) {
    real depth = reach - gap;
    return depth > 0 ? depth : (real)0;
}

/* J */
PD_LANE_FUNCTION real pd_penalty_energy(real stiffness, real depth) { return (real)0.5 * stiffness * depth * depth; }

/* k n n^T [3,3], N/m, exactly symmetric. */
PD_FUNCTION void pd_penalty_matrix(real stiffness, pd_vector n, real M[9]) {
    const real normal[3] = {n.x, n.y, n.z};
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) M[3 * i + j] = M[3 * j + i] = stiffness * (normal[i] * normal[j]);
}

#endif
