/* Orientation predicates; see exact_predicates.h.
 *
 * The bounds of the filters: a difference of doubles has one rounding. A product of three of them, with the sums of a 3x3 determinant,
 * has at most ten more. So each of the six terms has an error below 12 u M1 M2 M3 (u = 2^-53), with Mi the largest difference in row i.
 * 72 u is rounded up to 2^-46. Fused multiply-adds only omit roundings. Between the limits for the products nothing overflows, and
 * underflow is far below the bound. */
#include "verify/exact_predicates.h"

#include <limits.h>
#include <math.h>

static const double ERROR_OF_ORIENTATION = 0x1p-46; /* relative to M1 M2 M3 */
static const double ERROR_SEEN = 0x1p-49;           /* relative to M1 M2: two terms of at most 5 roundings */
static const double SMALLEST_PRODUCT = 0x1p-900, LARGEST_PRODUCT = 0x1p900;

void pd_whole_numbers(mpz_t *whole, const double *values, int n) {
    int smallest = INT_MAX, exponent;
    for (int i = 0; i < n; i++) {
        if (values[i] == 0.0) continue;
        (void)frexp(values[i], &exponent);
        if (exponent < smallest) smallest = exponent;
    }
    for (int i = 0; i < n; i++) {
        double mantissa = frexp(values[i], &exponent);
        mpz_set_d(whole[i], ldexp(mantissa, 53)); /* an integer */
        if (values[i] != 0.0) mpz_mul_2exp(whole[i], whole[i], (mp_bitcnt_t)(exponent - smallest));
    }
}

static double largest(const double v[3]) { return fmax(fabs(v[0]), fmax(fabs(v[1]), fabs(v[2]))); }

static void subtract(double out[3], const double a[3], const double b[3]) {
    for (int i = 0; i < 3; i++) out[i] = a[i] - b[i];
}

/* If e, f and g have a zero in the same place, the determinant is zero, as for bodies in a coordinate plane. */
static int has_zero_column(const double e[3], const double f[3], const double g[3]) {
    for (int i = 0; i < 3; i++)
        if (e[i] == 0.0 && f[i] == 0.0 && g[i] == 0.0) return 1;
    return 0;
}

static int exact_orientation(const double a[3], const double b[3], const double c[3], const double d[3]) {
    double values[12];
    mpz_t x[12], sum, term;
    for (int i = 0; i < 12; i++) mpz_init(x[i]);
    mpz_init(sum);
    mpz_init(term);
    for (int i = 0; i < 3; i++) values[i] = a[i], values[3 + i] = b[i], values[6 + i] = c[i], values[9 + i] = d[i];
    pd_whole_numbers(x, values, 12);
    for (int corner = 1; corner < 4; corner++)
        for (int i = 0; i < 3; i++) mpz_sub(x[3 * corner + i], x[3 * corner + i], x[i]);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        mpz_mul(term, x[6 + j], x[9 + k]);
        mpz_submul(term, x[6 + k], x[9 + j]);
        mpz_addmul(sum, term, x[3 + i]);
    }
    int sign = mpz_sgn(sum);
    for (int i = 0; i < 12; i++) mpz_clear(x[i]);
    mpz_clear(sum);
    mpz_clear(term);
    return sign;
}

int pd_orientation(const double a[3], const double b[3], const double c[3], const double d[3]) {
    double e[3], f[3], g[3];
    subtract(e, b, a);
    subtract(f, c, a);
    subtract(g, d, a);
    double det = e[0] * (f[1] * g[2] - f[2] * g[1]) + e[1] * (f[2] * g[0] - f[0] * g[2]) + e[2] * (f[0] * g[1] - f[1] * g[0]);
    double product = largest(e) * largest(f) * largest(g);
    if (product > SMALLEST_PRODUCT && product < LARGEST_PRODUCT) {
        if (det > ERROR_OF_ORIENTATION * product) return 1;
        if (det < -ERROR_OF_ORIENTATION * product) return -1;
    }
    if (has_zero_column(e, f, g)) return 0; /* a difference of doubles is zero only if they are equal */
    return exact_orientation(a, b, c, d);
}

int pd_orientation_seen_if_certain(const double a[3], const double b[3], const double c[3], int axis) {
    int i = (axis + 1) % 3, j = (axis + 2) % 3;
    double ei = b[i] - a[i], ej = b[j] - a[j], fi = c[i] - a[i], fj = c[j] - a[j];
    double product = fmax(fabs(ei), fabs(ej)) * fmax(fabs(fi), fabs(fj));
    if (!(product > SMALLEST_PRODUCT && product < LARGEST_PRODUCT)) return 0;
    double det = ei * fj - ej * fi;
    return det > ERROR_SEEN * product ? 1 : det < -ERROR_SEEN * product ? -1 : 0;
}

int pd_orientation_seen(const double a[3], const double b[3], const double c[3], int axis) {
    int sign = pd_orientation_seen_if_certain(a, b, c, axis);
    if (sign) return sign;
    int i = (axis + 1) % 3, j = (axis + 2) % 3;
    if ((a[i] == b[i] && a[i] == c[i]) || (a[j] == b[j] && a[j] == c[j])) return 0;
    double values[6] = {a[i], a[j], b[i], b[j], c[i], c[j]};
    mpz_t x[6];
    for (int k = 0; k < 6; k++) mpz_init(x[k]);
    pd_whole_numbers(x, values, 6);
    for (int k = 2; k < 6; k++) mpz_sub(x[k], x[k], x[k & 1]);
    mpz_mul(x[2], x[2], x[5]);
    mpz_submul(x[2], x[3], x[4]);
    sign = mpz_sgn(x[2]);
    for (int k = 0; k < 6; k++) mpz_clear(x[k]);
    return sign;
}
