/* The small scenes of check.h. */
#include "check.h"

void make_cube(cube *out, double x, double y, double z) {
    static const int orders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    int n = 0;
    for (int v = 0; v < CUBE_POINTS; v++) {
        int at[3] = {v / 9, v / 3 % 3, v % 3};
        out->points[v][0] = x + 0.1 * at[0], out->points[v][1] = y + 0.1 * at[1], out->points[v][2] = z + 0.1 * at[2];
        for (int o = 0; o < 6 && at[0] < 2 && at[1] < 2 && at[2] < 2; o++, n++) {
            static const int strides[3] = {9, 3, 1};
            int a = v + strides[orders[o][0]], b = a + strides[orders[o][1]], c = v + 13;
            out->tets[n][0] = v, out->tets[n][1] = a, out->tets[n][2] = o < 3 ? b : c, out->tets[n][3] = o < 3 ? c : b;
        }
    }
}

pdgpu_scene *cube_scene_of(pdgpu_material material, const double *constants, double height) {
    static const double gravity[3] = {0.0, -9.81, 0.0};
    cube shape;
    pdgpu_scene *scene;
    make_cube(&shape, 0.0, height, 0.0);
    OK(pdgpu_scene_create(&scene, gravity, &error));
    OK(pdgpu_scene_add_body(scene, PDGPU_SOLID, shape.points[0], CUBE_POINTS, shape.tets[0], CUBE_TETS, 1000.0, NULL, &error));
    if (constants) OK(pdgpu_scene_add_material(scene, 0, material, constants, 1, &error));
    return scene;
}

pdgpu_scene *cube_scene(double height) {
    static const double moduli[2] = {2e4, 1e5};
    return cube_scene_of(PDGPU_NEO_HOOKEAN, moduli, height);
}

pdgpu_scene *one_particle(const double *gravity) {
    static const double origin[3] = {0.0, 0.0, 0.0};
    pdgpu_scene *scene;
    OK(pdgpu_scene_create(&scene, gravity, &error));
    OK(pdgpu_scene_add_body(scene, PDGPU_PARTICLES, origin, 1, NULL, 0, 1.0, NULL, &error));
    return scene;
}

pdgpu_solver *solver_of(const char *name, double iterations, double tolerance) {
    pdgpu_solver *solver;
    OK(pdgpu_solver_create(&solver, name, &error));
    OK(pdgpu_solver_set(solver, "iterations", iterations, &error));
    OK(pdgpu_solver_set(solver, "tolerance", tolerance, &error));
    return solver;
}

pdgpu_simulation *simulate(pdgpu_scene *scene, pdgpu_solver *solver, double dt, int threads) {
    pdgpu_simulation *simulation;
    OK(pdgpu_simulation_create(&simulation, scene, solver, dt, 0, threads, &error));
    pdgpu_scene_destroy(scene);
    pdgpu_solver_destroy(solver);
    return simulation;
}

double lowest(pdgpu_simulation *simulation, int n) {
    double y = (double)INFINITY;
    pdgpu_real *x = malloc(3 * (size_t)n * sizeof *x);
    CHECK(x);
    OK(pdgpu_simulation_get_state(simulation, x, NULL, &error));
    for (int i = 0; i < n; i++) y = fmin(y, (double)x[3 * i + 1]);
    free(x);
    return y;
}
