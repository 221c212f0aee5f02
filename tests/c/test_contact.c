/* Contact: barriers, friction, penalties, and obstacles that move. */
#include "check.h"

static const double GROUND[3] = {0.0, 0.0, 0.0}, UP[3] = {0.0, 2.0, 0.0};
static const pdgpu_barrier BARRIER = {.distance = 0.01, .stiffness = 1e6, .separation = 0.001};

typedef struct nearest {
    double distance;
    int pairs;
} nearest;

static void keep_nearest(void *user, const pdgpu_row *row) {
    nearest *kept = user;
    kept->distance = fmin(kept->distance, row->smallest_distance);
    if (row->active_contacts > kept->pairs) kept->pairs = row->active_contacts;
}

/* A cube falls onto a sphere, a capsule, a surface and a plane, and never comes nearer to one than the separation. */
void test_barrier(void) {
    static const double table[4][3] = {{-1, 0, -1}, {-1, 0, 1}, {1, 0, 1}, {1, 0, -1}};
    static const int faces[2][3] = {{0, 1, 2}, {0, 2, 3}};
    static const double centre[3] = {0.1, -0.2, 0.1}, start[3] = {0.1, -0.2, -0.5}, end[3] = {0.1, -0.2, 0.5};
    for (int shape = 0; shape < 4; shape++) {
        nearest kept = {(double)INFINITY, 0};
        const pdgpu_watch watch = {&kept, keep_nearest, NULL};
        pdgpu_scene *scene = cube_scene(0.015);
        if (shape == 0) OK(pdgpu_scene_add_plane(scene, GROUND, UP, NULL, &error));
        if (shape == 1) OK(pdgpu_scene_add_sphere(scene, centre, 0.2, NULL, &error));
        if (shape == 2) OK(pdgpu_scene_add_capsule(scene, start, end, 0.2, NULL, &error));
        if (shape == 3) OK(pdgpu_scene_add_surface(scene, table[0], 4, faces[0], 2, NULL, &error));
        OK(pdgpu_scene_set_barrier(scene, &BARRIER, &error));
        pdgpu_simulation *simulation = simulate(scene, solver_of("Newton", 50, 1e-6), 0.01, 1);
        for (int k = 0; k < 12; k++) OK(pdgpu_simulation_step(simulation, NULL, &watch, NULL, &error));
        if (!(kept.distance > 0.001 && kept.distance < 0.011 && kept.pairs > 0))
            FAIL("shape %d: nearest %g m, %d pairs", shape, kept.distance, kept.pairs);
        if (shape == 0 || shape == 3) CHECK(lowest(simulation, CUBE_POINTS) > 0.001);
        pdgpu_simulation_destroy(simulation);
    }
}

/* How far a cube slides along the ground in 20 steps. */
static double slid(double friction) {
    double velocities[CUBE_POINTS][3];
    pdgpu_real x[3 * CUBE_POINTS];
    pdgpu_barrier barrier = BARRIER;
    pdgpu_scene *scene = cube_scene(0.004);
    barrier.friction = friction, barrier.friction_velocity = 1e-3;
    for (int i = 0; i < CUBE_POINTS; i++) velocities[i][0] = 0.5, velocities[i][1] = velocities[i][2] = 0.0;
    OK(pdgpu_scene_set_velocities(scene, 0, velocities[0], &error));
    OK(pdgpu_scene_add_plane(scene, GROUND, UP, NULL, &error));
    OK(pdgpu_scene_set_barrier(scene, &barrier, &error));
    pdgpu_simulation *simulation = simulate(scene, solver_of("Newton", 50, 1e-6), 0.01, 1);
    for (int k = 0; k < 20; k++) OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
    OK(pdgpu_simulation_get_state(simulation, x, NULL, &error));
    pdgpu_simulation_destroy(simulation);
    return (double)x[3 * 13]; // the middle, 0.1 m at the start
}

/* Without friction a cube slides on at its speed, with friction it slows down. */
void test_friction(void) {
    double free = slid(0.0), slowed = slid(0.5);
    CHECK_NEAR(free, 0.1 + 0.5 * 0.2, 1e-3);
    CHECK(slowed > 0.1 && slowed < free - 0.02);
}

/* A penalty carries a cube, which sinks in no farther than its thickness. */
void test_penalty(void) {
    static const pdgpu_penalty penalty = {.thickness = 0.01, .stiffness = 1e4};
    pdgpu_scene *scene = cube_scene(0.012);
    OK(pdgpu_scene_add_plane(scene, GROUND, UP, NULL, &error));
    OK(pdgpu_scene_set_penalty(scene, &penalty, &error));
    pdgpu_simulation *simulation = simulate(scene, solver_of("VertexBlockDescent", 40, 0), 0.01, 1);
    for (int k = 0; k < 30; k++) OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
    CHECK(lowest(simulation, CUBE_POINTS) > 0.0 && lowest(simulation, CUBE_POINTS) < 0.012);
    pdgpu_simulation_destroy(simulation);
}

/* A plane that rises pushes the cube up, and arrives at its target. */
void test_moving_obstacle(void) {
    int plane;
    pdgpu_result result;
    pdgpu_scene *scene = cube_scene(0.01);
    OK(pdgpu_scene_add_plane(scene, GROUND, UP, &plane, &error));
    OK(pdgpu_scene_set_barrier(scene, &BARRIER, &error));
    pdgpu_simulation *simulation = simulate(scene, solver_of("Newton", 50, 1e-6), 0.01, 1);
    for (int k = 1; k <= 20; k++) {
        const double target[3] = {0.0, 0.002 * k, 0.0};
        OK(pdgpu_simulation_set_obstacle_targets(simulation, plane, target, &error));
        OK(pdgpu_simulation_step(simulation, NULL, NULL, &result, &error));
        CHECK(result.target_lag < 1e-12);
        CHECK(lowest(simulation, CUBE_POINTS) > target[1] + 0.001);
    }
    REFUSED(pdgpu_simulation_set_obstacle_targets(simulation, 1, GROUND, &error), PDGPU_ERROR_VALUE, "obstacle: 1 is out of range for 1");
    pdgpu_simulation_destroy(simulation);
}

/* A barrier has no answer where surfaces touch: the step says so. */
void test_touching_start(void) {
    pdgpu_scene *scene = cube_scene(0.0);
    OK(pdgpu_scene_add_plane(scene, GROUND, UP, NULL, &error));
    OK(pdgpu_scene_set_barrier(scene, &BARRIER, &error));
    pdgpu_simulation *simulation = simulate(scene, solver_of("Newton", 50, 1e-6), 0.01, 1);
    REFUSED(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error), PDGPU_ERROR_VALUE, "touch at the start");
    pdgpu_simulation_destroy(simulation);
}
