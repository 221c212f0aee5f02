/* The scene of the C interface, and functions shared by the files of the C library. */
#ifndef PD_LIBRARY_SCENE_OBJECT_H
#define PD_LIBRARY_SCENE_OBJECT_H

#include "include/pdgpu.h"

#include "base/status.h"
#include "mesh/element_set.h"

#include <stddef.h>

/* Memory that is freed as a whole. */
typedef struct pd_arena {
    void **blocks;
    int n, capacity;
} pd_arena;

/* Zeroed memory for `count` items of `size` bytes; valid also for none; NULL with an error. pd_arena_free frees it. */
void *pd_arena_take(pd_arena *arena, size_t count, size_t size, pd_error *error);
/* The same with a copy of `count` items. */
void *pd_arena_copy(pd_arena *arena, const void *items, size_t count, size_t size, pd_error *error);
void pd_arena_free(pd_arena *arena);

/* Elements of one kind: columns of a pd_element_set, over the vertices of one body. */
typedef struct pd_element_group {
    int kind, n;
    const int *vertices;
    const double *rest, *parameters;
    const pdgpu_material_functions *own; /* NULL, or whose energy it is */
} pd_element_group;

typedef struct pd_body {
    pdgpu_body_type type;
    int first, n_points; /* in the scene */
    int n_elements;
    int *elements; /* indices of its points */
    double *points, *masses, *velocities;
    double damping;
    int n_groups;
    pd_element_group groups[PDGPU_MATERIAL_COUNT + 1]; /* each material once, and functions of the caller */
    int has[PDGPU_MATERIAL_COUNT];
} pd_body;

typedef struct pd_attachment {
    int body, vertex; /* vertex: in the scene */
    double target[3], stiffness;
} pd_attachment;

typedef enum pd_obstacle_shape {
    PD_OBSTACLE_PLANE,
    PD_OBSTACLE_SPHERE,
    PD_OBSTACLE_CAPSULE,
    PD_OBSTACLE_SURFACE, /* from here on the points move one by one */
    PD_OBSTACLE_SEGMENTS,
    PD_OBSTACLE_POINTS
} pd_obstacle_shape;

typedef struct pd_obstacle {
    pd_obstacle_shape shape;
    int n_points;   /* of a plane: its point and its unit normal */
    double *points; /* m */
    double radius;  /* m */
    int n_triangles, n_edges;
    int *triangles, *edges; /* indices of its points */
} pd_obstacle;

typedef enum pd_contact_kind { PD_NO_CONTACT, PD_BARRIER_CONTACT, PD_PENALTY_CONTACT } pd_contact_kind;

struct pdgpu_scene {
    pd_arena arena;
    double gravity[3];
    int n_vertices;
    int n_bodies, n_attachments, n_obstacles;
    pd_body *bodies;
    unsigned char *fixed; /* [n_vertices] */
    pd_attachment *attachments;
    pd_obstacle *obstacles;
    pd_contact_kind contact;
    pdgpu_barrier barrier;
    pdgpu_penalty penalty;
};

/* error.c: writes the error, if any, for the caller. Returns the status. */
pdgpu_status pd_report(pd_status status, const pd_error *found, pdgpu_error *error);
/* Fails unless `given` is a pointer. */
pd_status pd_need(const void *given, const char *name, pd_error *error);
/* Fails unless a number is finite and >= `least`, or > `least` with `above`. */
pd_status pd_need_number(double value, double least, int above, const char *name, pd_error *error);
/* Fails unless n numbers are finite. */
pd_status pd_need_finite(const double *values, size_t n, const char *name, pd_error *error);

/* The body of that number; NULL with an error. */
pd_body *pd_scene_body(const pdgpu_scene *scene, int body, pd_error *error);

/* materials.c: the elements of a material on a body. The arrays of *out are in the arena of the scene. */
pd_status pd_material_group(pd_element_group *out, pdgpu_scene *scene, const pd_body *body, pdgpu_material material,
                            const double *constants, int n_rows, pd_error *error);
const char *pd_material_name(pdgpu_material material);

/* own_material.c: the functions of a group, whose elements begin at `first` of their set. Buffers lie in the arena. */
pd_status pd_own_material_connect(pd_material_functions *out, const pd_element_group *group, int first, pd_arena *arena, pd_error *error);

#endif
