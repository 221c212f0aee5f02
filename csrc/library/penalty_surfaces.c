/* The surfaces and solids of a scene for a penalty. Python has the same in penalty_contact.py and tet_neighbours.py. */
#include "library/touching.h"

#include <stdlib.h>
#include <string.h>

/* The triangles of each point, ascending, with start [n_points+1]. */
static void fill_rings(int *start, int *rings, const pd_touching *touching) {
    int n = touching->n_points;
    for (int i = 0; i < 3 * touching->n_triangles; i++) start[touching->triangles[i] + 1]++;
    for (int i = 0; i < n; i++) start[i + 1] += start[i];
    for (int i = 0; i < 3 * touching->n_triangles; i++) rings[start[touching->triangles[i]]++] = i / 3;
    memmove(start + 1, start, (size_t)n * sizeof *start);
    start[0] = 0;
}

/* A directed side of a triangle. */
typedef struct side {
    int from, to;
} side;

static int by_side(const void *a, const void *b) {
    const side *p = a, *q = b;
    return p->from != q->from ? (p->from > q->from) - (p->from < q->from) : (p->to > q->to) - (p->to < q->to);
}

/* Marks parts with an open surface, or with two triangles of the same direction along an edge. */
static pd_status mark_open(unsigned char *open, const pd_touching *touching, const int *parts, pd_error *error) {
    size_t n = 3 * (size_t)touching->n_triangles;
    side *sides = malloc((n + 1) * sizeof *sides);
    if (!sides) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for %zu sides", n);
    for (size_t i = 0; i < n; i++) {
        size_t next = i % 3 == 2 ? i - 2 : i + 1;
        sides[i] = (side){touching->triangles[i], touching->triangles[next]};
    }
    qsort(sides, n, sizeof *sides, by_side);
    for (size_t i = 0; i < n; i++) {
        side back = {sides[i].to, sides[i].from};
        int repeated = i + 1 < n && by_side(&sides[i], &sides[i + 1]) == 0;
        if (repeated || !bsearch(&back, sides, n, sizeof *sides, by_side)) open[parts[sides[i].from]] = 1;
    }
    free(sides);
    return PD_OK;
}

/* outward [n_triangles]: 1 or -1 for a closed part, by the sign of its volume; 0 for an open one. */
static pd_status fill_outward(int *outward, const pd_touching *touching, const int *parts, pd_error *error) {
    size_t n = (size_t)touching->n_points;
    double *volumes = calloc(n + 1, sizeof *volumes), centre[3] = {0.0, 0.0, 0.0};
    unsigned char *open = calloc(n + 1, 1);
    pd_status status = PD_OK;
    if (!volumes || !open) PD_TRY(pd_fail(error, PD_ERROR_MEMORY, "out of memory for the parts of %zu points", n));
    PD_TRY(mark_open(open, touching, parts, error));
    for (int i = 0; i < 3 * touching->n_triangles; i++)
        for (int c = 0; c < 3; c++) centre[c] += touching->points[3 * touching->triangles[i] + c] / (3.0 * touching->n_triangles);
    for (int t = 0; t < touching->n_triangles; t++) {
        double m[3][3];
        for (int i = 0; i < 3; i++)
            for (int c = 0; c < 3; c++) m[i][c] = touching->points[3 * touching->triangles[3 * t + i] + c] - centre[c];
        volumes[parts[touching->triangles[3 * t]]] += m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                                                      m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                                                      m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
    }
    for (int t = 0; t < touching->n_triangles; t++) {
        int part = parts[touching->triangles[3 * t]];
        outward[t] = open[part] ? 0 : (volumes[part] > 0.0) - (volumes[part] < 0.0);
    }
done:
    free(volumes);
    free(open);
    return status;
}

/* A face of a tet, or a surface triangle, by its corners in ascending order. */
typedef struct face {
    int corners[3];
    int slot; /* 4 tet + the opposite corner; triangles begin at 4 n_tets */
} face;

static int by_face(const void *a, const void *b) {
    const face *p = a, *q = b;
    for (int i = 0; i < 3; i++)
        if (p->corners[i] != q->corners[i]) return p->corners[i] < q->corners[i] ? -1 : 1;
    return (p->slot > q->slot) - (p->slot < q->slot);
}

static face face_of(int a, int b, int c, int slot) {
    face made = {{a, b, c}, slot};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (made.corners[j] > made.corners[j + 1]) {
                int corner = made.corners[j];
                made.corners[j] = made.corners[j + 1], made.corners[j + 1] = corner;
            }
    return made;
}

/* neighbours [n_tets,4], behind [n_triangles]: the tets on the inner sides of faces, -1: none. */
static pd_status fill_neighbours(int *neighbours, int *behind, const pd_touching *touching, pd_error *error) {
    int m = touching->n_tets, n = 4 * m + touching->n_triangles;
    face *faces = malloc(((size_t)n + 1) * sizeof *faces);
    if (!faces) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for %d faces", n);
    for (int slot = 0; slot < 4 * m; slot++) {
        const int *tet = touching->tets + 4 * (slot / 4);
        int j = slot % 4;
        faces[slot] = face_of(tet[j == 0], tet[j <= 1 ? 2 : 1], tet[j <= 2 ? 3 : 2], slot);
    }
    for (int t = 0; t < touching->n_triangles; t++) {
        const int *corners = touching->triangles + 3 * t;
        faces[4 * m + t] = face_of(corners[0], corners[1], corners[2], 4 * m + t);
    }
    qsort(faces, (size_t)n, sizeof *faces, by_face);
    for (int i = 0; i < 4 * m; i++) neighbours[i] = -1;
    for (int t = 0; t < touching->n_triangles; t++) behind[t] = -1;
    for (int i = 0; i + 1 < n; i++) {
        if (memcmp(faces[i].corners, faces[i + 1].corners, sizeof faces[i].corners) != 0) continue;
        int first = faces[i].slot, second = faces[i + 1].slot;
        if (first >= 4 * m) continue;
        if (second >= 4 * m)
            behind[second - 4 * m] = first / 4;
        else
            neighbours[first] = second / 4, neighbours[second] = first / 4;
    }
    free(faces);
    return PD_OK;
}

pd_status pd_touching_describe_penalty(pd_penalty_description *out, const pd_touching *touching, const pdgpu_scene *scene, const int *parts,
                                       pd_arena *arena, pd_error *error) {
    int is_penalty = scene->contact == PD_PENALTY_CONTACT, m = is_penalty ? touching->n_tets : 0;
    size_t triangles = (size_t)touching->n_triangles;
    int *outward = pd_arena_take(arena, triangles, sizeof(int), error);
    int *start = pd_arena_take(arena, (size_t)touching->n_points + 1, sizeof(int), error);
    int *rings = pd_arena_take(arena, 3 * triangles, sizeof(int), error);
    int *neighbours = pd_arena_take(arena, (size_t)m, 4 * sizeof(int), error);
    int *behind = pd_arena_take(arena, triangles, sizeof(int), error);
    int *fields = pd_arena_take(arena, (size_t)touching->n_planes, sizeof(int), error);
    pd_status status = PD_OK;
    if (!outward || !start || !rings || !neighbours || !behind || !fields) return PD_ERROR_MEMORY;
    for (int p = 0; p < touching->n_planes; p++) fields[p] = -1;
    for (int t = 0; t < touching->n_triangles; t++) behind[t] = -1;
    if (is_penalty) {
        fill_rings(start, rings, touching);
        PD_TRY(fill_outward(outward, touching, parts, error));
        PD_TRY(fill_neighbours(neighbours, behind, touching, error));
    }
    *out = (pd_penalty_description){
        .interval = is_penalty ? scene->penalty.detection_interval : -1,
        .depth = is_penalty ? scene->penalty.depth : 0.0,
        .outward = outward,
        .ring_start = start,
        .rings = rings,
        .n_rings = is_penalty ? 3 * touching->n_triangles : 0,
        .tets = {touching->tets, neighbours, behind},
        .n_tets = m,
        .fields_of_planes = fields,
    };
done:
    return status;
}
