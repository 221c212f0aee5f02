/* Groups of rigid bodies that are solved together; see mechanisms.h. */
#include "dynamics/rigid/mechanisms.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void pd_mechanisms_destroy(pd_mechanisms *self) {
    void *memory[] = {self->start, self->members, self->place_of, self->group_of, self->column_start, self->rows, self->joined};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) free(memory[i]);
    memset(self, 0, sizeof *self);
}

/* The pairs of bodies that share an element, the lower one first; `joined` NULL: only their number. */
static int list_joined(const pd_problem *problem, int *joined) {
    const pd_rigid *rigid = problem->rigid;
    int n = 0;
    for (int b = 0; b < rigid->n; b++) {
        const pd_rigid_rows *rows = &rigid->bodies[b].rows;
        for (int i = rows->first; i < rows->first + rows->n; i++)
            for (int s = problem->corners->start[i]; s < problem->corners->start[i + 1]; s++) {
                int element, position;
                const pd_element_set *set = pd_corner_set(problem->sets, problem->corners->corners[s], &element, &position);
                int k = pd_kind_shape_of(set->kind).vertices;
                const int *vertices = set->vertices + (size_t)element * (size_t)k;
                for (int j = 0; j < k; j++) {
                    int other = rigid->body_of[vertices[j]];
                    if (other <= b) continue;
                    if (joined) joined[2 * n] = b, joined[2 * n + 1] = other;
                    n++;
                }
            }
    }
    return n;
}

/* The graph of the joints, and the state of the elimination. */
typedef struct graph {
    int *start, *neighbours;  /* [n+1], [2 n_joined] */
    int *parent, *seen;       /* [n] by place: of the elimination tree; the last row that visited a place */
    long long *count;         /* [n] by place: blocks of a column */
    unsigned char *dissolved; /* [n] 1: the body is in no group */
} graph;

static void destroy(graph *g) {
    void *memory[] = {g->start, g->neighbours, g->parent, g->seen, g->count, g->dissolved};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) free(memory[i]);
}

static pd_status create(graph *g, int n, const int *joined, int n_joined, pd_error *error) {
    size_t size = (size_t)n;
    g->start = calloc(size + 2, sizeof(int));
    g->neighbours = malloc(2 * (size_t)n_joined * sizeof(int) + 1);
    g->parent = malloc(size * sizeof(int) + 1);
    g->seen = malloc(size * sizeof(int) + 1);
    g->count = calloc(size + 1, sizeof(long long));
    g->dissolved = calloc(size + 1, 1);
    if (!g->start || !g->neighbours || !g->parent || !g->seen || !g->count || !g->dissolved)
        return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the joints of %d rigid bodies", n);
    for (int e = 0; e < 2 * n_joined; e++) g->start[joined[e] + 2]++;
    for (int b = 0; b < n; b++) g->start[b + 2] += g->start[b + 1];
    for (int e = 0; e < 2 * n_joined; e++) g->neighbours[g->start[joined[e] + 1]++] = joined[e ^ 1];
    return PD_OK;
}

/* Groups in the order of their lowest body. */
static void order(pd_mechanisms *self, const graph *g) {
    int placed = 0;
    self->n_groups = 0;
    for (int b = 0; b < self->n; b++) self->group_of[b] = -1;
    for (int b = 0; b < self->n; b++) {
        if (self->group_of[b] >= 0) continue;
        const int first = placed;
        self->start[self->n_groups] = first;
        self->group_of[b] = self->n_groups;
        self->members[placed++] = b;
        for (int next = first; next < placed; next++) {
            int body = self->members[next];
            for (int s = g->start[body]; s < g->start[body + 1] && !g->dissolved[body]; s++) {
                int other = g->neighbours[s];
                if (self->group_of[other] >= 0 || g->dissolved[other]) continue;
                self->group_of[other] = self->n_groups;
                self->members[placed++] = other;
            }
        }
        for (int low = first, high = placed - 1; low < high; low++, high--) {
            int body = self->members[low];
            self->members[low] = self->members[high], self->members[high] = body;
        }
        self->start[++self->n_groups] = placed;
    }
    for (int place = 0; place < self->n; place++) self->place_of[self->members[place]] = place;
}

/* Counts the blocks of each column, or lists them in self->rows from column_start on, by the elimination tree [Davis 2005, Sec. 3]. */
static void eliminate(pd_mechanisms *self, graph *g, int lists) {
    for (int place = 0; place < self->n; place++) g->parent[place] = g->seen[place] = -1, g->count[place] = 0;
    for (int row = 0; row < self->n; row++) {
        int body = self->members[row];
        g->seen[row] = row;
        for (int s = g->start[body]; s < g->start[body + 1]; s++) {
            if (self->group_of[g->neighbours[s]] != self->group_of[body]) continue;
            for (int column = self->place_of[g->neighbours[s]]; column < row && g->seen[column] != row; column = g->parent[column]) {
                if (g->parent[column] < 0) g->parent[column] = row;
                if (lists) self->rows[self->column_start[column] + (int)g->count[column]] = row;
                g->count[column]++;
                g->seen[column] = row;
            }
        }
    }
}

/* Marks the bodies of groups with too many blocks; returns their number. */
static int dissolve(const pd_mechanisms *self, graph *g) {
    int marked = 0;
    for (int group = 0; group < self->n_groups; group++) {
        long long blocks = 0, most = (long long)PD_MOST_FACTOR_BLOCKS * (self->start[group + 1] - self->start[group]);
        for (int place = self->start[group]; place < self->start[group + 1]; place++) blocks += g->count[place];
        if (blocks <= most) continue;
        for (int place = self->start[group]; place < self->start[group + 1]; place++, marked++) g->dissolved[self->members[place]] = 1;
    }
    return marked;
}

pd_status pd_mechanisms_create(pd_mechanisms *out, const pd_problem *problem) {
    const int n = problem->rigid->n;
    size_t size = (size_t)n;
    pd_error *error = problem->error;
    graph g = {0};
    pd_status status = PD_OK;
    *out = (pd_mechanisms){.n = n, .n_joined = list_joined(problem, NULL)};
    out->joined = malloc(2 * (size_t)out->n_joined * sizeof *out->joined + 1);
    if (!out->joined) goto memory;
    list_joined(problem, out->joined);
    PD_TRY(create(&g, n, out->joined, out->n_joined, error));
    out->start = calloc(size + 1, sizeof(int));
    out->members = malloc(size * sizeof(int) + 1);
    out->place_of = malloc(size * sizeof(int) + 1);
    out->group_of = malloc(size * sizeof(int) + 1);
    out->column_start = calloc(size + 1, sizeof(int));
    if (!out->start || !out->members || !out->place_of || !out->group_of || !out->column_start) goto memory;
    order(out, &g);
    eliminate(out, &g, 0);
    if (dissolve(out, &g)) {
        order(out, &g);
        eliminate(out, &g, 0);
    }
    long long blocks = 0;
    for (int place = 0; place < n; place++) {
        out->column_start[place] = (int)blocks;
        blocks += g.count[place];
        if (blocks > INT_MAX / 36) goto memory;
    }
    out->column_start[n] = out->n_blocks = (int)blocks;
    out->rows = malloc((size_t)blocks * sizeof(int) + 1);
    if (!out->rows) goto memory;
    eliminate(out, &g, 1);
    goto done;
memory:
    status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for the joints of %d rigid bodies", n);
done:
    destroy(&g);
    if (status) pd_mechanisms_destroy(out);
    return status;
}
