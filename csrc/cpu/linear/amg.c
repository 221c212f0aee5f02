/* The loops of smoothed aggregation; see loops/amg_loops.h. */
#include "updates/linear/amg.h"

#include "cpu/context.h"

pd_status pd_amg_invert(pd_context *context, const pd_node_matrix *matrix, const pd_amg_level *level) {
#pragma omp parallel for num_threads(pd_threads(context, level->n, 30 * level->numbers)) schedule(static)
    for (int i = 0; i < level->n; i++) PD_AMG_SIZES(level, pd_amg_invert_node(matrix, level, i, numbers));
    return PD_OK;
}

pd_status pd_amg_weigh(pd_context *context, const pd_node_matrix *matrix, const pd_amg_level *level) {
#pragma omp parallel for num_threads(pd_threads(context, level->n_entries, 10 * level->numbers)) schedule(static)
    for (int i = 0; i < level->n; i++) PD_AMG_SIZES(level, pd_amg_weigh_node(matrix, level, i, numbers));
    return PD_OK;
}

pd_status pd_amg_coarsen(pd_context *context, const pd_node_matrix *matrix, const pd_amg_level *level) {
    int team = pd_threads(context, level->n_entries, 50 * level->numbers);
#pragma omp parallel for num_threads(team) schedule(static)
    for (int i = 0; i < level->n; i++) PD_AMG_SIZES(level, pd_amg_extension_row(matrix, level, i, numbers, coarser));
#pragma omp parallel for num_threads(team) schedule(static)
    for (int i = 0; i < level->n; i++) PD_AMG_SIZES(level, pd_amg_product_row(matrix, level, i, numbers, coarser, 0, 1));
#pragma omp parallel for num_threads(team) schedule(static)
    for (int k = 0; k < level->n_aggregates; k++) PD_AMG_SIZES(level, pd_amg_coarser_row(level, k, numbers, coarser, 0, 1));
    return PD_OK;
}

pd_status pd_amg_relax(pd_context *context, const pd_amg_level *level, int columns, const real *r, const real *q, real *z) {
#pragma omp parallel for num_threads(pd_threads(context, level->n, 5 * level->numbers)) schedule(static)
    for (int i = 0; i < level->n; i++) PD_AMG_SIZES(level, pd_amg_relax_node(level, columns, i, r, q, z, numbers));
    return PD_OK;
}

pd_status pd_amg_multiply(pd_context *context, const pd_amg_level *level, int columns, const real *z, real *q) {
#pragma omp parallel for num_threads(pd_threads(context, level->n_entries, 3 * level->numbers)) schedule(static)
    for (int i = 0; i < level->n; i++) PD_AMG_SIZES(level, pd_amg_multiply_node(level, columns, i, z, q, numbers));
    return PD_OK;
}

pd_status pd_amg_restrict(pd_context *context, const pd_amg_level *level, int columns, const real *r, const real *q, real *coarse) {
#pragma omp parallel for num_threads(pd_threads(context, level->n, 30 * level->numbers)) schedule(static)
    for (int k = 0; k < level->n_aggregates; k++)
        for (int column = 0; column < columns; column++)
            PD_AMG_SIZES(level, pd_amg_restrict_row(level, columns, k, column, r, q, coarse, numbers, coarser, 0, 1));
    return PD_OK;
}

pd_status pd_amg_extend(pd_context *context, const pd_amg_level *level, int columns, const real *coarse, real *z) {
#pragma omp parallel for num_threads(pd_threads(context, level->n, 20 * level->numbers)) schedule(static)
    for (int i = 0; i < level->n; i++) PD_AMG_SIZES(level, pd_amg_extend_node(level, columns, i, coarse, z, numbers, coarser));
    return PD_OK;
}
