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
#include "linear/preconditioners/level_memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct multilevel {
    long long revision; /* of the pattern; -1: no domains yet */
    int columns;        /* right-hand sides that are systems of their own */
    int n_levels, n_flags, workers;
    pd_schwarz_level levels[PD_MOST_LEVELS];
    pd_level_memory arena; /* all arrays of the levels */
    double *flags;         /* B in it [n_flags] `indefinite` of all levels, one after another */
    void *scratch;         /* B in it */
    real *inside;          /* B [n,width] a residual without its rounding across lines and planes; NULL: no lines and planes */
} multilevel;

static size_t vector_bytes(const pd_operator *A) { return (size_t)A->rows->n * (size_t)A->width * sizeof(real); }

static void destroy(void *self, pd_context *context) {
    multilevel *made = self;
    if (!made) return;
    PD_MEMORIES_DESTROY(context, made->arena.memory, made->inside);
    free(made);
}

/* All arrays of the arena, and its size in *used. */
static void lay_out_all(multilevel *self, const pd_operator_entries *entries, const pd_domains *domains, size_t scratch, char *memory,
                        size_t *used) {
    int begin = 0;
    *used = 0;
    self->flags = pd_level_memory_take(memory, used, (size_t)self->n_flags * sizeof(double));
    self->scratch = pd_level_memory_take(memory, used, scratch);
    for (int l = 0; l < domains->n_levels; l++) {
        pd_schwarz_lay_out(&self->levels[l], &domains->levels[l], self->columns, l > 0, entries->turns && l + 1 < domains->n_levels, memory,
                           used);
        self->levels[l].indefinite = self->flags ? self->flags + begin : NULL;
        begin += domains->levels[l].n_domains;
    }
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
                             numbers == 1 ? PD_DOMAIN_NODES : PD_DOMAIN_NODES_OF_BLOCKS, pd_context_error(context)));
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
    PD_TRY(pd_level_memory_reserve(&self->arena, context, used, 0));
    lay_out_all(self, entries, &domains, scratch, self->arena.memory, &used);
    for (int l = 0; l < domains.n_levels; l++) PD_TRY(pd_schwarz_upload(context, &domains.levels[l], &self->levels[l]));
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
