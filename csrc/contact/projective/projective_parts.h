/* The parts of contact by projections, for projective.c and projective_pairs.c only. Other files include projective.h. */
#ifndef PD_CONTACT_PROJECTIVE_PROJECTIVE_PARTS_H
#define PD_CONTACT_PROJECTIVE_PROJECTIVE_PARTS_H

#include "contact/projective/projective.h"

/* The data of the pairs, and a buffer for its next version; the two are swapped. */
typedef struct list {
    size_t capacity;
    pd_kept_pairs pairs;
} list;

/* A list whose new pairs join those of the step. */
typedef struct joining {
    pd_active_pairs found;
    size_t capacity;      /* of the list */
    unsigned char *flags; /* B [capacity] */
    int *rows, *starts;
    pd_work work;
    uint64_t *count; /* B [1] new pairs */
    uint64_t n;      /* the host's last copy of the count */
} joining;

struct pd_projective {
    pd_context *context;
    pd_contact *contact;
    const pd_model *model;
    pd_projective_description settings;
    double activation;
    double inverse_h;
    int n_points, acts, n;

    list kept, spare;
    pd_freezing freezing;
    size_t capacity, partial_capacity;
    pd_contact_columns columns;
    pd_projected_pairs frozen;
    real *values, *corners; /* B [capacity], [capacity,4,3] */
    double *partial;

    joining hits, near;
    int hits_known;   /* the list of hits did not overflow */
    int active_known; /* neighbour pairs at the point of the next freeze are known */
    double went[2];   /* displacement of the points in the first and in the last round of the last step, m */
    int rounds;       /* of this step */
    pd_round *round;  /* B [1] */
    pd_work key_work;

    size_t key_capacity, role_capacity;
    uint64_t *keys, *scratch;
    pd_incidence incidence;

    real *points, *begun; /* B [n_points,3] m: the points ahead, and those at the begin of the step */
    double *diagonal;     /* B [n_vertices] N/m */
    real *coupling;       /* B [n_vertices,3,3] N/m, or NULL */
    unsigned char *touching;
    double *energy; /* B [1] */

    real *velocities; /* B [n_points,3] m/s: for a rebound, or for reflected targets at the begin of the step; else NULL */
    int *count;       /* B [n_points] rebounds of a vertex; NULL: no rebounds */
    double seconds;   /* pd_projective_seconds */
};

/* Searches for neighbour pairs at x, unless these are known. New pairs join those of the step. */
pd_status pd_projective_find_active(pd_projective *self, const real *x);
pd_status pd_projective_join_active(pd_projective *self);

#endif
