/* Sweeps over vertices: gradient and 3x3 block of one vertex from its elements, and its step.
 *
 * Arrays of lanes hold the bulk of most scenes: corners of tets (neo-Hookean, ARAP, co-rotated, with a target shape), StVK triangles and
 * springs. Flat hinges are sums over neighbours. All other elements use the table, one macro each. One thread updates a vertex, in a
 * fixed order of sums, so the bits do not depend on the threads. */
#include "updates/sweeps/vertex_update.h"

#include "cpu/contact/plane_lanes.h"
#include "cpu/context.h"
#include "cpu/sweeps/corner_lanes.h"
#include "cpu/sweeps/filtered_corners.h"
#include "cpu/sweeps/vertex_lanes.h"

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void) { return 0; }
#endif

_Static_assert((int)PD_SWEEP_LANES == (int)PD_DAMPING_LANES, "a group of the damping matrix is one of lanes");

enum { LANES = PD_SWEEP_LANES, STRIDE = PD_POSITION_STRIDE, AHEAD = 8 };

int pd_corner_lanes(void) { return LANES; }

/* One block per thread, in whole cache lines: too large for the stack of a thread. */
static size_t block_bytes(void) { return (sizeof(pd_vertex_block) + 63) / 64 * 64; }

size_t pd_sweep_scratch(const pd_context *context) { return (size_t)pd_context_threads(context) * block_bytes(); }

static pd_vertex_block *own_block(const pd_vertex_sweep *sweep) {
    return (pd_vertex_block *)(void *)((char *)sweep->blocks + (size_t)omp_get_thread_num() * block_bytes());
}

/* ---- groups of corners ------------------------------------------------------------------------------------------------------- */

/* The numbers of a group, and edges [3 others][LANES] = x_a - x_i, ..; prefetches the data of a later group. */
static inline __attribute__((always_inline)) const real *gather_group(const pd_corner_groups *groups, int group, const real *positions,
                                                                      const real *here, int others, int n_slots, int count,
                                                                      real (*edges)[LANES]) {
    const size_t bytes = pd_corner_group_bytes(count, n_slots, LANES);
    const char *record = groups->records + (size_t)group * bytes;
    const real *numbers = (const real *)record;
    const int *slots = (const int *)(numbers + count * LANES);
    for (size_t line = 0; line < bytes; line += 64) __builtin_prefetch(record + AHEAD * bytes + line);
    for (int j = 0; j < others; j++) pd_corner_edges(positions, slots + LANES * j, here, edges + 3 * j);
    return numbers;
}

static inline void clear_lanes(real lanes[9][LANES]) {
    for (int i = 0; i < 9; i++)
        for (int l = 0; l < LANES; l++) lanes[i][l] = 0;
}

/* Corners that need one pass over the lanes only. Inlined for each kind, with constant numbers. */
typedef void lane_corner(int stride, const real *edges, const real *numbers, real *sum);

static inline __attribute__((always_inline)) void add_corners(const pd_corner_groups *groups, const real *positions, const real *here,
                                                              int update, int others, int count, lane_corner *corner, real sum[9]) {
    real lanes[9][LANES];
    clear_lanes(lanes);
    for (int group = groups->start[update]; group < groups->start[update + 1]; group++) {
        real edges[9][LANES];
        const real *numbers = gather_group(groups, group, positions, here, others, others, count, edges);
#pragma omp simd
        for (int l = 0; l < LANES; l++) corner(LANES, &edges[0][l], numbers + l, &lanes[0][l]);
    }
    pd_corner_sums((const real(*)[LANES])lanes, sum);
}

static void add_neo_hookean(const pd_corner_groups *groups, const real *positions, const real *here, int update, real sum[9]) {
    add_corners(groups, positions, here, update, 3, PD_CORNER_NUMBERS, pd_neo_hookean_corner, sum);
}

/* Recomputes the lanes for which the closed form of the rotation is inaccurate, and those with a tension that makes its derivative
 * large. */
static void finish_rotated(real F[9][LANES], const real *numbers, const real *left, const real *good, real lanes[9][LANES]) {
    for (int l = 0; l < LANES; l++) {
        real f[9], g[3], sum[9] = {0}, weight = numbers[PD_ROTATED_WEIGHT * LANES + l], lame = numbers[PD_ROTATED_LAME * LANES + l];
        if (!(left[l] > 0)) continue;
        for (int i = 0; i < 9; i++) f[i] = F[i][l];
        for (int i = 0; i < 3; i++) g[i] = pd_rotated_own(LANES, numbers + l, i);
        pd_rotated_finish(f, g, good[l] > 0, weight, lame, sum);
        for (int i = 0; i < 9; i++) lanes[i][l] += sum[i];
    }
}

/* The roots of all lanes; those of `open` still move after the first steps. */
static inline __attribute__((always_inline)) void approach_roots(real parts[PD_ROTATED_PARTS][LANES], real open) {
    for (int iteration = (int)PD_ROTATED_FIRST_STEPS; iteration < PD_ROTATED_STEPS && open > 0; iteration++) {
        open = 0;
#pragma omp simd reduction(+ : open)
        for (int l = 0; l < LANES; l++) open += pd_rotated_approach(LANES, &parts[0][l]);
    }
}

/* The result of a lane does not depend on the others. Not inlined, since the loop over neo-Hookean corners would then lack registers. */
static __attribute__((noinline)) void add_rotated(const pd_corner_groups *groups, const real *positions, const real *here, int update,
                                                  real sum[9]) {
    real lanes[9][LANES];
    clear_lanes(lanes);
    for (int group = groups->start[update]; group < groups->start[update + 1]; group++) {
        real edges[9][LANES], F[9][LANES], parts[PD_ROTATED_PARTS][LANES], left[LANES], good[LANES], open = 0, some = 0;
        const real *numbers = gather_group(groups, group, positions, here, 3, 3, PD_ROTATED_NUMBERS, edges);
#pragma omp simd reduction(+ : open)
        for (int l = 0; l < LANES; l++) {
            pd_rotated_deformation(LANES, &edges[0][l], numbers + l, &F[0][l]);
            open += pd_rotated_begin_lane(LANES, &F[0][l], numbers + l, &parts[0][l]);
        }
        approach_roots(parts, open);
#pragma omp simd reduction(+ : some)
        for (int l = 0; l < LANES; l++)
            some += left[l] = pd_rotated_add_lane(LANES, &F[0][l], &parts[0][l], numbers + l, &lanes[0][l], good + l);
        if (some > 0) finish_rotated(F, numbers, left, good, lanes);
    }
    pd_corner_sums((const real(*)[LANES])lanes, sum);
}

/* The stretches [6][LANES] of a group's tets. */
static inline void gather_stretches(const pd_corner_groups *groups, const real *numbers, real S[6][LANES]) {
    const int *elements = (const int *)(numbers + PD_TARGET_NUMBERS * LANES) + 3 * LANES;
    for (int l = 0; l < LANES; l++) {
        const real *parameters = groups->parameters + PD_TARGET_PARAMETERS * (size_t)elements[l];
        for (int i = 0; i < 6; i++) S[i][l] = parameters[1 + i];
    }
}

/* Recomputes the lanes for which the closed form of the rotation is inaccurate. */
static void finish_targets(real F[9][LANES], real S[6][LANES], const real *numbers, const real *left, real lanes[9][LANES]) {
    for (int l = 0; l < LANES; l++) {
        real f[9], s[6], g[3], sum[9] = {0};
        if (!(left[l] > 0)) continue;
        for (int i = 0; i < 9; i++) f[i] = F[i][l];
        for (int i = 0; i < 6; i++) s[i] = S[i][l];
        for (int i = 0; i < 3; i++) g[i] = pd_rotated_own(LANES, numbers + l, i);
        pd_shape_target_finish(f, s, g, numbers[PD_TARGET_WEIGHT * LANES + l], sum);
        for (int i = 0; i < 9; i++) lanes[i][l] += sum[i];
    }
}

static __attribute__((noinline)) void add_targets(const pd_corner_groups *groups, const real *positions, const real *here, int update,
                                                  real sum[9]) {
    real lanes[9][LANES];
    clear_lanes(lanes);
    for (int group = groups->start[update]; group < groups->start[update + 1]; group++) {
        real edges[9][LANES], F[9][LANES], S[6][LANES], M[9][LANES], parts[PD_ROTATED_PARTS][LANES], left[LANES], open = 0, some = 0;
        const real *numbers = gather_group(groups, group, positions, here, 3, PD_TARGET_SLOTS, PD_TARGET_NUMBERS, edges);
        gather_stretches(groups, numbers, S);
#pragma omp simd reduction(+ : open)
        for (int l = 0; l < LANES; l++) {
            pd_rotated_deformation(LANES, &edges[0][l], numbers + l, &F[0][l]);
            open += pd_shape_target_begin_lane(LANES, &F[0][l], &S[0][l], numbers + l, &M[0][l], &parts[0][l]);
        }
        approach_roots(parts, open);
#pragma omp simd reduction(+ : some)
        for (int l = 0; l < LANES; l++)
            some += left[l] = pd_shape_target_add_lane(LANES, &F[0][l], &M[0][l], &parts[0][l], numbers + l, &lanes[0][l]);
        if (some > 0) finish_targets(F, S, numbers, left, lanes);
    }
    pd_corner_sums((const real(*)[LANES])lanes, sum);
}

static __attribute__((noinline)) void add_stvk(const pd_corner_groups *groups, const real *positions, const real *here, int update,
                                               real sum[9]) {
    add_corners(groups, positions, here, update, 2, PD_STVK_NUMBERS, pd_stvk_triangle_corner, sum);
}

static __attribute__((noinline)) void add_springs(const pd_corner_groups *groups, const real *positions, const real *here, int update,
                                                  real sum[9]) {
    add_corners(groups, positions, here, update, 1, PD_SPRING_NUMBERS, pd_spring_corner, sum);
}

static inline int has_group(const pd_corner_groups *groups, int update) {
    return groups->start && groups->start[update + 1] > groups->start[update];
}

static void add_groups(const pd_vertex_sweep *sweep, const real *positions, int update, real sum[9]) {
    const pd_corner_groups *neo_hookean = &sweep->groups[PD_CORNERS_NEO_HOOKEAN], *rotated = &sweep->groups[PD_CORNERS_ROTATED];
    const pd_corner_groups *stvk = &sweep->groups[PD_CORNERS_STVK_TRIANGLE], *springs = &sweep->groups[PD_CORNERS_SPRING];
    const real *here = positions + STRIDE * (size_t)sweep->updates[update].slot;
    if (has_group(neo_hookean, update)) add_neo_hookean(neo_hookean, positions, here, update, sum);
    if (has_group(rotated, update)) add_rotated(rotated, positions, here, update, sum);
    if (has_group(&sweep->groups[PD_CORNERS_TARGET], update)) add_targets(&sweep->groups[PD_CORNERS_TARGET], positions, here, update, sum);
    if (has_group(stvk, update)) add_stvk(stvk, positions, here, update, sum);
    if (has_group(springs, update)) add_springs(springs, positions, here, update, sum);
}

/* ---- updates -------------------------------------------------------------------------------------------------------------------- */

/* Prefetches the data of a later update: neighbours in a colour are not neighbours in memory. */
static inline __attribute__((always_inline)) void fetch(const pd_vertex_sweep *sweep, const pd_step_data *step,
                                                        const pd_contact_sweep *contact, const real *offset, const real *correction,
                                                        int update) {
    if (update >= sweep->n) return;
    size_t vertex = (size_t)sweep->updates[update].vertex;
    __builtin_prefetch(offset + 3 * vertex);
    __builtin_prefetch(correction + 3 * vertex, 1);
    if (!contact) {
        __builtin_prefetch(step->x_t + 3 * vertex);
        __builtin_prefetch(step->predicted_displacement + 3 * vertex);
        return;
    }
    if (!sweep->may_touch[update]) return;
    __builtin_prefetch(contact->incidence.start + vertex);
    if (contact->displacement_bound) __builtin_prefetch(contact->displacement_bound + vertex);
    if (contact->lagged.n > 0) __builtin_prefetch(contact->lagged_incidence.start + vertex);
}

/* The same for a vertex's pairs with a penalty, in stages before its update: first its list of roles, then the data of these, last the
 * positions and displacements of their corners. */
static inline __attribute__((always_inline)) void fetch_roles(const pd_vertex_sweep *sweep, const pd_contact_sweep *contact, int update) {
    const pd_incidence *incidence = &contact->incidence;
    const pd_lagged_pairs *pairs = &contact->frozen.at;
    int later = update + AHEAD / 2, next = update + AHEAD / 4, soon = update + AHEAD / 8;
    if (later < sweep->n && sweep->may_touch[later]) __builtin_prefetch(incidence->roles + incidence->start[sweep->updates[later].vertex]);
    if (next < sweep->n && sweep->may_touch[next]) {
        const int *start = incidence->start + sweep->updates[next].vertex;
        for (int r = start[0]; r < start[1]; r++) {
            size_t p = (size_t)incidence->roles[r] / 4;
            __builtin_prefetch(pairs->points + 4 * p);
            __builtin_prefetch(pairs->weights + 4 * p);
            __builtin_prefetch(pairs->normals + 3 * p);
            __builtin_prefetch(contact->frozen.range + p);
            if (contact->lagged.n > 0) __builtin_prefetch(contact->lagged.strength + p);
        }
    }
    if (soon >= sweep->n || !sweep->may_touch[soon]) return;
    const int *start = incidence->start + sweep->updates[soon].vertex;
    for (int r = start[0]; r < start[1]; r++) {
        const int *points = pairs->points + 4 * ((size_t)incidence->roles[r] / 4);
        for (int j = 0; j < 4; j++) {
            if (points[j] < 0) continue;
            __builtin_prefetch(contact->points + 3 * (size_t)points[j]);
            if (contact->lagged.n > 0) __builtin_prefetch(contact->slipping.moves + 4 * (size_t)points[j]);
        }
    }
}

/* Prefetches the row of a later update in the damping matrix. */
static inline __attribute__((always_inline)) void fetch_damping(const pd_damping *damping, const pd_vertex_sweep *sweep, int update) {
    if (update >= sweep->n) return;
    size_t vertex = (size_t)sweep->updates[update].vertex;
    size_t first = (size_t)damping->start[vertex], end = (size_t)damping->start[vertex + 1];
    const char *blocks = (const char *)(damping->blocks + 9 * first); // rows begin with a group
    for (size_t line = 0; line < 9 * (end - first) * sizeof(real); line += 64) __builtin_prefetch(blocks + line);
    __builtin_prefetch(sweep->damping.slots + first);
    __builtin_prefetch(damping->diagonals + 6 * vertex);
    __builtin_prefetch(damping->diagonals + 6 * vertex + 5);
}

/* pd_vertex_update_add_damping with one entry per lane. */
static void add_damping(const pd_damping *damping, const pd_sweep_damping *at, double inverse_h, const pd_update *update, real sum[9]) {
    const real *here = at->displacements + STRIDE * (size_t)update->slot;
    real force[3][LANES], total[3];
    for (int c = 0; c < 3; c++) // no initialiser: gcc would call a slow instruction for it
        for (int l = 0; l < LANES; l++) force[c][l] = 0;
    for (int s = damping->start[update->vertex]; s < damping->start[update->vertex + 1]; s += LANES) {
        const real *blocks = damping->blocks + pd_damping_number(s, 0);
        real u[3][LANES];
        pd_corner_edges(at->displacements, at->slots + s, here, u);
#pragma omp simd
        for (int l = 0; l < LANES; l++) pd_damping_add_product(LANES, blocks + l, &u[0][l], &force[0][l]);
    }
    pd_corner_total((const real(*)[LANES])force, total);
    pd_vertex_update_add_damping_force(damping, inverse_h, update->vertex, total, sum);
}

static void sum_elements(const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step, const real *positions, int update,
                         real sum[9]) {
    for (int i = 0; i < 9; i++) sum[i] = 0;
    if (pd_is_damped(model, step)) { // first, since a load of several sums would wait for their separate stores
        fetch_damping(&model->damping, sweep, update + AHEAD / 4);
        add_damping(&model->damping, &sweep->damping, step->inverse_h, sweep->updates + update, sum);
    }
    add_groups(sweep, positions, update, sum);
    pd_vertex_update_add_neighbours(sweep, positions, update, 0, 1, sum);
    if (sweep->filtered.sums)
        pd_sweep_add_filtered(model, sweep, positions, update, sum);
    else
        pd_vertex_update_add_corners(model, sweep, positions, update, 0, 1, sum);
}

static void finish_update(const pd_vertex_sweep *sweep, const pd_step_data *step, const pd_contact_sweep *contact, const real *offset,
                          int update, pd_sweep_step kind, int in_place, const real d[3], real *positions, real *correction) {
    const int vertex = sweep->updates[update].vertex;
    const size_t row = STRIDE * (size_t)sweep->updates[update].slot;
    for (size_t c = 0; c < 3; c++) {
        const real start = positions[row + c];
        const real end =
            in_place && kind != PD_SWEEP_SEARCH ? pd_vertex_update_moved(step, contact, offset, vertex, (int)c, start, d[c]) : start;
        correction[3 * (size_t)vertex + c] = d[c];
        if (!in_place && kind != PD_SWEEP_SEARCH) continue; // the sweep reads the positions of all vertices
        positions[row + c] = end;
        // here, since a load of the whole position would wait for its separate stores
        if (sweep->damping.slots) pd_vertex_update_displace(&sweep->damping, sweep->updates[update].slot, (int)c, end);
    }
}

/* pd_vertex_update_contact_search for all vertices of a block at once. */
static void search_block(pd_vertex_block *block, const real (*elastic)[9], const real (*touching)[9], const double *energies,
                         real (*d)[3]) {
    pd_vertex_update_length_search searches[PD_BLOCK_VERTICES];
    double after[PD_BLOCK_VERTICES];
    int left = 0;
    for (int v = 0; v < block->n; v++) {
        if (block->vertices[v] < 0) continue;
        if (pd_vertex_update_search_begin(elastic[v], touching[v], energies[v], d[v], searches + v))
            left++;
        else
            block->vertices[v] = -1;
    }
    for (int halving = 0; halving < PD_SEARCH_HALVINGS && left > 0; halving++) {
        pd_vertex_lanes_energies(block, (const real(*)[3])d, after);
        for (int v = 0; v < block->n; v++) {
            if (block->vertices[v] < 0) continue;
            if (pd_vertex_update_search_ends(searches + v, after[v]))
                block->vertices[v] = -1, left--;
            else
                pd_vertex_update_search_halve(searches + v, halving, d[v]);
        }
    }
}

/* Updates begin .. end - 1 of one colour, equivalent to pd_vertex_update_step for each. */
static void touching_updates(const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step, pd_sweep_step kind,
                             const pd_contact_sweep *contact, const real *offset, int begin, int end, const real *positions,
                             const real *correction, real *stiffness, real (*d)[3]) {
    real elastic[PD_BLOCK_VERTICES][9], touching[PD_BLOCK_VERTICES][9];
    double energies[PD_BLOCK_VERTICES];
    pd_vertex_block *block = own_block(sweep);
    pd_separating_plane kept[PD_BOUND_KEPT]; // large: left uninitialised, as the next
    pd_bound_planes planes;
    block->model = model, block->sweep = sweep, block->contact = contact, block->n = end - begin;
    for (int v = 0; v < block->n; v++) {
        int vertex = sweep->updates[begin + v].vertex;
        fetch(sweep, step, contact, offset, correction, begin + v + AHEAD);
        sum_elements(model, sweep, step, positions, begin + v, elastic[v]);
        pd_vertex_update_add_constant(sweep->updates + begin + v, step->inverse_h, pd_vertex_update_drive(step, offset, vertex),
                                      elastic[v]);
        block->vertices[v] = sweep->may_touch[begin + v] && pd_vertex_update_touches(contact, vertex) ? vertex : -1;
        block->expected[v] = 2 * pd_vertex_update_length(correction + 3 * (size_t)vertex); // of the last sweep; its own and a partner's
        pd_vertex_lanes_fetch_roles(block, v);
        if (v > 0) pd_vertex_lanes_fetch_records(block, v - 1);
    }
    pd_vertex_lanes_fetch_records(block, block->n - 1);
    pd_vertex_lanes_contact(block, touching, energies);
    for (int v = 0; v < block->n; v++) {
        int vertex = sweep->updates[begin + v].vertex;
        if (block->vertices[v] >= 0) pd_vertex_update_add_filtered_pairs(sweep, begin + v, touching[v]);
        pd_vertex_update_solve(model->subspace, kind, vertex, elastic[v], block->vertices[v] < 0 ? NULL : touching[v], d[v]);
        if (sweep->may_touch[begin + v]) {
            int exceeds = pd_vertex_update_exceeds(contact, vertex, d[v]);
            if (exceeds) pd_plane_lanes(contact, vertex, kept, &planes);
            pd_vertex_update_limit(model, sweep, contact, kind, vertex, elastic[v], block->vertices[v] < 0 ? NULL : touching[v],
                                   exceeds ? &planes : NULL, d[v]);
        }
        stiffness[v] = pd_vertex_update_stiffness(elastic[v]);
    }
    if (kind != PD_SWEEP_SEARCH) search_block(block, (const real(*)[9])elastic, (const real(*)[9])touching, energies, d);
}

static int blocks_of(const pd_vertex_sweep *sweep, int colour) {
    return (sweep->colour_start[colour + 1] - sweep->colour_start[colour] + PD_BLOCK_VERTICES - 1) / PD_BLOCK_VERTICES;
}

pd_status pd_sweep_vertices(pd_context *context, const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step,
                            pd_sweep_step kind, int in_place, pd_sweep_bounds bounds, const pd_contact_sweep *contact, const real *x,
                            real *offset, real *positions, real *correction) {
    // a penalty needs few products per pair, and corners of embedded points have weights: both run without lanes
    int carries_none = contact && !contact->embedding.start, by_penalty = contact && contact->frozen.stiffness > 0;
    int in_blocks = carries_none && !by_penalty;
#pragma omp parallel num_threads(pd_threads(context, sweep->n, 200))
    {
#pragma omp for schedule(static)
        for (int slot = 0; slot < (bounds.gathers ? model->n_vertices : 0); slot++) {
            for (int c = 0; c < 3; c++) positions[STRIDE * (size_t)slot + (size_t)c] = x[3 * (size_t)sweep->order[slot] + (size_t)c];
            positions[STRIDE * (size_t)slot + 3] = 0;
            if (!sweep->damping.slots) continue;
            real *start = sweep->damping.starts + STRIDE * (size_t)slot;
            for (int c = 0; c < 3; c++) start[c] = step->x_t[3 * (size_t)sweep->order[slot] + (size_t)c];
            start[3] = 0;
            for (int c = 0; c < 3; c++) pd_vertex_update_displace(&sweep->damping, slot, c, positions[STRIDE * (size_t)slot + (size_t)c]);
        }
        for (int colour = bounds.first_colour; colour < bounds.end_colour; colour++) {
            if (contact && sweep->filtered.pairs) {
#pragma omp for schedule(static)
                for (int update = sweep->colour_start[colour]; update < sweep->colour_start[colour + 1]; update++)
                    pd_sweep_filter_pairs(model, sweep, contact, update);
            }
#pragma omp for schedule(static)
            for (int update = sweep->colour_start[colour]; update < (in_blocks ? 0 : sweep->colour_start[colour + 1]); update++) {
                real sum[9], d[3];
                fetch(sweep, step, contact, offset, correction, update + AHEAD);
                if (carries_none && by_penalty) fetch_roles(sweep, contact, update);
                sum_elements(model, sweep, step, positions, update, sum);
                pd_vertex_update_step(model, sweep, step, kind, contact, offset, update, 0, 1, sum, d);
                if (model->is_oriented) pd_vertex_update_keep_orientation(model, sweep, positions, update, 0, 1, d);
                if (kind == PD_SWEEP_SEARCH)
                    pd_vertex_update_search(model, sweep, step, contact, offset, pd_vertex_update_stiffness(sum), positions, update, 0, 1,
                                            d);
                finish_update(sweep, step, contact, offset, update, kind, in_place, d, positions, correction);
                real *away = offset + 3 * (size_t)sweep->updates[update].vertex;
                for (int c = 0; c < 3 && bounds.moves; c++) away[c] -= d[c];
            }
            if (!contact) continue; // blocks in a dynamic schedule: their numbers of pairs differ
#pragma omp for schedule(dynamic, 1)
            for (int block = 0; block < (in_blocks ? blocks_of(sweep, colour) : 0); block++) {
                int begin = sweep->colour_start[colour] + PD_BLOCK_VERTICES * block, last = sweep->colour_start[colour + 1];
                int end = last - begin < PD_BLOCK_VERTICES ? last : begin + PD_BLOCK_VERTICES;
                real d[PD_BLOCK_VERTICES][3], stiffness[PD_BLOCK_VERTICES];
                touching_updates(model, sweep, step, kind, contact, offset, begin, end, positions, correction, stiffness, d);
                for (int update = begin; update < end; update++) {
                    real *here = d[update - begin];
                    if (model->is_oriented) pd_vertex_update_keep_orientation(model, sweep, positions, update, 0, 1, here);
                    if (kind == PD_SWEEP_SEARCH)
                        pd_vertex_update_search(model, sweep, step, contact, offset, stiffness[update - begin], positions, update, 0, 1,
                                                here);
                    finish_update(sweep, step, contact, offset, update, kind, in_place, here, positions, correction);
                }
            }
            if (!in_place) continue;
#pragma omp for schedule(static)
            for (int update = sweep->colour_start[colour]; update < sweep->colour_start[colour + 1]; update++)
                pd_vertex_update_commit(sweep, contact, correction, update);
        }
    }
    return PD_OK;
}
