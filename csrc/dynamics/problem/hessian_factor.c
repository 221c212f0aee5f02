/* A sparse Cholesky factor of the Hessian of the incremental potential; see hessian_factor.h. */
#include "dynamics/problem/hessian_factor.h"

#include "dynamics/problem/block_hessian.h"
#include "dynamics/problem/reduced_hessian.h"
#include "dynamics/rigid/rigid.h"
#include "linear/factor.h"

#include <math.h>
#include <stdlib.h>

struct pd_hessian_factor {
    pd_factor factor; /* three unknowns per vertex */
    int revision;     /* of the analysed pattern; 0: none */
};

void pd_hessian_factor_destroy(pd_hessian_factor *self) {
    if (!self) return;
    pd_factor_destroy(&self->factor);
    free(self);
}

/* The source of an upper triangle. */
typedef struct triangle {
    const pd_factor *factor;
    const pd_csr *pattern;
    const real *blocks; // [nnz,3,3]
    double shift;
} triangle;

/* The upper triangle of the free Hessian: column 3f+b has the rows of all blocks j < f and rows <= b of the diagonal block. The block
 * (i,j) of the pattern's row i is read transposed, which for a symmetric Hessian is the block (j,i) of column i. */
static void upper_triangle(const void *owner, int *column_start, int *rows, double *values) {
    const triangle *of = owner;
    const pd_csr *pattern = of->pattern;
    int next = 0;
    for (int f = 0; f < of->factor->n_free; f++) {
        int i = of->factor->free_rows[f];
        for (int b = 0; b < 3; b++) {
            column_start[3 * f + b] = next;
            for (int s = pattern->row_start[i]; s < pattern->row_start[i + 1]; s++) {
                int j = of->factor->compressed[pattern->columns[s]];
                if (j < 0 || j > f) continue;
                for (int a = 0; a < (j == f ? b + 1 : 3); a++) {
                    if (rows) rows[next] = 3 * j + a;
                    if (values)
                        values[next] = (double)of->blocks[9 * (size_t)s + (size_t)(3 * b + a)] + (j == f && a == b ? of->shift : 0.0);
                    next++;
                }
            }
        }
    }
    column_start[3 * of->factor->n_free] = next;
}

static triangle triangle_of(const pd_hessian_factor *self, const pd_problem *problem, double shift) {
    const pd_assembled_hessian *reduced = pd_problem_reduced(problem);
    return (triangle){&self->factor, &reduced->pattern, reduced->blocks, shift};
}

/* Analyses the pattern of the assembled Hessian, if that has changed. */
static pd_status analyse(pd_hessian_factor *self, const pd_problem *problem) {
    const triangle of = triangle_of(self, problem, 0.0);
    int revision = pd_problem_reduced(problem)->revision;
    if (self->revision == revision) return PD_OK;
    self->revision = 0;
    const pd_unknowns unknowns = {.n = 3 * self->factor.n_free, .block = 3};
    pd_status status = pd_factor_analyse(&self->factor, &unknowns, upper_triangle, &of);
    if (!status) self->revision = revision;
    return status;
}

pd_status pd_hessian_factor_create(pd_hessian_factor **out, const pd_problem *problem) {
    pd_status status = PD_OK;
    pd_hessian_factor *self = calloc(1, sizeof *self);
    *out = NULL;
    if (!self) return pd_fail(problem->error, PD_ERROR_MEMORY, "out of memory");
    PD_TRY(pd_factor_create(&self->factor, problem->context, problem->cholesky, problem->model->n_vertices, 3,
                            problem->rigid ? problem->rigid->excluded : problem->fixed, problem->error));
    if (self->factor.n_free > 0) {
        PD_TRY(pd_problem_need_reduced(problem));
        PD_TRY(analyse(self, problem));
    }
done:
    if (status)
        pd_hessian_factor_destroy(self);
    else
        *out = self;
    return status;
}

pd_status pd_hessian_factor_update(pd_hessian_factor *self, const pd_problem *problem, double shift, int sure) {
    const triangle of = triangle_of(self, problem, shift);
    pd_status status = PD_OK;
    if (self->factor.n_free == 0) return PD_OK;
    PD_TRY(analyse(self, problem));
    status = pd_factor_refresh(&self->factor, sure, upper_triangle, &of);
    if (status == PD_ERROR_SINGULAR && sure) problem->error->vertex = self->factor.free_rows[problem->error->vertex];
done:
    return status;
}

double pd_hessian_factor_trace(const pd_hessian_factor *self) {
    double trace = 0.0;
    for (int c = 0; c < self->factor.unknowns.n; c++) trace += fabs(self->factor.values[self->factor.column_start[c + 1] - 1]);
    return trace;
}

int pd_hessian_factor_worth(const pd_hessian_factor *self) { return pd_factor_worth(&self->factor); }

int pd_hessian_factor_products(const pd_hessian_factor *self, const pd_problem *problem) {
    const pd_csr *pattern = &problem->hessian->pattern;
    return pd_factor_products(&self->factor, 9.0 * pattern->row_start[pattern->n]);
}

pd_status pd_hessian_factor_solve(pd_hessian_factor *self, const pd_problem *problem, const real *residual, real *correction) {
    if (self->factor.n_free == 0) return pd_memory_clear(problem->context, correction, pd_problem_bytes(problem));
    return pd_factor_solve(&self->factor, residual, correction);
}
