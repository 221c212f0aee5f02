/* The names in results, each next to its constant, for tables and dicts in Python. _host exports them (host_names.c). */
#ifndef PD_PYTHON_BINDING_NAMES_H
#define PD_PYTHON_BINDING_NAMES_H

#include "dynamics/step/simulation.h"

/* X(constant, name, part, field) for every column of the record of a step. OBSERVED: a field of pd_iteration that an observer gets too,
 * with the same name. RECORDED: a field of pd_iteration for the record only. CONTACT: a field of pd_contact_row. */
#define PD_RECORD_TABLE(X)                                                    \
    X(ITERATION, "iteration", OBSERVED, number)                               \
    X(SECONDS, "seconds", OBSERVED, seconds)                                  \
    X(INCREMENTAL_POTENTIAL, "incremental_potential", RECORDED, potential)    \
    X(GRADIENT_NORM, "gradient_norm", RECORDED, gradient_norm)                \
    X(STEP_NORM, "step_norm", OBSERVED, step_norm)                            \
    X(DIRECTION_SECONDS, "direction_seconds", OBSERVED, direction_seconds)    \
    X(ADVANCE_SECONDS, "advance_seconds", OBSERVED, advance_seconds)          \
    X(CONTACT_POTENTIAL, "contact_potential", CONTACT, potential)             \
    X(FRICTION_POTENTIAL, "friction_potential", CONTACT, friction)            \
    X(ACTIVE_CONTACTS, "active_contacts", CONTACT, active)                    \
    X(CONTACTS_ENTERED, "contacts_entered", CONTACT, entered)                 \
    X(CONTACTS_LEFT, "contacts_left", CONTACT, left)                          \
    X(SMALLEST_DISTANCE, "smallest_distance", CONTACT, smallest_distance)     \
    X(STEP_LIMIT, "step_limit", OBSERVED, step_limit)                         \
    X(OUTER, "outer", OBSERVED, outer)                                        \
    X(TARGET_LAG, "behind", OBSERVED, target_lag)                             \
    X(HELD_BACK, "held_back", OBSERVED, held_back)                            \
    X(STAGNATIONS, "stagnations", OBSERVED, stagnations)                      \
    X(CULLING_SECONDS, "culling_seconds", OBSERVED, culling_seconds)          \
    X(CCD_SECONDS, "ccd_seconds", OBSERVED, ccd_seconds)                      \
    X(PROJECTION_SECONDS, "projection_seconds", OBSERVED, projection_seconds) \
    X(POTENTIALS, "potentials", OBSERVED, work.potentials)                    \
    X(GRADIENTS, "gradients", OBSERVED, work.gradients)                       \
    X(HESSIANS, "hessians", OBSERVED, work.hessians)                          \
    X(PRODUCTS, "products", OBSERVED, work.products)                          \
    X(FACTORIZATIONS, "factorizations", OBSERVED, work.factorizations)        \
    X(SOLVES, "solves", OBSERVED, work.solves)                                \
    X(PROJECTIONS, "projections", OBSERVED, work.projections)                 \
    X(SWEEPS, "sweeps", OBSERVED, work.sweeps)                                \
    X(SEARCHES, "searches", OBSERVED, work.searches)                          \
    X(CCD_PAIRS, "ccd_pairs", OBSERVED, work.ccd_pairs)                       \
    X(LAUNCHES, "launches", OBSERVED, work.launches)                          \
    X(WAITS, "waits", OBSERVED, work.waits)

/* X(constant, name) for every step of an update of contact. */
#define PD_UPDATE_TABLE(X)                    \
    X(STEP, "step")                           \
    X(RESIDUAL, "residual")                   \
    X(SMALLEST_DISTANCE, "smallest_distance") \
    X(SEARCHED, "searched")                   \
    X(LISTED, "listed")                       \
    X(PAIRS, "pairs")                         \
    X(ROWS, "rows")                           \
    X(COLOURS, "colours")                     \
    X(SEARCH, "search")

/* The same for that of a linear solve; distance: from the target. */
#define PD_LINEAR_RECORD_TABLE(X)     \
    X(ITERATION, "iteration")         \
    X(SECONDS, "seconds")             \
    X(RESIDUAL_NORM, "residual_norm") \
    X(DISTANCE, "distance")

#define PD_RECORD_CONSTANT(NAME, name, ...)   PD_RECORD_##NAME,
#define PD_UPDATE_CONSTANT(NAME, name)        PD_UPDATE_##NAME,
#define PD_LINEAR_RECORD_CONSTANT(NAME, name) PD_LINEAR_RECORD_##NAME,
enum { PD_RECORD_TABLE(PD_RECORD_CONSTANT) PD_RECORD_COLUMNS };
enum { PD_UPDATE_TABLE(PD_UPDATE_CONSTANT) PD_UPDATE_COLUMNS };
enum { PD_LINEAR_RECORD_TABLE(PD_LINEAR_RECORD_CONSTANT) PD_LINEAR_RECORD_COLUMNS };

/* X(constant, name) for every timed part of a step, every end of a step, of an update in it, and of a linear solve. */
#define PD_PHASE_TABLE(X)                  \
    X(PD_PHASE_BEGIN, "begin")             \
    X(PD_PHASE_FIRST_GUESS, "first_guess") \
    X(PD_PHASE_DIRECTION, "direction")     \
    X(PD_PHASE_ADVANCE, "advance")         \
    X(PD_PHASE_VELOCITY, "velocity")
#define PD_STOP_TABLE(X)                      \
    X(PD_STOP_ITERATION_CAP, "iteration_cap") \
    X(PD_STOP_CONVERGED, "converged")         \
    X(PD_STOP_STALLED, "stalled")             \
    X(PD_STOP_DIVERGED, "diverged")
#define PD_UPDATE_EXIT_TABLE(X)          \
    X(PD_TWO_WAY_CONVERGED, "converged") \
    X(PD_TWO_WAY_CAP, "iteration_cap")   \
    X(PD_TWO_WAY_STALLED, "stalled")     \
    X(PD_TWO_WAY_CONTRADICTORY, "contradictory")
#define PD_UPDATE_PART_TABLE(X)        \
    X(PD_TWO_WAY_PAIRS, "pairs")       \
    X(PD_TWO_WAY_ROWS, "rows")         \
    X(PD_TWO_WAY_COLOURS, "colours")   \
    X(PD_TWO_WAY_BACKWARD, "backward") \
    X(PD_TWO_WAY_FORWARD, "forward")
#define PD_LINEAR_STOP_TABLE(X)                 \
    X(PD_LINEAR_ITERATION_CAP, "iteration_cap") \
    X(PD_LINEAR_CONVERGED, "converged")         \
    X(PD_LINEAR_STALLED, "stalled")             \
    X(PD_LINEAR_DIVERGED, "diverged")

/* An array of names, each at the index of its constant: const char *const names[] = {PD_STOP_TABLE(PD_NAME_AT)}; */
#define PD_NAME_AT(constant, name) [constant] = name,

#endif
