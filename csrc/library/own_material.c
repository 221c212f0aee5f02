/* A material of the C interface with a function of the caller as its energy: base/material_functions.h for pdgpu_material_functions. */
#include "library/scene_object.h"

#include "base/symmetric.h"
#include "elements/custom.h"
#include "mesh/material_values.h"
#include "mesh/rest_shape.h"

#include <stdlib.h>
#include <string.h>

/* Functions, and their batch. */
typedef struct own_material {
    pdgpu_material_functions given;
    pd_material_functions *batch;
} own_material;

static pd_status evaluate(void *user, pd_material_quantity quantity, int n) {
    const own_material *self = user;
    const pdgpu_material_functions *given = &self->given;
    pdgpu_status (*const functions[])(void *, int, const int *, const double *, double *) = {given->energy, given->stress, given->hessian};
    return (pd_status)functions[quantity](given->user, n, self->batch->elements, self->batch->F, self->batch->out);
}

pd_status pd_own_material_connect(pd_material_functions *out, const pd_element_group *group, int first, pd_arena *arena, pd_error *error) {
    const size_t rows = 3 * (size_t)pd_kind_shape_of(group->kind).columns,
                 most = group->n < PD_MATERIAL_BATCH ? (size_t)group->n : PD_MATERIAL_BATCH;
    own_material *own = pd_arena_take(arena, 1, sizeof *own, error);
    if (!own) return PD_ERROR_MEMORY;
    *own = (own_material){*group->own, out};
    *out = (pd_material_functions){.name = "material functions",
                                   .first = first,
                                   .n = group->n,
                                   .has_hessian = group->own->hessian != NULL,
                                   .most = (int)most,
                                   .F = pd_arena_take(arena, most, rows * sizeof(double), error),
                                   .out = pd_arena_take(arena, most, rows * rows * sizeof(double), error),
                                   .shifted = pd_arena_take(arena, 2 * most, rows * sizeof(double), error),
                                   .elements = pd_arena_take(arena, most, sizeof(int), error),
                                   .user = own,
                                   .evaluate = evaluate};
    return out->F && out->out && out->shifted && out->elements ? PD_OK : PD_ERROR_MEMORY;
}

/* Median of the positive eigenvalues of a symmetric matrix [n,n], as its upper triangle by rows, and its largest one. */
static void spectrum(const double *upper, int n, double *middle, double *largest) {
    real A[81], Z[81], d[9], e[9];
    double size = 0.0, sorted[9];
    int count = 0;
    *middle = *largest = 0.0;
    for (int i = 0; i < n * (n + 1) / 2; i++) size = fmax(size, fabs(upper[i]));
    if (!(size > 0.0)) return;
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) A[n * i + j] = A[n * j + i] = (real)(*upper++ / size);
    pd_symmetric_tridiagonalise(n, A, Z, d, e);
    e[n - 1] = 0;
    pd_tridiagonal_eigen(n, d, e, Z);
    for (int i = 0; i < n; i++) *largest = fmax(*largest, (double)d[i]);
    for (int i = 0; i < n; i++) {
        if (!((double)d[i] > sqrt((double)PD_EPSILON) * *largest)) continue;
        int at = count++;
        while (at > 0 && sorted[at - 1] > (double)d[i]) sorted[at] = sorted[at - 1], at--;
        sorted[at] = (double)d[i];
    }
    *largest *= size;
    if (count) *middle = 0.5 * size * (sorted[(count - 1) / 2] + sorted[count / 2]);
}

/* The parameters of elements/custom.h that do not change, from Hessians at F = 1. */
static pd_status rest_parameters(const pd_element_group *group, const double *measures, double *parameters, pd_error *error) {
    const pd_kind_shape shape = pd_kind_shape_of(group->kind);
    const int d = shape.columns, width = pd_material_width(d);
    pd_arena arena = {NULL, 0, 0};
    pd_material_functions f;
    double *found = NULL;
    pd_status status = PD_OK;
    PD_TRY(pd_own_material_connect(&f, group, 0, &arena, error));
    if (!(found = pd_arena_take(&arena, (size_t)f.most, (size_t)width * sizeof *found, error))) PD_TRY(PD_ERROR_MEMORY);
    for (int begin = 0; begin < group->n; begin += f.most) {
        const int n = group->n - begin < f.most ? group->n - begin : f.most;
        for (int i = 0; i < n; i++) {
            f.elements[i] = begin + i;
            for (int c = 0; c < 3 * d; c++) f.F[3 * d * i + c] = (double)(c / d == c % d);
        }
        PD_TRY(pd_material_values(&f, PD_REQUEST_HESSIAN, n, d, found, error));
        for (int i = 0; i < n; i++) {
            double *p = parameters + (size_t)(begin + i) * (size_t)shape.parameters, m = measures[begin + i];
            spectrum(found + (size_t)i * (size_t)width + 1 + 3 * d, 3 * d, p + PD_CUSTOM_WEIGHT, p + PD_CUSTOM_LARGEST);
            p[PD_CUSTOM_WEIGHT] *= m, p[PD_CUSTOM_LARGEST] *= m, p[PD_CUSTOM_MEASURE] = m;
        }
    }
done:
    pd_arena_free(&arena);
    return status;
}

static pd_status make_group(pd_element_group *out, pdgpu_scene *scene, const pd_body *body, const pdgpu_material_functions *functions,
                            pd_error *error) {
    const int solid = body->type == PDGPU_SOLID, k = solid ? 4 : 3;
    const size_t n = (size_t)body->n_elements;
    const pd_kind_shape shape = pd_kind_shape_of(solid ? PD_CUSTOM_TET : PD_CUSTOM_TRIANGLE);
    pd_status status = PD_OK;
    double *rest = pd_arena_take(&scene->arena, n, (size_t)shape.rest * sizeof *rest, error);
    double *parameters = pd_arena_take(&scene->arena, n, (size_t)shape.parameters * sizeof *parameters, error);
    double *measures = malloc((n + 1) * sizeof *measures);
    int *vertices = pd_arena_copy(&scene->arena, body->elements, n, (size_t)k * sizeof *vertices, error);
    pdgpu_material_functions *own = pd_arena_copy(&scene->arena, functions, 1, sizeof *own, error);
    if (!rest || !parameters || !measures || !vertices || !own)
        PD_TRY(pd_fail(error, PD_ERROR_MEMORY, "out of memory for %d elements", body->n_elements));
    PD_TRY(pd_rest_shapes(rest, measures, body->points, body->elements, body->n_elements, solid ? PD_TOPOLOGY_TET : PD_TOPOLOGY_TRIANGLE,
                          error));
    *out = (pd_element_group){.kind = solid ? PD_CUSTOM_TET : PD_CUSTOM_TRIANGLE,
                              .n = body->n_elements,
                              .vertices = vertices,
                              .rest = rest,
                              .parameters = parameters,
                              .own = own};
    PD_TRY(rest_parameters(out, measures, parameters, error));
    for (size_t i = 0; i < n * (size_t)k; i++) vertices[i] += body->first;
done:
    free(measures);
    return status;
}

pdgpu_status pdgpu_scene_add_material_functions(pdgpu_scene *scene, int body, const pdgpu_material_functions *functions,
                                                pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    pd_element_group group;
    pd_body *owner = pd_scene_body(scene, body, &found);
    if (!owner) PD_TRY(PD_ERROR_VALUE);
    PD_TRY(pd_need(functions, "functions", &found));
    if (!functions->energy || !functions->stress)
        PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "functions: %s is NULL", functions->energy ? "stress" : "energy"));
    if (owner->type != PDGPU_SOLID && owner->type != PDGPU_SHELL)
        PD_TRY(
            pd_fail(&found, PD_ERROR_TYPE, "functions: of a deformation gradient, which solids and shells have; body %d is neither", body));
    for (int g = 0; g < owner->n_groups; g++)
        if (owner->groups[g].own) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "functions: body %d has some already", body));
    PD_TRY(make_group(&group, scene, owner, functions, &found));
    owner->groups[owner->n_groups++] = group;
done:
    return pd_report(status, &found, error);
}
