/* Translations of free bodies that restore linear momentum; see momentum.h. */
#include "dynamics/responses/momentum.h"

#include "base/union_find.h"
#include "dynamics/problem/block_hessian.h"
#include "dynamics/problem/global_step.h"
#include "dynamics/problem/potential.h"

#include <math.h>
#include <stdlib.h>

/* A part is tied to a place if the rows of its elements sum to more than this fraction of their diagonal. */
static const double TIED = 1e-9;

/* With `near`, the stiffness factor of outer pairs: a translation along their normals would close their gaps. */
static const double STIFFER = 1e3;

/* One free part. The first part of a group has the sums of the group. */
typedef struct part {
    double inertia;     /* sum of m/h^2 of the part, N/m */
    double total;       /* the same of the group, N/m */
    double residual[3]; /* sum of dG/dx, N */
    double matrix[6];   /* upper triangle, N/m */
    double shift[3];    /* m */
} part;

struct pd_momentum {
    int n_vertices, n_parts;
    int *part_of; /* [n_vertices] -1: not free */
    part *parts;
    int *groups; /* [n_parts] base/union_find.h */

    /* the pairs of the last freeze, [capacity] */
    int capacity;
    pd_projective_forces pairs;
};

static void release_pairs(pd_projective_forces *p) {
    free(p->points);
    free(p->weights);
    free(p->normal);
    free(p->k);
    free(p->friction);
    free(p->gradient);
    *p = (pd_projective_forces){0};
}

void pd_momentum_destroy(pd_momentum *self) {
    if (!self) return;
    release_pairs(&self->pairs);
    free(self->part_of);
    free(self->parts);
    free(self->groups);
    free(self);
}

/* part_of [n]: the connected parts of a graph, numbered by their first vertex. Returns their number; stack [n]. */
static int find_parts(const pd_csr *graph, int *part_of, int *stack) {
    int n_parts = 0;
    for (int i = 0; i < graph->n; i++) part_of[i] = -1;
    for (int first = 0; first < graph->n; first++) {
        if (part_of[first] >= 0) continue;
        int depth = 0;
        stack[depth++] = first;
        part_of[first] = n_parts;
        while (depth > 0) {
            int i = stack[--depth];
            for (int s = graph->row_start[i]; s < graph->row_start[i + 1]; s++) {
                int j = graph->columns[s];
                if (part_of[j] >= 0) continue;
                part_of[j] = n_parts;
                stack[depth++] = j;
            }
        }
        n_parts++;
    }
    return n_parts;
}

/* Removes all but the free parts. tied, diagonal [n_parts] are scratch; number [n_parts]. */
static int keep_free(const pd_problem *problem, const pd_csr *A, int n_parts, int *part_of, double *tied, double *diagonal, int *number) {
    double inverse_h = problem->step.inverse_h;
    int n_free = 0;
    for (int k = 0; k < n_parts; k++) tied[k] = diagonal[k] = 0.0, number[k] = 0;
    for (int i = 0; i < A->n; i++) {
        int k = part_of[i];
        for (int s = A->row_start[i]; s < A->row_start[i + 1]; s++) {
            tied[k] += A->values[s];
            if (A->columns[s] == i) diagonal[k] += A->values[s];
        }
        tied[k] -= problem->masses[i] * inverse_h * inverse_h;
        if (problem->fixed[i]) number[k] = -1;
    }
    for (int k = 0; k < n_parts; k++) number[k] = number[k] < 0 || !(fabs(tied[k]) <= TIED * diagonal[k]) ? -1 : n_free++;
    for (int i = 0; i < A->n; i++) part_of[i] = number[part_of[i]];
    return n_free;
}

pd_status pd_momentum_create(pd_momentum **out, const pd_problem *problem) {
    size_t n = (size_t)problem->model->n_vertices;
    double inverse_h = problem->step.inverse_h;
    const pd_csr *A;
    pd_status status = PD_OK;
    int *number = malloc((n + 1) * sizeof *number);
    double *sums = malloc((2 * n + 1) * sizeof *sums);
    pd_momentum *self = calloc(1, sizeof *self);
    *out = NULL;
    if (self) self->part_of = malloc((n + 1) * sizeof *self->part_of);
    if (!number || !sums || !self || !self->part_of) goto memory;
    PD_TRY(pd_problem_system_matrix(problem, &A));
    self->n_vertices = A->n;
    int n_parts = find_parts(&problem->hessian->pattern, self->part_of, number);
    self->n_parts = keep_free(problem, A, n_parts, self->part_of, sums, sums + n, number);
    if (self->n_parts == 0) goto done;
    self->parts = calloc((size_t)self->n_parts, sizeof *self->parts);
    self->groups = calloc((size_t)self->n_parts, sizeof *self->groups);
    if (!self->parts || !self->groups) goto memory;
    for (size_t i = 0; i < n; i++)
        if (self->part_of[i] >= 0) self->parts[self->part_of[i]].inertia += problem->masses[i] * inverse_h * inverse_h;
    *out = self;
    self = NULL;
    goto done;

memory:
    status = pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for the momenta of %zu vertices", n);
done:
    free(number);
    free(sums);
    pd_momentum_destroy(self);
    return status;
}

/* Increases the capacity to n pairs, by doubling. */
static pd_status ensure_capacity(pd_momentum *self, const pd_problem *problem, int n) {
    pd_projective_forces *p = &self->pairs;
    if (n <= self->capacity) return PD_OK;
    size_t capacity = 2 * (size_t)n;
    release_pairs(p);
    self->capacity = 0;
    p->points = malloc(4 * capacity * sizeof *p->points);
    p->weights = malloc(4 * capacity * sizeof *p->weights);
    p->normal = malloc(3 * capacity * sizeof *p->normal);
    p->k = malloc(capacity * sizeof *p->k);
    p->friction = malloc(capacity * sizeof *p->friction);
    p->gradient = malloc(12 * capacity * sizeof *p->gradient);
    if (!p->points || !p->weights || !p->normal || !p->k || !p->friction || !p->gradient)
        return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for the momenta of %d pairs in contact", n);
    self->capacity = 2 * n;
    return PD_OK;
}

static int group_of(pd_momentum *self, int k) { return pd_sets_root(self->groups, k); }

/* Corner j of pair p: its free part, or -1. */
static int part_at(const pd_momentum *self, int p, int j) {
    size_t slot = 4 * (size_t)p + (size_t)j;
    int point = self->pairs.points[slot];
    return self->pairs.weights[slot] != 0 && point >= 0 && point < self->n_vertices ? self->part_of[point] : -1;
}

/* Tells whether pair p counts: with `near` each, otherwise those with a force. */
static int counts(const pd_momentum *self, int near, int p) {
    const real *gradient = self->pairs.gradient + 12 * (size_t)p;
    if (near) return 1;
    for (int c = 0; c < 12; c++)
        if (gradient[c] != 0) return 1;
    return 0;
}

/* Joins the free parts of a pair with a force into one group, numbered by the smallest. */
static void join(pd_momentum *self, int p) {
    int first = -1;
    for (int j = 0; j < 4; j++) {
        int k = part_at(self, p, j);
        if (k >= 0 && first >= 0) pd_sets_join(self->groups, first, k);
        if (k >= 0) first = k;
    }
}

/* Adds the resistance of a pair to translations of its group. */
static void add_matrix(pd_momentum *self, int near, int p) {
    const pd_projective_forces *pairs = &self->pairs;
    const real *n = pairs->normal + 3 * (size_t)p;
    double beta = 0.0;
    int outside = 0, group = -1;
    for (int j = 0; j < 4; j++) {
        double weight = (double)pairs->weights[4 * (size_t)p + (size_t)j];
        int k = part_at(self, p, j);
        if (k >= 0)
            beta += weight, group = group_of(self, k);
        else
            outside |= weight != 0.0;
    }
    if (!outside || group < 0) return;
    double k = (near ? STIFFER : 1.0) * (double)pairs->k[p] * beta * beta;
    double *matrix = self->parts[group].matrix;
    for (int a = 0, c = 0; a < 3; a++)
        for (int b = a; b < 3; b++, c++) matrix[c] += k * (pairs->friction[p] > 0 ? (double)(a == b) : (double)n[a] * (double)n[b]);
}

/* (inertia I + matrix) shift = -residual, by Cholesky. */
static void solve(part *of) {
    const double *m = of->matrix, *r = of->residual, a = of->total;
    double l00 = sqrt(a + m[0]), l10 = m[1] / l00, l20 = m[2] / l00;
    double l11 = sqrt(a + m[3] - l10 * l10), l21 = (m[4] - l20 * l10) / l11;
    double l22 = sqrt(a + m[5] - l20 * l20 - l21 * l21);
    double y0 = -r[0] / l00, y1 = (-r[1] - l10 * y0) / l11, y2 = (-r[2] - l20 * y0 - l21 * y1) / l22;
    of->shift[2] = y2 / l22;
    of->shift[1] = (y1 - l21 * of->shift[2]) / l11;
    of->shift[0] = (y0 - l10 * of->shift[1] - l20 * of->shift[2]) / l00;
}

/* The translations of all groups, from the gradient, H [n_vertices,3], and the pairs. */
static void find_shifts(pd_momentum *self, const real *gradient, int n_pairs, int near) {
    part *parts = self->parts;
    for (int k = 0; k < self->n_parts; k++) parts[k] = (part){.inertia = parts[k].inertia};
    pd_sets_begin(self->groups, self->n_parts);
    for (int p = 0; p < n_pairs; p++)
        if (counts(self, near, p)) join(self, p);
    for (int p = 0; p < n_pairs; p++)
        if (counts(self, near, p)) add_matrix(self, near, p);
    for (int i = 0; i < self->n_vertices; i++) {
        part *of = self->part_of[i] >= 0 ? parts + group_of(self, self->part_of[i]) : NULL;
        for (size_t c = 0; c < 3 && of; c++) of->residual[c] += (double)gradient[3 * (size_t)i + c];
    }
    for (int k = 0; k < self->n_parts; k++) parts[group_of(self, k)].total += parts[k].inertia;
    for (int k = 0; k < self->n_parts; k++)
        if (group_of(self, k) == k) solve(parts + k);
}

pd_status pd_momentum_shift(pd_momentum *self, const pd_problem *problem, pd_projective *projective, const real *x, const real *offset,
                            int near, real *shift, double *largest) {
    int n_pairs = pd_projective_frozen(projective);
    real *rows = problem->staging;
    pd_status status = PD_OK;
    *largest = 0.0;
    PD_TRY(ensure_capacity(self, problem, n_pairs));
    PD_TRY(pd_problem_gradient(problem, x, offset, problem->trial_gradient));
    PD_TRY(pd_memory_download(problem->context, rows, problem->trial_gradient, pd_problem_bytes(problem)));
    PD_TRY(pd_projective_read(projective, x, &self->pairs));
    find_shifts(self, rows, n_pairs, near);
    for (int i = 0; i < self->n_vertices; i++) {
        const part *group = self->part_of[i] >= 0 ? self->parts + group_of(self, self->part_of[i]) : NULL;
        for (size_t c = 0; c < 3; c++) { rows[3 * (size_t)i + c] = group ? (real)group->shift[c] : (real)0; }
    }
    for (int k = 0; k < self->n_parts; k++)
        for (int c = 0; c < 3 && group_of(self, k) == k; c++) {
            double length = fabs(self->parts[k].shift[c]);
            if (!(length <= *largest)) *largest = length; // also true for NaN
        }
    status = pd_memory_upload(problem->context, shift, rows, pd_problem_bytes(problem));
done:
    return status;
}
