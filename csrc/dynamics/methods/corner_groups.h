/* The data of elements for the updates of a sweep: corners in groups of vector lanes, neighbours, and the other corners. */
#ifndef PD_DYNAMICS_METHODS_CORNER_GROUPS_H
#define PD_DYNAMICS_METHODS_CORNER_GROUPS_H

#include "dynamics/problem/problem.h"

/* The corners of a sweep that are in groups: none, those of all families, or those of families whose blocks are exact. */
enum { PD_GROUPS_NONE, PD_GROUPS_ALL, PD_GROUPS_EXACT };

/* The vertex of each update, in host memory. */
typedef struct pd_sweep_order {
    const pd_problem *problem;
    int n, grouped;              /* updates; PD_GROUPS_NONE, .. */
    const int *vertices, *slots; /* [n] */
    const unsigned char *kinds;  /* [n] pd_update_kind */
    const int *slot_of;          /* [n_vertices] */
} pd_sweep_order;

/* The family of an element's corners (elements/table.h): PD_CORNERS_SINGLE if they are in no group. */
int pd_corner_family(const pd_element_set *set, int element, int grouped);

/* Fills updates, groups, corner_start, corners and n_corners of `out`. The caller destroys them, also after a failure. Errors:
 * PD_ERROR_MEMORY. */
pd_status pd_corner_groups_create(const pd_sweep_order *order, pd_vertex_sweep *out);
void pd_corner_groups_destroy(pd_vertex_sweep *sweep, pd_context *context);

/* Fills its neighbours; destroyed with the groups. */
pd_status pd_neighbour_rows_create(const pd_sweep_order *order, pd_vertex_sweep *out);

#endif
