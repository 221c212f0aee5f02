/* Vertex Block Descent [Chen et al. 2024, Algorithm 1, lines 5-33 without collisions].
 *
 * An iteration is one Gauss-Seidel sweep over the vertices: of each, G is minimised by one Newton step with the 3x3 block of its
 * Hessian, the vertices of a colour in parallel. Where the block is exact and positive definite, as it always is for neo-Hookean
 * tets, G restricted to the vertex is a convex quadratic and the step its minimum: G falls with every vertex, from any state, inverted
 * ones included. Chebyshev extrapolation follows after the full sweep (Eqs. 18-19): the frame does it.
 *
 * The sweep moves a copy of the positions, the auxiliary buffer of Algorithm 1, and hands the frame the sum of each vertex's moves,
 * so that x - y is accumulated from moves and float32 loses nothing to the size of the coordinates.
 *
 * Block Jacobi and gradient descent are the same sweep with all vertices at once, which needs a step length [Chen et al. 2024, Sec. 5.4;
 * Wang and Yang 2016, Algorithm 1]: G is tested after 1, 2, 4 and 8 iterations and every TEST_EVERY from there on; where it has not fallen
 * enough since the last state that passed, that state comes back, alpha shrinks by SHRINK, and the Chebyshev weights start anew. Enough is
 * DEMANDED of what the first of those iterations promised, alpha g.d [Nocedal and Wright 2006, Eq. 3.4, Armijo's condition]: that G has not
 * grown is no test, for too long a step ends in a cycle, whose states have one G whatever the period. On a quadratic, 0.4 lets a step
 * overshoot by a fifth; by more than a third, and a mode that one iteration a step treats grows from step to step. Where less is demanded than the
 * rounding of G, rounding decides. What ends a step must have passed too; where it does not, one line search from the last state that
 * did takes its place, so that no step ends where it began while something lowers G. */
#include "dynamics/line_search.h"
#include "dynamics/vertex_sweep.h"

#include <stdlib.h>

enum { TEST_EVERY = 8 };
static const double SHRINK = 0.7, DEMANDED = 0.4;

struct pd_descent {
    pd_context *context;
    pd_vertex_sweep sweep;
    real *positions; /* B [n,4] of the sweep */
    /* with a step length only: */
    real *good_x, *good_offset; /* B [n,3] last state that passed */
    double good_potential, alpha;
    double promised; /* alpha g.d of the first iteration since */
};

void pd_descent_destroy(pd_descent *descent) {
    if (!descent) return;
    pd_vertex_sweep_destroy(&descent->sweep, descent->context);
    pd_memory_destroy(descent->context, descent->positions);
    pd_memory_destroy(descent->context, descent->good_x);
    pd_memory_destroy(descent->context, descent->good_offset);
    free(descent);
}

static pd_status create(pd_simulation *self, const int *colours, int grouped, int tested) {
    pd_status status = PD_OK;
    size_t n = (size_t)self->model.n_vertices;
    pd_descent *descent = calloc(1, sizeof *descent);
    if (!descent) return pd_fail(&self->error, PD_ERROR_MEMORY, "out of memory");
    descent->context = self->context;
    PD_TRY(pd_vertex_sweep_create(&descent->sweep, self, colours, grouped));
    PD_TRY(pd_memory_create(self->context, (void **)&descent->positions, n * 4 * sizeof(real)));
    if (tested) {
        PD_TRY(pd_memory_create(self->context, (void **)&descent->good_x, n * 3 * sizeof(real)));
        PD_TRY(pd_memory_create(self->context, (void **)&descent->good_offset, n * 3 * sizeof(real)));
    }
done:
    if (status)
        pd_descent_destroy(descent);
    else
        self->descent = descent;
    return status;
}

static pd_status sweep(pd_simulation *self, pd_sweep_step kind, int in_place) {
    pd_step_data step = pd_simulation_step_data(self);
    return pd_sweep_vertices(self->context, &self->model, &self->descent->sweep, &step, kind, in_place, self->x, self->offset,
                             self->descent->positions, self->direction);
}

/* ---- Vertex Block Descent ---------------------------------------------------------------------------------------------------- */

static pd_status prepare(pd_simulation *self) {
    if (!self->settings.colours) return pd_fail(&self->error, PD_ERROR_VALUE, "colours: vertex block descent needs them");
    return create(self, self->settings.colours, !self->settings.line_search, 0); // a line search wants energies, not groups
}

static pd_status direction(pd_simulation *self, int *stalled) {
    *stalled = 0;
    return sweep(self, self->settings.line_search ? PD_SWEEP_SEARCH : PD_SWEEP_BLOCK, 1);
}

/* A search along the step of a vertex is made where the vertex is. */
const pd_method pd_vertex_block_descent_method = {
    .name = "VertexBlockDescent", .prepare = prepare, .direction = direction, .minimises_potential = 1, .capturable = pd_always_capturable};

/* ---- Block Jacobi and gradient descent ----------------------------------------------------------------------------------------- */

static pd_status prepare_jacobi(pd_simulation *self) {
    self->guarded = self->settings.line_search;
    return create(self, NULL, 1, self->settings.line_search);
}

/* Goes back to the last good state where G has not fallen enough since; the first state of a step is good. */
static pd_status test_potential(pd_simulation *self, int first, int *passed) {
    pd_descent *descent = self->descent;
    pd_status status = PD_OK;
    size_t bytes = (size_t)self->model.n_vertices * 3 * sizeof(real);
    double potential, magnitude;
    PD_TRY(pd_simulation_potential_at(self, self->x, self->offset, &potential, &magnitude));
    if (first) descent->alpha = 1.0;
    double rounding = pd_simulation_rounding(self, magnitude), demanded = DEMANDED * descent->promised;
    *passed = first || potential <= descent->good_potential + rounding - (demanded > rounding ? demanded : 0.0);
    if (*passed) {
        descent->good_potential = potential;
        PD_TRY(pd_memory_copy(self->context, descent->good_x, self->x, bytes));
        PD_TRY(pd_memory_copy(self->context, descent->good_offset, self->offset, bytes));
        goto done;
    }
    descent->alpha *= SHRINK;
    self->restarted = self->iteration;
    PD_TRY(pd_memory_copy(self->context, self->x, descent->good_x, bytes));
    PD_TRY(pd_memory_copy(self->context, self->offset, descent->good_offset, bytes));
    PD_TRY(pd_memory_clear(self->context, self->step, bytes));
done:
    return status;
}

/* gradient at x, and its product with direction. */
static pd_status slope(pd_simulation *self, double *out) {
    pd_step_data step = pd_simulation_step_data(self);
    pd_status status = PD_OK;
    PD_TRY(pd_gradient(self->context, &self->model, &step, self->x, self->offset, self->gradient));
    PD_TRY(pd_dot(self->context, &self->model, self->gradient, self->direction, self->scalars));
    PD_TRY(pd_memory_download(self->context, out, self->scalars, sizeof *out));
done:
    return status;
}

/* Before iteration 0 and after 1, 2, 4, 8, 16, 24, ...: a few iterations are to find a step length as well. */
static int is_tested(int iteration) { return iteration % TEST_EVERY == 0 || iteration == 1 || iteration == 2 || iteration == 4; }

static pd_status jacobi(pd_simulation *self, pd_sweep_step kind) {
    pd_descent *descent = self->descent;
    pd_status status = PD_OK;
    size_t bytes = (size_t)self->model.n_vertices * 3 * sizeof(real);
    int tested = self->settings.line_search && is_tested(self->iteration), passed;
    if (tested) PD_TRY(test_potential(self, self->iteration == 0, &passed));
    PD_TRY(sweep(self, kind, 0));
    if (tested) {
        PD_TRY(slope(self, &descent->promised));
        descent->promised *= descent->alpha;
    }
    if (self->settings.line_search && descent->alpha < 1.0) {
        PD_TRY(pd_memory_clear(self->context, self->trial, bytes));
        PD_TRY(pd_add_scaled(self->context, &self->model, self->trial, descent->alpha, self->direction, self->direction));
    }
done:
    return status;
}

static pd_status finish(pd_simulation *self, pd_sweep_step kind) {
    pd_status status = PD_OK;
    int passed = 1, stalled;
    double ignored;
    if (self->settings.line_search) PD_TRY(test_potential(self, 0, &passed));
    if (passed) goto done;
    PD_TRY(sweep(self, kind, 0));
    PD_TRY(slope(self, &ignored));
    PD_TRY(pd_line_search(self, PD_NEAR_SLOPE, &stalled));
    if (stalled) goto done;
    PD_TRY(pd_add_scaled(self->context, &self->model, self->x, -1.0, self->direction, self->x));
    PD_TRY(pd_add_scaled(self->context, &self->model, self->offset, -1.0, self->direction, self->offset));
done:
    return status;
}

static pd_status block_direction(pd_simulation *self, int *stalled) {
    *stalled = 0;
    return jacobi(self, PD_SWEEP_BLOCK);
}

static pd_status block_finish(pd_simulation *self) { return finish(self, PD_SWEEP_BLOCK); }

static pd_status diagonal_direction(pd_simulation *self, int *stalled) {
    *stalled = 0;
    return jacobi(self, PD_SWEEP_DIAGONAL);
}

static pd_status diagonal_finish(pd_simulation *self) { return finish(self, PD_SWEEP_DIAGONAL); }

/* Whether G fell is decided on the host. */
static int capturable_jacobi(const pd_simulation *self) { return !self->settings.line_search; }

const pd_method pd_block_jacobi_method = {.name = "BlockJacobi",
                                          .prepare = prepare_jacobi,
                                          .direction = block_direction,
                                          .finish = block_finish,
                                          .minimises_potential = 1,
                                          .capturable = capturable_jacobi};
const pd_method pd_gradient_descent_method = {.name = "GradientDescent",
                                              .prepare = prepare_jacobi,
                                              .direction = diagonal_direction,
                                              .finish = diagonal_finish,
                                              .minimises_potential = 1,
                                              .capturable = capturable_jacobi};
