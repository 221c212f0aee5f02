/* The interface of a solver to the common frame (frame.c): a table of functions over its own private memory. */
#ifndef PD_DYNAMICS_METHOD_H
#define PD_DYNAMICS_METHOD_H

#include "base/option.h"
#include "dynamics/problem/potential.h"
#include "linear/linear_solver.h"

/* The data of an iteration. Vectors B [n,3], at constant addresses for the life of the simulation. */
typedef struct pd_iterate {
    real *x, *offset;            /* the start of the iteration, and x - y */
    real *correction;            /* the frame subtracts it from x */
    real *gradient;              /* dG/dx at x, by methods that compute it; scratch for the others */
    double potential, magnitude; /* G at x and the sum of the magnitudes of its parts, J, while `evaluated` */
    int evaluated;               /* `gradient` and these two are those at x, and G is the same. Only for a method that takes_gradient */
    real *increment;             /* the move of the previous iteration; the frame extrapolates by it */
    double limit;                /* the contact-free fraction of its correction that a method has applied itself; 0: not computed */
    double fraction;             /* the fraction of its correction that a line search has accepted */
    int cut;                     /* the step limiter of contact has shortened the correction of a line search */
    int beyond;                  /* a method with keeps_bounds exceeded a displacement bound: the step limiter must check the whole path */
    int number;                  /* of the iteration in the step being solved, from 0 */
    int drives;          /* the number of moves of prescribed points in the step. Each changes G, and earlier iterates are invalid */
    int detections;      /* the number of detections of penalty pairs in the step. Each changes G, which is defined at all positions */
    int displaced;       /* 0 before a correction; 1: the correction starts from another point than x */
    int replaced;        /* x differs from the result of the previous move: contact shortened that move, or a method or a response
                          * replaced x. The accelerator restarts. An iteration ends with 0 */
    const pd_move *move; /* the loop that follows the correction; NULL: the frame moves, or a method that `moves` has moved already */
    int first, last;     /* of consecutive iterations between two reads of x: the first starts from x, the last writes it */
    int stalled;         /* 0 before a correction; 1: no direction lowers the potential */
    double setup;        /* s, 0 before a correction: the time of work that is done once. It does not count as time of the iteration */
    const struct pd_callback *callback; /* of the step being solved (callback.h), for the method that calls it; NULL: none */
} pd_iterate;

/* Computes iterate->gradient at the start of an iteration, unless the frame has done so. Counts a gradient in both cases. */
static inline pd_status pd_iterate_gradient(const pd_problem *problem, const pd_iterate *iterate) {
    pd_tally *tally = pd_context_tally(problem->context);
    if (!iterate->evaluated) return pd_problem_gradient(problem, iterate->x, iterate->offset, iterate->gradient);
    tally->gradients++;
    return PD_OK;
}

/* The same for iterate->potential and magnitude. */
static inline pd_status pd_iterate_potential(const pd_problem *problem, pd_iterate *iterate) {
    pd_tally *tally = pd_context_tally(problem->context);
    if (!iterate->evaluated) return pd_problem_potential(problem, iterate->x, iterate->offset, &iterate->potential, &iterate->magnitude);
    tally->potentials++;
    return PD_OK;
}

/* The move of an iteration: pd_advance by weights [2] of correction and increment. With a report it writes the scalars of the problem. */
static inline pd_status pd_iterate_advance(const pd_problem *problem, const pd_iterate *iterate, const pd_step_data *data,
                                           const double *weights, int report) {
    return pd_advance(problem->context, problem->model, data, weights[0], iterate->correction, weights[1], iterate->increment, iterate->x,
                      iterate->offset, report ? problem->scalars : NULL);
}

/* Numbers that an iteration of a method changes next to x, such as multipliers: both are the state of its fixed-point map. */
typedef struct pd_carried {
    real *values; /* B [n,width], zero at the start of a step */
    int n, width;
    const real *row_weights; /* B [n] of a norm in which the iteration contracts, times `scale`; NULL: 1 */
    double scale;
} pd_carried;

/* The kinds of contact that not every method can treat: a simulation is refused where its method does not name its kind in `takes`. */
enum {
    PD_TAKES_PROJECTIVE = 1, /* contact by projections, in the right-hand side of a global step */
    PD_TAKES_PROXIES = 2     /* proxies, whose springs are only in the matrix of a global step */
};

typedef struct pd_method {
    const char *name;         /* the name in Python */
    const pd_option *options; /* its settings, in addition to those of the frame (methods.h) */
    size_t settings_size;     /* bytes of the settings structure */

    /* Creates the memory of the method, and the data of a step that need no factorisation. `settings`, the filled structure, is valid
     * during the call, the problem for the life of *self. After a failure an incomplete *self is destroyed, and the next step tries
     * again. */
    pd_status (*create)(void **self, const pd_problem *problem, const void *settings);
    void (*destroy)(void *self, const pd_problem *problem); /* NULL is allowed for self */
    /* Computes the data that depend on constants of the problem, mainly factors: before the first step, and after a change. NULL:
     * nothing. */
    pd_status (*refresh)(void *self, const pd_problem *problem);
    /* Writes iterate->correction from x and offset. */
    pd_status (*correction)(void *self, const pd_problem *problem, pd_iterate *iterate);
    /* Called after the last iteration's move, within the timing; NULL: nothing to do. */
    pd_status (*finish)(void *self, const pd_problem *problem, pd_iterate *iterate);

    /* Tells whether correction can be captured into a graph: it never synchronises, stalls or goes back (iterate->replaced), passes the same
     * pointers and numbers every time (iteration 0 of a step may differ from the others), and restores its buffers at its end. NULL: it
     * cannot. */
    int (*capturable)(const void *self);
    /* Tells whether the method has its own safeguard and returns from divergent iterates: then the frame does not test for them. NULL:
     * no. */
    int (*has_safeguard)(const void *self);
    /* Rows first .. first + n - 1 of the shape targets are now `rows` H [n,count] (elements/table.h), in the model too. NULL: the method
     * stores no copy of targets. */
    pd_status (*set_targets)(void *self, const pd_problem *problem, int first, int n, const real *rows);
    /* The linear solver of its global step, for settings that depend on the spectrum; NULL: none. */
    pd_linear *(*linear)(const void *self);
    /* The number of element colours in a sweep over constraints; NULL: no such sweep. */
    int (*colours)(const void *self);

    /* The arrays that its iterations change next to x, carried [PD_KIND_COUNT], and the norm of x; an accelerator changes their values
     * after a correction. *n and *x are 0. NULL: none. */
    pd_status (*carries)(const void *self, const pd_problem *problem, pd_carried *x, pd_carried *carried, int *n);

    int takes;               /* PD_TAKES_... */
    int takes_rigid;         /* rigid bodies, whose rows are not vertices; otherwise a simulation with them is refused */
    int takes_custom;        /* materials of the caller (problem/custom_elements.h). The method calls potential.h and block_hessian.h, or
                              * element loops after a refresh; otherwise refused */
    int takes_oriented;      /* tets that must not invert (orientation/orientation.h). The method minimises G, and the frame limits its
                              * iterates; otherwise refused */
    int keeps_orientation;   /* without an accelerator correction inverts no tet: vertices move one after the other, within their limits */
    int minimises_potential; /* 0: G may rise in a step without a divergence */
    int implicit_euler_only; /* no G, or no other inertial target (integrator/integrator.h): other integrators are refused */
    int ignores_material;    /* bodies are softer than their material, so its energy does not bound the motion */
    const char *cure;        /* of a divergence, for its message; NULL: none */
    int keeps_bounds;        /* correction keeps each vertex within its displacement bound, computed at the start of the iteration */
    int moves;               /* correction may include the move, iterate->move, and never returns to an earlier iterate. An iteration
                              * that is not the last may leave x unchanged if the next iteration starts from a private copy */
    int commits;        /* correction moves x and offset within the step limiter. It writes the move to iterate->increment, and the report
                              * of pd_advance to the scalars of the problem. No accelerator */
    int fills_gradient; /* correction writes dG/dx at the start of the iteration to iterate->gradient */
    int takes_gradient; /* correction uses pd_iterate_gradient, and needs no gradient of an earlier iteration in iterate->gradient */
} pd_method;

/* For methods that can be captured with any settings. */
static inline int pd_always(const void *self) {
    (void)self;
    return 1;
}

#endif
