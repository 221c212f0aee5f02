/* Whether cuda/linear/cudss.cuh says of cuDSS what its own header says: numbers, and functions up to the names of their types. Compiled, never run; see
 * test_direct.py. */
#include "cuda/linear/cudss.cuh"

#include <cudss.h>

#include <type_traits>

/* A type as cudss.cuh writes it: numbers for enumerations, void for structures. */
template <typename T, typename = void> struct plain {
    using type = T;
};
template <typename T> struct plain<T, std::enable_if_t<std::is_enum_v<T>>> {
    using type = int;
};
template <typename T> struct plain<T *, std::enable_if_t<std::is_class_v<T> && !std::is_same_v<T *, cudaStream_t>>> {
    using type = void *;
};
template <typename T> struct plain<T **, std::enable_if_t<std::is_class_v<T>>> {
    using type = void **;
};
template <typename R, typename... A> struct plain<R(A...)> {
    using type = typename plain<R>::type(typename plain<A>::type...);
};

#define PD_SAME(member, name) \
    static_assert(std::is_same_v<plain<decltype(name)>::type *, decltype(pd_cudss::member)>, #name " takes other arguments");
PD_CUDSS_FUNCTIONS(PD_SAME)

#define PD_EQUAL(mine, theirs) static_assert((int)(mine) == (int)(theirs), #theirs " is another number");
PD_EQUAL(PD_CUDSS_MAJOR, CUDSS_VERSION_MAJOR)
PD_EQUAL(PD_CUDSS_SUCCESS, CUDSS_STATUS_SUCCESS)
PD_EQUAL(PD_CUDSS_ALLOC_FAILED, CUDSS_STATUS_ALLOC_FAILED)
PD_EQUAL(7, CUDSS_STATUS_IR_FAILED)
PD_EQUAL(PD_CUDSS_ANALYSIS, CUDSS_PHASE_ANALYSIS)
PD_EQUAL(PD_CUDSS_FACTORIZATION, CUDSS_PHASE_FACTORIZATION)
PD_EQUAL(PD_CUDSS_REFACTORIZATION, CUDSS_PHASE_REFACTORIZATION)
PD_EQUAL(PD_CUDSS_SOLVE, CUDSS_PHASE_SOLVE)
PD_EQUAL(PD_CUDSS_R_64F, CUDA_R_64F)
PD_EQUAL(PD_CUDSS_R_32I, CUDA_R_32I)
PD_EQUAL(PD_CUDSS_SYMMETRIC, CUDSS_MTYPE_SYMMETRIC)
PD_EQUAL(PD_CUDSS_LOWER, CUDSS_MVIEW_LOWER)
PD_EQUAL(PD_CUDSS_BASE_ZERO, CUDSS_BASE_ZERO)
PD_EQUAL(PD_CUDSS_COLUMNS, CUDSS_LAYOUT_COL_MAJOR)
PD_EQUAL(PD_CUDSS_DATA_INFO, CUDSS_DATA_INFO)
PD_EQUAL(PD_CUDSS_DATA_PIVOTS, CUDSS_DATA_NPIVOTS)
PD_EQUAL(PD_CUDSS_DATA_INERTIA, CUDSS_DATA_INERTIA)
PD_EQUAL(PD_CUDSS_CONFIG_PIVOT_TYPE, CUDSS_CONFIG_PIVOT_TYPE)
PD_EQUAL(PD_CUDSS_CONFIG_PIVOT_EPSILON, CUDSS_CONFIG_PIVOT_EPSILON)
PD_EQUAL(PD_CUDSS_CONFIG_DETERMINISTIC, CUDSS_CONFIG_DETERMINISTIC_MODE)
PD_EQUAL(PD_CUDSS_PIVOT_NONE, CUDSS_PIVOT_NONE)
static_assert(sizeof(cudssPivotType_t) == sizeof(int), "a pivot type is another kind of number");
PD_EQUAL(0, MAJOR_VERSION)
