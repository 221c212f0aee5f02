/* The terms of G of a group of rigid bodies in a sweep, for the loops of both backends: energy, gradient and Hessian of its inertia, its
 * elements and its pairs. */
#ifndef PD_UPDATES_RIGID_RIGID_TERMS_H
#define PD_UPDATES_RIGID_RIGID_TERMS_H

#include "updates/elements/element_update.h"
#include "updates/rigid/rigid_pairs.h"

/* The rows with its mass; their energy is a difference, pd_body_inertia. */
PD_FUNCTION void pd_body_add_inertia(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step, int place,
                                     pd_group_sum *total) {
    const pd_rigid_body *body = pd_body_at(sweep, place);
    const pd_body_way *way = &sweep->groups.ways[place];
    pd_body_sum *sum = &sweep->groups.sums[place];
    for (int i = pd_rigid_first_carrier(body); i < body->rows.first + body->rows.n; i++) {
        double arm[3], gone[3], f[3], m = (double)model->masses[i] * step->inverse_h * step->inverse_h;
        const real K[9] = {(real)m, 0, 0, 0, (real)m, 0, 0, 0, (real)m};
        pd_moving moving;
        if (model->fixed[i]) continue;
        pd_body_arm(way, sweep->start, i, arm);
        pd_body_row_move(way, way->turned, 0.0, sweep->start + 3 * (size_t)i, gone);
        for (int c = 0; c < 3; c++) f[c] = m * ((double)sweep->offset[3 * (size_t)i + (size_t)c] + gone[c]);
        pd_body_add_force(arm, f, sum, total);
        moving.n = 1, moving.corner[0] = 0, moving.place[0] = place;
        pd_body_jacobian(arm, moving.J);
        pd_body_add_block(&moving, place, place, 3, K, 1.0, sum->block);
    }
}

/* The inertia at this fraction of the path minus that at its start, J. */
PD_FUNCTION double pd_body_inertia(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step, int place, double fraction,
                                   double *magnitude) {
    const pd_rigid_body *body = pd_body_at(sweep, place);
    const pd_body_way *way = &sweep->groups.ways[place];
    double E[9], sum = 0.0;
    pd_body_rotation_after(way, fraction, E);
    for (int i = pd_rigid_first_carrier(body); i < body->rows.first + body->rows.n; i++) {
        double before[3], after[3], m = (double)model->masses[i] * step->inverse_h * step->inverse_h;
        if (model->fixed[i]) continue;
        pd_body_row_move(way, way->turned, 0.0, sweep->start + 3 * (size_t)i, before);
        pd_body_row_move(way, E, fraction, sweep->start + 3 * (size_t)i, after);
        for (int c = 0; c < 3; c++) {
            double move = after[c] - before[c], o = (double)sweep->offset[3 * (size_t)i + (size_t)c] + before[c];
            sum += m * move * (o + 0.5 * move);
            *magnitude += m * fabs(move) * (fabs(o) + 0.5 * fabs(move));
        }
    }
    return sum;
}

#define PD_GROUP_ELEMENT(KIND, name, k, d, count, ...)                                                                           \
    PD_UPDATE_FUNCTION void pd_group_element_##name(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step, \
                                                    const pd_elements *g, int e, int group, int with, pd_group_sum *sum) {       \
        real f[3 * (k)], K[9 * (k) * (k)];                                                                                       \
        pd_group_add_energy(pd_element_update_energy_##name(g, sweep->points, e), sum);                                          \
        if (!with) return;                                                                                                       \
        pd_element_update_gradient_##name(g, sweep->points, e, f);                                                               \
        pd_element_update_hessian_##name(g, (real)step->inverse_h, sweep->points, pd_body_filter(with), e, K);                   \
        pd_group_add(model, sweep, group, k, g->vertices + (size_t)e * (k), f, K, with > 2, sum);                                \
    }
PD_FORMULA_TABLE(PD_GROUP_ELEMENT)

PD_UPDATE_FUNCTION void pd_group_add_elements(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step, int body,
                                              int group, int with, pd_group_sum *sum) {
    for (int s = sweep->element_start[body]; s < sweep->element_start[body + 1]; s++) {
        const pd_elements *g = &model->kinds[sweep->elements[2 * (size_t)s]];
        int e = sweep->elements[2 * (size_t)s + 1];
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: pd_group_element_##name(model, sweep, step, g, e, group, with, sum); break;
        PD_SWITCH(g->kind, PD_FORMULA_TABLE, PD_CASE)
#undef PD_CASE
    }
}

/* All except inertia, at the present poses; `fraction`: the fraction of the path that the bodies have gone. */
PD_UPDATE_FUNCTION void pd_group_sum_up(const pd_model *model, const pd_body_sweep *sweep, const pd_step_data *step,
                                        const pd_body_group *group, double fraction, int with, pd_group_sum *total) {
    const pd_body_groups *groups = &sweep->groups;
    total->energy = total->magnitude = total->forces = 0.0;
    total->least = (double)INFINITY;
    for (int place = group->first; place < group->end && with; place++) {
        pd_body_sum *sum = &groups->sums[place];
        for (int i = 0; i < 6; i++) sum->gradient[i] = 0.0;
        for (int i = 0; i < 36; i++) sum->block[i] = 0.0;
        for (int i = 0; i < 9; i++) sum->outer[i] = 0.0;
        for (int i = 36 * groups->column_start[place]; i < 36 * groups->column_start[place + 1]; i++) groups->entries[i] = 0.0;
    }
    for (int place = group->first; place < group->end; place++) {
        pd_group_add_elements(model, sweep, step, groups->members[place], group->number, with, total);
        if (!sweep->touches) continue;
        pd_group_add_pairs(model, sweep, place, group->number, fraction, with, total);
        pd_group_add_friction(model, sweep, place, group->number, with, total);
    }
}

#endif
