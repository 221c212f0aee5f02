/* Solvers: one answer, records, and the same bits for any number of threads. */
#include "check.h"

static const char *const SOLVERS[] = {"ProjectiveDynamics", "Newton",          "NonlinearCG", "PBD",  "VertexBlockDescent",
                                      "BlockJacobi",        "GradientDescent", "QuasiNewton", "XPBD", "ADMM"};
enum { SOLVER_COUNT = sizeof SOLVERS / sizeof SOLVERS[0] };

/* A cube that hangs from one side. */
static pdgpu_scene *hanging_cube(void) {
    static const double mu = 2e4;
    int held[9];
    pdgpu_scene *scene = cube_scene_of(PDGPU_ARAP, &mu, 0.0);
    for (int i = 0; i < 9; i++) held[i] = i;
    OK(pdgpu_scene_pin(scene, 0, held, 9, &error));
    return scene;
}

static void run(pdgpu_simulation *simulation, int steps, pdgpu_real *x) {
    for (int k = 0; k < steps; k++) OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
    OK(pdgpu_simulation_get_state(simulation, x, NULL, &error));
    pdgpu_simulation_destroy(simulation);
}

/* Projective Dynamics and Newton's method minimise the same potential. */
void test_one_answer(void) {
    pdgpu_real x[3 * CUBE_POINTS], y[3 * CUBE_POINTS];
    run(simulate(hanging_cube(), solver_of("ProjectiveDynamics", 2000, 1e-11), 0.02, 1), 5, x);
    run(simulate(hanging_cube(), solver_of("Newton", 50, 1e-12), 0.02, 1), 5, y);
    for (int i = 0; i < 3 * CUBE_POINTS; i++) CHECK_NEAR(x[i], y[i], 1e-9);
}

/* The combined iteration has the same answer, after less than half of the iterations. */
void test_anderson(void) {
    static const char *const names[] = {"ProjectiveDynamics", "VertexBlockDescent", "ADMM"};
    pdgpu_real x[3 * CUBE_POINTS], y[3 * CUBE_POINTS];
    for (int s = 0; s < 3; s++) {
        pdgpu_solver *solver = solver_of(names[s], 80, 0);
        OK(pdgpu_solver_set(solver, "anderson.window", 5, &error));
        run(simulate(hanging_cube(), solver, 0.02, 1), 1, x);
        run(simulate(hanging_cube(), solver_of("Newton", 50, 1e-12), 0.02, 1), 1, y);
        for (int i = 0; i < 3 * CUBE_POINTS; i++) CHECK_NEAR(x[i], y[i], sizeof(pdgpu_real) == 4 ? 1e-5 : 1e-9);
    }
}

static void keep_ends(void *user, const pdgpu_row *row) {
    double *ends = user;
    if (!row->iteration) ends[0] = row->incremental_potential;
    ends[1] = row->incremental_potential;
}

/* Every solver steps, and those that minimise the potential lower it; position-based ones need not. */
void test_every_solver(void) {
    for (int s = 0; s < SOLVER_COUNT; s++) {
        pdgpu_real x[3 * CUBE_POINTS];
        double ends[2] = {0.0, 0.0};
        const pdgpu_watch watch = {ends, keep_ends, NULL};
        pdgpu_simulation *simulation = simulate(hanging_cube(), solver_of(SOLVERS[s], 40, 0), 0.01, 1);
        OK(pdgpu_simulation_step(simulation, NULL, &watch, NULL, &error));
        int position_based = strstr(SOLVERS[s], "PBD") != NULL;
        if (!position_based && !(ends[1] < ends[0])) FAIL("%s: G went from %.17g to %.17g J", SOLVERS[s], ends[0], ends[1]);
        run(simulation, 1, x);
        CHECK(x[3 * 26 + 1] < (pdgpu_real)0.2 && x[3 * 26 + 1] > (pdgpu_real)0.15);
    }
}

/* One thread and two give the same bits, with and without contact. */
void test_threads(void) {
    static const char *const solvers[] = {"Newton", "VertexBlockDescent"};
    static const double ground[3] = {0.0, 0.0, 0.0}, up[3] = {0.0, 1.0, 0.0};
    static const pdgpu_barrier barrier = {.distance = 0.01, .stiffness = 1e6};
    for (int s = 0; s < 2; s++) {
        pdgpu_real x[2][3 * CUBE_POINTS];
        for (int threads = 1; threads <= 2; threads++) {
            pdgpu_scene *scene = cube_scene(0.005);
            OK(pdgpu_scene_add_plane(scene, ground, up, NULL, &error));
            OK(pdgpu_scene_set_barrier(scene, &barrier, &error));
            run(simulate(scene, solver_of(solvers[s], 20, 0), 0.01, threads), 5, x[threads - 1]);
        }
        CHECK(memcmp(x[0], x[1], sizeof x[0]) == 0);
    }
}

typedef struct rows {
    int n;
    pdgpu_row rows[64];
} rows;

static void keep_row(void *user, const pdgpu_row *row) {
    rows *kept = user;
    CHECK(row->iteration == kept->n && kept->n < 64);
    kept->rows[kept->n++] = *row;
}

/* The record has the first guess and every iteration, and ends within the tolerance. */
void test_convergence_record(void) {
    static rows kept;
    const pdgpu_watch watch = {&kept, keep_row, NULL};
    pdgpu_result result;
    pdgpu_simulation *simulation = simulate(hanging_cube(), solver_of("Newton", 50, 1e-9), 0.02, 1);
    OK(pdgpu_simulation_step(simulation, NULL, &watch, &result, &error));
    CHECK(result.stop == PDGPU_CONVERGED && kept.n == result.iterations + 1);
    CHECK(kept.rows[kept.n - 1].gradient_norm <= 1e-9 * kept.rows[0].gradient_norm || result.at_rounding);
    CHECK(kept.rows[kept.n - 1].incremental_potential < kept.rows[0].incremental_potential);
    CHECK(kept.rows[0].active_contacts == 0 && kept.rows[0].smallest_distance == (double)INFINITY);
    pdgpu_simulation_destroy(simulation);

    simulation = simulate(hanging_cube(), solver_of("Newton", 1, 0), 0.02, 1);
    OK(pdgpu_simulation_step(simulation, NULL, NULL, &result, &error));
    CHECK(result.stop == PDGPU_ITERATION_CAP && result.iterations == 1);
    pdgpu_simulation_destroy(simulation);
}
