/* One element of a material of the caller, for both backends: output of its deformation gradient, input of the functions' results. */
#ifndef PD_UPDATES_ELEMENTS_CUSTOM_UPDATE_H
#define PD_UPDATES_ELEMENTS_CUSTOM_UPDATE_H

#include "elements/element.h"
#include "loops/element_loops.h"

PD_FUNCTION int pd_element_of_part(pd_element_part part, int i) { return part.listed ? part.listed[i] : part.first + i; }

/* Writes F [3,d] of element number i of the part. */
#define PD_CUSTOM_UPDATE(KIND, name, k, d, count, ...)                                                                              \
    PD_FUNCTION void pd_custom_update_deformation_##name(const pd_elements *g, pd_element_part part, int stride, const real *x,     \
                                                         const int *corners, int i, real *F) {                                      \
        const size_t e = (size_t)pd_element_of_part(part, i);                                                                       \
        real at[3 * (k)];                                                                                                           \
        pd_element_gather(k, stride, x, corners + e * (k), at);                                                                     \
        pd_element_deformation(k, d, at, g->rest + e * PD_REST_COUNT(k, d), F + (size_t)i * 3 * (d));                               \
    }                                                                                                                               \
    PD_FUNCTION void pd_custom_update_store_##name(const pd_elements *g, pd_element_part part, int from, int n, const real *values, \
                                                   int i) {                                                                         \
        real *p = g->parameters + (size_t)pd_element_of_part(part, i) * (count) + from;                                             \
        for (int c = 0; c < n; c++) p[c] = values[(size_t)i * (size_t)n + (size_t)c];                                               \
    }
PD_CUSTOM_TABLE(PD_CUSTOM_UPDATE)

#endif
