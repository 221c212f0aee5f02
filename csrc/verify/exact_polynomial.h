/* Polynomials in one variable with integer coefficients, and their exact signs at each other's roots.
 *
 * Contact between two frames is decided by signs of a few polynomials in the time t, at the roots of one of them. A root is never
 * computed. It is represented by an interval of dyadic rationals that contains no other root. The sign of a polynomial q at the root of
 * p in (a,b) is that of its Bernstein coefficients, if they agree. Otherwise it is a Tarski query: the difference between a and b of the
 * sign changes of the signed remainder sequence of p and p' q [Basu, Pollack, Roy 2006, Algorithms in Real Algebraic Geometry, Theorem
 * 2.73].
 *
 * Memory: GMP's, which ends the process if the system has none left. The numbers here have some thousand bits. */
#ifndef PD_VERIFY_EXACT_POLYNOMIAL_H
#define PD_VERIFY_EXACT_POLYNOMIAL_H

#include <gmp.h>

/* p' q with p and q of degree 4; the square of a cubic */
enum { PD_POLYNOMIAL_TERMS = 8, PD_POLYNOMIAL_ROOTS = 6 };

/* c[0] + c[1] t + ..; degree -1 is the zero polynomial. All coefficients are initialised from _create to _destroy. */
typedef struct pd_polynomial {
    mpz_t c[PD_POLYNOMIAL_TERMS];
    int degree;
} pd_polynomial;

void pd_polynomial_create(pd_polynomial *p);
void pd_polynomial_destroy(pd_polynomial *p);
void pd_polynomial_copy(pd_polynomial *out, const pd_polynomial *p);

/* out = a +- b, a b; out may be a or b. The degree of a product is at most PD_POLYNOMIAL_TERMS - 1. */
/* Finds the degree after a change of the first n + 1 coefficients. Coefficients above the degree are always zero. */
void pd_polynomial_find_degree(pd_polynomial *p, int n);
void pd_polynomial_add(pd_polynomial *out, const pd_polynomial *a, const pd_polynomial *b);
void pd_polynomial_subtract(pd_polynomial *out, const pd_polynomial *a, const pd_polynomial *b);
void pd_polynomial_multiply(pd_polynomial *out, const pd_polynomial *a, const pd_polynomial *b);

/* Signs of p on an interval: at its start, and of the smallest and largest Bernstein coefficient, which bound all values there [Basu,
 * Pollack, Roy 2006, Sec. 10.2]. */
typedef struct pd_signs {
    int start, lowest, highest;
} pd_signs;

/* On [place, place + 1] / 2^shift. */
pd_signs pd_polynomial_signs(const pd_polynomial *p, unsigned long place, unsigned long shift);

/* Tells whether p is positive at both ends of that interval and nonnegative within, with at most one zero, by Sturm's theorem. Intervals
 * with more zeros must be halved. */
int pd_polynomial_stays(const pd_polynomial *p, unsigned long place, unsigned long shift);

/* A root: the only root of its polynomial in the open interval (low, high) / 2^shift, or exactly low / 2^shift. */
typedef struct pd_root {
    mpz_t low, high;
    unsigned long shift;
    int exact;
} pd_root;

/* The distinct roots of one polynomial in [0,1], ascending. */
typedef struct pd_roots {
    pd_polynomial base; /* without the exact roots: no end of an interval is a root of it */
    pd_root root[PD_POLYNOMIAL_ROOTS];
    int n;
} pd_roots;

/* p must be nonzero and of degree <= 4. */
void pd_roots_create(pd_roots *roots, const pd_polynomial *p);
void pd_roots_destroy(pd_roots *roots);

/* -1, 0 or 1: the sign of q (degree <= 4) at the i-th root, whose interval may shrink. */
int pd_root_sign(pd_roots *roots, int i, const pd_polynomial *q);

/* The largest multiple of 2^-60 not above the i-th root, rounded down to a double: at most 2^-52 below it. */
double pd_root_below(pd_roots *roots, int i);

#endif
