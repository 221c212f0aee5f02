/* Selection of active pairs from the candidates of a broad phase on the CPU; see proximity_loops.h. */
#include "cpu/context.h"

#include "cpu/geometry/collider_point.h"
#include "geometry/closest_estimate.h"
#include "updates/detection/candidate_update.h"

#include <string.h>

/* The work per pair varies widely: small pieces with a dynamic schedule. Each result has its own place, so the order has no effect. */
enum { NANOSECONDS = 50, LANES = 16, BLOCKS = 32, MOST_PARTS = 64 };

/* Parts of the points whose roles are listed together. Each part reads all roles. */
enum { MOST_READERS = 8 };

pd_status pd_embed_points(pd_context *context, int n, const int *rows, const real *weights, const real *x, real *y) {
#pragma omp parallel for num_threads(pd_threads(context, n, 10)) schedule(static)
    for (int i = 0; i < n; i++) pd_embedded_point(rows + 4 * (size_t)i, weights + 4 * (size_t)i, x, y + 3 * (size_t)i);
    return PD_OK;
}

pd_status pd_largest_move(pd_context *context, int n, const int *rows, const real *x, const real *previous, double *move) {
    double square = 0.0, largest = 0.0;
#pragma omp parallel for num_threads(pd_threads(context, n, 5)) schedule(static) reduction(max : square, largest)
    for (int p = 0; p < n; p++) {
        size_t row = 3 * (size_t)(rows ? rows[p] : p);
        double here = pd_move_square(x + row, previous + row), size = (double)pd_largest(x + row, 3);
        square = pd_most_of(square, here);
        largest = pd_most_of(largest, size);
    }
    move[0] = square, move[1] = largest;
    return PD_OK;
}

/* ---- candidates --------------------------------------------------------------------------------------------------------------- */

/* LANES candidates of one kind, candidate l in column l. */
typedef struct lanes {
    real x[12][LANES];
    real range[LANES];   /* the limit plus the radii of both, m */
    real support[LANES]; /* pd_closest_estimate */
} lanes;

/* Columns without a candidate repeat the last one. */
PD_INLINE void gather(const pd_candidates *candidates, const real *y, size_t first, int count, real limit, lanes *out) {
    for (int l = 0; l < LANES; l++) {
        pd_candidate candidate = pd_candidate_of(candidates, first + (size_t)(l < count ? l : count - 1));
        for (int j = 0; j < 4; j++) {
            const real *x = y + 3 * (size_t)candidate.points[j];
            for (int i = 0; i < 3; i++) out->x[3 * j + i][l] = x[i];
        }
        out->range[l] = limit + pd_candidate_radius(candidates, &candidate);
    }
}

PD_INLINE pd_points4 lane(real (*x)[LANES], int l) {
    return pd_points4_of(pd_vector_of(x[0][l], x[1][l], x[2][l]), pd_vector_of(x[3][l], x[4][l], x[5][l]),
                         pd_vector_of(x[6][l], x[7][l], x[8][l]), pd_vector_of(x[9][l], x[10][l], x[11][l]));
}

PD_INLINE void estimates_of_kind(int pair, lanes *lanes) {
#pragma omp simd
    for (int l = 0; l < LANES; l++) lanes->support[l] = pd_closest_estimate(pair, lane(lanes->x, l), lanes->range[l]);
}

static __attribute__((noinline)) void estimates(int pair, lanes *lanes) {
    if (pair == PD_VERTEX_TRIANGLE)
        estimates_of_kind(PD_VERTEX_TRIANGLE, lanes);
    else
        estimates_of_kind(PD_EDGE_EDGE, lanes);
}

/* The closest points of a pair: one copy of the code, so that all callers get the same bits. */
static __attribute__((noinline)) void closest_points(int pair, const real x[12], pd_closest *out) {
    if (pair == PD_VERTEX_TRIANGLE)
        pd_vertex_triangle_closest(x, out);
    else
        pd_edge_edge_closest(x, out);
}

/* The candidates of a kind without colliders: from `first` on, up to n. */
static void support_of_kind(pd_context *context, const pd_candidates *candidates, const real *y, int pair, size_t first, size_t capacity,
                            const uint64_t *found, real limit, unsigned char *support) {
    size_t n = pd_counted(capacity, found);
    for (size_t row = first + n; row < first + capacity; row++) support[row] = 0;
    long long blocks = (long long)((n + LANES - 1) / LANES);
#pragma omp parallel for num_threads(pd_threads(context, (long long)n, NANOSECONDS)) schedule(dynamic, BLOCKS)
    for (long long block = 0; block < blocks; block++) {
        lanes lanes;
        size_t start = (size_t)block * LANES;
        int count = n - start < LANES ? (int)(n - start) : LANES;
        gather(candidates, y, first + start, count, limit, &lanes);
        estimates(pair, &lanes);
        for (int l = 0; l < count; l++) {
            unsigned found = (unsigned)lanes.support[l];
            if (found == PD_UNDECIDED) {
                real x[12];
                pd_closest closest;
                for (int i = 0; i < 12; i++) x[i] = lanes.x[i][l];
                closest_points(pair, x, &closest);
                found = closest.distance <= lanes.range[l] ? pd_support_of_weights(closest.weights) : 0;
            }
            support[first + start + (size_t)l] = (unsigned char)found;
        }
    }
}

pd_status pd_candidate_support(pd_context *context, const pd_candidates *candidates, const real *y, real limit, unsigned char *support) {
    size_t n_vt = candidates->n_vertex_triangle, with_collider = n_vt + candidates->n_edge_edge;
    support_of_kind(context, candidates, y, PD_VERTEX_TRIANGLE, 0, n_vt, candidates->count_vertex_triangle, limit, support);
    support_of_kind(context, candidates, y, PD_EDGE_EDGE, n_vt, candidates->n_edge_edge, candidates->count_edge_edge, limit, support);
#pragma omp parallel for num_threads(pd_threads(context, (long long)(candidates->n - with_collider), 30)) schedule(static)
    for (size_t row = with_collider; row < candidates->n; row++) {
        pd_candidate candidate = pd_candidate_of(candidates, row);
        pd_surface_point found;
        if (candidates->planes)
            found.distance = pd_candidate_height(candidates, y, candidate.first, candidate.second);
        else
            pd_collider_point(&candidates->colliders[candidate.first], y + 3 * (size_t)candidate.second, &found);
        support[row] = found.distance <= limit + pd_candidate_radius(candidates, &candidate);
    }
    return PD_OK;
}

pd_status pd_candidate_points(pd_context *context, const pd_candidates *candidates, size_t first, int n, int *points) {
#pragma omp parallel for num_threads(pd_threads(context, n, 5)) schedule(static)
    for (int i = 0; i < n; i++) {
        if (!pd_candidate_exists(candidates, first + (size_t)i)) continue;
        pd_candidate candidate = pd_candidate_of(candidates, first + (size_t)i);
        for (size_t j = 0; j < 4; j++) points[4 * (size_t)i + j] = candidate.points[j];
    }
    return PD_OK;
}

/* ---- selections ---------------------------------------------------------------------------------------------------------------- */

/* Writes the indices of the nonzero flags to rows `slot` .. `end_slot` - 1. Tests eight flags together: often all are 0, and a branch
 * per flag is hard to predict. */
static void append_rows(const unsigned char *flags, size_t begin, size_t end, uint64_t slot, uint64_t end_slot, int *rows) {
    size_t i = begin;
    for (uint64_t some; end - i >= sizeof some && end_slot - slot >= sizeof some; i += sizeof some) {
        memcpy(&some, flags + i, sizeof some);
        for (size_t k = i; some && k < i + sizeof some; k++) rows[slot] = (int)k, slot += flags[k] != 0;
    }
    for (; i < end && slot < end_slot; i++)
        if (flags[i]) rows[slot++] = (int)i;
}

/* One part of the selection per thread, since the result does not depend on the number of parts. */
pd_status pd_select_rows(pd_context *context, size_t n, const unsigned char *flags, int *starts, const pd_work *work, size_t capacity,
                         int *rows, uint64_t *found) {
    uint64_t counts[MOST_PARTS + 1] = {0};
    int parts = pd_threads(context, (long long)n, 1);
    (void)starts, (void)work;
    if (parts > MOST_PARTS) parts = MOST_PARTS;
#pragma omp parallel num_threads(parts)
    {
#pragma omp for schedule(static)
        for (int part = 0; part < parts; part++) {
            size_t begin = n * (size_t)part / (size_t)parts, end = n * ((size_t)part + 1) / (size_t)parts;
            uint64_t count = 0;
            for (size_t i = begin; i < end; i++) count += flags[i] != 0;
            counts[part + 1] = count;
        }
#pragma omp single
        for (int part = 0; part < parts; part++) counts[part + 1] += counts[part];
#pragma omp for schedule(static)
        for (int part = 0; part < parts; part++) {
            size_t begin = n * (size_t)part / (size_t)parts, end = n * ((size_t)part + 1) / (size_t)parts;
            uint64_t first = counts[part] < capacity ? counts[part] : capacity;
            append_rows(flags, begin, end, first, counts[part + 1] < capacity ? counts[part + 1] : capacity, rows);
        }
    }
    *found = counts[parts];
    return PD_OK;
}

pd_status pd_active_fill(pd_context *context, const pd_candidates *candidates, const int *rows, pd_active_pairs *active) {
    size_t n = pd_counted(active->capacity, active->count);
#pragma omp parallel for num_threads(pd_threads(context, (long long)n, 10)) schedule(static)
    for (size_t i = 0; i < n; i++) {
        pd_candidate candidate = pd_candidate_of(candidates, (size_t)rows[i]);
        active->kind[i] = pd_contact_pair(candidate.kind);
        active->key[i] = pd_candidate_key(&candidate);
        for (size_t j = 0; j < 4; j++) active->points[4 * i + j] = candidate.points[j];
    }
    return PD_OK;
}

pd_status pd_measure_pairs(pd_context *context, size_t n, const int *chosen, const pd_candidates *candidates, const int *rows, real limit,
                           const unsigned char *support, const pd_active_pairs *active, const real *y, const int *owner,
                           const int *collider_owner, const pd_contact_measures *out) {
#pragma omp parallel for num_threads(pd_threads(context, (long long)n, 100)) schedule(static)
    for (size_t to = 0; to < n; to++) {
        size_t from = chosen ? (size_t)chosen[to] : to, row = (size_t)rows[from];
        const int *points = active->points + 4 * from;
        int kind = pd_contact_of_key(active->key[from]), n_first = pd_contact_n_first(kind), owners[2] = {owner[points[0]], 0};
        real x[12] = {0}, distance;
        pd_contact_point point;
        pd_gather_corners(y, points, x);
        if (kind == PD_CONTACT_VERTEX_COLLIDER) {
            pd_surface_point surface;
            int collider = (int)(active->key[from] >> 31 & 0x7fffffff);
            pd_collider_point(&candidates->colliders[collider], x, &surface);
            pd_contact_point_of_collider(x, &surface, &point);
            distance = surface.distance;
            owners[1] = collider_owner[collider];
        } else {
            pd_closest closest;
            closest_points(pd_contact_pair(kind), x, &closest);
            pd_contact_point_of_pair(n_first, x, &closest, &point);
            distance = closest.distance;
            owners[1] = owner[points[n_first]];
        }
        // use the stored distance: another copy of the code may round differently
        pd_contact_write(out, to, active, from, support[row], pd_min(distance, limit), &point, owners);
    }
    return PD_OK;
}

/* ---- nearest features ----------------------------------------------------------------------------------------------------------- */

pd_status pd_nearest_names(pd_context *context, size_t n, const pd_side_names *sides, const pd_active_pairs *active, const int *rows,
                           const unsigned char *support, uint64_t *names) {
#pragma omp parallel for num_threads(pd_threads(context, (long long)n, 10)) schedule(static)
    for (size_t i = 0; i < n; i++) names[i] = pd_nearest_name(sides, active->key[i], support[rows[i]], active->points + 4 * i);
    return PD_OK;
}

pd_status pd_nearest_keys(pd_context *context, size_t n, const uint64_t *names, int fresh, int part, int low_bits, int index_bits,
                          uint64_t *keys) {
    uint64_t mask = ((uint64_t)1 << index_bits) - 1;
#pragma omp parallel for num_threads(pd_threads(context, (long long)n, 3)) schedule(static)
    for (size_t i = 0; i < n; i++) {
        size_t pair = fresh ? i : (size_t)(keys[i] & mask);
        keys[i] = pd_nearest_part(names[pair], part, low_bits) << index_bits | (uint64_t)pair;
    }
    return PD_OK;
}

pd_status pd_mark_first(pd_context *context, size_t n, const uint64_t *names, int index_bits, const uint64_t *keys, unsigned char *first) {
    uint64_t mask = ((uint64_t)1 << index_bits) - 1;
#pragma omp parallel for num_threads(pd_threads(context, (long long)n, 10)) schedule(static)
    for (size_t i = 0; i < n; i++) {
        uint64_t pair = keys[i] & mask, name = names[pair];
        first[pair] = name == 0 || i == 0 || names[keys[i - 1] & mask] != name;
    }
    return PD_OK;
}

/* ---- incidence ---------------------------------------------------------------------------------------------------------------- */

static int part_start(int n, int part, int parts) { return (int)((long long)n * part / parts); }

/* One part of the points, first .. last - 1: reads all corners and counts its own. */
static void count_roles(const int *points, size_t n, int first, int last, int *start) {
    for (int point = first; point < last; point++) start[point] = 0;
    for (size_t role = 0; role < n; role++)
        if (points[role] >= first && points[role] < last) start[points[role]]++;
}

/* start: the place of the next role of each point. */
static void place_roles(const int *points, size_t n, int first, int last, int *start, int *roles) {
    for (size_t role = 0; role < n; role++)
        if (points[role] >= first && points[role] < last) roles[start[points[role]]++] = (int)role;
}

static void place_roles_of_none(const int *points, size_t there, size_t n, int next, int *roles) {
    for (size_t role = 0; role < n; role++)
        if (role >= there || points[role] < 0) roles[next++] = (int)role;
}

size_t pd_role_keys(size_t n) {
    (void)n;
    return 0;
}

/* Counts instead of a sort: a point has tens of roles. */
pd_status pd_role_lists(pd_context *context, size_t n, const pd_active_pairs *active, int n_points, int role_bits, int point_bits,
                        uint64_t *keys, uint64_t *scratch, const pd_work *work, pd_incidence *out) {
    const int *points = active->points;
    size_t there = 4 * pd_counted(n, active->count);
    int parts = pd_threads(context, (long long)(4 * n), 3), *start = out->start;
    (void)role_bits, (void)point_bits, (void)keys, (void)scratch, (void)work;
    if (parts > MOST_READERS) parts = MOST_READERS;
#pragma omp parallel num_threads(parts)
    {
#pragma omp for schedule(static)
        for (int part = 0; part < parts; part++)
            count_roles(points, there, part_start(n_points, part, parts), part_start(n_points, part + 1, parts), start);
#pragma omp single
        {
            int sum = 0;
            for (int point = 0; point < n_points; point++) {
                int count = start[point];
                start[point] = sum, sum += count;
            }
            start[n_points] = sum;
        }
#pragma omp for schedule(static)
        for (int part = 0; part < parts; part++)
            place_roles(points, there, part_start(n_points, part, parts), part_start(n_points, part + 1, parts), start, out->roles);
    }
    place_roles_of_none(points, there, 4 * n, start[n_points], out->roles);
    // each start has become that of the next point
    memmove(start + 1, start, (size_t)n_points * sizeof *start);
    start[0] = 0;
    return PD_OK;
}
