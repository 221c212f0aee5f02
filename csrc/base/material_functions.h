/* A material of the caller: batched functions of deformation gradients, used by CustomMaterial in Python and pdgpu_material_functions of
 * the C interface. They run on the thread that called the core, outside parallel regions.
 *
 * The caller owns the buffers, and they must outlive the elements. At a call F contains the first n deformation gradients, and `elements`
 * the indices of their elements; the function writes its result to `out`. All numbers are double, in both precisions. */
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
enum {
    PD_REQUEST_ENERGY = 1 << PD_MATERIAL_ENERGY,
    PD_REQUEST_STRESS = 1 << PD_MATERIAL_STRESS,
    PD_REQUEST_HESSIAN = 1 << PD_MATERIAL_HESSIAN
};

/* The largest number of elements in a call. Larger batches exceed the cache: the Hessians of this number of tets take 16 MB. */
enum { PD_MATERIAL_BATCH = 1 << 14 };

typedef struct pd_material_functions {
    const char *name; /* the name in messages */
    int first, n;     /* the elements of the set with this material, a contiguous range */
    int has_hessian;  /* 0: the Hessian is computed by central differences of the stress */
    int most;         /* elements of a call at most, at least 1 */
    double *F;        /* H [most,3,d] */
    double *out;      /* H [most,(3d)^2]: energies [n], stresses [n,3,d] or Hessians [n,3d,3d] */
    double *shifted;  /* H [2,most,3,d] scratch of central differences; NULL with has_hessian */
    int *elements;    /* H [most] from 0 at the first element of this material */
    void *user;
    /* A failure without a text gets a standard one. PD_INTERRUPTED: an exception of the caller is pending. */
    pd_status (*evaluate)(void *user, pd_material_quantity quantity, int n);
} pd_material_functions;

#endif
