/* Anderson acceleration of the iterations of a method [Peng, Deng, Zhang, Geng, Qin, Liu 2018; Walker and Ni 2011]; linear/anderson.h has
 * the combination. Positions are taken as x - y, which keeps the digits that float32 loses to the size of x.
 *
 * The state of some methods has more than positions: the duals of ADMM, the multipliers of XPBD. Their iterations are combined with the
 * same weights.
 *
 * Safeguard: where every plain step lowers G and G has no contact, a combined point is kept if its G is no higher than the least before;
 * else the move is the plain step. Otherwise a combined step after which the residual of the fixed-point map grows is undone. Both are
 * decided on the device. */
#include "dynamics/accelerator.h"
#include "dynamics/problem/custom_elements.h"
#include "dynamics/problem/rounding.h"
#include "dynamics/response.h"
#include "linear/anderson.h"

#include <stdlib.h>

_Static_assert(1 + PD_KIND_COUNT <= PD_ANDERSON_MOST_PARTS, "positions, and one array for each kind of element");

typedef struct outer_anderson {
    pd_anderson anderson;
    real *combined; /* B [n,3] a correction before its decision; NULL: there is none */
    double stiffness[2];
} outer_anderson;

static pd_status choose_safeguard(const pd_problem *problem, const pd_accelerated *iteration, pd_anderson_settings *settings) {
    const int falls = iteration->minimises_potential && !problem->response->potential;
    if (settings->safeguard == PD_SAFEGUARD_POTENTIAL && !falls)
        return pd_fail(
            problem->error, PD_ERROR_VALUE,
            "safeguard: 'potential' needs a method whose steps lower the incremental potential, without contact; give 'residual'");
    if (settings->safeguard == PD_SAFEGUARD_AUTOMATIC) settings->safeguard = falls ? PD_SAFEGUARD_POTENTIAL : PD_SAFEGUARD_RESIDUAL;
    return PD_OK;
}

static pd_status create(void **self, const pd_problem *problem, const pd_accelerated *iteration, const void *given) {
    pd_anderson_settings settings = *(const pd_anderson_settings *)given;
    const pd_model *model = problem->model;
    pd_status status = PD_OK;
    if (problem->rigid)
        return pd_fail(problem->error, PD_ERROR_TYPE, "acceleration: rotations of rigid bodies are not combined: give None");
    PD_TRY(choose_safeguard(problem, iteration, &settings));
    outer_anderson *made = *self = calloc(1, sizeof *made);
    if (!made) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for an acceleration");
    pd_anderson *anderson = &made->anderson;
    anderson->n_parts = 1 + iteration->n_carried;
    anderson->parts[0] = (pd_anderson_part){
        .n = model->n_vertices, .width = 3, .fixed = model->fixed, .row_weights = iteration->x.row_weights, .scale = iteration->x.scale};
    for (int p = 0; p < iteration->n_carried; p++) {
        const pd_carried *carried = &iteration->carried[p];
        anderson->parts[1 + p] = (pd_anderson_part){.n = carried->n,
                                                    .width = carried->width,
                                                    .row_weights = carried->row_weights,
                                                    .scale = carried->scale,
                                                    .in_place = 1,
                                                    .values = carried->values};
    }
    PD_TRY(pd_anderson_create(anderson, problem->context, &settings));
    if (settings.safeguard == PD_SAFEGUARD_POTENTIAL)
        PD_TRY(pd_memory_create(problem->context, (void **)&made->combined, pd_problem_bytes(problem)));
    made->stiffness[0] = problem->rounding->stiffness_sums[0];
    made->stiffness[1] = problem->rounding->stiffness_sums[1] + problem->rounding->inertia_sum;
done:
    return status;
}

static void destroy(void *self, const pd_problem *problem) {
    outer_anderson *made = self;
    if (!made) return;
    pd_anderson_destroy(&made->anderson);
    pd_memory_destroy(problem->context, made->combined);
    free(made);
}

static pd_status reset(void *self, const pd_problem *problem) {
    (void)problem;
    return pd_anderson_reset(&((outer_anderson *)self)->anderson);
}

/* Puts the values of the carried arrays where the next iteration is measured from. */
static pd_status hold(pd_anderson *anderson, int zero) {
    pd_status status = PD_OK;
    for (int p = 1; p < anderson->n_parts; p++) {
        const pd_anderson_part *part = &anderson->parts[p];
        size_t bytes = (size_t)part->n * (size_t)part->width * sizeof(real);
        if (zero)
            PD_TRY(pd_memory_clear(anderson->context, part->held, bytes));
        else
            PD_TRY(pd_memory_copy(anderson->context, part->held, part->values, bytes));
    }
done:
    return status;
}

/* The combined correction becomes that of the iteration if G at its end is low enough. */
static pd_status assess(outer_anderson *made, const pd_problem *problem, const pd_iterate *iterate) {
    pd_context *context = problem->context;
    const pd_model *model = problem->model;
    const pd_anderson_state *state = made->anderson.state;
    pd_status status = PD_OK;
    PD_TRY(pd_add_scaled(context, model, iterate->offset, -1.0, made->combined, problem->trial_offset));
    PD_TRY(pd_place_at_offset(context, model, &problem->step, iterate->x, problem->trial_offset, problem->trial));
    PD_TRY(pd_custom_refresh(problem, problem->trial, PD_REQUEST_ENERGY));
    pd_context_tally(context)->potentials++;
    PD_TRY(pd_potential(context, model, &problem->step, problem->trial, problem->trial_offset, problem->scalars));
    PD_TRY(pd_anderson_decide(context, made->anderson.state, problem->scalars, PD_ENERGY_COUNT, model->n_vertices, made->stiffness));
    status = pd_anderson_take(context, state, 3LL * model->n_vertices, made->combined, iterate->correction);
done:
    return status;
}

static pd_status apply(void *self, const pd_problem *problem, const pd_iterate *iterate) {
    outer_anderson *made = self;
    pd_anderson *anderson = &made->anderson;
    const int window = anderson->settings.window;
    pd_status status = PD_OK;
    if (iterate->displaced) return hold(anderson, 0); // x and correction are no pair of the map
    if (iterate->number == 0) PD_TRY(hold(anderson, 1));
    pd_anderson_part *x = &anderson->parts[0];
    x->x = iterate->offset;
    x->correction = iterate->correction;
    x->positions = made->combined ? iterate->x : NULL;
    PD_TRY(pd_anderson_observe(anderson));
    for (int p = 0; p < anderson->n_parts; p++)
        PD_TRY(pd_anderson_combine(anderson->context, &anderson->parts[p], window, anderson->state,
                                   made->combined ? made->combined : iterate->correction));
    if (made->combined) status = assess(made, problem, iterate);
done:
    return status;
}

static int capturable(const void *self) {
    (void)self;
    return 1;
}

const pd_accelerator pd_anderson_accelerator = {.name = "anderson",
                                                .options = pd_anderson_options,
                                                .settings_size = sizeof(pd_anderson_settings),
                                                .create = create,
                                                .destroy = destroy,
                                                .reset = reset,
                                                .apply = apply,
                                                .capturable = capturable};
