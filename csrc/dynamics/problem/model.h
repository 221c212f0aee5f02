/* Conversion of the host's description of a scene to a model in backend memory. */
#ifndef PD_DYNAMICS_PROBLEM_MODEL_H
#define PD_DYNAMICS_PROBLEM_MODEL_H

#include "loops/backend.h"
#include "loops/rigid_loops.h"
#include "sparse/system_matrix.h"

/* All constant data of a scene: plain double arrays, borrowed for the call. */
typedef struct pd_description {
    int n_vertices;
    const double *masses;       /* [n] kg */
    const unsigned char *fixed; /* [n] */
    const double *subspace;     /* [n,3,3] projector on the line or plane of a vertex; NULL: none */
    const pd_element_set *sets; /* [n_sets], each kind at most once */
    int n_sets;
    const pd_rigid_rows *rigid; /* [n_rigid] */
    int n_rigid;
    const double *arms;                           /* [n,3] of their rows, from the centre at rest, m; NULL: none */
    const struct pd_contact_description *contact; /* contact/potential/contact.h; NULL: no contact. Read at creation only */
    const struct pd_proxies_description *proxies; /* contact/proxies/proxies.h; NULL: none. Read at creation only */
} pd_description;

/* Rounds once, to `real`, and uploads; `corners` is the gather list of the same sets. Errors: PD_ERROR_MEMORY, PD_ERROR_VALUE. */
pd_status pd_model_create(pd_model *out, pd_context *context, const pd_description *description, const pd_corners *corners);
void pd_model_destroy(pd_model *model, pd_context *context);

#endif
