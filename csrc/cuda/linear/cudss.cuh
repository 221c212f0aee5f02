/* cuDSS, NVIDIA's sparse direct solver, opened at its first use. Nothing is linked against it, and the modules load without it. It is
 * found by the run path of the module (CMakeLists.txt: the wheels nvidia-cudss-cu13 and -cu12), or by the environment variable
 * PDGPU_CUDSS: a path, or "off".
 *
 * The declarations are of version 1, libcudss.so.1. Earlier ones have other arguments and are not opened. tests/cuda/cudss_header.cpp
 * compares them with the library's header. */
#ifndef PD_CUDA_LINEAR_CUDSS_CUH
#define PD_CUDA_LINEAR_CUDSS_CUH

#include <cuda_runtime.h>

#include <cstdint>

enum { PD_CUDSS_MAJOR = 1 };
enum { PD_CUDSS_SUCCESS, PD_CUDSS_ALLOC_FAILED = 2 };
enum { PD_CUDSS_ANALYSIS = 3, PD_CUDSS_FACTORIZATION = 4, PD_CUDSS_REFACTORIZATION = 8, PD_CUDSS_SOLVE = 0x3f0 };
enum { PD_CUDSS_R_64F = 1, PD_CUDSS_R_32I = 10 };
enum { PD_CUDSS_SYMMETRIC = 1, PD_CUDSS_LOWER = 1, PD_CUDSS_BASE_ZERO = 0, PD_CUDSS_COLUMNS = 0 };
enum { PD_CUDSS_DATA_INFO = 0, PD_CUDSS_DATA_PIVOTS = 2, PD_CUDSS_DATA_INERTIA = 3 };
enum { PD_CUDSS_CONFIG_PIVOT_TYPE = 7, PD_CUDSS_CONFIG_PIVOT_EPSILON = 9, PD_CUDSS_CONFIG_DETERMINISTIC = 24, PD_CUDSS_PIVOT_NONE = 1 };

/* Its functions. Handles, settings, factors and matrices are opaque pointers. */
struct pd_cudss {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, cudaStream_t stream);
    int (*get_property)(int which, int *value);
    int (*config_create)(void **config);
    int (*config_destroy)(void *config);
    int (*config_set)(void *config, int parameter, const void *value, size_t bytes);
    int (*data_create)(void *handle, void **data);
    int (*data_destroy)(void *handle, void *data);
    int (*data_get)(void *handle, void *data, int parameter, void *value, size_t bytes, size_t *written);
    int (*data_set)(void *handle, void *data, int parameter, const void *value, size_t bytes);
    int (*execute)(void *handle, int phase, void *config, void *data, void *matrix, void *solution, void *right);
    int (*matrix_create_dense)(void **matrix, int64_t rows, int64_t columns, int64_t stride, const void *values, int type, int layout);
    int (*matrix_create_csr)(void **matrix, int64_t rows, int64_t columns, int64_t entries, const void *row_start, const void *row_end,
                             const void *column_indices, const void *values, int offset_type, int index_type, int value_type, int kind,
                             int view, int base);
    int (*matrix_destroy)(void *matrix);
};

#define PD_CUDSS_FUNCTIONS(X)                   \
    X(create, cudssCreate)                      \
    X(destroy, cudssDestroy)                    \
    X(set_stream, cudssSetStream)               \
    X(get_property, cudssGetProperty)           \
    X(config_create, cudssConfigCreate)         \
    X(config_destroy, cudssConfigDestroy)       \
    X(config_set, cudssConfigSet)               \
    X(data_create, cudssDataCreate)             \
    X(data_destroy, cudssDataDestroy)           \
    X(data_get, cudssDataGet)                   \
    X(data_set, cudssDataSet)                   \
    X(execute, cudssExecute)                    \
    X(matrix_create_dense, cudssMatrixCreateDn) \
    X(matrix_create_csr, cudssMatrixCreateCsr)  \
    X(matrix_destroy, cudssMatrixDestroy)

#endif
