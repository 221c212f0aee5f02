/* Smoothed aggregation as a preconditioner [Vanek, Mandel, Brezina 1996, Algebraic multigrid by smoothed aggregation for second and fourth
 * order elliptic problems]: one symmetric V-cycle,
 *
 *     z = omega S r,    z += P C P^T (r - A z),    z += omega S (r - A z)
 *
 * on each level, C the cycle of the next one, whose matrix is P^T A P. On the last level C has the exact inverses of domains; mostly there
 * is one domain, and C is the inverse. Aggregates are those of sparse/aggregates.h, from the strengths of the values; S and P are those of
 * updates/linear/amg.h. The columns of P are the rigid motions of an aggregate for the Hessian, and its translation otherwise.
 * As omega S is below 2 A^-1 by construction, M is symmetric and positive definite for every symmetric positive definite A.
 *
 * An application needs two products with A. It does not synchronise. Aggregates and patterns are found again when the pattern of the
 * operator changes or a step of Newton's method begins (pd_operator_entries.choice), so that they depend on no earlier step; the global
 * step keeps its first ones. That works on the host, needs the strengths of every level there, and allocates: the memory doubles where it
 * is too small. Otherwise only numbers are computed. */
#include "linear/preconditioner.h"
#include "linear/preconditioners/level_memory.h"
#include "loops/amg_loops.h"
#include "sparse/aggregates.h"

#include <stdlib.h>

/* Strong entries of the first level; half as much on every further one, as in the paper [Eq. 13: 0.08]. The norm of a block counts all
 * of its directions. */
static const double THRESHOLD = 0.08, THRESHOLD_OF_BLOCKS = 0.12;

/* The part of an arena that stays free, since the next aggregates need somewhat more or less memory: one over this. */
enum { SPARE = 4 };

typedef struct amg {
    long long revision, choice; /* of the entries; -1: no levels yet */
    int columns;                /* right-hand sides that are systems of their own */
    int last;                   /* the number of levels with aggregates */
    pd_amg_level levels[PD_MOST_LEVELS];
    pd_schwarz_level coarsest; /* the domains of the last level */
    int workers;
    pd_level_memory matrices[PD_MOST_LEVELS], transfers[PD_MOST_LEVELS], domains;
    void *scratch;       /* B in `domains` */
    unsigned char *held; /* B [n_held] */
    double *flags;       /* B [2 n] negative pivots of the nodes of the first level, and of the domains of the last one */
    real *p, *q;         /* B of the first level: a direction for its products, and A p [n,width] */
    double *sums;        /* B [6 width], scratch of the products */
    real *inside;        /* B [n,width] a residual without its rounding across lines and planes; NULL: no lines and planes */
} amg;

/* The pattern of a level on the host. */
typedef struct pattern {
    int n;
    const int *row_start, *columns;
} pattern;

static size_t vector_bytes(const pd_operator *A) { return (size_t)A->rows->n * (size_t)A->width * sizeof(real); }

static void destroy(void *self, pd_context *context) {
    amg *made = self;
    if (!made) return;
    for (int l = 0; l < PD_MOST_LEVELS; l++) PD_MEMORIES_DESTROY(context, made->matrices[l].memory, made->transfers[l].memory);
    PD_MEMORIES_DESTROY(context, made->domains.memory, made->held, made->flags, made->p, made->q, made->sums, made->inside);
    free(made);
}

static pd_status create(void **self, const pd_operator *A, const pd_linear_settings *settings) {
    pd_context *context = A->context;
    pd_operator_entries entries = {0};
    pd_status status = PD_OK;
    amg *made = *self = calloc(1, sizeof *made);
    (void)settings;
    if (!made) return pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for a preconditioner of %d rows", A->rows->n);
    made->revision = -1;
    PD_TRY(A->entries(A->owner, &entries));
    made->columns = entries.matrix.numbers == 1 ? A->width : 1;
    PD_TRY(pd_memory_create(context, (void **)&made->flags, 2 * (size_t)entries.n * sizeof(double)));
    if (A->n_held) PD_TRY(pd_memory_create(context, (void **)&made->held, (size_t)A->n_held));
    if (A->n_held) PD_TRY(pd_memory_upload(context, made->held, A->held, (size_t)A->n_held));
    PD_TRY(pd_memory_create(context, (void **)&made->p, pd_pcg_direction_bytes(A->rows->n, A->width)));
    PD_TRY(pd_memory_create(context, (void **)&made->q, vector_bytes(A)));
    PD_TRY(pd_memory_create(context, (void **)&made->sums, 6 * (size_t)A->width * sizeof(double)));
    if (A->projectors) status = pd_memory_create(context, (void **)&made->inside, vector_bytes(A));
done:
    return status;
}

/* ---- the levels -------------------------------------------------------------------------------------------------------------------------- */

/* The arrays of a level that its matrix needs, in an arena; without memory only the size. */
static void lay_out_matrix(amg *self, int l, const pattern *of, char *memory, size_t *used) {
    pd_amg_level *level = &self->levels[l];
    size_t n = (size_t)of->n, entries = (size_t)of->row_start[of->n], numbers = (size_t)level->numbers;
    size_t vector = n * numbers * (size_t)self->columns * sizeof(real), blocks = numbers * numbers * sizeof(double);
    *used = 0;
    level->n = of->n, level->n_entries = of->row_start[of->n];
    level->row_start = pd_level_memory_take(memory, used, (n + 1) * sizeof(int));
    level->columns = pd_level_memory_take(memory, used, entries * sizeof(int));
    level->inverses = pd_level_memory_take(memory, used, n * blocks);
    level->smoother = pd_level_memory_take(memory, used, n * blocks);
    level->strengths = pd_level_memory_take(memory, used, entries * sizeof(float));
    level->values = l ? pd_level_memory_take(memory, used, entries * blocks) : NULL;
    level->r = l ? pd_level_memory_take(memory, used, vector) : NULL;
    level->z = l ? pd_level_memory_take(memory, used, vector) : NULL;
    level->q = l ? pd_level_memory_take(memory, used, vector) : self->q;
    level->held = l ? NULL : self->held;
    level->indefinite = l ? NULL : self->flags;
}

static pd_status make_matrix(amg *self, pd_context *context, int l, const pattern *of) {
    pd_amg_level *level = &self->levels[l];
    pd_status status = PD_OK;
    size_t used;
    lay_out_matrix(self, l, of, NULL, &used);
    PD_TRY(pd_level_memory_reserve(&self->matrices[l], context, used, used / SPARE));
    lay_out_matrix(self, l, of, self->matrices[l].memory, &used);
    PD_TRY(pd_memory_upload(context, level->row_start, of->row_start, ((size_t)of->n + 1) * sizeof(int)));
    status = pd_memory_upload(context, level->columns, of->columns, (size_t)level->n_entries * sizeof(int));
done:
    return status;
}

/* The same of its aggregates and transfers. */
static void lay_out_transfer(amg *self, int l, const pd_aggregates *of, int turns, char *memory, size_t *used) {
    pd_amg_level *level = &self->levels[l];
    size_t n = (size_t)of->n, count = (size_t)of->n_aggregates, block = (size_t)(level->numbers * level->coarser);
    size_t extensions = (size_t)of->extension.row_start[of->n], products = (size_t)of->product.row_start[of->n];
    *used = 0;
    level->n_aggregates = of->n_aggregates;
    level->aggregate = pd_level_memory_take(memory, used, n * sizeof(int));
    level->start = pd_level_memory_take(memory, used, (count + 1) * sizeof(int));
    level->nodes = pd_level_memory_take(memory, used, n * sizeof(int));
    level->arms = turns ? pd_level_memory_take(memory, used, 3 * n * sizeof(real)) : NULL;
    level->centres = turns ? pd_level_memory_take(memory, used, 3 * count * sizeof(real)) : NULL;
    level->extension_start = pd_level_memory_take(memory, used, (n + 1) * sizeof(int));
    level->extension_columns = pd_level_memory_take(memory, used, extensions * sizeof(int));
    level->extension = pd_level_memory_take(memory, used, extensions * block * sizeof(real));
    level->source_start = pd_level_memory_take(memory, used, (count + 1) * sizeof(int));
    level->sources = pd_level_memory_take(memory, used, extensions * sizeof(int));
    level->source_rows = pd_level_memory_take(memory, used, extensions * sizeof(int));
    level->product_start = pd_level_memory_take(memory, used, (n + 1) * sizeof(int));
    level->product_columns = pd_level_memory_take(memory, used, products * sizeof(int));
    level->product = pd_level_memory_take(memory, used, products * block * sizeof(double));
}

static pd_status make_transfer(amg *self, pd_context *context, int l, const pd_aggregates *of, int turns) {
    pd_amg_level *level = &self->levels[l];
    size_t n = (size_t)of->n, count = (size_t)of->n_aggregates, used;
    size_t extensions = (size_t)of->extension.row_start[n], products = (size_t)of->product.row_start[n];
    const pattern coarser = {of->coarser.n, of->coarser.row_start, of->coarser.columns};
    pd_status status = PD_OK;
    lay_out_transfer(self, l, of, turns, NULL, &used);
    PD_TRY(pd_level_memory_reserve(&self->transfers[l], context, used, used / SPARE));
    lay_out_transfer(self, l, of, turns, self->transfers[l].memory, &used);
    PD_TRY(pd_memory_upload(context, level->aggregate, of->aggregate, n * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->start, of->start, (count + 1) * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->nodes, of->nodes, (size_t)of->start[count] * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->extension_start, of->extension.row_start, (n + 1) * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->extension_columns, of->extension.columns, extensions * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->source_start, of->source_start, (count + 1) * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->sources, of->sources, extensions * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->source_rows, of->source_rows, extensions * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->product_start, of->product.row_start, (n + 1) * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->product_columns, of->product.columns, products * sizeof(int)));
    self->levels[l + 1].numbers = self->levels[l + 1].coarser = level->coarser;
    PD_TRY(make_matrix(self, context, l + 1, &coarser));
    level->coarser_start = self->levels[l + 1].row_start;
    level->coarser_columns = self->levels[l + 1].columns;
    level->coarser_values = self->levels[l + 1].values;
done:
    return status;
}

/* The aggregates of a level from its strengths on the device. */
static pd_status find_aggregates(const amg *self, const pd_operator *A, int l, const pattern *of, pd_aggregates *out) {
    const pd_amg_level *level = &self->levels[l];
    double threshold = self->levels[0].numbers == 1 ? THRESHOLD : THRESHOLD_OF_BLOCKS;
    pd_error *error = pd_context_error(A->context);
    pd_status status = PD_OK;
    float *strengths = malloc(((size_t)level->n_entries + 1) * sizeof(float));
    if (!strengths) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the aggregates of %d rows", of->n);
    for (int k = 0; k < l; k++) threshold *= 0.5;
    PD_TRY(pd_memory_download(A->context, strengths, level->strengths, (size_t)level->n_entries * sizeof(float)));
    status =
        pd_aggregates_create(out, of->n, of->row_start, of->columns, strengths, threshold, l == 0 && A->n_held ? A->held : NULL, error);
done:
    free(strengths);
    return status;
}

/* The number of nodes of a level that are not held. */
static int count_free(const pd_operator *A, int l, int n) {
    int count = n;
    for (int i = 0; l == 0 && i < A->n_held; i++) count -= A->held[i] != 0;
    return count;
}

/* Makes aggregates of level l from its strengths, and level l + 1, unless there would be too many. *previous: those of the level before,
 * which contain its pattern; replaced by the new ones. *ends: level l is the last one. */
static pd_status make_coarser(amg *self, const pd_operator *A, int l, int turns, const pattern *of, pd_aggregates *previous, int *ends) {
    pd_aggregates found = {0};
    pd_status status = PD_OK;
    PD_TRY(find_aggregates(self, A, l, of, &found));
    *ends = 4LL * found.n_aggregates > 3LL * count_free(A, l, of->n);
    if (*ends) goto done;
    PD_TRY(pd_aggregates_multiply(&found, of->row_start, of->columns, pd_context_error(A->context)));
    PD_TRY(make_transfer(self, A->context, l, &found, turns));
    pd_aggregates_destroy(previous);
    *previous = found;
    return PD_OK;
done:
    pd_aggregates_destroy(&found);
    return status;
}

/* The domains of the last level. */
static pd_status make_domains(amg *self, const pd_operator *A, int l, const pattern *of) {
    pd_context *context = A->context;
    pd_domains domains = {0};
    pd_status status = PD_OK;
    size_t used = 0;
    int nodes = self->levels[l].numbers == 1 ? PD_DOMAIN_NODES : PD_DOMAIN_NODES_OF_BLOCKS;
    PD_TRY(pd_domains_create(&domains, of->n, of->row_start, of->columns, l == 0 && A->n_held ? A->held : NULL, nodes,
                             pd_context_error(context)));
    const pd_domain_level *first = &domains.levels[0];
    self->coarsest.numbers = self->coarsest.coarser = self->levels[l].numbers;
    size_t scratch = pd_schwarz_scratch(context, first->n_domains, first->largest * self->coarsest.numbers, &self->workers);
    pd_level_memory_take(NULL, &used, scratch);
    pd_schwarz_lay_out(&self->coarsest, first, self->columns, 0, 0, NULL, &used);
    PD_TRY(pd_level_memory_reserve(&self->domains, context, used, used / SPARE));
    used = 0;
    self->scratch = pd_level_memory_take(self->domains.memory, &used, scratch);
    pd_schwarz_lay_out(&self->coarsest, first, self->columns, 0, 0, self->domains.memory, &used);
    self->coarsest.values = self->levels[l].values;
    self->coarsest.indefinite = self->flags + self->levels[0].n;
    status = pd_schwarz_upload(context, first, &self->coarsest);
done:
    pd_domains_destroy(&domains);
    return status;
}

/* Computes the matrix of the level after l: inverses and strengths, with `build` the aggregates, and the product. */
static pd_status coarsen(amg *self, const pd_operator *A, const pd_operator_entries *entries, int l, int build, const pattern *of,
                         pd_aggregates *previous, int *ends) {
    pd_context *context = A->context;
    pd_amg_level *level = &self->levels[l];
    pd_status status = PD_OK;
    PD_TRY(pd_amg_invert(context, &entries->matrix, level));
    PD_TRY(pd_amg_weigh(context, &entries->matrix, level));
    if (build) PD_TRY(make_coarser(self, A, l, entries->turns, of, previous, ends));
    if (*ends) return PD_OK;
    if (entries->turns) {
        const pd_schwarz_level placed = {.n = level->n,
                                         .n_domains = level->n_aggregates,
                                         .domain_start = level->start,
                                         .nodes = level->nodes,
                                         .arms = level->arms,
                                         .centres = level->centres};
        PD_TRY(pd_schwarz_place(context, &placed, l ? self->levels[l - 1].centres : entries->points));
    }
    status = pd_amg_coarsen(context, &entries->matrix, level);
done:
    return status;
}

static pd_status refresh(void *self, const pd_operator *A, double *indefinite) {
    amg *made = self;
    pd_context *context = A->context;
    pd_operator_entries entries = {0};
    pd_aggregates previous = {0};
    pd_status status = PD_OK;
    PD_TRY(A->entries(A->owner, &entries));
    const int build = made->revision != entries.revision || made->choice != entries.choice;
    pattern of = {entries.n, entries.row_start, entries.columns};
    int l = 0, ends = 0;
    if (build) {
        made->revision = -1;
        made->levels[0].numbers = entries.matrix.numbers;
        made->levels[0].coarser = entries.turns ? 6 : entries.matrix.numbers;
        PD_TRY(pd_memory_clear(context, made->flags, 2 * (size_t)entries.n * sizeof(double)));
        PD_TRY(make_matrix(made, context, 0, &of));
    }
    for (;; l++) {
        const int nodes = made->levels[l].numbers == 1 ? PD_DOMAIN_NODES : PD_DOMAIN_NODES_OF_BLOCKS;
        if (build ? l == PD_MOST_LEVELS - 1 || count_free(A, l, of.n) <= nodes : l == made->last) break;
        PD_TRY(coarsen(made, A, &entries, l, build, &of, &previous, &ends));
        if (ends) break;
        if (build) of = (pattern){previous.coarser.n, previous.coarser.row_start, previous.coarser.columns};
    }
    if (build) PD_TRY(make_domains(made, A, l, &of));
    made->last = l;
    PD_TRY(pd_schwarz_invert(context, &entries.matrix, &made->coarsest, made->scratch, made->workers));
    made->revision = entries.revision, made->choice = entries.choice;
    // without aggregates the flags of the first level are those of its last build
    if (l == 0) PD_TRY(pd_memory_clear(context, made->flags, (size_t)entries.n * sizeof(double)));
    if (indefinite) status = pd_schwarz_count(context, made->flags, entries.n + made->coarsest.n_domains, indefinite);
done:
    pd_aggregates_destroy(&previous);
    return status;
}

/* ---- the cycle --------------------------------------------------------------------------------------------------------------------------- */

static pd_status project(const pd_operator *A, int l, real *z) {
    return l == 0 && A->projectors ? pd_project(A->context, A->n_held, A->projectors, z) : PD_OK;
}

/* q = A z on a level. */
static pd_status multiply(amg *self, const pd_operator *A, int l, const real *z) {
    const pd_block_inverses copied = {0, (real *)z};
    pd_status status = PD_OK;
    if (l) return pd_amg_multiply(A->context, &self->levels[l], self->columns, z, self->levels[l].q);
    PD_TRY(pd_pcg_combine(A->context, A->rows, A->width, &copied, 1.0, 0.0, z, self->p));
    status = A->product(A->owner, self->p, self->q, self->sums);
done:
    return status;
}

static pd_status apply(void *self, const pd_operator *A, const real *r, real *z) {
    amg *made = self;
    pd_context *context = A->context;
    const int last = made->last;
    pd_status status = PD_OK;
    if (A->projectors) { // P M^-1 is not symmetric, P M^-1 P is
        PD_TRY(pd_memory_copy(context, made->inside, r, vector_bytes(A)));
        PD_TRY(pd_project(context, A->n_held, A->projectors, made->inside));
        r = made->inside;
    }
    for (int l = 0; l < last; l++) {
        const pd_amg_level *level = &made->levels[l];
        const real *right = l ? level->r : r;
        real *here = l ? level->z : z;
        PD_TRY(pd_amg_relax(context, level, made->columns, right, NULL, here));
        PD_TRY(multiply(made, A, l, here));
        PD_TRY(pd_amg_restrict(context, level, made->columns, right, level->q, made->levels[l + 1].r));
    }
    if (last == 0) PD_TRY(pd_memory_clear(context, z, vector_bytes(A))); // at held vertices
    const pd_amg_level *end = &made->levels[last];
    PD_TRY(pd_schwarz_restrict(context, &made->coarsest, made->columns, last ? end->r : r, last ? end->z : z, NULL));
    for (int l = last - 1; l >= 0; l--) {
        const pd_amg_level *level = &made->levels[l];
        real *here = l ? level->z : z;
        PD_TRY(pd_amg_extend(context, level, made->columns, made->levels[l + 1].z, here));
        PD_TRY(project(A, l, here));
        PD_TRY(multiply(made, A, l, here));
        PD_TRY(pd_amg_relax(context, level, made->columns, l ? level->r : r, level->q, here));
    }
    status = project(A, 0, z);
done:
    return status;
}

const pd_preconditioner pd_amg_preconditioner = {
    .name = "amg", .create = create, .destroy = destroy, .refresh = refresh, .apply = apply, .block = 1, .assembled = 1};
