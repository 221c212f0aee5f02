/* A neo-Hookean beam, held at one end, bends onto a plane under its weight. Newton's method and a barrier.
 * It prints energies and the lowest vertex of each step, and the convergence record of the last step. */
#include <pdgpu.h>

#include <stdio.h>
#include <stdlib.h>

enum { NX = 8, NY = 2, NZ = 2, POINTS = (NX + 1) * (NY + 1) * (NZ + 1), TETS = 6 * NX * NY * NZ, STEPS = 30 };

static int index_of(int i, int j, int k) { return (i * (NY + 1) + j) * (NZ + 1) + k; }

/* A grid of cubes of 5 cm, each divided into six tets around a diagonal, with its lowest vertices 10 cm above the ground. */
static void make_beam(double points[][3], int tets[][4]) {
    static const int orders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    int n = 0;
    for (int i = 0; i <= NX; i++)
        for (int j = 0; j <= NY; j++)
            for (int k = 0; k <= NZ; k++) {
                double *point = points[index_of(i, j, k)];
                point[0] = 0.05 * i, point[1] = 0.1 + 0.05 * j, point[2] = 0.05 * k;
                for (int order = 0; order < 6 && i < NX && j < NY && k < NZ; order++, n++) {
                    int corner[3] = {i, j, k}, path[4] = {index_of(i, j, k), 0, 0, 0};
                    for (int s = 0; s < 3; s++) {
                        corner[orders[order][s]]++;
                        path[s + 1] = index_of(corner[0], corner[1], corner[2]);
                    }
                    int odd = order >= 3; // swapped, so that the volume is positive
                    tets[n][0] = path[0], tets[n][1] = path[1], tets[n][2] = path[odd ? 3 : 2], tets[n][3] = path[odd ? 2 : 3];
                }
            }
}

static void print_row(void *user, const pdgpu_row *row) {
    if (*(const int *)user == STEPS)
        printf("iteration %2d  potential %.10e J  gradient %.3e N  pairs %d\n", row->iteration, row->incremental_potential,
               row->gradient_norm, row->active_contacts);
}

static void check(pdgpu_status status, const pdgpu_error *error) {
    if (!status) return;
    fprintf(stderr, "%s: %s\n", pdgpu_status_name(status), error->text);
    exit(1);
}

int main(void) {
    static double points[POINTS][3];
    static int tets[TETS][4], held[(NY + 1) * (NZ + 1)];
    static pdgpu_real x[3 * POINTS];
    const double gravity[3] = {0.0, -9.81, 0.0}, moduli[2] = {2e4, 1e5}, ground[3] = {0.0, 0.0, 0.0}, up[3] = {0.0, 1.0, 0.0};
    const pdgpu_barrier barrier = {.distance = 0.01, .stiffness = 1e6};
    int body, step = 0;
    pdgpu_watch watch = {.user = &step, .record = print_row};
    pdgpu_error error;
    pdgpu_scene *scene;
    pdgpu_solver *solver;
    pdgpu_simulation *simulation;

    make_beam(points, tets);
    for (int i = 0; i < (NY + 1) * (NZ + 1); i++) held[i] = i; // the end at x = 0
    check(pdgpu_scene_create(&scene, gravity, &error), &error);
    check(pdgpu_scene_add_body(scene, PDGPU_SOLID, points[0], POINTS, tets[0], TETS, 1000.0, &body, &error), &error);
    check(pdgpu_scene_add_material(scene, body, PDGPU_NEO_HOOKEAN, moduli, 1, &error), &error);
    check(pdgpu_scene_pin(scene, body, held, (NY + 1) * (NZ + 1), &error), &error);
    check(pdgpu_scene_add_plane(scene, ground, up, NULL, &error), &error);
    check(pdgpu_scene_set_barrier(scene, &barrier, &error), &error);
    check(pdgpu_solver_create(&solver, "Newton", &error), &error);
    check(pdgpu_solver_set(solver, "iterations", 50, &error), &error);
    check(pdgpu_solver_set(solver, "tolerance", 1e-8, &error), &error);
    check(pdgpu_simulation_create(&simulation, scene, solver, 0.01, 0, 0, &error), &error);
    pdgpu_scene_destroy(scene);
    pdgpu_solver_destroy(solver);

    for (step = 1; step <= STEPS; step++) {
        pdgpu_result result;
        pdgpu_energies energies;
        double lowest = 1.0;
        check(pdgpu_simulation_step(simulation, NULL, &watch, &result, &error), &error);
        check(pdgpu_simulation_energies(simulation, &energies, &error), &error);
        check(pdgpu_simulation_get_state(simulation, x, NULL, &error), &error);
        for (int i = 0; i < POINTS; i++) lowest = x[3 * i + 1] < lowest ? (double)x[3 * i + 1] : lowest;
        printf("step %2d  iterations %2d  energy %.10e J  elastic %.10e J  lowest %.10e m\n", step, result.iterations, energies.total,
               energies.elastic, lowest);
    }
    pdgpu_simulation_destroy(simulation);
    return 0;
}
