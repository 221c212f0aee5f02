/* Points in straight motion at constant speed from time 0 to time 1, exactly: polynomials with integer coefficients. */
#ifndef PD_VERIFY_EXACT_MOVING_H
#define PD_VERIFY_EXACT_MOVING_H

#include "verify/exact_polynomial.h"

/* A moving vector. */
typedef struct pd_moving {
    pd_polynomial k[3];
} pd_moving;

void pd_moving_create(pd_moving *m);
void pd_moving_destroy(pd_moving *m);

/* out = a - b, a x b, a . b; out is neither a nor b. */
void pd_moving_subtract(pd_moving *out, const pd_moving *a, const pd_moving *b);
void pd_moving_cross(pd_moving *out, const pd_moving *a, const pd_moving *b);
void pd_moving_dot(pd_polynomial *out, const pd_moving *a, const pd_moving *b);

enum { PD_MOVING_POINTS = 4, PD_MOVING_NUMBERS = 2 };

/* n points at times 0 and 1 (x [2 n,3]) and some numbers, all scaled by one power of two. Points are created, integers initialised. */
void pd_moving_points(pd_moving *points, const double *x, int n, mpz_t *whole, const double *numbers, int n_numbers);

#endif
