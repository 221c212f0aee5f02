/* Obstacles and the contact of a scene of the C interface: checked and copied. */
#include "library/scene_object.h"

#include "mesh/validation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Adds an obstacle with points [n_points,3] m, and triangles or edges that have been checked. */
static pd_status add_obstacle(pdgpu_scene *scene, pd_obstacle made, const double *points, const int *rows, int *obstacle, pd_error *error) {
    made.points = pd_arena_copy(&scene->arena, points, (size_t)made.n_points, 3 * sizeof *points, error);
    made.triangles = pd_arena_copy(&scene->arena, rows, (size_t)made.n_triangles, 3 * sizeof *rows, error);
    made.edges = pd_arena_copy(&scene->arena, rows, (size_t)made.n_edges, 2 * sizeof *rows, error);
    pd_obstacle *list = realloc(scene->obstacles, ((size_t)scene->n_obstacles + 1) * sizeof *list);
    if (list) scene->obstacles = list;
    if (!made.points || !made.triangles || !made.edges || !list) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for an obstacle");
    list[scene->n_obstacles] = made;
    if (obstacle) *obstacle = scene->n_obstacles;
    scene->n_obstacles++;
    return PD_OK;
}

pdgpu_status pdgpu_scene_add_plane(pdgpu_scene *scene, const double *point, const double *normal, int *obstacle, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    double both[6], length;
    PD_TRY(pd_need(scene, "scene", &found));
    PD_TRY(pd_need_finite(point, 3, "point", &found));
    PD_TRY(pd_need_finite(normal, 3, "normal", &found));
    length = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
    if (!(length > 0.0)) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "normal: must not be zero"));
    for (int c = 0; c < 3; c++) both[c] = point[c], both[3 + c] = normal[c] / length;
    PD_TRY(add_obstacle(scene, (pd_obstacle){.shape = PD_OBSTACLE_PLANE, .n_points = 2}, both, NULL, obstacle, &found));
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_scene_add_sphere(pdgpu_scene *scene, const double *centre, double radius, int *obstacle, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    PD_TRY(pd_need(scene, "scene", &found));
    PD_TRY(pd_need_finite(centre, 3, "centre", &found));
    PD_TRY(pd_need_number(radius, 0.0, 1, "radius", &found));
    PD_TRY(
        add_obstacle(scene, (pd_obstacle){.shape = PD_OBSTACLE_SPHERE, .n_points = 1, .radius = radius}, centre, NULL, obstacle, &found));
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_scene_add_capsule(pdgpu_scene *scene, const double *start, const double *end, double radius, int *obstacle,
                                     pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    double both[6];
    PD_TRY(pd_need(scene, "scene", &found));
    PD_TRY(pd_need_finite(start, 3, "start", &found));
    PD_TRY(pd_need_finite(end, 3, "end", &found));
    PD_TRY(pd_need_number(radius, 0.0, 1, "radius", &found));
    if (memcmp(start, end, sizeof both / 2) == 0) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "end: is equal to start; add a sphere instead"));
    memcpy(both, start, sizeof both / 2);
    memcpy(both + 3, end, sizeof both / 2);
    PD_TRY(add_obstacle(scene, (pd_obstacle){.shape = PD_OBSTACLE_CAPSULE, .n_points = 2, .radius = radius}, both, NULL, obstacle, &found));
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_scene_add_surface(pdgpu_scene *scene, const double *points, int n_points, const int *triangles, int n_triangles,
                                     int *obstacle, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    pd_obstacle made = {.shape = PD_OBSTACLE_SURFACE, .n_points = n_points, .n_triangles = n_triangles};
    PD_TRY(pd_need(scene, "scene", &found));
    PD_TRY(pd_need(points, "points", &found));
    PD_TRY(pd_need(triangles, "triangles", &found));
    if (n_points < 3) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "n_points: must be at least 3, got %d", n_points));
    if (n_triangles < 1) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "n_triangles: must be at least 1, got %d", n_triangles));
    PD_TRY(pd_points_check(points, n_points, "points", &found));
    PD_TRY(pd_elements_check(triangles, n_triangles, 3, n_points, "triangles", &found));
    PD_TRY(add_obstacle(scene, made, points, triangles, obstacle, &found));
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_scene_add_segments(pdgpu_scene *scene, const double *points, int n_points, const int *edges, int n_edges, int *obstacle,
                                      pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    pd_obstacle made = {.shape = PD_OBSTACLE_SEGMENTS, .n_points = n_points, .n_edges = n_edges};
    PD_TRY(pd_need(scene, "scene", &found));
    PD_TRY(pd_need(points, "points", &found));
    PD_TRY(pd_need(edges, "edges", &found));
    if (n_points < 2) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "n_points: must be at least 2, got %d", n_points));
    if (n_edges < 1) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "n_edges: must be at least 1, got %d", n_edges));
    PD_TRY(pd_points_check(points, n_points, "points", &found));
    PD_TRY(pd_elements_check(edges, n_edges, 2, n_points, "edges", &found));
    for (int e = 0; e < n_edges; e++) {
        const double *ends[2] = {points + 3 * (size_t)edges[2 * e], points + 3 * (size_t)edges[2 * e + 1]};
        if (ends[0][0] == ends[1][0] && ends[0][1] == ends[1][1] && ends[0][2] == ends[1][2])
            PD_TRY(pd_fail(&found, PD_ERROR_VALUE,
                           "edges: row %d, between the points %d and %d, has no length; remove it, or move one of the points", e,
                           edges[2 * e], edges[2 * e + 1]));
    }
    PD_TRY(add_obstacle(scene, made, points, edges, obstacle, &found));
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_scene_add_points(pdgpu_scene *scene, const double *points, int n_points, int *obstacle, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    PD_TRY(pd_need(scene, "scene", &found));
    PD_TRY(pd_need(points, "points", &found));
    if (n_points < 1) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "n_points: must be at least 1, got %d", n_points));
    PD_TRY(pd_points_check(points, n_points, "points", &found));
    PD_TRY(add_obstacle(scene, (pd_obstacle){.shape = PD_OBSTACLE_POINTS, .n_points = n_points}, points, NULL, obstacle, &found));
done:
    return pd_report(status, &found, error);
}

static pd_status check_friction(double friction, double velocity, pd_error *error) {
    pd_status status = pd_need_number(friction, 0.0, 0, "friction", error);
    return status || friction == 0.0 ? status : pd_need_number(velocity, 0.0, 1, "friction_velocity", error);
}

pdgpu_status pdgpu_scene_set_barrier(pdgpu_scene *scene, const pdgpu_barrier *barrier, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    PD_TRY(pd_need(scene, "scene", &found));
    if (barrier) {
        PD_TRY(pd_need_number(barrier->distance, 0.0, 1, "distance", &found));
        PD_TRY(pd_need_number(barrier->stiffness, 0.0, 1, "stiffness", &found));
        PD_TRY(pd_need_number(barrier->separation, 0.0, 0, "separation", &found));
        PD_TRY(check_friction(barrier->friction, barrier->friction_velocity, &found));
        if (barrier->friction_lags < 0 || barrier->friction_lags > 1000)
            PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "friction_lags: must be between 0 and 1000, got %d", barrier->friction_lags));
        scene->barrier = *barrier;
    }
    scene->contact = barrier ? PD_BARRIER_CONTACT : PD_NO_CONTACT;
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_scene_set_penalty(pdgpu_scene *scene, const pdgpu_penalty *penalty, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    PD_TRY(pd_need(scene, "scene", &found));
    if (penalty) {
        PD_TRY(pd_need_number(penalty->thickness, 0.0, 1, "thickness", &found));
        PD_TRY(pd_need_number(penalty->stiffness, 0.0, 1, "stiffness", &found));
        PD_TRY(pd_need_number(penalty->depth, 0.0, 0, "depth", &found));
        PD_TRY(check_friction(penalty->friction, penalty->friction_velocity, &found));
        if (penalty->detection_interval < 0)
            PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "detection_interval: must be at least 0, got %d", penalty->detection_interval));
        scene->penalty = *penalty;
    }
    scene->contact = penalty ? PD_PENALTY_CONTACT : PD_NO_CONTACT;
done:
    return pd_report(status, &found, error);
}
