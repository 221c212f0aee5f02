/* The sizes of every element kind, read off the one table. */
#include "host/element_set.h"

pd_kind_shape pd_kind_shape_of(int kind) {
    static const pd_kind_shape shapes[] = {
#define PD_SHAPE(KIND, name, k, d, count) {k, d, (k) > 1 ? ((k) - 1) * (d) : 3, count, #name},
        PD_ELEMENT_TABLE(PD_SHAPE)
#undef PD_SHAPE
    };
    static const pd_kind_shape unknown = {0, 0, 0, 0, "unknown"};
    return kind >= 0 && kind < PD_KIND_COUNT ? shapes[kind] : unknown;
}
