/* Loops over elements: potential, gradient, Hessian, and batches of single elements.
 *
 * Each loop is one macro expanded over the element table, so that k and d are constants, the element's formula is inlined, and
 * a new element needs nothing here. Tets with the ARAP energy, the bulk of most scenes, have a vector path of their own
 * (arap_lanes.h); it calls the same formula for several tets at once. */
#include "elements/position_based.h"
#include "elements/vertex_step.h"

#include "cpu/arap_lanes.h"
#include "cpu/context.h"

#include <string.h>

/* Work of an element of k vertices and d columns, in ns: it says what is worth a team. Measured: 15 (springs) to 120 (co-rotated tets) for
 * an energy or gradient, 290 (springs) to 3300 (tets) for a Hessian put in its place. */
enum { GRADIENT_NANOSECONDS = 30 };
#define PD_HESSIAN_NANOSECONDS(k, d) (30 * (k) * (k) * (d))

/* Corner positions of one element. */
#define PD_GATHER(k, x, vertices, corners)                                                                        \
    do {                                                                                                          \
        for (int a_ = 0; a_ < (k); a_++)                                                                          \
            for (int c_ = 0; c_ < 3; c_++) (corners)[3 * a_ + c_] = (x)[3 * (size_t)(vertices)[a_] + (size_t)c_]; \
    } while (0)

/* F of element e of g at positions x. */
#define PD_DEFORMATION_AT(k, d, x, e, F)                                                   \
    do {                                                                                   \
        real at_[3 * (k)];                                                                 \
        PD_GATHER(k, x, g->vertices + (size_t)(e) * (k), at_);                             \
        pd_element_deformation(k, d, at_, g->rest + (size_t)(e) * PD_REST_COUNT(k, d), F); \
    } while (0)

/* ---- energy ---------------------------------------------------------------------------------------------------------- */

#define PD_ENERGY_BLOCK(KIND, name, k, d, count, ...)                                                                             \
    static void energy_##name(const pd_elements *g, const pd_step_data *step, const real *x, int begin, int end, double *elastic, \
                              double *damped) {                                                                                   \
        for (int e = begin; e < end; e++) {                                                                                       \
            const real *p = g->parameters + (size_t)e * (count);                                                                  \
            real F[3 * (d)];                                                                                                      \
            PD_DEFORMATION_AT(k, d, x, e, F);                                                                                     \
            *elastic += (double)pd_##name##_energy(F, p);                                                                         \
            if (!g->damping || g->damping[e] <= 0) continue;                                                                      \
            real Ft[3 * (d)];                                                                                                     \
            PD_DEFORMATION_AT(k, d, step->x_t, e, Ft);                                                                            \
            *damped += (double)g->damping[e] * step->inverse_h *                                                                  \
                       (double)pd_element_damping_energy(3 * (d), g->damping_hessian + (size_t)e * 9 * (d) * (d), F, Ft);         \
        }                                                                                                                         \
    }
PD_ELEMENT_TABLE(PD_ENERGY_BLOCK)

static void energy_block(const pd_elements *g, const pd_step_data *step, const real *x, int begin, int end, double *elastic,
                         double *damped) {
    if (g->kind == PD_ARAP_TET) {
        pd_arap_tet_energy_lanes(g, step, x, begin, end, elastic, damped);
        return;
    }
    switch (g->kind) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: energy_##name(g, step, x, begin, end, elastic, damped); break;
        PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
    default: break;
    }
}

pd_status pd_potential(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, const real *offset,
                       double *energies) {
    memset(energies, 0, PD_ENERGY_COUNT * sizeof *energies);
    double *partial = model->partial_sums;

    // elements, kind by kind
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements *g = &model->kinds[kind];
        int blocks = (g->n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK;
#pragma omp parallel for num_threads(pd_threads(context, g->n, GRADIENT_NANOSECONDS)) schedule(static)
        for (int b = 0; b < blocks; b++) {
            int end = (b + 1) * PD_SUM_BLOCK < g->n ? (b + 1) * PD_SUM_BLOCK : g->n;
            double elastic = 0.0, damped = 0.0;
            energy_block(g, step, x, b * PD_SUM_BLOCK, end, &elastic, &damped);
            partial[2 * b] = elastic;
            partial[2 * b + 1] = damped;
        }
        for (int b = 0; b < blocks; b++) {
            energies[g->kind] += partial[2 * b];
            energies[PD_ENERGY_DAMPING] += partial[2 * b + 1];
        }
    }

    // vertices: inertia, or the load of a quasistatic step
    int blocks = (model->n_vertices + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK;
    int dynamic = step->inverse_h > 0;
    double half = 0.5 * step->inverse_h * step->inverse_h;
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 5)) schedule(static)
    for (int b = 0; b < blocks; b++) {
        int end = (b + 1) * PD_SUM_BLOCK < model->n_vertices ? (b + 1) * PD_SUM_BLOCK : model->n_vertices;
        double sum = 0.0;
        for (int i = b * PD_SUM_BLOCK; i < end; i++) {
            if (model->fixed[i]) continue;
            double m = (double)model->masses[i], part = 0.0;
            for (int j = 3 * i; j < 3 * i + 3; j++)
                part += dynamic ? half * (double)offset[j] * (double)offset[j] : -(double)step->load[j] * (double)x[j];
            sum += m * part;
        }
        partial[b] = sum;
    }
    for (int b = 0; b < blocks; b++) energies[dynamic ? PD_ENERGY_INERTIA : PD_ENERGY_LOAD] += partial[b];
    return PD_OK;
}

/* ---- gradient --------------------------------------------------------------------------------------------------------- */

#define PD_GRADIENT_BLOCK(KIND, name, k, d, count, ...)                                                                       \
    static void gradient_##name(const pd_elements *g, const pd_step_data *step, const real *x, int begin, int end, real *f) { \
        for (int e = begin; e < end; e++) {                                                                                   \
            const real *p = g->parameters + (size_t)e * (count);                                                              \
            real F[3 * (d)], P[3 * (d)];                                                                                      \
            PD_DEFORMATION_AT(k, d, x, e, F);                                                                                 \
            pd_##name##_gradient(F, p, P);                                                                                    \
            if (g->damping && g->damping[e] > 0) {                                                                            \
                real Ft[3 * (d)], scale = g->damping[e] * (real)step->inverse_h;                                              \
                PD_DEFORMATION_AT(k, d, step->x_t, e, Ft);                                                                    \
                pd_element_damping_gradient(3 * (d), scale, g->damping_hessian + (size_t)e * 9 * (d) * (d), F, Ft, P);        \
            }                                                                                                                 \
            pd_element_forces_from_gradient(k, d, g->rest + (size_t)e * PD_REST_COUNT(k, d), P, f + (size_t)e * 3 * (k));     \
        }                                                                                                                     \
    }
PD_ELEMENT_TABLE(PD_GRADIENT_BLOCK)

static void gradient_block(const pd_elements *g, const pd_step_data *step, const real *x, int begin, int end, real *f) {
    if (g->kind == PD_ARAP_TET) {
        pd_arap_tet_gradient_lanes(g, step, x, begin, end, f);
        return;
    }
    switch (g->kind) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: gradient_##name(g, step, x, begin, end, f); break;
        PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
    default: break;
    }
}

pd_status pd_gradient(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, const real *offset,
                      real *gradient) {
    // every element writes dE/dx of its own corners
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements *g = &model->kinds[kind];
        int blocks = (g->n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK;
        real *f = model->corner_forces + 3 * (size_t)g->first_corner;
#pragma omp parallel for num_threads(pd_threads(context, g->n, GRADIENT_NANOSECONDS)) schedule(static)
        for (int b = 0; b < blocks; b++) {
            int end = (b + 1) * PD_SUM_BLOCK < g->n ? (b + 1) * PD_SUM_BLOCK : g->n;
            gradient_block(g, step, x, b * PD_SUM_BLOCK, end, f);
        }
    }

    return pd_gather_forces(context, model, step, offset, gradient);
}

pd_status pd_gather_forces(pd_context *context, const pd_model *model, const pd_step_data *step, const real *offset, real *gradient) {
    real inverse_h2 = (real)(step->inverse_h * step->inverse_h);
    int dynamic = step->inverse_h > 0;
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 20)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) {
        real sum[3] = {0, 0, 0}, m = model->masses[i];
        if (!model->fixed[i]) {
            for (int c = model->corner_start[i]; c < model->corner_start[i + 1]; c++) {
                const real *f = model->corner_forces + 3 * (size_t)model->corners[c];
                sum[0] += f[0];
                sum[1] += f[1];
                sum[2] += f[2];
            }
            for (int c = 0; c < 3; c++)
                sum[c] += dynamic ? m * inverse_h2 * offset[3 * (size_t)i + (size_t)c] : -m * step->load[3 * (size_t)i + (size_t)c];
            if (model->subspace) pd_vertex_project(model->subspace + 9 * (size_t)i, sum);
        }
        for (int c = 0; c < 3; c++) gradient[3 * (size_t)i + (size_t)c] = sum[c];
    }
    return PD_OK;
}

/* ---- moves of position-based dynamics ----------------------------------------------------------------------------------- */

#define PD_MOVES_BLOCK(KIND, name, k, d, count, ...)                                                                     \
    static void moves_##name(const pd_model *model, const pd_elements *g, const real *x, int begin, int end, real *f) {  \
        for (int e = begin; e < end; e++) {                                                                              \
            const int *vertices = g->vertices + (size_t)e * (k);                                                         \
            real F[3 * (d)], T[3 * (d)], w[k];                                                                           \
            PD_DEFORMATION_AT(k, d, x, e, F);                                                                            \
            pd_##name##_projection(F, g->parameters + (size_t)e * (count), T);                                           \
            for (int a = 0; a < (k); a++) w[a] = model->fixed[vertices[a]] ? 0 : 1 / model->masses[vertices[a]];         \
            pd_element_moves_within(k, d, g->rest + (size_t)e * PD_REST_COUNT(k, d), w, F, T, vertices, model->subspace, \
                                    f + (size_t)e * 3 * (k));                                                            \
        }                                                                                                                \
    }
PD_PROJECTIVE_TABLE(PD_MOVES_BLOCK)

static void moves_block(const pd_model *model, const pd_elements *g, const real *x, int begin, int end, real *f) {
    switch (g->kind) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: moves_##name(model, g, x, begin, end, f); break;
        PD_PROJECTIVE_TABLE(PD_CASE)
#undef PD_CASE
    default: break;
    }
}

pd_status pd_constraint_moves(pd_context *context, const pd_model *model, double scale, const real *x, real *moves) {
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements *g = &model->kinds[kind];
        int blocks = (g->n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK;
        real *f = model->corner_forces + 3 * (size_t)g->first_corner;
#pragma omp parallel for num_threads(pd_threads(context, g->n, GRADIENT_NANOSECONDS)) schedule(static)
        for (int b = 0; b < blocks; b++) {
            int end = (b + 1) * PD_SUM_BLOCK < g->n ? (b + 1) * PD_SUM_BLOCK : g->n;
            moves_block(model, g, x, b * PD_SUM_BLOCK, end, f);
        }
    }
#pragma omp parallel for num_threads(pd_threads(context, model->n_vertices, 20)) schedule(static)
    for (int i = 0; i < model->n_vertices; i++) {
        real sum[3] = {0, 0, 0};
        for (int c = model->corner_start[i]; c < model->corner_start[i + 1] && !model->fixed[i]; c++)
            for (int a = 0; a < 3; a++) sum[a] += model->corner_forces[3 * (size_t)model->corners[c] + (size_t)a];
        for (int a = 0; a < 3; a++) moves[3 * (size_t)i + (size_t)a] = (real)scale * sum[a];
    }
    return PD_OK;
}

/* ---- damping ---------------------------------------------------------------------------------------------------------- */

#define PD_DAMPING_BLOCK(KIND, name, k, d, count, ...)                                                                      \
    static void damping_##name(pd_context *context, const pd_elements *g, const real *x_t) {                                \
        const int team = pd_threads(context, g->n, PD_HESSIAN_NANOSECONDS(k, d));                                           \
        _Pragma("omp parallel for num_threads(team) schedule(static)") for (int e = 0; e < g->n; e++) {                     \
            real F[3 * (d)];                                                                                                \
            PD_DEFORMATION_AT(k, d, x_t, e, F);                                                                             \
            pd_##name##_hessian(F, g->parameters + (size_t)e * (count), 1, g->damping_hessian + (size_t)e * 9 * (d) * (d)); \
        }                                                                                                                   \
    }
PD_ELEMENT_TABLE(PD_DAMPING_BLOCK)

pd_status pd_damping_hessian(pd_context *context, const pd_model *model, const real *x_t) {
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements *g = &model->kinds[kind];
        if (!g->damping) continue;
        switch (g->kind) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: damping_##name(context, g, x_t); break;
            PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
        default: break;
        }
    }
    return PD_OK;
}

/* ---- Hessian ---------------------------------------------------------------------------------------------------------- */

/* Elements write into shared blocks one after another: the factorisation that follows costs far more than this loop, and
 * the order of the sums stays fixed. The elements' own Hessians, the costly part, are computed in parallel, a batch ahead. */
enum { PD_HESSIAN_BATCH = 256 };

#define PD_HESSIAN_BLOCK(KIND, name, k, d, count, ...)                                                                           \
    static void hessian_##name(pd_context *context, const pd_elements *g, const pd_step_data *step, const real *x, int psd,      \
                               const int *slots, real *blocks) {                                                                 \
        real batch[PD_HESSIAN_BATCH][9 * (k) * (k)];                                                                             \
        for (int begin = 0; begin < g->n; begin += PD_HESSIAN_BATCH) {                                                           \
            int end = begin + PD_HESSIAN_BATCH < g->n ? begin + PD_HESSIAN_BATCH : g->n;                                         \
            const int team = pd_threads(context, end - begin, PD_HESSIAN_NANOSECONDS(k, d));                                     \
            _Pragma("omp parallel for num_threads(team) schedule(static)") for (int e = begin; e < end; e++) {                   \
                const real *p = g->parameters + (size_t)e * (count);                                                             \
                real F[3 * (d)], H[9 * (d) * (d)];                                                                               \
                PD_DEFORMATION_AT(k, d, x, e, F);                                                                                \
                pd_##name##_hessian(F, p, psd, H);                                                                               \
                if (g->damping && g->damping[e] > 0) {                                                                           \
                    real scale = g->damping[e] * (real)step->inverse_h;                                                          \
                    const real *D = g->damping_hessian + (size_t)e * 9 * (d) * (d);                                              \
                    for (int i = 0; i < 9 * (d) * (d); i++) H[i] += scale * D[i];                                                \
                }                                                                                                                \
                pd_element_hessian_from_F(k, d, g->rest + (size_t)e * PD_REST_COUNT(k, d), H, batch[e - begin]);                 \
            }                                                                                                                    \
            for (int e = begin; e < end; e++)                                                                                    \
                for (int a = 0; a < (k); a++)                                                                                    \
                    for (int b = 0; b < (k); b++) {                                                                              \
                        real *block = blocks + 9 * (size_t)slots[((size_t)e * (k) + (size_t)a) * (k) + (size_t)b];               \
                        for (int i = 0; i < 3; i++)                                                                              \
                            for (int j = 0; j < 3; j++) block[3 * i + j] += batch[e - begin][(3 * a + i) * 3 * (k) + 3 * b + j]; \
                    }                                                                                                            \
        }                                                                                                                        \
    }
PD_ELEMENT_TABLE(PD_HESSIAN_BLOCK)

size_t pd_hessian_scratch(const pd_model *model) {
    (void)model;
    return 0; // a batch of elements fits on the stack
}

pd_status pd_hessian(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, int psd, int *const *slots,
                     const int *diagonal_slots, int n_blocks, real *blocks) {
    memset(blocks, 0, (size_t)n_blocks * 9 * sizeof(real));
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements *g = &model->kinds[kind];
        switch (g->kind) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: hessian_##name(context, g, step, x, psd, slots[kind], blocks); break;
            PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
        default: break;
        }
    }
    real inverse_h2 = (real)(step->inverse_h * step->inverse_h);
    for (int i = 0; i < model->n_vertices; i++)
        for (int c = 0; c < 3; c++) blocks[9 * (size_t)diagonal_slots[i] + 4 * (size_t)c] += model->masses[i] * inverse_h2;
    return PD_OK;
}

/* ---- batches ------------------------------------------------------------------------------------------------------------ */

#define PD_BATCH(KIND, name, k, d, count, ...)                                                                                  \
    static void batch_##name(pd_context *context, int quantity, int n, const real *x, const real *rest, const real *parameters, \
                             real *out) {                                                                                       \
        const int team = pd_threads(context, n, PD_HESSIAN_NANOSECONDS(k, d));                                                  \
        _Pragma("omp parallel for num_threads(team) schedule(static)") for (int e = 0; e < n; e++) {                            \
            const real *r = rest + (size_t)e * PD_REST_COUNT(k, d), *p = parameters + (size_t)e * (count);                      \
            real F[3 * (d)], P[3 * (d)], H[9 * (d) * (d)];                                                                      \
            pd_element_deformation(k, d, x + (size_t)e * 3 * (k), r, F);                                                        \
            switch (quantity) {                                                                                                 \
            case PD_BATCH_ENERGY: out[e] = pd_##name##_energy(F, p); break;                                                     \
            case PD_BATCH_GRADIENT:                                                                                             \
                pd_##name##_gradient(F, p, P);                                                                                  \
                pd_element_forces_from_gradient(k, d, r, P, out + (size_t)e * 3 * (k));                                         \
                break;                                                                                                          \
            case PD_BATCH_HESSIAN:                                                                                              \
            case PD_BATCH_HESSIAN_PSD:                                                                                          \
                pd_##name##_hessian(F, p, quantity == PD_BATCH_HESSIAN_PSD, H);                                                 \
                pd_element_hessian_from_F(k, d, r, H, out + (size_t)e * 9 * (k) * (k));                                         \
                break;                                                                                                          \
            case PD_BATCH_BLOCKS:                                                                                               \
                for (int a = 0; a < (k); a++) {                                                                                 \
                    real along[3] = {0, 0, 0};                                                                                  \
                    if ((k) > 1) pd_element_corner_gradient(k, d, r, a, along);                                                 \
                    pd_##name##_block(F, p, along, out + ((size_t)e * (k) + (size_t)a) * 9);                                    \
                }                                                                                                               \
                break;                                                                                                          \
            default: pd_##name##_gradient(F, p, out + (size_t)e * 3 * (d)); break;                                              \
            }                                                                                                                   \
        }                                                                                                                       \
    }
PD_ELEMENT_TABLE(PD_BATCH)

#define PD_PROJECT(KIND, name, k, d, count, ...)                                                                                 \
    static void project_##name(pd_context *context, int n, const real *x, const real *rest, const real *parameters, real *out) { \
        const int team = pd_threads(context, n, GRADIENT_NANOSECONDS);                                                           \
        _Pragma("omp parallel for num_threads(team) schedule(static)") for (int e = 0; e < n; e++) {                             \
            real F[3 * (d)];                                                                                                     \
            pd_element_deformation(k, d, x + (size_t)e * 3 * (k), rest + (size_t)e * PD_REST_COUNT(k, d), F);                    \
            pd_##name##_projection(F, parameters + (size_t)e * (count), out + (size_t)e * 3 * (d));                              \
        }                                                                                                                        \
    }
PD_PROJECTIVE_TABLE(PD_PROJECT)

static pd_status project_batch(pd_context *context, int kind, int n, const real *x, const real *rest, const real *parameters, real *out) {
    switch (kind) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: project_##name(context, n, x, rest, parameters, out); return PD_OK;
        PD_PROJECTIVE_TABLE(PD_CASE)
#undef PD_CASE
    default: return pd_fail(&context->error, PD_ERROR_TYPE, "kind: %d has no projection", kind);
    }
}

pd_status pd_element_batch(pd_context *context, int kind, int quantity, int n, const real *x, const real *rest, const real *parameters,
                           real *out) {
    if (quantity == PD_BATCH_PROJECTION) return project_batch(context, kind, n, x, rest, parameters, out);
    switch (kind) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: batch_##name(context, quantity, n, x, rest, parameters, out); return PD_OK;
        PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
    default: return pd_fail(&context->error, PD_ERROR_VALUE, "kind: %d is not an element kind", kind);
    }
}
