/* Loops over elements: potential, gradient, Hessian, and batches of single elements.
 *
 * element_update.h has the work on one element. Each loop is expanded over the element table, so a new element needs no change here.
 * Energies and gradients of ARAP tets, the bulk of most scenes, have a vector path (arap_lanes.h), and Hessians of StVK triangles another
 * (isotropic_lanes.h). They call the same formula for several elements at once. */
#include "updates/elements/element_update.h"

#include "updates/elements/element_batch_update.h"

#include "cpu/context.h"
#include "cpu/elements/arap_lanes.h"
#include "cpu/elements/damping.h"
#include "cpu/elements/isotropic_lanes.h"

#include <string.h>

/* Work of an element of k vertices and d columns, in ns, for the size of a team. An energy or gradient takes tens, a Hessian hundreds to
 * thousands. */
enum { GRADIENT_NANOSECONDS = 30 };
#define PD_HESSIAN_NANOSECONDS(k, d) (30 * (k) * (k) * (d))

/* ---- energy ---------------------------------------------------------------------------------------------------------- */

#define PD_ENERGY_BLOCK(KIND, name, k, d, count, ...)                                      \
    static double energy_##name(const pd_elements *g, const real *x, int begin, int end) { \
        double sum = 0.0;                                                                  \
        for (int e = begin; e < end; e++) sum += pd_element_update_energy_##name(g, x, e); \
        return sum;                                                                        \
    }
PD_ELEMENT_TABLE(PD_ENERGY_BLOCK)

static double energy_block(const pd_elements *g, const real *x, int begin, int end) {
    if (g->kind == PD_ARAP_TET) return pd_arap_tet_energy_lanes(g, x, begin, end);
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: return energy_##name(g, x, begin, end);
    PD_SWITCH(g->kind, PD_ELEMENT_TABLE, PD_CASE)
#undef PD_CASE
    return 0.0;
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
            partial[b] = energy_block(g, x, b * PD_SUM_BLOCK, end);
        }
        for (int b = 0; b < blocks; b++) energies[g->kind] += partial[b];
    }
    if (pd_is_damped(model, step)) energies[PD_ENERGY_DAMPING] = pd_damping_energy(context, model, step, x);

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
                part += dynamic ? half * (double)offset[j] * (double)offset[j] : -(double)step->external_acceleration[j] * (double)x[j];
            sum += m * part;
        }
        partial[b] = sum;
    }
    for (int b = 0; b < blocks; b++) energies[dynamic ? PD_ENERGY_INERTIA : PD_ENERGY_LOAD] += partial[b];
    return PD_OK;
}

/* ---- gradient --------------------------------------------------------------------------------------------------------- */

#define PD_GRADIENT_BLOCK(KIND, name, k, d, count, ...)                                                        \
    static void gradient_##name(const pd_elements *g, const real *x, int begin, int end, real *f) {            \
        for (int e = begin; e < end; e++) pd_element_update_gradient_##name(g, x, e, f + (size_t)e * 3 * (k)); \
    }
PD_ELEMENT_TABLE(PD_GRADIENT_BLOCK)

static void gradient_block(const pd_elements *g, const real *x, int begin, int end, real *f) {
    if (g->kind == PD_ARAP_TET) {
        pd_arap_tet_gradient_lanes(g, x, begin, end, f);
        return;
    }
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: gradient_##name(g, x, begin, end, f); break;
    PD_SWITCH(g->kind, PD_ELEMENT_TABLE, PD_CASE)
#undef PD_CASE
}

pd_status pd_corner_forces(pd_context *context, const pd_model *model, const real *x) {
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements *g = &model->kinds[kind];
        int blocks = (g->n + PD_SUM_BLOCK - 1) / PD_SUM_BLOCK;
        real *f = model->corner_forces + 3 * (size_t)g->first_corner;
#pragma omp parallel for num_threads(pd_threads(context, g->n, GRADIENT_NANOSECONDS)) schedule(static)
        for (int b = 0; b < blocks; b++) {
            int end = (b + 1) * PD_SUM_BLOCK < g->n ? (b + 1) * PD_SUM_BLOCK : g->n;
            gradient_block(g, x, b * PD_SUM_BLOCK, end, f);
        }
    }
    return PD_OK;
}

pd_status pd_gradient(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, const real *offset,
                      real *gradient) {
    pd_status status = pd_corner_forces(context, model, x);
    if (!status) status = pd_gather_forces(context, model, step, offset, gradient);
    if (!status && pd_is_damped(model, step)) pd_damping_add_gradient(context, model, step, x, gradient);
    return status;
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
                sum[c] += dynamic ? m * inverse_h2 * offset[3 * (size_t)i + (size_t)c]
                                  : -m * step->external_acceleration[3 * (size_t)i + (size_t)c];
            if (model->subspace) pd_vertex_project(model->subspace + 9 * (size_t)i, sum);
        }
        for (int c = 0; c < 3; c++) gradient[3 * (size_t)i + (size_t)c] = sum[c];
    }
    return PD_OK;
}

/* ---- moves of position-based dynamics ----------------------------------------------------------------------------------- */

#define PD_MOVES_BLOCK(KIND, name, k, d, count, ...)                                                                        \
    static void moves_##name(const pd_model *model, const pd_elements *g, const real *x, int begin, int end, real *f) {     \
        for (int e = begin; e < end; e++)                                                                                   \
            pd_element_update_moves_##name(g, model->fixed, model->masses, model->subspace, x, e, f + (size_t)e * 3 * (k)); \
    }
PD_PROJECTIVE_TABLE(PD_MOVES_BLOCK)

static void moves_block(const pd_model *model, const pd_elements *g, const real *x, int begin, int end, real *f) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: moves_##name(model, g, x, begin, end, f); break;
    PD_SWITCH(g->kind, PD_PROJECTIVE_TABLE, PD_CASE)
#undef PD_CASE
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

/* ---- Hessian ---------------------------------------------------------------------------------------------------------- */

/* The elements' Hessians, the costly part, are computed in parallel, a batch at a time that fits the cache. Then every thread visits the
 * batch and adds the rows of its own vertices. No two threads write to one block, and sums are in the order of the elements for any
 * number of threads. */
enum { PD_HESSIAN_BATCH = 256 };

size_t pd_hessian_scratch(const pd_model *model) {
    (void)model;
    return (size_t)PD_HESSIAN_BATCH * 9 * PD_MAX_VERTICES * PD_MAX_VERTICES * sizeof(real);
}

/* Elements in one call below. */
#define PD_HESSIAN_WIDTH(kind) ((kind) == PD_STVK_TRIANGLE ? PD_ISOTROPIC_LANES : 1)

#define PD_HESSIAN_BLOCK(KIND, name, k, d, count, ...)                                                                                   \
    static void fill_##name(const pd_elements *g, real inverse_h, const real *x, pd_hessian_filter filter, int e, int end, real *to) {   \
        if ((KIND) == PD_STVK_TRIANGLE)                                                                                                  \
            pd_stvk_triangle_hessian_lanes(g, inverse_h, x, filter, e, end - e < PD_ISOTROPIC_LANES ? end - e : PD_ISOTROPIC_LANES, to); \
        else                                                                                                                             \
            pd_element_update_hessian_##name(g, inverse_h, x, filter, e, to);                                                            \
    }                                                                                                                                    \
    static void hessian_##name(pd_context *context, const pd_elements *g, const pd_step_data *step, const real *x,                       \
                               pd_hessian_filter filter, const int *slots, real *batch, real *blocks) {                                  \
        for (int begin = 0; begin < g->n; begin += PD_HESSIAN_BATCH) {                                                                   \
            const int end = g->n - begin < PD_HESSIAN_BATCH ? g->n : begin + PD_HESSIAN_BATCH;                                           \
            const int team = pd_threads(context, end - begin, PD_HESSIAN_NANOSECONDS(k, d));                                             \
            _Pragma("omp parallel for num_threads(team) schedule(static)") for (int e = begin; e < end; e += PD_HESSIAN_WIDTH(KIND))     \
                fill_##name(g, (real)step->inverse_h, x, filter, e, end, batch + (size_t)(e - begin) * 9 * (k) * (k));                   \
            _Pragma("omp parallel for num_threads(team) schedule(static, 1)") for (int own = 0; own < team;                              \
                                                                                   own++) for (int corner = begin * (k);                 \
                                                                                               corner < end * (k); corner++) {           \
                if (g->vertices[corner] / 16 % team != own) continue;                                                                    \
                const real *rows = batch + (size_t)(corner - begin * (k)) * 9 * (k);                                                     \
                for (int b = 0; b < (k); b++) {                                                                                          \
                    real *block = blocks + 9 * (size_t)slots[(size_t)corner * (k) + (size_t)b];                                          \
                    for (int i = 0; i < 3; i++)                                                                                          \
                        for (int j = 0; j < 3; j++) block[3 * i + j] += rows[3 * (k) * i + 3 * b + j];                                   \
                }                                                                                                                        \
            }                                                                                                                            \
        }                                                                                                                                \
    }
PD_ELEMENT_TABLE(PD_HESSIAN_BLOCK)

/* Tells whether the Hessian of each element is a multiple of the identity in F: of bending that is flat at rest. */
static int has_scalar_hessians(const pd_elements *g) {
    if (g->kind != PD_BENDING) return 0;
    for (int e = 0; e < g->n; e++)
        if (g->parameters[2 * (size_t)e + 1] > 0) return 0;
    return 1;
}

/* The same blocks and order of sums as in the function above, as multiples of the identity and without a matrix per element. */
static void scalar_hessians(pd_context *context, const pd_elements *g, const pd_step_data *step, const int *slots, real *blocks) {
    enum { CORNERS = 4, OTHERS = CORNERS - 1 };
    const int team = pd_threads(context, g->n, PD_HESSIAN_NANOSECONDS(CORNERS, 1) / 8);
#pragma omp parallel for num_threads(team) schedule(static, 1)
    for (int own = 0; own < team; own++)
        for (int e = 0; e < g->n; e++) {
            const real *rest = g->rest + (size_t)e * OTHERS;
            real w = g->parameters[2 * (size_t)e], K[CORNERS][CORNERS];
            if (g->damping && g->damping[e] > 0) w += g->damping[e] * (real)step->inverse_h * g->damping_hessian[9 * (size_t)e];
            for (int j = 0; j < OTHERS; j++)
                for (int i = 0; i <= j; i++) K[i + 1][j + 1] = K[j + 1][i + 1] = rest[i] * (w * rest[j]);
            for (int j = 1; j < CORNERS; j++) K[0][j] = K[j][0] = -(K[1][j] + K[2][j] + K[3][j]);
            K[0][0] = -(K[0][1] + K[0][2] + K[0][3]);
            for (int a = 0; a < CORNERS; a++) {
                const int *to = slots + (size_t)CORNERS * ((size_t)CORNERS * (size_t)e + (size_t)a);
                if (g->vertices[(size_t)CORNERS * (size_t)e + (size_t)a] / 16 % team != own) continue;
                for (int b = 0; b < CORNERS; b++)
                    for (int c = 0; c < 9; c += 4) blocks[9 * (size_t)to[b] + (size_t)c] += K[a][b];
            }
        }
}

pd_status pd_hessian(pd_context *context, const pd_model *model, const pd_step_data *step, const real *x, pd_hessian_filter filter,
                     int *const *slots, const int *diagonal_slots, int n_blocks, real *blocks) {
    memset(blocks, 0, (size_t)n_blocks * 9 * sizeof(real));
    for (int kind = 0; kind < model->n_kinds; kind++) {
        const pd_elements *g = &model->kinds[kind];
        if (has_scalar_hessians(g)) {
            scalar_hessians(context, g, step, slots[kind], blocks);
            continue;
        }
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: hessian_##name(context, g, step, x, filter, slots[kind], model->element_hessians, blocks); break;
        PD_SWITCH(g->kind, PD_ELEMENT_TABLE, PD_CASE)
#undef PD_CASE
    }
    real inverse_h2 = (real)(step->inverse_h * step->inverse_h);
    for (int i = 0; i < model->n_vertices; i++)
        for (int c = 0; c < 3; c++) blocks[9 * (size_t)diagonal_slots[i] + 4 * (size_t)c] += model->masses[i] * inverse_h2;
    return PD_OK;
}

/* ---- batches ------------------------------------------------------------------------------------------------------------ */

#define PD_BATCH(KIND, name, k, d, count, ...)                                                                                    \
    static void batch_##name(pd_context *context, int quantity, pd_hessian_filter filter, int n, const real *x, const real *rest, \
                             const real *parameters, real *out) {                                                                 \
        const int team = pd_threads(context, n, PD_HESSIAN_NANOSECONDS(k, d));                                                    \
        _Pragma("omp parallel for num_threads(team) schedule(static)") for (int e = 0; e < n; e++)                                \
            pd_batch_update_##name(quantity, filter, (size_t)e, x, rest, parameters, out);                                        \
    }
PD_ELEMENT_TABLE(PD_BATCH)

#define PD_PROJECT(KIND, name, k, d, count, ...)                                                                                 \
    static void project_##name(pd_context *context, int n, const real *x, const real *rest, const real *parameters, real *out) { \
        const int team = pd_threads(context, n, GRADIENT_NANOSECONDS);                                                           \
        _Pragma("omp parallel for num_threads(team) schedule(static)") for (int e = 0; e < n; e++)                               \
            pd_projection_update_##name((size_t)e, x, rest, parameters, out);                                                    \
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

pd_status pd_element_batch(pd_context *context, int kind, int quantity, pd_hessian_filter filter, int n, const real *x, const real *rest,
                           const real *parameters, real *out) {
    if (quantity == PD_BATCH_PROJECTION) return project_batch(context, kind, n, x, rest, parameters, out);
    switch (kind) {
#define PD_CASE(KIND, name, k, d, count, ...) \
    case KIND: batch_##name(context, quantity, filter, n, x, rest, parameters, out); return PD_OK;
        PD_ELEMENT_TABLE(PD_CASE)
#undef PD_CASE
    default: return pd_fail(&context->error, PD_ERROR_VALUE, "kind: %d is not an element kind", kind);
    }
}
