/* Conversion of a material's constants to elements of elements/table.h. */
#include "library/scene_object.h"

#include "mesh/rest_shape.h"
#include "mesh/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONSTANTS = 3 };

/* The formulas of an element's parameters from constants c and its rest measure m. */
typedef enum form {
    FORM_SPRING,       /* c0, m */
    FORM_SCALED,       /* c0 m */
    FORM_LAME,         /* 2 c0 m, c1 m; with one constant 2 c0 m */
    FORM_STRAIN_LIMIT, /* c2 m, c0, c1 */
    FORM_BENDING       /* 3 c0/m, |F| at rest */
} form;

typedef struct material {
    const char *name;
    int kind_on_tets, kind_on_triangles, kind_on_edges; /* -1: none. Springs and hinges are in the last two */
    form form;
    int n_constants;
    const char *constants[MOST_CONSTANTS];
} material;

static const material MATERIALS[PDGPU_MATERIAL_COUNT] = {
    [PDGPU_SPRING] = {"PDGPU_SPRING", PD_SPRING, PD_SPRING, PD_SPRING, FORM_SPRING, 1, {"k"}},
    [PDGPU_ARAP] = {"PDGPU_ARAP", PD_ARAP_TET, PD_ARAP_TRIANGLE, -1, FORM_LAME, 1, {"mu"}},
    [PDGPU_VOLUME] = {"PDGPU_VOLUME", PD_VOLUME, -1, -1, FORM_SCALED, 1, {"k"}},
    [PDGPU_AREA] = {"PDGPU_AREA", -1, PD_AREA, -1, FORM_SCALED, 1, {"k"}},
    [PDGPU_STRAIN_LIMIT] =
        {"PDGPU_STRAIN_LIMIT", PD_STRAIN_LIMIT_TET, PD_STRAIN_LIMIT_TRIANGLE, -1, FORM_STRAIN_LIMIT, 3, {"least", "greatest", "k"}},
    [PDGPU_NEO_HOOKEAN] = {"PDGPU_NEO_HOOKEAN", PD_NEO_HOOKEAN_TET, -1, -1, FORM_LAME, 2, {"mu", "lam"}},
    [PDGPU_STVK] = {"PDGPU_STVK", PD_STVK_TET, PD_STVK_TRIANGLE, -1, FORM_LAME, 2, {"mu", "lam"}},
    [PDGPU_COROTATED] = {"PDGPU_COROTATED", PD_COROTATED_TET, PD_COROTATED_TRIANGLE, -1, FORM_LAME, 2, {"mu", "lam"}},
    [PDGPU_BENDING] = {"PDGPU_BENDING", -1, PD_BENDING, -1, FORM_BENDING, 1, {"k_b"}},
    [PDGPU_LOG_NEO_HOOKEAN] = {"PDGPU_LOG_NEO_HOOKEAN", PD_LOG_NEO_HOOKEAN_TET, -1, -1, FORM_LAME, 2, {"mu", "lam"}},
    [PDGPU_FIXED_COROTATED] = {"PDGPU_FIXED_COROTATED", PD_FIXED_COROTATED_TET, -1, -1, FORM_LAME, 2, {"mu", "lam"}},
};

const char *pd_material_name(pdgpu_material material) { return MATERIALS[material].name; }

static int kind_on(const material *self, pdgpu_body_type type) {
    switch (type) {
    case PDGPU_SOLID: return self->kind_on_tets;
    case PDGPU_SHELL: return self->kind_on_triangles;
    case PDGPU_ROD: return self->kind_on_edges;
    default: return -1;
    }
}

static pd_status check_constants(const material *self, pdgpu_material which, const double *constants, int n_rows, pd_error *error) {
    for (int r = 0; r < n_rows; r++) {
        const double *c = constants + (size_t)r * (size_t)self->n_constants;
        for (int i = 0; i < self->n_constants; i++) {
            if (!(fabs(c[i]) < (double)INFINITY))
                return pd_fail(error, PD_ERROR_NOT_FINITE, "constants: %s of %s at row %d is %g, which is not finite", self->constants[i],
                               self->name, r, c[i]);
            if (!(c[i] >= 0.0))
                return pd_fail(error, PD_ERROR_VALUE, "constants: %s of %s at row %d must be at least 0, got %g", self->constants[i],
                               self->name, r, c[i]);
        }
        if (which == PDGPU_NEO_HOOKEAN && !(c[1] > c[0] / 3.0))
            return pd_fail(error, PD_ERROR_VALUE,
                           "constants: lam of %s at row %d must be greater than mu/3, or the rest shape is unstable; got lam = %g, mu = %g",
                           self->name, r, c[1], c[0]);
        if (which == PDGPU_STRAIN_LIMIT && !(c[0] <= 1.0 && c[1] >= 1.0))
            return pd_fail(error, PD_ERROR_VALUE, "constants: %s at row %d needs least <= 1 <= greatest, got %g and %g", self->name, r,
                           c[0], c[1]);
    }
    return PD_OK;
}

/* The rows of a body for a material; the caller owns them. */
static pd_status rows_of(const pd_body *body, form form, int **rows, int *n, int *k, pd_topology *topology, pd_error *error) {
    int width = body->type == PDGPU_SOLID ? 4 : body->type == PDGPU_SHELL ? 3 : 2;
    *k = width;
    *topology = width == 4 ? PD_TOPOLOGY_TET : width == 3 ? PD_TOPOLOGY_TRIANGLE : PD_TOPOLOGY_EDGE;
    if (form == FORM_BENDING) {
        *k = 4, *topology = PD_TOPOLOGY_HINGE;
        return pd_hinges_create(rows, n, body->elements, body->n_elements, body->n_points, error);
    }
    if (form == FORM_SPRING && body->type != PDGPU_ROD) {
        *k = 2, *topology = PD_TOPOLOGY_EDGE;
        return pd_edges_create(rows, n, body->elements, body->n_elements, width, body->n_points, error);
    }
    *n = body->n_elements;
    if (!(*rows = malloc((size_t)(*n * width) * sizeof **rows))) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for %d rows", *n);
    memcpy(*rows, body->elements, (size_t)(*n * width) * sizeof **rows);
    return PD_OK;
}

/* |F| of a hinge at rest, m, for rest gradients g [3]; exactly 0 for a hinge that is flat to rounding, so that its energy is quadratic. */
static double rest_curvature(const double *points, const int *corners, const double *g) {
    double sum[3] = {0.0, 0.0, 0.0}, size = 0.0, norm;
    for (int i = 0; i < 3; i++) {
        double edge[3], square = 0.0;
        for (int c = 0; c < 3; c++) {
            edge[c] = points[3 * corners[i + 1] + c] - points[3 * corners[0] + c];
            sum[c] += g[i] * edge[c];
            square += edge[c] * edge[c];
        }
        size += fabs(g[i]) * sqrt(square);
    }
    norm = sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]);
    return norm <= 1e-9 * size ? 0.0 : norm;
}

pd_status pd_material_group(pd_element_group *out, pdgpu_scene *scene, const pd_body *body, pdgpu_material material,
                            const double *constants, int n_rows, pd_error *error) {
    static const char *const types[] = {"a solid", "a shell", "a rod", "particles"};
    const struct material *self = &MATERIALS[material];
    pd_status status = PD_OK;
    int kind = kind_on(self, body->type), *rows = NULL, n = 0, k = 0;
    pd_topology topology;
    double *measures = NULL;
    if (kind < 0) return pd_fail(error, PD_ERROR_TYPE, "material: %s cannot be given to %s", self->name, types[body->type]);
    PD_TRY(rows_of(body, self->form, &rows, &n, &k, &topology, error));
    if (n_rows != 1 && n_rows != n)
        PD_TRY(pd_fail(error, PD_ERROR_VALUE, "n_rows: expected 1, or %d for the elements of %s, got %d", n, self->name, n_rows));
    PD_TRY(check_constants(self, material, constants, n_rows, error));

    pd_kind_shape shape = pd_kind_shape_of(kind);
    size_t p = (size_t)shape.parameters, r = (size_t)shape.rest;
    double *rest = pd_arena_take(&scene->arena, (size_t)n, r * sizeof *rest, error);
    double *parameters = rest ? pd_arena_take(&scene->arena, (size_t)n, p * sizeof *parameters, error) : NULL;
    int *vertices = parameters ? pd_arena_copy(&scene->arena, rows, (size_t)n, (size_t)k * sizeof *vertices, error) : NULL;
    if (!vertices || !(measures = malloc(((size_t)n + 1) * sizeof *measures)))
        PD_TRY(pd_fail(error, PD_ERROR_MEMORY, "out of memory for %d elements", n));
    PD_TRY(pd_rest_shapes(rest, measures, body->points, rows, n, topology, error));
    for (size_t e = 0; e < (size_t)n; e++) {
        const double *c = constants + (n_rows == 1 ? 0 : e * (size_t)self->n_constants);
        double *q = parameters + e * p, m = measures[e];
        switch (self->form) {
        case FORM_SPRING: q[0] = c[0], q[1] = m; break;
        case FORM_SCALED: q[0] = c[0] * m; break;
        case FORM_LAME:
            q[0] = 2.0 * c[0] * m;
            if (p > 1) q[1] = c[1] * m;
            break;
        case FORM_STRAIN_LIMIT: q[0] = c[2] * m, q[1] = c[0], q[2] = c[1]; break;
        case FORM_BENDING: q[0] = 3.0 * c[0] / m, q[1] = rest_curvature(body->points, rows + 4 * e, rest + r * e); break;
        }
        for (size_t i = 0; i < p; i++)
            if (!(fabs(q[i]) < (double)INFINITY))
                PD_TRY(pd_fail(error, PD_ERROR_VALUE, "constants: of %s, element %zu would have the parameter %g", self->name, e, q[i]));
    }
    for (int i = 0; i < n * k; i++) vertices[i] += body->first;
    *out = (pd_element_group){kind, n, vertices, rest, parameters, NULL};
done:
    free(rows);
    free(measures);
    return status;
}
