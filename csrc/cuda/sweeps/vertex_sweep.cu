/* Sweeps over vertices [Chen et al. 2024, VBD, Sec. 4]: one launch per colour and kind of update, several threads per vertex.
 *
 * The updates of a colour are sorted by kind, and each kind has a kernel. An attachment, a damped tet or a wall sends only its own
 * vertices to the general kernel. A line search and contact need that kernel for all.
 *
 * The T threads of an update stride over its corners, reduce their sums by a fixed butterfly of shuffles, and each solves the 3x3
 * system. The first three write a coordinate each. Vertices of a colour share no element, so no update of a launch reads a position that
 * another one writes. An update's own position is read by its threads before the butterfly and written after it. Contact also reads
 * positions of vertices of the same colour, but from a separate buffer, which a launch after the colour updates (commit_kernel).
 *
 * Launches of colours with one kind overlap (launch.cuh): an update, its first corners, x_t and predicted_displacement are read while the previous colour
 * ends. The alternative, a persistent kernel, would also wait for all blocks between two colours. It would need the registers of the
 * largest kind of update, a loop over the vertices of a large colour, and the mixed kind inside. Within a run of iterations the sweeps
 * move the offset themselves and start from the positions of the previous sweep (pd_sweep_bounds): no gather, no correction, no move by
 * the frame.
 *
 * Counted in float for beams of 30 x 2 x 3 cells of six tets, 11.6 corners per vertex; bytes per vertex and iteration:
 *     corners   11.6 x (5 numbers + 3 slots)                                                        371
 *     an update    its own data 32, x - y 12, x_t, y - x_t 24, position 32, d 12                          112
 *     slot     order 4, x 12, position 16                                                            32
 *     frame     d 12, step, x, x - y 24 each, fixed 1                                                 85
 * and the positions of neighbours, which stay in the cache: 600 bytes. Only the last iteration of a run has slot and frame, 117 bytes;
 * the others write 12 bytes of offset and no correction. There is one launch per colour, and three more in the last iteration.
 * PDGPU_UPDATE_THREADS sets T for measurements.
 *
 * Memory on the device, in float: the sweep 32 bytes per corner and 60 per vertex; model and state 165 per vertex and 124 per tet. */
#include "base/rounded.h"
#include "cuda/context.cuh"
#include "cuda/record.cuh"
#include "cuda/sweeps/filtered_corners.cuh"

/* The threads of a warp that share an update with the calling one. Updates of a warp diverge in a line search: each waits for its own
 * threads. */
static __device__ unsigned update_mask(int lanes) {
    return lanes == 32 ? 0xffffffffu : ((1u << lanes) - 1u) << (threadIdx.x % 32u / (unsigned)lanes * (unsigned)lanes);
}

static __device__ double update_total(int lanes, double value) {
    unsigned mask = update_mask(lanes);
    for (int shift = lanes / 2; shift > 0; shift /= 2) value += __shfl_xor_sync(mask, value, shift);
    return value;
}

static __device__ double update_least(int lanes, double value) {
    unsigned mask = update_mask(lanes);
    for (int shift = lanes / 2; shift > 0; shift /= 2) value = fmin(value, __shfl_xor_sync(mask, value, shift));
    return value;
}

#define PD_UPDATE_CARRIES             0 // with them the kernel for contact would use more of the stack
#define PD_UPDATE_TOTAL(lanes, value) update_total(lanes, value)
#define PD_UPDATE_LEAST(lanes, value) update_least(lanes, value)
#define PD_UPDATE_WAIT(lanes)         __syncwarp(update_mask(lanes))
#include "updates/sweeps/vertex_update.h"

/* Default threads of an update. Four are faster for neo-Hookean tets in float. Contact needs eight, since every vertex takes the kernel
 * for all kinds (docs/gpu.md). */
enum { LANES = 8, NEO_HOOKEAN_LANES = sizeof(real) == sizeof(float) ? 4 : 8 };
constexpr bool AHEAD = sizeof(real) == sizeof(float); // prefetch of records; see group_update_kernel

/* ---- positions in the order of the slots ---------------------------------------------------------------------------------------- */

static_assert((int)PD_POSITION_STRIDE == (int)PD_PADDED, "a position is moved in transfers of 16 bytes");

static __global__ void gather_kernel(int n, const int *order, const real *x, pd_padded_row *positions) {
    int slot = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    pd_let_next_begin();
    if (slot >= n) return;
    const real *from = x + 3 * (size_t)order[slot];
    positions[slot] = pd_padded_row{{from[0], from[1], from[2], 0}};
}

static __global__ void displace_kernel(int n, pd_sweep_damping damping, const real *positions) {
    int slot = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    for (int c = 0; c < 3 && slot < n; c++)
        pd_vertex_update_displace(&damping, slot, c, positions[PD_POSITION_STRIDE * (size_t)slot + (size_t)c]);
}

/* ---- corners ----------------------------------------------------------------------------------------------------------------------- */

/* Each corner is its own group here: a record of one thread, in transfers of 16 bytes. */
size_t pd_sweep_scratch(const pd_context *) { return 0; }

int pd_corner_lanes(void) { return 1; }

template <int N, int OTHERS> struct alignas(16) corner_record {
    real numbers[N];
    int slots[OTHERS];
};
using neo_hookean_record = corner_record<PD_CORNER_NUMBERS, 3>;
using rotated_record = corner_record<PD_ROTATED_NUMBERS, 3>;
using target_record = corner_record<PD_TARGET_NUMBERS, PD_TARGET_SLOTS>;
using stvk_record = corner_record<PD_STVK_NUMBERS, 2>;
using spring_record = corner_record<PD_SPRING_NUMBERS, 1>;
static_assert(sizeof(real) > sizeof(float) || sizeof(neo_hookean_record) == 32, "two transfers");

/* The edges x_a - x_i, .. of a corner of the vertex at `here`. */
template <int N, int SLOTS, int EDGES>
static __device__ __forceinline__ void corner_edges(const corner_record<N, SLOTS> &corner, const pd_padded_row *positions,
                                                    const pd_padded_row &here, real (&edges)[EDGES]) {
    for (int j = 0; j < EDGES / 3; j++) {
        const pd_padded_row other = pd_read_record(positions + corner.slots[j]);
        for (int c = 0; c < 3; c++) edges[3 * j + c] = other.c[c] - here.c[c];
    }
}

static __device__ __forceinline__ void add_corner(const neo_hookean_record &corner, const pd_padded_row *positions,
                                                  const pd_padded_row &here, real sum[9]) {
    real edges[9];
    corner_edges(corner, positions, here, edges);
    pd_neo_hookean_corner(1, edges, corner.numbers, sum);
}

static __device__ __forceinline__ void add_corner(const rotated_record &corner, const pd_padded_row *positions, const pd_padded_row &here,
                                                  real sum[9]) {
    real edges[9], F[9];
    corner_edges(corner, positions, here, edges);
    pd_rotated_deformation(1, edges, corner.numbers, F);
    const real g[3] = {pd_rotated_own(1, corner.numbers, 0), pd_rotated_own(1, corner.numbers, 1), pd_rotated_own(1, corner.numbers, 2)};
    pd_rotated_corner(F, g, corner.numbers[PD_ROTATED_WEIGHT], corner.numbers[PD_ROTATED_LAME], sum);
}

static __device__ __forceinline__ void add_corner(const stvk_record &corner, const pd_padded_row *positions, const pd_padded_row &here,
                                                  real sum[9]) {
    real edges[6];
    corner_edges(corner, positions, here, edges);
    pd_stvk_triangle_corner(1, edges, corner.numbers, sum);
}

static __device__ __forceinline__ void add_corner(const spring_record &corner, const pd_padded_row *positions, const pd_padded_row &here,
                                                  real sum[9]) {
    real edge[3];
    corner_edges(corner, positions, here, edge);
    pd_spring_corner(1, edge, corner.numbers, sum);
}

/* ---- updates with corners of one family only --------------------------------------------------------------------------------------- */

/* The arguments of a launch: 96 bytes, a part of the description of a sweep. By value: a symbol in constant memory would be shared by
 * all simulations of a process, and device memory would add a read before all others. */
struct family_sweep {
    const pd_update *updates;
    const char *records;
    const real *subspaces;
    pd_step_data step;
    real *offset;
    pd_padded_row *positions;
    real *correction; // NULL: moves the offset
    pd_sweep_step kind;
    int in_place, begin, end;
};

static __device__ __forceinline__ real coordinate(const real v[3], int c) { return c == 0 ? v[0] : c == 1 ? v[1] : v[2]; }

/* The update of a thread, and its corners: every lanes-th from `at` on. No launch of the sweep writes these or the records, so both are
 * read before the previous launch has ended. */
struct family_thread {
    pd_update own;
    int inside, at, end;
};

static __device__ __forceinline__ family_thread begin_update(const family_sweep &sweep, int update, int lane) {
    const int inside = update < sweep.end;
    const pd_update own = pd_read_record(sweep.updates + (inside ? update : sweep.begin));
    return {own, inside, own.first + lane, inside ? own.end : own.first};
}

/* The data of a vertex for the end of an update. Thread `lane` moves coordinate `lane`; with C = 3 the only thread moves all. */
template <int C> struct vertex_row {
    real start[C], predicted_displacement[C]; // of the coordinates of the thread
    real drive[3];
};

/* x_t and predicted_displacement, which no launch of the sweep writes: they are read before the previous launch has ended. */
template <int C>
static __device__ __forceinline__ void begin_row(const family_sweep &sweep, const family_thread &thread, int lane, vertex_row<C> &row) {
    const bool moves = sweep.in_place && lane < 3;
    for (int k = 0; k < C; k++) {
        const size_t j = 3 * (size_t)thread.own.vertex + (size_t)(C == 3 ? k : lane);
        row.start[k] = moves ? sweep.step.x_t[j] : (real)0,
        row.predicted_displacement[k] = moves ? sweep.step.predicted_displacement[j] : (real)0;
    }
}

template <int C>
static __device__ __forceinline__ void read_drive(const family_sweep &sweep, const family_thread &thread, vertex_row<C> &row) {
    const real *from = pd_vertex_update_drive(&sweep.step, sweep.offset, thread.own.vertex);
    for (int c = 0; c < 3; c++) row.drive[c] = from[c];
}

/* sum [9] in: of the thread's corners. */
template <int C>
static __device__ __forceinline__ void end_update(const family_sweep &sweep, const family_thread &thread, const vertex_row<C> &row,
                                                  int lane, int lanes, real sum[9]) {
    const pd_update &own = thread.own;
    real d[3];
    if (!sweep.correction) __syncwarp();               // all threads of an update have read the offset, which one of them writes
    for (int shift = lanes / 2; shift > 0; shift /= 2) // every thread gets the same bits: a + b is b + a
        for (int i = 0; i < 9; i++) sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], shift);
    if (!thread.inside) return;
    pd_vertex_update_add_constant(&own, sweep.step.inverse_h, row.drive, sum);
    pd_vertex_update_solve(sweep.subspaces, sweep.kind, own.vertex, sum, NULL, d);
    if (lane >= 3) return;
    for (int k = 0; k < C; k++) {
        const int c = C == 3 ? k : lane;
        const size_t j = 3 * (size_t)own.vertex + (size_t)c;
        const real move = coordinate(d, c); // with the rounding of pd_advance
        const real away = pd_difference(sweep.step.inverse_h > 0 ? coordinate(row.drive, c) : sweep.offset[j], move);
        if (sweep.correction)
            sweep.correction[j] = move;
        else
            sweep.offset[j] = away;
        if (sweep.in_place) sweep.positions[own.slot].c[c] = pd_vertex_position(row.start[k], row.predicted_displacement[k], away);
    }
}

/* Neo-Hookean tets. In float the records of the next two corners are loaded while one is added, the first two before the wait. In
 * double, where a record is 16 registers, none are. Four blocks of 64 registers are faster than five of 48, which wait for every corner
 * (docs/gpu.md). */
template <int T>
static __global__ void __launch_bounds__(PD_THREADS, sizeof(real) == sizeof(float) ? 4 : 3)
    group_update_kernel(const __grid_constant__ family_sweep sweep) {
    constexpr int C = T == 1 ? 3 : 1;
    constexpr bool EARLY = AHEAD && T > 1; // otherwise the vertex's data exceed the registers
    const int lane = (int)threadIdx.x % T;
    const neo_hookean_record *records = (const neo_hookean_record *)sweep.records;
    real sum[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    vertex_row<C> row;
    pd_let_next_begin();
    family_thread thread = begin_update(sweep, sweep.begin + (int)(blockIdx.x * (PD_THREADS / T) + threadIdx.x / T), lane);
    const auto record_at = [&](int at) { return pd_read_record(records + (at < thread.end ? at : thread.own.first)); };
    neo_hookean_record next = {}, after = {};
    if (AHEAD) next = record_at(thread.at), after = record_at(thread.at + T);
    if (EARLY) begin_row(sweep, thread, lane, row);
    pd_wait_for_launch_before();
    const pd_padded_row here = pd_read_record(sweep.positions + thread.own.slot);
    if (EARLY) read_drive(sweep, thread, row);
#pragma unroll 1
    while (thread.at < thread.end) {
        const neo_hookean_record corner = AHEAD ? next : pd_read_record(records + thread.at);
        thread.at += T;
        if (AHEAD) next = after, after = record_at(thread.at + T);
        add_corner(corner, sweep.positions, here, sum);
    }
    if (!EARLY) begin_row(sweep, thread, lane, row), read_drive(sweep, thread, row);
    end_update(sweep, thread, row, lane, T, sum);
}

/* ARAP and co-rotated tets, whose records would exceed the registers. The number of lanes is not a constant, except one: two kernels for
 * all. The minimum of one block lets ptxas use enough registers in double to avoid spills. */
template <int C>
static __global__ void __launch_bounds__(PD_THREADS, sizeof(real) == sizeof(float) ? 3 : 1)
    rotated_update_kernel(const __grid_constant__ family_sweep sweep, int lanes) {
    const unsigned per_block = PD_THREADS / (unsigned)lanes;
    const int lane = (int)(threadIdx.x % (unsigned)lanes);
    const rotated_record *records = (const rotated_record *)sweep.records;
    real sum[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    pd_let_next_begin();
    const family_thread thread = begin_update(sweep, sweep.begin + (int)(blockIdx.x * per_block + threadIdx.x / (unsigned)lanes), lane);
    vertex_row<C> row;
    pd_wait_for_launch_before();
    const pd_padded_row here = pd_read_record(sweep.positions + thread.own.slot);
#pragma unroll 1
    for (int at = thread.at; at < thread.end; at += lanes) {
        const rotated_record corner = pd_read_record(records + at);
        add_corner(corner, sweep.positions, here, sum);
    }
    begin_row(sweep, thread, lane, row);
    read_drive(sweep, thread, row);
    end_update(sweep, thread, row, lane, lanes, sum);
}

/* ---- all others ---------------------------------------------------------------------------------------------------------------------- */

/* Adds the corners of a family of thread `lane` of an update. */
template <typename Record>
static __device__ __forceinline__ void add_groups(const pd_vertex_sweep &sweep, int family, const pd_padded_row *positions, int update,
                                                  int lane, int lanes, real sum[9]) {
    const pd_corner_groups &groups = sweep.groups[family];
    const Record *records = (const Record *)groups.records;
    const pd_padded_row here = pd_read_record(positions + sweep.updates[update].slot);
    for (int at = groups.start[update] + lane; at < groups.start[update + 1]; at += lanes) {
        const Record corner = pd_read_record(records + at);
        add_corner(corner, positions, here, sum);
    }
}

static __device__ __noinline__ void call_rotated(const pd_vertex_sweep &sweep, const pd_padded_row *positions, int update, int lane,
                                                 int lanes, real sum[9]) {
    add_groups<rotated_record>(sweep, PD_CORNERS_ROTATED, positions, update, lane, lanes, sum);
}

static __device__ __noinline__ void call_targets(const pd_vertex_sweep &sweep, const pd_padded_row *positions, int update, int lane,
                                                 int lanes, real sum[9]) {
    const pd_corner_groups &groups = sweep.groups[PD_CORNERS_TARGET];
    const target_record *records = (const target_record *)groups.records;
    const pd_padded_row here = pd_read_record(positions + sweep.updates[update].slot);
    for (int at = groups.start[update] + lane; at < groups.start[update + 1]; at += lanes) {
        const target_record corner = pd_read_record(records + at);
        real edges[9], F[9], p[PD_TARGET_PARAMETERS];
        corner_edges(corner, positions, here, edges);
        pd_rotated_deformation(1, edges, corner.numbers, F);
        const real g[3] = {pd_rotated_own(1, corner.numbers, 0), pd_rotated_own(1, corner.numbers, 1),
                           pd_rotated_own(1, corner.numbers, 2)};
        for (int i = 0; i < PD_TARGET_PARAMETERS; i++) p[i] = groups.parameters[PD_TARGET_PARAMETERS * (size_t)corner.slots[3] + i];
        pd_shape_target_corner(F, g, p, sum);
    }
}

static __device__ __noinline__ void call_stvk(const pd_vertex_sweep &sweep, const pd_padded_row *positions, int update, int lane, int lanes,
                                              real sum[9]) {
    add_groups<stvk_record>(sweep, PD_CORNERS_STVK_TRIANGLE, positions, update, lane, lanes, sum);
}

static __device__ __noinline__ void call_springs(const pd_vertex_sweep &sweep, const pd_padded_row *positions, int update, int lane,
                                                 int lanes, real sum[9]) {
    add_groups<spring_record>(sweep, PD_CORNERS_SPRING, positions, update, lane, lanes, sum);
}

static __device__ __forceinline__ void move_vertex(const pd_vertex_sweep &sweep, const pd_step_data &step, const pd_contact_sweep *contact,
                                                   const real *offset, int update, const real d[3], pd_padded_row *positions) {
    const pd_update &own = sweep.updates[update];
    pd_padded_row *here = positions + own.slot, moved = *here;
    for (int c = 0; c < 3; c++) moved.c[c] = pd_vertex_update_moved(&step, contact, offset, own.vertex, c, moved.c[c], d[c]);
    *here = moved;
}

/* Updates with corners of any kind, and with a line search. ptxas compiles the functions of the elements for every kernel that calls
 * them. So this is one kernel, and neither the search nor the number of lanes is a constant. Its arguments must be in constant memory:
 * without __grid_constant__ every thread that calls one of the functions would first copy all 1.2 KB to local memory. */
static __global__ void __launch_bounds__(PD_THREADS)
    corner_update_kernel(const __grid_constant__ pd_model model, const __grid_constant__ pd_vertex_sweep sweep,
                         const __grid_constant__ pd_step_data step, const __grid_constant__ pd_contact_sweep touched, pd_sweep_step kind,
                         int in_place, int lanes, int begin, int end, real *offset, pd_padded_row *positions, real *correction) {
    const bool search = kind == PD_SWEEP_SEARCH;
    const pd_contact_sweep *contact = touched.points ? &touched : NULL;
    const unsigned per_block = PD_THREADS / (unsigned)lanes;
    const int update = begin + (int)(blockIdx.x * per_block + threadIdx.x / (unsigned)lanes), lane = (int)(threadIdx.x % (unsigned)lanes);
    real sum[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, d[3];
    if (update < end) {
        if (sweep.groups[PD_CORNERS_NEO_HOOKEAN].start)
            add_groups<neo_hookean_record>(sweep, PD_CORNERS_NEO_HOOKEAN, positions, update, lane, lanes, sum);
        if (sweep.groups[PD_CORNERS_ROTATED].start) call_rotated(sweep, positions, update, lane, lanes, sum);
        if (sweep.groups[PD_CORNERS_TARGET].start) call_targets(sweep, positions, update, lane, lanes, sum);
        if (sweep.groups[PD_CORNERS_STVK_TRIANGLE].start) call_stvk(sweep, positions, update, lane, lanes, sum);
        if (sweep.groups[PD_CORNERS_SPRING].start) call_springs(sweep, positions, update, lane, lanes, sum);
        pd_vertex_update_add_neighbours(&sweep, positions->c, update, lane, lanes, sum);
        if (!sweep.filtered.sums)
            pd_vertex_update_add_corners(&model, &sweep, positions->c, update, lane, lanes, sum);
        else if (lane == 0) // summed over the threads already
            for (int i = 0; i < 9; i++) sum[i] += sweep.filtered.sums[9 * (size_t)update + (size_t)i];
        if (pd_is_damped(&model, &step))
            pd_vertex_update_add_damping(&model.damping, &sweep.damping, step.inverse_h, sweep.updates + update, lane, lanes, sum);
    }
    for (int shift = lanes / 2; shift > 0; shift /= 2)
        for (int i = 0; i < 9; i++) sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], shift);
    if (update >= end) return;
    pd_vertex_update_step(&model, &sweep, &step, kind, contact, offset, update, lane, lanes, sum, d);
    if (model.is_oriented) pd_vertex_update_keep_orientation(&model, &sweep, positions->c, update, lane, lanes, d);
    if (search)
        pd_vertex_update_search(&model, &sweep, &step, contact, offset, pd_vertex_update_stiffness(sum), positions->c, update, lane, lanes,
                                d);
    if (!correction) PD_UPDATE_WAIT(lanes); // all threads of the update have read the offset, which one of them writes
    if (lane > 0) return;
    if (!search && in_place) move_vertex(sweep, step, contact, offset, update, d, positions);
    const int slot = sweep.updates[update].slot;
    for (int c = 0; c < 3 && sweep.damping.slots && (search || in_place); c++)
        pd_vertex_update_displace(&sweep.damping, slot, c, positions[slot].c[c]);
    const size_t row = 3 * (size_t)sweep.updates[update].vertex;
    for (int c = 0; c < 3; c++) {
        if (correction)
            correction[row + (size_t)c] = d[c];
        else
            offset[row + (size_t)c] = pd_difference(offset[row + (size_t)c], d[c]);
    }
}

/* The part of a sweep and its contact that pd_vertex_update_commit reads: 88 bytes of 776. */
struct touching_sweep {
    pd_update *updates;
    unsigned char *may_touch;
    int *start, *lagged_start;
    int lagged;
    real *points, *moved;
    pd_slipping slipping;
};

static __global__ void commit_kernel(const __grid_constant__ touching_sweep touching, const real *correction, int begin, int end) {
    int update = begin + (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (update >= end) return;
    pd_vertex_sweep sweep = {};
    sweep.updates = touching.updates, sweep.may_touch = touching.may_touch;
    pd_contact_sweep contact = {};
    contact.incidence.start = touching.start, contact.lagged_incidence.start = touching.lagged_start, contact.lagged.n = touching.lagged;
    contact.points = touching.points, contact.moved = touching.moved, contact.slipping = touching.slipping;
    pd_vertex_update_commit(&sweep, &contact, correction, update);
}

static touching_sweep touching_sweep_of(const pd_vertex_sweep &sweep, const pd_contact_sweep &contact) {
    return {sweep.updates,    sweep.may_touch, contact.incidence.start, contact.lagged_incidence.start,
            contact.lagged.n, contact.points,  contact.moved,           contact.slipping};
}

static unsigned update_blocks(int updates, int lanes) { return pd_thread_blocks((long long)updates * lanes); }

pd_status pd_sweep_vertices(pd_context *context, const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step,
                            pd_sweep_step kind, int in_place, pd_sweep_bounds bounds, const pd_contact_sweep *contact, const real *x,
                            real *offset, real *positions, real *correction) {
    const int requested = sweep->update_threads, lanes = requested > 0 ? requested : LANES,
              grouped_lanes = requested > 0 ? requested : NEO_HOOKEAN_LANES;
    const pd_contact_sweep touched = contact ? *contact : pd_contact_sweep{};
    pd_padded_row *slots = (pd_padded_row *)positions;
    auto groups = group_update_kernel<4>;
    if (grouped_lanes == 1) groups = group_update_kernel<1>;
    if (grouped_lanes == 8) groups = group_update_kernel<8>;
    if (grouped_lanes == 16) groups = group_update_kernel<16>;
    if (grouped_lanes == 32) groups = group_update_kernel<32>;
    auto rotated = lanes == 1 ? rotated_update_kernel<3> : rotated_update_kernel<1>;
    real *written = bounds.moves ? NULL : correction;
    family_sweep family = {sweep->updates, NULL, model->subspace, *step, offset, slots, written, kind, in_place, 0, 0};

    if (bounds.gathers) PD_LAUNCH(context, gather_kernel, model->n_vertices, model->n_vertices, sweep->order, x, slots);
    if (bounds.gathers && sweep->damping.slots) {
        PD_LAUNCH(context, gather_kernel, model->n_vertices, model->n_vertices, sweep->order, step->x_t,
                  (pd_padded_row *)sweep->damping.starts);
        PD_LAUNCH(context, displace_kernel, model->n_vertices, model->n_vertices, sweep->damping, positions);
    }
    for (int colour = bounds.first_colour; colour < bounds.end_colour; colour++) {
        const int *ends = sweep->kind_end + (size_t)colour * PD_UPDATE_KINDS;
        const int first = sweep->colour_start[colour], last = sweep->colour_start[colour + 1];
        const bool by_kind = kind != PD_SWEEP_SEARCH && !contact; // the others need the kernel for all kinds
        const int plain = by_kind ? ends[PD_UPDATES_NEO_HOOKEAN] : first, grouped = by_kind ? ends[PD_UPDATES_ROTATED] : first;
        family.records = sweep->groups[PD_CORNERS_NEO_HOOKEAN].records, family.begin = first, family.end = plain;
        PD_LAUNCH_OVERLAPPING(context, groups, update_blocks(plain - first, grouped_lanes), family);
        family.records = sweep->groups[PD_CORNERS_ROTATED].records, family.begin = plain, family.end = grouped;
        PD_LAUNCH_OVERLAPPING(context, rotated, update_blocks(grouped - plain, lanes), family, lanes);
        if (sweep->filtered.sums) {
            pd_status status = pd_sweep_sum_filtered(context, model, sweep, contact, positions, lanes, grouped, last);
            if (status) return status;
        }
        PD_LAUNCH_BLOCKS(context, corner_update_kernel, update_blocks(last - grouped, lanes), *model, *sweep, *step, touched, kind,
                         in_place, lanes, grouped, last, offset, slots, written);
        if (contact && in_place)
            PD_LAUNCH(context, commit_kernel, last - first, touching_sweep_of(*sweep, touched), correction, first, last);
    }
    return PD_OK;
}
