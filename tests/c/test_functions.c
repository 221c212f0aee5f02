/* A solver of the caller's own: the iterates of a built-in one, and what its functions do wrong. */
#include "check.h"

enum { COUNT = 3 * CUBE_POINTS };

typedef struct memory {
    int begins, iterations;
    pdgpu_status fails; /* in iteration 2 */
} memory;

static pdgpu_status begin(void *user, pdgpu_solved *step) {
    memory *kept = user;
    kept->begins++;
    return pdgpu_solved_iteration(step) == 0 ? PDGPU_OK : PDGPU_ERROR_VALUE;
}

/* Projective Dynamics. */
static pdgpu_status iterate(void *user, pdgpu_solved *step) {
    memory *kept = user;
    pdgpu_real x[COUNT], u[COUNT];
    double gone;
    kept->iterations++;
    if (pdgpu_solved_iteration(step) == 2 && kept->fails) return kept->fails;
    OK(pdgpu_solved_positions(step, x, &error));
    OK(pdgpu_solved_local_step(step, NULL, u, &error));
    OK(pdgpu_solved_global_solve(step, u, u, &error));
    for (int i = 0; i < COUNT; i++) u[i] -= x[i];
    OK(pdgpu_solved_move(step, u, 1.0, &gone, &error));
    CHECK(gone == 1.0);
    return PDGPU_OK;
}

static pdgpu_scene *hanging_cube(void) {
    static const double mu = 2e4;
    int held[9];
    pdgpu_scene *scene = cube_scene_of(PDGPU_ARAP, &mu, 0.0);
    for (int i = 0; i < 9; i++) held[i] = i;
    OK(pdgpu_scene_pin(scene, 0, held, 9, &error));
    return scene;
}

static pdgpu_simulation *own(pdgpu_scene *scene, memory *kept, pdgpu_status (*function)(void *, pdgpu_solved *)) {
    const pdgpu_functions functions = {kept, begin, function};
    pdgpu_solver *solver = solver_of("CustomSolver", 20, 0);
    OK(pdgpu_solver_set_functions(solver, &functions, &error));
    return simulate(scene, solver, 0.02, 1);
}

void test_functions(void) {
    memory kept = {0, 0, PDGPU_OK};
    pdgpu_real x[2][COUNT];
    pdgpu_simulation *simulations[2] = {own(hanging_cube(), &kept, iterate),
                                        simulate(hanging_cube(), solver_of("ProjectiveDynamics", 20, 0), 0.02, 1)};
    for (int s = 0; s < 2; s++) {
        for (int k = 0; k < 3; k++) OK(pdgpu_simulation_step(simulations[s], NULL, NULL, NULL, &error));
        OK(pdgpu_simulation_get_state(simulations[s], x[s], NULL, &error));
        pdgpu_simulation_destroy(simulations[s]);
    }
    CHECK(kept.begins == 3 && kept.iterations == 60);
    for (int i = 0; i < COUNT; i++) CHECK_NEAR(x[0][i], x[1][i], sizeof(pdgpu_real) == 8 ? 1e-12 : 1e-4);
}

/* Every question, against the others. */
static pdgpu_status ask(void *user, pdgpu_solved *step) {
    pdgpu_real x[COUNT], y[COUNT], g[COUNT], d[COUNT], q[COUNT], v[COUNT];
    const int *row_start, *columns;
    const pdgpu_real *blocks;
    double here, there, part, scale = 0.0;
    pdgpu_error error;
    (void)user;
    OK(pdgpu_solved_start(step, x, &error));
    OK(pdgpu_solved_inertial_target(step, y, &error));
    OK(pdgpu_solved_positions(step, x, &error));
    OK(pdgpu_solved_gradient(step, NULL, g, &error));
    OK(pdgpu_solved_diagonal(step, NULL, 0, d, &error));
    OK(pdgpu_solved_potential(step, NULL, &here, &error));
    OK(pdgpu_solved_potential(step, x, &there, &error));
    CHECK_NEAR(there, here, 1e-5 * fabs(here) + 1e-6);
    for (int i = 0; i < COUNT; i++) v[i] = (pdgpu_real)(i % 5) - 2;
    OK(pdgpu_solved_hessian_product(step, v, NULL, 1, q, &error));
    OK(pdgpu_solved_hessian(step, NULL, 1, &row_start, &columns, &blocks, &error));
    for (int i = 9; i < CUBE_POINTS; i++)
        for (int c = 0; c < 3; c++) {
            double sum = 0.0;
            for (int s = row_start[i]; s < row_start[i + 1]; s++)
                for (int e = 0; e < 3 && columns[s] >= 9; e++) sum += (double)blocks[9 * s + 3 * c + e] * (double)v[3 * columns[s] + e];
            scale = fmax(scale, fabs(sum));
            CHECK_NEAR(q[3 * i + c], sum, (sizeof(pdgpu_real) == 8 ? 1e-10 : 1e-3) * scale + 1e-3 * (sizeof(pdgpu_real) == 4));
        }
    for (int i = 0; i < COUNT; i++) d[i] = -g[i] / d[i];
    OK(pdgpu_solved_limit(step, d, &part, &error));
    CHECK(part == 1.0);
    OK(pdgpu_solved_line_search(step, d, &part, &error));
    CHECK(part > 0.0 && part <= 1.0);
    OK(pdgpu_solved_move(step, d, part, NULL, &error));
    OK(pdgpu_solved_potential(step, NULL, &there, &error));
    CHECK(there < here);
    CHECK(pdgpu_solved_line_search(step, g, &part, &error) == PDGPU_ERROR_VALUE && strstr(error.text, "not a descent direction"));
    CHECK(pdgpu_solved_move(step, g, -1.0, NULL, &error) == PDGPU_ERROR_VALUE && strstr(error.text, "fraction"));
    CHECK(pdgpu_solved_move(step, NULL, 1.0, NULL, &error) == PDGPU_ERROR_VALUE && strstr(error.text, "d: expected a pointer"));
    g[4] = (pdgpu_real)NAN;
    CHECK(pdgpu_solved_gradient(step, g, q, &error) == PDGPU_ERROR_NOT_FINITE && strstr(error.text, "x: "));
    return PDGPU_OK;
}

void test_questions_of_a_function(void) {
    memory kept = {0, 0, PDGPU_OK};
    pdgpu_simulation *simulation = own(hanging_cube(), &kept, ask);
    OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
    pdgpu_simulation_destroy(simulation);
}

void test_functions_that_fail(void) {
    memory kept = {0, 0, PDGPU_ERROR_UNSUPPORTED};
    pdgpu_real before[COUNT], after[COUNT];
    const pdgpu_functions none = {NULL, NULL, NULL}, right = {&kept, NULL, iterate};
    pdgpu_solver *solver = solver_of("CustomSolver", 20, 0), *newton = solver_of("Newton", 20, 0);
    pdgpu_scene *scene = hanging_cube();
    pdgpu_simulation *simulation;
    pdgpu_error error;
    CHECK(pdgpu_solver_set_functions(solver, &none, &error) == PDGPU_ERROR_VALUE && strstr(error.text, "iterate is NULL"));
    CHECK(pdgpu_solver_set_functions(newton, &right, &error) == PDGPU_ERROR_TYPE && strstr(error.text, "Newton calls none"));
    CHECK(pdgpu_simulation_create(&simulation, scene, solver, 0.02, 0, 1, &error) == PDGPU_ERROR_VALUE);
    CHECK(strstr(error.text, "CustomSolver has no functions"));
    pdgpu_solver_destroy(newton);
    pdgpu_solver_destroy(solver);
    simulation = own(scene, &kept, iterate);
    OK(pdgpu_simulation_get_state(simulation, before, NULL, &error));
    CHECK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error) == PDGPU_ERROR_UNSUPPORTED);
    CHECK(strstr(error.text, "iterate: returned PDGPU_ERROR_UNSUPPORTED at iteration 2"));
    OK(pdgpu_simulation_get_state(simulation, after, NULL, &error));
    CHECK(memcmp(before, after, sizeof before) == 0);
    kept.fails = PDGPU_OK;
    OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
    pdgpu_simulation_destroy(simulation);
}
