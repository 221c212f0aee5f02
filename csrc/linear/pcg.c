/* Preconditioned conjugate gradients [Hestenes and Stiefel 1952], with alpha and beta per column; the iteration is in
 * conjugate_gradients.h.
 *
 * With lines and planes, q = P A p. P couples the columns, so they have one alpha and one beta. M is a number per vertex, so that z
 * stays in lines and planes. Blocks on the diagonal (pd_linear_couple) couple the columns too; M is then their inverse. Other
 * preconditioners use the products of A to keep z there. */
#include "linear/conjugate_gradients.h"
#include "linear/largest_eigenvalue.h"
#include "linear/linear_method.h"
#include "linear/upload.h"
#include "updates/linear/preconditioner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct pd_pcg {
    pd_operator A;
    pd_preconditioned M;
    double *blocks;   /* B [n,3] the 3x3 blocks on the diagonal, without the diagonal itself; NULL before their first use */
    pd_csr nodes;     /* H, three rows each, without values; row_start NULL: the rows are the nodes, or there was no use so far */
    real *entries;    /* B, the values of A on the pattern of its nodes; NULL before their first use */
    double *products; /* H [4,width] the sums of the last iteration after a read: p.Ap first, r.r last */
    pd_conjugate_gradients cg;
} pd_pcg;

static void destroy(void *memory, pd_context *context) {
    pd_pcg *self = memory;
    pd_preconditioned_destroy(&self->M, context);
    pd_conjugate_gradients_destroy(&self->cg, context);
    pd_csr_destroy(&self->nodes);
    PD_MEMORIES_DESTROY(context, self->blocks, self->entries);
    free(self->products);
    free(self);
}

/* The 3x3 blocks on the diagonal, with `total`. Errors: PD_ERROR_SINGULAR if one is not positive definite. */
static pd_status upload_blocks(pd_linear *self) {
    pd_pcg *method = self->memory;
    pd_error *error = pd_context_error(self->context);
    size_t n = (size_t)self->A.n, count = 3 * n;
    double *blocks = calloc(count + 1, sizeof(double)), *total = malloc((n + 1) * sizeof(double)), inverse[9];
    pd_status status = PD_OK;
    if (!blocks || !total) {
        status = pd_fail(error, PD_ERROR_MEMORY, "out of memory for conjugate gradients of %d rows", self->A.n);
        goto done;
    }
    PD_TRY(pd_memory_download(self->context, total, self->total, n * sizeof(double)));
    for (int i = 0; i < self->A.n; i++)
        for (int s = self->A.row_start[i]; s < self->A.row_start[i + 1]; s++)
            if (self->A.columns[s] / 3 == i / 3) blocks[3 * i + self->A.columns[s] % 3] = self->A.values[s];
    for (int b = 0; b < self->A.n / 3; b++)
        if (!pd_inverse_on_diagonal(blocks + 9 * (size_t)b, total + 3 * (size_t)b, inverse)) {
            status = pd_fail(error, PD_ERROR_SINGULAR, "the matrix is not positive definite: its diagonal block at row %d is not", 3 * b);
            goto done;
        }
    status = pd_upload(self->context, (void **)&method->blocks, blocks, count * sizeof(double));
done:
    free(total);
    free(blocks);
    return status;
}

/* q = A p and p.q; with lines and planes q = P A p. */
static pd_status multiply(void *owner, const real *p, real *q, double *sums) {
    const pd_linear *self = owner;
    pd_context_tally(self->context)->products++;
    pd_status status = pd_pcg_product(self->context, &self->matrix, self->width, p, q, sums);
    return status || !self->projectors ? status : pd_project(self->context, self->A.n, self->projectors, q);
}

static pd_status invert(void *owner, const pd_block_inverses *M, double *indefinite) {
    pd_linear *self = owner;
    pd_pcg *method = self->memory;
    pd_status status = PD_OK;
    (void)indefinite;
    if (M->block == 3 && !method->blocks) PD_TRY(upload_blocks(self)); // in prepare
    status = pd_diagonal_inverses(self->context, self->A.n, method->blocks, self->total, M);
done:
    return status;
}

/* Contact adds the same to A and to its diagonal, which moves Rayleigh quotients towards 1. */
static pd_status largest(void *owner, double *lambda) { return pd_largest_eigenvalue(owner, lambda); }

/* Tells whether A consists of 3x3 blocks: each is full or empty. */
static int consists_of_blocks(const pd_csr *A) {
    if (A->n % 3) return 0;
    for (int i = 0; i < A->n; i += 3) {
        int count = A->row_start[i + 1] - A->row_start[i];
        const int *columns = A->columns + A->row_start[i];
        if (count % 3) return 0;
        for (int s = 0; s < count; s++)
            if (columns[s] != columns[s - s % 3] + s % 3 || columns[s - s % 3] % 3) return 0;
        for (int r = 1; r < 3; r++)
            if (A->row_start[i + r + 1] - A->row_start[i + r] != count ||
                memcmp(columns, A->columns + A->row_start[i + r], (size_t)count * sizeof(int)))
                return 0;
    }
    return 1;
}

/* The pattern of the 3x3 blocks of A, and their values. */
static pd_status upload_nodes(pd_linear *self) {
    pd_pcg *method = self->memory;
    const pd_csr *A = &self->A;
    size_t entries = (size_t)A->row_start[A->n], n = (size_t)A->n / 3;
    double *values = malloc((entries + 1) * sizeof(double));
    pd_status status = PD_OK;
    pd_csr *nodes = &method->nodes;
    nodes->n = (int)n;
    nodes->row_start = calloc(n + 1, sizeof(int));
    nodes->columns = malloc((entries / 9 + 1) * sizeof(int));
    if (!values || !nodes->row_start || !nodes->columns) {
        status = pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for conjugate gradients of %d rows", A->n);
        goto done;
    }
    for (int b = 0; b < nodes->n; b++) {
        int first = A->row_start[3 * b], count = (A->row_start[3 * b + 1] - first) / 3, begin = nodes->row_start[b];
        nodes->row_start[b + 1] = begin + count;
        for (int k = 0; k < count; k++) {
            nodes->columns[begin + k] = A->columns[first + 3 * k] / 3;
            for (int c = 0; c < 9; c++) values[9 * (begin + k) + c] = A->values[A->row_start[3 * b + c / 3] + 3 * k + c % 3];
        }
    }
    status = pd_upload_reals(self->context, &method->entries, values, entries);
done:
    if (status) pd_csr_destroy(nodes);
    free(values);
    return status;
}

/* A with its present diagonal, and the blocks that contact adds there. */
static pd_status entries_of(void *owner, pd_operator_entries *out) {
    pd_linear *self = owner;
    pd_pcg *method = self->memory;
    const pd_csr *A = &self->A;
    pd_status status = PD_OK;
    if (!method->entries && self->width == 1 && !self->fixed && consists_of_blocks(A)) PD_TRY(upload_nodes(self));
    if (!method->entries) PD_TRY(pd_upload_reals(self->context, &method->entries, A->values, (size_t)A->row_start[A->n]));
    if (method->nodes.row_start) A = &method->nodes;
    *out = (pd_operator_entries){.n = A->n, .row_start = A->row_start, .columns = A->columns};
    out->matrix = (pd_node_matrix){.numbers = self->coupling || method->nodes.row_start ? 3 : 1,
                                   .scalar = !method->nodes.row_start,
                                   .values = method->entries,
                                   .diagonal = self->total,
                                   .coupling = self->coupling,
                                   .projectors = self->coupling ? self->projectors : NULL};
done:
    return status;
}

static pd_status refresh(pd_linear *self) {
    pd_pcg *method = self->memory;
    return pd_preconditioned_refresh(&method->M, &method->A, NULL);
}

static pd_status prepare(pd_linear *self) {
    pd_status status = PD_OK;
    pd_pcg *method = self->memory;
    if (!method) method = self->memory = calloc(1, sizeof *method);
    if (method && !method->products) method->products = malloc(4 * (size_t)self->width * sizeof(double));
    if (!method || !method->products)
        return pd_fail(pd_context_error(self->context), PD_ERROR_MEMORY, "out of memory for conjugate gradients of %d rows", self->A.n);
    method->A = (pd_operator){.context = self->context,
                              .rows = &self->matrix,
                              .width = self->width,
                              .owner = self,
                              .product = multiply,
                              .invert = invert,
                              .inverses = self->inverses,
                              .held = self->fixed,
                              .projectors = self->projectors,
                              .n_held = self->fixed ? self->A.n : 0,
                              .has_blocks = self->width == 1 && self->A.n % 3 == 0,
                              .largest = largest,
                              .entries = entries_of};
    if (!method->M.memory) PD_TRY(pd_preconditioned_create(&method->M, &method->A, &self->settings));
    method->cg.A = &method->A;
    method->cg.M = &method->M;
    method->cg.joined = self->projectors != NULL || self->coupling != NULL;
    method->cg.sums = self->scalars;
    PD_TRY(pd_conjugate_gradients_create(&method->cg));
    status = refresh(self);
done:
    return status;
}

static pd_status iterate(pd_linear *self, int k, int n, const double *omegas, double gamma) {
    pd_pcg *method = self->memory;
    pd_context *context = self->context;
    pd_status status = PD_OK;
    (void)omegas, (void)gamma;
    for (int j = k; j < k + n; j++) {
        if (j == 0) {
            PD_TRY(pd_memory_copy(context, method->cg.r, self->residual, pd_linear_bytes(self)));
            PD_TRY(pd_conjugate_gradients_begin(&method->cg, self->current));
        }
        PD_TRY(pd_conjugate_gradients_direct(&method->cg, j == 0));
        PD_TRY(pd_conjugate_gradients_move(&method->cg, self->current));
    }
    // rounding errors of r outside the lines and planes stay while r shrinks, and would accumulate
    if (self->projectors) PD_TRY(pd_project(context, self->A.n, self->projectors, self->current));
    // without a read, alpha is 0 in a direction of negative curvature; only solves that synchronise anyway test it
    if (!self->measured) goto done;
    PD_TRY(pd_memory_download(context, method->products, self->scalars, 4 * (size_t)self->width * sizeof(double)));
    for (int c = 0; c < self->width; c++) {
        double rz = method->products[self->width + c];
        if (method->products[c] < 0.0)
            status = pd_fail(pd_context_error(context), PD_ERROR_SINGULAR,
                             "the matrix is not positive definite: conjugate gradients met p.Ap = %g at iteration %d", method->products[c],
                             k + n);
        else if (!method->M.inverses && !(rz >= 0.0))
            status = pd_fail(pd_context_error(context), PD_ERROR_SINGULAR,
                             "the preconditioner '%s' is not positive definite: conjugate gradients met r.M^-1 r = %g at iteration %d",
                             method->M.kind->name, rz, k + n);
    }
done:
    return status;
}

/* The r of the recurrence, not b - A x. They differ only near the precision limit. Read with the products, in one synchronisation. */
static pd_status residual_norm(pd_linear *self, double *norm) {
    const pd_pcg *method = self->memory;
    size_t width = (size_t)self->width;
    double square = 0.0;
    for (size_t c = 0; c < width; c++) square += method->products[3 * width + c];
    *norm = sqrt(square);
    return PD_OK;
}

const pd_linear_method pd_pcg_method = {.name = "PCG",
                                        .destroy = destroy,
                                        .prepare = prepare,
                                        .refresh = refresh,
                                        .iterate = iterate,
                                        .residual_norm = residual_norm,
                                        .krylov = 1,
                                        .coupled = 1};
