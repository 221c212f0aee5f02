/* Pairs through a hashed grid on the CPU; see collision_loops.h. */
#include "cpu/detection/leaf_pairs.h"

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

/* Two kinds of primitives, or one kind twice, and their grids, which use the same hashes. */
typedef struct sides {
    const pd_grid *query_grid, *target_grid;
    const pd_primitives *query, *target;
} sides;

/* Loads the next of a bucket's entries as a chunk, from `entry` on; returns the next entry. A primitive with two cells in the bucket is
 * taken once: its entries are neighbours. */
static int load_chunk(pd_chunk *chunk, const pd_grid *grid, const pd_primitives *primitives, int start, int entry, int end) {
    uint64_t mask = ((uint64_t)1 << primitives->index_bits) - 1;
    int items[CHUNK], n = 0;
    for (; entry < end && n < CHUNK; entry++)
        if (entry == start || grid->entries[entry] != grid->entries[entry - 1]) items[n++] = (int)(grid->entries[entry] & mask);
    chunk_fill(chunk, primitives, items, n);
    return entry;
}

/* The pairs of two leaves on the same level. Each pair is found in one bucket only: that of the cell with the lower corner of the
 * intersection of the two boxes. */
static void pairs_in_cell(pd_appender *appender, const sides *s, const pd_leaf *a, const pd_leaf *b, const pd_box *box_b, uint32_t bucket) {
    int within = s->query == s->target;
    for (uint64_t found = leaves_overlap(a, s->query->k, b, s->target->k, box_b); found; found &= found - 1) {
        int bit = __builtin_ctzll(found), i = bit / LANES, j = bit % LANES, cell[3];
        int above = s->query_grid->level[a->items[i]], level = s->query_grid->finest + above;
        if (s->target_grid->level[b->items[j]] != above || !pd_tags_may_collide(a->tags[i], b->tags[j])) continue;
        double per_metre = pd_cells_per_metre(level);
        for (int axis = 0; axis < 3; axis++)
            cell[axis] = pd_cell_of(pd_max(a->boxes.low[axis][i], b->boxes.low[axis][j]), s->query_grid->scene.low[axis], per_metre);
        if (pd_cell_hash(cell[0], cell[1], cell[2], level, s->query_grid->hash_bits) != bucket) continue;
        if (within)
            pd_append_ordered(appender, a->items[i], b->items[j]);
        else
            pd_append(appender, a->items[i], b->items[j]);
    }
}

/* of_a and of_b: scratch. */
static void pairs_in_bucket(pd_appender *appender, const sides *s, pd_chunk *of_a, pd_chunk *of_b, uint32_t bucket) {
    int within = s->query == s->target, start_a = s->query_grid->bucket_start[bucket], end_a = s->query_grid->bucket_start[bucket + 1];
    int start_b = s->target_grid->bucket_start[bucket], end_b = s->target_grid->bucket_start[bucket + 1];
    if (start_b == end_b) return;
    for (int a = start_a; a < end_a;) {
        a = load_chunk(of_a, s->query_grid, s->query, start_a, a, end_a);
        for (int i = 0; within && i < of_a->n; i++)
            for (int j = i; j < of_a->n; j++) pairs_in_cell(appender, s, &of_a->leaves[i], &of_a->leaves[j], &of_a->boxes[j], bucket);
        for (int b = within ? a : start_b; b < end_b;) {
            b = load_chunk(of_b, s->target_grid, s->target, start_b, b, end_b);
            for (int i = 0; i < of_a->n; i++)
                for (int j = 0; j < of_b->n; j++) pairs_in_cell(appender, s, &of_a->leaves[i], &of_b->leaves[j], &of_b->boxes[j], bucket);
        }
    }
}

/* Pairs of a primitive with those on coarser levels. */
static void pairs_above(pd_appender *appender, const sides *s, int i, int swapped) {
    const pd_grid *grid = s->target_grid;
    const pd_primitives *target = s->target;
    uint64_t mask = ((uint64_t)1 << target->index_bits) - 1;
    const pd_box box = s->query->boxes[i];
    for (int above = s->query_grid->level[i] + 1; above < 64; above++) {
        if (!(grid->levels >> above)) break;
        if (!(grid->levels >> above & 1)) continue;
        int level = grid->finest + above, cell[3];
        double per_metre = pd_cells_per_metre(level);
        pd_cells c = pd_cells_of_box(&box, &grid->scene, level);
        for (cell[0] = c.low[0]; cell[0] <= c.high[0]; cell[0]++)
            for (cell[1] = c.low[1]; cell[1] <= c.high[1]; cell[1]++)
                for (cell[2] = c.low[2]; cell[2] <= c.high[2]; cell[2]++) {
                    uint32_t bucket = pd_cell_hash(cell[0], cell[1], cell[2], level, grid->hash_bits);
                    int start = grid->bucket_start[bucket], end = grid->bucket_start[bucket + 1];
                    for (int e = start; e < end; e++) {
                        /* two cells of one primitive in the same bucket */
                        if (e > start && grid->entries[e] == grid->entries[e - 1]) continue;
                        int j = (int)(grid->entries[e] & mask);
                        if (!pd_boxes_overlap(&box, &target->boxes[j]) || grid->level[j] != above) continue;
                        if (!pd_may_collide(s->query, i, target, j)) continue; /* cheaper than the tests below */
                        if (!pd_boxes_share_in_cell(&box, &target->boxes[j], &grid->scene, per_metre, cell)) continue;
                        if (s->query == target)
                            pd_append_ordered(appender, i, j);
                        else
                            pd_append(appender, swapped ? j : i, swapped ? i : j);
                    }
                }
    }
}

/* On the same level bucket by bucket, eight against eight. For other levels, the finer primitive searches the coarser grid. */
pd_status pd_grid_pairs(pd_context *context, const pd_grid *query_grid, const pd_primitives *query, const pd_grid *target_grid,
                        const pd_primitives *target, int within, int swapped, pd_pair_buffer *out) {
    const sides s = {query_grid, target_grid, query, target};
    int n = target->n > 0 ? query->n : 0, n_buckets = n > 0 && !swapped ? 1 << query_grid->hash_bits : 0;
    (void)within;
#pragma omp parallel num_threads(pd_threads(context, n, 500))
    {
        pd_appender appender = {.out = out};
        pd_chunk of_a = {0}, of_b = {0};
#pragma omp for schedule(dynamic, 256) nowait
        for (int bucket = 0; bucket < n_buckets; bucket++) pairs_in_bucket(&appender, &s, &of_a, &of_b, (uint32_t)bucket);
#pragma omp for schedule(dynamic, 256)
        for (int i = 0; i < n; i++) pairs_above(&appender, &s, i, swapped);
        pd_append_flush(&appender);
    }
    return PD_OK;
}
