/* Reads of records in transfers of 16 bytes. */
#ifndef PD_CUDA_RECORD_CUH
#define PD_CUDA_RECORD_CUH

#include "cuda/launch.cuh"

#include "base/real.h"

#include <string.h>

/* Reads a record of any type in such transfers. */
template <typename Record> static __device__ __forceinline__ Record pd_read_record(const Record *from) {
    static_assert(sizeof(Record) % sizeof(int4) == 0, "records are filled up");
    int4 words[sizeof(Record) / sizeof(int4)];
    Record record;
    for (size_t k = 0; k < sizeof(Record) / sizeof(int4); k++) words[k] = ((const int4 *)from)[k];
    memcpy(&record, words, sizeof record);
    return record;
}

/* Three numbers of a vertex, x, y and z, padded to four. */
enum { PD_PADDED = 4 };
struct alignas(16) pd_padded_row {
    real c[PD_PADDED];
};

#endif
