/* Watches that a run gains no more energy than load and pins give it; see energy.c for the bound. */
#ifndef PD_DYNAMICS_DIVERGENCE_ENERGY_H
#define PD_DYNAMICS_DIVERGENCE_ENERGY_H

#include "dynamics/step/frame.h"

typedef struct pd_energy_excess {
    int vertex;             /* with the largest share of the kinetic energy; -1: all is well */
    double kinetic, energy; /* J: found, and at most to be explained by start, load and pins */
} pd_energy_excess;

/* The state has been set: the energy to start from. Waits once. */
pd_status pd_energy_start(pd_simulation *self);

/* The load has been set, H [n,3] m/s^2. */
void pd_energy_set_load(pd_simulation *self, const real *load);

/* *elastic = the energy of the elements at x B [n,3], J. Waits once. */
pd_status pd_energy_of_elements(const pd_simulation *self, const real *x, double *elastic);
/* problem->trial = the velocities at the end of the step, m/s, before its velocity is updated: the state keeps those of the start until the
 * step has passed. Uses trial_offset. */
pd_status pd_energy_end_velocity(const pd_simulation *self);

/* Elements seek other shapes than before: what they hold now counts as given. First asked before that, then told: *elastic, J, 0 without
 * a check. Both synchronise once. */
pd_status pd_energy_elastic(pd_simulation *self, double *elastic);
pd_status pd_energy_give(pd_simulation *self, double elastic_before);

/* At the end of a step, before the velocity is updated; targets as in pd_simulation_step. Waits in every eighth step, and in each that
 * moves pins. A step with an excess is not counted: who repeats it finds the same. */
pd_status pd_energy_step(pd_simulation *self, const real *targets, pd_energy_excess *excess);

#endif
