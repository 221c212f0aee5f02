/* Sparse Cholesky with CHOLMOD's analysis, and our own factorisation and triangular solves; see cholesky.h. */
#include "sparse/cholesky.h"

#include "sparse/dense_cholesky.h"

#ifdef PD_HAVE_CHOLMOD

#include "sparse/partition.h"
#include "sparse/serial_blas.h"
#include "sparse/supernodal_factor.h"
#include "sparse/supernodal_solve.h"

#include <cholmod.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct pd_cholesky {
    int n, block;
    cholmod_common common;
    int n_last; /* rows of the second part; 0: one part */
    cholmod_factor *analysis;
    pd_supernodes supernodes;
    pd_supernodal_factor *factor;
    pd_supernodal_plan *plan;
};

static void cholesky_destroy(pd_cholesky *self) {
    if (!self) return;
    pd_supernodal_plan_destroy(self->plan);
    pd_supernodal_factor_destroy(self->factor);
    cholmod_l_free_factor(&self->analysis, &self->common);
    cholmod_l_finish(&self->common);
    free(self);
}

static pd_status library_failure(const pd_cholesky *self, pd_error *error) {
    if (self->common.status == CHOLMOD_OUT_OF_MEMORY || self->common.status == CHOLMOD_TOO_LARGE)
        return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the Cholesky factor of %d rows", self->n);
    return pd_fail(error, PD_ERROR_VALUE, "CHOLMOD failed with status %d on %d rows", self->common.status, self->n);
}

/* METIS uses rand() of the C library, one sequence for the whole process. Concurrent orderings would share it and give other
 * permutations, and so other bits. So only one ordering runs at a time. */
static pthread_mutex_t ordering_lock = PTHREAD_MUTEX_INITIALIZER;

/* A fork waits for this lock and for that of BLAS, so that the child finds both free and their data consistent. A holder of one lock
 * never waits for another. */
static void before_fork(void) {
    pthread_mutex_lock(&ordering_lock);
    pd_blas_before_fork();
}

static void after_fork(void) {
    pd_blas_after_fork();
    pthread_mutex_unlock(&ordering_lock);
}

static void register_fork(void) { pthread_atfork(before_fork, after_fork, after_fork); }

static int order_graph(cholmod_sparse *graph, SuiteSparse_long *permutation, cholmod_common *common) {
    if (graph->nrow < 8) return cholmod_l_amd(graph, NULL, 0, permutation, common);
    pthread_mutex_lock(&ordering_lock);
    int fine = cholmod_l_metis(graph, NULL, 0, 1, permutation, common);
    pthread_mutex_unlock(&ordering_lock);
    return fine;
}

/* Orders the graph of the blocks and expands the permutation to their rows. For a Hessian over vertices this is a ninth of the work of
 * ordering its rows, and keeps each vertex's rows together. A second part stays at the end. */
static SuiteSparse_long *block_permutation(pd_cholesky *self, const int *column_start, const int *row_index) {
    int block = self->block, n = (self->n - self->n_last) / block;
    SuiteSparse_long *small = malloc(((size_t)n + 1) * sizeof *small), *full = malloc(((size_t)self->n + 1) * sizeof *full);
    cholmod_sparse *graph = NULL;
    int fine = 0;
    size_t count = 0;
    if (!small || !full) goto done;
    for (int c = 0; c < n; c++)
        for (int s = column_start[c * block]; s < column_start[c * block + 1]; s++) count += row_index[s] % block == 0;
    graph = cholmod_l_allocate_sparse((size_t)n, (size_t)n, count, 1, 1, 1, CHOLMOD_PATTERN, &self->common);
    if (!graph) goto done;
    SuiteSparse_long *p = graph->p, *i = graph->i;
    p[0] = 0;
    for (int c = 0; c < n; c++) {
        p[c + 1] = p[c];
        for (int s = column_start[c * block]; s < column_start[c * block + 1]; s++)
            if (row_index[s] % block == 0) i[p[c + 1]++] = row_index[s] / block;
    }
    fine = order_graph(graph, small, &self->common);
    for (int v = 0; fine && v < n; v++)
        for (int a = 0; a < block; a++) full[v * block + a] = small[v] * block + a;
    for (int i = n * block; i < self->n; i++) full[i] = i;

done:
    cholmod_l_free_sparse(&graph, &self->common);
    free(small);
    if (!fine) {
        free(full);
        return NULL;
    }
    return full;
}

/* The pattern of the upper triangle for CHOLMOD: as given, or completed for two parts. */
static pd_status create_pattern(pd_cholesky *self, const int *column_start, const int *row_index, const SuiteSparse_long *permutation,
                                cholmod_sparse **out, pd_error *error) {
    pd_partition partition = {0};
    pd_status status = PD_OK;
    size_t n = (size_t)self->n, nnz = (size_t)column_start[n];
    if (self->n_last > 0) {
        PD_TRY(pd_partition_create(&partition, self->n, self->n_last, column_start, row_index, permutation, error));
        nnz = (size_t)partition.column_start[n];
    }
    *out = cholmod_l_allocate_sparse(n, n, nnz, 1, 1, 1, CHOLMOD_PATTERN, &self->common);
    if (!*out) {
        status = library_failure(self, error);
        goto done;
    }
    SuiteSparse_long *p = (*out)->p, *i = (*out)->i;
    for (size_t c = 0; c <= n; c++) p[c] = self->n_last > 0 ? partition.column_start[c] : column_start[c];
    for (size_t s = 0; s < nnz; s++) i[s] = self->n_last > 0 ? partition.rows[s] : row_index[s];
done:
    pd_partition_destroy(&partition);
    return status;
}

/* Tells whether the second part is the end of the last supernode, which forward and backward require. */
static int ends_with_second_part(const pd_cholesky *self) {
    const pd_supernodes *f = &self->supernodes;
    int fine = f->super[f->n_supernodes - 1] <= self->n - self->n_last;
    for (int i = self->n - self->n_last; i < self->n; i++) fine = fine && f->permutation[i] == i;
    return fine;
}

static pd_status create_of_parts(pd_cholesky **out, int n, int n_last, const int *column_start, const int *row_index, int block,
                                 pd_error *error) {
    pd_status status = PD_OK;
    SuiteSparse_long *permutation = NULL;
    cholmod_sparse *pattern = NULL;
    pd_cholesky *self = calloc(1, sizeof *self);
    *out = NULL;
    if (!self) return pd_fail(error, PD_ERROR_MEMORY, "out of memory");
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_fork);
    self->n = n;
    self->n_last = n_last;
    self->block = block;
    cholmod_l_start(&self->common);
    self->common.supernodal = CHOLMOD_SUPERNODAL;
    self->common.final_ll = 1;
    self->common.print = 0;
    self->common.error_handler = NULL;

    permutation = block_permutation(self, column_start, row_index);
    if (!permutation) {
        status = library_failure(self, error);
        goto done;
    }
    PD_TRY(create_pattern(self, column_start, row_index, permutation, &pattern, error));
    self->common.nmethods = 1;
    self->common.method[0].ordering = CHOLMOD_GIVEN;
    self->common.postorder = 1;
    self->analysis = cholmod_l_analyze_p(pattern, permutation, NULL, 0, &self->common);
    if (!self->analysis) {
        status = library_failure(self, error);
        goto done;
    }
    const cholmod_factor *L = self->analysis;
    self->supernodes.n = (int64_t)L->n;
    self->supernodes.n_supernodes = (int64_t)L->nsuper;
    self->supernodes.super = L->super;
    self->supernodes.row_start = L->pi;
    self->supernodes.value_start = L->px;
    self->supernodes.rows = L->s;
    self->supernodes.permutation = L->Perm;
    if (n_last > 0 && !ends_with_second_part(self)) {
        status = pd_fail(error, PD_ERROR_VALUE, "CHOLMOD did not keep the last %d of %d rows at the end", n_last, n);
        goto done;
    }
    PD_TRY(pd_supernodal_factor_create(&self->factor, &self->supernodes, column_start, row_index, error));
    self->supernodes.values = pd_supernodal_factor_values(self->factor);
    status = pd_supernodal_plan_create(&self->plan, &self->supernodes, error);

done:
    free(permutation);
    cholmod_l_free_sparse(&pattern, &self->common);
    if (status)
        cholesky_destroy(self);
    else
        *out = self;
    return status;
}

static pd_status cholesky_create(pd_cholesky **out, int n, const int *column_start, const int *row_index, int block, pd_error *error) {
    return create_of_parts(out, n, 0, column_start, row_index, block, error);
}

static pd_status cholesky_create_partitioned(pd_cholesky **out, int n, int n_last, const int *column_start, const int *row_index,
                                             pd_error *error) {
    return create_of_parts(out, n, n_last, column_start, row_index, 1, error);
}

static pd_status cholesky_factor(pd_cholesky *self, const double *values, pd_error *error) {
    int64_t found = pd_supernodal_factorise(self->factor, &self->supernodes, values);
    if (found >= self->n) return PD_OK;
    int row = (int)self->supernodes.permutation[found];
    if (error) error->vertex = row / self->block;
    return pd_fail(error, PD_ERROR_SINGULAR, "matrix is not positive definite at row %d of %d", row, self->n);
}

static void cholesky_solve(pd_cholesky *self, const double *b, double *x, int n_columns, int threads) {
    pd_supernodal_solve(self->plan, &self->supernodes, b, x, n_columns, threads);
}

static long long cholesky_factor_entries(const pd_cholesky *self) {
    return (long long)self->supernodes.value_start[self->supernodes.n_supernodes];
}

static double cholesky_factor_work(const pd_cholesky *self) {
    const pd_supernodes *f = &self->supernodes;
    double work = 0.0;
    for (int64_t s = 0; s < f->n_supernodes; s++) {
        double rows = (double)(f->row_start[s + 1] - f->row_start[s]);
        for (int64_t c = f->super[s]; c < f->super[s + 1]; c++, rows--) work += rows * rows;
    }
    return work;
}

static void cholesky_schur_complement(const pd_cholesky *self, double *sigma) {
    const pd_supernodes *f = &self->supernodes;
    int64_t last = f->n_supernodes - 1, ld = f->row_start[last + 1] - f->row_start[last], first = self->n - self->n_last - f->super[last];
    pd_dense_square(sigma, f->values + f->value_start[last] + first * ld + first, self->n_last, ld);
}

static void cholesky_forward(pd_cholesky *self, const double *b, double *y, int n_columns, int threads) {
    pd_supernodal_forward(self->plan, &self->supernodes, self->n - self->n_last, b, y, n_columns, threads);
}

static void cholesky_backward(pd_cholesky *self, const double *x2, double *x, int n_columns, int threads) {
    pd_supernodal_backward(self->plan, &self->supernodes, self->n - self->n_last, x2, x, n_columns, threads);
}

#else

static pd_status cholesky_create(pd_cholesky **out, int n, const int *column_start, const int *row_index, int block, pd_error *error) {
    (void)n, (void)column_start, (void)row_index, (void)block;
    *out = 0;
    return pd_fail(error, PD_ERROR_UNSUPPORTED,
                   "this build of pdgpu leaves the direct solver out (PDGPU_CHOLMOD=OFF): use linear=pdgpu.Jacobi(), or build "
                   "with SuiteSparse");
}

static pd_status cholesky_factor(pd_cholesky *self, const double *values, pd_error *error) {
    (void)self, (void)values;
    return pd_fail(error, PD_ERROR_UNSUPPORTED, "this build of pdgpu leaves the direct solver out");
}

static void cholesky_solve(pd_cholesky *self, const double *b, double *x, int n_columns, int threads) {
    (void)self, (void)b, (void)x, (void)n_columns, (void)threads;
}

static pd_status cholesky_create_partitioned(pd_cholesky **out, int n, int n_last, const int *column_start, const int *row_index,
                                             pd_error *error) {
    (void)n_last;
    return cholesky_create(out, n, column_start, row_index, 1, error);
}

static void cholesky_schur_complement(const pd_cholesky *self, double *sigma) { (void)self, (void)sigma; }

static void cholesky_forward(pd_cholesky *self, const double *b, double *y, int n_columns, int threads) {
    (void)self, (void)b, (void)y, (void)n_columns, (void)threads;
}

static void cholesky_backward(pd_cholesky *self, const double *x2, double *x, int n_columns, int threads) {
    (void)self, (void)x2, (void)x, (void)n_columns, (void)threads;
}

static long long cholesky_factor_entries(const pd_cholesky *self) {
    (void)self;
    return 0;
}

static double cholesky_factor_work(const pd_cholesky *self) {
    (void)self;
    return 0.0;
}

static void cholesky_destroy(pd_cholesky *self) { (void)self; }

#endif

const pd_cholesky_functions pd_cholesky_library = {
    .create = cholesky_create,
    .factor = cholesky_factor,
    .solve = cholesky_solve,
    .factor_entries = cholesky_factor_entries,
    .factor_work = cholesky_factor_work,
    .create_partitioned = cholesky_create_partitioned,
    .schur_complement = cholesky_schur_complement,
    .forward = cholesky_forward,
    .backward = cholesky_backward,
    .dense_factor = pd_dense_cholesky_factor,
    .dense_solve = pd_dense_cholesky_solve,
    .destroy = cholesky_destroy,
};
