/* The contact surface of a scene for contact/potential/contact.h: points, edges and triangles. Python has the same in
 * python/pdgpu/contact/contact_scene.py: bodies first, then obstacle surfaces, then planes, spheres and capsules. */
#ifndef PD_LIBRARY_TOUCHING_H
#define PD_LIBRARY_TOUCHING_H

#include "contact/potential/contact.h"
#include "library/scene_object.h"

typedef struct pd_touching {
    int n_points;   /* vertices, then prescribed points */
    double *points; /* [n_points,3] m, at rest */
    int *owners;    /* [n_points] body, or n_bodies + obstacle */
    double *radii;  /* [n_points] m */
    int n_triangles, n_edges, n_vertices;
    int *triangles, *edges, *vertices; /* of the contact surface; an edge [i,i] is a particle */
    unsigned char *of_triangle;        /* [n_edges] */
    int n_planes, *planes;             /* rows of their points */
    int *first_point;                  /* [n_obstacles] row of the first point of each obstacle */
    int n_tets, *tets;                 /* of all solids */
} pd_touching;

/* The arena owns all memory. */
pd_status pd_touching_create(pd_touching *out, const pdgpu_scene *scene, pd_arena *arena, pd_error *error);

/* Connected parts: parts [n_points] out, numbers from 0, in the order of their first points. Edges and tets connect points. */
pd_status pd_touching_parts(int *parts, const pd_touching *touching, pd_error *error);

/* The areas at rest, m^2: of a triangle its own; of a vertex and an edge a third of each of its triangles; -1 without triangles. */
void pd_touching_areas(double *of_vertices, double *of_edges, double *of_triangles, const pd_touching *touching);

/* The description of the contact of a scene, for a step of dt s. *out is valid as long as the arena. */
pd_status pd_touching_describe(pd_contact_description *out, const pd_touching *touching, const pdgpu_scene *scene, double dt,
                               pd_arena *arena, pd_error *error);

/* penalty_surfaces.c: the part of *out for a penalty. parts [n_points] as above. */
pd_status pd_touching_describe_penalty(pd_penalty_description *out, const pd_touching *touching, const pdgpu_scene *scene, const int *parts,
                                       pd_arena *arena, pd_error *error);

#endif
