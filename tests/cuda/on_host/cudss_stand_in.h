/* A stand-in for cuDSS, beside that of the runtime: the entry points that cuda/linear/cudss.cuh names, with a dense L D L^T in kernels of one thread behind them, so
 * that they read what a kernel may. It refuses what cuDSS refuses: a solve before a factorisation, a refactorisation before the first
 * factorisation, several columns at once in the deterministic mode. PD_ON_HOST_FAILS:
 * "cudssExecute 2", that status; "cudssPivots 1", that many pivots were replaced. */
#ifndef PD_ON_HOST_CUDSS_STAND_IN_H
#define PD_ON_HOST_CUDSS_STAND_IN_H

#include <cuda_runtime.h>

#include <cmath>

struct pd_on_host_sparse {
    int64_t n = 0, columns = 0;
    const int *row_start = nullptr, *column_indices = nullptr;
    void *values = nullptr;
};
struct pd_on_host_factor {
    double *dense = nullptr; /* device [n,n], by rows: D on the diagonal, L below */
    int *signs = nullptr;    /* device [2] how many pivots are positive and negative */
    bool analysed = false, factored = false;
};

static int pd_on_host_cudssCreate(void **handle) { return *handle = new cudaStream_t(nullptr), 0; }
static int pd_on_host_cudssDestroy(void *handle) { return delete (cudaStream_t *)handle, 0; }
static int pd_on_host_cudssSetStream(void *handle, cudaStream_t stream) { return *(cudaStream_t *)handle = stream, 0; }
static int pd_on_host_cudssGetProperty(int which, int *value) { return *value = which == 0, 0; }
static int pd_on_host_cudssConfigCreate(void **config) { return *config = new int(0), 0; }
static int pd_on_host_cudssConfigDestroy(void *config) { return delete (int *)config, 0; }
static int pd_on_host_cudssConfigSet(void *, int parameter, const void *, size_t bytes) {
    return ((parameter == 24 || parameter == 7) && bytes == sizeof(int)) || (parameter == 9 && bytes == sizeof(double)) ? 0 : 3;
}
static int pd_on_host_cudssDataCreate(void *, void **data) { return *data = new pd_on_host_factor, 0; }
static int pd_on_host_cudssDataDestroy(void *, void *data) {
    pd_on_host_factor *factor = (pd_on_host_factor *)data;
    cudaFree(factor->dense);
    cudaFree(factor->signs);
    delete factor;
    return 0;
}
static int pd_on_host_cudssDataGet(void *handle, void *data, int parameter, void *value, size_t bytes, size_t *written) {
    cudaStream_t stream = *(cudaStream_t *)handle;
    const pd_on_host_factor *factor = (pd_on_host_factor *)data;
    if (!factor->factored || bytes != (parameter == 3 ? 2 : 1) * sizeof(int)) return 3;
    *written = bytes;
    if (parameter == 3 && cudaMemcpyAsync(value, factor->signs, bytes, cudaMemcpyDeviceToHost, stream)) return 5;
    const char *plan = getenv("PD_ON_HOST_FAILS");
    if (parameter == 2) *(int *)value = plan && strncmp(plan, "cudssPivots ", 12) == 0 ? atoi(plan + 12) : 0;
    if (parameter == 0) *(int *)value = 0;
    return cudaStreamSynchronize(stream) ? 5 : 0;
}
static int pd_on_host_cudssDataSet(void *, void *, int parameter, const void *, size_t) { return parameter == 0 ? 0 : 3; }

static int pd_on_host_cudssMatrixCreateDn(void **matrix, int64_t rows, int64_t columns, int64_t stride, const void *values, int type,
                                          int layout) {
    if (type != 1 || layout != 0 || stride != rows) return 4;
    pd_on_host_sparse *self = new pd_on_host_sparse;
    self->n = rows, self->columns = columns, self->values = (void *)values;
    return *matrix = self, 0;
}
static int pd_on_host_cudssMatrixCreateCsr(void **matrix, int64_t rows, int64_t columns, int64_t, const void *row_start,
                                           const void *row_end, const void *column_indices, const void *values, int offset_type,
                                           int index_type, int value_type, int kind, int view, int base) {
    if (rows != columns || row_end || offset_type != 10 || index_type != 10 || value_type != 1 || kind != 1 || view != 1 || base != 0)
        return 4;
    pd_on_host_sparse *self = new pd_on_host_sparse;
    self->n = rows, self->row_start = (const int *)row_start, self->column_indices = (const int *)column_indices;
    self->values = (void *)values;
    return *matrix = self, 0;
}
static int pd_on_host_cudssMatrixDestroy(void *matrix) { return delete (pd_on_host_sparse *)matrix, 0; }

static __global__ void cudss_factor_kernel(int n, const int *row_start, const int *columns, const double *values, double *dense,
                                           int *signs) {
    signs[0] = signs[1] = 0;
    for (int i = 0; i < n * n; i++) dense[i] = 0.0;
    for (int i = 0; i < n; i++)
        for (int s = row_start[i]; s < row_start[i + 1]; s++) dense[(size_t)i * (size_t)n + (size_t)columns[s]] = values[s];
    for (int i = 0; i < n; i++) {
        double *row = dense + (size_t)i * (size_t)n, pivot = row[i];
        for (int j = 0; j < i; j++) {
            const double *other = dense + (size_t)j * (size_t)n;
            for (int k = 0; k < j; k++) row[j] -= row[k] * other[k]; // row[k] is L D until the row is done
        }
        for (int j = 0; j < i; j++) {
            double below = row[j] / dense[(size_t)j * (size_t)n + (size_t)j];
            pivot -= row[j] * below;
            row[j] = below;
        }
        row[i] = pivot;
        signs[0] += !(pivot < 0.0), signs[1] += pivot < 0.0; // as cuDSS counts a pivot of zero
    }
}

static __global__ void cudss_solve_kernel(int n, int columns, const double *dense, const double *b, double *x) {
    for (int c = 0; c < columns; c++) {
        const double *right = b + (size_t)c * (size_t)n;
        double *out = x + (size_t)c * (size_t)n;
        for (int i = 0; i < n; i++) {
            out[i] = right[i];
            for (int k = 0; k < i; k++) out[i] -= dense[(size_t)i * (size_t)n + (size_t)k] * out[k];
        }
        for (int i = n - 1; i >= 0; i--) {
            out[i] /= dense[(size_t)i * (size_t)n + (size_t)i];
            for (int k = i + 1; k < n; k++) out[i] -= dense[(size_t)k * (size_t)n + (size_t)i] * out[k];
        }
    }
}

static int pd_on_host_cudssExecute(void *handle, int phase, void *, void *data, void *matrix, void *solution, void *right) {
    const pd_on_host_sparse *A = (pd_on_host_sparse *)matrix, *x = (pd_on_host_sparse *)solution, *b = (pd_on_host_sparse *)right;
    pd_on_host_factor *factor = (pd_on_host_factor *)data;
    const char *plan = getenv("PD_ON_HOST_FAILS"); // "cudssExecute 2"
    if (plan && strncmp(plan, "cudssExecute ", 13) == 0) return atoi(plan + 13);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1), config.blockDim = dim3(1), config.stream = *(cudaStream_t *)handle;
    if (phase == 3) {
        if (cudaMalloc((void **)&factor->dense, (size_t)(A->n * A->n) * sizeof(double)) ||
            cudaMalloc((void **)&factor->signs, 2 * sizeof(int)))
            return 2;
        return factor->analysed = true, 0;
    }
    if (!factor->analysed || (phase != 4 && !factor->factored)) return 3;
    if (phase == 4 || phase == 8) {
        factor->factored = true;
        return cudaLaunchKernelEx(&config, cudss_factor_kernel, (int)A->n, A->row_start, A->column_indices, (const double *)A->values,
                                  factor->dense, factor->signs)
                   ? 5
                   : 0;
    }
    if (phase != 0x3f0) return 3;
    if (b->columns != 1 || x->columns != 1) return 4; // cuDSS 1.0 in its deterministic mode
    return cudaLaunchKernelEx(&config, cudss_solve_kernel, (int)A->n, (int)b->columns, (const double *)factor->dense,
                              (const double *)b->values, (double *)x->values)
               ? 5
               : 0;
}

#endif
