/* The device of the stand-in runtime: memory, streams that run when somebody waits or record, and the fibers a kernel's threads are. */
#include <memory> // before what takes __noinline__ for a word of its own

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
static inline void __sanitizer_start_switch_fiber(void **, const void *, size_t) {}
static inline void __sanitizer_finish_switch_fiber(void *, const void **, size_t *) {}
#endif

static void die(const char *what) {
    fprintf(stderr, "CUDA on the host: %s (block %u, thread %u)\n", what, blockIdx.x, threadIdx.x);
    abort();
}

// ---- memory: a region for each device, closed while no kernel and no copy runs on it --------------------------------------------------------

enum { DEVICES = 2 };
// pages of 2 MiB, where the kernel has them: closing and opening costs by the page
enum : size_t { REGION = (size_t)4 << 30, GAP = 256, PAGE = (size_t)2 << 20 };

struct Region {
    std::map<char *, size_t> allocations;
    char *begin = nullptr;
    size_t in_reach = 0; // bytes from its begin that were ever handed out
    int open_depth = 0;
    bool holds(const void *p) const { return begin && (const char *)p >= begin && (const char *)p < begin + REGION; }
};

static std::recursive_mutex device; // kernels and copies of one thread at a time
static Region regions[DEVICES];
static thread_local int current = 0; // of the thread, as with a GPU

/* What a device does it does to its own memory: that of the other stays closed, and who touches it stops with a segmentation fault. */
struct Open {
    std::lock_guard<std::recursive_mutex> lock{device};
    Region &region;
    Open(int number) : region(regions[number]) {
        if (region.open_depth++ == 0 && region.in_reach) mprotect(region.begin, region.in_reach, PROT_READ | PROT_WRITE);
    }
    ~Open() {
        if (--region.open_depth == 0 && region.in_reach) mprotect(region.begin, region.in_reach, PROT_NONE);
    }
};

/* How often something was asked for since the process began, and how many bytes were copied, for tests that say how much that may be. */
static std::map<std::string, long long> counts;
static void count(const char *what, long long by = 1) {
    std::lock_guard<std::recursive_mutex> lock{device};
    counts[what] += by;
}
extern "C" __attribute__((visibility("default"))) long long pd_on_host_count(const char *what) {
    std::lock_guard<std::recursive_mutex> lock{device};
    return counts[what];
}

static cudaError_t last_error = cudaSuccess;
static cudaError_t fail(cudaError_t code) { return last_error = code; }

/* What a test wants to go wrong: the environment names a call and what it returns, PD_ON_HOST_FAILS="cudaMalloc 2". */
static cudaError_t planned(const char *call) {
    const char *plan = getenv("PD_ON_HOST_FAILS");
    size_t length = strlen(call);
    return plan && !strncmp(plan, call, length) && plan[length] == ' ' ? fail((cudaError_t)atoi(plan + length)) : cudaSuccess;
}

cudaError_t cudaMalloc(void **out, size_t bytes) {
    Open open(current);
    Region &region = open.region;
    *out = nullptr;
    count("cudaMalloc");
    if (!region.begin) {
        char *all = (char *)mmap(nullptr, REGION + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        region.begin = all + (PAGE - (uintptr_t)all % PAGE);
        madvise(region.begin, REGION, MADV_HUGEPAGE);
    }
    // first fit
    char *place = region.begin;
    for (auto &[begin, size] : region.allocations) {
        if ((size_t)(begin - place) >= bytes + GAP) break;
        place = begin + (size + GAP + 255) / 256 * 256;
    }
    if (planned("cudaMalloc")) return last_error;
    if (bytes > REGION || (size_t)(place - region.begin) + bytes + GAP > REGION) return fail(cudaErrorMemoryAllocation);
    size_t end = ((size_t)(place - region.begin) + bytes + GAP + PAGE - 1) / PAGE * PAGE;
    if (end > region.in_reach)
        mprotect(region.begin + region.in_reach, end - region.in_reach, PROT_READ | PROT_WRITE), region.in_reach = end;
    ASAN_UNPOISON_MEMORY_REGION(place, bytes);
    memset(place, 0xff, bytes);
    ASAN_POISON_MEMORY_REGION(place + bytes, GAP);
    region.allocations[place] = bytes;
    *out = place;
    return cudaSuccess;
}

static void finish_all();

cudaError_t cudaFree(void *memory) {
    finish_all();
    if (!memory) return cudaSuccess;
    Open open(current);
    auto found = open.region.allocations.find((char *)memory);
    if (found == open.region.allocations.end()) die("cudaFree of what cudaMalloc did not give on this device");
    ASAN_POISON_MEMORY_REGION(memory, found->second);
    open.region.allocations.erase(found);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **out, size_t bytes) {
    if (planned("cudaMallocHost")) return last_error;
    *out = malloc(bytes);
    return *out ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *memory) {
    finish_all();
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *total) {
    size_t used = 0;
    for (auto &[begin, size] : regions[current].allocations) used += size;
    *total = REGION;
    *left = REGION - used;
    return cudaSuccess;
}

static bool on_device(const void *p, int number) { return regions[number].holds(p); }
static bool on_host(const void *p) {
    for (const Region &region : regions)
        if (region.holds(p)) return false;
    return true;
}

// ---- streams, graphs, events --------------------------------------------------------------------------------------------------------------

struct pd_on_host_graph {
    std::vector<std::function<void()>> work;
};
struct pd_on_host_stream {
    int number = current; // of its device
    pd_on_host_graph *capture = nullptr;
    bool invalid = false;
    bool after_launch = false; // the last that was asked for is a kernel
    std::deque<std::function<void()>> waiting;
};
struct pd_on_host_event {
    std::chrono::steady_clock::time_point time;
    cudaStream_t waiting = nullptr; // the stream it is asked for on and has not come to yet
};
static std::set<cudaStream_t> streams;

/* Nothing runs before somebody waits for it: who reads the clock, or the host's memory, too early finds out here and not on a GPU. */
static cudaError_t submit(cudaStream_t stream, std::function<void()> work) {
    std::lock_guard<std::recursive_mutex> lock{device};
    if (stream && stream->number != current) return fail(cudaErrorInvalidResourceHandle);
    if (stream) stream->after_launch = false;
    if (!stream)
        work();
    else if (stream->capture)
        stream->capture->work.push_back(std::move(work));
    else
        stream->waiting.push_back(std::move(work));
    return cudaSuccess;
}

static void finish(cudaStream_t stream) {
    std::lock_guard<std::recursive_mutex> lock{device};
    while (!stream->waiting.empty()) {
        std::function<void()> work = std::move(stream->waiting.front());
        stream->waiting.pop_front();
        work();
    }
}

static void finish_all() {
    std::lock_guard<std::recursive_mutex> lock{device};
    for (cudaStream_t stream : streams) finish(stream);
}

static cudaError_t refuse_in_capture(cudaStream_t stream) {
    if (!stream || !stream->capture) return cudaSuccess;
    stream->invalid = true;
    return fail(cudaErrorStreamCaptureUnsupported);
}

cudaError_t cudaMemcpyAsync(void *target, const void *source, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    bool to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const int number = stream ? stream->number : current;
    if (!(to ? on_device(target, number) : on_host(target)) || !(from ? on_device(source, number) : on_host(source)))
        return fail(cudaErrorInvalidValue);
    count(!to ? "copies to the host" : !from ? "copies from the host" : "copies"), count("bytes copied", (long long)bytes);
    if (!to) count("bytes to the host", (long long)bytes);
    if (!to || !from) // memory of the host may be gone when the graph runs
        if (cudaError_t code = refuse_in_capture(stream)) return code;
    return submit(stream, [=]() {
        Open open(number);
        memcpy(target, source, bytes);
    });
}

cudaError_t cudaMemsetAsync(void *target, int value, size_t bytes, cudaStream_t stream) {
    const int number = stream ? stream->number : current;
    if (!on_device(target, number)) return fail(cudaErrorInvalidValue);
    count("clears");
    return submit(stream, [=]() {
        Open open(number);
        memset(target, value, bytes);
    });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned) {
    std::lock_guard<std::recursive_mutex> lock{device};
    count("cudaStreamCreate");
    streams.insert(*out = new pd_on_host_stream);
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    std::lock_guard<std::recursive_mutex> lock{device};
    finish(stream);
    streams.erase(stream);
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (cudaError_t code = refuse_in_capture(stream)) return code;
    finish(stream); // also where the wait is to go wrong: the caller's memory may be gone afterwards
    return planned("cudaStreamSynchronize");
}
cudaError_t cudaDeviceSynchronize() { return finish_all(), cudaSuccess; }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    if (stream->capture) return fail(cudaErrorInvalidValue);
    if (planned("cudaStreamBeginCapture")) return last_error;
    stream->capture = new pd_on_host_graph;
    stream->invalid = false;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out) {
    *out = stream->capture;
    stream->capture = nullptr;
    if (!*out) return fail(cudaErrorInvalidValue);
    const bool refused = planned("cudaStreamEndCapture") != cudaSuccess;
    if (!stream->invalid && !refused) return cudaSuccess;
    delete *out;
    *out = nullptr;
    return refused ? last_error : fail(cudaErrorStreamCaptureInvalidated);
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *, size_t *nodes) { return *nodes = graph->work.size(), cudaSuccess; }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long) {
    if (planned("cudaGraphInstantiate")) return last_error;
    return *out = new pd_on_host_graph(*graph), cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
    return submit(stream, [=]() {
        for (auto &work : graph->work) work();
    });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return delete graph, cudaSuccess; }

cudaError_t cudaEventCreate(cudaEvent_t *out) { return *out = new pd_on_host_event, cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned) { return cudaEventCreate(out); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete event, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    event->waiting = stream;
    return submit(stream, [=]() { event->time = std::chrono::steady_clock::now(), event->waiting = nullptr; });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    if (event->waiting) finish(event->waiting);
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    return submit(stream, [=]() { cudaEventSynchronize(event); });
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
    if (from->waiting || to->waiting) return fail(cudaErrorNotReady);
    *ms = std::chrono::duration<float, std::milli>(to->time - from->time).count();
    return cudaSuccess;
}

// ---- what is asked of the device -----------------------------------------------------------------------------------------------------------

const char *cudaGetErrorName(cudaError_t code) { return code == cudaSuccess ? "cudaSuccess" : "cudaError"; }
const char *cudaGetErrorString(cudaError_t code) {
    switch (code) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
    default: return "an error of the stand-in runtime";
    }
}
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }
cudaError_t cudaDriverGetVersion(int *version) {
    const char *planned_version = getenv("PD_ON_HOST_DRIVER");
    return *version = planned_version ? atoi(planned_version) : 13000, cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int *number) { return *number = DEVICES, planned("cudaGetDeviceCount"); }
cudaError_t cudaGetDevice(int *number) { return *number = current, cudaSuccess; }
cudaError_t cudaSetDevice(int number) {
    if (number < 0 || number >= DEVICES) return fail(cudaErrorInvalidDevice);
    return current = number, cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int number) {
    if (number < 0 || number >= DEVICES) return fail(cudaErrorInvalidDevice);
    *out = {"the CPU in place of a CUDA device", REGION, 3, 9, 0, 1 << 20};
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
    switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = 3; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrCooperativeLaunch: *value = 1; break;
    default: *value = 48 << 10;
    }
    return cudaSuccess;
}

// ---- fibers ----------------------------------------------------------------------------------------------------------------------------------

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

extern "C" __attribute__((weak)) char __start_pd_shared[], __stop_pd_shared[]; // set by the linker: all shared variables

enum { STACK = 256 << 10, WARP = 32, LARGEST_VALUE = 32, EVERY_LANE = -1 };
enum Wait { RUNS, ENDED, AT_BARRIER, AT_WARP, AT_GRID, AT_LAUNCH };

struct Context {
    ucontext_t first; // until it runs for the first time
    void *here[5];    // of __builtin_setjmp, in a quarter of the time of the C library's, which keeps what no kernel changes
    bool started;
};
struct Fiber {
    Context context;
    char *stack;
    void *fake; // of the address sanitizer
};
struct Thread {
    Wait wait = RUNS;
    Fiber *fiber = nullptr; // while it waits
    unsigned mask = 0;      // of the warp barrier it waits at, and what it brings there and fetches
    int from = 0;
    char value[LARGEST_VALUE], fetched[LARGEST_VALUE];
};
struct Block {
    unsigned index = 0, started = 0;
    std::vector<Thread> threads;
    std::vector<char> shared;    // what it has written of shared memory, while another block runs,
    char *shared_from = nullptr; // and where that begins
};

static Context scheduler;
static const void *scheduler_stack;
static size_t scheduler_size;
static std::vector<Fiber *> idle;
static const std::function<void()> *body;
static Block *block;
static unsigned thread; // of the block
static Fiber *running;
static bool backwards; // the last thread of a block goes first: see Order

// Not by swapcontext, which makes system calls, and for which the address sanitizer clears its shadow of a whole stack: two thirds of a test's time.
// Nor by longjmp, which it takes for an end of the frames between. The jump may not stand where the place to come back to is set.
static __attribute__((noinline, no_sanitize_address)) void jump(Context &to) { __builtin_longjmp(to.here, 1); }

static __attribute__((noinline, no_sanitize_address)) void change(Context &from, Context &to) {
    if (__builtin_setjmp(from.here)) return;
    if (std::exchange(to.started, true)) jump(to);
    setcontext(&to.first);
}

static void to_scheduler() {
    Fiber *self = running;
    __sanitizer_start_switch_fiber(&self->fake, scheduler_stack, scheduler_size);
    change(self->context, scheduler);
    __sanitizer_finish_switch_fiber(self->fake, &scheduler_stack, &scheduler_size);
}

static void select(unsigned number) {
    thread = number;
    threadIdx = {number, 0, 0};
}

static bool select_next() {
    unsigned n = (unsigned)block->threads.size();
    if (block->started == n) return false;
    select(backwards ? n - 1 - block->started : block->started);
    block->started++;
    return true;
}

/* A fiber takes one thread after the other for as long as none of them waits: most kernels need a single fiber. */
static void fiber_main() {
    __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_size);
    for (;;) {
        do {
            (*body)();
            block->threads[thread].wait = ENDED;
        } while (select_next());
        to_scheduler();
    }
}

static void to_fiber(Fiber *fiber) {
    void *fake = nullptr;
    running = fiber;
    __sanitizer_start_switch_fiber(&fake, fiber->stack, STACK);
    scheduler.started = true;
    change(scheduler, fiber->context);
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
    if (block->threads[thread].wait == ENDED)
        idle.push_back(fiber);
    else
        block->threads[thread].fiber = fiber;
}

static Fiber *idle_fiber() {
    if (idle.empty()) {
        Fiber *fiber = new Fiber();
        fiber->stack = (char *)mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        getcontext(&fiber->context.first);
        fiber->context.first.uc_stack.ss_sp = fiber->stack;
        fiber->context.first.uc_stack.ss_size = STACK;
        makecontext(&fiber->context.first, fiber_main, 0);
        idle.push_back(fiber);
    }
    Fiber *fiber = idle.back();
    idle.pop_back();
    return fiber;
}

static void wait_at(Wait what) {
    if (!block) die("a barrier outside a kernel");
    block->threads[thread].wait = what;
    to_scheduler();
}

void pd_on_host_barrier() { wait_at(AT_BARRIER); }
void pd_on_host_grid_barrier() { wait_at(AT_GRID); }
static bool beginning; // of a launch that overlaps
void cudaGridDependencySynchronize() {
    if (beginning) wait_at(AT_LAUNCH);
}
int pd_on_host_lane() { return (int)(thread % WARP); }
void pd_on_host_warp_barrier(unsigned mask) {
    char nothing;
    pd_on_host_exchange(mask, pd_on_host_lane(), &nothing, 0);
}
/* memcpy, which of a size that the compiler does not know is a call. */
static void bring(void *to, const void *from, size_t bytes) {
    if (bytes == 4)
        memcpy(to, from, 4);
    else if (bytes == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, bytes);
}

void pd_on_host_exchange(unsigned mask, int from, void *mine, size_t bytes) {
    Thread &self = block->threads[thread];
    if (bytes > LARGEST_VALUE) die("a shuffle of a type this large");
    if (!(mask >> pd_on_host_lane() & 1u)) die("a thread that its own mask leaves out");
    self.mask = mask;
    self.from = from;
    bring(self.value, mine, bytes);
    wait_at(AT_WARP);
    bring(mine, self.fetched, bytes);
}

unsigned pd_on_host_ballot(unsigned mask, int predicate) {
    unsigned bits = predicate != 0;
    pd_on_host_exchange(mask, EVERY_LANE, &bits, sizeof bits);
    return bits;
}

/* Bit l: what lane l of a ballot brings is not 0. */
static unsigned ballot(const Thread *warp, unsigned mask, unsigned lanes) {
    unsigned bits = 0;
    for (unsigned lane = 0; lane < lanes; lane++)
        if (mask >> lane & 1u && warp[lane].value[0]) bits |= 1u << lane;
    return bits;
}

/* Lets the lanes of a warp go on that all wait with the same mask. */
static bool release_warp(Block &b, unsigned first) {
    bool released = false;
    for (unsigned lane = 0; lane < WARP && first + lane < b.threads.size(); lane++) {
        Thread *warp = &b.threads[first];
        if (warp[lane].wait != AT_WARP) continue;
        unsigned mask = warp[lane].mask;
        bool complete = true;
        for (unsigned other = 0; other < WARP; other++) {
            if (!(mask >> other & 1u) || first + other >= b.threads.size()) continue;
            if (warp[other].wait == ENDED) die("a lane that the mask of a shuffle names has ended");
            complete &= warp[other].wait == AT_WARP && warp[other].mask == mask;
        }
        if (!complete) continue;
        const unsigned lanes = b.threads.size() - first < WARP ? (unsigned)(b.threads.size() - first) : (unsigned)WARP;
        const unsigned bits = warp[lane].from == EVERY_LANE ? ballot(warp, mask, lanes) : 0;
        for (unsigned other = 0; other < WARP && first + other < b.threads.size(); other++) {
            if (!(mask >> other & 1u)) continue;
            Thread &to = warp[other];
            to.wait = RUNS;
            if (to.from == EVERY_LANE) {
                memcpy(to.fetched, &bits, sizeof bits);
                continue;
            }
            bool known = mask >> to.from & 1u && first + (unsigned)to.from < b.threads.size();
            if (known)
                memcpy(to.fetched, warp[to.from].value, LARGEST_VALUE);
            else
                memset(to.fetched, 0xff, LARGEST_VALUE);
        }
        released = true;
    }
    return released;
}

static bool release_block(Block &b) {
    for (Thread &t : b.threads)
        if (t.wait != AT_BARRIER) return false;
    for (Thread &t : b.threads) t.wait = RUNS;
    return true;
}

// Between blocks all bits of shared memory are set, which is NaN; all variables of a module are some 100 KB, and a kernel writes few of them.
enum : size_t { AT_ONCE = 1024 };
static char unwritten[AT_ONCE];
static const bool filled = []() {
    memset(unwritten, 0xff, AT_ONCE);
    if (__start_pd_shared) memset(__start_pd_shared, 0xff, (size_t)(__stop_pd_shared - __start_pd_shared));
    return true;
}();

/* What a block has written goes out of the way of the next one, and is kept if the block goes on later. */
static void take_shared(Block &b, bool keep) {
    char *first = __stop_pd_shared, *end = __stop_pd_shared;
    for (char *p = __start_pd_shared; p < __stop_pd_shared; p += AT_ONCE) {
        const size_t here = (size_t)(__stop_pd_shared - p) < AT_ONCE ? (size_t)(__stop_pd_shared - p) : AT_ONCE;
        if (!memcmp(p, unwritten, here)) continue;
        if (first == __stop_pd_shared) first = p;
        end = p + here;
    }
    b.shared.assign(first, keep ? end : first);
    b.shared_from = first;
    memset(first, 0xff, (size_t)(end - first));
}

static void bring_shared(const Block &b) {
    if (!b.shared.empty()) memcpy(b.shared_from, b.shared.data(), b.shared.size());
}

/* Runs a block until all its threads have ended or wait for other blocks. */
static void run_block(Block &b) {
    block = &b;
    blockIdx = {b.index, 0, 0};
    bring_shared(b);
    while (select_next()) to_fiber(idle_fiber());
    for (bool released = true; released;) {
        for (unsigned k = 0, n = (unsigned)b.threads.size(); k < n; k++) {
            const unsigned t = backwards ? n - 1 - k : k;
            if (b.threads[t].wait == RUNS && b.threads[t].fiber) {
                Fiber *fiber = b.threads[t].fiber;
                b.threads[t].fiber = nullptr;
                select(t);
                to_fiber(fiber);
            }
        }
        released = release_block(b);
        for (unsigned first = 0; first < b.threads.size(); first += WARP) released |= release_warp(b, first);
    }
    bool ended = true;
    for (Thread &t : b.threads) {
        if (t.wait == AT_BARRIER) die("a __syncthreads() that not all threads of the block reach");
        if (t.wait == AT_WARP) die("a shuffle that not all lanes of its mask reach");
        ended &= t.wait == ENDED;
    }
    take_shared(b, !ended);
    block = nullptr;
}

static void prepare(Block &b, unsigned index, unsigned threads) {
    b.index = index;
    b.started = 0;
    b.threads.resize(threads);
    for (Thread &t : b.threads) t.wait = RUNS, t.fiber = nullptr;
    b.shared.clear();
}

/* The order in which blocks run, and the threads of each, is undefined: every launch has another one. For a test that compares two
 * orders the environment fixes it, PD_ON_HOST_ORDER=forwards or backwards: in these a kernel that reads what another block of its launch writes
 * reads what was there before in one and what came after in the other. */
struct Order {
    unsigned n, first, step;
    unsigned operator[](unsigned k) const { return (unsigned)((first + (unsigned long long)k * step) % n); }
};

static Order next_order(unsigned n) {
    static unsigned launches;
    const char *setting = getenv("PD_ON_HOST_ORDER");
    const unsigned launch = launches++;
    backwards = setting ? !strcmp(setting, "backwards") : launch % 2 == 0;
    if (setting) return backwards ? Order{n, n - 1, n - 1} : Order{n, 0, 1};
    const unsigned step = n % 7919 ? 7919 % n : 1;
    return {n, launch % n, step ? step : 1};
}

static void run(const cudaLaunchConfig_t &config, bool cooperative, int number, const std::function<void()> &kernel) {
    static std::vector<Block> blocks;
    Open open(number);
    count("launches"); // those of a graph too, each time it runs
    unsigned n = config.gridDim.x, threads = config.blockDim.x;
    const Order order = next_order(n);
    body = &kernel;
    gridDim = config.gridDim;
    blockDim = config.blockDim;
    if (blocks.size() < (cooperative ? n : 1)) blocks.resize(cooperative ? n : 1);
    for (unsigned k = 0; k < n; k++) {
        Block &b = blocks[cooperative ? k : 0];
        prepare(b, order[k], threads);
        if (!cooperative) run_block(b);
        if (!cooperative && b.threads[0].wait == AT_GRID) die("a grid barrier in a launch that is not cooperative");
    }
    for (bool waiting = cooperative; waiting;) {
        unsigned at_grid = 0;
        for (unsigned k = 0; k < n; k++) {
            for (Thread &t : blocks[k].threads)
                if (t.wait == AT_GRID) t.wait = RUNS;
            run_block(blocks[k]);
            for (Thread &t : blocks[k].threads) at_grid += t.wait == AT_GRID;
        }
        waiting = at_grid > 0;
        if (waiting && at_grid != n * threads) die("a grid barrier that not all threads reach");
    }
}

/* A launch that overlaps the one before it. All that may run before that one has ended does so before it begins, and of a row of such launches
 * before the first begins: who reads what one of them writes reads what was there before. */
struct Overlapping {
    cudaLaunchConfig_t config;
    int number;
    std::function<void()> kernel;
    std::vector<Block> blocks;

    void here() {
        body = &kernel;
        gridDim = config.gridDim;
        blockDim = config.blockDim;
    }
    void begin() {
        Open open(number);
        here();
        beginning = true;
        blocks.resize(config.gridDim.x);
        const Order order = next_order(config.gridDim.x);
        for (unsigned k = 0; k < config.gridDim.x; k++) {
            prepare(blocks[k], order[k], config.blockDim.x);
            run_block(blocks[k]);
            for (Thread &t : blocks[k].threads)
                if (t.wait != AT_LAUNCH) die("a thread of an overlapping launch that does not wait for the launch before");
        }
        beginning = false;
    }
    void end() {
        Open open(number);
        count("launches");
        here();
        for (Block &b : blocks) {
            for (Thread &t : b.threads) t.wait = RUNS;
            run_block(b);
        }
        blocks.clear();
    }
};

/* More threads than these are not made to wait, but run when the launch before has ended. */
enum { MOST_BEGUN = 4096 };

static cudaError_t overlap(const cudaLaunchConfig_t &config, int number, std::function<void()> kernel) {
    std::lock_guard<std::recursive_mutex> lock{device};
    if (!config.stream || !config.stream->after_launch) die("a launch that overlaps what is no launch");
    auto it = std::make_shared<Overlapping>(Overlapping{config, number, std::move(kernel), {}});
    pd_on_host_graph *capture = config.stream->capture;
    std::function<void()> before, *last = nullptr;
    if (capture && !capture->work.empty()) last = &capture->work.back();
    if (!capture && !config.stream->waiting.empty()) last = &config.stream->waiting.back();
    if (last) before = std::exchange(*last, []() {}); // as many nodes as launches
    cudaError_t code = submit(config.stream, [it, before]() {
        static unsigned begun;
        const unsigned threads = it->config.gridDim.x * it->config.blockDim.x;
        const bool early = begun + threads <= MOST_BEGUN;
        if (early) begun += threads, it->begin();
        if (before) before();
        if (!early)
            run(it->config, false, it->number, it->kernel);
        else
            it->end(), begun -= threads;
    });
    config.stream->after_launch = true;
    return code;
}

cudaError_t pd_on_host_launch(const cudaLaunchConfig_t &config, std::function<void()> kernel) {
    const cudaLaunchAttribute *attribute = config.numAttrs > 0 ? config.attrs : nullptr;
    bool cooperative = attribute && attribute->id == cudaLaunchAttributeCooperative && attribute->val.cooperative;
    bool overlaps = attribute && attribute->id == cudaLaunchAttributeProgrammaticStreamSerialization &&
                    attribute->val.programmaticStreamSerializationAllowed;
    unsigned threads = config.blockDim.x;
    if (planned("launch")) return last_error;
    if (!config.gridDim.x || !threads || threads > 1024 || config.dynamicSmemBytes) return fail(cudaErrorInvalidConfiguration);
    if (cooperative && config.gridDim.x > 3) return fail(cudaErrorCooperativeLaunchTooLarge);
    const int number = config.stream ? config.stream->number : current;
    if (overlaps) return overlap(config, number, std::move(kernel));
    cudaError_t code = submit(config.stream, [config, cooperative, number, kernel]() { run(config, cooperative, number, kernel); });
    if (config.stream) config.stream->after_launch = true;
    return code;
}
