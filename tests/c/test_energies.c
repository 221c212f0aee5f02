/* Energies and gradients of the potential. */
#include "check.h"

static double stretched(pdgpu_material material, double s) {
    const double mu = 2e4, lam = 1e5, volume = 0.008;
    pdgpu_simulation *simulation = simulate(cube_scene_of(material, (const double[]){mu, lam}, 0.0), solver_of("Newton", 5, 0), 0.01, 1);
    pdgpu_real x[3 * CUBE_POINTS];
    pdgpu_energies energies;
    OK(pdgpu_simulation_get_state(simulation, x, NULL, &error));
    for (int i = 0; i < CUBE_POINTS; i++) x[3 * i] *= (pdgpu_real)s;
    OK(pdgpu_simulation_set_state(simulation, x, NULL, &error));
    OK(pdgpu_simulation_energies(simulation, &energies, &error));
    pdgpu_simulation_destroy(simulation);
    return energies.elastic / volume;
}

/* A stretch by s along x has J = s and the singular values s, 1, 1. */
void test_uniform_stretch(void) {
    const double mu = 2e4, lam = 1e5, s = 1.3, away = s - 1.0, square = 0.5 * mu * (s * s - 1.0);
    CHECK_NEAR(stretched(PDGPU_NEO_HOOKEAN, s), square - mu * away + 0.5 * lam * away * away, 1e-8);
    CHECK_NEAR(stretched(PDGPU_LOG_NEO_HOOKEAN, s), square - mu * log(s) + 0.5 * lam * log(s) * log(s), 1e-8);
    CHECK_NEAR(stretched(PDGPU_FIXED_COROTATED, s), (mu + 0.5 * lam) * away * away, 1e-8);
}

/* A mirrored cube is no state of a material that forbids inversion. */
void test_inverted_state(void) {
    pdgpu_simulation *simulation =
        simulate(cube_scene_of(PDGPU_LOG_NEO_HOOKEAN, (const double[]){2e4, 1e5}, 0.0), solver_of("Newton", 5, 0), 0.01, 1);
    pdgpu_real x[3 * CUBE_POINTS];
    OK(pdgpu_simulation_get_state(simulation, x, NULL, &error));
    for (int i = 0; i < CUBE_POINTS; i++) x[3 * i] = -x[3 * i];
    OK(pdgpu_simulation_set_state(simulation, x, NULL, &error));
    REFUSED(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error), PDGPU_ERROR_VALUE, "inverted");
    pdgpu_simulation_destroy(simulation);
}

/* A deformation without symmetry, by place and coordinate. */
static double bump(int i) { return 0.01 * sin(1.0 + 3.7 * i + 0.3 * i * i); }

static void check_gradient(pdgpu_scene *scene, int n, const char *name) {
    const double delta = 1e-6;
    pdgpu_simulation *simulation = simulate(scene, solver_of("Newton", 5, 0), 0.01, 1);
    pdgpu_real *x = calloc(3 * (size_t)n, sizeof *x), *gradient = calloc(3 * (size_t)n, sizeof *gradient);
    double largest = 0.0;
    CHECK(x && gradient);
    OK(pdgpu_simulation_get_state(simulation, x, NULL, &error));
    for (int i = 0; i < 3 * n; i++) x[i] += (pdgpu_real)bump(i);
    OK(pdgpu_simulation_gradient(simulation, x, gradient, &error));
    for (int i = 0; i < 3 * n; i++) largest = fmax(largest, fabs((double)gradient[i]));
    for (int i = 0; i < 3 * n; i += 5) {
        double plus, minus;
        pdgpu_real kept = x[i];
        x[i] = kept + (pdgpu_real)delta;
        OK(pdgpu_simulation_incremental_potential(simulation, x, &plus, &error));
        x[i] = kept - (pdgpu_real)delta;
        OK(pdgpu_simulation_incremental_potential(simulation, x, &minus, &error));
        x[i] = kept;
        double difference = (plus - minus) / (2.0 * delta);
        if (!(fabs(difference - (double)gradient[i]) <= 1e-4 * largest))
            FAIL("%s: coordinate %d: difference %g, gradient %g", name, i, difference, (double)gradient[i]);
    }
    free(x);
    free(gradient);
    pdgpu_simulation_destroy(simulation);
}

/* Finite differences of G, of every material on every body that takes it. */
void test_gradients(void) {
    static const double grid[9][3] = {{0, 0, 0},     {0, 0, 0.1}, {0, 0, 0.2},   {0.1, 0, 0},  {0.1, 0.02, 0.1},
                                      {0.1, 0, 0.2}, {0.2, 0, 0}, {0.2, 0, 0.1}, {0.2, 0, 0.2}};
    static const int triangles[8][3] = {{0, 1, 4}, {0, 4, 3}, {1, 2, 5}, {1, 5, 4}, {3, 4, 7}, {3, 7, 6}, {4, 5, 8}, {4, 8, 7}};
    static const double constants[3] = {0.99, 1.01, 1e4}, lame[3] = {1e4, 4e4, 0.0};
    static const double gravity[3] = {0.0, -9.81, 0.0};
    int tried = 0;
    for (int material = 0; material < PDGPU_MATERIAL_COUNT; material++)
        for (int type = PDGPU_SOLID; type <= PDGPU_ROD; type++) {
            const double *given = material == PDGPU_STRAIN_LIMIT ? constants : lame;
            static const int edges[2][2] = {{0, 1}, {1, 2}};
            cube shape;
            char name[64];
            pdgpu_error error;
            pdgpu_scene *scene;
            make_cube(&shape, 0.0, 0.0, 0.0);
            OK(pdgpu_scene_create(&scene, gravity, &error));
            if (type == PDGPU_SOLID)
                OK(pdgpu_scene_add_body(scene, PDGPU_SOLID, shape.points[0], CUBE_POINTS, shape.tets[0], CUBE_TETS, 1e3, NULL, &error));
            if (type == PDGPU_SHELL) OK(pdgpu_scene_add_body(scene, PDGPU_SHELL, grid[0], 9, triangles[0], 8, 1.0, NULL, &error));
            if (type == PDGPU_ROD) OK(pdgpu_scene_add_body(scene, PDGPU_ROD, grid[0], 3, edges[0], 2, 1.0, NULL, &error));
            pdgpu_status status = pdgpu_scene_add_material(scene, 0, (pdgpu_material)material, given, 1, &error);
            CHECK(status == PDGPU_OK || status == PDGPU_ERROR_TYPE);
            if (status) {
                pdgpu_scene_destroy(scene);
                continue;
            }
            snprintf(name, sizeof name, "material %d, type %d", material, type);
            check_gradient(scene, pdgpu_scene_n_vertices(scene), name);
            tried++;
        }
    CHECK(tried == 17);
}

/* Kinetic energy, and that of weight, of bodies that move as a whole. */
void test_energies(void) {
    const double mass = 1000.0 * 0.008;
    double velocities[CUBE_POINTS][3];
    pdgpu_energies energies;
    pdgpu_scene *scene = cube_scene(2.0);
    for (int i = 0; i < CUBE_POINTS; i++) velocities[i][0] = 3.0, velocities[i][1] = 0.0, velocities[i][2] = -1.0;
    OK(pdgpu_scene_set_velocities(scene, 0, velocities[0], &error));
    pdgpu_simulation *simulation = simulate(scene, solver_of("Newton", 5, 0), 0.01, 1);
    OK(pdgpu_simulation_energies(simulation, &energies, &error));
    CHECK_NEAR(energies.kinetic, 0.5 * mass * 10.0, 1e-8);
    CHECK_NEAR(energies.gravity, mass * 9.81 * 2.1, 1e-10); // the centre is half a side above the lowest corner
    CHECK_NEAR(energies.elastic, 0.0, 1e-12);
    CHECK_NEAR(energies.total, energies.kinetic + energies.gravity, 1e-8);
    pdgpu_simulation_destroy(simulation);
}

/* The masses of the vertices add up to density times volume; masses that are set take their place. */
void test_lumped_masses(void) {
    pdgpu_scene *scene = cube_scene(0.0);
    double masses[CUBE_POINTS], sum = 0.0;
    OK(pdgpu_scene_masses(scene, masses, &error));
    for (int i = 0; i < CUBE_POINTS; i++) sum += masses[i];
    CHECK_NEAR(sum, 8.0, 1e-12);
    CHECK(masses[0] > 0.0 && masses[13] > masses[0]);
    for (int i = 0; i < CUBE_POINTS; i++) masses[i] = 2.0;
    OK(pdgpu_scene_set_masses(scene, 0, masses, &error));
    masses[3] = 0.0;
    OK(pdgpu_scene_masses(scene, masses, &error));
    CHECK(masses[3] == 2.0);
    pdgpu_scene_destroy(scene);
}
