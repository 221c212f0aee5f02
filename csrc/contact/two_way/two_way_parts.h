/* The parts of the two-way method, for two_way.c and two_way_backward.c only. Other files include two_way.h. */
#ifndef PD_CONTACT_TWO_WAY_TWO_WAY_PARTS_H
#define PD_CONTACT_TWO_WAY_TWO_WAY_PARTS_H

#include "contact/two_way/two_way.h"
#include "contact/two_way/two_way_list.h"

struct pd_two_way {
    pd_context *context;
    pd_contact *contact;
    const pd_model *model;
    pd_two_way_description settings; /* without its arrays */
    double delta, separation, activation;
    int n_points;
    pd_rubbing rubbing;
    int rubs, filtered; /* filtered: friction by a filter only */
    int untouched;      /* the target is not filtered yet */

    pd_two_way_list edges, pairs, before; /* `pairs` and `before` are swapped */
    size_t feature_capacity;              /* of the nearest features of listed pairs */
    int *kind, *points, *chosen, *flag_starts;
    real *length, *normal, *displacement_bound;
    unsigned char *flags;
    pd_work flag_work;
    pd_two_way_colouring colouring;

    real *x, *next;            /* B [n_vertices,3] x^(l), x^(l+1) */
    real *y_0, *y, *ahead;     /* B [n_points,3] y^(0), y^(l), x^(l) with prescribed points at their targets */
    real *begun, *goal;        /* B [n_points,3] */
    real *pushed;              /* B [n_points,3] y - goal */
    real *inverse, *curvature; /* B [n_points,6] */
    double *scalars;           /* B [2] */

    double lap, *seconds; /* begin of the present part; [PD_TWO_WAY_PARTS] of the report */
};

/* Increases the capacity to the features of n pairs and the data of a forward step. Memory: grows. Errors: PD_ERROR_MEMORY. */
pd_status pd_two_way_ensure_capacity(pd_two_way *two_way, size_t n);

/* The rows of the pairs at x^(l), with the multipliers and colours of the same rows before. */
pd_status pd_two_way_find_rows(pd_two_way *two_way, const pd_contact_pairs *listed, const pd_incidence *of_listed, const real *distance);

/* y^(l+1) from x^(l): rows of edges first, then rows of pairs. */
pd_status pd_two_way_step_backward(pd_two_way *two_way, int l);

#endif
