/* Aggregated Jacobi iterations; see aggregation.h. */
#include "sparse/aggregation.h"

#include "sparse/aggregation_products.h"
#include "threads/team.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_LIST = 65535 };

void pd_aggregation_destroy(pd_aggregation *self) {
    void *memory[] = {self->rows,       self->list_start, self->list, self->segment_start, self->entry_start,   self->local,  self->via,
                      self->path_start, self->products,   self->hops, self->own,           self->support_start, self->support};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) free(memory[i]);
    pd_csr_destroy(&self->B);
    memset(self, 0, sizeof *self);
}

/* ---- off-diagonal part ------------------------------------------------------------------------------------------------------ */

pd_status pd_off_diagonal(pd_csr *out, const pd_csr *A, const unsigned char *fixed, const pd_csr *without, double threshold,
                          pd_error *error) {
    size_t n = (size_t)A->n, count = (size_t)A->row_start[A->n];
    double *largest = NULL;
    pd_status status = PD_OK;
    memset(out, 0, sizeof *out);
    out->n = A->n;
    out->row_start = malloc((n + 1) * sizeof(int));
    out->columns = malloc((count + 1) * sizeof(int));
    out->values = malloc((count + 1) * sizeof(double));
    if (threshold > 0) largest = calloc(n + 1, sizeof(double));
    if (!out->row_start || !out->columns || !out->values || (threshold > 0 && !largest)) {
        pd_csr_destroy(out);
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for a matrix of %d rows", A->n);
        goto done;
    }
    for (int i = 0; largest && i < A->n; i++)
        for (int s = A->row_start[i]; s < A->row_start[i + 1]; s++)
            if (A->columns[s] != i) largest[i] = fmax(largest[i], fabs(A->values[s]));
    int next = 0;
    for (int i = 0; i < A->n; i++) {
        out->row_start[i] = next;
        for (int s = A->row_start[i]; s < A->row_start[i + 1] && !(fixed && fixed[i]); s++) {
            int j = A->columns[s];
            if (j == i || (fixed && fixed[j])) continue;
            double value = -A->values[s], left_out = without ? pd_csr_entry(without, i, j) : 0.0;
            // drop entries that consist of the left-out part only, to rounding of the two sums
            if (without && fabs(value + left_out) <= 1e-12 * fabs(left_out)) continue;
            if (largest && fabs(value) < threshold * fmin(largest[i], largest[j])) continue;
            out->columns[next] = j;
            out->values[next++] = value + left_out;
        }
    }
    out->row_start[A->n] = next;
done:
    free(largest);
    return status;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------------------ */

/* Grows groups of block_rows neighbours breadth-first from the lowest free vertex. An enclosed group continues from the next free
 * vertex. */
static pd_status group_rows(pd_aggregation *self, pd_error *error) {
    const pd_csr *B = &self->B;
    int block_rows = self->block_rows;
    unsigned char *taken = calloc((size_t)self->n + 1, 1);
    if (!taken) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the blocks of %d rows", self->n);
    int placed = 0, seed = 0;
    for (int begin = 0; begin < self->n; begin += block_rows) {
        int end = begin + block_rows < self->n ? begin + block_rows : self->n, head = begin;
        while (placed < end) {
            if (head == placed) {
                while (taken[seed]) seed++;
                taken[seed] = 1;
                self->rows[placed++] = seed;
            }
            int i = self->rows[head++];
            for (int s = B->row_start[i]; s < B->row_start[i + 1] && placed < end; s++)
                if (!taken[B->columns[s]]) taken[B->columns[s]] = 1, self->rows[placed++] = B->columns[s];
        }
        // ascending inside the block
        for (int a = begin + 1; a < end; a++)
            for (int b = a; b > begin && self->rows[b] < self->rows[b - 1]; b--) {
                int swap = self->rows[b];
                self->rows[b] = self->rows[b - 1], self->rows[b - 1] = swap;
            }
    }
    free(taken);
    return PD_OK;
}

static int compare_ints(const void *a, const void *b) { return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b); }

/* Scratch of one thread: stamps and a list over all vertices. */
typedef struct worker {
    int *stamp, *block_stamp, *found, *position;
    int ticket; /* the last stamp used */
} worker;

static void worker_destroy(worker *w) {
    free(w->stamp);
    free(w->block_stamp);
    free(w->found);
    free(w->position);
}

static int worker_create(worker *w, int n) {
    size_t count = (size_t)n + 1;
    w->ticket = 0;
    w->stamp = malloc(count * sizeof(int));
    w->block_stamp = malloc(count * sizeof(int));
    w->found = malloc(2 * count * sizeof(int)); // a ring and the next one
    w->position = malloc(count * sizeof(int));
    if (!w->stamp || !w->block_stamp || !w->found || !w->position) return 0;
    memset(w->stamp, 0xff, count * sizeof(int));
    memset(w->block_stamp, 0xff, count * sizeof(int));
    return 1;
}

/* One piece of work: number k of `data`, with the worker of its thread. */
typedef void task(pd_aggregation *self, int k, worker *w, const void *data);

/* Estimated work per block, ns. */
enum { BLOCK_NANOSECONDS = 50000 };

static pd_status run_in_parallel(pd_aggregation *self, task *run, int n_tasks, const void *data, int nanoseconds, int threads,
                                 pd_error *error) {
    int failed = 0;
    (void)threads, (void)nanoseconds;
#pragma omp parallel num_threads(pd_team(threads, n_tasks, nanoseconds))
    {
        worker w;
        int made = worker_create(&w, self->n);
        if (!made) {
#pragma omp atomic write
            failed = 1;
        }
#pragma omp for schedule(static)
        for (int k = 0; k < n_tasks; k++)
            if (made) run(self, k, &w, data);
        worker_destroy(&w);
    }
    return failed ? pd_fail(error, PD_ERROR_MEMORY, "out of memory for an aggregated operator of %d rows", self->n) : PD_OK;
}

/* Columns of row i of the operator, ascending, into w->found. `exact`: those at the end of a walk of exactly `degree` hops, and i if a_0
 * is nonzero. Otherwise all within that many hops. */
static int reach(const pd_aggregation *self, int i, int exact, worker *w) {
    const pd_csr *B = &self->B;
    int count = 1, begin = 0, mark = ++w->ticket, *found = w->found;
    found[0] = i;
    w->stamp[i] = mark;
    for (int hop = 0; hop < self->degree; hop++) {
        int end = count;
        if (exact) mark = ++w->ticket;
        for (int a = begin; a < end; a++)
            for (int s = B->row_start[found[a]]; s < B->row_start[found[a] + 1]; s++)
                if (w->stamp[B->columns[s]] != mark) w->stamp[B->columns[s]] = mark, found[count++] = B->columns[s];
        begin = end;
        if (exact) { // only the last ring counts
            count -= begin;
            memmove(found, found + begin, (size_t)count * sizeof *found);
            begin = 0;
        }
    }
    if (exact && self->coefficients[0] != 0.0 && w->stamp[i] != mark) found[count++] = i;
    qsort(found, (size_t)count, sizeof *found, compare_ints);
    return count;
}

typedef struct counts {
    int *row_entries, *list_length; /* [n] by place, [n_blocks] */
} counts;

/* Entries of every place of block b, and the length of its list. */
static void count_block(pd_aggregation *self, int b, worker *w, const void *data) {
    const counts *out = data;
    int begin = b * self->block_rows, end = begin + self->block_rows < self->n ? begin + self->block_rows : self->n, length = 0;
    for (int t = begin; t < end; t++) {
        int count = out->row_entries[t] = reach(self, self->rows[t], self->exact, w);
        for (int k = 0; k < count; k++)
            if (w->block_stamp[w->found[k]] != b) w->block_stamp[w->found[k]] = b, length++;
    }
    out->list_length[b] = length;
}

static void fill_block(pd_aggregation *self, int b, worker *w, const void *unused) {
    (void)unused;
    int begin = b * self->block_rows, end = begin + self->block_rows < self->n ? begin + self->block_rows : self->n, length = 0;
    int *list = self->list + self->list_start[b];
    for (int t = begin; t < end; t++) {
        int count = reach(self, self->rows[t], self->exact, w);
        for (int k = 0; k < count; k++)
            if (w->block_stamp[w->found[k]] != b) w->block_stamp[w->found[k]] = b, list[length++] = w->found[k];
    }
    qsort(list, (size_t)length, sizeof *list, compare_ints);
    for (int k = 0; k < length; k++) w->position[list[k]] = k;
    for (int t = begin; t < end; t++) {
        int count = reach(self, self->rows[t], self->exact, w), first = self->entry_start[self->segment_start[t]];
        for (int k = 0; k < count; k++) self->local[first + k] = (unsigned short)w->position[w->found[k]];
    }
}

static pd_status lay_out(pd_aggregation *self, int segment, int threads, pd_error *error) {
    size_t n = (size_t)self->n, n_blocks = (size_t)self->n_blocks;
    long long n_entries = 0, n_segments = 0, list_total = 0;
    int *row_entries = malloc((n + 1) * sizeof(int)), *list_length = malloc((n_blocks + 1) * sizeof(int));
    pd_status status = PD_OK;
    if (!row_entries || !list_length) goto memory;
    if ((status =
             run_in_parallel(self, count_block, self->n_blocks, &(counts){row_entries, list_length}, BLOCK_NANOSECONDS, threads, error)))
        goto done;

    for (size_t t = 0; t < n; t++) n_entries += row_entries[t], n_segments += (row_entries[t] + segment - 1) / segment;
    for (size_t b = 0; b < n_blocks; b++) {
        list_total += list_length[b];
        if (list_length[b] > self->largest_list) self->largest_list = list_length[b];
        if (list_length[b] > LONGEST_LIST) {
            status = pd_fail(error, PD_ERROR_VALUE,
                             "order: the rows around vertex %d reach %d columns in %d hops, more than %d; take a lower order here",
                             self->rows[b * (size_t)self->block_rows], list_length[b], self->degree, LONGEST_LIST);
            goto done;
        }
    }
    if (n_entries > INT_MAX || list_total > INT_MAX) {
        status = pd_fail(error, PD_ERROR_VALUE, "order: the aggregated operator would have %lld entries, more than 2^31 - 1", n_entries);
        goto done;
    }
    self->list_start = malloc((n_blocks + 1) * sizeof(int));
    self->list = malloc(((size_t)list_total + 1) * sizeof(int));
    self->segment_start = malloc((n + 1) * sizeof(int));
    self->entry_start = malloc(((size_t)n_segments + 1) * sizeof(int));
    self->local = malloc(((size_t)n_entries + 1) * sizeof(unsigned short));
    if (!self->list_start || !self->list || !self->segment_start || !self->entry_start || !self->local) goto memory;
    self->list_start[0] = 0;
    for (size_t b = 0; b < n_blocks; b++) self->list_start[b + 1] = self->list_start[b] + list_length[b];
    int entry = 0, piece = 0;
    for (size_t t = 0; t < n; t++) {
        self->segment_start[t] = piece;
        for (int k = 0; k < row_entries[t]; k += segment) self->entry_start[piece++] = entry + k;
        entry += row_entries[t];
    }
    self->segment_start[n] = piece;
    self->entry_start[piece] = entry;
    status = run_in_parallel(self, fill_block, self->n_blocks, NULL, BLOCK_NANOSECONDS, threads, error);
    goto done;

memory:
    status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for an aggregated operator of %d rows", self->n);
done:
    free(row_entries);
    free(list_length);
    return status;
}

/* ---- supports ------------------------------------------------------------------------------------------------------------------ */

/* The columns of block b's support: their number, and after the allocation the columns, ascending. */
static void visit_support(pd_aggregation *self, int b, worker *w, const void *data) {
    const counts *out = data;
    int *support = self->support ? self->support + self->support_start[b] : NULL, length = 0;
    int begin = b * self->block_rows, end = begin + self->block_rows < self->n ? begin + self->block_rows : self->n;
    for (int t = begin; t < end; t++) {
        int count = reach(self, self->rows[t], 0, w);
        for (int k = 0; k < count; k++) {
            if (w->block_stamp[w->found[k]] == b) continue;
            w->block_stamp[w->found[k]] = b;
            if (support) support[length] = w->found[k];
            length++;
        }
    }
    out->list_length[b] = length;
    if (support) qsort(support, (size_t)length, sizeof *support, compare_ints);
}

/* The supports for pd_refresh_rows. They are the lists themselves unless entries were left out. */
static pd_status find_supports(pd_aggregation *self, int threads, pd_error *error) {
    size_t n_blocks = (size_t)self->n_blocks;
    int *lengths = malloc((n_blocks + 1) * sizeof(int));
    counts out = {NULL, lengths};
    long long total = 0;
    pd_status status = PD_OK;
    if (!lengths) goto memory;
    if ((status = run_in_parallel(self, visit_support, self->n_blocks, &out, BLOCK_NANOSECONDS, threads, error))) goto done;
    for (size_t b = 0; b < n_blocks; b++) {
        total += lengths[b];
        if (lengths[b] > self->largest_support) self->largest_support = lengths[b];
    }
    if (total > INT_MAX) {
        status = pd_fail(error, PD_ERROR_VALUE, "order: the rows of the aggregated operator reach %lld columns, more than 2^31 - 1", total);
        goto done;
    }
    self->support_start = malloc((n_blocks + 1) * sizeof(int));
    int *support = malloc(((size_t)total + 1) * sizeof(int));
    if (!self->support_start || !support) {
        free(support);
        goto memory;
    }
    self->support = support;
    self->support_start[0] = 0;
    for (size_t b = 0; b < n_blocks; b++) self->support_start[b + 1] = self->support_start[b] + lengths[b];
    status = run_in_parallel(self, visit_support, self->n_blocks, &out, BLOCK_NANOSECONDS, threads, error);
    goto done;

memory:
    status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for an aggregated operator of %d rows", self->n);
done:
    free(lengths);
    return status;
}

/* ---- creation -------------------------------------------------------------------------------------------------------------------- */

pd_status pd_aggregation_create(pd_aggregation *out, const pd_csr *B, int degree, double weight, const double *coefficients,
                                const pd_csr *bending, double threshold, int block_rows, int segment, int threads, pd_error *error) {
    pd_aggregation self = {0};
    pd_status status = PD_OK;
    size_t n = (size_t)B->n, count = (size_t)B->row_start[B->n];
    self.n = self.B.n = B->n;
    self.degree = degree;
    self.weight = weight;
    self.block_rows = block_rows;
    self.exact = weight == 1.0;
    for (int k = degree - 1; k >= 0; k -= 2) self.exact &= coefficients[k] == 0.0;
    memcpy(self.coefficients, coefficients, ((size_t)degree + 1) * sizeof(double));
    self.n_blocks = (B->n + block_rows - 1) / block_rows;
    self.rows = malloc((n + 1) * sizeof(int));
    self.B.row_start = malloc((n + 1) * sizeof(int));
    self.B.columns = malloc((count + 1) * sizeof(int));
    self.B.values = malloc((count + 1) * sizeof(double));
    if (!self.rows || !self.B.row_start || !self.B.columns || !self.B.values) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for an aggregated operator of %d rows", B->n);
        goto done;
    }
    memcpy(self.B.row_start, B->row_start, (n + 1) * sizeof(int));
    memcpy(self.B.columns, B->columns, count * sizeof(int));
    memcpy(self.B.values, B->values, count * sizeof(double));
    if ((status = group_rows(&self, error))) goto done;
    if ((status = lay_out(&self, segment, threads, error))) goto done;
    if ((status = pd_count_walks(&self, error))) goto done;
    if (degree == 2) {
        if ((status = pd_store_products(&self, bending, threshold, error))) goto done;
        if (bending || threshold > 0) pd_drop_empty_entries(&self, segment);
    } else if (self.exact) {
        if ((status = find_supports(&self, threads, error))) goto done;
    } else
        self.largest_support = self.largest_list;
done:
    if (status)
        pd_aggregation_destroy(&self);
    else
        *out = self;
    return status;
}
