/* Lists whose length stands beside them in backend memory, with room for more than there are. */
#ifndef PD_COUNTED_H
#define PD_COUNTED_H

#include "base/real.h"

#include <stddef.h>
#include <stdint.h>

/* Of n that may be there as many as are; no count: all. */
PD_FUNCTION size_t pd_counted(size_t n, const uint64_t *count) { return count && *count < n ? (size_t)*count : n; }

#endif
