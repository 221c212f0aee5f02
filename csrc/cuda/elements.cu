/* Loops over elements: potential, gradient, and batches of single elements; one thread per element, one kernel per kind.
 *
 * The kernels are macros expanded over the element table, as on the CPU: the element's formula is the same inlined function. The
 * gradient is written per corner and gathered per vertex in a fixed order: no atomics, the same bits in every run. */
#include "elements/position_based.h"
#include "elements/vertex_step.h"

#include "cuda/context.cuh"

/* F of element e at positions x. */
#define PD_DEFORMATION_AT(k, d, x, e, F)                                                                                                \
    do {                                                                                                                                \
        real at_[3 * (k)];                                                                                                              \
        for (int a_ = 0; a_ < (k); a_++)                                                                                                \
            for (int c_ = 0; c_ < 3; c_++) at_[3 * a_ + c_] = (x)[3 * (size_t)g.vertices[(size_t)(e) * (k) + (size_t)a_] + (size_t)c_]; \
        pd_element_deformation(k, d, at_, g.rest + (size_t)(e) * PD_REST_COUNT(k, d), F);                                               \
    } while (0)

/* ---- energy: partial [blocks,2], elastic and damping ------------------------------------------------------------------- */

#define PD_ENERGY_KERNEL(KIND, name, k, d, count)                                                                                   \
    static __global__ void name##_energy_kernel(pd_elements g, double inverse_h, const real *x_t, const real *x, double *partial) { \
        int begin = (int)blockIdx.x * PD_SUM_BLOCK, end = begin + PD_SUM_BLOCK < g.n ? begin + PD_SUM_BLOCK : g.n;                  \
        double elastic = 0.0, damped = 0.0;                                                                                         \
        for (int e = begin + (int)threadIdx.x; e < end; e += PD_THREADS) {                                                          \
            const real *p = g.parameters + (size_t)e * (count);                                                                     \
            real F[3 * (d)];                                                                                                        \
            PD_DEFORMATION_AT(k, d, x, e, F);                                                                                       \
            elastic += (double)pd_##name##_energy(F, p);                                                                            \
            if (!g.damping || g.damping[e] <= 0) continue;                                                                          \
            real Ft[3 * (d)];                                                                                                       \
            PD_DEFORMATION_AT(k, d, x_t, e, Ft);                                                                                    \
            damped += (double)g.damping[e] * inverse_h *                                                                            \
                      (double)pd_element_damping_energy(3 * (d), g.damping_hessian + (size_t)e * 9 * (d) * (d), F, Ft);             \
        }                                                                                                                           \
        elastic = pd_block_sum(elastic);                                                                                            \
        damped = pd_block_sum(damped);                                                                                              \
        if (threadIdx.x == 0) partial[2 * blockIdx.x] = elastic, partial[2 * blockIdx.x + 1] = damped;                              \
    }
PD_ELEMENT_TABLE(PD_ENERGY_KERNEL)

/* energies[kind] = sum of the elastic parts; the damping parts of all kinds add up. */
static __global__ void collect_energy_kernel(const double *partial, unsigned blocks, int kind, double *energies) {
    double elastic = 0.0, damped = 0.0;
    for (unsigned b = threadIdx.x; b < blocks; b += PD_THREADS) elastic += partial[2 * b], damped += partial[2 * b + 1];
    elastic = pd_block_sum(elastic);
    damped = pd_block_sum(damped);
    if (threadIdx.x == 0) energies[kind] += elastic, energies[PD_ENERGY_DAMPING] += damped;
}

static __global__ void vertex_energy_kernel(int n, const unsigned char *fixed, const real *masses, int dynamic, double half,
                                            const real *load, const real *x, const real *offset, double *partial) {
    int begin = (int)blockIdx.x * PD_SUM_BLOCK, end = begin + PD_SUM_BLOCK < n ? begin + PD_SUM_BLOCK : n;
    double sum = 0.0;
    for (int i = begin + (int)threadIdx.x; i < end; i += PD_THREADS) {
        if (fixed[i]) continue;
        double part = 0.0;
        for (size_t j = 3 * (size_t)i; j < 3 * (size_t)i + 3; j++)
            part += dynamic ? half * (double)offset[j] * (double)offset[j] : -(double)load[j] * (double)x[j];
        sum += (double)masses[i] * part;
    }
    sum = pd_block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

pd_status pd_potential(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, const real *offset,
                       double *energies) {
    int dynamic = step->inverse_h > 0;
    pd_status status = pd_memory_clear(context, energies, PD_ENERGY_COUNT * sizeof *energies);
    if (status) return status;
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements g = model->kinds[kind];
        unsigned blocks = pd_sum_blocks(g.n);
        if (blocks == 0) continue;
        switch (g.kind) {
#define PD_CASE(KIND, name, k, d, count) \
    case KIND: PD_LAUNCH_BLOCKS(context, name##_energy_kernel, blocks, g, step->inverse_h, step->x_t, x, model->partial_sums); break;
            PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
        default: break;
        }
        PD_LAUNCH_BLOCKS(context, collect_energy_kernel, 1, model->partial_sums, blocks, g.kind, energies);
    }
    unsigned blocks = pd_sum_blocks(model->n_vertices);
    PD_LAUNCH_BLOCKS(context, vertex_energy_kernel, blocks, model->n_vertices, model->fixed, model->masses, dynamic,
                     0.5 * step->inverse_h * step->inverse_h, step->load, x, offset, model->partial_sums);
    return pd_add_partial_sums(context, model->partial_sums, blocks, 1, energies + (dynamic ? PD_ENERGY_INERTIA : PD_ENERGY_LOAD));
}

/* ---- gradient ------------------------------------------------------------------------------------------------------------- */

#define PD_GRADIENT_KERNEL(KIND, name, k, d, count)                                                                         \
    static __global__ void name##_gradient_kernel(pd_elements g, real inverse_h, const real *x_t, const real *x, real *f) { \
        int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                               \
        if (e >= g.n) return;                                                                                               \
        const real *p = g.parameters + (size_t)e * (count);                                                                 \
        real F[3 * (d)], P[3 * (d)];                                                                                        \
        PD_DEFORMATION_AT(k, d, x, e, F);                                                                                   \
        pd_##name##_gradient(F, p, P);                                                                                      \
        if (g.damping && g.damping[e] > 0) {                                                                                \
            real Ft[3 * (d)], scale = g.damping[e] * inverse_h;                                                             \
            PD_DEFORMATION_AT(k, d, x_t, e, Ft);                                                                            \
            pd_element_damping_gradient(3 * (d), scale, g.damping_hessian + (size_t)e * 9 * (d) * (d), F, Ft, P);           \
        }                                                                                                                   \
        pd_element_forces_from_gradient(k, d, g.rest + (size_t)e * PD_REST_COUNT(k, d), P, f + (size_t)e * 3 * (k));        \
    }
PD_ELEMENT_TABLE(PD_GRADIENT_KERNEL)

static __global__ void gather_kernel(pd_model model, int dynamic, real inverse_h2, const real *load, const real *offset, real *gradient) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= model.n_vertices) return;
    real sum[3] = {0, 0, 0}, m = model.masses[i];
    if (!model.fixed[i]) {
        for (int c = model.corner_start[i]; c < model.corner_start[i + 1]; c++) {
            const real *f = model.corner_forces + 3 * (size_t)model.corners[c];
            for (int a = 0; a < 3; a++) sum[a] += f[a];
        }
        for (int a = 0; a < 3; a++)
            sum[a] += dynamic ? m * inverse_h2 * offset[3 * (size_t)i + (size_t)a] : -m * load[3 * (size_t)i + (size_t)a];
        if (model.subspace) pd_vertex_project(model.subspace + 9 * (size_t)i, sum);
    }
    for (int a = 0; a < 3; a++) gradient[3 * (size_t)i + (size_t)a] = sum[a];
}

pd_status pd_gradient(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, const real *offset,
                      real *gradient) {
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements g = model->kinds[kind];
        real *f = model->corner_forces + 3 * (size_t)g.first_corner;
        switch (g.kind) {
#define PD_CASE(KIND, name, k, d, count) \
    case KIND: PD_LAUNCH(context, name##_gradient_kernel, g.n, g, (real)step->inverse_h, step->x_t, x, f); break;
            PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
        default: break;
        }
    }
    return pd_gather_forces(context, model, step, offset, gradient);
}

pd_status pd_gather_forces(pd_context *context, const pd_model *model, const pd_step_data *step, const real *offset, real *gradient) {
    PD_LAUNCH(context, gather_kernel, model->n_vertices, *model, step->inverse_h > 0, (real)(step->inverse_h * step->inverse_h), step->load,
              offset, gradient);
    return PD_OK;
}

/* ---- moves of position-based dynamics ------------------------------------------------------------------------------------ */

#define PD_MOVES_KERNEL(KIND, name, k, d, count)                                                                                        \
    static __global__ void name##_moves_kernel(pd_elements g, const unsigned char *fixed, const real *masses, const real *x, real *f) { \
        int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                                           \
        if (e >= g.n) return;                                                                                                           \
        const int *vertices = g.vertices + (size_t)e * (k);                                                                             \
        real F[3 * (d)], T[3 * (d)], w[k];                                                                                              \
        PD_DEFORMATION_AT(k, d, x, e, F);                                                                                               \
        pd_##name##_projection(F, g.parameters + (size_t)e * (count), T);                                                               \
        for (int a = 0; a < (k); a++) w[a] = fixed[vertices[a]] ? (real)0 : (real)1 / masses[vertices[a]];                              \
        pd_element_moves(k, d, g.rest + (size_t)e * PD_REST_COUNT(k, d), w, F, T, f + (size_t)e * 3 * (k));                             \
    }
PD_PROJECTIVE_TABLE(PD_MOVES_KERNEL)

static __global__ void gather_moves_kernel(pd_model model, real scale, real *moves) {
    int i = (int)(blockIdx.x * PD_THREADS + threadIdx.x);
    if (i >= model.n_vertices) return;
    real sum[3] = {0, 0, 0};
    for (int c = model.corner_start[i]; c < model.corner_start[i + 1] && !model.fixed[i]; c++)
        for (int a = 0; a < 3; a++) sum[a] += model.corner_forces[3 * (size_t)model.corners[c] + (size_t)a];
    for (int a = 0; a < 3; a++) moves[3 * (size_t)i + (size_t)a] = scale * sum[a];
}

pd_status pd_constraint_moves(pd_context *context, const pd_model *model, double scale, const real *x, real *moves) {
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements g = model->kinds[kind];
        real *f = model->corner_forces + 3 * (size_t)g.first_corner;
        switch (g.kind) {
#define PD_CASE(KIND, name, k, d, count) \
    case KIND: PD_LAUNCH(context, name##_moves_kernel, g.n, g, model->fixed, model->masses, x, f); break;
            PD_PROJECTIVE_TABLE(PD_CASE)
#undef PD_CASE
        default: break;
        }
    }
    PD_LAUNCH(context, gather_moves_kernel, model->n_vertices, *model, (real)scale, moves);
    return PD_OK;
}

/* ---- damping ---------------------------------------------------------------------------------------------------------- */

/* One copy of each element's Hessian for all kernels that want it: its eigenvalues are the bulk of what there is to compile here. */
#define PD_HESSIAN_OF_F(KIND, name, k, d, count)                                                              \
    static __device__ __noinline__ void name##_hessian_of_F(const real *F, const real *p, int psd, real *H) { \
        pd_##name##_hessian(F, p, psd, H);                                                                    \
    }
PD_ELEMENT_TABLE(PD_HESSIAN_OF_F)

#define PD_DAMPING_KERNEL(KIND, name, k, d, count)                                                                    \
    static __global__ void name##_damping_kernel(pd_elements g, const real *x_t) {                                    \
        int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                         \
        if (e >= g.n) return;                                                                                         \
        real F[3 * (d)];                                                                                              \
        PD_DEFORMATION_AT(k, d, x_t, e, F);                                                                           \
        name##_hessian_of_F(F, g.parameters + (size_t)e * (count), 1, g.damping_hessian + (size_t)e * 9 * (d) * (d)); \
    }
PD_ELEMENT_TABLE(PD_DAMPING_KERNEL)

pd_status pd_damping_hessian(pd_context *context, const pd_model *model, const real *x_t) {
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements g = model->kinds[kind];
        if (!g.damping) continue;
        switch (g.kind) {
#define PD_CASE(KIND, name, k, d, count) \
    case KIND: PD_LAUNCH(context, name##_damping_kernel, g.n, g, x_t); break;
            PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
        default: break;
        }
    }
    return PD_OK;
}

/* ---- Hessian ------------------------------------------------------------------------------------------------------------ */

/* The elements' own Hessians of one kind, a batch at a time, go into scratch memory; then every row of the pattern adds those of its
 * corners, in order. Written and read once, 576 B of a tet in float, they cost less than the tet's Hessian computed at each of its
 * four corners, and no batch more memory than PD_HESSIAN_BATCH tets need, 151 MB. */
enum { PD_HESSIAN_BATCH = 1 << 18 };

size_t pd_hessian_scratch(const pd_model *model) {
    size_t largest = 0;
    for (int kind = 0; kind < model->n_kinds; kind++) {
        size_t n = (size_t)(model->kinds[kind].n < PD_HESSIAN_BATCH ? model->kinds[kind].n : PD_HESSIAN_BATCH), vertices = 0;
        switch (model->kinds[kind].kind) {
#define PD_CASE(KIND, name, k, d, count) \
    case KIND: vertices = k; break;
            PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
        default: break;
        }
        if (n * 9 * vertices * vertices > largest) largest = n * 9 * vertices * vertices;
    }
    return largest * sizeof(real);
}

#define PD_HESSIAN_KERNEL(KIND, name, k, d, count)                                                                                       \
    static __global__ void name##_hessian_kernel(pd_elements g, real inverse_h, const real *x, int psd, int begin, int end, real *out) { \
        int e = begin + (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                                    \
        if (e >= end) return;                                                                                                            \
        real F[3 * (d)], H[9 * (d) * (d)];                                                                                               \
        PD_DEFORMATION_AT(k, d, x, e, F);                                                                                                \
        name##_hessian_of_F(F, g.parameters + (size_t)e * (count), psd, H);                                                              \
        if (g.damping && g.damping[e] > 0) {                                                                                             \
            real scale = g.damping[e] * inverse_h;                                                                                       \
            const real *D = g.damping_hessian + (size_t)e * 9 * (d) * (d);                                                               \
            for (int i = 0; i < 9 * (d) * (d); i++) H[i] += scale * D[i];                                                                \
        }                                                                                                                                \
        pd_element_hessian_from_F(k, d, g.rest + (size_t)e * PD_REST_COUNT(k, d), H, out + (size_t)(e - begin) * 9 * (k) * (k));         \
    }
PD_ELEMENT_TABLE(PD_HESSIAN_KERNEL)

/* One thread per coordinate: row 3i+a of the Hessian gets what the corners of vertex i in the elements begin .. end of a kind add. */
template <int k>
static __global__ void gather_hessian_kernel(pd_model model, int first_corner, int begin, int end, const real *hessians, const int *slots,
                                             real *blocks) {
    int t = (int)(blockIdx.x * PD_THREADS + threadIdx.x), i = t / 3, a = t % 3;
    if (i >= model.n_vertices) return;
    for (int c = model.corner_start[i]; c < model.corner_start[i + 1]; c++) {
        int own = model.corners[c] - first_corner;
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

pd_status pd_hessian(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, int psd, int *const *slots,
                     const int *diagonal_slots, int n_blocks, real *blocks) {
    pd_status status = pd_memory_clear(context, blocks, (size_t)n_blocks * 9 * sizeof(real));
    if (status) return status;
    real inverse_h = (real)step->inverse_h, inverse_h2 = (real)(step->inverse_h * step->inverse_h);
    real *hessians = model->element_hessians;
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements g = model->kinds[kind];
        for (int begin = 0, end; begin < g.n; begin = end) {
            end = g.n - begin < PD_HESSIAN_BATCH ? g.n : begin + PD_HESSIAN_BATCH;
            switch (g.kind) {
#define PD_CASE(KIND, name, k, d, count)                                                                                                 \
    case KIND:                                                                                                                           \
        PD_LAUNCH(context, name##_hessian_kernel, end - begin, g, inverse_h, x, psd, begin, end, hessians);                              \
        PD_LAUNCH(context, gather_hessian_kernel<k>, 3LL * model->n_vertices, *model, g.first_corner, begin, end, hessians, slots[kind], \
                  blocks);                                                                                                               \
        break;
                PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
            default: break;
            }
        }
    }
    PD_LAUNCH(context, add_inertia_kernel, model->n_vertices, model->n_vertices, model->masses, inverse_h2, diagonal_slots, blocks);
    return PD_OK;
}

/* ---- batches ------------------------------------------------------------------------------------------------------------ */

#define PD_BATCH_KERNEL(KIND, name, k, d, count)                                                                                          \
    static __global__ void name##_batch_kernel(int quantity, int n, const real *x, const real *rest, const real *parameters, real *out) { \
        int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                                             \
        if (e >= n) return;                                                                                                               \
        const real *r = rest + (size_t)e * PD_REST_COUNT(k, d), *p = parameters + (size_t)e * (count);                                    \
        real F[3 * (d)], P[3 * (d)], H[9 * (d) * (d)];                                                                                    \
        pd_element_deformation(k, d, x + (size_t)e * 3 * (k), r, F);                                                                      \
        switch (quantity) {                                                                                                               \
        case PD_BATCH_ENERGY: out[e] = pd_##name##_energy(F, p); break;                                                                   \
        case PD_BATCH_GRADIENT:                                                                                                           \
            pd_##name##_gradient(F, p, P);                                                                                                \
            pd_element_forces_from_gradient(k, d, r, P, out + (size_t)e * 3 * (k));                                                       \
            break;                                                                                                                        \
        case PD_BATCH_HESSIAN:                                                                                                            \
        case PD_BATCH_HESSIAN_PSD:                                                                                                        \
            name##_hessian_of_F(F, p, quantity == PD_BATCH_HESSIAN_PSD, H);                                                               \
            pd_element_hessian_from_F(k, d, r, H, out + (size_t)e * 9 * (k) * (k));                                                       \
            break;                                                                                                                        \
        case PD_BATCH_BLOCKS:                                                                                                             \
            for (int a = 0; a < (k); a++) {                                                                                               \
                real along[3] = {0, 0, 0};                                                                                                \
                if ((k) > 1) pd_element_corner_gradient(k, d, r, a, along);                                                               \
                pd_##name##_block(F, p, along, out + ((size_t)e * (k) + (size_t)a) * 9);                                                  \
            }                                                                                                                             \
            break;                                                                                                                        \
        default: pd_##name##_gradient(F, p, out + (size_t)e * 3 * (d)); break;                                                            \
        }                                                                                                                                 \
    }
PD_ELEMENT_TABLE(PD_BATCH_KERNEL)

#define PD_PROJECT_KERNEL(KIND, name, k, d, count)                                                                            \
    static __global__ void name##_project_kernel(int n, const real *x, const real *rest, const real *parameters, real *out) { \
        int e = (int)(blockIdx.x * PD_THREADS + threadIdx.x);                                                                 \
        if (e >= n) return;                                                                                                   \
        real F[3 * (d)];                                                                                                      \
        pd_element_deformation(k, d, x + (size_t)e * 3 * (k), rest + (size_t)e * PD_REST_COUNT(k, d), F);                     \
        pd_##name##_projection(F, parameters + (size_t)e * (count), out + (size_t)e * 3 * (d));                               \
    }
PD_PROJECTIVE_TABLE(PD_PROJECT_KERNEL)

static pd_status project_batch(pd_context *context, int kind, int n, const real *x, const real *rest, const real *parameters, real *out) {
    switch (kind) {
#define PD_CASE(KIND, name, k, d, count) \
    case KIND: PD_LAUNCH(context, name##_project_kernel, n, n, x, rest, parameters, out); return PD_OK;
        PD_PROJECTIVE_TABLE(PD_CASE)
#undef PD_CASE
    default: return pd_fail(&context->error, PD_ERROR_TYPE, "kind: %d has no projection", kind);
    }
}

pd_status pd_element_batch(pd_context *context, int kind, int quantity, int n, const real *x, const real *rest, const real *parameters,
                           real *out) {
    if (quantity == PD_BATCH_PROJECTION) return project_batch(context, kind, n, x, rest, parameters, out);
    switch (kind) {
#define PD_CASE(KIND, name, k, d, count) \
    case KIND: PD_LAUNCH(context, name##_batch_kernel, n, quantity, n, x, rest, parameters, out); return PD_OK;
        PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
    default: return pd_fail(&context->error, PD_ERROR_VALUE, "kind: %d is not an element kind", kind);
    }
}
