/* Parallel triangular solves with a supernodal factor; see supernodal_solve.h. */
#include "sparse/supernodal_solve.h"

#include "sparse/processor_clones.h"
#include "threads/team.h"

#include <stdlib.h>
#include <string.h>

typedef double lane4 __attribute__((vector_size(32)));

enum {
    PANEL = 64,          /* columns solved by one thread between two barriers above the cut */
    ROW_CHUNK = 128,     /* rows of one task above the cut */
    SHARED_SIZE = 24000, /* entries above which threads share a supernode above the cut */
    SUBTREES = 48,       /* a subtree below the cut holds at most 1/48 of the factor */
};

struct pd_supernodal_plan {
    int64_t n_subtrees, n_top, max_rows;
    int64_t *subtree_first, *subtree_last; /* [n_subtrees] supernodes, inclusive */
    int64_t *subtree_tail;                 /* [n_subtrees+1] start of its tail */
    int64_t *top;                          /* [n_top] supernodes above the cut, ascending */
    int64_t *inside;                       /* [n_supernodes] rows below the diagonal block that are in the subtree */
    int *tail_position;                    /* [row_start[n_supernodes]] place of a row in the subtree's tail */
    lane4 *z;                              /* [n] the vector, permuted */
    lane4 *tail;                           /* contributions of subtrees to rows above the cut */
    lane4 *front;                          /* [max_rows] rows of the shared supernode */
};

/* A pass over eight columns prefetches the next eight, of each the line with row r. The columns are too short for the hardware
 * prefetcher. */
static inline void fetch_ahead(const double *a, int64_t ld, int64_t r) { __builtin_prefetch(a + (8 + (r & 7)) * ld + (r & ~(int64_t)7)); }

/* v[r] -= sum_j L[r + j ld] x[j]: eight columns per pass make eight streams and one load and store of v. */
PD_CLONES static void subtract_columns(const double *L, int64_t ld, int64_t rows, int64_t columns, const lane4 *x, lane4 *v) {
    int64_t j = 0;
    for (; j + 8 <= columns; j += 8) {
        const double *a = L + j * ld;
        lane4 x0 = x[j], x1 = x[j + 1], x2 = x[j + 2], x3 = x[j + 3], x4 = x[j + 4], x5 = x[j + 5], x6 = x[j + 6], x7 = x[j + 7];
        for (int64_t r = 0; r < rows; r++) {
            fetch_ahead(a, ld, r);
            lane4 s = v[r] - a[r] * x0 - a[r + ld] * x1;
            lane4 t = a[r + 2 * ld] * x2 + a[r + 3 * ld] * x3;
            lane4 u = a[r + 4 * ld] * x4 + a[r + 5 * ld] * x5;
            lane4 w = a[r + 6 * ld] * x6 + a[r + 7 * ld] * x7;
            v[r] = (s - t) - (u + w);
        }
    }
    for (; j < columns; j++)
        for (int64_t r = 0; r < rows; r++) v[r] -= L[r + j * ld] * x[j];
}

/* v[j] -= sum_r L[r + j ld] x[r] for a few columns j: the transposed product. */
PD_CLONES static void subtract_rows(const double *L, int64_t ld, int64_t rows, int64_t columns, const lane4 *x, lane4 *v) {
    int64_t j = 0;
    for (; j + 8 <= columns; j += 8) {
        const double *a = L + j * ld;
        lane4 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};
        for (int64_t r = 0; r < rows; r++) {
            fetch_ahead(a, ld, r);
            lane4 y = x[r];
            s0 += a[r] * y;
            s1 += a[r + ld] * y;
            s2 += a[r + 2 * ld] * y;
            s3 += a[r + 3 * ld] * y;
            s4 += a[r + 4 * ld] * y;
            s5 += a[r + 5 * ld] * y;
            s6 += a[r + 6 * ld] * y;
            s7 += a[r + 7 * ld] * y;
        }
        v[j] -= s0, v[j + 1] -= s1, v[j + 2] -= s2, v[j + 3] -= s3;
        v[j + 4] -= s4, v[j + 5] -= s5, v[j + 6] -= s6, v[j + 7] -= s7;
    }
    for (; j < columns; j++) {
        lane4 s = {0};
        for (int64_t r = 0; r < rows; r++) s += L[r + j * ld] * x[r];
        v[j] -= s;
    }
}

/* Solves the lower triangle of the first `columns` rows in place and subtracts the columns from the rows below. */
PD_CLONES static void forward_dense(const double *L, int64_t ld, int64_t rows, int64_t columns, lane4 *v) {
    for (int64_t j0 = 0; j0 < columns; j0 += 8) {
        int64_t width = columns - j0 < 8 ? columns - j0 : 8;
        for (int64_t j = j0; j < j0 + width; j++) {
            lane4 s = v[j];
            for (int64_t i = j0; i < j; i++) s -= L[j + i * ld] * v[i];
            v[j] = s / L[j + j * ld];
        }
        subtract_columns(L + j0 * ld + j0 + width, ld, rows - j0 - width, width, v + j0, v + j0 + width);
    }
}

/* Solves with the transposed triangle; v[columns .. rows) holds the unknowns below. */
PD_CLONES static void backward_dense(const double *L, int64_t ld, int64_t rows, int64_t columns, lane4 *v) {
    int64_t last = (columns - 1) / 8 * 8;
    for (int64_t j0 = last; j0 >= 0; j0 -= 8) {
        int64_t width = columns - j0 < 8 ? columns - j0 : 8;
        subtract_rows(L + j0 * ld + j0 + width, ld, rows - j0 - width, width, v + j0 + width, v + j0);
        for (int64_t j = j0 + width - 1; j >= j0; j--) {
            lane4 s = v[j];
            for (int64_t i = j + 1; i < j0 + width; i++) s -= L[i + j * ld] * v[i];
            v[j] = s / L[j + j * ld];
        }
    }
}

static int64_t rows_of(const pd_supernodes *f, int64_t s) { return f->row_start[s + 1] - f->row_start[s]; }
static int64_t columns_of(const pd_supernodes *f, int64_t s) { return f->super[s + 1] - f->super[s]; }

void pd_supernodal_plan_destroy(pd_supernodal_plan *plan) {
    if (!plan) return;
    free(plan->subtree_first);
    free(plan->subtree_last);
    free(plan->subtree_tail);
    free(plan->top);
    free(plan->inside);
    free(plan->tail_position);
    free(plan->z);
    free(plan->tail);
    free(plan->front);
    free(plan);
}

static lane4 *lanes(int64_t n) { return aligned_alloc(64, (((size_t)n * sizeof(lane4)) / 64 + 1) * 64); }

/* Cuts the tree: supernodes with a subtree larger than its share are above the cut. */
static pd_status cut_tree(pd_supernodal_plan *plan, const pd_supernodes *f, int64_t *parent, int64_t *size, pd_error *error) {
    int64_t n = f->n_supernodes, total = 0;
    int64_t *owner = malloc(((size_t)f->n + 1) * sizeof *owner);
    if (!owner) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for a solve of %lld rows", (long long)f->n);
    for (int64_t s = 0; s < n; s++)
        for (int64_t c = f->super[s]; c < f->super[s + 1]; c++) owner[c] = s;
    for (int64_t s = 0; s < n; s++) {
        size[s] = rows_of(f, s) * columns_of(f, s);
        total += size[s];
        parent[s] = rows_of(f, s) > columns_of(f, s) ? owner[f->rows[f->row_start[s] + columns_of(f, s)]] : -1;
        if (rows_of(f, s) > plan->max_rows) plan->max_rows = rows_of(f, s);
    }
    free(owner);
    for (int64_t s = 0; s < n; s++)
        if (parent[s] >= 0) size[parent[s]] += size[s];

    // in postorder every subtree is one range of supernodes, which ends at its root
    int64_t limit = total / SUBTREES, first = 0;
    for (int64_t s = 0; s < n; s++) {
        if (size[s] > limit) {
            plan->top[plan->n_top++] = s;
            first = s + 1;
        } else if (parent[s] < 0 || size[parent[s]] > limit) {
            plan->subtree_first[plan->n_subtrees] = first;
            plan->subtree_last[plan->n_subtrees++] = s;
            first = s + 1;
        }
    }
    return PD_OK;
}

pd_status pd_supernodal_plan_create(pd_supernodal_plan **out, const pd_supernodes *f, pd_error *error) {
    size_t n = (size_t)f->n_supernodes + 1;
    pd_status status = PD_OK;
    int64_t *parent = malloc(n * sizeof *parent), *size = malloc(n * sizeof *size);
    pd_supernodal_plan *plan = calloc(1, sizeof *plan);
    *out = NULL;
    if (!plan || !parent || !size) goto memory;
    plan->subtree_first = malloc(n * sizeof(int64_t));
    plan->subtree_last = malloc(n * sizeof(int64_t));
    plan->subtree_tail = malloc((n + 1) * sizeof(int64_t));
    plan->top = malloc(n * sizeof(int64_t));
    plan->inside = calloc(n, sizeof(int64_t));
    plan->tail_position = malloc(((size_t)f->row_start[f->n_supernodes] + 1) * sizeof(int));
    if (!plan->subtree_first || !plan->subtree_last || !plan->subtree_tail || !plan->top || !plan->inside || !plan->tail_position)
        goto memory;
    status = cut_tree(plan, f, parent, size, error);
    if (status) goto done;

    // a row outside the subtree is one of the rows below its root: find its place by merging two ascending lists
    plan->subtree_tail[0] = 0;
    for (int64_t t = 0; t < plan->n_subtrees; t++) {
        int64_t root = plan->subtree_last[t], last_column = f->super[root + 1] - 1;
        const int64_t *tail_rows = f->rows + f->row_start[root] + columns_of(f, root);
        for (int64_t s = plan->subtree_first[t]; s <= root; s++) {
            int64_t slot = 0;
            for (int64_t i = f->row_start[s] + columns_of(f, s); i < f->row_start[s + 1]; i++) {
                if (f->rows[i] <= last_column) {
                    plan->inside[s]++;
                    continue;
                }
                while (tail_rows[slot] != f->rows[i]) slot++;
                plan->tail_position[i] = (int)slot;
            }
        }
        plan->subtree_tail[t + 1] = plan->subtree_tail[t] + rows_of(f, root) - columns_of(f, root);
    }
    plan->z = lanes(f->n);
    plan->tail = lanes(plan->subtree_tail[plan->n_subtrees] + 1);
    plan->front = lanes(plan->max_rows);
    if (!plan->z || !plan->tail || !plan->front) goto memory;
    goto done;

memory:
    status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for a solve of %lld rows", (long long)f->n);
done:
    free(parent);
    free(size);
    if (status)
        pd_supernodal_plan_destroy(plan);
    else
        *out = plan;
    return status;
}

enum { LOCAL_ROWS = 512 };

/* One supernode of a subtree, forward: into z inside the subtree, otherwise into the tail. */
static void forward_in_subtree(const pd_supernodal_plan *plan, const pd_supernodes *f, int64_t s, lane4 *tail) {
    int64_t rows = rows_of(f, s), columns = columns_of(f, s), below = rows - columns, inside = plan->inside[s];
    const double *L = f->values + f->value_start[s];
    const int64_t *row = f->rows + f->row_start[s] + columns;
    const int *position = plan->tail_position + f->row_start[s] + columns;
    lane4 *x = plan->z + f->super[s];
    forward_dense(L, rows, columns, columns, x);

    // the rows below in blocks on the stack, each complete before its scatter
    lane4 local[LOCAL_ROWS];
    for (int64_t r0 = 0; r0 < below; r0 += LOCAL_ROWS) {
        int64_t count = below - r0 < LOCAL_ROWS ? below - r0 : LOCAL_ROWS;
        memset(local, 0, (size_t)count * sizeof(lane4));
        subtract_columns(L + columns + r0, rows, count, columns, x, local);
        int64_t r = 0;
        for (; r < count && r0 + r < inside; r++) plan->z[row[r0 + r]] += local[r];
        for (; r < count; r++) tail[position[r0 + r]] += local[r];
    }
}

static void backward_in_subtree(const pd_supernodal_plan *plan, const pd_supernodes *f, int64_t s) {
    int64_t rows = rows_of(f, s), columns = columns_of(f, s), below = rows - columns;
    const double *L = f->values + f->value_start[s];
    const int64_t *row = f->rows + f->row_start[s] + columns;
    lane4 *x = plan->z + f->super[s];
    lane4 local[LOCAL_ROWS];
    for (int64_t r0 = 0; r0 < below; r0 += LOCAL_ROWS) {
        int64_t count = below - r0 < LOCAL_ROWS ? below - r0 : LOCAL_ROWS;
        for (int64_t r = 0; r < count; r++) local[r] = plan->z[row[r0 + r]];
        subtract_rows(L + columns + r0, rows, count, columns, local, x);
    }
    backward_dense(L, rows, columns, columns, x);
}

/* The first `columns` of a supernode above the cut, forward; all threads of the region call it. `single` and `for` imply barriers. */
static void forward_shared(pd_supernodal_plan *plan, const pd_supernodes *f, int64_t s, int64_t columns) {
    int64_t rows = rows_of(f, s);
    const double *L = f->values + f->value_start[s];
    const int64_t *row = f->rows + f->row_start[s];
    lane4 *x = plan->z + f->super[s], *front = plan->front;
    if (rows * columns < SHARED_SIZE) {
#pragma omp single
        {
            forward_dense(L, rows, columns, columns, x);
            memset(front, 0, (size_t)(rows - columns) * sizeof(lane4));
            subtract_columns(L + columns, rows, rows - columns, columns, x, front);
            for (int64_t r = columns; r < rows; r++) plan->z[row[r]] += front[r - columns];
        }
        return;
    }
    for (int64_t p = 0; p < columns; p += PANEL) {
        int64_t width = columns - p < PANEL ? columns - p : PANEL, from = p + width;
        const double *panel = L + p * rows;
#pragma omp single
        forward_dense(panel + p, rows, width, width, x + p);
        int64_t chunks = (rows - from + ROW_CHUNK - 1) / ROW_CHUNK;
#pragma omp for schedule(static)
        for (int64_t c = 0; c < chunks; c++) {
            int64_t r0 = from + c * ROW_CHUNK, r1 = r0 + ROW_CHUNK < rows ? r0 + ROW_CHUNK : rows;
            lane4 local[ROW_CHUNK];
            for (int64_t r = r0; r < r1; r++) local[r - r0] = plan->z[row[r]];
            subtract_columns(panel + r0, rows, r1 - r0, width, x + p, local);
            for (int64_t r = r0; r < r1; r++) plan->z[row[r]] = local[r - r0];
        }
    }
}

static void backward_shared(pd_supernodal_plan *plan, const pd_supernodes *f, int64_t s, int64_t columns) {
    int64_t rows = rows_of(f, s);
    const double *L = f->values + f->value_start[s];
    const int64_t *row = f->rows + f->row_start[s];
    lane4 *x = plan->z + f->super[s], *front = plan->front;
    int shared = rows * columns >= SHARED_SIZE;
#pragma omp single
    {
        for (int64_t r = 0; r < rows; r++) front[r] = plan->z[row[r]];
        if (!shared) {
            backward_dense(L, rows, rows, columns, front);
            for (int64_t r = 0; r < columns; r++) x[r] = front[r];
        }
    }
    if (!shared) return;
    for (int64_t p = (columns - 1) / PANEL * PANEL; p >= 0; p -= PANEL) {
        int64_t width = columns - p < PANEL ? columns - p : PANEL, from = p + width;
        const double *panel = L + p * rows;
        int64_t chunks = (width + 7) / 8;
#pragma omp for schedule(static)
        for (int64_t c = 0; c < chunks; c++) {
            int64_t j0 = c * 8, count = width - j0 < 8 ? width - j0 : 8;
            subtract_rows(panel + j0 * rows + from, rows, rows - from, count, front + from, front + p + j0);
        }
#pragma omp single
        {
            backward_dense(panel + p, rows, width, width, front + p);
            for (int64_t r = p; r < from; r++) x[r] = front[r];
        }
    }
}

/* Columns of supernode s before `end`. */
static int64_t columns_before(const pd_supernodes *f, int64_t s, int64_t end) {
    int64_t last = f->super[s + 1] < end ? f->super[s + 1] : end;
    return last > f->super[s] ? last - f->super[s] : 0;
}

/* All threads of a region call the following functions. */

static void load(const pd_supernodal_plan *plan, const pd_supernodes *f, const double *b, int n_columns) {
#pragma omp for schedule(static)
    for (int64_t i = 0; i < f->n; i++) {
        lane4 v = {0};
        const double *source = b + f->permutation[i] * n_columns;
        for (int c = 0; c < n_columns; c++) v[c] = source[c];
        plan->z[i] = v;
    }
}

static void store(const pd_supernodal_plan *plan, const pd_supernodes *f, double *x, int n_columns) {
#pragma omp for schedule(static)
    for (int64_t i = 0; i < f->n; i++) {
        double *target = x + f->permutation[i] * n_columns;
        for (int c = 0; c < n_columns; c++) target[c] = plan->z[i][c];
    }
}

/* Eliminates the columns before `end`, which is n or in the last supernode. */
static void forward(pd_supernodal_plan *plan, const pd_supernodes *f, int64_t end) {
#pragma omp for schedule(dynamic, 1)
    for (int64_t t = 0; t < plan->n_subtrees; t++) {
        lane4 *tail = plan->tail + plan->subtree_tail[t];
        memset(tail, 0, (size_t)(plan->subtree_tail[t + 1] - plan->subtree_tail[t]) * sizeof(lane4));
        for (int64_t s = plan->subtree_first[t]; s <= plan->subtree_last[t]; s++) forward_in_subtree(plan, f, s, tail);
    }
#pragma omp single
    for (int64_t t = 0; t < plan->n_subtrees; t++) {
        int64_t root = plan->subtree_last[t], count = plan->subtree_tail[t + 1] - plan->subtree_tail[t];
        const int64_t *row = f->rows + f->row_start[root] + columns_of(f, root);
        const lane4 *tail = plan->tail + plan->subtree_tail[t];
        for (int64_t r = 0; r < count; r++) plan->z[row[r]] += tail[r];
    }
    for (int64_t t = 0; t < plan->n_top; t++) {
        int64_t columns = columns_before(f, plan->top[t], end);
        if (columns > 0) forward_shared(plan, f, plan->top[t], columns);
    }
}

static void backward(pd_supernodal_plan *plan, const pd_supernodes *f, int64_t end) {
    for (int64_t t = plan->n_top - 1; t >= 0; t--) {
        int64_t columns = columns_before(f, plan->top[t], end);
        if (columns > 0) backward_shared(plan, f, plan->top[t], columns);
    }
#pragma omp for schedule(dynamic, 1)
    for (int64_t t = 0; t < plan->n_subtrees; t++)
        for (int64_t s = plan->subtree_last[t]; s >= plan->subtree_first[t]; s--) backward_in_subtree(plan, f, s);
}

/* The number of threads, from the work of a solve. */
static int team_of(const pd_supernodes *f, int threads) { return pd_team(threads, f->value_start[f->n_supernodes], 1); }

void pd_supernodal_solve(pd_supernodal_plan *plan, const pd_supernodes *f, const double *b, double *x, int n_columns, int threads) {
#pragma omp parallel num_threads(team_of(f, threads))
    {
        load(plan, f, b, n_columns);
        forward(plan, f, f->n);
        backward(plan, f, f->n);
        store(plan, f, x, n_columns);
    }
    (void)threads;
}

void pd_supernodal_forward(pd_supernodal_plan *plan, const pd_supernodes *f, int64_t end, const double *b, double *y, int n_columns,
                           int threads) {
#pragma omp parallel num_threads(team_of(f, threads))
    {
        load(plan, f, b, n_columns);
        forward(plan, f, end);
    }
    for (int64_t i = end; i < f->n; i++)
        for (int c = 0; c < n_columns; c++) y[(i - end) * n_columns + c] = plan->z[i][c];
    (void)threads;
}

void pd_supernodal_backward(pd_supernodal_plan *plan, const pd_supernodes *f, int64_t end, const double *x2, double *x, int n_columns,
                            int threads) {
    for (int64_t i = end; i < f->n; i++)
        for (int c = 0; c < n_columns; c++) plan->z[i][c] = x2[(i - end) * n_columns + c];
#pragma omp parallel num_threads(team_of(f, threads))
    {
        backward(plan, f, end);
        store(plan, f, x, n_columns);
    }
    (void)threads;
}
