/* What contact by projections is made of, for projective.c and projective_pairs.c alone: everybody else knows projective.h. */
#ifndef PD_CONTACT_PROJECTIVE_PROJECTIVE_PARTS_H
#define PD_CONTACT_PROJECTIVE_PROJECTIVE_PARTS_H

#include "contact/projective/projective.h"

/* The kept data of the pairs, and the buffer in which it is rebuilt: the two swap. */
typedef struct list {
    size_t capacity;
    pd_kept_pairs pairs;
} list;

/* A list whose new pairs are to join those of the step. */
typedef struct joining {
    pd_active_pairs found;
    size_t capacity;      /* of what is looked through */
    unsigned char *flags; /* B [capacity] */
    int *rows, *starts;
    pd_work work;
    uint64_t *count; /* B [1] new ones */
    uint64_t n;      /* the same as the host was last told */
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
    int hits_known;  /* all of them had room when they were asked for */
    int near_known;  /* the pairs that are near have been looked for where the next freeze is */
    double went[2];  /* what the points went with the state in the first round of the last step, and in the last round, m */
    int rounds;      /* of this step */
    pd_round *round; /* B [1] */
    pd_work key_work;

    size_t key_capacity, role_capacity;
    uint64_t *keys, *scratch;
    pd_incidence incidence;

    real *points, *begun; /* B [n_points,3] m: ahead, and where the step began */
    double *diagonal;     /* B [n_vertices] N/m */
    real *coupling;       /* B [n_vertices,3,3] N/m, or NULL */
    unsigned char *touching;
    double *energy; /* B [1] */

    real *velocities; /* B [n_points,3] m/s: of a rebound, or where targets are reflected as the step began; else NULL */
    int *count;       /* B [n_points] rebounds of a vertex; NULL: none rebounds */
    double seconds;   /* pd_projective_seconds */
};

/* The pairs that are near at x, unless they have just been looked for there; and those that are new join the pairs of the step. */
pd_status pd_projective_find_near(pd_projective *self, const real *x);
pd_status pd_projective_join_near(pd_projective *self);

#endif
