/* The contact surface of a scene: points y = W x of the bodies' vertices x, then points with a prescribed motion, such as the vertices
 * of obstacle meshes. Its vertices, edges and triangles are the primitives of a broad phase over the points. Parts without triangles
 * have only edges and vertices.
 *
 * A row of W has at most four weights: the barycentric coordinates of a point in a tetrahedron. Without weights, a point is a vertex. */
#ifndef PD_CONTACT_DETECTION_SURFACE_H
#define PD_CONTACT_DETECTION_SURFACE_H

#include "loops/embedding_loops.h"

typedef struct pd_surface_description {
    int n_points, n_vertices; /* n_vertices: rows of x */
    int n_embedded;           /* the first points, which follow x; the others have a prescribed motion */
    const int *rows;          /* H [n_embedded,4] rows of x, -1: none; NULL: point i is vertex i, and n_embedded is n_vertices */
    const real *weights;      /* H [n_embedded,4]; NULL where rows are */
    const int *owner;         /* H [n_points] body or obstacle */
} pd_surface_description;

typedef struct pd_surface {
    pd_context *context;
    int n_points, n_vertices, n_embedded;
    int *rows;     /* B or NULL */
    real *weights; /* B or NULL */
    int *owner;    /* B [n_points] */
    real *points;  /* B [n_points,3] y, m */

    /* with weights, of the embedded points: */
    pd_embedding embedding;
    int *host_rows;            /* H [n_embedded,4] */
    real *host_weights;        /* H [n_embedded,4] */
    pd_model model;            /* the model of the loops over pairs: it has free vertices and nothing else */
    real *moves, *forces;      /* B [n_embedded,3] scratch */
    double *bounds;            /* B [n_embedded] scratch */
    real *displacement_bounds; /* B [n_embedded] m; scratch */
    unsigned char *touching;   /* B [n_embedded] */
    real largest;              /* of the embedding's sizes; at least 1 */
} pd_surface;

/* Memory: all of it here. Errors: PD_ERROR_MEMORY. */
pd_status pd_surface_create(pd_surface **out, pd_context *context, const pd_surface_description *description);
void pd_surface_destroy(pd_surface *surface); /* NULL is allowed */

/* Sets the points with a prescribed motion: positions [n_points-n_embedded,3]  H  m. */
pd_status pd_surface_drive(pd_surface *surface, const real *positions);

/* Moves the embedded points to W x, x [n_vertices,3]  B  m. */
pd_status pd_surface_place(pd_surface *surface, const real *x);

/* Writes W x, positions or displacements of the embedded points, to `to` [n_embedded,3]  B. */
pd_status pd_surface_follow(const pd_surface *surface, const real *x, real *to);

#endif
