/* The simulation of the C interface. */
#ifndef PD_LIBRARY_SIMULATION_OBJECT_H
#define PD_LIBRARY_SIMULATION_OBJECT_H

#include "dynamics/callback.h"
#include "dynamics/step/simulation.h"
#include "library/scene_object.h"

/* An obstacle: its first prescribed point, its number of points, and the constant normal of a plane. */
typedef struct pd_prescribed_obstacle {
    pd_obstacle_shape shape;
    int first, n_points;
    double normal[3]; /* of a plane */
} pd_prescribed_obstacle;

struct pdgpu_simulation {
    pd_simulation *core;
    pd_arena arena; /* data that the core borrows, and the arrays below */
    int n_vertices, n_attachments, n_obstacles, n_prescribed;
    const double *masses;       /* [n_vertices] kg */
    const unsigned char *fixed; /* [n_vertices] */
    double gravity[3];
    real *vectors; /* [n_vertices,3] scratch */
    pd_prescribed_obstacle *obstacles;
    real *prescribed;          /* [n_driven,3] m: targets of prescribed points */
    int barrier;               /* contact is a barrier, */
    int start_is_new;          /* and the state has not been checked since its change */
    int busy;                  /* a step runs, and may call its watch */
    pdgpu_functions functions; /* of CustomSolver, */
    pd_callback callback;      /* and their calls from the core */
};

/* functions.c: connects the functions of the caller to the simulation. */
pd_status pd_functions_connect(pdgpu_simulation *self, const pdgpu_functions *functions, pd_error *error);

/* factors.c: the sparse factorisation of the library pdgpu_factors. */
struct pd_cholesky_functions;
PDGPU_API const struct pd_cholesky_functions *pdgpu_factors_cholesky(void);

/* state.c: the load by gravity and forces [n_vertices,3] N, or NULL. */
pd_status pd_simulation_load(pdgpu_simulation *self, const double *forces, pd_error *error);
/* Fails for NULL, and during a step of the same simulation. */
pd_status pd_simulation_enter(const pdgpu_simulation *self, pd_error *error);
/* n doubles, or values of the state, rounded to real. Errors: PD_ERROR_NOT_FINITE, also for a value that overflows in this precision. */
pd_status pd_round_all(real *out, const double *values, size_t n, const char *name, pd_error *error);
pd_status pd_need_finite_reals(const real *values, size_t n, const char *name, pd_error *error);

#endif
