/* Bad input to every function gets a status and a message with the argument, the index and the value. */
#include "check.h"

static const double ZERO[3] = {0.0, 0.0, 0.0}, UP[3] = {0.0, 1.0, 0.0};

void test_null_pointers(void) {
    cube shape;
    pdgpu_scene *scene = cube_scene(0.0), *none;
    pdgpu_solver *solver = solver_of("Newton", 5, 0), *no_solver;
    pdgpu_simulation *simulation;
    double number;
    pdgpu_energies energies;
    make_cube(&shape, 0.0, 0.0, 0.0);
    REFUSED(pdgpu_scene_create(NULL, ZERO, &error), PDGPU_ERROR_VALUE, "out");
    REFUSED(pdgpu_scene_create(&none, NULL, &error), PDGPU_ERROR_VALUE, "gravity");
    CHECK(none == NULL);
    REFUSED(pdgpu_scene_add_body(NULL, PDGPU_SOLID, shape.points[0], 27, shape.tets[0], 48, 1.0, NULL, &error), PDGPU_ERROR_VALUE, "scene");
    REFUSED(pdgpu_scene_add_body(scene, PDGPU_SOLID, NULL, 27, shape.tets[0], 48, 1.0, NULL, &error), PDGPU_ERROR_VALUE, "points");
    REFUSED(pdgpu_scene_add_body(scene, PDGPU_SOLID, shape.points[0], 27, NULL, 48, 1.0, NULL, &error), PDGPU_ERROR_VALUE, "tets");
    REFUSED(pdgpu_scene_add_material(scene, 0, PDGPU_ARAP, NULL, 1, &error), PDGPU_ERROR_VALUE, "constants");
    REFUSED(pdgpu_scene_set_masses(scene, 0, NULL, &error), PDGPU_ERROR_VALUE, "masses");
    REFUSED(pdgpu_scene_set_velocities(scene, 0, NULL, &error), PDGPU_ERROR_VALUE, "velocities");
    REFUSED(pdgpu_scene_pin(scene, 0, NULL, 1, &error), PDGPU_ERROR_VALUE, "vertices");
    REFUSED(pdgpu_scene_attach(scene, 0, (const int[]){0}, 1, NULL, 1.0, NULL, &error), PDGPU_ERROR_VALUE, "targets");
    REFUSED(pdgpu_scene_masses(scene, NULL, &error), PDGPU_ERROR_VALUE, "masses");
    REFUSED(pdgpu_scene_add_plane(scene, NULL, UP, NULL, &error), PDGPU_ERROR_VALUE, "point");
    REFUSED(pdgpu_scene_add_sphere(scene, NULL, 1.0, NULL, &error), PDGPU_ERROR_VALUE, "centre");
    REFUSED(pdgpu_scene_add_capsule(scene, ZERO, NULL, 1.0, NULL, &error), PDGPU_ERROR_VALUE, "end");
    REFUSED(pdgpu_scene_add_surface(scene, NULL, 3, (const int[]){0, 1, 2}, 1, NULL, &error), PDGPU_ERROR_VALUE, "points");
    REFUSED(pdgpu_scene_add_segments(scene, NULL, 2, (const int[]){0, 1}, 1, NULL, &error), PDGPU_ERROR_VALUE, "points");
    REFUSED(pdgpu_scene_add_points(scene, NULL, 2, NULL, &error), PDGPU_ERROR_VALUE, "points");
    REFUSED(pdgpu_scene_set_barrier(NULL, NULL, &error), PDGPU_ERROR_VALUE, "scene");
    REFUSED(pdgpu_scene_set_penalty(NULL, NULL, &error), PDGPU_ERROR_VALUE, "scene");
    REFUSED(pdgpu_solver_create(&no_solver, NULL, &error), PDGPU_ERROR_VALUE, "name");
    REFUSED(pdgpu_solver_set(NULL, "iterations", 1.0, &error), PDGPU_ERROR_VALUE, "solver");
    REFUSED(pdgpu_solver_set(solver, NULL, 1.0, &error), PDGPU_ERROR_VALUE, "option");
    REFUSED(pdgpu_solver_get(solver, "iterations", NULL, &error), PDGPU_ERROR_VALUE, "value");
    REFUSED(pdgpu_solver_set_linear(solver, NULL, &error), PDGPU_ERROR_VALUE, "name");
    REFUSED(pdgpu_simulation_create(NULL, scene, solver, 0.01, 0, 1, &error), PDGPU_ERROR_VALUE, "out");
    REFUSED(pdgpu_simulation_create(&simulation, NULL, solver, 0.01, 0, 1, &error), PDGPU_ERROR_VALUE, "scene");
    REFUSED(pdgpu_simulation_create(&simulation, scene, NULL, 0.01, 0, 1, &error), PDGPU_ERROR_VALUE, "solver");
    CHECK(simulation == NULL);
    REFUSED(pdgpu_simulation_step(NULL, NULL, NULL, NULL, &error), PDGPU_ERROR_VALUE, "simulation");
    REFUSED(pdgpu_simulation_prepare(NULL, &error), PDGPU_ERROR_VALUE, "simulation");
    REFUSED(pdgpu_simulation_get_state(NULL, NULL, NULL, &error), PDGPU_ERROR_VALUE, "simulation");
    REFUSED(pdgpu_simulation_set_state(NULL, NULL, NULL, &error), PDGPU_ERROR_VALUE, "simulation");
    REFUSED(pdgpu_simulation_set_forces(NULL, NULL, &error), PDGPU_ERROR_VALUE, "simulation");
    REFUSED(pdgpu_simulation_set_attachment_targets(NULL, 0, 0, NULL, &error), PDGPU_ERROR_VALUE, "simulation");
    REFUSED(pdgpu_simulation_set_obstacle_targets(NULL, 0, NULL, &error), PDGPU_ERROR_VALUE, "simulation");
    REFUSED(pdgpu_simulation_energies(NULL, &energies, &error), PDGPU_ERROR_VALUE, "simulation");
    REFUSED(pdgpu_simulation_incremental_potential(NULL, NULL, &number, &error), PDGPU_ERROR_VALUE, "simulation");
    REFUSED(pdgpu_simulation_gradient(NULL, NULL, NULL, &error), PDGPU_ERROR_VALUE, "gradient");
    CHECK(pdgpu_scene_create(NULL, NULL, NULL) == PDGPU_ERROR_VALUE); // no error to write to
    CHECK(pdgpu_scene_n_vertices(NULL) == 0 && pdgpu_scene_first_vertex(NULL, 0) == -1);
    pdgpu_scene_destroy(NULL);
    pdgpu_solver_destroy(NULL);
    pdgpu_simulation_destroy(NULL);
    pdgpu_scene_destroy(scene);
    pdgpu_solver_destroy(solver);
}

void test_indices(void) {
    cube shape;
    pdgpu_scene *scene = cube_scene(0.0);
    make_cube(&shape, 0.0, 0.0, 0.0);
    shape.tets[40][2] = 812;
    REFUSED(pdgpu_scene_add_body(scene, PDGPU_SOLID, shape.points[0], 27, shape.tets[0], 48, 1.0, NULL, &error), PDGPU_ERROR_VALUE,
            "tets: index 812 at row 40 is out of range for 27 points");
    shape.tets[40][2] = shape.tets[40][1];
    REFUSED(pdgpu_scene_add_body(scene, PDGPU_SOLID, shape.points[0], 27, shape.tets[0], 48, 1.0, NULL, &error), PDGPU_ERROR_VALUE,
            "row 40 repeats vertex");
    make_cube(&shape, 0.0, 0.0, 0.0);
    int corner = shape.tets[7][0];
    shape.tets[7][0] = shape.tets[7][1], shape.tets[7][1] = corner;
    REFUSED(pdgpu_scene_add_body(scene, PDGPU_SOLID, shape.points[0], 27, shape.tets[0], 48, 1.0, NULL, &error), PDGPU_ERROR_VALUE, "7");
    REFUSED(pdgpu_scene_add_body(scene, PDGPU_SHELL, shape.points[0], 4, (const int[]){0, 1, 3}, 1, 1.0, NULL, &error), PDGPU_ERROR_VALUE,
            "vertex 2 belongs to no element");
    REFUSED(pdgpu_scene_add_body(scene, (pdgpu_body_type)9, shape.points[0], 4, NULL, 0, 1.0, NULL, &error), PDGPU_ERROR_VALUE, "type: 9");
    REFUSED(pdgpu_scene_add_body(scene, PDGPU_PARTICLES, shape.points[0], -1, NULL, 0, 1.0, NULL, &error), PDGPU_ERROR_VALUE,
            "n_points: -1");
    REFUSED(pdgpu_scene_pin(scene, 0, (const int[]){1, -4}, 2, &error), PDGPU_ERROR_VALUE,
            "vertices: index -4 at 1 is out of range for 27");
    REFUSED(pdgpu_scene_pin(scene, 3, (const int[]){1}, 1, &error), PDGPU_ERROR_VALUE, "body: 3 is out of range for 1");
    REFUSED(pdgpu_scene_attach(scene, 0, (const int[]){27}, 1, ZERO, 1.0, NULL, &error), PDGPU_ERROR_VALUE, "index 27 at 0");
    REFUSED(pdgpu_scene_add_material(scene, -1, PDGPU_ARAP, ZERO, 1, &error), PDGPU_ERROR_VALUE, "body: -1");
    REFUSED(pdgpu_scene_add_material(scene, 0, (pdgpu_material)77, ZERO, 1, &error), PDGPU_ERROR_VALUE, "material: 77");
    REFUSED(pdgpu_scene_add_material(scene, 0, PDGPU_ARAP, ZERO, 5, &error), PDGPU_ERROR_VALUE, "expected 1, or 48");
    REFUSED(pdgpu_scene_add_surface(scene, shape.points[0], 27, (const int[]){0, 1, 27}, 1, NULL, &error), PDGPU_ERROR_VALUE,
            "triangles: index 27 at row 0");
    CHECK(pdgpu_scene_n_vertices(scene) == 27); // what was refused has left nothing behind
    pdgpu_simulation *simulation = simulate(scene, solver_of("Newton", 5, 0), 0.01, 1);
    REFUSED(pdgpu_simulation_set_obstacle_targets(simulation, 0, ZERO, &error), PDGPU_ERROR_VALUE, "no contact");
    pdgpu_simulation_destroy(simulation);
}

void test_not_finite(void) {
    cube shape;
    pdgpu_real x[3 * CUBE_POINTS] = {0};
    pdgpu_scene *scene = cube_scene(0.0), *none;
    double bad[3] = {0.0, (double)NAN, 0.0}, values[3 * CUBE_POINTS] = {0}, number;
    make_cube(&shape, 0.0, 0.0, 0.0);
    REFUSED(pdgpu_scene_create(&none, bad, &error), PDGPU_ERROR_NOT_FINITE, "gravity: ");
    shape.points[3][1] = (double)NAN;
    REFUSED(pdgpu_scene_add_body(scene, PDGPU_SOLID, shape.points[0], 27, shape.tets[0], 48, 1.0, NULL, &error), PDGPU_ERROR_NOT_FINITE,
            "row 3, column 1");
    make_cube(&shape, 0.0, 0.0, 0.0);
    REFUSED(pdgpu_scene_add_body(scene, PDGPU_SOLID, shape.points[0], 27, shape.tets[0], 48, (double)INFINITY, NULL, &error),
            PDGPU_ERROR_NOT_FINITE, "density");
    REFUSED(pdgpu_scene_add_material(scene, 0, PDGPU_ARAP, &bad[1], 1, &error), PDGPU_ERROR_NOT_FINITE, "mu of PDGPU_ARAP at row 0");
    values[7] = (double)NAN;
    REFUSED(pdgpu_scene_set_masses(scene, 0, values, &error), PDGPU_ERROR_NOT_FINITE, "masses: ");
    REFUSED(pdgpu_scene_set_velocities(scene, 0, values, &error), PDGPU_ERROR_NOT_FINITE, "at 7");
    REFUSED(pdgpu_scene_set_damping(scene, 0, (double)NAN, &error), PDGPU_ERROR_NOT_FINITE, "seconds");
    REFUSED(pdgpu_scene_attach(scene, 0, (const int[]){0}, 1, bad, 1.0, NULL, &error), PDGPU_ERROR_NOT_FINITE, "targets");
    REFUSED(pdgpu_scene_add_plane(scene, bad, UP, NULL, &error), PDGPU_ERROR_NOT_FINITE, "point");
    REFUSED(pdgpu_scene_add_sphere(scene, ZERO, (double)NAN, NULL, &error), PDGPU_ERROR_NOT_FINITE, "radius");
    REFUSED(pdgpu_scene_set_barrier(scene, &(pdgpu_barrier){.distance = (double)NAN, .stiffness = 1.0}, &error), PDGPU_ERROR_NOT_FINITE,
            "distance");
    pdgpu_solver *solver = solver_of("Newton", 5, 0);
    REFUSED(pdgpu_solver_set(solver, "tolerance", (double)NAN, &error), PDGPU_ERROR_NOT_FINITE, "tolerance");
    pdgpu_simulation *simulation;
    REFUSED(pdgpu_simulation_create(&simulation, scene, solver, (double)NAN, 0, 1, &error), PDGPU_ERROR_NOT_FINITE, "dt");
    OK(pdgpu_scene_pin(scene, 0, (const int[]){2}, 1, &error));
    simulation = simulate(scene, solver, 0.01, 1);
    x[3 * 2 + 1] = (pdgpu_real)NAN;
    REFUSED(pdgpu_simulation_step(simulation, x, NULL, NULL, &error), PDGPU_ERROR_NOT_FINITE, "pinned vertex 2");
    REFUSED(pdgpu_simulation_set_state(simulation, x, NULL, &error), PDGPU_ERROR_NOT_FINITE, "positions");
    REFUSED(pdgpu_simulation_set_forces(simulation, values, &error), PDGPU_ERROR_NOT_FINITE, "forces");
    REFUSED(pdgpu_simulation_incremental_potential(simulation, x, &number, &error), PDGPU_ERROR_NOT_FINITE, "x: ");
    pdgpu_simulation_destroy(simulation);
}

void test_values(void) {
    pdgpu_scene *scene = cube_scene(0.0);
    double masses[CUBE_POINTS];
    for (int i = 0; i < CUBE_POINTS; i++) masses[i] = i == 4 ? -1.0 : 1.0;
    REFUSED(pdgpu_scene_set_masses(scene, 0, masses, &error), PDGPU_ERROR_VALUE, "got -1 kg at 4");
    REFUSED(pdgpu_scene_add_body(scene, PDGPU_PARTICLES, ZERO, 1, NULL, 0, -2.0, NULL, &error), PDGPU_ERROR_VALUE, "got -2");
    REFUSED(pdgpu_scene_set_damping(scene, 0, -1.0, &error), PDGPU_ERROR_VALUE, "got -1");
    REFUSED(pdgpu_scene_attach(scene, 0, (const int[]){0}, 1, ZERO, 0.0, NULL, &error), PDGPU_ERROR_VALUE, "stiffness");
    REFUSED(pdgpu_scene_add_material(scene, 0, PDGPU_ARAP, (const double[]){-1.0}, 1, &error), PDGPU_ERROR_VALUE, "got -1");
    REFUSED(pdgpu_scene_add_material(scene, 0, PDGPU_NEO_HOOKEAN, (const double[]){1e4, 1e5}, 1, &error), PDGPU_ERROR_VALUE, "already");
    REFUSED(pdgpu_scene_add_material(scene, 0, PDGPU_STRAIN_LIMIT, (const double[]){1.2, 1.3, 1e4}, 1, &error), PDGPU_ERROR_VALUE,
            "least <= 1 <= greatest");
    REFUSED(pdgpu_scene_add_plane(scene, ZERO, ZERO, NULL, &error), PDGPU_ERROR_VALUE, "normal: must not be zero");
    REFUSED(pdgpu_scene_add_sphere(scene, ZERO, 0.0, NULL, &error), PDGPU_ERROR_VALUE, "radius");
    REFUSED(pdgpu_scene_add_capsule(scene, ZERO, ZERO, 1.0, NULL, &error), PDGPU_ERROR_VALUE, "sphere");
    const double one_place[6] = {1.0, 2.0, 3.0, 1.0, 2.0, 3.0};
    REFUSED(pdgpu_scene_add_segments(scene, one_place, 2, (const int[]){0, 1}, 1, NULL, &error), PDGPU_ERROR_VALUE, "row 0");
    REFUSED(pdgpu_scene_add_segments(scene, one_place, 2, (const int[]){0, 2}, 1, NULL, &error), PDGPU_ERROR_VALUE, "edges");
    REFUSED(pdgpu_scene_add_segments(scene, one_place, 2, (const int[]){0, 1}, 0, NULL, &error), PDGPU_ERROR_VALUE, "n_edges");
    REFUSED(pdgpu_scene_add_points(scene, one_place, 0, NULL, &error), PDGPU_ERROR_VALUE, "n_points");
    REFUSED(pdgpu_scene_set_barrier(scene, &(pdgpu_barrier){.distance = 0.01}, &error), PDGPU_ERROR_VALUE, "stiffness");
    REFUSED(pdgpu_scene_set_penalty(scene, &(pdgpu_penalty){.thickness = -0.1, .stiffness = 1.0}, &error), PDGPU_ERROR_VALUE, "got -0.1");
    REFUSED(pdgpu_scene_set_barrier(scene, &(pdgpu_barrier){.distance = 0.01, .stiffness = 1.0, .friction = 0.5}, &error),
            PDGPU_ERROR_VALUE, "friction_velocity");
    pdgpu_scene_destroy(scene);
}

void test_solver_options(void) {
    double value;
    pdgpu_solver *solver;
    REFUSED(pdgpu_solver_create(&solver, "newton", &error), PDGPU_ERROR_VALUE, "there are ProjectiveDynamics, Newton, ");
    CHECK(solver == NULL);
    OK(pdgpu_solver_create(&solver, "Newton", &error));
    OK(pdgpu_solver_get(solver, "line_search", &value, &error));
    CHECK(value == 1.0);
    OK(pdgpu_solver_set_linear(solver, "pcg", &error));
    OK(pdgpu_solver_set(solver, "linear.preconditioner", 1.0, &error));
    OK(pdgpu_solver_get(solver, "linear.preconditioner", &value, &error));
    CHECK(value == 1.0);
    REFUSED(pdgpu_solver_set(solver, "linear.preconditioner", 5.0, &error), PDGPU_ERROR_VALUE, "between 0 and 4, got 5");
    REFUSED(pdgpu_solver_set(solver, "iterations", 0.0, &error), PDGPU_ERROR_VALUE, "iterations: must be between 1");
    REFUSED(pdgpu_solver_set(solver, "iterations", 2.5, &error), PDGPU_ERROR_VALUE, "whole number, got 2.5");
    REFUSED(pdgpu_solver_set(solver, "line_search", 2.0, &error), PDGPU_ERROR_VALUE, "between 0 and 1");
    REFUSED(pdgpu_solver_set(solver, "weight", 1.0, &error), PDGPU_ERROR_VALUE, "none of the name \"weight\"");
    REFUSED(pdgpu_solver_set(solver, "linear", 1.0, &error), PDGPU_ERROR_VALUE, "linear");
    REFUSED(pdgpu_solver_set(solver, "chebyshev.rho", 0.5, &error), PDGPU_ERROR_VALUE, "chebyshev.rho");
    REFUSED(pdgpu_solver_set(solver, "anderson.window", 5.0, &error), PDGPU_ERROR_VALUE, "anderson.window");
    REFUSED(pdgpu_solver_set_linear(solver, "jacobi", &error), PDGPU_ERROR_TYPE, "does not take the linear solver \"jacobi\"");
    REFUSED(pdgpu_solver_set_linear(solver, "schur", &error), PDGPU_ERROR_VALUE, "there is no linear solver \"schur\"");
    pdgpu_solver_destroy(solver);
}

void test_combinations(void) {
    static const pdgpu_barrier barrier = {.distance = 0.01, .stiffness = 1e6, .friction = 0.3, .friction_velocity = 1e-3};
    static const double gravity[3] = {0.0, 0.0, 0.0};
    pdgpu_simulation *simulation;
    pdgpu_scene *scene = cube_scene(1.0), *empty;
    pdgpu_solver *solver = solver_of("Newton", 5, 0), *projective = solver_of("ProjectiveDynamics", 5, 0), *pbd = solver_of("PBD", 5, 0);
    OK(pdgpu_scene_create(&empty, gravity, &error));
    REFUSED(pdgpu_simulation_create(&simulation, empty, solver, 0.01, 0, 1, &error), PDGPU_ERROR_VALUE, "no bodies");
    REFUSED(pdgpu_simulation_create(&simulation, scene, projective, 0.01, 0, 1, &error), PDGPU_ERROR_TYPE, "neo_hookean_tet");
    REFUSED(pdgpu_simulation_create(&simulation, scene, solver, -0.01, 0, 1, &error), PDGPU_ERROR_VALUE, "dt");
    REFUSED(pdgpu_simulation_create(&simulation, scene, solver, 0.01, 0, -1, &error), PDGPU_ERROR_VALUE, "threads");
    REFUSED(pdgpu_simulation_create(&simulation, scene, solver, 0.01, 7, 1, &error), PDGPU_ERROR_DEVICE, "7");
    REFUSED(pdgpu_scene_add_material(scene, 0, PDGPU_BENDING, (const double[]){1.0}, 1, &error), PDGPU_ERROR_TYPE,
            "PDGPU_BENDING cannot be given to a solid");
    OK(pdgpu_scene_set_barrier(scene, &barrier, &error));
    REFUSED(pdgpu_simulation_create(&simulation, scene, solver, 0.0, 0, 1, &error), PDGPU_ERROR_TYPE, "friction");
    REFUSED(pdgpu_simulation_create(&simulation, scene, pbd, 0.01, 0, 1, &error), PDGPU_ERROR_TYPE, "PBD does not take a barrier");
    CHECK(simulation == NULL);
    pdgpu_scene_destroy(scene);
    pdgpu_scene_destroy(empty);
    pdgpu_solver_destroy(solver);
    pdgpu_solver_destroy(projective);
    pdgpu_solver_destroy(pbd);
}
