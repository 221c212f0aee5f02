/* One element of a sweep over constraints, for the loops of both backends; pd_constraint_sweep in sweep_loops.h documents the data. */
#ifndef PD_UPDATES_SWEEPS_CONSTRAINT_UPDATE_H
#define PD_UPDATES_SWEEPS_CONSTRAINT_UPDATE_H

#include "loops/backend.h"
#include "updates/sweeps/xpbd.h"

/* Corner positions at [k,3] and inverse masses w [k]. */
PD_FUNCTION void pd_constraint_gather(int k, const pd_model *model, const real *positions, const int *vertices, real *at, real *w) {
    for (int a = 0; a < k; a++) {
        for (int c = 0; c < 3; c++) at[3 * a + c] = positions[3 * (size_t)vertices[a] + (size_t)c];
        w[a] = model->fixed[vertices[a]] ? (real)0 : (real)1 / model->masses[vertices[a]];
    }
}

/* Pinned vertices are not written: elements of a colour may share them. */
PD_FUNCTION void pd_constraint_scatter(int k, const pd_model *model, const int *vertices, const real *moves, real *positions,
                                       real *correction) {
    for (int a = 0; a < k; a++)
        for (int c = 0; c < 3 && !model->fixed[vertices[a]]; c++) {
            positions[3 * (size_t)vertices[a] + (size_t)c] += moves[3 * a + c];
            correction[3 * (size_t)vertices[a] + (size_t)c] -= moves[3 * a + c];
        }
}

/* A neo-Hookean tet: the deviatoric constraint, then the hydrostatic one, so that the volume is satisfied last. */
PD_FUNCTION void pd_constraint_update_split(const pd_model *model, const pd_elements *g, int e, real compliance, real *multipliers,
                                            real *normals, real *positions, real *correction) {
    const int *vertices = g->vertices + (size_t)e * 4;
    const real *rest = g->rest + (size_t)e * 9, *p = g->parameters + (size_t)e * 2;
    real at[12], w[4], F[9], normal[9], moves[12] = {0}, *lambda = multipliers + 2 * (size_t)e, *kept = normals + 9 * (size_t)e;
    pd_constraint_gather(4, model, positions, vertices, at, w);
    pd_element_deformation(4, 3, at, rest, F);
    for (int i = 0; i < 9; i++) normal[i] = kept[i]; // in registers on a GPU
    real C = pd_xpbd_deviatoric(F, p, normal);
    for (int i = 0; i < 9; i++) kept[i] = normal[i];
    pd_xpbd_project(4, 3, rest, w, C, normal, compliance, vertices, model->subspace, lambda, at, moves);
    pd_element_deformation(4, 3, at, rest, F);
    C = pd_xpbd_hydrostatic(F, p, normal);
    pd_xpbd_project(4, 3, rest, w, C, normal, compliance, vertices, model->subspace, lambda + 1, at, moves);
    pd_constraint_scatter(4, model, vertices, moves, positions, correction);
}

#define PD_CONSTRAINT(KIND, name, k, d, count, constraints, corners)                                                                     \
    PD_FUNCTION void pd_constraint_update_##name(const pd_model *model, const pd_elements *g, int e, real compliance, real *multipliers, \
                                                 real *normals, real *positions, real *correction) {                                     \
        if ((constraints) == 2) {                                                                                                        \
            pd_constraint_update_split(model, g, e, compliance, multipliers, normals, positions, correction);                            \
            return;                                                                                                                      \
        }                                                                                                                                \
        const int *vertices = g->vertices + (size_t)e * (k);                                                                             \
        const real *rest = g->rest + (size_t)e * PD_REST_COUNT(k, d), *p = g->parameters + (size_t)e * (count);                          \
        real at[3 * (k)], w[k], F[3 * (d)], P[3 * (d)], moves[3 * (k)] = {0}, *normal = normals + (size_t)e * 3 * (d);                   \
        pd_constraint_gather(k, model, positions, vertices, at, w);                                                                      \
        pd_element_deformation(k, d, at, rest, F);                                                                                       \
        pd_##name##_gradient(F, p, P);                                                                                                   \
        real C = pd_xpbd_constraint(3 * (d), pd_##name##_energy(F, p), P, normal);                                                       \
        pd_xpbd_project(k, d, rest, w, C, normal, compliance, vertices, model->subspace, multipliers + e, at, moves);                    \
        pd_constraint_scatter(k, model, vertices, moves, positions, correction);                                                         \
    }
PD_FORMULA_TABLE(PD_CONSTRAINT)

#endif
