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
 * Wang and Yang 2016, Algorithm 1]: every TEST_EVERY iterations G is compared with its value at the last state that passed; where it
 * grew, that state comes back, alpha shrinks by SHRINK, and the Chebyshev weights start anew. */
#include "dynamics/vertex_sweep.h"

#include <stdlib.h>

enum { TEST_EVERY = 8 };
static const double SHRINK = 0.7;

struct pd_descent {
    pd_context *context;
    pd_vertex_sweep sweep;
    real *positions; /* B [n,4] of the sweep */
    /* with a step length only: */
    real *good_x, *good_offset; /* B [n,3] last state that passed */
    double good_potential, alpha;
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
static int capturable(const pd_simulation *self) {
    (void)self;
    return 1;
}

const pd_method pd_vertex_block_descent_method = {
    .name = "VertexBlockDescent", .prepare = prepare, .direction = direction, .minimises_potential = 1, .capturable = capturable};

/* ---- Block Jacobi and gradient descent ----------------------------------------------------------------------------------------- */

static pd_status prepare_jacobi(pd_simulation *self) {
    self->guarded = self->settings.line_search;
    return create(self, NULL, 1, self->settings.line_search);
}

/* Goes back to the last good state where G has grown since; the first state of a step is good. */
static pd_status test_potential(pd_simulation *self, int first) {
    pd_descent *descent = self->descent;
    pd_status status = PD_OK;
    size_t bytes = (size_t)self->model.n_vertices * 3 * sizeof(real);
    double potential, magnitude;
    PD_TRY(pd_simulation_potential_at(self, self->x, self->offset, &potential, &magnitude));
    if (first) descent->alpha = 1.0;
    if (first || potential <= descent->good_potential + pd_simulation_rounding(self, magnitude)) {
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

static pd_status jacobi(pd_simulation *self, pd_sweep_step kind) {
    pd_status status = PD_OK;
    size_t bytes = (size_t)self->model.n_vertices * 3 * sizeof(real);
    if (self->settings.line_search && self->iteration % TEST_EVERY == 0) PD_TRY(test_potential(self, self->iteration == 0));
    PD_TRY(sweep(self, kind, 0));
    if (self->settings.line_search && self->descent->alpha < 1.0) {
        PD_TRY(pd_memory_clear(self->context, self->trial, bytes));
        PD_TRY(pd_add_scaled(self->context, &self->model, self->trial, self->descent->alpha, self->direction, self->direction));
    }
done:
    return status;
}

/* What came after the last test counts only if it passes too. */
static pd_status finish(pd_simulation *self) { return self->settings.line_search ? test_potential(self, 0) : PD_OK; }

static pd_status block_direction(pd_simulation *self, int *stalled) {
    *stalled = 0;
    return jacobi(self, PD_SWEEP_BLOCK);
}

static pd_status diagonal_direction(pd_simulation *self, int *stalled) {
    *stalled = 0;
    return jacobi(self, PD_SWEEP_DIAGONAL);
}

/* Whether G grew is decided on the host. */
static int capturable_jacobi(const pd_simulation *self) { return !self->settings.line_search; }

const pd_method pd_block_jacobi_method = {.name = "BlockJacobi",
                                          .prepare = prepare_jacobi,
                                          .direction = block_direction,
                                          .finish = finish,
                                          .minimises_potential = 1,
                                          .capturable = capturable_jacobi};
const pd_method pd_gradient_descent_method = {.name = "GradientDescent",
                                              .prepare = prepare_jacobi,
                                              .direction = diagonal_direction,
                                              .finish = finish,
                                              .minimises_potential = 1,
                                              .capturable = capturable_jacobi};
