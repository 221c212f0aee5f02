/* Pairs through a hashed grid on CUDA; see collision_loops.h. */
#include "cuda/append.cuh"
#include "cuda/detection/work.cuh"

static __global__ void count_kernel(pd_grid grid, pd_primitives primitives, unsigned long long *levels) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    unsigned long long bit = 0;
    if (i < primitives.n) {
        pd_box box = primitives.boxes[i];
        int level = pd_level_of_box(&box, &grid.scene, grid.finest);
        pd_cells cells = pd_cells_of_box(&box, &grid.scene, level);
        grid.level[i] = (signed char)(level - grid.finest);
        grid.first_entry[i] = pd_cell_count(&cells);
        bit = 1ull << (level - grid.finest);
    }
    for (int shift = PD_WARP / 2; shift > 0; shift /= 2) bit |= __shfl_xor_sync(PD_ALL_LANES, bit, shift);
    if (pd_lane() == 0) atomicOr(levels, bit);
}

static __global__ void entries_kernel(int n, const int *first_entry, uint64_t *n_entries) { *n_entries = (uint64_t)first_entry[n]; }

pd_status pd_grid_count(pd_context *context, pd_grid *grid, const pd_primitives *primitives, const pd_work *work, pd_grid_size *size) {
    int n = primitives->n;
    pd_status status = pd_memory_clear(context, size, sizeof *size);
    if (status) return status;
    PD_LAUNCH(context, count_kernel, n, *grid, *primitives, (unsigned long long *)&size->levels);
    status = pd_scan(context, n, work, grid->first_entry);
    if (status) return status;
    PD_LAUNCH_SHAPE(context, entries_kernel, 1u, 1u, n, grid->first_entry, &size->n_entries);
    return PD_OK;
}

static __global__ void fill_kernel(pd_grid grid, pd_primitives primitives) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= primitives.n) return;
    int level = grid.finest + grid.level[i], entry = grid.first_entry[i];
    pd_cells cells = pd_cells_of_box(&primitives.boxes[i], &grid.scene, level);
    for (int x = cells.low[0]; x <= cells.high[0]; x++)
        for (int y = cells.low[1]; y <= cells.high[1]; y++)
            for (int z = cells.low[2]; z <= cells.high[2]; z++)
                grid.entries[entry++] = (uint64_t)pd_cell_hash(x, y, z, level, grid.hash_bits) << primitives.index_bits | (uint64_t)i;
}

pd_status pd_grid_fill(pd_context *context, pd_grid *grid, const pd_primitives *primitives) {
    PD_LAUNCH(context, fill_kernel, primitives->n, *grid, *primitives);
    return PD_OK;
}

/* One thread per bucket, and for the end, searches the first entry that is not before it. An empty bucket costs as much as a full one,
 * also when few entries share the buckets of a large scene. */
static __global__ void index_kernel(pd_grid grid, size_t n_entries, int index_bits) {
    size_t bucket = (size_t)blockIdx.x * PD_THREADS + threadIdx.x, first = 0, end = n_entries;
    if (bucket > (size_t)1 << grid.hash_bits) return;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if ((size_t)(grid.entries[middle] >> index_bits) < bucket)
            first = middle + 1;
        else
            end = middle;
    }
    grid.bucket_start[bucket] = (int)first;
}

pd_status pd_grid_index(pd_context *context, pd_grid *grid, size_t n_entries, int index_bits) {
    PD_LAUNCH(context, index_kernel, ((long long)1 << grid->hash_bits) + 1, *grid, n_entries, index_bits);
    return PD_OK;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------------- */

/* The state of a primitive that searches all its cells on its own and coarser levels. */
struct grid_walk {
    pd_cells cells; // on level finest + above
    int above, cell, n_cells;
    int x, y, z; // the cell, whose remaining entries are at .. end - 1
    int at, end;
    uint64_t last; // last entry read in this cell
};

/* Goes to the next cell, which may have no entries; 0: none left. */
static __device__ __forceinline__ bool next_cell(grid_walk &walk, const pd_grid &grid, const pd_box &box) {
    if (++walk.cell >= walk.n_cells) {
        do {
            walk.above++;
            if (walk.above >= 64 || !(grid.levels >> walk.above)) return false;
        } while (!(grid.levels >> walk.above & 1));
        walk.cells = pd_cells_of_box(&box, &grid.scene, grid.finest + walk.above);
        walk.n_cells = pd_cell_count(&walk.cells);
        walk.cell = 0;
    }
    int ny = walk.cells.high[1] - walk.cells.low[1] + 1, nz = walk.cells.high[2] - walk.cells.low[2] + 1;
    walk.x = walk.cells.low[0] + walk.cell / (ny * nz);
    walk.y = walk.cells.low[1] + walk.cell / nz % ny;
    walk.z = walk.cells.low[2] + walk.cell % nz;
    uint32_t bucket = pd_cell_hash(walk.x, walk.y, walk.z, grid.finest + walk.above, grid.hash_bits);
    walk.at = grid.bucket_start[bucket];
    walk.end = grid.bucket_start[bucket + 1];
    walk.last = ~(uint64_t)0;
    return true;
}

static __global__ void grid_pairs_kernel(pd_grid query_grid, pd_primitives query, pd_grid target_grid, pd_primitives target, int within,
                                         int swapped, pd_pair_buffer out) {
    int q = (int)(blockIdx.x * PD_THREADS + threadIdx.x), i = q < query.n ? q : 0, level = query_grid.level[i];
    uint64_t mask = ((uint64_t)1 << target.index_bits) - 1;
    bool looking = q < query.n;
    pd_box box = query.boxes[i];
    grid_walk walk = {};
    walk.above = level + swapped - 1;
    pd_appender appender = pd_append_begin();
    while (__any_sync(PD_ALL_LANES, looking)) {
        bool pair = false;
        int j = 0;
        if (looking && walk.at == walk.end) looking = next_cell(walk, target_grid, box);
        if (looking && walk.at < walk.end) {
            uint64_t entry = target_grid.entries[walk.at++];
            j = (int)(entry & mask);
            // two cells of one primitive may be in the same bucket
            pair = entry != walk.last && target_grid.level[j] == walk.above && !(within && walk.above == level && j <= i);
            walk.last = entry;
            if (pair) {
                pd_box other = target.boxes[j];
                const int cell[3] = {walk.x, walk.y, walk.z};
                pair =
                    pd_boxes_overlap(&box, &other) &&
                    pd_boxes_share_in_cell(&box, &other, &target_grid.scene, pd_cells_per_metre(target_grid.finest + walk.above), cell) &&
                    pd_may_collide(&query, i, &target, j);
            }
        }
        uint64_t key = within ? pd_ordered_key(out, i, j) : pd_pair_key(out, swapped ? j : i, swapped ? i : j);
        pd_append(appender, pair, key, out);
    }
    pd_append_end(appender, out);
}

pd_status pd_grid_pairs(pd_context *context, const pd_grid *query_grid, const pd_primitives *query, const pd_grid *target_grid,
                        const pd_primitives *target, int within, int swapped, pd_pair_buffer *out) {
    PD_LAUNCH(context, grid_pairs_kernel, target->n > 0 ? query->n : 0, *query_grid, *query, *target_grid, *target, within, swapped, *out);
    return PD_OK;
}
