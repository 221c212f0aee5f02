/* Selection of active pairs from the candidates of a broad phase on CUDA, one thread each; see proximity_loops.h. */
#include "cuda/append.cuh"
#include "cuda/detection/work.cuh"
#include "cuda/largest.cuh"

#include "updates/detection/candidate_update.h"

static __device__ __forceinline__ size_t item_of_thread() { return (size_t)blockIdx.x * PD_THREADS + threadIdx.x; }

static __global__ void embed_kernel(int n, const int *rows, const real *weights, const real *x, real *y) {
    size_t i = item_of_thread();
    if (i < (size_t)n) pd_embedded_point(rows + 4 * i, weights + 4 * i, x, y + 3 * i);
}

pd_status pd_embed_points(pd_context *context, int n, const int *rows, const real *weights, const real *x, real *y) {
    PD_LAUNCH(context, embed_kernel, n, n, rows, weights, x, y);
    return PD_OK;
}

static __global__ void move_kernel(int n, const int *rows, const real *x, const real *previous, double *move) {
    size_t i = item_of_thread();
    double square = 0.0, largest = 0.0;
    if (i < (size_t)n) {
        size_t row = 3 * (rows ? (size_t)rows[i] : i);
        square = pd_most_of(0.0, pd_move_square(x + row, previous + row)), largest = pd_most_of(0.0, (double)pd_largest(x + row, 3));
    }
    for (int shift = PD_WARP / 2; shift > 0; shift /= 2) {
        square = pd_most_of(square, __shfl_xor_sync(PD_ALL_LANES, square, shift));
        largest = pd_most_of(largest, __shfl_xor_sync(PD_ALL_LANES, largest, shift));
    }
    if (pd_lane() > 0) return;
    pd_keep_largest(&move[0], square);
    pd_keep_largest(&move[1], largest);
}

pd_status pd_largest_move(pd_context *context, int n, const int *rows, const real *x, const real *previous, double *move) {
    pd_status status = pd_memory_clear(context, move, 2 * sizeof *move);
    if (status) return status;
    PD_LAUNCH(context, move_kernel, n, n, rows, x, previous, move);
    return PD_OK;
}

/* ---- candidates --------------------------------------------------------------------------------------------------------------- */

static __global__ void support_kernel(pd_candidates candidates, const real *y, real limit, unsigned char *support) {
    size_t row = item_of_thread();
    if (row >= candidates.n) return;
    if (!pd_candidate_exists(&candidates, row)) {
        support[row] = 0;
        return;
    }
    pd_candidate candidate = pd_candidate_of(&candidates, row);
    real x[12];
    pd_gather_corners(y, candidate.points, x);
    limit += pd_candidate_radius(&candidates, &candidate);
    if (candidate.kind == PD_CONTACT_VERTEX_COLLIDER) {
        pd_surface_point surface;
        if (candidates.planes)
            surface.distance = pd_candidate_height(&candidates, y, candidate.first, candidate.second);
        else
            pd_collider_query(&candidates.colliders[candidate.first], x, &surface);
        support[row] = surface.distance <= limit;
        return;
    }
    pd_closest closest;
    if (candidate.kind == PD_CONTACT_EDGE_EDGE)
        pd_edge_edge_closest(x, &closest);
    else
        pd_vertex_triangle_closest(x, &closest);
    support[row] = closest.distance <= limit ? (unsigned char)pd_support_of_weights(closest.weights) : (unsigned char)0;
}

pd_status pd_candidate_support(pd_context *context, const pd_candidates *candidates, const real *y, real limit, unsigned char *support) {
    PD_LAUNCH(context, support_kernel, (long long)candidates->n, *candidates, y, limit, support);
    return PD_OK;
}

static __global__ void points_kernel(pd_candidates candidates, size_t first, int n, int *points) {
    size_t i = item_of_thread();
    if (i >= (size_t)n || !pd_candidate_exists(&candidates, first + i)) return;
    pd_candidate candidate = pd_candidate_of(&candidates, first + i);
    for (size_t j = 0; j < 4; j++) points[4 * i + j] = candidate.points[j];
}

pd_status pd_candidate_points(pd_context *context, const pd_candidates *candidates, size_t first, int n, int *points) {
    PD_LAUNCH(context, points_kernel, n, *candidates, first, n, points);
    return PD_OK;
}

/* ---- selections ---------------------------------------------------------------------------------------------------------------- */

static __global__ void count_warp_kernel(size_t n, const unsigned char *flags, int *starts) {
    size_t i = item_of_thread();
    unsigned lanes = __ballot_sync(PD_ALL_LANES, i < n && flags[i]);
    if (i < n && pd_lane() == 0) starts[i / PD_WARP] = __popc(lanes);
}

/* starts [n_warps+1]: scanned */
static __global__ void select_kernel(size_t n, const unsigned char *flags, const int *starts, size_t capacity, int *rows) {
    size_t i = item_of_thread();
    bool mine = i < n && flags[i];
    unsigned lanes = __ballot_sync(PD_ALL_LANES, mine);
    if (!mine) return;
    size_t slot = (size_t)starts[i / PD_WARP] + (size_t)__popc(lanes & ((1u << pd_lane()) - 1u));
    if (slot < capacity) rows[slot] = (int)i;
}

static __global__ void found_kernel(size_t n_warps, const int *starts, uint64_t *found) { *found = (uint64_t)starts[n_warps]; }

pd_status pd_select_rows(pd_context *context, size_t n, const unsigned char *flags, int *starts, const pd_work *work, size_t capacity,
                         int *rows, uint64_t *found) {
    if (n == 0) return pd_memory_clear(context, found, sizeof *found); // flags and starts may be unallocated
    size_t n_warps = (n + PD_WARP - 1) / PD_WARP;
    PD_LAUNCH(context, count_warp_kernel, (long long)n, n, flags, starts);
    pd_status status = pd_scan(context, (int)n_warps, work, starts);
    if (status) return status;
    PD_LAUNCH(context, select_kernel, (long long)n, n, flags, starts, capacity, rows);
    PD_LAUNCH_SHAPE(context, found_kernel, 1u, 1u, n_warps, starts, found);
    return PD_OK;
}

static __global__ void active_kernel(pd_candidates candidates, const int *rows, pd_active_pairs active) {
    size_t i = item_of_thread();
    if (i >= pd_counted(active.capacity, active.count)) return;
    pd_candidate candidate = pd_candidate_of(&candidates, (size_t)rows[i]);
    active.kind[i] = pd_contact_pair(candidate.kind);
    active.key[i] = pd_candidate_key(&candidate);
    for (size_t j = 0; j < 4; j++) active.points[4 * i + j] = candidate.points[j];
}

pd_status pd_active_fill(pd_context *context, const pd_candidates *candidates, const int *rows, pd_active_pairs *active) {
    PD_LAUNCH(context, active_kernel, (long long)active->capacity, *candidates, rows, *active);
    return PD_OK;
}

static __global__ void measure_kernel(size_t n, const int *chosen, pd_candidates candidates, const int *rows, real limit,
                                      const unsigned char *support, pd_active_pairs active, const real *y, const int *owner,
                                      const int *collider_owner, pd_contact_measures out) {
    size_t to = item_of_thread();
    if (to >= n) return;
    size_t from = chosen ? (size_t)chosen[to] : to, row = (size_t)rows[from];
    const int *points = active.points + 4 * from;
    int kind = pd_contact_of_key(active.key[from]), owners[2] = {owner[points[0]], 0};
    real x[12], distance;
    pd_contact_point point;
    pd_gather_corners(y, points, x);
    if (kind == PD_CONTACT_VERTEX_COLLIDER) {
        pd_surface_point surface;
        int collider = (int)(active.key[from] >> 31 & 0x7fffffff);
        pd_collider_query(&candidates.colliders[collider], x, &surface);
        pd_contact_point_of_collider(x, &surface, &point);
        distance = surface.distance;
        owners[1] = collider_owner[collider];
    } else {
        pd_closest closest;
        int n_first = pd_contact_n_first(kind);
        if (kind == PD_CONTACT_EDGE_EDGE)
            pd_edge_edge_closest(x, &closest);
        else
            pd_vertex_triangle_closest(x, &closest);
        pd_contact_point_of_pair(n_first, x, &closest, &point);
        distance = closest.distance;
        owners[1] = owner[points[n_first]];
    }
    pd_contact_write(&out, to, &active, from, support[row], pd_min(distance, limit), &point, owners);
}

pd_status pd_measure_pairs(pd_context *context, size_t n, const int *chosen, const pd_candidates *candidates, const int *rows, real limit,
                           const unsigned char *support, const pd_active_pairs *active, const real *y, const int *owner,
                           const int *collider_owner, const pd_contact_measures *out) {
    PD_LAUNCH(context, measure_kernel, (long long)n, n, chosen, *candidates, rows, limit, support, *active, y, owner, collider_owner, *out);
    return PD_OK;
}

/* ---- nearest features ----------------------------------------------------------------------------------------------------------- */

static __global__ void name_kernel(size_t n, pd_side_names sides, pd_active_pairs active, const int *rows, const unsigned char *support,
                                   uint64_t *names) {
    size_t i = item_of_thread();
    if (i < n) names[i] = pd_nearest_name(&sides, active.key[i], support[rows[i]], active.points + 4 * i);
}

pd_status pd_nearest_names(pd_context *context, size_t n, const pd_side_names *sides, const pd_active_pairs *active, const int *rows,
                           const unsigned char *support, uint64_t *names) {
    PD_LAUNCH(context, name_kernel, (long long)n, n, *sides, *active, rows, support, names);
    return PD_OK;
}

static __global__ void nearest_key_kernel(size_t n, const uint64_t *names, int fresh, int part, int low_bits, int index_bits,
                                          uint64_t *keys) {
    size_t i = item_of_thread();
    if (i >= n) return;
    size_t pair = fresh ? i : (size_t)(keys[i] & (((uint64_t)1 << index_bits) - 1));
    keys[i] = pd_nearest_part(names[pair], part, low_bits) << index_bits | (uint64_t)pair;
}

pd_status pd_nearest_keys(pd_context *context, size_t n, const uint64_t *names, int fresh, int part, int low_bits, int index_bits,
                          uint64_t *keys) {
    PD_LAUNCH(context, nearest_key_kernel, (long long)n, n, names, fresh, part, low_bits, index_bits, keys);
    return PD_OK;
}

static __global__ void first_kernel(size_t n, const uint64_t *names, int index_bits, const uint64_t *keys, unsigned char *first) {
    size_t i = item_of_thread();
    if (i >= n) return;
    uint64_t mask = ((uint64_t)1 << index_bits) - 1, pair = keys[i] & mask, name = names[pair];
    first[pair] = name == 0 || i == 0 || names[keys[i - 1] & mask] != name;
}

pd_status pd_mark_first(pd_context *context, size_t n, const uint64_t *names, int index_bits, const uint64_t *keys, unsigned char *first) {
    PD_LAUNCH(context, first_kernel, (long long)n, n, names, index_bits, keys, first);
    return PD_OK;
}

/* ---- incidence ---------------------------------------------------------------------------------------------------------------- */

static __global__ void role_kernel(size_t n, pd_active_pairs active, int n_points, int role_bits, uint64_t *keys) {
    size_t role = item_of_thread();
    if (role >= 4 * n) return;
    int point = role / 4 < pd_counted(n, active.count) ? active.points[role] : -1;
    keys[role] = (uint64_t)(point < 0 ? n_points : point) << role_bits | (uint64_t)role;
}

/* Each role, and the end, writes the starts of the points after its predecessor's, up to its own. */
static __global__ void role_start_kernel(size_t n, int n_points, int role_bits, const uint64_t *keys, pd_incidence out) {
    size_t i = item_of_thread();
    if (i > n) return;
    int from = i > 0 ? (int)(keys[i - 1] >> role_bits) + 1 : 0, to = i < n ? (int)(keys[i] >> role_bits) : n_points;
    for (int point = from; point <= to; point++) out.start[point] = (int)i;
    if (i < n) out.roles[i] = (int)(keys[i] & (((uint64_t)1 << role_bits) - 1));
}

size_t pd_role_keys(size_t n) { return 4 * n; }

pd_status pd_role_lists(pd_context *context, size_t n, const pd_active_pairs *active, int n_points, int role_bits, int point_bits,
                        uint64_t *keys, uint64_t *scratch, const pd_work *work, pd_incidence *out) {
    size_t n_roles = 4 * n;
    PD_LAUNCH(context, role_kernel, (long long)n_roles, n, *active, n_points, role_bits, keys);
    pd_status status = pd_sort_keys(context, n_roles, role_bits, role_bits + point_bits, keys, scratch, work);
    if (status) return status;
    PD_LAUNCH(context, role_start_kernel, (long long)n_roles + 1, n_roles, n_points, role_bits, keys, *out);
    return PD_OK;
}
