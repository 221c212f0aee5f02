/* The weight of a contact pair: its area, m^2, or 1.
 *
 * A unit of contact area should have the same stiffness against a plane, a sphere, a capsule and another mesh:
 *
 *     vertex, plane       A_v              the vertices of a surface sum to its area, and each has one pair
 *     vertex, triangle    A_v/4            two meshes count four times: vertices of either side, and edges twice
 *                                          [Li et al. 2023, convergent IPC]
 *                         min(A_v/4, A_t)  "harmonic": a vertex of a coarse mesh is no stiffer than a sphere
 *     vertex, panel of    A_v A_p/(A_p + 3 A_v)  "harmonic": inside a large panel (panel_update.h) there are no edges and vertices
 *     an obstacle         that count too. So it is as stiff as a plane; A_v/4 for equal areas
 *     edge, edge          (A1 + A2)/4      "sum", as in ipctk
 *                         A1 A2/(A1 + A2)  "harmonic", half the harmonic mean: the same for equal areas, else at most the smaller one
 *     sphere, triangle    A_t              "harmonic"; the end of a capsule likewise. A sphere has no other pairs with a mesh
 *     capsule, edge       A_e              "harmonic"; the limit of A1 A2/(A1 + A2) for an infinitely large side
 *     all others          1                rods, particles; with "sum" also spheres and capsules
 *
 * A_v, A_e: a third of each triangle at a vertex, at an edge; A_t: the triangle or its panel; A_p: the panel. Below a capsule's end both
 * its pairs count, so that it is up to twice as stiff there. An edge parallel to a capsule's axis has no force (mollifier), so that a
 * regular grid loses up to a third. */
#ifndef PD_UPDATES_CONTACT_PAIR_WEIGHT_H
#define PD_UPDATES_CONTACT_PAIR_WEIGHT_H

#include "loops/contact_loops.h"

/* The mean of the areas if all exist, otherwise 1. */
PD_FUNCTION real pd_pair_weight_mean(real a, real b, real parts) { return a >= 0 && b >= 0 ? (a + b) / parts : (real)1; }

/* a b/(a + b), without a product that could underflow. A side of area 0 (flat triangles of an obstacle) must not remove the pair's
 * barrier. */
PD_FUNCTION real pd_pair_weight_harmonic(real a, real b) {
    real least = pd_min(a, b), most = pd_max(a, b);
    return least > 0 ? least * (most / (a + b)) : pd_pair_weight_mean(a, b, 4);
}

/* Tells whether point p with this area is the centre of a sphere or on the axis of a capsule: a prescribed point without triangles. */
PD_FUNCTION int pd_pair_weight_is_round(const pd_contact_scene *scene, int p, real area) { return p >= scene->n_moving && area < 0; }

/* For edges first and second with corners points [4]. */
PD_FUNCTION real pd_pair_weight_of_edges(const pd_contact_scene *scene, const int *points, int first, int second) {
    real a = scene->edge_areas[first], b = scene->edge_areas[second];
    if (scene->weighting == PD_WEIGHTING_SUM) return pd_pair_weight_mean(a, b, 4);
    if (pd_pair_weight_is_round(scene, points[0], a)) return b > 0 ? b : (real)1;
    if (pd_pair_weight_is_round(scene, points[2], b)) return a > 0 ? a : (real)1;
    return a >= 0 && b >= 0 ? pd_pair_weight_harmonic(a, b) : (real)1;
}

/* For a vertex and a triangle, with one of its corners; the area of a triangle in a panel is that of the panel. */
PD_FUNCTION real pd_pair_weight_of_triangle(const pd_contact_scene *scene, int vertex, int triangle, int corner) {
    real area = scene->areas[vertex], other = scene->triangle_areas[triangle], weight = pd_pair_weight_mean(area, 0, 4);
    if (scene->weighting == PD_WEIGHTING_SUM || !(other > 0)) return weight;
    if (pd_pair_weight_is_round(scene, vertex, area)) return other;
    if (area >= 0 && corner >= scene->n_moving && scene->panels && scene->panels[triangle] >= 0)
        return area * (other / (other + (real)3 * area));
    return area >= 0 ? pd_min(weight, other) : weight;
}

/* For a vertex and a plane. */
PD_FUNCTION real pd_pair_weight_of_plane(const pd_contact_scene *scene, int vertex) {
    return pd_pair_weight_mean(scene->areas[vertex], 0, 1);
}

#endif
