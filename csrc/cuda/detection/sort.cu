/* Sorts of keys and scans of counts on CUDA, by CUB; a pd_work is its scratch. */
#include "cuda/detection/work.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

/* At most 2^32 - 1 keys, as many as a list has pairs. Scans cover at most the 2^27 primitives of a kind. */
enum { MOST_SCANNED = (1 << 27) + 1 };

static cudaError_t sort_keys(void *memory, size_t &bytes, cub::DoubleBuffer<uint64_t> &keys, size_t n, int first_bit, int last_bit,
                             cudaStream_t stream) {
    return cub::DeviceRadixSort::SortKeys(memory, bytes, keys, (uint32_t)n, first_bit, last_bit, stream);
}

static cudaError_t scan(void *memory, size_t &bytes, int *starts, int n, cudaStream_t stream) {
    return cub::DeviceScan::ExclusiveSum(memory, bytes, starts, starts, n, stream);
}

pd_status pd_work_bytes(pd_context *context, size_t n, size_t *bytes) {
    size_t sorting = 0, scanning = 0, parts = PD_MOST_PARTS * sizeof(pd_bound);
    cub::DoubleBuffer<uint64_t> none(nullptr, nullptr);
    cudaError_t code = pd_device_use(context); // CUB reads the properties of the thread's device
    if (code == cudaSuccess) code = sort_keys(nullptr, sorting, none, n < UINT32_MAX ? n : UINT32_MAX, 0, 64, context->stream);
    if (code == cudaSuccess) code = scan(nullptr, scanning, nullptr, n < MOST_SCANNED ? (int)n + 1 : (int)MOST_SCANNED, context->stream);
    if (code != cudaSuccess) return pd_cuda_failure(context, code, "asking for the memory of a sort");
    *bytes = sorting > scanning ? sorting : scanning;
    if (*bytes < parts) *bytes = parts;
    return PD_OK;
}

/* Sorts, and tells whether the result is in keys or in scratch. */
static pd_status sort_either(pd_context *context, size_t n, int first_bit, int last_bit, uint64_t *keys, uint64_t *scratch,
                             const pd_work *work, uint64_t **sorted) {
    cub::DoubleBuffer<uint64_t> buffer(keys, scratch);
    size_t bytes = work->bytes;
    *sorted = keys;
    if (n == 0 || first_bit >= last_bit) return PD_OK;
    cudaError_t code = pd_device_use(context);
    if (code == cudaSuccess) code = sort_keys(work->memory, bytes, buffer, n, first_bit, last_bit, pd_stream_for_others(context));
    if (code != cudaSuccess) return pd_cuda_failure(context, code, "a sort");
    *sorted = buffer.Current();
    return PD_OK;
}

pd_status pd_sort_keys(pd_context *context, size_t n, int first_bit, int last_bit, uint64_t *keys, uint64_t *scratch, const pd_work *work) {
    uint64_t *sorted;
    pd_status status = sort_either(context, n, first_bit, last_bit, keys, scratch, work, &sorted);
    return status || sorted == keys ? status : pd_memory_copy(context, keys, sorted, n * sizeof *keys);
}

static __global__ void pad_kernel(size_t n, pd_pair_buffer buffer) {
    size_t i = (size_t)blockIdx.x * PD_THREADS + threadIdx.x;
    if (i < n && i >= *buffer.found) buffer.keys[i] = UINT64_MAX;
}

pd_status pd_pad_pairs(pd_context *context, size_t n, pd_pair_buffer *buffer) {
    PD_LAUNCH(context, pad_kernel, (long long)n, n, *buffer);
    return PD_OK;
}

static __global__ void unpack_kernel(size_t n, int second_bits, const uint64_t *keys, int2 *pairs) {
    size_t i = (size_t)blockIdx.x * PD_THREADS + threadIdx.x;
    if (i < n) pairs[i] = make_int2((int)(keys[i] >> second_bits), (int)(keys[i] & (((uint64_t)1 << second_bits) - 1)));
}

pd_status pd_sort_pairs(pd_context *context, size_t n, pd_pair_buffer *buffer, uint64_t *scratch, const pd_work *work, int *pairs) {
    uint64_t *sorted;
    pd_status status = sort_either(context, n, 0, buffer->first_bits + buffer->second_bits, buffer->keys, scratch, work, &sorted);
    if (status) return status;
    PD_LAUNCH(context, unpack_kernel, (long long)n, n, buffer->second_bits, sorted, (int2 *)pairs);
    return PD_OK;
}

pd_status pd_scan(pd_context *context, int n, const pd_work *work, int *starts) {
    size_t bytes = work->bytes;
    cudaError_t code = pd_device_use(context);
    if (code == cudaSuccess) code = scan(work->memory, bytes, starts, n + 1, pd_stream_for_others(context));
    return code == cudaSuccess ? PD_OK : pd_cuda_failure(context, code, "a scan");
}
