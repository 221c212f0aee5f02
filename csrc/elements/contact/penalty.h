/* The quadratic penalty of one pair with weights and normal from a detection:
 *
 *     E(x) = k/2 d^2,     d = max(0, range - g),     g = n . sum_j beta_j x_j          [Chen et al. 2024, Vertex Block Descent, Eq. 12]
 *
 * beta are the weights of the gap, which sum to zero over the pair. n is its unit normal, out of the second of the pair. `range` is the
 * gap below which the two repel each other: the thickness, and the radii of spheres and capsules. Then
 *
 *     dE/dx_j = -k d beta_j n,      d2E/dx_i dx_j = k beta_i beta_j n n^T  where d > 0.
 *
 * These sum to zero over the pair, and the Hessian is positive semidefinite without a filter. */
#ifndef PD_ELEMENTS_CONTACT_PENALTY_H
#define PD_ELEMENTS_CONTACT_PENALTY_H

#include "geometry/vector.h"

/* d, m; 0 for a NaN gap. */
PD_LANE_FUNCTION real pd_penalty_depth(real gap, real range) {
    real depth = range - gap;
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
