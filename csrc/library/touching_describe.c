/* The description of the contact of a scene for the core; see touching.h. */
#include "library/touching.h"

#include "geometry/box.h"

/* Doubles rounded to real. */
static const real *rounded(const double *values, size_t n, pd_arena *arena, pd_error *error) {
    real *out = pd_arena_take(arena, n, sizeof *out, error);
    for (size_t i = 0; out && i < n; i++) out[i] = (real)values[i];
    return out;
}

/* Tags of primitives: that of their first corner, and fixed if all corners are. Python: primitive_tags of collision.py. */
static int *tags_of(const int *rows, int n, int width, const int *tags, pd_arena *arena, pd_error *error) {
    int *out = pd_arena_take(arena, (size_t)n, sizeof *out, error);
    for (int i = 0; out && i < n; i++) {
        int fixed = PD_TAG_FIXED;
        for (int k = 0; k < width; k++) fixed &= tags[rows[i * width + k]];
        out[i] = (tags[rows[i * width]] & ~PD_TAG_FIXED) | fixed;
    }
    return out;
}

static const real *radii_of(const int *rows, int n, int width, const double *radii, pd_arena *arena, pd_error *error) {
    real *out = pd_arena_take(arena, (size_t)n, sizeof *out, error);
    for (int i = 0; out && i < n; i++) out[i] = (real)radii[rows[i * width]];
    return out;
}

static pd_status describe_primitives(pd_broad_phase_description *out, const pd_touching *touching, const pdgpu_scene *scene,
                                     pd_arena *arena, pd_error *error) {
    const int *rows[PD_PRIMITIVE_KINDS] = {touching->vertices, touching->edges, touching->triangles};
    const int n[PD_PRIMITIVE_KINDS] = {touching->n_vertices, touching->n_edges, touching->n_triangles};
    int *tags = pd_arena_take(arena, (size_t)touching->n_points, sizeof *tags, error), *own[PD_PRIMITIVE_KINDS];
    if (!tags) return PD_ERROR_MEMORY;
    for (int i = 0; i < touching->n_points; i++) {
        int fixed = i >= scene->n_vertices || scene->fixed[i];
        tags[i] = touching->owners[i] << PD_TAG_BODY_SHIFT | PD_TAG_SELF | (fixed ? PD_TAG_FIXED : 0);
    }
    for (int kind = 0; kind < PD_PRIMITIVE_KINDS; kind++) {
        out->n[kind] = n[kind], out->corners[kind] = rows[kind], out->names[kind] = rows[kind];
        own[kind] = tags_of(rows[kind], n[kind], kind + 1, tags, arena, error);
        out->radii[kind] = radii_of(rows[kind], n[kind], kind + 1, touching->radii, arena, error);
        if (!own[kind] || !out->radii[kind]) return PD_ERROR_MEMORY;
        out->tags[kind] = own[kind];
    }
    for (int e = 0; e < touching->n_edges; e++)
        if (touching->of_triangle[e]) own[PD_EDGES][e] |= PD_TAG_SIDE;
    return PD_OK;
}

/* Areas, or -1 for unweighted pairs. */
static pd_status describe_areas(pd_contact_description *out, const pd_touching *touching, int weighted, pd_arena *arena, pd_error *error) {
    size_t n[3] = {(size_t)touching->n_points, (size_t)touching->n_edges, (size_t)touching->n_triangles};
    double *areas[3];
    for (int k = 0; k < 3; k++)
        if (!(areas[k] = pd_arena_take(arena, n[k], sizeof(double), error))) return PD_ERROR_MEMORY;
    pd_touching_areas(areas[0], areas[1], areas[2], touching);
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < n[k] && !weighted; i++) areas[k][i] = -1.0;
    out->areas = rounded(areas[0], n[0], arena, error);
    out->edge_areas = rounded(areas[1], n[1], arena, error);
    out->triangle_areas = rounded(areas[2], n[2], arena, error);
    return out->areas && out->edge_areas && out->triangle_areas ? PD_OK : PD_ERROR_MEMORY;
}

static pd_status describe_friction(pd_friction_description *out, const pd_touching *touching, const pdgpu_scene *scene, double friction,
                                   double velocity, int lags, double dt, pd_arena *arena, pd_error *error) {
    size_t n = (size_t)(scene->n_bodies + scene->n_obstacles);
    real *coefficients = pd_arena_take(arena, n * n, sizeof *coefficients, error);
    if (!coefficients) return PD_ERROR_MEMORY;
    if (friction > 0.0 && dt == 0.0)
        return pd_fail(error, PD_ERROR_TYPE, "friction: needs a time step, and dt is 0 (quasistatic); give dt, or no friction");
    for (size_t i = 0; i < n * n; i++) coefficients[i] = (real)friction;
    *out = (pd_friction_description){.extent = friction > 0.0 ? velocity * dt : 0.0,
                                     .owners = touching->owners,
                                     .coefficients = coefficients,
                                     .n_owners = (int)n,
                                     .lags = lags ? lags : 1};
    if (out->extent > 0.0 && !((real)out->extent > 0))
        return pd_fail(error, PD_ERROR_VALUE, "friction_velocity: %g m in a step is zero in this precision", out->extent);
    return PD_OK;
}

pd_status pd_touching_describe(pd_contact_description *out, const pd_touching *touching, const pdgpu_scene *scene, double dt,
                               pd_arena *arena, pd_error *error) {
    const pdgpu_barrier *barrier = &scene->barrier;
    const pdgpu_penalty *penalty = &scene->penalty;
    int is_barrier = scene->contact == PD_BARRIER_CONTACT, n = touching->n_points, n_tested = 0;
    int *parts = pd_arena_take(arena, (size_t)n, sizeof *parts, error), *tested = pd_arena_take(arena, (size_t)n, sizeof *tested, error);
    pd_status status = PD_OK;
    if (!parts || !tested) return PD_ERROR_MEMORY;
    PD_TRY(pd_touching_parts(parts, touching, error));
    for (int i = 0; i < touching->n_vertices; i++) {
        int vertex = touching->vertices[i];
        if (vertex < scene->n_vertices && !scene->fixed[vertex]) tested[n_tested++] = vertex;
    }
    *out = (pd_contact_description){
        .potential = {PD_BARRIER, is_barrier && !barrier->unweighted, (real)(is_barrier ? barrier->stiffness : penalty->stiffness)},
        .activation = is_barrier ? barrier->distance : penalty->thickness,
        .separation = is_barrier ? barrier->separation : 0.0,
        .limiter = is_barrier && barrier->by_reach ? PD_LIMITER_BOUNDS : PD_LIMITER_IMPACT,
        .weighting = is_barrier ? PD_WEIGHTING_HARMONIC : PD_WEIGHTING_SUM,
        .phase = {.n_points = n},
        .bodies = parts,
        .planes = touching->planes,
        .n_planes = touching->n_planes,
        .tested = tested,
        .n_tested = n_tested,
    };
    if (!(out->rest = rounded(touching->points, 3 * (size_t)n, arena, error)) ||
        !(out->radii = rounded(touching->radii, (size_t)n, arena, error)))
        PD_TRY(PD_ERROR_MEMORY);
    out->phase.rest = out->rest;
    PD_TRY(describe_primitives(&out->phase, touching, scene, arena, error));
    PD_TRY(describe_areas(out, touching, out->potential.physical, arena, error));
    PD_TRY(describe_friction(&out->friction, touching, scene, is_barrier ? barrier->friction : penalty->friction,
                             is_barrier ? barrier->friction_velocity : penalty->friction_velocity, is_barrier ? barrier->friction_lags : 1,
                             dt, arena, error));
    PD_TRY(pd_touching_describe_penalty(&out->penalty, touching, scene, parts, arena, error));
done:
    return status;
}
