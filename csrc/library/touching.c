/* The contact surface of a scene; see touching.h. */
#include "library/touching.h"

#include "base/union_find.h"
#include "mesh/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The triangles of a body in its own indices; the caller owns them. */
static pd_status body_surface(const pd_body *body, int **triangles, int *n, pd_error *error) {
    *triangles = NULL, *n = 0;
    if (body->type == PDGPU_SOLID) return pd_boundary_create(triangles, n, body->elements, body->n_elements, body->n_points, error);
    if (body->type != PDGPU_SHELL) return PD_OK;
    size_t bytes = 3 * (size_t)body->n_elements * sizeof **triangles;
    if (!(*triangles = malloc(bytes))) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for %d triangles", body->n_elements);
    memcpy(*triangles, body->elements, bytes);
    *n = body->n_elements;
    return PD_OK;
}

/* Pairs of points for edges without triangles: of rods and capsules, and particles and spheres as [i,i]. */
typedef struct pair_list {
    int n, *pairs;
} pair_list;

static int by_pair(const void *a, const void *b) {
    const int *p = a, *q = b;
    return p[0] != q[0] ? (p[0] > q[0]) - (p[0] < q[0]) : (p[1] > q[1]) - (p[1] < q[1]);
}

/* Sorts pairs and removes repeats. */
static void make_unique(pair_list *list) {
    int kept = 0;
    if (list->n) qsort(list->pairs, (size_t)list->n, 2 * sizeof(int), by_pair);
    for (int i = 0; i < list->n; i++)
        if (!kept || by_pair(list->pairs + 2 * i, list->pairs + 2 * kept - 2) != 0)
            memmove(list->pairs + 2 * kept++, list->pairs + 2 * i, 2 * sizeof(int));
    list->n = kept;
}

static void append(pair_list *list, int a, int b) {
    list->pairs[2 * list->n] = a < b ? a : b, list->pairs[2 * list->n + 1] = a < b ? b : a;
    list->n++;
}

/* Merges the edges of triangles and others into one sorted list, followed by the particles. */
static pd_status merge_edges(pd_touching *self, pair_list *others, pair_list *particles, pd_arena *arena, pd_error *error) {
    pair_list own = {0};
    pd_status status = PD_OK;
    if (self->n_triangles) PD_TRY(pd_edges_create(&own.pairs, &own.n, self->triangles, self->n_triangles, 3, self->n_points, error));
    make_unique(others);
    make_unique(particles);
    size_t most = (size_t)own.n + (size_t)others->n + (size_t)particles->n;
    if (!(self->edges = pd_arena_take(arena, most, 2 * sizeof(int), error)) || !(self->of_triangle = pd_arena_take(arena, most, 1, error)))
        PD_TRY(PD_ERROR_MEMORY);
    for (int i = 0, j = 0; i < own.n || j < others->n; self->n_edges++) {
        int order = i == own.n ? 1 : j == others->n ? -1 : by_pair(own.pairs + 2 * i, others->pairs + 2 * j);
        memcpy(self->edges + 2 * self->n_edges, order <= 0 ? own.pairs + 2 * i : others->pairs + 2 * j, 2 * sizeof(int));
        self->of_triangle[self->n_edges] = order <= 0;
        i += order <= 0, j += order >= 0;
    }
    if (particles->n) memcpy(self->edges + 2 * self->n_edges, particles->pairs, 2 * sizeof(int) * (size_t)particles->n);
    self->n_edges += particles->n;
done:
    free(own.pairs);
    return status;
}

/* The vertices of all edges and triangles, ascending. */
static pd_status find_vertices(pd_touching *self, pd_arena *arena, pd_error *error) {
    unsigned char *used = calloc((size_t)self->n_points + 1, 1);
    if (!used || !(self->vertices = pd_arena_take(arena, (size_t)self->n_points, sizeof(int), error))) {
        free(used);
        return pd_fail(error, PD_ERROR_MEMORY, "out of memory for %d points", self->n_points);
    }
    for (int i = 0; i < 3 * self->n_triangles; i++) used[self->triangles[i]] = 1;
    for (int i = 0; i < 2 * self->n_edges; i++) used[self->edges[i]] = 1;
    for (int i = 0; i < self->n_points; i++)
        if (used[i]) self->vertices[self->n_vertices++] = i;
    free(used);
    return PD_OK;
}

typedef struct totals {
    size_t points, triangles, others, particles, tets;
} totals;

/* An upper bound of all counts. */
static totals count_all(const pdgpu_scene *scene) {
    totals count = {.points = (size_t)scene->n_vertices};
    for (int b = 0; b < scene->n_bodies; b++) {
        const pd_body *body = &scene->bodies[b];
        size_t n = (size_t)body->n_elements;
        if (body->type == PDGPU_SOLID) count.triangles += 4 * n, count.tets += n;
        if (body->type == PDGPU_SHELL) count.triangles += n;
        if (body->type == PDGPU_ROD) count.others += n;
        if (body->type == PDGPU_PARTICLES) count.particles += (size_t)body->n_points;
    }
    for (int o = 0; o < scene->n_obstacles; o++) {
        count.points += (size_t)scene->obstacles[o].n_points;
        count.triangles += (size_t)scene->obstacles[o].n_triangles;
        count.others += 1 + (size_t)scene->obstacles[o].n_edges;
        count.particles += (size_t)scene->obstacles[o].n_points;
    }
    return count;
}

static void put_obstacle(pd_touching *self, const pdgpu_scene *scene, int which, pair_list *others, pair_list *particles) {
    const pd_obstacle *obstacle = &scene->obstacles[which];
    int first = self->first_point[which] = self->n_points;
    memcpy(self->points + 3 * (size_t)first, obstacle->points, 3 * (size_t)obstacle->n_points * sizeof(double));
    for (int i = first; i < first + obstacle->n_points; i++) self->owners[i] = scene->n_bodies + which, self->radii[i] = obstacle->radius;
    for (int i = 0; i < 3 * obstacle->n_triangles; i++) self->triangles[3 * self->n_triangles + i] = first + obstacle->triangles[i];
    self->n_triangles += obstacle->n_triangles;
    if (obstacle->shape == PD_OBSTACLE_PLANE) self->planes[self->n_planes++] = first;
    if (obstacle->shape == PD_OBSTACLE_SPHERE) append(particles, first, first);
    if (obstacle->shape == PD_OBSTACLE_CAPSULE) append(others, first, first + 1);
    for (int e = 0; e < obstacle->n_edges; e++) append(others, first + obstacle->edges[2 * e], first + obstacle->edges[2 * e + 1]);
    for (int i = 0; obstacle->shape == PD_OBSTACLE_POINTS && i < obstacle->n_points; i++) append(particles, first + i, first + i);
    self->n_points += obstacle->n_points;
}

static pd_status put_body(pd_touching *self, const pdgpu_scene *scene, int which, pair_list *others, pair_list *particles,
                          pd_error *error) {
    const pd_body *body = &scene->bodies[which];
    int *triangles, n;
    pd_status status = body_surface(body, &triangles, &n, error);
    if (status) return status;
    memcpy(self->points + 3 * (size_t)body->first, body->points, 3 * (size_t)body->n_points * sizeof(double));
    for (int i = body->first; i < body->first + body->n_points; i++) {
        self->owners[i] = which;
        if (body->type == PDGPU_PARTICLES) append(particles, i, i);
    }
    for (int i = 0; i < 3 * n; i++) self->triangles[3 * self->n_triangles + i] = body->first + triangles[i];
    self->n_triangles += n;
    free(triangles);
    for (int e = 0; e < body->n_elements; e++) {
        if (body->type == PDGPU_ROD) append(others, body->first + body->elements[2 * e], body->first + body->elements[2 * e + 1]);
        if (body->type == PDGPU_SOLID) {
            for (int i = 0; i < 4; i++) self->tets[4 * self->n_tets + i] = body->first + body->elements[4 * e + i];
            self->n_tets++;
        }
    }
    return PD_OK;
}

pd_status pd_touching_create(pd_touching *out, const pdgpu_scene *scene, pd_arena *arena, pd_error *error) {
    totals count = count_all(scene);
    pair_list others = {0}, particles = {0};
    pd_status status = PD_OK;
    *out = (pd_touching){0};
    others.pairs = malloc((count.others + 1) * 2 * sizeof(int));
    particles.pairs = malloc((count.particles + 1) * 2 * sizeof(int));
    out->points = pd_arena_take(arena, count.points, 3 * sizeof(double), error);
    out->owners = pd_arena_take(arena, count.points, sizeof(int), error);
    out->radii = pd_arena_take(arena, count.points, sizeof(double), error);
    out->triangles = pd_arena_take(arena, count.triangles, 3 * sizeof(int), error);
    out->planes = pd_arena_take(arena, (size_t)scene->n_obstacles, sizeof(int), error);
    out->first_point = pd_arena_take(arena, (size_t)scene->n_obstacles, sizeof(int), error);
    out->tets = pd_arena_take(arena, count.tets, 4 * sizeof(int), error);
    if (!others.pairs || !particles.pairs || !out->points || !out->owners || !out->radii || !out->triangles || !out->planes ||
        !out->first_point || !out->tets)
        PD_TRY(pd_fail(error, PD_ERROR_MEMORY, "out of memory for the contact of %zu points", count.points));
    for (int b = 0; b < scene->n_bodies; b++) PD_TRY(put_body(out, scene, b, &others, &particles, error));
    out->n_points = scene->n_vertices;
    for (int shapes = 0; shapes < 2; shapes++) // surfaces, segments and points first, as in Python
        for (int o = 0; o < scene->n_obstacles; o++)
            if ((scene->obstacles[o].shape < PD_OBSTACLE_SURFACE) == shapes) put_obstacle(out, scene, o, &others, &particles);
    PD_TRY(merge_edges(out, &others, &particles, arena, error));
    PD_TRY(find_vertices(out, arena, error));
done:
    free(others.pairs);
    free(particles.pairs);
    return status;
}

pd_status pd_touching_parts(int *parts, const pd_touching *touching, pd_error *error) {
    int n = touching->n_points, *parents = malloc(((size_t)n + 1) * sizeof *parents);
    if (!parents) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the parts of %d points", n);
    pd_sets_begin(parents, n);
    for (int e = 0; e < touching->n_edges; e++) pd_sets_join(parents, touching->edges[2 * e], touching->edges[2 * e + 1]);
    for (int t = 0; t < touching->n_tets; t++)
        for (int i = 1; i < 4; i++) pd_sets_join(parents, touching->tets[4 * t], touching->tets[4 * t + i]);
    pd_sets_number(parents, n, parts);
    free(parents);
    return PD_OK;
}

/* The row of a triangle's edge: the edges before the particles are sorted. */
static int row_of(const pd_touching *touching, int a, int b) {
    int wanted[2] = {a < b ? a : b, a < b ? b : a}, low = 0, high = touching->n_edges - 1;
    while (high > 0 && touching->edges[2 * high] == touching->edges[2 * high + 1]) high--;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (by_pair(touching->edges + 2 * middle, wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pd_touching_areas(double *of_vertices, double *of_edges, double *of_triangles, const pd_touching *touching) {
    for (int i = 0; i < touching->n_points; i++) of_vertices[i] = -1.0;
    for (int e = 0; e < touching->n_edges; e++) of_edges[e] = -1.0;
    for (int t = 0; t < touching->n_triangles; t++) {
        const int *corners = touching->triangles + 3 * t;
        const double *a = touching->points + 3 * corners[0], *b = touching->points + 3 * corners[1], *c = touching->points + 3 * corners[2];
        double p[3], q[3], normal[3], third;
        for (int i = 0; i < 3; i++) p[i] = b[i] - a[i], q[i] = c[i] - a[i];
        for (int i = 0; i < 3; i++) normal[i] = p[(i + 1) % 3] * q[(i + 2) % 3] - p[(i + 2) % 3] * q[(i + 1) % 3];
        third = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]) / 6.0;
        of_triangles[t] = 3.0 * third;
        for (int i = 0; i < 3; i++) {
            double *areas[2] = {&of_vertices[corners[i]], &of_edges[row_of(touching, corners[i], corners[(i + 1) % 3])]};
            for (int k = 0; k < 2; k++) *areas[k] = (*areas[k] < 0.0 ? 0.0 : *areas[k]) + third;
        }
    }
}
