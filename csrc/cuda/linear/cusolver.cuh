/* cuSOLVER's dense Cholesky functions, opened at their first use. The library is large, and the modules must load without it. It is
 * found by the run path of the module (CMakeLists.txt: the nvidia-* wheels, then the toolkit of the build) or by the system's. */
#ifndef PD_CUDA_LINEAR_CUSOLVER_CUH
#define PD_CUDA_LINEAR_CUSOLVER_CUH

#include <cusolverDn.h>

#include <dlfcn.h>

struct pd_cusolver {
    decltype(&cusolverDnCreate) create;
    decltype(&cusolverDnDestroy) destroy;
    decltype(&cusolverDnSetStream) set_stream;
    decltype(&cusolverDnDpotrf_bufferSize) work_size;
    decltype(&cusolverDnDpotrf) potrf;
    decltype(&cusolverDnDpotrs) potrs;
};

#ifdef PD_CUSOLVER_STAND_IN /* tests/cuda/on_host: nothing to open */
#define PD_CUSOLVER_NAME "the stand-in"

static inline const pd_cusolver *pd_cusolver_find(void) {
    static const pd_cusolver found = {cusolverDnCreate, cusolverDnDestroy, cusolverDnSetStream, cusolverDnDpotrf_bufferSize,
                                      cusolverDnDpotrf, cusolverDnDpotrs};
    return &found;
}

#else
#define PD_TEXT_OF(x)    #x
#define PD_TEXT(x)       PD_TEXT_OF(x)
#define PD_CUSOLVER_NAME "libcusolver.so." PD_TEXT(CUSOLVER_VER_MAJOR)

template <typename Function> static inline bool pd_symbol_find(void *library, const char *name, Function *function) {
    *function = reinterpret_cast<Function>(dlsym(library, name));
    return *function != nullptr;
}

/* NULL if it cannot be opened. */
static inline const pd_cusolver *pd_cusolver_find(void) {
    static pd_cusolver all = {};
    static const bool fine = [] {
        void *library = dlopen(PD_CUSOLVER_NAME, RTLD_LAZY | RTLD_LOCAL);
        return library && pd_symbol_find(library, "cusolverDnCreate", &all.create) &&
               pd_symbol_find(library, "cusolverDnDestroy", &all.destroy) &&
               pd_symbol_find(library, "cusolverDnSetStream", &all.set_stream) &&
               pd_symbol_find(library, "cusolverDnDpotrf_bufferSize", &all.work_size) &&
               pd_symbol_find(library, "cusolverDnDpotrf", &all.potrf) && pd_symbol_find(library, "cusolverDnDpotrs", &all.potrs);
    }();
    return fine ? &all : nullptr;
}
#endif

#endif
