/* Checks that a run gains no more energy than load and pins supply; energy.c has the bound. */
#ifndef PD_DYNAMICS_DIVERGENCE_ENERGY_H
#define PD_DYNAMICS_DIVERGENCE_ENERGY_H

#include "dynamics/step/frame.h"

typedef struct pd_energy_excess {
    int vertex;             /* with the largest share of the kinetic energy; -1: no excess */
    double kinetic, energy; /* J: measured, and the largest energy that start, load and pins explain */
} pd_energy_excess;

/* Stores the energy of a new state. Synchronises once. */
pd_status pd_energy_start(pd_simulation *self);

/* Stores a new load, H [n,3] m/s^2. */
void pd_energy_set_load(pd_simulation *self, const real *external_acceleration);

/* *elastic = the energy of the elements at x B [n,3], J. Synchronises once. */
pd_status pd_energy_of_elements(const pd_simulation *self, const real *x, double *elastic);
/* problem->trial = the velocities at the end of the step, m/s, before its velocity is updated: the state keeps those of the start until
 * the step has passed. Uses trial_offset. */
pd_status pd_energy_end_velocity(const pd_simulation *self);

/* A change of target shapes: their energy counts as supplied. Call the first before the change and the second after it: *elastic, J, 0
 * without a check. Both synchronise once. */
pd_status pd_energy_elastic(pd_simulation *self, double *elastic);
pd_status pd_energy_give(pd_simulation *self, double elastic_before);

/* At the end of a step, before the velocity is updated; targets as in pd_simulation_step. Synchronises in every eighth step, and in each
 * that moves pins. A step with an excess is not counted, so that a repetition gives the same result. */
pd_status pd_energy_step(pd_simulation *self, const real *targets, pd_energy_excess *excess);

#endif
