/* Translations of groups of bodies; see common_motion.h. */
#include "dynamics/contact/common_motion.h"

#include "base/union_find.h"
#include "dynamics/rigid/rigid.h"

#include <math.h>
#include <stdlib.h>

/* More parts count as one, since the search for groups may take the square of their number. */
enum { MOST_PARTS = 4096 };

/* Of a group, the sums are those of its first part. */
typedef struct part {
    int held;            /* a vertex is pinned, or on a line or a plane */
    double mass, sum[3]; /* sum of m, kg, and of m (x_1 - x_0) */
    double left;         /* the largest distance from x_1 after the translation, m */
    real low[3], high[3];
} part;

typedef struct place {
    real low; /* along x */
    int part;
} place;

struct pd_common_motion {
    int n, n_parts;
    int *part_of; /* [n] */
    part *parts;
    int *groups;   /* [n_parts] base/union_find.h */
    place *places; /* [n_parts] */
    real *start;   /* [n,3] x_0 */
};

/* Tells whether the projector of a vertex is that of the whole space. */
static int is_free(const double projector[9]) {
    for (int i = 0; i < 9; i++)
        if (projector[i] != (i % 4 == 0 ? 1.0 : 0.0)) return 0;
    return 1;
}

/* part_of [n] out: the parts in the order of their first vertices. Returns their number; parents [n] is scratch. */
static int find_parts(const pd_problem *problem, int *part_of, int *parents) {
    const int n = problem->model->n_vertices, *body_of = problem->rigid ? problem->rigid->body_of : NULL;
    pd_sets_begin(parents, n);
    for (int i = 1; body_of && i < n; i++)
        if (body_of[i] >= 0 && body_of[i] == body_of[i - 1]) pd_sets_join(parents, i, i - 1);
    for (int s = 0; s < problem->n_sets; s++) {
        const pd_element_set *set = problem->sets + s;
        int k = pd_kind_shape_of(set->kind).vertices;
        for (int e = 0; e < set->n; e++)
            for (int a = 1; a < k; a++) pd_sets_join(parents, set->vertices[(int64_t)e * k], set->vertices[(int64_t)e * k + a]);
    }
    return pd_sets_number(parents, n, part_of);
}

pd_status pd_common_motion_create(pd_common_motion **out, const pd_problem *problem) {
    pd_status status = PD_OK;
    const int n = problem->model->n_vertices;
    pd_common_motion *self = *out = calloc(1, sizeof *self);
    int *parents = malloc(((size_t)n + 1) * sizeof *parents);
    if (self) self->part_of = malloc(((size_t)n + 1) * sizeof *self->part_of);
    if (self) self->start = malloc(pd_problem_bytes(problem) + 1);
    if (!parents || !self || !self->part_of || !self->start) goto memory;
    self->n = n;
    self->n_parts = find_parts(problem, self->part_of, parents);
    if (self->n_parts > MOST_PARTS) {
        self->n_parts = 1;
        for (int i = 0; i < n; i++) self->part_of[i] = 0;
    }
    self->parts = calloc((size_t)self->n_parts + 1, sizeof *self->parts);
    self->places = calloc((size_t)self->n_parts + 1, sizeof *self->places);
    self->groups = calloc((size_t)self->n_parts + 1, sizeof *self->groups);
    if (!self->parts || !self->places || !self->groups) goto memory;
    for (int k = 0; k < self->n_parts; k++) self->places[k].part = k;
    for (int i = 0; i < n; i++)
        if (problem->fixed[i] || (problem->subspace && !is_free(problem->subspace + 9 * (size_t)i))) self->parts[self->part_of[i]].held = 1;
    goto done;

memory:
    status = pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory for the common motions of %d vertices", n);
done:
    free(parents);
    return status;
}

void pd_common_motion_destroy(pd_common_motion *self) {
    if (!self) return;
    free(self->part_of);
    free(self->parts);
    free(self->places);
    free(self->groups);
    free(self->start);
    free(self);
}

/* Sums and boxes of the parts for the displacements from x_0 to x_1 [n,3], each a group of its own. */
static void measure_parts(pd_common_motion *self, const double *masses, const real *x_0, const real *x_1) {
    pd_sets_begin(self->groups, self->n_parts);
    for (int k = 0; k < self->n_parts; k++) {
        part *part = self->parts + k;
        part->mass = part->left = 0.0;
        for (int c = 0; c < 3; c++) part->sum[c] = 0.0, part->low[c] = (real)INFINITY, part->high[c] = -(real)INFINITY;
    }
    for (int i = 0; i < self->n; i++) {
        part *part = self->parts + self->part_of[i];
        part->mass += masses[i];
        for (int c = 0; c < 3; c++) {
            real from = x_0[3 * (size_t)i + (size_t)c], to = x_1[3 * (size_t)i + (size_t)c];
            part->sum[c] += masses[i] * ((double)to - (double)from);
            part->low[c] = pd_min(part->low[c], pd_min(from, to)), part->high[c] = pd_max(part->high[c], pd_max(from, to));
        }
    }
}

static part *group_of(const pd_common_motion *self, int k) { return self->parts + pd_sets_root(self->groups, k); }

static int is_before(place a, place b) { return a.low != b.low ? a.low < b.low : a.part < b.part; }

/* Sorts the parts along x: by insertion, since their order changes little from step to step, and qsort may allocate. */
static void sort_parts(pd_common_motion *self) {
    place *places = self->places;
    for (int p = 0; p < self->n_parts; p++) {
        place here = {self->parts[places[p].part].low[0], places[p].part};
        int q = p;
        for (; q > 0 && is_before(here, places[q - 1]); q--) places[q] = places[q - 1];
        places[q] = here;
    }
}

/* Joins the parts whose boxes, wider by `width`, overlap, and sums over each group. */
static void find_groups(pd_common_motion *self, real width) {
    part *parts = self->parts;
    sort_parts(self);
    for (int p = 0; p < self->n_parts; p++) {
        const part *here = parts + self->places[p].part;
        for (int q = p + 1; q < self->n_parts && self->places[q].low <= here->high[0] + width; q++) {
            const part *there = parts + self->places[q].part;
            int apart = 0;
            for (int c = 1; c < 3; c++) apart |= there->low[c] > here->high[c] + width || here->low[c] > there->high[c] + width;
            if (!apart) pd_sets_join(self->groups, self->places[p].part, self->places[q].part);
        }
    }
    for (int k = 0; k < self->n_parts; k++) {
        part *group = group_of(self, k), *one = parts + k;
        if (group == one) continue;
        group->mass += one->mass;
        for (int c = 0; c < 3; c++) group->sum[c] += one->sum[c];
    }
}

static double length(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

/* shift [n,3] from the groups: x_1 is overwritten by it. Returns 1 if one is translated. */
static int translate(pd_common_motion *self, double least, const real *x_0, real *x_1) {
    int moves = 0;
    for (int i = 0; i < self->n; i++) {
        part *group = group_of(self, self->part_of[i]);
        double left[3];
        for (size_t c = 0, r = 3 * (size_t)i; c < 3; c++) left[c] = (double)x_1[r + c] - (double)x_0[r + c] - group->sum[c] / group->mass;
        double here = length(left);
        group->left = here >= group->left ? here : here < group->left ? group->left : (double)INFINITY; // infinite for a NaN
    }
    for (int k = 0; k < self->n_parts; k++)
        if (self->parts[k].held) group_of(self, k)->left = (double)INFINITY;
    for (int i = 0; i < self->n; i++) {
        const part *group = group_of(self, self->part_of[i]);
        double t = length(group->sum) / group->mass;
        int translated = t > least && group->left <= 0.5 * t;
        for (size_t c = 0; c < 3; c++) x_1[3 * (size_t)i + c] = translated ? (real)(group->sum[c] / group->mass) : (real)0;
        moves |= translated;
    }
    return moves;
}

pd_status pd_common_motion_find(pd_common_motion *self, const pd_problem *problem, const real *x_0, const real *x_1, double width,
                                double least, real *shift, int *moves) {
    pd_status status;
    PD_TRY(pd_memory_download(problem->context, self->start, x_0, pd_problem_bytes(problem)));
    PD_TRY(pd_memory_download(problem->context, problem->staging, x_1, pd_problem_bytes(problem)));
    measure_parts(self, problem->masses, self->start, problem->staging);
    find_groups(self, (real)width);
    *moves = translate(self, least, self->start, problem->staging);
    PD_TRY(pd_memory_upload(problem->context, shift, problem->staging, pd_problem_bytes(problem)));
done:
    return status;
}
