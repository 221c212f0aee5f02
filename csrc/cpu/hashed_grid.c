/* Pairs through a hashed grid on the CPU; see collision_loops.h. */
#include "cpu/append.h"
#include "cpu/context.h"

#include "collision_loops.h"

pd_status pd_grid_count(pd_context *context, pd_grid *grid, const pd_primitives *primitives, const pd_work *work, pd_grid_size *size) {
    (void)work;
    uint64_t levels = 0;
    int n = primitives->n;
#pragma omp parallel for schedule(static) num_threads(pd_threads(context, n, 50)) reduction(| : levels)
    for (int i = 0; i < n; i++) {
        int level = pd_level_of_box(&primitives->boxes[i], &grid->scene, grid->finest);
        pd_cells c = pd_cells_of_box(&primitives->boxes[i], &grid->scene, level);
        grid->level[i] = (signed char)(level - grid->finest);
        grid->first_entry[i + 1] = pd_cell_count(&c);
        levels |= (uint64_t)1 << (level - grid->finest);
    }
    grid->first_entry[0] = 0;
    for (int i = 0; i < n; i++) grid->first_entry[i + 1] += grid->first_entry[i];
    *size = (pd_grid_size){levels, (uint64_t)grid->first_entry[n]};
    return PD_OK;
}

pd_status pd_grid_fill(pd_context *context, pd_grid *grid, const pd_primitives *primitives) {
    int n = primitives->n;
#pragma omp parallel for schedule(static) num_threads(pd_threads(context, n, 100))
    for (int i = 0; i < n; i++) {
        int level = grid->finest + grid->level[i], entry = grid->first_entry[i];
        pd_cells c = pd_cells_of_box(&primitives->boxes[i], &grid->scene, level);
        for (int x = c.low[0]; x <= c.high[0]; x++)
            for (int y = c.low[1]; y <= c.high[1]; y++)
                for (int z = c.low[2]; z <= c.high[2]; z++)
                    grid->entries[entry++] =
                        (uint64_t)pd_cell_hash(x, y, z, level, grid->hash_bits) << primitives->index_bits | (uint64_t)i;
    }
    return PD_OK;
}

pd_status pd_grid_index(pd_context *context, pd_grid *grid, size_t n_entries, int index_bits) {
    size_t n_buckets = (size_t)1 << grid->hash_bits;
#pragma omp parallel for schedule(static) num_threads(pd_threads(context, (long long)n_entries, 5))
    for (size_t i = 0; i <= n_entries; i++) {
        size_t from = i > 0 ? (size_t)(grid->entries[i - 1] >> index_bits) + 1 : 0;
        size_t to = i < n_entries ? (size_t)(grid->entries[i] >> index_bits) : n_buckets;
        for (size_t bucket = from; bucket <= to; bucket++) grid->bucket_start[bucket] = (int)i;
    }
    return PD_OK;
}

pd_status pd_grid_pairs(pd_context *context, const pd_grid *query_grid, const pd_primitives *query, const pd_grid *target_grid,
                        const pd_primitives *target, int own, int swapped, pd_pair_buffer *out) {
    uint64_t mask = ((uint64_t)1 << target->index_bits) - 1;
    int n = target->n > 0 ? query->n : 0;
#pragma omp parallel num_threads(pd_threads(context, n, 500))
    {
        pd_appender appender = {.out = out};
#pragma omp for schedule(dynamic, 256)
        for (int i = 0; i < n; i++) {
            const pd_box box = query->boxes[i];
            for (int above = query_grid->level[i] + swapped; above < 64; above++) {
                if (!(target_grid->levels >> above)) break;
                if (!(target_grid->levels >> above & 1)) continue;
                int level = target_grid->finest + above, cell[3];
                double per_metre = pd_cells_per_metre(level);
                pd_cells c = pd_cells_of_box(&box, &target_grid->scene, level);
                for (cell[0] = c.low[0]; cell[0] <= c.high[0]; cell[0]++)
                    for (cell[1] = c.low[1]; cell[1] <= c.high[1]; cell[1]++)
                        for (cell[2] = c.low[2]; cell[2] <= c.high[2]; cell[2]++) {
                            uint32_t bucket = pd_cell_hash(cell[0], cell[1], cell[2], level, target_grid->hash_bits);
                            int start = target_grid->bucket_start[bucket], end = target_grid->bucket_start[bucket + 1];
                            for (int e = start; e < end; e++) {
                                /* two cells of one primitive in the same bucket */
                                if (e > start && target_grid->entries[e] == target_grid->entries[e - 1]) continue;
                                int j = (int)(target_grid->entries[e] & mask);
                                if (own && j <= i && above == query_grid->level[i]) continue;
                                if (!pd_boxes_overlap(&box, &target->boxes[j]) || target_grid->level[j] != above) continue;
                                if (!pd_may_collide(query, i, target, j)) continue; /* before what takes longer */
                                if (!pd_boxes_share_in_cell(&box, &target->boxes[j], &target_grid->scene, per_metre, cell)) continue;
                                if (own)
                                    pd_append_ordered(&appender, i, j);
                                else
                                    pd_append(&appender, swapped ? j : i, swapped ? i : j);
                            }
                        }
            }
        }
        pd_append_flush(&appender);
    }
    return PD_OK;
}
