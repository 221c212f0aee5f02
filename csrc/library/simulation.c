/* Simulations of the C interface: from a scene and a solver to the core's description and settings. */
#include "library/simulation_object.h"

#include "dynamics/accelerators.h"
#include "dynamics/methods.h"
#include "library/solver_object.h"
#include "library/touching.h"
#include "mesh/colouring.h"
#include "threads/team.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- elements ----------------------------------------------------------------------------------------------------------------------- */

typedef struct filling {
    pd_element_set *set;
    pd_kind_shape shape;
    int *vertices;
    double *rest, *parameters, *damping; /* damping: NULL if no body of the kind has any */
} filling;

static void put_elements(filling *at, const pd_element_group *group, double damping) {
    size_t done = (size_t)at->set->n, n = (size_t)group->n, k = (size_t)at->shape.vertices, r = (size_t)at->shape.rest,
           p = (size_t)at->shape.parameters;
    memcpy(at->vertices + done * k, group->vertices, n * k * sizeof(int));
    memcpy(at->rest + done * r, group->rest, n * r * sizeof(double));
    memcpy(at->parameters + done * p, group->parameters, n * p * sizeof(double));
    for (size_t e = 0; e < n && at->damping; e++) at->damping[done + e] = damping;
    at->set->n += group->n;
}

/* The functions of the bodies whose material is the caller's. */
static pd_status connect_functions(pd_element_set *set, const pdgpu_scene *scene, pd_arena *arena, pd_error *error) {
    int first = 0;
    pd_material_functions *functions;
    if (!pd_kind_is_custom(set->kind)) return PD_OK;
    if (!(functions = pd_arena_take(arena, (size_t)scene->n_bodies, sizeof *functions, error))) return PD_ERROR_MEMORY;
    for (int b = 0; b < scene->n_bodies; b++)
        for (int g = 0; g < scene->bodies[b].n_groups; g++) {
            const pd_element_group *group = &scene->bodies[b].groups[g];
            if (group->kind != set->kind) continue;
            pd_status status = pd_own_material_connect(&functions[set->n_functions++], group, first, arena, error);
            if (status) return status;
            first += group->n;
        }
    set->functions = functions;
    return PD_OK;
}

/* The elements of one kind, of all bodies in their order, attachments in the order of their calls; an empty set where there are none. */
static pd_status make_set(pd_element_set *set, int kind, const pdgpu_scene *scene, pd_arena *arena, pd_error *error) {
    filling at = {.set = set, .shape = pd_kind_shape_of(kind)};
    size_t n = kind == PD_ATTACHMENT ? (size_t)scene->n_attachments : 0;
    int damped = 0;
    for (int b = 0; b < scene->n_bodies; b++)
        for (int g = 0; g < scene->bodies[b].n_groups; g++)
            if (scene->bodies[b].groups[g].kind == kind)
                n += (size_t)scene->bodies[b].groups[g].n, damped |= scene->bodies[b].damping > 0.0;
    for (int a = 0; a < scene->n_attachments && kind == PD_ATTACHMENT; a++)
        damped |= scene->bodies[scene->attachments[a].body].damping > 0.0;
    *set = (pd_element_set){.kind = kind};
    if (!n) return PD_OK;
    if (n > INT_MAX / 16) return pd_fail(error, PD_ERROR_VALUE, "%s: %zu elements are too many", at.shape.name, n);
    at.vertices = pd_arena_take(arena, n, (size_t)at.shape.vertices * sizeof(int), error);
    at.rest = pd_arena_take(arena, n, (size_t)at.shape.rest * sizeof(double), error);
    at.parameters = pd_arena_take(arena, n, (size_t)at.shape.parameters * sizeof(double), error);
    at.damping = damped ? pd_arena_take(arena, n, sizeof(double), error) : NULL;
    if (!at.vertices || !at.rest || !at.parameters || (damped && !at.damping)) return PD_ERROR_MEMORY;
    for (int b = 0; b < scene->n_bodies; b++)
        for (int g = 0; g < scene->bodies[b].n_groups; g++)
            if (scene->bodies[b].groups[g].kind == kind) put_elements(&at, &scene->bodies[b].groups[g], scene->bodies[b].damping);
    for (int a = 0; a < scene->n_attachments && kind == PD_ATTACHMENT; a++) {
        const pd_attachment *one = &scene->attachments[a];
        put_elements(&at, &(pd_element_group){kind, 1, &one->vertex, one->target, &one->stiffness, NULL}, scene->bodies[one->body].damping);
    }
    set->vertices = at.vertices, set->rest = at.rest, set->parameters = at.parameters, set->damping = at.damping;
    return connect_functions(set, scene, arena, error);
}

static pd_status describe_scene(pd_description *out, const pdgpu_scene *scene, const pd_solver_traits *traits, pd_arena *arena,
                                pd_error *error) {
    size_t n = (size_t)scene->n_vertices;
    double *masses = pd_arena_take(arena, n, sizeof *masses, error);
    unsigned char *fixed = masses ? pd_arena_copy(arena, scene->fixed, n, 1, error) : NULL;
    pd_element_set *sets = fixed ? pd_arena_take(arena, PD_KIND_COUNT, sizeof *sets, error) : NULL;
    pd_status status = PD_OK;
    if (!sets) return PD_ERROR_MEMORY;
    pdgpu_scene_masses(scene, masses, NULL);
    *out = (pd_description){.n_vertices = scene->n_vertices, .masses = masses, .fixed = fixed, .sets = sets};
    for (int kind = 0; kind < PD_KIND_COUNT; kind++) {
        PD_TRY(make_set(&sets[out->n_sets], kind, scene, arena, error));
        if (!sets[out->n_sets].n) continue;
        out->n_sets++;
        if (traits->projective && !pd_kind_has_projection(kind) && !(pd_kind_is_custom(kind) && pd_method_find(traits->name)->takes_custom))
            PD_TRY(pd_fail(error, PD_ERROR_TYPE, "solver: %s cannot treat the elements %s; Newton and VertexBlockDescent can", traits->name,
                           pd_kind_shape_of(kind).name));
    }
done:
    return status;
}

/* ---- settings ----------------------------------------------------------------------------------------------------------------------- */

/* Colours of the vertices: no two of an element have the same. */
static pd_status colour_vertices(const int **out, const pd_description *description, pd_arena *arena, pd_error *error) {
    size_t n = 0;
    int n_colours, *pairs, *colours = pd_arena_take(arena, (size_t)description->n_vertices, sizeof *colours, error);
    for (int s = 0; s < description->n_sets; s++) {
        size_t k = (size_t)pd_kind_shape_of(description->sets[s].kind).vertices;
        n += (size_t)description->sets[s].n * (k * (k - 1) / 2);
    }
    if (!colours) return PD_ERROR_MEMORY;
    if (n > INT_MAX / 4 || !(pairs = malloc((n + 1) * 2 * sizeof *pairs)))
        return pd_fail(error, PD_ERROR_MEMORY, "out of memory for %zu pairs of vertices", n);
    n = 0;
    for (int s = 0; s < description->n_sets; s++) {
        int k = pd_kind_shape_of(description->sets[s].kind).vertices;
        for (int a = 0; a < k; a++)
            for (int b = a + 1; b < k; b++)
                for (int e = 0; e < description->sets[s].n; e++, n++)
                    pairs[2 * n] = description->sets[s].vertices[e * k + a], pairs[2 * n + 1] = description->sets[s].vertices[e * k + b];
    }
    pd_status status = pd_colouring_create(colours, &n_colours, pairs, (int)n, 2, description->n_vertices, PD_COLOURING_BALANCED, error);
    free(pairs);
    *out = colours;
    return status;
}

/* 1/c, c the largest number of elements at a free vertex: with_relaxation of solver_support.py. */
static pd_status find_relaxation(double *out, const pd_description *description, pd_arena *arena, pd_error *error) {
    int most = 1, *met = pd_arena_take(arena, (size_t)description->n_vertices, sizeof *met, error);
    if (!met) return PD_ERROR_MEMORY;
    for (int s = 0; s < description->n_sets; s++) {
        int count = description->sets[s].n * pd_kind_shape_of(description->sets[s].kind).vertices;
        for (int i = 0; i < count; i++) met[description->sets[s].vertices[i]]++;
    }
    for (int i = 0; i < description->n_vertices; i++)
        if (!description->fixed[i] && met[i] > most) most = met[i];
    *out = 1.0 / most;
    return PD_OK;
}

/* The settings of the method, including those that depend on the scene. The memory is the arena's. */
static pd_status make_settings(pd_settings *out, const pdgpu_solver *solver, double dt, const pd_description *description, pd_arena *arena,
                               pd_error *error) {
    char *method = pd_arena_copy(arena, solver->method_settings, 1, solver->settings.method->settings_size + 1, error);
    if (!method) return PD_ERROR_MEMORY;
    *out = solver->settings;
    out->h = dt;
    out->method_settings = method;
    if (solver->anderson.window && solver->outer.enabled)
        return pd_fail(error, PD_ERROR_VALUE,
                       "solver: has one acceleration, and anderson.window and chebyshev.rho are set: set one of them");
    if (solver->anderson.window) out->acceleration = (pd_acceleration){pd_accelerator_find("anderson"), &solver->anderson};
    if (solver->outer.enabled) out->acceleration = (pd_acceleration){pd_accelerator_find("chebyshev"), &solver->outer};
    pd_status status = PD_OK;
    for (const pd_option *option = out->method->options; option->name && !status; option++) {
        void *slot = method + option->offset;
        if (option->type == PD_OPTION_COLOURS) status = colour_vertices(slot, description, arena, error);
        double *relaxation = strcmp(option->name, "relaxation") == 0 ? slot : NULL;
        if (relaxation && *relaxation == 0.0) status = find_relaxation(relaxation, description, arena, error);
    }
    return status;
}

static pd_status check_contact(const pdgpu_scene *scene, const pd_solver_traits *traits, pd_error *error) {
    int missing = (scene->contact == PD_BARRIER_CONTACT && !traits->barrier) || (scene->contact == PD_PENALTY_CONTACT && !traits->penalty);
    if (!missing) return PD_OK;
    return pd_fail(error, PD_ERROR_TYPE, "solver: %s does not take a %s; Newton and VertexBlockDescent do", traits->name,
                   scene->contact == PD_BARRIER_CONTACT ? "barrier" : "penalty");
}

/* ---- creation ----------------------------------------------------------------------------------------------------------------------- */

pd_status pd_round_all(real *out, const double *values, size_t n, const char *name, pd_error *error) {
    for (size_t i = 0; i < n; i++) {
        out[i] = (real)values[i];
        if (!(pd_fabs(out[i]) < (real)INFINITY))
            return pd_fail(error, PD_ERROR_NOT_FINITE, "%s: %g at %zu is not finite in this precision", name, values[i], i);
    }
    return PD_OK;
}

pd_status pd_need_finite_reals(const real *values, size_t n, const char *name, pd_error *error) {
    for (size_t i = 0; i < n; i++)
        if (!(pd_fabs(values[i]) < (real)INFINITY))
            return pd_fail(error, PD_ERROR_NOT_FINITE, "%s: %g at %zu is not finite", name, (double)values[i], i);
    return PD_OK;
}

/* Stores the places of obstacle points among the prescribed points. */
static pd_status keep_obstacles(pdgpu_simulation *self, const pdgpu_scene *scene, const pd_touching *touching, pd_error *error) {
    self->n_obstacles = scene->n_obstacles;
    self->n_prescribed = touching->n_points - scene->n_vertices;
    self->obstacles = pd_arena_take(&self->arena, (size_t)scene->n_obstacles, sizeof *self->obstacles, error);
    self->prescribed = pd_arena_take(&self->arena, (size_t)self->n_prescribed, 3 * sizeof *self->prescribed, error);
    if (!self->obstacles || !self->prescribed) return PD_ERROR_MEMORY;
    for (int o = 0; o < scene->n_obstacles; o++) {
        const pd_obstacle *given = &scene->obstacles[o];
        pd_prescribed_obstacle *kept = &self->obstacles[o];
        *kept = (pd_prescribed_obstacle){given->shape, touching->first_point[o] - scene->n_vertices, given->n_points, {0.0, 0.0, 0.0}};
        if (given->shape == PD_OBSTACLE_PLANE) memcpy(kept->normal, given->points + 3, sizeof kept->normal);
    }
    return pd_round_all(self->prescribed, touching->points + 3 * (size_t)scene->n_vertices, 3 * (size_t)self->n_prescribed, "obstacles",
                        error);
}

/* The bodies at their starts. */
static pd_status set_start(pdgpu_simulation *self, const pdgpu_scene *scene, pd_error *error) {
    size_t n = (size_t)scene->n_vertices;
    real *velocities = pd_arena_take(&self->arena, n, 3 * sizeof *velocities, error);
    pd_status status = velocities ? PD_OK : PD_ERROR_MEMORY;
    for (int b = 0; b < scene->n_bodies && !status; b++) {
        const pd_body *body = &scene->bodies[b];
        size_t at = 3 * (size_t)body->first, count = 3 * (size_t)body->n_points;
        status = pd_round_all(self->vectors + at, body->points, count, "points", error);
        if (!status) status = pd_round_all(velocities + at, body->velocities, count, "velocities", error);
    }
    if (status) return status;
    if ((status = pd_simulation_set_state(self->core, self->vectors, velocities, NULL))) *error = *pd_simulation_error(self->core);
    return status;
}

pdgpu_status pdgpu_simulation_create(pdgpu_simulation **out, const pdgpu_scene *scene, const pdgpu_solver *solver, double dt, int device,
                                     int threads, pdgpu_error *error) {
    pd_error found = {0};
    pd_status status = PD_OK;
    pdgpu_simulation *self = NULL;
    pd_arena passing = {NULL, 0, 0}; /* data that the core reads at creation only */
    pd_description description;
    pd_settings settings;
    pd_touching touching;
    pd_contact_description contact;
    PD_TRY(pd_need(out, "out", &found));
    *out = NULL;
    PD_TRY(pd_need(scene, "scene", &found));
    PD_TRY(pd_need(solver, "solver", &found));
    PD_TRY(pd_need_number(dt, 0.0, 0, "dt", &found));
    if (device < 0) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "device: must be at least 0, got %d", device));
    if (threads < 0) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "threads: must be at least 0, got %d", threads));
    if (!scene->n_bodies) PD_TRY(pd_fail(&found, PD_ERROR_VALUE, "scene: it has no bodies; add one with pdgpu_scene_add_body"));
    PD_TRY(check_contact(scene, solver->traits, &found));
    if (!(self = calloc(1, sizeof *self))) PD_TRY(pd_fail(&found, PD_ERROR_MEMORY, "out of memory for a simulation"));
    PD_TRY(describe_scene(&description, scene, solver->traits, &self->arena, &found));
    PD_TRY(make_settings(&settings, solver, dt, &description, &self->arena, &found));
    if (scene->contact != PD_NO_CONTACT) {
        PD_TRY(pd_touching_create(&touching, scene, &passing, &found));
        PD_TRY(pd_touching_describe(&contact, &touching, scene, dt, &passing, &found));
        PD_TRY(keep_obstacles(self, scene, &touching, &found));
        description.contact = &contact;
    }
    self->n_vertices = scene->n_vertices, self->n_attachments = scene->n_attachments;
    self->barrier = self->start_is_new = scene->contact == PD_BARRIER_CONTACT;
    memcpy(self->gravity, scene->gravity, sizeof self->gravity);
    self->masses = description.masses, self->fixed = description.fixed;
    if (!(self->vectors = pd_arena_take(&self->arena, (size_t)self->n_vertices, 3 * sizeof *self->vectors, &found)))
        PD_TRY(PD_ERROR_MEMORY);
    PD_TRY(pd_simulation_create(&self->core, &description, &settings, pdgpu_factors_cholesky(),
                                (pd_place){device, threads ? threads : pd_team_limit()}, &found));
    if (solver->settings.method->commits) PD_TRY(pd_functions_connect(self, &solver->functions, &found));
    PD_TRY(pd_simulation_load(self, NULL, &found));
    PD_TRY(set_start(self, scene, &found));
    *out = self;
done:
    pd_arena_free(&passing);
    if (status) pdgpu_simulation_destroy(self);
    return pd_report(status, &found, error);
}

void pdgpu_simulation_destroy(pdgpu_simulation *simulation) {
    if (!simulation) return;
    pd_simulation_destroy(simulation->core);
    pd_arena_free(&simulation->arena);
    free(simulation);
}
