/* Kernels that are right and kernels that are wrong, to see that the stand-in runtime tells them apart: faults NAME; see ../test_on_host.py. */
#include "cuda/launch.cuh"

#include <cooperative_groups.h>
#include <cub/block/block_reduce.cuh>

static __global__ void sum_kernel(int n, const double *in, double *out) {
    using Reduce = cub::BlockReduce<double, PD_THREADS>;
    __shared__ typename Reduce::TempStorage storage;
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    double value = i < n ? in[i] : 0.0, lanes = value;
    for (int shift = 16; shift > 0; shift /= 2) lanes += __shfl_down_sync(0xffffffffu, lanes, (unsigned)shift);
    double sum = Reduce(storage).Sum(value);
    if (threadIdx.x == 0) out[2 * blockIdx.x] = sum, out[2 * blockIdx.x + 1] = lanes;
}

/* Every thread adds its left neighbour's number, over the borders of blocks, twice. */
static __global__ void turn_kernel(int n, double *x) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    for (int k = 0; k < 2; k++) {
        double left = x[(i + n - 1) % n];
        cooperative_groups::this_grid().sync();
        x[i] += left;
        cooperative_groups::this_grid().sync();
    }
}

/* What is read before it is written, in every block again. */
static __global__ void shared_kernel(double *out) {
    __shared__ double numbers[PD_THREADS];
    out[blockIdx.x] = numbers[threadIdx.x];
    numbers[threadIdx.x] = 1.0;
}

/* Reads past the end of an array of its own, or of an allocation, after its threads have taken turns. */
static __global__ void past_the_end_kernel(int own, int end, double *x) {
    volatile double array[4] = {};
    for (int k = 0; k < 4; k++) array[k] = x[k];
    __syncthreads();
    if (threadIdx.x == 5) x[0] = own ? array[end] : x[end];
}

static __global__ void divergent_kernel(double *out) {
    if (threadIdx.x < 100) return;
    __syncthreads();
    out[threadIdx.x] = 1.0;
}

static __global__ void ended_lane_kernel(double *out) {
    if (threadIdx.x % 32 == 7) return;
    out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, (double)threadIdx.x, 1);
}

/* Adds 1 to a number, and says what it was before the wait and behind it. */
static __global__ void follow_kernel(int waits, double *x, double *seen) {
    double early = *x;
    pd_let_next_begin();
    if (waits) pd_wait_for_launch_before();
    if (threadIdx.x > 0) return;
    seen[0] = early, seen[1] = *x;
    *x += 1;
}

/* Adds what the next block has, which may have added before: a race. */
static __global__ void race_kernel(double *x) {
    pd_let_next_begin();
    pd_wait_for_launch_before();
    if (threadIdx.x == 0) x[blockIdx.x] += x[(blockIdx.x + 1) % gridDim.x];
}

static double *device_numbers(int n) {
    double *memory = nullptr, *numbers = new double[(size_t)n];
    for (int i = 0; i < n; i++) numbers[i] = i;
    if (cudaMalloc((void **)&memory, (size_t)n * sizeof(double))) exit(3);
    if (cudaMemcpyAsync(memory, numbers, (size_t)n * sizeof(double), cudaMemcpyHostToDevice, nullptr)) exit(3);
    delete[] numbers;
    return memory;
}

static void print(const double *memory, int n) {
    cudaDeviceSynchronize();
    double *numbers = new double[(size_t)n];
    if (cudaMemcpyAsync(numbers, memory, (size_t)n * sizeof(double), cudaMemcpyDeviceToHost, nullptr)) exit(3);
    for (int i = 0; i < n; i++) printf("%g ", numbers[i]);
    delete[] numbers;
}

int main(int, char **arguments) {
    const char *name = arguments[1];
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    double *x = device_numbers(3 * PD_THREADS), *out = device_numbers(3 * PD_THREADS);
    cudaError_t code = cudaSuccess;
    if (!strcmp(name, "sum")) {
        code = pd_launch(stream, PD_LAUNCH_ORDINARY, 3, PD_THREADS, sum_kernel, 2 * PD_THREADS + 1, x, out);
        print(out, 6);
    } else if (!strcmp(name, "turn")) {
        code = pd_launch(stream, PD_LAUNCH_AT_ONCE, 3, PD_THREADS, turn_kernel, 3 * PD_THREADS, x);
        print(x, 4);
    } else if (!strcmp(name, "turn without cooperation"))
        code = pd_launch(stream, PD_LAUNCH_ORDINARY, 3, PD_THREADS, turn_kernel, 3 * PD_THREADS, x);
    else if (!strcmp(name, "turn too large"))
        code = pd_launch(stream, PD_LAUNCH_AT_ONCE, 4, PD_THREADS, turn_kernel, 3 * PD_THREADS, x);
    else if (!strcmp(name, "graph")) {
        cudaGraph_t graph;
        cudaGraphExec_t ready;
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
        pd_launch(stream, PD_LAUNCH_AT_ONCE, 3, PD_THREADS, turn_kernel, 3 * PD_THREADS, x);
        cudaStreamEndCapture(stream, &graph);
        print(x, 4);
        cudaGraphInstantiate(&ready, graph);
        cudaGraphLaunch(ready, stream);
        cudaGraphLaunch(ready, stream);
        print(x, 4);
    } else if (!strcmp(name, "race")) {
        code = pd_launch(stream, PD_LAUNCH_ORDINARY, 3, PD_THREADS, race_kernel, x);
        cudaStreamSynchronize(stream);
        print(x, 3);
    } else if (!strcmp(name, "race of launches that overlap")) {
        code = pd_launch(stream, PD_LAUNCH_ORDINARY, 1, PD_THREADS, follow_kernel, 1, out, out + 1);
        code = pd_launch(stream, PD_LAUNCH_EARLY, 3, PD_THREADS, race_kernel, x);
        cudaStreamSynchronize(stream);
        print(x, 3);
    } else if (!strcmp(name, "overlap")) {
        code = pd_launch(stream, PD_LAUNCH_ORDINARY, 1, PD_THREADS, follow_kernel, 1, x, out);
        for (int k = 1; k < 3; k++) code = pd_launch(stream, PD_LAUNCH_EARLY, 1, PD_THREADS, follow_kernel, 1, x, out + 2 * k);
        print(out, 6);
    } else if (!strcmp(name, "overlap without a wait")) {
        code = pd_launch(stream, PD_LAUNCH_ORDINARY, 1, PD_THREADS, follow_kernel, 1, x, out);
        code = pd_launch(stream, PD_LAUNCH_EARLY, 1, PD_THREADS, follow_kernel, 0, x, out);
    } else if (!strcmp(name, "overlap of a copy")) {
        cudaMemcpyAsync(out, x, sizeof *x, cudaMemcpyDeviceToDevice, stream);
        code = pd_launch(stream, PD_LAUNCH_EARLY, 1, PD_THREADS, follow_kernel, 1, x, out);
    } else if (!strcmp(name, "too early")) {
        double first[2] = {0, 0};
        for (double &number : first) {
            code = pd_launch(stream, PD_LAUNCH_ORDINARY, 3, PD_THREADS, sum_kernel, 2 * PD_THREADS + 1, x, out);
            cudaMemcpyAsync(&number, out, sizeof number, cudaMemcpyDeviceToHost, nullptr); // of another stream
            cudaStreamSynchronize(stream);
        }
        printf("%g %g", first[0], first[1]);
    } else if (!strcmp(name, "stream of another device")) {
        cudaSetDevice(1);
        code = pd_launch(stream, PD_LAUNCH_ORDINARY, 3, PD_THREADS, sum_kernel, 2 * PD_THREADS + 1, x, out);
    } else if (!strcmp(name, "memory of another device")) {
        cudaStream_t other;
        cudaSetDevice(1);
        cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
        code = pd_launch(other, PD_LAUNCH_ORDINARY, 3, PD_THREADS, sum_kernel, 2 * PD_THREADS + 1, x, out);
        cudaStreamSynchronize(other);
    } else if (!strcmp(name, "copy in a capture")) {
        double host;
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
        code = cudaMemcpyAsync(&host, x, sizeof host, cudaMemcpyDeviceToHost, stream);
    } else if (!strcmp(name, "shared")) {
        code = pd_launch(stream, PD_LAUNCH_ORDINARY, 2, PD_THREADS, shared_kernel, out);
        print(out, 2);
    } else if (!strncmp(name, "past the end", 12)) {
        const bool own = !strcmp(name, "past the end of an array");
        code = pd_launch(stream, PD_LAUNCH_ORDINARY, 2, PD_THREADS, past_the_end_kernel, own, own ? 4 : 3 * PD_THREADS, x);
    } else if (!strcmp(name, "divergent"))
        code = pd_launch(stream, PD_LAUNCH_ORDINARY, 1, PD_THREADS, divergent_kernel, out);
    else if (!strcmp(name, "ended lane"))
        code = pd_launch(stream, PD_LAUNCH_ORDINARY, 1, PD_THREADS, ended_lane_kernel, out);
    else if (!strcmp(name, "host reads"))
        return (int)x[0];
    cudaStreamSynchronize(stream);
    if (code) printf("%s", cudaGetErrorString(code));
    return 0;
}
