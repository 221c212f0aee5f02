/* Loops over elements: their second derivatives, for damping and for the Hessian of G; one thread per element. */
#include "updates/elements/element_update.h"

#include "cuda/context.cuh"
#include "cuda/elements/element_hessian.cuh"

/* The elements' Hessians of one kind are written to scratch memory, a batch at a time. Then every row of the pattern adds those of its
 * corners, in order. This costs less than recomputing a tet's Hessian at each of its four corners. PD_HESSIAN_BATCH limits the memory:
 * 576 B per tet in float. */
enum { PD_HESSIAN_BATCH = 1 << 18 };

size_t pd_hessian_scratch(const pd_model *model) {
    size_t largest = 0;
    for (int kind = 0; kind < model->n_kinds; kind++) {
        size_t n = (size_t)(model->kinds[kind].n < PD_HESSIAN_BATCH ? model->kinds[kind].n : PD_HESSIAN_BATCH), vertices = 0;
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: vertices = k; break;
        PD_SWITCH(model->kinds[kind].kind, PD_ELEMENT_TABLE, PD_CASE)
#undef PD_CASE
        if (n * 9 * vertices * vertices > largest) largest = n * 9 * vertices * vertices;
    }
    return largest * sizeof(real);
}

/* out NULL: writes the elements' damping_hessian. One kernel has both uses, since the eigenvalues of an element dominate the compile
 * time. */
#define PD_HESSIAN_KERNEL(KIND, name, k, d, count, ...)                                                                             \
    static __global__ void name##_hessian_kernel(pd_elements g, real inverse_h, const real *x, pd_hessian_filter filter, int begin, \
                                                 int end, real *out) {                                                              \
        int e = begin + (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                               \
        if (e < end)                                                                                                                \
            pd_element_update_hessian_##name(&g, inverse_h, x, filter, e, out ? out + (size_t)(e - begin) * 9 * (k) * (k) : NULL);  \
    }
PD_ELEMENT_TABLE(PD_HESSIAN_KERNEL)

/* One thread per coordinate: adds to row 3i+a of the Hessian the corners of vertex i in the elements begin .. end of a kind. */
template <int k>
static __global__ void gather_hessian_kernel(int n, const int *corner_start, const int *corners, int first_corner, int begin, int end,
                                             const real *hessians, const int *slots, real *blocks) {
    int t = (int)(blockIdx.x * PD_THREADS + threadIdx.x), i = t / 3, a = t % 3;
    if (i >= n) return;
    for (int c = corner_start[i]; c < corner_start[i + 1]; c++) {
        int own = corners[c] - first_corner;
        if (own < begin * k || own >= end * k) continue;
        const real *row = hessians + (size_t)(own - begin * k) * 9 * k + (size_t)a * 3 * k;
        for (int b = 0; b < k; b++) {
            real *target = blocks + 9 * (size_t)slots[(size_t)own * k + (size_t)b] + 3 * (size_t)a;
            for (int j = 0; j < 3; j++) target[j] += row[3 * b + j];
        }
    }
}

static __global__ void add_inertia_kernel(int n, const real *masses, real inverse_h2, const int *diagonal_slots, real *blocks) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= n) return;
    for (size_t a = 0; a < 3; a++) blocks[9 * (size_t)diagonal_slots[i] + 4 * a] += masses[i] * inverse_h2;
}

pd_status pd_hessian(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, pd_hessian_filter filter,
                     int *const *slots, const int *diagonal_slots, int n_blocks, real *blocks) {
    pd_status status = pd_memory_clear(context, blocks, (size_t)n_blocks * 9 * sizeof(real));
    if (status) return status;
    real inverse_h = (real)step->inverse_h, inverse_h2 = (real)(step->inverse_h * step->inverse_h);
    real *hessians = model->element_hessians;
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements g = model->kinds[kind];
        for (int begin = 0, end; begin < g.n; begin = end) {
            end = g.n - begin < PD_HESSIAN_BATCH ? g.n : begin + PD_HESSIAN_BATCH;
#define PD_CASE(KIND, name, k, d, count, ...)                                                                                         \
    case KIND:                                                                                                                        \
        PD_LAUNCH(context, name##_hessian_kernel, end - begin, g, inverse_h, x, filter, begin, end, hessians);                        \
        PD_LAUNCH(context, gather_hessian_kernel<k>, 3LL * model->n_vertices, model->n_vertices, model->corner_start, model->corners, \
                  g.first_corner, begin, end, hessians, slots[kind], blocks);                                                         \
        break;
            PD_SWITCH(g.kind, PD_ELEMENT_TABLE, PD_CASE)
#undef PD_CASE
        }
    }
    PD_LAUNCH(context, add_inertia_kernel, model->n_vertices, model->n_vertices, model->masses, inverse_h2, diagonal_slots, blocks);
    return PD_OK;
}

pd_status pd_damping_hessians(pd_context *context, const pd_model *model, const real *x_t) {
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements g = model->kinds[kind];
        if (!g.damping) continue;
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: PD_LAUNCH(context, name##_hessian_kernel, g.n, g, (real)0, x_t, PD_FILTER_CLAMP, 0, g.n, (real *)NULL); break;
        PD_SWITCH(g.kind, PD_ELEMENT_TABLE, PD_CASE)
#undef PD_CASE
    }
    return PD_OK;
}
