/* A solver as the C interface holds it. */
#ifndef PD_LIBRARY_SOLVER_OBJECT_H
#define PD_LIBRARY_SOLVER_OBJECT_H

#include "dynamics/step/simulation.h"
#include "include/pdgpu.h"

/* What a solver takes, and its defaults: those of the classes in python/pdgpu/solvers. */
typedef struct pd_solver_traits {
    const char *name;
    int iterations, initialization, lower_guess, line_search;
    int linear;       /* PD_LINEAR_... by default; -1: there is none */
    unsigned linears; /* bits 1 << PD_LINEAR_... that it takes */
    int whole;        /* the linear solver solves to the end, and not one iteration */
    int projective;   /* takes elements with a constraint set alone */
    int chebyshev, barrier, penalty;
} pd_solver_traits;

struct pdgpu_solver {
    const pd_solver_traits *traits;
    pd_settings settings;      /* without dt, method_settings and acceleration */
    void *method_settings;     /* as the options of settings.method describe */
    pdgpu_functions functions; /* of CustomSolver */
    pd_chebyshev outer;        /* enabled: the outer iteration is accelerated */
};

#endif
