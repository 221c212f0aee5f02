/* The loops over pairs in contact, once in cpu/contact.c, once in cuda/contact.cu; the rules of backend.h hold. */
#ifndef PD_CONTACT_LOOPS_H
#define PD_CONTACT_LOOPS_H

#include "backend.h"
#include "elements/contact/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* n pairs by field, all B. */
typedef struct pd_contact_pairs {
    int n;
    const int *kind;        /* [n]    of elements/contact/pair.h */
    const int *points;      /* [n,4]  rows of x; what a kind has no corner for is not read */
    const real *activation; /* [n]    dhat, m */
    const real *separation; /* [n]    xi, m */
    const real *weight;     /* [n] */
    const real *threshold;  /* [n]    of the mollifier, m^4; 0: none */
} pd_contact_pairs;

/* What pd_contact_batch computes of each pair. */
enum {
    PD_CONTACT_DISTANCE,   /* [n] m, separation not subtracted */
    PD_CONTACT_THRESHOLD,  /* [n] m^4, of the mollifier of two edges that are at rest at x; 0 for other pairs */
    PD_CONTACT_ACTIVATION, /* [n] m, of a pair of one body that is at rest at x: pd_contact_activation of pair.h */
    PD_CONTACT_ENERGY,     /* [n] J, infinite where nothing is left of the gap */
    PD_CONTACT_GRADIENT, /* [n,4,3] N; from here on: zero for corners that a kind has not, not a number where nothing is left of the gap */
    PD_CONTACT_HESSIAN,  /* [n,12,12] N/m */
    PD_CONTACT_HESSIAN_PSD, /* [n,12,12] N/m, the nearest positive semidefinite matrix */
    PD_CONTACT_BLOCKS,      /* [n,4,3,3] N/m, what each corner sees: the diagonal blocks of the Hessian */
    PD_CONTACT_BLOCKS_PSD,  /* [n,4,3,3] N/m, of the projected Hessian */
    PD_CONTACT_QUANTITY_COUNT
};

/* Numbers per pair of a quantity, or 0. */
static inline int pd_contact_quantity_size(int quantity) {
    static const int sizes[PD_CONTACT_QUANTITY_COUNT] = {1, 1, 1, 1, 12, 144, 144, 36, 36};
    return quantity < 0 || quantity >= PD_CONTACT_QUANTITY_COUNT ? 0 : sizes[quantity];
}

/* One quantity of every pair; law H, x B [.,3] m, out B. Errors: PD_ERROR_VALUE for an unknown quantity. */
pd_status pd_contact_batch(pd_context *context, const pd_contact_law *law, int quantity, const pd_contact_pairs *pairs, const real *x,
                           real *out);

#ifdef __cplusplus
}
#endif

#endif
