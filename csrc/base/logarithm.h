/* The natural logarithm without a branch or a call, for loops that process several elements in one vector register. libm's takes one
 * number at a time and would prevent vectorisation.
 *
 * x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), s = f / (2 + f), z = s^2:
 *
 *     ln x = k ln 2 + ln(1 + f),     ln(1 + f) = 2 atanh s = f - (f^2/2 - s (f^2/2 + R)),     R ~ 2 z/3 + 2 z^2/5 + ..
 *
 * R as the minimax polynomial of FreeBSD's e_log.c and e_logf.c [Sun Microsystems 1993]. Errors are below two PD_EPSILON of the result. */
#ifndef PD_BASE_LOGARITHM_H
#define PD_BASE_LOGARITHM_H

#include "base/real.h"

#include <stdint.h>
#include <string.h>

/* ln x for finite x > 0 that is not subnormal; less_one: x - 1, which may be known more precisely than x. Undefined for other x. */
PD_LANE_FUNCTION double pd_logarithm_double(double x, double less_one) {
    uint64_t bits, moved, rest;
    double k, part;
    memcpy(&bits, &x, sizeof bits);
    moved = bits + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu); /* from sqrt(1/2) to 1, so that its exponent is that of the result */
    rest = (moved & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu;
    moved = moved >> 52 | 0x4330000000000000u; /* 2^52 and the exponent in its last bits: a conversion with vector instructions */
    memcpy(&k, &moved, sizeof k);
    memcpy(&part, &rest, sizeof part);
    k -= 4503599627370496.0 + 1023.0;
    double f = k == 0.0 ? less_one : part - 1.0, s = f / (2.0 + f), z = s * s, w = z * z, half = 0.5 * f * f;
    double odd = 6.666666666666735130e-01 + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01));
    double even = 3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01);
    double R = z * odd + w * even;
    return k * 6.93147180369123816490e-01 - ((half - (s * (half + R) + k * 1.90821492927058770002e-10)) - f);
}

PD_LANE_FUNCTION float pd_logarithm_float(float x, float less_one) {
    uint32_t bits, moved, rest;
    float k, part;
    memcpy(&bits, &x, sizeof bits);
    moved = bits + (0x3f800000u - 0x3f3504f3u);
    rest = (moved & 0x7fffffu) + 0x3f3504f3u;
    moved = moved >> 23 | 0x4b000000u;
    memcpy(&k, &moved, sizeof k);
    memcpy(&part, &rest, sizeof part);
    k -= 8388608.0f + 127.0f;
    float f = k == 0.0f ? less_one : part - 1.0f, s = f / (2.0f + f), z = s * s, w = z * z, half = 0.5f * f * f;
    float R = z * (0.66666662693f + w * 0.28498786688f) + w * (0.40000972152f + w * 0.24279078841f);
    return k * 6.9313812256e-01f - ((half - (s * (half + R) + k * 9.0580006145e-06f)) - f);
}

PD_LANE_FUNCTION real pd_logarithm(real x, real less_one) {
    return sizeof(real) == sizeof(float) ? (real)pd_logarithm_float((float)x, (float)less_one)
                                         : (real)pd_logarithm_double((double)x, (double)less_one);
}

#endif
