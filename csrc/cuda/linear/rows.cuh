/* Rows of a sparse matrix, PD_LANES neighbouring threads each, all columns of the vectors in one pass.
 *
 * Neighbouring threads read adjacent entries, and an entry is read once for all columns. A row of 14 entries, typical for tets, with
 * three columns in float takes 112 bytes of matrix and 52 of vectors; column by column through the cache it would be 336. Vectors of
 * widths other than 1 and 3 are processed by columns. Every thread of a warp must take part: rows outside are empty. */
#ifndef PD_CUDA_LINEAR_ROWS_CUH
#define PD_CUDA_LINEAR_ROWS_CUH

#include "loops/matrix_loops.h"

#include "cuda/context.cuh"
#include "cuda/record.cuh"

enum { PD_LANES = 4, PD_ROWS = PD_THREADS / PD_LANES }; /* threads of a row, rows of a block */

/* Launches kernel<3>(arguments) for vectors of three columns, and kernel<1> for all others. */
#define PD_LAUNCH_BY_WIDTH(context, kernel, width, blocks, ...)        \
    do {                                                               \
        if ((width) == 3)                                              \
            PD_LAUNCH_BLOCKS(context, kernel<3>, blocks, __VA_ARGS__); \
        else                                                           \
            PD_LAUNCH_BLOCKS(context, kernel<1>, blocks, __VA_ARGS__); \
    } while (0)

#define PD_LAUNCH_OVERLAPPING_BY_WIDTH(context, kernel, width, blocks, ...) \
    do {                                                                    \
        if ((width) == 3)                                                   \
            PD_LAUNCH_OVERLAPPING(context, kernel<3>, blocks, __VA_ARGS__); \
        else                                                                \
            PD_LAUNCH_OVERLAPPING(context, kernel<1>, blocks, __VA_ARGS__); \
    } while (0)

/* Blocks with PD_LANES threads for each of n rows. */
static inline unsigned pd_row_blocks(int n) { return pd_thread_blocks((long long)n * PD_LANES); }

/* The thread's row: row first + its group of lanes in the block; at or past `end`, `inside` = 0. */
struct pd_row {
    int i, lane, inside;
};

static __device__ __forceinline__ pd_row pd_row_of(int first, int end) {
    int i = first + (int)threadIdx.x / PD_LANES;
    return {i, (int)threadIdx.x % PD_LANES, i < end};
}

/* Adds up the sums of `lanes` neighbouring threads in a fixed order. All of them get the same bits. */
template <int lanes, int W, typename T> static __device__ __forceinline__ void pd_add_lanes(T (&sum)[W]) {
#pragma unroll
    for (int shift = lanes / 2; shift > 0; shift /= 2)
#pragma unroll
        for (int c = 0; c < W; c++) sum[c] += __shfl_xor_sync(0xffffffffu, sum[c], shift, lanes);
}

/* sum[lane], without a run-time index into registers. */
template <int W, typename T> static __device__ __forceinline__ T pd_of_lane(const T (&sum)[W], int lane) {
    T value = sum[0];
#pragma unroll
    for (int c = 1; c < W; c++) value = lane == c ? sum[c] : value;
    return value;
}

/* The begin of row i of vectors [n,width]. W = 3 is only launched for that width (PD_LAUNCH_BY_WIDTH): a constant avoids a 64-bit
 * product. */
template <int W> static __device__ __forceinline__ int pd_width(int width) { return W == 3 ? 3 : width; }

template <int W> static __device__ __forceinline__ size_t pd_row_begin(int width, int i) { return (size_t)pd_width<W>(width) * (size_t)i; }

/* Entries that a thread reads before it uses the first one. Their values of x are loaded together, so a row waits for memory twice and
 * not once per entry. Four times PD_LANES exceed most rows of tets (14). */
enum { PD_ENTRIES_AT_ONCE = 4 };

/* Minimum of resident blocks per multiprocessor, for a kernel for three columns that holds those entries: 40 registers in float, 64 in
 * double. */
enum { PD_ROW_BLOCKS = sizeof(real) == sizeof(float) ? 6 : 4 };
/* The same for a kernel of W columns at a time: one column has fewer numbers in flight, and more are loaded ahead. */
constexpr int pd_row_blocks_held(int W) { return W == 3 ? PD_ROW_BLOCKS : 4 + (PD_ROW_BLOCKS > 4); }
/* The same for padded rows that are also written: each neighbour holds four registers in flight, and ptxas would spill for six blocks. */
constexpr int pd_padded_row_blocks_held(int W, bool padded) {
    return padded && sizeof(real) == sizeof(float) ? PD_ROW_BLOCKS - 1 : pd_row_blocks_held(W);
}

/* A thread's next entries of a row, already read, the begin of the following ones, and the end of the row. */
template <typename T> struct pd_entries {
    int at, end;
    T values[PD_ENTRIES_AT_ONCE];
    int columns[PD_ENTRIES_AT_ONCE];
};

template <typename T> static __device__ __forceinline__ void pd_read_entries(const pd_matrix &A, pd_entries<T> &entries) {
#pragma unroll
    for (int e = 0; e < PD_ENTRIES_AT_ONCE; e++) {
        int s = entries.at + e * PD_LANES;
        if (s >= entries.end) s = entries.at; // past the end: repeats the first, with no effect
        entries.values[e] = (T)A.values[s];
        entries.columns[e] = A.columns[s];
    }
}

/* The thread's place in its row; reads no entry. */
template <typename T> static __device__ __forceinline__ pd_entries<T> pd_entries_of(const pd_matrix &A, pd_row row) {
    pd_entries<T> entries;
    entries.at = (row.inside ? A.row_start[row.i] : 0) + row.lane;
    entries.end = row.inside ? A.row_start[row.i + 1] : 0;
    return entries;
}

/* Columns first .. first + W - 1 of row i of x. PADDED: x [n] of pd_padded_row, W = 3 and first = 0. */
template <int W, bool PADDED, typename T>
static __device__ __forceinline__ void pd_read_columns(const real *x, int width, int i, int first, T (&v)[W]) {
    if (PADDED) {
        const pd_padded_row row = pd_read_record((const pd_padded_row *)x + i);
#pragma unroll
        for (int c = 0; c < W; c++) v[c] = (T)row.c[c];
    } else {
#pragma unroll
        for (int c = 0; c < W; c++) v[c] = (T)x[pd_row_begin<W>(width, i) + (size_t)(first + c)];
    }
}

/* (A x)_i without the diagonal term for columns first .. first + W - 1 of x [n,width]: that of column first + lane, for lanes below W.
 *   PADDED  as in pd_read_columns      AHEAD  the first entries have been read, before x was complete */
template <int W, bool PADDED, bool AHEAD, typename T>
static __device__ __forceinline__ T pd_off_diagonal_from(const pd_matrix &A, pd_row row, pd_entries<T> entries, int width, int first,
                                                         const real *x) {
    T sum[W];
#pragma unroll
    for (int c = 0; c < W; c++) sum[c] = 0;
#pragma unroll 1
    while (entries.at < entries.end) {
        T v[PD_ENTRIES_AT_ONCE][W];
        pd_entries<T> now = entries;
        if (!AHEAD) pd_read_entries(A, now);
#pragma unroll
        for (int e = 0; e < PD_ENTRIES_AT_ONCE; e++) pd_read_columns<W, PADDED>(x, width, now.columns[e], first, v[e]);
#pragma unroll
        for (int e = 0; e < PD_ENTRIES_AT_ONCE; e++)
#pragma unroll
            for (int c = 0; c < W; c++) sum[c] = now.at + e * PD_LANES < now.end ? sum[c] + now.values[e] * v[e][c] : sum[c];
        entries.at += PD_ENTRIES_AT_ONCE * PD_LANES;
        if (AHEAD && entries.at < entries.end) pd_read_entries(A, entries);
    }
    pd_add_lanes<PD_LANES>(sum);
    return pd_of_lane(sum, row.lane);
}

template <int W, typename T = real>
static __device__ __forceinline__ T pd_off_diagonal(const pd_matrix &A, pd_row row, int width, int first, const real *x) {
    return pd_off_diagonal_from<W, false, false, T>(A, row, pd_entries_of<T>(A, row), width, first, x);
}

/* Column `lane` of P v, with the three numbers v in the first lanes of a row. Every thread of a warp must take part.
 *   subspace [n,3,3], i: the row's place in it */
template <typename T> static __device__ __forceinline__ T pd_project_lanes(const real *subspace, int i, pd_row row, T value) {
    const real *P = subspace + (row.inside && row.lane < 3 ? 9 * (size_t)i + 3 * (size_t)row.lane : 0);
    T sum = 0;
#pragma unroll
    for (int c = 0; c < 3; c++) sum += (T)P[c] * __shfl_sync(0xffffffffu, value, c, PD_LANES);
    return sum;
}

/* The same for (a_ii I + B_i)^-1 (r - A d)_i with blocks on the diagonal; rest = (r - A d)_i without the diagonal, d = d_i. */
static __device__ __forceinline__ real pd_coupled_move(const pd_matrix &A, int i, pd_row row, real rest, real diagonal, real d) {
    real defect = rest - diagonal * d - pd_project_lanes(A.coupling, i, row, d);
    return pd_project_lanes(A.inverses, i, row, defect);
}

#endif
