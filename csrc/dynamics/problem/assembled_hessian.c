/* The Hessian of the incremental potential on the host; see assembled_hessian.h. */
#include "dynamics/problem/assembled_hessian.h"

#include "contact/potential/contact.h"
#include "dynamics/problem/block_hessian.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A pattern whose contact blocks exceed the used ones by this factor is rebuilt. */
enum { MOST_UNUSED = 4 };

void pd_assembled_hessian_destroy(pd_assembled_hessian *self) {
    pd_csr_destroy(&self->pattern);
    void *memory[] = {self->blocks,   self->element_slots, self->points,      self->hessians, self->weights,
                      self->matrices, self->keys,          self->lagged_keys, self->news};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) free(memory[i]);
}

/* ---- the pattern --------------------------------------------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

size_t pd_keys_sort_once(uint64_t *keys, size_t n) {
    size_t kept = 0;
    if (n > 0) qsort(keys, n, sizeof *keys, compare_keys); // an empty list has no memory
    for (size_t i = 0; i < n; i++)
        if (i == 0 || keys[i] != keys[i - 1]) keys[kept++] = keys[i];
    return kept;
}

static pd_status need_news(pd_assembled_hessian *self, size_t n, pd_error *error) {
    size_t size = self->new_capacity > 0 ? self->new_capacity : 1024;
    if (n <= self->new_capacity) return PD_OK;
    while (size < n) size *= 2;
    uint64_t *news = realloc(self->news, size * sizeof *news);
    if (!news) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for %zu blocks of contact", n);
    self->news = news;
    self->new_capacity = size;
    return PD_OK;
}

/* The pattern of `base` and the sorted keys, and the places of the elements' blocks in it. */
static pd_status merge(pd_assembled_hessian *self, const pd_csr *elements, const pd_csr *base, const uint64_t *keys, size_t n_keys,
                       pd_error *error) {
    int n = base->n;
    size_t count = (size_t)base->row_start[n] + n_keys, k = 0, next = 0, n_elements = (size_t)elements->row_start[n];
    if (count > INT_MAX / 9) return pd_fail(error, PD_ERROR_VALUE, "the Hessian has %zu blocks, more than can be numbered", count);
    pd_csr merged = {n, malloc(((size_t)n + 1) * sizeof(int)), malloc((count + 1) * sizeof(int)), NULL};
    real *blocks = malloc((9 * count + 1) * sizeof *blocks);
    int *slots = malloc((n_elements + 1) * sizeof *slots);
    if (!merged.row_start || !merged.columns || !blocks || !slots) {
        pd_csr_destroy(&merged);
        free(blocks);
        free(slots);
        return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the Hessian of %d vertices with %zu blocks", n, count);
    }
    for (int i = 0; i < n; i++) {
        int s = base->row_start[i], end = base->row_start[i + 1];
        merged.row_start[i] = (int)next;
        while (s < end || (k < n_keys && (int)(keys[k] >> 32) == i)) {
            int fresh = k < n_keys && (int)(keys[k] >> 32) == i ? (int)(keys[k] & 0xffffffffu) : INT_MAX;
            int known = s < end ? base->columns[s] : INT_MAX;
            merged.columns[next++] = fresh < known ? fresh : known;
            k += fresh <= known;
            s += known <= fresh;
        }
    }
    merged.row_start[n] = (int)next;
    for (int i = 0; i < n; i++)
        for (int s = elements->row_start[i]; s < elements->row_start[i + 1]; s++) slots[s] = pd_csr_slot(&merged, i, elements->columns[s]);
    pd_csr_destroy(&self->pattern);
    free(self->blocks);
    free(self->element_slots);
    self->pattern = merged, self->blocks = blocks, self->element_slots = slots;
    self->n_of_elements = (int)n_elements;
    self->revision++;
    return PD_OK;
}

void pd_assembled_find_movers(const pd_assembled_hessian *self, const pd_contact_rows *carried, int pair, pd_movers *out) {
    const int *points = self->points + 4 * (size_t)pair;
    out->n = 0;
    for (int corner = 0; corner < 4; corner++)
        for (int c = 0; c < (carried->rows ? 4 : 1); c++) {
            size_t entry = 4 * (size_t)(points[corner] < 0 ? 0 : points[corner]) + (size_t)c;
            if (points[corner] < 0 || points[corner] >= carried->n) continue;
            int vertex = carried->rows ? carried->rows[entry] : points[corner], k = 0;
            double share = carried->rows ? (double)carried->weights[entry] : 1.0;
            if (vertex < 0 || fabs(share) <= 4.0 * (double)PD_EPSILON) continue; // as in surface.c
            while (k < out->n && out->vertices[k] != vertex) k++;
            if (k == out->n) {
                out->vertices[out->n++] = vertex;
                memset(out->shares[k], 0, sizeof out->shares[k]);
            }
            out->shares[k][corner] += share;
        }
}

pd_status pd_assembled_cover(pd_assembled_hessian *self, const pd_csr *elements, const pd_pair_rows *rows, int n, int rebuild,
                             pd_error *error) {
    pd_status status = PD_OK;
    size_t used = 0, missing = 0;
    int of[2][PD_MOST_ROWS], n_before = 0;
    if (!self->pattern.row_start) PD_TRY(merge(self, elements, elements, NULL, 0, error));
    for (int p = 0; p < n; p++) {
        PD_TRY(need_news(self, used + PD_MOST_ROWS * (PD_MOST_ROWS - 1), error));
        int *here = of[p % 2], n_here = rows->list(rows->owner, p, here);
        int same = n_here == n_before && !memcmp(here, of[(p + 1) % 2], (size_t)n_here * sizeof *here);
        n_before = n_here;
        for (int a = 0; a < n_here * n_here && !same; a++) {
            int i = here[a / n_here], j = here[a % n_here];
            if (i == j) continue;
            missing += pd_csr_slot(&self->pattern, i, j) < 0;
            if (pd_csr_slot(elements, i, j) < 0) self->news[used++] = (uint64_t)i << 32 | (uint64_t)j;
        }
    }
    size_t of_contact = (size_t)self->pattern.row_start[elements->n] - (size_t)self->n_of_elements;
    if (!missing && !rebuild) return PD_OK;
    used = pd_keys_sort_once(self->news, used);
    if (!missing && of_contact == used) return PD_OK;
    if (rebuild || of_contact > MOST_UNUSED * used) return merge(self, elements, elements, self->news, used, error);
    // a copy of the present pattern: merge replaces it
    pd_csr base = self->pattern;
    self->pattern = (pd_csr){0};
    status = merge(self, elements, &base, self->news, used, error);
    if (status)
        self->pattern = base;
    else
        pd_csr_destroy(&base);
done:
    return status;
}

/* ---- the blocks ---------------------------------------------------------------------------------------------------------------------- */

/* C = A B, in double for any `real`. */
static void multiply3(const double *A, const double *B, double *C) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
}

void pd_assembled_restrict(pd_assembled_hessian *self, const pd_problem *problem, int filled) {
    const pd_csr *pattern = &self->pattern;
    real *blocks = self->blocks;
    for (int i = 0; i < pattern->n && problem->subspace; i++)
        for (int s = pattern->row_start[i]; s < pattern->row_start[i + 1]; s++) {
            const double *P = problem->subspace + 9 * (size_t)i, *Q = problem->subspace + 9 * (size_t)pattern->columns[s];
            double block[9], left[9], trace = 0.0;
            for (int c = 0; c < 9; c++) block[c] = (double)blocks[9 * (size_t)s + (size_t)c];
            for (int c = 0; c < 9; c += 4) trace += fabs(block[c]);
            multiply3(P, block, left);
            multiply3(left, Q, block);
            for (int c = 0; c < 9; c++) {
                double fill = filled && pattern->columns[s] == i ? trace / 3.0 * ((double)(c % 4 == 0) - P[c]) : 0.0;
                blocks[9 * (size_t)s + (size_t)c] = (real)(block[c] + fill);
            }
        }
}

/* The pairs' off-diagonal blocks; the elements' matrix has the diagonal ones. */
static void add_pairs(pd_assembled_hessian *self, int n_vertices, pd_pair_counts n) {
    for (int p = 0; p < n.contact + n.friction; p++)
        for (int a = 0; a < 16; a++) {
            int i = self->points[4 * (size_t)p + (size_t)(a / 4)], j = self->points[4 * (size_t)p + (size_t)(a % 4)];
            if (i == j || i < 0 || j < 0 || i >= n_vertices || j >= n_vertices) continue;
            real *to = self->blocks + 9 * (size_t)pd_csr_slot(&self->pattern, i, j);
            if (p < n.contact) {
                const real *from = self->hessians + 144 * (size_t)p + 36 * (size_t)(a / 4) + 3 * (size_t)(a % 4);
                for (int b = 0; b < 3; b++)
                    for (int c = 0; c < 3; c++) to[3 * b + c] += from[12 * b + c];
            } else {
                size_t q = (size_t)(p - n.contact);
                real weight = self->weights[4 * q + (size_t)(a / 4)] * self->weights[4 * q + (size_t)(a % 4)];
                for (size_t b = 0; b < 9; b++) to[b] += weight * self->matrices[9 * q + b];
            }
        }
}

/* The same for embedded points, including the diagonal: W^T H W. */
static void add_carried_pairs(pd_assembled_hessian *self, const pd_contact_rows *carried, pd_pair_counts n) {
    pd_movers of;
    for (int p = 0; p < n.contact + n.friction; p++) {
        pd_assembled_find_movers(self, carried, p, &of);
        for (int a = 0; a < of.n * of.n; a++) {
            const double *left = of.shares[a / of.n], *right = of.shares[a % of.n];
            double sum[9] = {0.0};
            for (size_t b = 0; b < 16; b++) {
                double weight = left[b / 4] * right[b % 4];
                if (weight == 0.0) continue;
                if (p >= n.contact) { // its block is beta_i beta_j M
                    size_t q = (size_t)(p - n.contact);
                    weight *= (double)self->weights[4 * q + b / 4] * (double)self->weights[4 * q + b % 4];
                    for (size_t c = 0; c < 9; c++) sum[c] += weight * (double)self->matrices[9 * q + c];
                    continue;
                }
                const real *from = self->hessians + 144 * (size_t)p + 36 * (b / 4) + 3 * (b % 4);
                for (size_t c = 0; c < 9; c++) sum[c] += weight * (double)from[12 * (c / 3) + c % 3];
            }
            real *to = self->blocks + 9 * (size_t)pd_csr_slot(&self->pattern, of.vertices[a / of.n], of.vertices[a % of.n]);
            for (size_t c = 0; c < 9; c++) to[c] += (real)sum[c];
        }
    }
}

static pd_status need_pairs(pd_assembled_hessian *self, size_t count, pd_error *error) {
    size_t size = self->pair_capacity > 0 ? self->pair_capacity : 1024;
    if (count <= self->pair_capacity) return PD_OK;
    while (size < count) size *= 2;
    struct {
        void **memory;
        size_t bytes;
    } arrays[] = {{(void **)&self->points, 4 * sizeof(int)},   {(void **)&self->hessians, 144 * sizeof(real)},
                  {(void **)&self->weights, 4 * sizeof(real)}, {(void **)&self->matrices, 9 * sizeof(real)},
                  {(void **)&self->keys, sizeof(uint64_t)},    {(void **)&self->lagged_keys, sizeof(uint64_t)}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        void *memory = realloc(*arrays[i].memory, size * arrays[i].bytes);
        if (!memory) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the Hessians of %zu pairs in contact", count);
        *arrays[i].memory = memory;
    }
    self->pair_capacity = size;
    return PD_OK;
}

/* Adds the n.friction pairs to the Hessians of the same contact pairs. Pairs that are no longer in contact are moved to the front, after
 * the n.contact others. Both lists are sorted by key. `diagonal`: with the diagonal blocks. Returns the number of the latter. */
static int merge_friction(pd_assembled_hessian *self, pd_pair_counts n, int diagonal) {
    const uint64_t *keys = self->keys, *end = keys + n.contact;
    int left = 0;
    for (int p = 0; p < n.friction; p++) {
        const real *weights = self->weights + 4 * (size_t)p, *M = self->matrices + 9 * (size_t)p;
        const int *points = self->points + 4 * ((size_t)n.contact + (size_t)p);
        while (keys < end && *keys < self->lagged_keys[p]) keys++;
        if (!(M[0] > 0 || M[4] > 0 || M[8] > 0)) continue; // no friction
        if (keys < end && *keys == self->lagged_keys[p]) {
            real *H = self->hessians + 144 * (size_t)(keys - self->keys);
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) {
                    real weight = i == j && !diagonal ? (real)0 : weights[i] * weights[j];
                    for (int a = 0; a < 9; a++) H[12 * (3 * i + a / 3) + 3 * j + a % 3] += weight * M[a];
                }
            continue;
        }
        // corners without a weight in the gap need no block
        int *to = self->points + 4 * ((size_t)n.contact + (size_t)left);
        for (int j = 0; j < 4; j++) to[j] = weights[j] == 0 ? -1 : points[j];
        memmove(self->weights + 4 * (size_t)left, weights, 4 * sizeof *weights);
        memmove(self->matrices + 9 * (size_t)left, M, 9 * sizeof *M);
        left++;
    }
    return left;
}

pd_status pd_assembled_read_pairs(pd_assembled_hessian *self, const pd_problem *problem, pd_pair_counts *n) {
    pd_context *context = problem->context;
    pd_contact_view view = pd_contact_pairs_of(problem->contact);
    const pd_lagged_pairs *lagged = &view.friction.pairs;
    size_t count = (size_t)view.n, rubbing = (size_t)lagged->n;
    int *points;
    pd_status status;
    *n = (pd_pair_counts){view.n, lagged->n};
    PD_TRY(need_pairs(self, count + rubbing, problem->error));
    PD_TRY(pd_memory_download(context, self->points, view.columns.points, 4 * count * sizeof *self->points));
    PD_TRY(pd_memory_download(context, self->hessians, view.hessians, 144 * count * sizeof *self->hessians));
    if (!rubbing) return PD_OK;
    points = self->points + 4 * count;
    PD_TRY(pd_memory_download(context, points, lagged->points, 4 * rubbing * sizeof *points));
    PD_TRY(pd_memory_download(context, self->weights, lagged->weights, 4 * rubbing * sizeof *self->weights));
    PD_TRY(pd_memory_download(context, self->matrices, view.friction.matrices, 9 * rubbing * sizeof *self->matrices));
    PD_TRY(pd_memory_download(context, self->lagged_keys, view.friction.keys, rubbing * sizeof *self->lagged_keys));
    PD_TRY(pd_memory_download(context, self->keys, view.keys, count * sizeof *self->keys));
    n->friction = merge_friction(self, *n, pd_contact_is_embedded(problem->contact));
done:
    return status;
}

pd_status pd_problem_create_assembled(const pd_problem *problem) {
    const pd_pair_rows none = {NULL, NULL};
    return pd_assembled_cover(problem->assembled, &problem->hessian->pattern, &none, 0, 0, problem->error);
}

int pd_problem_needs_assembled(const pd_problem *problem) { return problem->rigid || pd_contact_is_embedded(problem->contact); }

/* The rows of a pair, if these are vertices. */
typedef struct vertex_rows {
    const pd_assembled_hessian *assembled;
    const pd_contact_rows *carried;
} vertex_rows;

static int list_vertices(const void *owner, int pair, int *rows) {
    const vertex_rows *of = owner;
    pd_movers movers;
    pd_assembled_find_movers(of->assembled, of->carried, pair, &movers);
    memcpy(rows, movers.vertices, (size_t)movers.n * sizeof *rows);
    return movers.n;
}

pd_status pd_problem_assemble(const pd_problem *problem, int filled, int rebuild) {
    pd_assembled_hessian *self = problem->assembled;
    const pd_csr *elements = &problem->hessian->pattern;
    int n = problem->model->n_vertices;
    pd_pair_counts n_pairs = {0, 0};
    pd_contact_rows carried = {0};
    pd_status status = PD_OK;
    if (problem->contact) carried = pd_contact_rows_of(problem->contact);
    if (problem->contact) PD_TRY(pd_assembled_read_pairs(self, problem, &n_pairs));
    const vertex_rows owner = {self, &carried};
    const pd_pair_rows rows = {list_vertices, &owner};
    PD_TRY(pd_assembled_cover(self, elements, &rows, n_pairs.contact + n_pairs.friction, rebuild, problem->error));
    size_t of_elements = (size_t)elements->row_start[n], all = (size_t)self->pattern.row_start[n];
    PD_TRY(pd_memory_download(problem->context, self->blocks, problem->hessian->blocks, 9 * of_elements * sizeof(real)));
    // from the end, since a block never moves to an earlier place
    if (all > of_elements) {
        size_t next = all;
        for (size_t s = of_elements; s-- > 0;) {
            size_t to = (size_t)self->element_slots[s];
            while (next > to + 1) memset(self->blocks + 9 * --next, 0, 9 * sizeof(real));
            memmove(self->blocks + 9 * to, self->blocks + 9 * s, 9 * sizeof(real));
            next = to;
        }
        while (next > 0) memset(self->blocks + 9 * --next, 0, 9 * sizeof(real));
    }
    if (carried.rows)
        add_carried_pairs(self, &carried, n_pairs);
    else
        add_pairs(self, n, n_pairs);
    pd_assembled_restrict(self, problem, filled);
done:
    return status;
}

pd_status pd_problem_assembled_hessian(const pd_problem *problem, const real *x, pd_hessian_filter filter, int filled, int rebuild) {
    pd_status status = pd_problem_hessian(problem, x, filter);
    return status ? status : pd_problem_assemble(problem, filled, rebuild);
}

pd_status pd_problem_assembled_hessian_on(const pd_problem *problem, const real *base, const real *x, int rebuild) {
    pd_status status = pd_problem_hessian_on(problem, base, x);
    return status ? status : pd_problem_assemble(problem, 1, rebuild);
}
