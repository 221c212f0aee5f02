/* A material of the caller's own: the numbers of a built-in one, with and without a Hessian, and what its functions do wrong. */
#include "check.h"

enum { COUNT = 3 * CUBE_POINTS };

/* Saint Venant-Kirchhoff with lam = 0: mu |E|^2, E = (F^T F - 1)/2. */
typedef struct own {
    double mu;
    int calls[3], fails; /* fails: the stress of an element is no number from then on */
} own;

static void strain(const double *F, double E[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            E[3 * i + j] = i == j ? -0.5 : 0.0;
            for (int k = 0; k < 3; k++) E[3 * i + j] += 0.5 * F[3 * k + i] * F[3 * k + j];
        }
}

static pdgpu_status energy(void *user, int n, const int *elements, const double *F, double *out) {
    own *self = user;
    (void)elements;
    self->calls[0]++;
    for (int e = 0; e < n; e++) {
        double E[9];
        strain(F + 9 * e, E);
        out[e] = 0.0;
        for (int i = 0; i < 9; i++) out[e] += self->mu * E[i] * E[i];
    }
    return PDGPU_OK;
}

static pdgpu_status stress(void *user, int n, const int *elements, const double *F, double *out) {
    own *self = user;
    self->calls[1]++;
    for (int e = 0; e < n; e++) {
        double E[9];
        strain(F + 9 * e, E);
        for (int a = 0; a < 3; a++)
            for (int j = 0; j < 3; j++) {
                out[9 * e + 3 * a + j] = 0.0;
                for (int i = 0; i < 3; i++) out[9 * e + 3 * a + j] += 2.0 * self->mu * F[9 * e + 3 * a + i] * E[3 * i + j];
            }
        if (self->fails && elements[e] == 5) out[9 * e + 4] = (double)NAN;
    }
    return PDGPU_OK;
}

static pdgpu_status hessian(void *user, int n, const int *elements, const double *F, double *out) {
    own *self = user;
    (void)elements;
    self->calls[2]++;
    for (int e = 0; e < n; e++) {
        const double *f = F + 9 * e;
        double E[9];
        strain(f, E);
        for (int a = 0; a < 3; a++)
            for (int i = 0; i < 3; i++)
                for (int b = 0; b < 3; b++)
                    for (int j = 0; j < 3; j++) {
                        double sum = a == b ? 2.0 * E[3 * i + j] : 0.0;
                        sum += f[3 * a + j] * f[3 * b + i];
                        for (int k = 0; k < 3 && i == j; k++) sum += f[3 * a + k] * f[3 * b + k];
                        out[81 * e + 9 * (3 * a + i) + 3 * b + j] = self->mu * sum;
                    }
    }
    return PDGPU_OK;
}

static pdgpu_status refuses(void *user, int n, const int *elements, const double *F, double *out) {
    (void)user, (void)n, (void)elements, (void)F, (void)out;
    return PDGPU_ERROR_UNSUPPORTED;
}

/* A cube that hangs from one side, of the functions, or where these are NULL of the built-in material. */
static pdgpu_scene *hanging_cube(const pdgpu_material_functions *functions, double mu) {
    const double constants[2] = {mu, 0.0};
    int held[9];
    pdgpu_scene *scene = functions ? cube_scene_of(PDGPU_MATERIAL_COUNT, NULL, 0.01) : cube_scene_of(PDGPU_STVK, constants, 0.01);
    if (functions) OK(pdgpu_scene_add_material_functions(scene, 0, functions, &error));
    for (int i = 0; i < 9; i++) held[i] = i;
    OK(pdgpu_scene_pin(scene, 0, held, 9, &error));
    return scene;
}

void test_materials(void) {
    static const char *const solvers[] = {"Newton", "QuasiNewton", "VertexBlockDescent", "GradientDescent"};
    for (int s = 0; s < 4; s++)
        for (int analytic = 0; analytic < 2; analytic++) {
            own self = {2e4, {0, 0, 0}, 0};
            const pdgpu_material_functions functions = {&self, energy, stress, analytic ? hessian : NULL};
            pdgpu_simulation *simulations[2] = {simulate(hanging_cube(&functions, 2e4), solver_of(solvers[s], 20, 0), 0.02, 1),
                                                simulate(hanging_cube(NULL, 2e4), solver_of(solvers[s], 20, 0), 0.02, 1)};
            pdgpu_real x[2][COUNT];
            pdgpu_energies energies[2];
            for (int i = 0; i < 2; i++) {
                for (int k = 0; k < 3; k++) OK(pdgpu_simulation_step(simulations[i], NULL, NULL, NULL, &error));
                OK(pdgpu_simulation_get_state(simulations[i], x[i], NULL, &error));
                OK(pdgpu_simulation_energies(simulations[i], &energies[i], &error));
                pdgpu_simulation_destroy(simulations[i]);
            }
            // sweeps clamp blocks of compressed elements each in its way
            const double tolerance = sizeof(pdgpu_real) == 4 ? 1e-4 : s < 2 ? 1e-9 : 1e-6;
            CHECK(self.calls[0] > 0 && self.calls[1] > 3 && (self.calls[2] > 0) == analytic);
            for (int i = 0; i < COUNT; i++) CHECK_NEAR(x[0][i], x[1][i], tolerance);
            CHECK_NEAR(energies[0].elastic, energies[1].elastic, 1e3 * tolerance);
        }
}

void test_materials_that_fail(void) {
    own self = {2e4, {0, 0, 0}, 0};
    const pdgpu_material_functions right = {&self, energy, stress, NULL}, none = {&self, energy, NULL, NULL},
                                   refusing = {&self, energy, refuses, NULL};
    pdgpu_error error;
    pdgpu_real before[COUNT], after[COUNT];
    pdgpu_scene *scene = hanging_cube(&right, 2e4);
    CHECK(pdgpu_scene_add_material_functions(scene, 0, &right, &error) == PDGPU_ERROR_VALUE && strstr(error.text, "has some already"));
    CHECK(pdgpu_scene_add_material_functions(scene, 7, &right, &error) == PDGPU_ERROR_VALUE);
    CHECK(pdgpu_scene_add_material_functions(NULL, 0, &right, &error) == PDGPU_ERROR_VALUE);
    pdgpu_scene_destroy(scene);
    scene = cube_scene_of(PDGPU_MATERIAL_COUNT, NULL, 0.0);
    CHECK(pdgpu_scene_add_material_functions(scene, 0, NULL, &error) == PDGPU_ERROR_VALUE && strstr(error.text, "functions"));
    CHECK(pdgpu_scene_add_material_functions(scene, 0, &none, &error) == PDGPU_ERROR_VALUE && strstr(error.text, "stress is NULL"));
    CHECK(pdgpu_scene_add_material_functions(scene, 0, &refusing, &error) == PDGPU_ERROR_UNSUPPORTED &&
          strstr(error.text, "stress failed"));
    pdgpu_scene_destroy(scene);

    pdgpu_solver *solver = solver_of("XPBD", 5, 0);
    pdgpu_simulation *simulation;
    scene = hanging_cube(&right, 2e4);
    CHECK(pdgpu_simulation_create(&simulation, scene, solver, 0.02, 0, 1, &error) == PDGPU_ERROR_TYPE && strstr(error.text, "XPBD"));
    pdgpu_solver_destroy(solver);
    solver = solver_of("VertexBlockDescent", 5, 0);
    OK(pdgpu_solver_set(solver, "line_search", 1.0, &error));
    OK(pdgpu_simulation_create(&simulation, scene, solver, 0.02, 0, 1, &error));
    CHECK(pdgpu_simulation_prepare(simulation, &error) == PDGPU_ERROR_TYPE && strstr(error.text, "line_search"));
    pdgpu_simulation_destroy(simulation);
    pdgpu_solver_destroy(solver);
    solver = solver_of("VertexBlockDescent", 5, 0);
    OK(pdgpu_solver_set(solver, "hessian", 3.0, &error));
    OK(pdgpu_simulation_create(&simulation, scene, solver, 0.02, 0, 1, &error));
    CHECK(pdgpu_simulation_prepare(simulation, &error) == PDGPU_ERROR_VALUE && strstr(error.text, "hessian: adaptive (3)"));
    pdgpu_simulation_destroy(simulation);
    CHECK(pdgpu_solver_set(solver, "hessian", 5.0, &error) == PDGPU_ERROR_VALUE && strstr(error.text, "between 0 and 4"));
    OK(pdgpu_solver_set(solver, "hessian", 2.0, &error));
    OK(pdgpu_simulation_create(&simulation, scene, solver, 0.02, 0, 1, &error));
    OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
    pdgpu_simulation_destroy(simulation);
    pdgpu_solver_destroy(solver);

    simulation = simulate(scene, solver_of("Newton", 5, 0), 0.02, 1);
    OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
    OK(pdgpu_simulation_get_state(simulation, before, NULL, &error));
    self.fails = 1;
    CHECK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error) == PDGPU_ERROR_NOT_FINITE);
    CHECK(strstr(error.text, "stress is") && strstr(error.text, "at element 5, entry (1, 1)"));
    OK(pdgpu_simulation_get_state(simulation, after, NULL, &error));
    CHECK(memcmp(before, after, sizeof before) == 0);
    pdgpu_simulation_destroy(simulation);
}
