/* Multilevel additive Schwarz as a preconditioner [Wu, Wang, Wang 2022, GPU-based multilevel additive Schwarz preconditioner for cloth and
 * deformable bodies]:
 *
 *     M^-1 r = sum over levels l of P_l (sum over domains of R^T (R A_l R^T)^-1 R) P_l^T r,     A_0 = A, A_l+1 = T_l^T A_l T_l
 *
 * R restricts to a domain, P_l = T_0 .. T_l-1. A domain of a level is a node of the next one. Every term is symmetric and positive
 * semidefinite, the first one is definite. Domains are those of sparse/domains.h, T is that of updates/linear/schwarz.h: the translation
 * of a domain, as in the paper, and for the Hessian also its rotation.
 *
 * An application needs two passes per level and no product with A. It does not synchronise. Domains are found again when the pattern of
 * the operator changes, which contact does. That works on the host, and allocates: the memory doubles where it is too small. */
#include "linear/preconditioner.h"
#include "loops/schwarz_loops.h"
#include "sparse/domains.h"

#include <stdlib.h>
#include <string.h>

/* Nodes of a domain: 32 of one unknown as in the paper, 16 of more. An inverse has as many numbers per node as nodes times unknowns. */
enum { NODES = 32, NODES_OF_BLOCKS = PD_MOST_DOMAIN_UNKNOWNS / 6 };

/* Arrays begin at multiples of these bytes. */
enum { ALIGNMENT = 256 };

typedef struct multilevel {
    long long revision; /* of the pattern; -1: no domains yet */
    int columns;        /* right-hand sides that are systems of their own */
    int n_levels, n_flags, workers;
    pd_schwarz_level levels[PD_MOST_LEVELS];
    char *memory; /* B, all arrays of the levels */
    size_t capacity;
    double *flags; /* B in memory [n_flags] `indefinite` of all levels, one after another */
    void *scratch; /* B in memory */
    real *inside;  /* B [n,width] a residual without its rounding across lines and planes; NULL: no lines and planes */
} multilevel;

static size_t vector_bytes(const pd_operator *A) { return (size_t)A->rows->n * (size_t)A->width * sizeof(real); }

static void destroy(void *self, pd_context *context) {
    multilevel *made = self;
    if (!made) return;
    PD_MEMORIES_DESTROY(context, made->memory, made->inside);
    free(made);
}

/* The next `bytes` of an arena: their address, or without memory only their place. */
static void *take(char *memory, size_t *used, size_t bytes) {
    void *out = memory ? memory + *used : NULL;
    *used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return out;
}

/* Unknowns of all inverses of a level, squared. */
static size_t inverse_numbers(const pd_domain_level *of, int numbers) {
    size_t sum = 0;
    for (int k = 0; k < of->n_domains; k++) {
        size_t m = (size_t)(of->domain_start[k + 1] - of->domain_start[k]) * (size_t)numbers;
        sum += m * m;
    }
    return sum;
}

/* The arrays of level l in the arena. */
static void lay_out(multilevel *self, const pd_domain_level *of, int l, int last, int turns, char *memory, size_t *used) {
    pd_schwarz_level *level = &self->levels[l];
    size_t n = (size_t)of->n, domains = (size_t)of->n_domains, entries = (size_t)of->row_start[of->n];
    size_t numbers = (size_t)level->numbers, vector = n * numbers * (size_t)self->columns * sizeof(real);
    level->n = of->n, level->n_domains = of->n_domains, level->largest = of->largest, level->n_entries = of->row_start[of->n];
    level->domain_start = take(memory, used, (domains + 1) * sizeof(int));
    level->nodes = take(memory, used, n * sizeof(int));
    level->domain = take(memory, used, n * sizeof(int));
    level->places = take(memory, used, n * sizeof(int));
    level->row_start = take(memory, used, (n + 1) * sizeof(int));
    level->columns = take(memory, used, entries * sizeof(int));
    level->rows = take(memory, used, entries * sizeof(int));
    level->inverse_start = take(memory, used, (domains + 1) * sizeof(long long));
    level->inverses = take(memory, used, inverse_numbers(of, level->numbers) * sizeof(real));
    level->source_start = NULL, level->sources = NULL, level->values = NULL, level->r = level->z = NULL,
    level->arms = level->centres = NULL;
    if (l > 0) {
        level->source_start = take(memory, used, (entries + 1) * sizeof(int));
        level->sources = take(memory, used, (size_t)of->source_start[entries] * sizeof(int));
        level->values = take(memory, used, entries * numbers * numbers * sizeof(double));
        level->r = take(memory, used, vector);
        level->z = take(memory, used, vector);
    }
    if (turns && !last) {
        level->arms = take(memory, used, 3 * n * sizeof(real));
        level->centres = take(memory, used, 3 * domains * sizeof(real));
    }
}

/* All arrays of the arena, and its size in *used. */
static void lay_out_all(multilevel *self, const pd_operator_entries *entries, const pd_domains *domains, size_t scratch, char *memory,
                        size_t *used) {
    int begin = 0;
    *used = 0;
    self->flags = take(memory, used, (size_t)self->n_flags * sizeof(double));
    self->scratch = take(memory, used, scratch);
    for (int l = 0; l < domains->n_levels; l++) {
        lay_out(self, &domains->levels[l], l, l + 1 == domains->n_levels, entries->turns, memory, used);
        self->levels[l].indefinite = self->flags ? self->flags + begin : NULL;
        begin += domains->levels[l].n_domains;
    }
}

static pd_status upload(pd_context *context, const pd_domain_level *of, const pd_schwarz_level *level) {
    size_t n = (size_t)of->n, domains = (size_t)of->n_domains, entries = (size_t)of->row_start[of->n];
    int *places = calloc(n + 1, sizeof(int));
    long long *starts = calloc(domains + 1, sizeof(long long));
    pd_status status = PD_OK;
    if (!places || !starts) {
        status = pd_fail(pd_context_error(context), PD_ERROR_MEMORY, "out of memory for the domains of %d rows", of->n);
        goto done;
    }
    for (size_t k = 0; k < domains; k++) {
        long long m = (long long)(of->domain_start[k + 1] - of->domain_start[k]) * level->numbers;
        starts[k + 1] = starts[k] + m * m;
        for (int t = of->domain_start[k]; t < of->domain_start[k + 1]; t++) places[of->nodes[t]] = t - of->domain_start[k];
    }
    PD_TRY(pd_memory_upload(context, level->domain_start, of->domain_start, (domains + 1) * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->nodes, of->nodes, (size_t)of->domain_start[domains] * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->domain, of->domain, n * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->places, places, n * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->row_start, of->row_start, (n + 1) * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->columns, of->columns, entries * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->rows, of->rows, entries * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->inverse_start, starts, (domains + 1) * sizeof(long long)));
    if (!of->sources) goto done;
    PD_TRY(pd_memory_upload(context, level->source_start, of->source_start, (entries + 1) * sizeof(int)));
    PD_TRY(pd_memory_upload(context, level->sources, of->sources, (size_t)of->source_start[entries] * sizeof(int)));
done:
    free(places);
    free(starts);
    return status;
}

/* The domains of the present pattern. */
static pd_status find_domains(multilevel *self, const pd_operator *A, const pd_operator_entries *entries) {
    pd_context *context = A->context;
    const int numbers = entries->matrix.numbers, coarser = entries->turns ? 6 : numbers;
    pd_domains domains = {0};
    pd_status status = PD_OK;
    int largest = 0, most = 0;
    size_t used;
    self->revision = -1;
    PD_TRY(pd_domains_create(&domains, entries->n, entries->row_start, entries->columns, A->n_held ? A->held : NULL,
                             numbers == 1 ? NODES : NODES_OF_BLOCKS, pd_context_error(context)));
    self->n_levels = domains.n_levels;
    self->n_flags = 0;
    for (int l = 0; l < domains.n_levels; l++) {
        self->levels[l].numbers = l == 0 ? numbers : coarser;
        self->levels[l].coarser = coarser;
        int unknowns = domains.levels[l].largest * self->levels[l].numbers;
        if (unknowns > largest) largest = unknowns;
        if (domains.levels[l].n_domains > most) most = domains.levels[l].n_domains;
        self->n_flags += domains.levels[l].n_domains;
    }
    size_t scratch = pd_schwarz_scratch(context, most, largest, &self->workers);
    lay_out_all(self, entries, &domains, scratch, NULL, &used);
    if (used > self->capacity) {
        size_t bytes = self->memory ? 2 * used : used; // it has grown once, and may do so again
        pd_memory_destroy(context, self->memory);
        self->memory = NULL, self->capacity = 0;
        PD_TRY(pd_memory_create(context, (void **)&self->memory, bytes));
        self->capacity = bytes;
    }
    lay_out_all(self, entries, &domains, scratch, self->memory, &used);
    for (int l = 0; l < domains.n_levels; l++) PD_TRY(upload(context, &domains.levels[l], &self->levels[l]));
    self->revision = entries->revision;
done:
    pd_domains_destroy(&domains);
    return status;
}

static pd_status create(void **self, const pd_operator *A, const pd_linear_settings *settings) {
    pd_operator_entries entries = {0};
    pd_status status = PD_OK;
    multilevel *made = *self = calloc(1, sizeof *made);
    (void)settings;
    if (!made) return pd_fail(pd_context_error(A->context), PD_ERROR_MEMORY, "out of memory for a preconditioner of %d rows", A->rows->n);
    PD_TRY(A->entries(A->owner, &entries));
    made->columns = entries.matrix.numbers == 1 ? A->width : 1;
    if (A->projectors) PD_TRY(pd_memory_create(A->context, (void **)&made->inside, vector_bytes(A)));
    status = find_domains(made, A, &entries);
done:
    return status;
}

static pd_status refresh(void *self, const pd_operator *A, double *indefinite) {
    multilevel *made = self;
    pd_context *context = A->context;
    pd_operator_entries entries = {0};
    pd_status status = PD_OK;
    PD_TRY(A->entries(A->owner, &entries));
    if (made->revision != entries.revision) PD_TRY(find_domains(made, A, &entries));
    const real *points = entries.points;
    for (int l = 0; l < made->n_levels; l++) {
        const pd_schwarz_level *level = &made->levels[l];
        if (level->arms) PD_TRY(pd_schwarz_place(context, level, points));
        points = level->centres;
        PD_TRY(pd_schwarz_invert(context, &entries.matrix, level, made->scratch, made->workers));
        if (l + 1 < made->n_levels) PD_TRY(pd_schwarz_gather(context, &entries.matrix, level, level + 1));
    }
    if (indefinite) status = pd_schwarz_count(context, made->flags, made->n_flags, indefinite);
done:
    return status;
}

static pd_status apply(void *self, const pd_operator *A, const real *r, real *z) {
    multilevel *made = self;
    pd_context *context = A->context;
    pd_status status = PD_OK;
    PD_TRY(pd_memory_clear(context, z, vector_bytes(A))); // at held vertices
    if (A->projectors) {                                  // P M^-1 is not symmetric, P M^-1 P is
        PD_TRY(pd_memory_copy(context, made->inside, r, vector_bytes(A)));
        PD_TRY(pd_project(context, A->n_held, A->projectors, made->inside));
        r = made->inside;
    }
    for (int l = 0; l < made->n_levels; l++) {
        const pd_schwarz_level *level = &made->levels[l];
        real *next = l + 1 < made->n_levels ? made->levels[l + 1].r : NULL;
        PD_TRY(pd_schwarz_restrict(context, level, made->columns, l ? level->r : r, l ? level->z : z, next));
    }
    for (int l = made->n_levels - 2; l >= 0; l--)
        PD_TRY(pd_schwarz_extend(context, &made->levels[l], made->columns, made->levels[l + 1].z, l ? made->levels[l].z : z));
    if (A->projectors) status = pd_project(context, A->n_held, A->projectors, z);
done:
    return status;
}

const pd_preconditioner pd_multilevel_preconditioner = {
    .name = "multilevel", .create = create, .destroy = destroy, .refresh = refresh, .apply = apply, .block = 1, .assembled = 1};
