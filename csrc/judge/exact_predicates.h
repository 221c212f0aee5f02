/* Signs of determinants of coordinates, exact for every finite double: a floating-point filter with a proven bound, and integers of
 * GMP where the filter cannot decide. Shares no code with csrc/geometry, which it is there to judge.
 *
 * Memory: GMP's, which ends the process where the system has none left; the numbers here have at most some ten thousand bits. */
#ifndef PD_JUDGE_EXACT_PREDICATES_H
#define PD_JUDGE_EXACT_PREDICATES_H

#include <gmp.h>

/* Sign of det(b - a, c - a, d - a): 1 where d lies on the side to which (b - a) x (c - a) points. */
int pd_orientation(const double a[3], const double b[3], const double c[3], const double d[3]);

/* Sign of component `axis` of (b - a) x (c - a): the orientation of the three points seen along that axis. */
int pd_orientation_seen(const double a[3], const double b[3], const double c[3], int axis);

/* The same where the filter is certain, else 0: what is not 0 is right. */
int pd_orientation_seen_if_certain(const double a[3], const double b[3], const double c[3], int axis);

/* whole[i] = 2^k values[i] with one k for all, as integers. whole[n] are initialised. */
void pd_whole_numbers(mpz_t *whole, const double *values, int n);

#endif
