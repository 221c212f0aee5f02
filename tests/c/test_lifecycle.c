/* Steps that are cancelled or diverge, calls from within a step, and memory. */
#include "check.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

static int cancel_at_third(void *user) { return ++*(int *)user >= 3; }

/* A cancelled step leaves the state as it was, and the next step is that of a simulation that was never cancelled. */
void test_cancel(void) {
    int calls = 0;
    const pdgpu_watch watch = {&calls, NULL, cancel_at_third};
    pdgpu_real before[3 * CUBE_POINTS], after[3 * CUBE_POINTS], other[3 * CUBE_POINTS];
    pdgpu_simulation *simulation = simulate(cube_scene(0.0), solver_of("VertexBlockDescent", 50, 0), 0.01, 1);
    pdgpu_simulation *second = simulate(cube_scene(0.0), solver_of("VertexBlockDescent", 50, 0), 0.01, 1);
    OK(pdgpu_simulation_get_state(simulation, before, NULL, &error));
    REFUSED(pdgpu_simulation_step(simulation, NULL, &watch, NULL, &error), PDGPU_CANCELLED, "");
    OK(pdgpu_simulation_get_state(simulation, after, NULL, &error));
    CHECK(calls == 3 && memcmp(before, after, sizeof before) == 0);
    OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
    OK(pdgpu_simulation_step(second, NULL, NULL, NULL, &error));
    OK(pdgpu_simulation_get_state(simulation, after, NULL, &error));
    OK(pdgpu_simulation_get_state(second, other, NULL, &error));
    CHECK(memcmp(other, after, sizeof other) == 0);
    pdgpu_simulation_destroy(simulation);
    pdgpu_simulation_destroy(second);
}

/* Block Jacobi without a line search diverges on a squeezed cube: a status with iteration and vertex, and the state is kept. */
void test_divergence(void) {
    pdgpu_real x[3 * CUBE_POINTS], after[3 * CUBE_POINTS];
    pdgpu_error error;
    pdgpu_solver *solver = solver_of("BlockJacobi", 500, 0);
    OK(pdgpu_solver_set(solver, "line_search", 0, &error));
    OK(pdgpu_solver_set(solver, "chebyshev.rho", 0.9999, &error));
    pdgpu_simulation *simulation = simulate(cube_scene(0.0), solver, 1.0, 1);
    OK(pdgpu_simulation_get_state(simulation, x, NULL, &error));
    for (int i = 0; i < CUBE_POINTS; i++) x[3 * i] *= (pdgpu_real)0.3, x[3 * i + 1] *= (pdgpu_real)2;
    OK(pdgpu_simulation_set_state(simulation, x, NULL, &error));
    pdgpu_status status = pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error);
    if (status != PDGPU_DIVERGED) FAIL("expected PDGPU_DIVERGED, found %s", pdgpu_status_name(status));
    CHECK(error.iteration >= 1 && error.vertex >= 0 && error.vertex < CUBE_POINTS && error.text[0]);
    OK(pdgpu_simulation_get_state(simulation, after, NULL, &error));
    CHECK(memcmp(x, after, sizeof x) == 0);
    pdgpu_simulation_destroy(simulation);
}

static void call_back(void *user, const pdgpu_row *row) {
    pdgpu_real x[3 * CUBE_POINTS];
    (void)row;
    OK(pdgpu_simulation_get_state(user, x, NULL, &error));
    REFUSED(pdgpu_simulation_step(user, NULL, NULL, NULL, &error), PDGPU_ERROR_VALUE, "a step is running");
    REFUSED(pdgpu_simulation_set_state(user, x, NULL, &error), PDGPU_ERROR_VALUE, "a step is running");
}

/* A watch may read the state, and nothing else. */
void test_calls_within_a_step(void) {
    pdgpu_simulation *simulation = simulate(cube_scene(0.0), solver_of("Newton", 3, 0), 0.01, 1);
    const pdgpu_watch watch = {simulation, call_back, NULL};
    OK(pdgpu_simulation_step(simulation, NULL, &watch, NULL, &error));
    pdgpu_simulation_destroy(simulation);
}

/* Bytes that the program has allocated; 0 where that is not known: ctest sets the variable. The address sanitizer finds leaks by itself. */
static size_t in_use(void) {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
    return getenv("GLIBC_TUNABLES") ? mallinfo2().uordblks : 0;
#else
    return 0;
#endif
}

/* Scenes, solvers and simulations that are created and destroyed leave nothing behind, refused ones neither. */
void test_memory(void) {
    static const double ground[3] = {0.0, 0.0, 0.0}, up[3] = {0.0, 1.0, 0.0};
    static const pdgpu_barrier barrier = {.distance = 0.01, .stiffness = 1e6};
    size_t begun = 0;
    for (int round = 0; round < 30; round++) {
        pdgpu_simulation *refused;
        pdgpu_solver *projective = solver_of("ProjectiveDynamics", 5, 0);
        pdgpu_scene *scene = cube_scene(0.02);
        OK(pdgpu_scene_attach(scene, 0, (const int[]){0}, 1, up, 1.0, NULL, &error));
        OK(pdgpu_scene_add_plane(scene, ground, up, NULL, &error));
        OK(pdgpu_scene_set_barrier(scene, &barrier, &error));
        REFUSED(pdgpu_simulation_create(&refused, scene, projective, 0.01, 0, 1, &error), PDGPU_ERROR_TYPE, "neo_hookean_tet");
        pdgpu_solver_destroy(projective);
        pdgpu_simulation *simulation = simulate(scene, solver_of("Newton", 3, 0), 0.01, 1);
        OK(pdgpu_simulation_step(simulation, NULL, NULL, NULL, &error));
        pdgpu_simulation_destroy(simulation);
        if (round == 4) begun = in_use(); // what libraries keep is there
    }
    if (in_use() > begun + 1024) FAIL("%zu bytes were in use after 5 rounds, %zu after 30", begun, in_use());
}
