/* Memory and order of Anderson acceleration; see anderson.h. */
#include "linear/anderson.h"

const pd_option pd_anderson_options[] = {PD_OPTION(pd_anderson_settings, window, PD_OPTION_COUNT, 1, PD_ANDERSON_LARGEST_WINDOW),
                                         PD_NUMBER_FROM(pd_anderson_settings, regularization, 0.0),
                                         PD_OPTION(pd_anderson_settings, safeguard, PD_OPTION_COUNT, 0, PD_SAFEGUARD_COUNT - 1),
                                         PD_OPTIONS_END};

/* Factor by which |f| may grow in a combined move. Of a converging nonlinear iteration |f| rises now and then, which 1, as in SCS's aa.c,
 * would undo. */
static const double GROWTH = 2.0;

static pd_status create_part(pd_anderson *self, pd_anderson_part *part) {
    const size_t bytes = (size_t)part->n * (size_t)part->width * sizeof(real), window = (size_t)self->settings.window;
    const size_t blocks = ((size_t)part->n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK;
    pd_status status = PD_OK;
    PD_TRY(pd_memory_create(self->context, (void **)&part->last_f, bytes));
    PD_TRY(pd_memory_create(self->context, (void **)&part->last_g, bytes));
    PD_TRY(pd_memory_create(self->context, (void **)&part->df, window * bytes));
    PD_TRY(pd_memory_create(self->context, (void **)&part->dg, window * bytes));
    if (part->in_place) PD_TRY(pd_memory_create(self->context, (void **)&part->held, bytes));
    PD_TRY(pd_memory_create(self->context, (void **)&part->partial_sums,
                            (blocks + 1) * (size_t)pd_anderson_sums(self->settings.window) * sizeof(double)));
done:
    return status;
}

pd_status pd_anderson_create(pd_anderson *self, pd_context *context, const pd_anderson_settings *settings) {
    pd_status status = PD_OK;
    self->context = context;
    self->settings = *settings;
    for (int p = 0; p < self->n_parts; p++) PD_TRY(create_part(self, &self->parts[p]));
    PD_TRY(pd_memory_create(context, (void **)&self->state, sizeof *self->state));
    PD_TRY(pd_memory_create(context, (void **)&self->sums,
                            (size_t)self->n_parts * (size_t)pd_anderson_sums(settings->window) * sizeof(double)));
done:
    return status;
}

void pd_anderson_destroy(pd_anderson *self) {
    if (!self->context) return;
    for (int p = 0; p < self->n_parts; p++) {
        pd_anderson_part *part = &self->parts[p];
        PD_MEMORIES_DESTROY(self->context, part->last_f, part->last_g, part->df, part->dg, part->held, part->partial_sums);
    }
    PD_MEMORIES_DESTROY(self->context, self->state, self->sums);
    *self = (pd_anderson){0};
}

pd_status pd_anderson_reset(pd_anderson *self) { return pd_memory_clear(self->context, self->state, sizeof *self->state); }

pd_status pd_anderson_observe(pd_anderson *self) {
    const int window = self->settings.window, count = pd_anderson_sums(window);
    pd_status status = PD_OK;
    for (int p = 0; p < self->n_parts; p++)
        PD_TRY(pd_anderson_record(self->context, &self->parts[p], window, self->state, self->sums + p * count));
    status = pd_anderson_find(self->context, self->state, self->sums, self->n_parts, window, self->settings.regularization,
                              self->settings.safeguard == PD_SAFEGUARD_RESIDUAL ? GROWTH : 0.0);
done:
    return status;
}
