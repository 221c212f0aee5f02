/* Conversion of the host's description of a scene to a model in backend memory; see model.h. */
#include "dynamics/problem/model.h"

#include "dynamics/problem/damping_rows.h"
#include "linear/upload.h"

#include <string.h>

void pd_model_destroy(pd_model *model, pd_context *context) {
    for (int s = 0; s < model->n_kinds; s++) {
        PD_MEMORIES_DESTROY(context, model->kinds[s].vertices, model->kinds[s].rest, model->kinds[s].parameters, model->kinds[s].damping,
                            model->kinds[s].damping_hessian);
    }
    PD_MEMORIES_DESTROY(context, model->damping.start, model->damping.columns, model->damping.blocks, model->damping.diagonals,
                        model->damping.element_blocks, model->damping.entry_pairs, model->damping.source_start, model->damping.sources,
                        model->damping.pair_blocks);
    PD_MEMORIES_DESTROY(context, model->masses, model->fixed, model->subspace, model->corner_start, model->corners, model->corner_forces,
                        model->partial_sums, model->element_hessians);
    memset(model, 0, sizeof *model);
}

pd_status pd_model_create(pd_model *out, pd_context *context, const pd_description *description, const pd_corners *corners) {
    pd_status status = PD_OK;
    size_t n = (size_t)description->n_vertices;
    int largest = description->n_vertices, first_corner = 0;
    memset(out, 0, sizeof *out);
    out->n_vertices = description->n_vertices;
    out->n_corners = corners->n_corners;

    for (int s = 0; s < description->n_sets; s++) {
        const pd_element_set *set = &description->sets[s];
        pd_kind_shape shape = pd_kind_shape_of(set->kind);
        pd_elements *g = &out->kinds[out->n_kinds++];
        size_t m = (size_t)set->n;
        *g = (pd_elements){
            .kind = set->kind, .n = set->n, .first_corner = first_corner, .is_oriented = pd_kind_is_oriented(set->kind) && set->n > 0};
        out->is_oriented |= g->is_oriented;
        first_corner += set->n * shape.vertices;
        if (set->n > largest) largest = set->n;
        if ((status = pd_upload(context, (void **)&g->vertices, set->vertices, m * (size_t)shape.vertices * sizeof(int)))) goto done;
        if ((status = pd_upload_reals(context, &g->rest, set->rest, m * (size_t)shape.rest))) goto done;
        if ((status = pd_upload_reals(context, &g->parameters, set->parameters, m * (size_t)shape.parameters))) goto done;
        if (!set->damping) continue;
        size_t entries = 9 * (size_t)(shape.columns * shape.columns);
        if ((status = pd_upload_reals(context, &g->damping, set->damping, m))) goto done;
        if ((status = pd_memory_create(context, (void **)&g->damping_hessian, m * entries * sizeof(real)))) goto done;
    }
    out->n_partial_sums = 2 * (largest / PD_SUM_BLOCK + 1);
    if ((status = pd_upload_reals(context, &out->masses, description->masses, n))) goto done;
    if ((status = pd_upload(context, (void **)&out->fixed, description->fixed, n))) goto done;
    if (description->subspace && (status = pd_upload_reals(context, &out->subspace, description->subspace, n * 9))) goto done;
    if ((status = pd_upload(context, (void **)&out->corner_start, corners->start, (n + 1) * sizeof(int)))) goto done;
    if ((status = pd_upload(context, (void **)&out->corners, corners->corners, (size_t)corners->n_corners * sizeof(int)))) goto done;
    if ((status = pd_memory_create(context, (void **)&out->corner_forces, (size_t)corners->n_corners * 3 * sizeof(real)))) goto done;
    if ((status = pd_memory_create(context, (void **)&out->partial_sums, (size_t)out->n_partial_sums * sizeof(double)))) goto done;
    status = pd_damping_rows_create(out, context, description, corners);

done:
    if (status) pd_model_destroy(out, context);
    return status;
}
