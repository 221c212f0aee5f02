/* Scenes of the C interface: bodies, their masses and materials, pins and attachments, checked and copied. */
#include "library/scene_object.h"

#include "mesh/mass.h"
#include "mesh/validation.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

pdgpu_status pdgpu_scene_create(pdgpu_scene **out, const double *gravity, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    pdgpu_scene *self = NULL;
    PD_TRY(pd_need(out, "out", &found));
    *out = NULL;
    PD_TRY(pd_need(gravity, "gravity", &found));
    PD_TRY(pd_need_finite(gravity, 3, "gravity", &found));
    if (!(self = calloc(1, sizeof *self))) PD_TRY(pd_fail(&found, PD_ERROR_MEMORY, "out of memory for a scene"));
    memcpy(self->gravity, gravity, sizeof self->gravity);
    *out = self;
done:
    return pd_report(status, &found, error);
}

void pdgpu_scene_destroy(pdgpu_scene *scene) {
    if (!scene) return;
    pd_arena_free(&scene->arena);
    free(scene->bodies);
    free(scene->fixed);
    free(scene->attachments);
    free(scene->obstacles);
    free(scene);
}

int pdgpu_scene_n_vertices(const pdgpu_scene *scene) { return scene ? scene->n_vertices : 0; }

int pdgpu_scene_first_vertex(const pdgpu_scene *scene, int body) {
    return scene && body >= 0 && body < scene->n_bodies ? scene->bodies[body].first : -1;
}

pd_body *pd_scene_body(const pdgpu_scene *scene, int body, pd_error *error) {
    if (pd_need(scene, "scene", error)) return NULL;
    if (body >= 0 && body < scene->n_bodies) return &scene->bodies[body];
    pd_fail(error, PD_ERROR_VALUE, "body: %d is out of range for %d bodies", body, scene->n_bodies);
    return NULL;
}

static int vertices_of_type(pdgpu_body_type type) {
    switch (type) {
    case PDGPU_SOLID: return 4;
    case PDGPU_SHELL: return 3;
    case PDGPU_ROD: return 2;
    case PDGPU_PARTICLES: return 1;
    }
    return 0;
}

/* masses [n_points] from the density of all elements; all must be positive. */
static pd_status lump_masses(pd_body *body, int k, double density, pd_error *error) {
    pd_status status = PD_OK;
    double *densities = NULL;
    if (body->type == PDGPU_PARTICLES) {
        for (int i = 0; i < body->n_points; i++) body->masses[i] = density;
        return PD_OK;
    }
    if (!(densities = malloc(((size_t)body->n_elements + 1) * sizeof *densities)))
        return pd_fail(error, PD_ERROR_MEMORY, "out of memory for %d densities", body->n_elements);
    for (int e = 0; e < body->n_elements; e++) densities[e] = density;
    PD_TRY(pd_lumped_masses(body->masses, body->points, body->elements, densities, body->n_points, body->n_elements, k, error));
    for (int i = 0; i < body->n_points; i++) {
        if (body->masses[i] == 0.0)
            PD_TRY(pd_fail(error, PD_ERROR_VALUE, "elements: vertex %d belongs to no element, so it would have no mass; leave it out", i));
        PD_TRY(pd_need_number(body->masses[i], 0.0, 1, "density: the mass of a vertex", error));
    }
done:
    free(densities);
    return status;
}

/* Extends a list by one item; NULL with an error. */
static void *grown(void *list, int n, size_t size, pd_error *error) {
    void *grown = realloc(list, ((size_t)n + 1) * size);
    if (!grown) pd_fail(error, PD_ERROR_MEMORY, "out of memory");
    return grown;
}

pdgpu_status pdgpu_scene_add_body(pdgpu_scene *scene, pdgpu_body_type type, const double *points, int n_points, const int *elements,
                                  int n_elements, double density, int *body, pdgpu_error *error) {
    static const char *const names[] = {"", "", "edges", "triangles", "tets"};
    pd_error found = {0};
    pd_status status = PD_OK;
    int k = vertices_of_type(type);
    pd_body made = {.type = type, .n_points = n_points, .n_elements = k > 1 ? n_elements : 0};
    PD_TRY(pd_need(scene, "scene", &found));
    if (!k) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "type: %d is no type of a body", (int)type));
    PD_TRY(pd_need(points, "points", &found));
    if (n_points < 1 || n_points > INT_MAX / 4 - scene->n_vertices)
        PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "n_points: %d is not between 1 and %d", n_points, INT_MAX / 4 - scene->n_vertices));
    PD_TRY(pd_points_check(points, n_points, "points", &found));
    if (k > 1) {
        PD_TRY(pd_need(elements, names[k], &found));
        if (n_elements < 1) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "n_elements: must be at least 1, got %d", n_elements));
        PD_TRY(pd_elements_check(elements, n_elements, k, n_points, names[k], &found));
    }
    PD_TRY(pd_need_number(density, 0.0, 1, "density", &found));

    size_t n = (size_t)n_points;
    made.first = scene->n_vertices;
    if (!(made.points = pd_arena_copy(&scene->arena, points, n, 3 * sizeof *points, &found)) ||
        !(made.elements = pd_arena_copy(&scene->arena, elements, (size_t)made.n_elements, (size_t)k * sizeof *elements, &found)) ||
        !(made.masses = pd_arena_take(&scene->arena, n, sizeof *made.masses, &found)) ||
        !(made.velocities = pd_arena_take(&scene->arena, n, 3 * sizeof *made.velocities, &found)))
        PD_TRY(PD_ERROR_MEMORY);
    PD_TRY(lump_masses(&made, k, density, &found));
    pd_body *bodies = grown(scene->bodies, scene->n_bodies, sizeof *bodies, &found);
    if (!bodies) PD_TRY(PD_ERROR_MEMORY);
    scene->bodies = bodies;
    unsigned char *fixed = grown(scene->fixed, scene->n_vertices + n_points, 1, &found);
    if (!fixed) PD_TRY(PD_ERROR_MEMORY);
    scene->fixed = fixed;
    memset(fixed + scene->n_vertices, 0, n);
    if (body) *body = scene->n_bodies;
    scene->bodies[scene->n_bodies++] = made;
    scene->n_vertices += n_points;
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_scene_add_material(pdgpu_scene *scene, int body, pdgpu_material material, const double *constants, int n_rows,
                                      pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    pd_element_group group;
    pd_body *owner = pd_scene_body(scene, body, &found);
    if (!owner) PD_TRY(PD_ERROR_VALUE);
    if ((int)material < 0 || material >= PDGPU_MATERIAL_COUNT)
        PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "material: %d is none", (int)material));
    PD_TRY(pd_need(constants, "constants", &found));
    if (owner->has[material]) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "material: body %d has %s already", body, pd_material_name(material)));
    PD_TRY(pd_material_group(&group, scene, owner, material, constants, n_rows, &found));
    owner->has[material] = 1;
    owner->groups[owner->n_groups++] = group;
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_scene_set_masses(pdgpu_scene *scene, int body, const double *masses, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    pd_body *owner = pd_scene_body(scene, body, &found);
    if (!owner) PD_TRY(PD_ERROR_VALUE);
    PD_TRY(pd_need_finite(masses, (size_t)owner->n_points, "masses", &found));
    for (int i = 0; i < owner->n_points; i++)
        if (!(masses[i] > 0.0))
            PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "masses: must be greater than 0, got %g kg at %d; pin a vertex that must not move",
                           masses[i], i));
    memcpy(owner->masses, masses, (size_t)owner->n_points * sizeof *masses);
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_scene_masses(const pdgpu_scene *scene, double *masses, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    PD_TRY(pd_need(scene, "scene", &found));
    PD_TRY(pd_need(masses, "masses", &found));
    for (int b = 0; b < scene->n_bodies; b++)
        memcpy(masses + scene->bodies[b].first, scene->bodies[b].masses, (size_t)scene->bodies[b].n_points * sizeof *masses);
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_scene_set_velocities(pdgpu_scene *scene, int body, const double *velocities, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    pd_body *owner = pd_scene_body(scene, body, &found);
    if (!owner) PD_TRY(PD_ERROR_VALUE);
    PD_TRY(pd_need_finite(velocities, 3 * (size_t)owner->n_points, "velocities", &found));
    memcpy(owner->velocities, velocities, 3 * (size_t)owner->n_points * sizeof *velocities);
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_scene_set_damping(pdgpu_scene *scene, int body, double seconds, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    pd_body *owner = pd_scene_body(scene, body, &found);
    if (!owner) PD_TRY(PD_ERROR_VALUE);
    PD_TRY(pd_need_number(seconds, 0.0, 0, "seconds", &found));
    owner->damping = seconds;
done:
    return pd_report(status, &found, error);
}

/* Vertices of a body by their index in it. */
static pd_status check_vertices(const pd_body *body, const int *vertices, int n, pd_error *error) {
    if (n < 0) return pd_fail(error, PD_ERROR_VALUE, "n: must be at least 0, got %d", n);
    if (n && pd_need(vertices, "vertices", error)) return PD_ERROR_VALUE;
    for (int i = 0; i < n; i++)
        if (vertices[i] < 0 || vertices[i] >= body->n_points)
            return pd_fail(error, PD_ERROR_VALUE, "vertices: index %d at %d is out of range for %d points", vertices[i], i, body->n_points);
    return PD_OK;
}

pdgpu_status pdgpu_scene_pin(pdgpu_scene *scene, int body, const int *vertices, int n, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    const pd_body *owner = pd_scene_body(scene, body, &found);
    if (!owner) PD_TRY(PD_ERROR_VALUE);
    PD_TRY(check_vertices(owner, vertices, n, &found));
    for (int i = 0; i < n; i++) scene->fixed[owner->first + vertices[i]] = 1;
done:
    return pd_report(status, &found, error);
}

pdgpu_status pdgpu_scene_attach(pdgpu_scene *scene, int body, const int *vertices, int n, const double *targets, double stiffness,
                                int *first, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    const pd_body *owner = pd_scene_body(scene, body, &found);
    if (!owner) PD_TRY(PD_ERROR_VALUE);
    PD_TRY(check_vertices(owner, vertices, n, &found));
    PD_TRY(pd_need_finite(targets, 3 * (size_t)n, "targets", &found));
    PD_TRY(pd_need_number(stiffness, 0.0, 1, "stiffness", &found));
    if (n > INT_MAX - scene->n_attachments) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "n: %d is too large", n));
    pd_attachment *list = grown(scene->attachments, scene->n_attachments + n, sizeof *list, &found);
    if (!list) PD_TRY(PD_ERROR_MEMORY);
    scene->attachments = list;
    if (first) *first = scene->n_attachments;
    for (int i = 0; i < n; i++) {
        pd_attachment one = {.body = body, .vertex = owner->first + vertices[i], .stiffness = stiffness};
        memcpy(one.target, targets + 3 * i, sizeof one.target);
        list[scene->n_attachments++] = one;
    }
done:
    return pd_report(status, &found, error);
}
