/* One kind of element on the host: arrays of double from the Python layer. */
#ifndef PD_MESH_ELEMENT_SET_H
#define PD_MESH_ELEMENT_SET_H

#include "base/material_functions.h"
#include "elements/table.h"

typedef struct pd_element_set {
    int kind;                 /* pd_kind */
    int n;                    /* elements */
    const int *vertices;      /* [n,k] */
    const double *rest;       /* [n,(k-1)*d] rest gradients g_1.. g_{k-1}; attachments: [n,3] targets, m */
    const double *parameters; /* [n,count]; column 0 is the weight of Projective Dynamics */
    const double *damping;    /* [n] s, or NULL: none */

    /* [n_functions] of a kind of PD_CUSTOM_TABLE: together they have all elements, in order; else none */
    const pd_material_functions *functions;
    int n_functions;
} pd_element_set;

/* A line of the table: k vertices, d columns of F, size of `rest`, number of parameters, constraints, family of its corners. */
typedef struct pd_kind_shape {
    int vertices, columns, rest, parameters, constraints, corners;
    const char *name;
} pd_kind_shape;

/* The shape of `kind`; its vertices are 0 for an unknown kind. */
pd_kind_shape pd_kind_shape_of(int kind);

/* Tells whether the kind has a projection, which Projective Dynamics needs. */
int pd_kind_has_projection(int kind);

/* Whether the kind is one of PD_CUSTOM_TABLE, and its parameters are those of custom.h. */
int pd_kind_is_custom(int kind);

/* Tells whether tets of the kind must not invert. */
int pd_kind_is_oriented(int kind);

/* The largest eigenvalue of d2E/dF2 near rest, or a little more, from the parameters of one element: how stiff it is where rounding of
 * F becomes rounding of E. */
double pd_largest_stiffness(int kind, const double *parameters);

/* The weight of an element in ADMM, which should be between the smallest and the largest curvature of its energy. It is that of
 * Projective Dynamics for kinds with a projection, (2 mu + lam) volume or area for hyperelastic kinds, otherwise the first parameter. */
double pd_admm_weight(int kind, const double *parameters);

#endif
