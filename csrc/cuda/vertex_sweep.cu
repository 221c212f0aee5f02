/* Sweeps over vertices [Chen et al. 2024, VBD, Sec. 4]: one launch per colour and kind of update, several threads per vertex.
 *
 * The updates of a colour lie one kind after the other, and each kind has a kernel: an attachment, a damped tet or a wall sends its own
 * vertices to the large kernel, and no others. A search and contact need that kernel for all.
 *
 * The T threads of an update stride over its corners, add up what they have in a fixed butterfly of shuffles, and solve the 3x3 system
 * each for itself; the first one writes. Vertices of a colour share no element, so no update of a launch reads a position that another one
 * writes: an update's own position is read by its own threads before they meet in the butterfly, and written after it.
 *
 * Counted in float for beams of 30 x 2 x 3 cells of six tets, 11.6 corners a vertex, 14.3 with the unused lanes of their groups; bytes
 * per vertex and iteration:
 *     corners   14.3 x (5 numbers + 3 slots)                                                        458
 *     an update    vertex, slot, diagonal, mass, start of groups 20, x - y 12, position 32, d 12         76
 *     slot     order 4, x 12, position 16                                                            32
 *     frame     d 12, step, x, x - y 24 each, fixed 1                                                 85
 * and the positions of neighbours, which stay in the cache: 651 bytes, 150 MB for 620 beams. A launch for each of the 8 colours, and
 * three more. Idle lanes: 19 % with T = 4 or 8, 37 % with 16, 64 % with 32. Warp instructions an update, with about 75 a corner, 18 a step
 * of the butterfly and 90 for the rest: 59 with T = 1, 72 with 4, 92 with 8, 156 with 16, 255 with 32. With 8 the threads read whole
 * sectors of 32 bytes, with less only a part of each at a time: T = 8, until a GPU says otherwise (PDGPU_UPDATE_THREADS).
 *
 * Memory on the device, in float: the sweep 32 bytes a lane of a group and 40 a vertex; model and state 165 a vertex and 124 a tet. */
#include "cuda/context.cuh"

/* The threads of a warp that share an update with the calling one. Updates of a warp run apart in a line search: each waits for its own. */
static __device__ unsigned update_mask(int lanes) {
    return lanes == 32 ? 0xffffffffu : ((1u << lanes) - 1u) << (threadIdx.x % 32u / (unsigned)lanes * (unsigned)lanes);
}

static __device__ double update_total(int lanes, double value) {
    unsigned mask = update_mask(lanes);
    for (int shift = lanes / 2; shift > 0; shift /= 2) value += __shfl_xor_sync(mask, value, shift);
    return value;
}

#define PD_UPDATE_CARRIES             0 // with them the kernel for contact kept 496 bytes on the stack in place of 176
#define PD_UPDATE_TOTAL(lanes, value) update_total(lanes, value)
#define PD_UPDATE_WAIT(lanes)         __syncwarp(update_mask(lanes))
#include "updates/vertex_update.h"

/* ---- positions in the order of the slots ---------------------------------------------------------------------------------------- */

/* A position with the number that fills it up, so that it moves in transfers of 16 bytes. */
struct alignas(16) slot_position {
    real c[PD_POSITION_STRIDE];
};

static __global__ void gather_kernel(int n, const int *order, const real *x, slot_position *positions) {
    int slot = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (slot >= n) return;
    const real *from = x + 3 * (size_t)order[slot];
    positions[slot] = slot_position{{from[0], from[1], from[2], 0}};
}

/* ---- updates ------------------------------------------------------------------------------------------------------------------------- */

/* The numbers of lane l of a group, and the edges x_a - x_i, .. [3 OTHERS] of its corner. */
template <int N, int OTHERS = 3>
static __device__ __forceinline__ void gather_corner(const pd_corner_groups &groups, const slot_position *positions,
                                                     const slot_position &here, size_t group, size_t l, real numbers[N],
                                                     real edges[3 * OTHERS]) {
    const int *slots = groups.slots + group * OTHERS * PD_CORNER_LANES + l;
    const real *from = groups.numbers + group * N * PD_CORNER_LANES + l;
    for (int j = 0; j < N; j++) numbers[j] = from[j * PD_CORNER_LANES];
    for (int j = 0; j < OTHERS; j++) {
        const slot_position other = positions[slots[j * PD_CORNER_LANES]];
        for (int c = 0; c < 3; c++) edges[3 * j + c] = other.c[c] - here.c[c];
    }
}

/* Thread `lane` of `lanes` takes the corners of the update's groups one after the other. */
static __device__ __forceinline__ void add_neo_hookean(const pd_vertex_sweep &sweep, const slot_position *positions, int update, int lane,
                                                       int lanes, real sum[9]) {
    const pd_corner_groups &groups = sweep.groups[PD_CORNERS_NEO_HOOKEAN];
    const slot_position here = positions[sweep.slots[update]];
    const int begin = groups.start[update], corners = (groups.start[update + 1] - begin) * PD_CORNER_LANES;
    for (int i = lane; i < corners; i += lanes) {
        real edges[9], numbers[PD_CORNER_NUMBERS];
        gather_corner<PD_CORNER_NUMBERS>(groups, positions, here, (size_t)(begin + i / PD_CORNER_LANES), (size_t)(i % PD_CORNER_LANES),
                                         numbers, edges);
        pd_neo_hookean_corner(1, edges, numbers, sum);
    }
}

static __device__ __forceinline__ void add_rotated(const pd_vertex_sweep &sweep, const slot_position *positions, int update, int lane,
                                                   int lanes, real sum[9]) {
    const pd_corner_groups &groups = sweep.groups[PD_CORNERS_ROTATED];
    const slot_position here = positions[sweep.slots[update]];
    const int begin = groups.start[update], corners = (groups.start[update + 1] - begin) * PD_CORNER_LANES;
    for (int i = lane; i < corners; i += lanes) {
        real edges[9], numbers[PD_ROTATED_NUMBERS], F[9];
        gather_corner<PD_ROTATED_NUMBERS>(groups, positions, here, (size_t)(begin + i / PD_CORNER_LANES), (size_t)(i % PD_CORNER_LANES),
                                          numbers, edges);
        if (numbers[PD_ROTATED_WEIGHT] == 0 && numbers[PD_ROTATED_LAME] == 0) continue; // an unused lane
        pd_rotated_deformation(1, edges, numbers, F);
        const real g[3] = {pd_rotated_own(1, numbers, 0), pd_rotated_own(1, numbers, 1), pd_rotated_own(1, numbers, 2)};
        pd_rotated_corner(F, g, numbers[PD_ROTATED_WEIGHT], numbers[PD_ROTATED_LAME], sum);
    }
}

/* In a kernel that calls other functions anyway. */
static __device__ __noinline__ void call_rotated(const pd_vertex_sweep &sweep, const slot_position *positions, int update, int lane,
                                                 int lanes, real sum[9]) {
    add_rotated(sweep, positions, update, lane, lanes, sum);
}

static __device__ __noinline__ void call_stvk(const pd_vertex_sweep &sweep, const slot_position *positions, int update, int lane, int lanes,
                                              real sum[9]) {
    const pd_corner_groups &groups = sweep.groups[PD_CORNERS_STVK_TRIANGLE];
    const slot_position here = positions[sweep.slots[update]];
    const int begin = groups.start[update], corners = (groups.start[update + 1] - begin) * PD_CORNER_LANES;
    for (int i = lane; i < corners; i += lanes) {
        real edges[6], numbers[PD_STVK_NUMBERS];
        gather_corner<PD_STVK_NUMBERS, 2>(groups, positions, here, (size_t)(begin + i / PD_CORNER_LANES), (size_t)(i % PD_CORNER_LANES),
                                          numbers, edges);
        pd_stvk_triangle_corner(1, edges, numbers, sum);
    }
}

static __device__ __noinline__ void call_springs(const pd_vertex_sweep &sweep, const slot_position *positions, int update, int lane,
                                                 int lanes, real sum[9]) {
    const pd_corner_groups &groups = sweep.groups[PD_CORNERS_SPRING];
    const slot_position here = positions[sweep.slots[update]];
    const int begin = groups.start[update], corners = (groups.start[update + 1] - begin) * PD_CORNER_LANES;
    for (int i = lane; i < corners; i += lanes) {
        real edge[3], numbers[PD_SPRING_NUMBERS];
        gather_corner<PD_SPRING_NUMBERS, 1>(groups, positions, here, (size_t)(begin + i / PD_CORNER_LANES), (size_t)(i % PD_CORNER_LANES),
                                            numbers, edge);
        pd_spring_corner(1, edge, numbers, sum);
    }
}

static __device__ __forceinline__ void move_vertex(const pd_vertex_sweep &sweep, const pd_step_data &step, const pd_contact_sweep *contact,
                                                   const real *offset, int update, const real d[3], slot_position *positions) {
    slot_position *here = positions + sweep.slots[update], moved = *here;
    for (int c = 0; c < 3; c++) moved.c[c] = pd_vertex_update_moved(&step, contact, offset, sweep.vertices[update], c, moved.c[c], d[c]);
    *here = moved;
}

static __device__ __forceinline__ void write_direction(const pd_vertex_sweep &sweep, int update, const real d[3], real *direction) {
    for (int c = 0; c < 3; c++) direction[3 * (size_t)sweep.vertices[update] + (size_t)c] = d[c];
}

/* Updates with groups of neo-Hookean corners and nothing else. */
template <int T>
static __global__ void __launch_bounds__(PD_THREADS)
    group_update_kernel(const __grid_constant__ pd_model model, const __grid_constant__ pd_vertex_sweep sweep,
                        const __grid_constant__ pd_step_data step, pd_sweep_step kind, int in_place, int begin, int end, const real *offset,
                        slot_position *positions, real *direction) {
    const int update = begin + (int)(blockIdx.x * (PD_THREADS / T) + threadIdx.x / T), lane = (int)threadIdx.x % T;
    real sum[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, d[3];
    if (update < end) add_neo_hookean(sweep, positions, update, lane, T, sum);
    for (int shift = T / 2; shift > 0; shift /= 2) // every thread gets the same bits: a + b is b + a
        for (int i = 0; i < 9; i++) sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], shift);
    if (update >= end) return;
    pd_vertex_update_step(&model, &sweep, &step, kind, NULL, offset, update, lane, T, sum, d);
    if (lane > 0) return;
    if (in_place) move_vertex(sweep, step, NULL, offset, update, d, positions);
    write_direction(sweep, update, d, direction);
}

/* Updates with groups of corners of ARAP and co-rotated tets and nothing else. The number of lanes is no constant: one kernel for all.
 * In double ptxas would spill 40 bytes to reach 128 registers, were it not told that one block is enough. */
static __global__ void __launch_bounds__(PD_THREADS, sizeof(real) == sizeof(float) ? 3 : 1)
    rotated_update_kernel(const __grid_constant__ pd_model model, const __grid_constant__ pd_vertex_sweep sweep,
                          const __grid_constant__ pd_step_data step, pd_sweep_step kind, int in_place, int lanes, int begin, int end,
                          const real *offset, slot_position *positions, real *direction) {
    const unsigned per_block = PD_THREADS / (unsigned)lanes;
    const int update = begin + (int)(blockIdx.x * per_block + threadIdx.x / (unsigned)lanes), lane = (int)(threadIdx.x % (unsigned)lanes);
    real sum[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, d[3];
    if (update < end) add_rotated(sweep, positions, update, lane, lanes, sum);
    for (int shift = lanes / 2; shift > 0; shift /= 2)
        for (int i = 0; i < 9; i++) sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], shift);
    if (update >= end) return;
    pd_vertex_update_step(&model, &sweep, &step, kind, NULL, offset, update, lane, lanes, sum, d);
    if (lane > 0) return;
    if (in_place) move_vertex(sweep, step, NULL, offset, update, d, positions);
    write_direction(sweep, update, d, direction);
}

/* Updates with corners of any kind, and with a line search. ptxas compiles the functions of the elements anew for every kernel that calls
 * them: so this is one kernel, and neither the search nor the number of lanes is a constant here. Its arguments lie in constant memory:
 * without __grid_constant__ every thread that calls one of the functions would copy all 1.2 KB into local memory first. */
static __global__ void __launch_bounds__(PD_THREADS)
    corner_update_kernel(const __grid_constant__ pd_model model, const __grid_constant__ pd_vertex_sweep sweep,
                         const __grid_constant__ pd_step_data step, const __grid_constant__ pd_contact_sweep touched, pd_sweep_step kind,
                         int in_place, int lanes, int begin, int end, const real *offset, slot_position *positions, real *direction) {
    const bool search = kind == PD_SWEEP_SEARCH;
    const pd_contact_sweep *contact = touched.points ? &touched : NULL;
    const unsigned per_block = PD_THREADS / (unsigned)lanes;
    const int update = begin + (int)(blockIdx.x * per_block + threadIdx.x / (unsigned)lanes), lane = (int)(threadIdx.x % (unsigned)lanes);
    real sum[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, d[3];
    if (update < end) {
        if (sweep.groups[PD_CORNERS_NEO_HOOKEAN].start) add_neo_hookean(sweep, positions, update, lane, lanes, sum);
        if (sweep.groups[PD_CORNERS_ROTATED].start) call_rotated(sweep, positions, update, lane, lanes, sum);
        if (sweep.groups[PD_CORNERS_STVK_TRIANGLE].start) call_stvk(sweep, positions, update, lane, lanes, sum);
        if (sweep.groups[PD_CORNERS_SPRING].start) call_springs(sweep, positions, update, lane, lanes, sum);
        pd_vertex_update_add_neighbours(&sweep, positions->c, update, lane, lanes, sum);
        pd_vertex_update_add_corners(&model, &sweep, &step, positions->c, update, lane, lanes, sum);
    }
    for (int shift = lanes / 2; shift > 0; shift /= 2)
        for (int i = 0; i < 9; i++) sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], shift);
    if (update >= end) return;
    pd_vertex_update_step(&model, &sweep, &step, kind, contact, offset, update, lane, lanes, sum, d);
    if (search)
        pd_vertex_update_search(&model, &sweep, &step, contact, offset, pd_vertex_update_stiffness(sum), positions->c, update, lane, lanes,
                                d);
    if (lane > 0) return;
    if (!search && in_place) move_vertex(sweep, step, contact, offset, update, d, positions);
    write_direction(sweep, update, d, direction);
}

static __global__ void commit_kernel(const __grid_constant__ pd_vertex_sweep sweep, const __grid_constant__ pd_contact_sweep contact,
                                     const real *direction, int begin, int end) {
    int update = begin + (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (update < end) pd_vertex_update_commit(&sweep, &contact, direction, update);
}

static unsigned update_blocks(int updates, int lanes) { return pd_thread_blocks((long long)updates * lanes); }

pd_status pd_sweep_vertices(pd_context *context, const pd_model *model, const pd_vertex_sweep *sweep, const pd_step_data *step,
                            pd_sweep_step kind, int in_place, const pd_contact_sweep *contact, const real *x, const real *offset,
                            real *positions, real *direction) {
    const int lanes = sweep->update_threads > 0 ? sweep->update_threads : PD_CORNER_LANES;
    const pd_contact_sweep touched = contact ? *contact : pd_contact_sweep{};
    slot_position *slots = (slot_position *)positions;
    auto groups = group_update_kernel<8>;
    if (lanes == 1) groups = group_update_kernel<1>;
    if (lanes == 4) groups = group_update_kernel<4>;
    if (lanes == 16) groups = group_update_kernel<16>;
    if (lanes == 32) groups = group_update_kernel<32>;

    PD_LAUNCH(context, gather_kernel, model->n_vertices, model->n_vertices, sweep->order, x, slots);
    for (int colour = 0; colour < sweep->n_colours; colour++) {
        const int *ends = sweep->kind_end + (size_t)colour * PD_UPDATE_KINDS;
        const int first = sweep->colour_start[colour], last = sweep->colour_start[colour + 1];
        const bool by_kind = kind != PD_SWEEP_SEARCH && !contact; // the others need what only the kernel for all kinds has
        const int plain = by_kind ? ends[PD_UPDATES_NEO_HOOKEAN] : first, grouped = by_kind ? ends[PD_UPDATES_ROTATED] : first;
        PD_LAUNCH_BLOCKS(context, groups, update_blocks(plain - first, lanes), *model, *sweep, *step, kind, in_place, first, plain, offset,
                         slots, direction);
        PD_LAUNCH_BLOCKS(context, rotated_update_kernel, update_blocks(grouped - plain, lanes), *model, *sweep, *step, kind, in_place,
                         lanes, plain, grouped, offset, slots, direction);
        PD_LAUNCH_BLOCKS(context, corner_update_kernel, update_blocks(last - grouped, lanes), *model, *sweep, *step, touched, kind,
                         in_place, lanes, grouped, last, offset, slots, direction);
        if (contact && in_place) PD_LAUNCH(context, commit_kernel, last - first, *sweep, touched, direction, first, last);
    }
    return PD_OK;
}
