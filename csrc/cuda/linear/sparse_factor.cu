/* A sparse factor through cuDSS; see loops/sparse_loops.h. It is double for any `real`, as the host's: the kernels that sort the rows of
 * a solve convert the vectors. It uses the deterministic mode, so that runs are repeatable.
 *
 * The matrix is declared symmetric and not positive definite. Then the library counts the signs of its pivots (the inertia), which shows
 * whether it is positive definite; the behaviour of its Cholesky for other matrices is not documented. Pivoting is off, and pivots must
 * not be replaced by larger ones. If some are replaced all the same, the factor is of another matrix and is rejected. */
#include "loops/sparse_loops.h"

#include "cuda/context.cuh"
#include "cuda/linear/cudss.cuh"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

struct pd_sparse_factor {
    const pd_cudss *library;
    void *handle, *config, *data, *matrix; /* of the library */
    void **right, **solution;              /* [columns] of the library: its deterministic mode solves one column at a time */
    int n, width, n_columns, entries, factored;
    int *row_start, *columns, *places; /* device [n+1] [entries] [n] */
    double *values;                    /* device [entries] */
    double *directions;                /* device [n,3], or NULL */
    double *b, *x;                     /* device [columns,n] */
    int *not_finite;                   /* device [1] 1: a trial solve gave infinity or NaN */
};

/* ---- the library -------------------------------------------------------------------------------------------------------------- */

#if __has_include(<cudss_stand_in.h>) /* tests/cuda/on_host: nothing to open; present if PDGPU_CUDSS requests it */
#include <cudss_stand_in.h>

static const pd_cudss *find_library(void) {
#define PD_ENTER(member, name) pd_on_host_##name,
    static const pd_cudss all = {PD_CUDSS_FUNCTIONS(PD_ENTER)};
#undef PD_ENTER
    const char *setting = getenv("PDGPU_CUDSS");
    return setting && strcmp(setting, "stand-in") == 0 ? &all : nullptr;
}

#else

/* NULL if it cannot be opened, or has another version. */
static const pd_cudss *open_library(void) {
    static pd_cudss all = {};
    const char *setting = getenv("PDGPU_CUDSS");
    if (setting && strcmp(setting, "off") == 0) return nullptr;
    void *library = dlopen(setting && setting[0] ? setting : "libcudss.so.1", RTLD_LAZY | RTLD_LOCAL);
    int major = 0, fine = library != nullptr;
#define PD_FIND(member, name)                                                       \
    if (fine) {                                                                     \
        all.member = reinterpret_cast<decltype(all.member)>(dlsym(library, #name)); \
        fine = all.member != nullptr;                                               \
    }
    PD_CUDSS_FUNCTIONS(PD_FIND)
#undef PD_FIND
    return fine && all.get_property(0, &major) == PD_CUDSS_SUCCESS && major == PD_CUDSS_MAJOR ? &all : nullptr;
}

static const pd_cudss *find_library(void) {
    static const pd_cudss *const found = open_library();
    return found;
}
#endif

int pd_sparse_factor_there(void) { return find_library() != nullptr; }

void pd_sparse_library(char text[64]) {
    const pd_cudss *library = find_library();
    int version[3] = {0, 0, 0};
    text[0] = 0;
    if (!library) return;
    for (int i = 0; i < 3; i++) library->get_property(i, &version[i]);
    snprintf(text, 64, "cuDSS %d.%d.%d", version[0], version[1], version[2]);
}

/* The library's name of a status. */
static pd_status library_failure(pd_context *context, int code, const char *what) {
    static const char *names[] = {"SUCCESS",       "NOT_INITIALIZED",  "ALLOC_FAILED",   "INVALID_VALUE",
                                  "NOT_SUPPORTED", "EXECUTION_FAILED", "INTERNAL_ERROR", "IR_FAILED"};
    const char *name = code >= 0 && code < (int)(sizeof names / sizeof *names) ? names[code] : "an unknown status";
    cudaGetLastError();
    return pd_fail(&context->error, code == PD_CUDSS_ALLOC_FAILED ? PD_ERROR_MEMORY : PD_ERROR_DEVICE, "cuDSS: %s failed with %s", what,
                   name);
}

#define PD_CUDSS(context, what, call) PD_LIBRARY_CALL(context, PD_CUDSS_SUCCESS, library_failure, what, call)

/* ---- creation and destruction ------------------------------------------------------------------------------------------------- */

void pd_sparse_factor_destroy(pd_sparse_factor *self, pd_context *context) {
    if (!self) return;
    pd_device_use(context);
    cudaStreamSynchronize(context->stream);
    for (int c = 0; c < self->n_columns; c++) {
        if (self->right && self->right[c]) self->library->matrix_destroy(self->right[c]);
        if (self->solution && self->solution[c]) self->library->matrix_destroy(self->solution[c]);
    }
    free(self->right);
    free(self->solution);
    if (self->matrix) self->library->matrix_destroy(self->matrix);
    if (self->data) self->library->data_destroy(self->handle, self->data);
    if (self->config) self->library->config_destroy(self->config);
    if (self->handle) self->library->destroy(self->handle);
    void *memory[] = {self->row_start, self->columns, self->places, self->values, self->directions, self->b, self->x, self->not_finite};
    for (void *block : memory) pd_memory_destroy(context, block);
    free(self);
}

template <typename T> static pd_status upload_new(pd_context *context, T **out, const T *source, size_t n) {
    pd_status status = pd_memory_create(context, (void **)out, n * sizeof(T));
    return status ? status : pd_memory_upload(context, *out, source, n * sizeof(T));
}

/* A phase of the library, with one column of the vectors. */
static int execute(const pd_sparse_factor *self, int phase, int column) {
    return self->library->execute(self->handle, phase, self->config, self->data, self->matrix, self->solution[column], self->right[column]);
}

/* The upper triangle by columns is the lower one by rows. */
static pd_status prepare(pd_sparse_factor *self, pd_context *context, const int *column_start, const int *rows, const int *places,
                         const double *directions) {
    const pd_cudss *library = self->library;
    const int64_t n = self->n;
    const int n_columns = self->n_columns;
    size_t vectors = (size_t)n * (size_t)n_columns * sizeof(double);
    int deterministic = 1, pivots = PD_CUDSS_PIVOT_NONE;
    double smallest = 0.0;
    pd_status status = upload_new(context, &self->row_start, column_start, (size_t)self->n + 1);
    if (!status) status = upload_new(context, &self->columns, rows, (size_t)self->entries);
    if (!status) status = upload_new(context, &self->places, places, (size_t)self->n);
    if (!status && directions) status = upload_new(context, &self->directions, directions, 3 * (size_t)self->n);
    if (!status) status = pd_memory_create(context, (void **)&self->values, (size_t)self->entries * sizeof(double));
    if (!status) status = pd_memory_create(context, (void **)&self->b, vectors);
    if (!status) status = pd_memory_create(context, (void **)&self->x, vectors);
    if (!status) status = pd_memory_create(context, (void **)&self->not_finite, sizeof *self->not_finite);
    if (status) return status;
    PD_CUDSS(context, "cudssCreate", library->create(&self->handle));
    PD_CUDSS(context, "cudssSetStream", library->set_stream(self->handle, context->stream));
    PD_CUDSS(context, "cudssConfigCreate", library->config_create(&self->config));
    PD_CUDSS(context, "its deterministic mode",
             library->config_set(self->config, PD_CUDSS_CONFIG_DETERMINISTIC, &deterministic, sizeof deterministic));
    PD_CUDSS(context, "its kind of pivots", library->config_set(self->config, PD_CUDSS_CONFIG_PIVOT_TYPE, &pivots, sizeof pivots));
    PD_CUDSS(context, "its smallest pivot", library->config_set(self->config, PD_CUDSS_CONFIG_PIVOT_EPSILON, &smallest, sizeof smallest));
    PD_CUDSS(context, "cudssDataCreate", library->data_create(self->handle, &self->data));
    PD_CUDSS(context, "the matrix",
             library->matrix_create_csr(&self->matrix, n, n, self->entries, self->row_start, nullptr, self->columns, self->values,
                                        PD_CUDSS_R_32I, PD_CUDSS_R_32I, PD_CUDSS_R_64F, PD_CUDSS_SYMMETRIC, PD_CUDSS_LOWER,
                                        PD_CUDSS_BASE_ZERO));
    for (int c = 0; c < n_columns; c++) {
        PD_CUDSS(context, "a right-hand side",
                 library->matrix_create_dense(&self->right[c], n, 1, n, self->b + c * n, PD_CUDSS_R_64F, PD_CUDSS_COLUMNS));
        PD_CUDSS(context, "a solution",
                 library->matrix_create_dense(&self->solution[c], n, 1, n, self->x + c * n, PD_CUDSS_R_64F, PD_CUDSS_COLUMNS));
    }
    PD_CUDSS(context, "the analysis", execute(self, PD_CUDSS_ANALYSIS, 0));
    return PD_OK;
}

pd_status pd_sparse_factor_create(pd_sparse_factor **out, pd_context *context, int n, const int *column_start, const int *rows,
                                  const int *places, int width, const double *directions) {
    pd_sparse_factor *self = (pd_sparse_factor *)calloc(1, sizeof *self);
    *out = NULL;
    if (!self) return pd_fail(&context->error, PD_ERROR_MEMORY, "out of memory");
    self->library = find_library();
    self->n = n, self->width = width, self->entries = column_start[n];
    self->n_columns = directions ? 1 : width;
    self->right = (void **)calloc((size_t)self->n_columns, sizeof(void *));
    self->solution = (void **)calloc((size_t)self->n_columns, sizeof(void *));
    pd_status status = PD_OK;
    if (!self->right || !self->solution)
        status = pd_fail(&context->error, PD_ERROR_MEMORY, "out of memory");
    else
        status = prepare(self, context, column_start, rows, places, directions);
    if (status)
        pd_sparse_factor_destroy(self, context);
    else
        *out = self;
    return status;
}

/* ---- factor and solve ----------------------------------------------------------------------------------------------------------- */

/* Reads the library's results of a factorisation: its error, the number of replaced pivots, of positive and of negative ones.
 * Synchronises. */
static pd_status read_findings(pd_context *context, pd_sparse_factor *self, int *info, int *replaced, int inertia[2]) {
    const pd_cudss *library = self->library;
    size_t written = 0;
    context->counts.waits++; // the first query waits for the factorisation
    PD_CUDSS(context, "cudssDataGet", library->data_get(self->handle, self->data, PD_CUDSS_DATA_INFO, info, sizeof *info, &written));
    if (*info) return PD_OK; // the others may be undefined
    PD_CUDSS(context, "the number of pivots replaced",
             library->data_get(self->handle, self->data, PD_CUDSS_DATA_PIVOTS, replaced, sizeof *replaced, &written));
    PD_CUDSS(context, "the inertia",
             library->data_get(self->handle, self->data, PD_CUDSS_DATA_INERTIA, inertia, 2 * sizeof *inertia, &written));
    return PD_OK;
}

static __global__ void ones_kernel(int n, double *b) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) b[i] = 1.0;
}

static __global__ void not_finite_kernel(int n, const double *x, int *found) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n && !isfinite(x[i])) *found = 1; // all threads write the same value
}

/* A trial solve. A pivot of exactly zero is neither reported nor replaced, and counts as positive: only a solve shows it. */
static pd_status try_solve(pd_context *context, pd_sparse_factor *self, int *not_finite) {
    pd_status status = pd_memory_clear(context, self->not_finite, sizeof *self->not_finite);
    if (status) return status;
    PD_LAUNCH(context, ones_kernel, self->n, self->n, self->b);
    PD_CUDSS(context, "a trial solve", execute(self, PD_CUDSS_SOLVE, 0));
    PD_LAUNCH(context, not_finite_kernel, self->n, self->n, self->x, self->not_finite);
    return pd_memory_fetch(context, not_finite, self->not_finite, sizeof *not_finite);
}

pd_status pd_sparse_factor_refresh(pd_context *context, pd_sparse_factor *self, const double *values) {
    const pd_cudss *library = self->library;
    int info = 0, replaced = 0, inertia[2] = {0, 0}, not_finite = 0;
    int phase = self->factored ? PD_CUDSS_REFACTORIZATION : PD_CUDSS_FACTORIZATION, none = 0;
    pd_status status = pd_memory_upload(context, self->values, values, (size_t)self->entries * sizeof *values);
    if (status) return status;
    PD_CUDSS(context, "the factorisation", execute(self, phase, 0));
    if ((status = read_findings(context, self, &info, &replaced, inertia))) return status;
    const int good = info == 0 && replaced == 0 && inertia[0] == self->n;
    if (good && (status = try_solve(context, self, &not_finite))) return status;
    if ((status = pd_context_synchronise(context))) return status;
    self->factored = info == 0;
    if (good && !not_finite) return PD_OK;
    if (info) PD_CUDSS(context, "cudssDataSet", library->data_set(self->handle, self->data, PD_CUDSS_DATA_INFO, &none, sizeof none));
    return pd_fail(
        &context->error, PD_ERROR_SINGULAR,
        "cuDSS: a matrix of %d rows is not positive definite, or not for certain (its word: %d; pivots: %d positive, %d negative, %d "
        "replaced; a solve gave %s)",
        self->n, info, inertia[0], inertia[1], replaced, not_finite ? "infinity or NaN" : "numbers, or was not tried");
}

static __global__ void gather_kernel(int n, int width, const int *places, const real *r, double *b) {
    int t = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (t >= n * width) return;
    int i = t / width, c = t % width;
    b[(size_t)c * (size_t)n + (size_t)i] = (double)r[(size_t)places[i] * (size_t)width + (size_t)c];
}

static __global__ void scatter_kernel(int n, int width, const int *places, const double *x, real *d) {
    int t = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (t >= n * width) return;
    int i = t / width, c = t % width;
    d[(size_t)places[i] * (size_t)width + (size_t)c] = (real)x[(size_t)c * (size_t)n + (size_t)i];
}

/* Coordinates along directions from rows of three numbers, and back: of an unknown, and of the first unknown of a row. */
static __global__ void gather_along_kernel(int n, const int *places, const double *directions, const real *r, double *b) {
    int a = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (a >= n) return;
    const real *row = r + 3 * (size_t)places[a];
    const double *u = directions + 3 * (size_t)a;
    b[a] = u[0] * (double)row[0] + u[1] * (double)row[1] + u[2] * (double)row[2];
}

static __global__ void scatter_along_kernel(int n, const int *places, const double *directions, const double *x, real *d) {
    int a = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (a >= n || (a > 0 && places[a - 1] == places[a])) return;
    double sum[3] = {0.0, 0.0, 0.0};
    for (int e = a; e < n && places[e] == places[a]; e++)
        for (int c = 0; c < 3; c++) sum[c] += x[e] * directions[3 * (size_t)e + (size_t)c];
    for (int c = 0; c < 3; c++) d[3 * (size_t)places[a] + (size_t)c] = (real)sum[c];
}

pd_status pd_sparse_factor_solve(pd_context *context, pd_sparse_factor *self, int n_rows, const real *r, real *d) {
    long long count = self->directions ? self->n : (long long)self->n * self->width;
    if (self->directions)
        PD_LAUNCH(context, gather_along_kernel, count, self->n, self->places, self->directions, r, self->b);
    else
        PD_LAUNCH(context, gather_kernel, count, self->n, self->width, self->places, r, self->b);
    for (int c = 0; c < self->n_columns; c++) PD_CUDSS(context, "the solve", execute(self, PD_CUDSS_SOLVE, c));
    int all = !self->directions && self->n == n_rows; // unknown for rows with directions
    pd_status status = all ? PD_OK : pd_memory_clear(context, d, (size_t)n_rows * (size_t)self->width * sizeof *d);
    if (status) return status;
    if (self->directions)
        PD_LAUNCH(context, scatter_along_kernel, count, self->n, self->places, self->directions, self->x, d);
    else
        PD_LAUNCH(context, scatter_kernel, count, self->n, self->width, self->places, self->x, d);
    return PD_OK;
}
