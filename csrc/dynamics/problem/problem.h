/* The problem of a step as methods see it: a model, data that are constant in the step, and scratch. Methods read it, and change the
 * iterate only (method.h). */
#ifndef PD_DYNAMICS_PROBLEM_PROBLEM_H
#define PD_DYNAMICS_PROBLEM_PROBLEM_H

#include "dynamics/problem/model.h"
#include "sparse/cholesky.h"

typedef struct pd_rounding pd_rounding;                   /* rounding.h */
typedef struct pd_block_hessian pd_block_hessian;         /* block_hessian.h */
typedef struct pd_assembled_hessian pd_assembled_hessian; /* assembled_hessian.h */
typedef struct pd_reduced_hessian pd_reduced_hessian;     /* reduced_hessian.h */
typedef struct pd_rigid pd_rigid;                         /* rigid.h */
typedef struct pd_custom_elements pd_custom_elements;     /* custom_elements.h */
typedef struct pd_integrator pd_integrator;               /* dynamics/integrator/integrator.h */
typedef struct pd_contact pd_contact;                     /* contact/potential/contact.h */
typedef struct pd_contact_response pd_contact_response;   /* dynamics/response.h */
typedef struct pd_prescribed_pairs pd_prescribed_pairs;   /* contact/potential/prescribed_pairs.h */

typedef struct pd_problem {
    pd_error *error; /* the text of the last error */
    pd_context *context;
    const pd_cholesky_functions *cholesky;
    double h, dt;              /* s: the step of the inertia in G, and that between positions; 0: quasistatic */
    pd_integrator *integrator; /* NULL: implicit Euler, for which both steps are the same */

    pd_model *model; /* in backend memory */
    pd_step_data step;
    real *x_t, *external_acceleration;     /* B [n,3] of `step` */
    const pd_contact_response *response;   /* the response of contact; without contact its functions are NULL */
    void *response_memory;                 /* its own */
    pd_contact *scene;                     /* of the response: the pairs and the prescribed points of the scene, or NULL */
    pd_contact *contact;                   /* the same if its pairs are a term of G, for methods; else NULL */
    pd_prescribed_pairs *prescribed_pairs; /* pairs of pins and scripted obstacles, in no list of contact; or NULL */

    /* host side of the model; the arrays of the sets, and of the next three, are borrowed from the description */
    const pd_element_set *sets; /* [n_sets] */
    int n_sets;
    const double *masses;
    const unsigned char *fixed;
    const double *subspace; /* [n,3,3] or NULL */
    const pd_corners *corners;

    /* derived data; expensive ones are created at first use, by functions of the named files */
    pd_rounding *rounding;           /* rounding.h */
    pd_block_hessian *hessian;       /* block_hessian.h */
    pd_assembled_hessian *assembled; /* assembled_hessian.h */
    pd_reduced_hessian *reduced;     /* reduced_hessian.h */
    pd_csr *system_matrix;           /* global_step.h; n = 0 until first used */
    pd_rigid *rigid;                 /* rigid.h; NULL: no rigid bodies */
    pd_custom_elements *custom;      /* custom_elements.h; NULL: no materials of the caller */

    /* Scratch: valid until the next call that fills it. */
    real *trial, *trial_offset, *trial_gradient; /* B [n,3] */
    double *scalars;                             /* B [PD_ENERGY_COUNT + 2], at least eight */
    real *staging;                               /* H [n,3] */
} pd_problem;

static inline size_t pd_problem_bytes(const pd_problem *self) { return (size_t)self->model->n_vertices * 3 * sizeof(real); }

/* The arrays of the description are borrowed: they must outlive the problem, unchanged. response: the response that the description
 * selects. dt in s, 0: quasistatic; integrator: PD_IMPLICIT_EULER, .. of dynamics/integrator/integrator.h. Errors: PD_ERROR_MEMORY,
 * PD_ERROR_VALUE, those of a device. */
pd_status pd_problem_create(pd_problem **out, const pd_description *description, const pd_contact_response *response, double dt,
                            int integrator, const pd_cholesky_functions *cholesky, pd_place place, pd_error *error);
void pd_problem_destroy(pd_problem *self); /* NULL is allowed */

/* Copies the text of a loop's error from the context to `error`. Returns the status. */
pd_status pd_problem_keep_error(const pd_problem *self, pd_status status);

#endif
