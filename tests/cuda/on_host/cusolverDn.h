/* A stand-in for cuSOLVER's dense Cholesky, beside that of the runtime: kernels of one thread, so that they read what a kernel may. */
#ifndef PD_ON_HOST_CUSOLVERDN_H
#define PD_ON_HOST_CUSOLVERDN_H
#define PD_CUSOLVER_STAND_IN 1 /* nothing to open */

#include <cuda_runtime.h>

#include <cmath>

typedef enum { CUSOLVER_STATUS_SUCCESS, CUSOLVER_STATUS_EXECUTION_FAILED = 6 } cusolverStatus_t;
typedef enum { CUBLAS_FILL_MODE_LOWER } cublasFillMode_t;
typedef struct cusolverDnContext {
    cudaStream_t stream;
} *cusolverDnHandle_t;

static inline cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle) {
    *handle = new cusolverDnContext();
    return CUSOLVER_STATUS_SUCCESS;
}

static inline cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
    delete handle;
    return CUSOLVER_STATUS_SUCCESS;
}

static inline cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
    handle->stream = stream;
    return CUSOLVER_STATUS_SUCCESS;
}

static inline cusolverStatus_t cusolverDnDpotrf_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, double *, int, int *size) {
    *size = 1;
    return CUSOLVER_STATUS_SUCCESS;
}

static __global__ void cusolver_potrf_kernel(int n, double *a, int lda, int *info) {
    *info = 0;
    for (int j = 0; j < n; j++) {
        double *column = a + (size_t)j * (size_t)lda;
        for (int i = j; i < n; i++)
            for (int k = 0; k < j; k++) column[i] -= a[i + (size_t)k * (size_t)lda] * a[j + (size_t)k * (size_t)lda];
        if (!(column[j] > 0.0)) {
            *info = j + 1;
            return;
        }
        column[j] = std::sqrt(column[j]);
        for (int i = j + 1; i < n; i++) column[i] /= column[j];
    }
}

static __global__ void cusolver_potrs_kernel(int n, int columns, const double *a, int lda, double *b, int ldb, int *info) {
    *info = 0;
    for (int c = 0; c < columns; c++) {
        double *x = b + (size_t)c * (size_t)ldb;
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < i; k++) x[i] -= a[i + (size_t)k * (size_t)lda] * x[k];
            x[i] /= a[i + (size_t)i * (size_t)lda];
        }
        for (int i = n - 1; i >= 0; i--) {
            for (int k = i + 1; k < n; k++) x[i] -= a[k + (size_t)i * (size_t)lda] * x[k];
            x[i] /= a[i + (size_t)i * (size_t)lda];
        }
    }
}

static inline cudaLaunchConfig_t cusolver_one_thread(cusolverDnHandle_t handle) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(1);
    config.stream = handle->stream;
    return config;
}

static inline cusolverStatus_t cusolverDnDpotrf(cusolverDnHandle_t handle, cublasFillMode_t, int n, double *a, int lda, double *, int,
                                                int *info) {
    cudaLaunchConfig_t config = cusolver_one_thread(handle);
    cudaError_t code = cudaLaunchKernelEx(&config, cusolver_potrf_kernel, n, a, lda, info);
    return code == cudaSuccess ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_EXECUTION_FAILED;
}

static inline cusolverStatus_t cusolverDnDpotrs(cusolverDnHandle_t handle, cublasFillMode_t, int n, int columns, const double *a, int lda,
                                                double *b, int ldb, int *info) {
    cudaLaunchConfig_t config = cusolver_one_thread(handle);
    cudaError_t code = cudaLaunchKernelEx(&config, cusolver_potrs_kernel, n, columns, a, lda, b, ldb, info);
    return code == cudaSuccess ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_EXECUTION_FAILED;
}

#endif
