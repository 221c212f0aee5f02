/* A material of the caller: batched functions of deformation gradients. CustomMaterial in Python and pdgpu_material_functions of the C
 * interface are these. They run on the thread that called the core, outside parallel regions.
 *
 * The caller owns the buffers and lends them as long as the elements live. Before a call F holds the first n deformation gradients and
 * `elements` the numbers of their elements; the function leaves its answer in `out`. All numbers are double, in both precisions. */
#ifndef PD_BASE_MATERIAL_FUNCTIONS_H
#define PD_BASE_MATERIAL_FUNCTIONS_H

#include "base/status.h"

typedef enum pd_material_quantity {
    PD_MATERIAL_ENERGY,  /* Psi, J per volume or area at rest */
    PD_MATERIAL_STRESS,  /* dPsi/dF */
    PD_MATERIAL_HESSIAN, /* d2Psi/dF2 */
    PD_MATERIAL_QUANTITIES
} pd_material_quantity;

/* Sets of quantities. */
enum { PD_ASK_ENERGY = 1 << PD_MATERIAL_ENERGY, PD_ASK_STRESS = 1 << PD_MATERIAL_STRESS, PD_ASK_HESSIAN = 1 << PD_MATERIAL_HESSIAN };

/* Elements of a call, at most. Larger batches leave the cache: 16 MB hold the Hessians of so many tets. */
enum { PD_MATERIAL_BATCH = 1 << 14 };

typedef struct pd_material_functions {
    const char *name; /* what messages call it */
    int first, n;     /* elements of the set that have it; a set has one run of elements after the other */
    int has_hessian;  /* 0: the Hessian is made of central differences of the stress */
    int most;         /* elements of a call, at least 1 */
    double *F;        /* H [most,3,d] */
    double *out;      /* H [most,(3d)^2]: energies [n], stresses [n,3,d] or Hessians [n,3d,3d] */
    double *shifted;  /* H [2,most,3,d] scratch of central differences; NULL where has_hessian */
    int *elements;    /* H [most] from 0, the first of this material */
    void *user;
    /* A failure without a text gets one. PD_INTERRUPTED: an exception of the caller is pending. */
    pd_status (*evaluate)(void *user, pd_material_quantity quantity, int n);
} pd_material_functions;

#endif
