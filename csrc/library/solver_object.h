/* The solver of the C interface. */
#ifndef PD_LIBRARY_SOLVER_OBJECT_H
#define PD_LIBRARY_SOLVER_OBJECT_H

#include "dynamics/step/simulation.h"
#include "include/pdgpu.h"

/* The valid options of a solver, and its defaults: those of the classes in python/pdgpu/solvers. */
typedef struct pd_solver_traits {
    const char *name;
    int iterations, initialization, lower_guess, line_search;
    int linear;       /* PD_LINEAR_... by default; -1: none */
    unsigned linears; /* valid solvers as bits 1 << PD_LINEAR_... */
    int whole;        /* the linear solver solves completely, not one iteration */
    int projective;   /* requires elements with a constraint set */
    int chebyshev, anderson, barrier, penalty;
} pd_solver_traits;

struct pdgpu_solver {
    const pd_solver_traits *traits;
    pd_settings settings;          /* without dt, method_settings and acceleration */
    void *method_settings;         /* as described by the options of settings.method */
    pdgpu_functions functions;     /* of CustomSolver */
    pd_chebyshev outer;            /* enabled: the outer iteration is accelerated */
    pd_anderson_settings anderson; /* window above 0: the same */
};

#endif
