/* A dense matrix and its factor through cuSOLVER, both in device memory; see loops/dense_loops.h. */
#include "loops/dense_loops.h"

#include "cuda/context.cuh"
#include "cuda/linear/cusolver.cuh"

#include <cstdlib>

struct pd_dense {
    int n;
    const pd_cusolver *library;
    double *sigma, *factor; /* device [n,n] by columns, the lower triangle */
    double *added;          /* device [n] */
    long long *places;      /* device, of entries; NULL: none so far */
    double *values;         /* device, of the entries */
    double *vector;         /* device [3,n] */
    double *work;           /* device, of potrf */
    int work_size;
    int *info; /* device */
};

static pd_status library_failure(pd_context *context, cusolverStatus_t code, const char *what) {
    return pd_fail(&context->error, PD_ERROR_DEVICE, "cuSOLVER: %s failed with status %d", what, (int)code);
}

#define PD_SOLVER(context, call) PD_LIBRARY_CALL(context, CUSOLVER_STATUS_SUCCESS, library_failure, #call, call)

void pd_solver_destroy(pd_context *context) {
    if (!context->solver) return;
    pd_device_use(context);
    pd_cusolver_find()->destroy(context->solver);
    context->solver = nullptr;
}

void pd_dense_destroy(pd_dense *self, pd_context *context) {
    if (!self) return;
    void *memory[] = {self->sigma, self->factor, self->added, self->places, self->values, self->vector, self->work, self->info};
    for (void *block : memory) pd_memory_destroy(context, block);
    free(self);
}

static pd_status prepare(pd_dense *self, pd_context *context) {
    size_t n = (size_t)self->n;
    if (!(self->library = pd_cusolver_find()))
        return pd_fail(&context->error, PD_ERROR_UNSUPPORTED,
                       "SchurDirect on CUDA needs cuSOLVER, and " PD_CUSOLVER_NAME
                       " cannot be opened: install the toolkit's, or nvidia-cusolver");
    pd_status status = pd_memory_create(context, (void **)&self->sigma, n * n * sizeof(double));
    if (!status) status = pd_memory_create(context, (void **)&self->factor, n * n * sizeof(double));
    if (!status) status = pd_memory_create(context, (void **)&self->added, n * sizeof(double));
    if (!status) status = pd_memory_create(context, (void **)&self->vector, 3 * n * sizeof(double));
    if (!status) status = pd_memory_create(context, (void **)&self->info, sizeof(int));
    if (status) return status;
    if (!context->solver) { // one handle per context: it allocates memory and takes long to create
        PD_SOLVER(context, self->library->create(&context->solver));
        PD_SOLVER(context, self->library->set_stream(context->solver, context->stream));
    }
    PD_SOLVER(context, self->library->work_size(context->solver, CUBLAS_FILL_MODE_LOWER, self->n, self->factor, self->n, &self->work_size));
    return pd_memory_create(context, (void **)&self->work, (size_t)self->work_size * sizeof(double));
}

pd_status pd_dense_create(pd_dense **out, pd_context *context, const pd_cholesky_functions *library, int n) {
    (void)library; // cuSOLVER replaces it
    pd_dense *self = (pd_dense *)calloc(1, sizeof *self);
    *out = NULL;
    if (!self) return pd_fail(&context->error, PD_ERROR_MEMORY, "out of memory");
    self->n = n;
    pd_status status = prepare(self, context);
    if (status)
        pd_dense_destroy(self, context);
    else
        *out = self;
    return status;
}

pd_status pd_dense_upload(pd_context *context, pd_dense *self, const double *sigma) {
    return pd_memory_upload(context, self->sigma, sigma, (size_t)self->n * (size_t)self->n * sizeof *sigma);
}

static __global__ void add_diagonal_kernel(int n, const double *added, double *matrix) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) matrix[(size_t)i * ((size_t)n + 1)] += added[i];
}

static __global__ void add_entries_kernel(int n, const long long *places, const double *values, double *matrix) {
    int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (e < n) matrix[places[e]] += values[e];
}

/* Adds the entries to the matrix before its factorisation. */
static pd_status add_entries(pd_context *context, pd_dense *self, const pd_dense_entries *entries) {
    size_t most = (size_t)entries->capacity, n = (size_t)entries->n;
    pd_status status = PD_OK;
    if (!self->places) status = pd_memory_create(context, (void **)&self->places, most * sizeof *self->places + 1);
    if (!status && !self->values) status = pd_memory_create(context, (void **)&self->values, most * sizeof *self->values + 1);
    if (!status && n) status = pd_memory_upload(context, self->places, entries->places, n * sizeof *self->places);
    if (!status && n) status = pd_memory_upload(context, self->values, entries->values, n * sizeof *self->values);
    if (status || !n) return status;
    PD_LAUNCH(context, add_entries_kernel, entries->n, entries->n, self->places, self->values, self->factor);
    return PD_OK;
}

pd_status pd_dense_factor(pd_context *context, pd_dense *self, const double *added, const pd_dense_entries *entries) {
    int n = self->n, info = 0;
    pd_status status = pd_memory_copy(context, self->factor, self->sigma, (size_t)n * (size_t)n * sizeof(double));
    if (!status && added) status = pd_memory_upload(context, self->added, added, (size_t)n * sizeof *added);
    if (status) return status;
    if (added) PD_LAUNCH(context, add_diagonal_kernel, n, n, self->added, self->factor);
    if (entries && (status = add_entries(context, self, entries))) return status;
    PD_SOLVER(context,
              self->library->potrf(context->solver, CUBLAS_FILL_MODE_LOWER, n, self->factor, n, self->work, self->work_size, self->info));
    if ((status = pd_memory_download(context, &info, self->info, sizeof info))) return status;
    if (info == 0) return PD_OK;
    context->error.vertex = info > 0 ? info - 1 : 0;
    return pd_fail(&context->error, PD_ERROR_SINGULAR, "a dense matrix of %d rows is not positive definite at row %d", n, info - 1);
}

static __global__ void columns_of_kernel(int n, const real *rows, double *columns) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    for (size_t c = 0; c < 3; c++) columns[c * (size_t)n + (size_t)i] = (double)rows[3 * (size_t)i + c];
}

static __global__ void rows_of_kernel(int n, const double *columns, real *rows) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    for (size_t c = 0; c < 3; c++) rows[3 * (size_t)i + c] = (real)columns[c * (size_t)n + (size_t)i];
}

pd_status pd_dense_solve(pd_context *context, pd_dense *self, const real *g, real *u) {
    int n = self->n;
    PD_LAUNCH(context, columns_of_kernel, n, n, g, self->vector);
    PD_SOLVER(context, self->library->potrs(context->solver, CUBLAS_FILL_MODE_LOWER, n, 3, self->factor, n, self->vector, n, self->info));
    PD_LAUNCH(context, rows_of_kernel, n, n, self->vector, u);
    return PD_OK;
}

static __global__ void gather_kernel(int n, const int *rows, const real *x, real *out) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    for (size_t c = 0; c < 3; c++) out[3 * (size_t)i + c] = x[3 * (size_t)rows[i] + c];
}

pd_status pd_rows_gather(pd_context *context, int n, const int *rows, const real *x, real *out) {
    PD_LAUNCH(context, gather_kernel, n, n, rows, x, out);
    return PD_OK;
}

static __global__ void scatter_kernel(int n, const int *rows, const real *x, real *out) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    for (size_t c = 0; c < 3; c++) out[3 * (size_t)rows[i] + c] = x[3 * (size_t)i + c];
}

pd_status pd_rows_scatter(pd_context *context, int n, const int *rows, const real *x, real *out) {
    PD_LAUNCH(context, scatter_kernel, n, n, rows, x, out);
    return PD_OK;
}
