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
    /* of four numbers each, or of one in a solve for one right-hand side */
    void *z;     /* [n] the vector, permuted */
    void *tail;  /* contributions of subtrees to rows above the cut */
    void *front; /* [max_rows] rows of the shared supernode */
};

/* A pass over eight columns prefetches the next eight, of each the line with row r. The columns are too short for the hardware
 * prefetcher. */
static inline void fetch_ahead(const double *a, int64_t ld, int64_t r) { __builtin_prefetch(a + (8 + (r & 7)) * ld + (r & ~(int64_t)7)); }

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

/* Columns of supernode s before `end`. */
static int64_t columns_before(const pd_supernodes *f, int64_t s, int64_t end) {
    int64_t last = f->super[s + 1] < end ? f->super[s + 1] : end;
    return last > f->super[s] ? last - f->super[s] : 0;
}

#define PD_LANE          double
#define PD_LANE_AT(v, c) (*((void)(c), &(v)))
#define PD_PASS(name)    name##_of_one
#include "sparse/supernodal_passes.h"
#undef PD_LANE
#undef PD_LANE_AT
#undef PD_PASS

#define PD_LANE          lane4
#define PD_LANE_AT(v, c) (v)[c]
#define PD_PASS(name)    name##_of_four
#include "sparse/supernodal_passes.h"

/* The number of threads, from the work of a solve. */
static int team_of(const pd_supernodes *f, int threads) { return pd_team(threads, f->value_start[f->n_supernodes], 1); }

void pd_supernodal_solve(pd_supernodal_plan *plan, const pd_supernodes *f, const double *b, double *x, int n_columns, int threads) {
#pragma omp parallel num_threads(team_of(f, threads))
    if (n_columns == 1) {
        load_of_one(plan, f, b, 1);
        forward_of_one(plan, f, f->n);
        backward_of_one(plan, f, f->n);
        store_of_one(plan, f, x, 1);
    } else {
        load_of_four(plan, f, b, n_columns);
        forward_of_four(plan, f, f->n);
        backward_of_four(plan, f, f->n);
        store_of_four(plan, f, x, n_columns);
    }
    (void)threads;
}

void pd_supernodal_forward(pd_supernodal_plan *plan, const pd_supernodes *f, int64_t end, const double *b, double *y, int n_columns,
                           int threads) {
    const lane4 *z = plan->z;
#pragma omp parallel num_threads(team_of(f, threads))
    {
        load_of_four(plan, f, b, n_columns);
        forward_of_four(plan, f, end);
    }
    for (int64_t i = end; i < f->n; i++)
        for (int c = 0; c < n_columns; c++) y[(i - end) * n_columns + c] = z[i][c];
    (void)threads;
}

void pd_supernodal_backward(pd_supernodal_plan *plan, const pd_supernodes *f, int64_t end, const double *x2, double *x, int n_columns,
                            int threads) {
    lane4 *z = plan->z;
    for (int64_t i = end; i < f->n; i++)
        for (int c = 0; c < n_columns; c++) z[i][c] = x2[(i - end) * n_columns + c];
#pragma omp parallel num_threads(team_of(f, threads))
    {
        backward_of_four(plan, f, end);
        store_of_four(plan, f, x, n_columns);
    }
    (void)threads;
}
