/* Free fall of a particle in the precision of the file that includes this: the height after ten steps of 0.01 s, m. */
double FALL(void) {
    static const double gravity[3] = {0.0, -9.81, 0.0}, origin[3] = {0.0, 0.0, 0.0};
    pdgpu_scene *scene = NULL;
    pdgpu_solver *solver = NULL;
    pdgpu_simulation *simulation = NULL;
    pdgpu_real x[3] = {0, 0, 0};
    int failed = pdgpu_scene_create(&scene, gravity, NULL) ||
                 pdgpu_scene_add_body(scene, PDGPU_PARTICLES, origin, 1, NULL, 0, 1.0, NULL, NULL) ||
                 pdgpu_solver_create(&solver, "Newton", NULL) || pdgpu_simulation_create(&simulation, scene, solver, 0.01, 0, 1, NULL);
    for (int k = 0; k < 10 && !failed; k++) failed = pdgpu_simulation_step(simulation, NULL, NULL, NULL, NULL) != PDGPU_OK;
    if (!failed) failed = pdgpu_simulation_get_state(simulation, x, NULL, NULL) != PDGPU_OK;
    pdgpu_simulation_destroy(simulation);
    pdgpu_solver_destroy(solver);
    pdgpu_scene_destroy(scene);
    return failed ? 1.0 : (double)x[1];
}
