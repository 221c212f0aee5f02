/* Signs of determinants of coordinates, exact for all finite doubles: a floating-point filter with a proven bound, and integers of GMP
 * for undecided signs. Shares no code with csrc/geometry, which it verifies.
 *
 * Memory: GMP's, which ends the process if the system has none left. The numbers here have at most some ten thousand bits. */
#ifndef PD_VERIFY_EXACT_PREDICATES_H
#define PD_VERIFY_EXACT_PREDICATES_H

#include <gmp.h>

/* Sign of det(b - a, c - a, d - a): 1 if d is on the side to which (b - a) x (c - a) points. */
int pd_orientation(const double a[3], const double b[3], const double c[3], const double d[3]);

/* Sign of component `axis` of (b - a) x (c - a): the orientation of the three points in the projection along that axis. */
int pd_orientation_seen(const double a[3], const double b[3], const double c[3], int axis);

/* The same if the filter decides, otherwise 0: a nonzero result is exact. */
int pd_orientation_seen_if_certain(const double a[3], const double b[3], const double c[3], int axis);

/* whole[i] = 2^k values[i] as integers, with one k for all. whole[n] must be initialised. */
void pd_whole_numbers(mpz_t *whole, const double *values, int n);

#endif
