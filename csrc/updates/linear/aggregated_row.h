/* One row of an aggregated operator, for the loops of both backends (pd_refresh_rows of matrix_loops.h), by `lanes` threads together.
 *
 * e_i^T P = a_0 e_i^T + a_1 e_i^T R + ..: one product with R per degree, on a dense row over the columns of the block's support. Columns
 * are processed in the order of their discovery, and the neighbours of one column by all lanes at once, each its own. Every sum has the
 * same order for any number of lanes.
 *
 * Before the include a backend defines PD_LANES_WAIT(), which makes the writes of other lanes visible, and PD_LANES_COUNT(has, lane,
 * total): the number of lower lanes with `has`, and that of all in *total. Without these, a row has one lane. */
#ifndef PD_UPDATES_LINEAR_AGGREGATED_ROW_H
#define PD_UPDATES_LINEAR_AGGREGATED_ROW_H

#include "loops/matrix_loops.h"

#ifndef PD_LANES_WAIT
#define PD_LANES_WAIT()                  ((void)0)
#define PD_LANES_COUNT(has, lane, total) (*(total) = (has), 0)
#endif

#ifdef __CUDACC__
#define PD_ROW_FUNCTION static __device__ __forceinline__
#else
#define PD_ROW_FUNCTION static inline
#endif

/* Scratch of a row, all zero before and after; by position in the support. */
typedef struct pd_row_memory {
    double *row, *next, *sum; /* [largest_support] */
    int *found;               /* [largest_support] positions in the order of their discovery */
    unsigned char *seen;      /* [largest_support] */
    int *position;            /* [n] of each column of the support, or NULL: a search finds it */
} pd_row_memory;

/* Bytes of one pd_row_memory; with_positions: with its `position`. A multiple of 16. */
PD_FUNCTION size_t pd_row_memory_bytes(int n, int largest_support, int with_positions) {
    size_t length = (size_t)largest_support, bytes = length * (3 * sizeof(double) + sizeof(int) + 1);
    return (bytes + (with_positions ? (size_t)n * sizeof(int) : 0) + sizeof(int) + 15) / 16 * 16;
}

/* The pd_row_memory of one worker in its bytes. */
PD_ROW_FUNCTION pd_row_memory pd_row_memory_at(void *memory, int n, int largest_support, int with_positions) {
    size_t length = (size_t)largest_support;
    pd_row_memory out;
    out.row = (double *)memory;
    out.next = out.row + length;
    out.sum = out.next + length;
    out.found = (int *)(out.sum + length);
    out.position = with_positions ? out.found + length : NULL;
    out.seen = (unsigned char *)(out.found + length + (with_positions ? (size_t)n : 0));
    return out;
}

/* Position of a column in a support, which must contain it. */
PD_ROW_FUNCTION int pd_support_position(const int *support, int length, const int *position, int column) {
    if (position) return position[column];
    int low = 0, high = length - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (support[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

PD_ROW_FUNCTION void pd_aggregated_row(const pd_row_polynomial *polynomial, const pd_block_matrix *P, const double *diagonal, int slot,
                                       const pd_row_memory *memory, int lane, int lanes) {
    int block = slot / PD_BLOCK_ROWS, i = P->rows[slot], count = 1;
    const int *support = polynomial->support + polynomial->support_start[block], *list = P->list + P->list_start[block];
    int length = polynomial->support_start[block + 1] - polynomial->support_start[block];
    const double *a = polynomial->coefficients;
    double w = polynomial->weight, *row = memory->row, *next = memory->next, *sum = memory->sum;
    if (lane == 0) {
        int p = pd_support_position(support, length, memory->position, i);
        memory->found[0] = p;
        memory->seen[p] = 1;
        row[p] = 1.0;
        sum[p] = a[0];
    }
    PD_LANES_WAIT();
    for (int m = 1; m <= polynomial->degree; m++) {
        int reached = count;
        for (int k = 0; k < reached; k++) {
            int p = memory->found[k], s = support[p], begin = polynomial->row_start[s], end = polynomial->row_start[s + 1];
            double scaled = w * row[p] / diagonal[s];
            if (lane == 0) next[p] += (1.0 - w) * row[p];
            for (int b = begin + lane; b - lane < end; b += lanes) {
                int q = b < end ? pd_support_position(support, length, memory->position, polynomial->columns[b]) : -1, met;
                int fresh = q >= 0 && !memory->seen[q], before = PD_LANES_COUNT(fresh, lane, &met);
                if (fresh) memory->seen[q] = 1, memory->found[count + before] = q;
                if (q >= 0) next[q] += scaled * polynomial->values[b];
                count += met;
            }
            PD_LANES_WAIT();
        }
        double *swap = row, factor = m == 1 ? a[1] : m == 2 ? a[2] : m == 3 ? a[3] : a[4]; // an index would move them to local memory
        row = next, next = swap;
        for (int k = lane; k < count; k += lanes) {
            int p = memory->found[k];
            next[p] = 0.0;
            sum[p] += factor * row[p];
        }
        PD_LANES_WAIT();
    }
    for (int e = P->entry_start[P->segment_start[slot]] + lane; e < P->entry_start[P->segment_start[slot + 1]]; e += lanes) {
        int p = polynomial->same ? P->local[e] : pd_support_position(support, length, memory->position, list[P->local[e]]);
        P->values[e] = (real)sum[p];
    }
    PD_LANES_WAIT();
    for (int k = lane; k < count; k += lanes) {
        int p = memory->found[k];
        row[p] = sum[p] = 0.0;
        memory->seen[p] = 0;
    }
    PD_LANES_WAIT();
}

#endif
