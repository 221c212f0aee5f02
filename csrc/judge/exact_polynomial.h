/* Polynomials in one variable with integer coefficients, and their signs at each other's roots, without any rounding.
 *
 * Whether two bodies touch between two frames is a question about signs: of a few polynomials in the time t, at the roots of one
 * of them. A root is never computed. It is held by an interval of dyadic rationals that contains no other root, and the sign of a
 * polynomial q at the root of p in (a,b) is that of its Bernstein coefficients where they agree, and else a Tarski query, the difference of
 * the sign changes of the signed remainder sequence of p and p' q at a and at b [Basu, Pollack, Roy 2006, Algorithms in Real Algebraic
 * Geometry, Theorem 2.73].
 *
 * Memory: GMP's, which ends the process where the system has none left; the numbers here have some thousand bits. */
#ifndef PD_JUDGE_EXACT_POLYNOMIAL_H
#define PD_JUDGE_EXACT_POLYNOMIAL_H

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
/* Coefficients above the degree are always zero; this finds the degree again after a change of the first n + 1. */
void pd_polynomial_find_degree(pd_polynomial *p, int n);
void pd_polynomial_add(pd_polynomial *out, const pd_polynomial *a, const pd_polynomial *b);
void pd_polynomial_subtract(pd_polynomial *out, const pd_polynomial *a, const pd_polynomial *b);
void pd_polynomial_multiply(pd_polynomial *out, const pd_polynomial *a, const pd_polynomial *b);

/* Signs of p on an interval: at its start, and the least and the greatest of its Bernstein coefficients, between which lie those of all
 * values there [Basu, Pollack, Roy 2006, Sec. 10.2]. */
typedef struct pd_signs {
    int start, lowest, highest;
} pd_signs;

/* On [place, place + 1] / 2^shift. */
pd_signs pd_polynomial_signs(const pd_polynomial *p, unsigned long place, unsigned long shift);

/* Whether p is positive at both ends of that interval and negative nowhere within, at most zero at one point: by Sturm's theorem. An
 * interval with more such points is left to its halves. */
int pd_polynomial_stays(const pd_polynomial *p, unsigned long place, unsigned long shift);

/* A root: in the open interval (low, high) / 2^shift, the only root of its polynomial there, or exactly low / 2^shift. */
typedef struct pd_root {
    mpz_t low, high;
    unsigned long shift;
    int exact;
} pd_root;

/* The distinct roots of one polynomial in [0,1], ascending. */
typedef struct pd_roots {
    pd_polynomial base; /* the polynomial without its exact roots: no end of an interval is a root of it */
    pd_root root[PD_POLYNOMIAL_ROOTS];
    int n;
} pd_roots;

/* p must not be the zero polynomial, and at most of degree 4. */
void pd_roots_create(pd_roots *roots, const pd_polynomial *p);
void pd_roots_destroy(pd_roots *roots);

/* -1, 0 or 1: the sign of q (degree at most 4) at the i-th root, whose interval may get narrower. */
int pd_root_sign(pd_roots *roots, int i, const pd_polynomial *q);

/* The largest multiple of 2^-60 that is not above the i-th root, rounded down to a double: at most 2^-52 below it. */
double pd_root_below(pd_roots *roots, int i);

#endif
