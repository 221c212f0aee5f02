/* Sparse Cholesky on CHOLMOD's supernodal factorisation and our own triangular solves; see cholesky.h. */
#define _GNU_SOURCE 1 /* dladdr */
#include "sparse/cholesky.h"

#ifdef PD_HAVE_CHOLMOD

#include "sparse/supernodal_solve.h"
#include "threads/team.h"

#include <cholmod.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct pd_cholesky {
    int n, block;
    cholmod_common common;
    cholmod_sparse *matrix; /* upper triangle; its values are replaced by every factorisation */
    cholmod_factor *factor;
    pd_supernodes supernodes;
    pd_supernodal_plan *plan;
};

static void cholesky_destroy(pd_cholesky *self) {
    if (!self) return;
    pd_supernodal_plan_destroy(self->plan);
    cholmod_l_free_sparse(&self->matrix, &self->common);
    cholmod_l_free_factor(&self->factor, &self->common);
    cholmod_l_finish(&self->common);
    free(self);
}

static pd_status library_failure(const pd_cholesky *self, pd_error *error) {
    if (self->common.status == CHOLMOD_OUT_OF_MEMORY || self->common.status == CHOLMOD_TOO_LARGE)
        return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the Cholesky factor of %d rows", self->n);
    return pd_fail(error, PD_ERROR_VALUE, "CHOLMOD failed with status %d on %d rows", self->common.status, self->n);
}

/* METIS draws from the C library's rand(), one sequence for the whole process: two orderings at the same time would draw from each
 * other's, and give another permutation, and other bits, than each alone. So only one runs at a time.
 *
 * The same for factorisations: a BLAS for one thread need not be safe for several callers. Debian's serial OpenBLAS (0.3.21) is built
 * without locks, hands the same scratch memory to concurrent calls, and they overwrite each other's numbers without a word. */
static pthread_mutex_t ordering_lock = PTHREAD_MUTEX_INITIALIZER, factorization_lock = PTHREAD_MUTEX_INITIALIZER;

/* A fork waits for both, so that the child finds them free and what they guard whole; who holds one waits for nobody. */
static void before_fork(void) {
    pthread_mutex_lock(&ordering_lock);
    pthread_mutex_lock(&factorization_lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&factorization_lock);
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

/* Orders the graph of the blocks and spreads the permutation over their rows: for a Hessian over vertices this is nine times
 * less work than ordering its rows, and keeps each vertex's rows together. */
static SuiteSparse_long *block_permutation(pd_cholesky *self, const int *column_start, const int *row_index) {
    int block = self->block, n = self->n / block;
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

done:
    cholmod_l_free_sparse(&graph, &self->common);
    free(small);
    if (!fine) {
        free(full);
        return NULL;
    }
    return full;
}

static pd_status cholesky_create(pd_cholesky **out, int n, const int *column_start, const int *row_index, int block, pd_error *error) {
    pd_status status = PD_OK;
    SuiteSparse_long *permutation = NULL;
    pd_cholesky *self = calloc(1, sizeof *self);
    *out = NULL;
    if (!self) return pd_fail(error, PD_ERROR_MEMORY, "out of memory");
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_fork);
    self->n = n;
    self->block = block;
    cholmod_l_start(&self->common);
    self->common.supernodal = CHOLMOD_SUPERNODAL;
    self->common.final_ll = 1;
    self->common.print = 0;
    self->common.error_handler = NULL;
    self->common.quick_return_if_not_posdef = 1;

    size_t nnz = (size_t)column_start[n];
    self->matrix = cholmod_l_allocate_sparse((size_t)n, (size_t)n, nnz, 1, 1, 1, CHOLMOD_REAL, &self->common);
    if (!self->matrix) {
        status = library_failure(self, error);
        goto done;
    }
    SuiteSparse_long *p = self->matrix->p, *i = self->matrix->i;
    for (int c = 0; c <= n; c++) p[c] = column_start[c];
    for (size_t s = 0; s < nnz; s++) i[s] = row_index[s];

    permutation = block_permutation(self, column_start, row_index);
    if (!permutation) {
        status = library_failure(self, error);
        goto done;
    }
    self->common.nmethods = 1;
    self->common.method[0].ordering = CHOLMOD_GIVEN;
    self->common.postorder = 1;
    self->factor = cholmod_l_analyze_p(self->matrix, permutation, NULL, 0, &self->common);
    if (!self->factor) {
        status = library_failure(self, error);
        goto done;
    }
    cholmod_factor *L = self->factor;
    self->supernodes.n = (int64_t)L->n;
    self->supernodes.n_supernodes = (int64_t)L->nsuper;
    self->supernodes.super = L->super;
    self->supernodes.row_start = L->pi;
    self->supernodes.value_start = L->px;
    self->supernodes.rows = L->s;
    self->supernodes.permutation = L->Perm;
    status = pd_supernodal_plan_create(&self->plan, &self->supernodes, error);

done:
    free(permutation);
    if (status)
        cholesky_destroy(self);
    else
        *out = self;
    return status;
}

/* A threaded BLAS changes the bits of a factor with its number of threads. CHOLMOD is to be linked with a serial one; where it
 * got a threaded OpenBLAS all the same, that is set to one thread for the time of a factorisation. CHOLMOD's own loops ask OpenMP for
 * four threads [SuiteSparse, CHOLMOD_OMP_NUM_THREADS], whatever ours may have. */
typedef struct blas_threads {
    int (*get)(void);
    void (*set)(int);
} blas_threads;

static blas_threads find_blas_threads(void) {
    blas_threads found = {NULL, NULL};
    Dl_info info;
    void *symbol;
    int (*start)(cholmod_common *) = cholmod_l_start;
    memcpy(&symbol, &start, sizeof symbol);
    if (!dladdr(symbol, &info)) return found;
    void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD); // searches the libraries it depends on too
    if (!library) return found;
    void *get = dlsym(library, "openblas_get_num_threads"), *set = dlsym(library, "openblas_set_num_threads");
    dlclose(library); // it stays loaded: this module links it
    if (get && set) {
        memcpy(&found.get, &get, sizeof get);
        memcpy(&found.set, &set, sizeof set);
    }
    return found;
}

static int factorize(pd_cholesky *self) {
    blas_threads blas = find_blas_threads();
    pthread_mutex_lock(&factorization_lock);
    int suspended = pd_team_suspend();
    int threads = blas.get ? blas.get() : 1;
    if (threads > 1) blas.set(1);
    int fine = cholmod_l_factorize(self->matrix, self->factor, &self->common);
    if (threads > 1) blas.set(threads);
    pd_team_resume(suspended);
    pthread_mutex_unlock(&factorization_lock);
    return fine;
}

static pd_status cholesky_factor(pd_cholesky *self, const double *values, pd_error *error) {
    memcpy(self->matrix->x, values, self->matrix->nzmax * sizeof(double));
    int fine = factorize(self);
    self->supernodes.values = self->factor->x;
    if (fine && self->common.status == CHOLMOD_OK && self->factor->minor >= self->factor->n) return PD_OK;
    if (self->common.status == CHOLMOD_NOT_POSDEF || (fine && self->factor->minor < self->factor->n)) {
        const SuiteSparse_long *permutation = self->factor->Perm;
        int row = self->factor->minor < self->factor->n ? (int)permutation[self->factor->minor] : 0;
        if (error) error->vertex = row / self->block;
        return pd_fail(error, PD_ERROR_SINGULAR, "matrix is not positive definite at row %d of %d", row, self->n);
    }
    return library_failure(self, error);
}

static void cholesky_solve(pd_cholesky *self, const double *b, double *x, int n_columns, int threads) {
    pd_supernodal_solve(self->plan, &self->supernodes, b, x, n_columns, threads);
}

static long long cholesky_factor_entries(const pd_cholesky *self) { return (long long)self->factor->xsize; }

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

static long long cholesky_factor_entries(const pd_cholesky *self) {
    (void)self;
    return 0;
}

static void cholesky_destroy(pd_cholesky *self) { (void)self; }

#endif

const pd_cholesky_functions pd_cholesky_library = {cholesky_create, cholesky_factor, cholesky_solve, cholesky_factor_entries,
                                                   cholesky_destroy};
