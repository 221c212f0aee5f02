/* Vertex Block Descent [Chen et al. 2024, Algorithm 1, lines 5-33; collisions by a barrier].
 *
 * An iteration is one Gauss-Seidel sweep over the vertices. Each vertex minimises G by one Newton step with the 3x3 block of its Hessian,
 * the vertices of a colour in parallel. If the block is exact and positive definite, as always for neo-Hookean tets, G restricted to the
 * vertex is a convex quadratic and the step reaches its minimum: G decreases with every vertex, from any state, also inverted ones. The
 * extrapolation after the full sweep (Eqs. 18-19) is an accelerator (accelerator.h).
 *
 * The setting `hessian` replaces these blocks by those on the diagonal of the exact Hessian, or of the one that Newton's method takes with
 * the same filter; for contact pairs too. A vertex whose block is not positive definite does not move. Rigid bodies keep their blocks.
 *
 * In contact a vertex adds the gradient and block of its pairs, at the present corners. It stays in its displacement bound
 * (vertex_bound.h), so that surfaces never touch, with any number of iterations. It halves its step until G decreases by a tenth of the
 * prediction of the slope (vertex_update.h). The block lacks the rotation of the normals: with a barrier a fraction (distance / edge)^2. If
 * two corners of a pair have one colour, each gets its share of the energy by Jensen's inequality. So the sum of the contact share and the
 * quadratic of the elements decreases with every vertex. G may still grow in an iteration, rarely: a vertex without pairs may approach a
 * distant surface.
 *
 * The sweep moves a copy of the positions, the auxiliary buffer of Algorithm 1, and passes the sum of each vertex's moves to the frame. So
 * x - y is accumulated from moves, and float32 loses no digits to the size of the coordinates.
 *
 * Block Jacobi and gradient descent are the same sweep with all vertices at once, and need a step length [Chen et al. 2024, Sec. 5.4; Wang
 * and Yang 2016, Algorithm 1]. G is tested after 1, 2, 4 and 8 iterations, then after every TEST_EVERY. If it has not decreased enough
 * since the last accepted state, that state is restored, alpha shrinks by SHRINK, and the acceleration restarts. Enough is the fraction
 * DEMANDED of alpha g.d, the prediction in the first of these iterations [Nocedal and Wright 2006, Eq. 3.4, Armijo's condition]. A test for
 * any decrease fails: too long a step ends in a cycle, whose states have the same G for any period. On a quadratic, 0.4 accepts steps that
 * overshoot by a fifth; beyond a third, a mode that gets one iteration per step grows from step to step. If the required decrease is below
 * the rounding of G, rounding decides. The last state of a step must pass too; otherwise one line search from the last accepted state
 * replaces it, so that a step never ends at its start if a direction lowers G. */
#include "contact/potential/contact.h"
#include "dynamics/methods/custom_colours.h"
#include "dynamics/methods/rigid_descent.h"
#include "dynamics/methods/rigid_sweep.h"
#include "dynamics/methods/vertex_sweep.h"
#include "dynamics/problem/custom_elements.h"
#include "dynamics/problem/line_search.h"
#include "dynamics/problem/potential.h"
#include "dynamics/problem/rounding.h"

#include <stdlib.h>

enum { TEST_EVERY = 8 };
static const double SHRINK = 0.7, DEMANDED = 0.4;

/* Of all three methods; `colours` is for vertex block descent only. */
typedef struct settings {
    int line_search;
    int hessian;        /* pd_hessian_setting: of the blocks of the vertices */
    const int *colours; /* [n] */
} settings;

#define HESSIAN PD_OPTION(settings, hessian, PD_OPTION_COUNT, PD_HESSIAN_AUTO, PD_HESSIAN_SETTING_COUNT - 1)
static const pd_option options[] = {PD_FLAG(settings, line_search), HESSIAN, PD_OPTION(settings, colours, PD_OPTION_COLOURS, 0, 0),
                                    PD_OPTIONS_END};
static const pd_option jacobi_options[] = {PD_FLAG(settings, line_search), HESSIAN, PD_OPTIONS_END};

typedef struct pd_descent {
    pd_vertex_sweep sweep;
    real *positions;           /* B [n,4] of the sweep */
    pd_custom_colours *custom; /* NULL: no materials of the caller, or all vertices move at once */
    int ahead;                 /* 1: the last sweep moved the offset, and x lags the positions */
    pd_rigid_descent *bodies;  /* NULL: no rigid bodies, or all move at once: */
    pd_rigid_sweep *all_bodies;
    int line_search;
    /* with a step length only: */
    real *good_x, *good_offset; /* B [n,3] last accepted state */
    double good_potential, alpha;
    int good_drives, good_detections; /* of the step at that state */
    double promised;                  /* alpha g.d of the first iteration since */
} pd_descent;

static void destroy(void *self, const pd_problem *problem) {
    pd_descent *descent = self;
    if (!descent) return;
    if (problem->contact) pd_contact_share(problem->contact, NULL);
    pd_custom_colours_destroy(descent->custom, problem->context);
    pd_vertex_sweep_destroy(&descent->sweep, problem->context);
    pd_rigid_descent_destroy(descent->bodies, problem->context);
    pd_rigid_sweep_destroy(descent->all_bodies, problem->context);
    PD_MEMORIES_DESTROY(problem->context, descent->positions, descent->good_x, descent->good_offset);
    free(descent);
}

static pd_status make(void **self, const pd_problem *problem, const settings *settings, int grouped, int at_once) {
    pd_status status = PD_OK;
    size_t n = (size_t)problem->model->n_vertices;
    pd_descent *descent = *self = calloc(1, sizeof *descent);
    if (!descent) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    descent->line_search = settings->line_search;
    if (problem->contact) pd_contact_widen(problem->contact);
    PD_TRY(pd_vertex_sweep_create(&descent->sweep, problem, settings->colours, grouped, (pd_hessian_setting)settings->hessian));
    if (problem->contact) pd_contact_share(problem->contact, descent->sweep.colours);
    if (!at_once) PD_TRY(pd_custom_colours_create(&descent->custom, problem, &descent->sweep, settings->colours));
    PD_TRY(pd_memory_create(problem->context, (void **)&descent->positions, n * 4 * sizeof(real)));
    if (at_once)
        PD_TRY(pd_rigid_sweep_create(&descent->all_bodies, problem));
    else
        PD_TRY(pd_rigid_descent_create(&descent->bodies, problem));
    if (at_once && settings->line_search) {
        PD_TRY(pd_memory_create(problem->context, (void **)&descent->good_x, n * 3 * sizeof(real)));
        PD_TRY(pd_memory_create(problem->context, (void **)&descent->good_offset, n * 3 * sizeof(real)));
    }
done:
    return status;
}

static pd_status sweep(pd_descent *descent, const pd_problem *problem, const pd_iterate *iterate, pd_sweep_step kind, int in_place,
                       pd_sweep_bounds bounds, pd_contact_sweep *touched) {
    const int n_colours = descent->sweep.n_colours, each = descent->custom ? 1 : n_colours;
    pd_status status = PD_OK;
    if (problem->contact) PD_TRY(pd_contact_bound_displacements(problem->contact, iterate->x, touched));
    pd_context_tally(problem->context)->sweeps++;
    if (!in_place) PD_TRY(pd_custom_refresh(problem, iterate->x, PD_REQUEST_STRESS | PD_REQUEST_HESSIAN));
    // the functions of a material are evaluated after the moves of the earlier colours
    for (int colour = descent->custom ? -1 : 0; colour < n_colours; colour += each) {
        bounds.first_colour = colour < 0 ? 0 : colour;
        bounds.end_colour = colour + each;
        if (colour >= 0 && descent->custom)
            PD_TRY(pd_custom_colours_refresh(descent->custom, problem, &descent->sweep, colour, descent->positions));
        PD_TRY(pd_sweep_vertices(problem->context, problem->model, &descent->sweep, &problem->step, kind, in_place, bounds,
                                 problem->contact ? touched : NULL, iterate->x, iterate->offset, descent->positions, iterate->correction));
        bounds.gathers = 0;
    }
done:
    return status;
}

/* ---- Vertex Block Descent ---------------------------------------------------------------------------------------------------- */

static pd_status create(void **self, const pd_problem *problem, const void *given) {
    const settings *settings = given;
    if (!settings->colours) return pd_fail(problem->error, PD_ERROR_VALUE, "colours: vertex block descent needs them");
    if (settings->line_search && problem->custom)
        return pd_fail(problem->error, PD_ERROR_TYPE,
                       "line_search: it needs energies of single vertices, which functions of a material do not provide; take 0");
    return make(self, problem, settings, !settings->line_search, 0); // a line search needs energies, not groups
}

/* Tells whether a sweep may move the offset: the following move is x -= correction, and the next sweep starts from the positions. */
static int moves_within(const pd_descent *descent, const pd_iterate *iterate) {
    return iterate->move && !iterate->last && iterate->move->alpha == -1.0 && iterate->move->beta == 0.0 && !descent->line_search;
}

/* The line search of a vertex is made inside the sweep. */
static pd_status correction(void *self, const pd_problem *problem, pd_iterate *iterate) {
    pd_descent *descent = self;
    const pd_sweep_bounds bounds = {.gathers = iterate->first || !descent->ahead, .moves = moves_within(descent, iterate)};
    pd_contact_sweep touched;
    pd_status status = sweep(descent, problem, iterate, descent->line_search ? PD_SWEEP_SEARCH : PD_SWEEP_BLOCK, 1, bounds, &touched);
    descent->ahead = bounds.moves;
    if (bounds.moves) iterate->move = NULL;
    return status || !descent->bodies ? status : pd_rigid_descent_bodies(descent->bodies, problem, &touched, iterate);
}

const pd_method pd_vertex_block_descent_method = {.name = "VertexBlockDescent",
                                                  .options = options,
                                                  .settings_size = sizeof(settings),
                                                  .create = create,
                                                  .destroy = destroy,
                                                  .correction = correction,
                                                  .capturable = pd_always,
                                                  .takes_rigid = 1,
                                                  .takes_custom = 1,
                                                  .takes_oriented = 1,
                                                  .keeps_bounds = 1,
                                                  .moves = 1,
                                                  .keeps_orientation = 1,
                                                  .minimises_potential = 1};

/* ---- Block Jacobi and gradient descent ----------------------------------------------------------------------------------------- */

static pd_status create_jacobi(void **self, const pd_problem *problem, const void *given) {
    const settings *settings = given;
    return make(self, problem, settings, 1, 1);
}

/* The correction of vertices and bodies from the present positions. */
static pd_status sweep_at_once(pd_descent *descent, const pd_problem *problem, pd_iterate *iterate, pd_sweep_step kind) {
    pd_contact_sweep touched;
    pd_status status = sweep(descent, problem, iterate, kind, 0, (pd_sweep_bounds){.gathers = 1}, &touched);
    if (status || !descent->all_bodies) return status;
    iterate->beyond = 1;
    return pd_rigid_sweep_at_once(descent->all_bodies, problem, iterate, kind == PD_SWEEP_DIAGONAL);
}

/* Restores the last accepted state if G has not decreased enough since; the first state of a step is accepted. If penalty pairs were
 * detected since, G is that of the new pairs in both states, and must not have grown: the prediction belongs to the old pairs. (Without
 * this rule a detection in every iteration accepted every state, and too long a step diverged.) */
static pd_status test_potential(pd_descent *descent, const pd_problem *problem, pd_iterate *iterate, int first, int *passed) {
    pd_context *context = problem->context;
    pd_status status = PD_OK;
    size_t bytes = pd_problem_bytes(problem);
    double potential, magnitude;
    PD_TRY(pd_problem_potential(problem, iterate->x, iterate->offset, &potential, &magnitude));
    if (first) descent->alpha = 1.0;
    first = first || descent->good_drives != iterate->drives;
    double rounding = pd_rounding_of_potential(problem, magnitude), demanded = DEMANDED * descent->promised, ignored;
    if (!first && descent->good_detections != iterate->detections) {
        demanded = 0.0;
        PD_TRY(pd_problem_potential(problem, descent->good_x, descent->good_offset, &descent->good_potential, &ignored));
        descent->good_detections = iterate->detections;
    }
    *passed = first || potential <= descent->good_potential + rounding - (demanded > rounding ? demanded : 0.0);
    if (*passed) {
        descent->good_potential = potential;
        descent->good_drives = iterate->drives, descent->good_detections = iterate->detections;
        PD_TRY(pd_memory_copy(context, descent->good_x, iterate->x, bytes));
        PD_TRY(pd_memory_copy(context, descent->good_offset, iterate->offset, bytes));
        goto done;
    }
    descent->alpha *= SHRINK;
    iterate->replaced = 1;
    PD_TRY(pd_memory_copy(context, iterate->x, descent->good_x, bytes));
    PD_TRY(pd_memory_copy(context, iterate->offset, descent->good_offset, bytes));
    PD_TRY(pd_memory_clear(context, iterate->increment, bytes));
done:
    return status;
}

/* The gradient at x, and its product with correction. */
static pd_status slope(const pd_problem *problem, const pd_iterate *iterate, double *out) {
    pd_status status = pd_problem_gradient(problem, iterate->x, iterate->offset, iterate->gradient);
    return status ? status : pd_problem_product(problem, iterate->gradient, iterate->correction, out);
}

/* Before iteration 0 and after 1, 2, 4, 8, 16, 24, ...: so a step length is found within few iterations. */
static int is_tested(int iteration) { return iteration % TEST_EVERY == 0 || iteration == 1 || iteration == 2 || iteration == 4; }

static pd_status jacobi(pd_descent *descent, const pd_problem *problem, pd_iterate *iterate, pd_sweep_step kind) {
    pd_status status = PD_OK;
    int tested = descent->line_search && is_tested(iterate->number), passed;
    if (tested) PD_TRY(test_potential(descent, problem, iterate, iterate->number == 0, &passed));
    PD_TRY(sweep_at_once(descent, problem, iterate, kind));
    if (tested) {
        PD_TRY(slope(problem, iterate, &descent->promised));
        descent->promised *= descent->alpha;
    }
    if (descent->line_search && descent->alpha < 1.0) PD_TRY(pd_direction_scale(problem, iterate, descent->alpha));
done:
    return status;
}

static pd_status finish(pd_descent *descent, const pd_problem *problem, pd_iterate *iterate, pd_sweep_step kind) {
    pd_status status = PD_OK;
    int passed = 1;
    double ignored;
    if (descent->line_search) PD_TRY(test_potential(descent, problem, iterate, 0, &passed));
    if (passed) goto done;
    PD_TRY(sweep_at_once(descent, problem, iterate, kind));
    PD_TRY(slope(problem, iterate, &ignored));
    PD_TRY(pd_line_search(problem, iterate, PD_NEAR_SLOPE));
    if (iterate->stalled) goto done;
    PD_TRY(pd_point_along(problem, iterate, 1.0, iterate->x, iterate->offset));
done:
    return status;
}

static pd_status block_correction(void *self, const pd_problem *problem, pd_iterate *iterate) {
    return jacobi(self, problem, iterate, PD_SWEEP_BLOCK);
}

static pd_status block_finish(void *self, const pd_problem *problem, pd_iterate *iterate) {
    return finish(self, problem, iterate, PD_SWEEP_BLOCK);
}

static pd_status diagonal_correction(void *self, const pd_problem *problem, pd_iterate *iterate) {
    return jacobi(self, problem, iterate, PD_SWEEP_DIAGONAL);
}

static pd_status diagonal_finish(void *self, const pd_problem *problem, pd_iterate *iterate) {
    return finish(self, problem, iterate, PD_SWEEP_DIAGONAL);
}

/* The test for a decrease of G runs on the host. */
static int capturable_jacobi(const void *self) { return !((const pd_descent *)self)->line_search; }

static int has_safeguard(const void *self) { return ((const pd_descent *)self)->line_search; }

const pd_method pd_block_jacobi_method = {.name = "BlockJacobi",
                                          .options = jacobi_options,
                                          .settings_size = sizeof(settings),
                                          .create = create_jacobi,
                                          .destroy = destroy,
                                          .correction = block_correction,
                                          .finish = block_finish,
                                          .capturable = capturable_jacobi,
                                          .has_safeguard = has_safeguard,
                                          .takes_rigid = 1,
                                          .takes_custom = 1,
                                          .takes_oriented = 1,
                                          .keeps_bounds = 1,
                                          .minimises_potential = 1};
const pd_method pd_gradient_descent_method = {.name = "GradientDescent",
                                              .options = jacobi_options,
                                              .settings_size = sizeof(settings),
                                              .create = create_jacobi,
                                              .destroy = destroy,
                                              .correction = diagonal_correction,
                                              .finish = diagonal_finish,
                                              .capturable = capturable_jacobi,
                                              .has_safeguard = has_safeguard,
                                              .takes_rigid = 1,
                                              .takes_custom = 1,
                                              .takes_oriented = 1,
                                              .keeps_bounds = 1,
                                              .minimises_potential = 1};
