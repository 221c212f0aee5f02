/* Conjugate gradients on the Hessian of the incremental potential; see hessian_cg.h. The iteration is in linear/conjugate_gradients.h. The
 * operator has rows of 3x3 blocks without those of fixed vertices, plus the contact pairs. Otherwise (assembled_hessian.h) the rows are those
 * of the assembled Hessian, with rigid bodies those of rigid.h. This matrix contains the pairs; every solve copies it from the host. */
#include "dynamics/problem/hessian_cg.h"

#include "contact/potential/contact.h"
#include "dynamics/problem/block_hessian.h"
#include "dynamics/problem/reduced_hessian.h"
#include "dynamics/rigid/rigid.h"
#include "linear/conjugate_gradients.h"

#include <stdlib.h>

struct pd_hessian_cg {
    pd_context *context;
    const pd_problem *problem;
    int read_every;            /* iterations between two device reads */
    pd_hessian_factor *factor; /* NULL, or the preconditioner */
    pd_hessian_matrix H;
    pd_matrix rows; /* 3n rows and the scratch of their reductions, for passes that need nothing else */
    pd_operator A;
    pd_preconditioned M;
    int *row_start, *columns;  /* B, owned */
    pd_conjugate_gradients cg; /* its sums B [6], and directly after them, for one read: */
    double *indefinite;        /* [1], and the reason of the end [2] */
    int assembled;             /* all blocks are in one pattern: */
    int *slots;                /* B [n] of the diagonal */
    int *host_slots;           /* H [n] */
    unsigned char *excluded;   /* B [n] */
    real *blocks;              /* B [capacity,3,3], as columns */
    size_t capacity;
    const real *points; /* B [n,3] x of the present solve; NULL before the first */
    int revision;       /* of the pattern of row_start, columns and slots */
    long long steps;    /* begun */
};

void pd_hessian_cg_destroy(pd_hessian_cg *self) {
    if (!self) return;
    pd_preconditioned_destroy(&self->M, self->context);
    pd_conjugate_gradients_destroy(&self->cg, self->context);
    PD_MEMORIES_DESTROY(self->context, self->row_start, self->columns, self->cg.sums, self->rows.partial_sums, self->slots, self->excluded,
                        self->blocks);
    free(self->host_slots);
    free(self);
}

void pd_hessian_cg_begin(pd_hessian_cg *self) {
    if (self) self->steps++;
}

int pd_hessian_cg_is_assembled(const pd_hessian_cg *self) { return self->assembled; }

static pd_status multiply(void *owner, const real *p, real *q, double *sums) {
    pd_hessian_cg *self = owner;
    pd_contact *contact = self->problem->contact;
    pd_context_tally(self->context)->products++;
    pd_status status = pd_hessian_product(self->context, &self->H, p, q, sums);
    return status || !contact || self->assembled ? status : pd_contact_add_product(contact, self->problem->model, p, q, sums);
}

static pd_status invert(void *owner, const pd_block_inverses *M, double *indefinite) {
    pd_hessian_cg *self = owner;
    return pd_hessian_inverses(self->context, &self->H, M, indefinite);
}

/* The blocks of H; with contact those of the assembled Hessian. In it the unknowns of a rigid body are rows too, without a place. */
static pd_status entries_of(void *owner, pd_operator_entries *out) {
    const pd_hessian_cg *self = owner;
    const pd_assembled_hessian *reduced = self->assembled ? pd_problem_reduced(self->problem) : NULL;
    const pd_csr *pattern = reduced ? &reduced->pattern : &self->problem->hessian->pattern;
    *out = (pd_operator_entries){.n = pattern->n,
                                 .row_start = pattern->row_start,
                                 .columns = pattern->columns,
                                 .revision = reduced ? reduced->revision : 0,
                                 .choice = self->steps,
                                 .turns = !self->problem->rigid,
                                 .points = self->points};
    out->matrix = (pd_node_matrix){.numbers = 3, .values = self->H.blocks, .projectors = self->H.subspace, .shift = self->H.shift};
    return PD_OK;
}

/* ---- a factor of an earlier Hessian as the preconditioner ---- */

static void keep_factor(void *self, pd_context *context) { (void)self, (void)context; }

static pd_status refresh_factor(void *self, const pd_operator *A, double *indefinite) {
    const double no = 0.0;
    (void)self;
    return pd_memory_upload(A->context, indefinite, &no, sizeof no);
}

static pd_status apply_factor(void *self, const pd_operator *A, const real *r, real *z) {
    const pd_hessian_cg *cg = self;
    (void)A;
    return pd_hessian_factor_solve(cg->factor, cg->problem, r, z);
}

static const pd_preconditioner by_factor = {
    .name = "last factor", .destroy = keep_factor, .refresh = refresh_factor, .apply = apply_factor, .waits = 1, .block = 1};

/* ---- the operator -------------------------------------------------------------------------------------------------------------------- */

/* H = the blocks of the assembled Hessian: the pattern, if it changed since the last solve, and the values. */
static pd_status take_assembled(pd_hessian_cg *self) {
    pd_context *context = self->context;
    const pd_assembled_hessian *reduced = pd_problem_reduced(self->problem);
    const pd_csr *pattern = &reduced->pattern;
    int revision = reduced->revision;
    size_t n = (size_t)pattern->n, entries = (size_t)pattern->row_start[n];
    pd_status status = PD_OK;
    if (self->revision != revision) {
        self->revision = 0;
        if (entries > self->capacity) {
            self->capacity = 0;
            pd_memory_destroy(context, self->columns);
            pd_memory_destroy(context, self->blocks);
            self->columns = NULL, self->blocks = NULL;
            PD_TRY(pd_memory_create(context, (void **)&self->columns, 2 * entries * sizeof(int)));
            PD_TRY(pd_memory_create(context, (void **)&self->blocks, 2 * 9 * entries * sizeof(real)));
            self->capacity = 2 * entries;
        }
        for (int i = 0; i < pattern->n; i++) self->host_slots[i] = pd_csr_slot(pattern, i, i);
        PD_TRY(pd_memory_upload(context, self->row_start, pattern->row_start, (n + 1) * sizeof(int)));
        PD_TRY(pd_memory_upload(context, self->columns, pattern->columns, entries * sizeof(int)));
        PD_TRY(pd_memory_upload(context, self->slots, self->host_slots, n * sizeof(int)));
        self->revision = revision;
    }
    PD_TRY(pd_memory_upload(context, self->blocks, reduced->blocks, 9 * entries * sizeof(real)));
    self->H.columns = self->columns, self->H.blocks = self->blocks;
done:
    return status;
}

/* The buffers of take_assembled; the projectors are in the blocks. */
static pd_status make_assembled(pd_hessian_cg *self) {
    size_t n = (size_t)self->H.n;
    pd_status status = PD_OK;
    const unsigned char *excluded = self->problem->rigid ? self->problem->rigid->excluded : self->problem->fixed;
    self->host_slots = malloc(n * sizeof(int) + 1);
    if (!self->host_slots) return pd_fail(self->problem->error, PD_ERROR_MEMORY, "out of memory");
    PD_TRY(pd_memory_create(self->context, (void **)&self->slots, n * sizeof(int)));
    PD_TRY(pd_memory_create(self->context, (void **)&self->excluded, n));
    PD_TRY(pd_memory_upload(self->context, self->excluded, excluded, n));
    self->H.diagonal_slots = self->slots, self->H.fixed = self->excluded, self->H.subspace = NULL;
done:
    return status;
}

/* A read synchronises, and the work of the device after the end of a solve is lost. At 100,000 vertices both costs are equal at check_every
 * iterations between reads; with fewer vertices the interval shrinks as sqrt(n / 100,000). Model: solves of 50 iterations, 600 bytes per
 * vertex and iteration, 10 us per read, 3.84 TB/s, both assumed. */
static int read_every(int check_every, double n) { return (int)fmax(1.0, check_every * fmin(1.0, sqrt(1e5 / n))); }

pd_status pd_hessian_cg_create(pd_hessian_cg **out, const pd_problem *problem, const pd_linear_settings *settings,
                               pd_hessian_factor *factor) {
    pd_context *context = problem->context;
    const pd_csr *pattern = &problem->hessian->pattern;
    size_t n = (size_t)problem->model->n_vertices, entries = (size_t)pattern->row_start[n];
    pd_status status = PD_OK;
    pd_hessian_cg *self = calloc(1, sizeof *self);
    *out = NULL;
    if (!self) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    self->context = context;
    self->problem = problem;
    self->factor = factor;
    const int assembled = problem->contact && !factor && pd_preconditioner_of(settings->preconditioner)->assembled;
    self->assembled = factor || assembled || pd_problem_needs_assembled(problem);
    if (assembled && !pd_problem_needs_assembled(problem)) PD_TRY(pd_problem_create_assembled(problem));
    self->A = (pd_operator){.context = context,
                            .rows = &self->rows,
                            .width = 1,
                            .owner = self,
                            .product = multiply,
                            .invert = invert,
                            .has_blocks = 1,
                            .entries = entries_of};
    self->A.held = problem->rigid ? problem->rigid->excluded : problem->fixed;
    self->A.projectors = problem->model->subspace;
    self->A.n_held = (int)n;
    self->cg.A = &self->A;
    self->cg.M = &self->M;
    self->rows.n = 3 * (int)n;
    self->read_every = read_every(settings->check_every, (double)n);
    size_t sums = 2 * (3 * n / (PD_SUM_BLOCK - 2) + 1);
    PD_TRY(pd_memory_create(context, (void **)&self->row_start, (n + 1) * sizeof(int)));
    PD_TRY(pd_memory_create(context, (void **)&self->columns, entries * sizeof(int)));
    PD_TRY(pd_memory_upload(context, self->row_start, pattern->row_start, (n + 1) * sizeof(int)));
    PD_TRY(pd_memory_upload(context, self->columns, pattern->columns, entries * sizeof(int)));
    PD_TRY(pd_memory_create(context, (void **)&self->cg.sums, 13 * sizeof(double)));
    self->indefinite = self->cg.sums + 6;
    self->cg.end.why = self->cg.sums + 7;
    if (factor) self->cg.early = self->cg.sums + 9;
    PD_TRY(pd_memory_create(context, (void **)&self->rows.partial_sums, sums * sizeof(double)));
    self->H = (pd_hessian_matrix){(int)n,
                                  self->row_start,
                                  self->columns,
                                  problem->hessian->diagonal_slots,
                                  problem->hessian->blocks,
                                  problem->model->fixed,
                                  problem->model->subspace,
                                  0.0,
                                  self->rows.partial_sums};
    if (self->assembled) PD_TRY(make_assembled(self));
    if (factor)
        self->M = (pd_preconditioned){.kind = &by_factor, .memory = self};
    else
        PD_TRY(pd_preconditioned_create(&self->M, &self->A, settings));
    PD_TRY(pd_conjugate_gradients_create(&self->cg));
done:
    if (status)
        pd_hessian_cg_destroy(self);
    else
        *out = self;
    return status;
}

/* A block-diagonal one is positive definite by construction, or a fallback (updates/linear/preconditioner.h). */
static pd_status check_preconditioner(const pd_hessian_cg *self, const double *sums, int iteration) {
    if (self->M.inverses || sums[1] > 0.0) return PD_OK;
    return pd_fail(self->problem->error, PD_ERROR_SINGULAR,
                   "the preconditioner '%s' is not positive definite: conjugate gradients met r.M^-1 r = %g at iteration %d",
                   self->M.kind->name, sums[1], iteration);
}

/* The tally without the work after the end, between two reads: `counted` iterations came before it. All have the same products, and with
 * the factor one solve, except the last if it converged (conjugate_gradients.c). */
static void count_until_end(const pd_hessian_cg *self, const pd_tally *begun, const pd_hessian_cg_end *end, long long counted) {
    pd_tally *tally = pd_context_tally(self->context);
    if (end->iterations > 0) tally->products = begun->products + (tally->products - begun->products) / end->iterations * counted;
    if (self->factor) tally->solves = begun->solves + counted - end->converged;
}

pd_status pd_hessian_cg_solve(pd_hessian_cg *self, const pd_iterate *iterate, double tolerance, int most, double shift, int give_up,
                              pd_hessian_cg_end *end) {
    pd_context *context = self->context;
    real *d = iterate->correction;
    size_t bytes = (size_t)self->rows.n * sizeof(real);
    pd_status status = PD_OK;
    double sums[9];
    pd_tally begun;
    *end = (pd_hessian_cg_end){0};
    self->H.shift = shift;
    self->points = iterate->x;
    if (self->assembled) PD_TRY(take_assembled(self));
    PD_TRY(pd_preconditioned_refresh(&self->M, &self->A, self->indefinite));
    PD_TRY(pd_memory_copy(context, self->cg.r, iterate->gradient, bytes));
    PD_TRY(pd_conjugate_gradients_begin(&self->cg, d));
    PD_TRY(pd_memory_download(context, sums, self->cg.sums, sizeof sums));
    end->indefinite = sums[6] > 0.0;
    if (end->indefinite && give_up) goto done;
    self->cg.end.norm = fmax(tolerance, (double)PD_EPSILON) * sqrt(sums[3]);
    end->converged = sqrt(sums[3]) <= self->cg.end.norm;
    if (!(sqrt(sums[3]) > self->cg.end.norm)) goto done;
    if (sums[7] == PD_PCG_NOT_CONVEX) {
        end->indefinite = 1;
        status = give_up ? PD_OK : check_preconditioner(self, sums, 0);
        goto done;
    }
    begun = *pd_context_tally(context);
    const double half_way = give_up == PD_CG_GIVES_UP_SLOW ? sqrt(sqrt(sums[3]) * self->cg.end.norm) : HUGE_VAL;
    // the first by itself: where it has no or negative curvature its p is the answer. Between two looks the device ends them, and d stays
    for (int k = 0, n = 1; k < most && sums[7] == PD_PCG_GOES_ON; k += n, n = self->read_every) {
        if (n > most - k) n = most - k;
        for (int j = 0; j < n; j++) {
            PD_TRY(pd_conjugate_gradients_direct(&self->cg, k + j == 0));
            PD_TRY(pd_conjugate_gradients_move(&self->cg, d));
        }
        PD_TRY(pd_memory_download(context, sums, self->cg.sums, sizeof sums));
        end->iterations = k + n;
        if (sums[7] == PD_PCG_GOES_ON && 2 * end->iterations >= most && sqrt(sums[3]) > half_way) break;
        if (sums[7] != PD_PCG_NOT_CONVEX) continue;
        end->indefinite = 1;
        if (!give_up) PD_TRY(check_preconditioner(self, sums, k + n));
        if (k == 0 && !give_up) PD_TRY(pd_memory_copy(context, d, self->cg.p, bytes));
    }
    end->converged = sums[7] == PD_PCG_CONVERGED;
    count_until_end(self, &begun, end, (long long)sums[8]);
done:
    return status;
}

pd_status pd_hessian_cg_multiply(pd_hessian_cg *self, const real *v, real *product) {
    const pd_problem *problem = self->problem;
    pd_status status = PD_OK;
    self->H.shift = 0.0;
    if (self->assembled) PD_TRY(take_assembled(self));
    PD_TRY(pd_memory_clear(self->context, self->cg.p, (size_t)self->rows.n * sizeof(real)));
    PD_TRY(pd_add_scaled(self->context, problem->model, self->cg.p, 1.0, v, self->cg.p));
    if (problem->subspace) PD_TRY(pd_project(self->context, problem->model->n_vertices, problem->model->subspace, self->cg.p));
    PD_TRY(multiply(self, self->cg.p, product, self->cg.sums));
done:
    return status;
}
