/* The state of a simulation of the C interface, its loads and targets, and queries of the next step. */
#include "library/simulation_object.h"

#include <math.h>
#include <string.h>

pd_status pd_simulation_enter(const pdgpu_simulation *self, pd_error *error) {
    if (!self) return pd_need(NULL, "simulation", error);
    return self->busy ? pd_fail(error, PD_ERROR_VALUE, "simulation: a step is running; call this function after it") : PD_OK;
}

/* The status of a core function, with its text. */
static pd_status keep_error(pdgpu_simulation *self, pd_status status, pd_error *error) {
    if (status) *error = *pd_simulation_error(self->core);
    return status;
}

pdgpu_status pdgpu_simulation_get_state(pdgpu_simulation *simulation, pdgpu_real *positions, pdgpu_real *velocities, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = pd_need(simulation, "simulation", &found);
    if (!status) status = keep_error(simulation, pd_simulation_get_state(simulation->core, positions, velocities, NULL), &found);
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_simulation_set_state(pdgpu_simulation *simulation, const pdgpu_real *positions, const pdgpu_real *velocities,
                                        pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    PD_TRY(pd_simulation_enter(simulation, &found));
    size_t count = 3 * (size_t)simulation->n_vertices;
    if (positions) PD_TRY(pd_need_finite_reals(positions, count, "positions", &found));
    if (velocities) PD_TRY(pd_need_finite_reals(velocities, count, "velocities", &found));
    PD_TRY(keep_error(simulation, pd_simulation_set_state(simulation->core, positions, velocities, NULL), &found));
    if (positions) simulation->start_is_new = simulation->barrier;
done:
    return pd_report(status, &found, error);
}

pd_status pd_simulation_load(pdgpu_simulation *self, const double *forces, pd_error *error) {
    pd_status status = PD_OK;
    for (int i = 0; i < self->n_vertices; i++)
        for (int c = 0; c < 3; c++) {
            double load = self->gravity[c] + (forces ? forces[3 * i + c] / self->masses[i] : 0.0);
            PD_TRY(pd_round_all(&self->vectors[3 * i + c], &load, 1, forces ? "forces" : "gravity", error));
        }
    status = keep_error(self, pd_simulation_set_load(self->core, self->vectors), error);
done:
    return status;
}

pdgpu_status pdgpu_simulation_set_forces(pdgpu_simulation *simulation, const double *forces, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    PD_TRY(pd_simulation_enter(simulation, &found));
    if (forces) PD_TRY(pd_need_finite(forces, 3 * (size_t)simulation->n_vertices, "forces", &found));
    PD_TRY(pd_simulation_load(simulation, forces, &found));
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_simulation_set_attachment_targets(pdgpu_simulation *simulation, int first, int n, const double *targets,
                                                     pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    PD_TRY(pd_simulation_enter(simulation, &found));
    if (first < 0 || n < 0 || first > simulation->n_attachments - n)
        PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "first: attachments %d to %d + %d are out of range for %d", first, first, n,
                       simulation->n_attachments));
    PD_TRY(pd_need_finite(targets, 3 * (size_t)n, "targets", &found));
    for (int done = 0; done < n;) { // in pieces of the size of the scratch
        int rows = n - done < simulation->n_vertices ? n - done : simulation->n_vertices;
        PD_TRY(pd_round_all(simulation->vectors, targets + 3 * done, 3 * (size_t)rows, "targets", &found));
        PD_TRY(keep_error(simulation, pd_simulation_set_attachments(simulation->core, first + done, rows, simulation->vectors), &found));
        done += rows;
    }
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_simulation_set_obstacle_targets(pdgpu_simulation *simulation, int obstacle, const double *targets, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    PD_TRY(pd_simulation_enter(simulation, &found));
    if (!simulation->n_prescribed) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "obstacle: the scene has no contact, so obstacles do not act"));
    if (obstacle < 0 || obstacle >= simulation->n_obstacles)
        PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "obstacle: %d is out of range for %d obstacles", obstacle, simulation->n_obstacles));
    const pd_prescribed_obstacle *moved = &simulation->obstacles[obstacle];
    size_t n = moved->shape == PD_OBSTACLE_PLANE ? 1 : (size_t)moved->n_points; // without the normal
    PD_TRY(pd_need_finite(targets, 3 * n, "targets", &found));
    PD_TRY(pd_round_all(simulation->prescribed + 3 * (size_t)moved->first, targets, 3 * n, "targets", &found));
    PD_TRY(keep_error(simulation,
                      pd_simulation_keep_error(simulation->core, pd_contact_set_prescribed(pd_simulation_contact(simulation->core), NULL,
                                                                                           simulation->prescribed)),
                      &found));
done:
    return pd_report(status, &found, error);
}

/* ---- diagnostics -------------------------------------------------------------------------------------------------------------------- */

/* The parts of G at x, or at the present positions. */
static pd_status energies_at(pdgpu_simulation *self, const real *x, int ahead, double *parts, pd_error *error) {
    pd_status status = pd_simulation_enter(self, error);
    if (!status && x) status = pd_need_finite_reals(x, 3 * (size_t)self->n_vertices, "x", error);
    if (!status) status = keep_error(self, pd_simulation_begin(self->core), error);
    return status ? status : keep_error(self, pd_simulation_energies(self->core, x, ahead, parts), error);
}

pdgpu_status pdgpu_simulation_energies(pdgpu_simulation *simulation, pdgpu_energies *energies, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    double parts[PD_ENERGY_COUNT];
    PD_TRY(pd_need(energies, "energies", &found));
    *energies = (pdgpu_energies){0};
    PD_TRY(energies_at(simulation, NULL, 0, parts, &found));
    for (int kind = 0; kind < PD_KIND_COUNT; kind++) energies->elastic += parts[kind];
    energies->contact = parts[PD_ENERGY_CONTACT];
    energies->friction = parts[PD_ENERGY_FRICTION];
    real *x = simulation->vectors;
    for (int velocities = 0; velocities < 2; velocities++) {
        PD_TRY(
            keep_error(simulation, pd_simulation_get_state(simulation->core, velocities ? NULL : x, velocities ? x : NULL, NULL), &found));
        for (int i = 0; i < simulation->n_vertices; i++)
            for (int c = 0; c < 3; c++) {
                double value = (double)x[3 * i + c];
                if (velocities)
                    energies->kinetic += 0.5 * simulation->masses[i] * value * value;
                else
                    energies->gravity -= simulation->masses[i] * simulation->gravity[c] * value;
            }
    }
    energies->total = energies->kinetic + energies->gravity + energies->elastic + energies->contact;
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_simulation_incremental_potential(pdgpu_simulation *simulation, const pdgpu_real *x, double *potential,
                                                    pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    double parts[PD_ENERGY_COUNT];
    PD_TRY(pd_need(potential, "potential", &found));
    PD_TRY(energies_at(simulation, x, 1, parts, &found));
    *potential = 0.0;
    for (int part = 0; part < PD_ENERGY_COUNT; part++) *potential += parts[part];
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_simulation_gradient(pdgpu_simulation *simulation, const pdgpu_real *x, pdgpu_real *gradient, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    PD_TRY(pd_need(gradient, "gradient", &found));
    PD_TRY(pd_simulation_enter(simulation, &found));
    if (x) PD_TRY(pd_need_finite_reals(x, 3 * (size_t)simulation->n_vertices, "x", &found));
    PD_TRY(keep_error(simulation, pd_simulation_begin(simulation->core), &found));
    PD_TRY(keep_error(simulation, pd_simulation_gradient(simulation->core, x, gradient), &found));
done:
    return pd_report(status, &found, error);
}
