/* Steps with a known answer. */
#include "check.h"

/* Implicit Euler: after k steps v = k h g, x = k (k + 1)/2 h^2 g. */
void test_free_fall(void) {
    static const double gravity[3] = {1.0, -9.81, 0.5};
    const double h = 0.01;
    pdgpu_simulation *simulation = simulate(one_particle(gravity), solver_of("Newton", 3, 0), h, 1);
    for (int k = 1; k <= 10; k++) {
        pdgpu_real x[3], v[3];
        OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
        OK(pdgpu_simulation_get_state(simulation, x, v, &error));
        for (int c = 0; c < 3; c++) {
            CHECK_NEAR(v[c], k * h * gravity[c], 1e-12);
            CHECK_NEAR(x[c], 0.5 * k * (k + 1) * h * h * gravity[c], 1e-13);
        }
    }
    pdgpu_simulation_destroy(simulation);
}

/* A solid that nothing holds falls without being deformed. */
void test_free_fall_of_a_solid(void) {
    pdgpu_simulation *simulation = simulate(cube_scene(0.0), solver_of("VertexBlockDescent", 20, 0), 0.01, 1);
    pdgpu_energies energies;
    for (int k = 1; k <= 5; k++) OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
    OK(pdgpu_simulation_energies(simulation, &energies, &error));
    CHECK_NEAR(energies.elastic, 0.0, 1e-12);
    CHECK_NEAR(lowest(simulation, CUBE_POINTS), -15.0 * 1e-4 * 9.81, 1e-10);
    pdgpu_simulation_destroy(simulation);
}

/* A mass on a spring along x: (m/h^2 + k) x = m/h^2 y + k L in every step. */
void test_spring_step(void) {
    static const double points[6] = {0.0, 0.0, 0.0, 1.0, 0.0, 0.0}, gravity[3] = {0.0, 0.0, 0.0}, k = 50.0, start[6] = {0, 0, 0, 2.0, 0, 0};
    static const int edge[2] = {0, 1}, held = 0;
    const double m = 0.5, h = 0.02;
    double x = 1.0, v = 2.0;
    pdgpu_scene *scene;
    OK(pdgpu_scene_create(&scene, gravity, &error));
    OK(pdgpu_scene_add_body(scene, PDGPU_ROD, points, 2, edge, 1, 1.0, NULL, &error)); // 1 kg, a half for each end
    OK(pdgpu_scene_add_material(scene, 0, PDGPU_SPRING, &k, 1, &error));
    OK(pdgpu_scene_set_velocities(scene, 0, start, &error));
    OK(pdgpu_scene_pin(scene, 0, &held, 1, &error));
    pdgpu_simulation *simulation = simulate(scene, solver_of("Newton", 10, 0), h, 1);
    for (int step = 0; step < 20; step++) {
        pdgpu_real found[6];
        double next = (m / (h * h) * (x + h * v) + k) / (m / (h * h) + k);
        v = (next - x) / h, x = next;
        OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
        OK(pdgpu_simulation_get_state(simulation, found, NULL, &error));
        CHECK_NEAR(found[3], x, 1e-12);
        CHECK_NEAR(found[0], 0.0, 0.0);
    }
    pdgpu_simulation_destroy(simulation);
}

/* 1 kg on a spring of length 0: BDF2 (1), the trapezoidal rule (2) and Newmark's method (3), with x from the end of the spring. */
void test_integrators(void) {
    static const double gravity[3] = {0.0, 0.0, 0.0}, target[3] = {1.0, 0.0, 0.0}, k = 50.0, dt = 0.02;
    static const int vertex = 0;
    for (int integrator = 1; integrator <= 3; integrator++) {
        const double h = integrator == 1 ? 2.0 * dt / 3.0 : 0.5 * dt;
        double x = -1.0, v = 0.0, x_before = 0.0, v_before = 0.0;
        pdgpu_solver *solver = solver_of("Newton", 10, 0);
        pdgpu_scene *scene = one_particle(gravity);
        OK(pdgpu_scene_attach(scene, 0, &vertex, 1, target, k, NULL, &error));
        OK(pdgpu_solver_set(solver, "integrator", integrator, &error));
        pdgpu_simulation *simulation = simulate(scene, solver, dt, 1);
        for (int step = 0; step < 20; step++) {
            int first = integrator != 1 || step == 0;
            double left = first ? x + (dt - h) * v : (4.0 * x - x_before) / 3.0,
                   moved = first ? v - (dt - h) * k * x : (4.0 * v - v_before) / 3.0;
            pdgpu_real found[3], speed[3];
            x_before = x, v_before = v;
            x = (left + h * moved) / (1.0 + h * h * k), v = moved - h * k * x;
            OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
            OK(pdgpu_simulation_get_state(simulation, found, speed, &error));
            CHECK_NEAR(found[0], 1.0 + x, 1e-12);
            CHECK_NEAR(speed[0], v, 1e-11);
        }
        pdgpu_simulation_destroy(simulation);
    }
    pdgpu_solver *solver = solver_of("XPBD", 10, 0);
    pdgpu_scene *scene = one_particle(gravity);
    pdgpu_simulation *simulation;
    OK(pdgpu_solver_set(solver, "integrator", 1, &error));
    REFUSED(pdgpu_simulation_create(&simulation, scene, solver, dt, 0, 1, &error), PDGPU_ERROR_TYPE, "XPBD does not take bdf2");
    pdgpu_scene_destroy(scene);
    pdgpu_solver_destroy(solver);
}

/* A force acts as an acceleration f/m, and ends when it is taken back. */
void test_forces(void) {
    static const double gravity[3] = {0.0, 0.0, 0.0}, force[3] = {3.0, 0.0, -1.0};
    pdgpu_simulation *simulation = simulate(one_particle(gravity), solver_of("Newton", 3, 0), 0.1, 1);
    pdgpu_real v[3];
    OK(pdgpu_simulation_set_forces(simulation, force, &error));
    OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
    OK(pdgpu_simulation_set_forces(simulation, NULL, &error));
    OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
    OK(pdgpu_simulation_get_state(simulation, NULL, v, &error));
    for (int c = 0; c < 3; c++) CHECK_NEAR(v[c], 0.1 * force[c], 1e-14);
    pdgpu_simulation_destroy(simulation);
}

/* Pinned vertices go to their targets; the rows of free ones are not read. */
void test_pinned_targets(void) {
    static const int held[2] = {0, 5};
    pdgpu_scene *scene = cube_scene(0.0);
    pdgpu_real x[3 * CUBE_POINTS], targets[3 * CUBE_POINTS];
    OK(pdgpu_scene_pin(scene, 0, held, 2, &error));
    pdgpu_simulation *simulation = simulate(scene, solver_of("Newton", 20, 1e-8), 0.01, 1);
    OK(pdgpu_simulation_get_state(simulation, x, NULL, &error));
    for (int i = 0; i < 3 * CUBE_POINTS; i++) targets[i] = (pdgpu_real)NAN;
    for (int i = 0; i < 2; i++)
        for (int c = 0; c < 3; c++) targets[3 * held[i] + c] = x[3 * held[i] + c] + (pdgpu_real)0.01;
    OK(pdgpu_simulation_step(simulation, targets, NULL, NULL, &error));
    OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error)); // and stay there
    OK(pdgpu_simulation_get_state(simulation, x, NULL, &error));
    for (int i = 0; i < 2; i++)
        for (int c = 0; c < 3; c++) CHECK(x[3 * held[i] + c] == targets[3 * held[i] + c]);
    pdgpu_simulation_destroy(simulation);
}

/* Quasistatic: a mass at an attachment hangs m g/k below its target, wherever that goes. */
void test_hanging_mass(void) {
    static const double gravity[3] = {0.0, -10.0, 0.0}, target[3] = {1.0, 2.0, 3.0}, other[3] = {-1.0, 0.0, 0.5};
    static const int vertex = 0;
    int first;
    pdgpu_real x[3];
    pdgpu_scene *scene = one_particle(gravity);
    OK(pdgpu_scene_attach(scene, 0, &vertex, 1, target, 200.0, &first, &error));
    CHECK(first == 0);
    pdgpu_simulation *simulation = simulate(scene, solver_of("Newton", 5, 0), 0.0, 1);
    OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
    OK(pdgpu_simulation_get_state(simulation, x, NULL, &error));
    for (int c = 0; c < 3; c++) CHECK_NEAR(x[c], target[c] + gravity[c] / 200.0, 1e-13);
    OK(pdgpu_simulation_set_attachment_targets(simulation, 0, 1, other, &error));
    OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
    OK(pdgpu_simulation_get_state(simulation, x, NULL, &error));
    for (int c = 0; c < 3; c++) CHECK_NEAR(x[c], other[c] + gravity[c] / 200.0, 1e-13);
    REFUSED(pdgpu_simulation_set_attachment_targets(simulation, 1, 1, other, &error), PDGPU_ERROR_VALUE, "out of range");
    pdgpu_simulation_destroy(simulation);
}

/* What is read back is what was set, and a step from there is the step from there. */
void test_set_state(void) {
    pdgpu_simulation *simulation = simulate(cube_scene(0.0), solver_of("Newton", 20, 1e-10), 0.01, 1);
    pdgpu_real x[3 * CUBE_POINTS], v[3 * CUBE_POINTS], once[3 * CUBE_POINTS], again[3 * CUBE_POINTS];
    OK(pdgpu_simulation_get_state(simulation, x, v, &error));
    for (int i = 0; i < CUBE_POINTS; i++) v[3 * i] = (pdgpu_real)(0.1 * i), x[3 * i] *= (pdgpu_real)1.1;
    for (int run = 0; run < 2; run++) {
        OK(pdgpu_simulation_set_state(simulation, x, v, &error));
        OK(pdgpu_simulation_get_state(simulation, again, NULL, &error));
        CHECK(memcmp(x, again, sizeof x) == 0);
        OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
        OK(pdgpu_simulation_get_state(simulation, run ? again : once, NULL, &error));
    }
    CHECK(memcmp(once, again, sizeof once) == 0 && memcmp(once, x, sizeof x) != 0);
    pdgpu_simulation_destroy(simulation);
}
