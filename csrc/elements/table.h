/* Every element of the project in one list: the loops of cpu/ and cuda/ expand it, and nothing else names them all.
 *
 * An element has k vertices and one linear map from their positions to a 3 x d matrix F:
 *
 *     F = sum_{i=1}^{k-1} (x_i - x_0) g_i^T        (k > 1; g_i [d] are the rest gradients, g_0 = -sum g_i)
 *     F = x_0 - target                             (k = 1: an attachment)
 *
 * and an energy E(F). Differences x_i - x_0 are taken first, so that a body far from the origin loses no digits. Everything
 * else follows by the chain rule, once, in element.h: the force on vertex i is -(dE/dF) g_i, its Hessian block is
 * g_i^T (d2E/dF2) g_j, and Projective Dynamics sees w g_i.g_j and w T g_i with the projection T = argmin over the constraint
 * set of |F - T| [Bouaziz et al. 2014, Eq. 3].
 *
 * Each element NAME is one header with these functions; F, P and T are row-major 3 x d, H is (3d) x (3d) with row index a*d+b
 * for entry (a,b) of F, p [count] are the element's parameters, rest volume included, p[0] the weight w of the matrix
 * M/h^2 + sum w S^T S (of Projective Dynamics, of quasi-Newton):
 *
 *     real pd_NAME_energy    (const real *F, const real *p);                     J
 *     void pd_NAME_gradient  (const real *F, const real *p, real *P);            dE/dF
 *     void pd_NAME_hessian   (const real *F, const real *p, pd_hessian_filter filter, real *H);   d2E/dF2, filtered
 *     void pd_NAME_block     (const real *F, const real *p, const real *g, real *B);    the 3x3 block of a corner with rest gradient
 *         g [d], sum_bc g_b g_c d2E/dF_ab dF_cd, by a direct formula without H; always positive semidefinite, what can be indefinite
 *         clamped at zero: never below the exact block; k = 1: g is not read
 *     void pd_NAME_projection(const real *F, const real *p, real *T);            the nearest point of the constraint set, where it has one
 *
 * Constraints are those of XPBD: 1, C = sqrt(2 E), or 2 that the header splits the energy into (xpbd.h). Corners tell how sweeps over
 * vertices take an element's corners: PD_CORNERS_SINGLE one by one, by the functions above; the others in groups of vector lanes
 * or as sums over neighbours.
 *
 * A new material is one new header and one line here. */
#ifndef PD_ELEMENTS_TABLE_H
#define PD_ELEMENTS_TABLE_H

/*  X(KIND, name, vertices k, columns d, parameters, constraints, corners)        parameters */
/* Elements with a constraint set: Projective Dynamics and position-based dynamics take these only. */
#define PD_PROJECTIVE_TABLE(X)                                                                                                          \
    X(PD_SPRING, spring, 2, 1, 2, 1, PD_CORNERS_SPRING)                               /* stiffness k [N/m], rest length [m]          */ \
    X(PD_ARAP_TET, arap_tet, 4, 3, 1, 1, PD_CORNERS_ROTATED)                          /* 2 mu volume [J]                             */ \
    X(PD_ARAP_TRIANGLE, arap_triangle, 3, 2, 1, 1, PD_CORNERS_SINGLE)                 /* 2 mu area [J]                               */ \
    X(PD_BENDING, bending, 4, 1, 2, 1, PD_CORNERS_QUADRATIC)                          /* 3 k_b/(A0+A1) [J/m2], rest |F| [m]          */ \
    X(PD_ROD_BENDING, rod_bending, 3, 1, 2, 1, PD_CORNERS_QUADRATIC)                  /* 2 k_b/(l1+l2) [J], rest |F|                 */ \
    X(PD_VOLUME, volume, 4, 3, 1, 1, PD_CORNERS_SINGLE)                               /* k volume [J]                                */ \
    X(PD_AREA, area, 3, 2, 1, 1, PD_CORNERS_SINGLE)                                   /* k area [J]                                  */ \
    X(PD_STRAIN_LIMIT_TET, strain_limit_tet, 4, 3, 3, 1, PD_CORNERS_SINGLE)           /* k volume [J], minimum, maximum              */ \
    X(PD_STRAIN_LIMIT_TRIANGLE, strain_limit_triangle, 3, 2, 3, 1, PD_CORNERS_SINGLE) /* k area [J], minimum, maximum                */ \
    X(PD_SHAPE_TARGET, shape_target, 4, 3, 7, 1, PD_CORNERS_TARGET)                   /* 2 mu volume [J], upper triangle of S [6]  */   \
    X(PD_ATTACHMENT, attachment, 1, 1, 1, 1, PD_CORNERS_SINGLE)                       /* stiffness k [N/m]                           */ \
    X(PD_WORLD_BOX, world_box, 1, 1, 7, 1, PD_CORNERS_SINGLE)                         /* stiffness k [N/m], lower [3], upper [3] m   */

/* Hyperelastic energies that are no distance to a set. */
#define PD_HYPERELASTIC_TABLE(X)                                                                                                  \
    X(PD_NEO_HOOKEAN_TET, neo_hookean_tet, 4, 3, 2, 2, PD_CORNERS_NEO_HOOKEAN)  /* 2 mu volume, lam volume [J]                 */ \
    X(PD_STVK_TET, stvk_tet, 4, 3, 2, 1, PD_CORNERS_SINGLE)                     /* 2 mu volume, lam volume [J]                 */ \
    X(PD_STVK_TRIANGLE, stvk_triangle, 3, 2, 2, 1, PD_CORNERS_STVK_TRIANGLE)    /* 2 mu area, lam area [J]                     */ \
    X(PD_COROTATED_TET, corotated_tet, 4, 3, 2, 1, PD_CORNERS_ROTATED)          /* 2 mu volume, lam volume [J]                 */ \
    X(PD_COROTATED_TRIANGLE, corotated_triangle, 3, 2, 2, 1, PD_CORNERS_SINGLE) /* 2 mu area, lam area [J]                     */ \
    PD_ORIENTED_TABLE(X)

/* Those of tets that must not invert: the steps of a method are limited (dynamics/orientation/orientation.h). */
#define PD_ORIENTED_TABLE(X)                                                                                        \
    X(PD_LOG_NEO_HOOKEAN_TET, log_neo_hookean_tet, 4, 3, 2, 1, PD_CORNERS_SINGLE) /* 2 mu volume, lam volume [J] */ \
    X(PD_FIXED_COROTATED_TET, fixed_corotated_tet, 4, 3, 2, 1, PD_CORNERS_SINGLE) /* 2 mu volume, lam volume [J] */

/* Orthotropic energies, no distance to a set either: w, normal stiffnesses [d (d+1)/2], shear moduli [d (d-1)/2], times the measure [J]. */
#define PD_ORTHOTROPIC_TABLE(X)                                            \
    X(PD_ORTHOTROPIC_TET, orthotropic_tet, 4, 3, 10, 1, PD_CORNERS_SINGLE) \
    X(PD_ORTHOTROPIC_TRIANGLE, orthotropic_triangle, 3, 2, 5, 1, PD_CORNERS_SINGLE)

/* What joints of rigid bodies are made of beside springs, no distance to a set either. */
#define PD_JOINT_TABLE(X)                                                                                              \
    X(PD_SLIDE, slide, 4, 2, 4, 1, PD_CORNERS_SINGLE)             /* stiffness k, k_s [N/m], lower, upper [m]       */ \
    X(PD_WORLD_SLIDE, world_slide, 1, 1, 7, 1, PD_CORNERS_SINGLE) /* the same, the axis [3]                         */ \
    X(PD_SWING, swing, 4, 2, 2, 1, PD_CORNERS_SINGLE)             /* stiffness k [J], cosine of the largest angle   */ \
    X(PD_WORLD_SWING, world_swing, 2, 1, 5, 1, PD_CORNERS_SINGLE) /* the same, the direction [3]                    */

/* Energies of angles, no distance to a set either. */
#define PD_ANGLE_TABLE(X) \
    X(PD_HINGE, hinge, 4, 3, 4, 1, PD_CORNERS_SINGLE) /* weight w [N/m], stiffness k [J], rest angle [rad], height at rest [m] */

/* Materials of the caller, whose parameters are the results of its functions at F (custom.h); no distance to a set either. */
#define PD_CUSTOM_TABLE(X)                                       \
    X(PD_CUSTOM_TET, custom_tet, 4, 3, 58, 1, PD_CORNERS_SINGLE) \
    X(PD_CUSTOM_TRIANGLE, custom_triangle, 3, 2, 31, 1, PD_CORNERS_SINGLE)

/* Energies whose functions of F are formulas. */
#define PD_FORMULA_TABLE(X)  \
    PD_PROJECTIVE_TABLE(X)   \
    PD_HYPERELASTIC_TABLE(X) \
    PD_ORTHOTROPIC_TABLE(X)  \
    PD_JOINT_TABLE(X)        \
    PD_ANGLE_TABLE(X)

#define PD_ELEMENT_TABLE(X) \
    PD_FORMULA_TABLE(X)     \
    PD_CUSTOM_TABLE(X)

/* The statements of a kind of a table, a CASE of it being `case KIND: ..; break;`. Other kinds do nothing. */
#define PD_SWITCH(kind, TABLE, CASE) \
    switch (kind) {                  \
        TABLE(CASE)                  \
    default: break;                  \
    }

typedef enum pd_kind {
#define PD_KIND(KIND, name, k, d, count, ...) KIND,
    PD_ELEMENT_TABLE(PD_KIND)
#undef PD_KIND
        PD_KIND_COUNT
} pd_kind;

/* How sweeps over vertices take corners: neo-Hookean ones by vertex_correction.h, ARAP and co-rotated ones by rotated_corner.h, those that
 * seek a shape as shape_target_corner.h, triangles as stvk_corner.h, springs as spring.h; quadratic ones, w/2 |F|^2 where p = {w, 0} and d
 * = 1, are no corners any more but neighbours. */
enum {
    PD_CORNERS_SINGLE = -1,
    PD_CORNERS_NEO_HOOKEAN,
    PD_CORNERS_ROTATED,
    PD_CORNERS_TARGET,
    PD_CORNERS_STVK_TRIANGLE,
    PD_CORNERS_SPRING,
    PD_CORNER_FAMILIES,
    PD_CORNERS_QUADRATIC = PD_CORNER_FAMILIES
};

#define PD_MAX_VERTICES   4
#define PD_MAX_COLUMNS    3
#define PD_MAX_PARAMETERS 58

#endif
