/* What the machine can do, for the benchmarks of the GPU to be held against: no line of a solver is in here.
 *
 * Each argument is one measurement; each prints a line "argument,median,least,greatest" in seconds per unit, in the order given.
 *
 *     device                       name, multiprocessors, L2 and memory in bytes, runtime and driver (no seconds)
 *     copy:BYTES                   one copy of as many bytes inside the device, by the runtime or by a kernel, whichever is faster
 *     triad:BYTES                  a = b + s c over arrays of as many bytes each, float
 *     graph:NODES                  one replay of a graph of empty kernels, one after the other
 *     barrier:THREADS:COUNT        one barrier of the whole grid, with as many blocks of THREADS as are resident, in a kernel of COUNT of them
 *     multiply:REAL:WIDTH:MATRIX   y = A x by cuSPARSE, WIDTH columns in one call (1: SpMV), REAL is float or double
 *     jacobi:REAL:WIDTH:MATRIX     one sweep of Jacobi with Chebyshev's extrapolation, the product by cuSPARSE, in a graph of sweeps
 *
 * MATRIX is 7:N or 27:N, the stencil of an N x N x N grid, or file:PATH: int64 rows, int64 nonzeros, int32 row starts [rows+1],
 * int32 columns [nonzeros], float64 values [nonzeros], as machine.py writes it. Vectors are [rows,WIDTH], row-major, as in pdgpu.
 * Compile with -DYARDSTICK_CUSPARSE and -lcusparse; without, the last two say that they were left out. */
#include "cuda/launch.cuh"

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#ifdef YARDSTICK_CUSPARSE
#include <cusparse.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int REPETITIONS = 15, WARM = 3;

[[noreturn]] void fail(const std::string &text) {
    std::fprintf(stderr, "yardstick: %s\n", text.c_str());
    std::exit(1);
}

void check(cudaError_t code, const char *what) {
    if (code != cudaSuccess) fail(std::string(what) + ": " + cudaGetErrorString(code));
}
#define CHECK(call) check(call, #call)

template <typename T> T *allocate(size_t count) {
    void *memory = nullptr;
    CHECK(cudaMalloc(&memory, count * sizeof(T)));
    return static_cast<T *>(memory);
}

struct Spread {
    double median, least, greatest;
};

/* Seconds of `work` on the stream, by events. */
Spread measure(cudaStream_t stream, const std::function<void()> &work) {
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<double> seconds;
    for (int k = -WARM; k < REPETITIONS; k++) {
        float milliseconds = 0;
        CHECK(cudaEventRecord(begin, stream));
        work();
        CHECK(cudaEventRecord(end, stream));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
        if (k >= 0) seconds.push_back(1e-3 * static_cast<double>(milliseconds));
    }
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    std::sort(seconds.begin(), seconds.end());
    return {seconds[seconds.size() / 2], seconds.front(), seconds.back()};
}

Spread per(Spread spread, double units) { return {spread.median / units, spread.least / units, spread.greatest / units}; }

/* Records `work` once and returns the graph, ready to be replayed. */
cudaGraphExec_t captured(cudaStream_t stream, const std::function<void()> &work) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    work();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return executable;
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------ */

/* Numbers that are not zero: zeros can be faster than real data. */
__global__ void fill_kernel(size_t n, float *out) {
    for (size_t i = blockIdx.x * (size_t)PD_THREADS + threadIdx.x; i < n; i += (size_t)gridDim.x * PD_THREADS)
        out[i] = 1.0f + 1e-4f * (float)(i % 9973);
}

__global__ void copy_kernel(size_t n, const float4 *in, float4 *out) {
    for (size_t i = blockIdx.x * (size_t)PD_THREADS + threadIdx.x; i < n; i += (size_t)gridDim.x * PD_THREADS) out[i] = in[i];
}

__global__ void triad_kernel(size_t n, const float4 *b, const float4 *c, float4 *a) {
    for (size_t i = blockIdx.x * (size_t)PD_THREADS + threadIdx.x; i < n; i += (size_t)gridDim.x * PD_THREADS) {
        float4 x = b[i], y = c[i];
        a[i] = make_float4(x.x + 3.0f * y.x, x.y + 3.0f * y.y, x.z + 3.0f * y.z, x.w + 3.0f * y.w);
    }
}

unsigned full_grid(size_t items, int multiprocessors) {
    return (unsigned)std::min<size_t>((items + PD_THREADS - 1) / PD_THREADS, (size_t)multiprocessors * 32);
}

Spread copy(cudaStream_t stream, int multiprocessors, size_t bytes) {
    size_t n = bytes / sizeof(float4);
    if (!n) fail("copy: fewer bytes than one vector");
    float4 *in = allocate<float4>(n), *out = allocate<float4>(n);
    CHECK(pd_launch(stream, PD_LAUNCH_ORDINARY, full_grid(n, multiprocessors), PD_THREADS, fill_kernel, 4 * n,
                    reinterpret_cast<float *>(in)));
    Spread engine = measure(stream, [&] { CHECK(cudaMemcpyAsync(out, in, n * sizeof(float4), cudaMemcpyDeviceToDevice, stream)); });
    Spread kernel = measure(stream, [&] {
        CHECK(pd_launch(stream, PD_LAUNCH_ORDINARY, full_grid(n, multiprocessors), PD_THREADS, copy_kernel, n,
                        static_cast<const float4 *>(in), out));
    });
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    return kernel.median < engine.median ? kernel : engine;
}

Spread triad(cudaStream_t stream, int multiprocessors, size_t bytes) {
    size_t n = bytes / sizeof(float4);
    if (!n) fail("triad: fewer bytes than one vector");
    float4 *memory[3];
    for (auto &array : memory) {
        array = allocate<float4>(n);
        CHECK(pd_launch(stream, PD_LAUNCH_ORDINARY, full_grid(n, multiprocessors), PD_THREADS, fill_kernel, 4 * n,
                        reinterpret_cast<float *>(array)));
    }
    Spread spread = measure(stream, [&] {
        CHECK(pd_launch(stream, PD_LAUNCH_ORDINARY, full_grid(n, multiprocessors), PD_THREADS, triad_kernel, n,
                        static_cast<const float4 *>(memory[1]), static_cast<const float4 *>(memory[2]), memory[0]));
    });
    for (auto array : memory) CHECK(cudaFree(array));
    return spread;
}

/* ---- launches and barriers --------------------------------------------------------------------------------------------------- */

__global__ void empty_kernel(int) {}

Spread empty_graph(cudaStream_t stream, int nodes) {
    cudaGraphExec_t graph = captured(stream, [&] {
        for (int k = 0; k < nodes; k++) CHECK(pd_launch(stream, PD_LAUNCH_ORDINARY, 1, 32, empty_kernel, k));
    });
    Spread spread = measure(stream, [&] { CHECK(cudaGraphLaunch(graph, stream)); });
    CHECK(cudaGraphExecDestroy(graph));
    return spread;
}

__global__ void barrier_kernel(int count) {
    for (int k = 0; k < count; k++) cooperative_groups::this_grid().sync();
}

Spread barrier(cudaStream_t stream, int multiprocessors, int threads, int count) {
    int resident = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, barrier_kernel, threads, 0));
    // one block on each multiprocessor, as a persistent solver has it
    if (!resident) fail("barrier: no block of so many threads is resident");
    Spread spread = measure(
        stream, [&] { CHECK(pd_launch(stream, PD_LAUNCH_AT_ONCE, (unsigned)multiprocessors, (unsigned)threads, barrier_kernel, count)); });
    return per(spread, count);
}

/* ---- sparse matrices ---------------------------------------------------------------------------------------------------------- */

struct Matrix {
    int n = 0;
    std::vector<int> row_start, columns;
    std::vector<double> values;
};

/* Neighbours in a grid, -1 each, and a diagonal that makes the rows dominant by 0.02. */
Matrix stencil(int points, int n) {
    Matrix A;
    if (n < 1 || (double)n * n * n * points > 2e9) fail("matrix: a grid of so many points has no 32-bit row starts");
    A.n = n * n * n;
    A.row_start.push_back(0);
    A.columns.reserve((size_t)A.n * (size_t)points);
    A.values.reserve((size_t)A.n * (size_t)points);
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                for (int c = -1; c <= 1; c++)
                    for (int b = -1; b <= 1; b++)
                        for (int a = -1; a <= 1; a++) {
                            bool own = !a && !b && !c;
                            if (points == 7 && std::abs(a) + std::abs(b) + std::abs(c) > 1) continue;
                            if (i + a < 0 || i + a >= n || j + b < 0 || j + b >= n || k + c < 0 || k + c >= n) continue;
                            A.columns.push_back(i + a + n * (j + b + n * (k + c)));
                            A.values.push_back(own ? points - 1 + 0.02 : -1.0);
                        }
                A.row_start.push_back((int)A.columns.size());
            }
    return A;
}

Matrix from_file(const std::string &path) {
    Matrix A;
    long long head[2] = {0, 0};
    std::FILE *file = std::fopen(path.c_str(), "rb");
    if (!file) fail("matrix: " + path + " cannot be opened");
    bool good = std::fread(head, sizeof head, 1, file) == 1 && head[0] > 0 && head[0] < 2147483647 && head[1] > 0 && head[1] < 2147483647;
    if (good) {
        A.n = (int)head[0];
        A.row_start.resize((size_t)head[0] + 1);
        A.columns.resize((size_t)head[1]);
        A.values.resize((size_t)head[1]);
        good = std::fread(A.row_start.data(), sizeof(int), A.row_start.size(), file) == A.row_start.size() &&
               std::fread(A.columns.data(), sizeof(int), A.columns.size(), file) == A.columns.size() &&
               std::fread(A.values.data(), sizeof(double), A.values.size(), file) == A.values.size();
    }
    std::fclose(file);
    if (!good || A.row_start[(size_t)A.n] != head[1]) fail("matrix: " + path + " is not a matrix file");
    return A;
}

#ifdef YARDSTICK_CUSPARSE

void check(cusparseStatus_t code, const char *what) {
    if (code != CUSPARSE_STATUS_SUCCESS) fail(std::string(what) + ": " + cusparseGetErrorString(code));
}

template <typename T> __global__ void vector_kernel(int n, T *out) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i < n) out[i] = (T)1 + (T)1e-3 * (T)(i % 997);
}

/* previous = omega (w / diagonal (r - y) + d - previous) + previous, y = A d: a sweep after its product. */
template <typename T>
__global__ void relax_kernel(int n, int width, const T *diagonal, T weight, T omega, const T *r, const T *y, const T *d, T *previous) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n * width) return;
    T relaxed = weight / diagonal[i / width] * (r[i] - y[i]) + d[i];
    previous[i] = omega * (relaxed - previous[i]) + previous[i];
}

template <typename T> T *upload(const std::vector<T> &values) {
    T *memory = allocate<T>(values.size());
    CHECK(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return memory;
}

/* A product Y = A X for one pair of vectors or blocks of columns, prepared once. */
template <typename T> class Product {
  public:
    Product(cudaStream_t stream, const Matrix &A, int width) : n(A.n), width(width) {
        std::vector<T> values(A.values.begin(), A.values.end()), diagonals((size_t)A.n);
        for (int i = 0; i < A.n; i++)
            for (int s = A.row_start[(size_t)i]; s < A.row_start[(size_t)i + 1]; s++)
                if (A.columns[(size_t)s] == i) diagonals[(size_t)i] = values[(size_t)s];
        row_start = upload(A.row_start);
        columns = upload(A.columns);
        entries = upload(values);
        diagonal = upload(diagonals);
        CHECK(cusparseCreate(&handle));
        CHECK(cusparseSetStream(handle, stream));
        CHECK(cusparseCreateCsr(&matrix, n, n, (int64_t)A.columns.size(), row_start, columns, entries, CUSPARSE_INDEX_32I,
                                CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
    }
    ~Product() {
        for (void *memory : {(void *)row_start, (void *)columns, (void *)entries, (void *)diagonal, buffer}) cudaFree(memory);
        cusparseDestroySpMat(matrix);
        cusparseDestroy(handle);
    }
    Product(const Product &) = delete;
    Product &operator=(const Product &) = delete;

    /* Sizes the buffer and looks at the matrix; not to be captured. */
    void prepare(T *x, T *y) {
        size_t bytes = 0;
        with(x, y, [&](auto X, auto Y) { size(X, Y, &bytes); });
        CHECK(cudaMalloc(&buffer, std::max<size_t>(bytes, 1)));
        with(x, y, [&](auto X, auto Y) { preprocess(X, Y); });
    }
    void multiply(T *x, T *y) {
        with(x, y, [&](auto X, auto Y) { run(X, Y); });
    }

    const int n, width;
    T *diagonal;

  private:
    static constexpr cudaDataType type = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F;
    static constexpr cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    static constexpr cusparseSpMVAlg_t spmv = CUSPARSE_SPMV_ALG_DEFAULT;
    static constexpr cusparseSpMMAlg_t spmm = CUSPARSE_SPMM_CSR_ALG2; // the one for row-major blocks of columns
    const T one = 1, zero = 0;

    template <typename F> void with(T *x, T *y, F call) {
        if (width == 1) {
            cusparseDnVecDescr_t X, Y;
            CHECK(cusparseCreateDnVec(&X, n, x, type));
            CHECK(cusparseCreateDnVec(&Y, n, y, type));
            call(X, Y);
            CHECK(cusparseDestroyDnVec(X));
            CHECK(cusparseDestroyDnVec(Y));
        } else {
            cusparseDnMatDescr_t X, Y;
            CHECK(cusparseCreateDnMat(&X, n, width, width, x, type, CUSPARSE_ORDER_ROW));
            CHECK(cusparseCreateDnMat(&Y, n, width, width, y, type, CUSPARSE_ORDER_ROW));
            call(X, Y);
            CHECK(cusparseDestroyDnMat(X));
            CHECK(cusparseDestroyDnMat(Y));
        }
    }
    void size(cusparseDnVecDescr_t X, cusparseDnVecDescr_t Y, size_t *bytes) {
        CHECK(cusparseSpMV_bufferSize(handle, plain, &one, matrix, X, &zero, Y, type, spmv, bytes));
    }
    void size(cusparseDnMatDescr_t X, cusparseDnMatDescr_t Y, size_t *bytes) {
        CHECK(cusparseSpMM_bufferSize(handle, plain, plain, &one, matrix, X, &zero, Y, type, spmm, bytes));
    }
    void preprocess(cusparseDnVecDescr_t X, cusparseDnVecDescr_t Y) {
        CHECK(cusparseSpMV_preprocess(handle, plain, &one, matrix, X, &zero, Y, type, spmv, buffer));
    }
    void preprocess(cusparseDnMatDescr_t X, cusparseDnMatDescr_t Y) {
        CHECK(cusparseSpMM_preprocess(handle, plain, plain, &one, matrix, X, &zero, Y, type, spmm, buffer));
    }
    void run(cusparseDnVecDescr_t X, cusparseDnVecDescr_t Y) {
        CHECK(cusparseSpMV(handle, plain, &one, matrix, X, &zero, Y, type, spmv, buffer));
    }
    void run(cusparseDnMatDescr_t X, cusparseDnMatDescr_t Y) {
        CHECK(cusparseSpMM(handle, plain, plain, &one, matrix, X, &zero, Y, type, spmm, buffer));
    }

    cusparseHandle_t handle = nullptr;
    cusparseSpMatDescr_t matrix = nullptr;
    int *row_start = nullptr, *columns = nullptr;
    T *entries = nullptr;
    void *buffer = nullptr;
};

template <typename T> Spread sparse(cudaStream_t stream, bool jacobi, const Matrix &A, int width) {
    const int SWEEPS = 32;
    Product<T> product(stream, A, width);
    int count = A.n * width;
    T *r = allocate<T>((size_t)count), *y = allocate<T>((size_t)count),
      *vectors[2] = {allocate<T>((size_t)count), allocate<T>((size_t)count)};
    for (T *vector : {r, vectors[0], vectors[1]})
        CHECK(pd_launch(stream, PD_LAUNCH_ORDINARY, pd_thread_blocks(count), PD_THREADS, vector_kernel<T>, count, vector));
    product.prepare(vectors[0], y);
    Spread spread;
    if (jacobi) {
        cudaGraphExec_t graph = captured(stream, [&] {
            for (int k = 0; k < SWEEPS; k++) {
                T *d = vectors[k % 2], *previous = vectors[1 - k % 2];
                product.multiply(d, y);
                CHECK(pd_launch(stream, PD_LAUNCH_ORDINARY, pd_thread_blocks(count), PD_THREADS, relax_kernel<T>, A.n, width,
                                static_cast<const T *>(product.diagonal), (T)0.9, (T)1.3, static_cast<const T *>(r),
                                static_cast<const T *>(y), static_cast<const T *>(d), previous));
            }
        });
        spread = per(measure(stream, [&] { CHECK(cudaGraphLaunch(graph, stream)); }), SWEEPS);
        CHECK(cudaGraphExecDestroy(graph));
    } else
        spread = measure(stream, [&] { product.multiply(vectors[0], y); });
    for (void *memory : {r, y, vectors[0], vectors[1]}) CHECK(cudaFree(memory));
    return spread;
}

#endif

/* ---- the arguments -------------------------------------------------------------------------------------------------------------- */

long long number(const std::vector<std::string> &parts, size_t k) {
    char *end = nullptr;
    long long value = k < parts.size() ? std::strtoll(parts[k].c_str(), &end, 10) : 0;
    if (value < 1 || *end) fail(parts[0] + ": expected a number of at least 1 in place " + std::to_string(k));
    return value;
}

Matrix read_matrix(const std::vector<std::string> &parts) {
    if (parts.size() == 5 && parts[3] == "file") return from_file(parts[4]);
    if (parts.size() == 5 && (parts[3] == "7" || parts[3] == "27")) return stencil(std::atoi(parts[3].c_str()), (int)number(parts, 4));
    fail(parts[0] + ": expected REAL:WIDTH and 7:N, 27:N or file:PATH");
}

void device_line(int device) {
    cudaDeviceProp properties;
    int runtime = 0, driver = 0;
    CHECK(cudaGetDeviceProperties(&properties, device));
    CHECK(cudaRuntimeGetVersion(&runtime));
    CHECK(cudaDriverGetVersion(&driver));
    std::printf("device,%s,%d,%lld,%lld,%d,%d\n", properties.name, properties.multiProcessorCount, (long long)properties.l2CacheSize,
                (long long)properties.totalGlobalMem, runtime, driver);
}

} // namespace

int main(int count, char **arguments) {
    if (count < 2) fail("no measurement was asked for; the head of yardstick.cu lists them");
    cudaStream_t stream;
    cudaDeviceProp properties;
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDeviceProperties(&properties, 0));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int multiprocessors = properties.multiProcessorCount;
    for (int k = 1; k < count; k++) {
        // the last part, a path, may hold colons
        std::vector<std::string> parts;
        std::string rest = arguments[k];
        for (size_t colon; parts.size() < 4 && (colon = rest.find(':')) != std::string::npos; rest = rest.substr(colon + 1))
            parts.push_back(rest.substr(0, colon));
        parts.push_back(rest);
        Spread spread = {0, 0, 0};
        if (parts[0] == "device") {
            device_line(0);
            continue;
        } else if (parts[0] == "copy")
            spread = copy(stream, multiprocessors, (size_t)number(parts, 1));
        else if (parts[0] == "triad")
            spread = triad(stream, multiprocessors, (size_t)number(parts, 1));
        else if (parts[0] == "graph")
            spread = empty_graph(stream, (int)number(parts, 1));
        else if (parts[0] == "barrier")
            spread = barrier(stream, multiprocessors, (int)number(parts, 1), (int)number(parts, 2));
        else if (parts[0] == "multiply" || parts[0] == "jacobi") {
            Matrix A = read_matrix(parts);
            int width = (int)number(parts, 2);
            if (parts[1] != "float" && parts[1] != "double") fail(parts[0] + ": expected float or double, got " + parts[1]);
#ifdef YARDSTICK_CUSPARSE
            bool jacobi = parts[0] == "jacobi";
            spread = parts[1] == "float" ? sparse<float>(stream, jacobi, A, width) : sparse<double>(stream, jacobi, A, width);
#else
            std::printf("%s,left out: built without cuSPARSE\n", arguments[k]);
            (void)width;
            continue;
#endif
        } else
            fail(parts[0] + ": no such measurement");
        std::printf("%s,%.9g,%.9g,%.9g\n", arguments[k], spread.median, spread.least, spread.greatest);
        std::fflush(stdout);
    }
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
