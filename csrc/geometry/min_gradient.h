/* The minimum-gradient Newton search of Projective IPC [Lan et al. 2022, Sec. 6], made conservative.
 *
 * The volume of the four corners is a cubic of t. Its critical points divide [0,1] into at most three monotone pieces. On a piece that
 * falls to zero the search steps by (value - target) / |m|, with m the steepest slope on the bracket, which cannot overshoot. Differences
 * from the paper, with reasons:
 *   - m is that of the remaining bracket, whose far end is halved while the value there is past zero. With one slope for all steps, a
 *     piece that is steep at its start or end takes hundreds of steps.
 *   - Target and stop are eta/2 and eta of the piece's initial value, not zero. For a vertex that falls on a resting triangle the cubic is
 *     a line, and one step to zero ends in contact.
 *   - All pieces and both signs are searched: the first coplanarity is often no contact.
 *   - A coplanarity is only a candidate. From there the pair advances by its distance, until the coplanarity is passed (no contact there)
 *     or the distance has fallen to the fraction to keep. This is the inside test, of an interval and never of an instant.
 *   - A separation and all rounding are part of the level that counts as zero. Below it, as at a coplanar start, the pair also advances by
 *     its distance.
 * The volume bounds the distance only through the shape of the pair: the remaining distance may be any positive number. */
#ifndef PD_GEOMETRY_MIN_GRADIENT_H
#define PD_GEOMETRY_MIN_GRADIENT_H

#include "geometry/coplanarity.h"

enum { PD_MIN_GRADIENT_BUDGET = 1000 };
#define PD_MIN_GRADIENT_ETA ((real)0.1)

/* The critical points of the cubic inside (0,1), ascending, then 1. Returns the number of `ends` [3]. Rounding moves a point only where
 * the cubic is flat: its value changes by less than the error of the coefficients. */
PD_FUNCTION int pd_cubic_pieces(real A, real B, real C, real ends[3]) {
    int n = 0;
    real discriminant = B * B - (real)3 * A * C;
    if (discriminant > 0) {
        real root = pd_sqrt(discriminant), q = B < 0 ? root - B : -(B + root);
        real first = A != 0 ? q / ((real)3 * A) : (real)-1, second = q != 0 ? C / q : (real)-1;
        if (first > second) {
            real swap = first;
            first = second, second = swap;
        }
        if (first > 0 && first < 1) ends[n++] = first;
        if (second > 0 && second < 1 && second > first) ends[n++] = second;
    }
    ends[n++] = 1;
    return n;
}

PD_FUNCTION real pd_cubic_value(const real b[4], real t) {
    real c[4];
    pd_coplanarity_restrict(b, t, c);
    return c[0];
}

/* The steepest descent, > 0, of sign * cubic on [t, end]: the derivative 3At^2 + 2Bt + C is smallest at an end or at its vertex. */
PD_FUNCTION real pd_cubic_descent(real A, real B, real C, real sign, real t, real end) {
    real least = pd_min(sign * (((real)3 * A * t + (real)2 * B) * t + C), sign * (((real)3 * A * end + (real)2 * B) * end + C));
    if (sign * A > 0) {
        real vertex = -B / ((real)3 * A);
        if (vertex > t && vertex < end) least = pd_min(least, sign * (C + B * vertex));
    }
    return -least;
}

/* distance, stop: as for pd_motion_collision */
PD_FUNCTION pd_collision pd_collision_min_gradient(const pd_motion *motion, real distance, real stop) {
    const real u = PD_EPSILON, xi = motion->separation;
    const real gap = ((real)1 - PD_STEP_FRACTION) * (distance - xi);

    pd_coplanarity volume;
    pd_coplanarity_create(motion, &volume);
    const real *b = volume.b;
    // the level that counts as zero: above it, the pair is more than the separation apart, also after another rounding
    real level = (xi + motion->slack) * volume.normal * ((real)1 + (real)8 * u) + volume.error;
    real A = b[3] - b[0] + (real)3 * (b[1] - b[2]), B = (real)3 * (b[2] - (real)2 * b[1] + b[0]), C = (real)3 * (b[1] - b[0]);
    real slope_error = (real)64 * u * pd_largest(b, 4), ends[3] = {1, 1, 1};
    int n_pieces = pd_cubic_pieces(A, B, C, ends), k = 0;

    // a step within the distance is contact-free for any volume: no result is earlier
    const real first = pd_motion_step(distance, xi, motion->speed);
    real t = 0;
    for (int piece = 0; piece < n_pieces; piece++) {
        real end = ends[piece];
        while (t < end) {
            real value = pd_cubic_value(b, t), sign = value < 0 ? (real)-1 : (real)1, above = pd_fabs(value) - level;
            int approaching = above > 0;
            if (approaching) {
                if (sign * pd_cubic_value(b, end) > level) { // monotone: no zero on this piece
                    t = end;
                    break;
                }
                real target = PD_MIN_GRADIENT_ETA * above, beyond = end; // at `beyond` the value is at or past the level
                while (above > target) {
                    if (k >= PD_MIN_GRADIENT_BUDGET) return pd_collision_of(pd_max(t, first), k, PD_CUT_SHORT);
                    real descent = pd_max(pd_cubic_descent(A, B, C, sign, t, beyond), 0) + slope_error;
                    real next = t + (above - (real)0.5 * target) / descent * ((real)1 - (real)8 * u);
                    if (!(next > t) || next >= beyond) break; // a step below the resolution of t, or rounding at the end of the bracket
                    t = next, k++;
                    above = sign * pd_cubic_value(b, t) - level;
                    real middle = (real)0.5 * (t + beyond);
                    if (!(sign * pd_cubic_value(b, middle) > level)) beyond = middle;
                }
                if (t > stop) return pd_collision_of(1, k, PD_NO_CONTACT);
            }
            // Past the coplanarity by distances. The pair has passed it when the volume exceeds the level on the other side. After a
            // start inside the level, on any side.
            for (;;) {
                if (k >= PD_MIN_GRADIENT_BUDGET) return pd_collision_of(pd_max(t, first), k, PD_CUT_SHORT);
                real d = pd_motion_distance(motion, t);
                k++;
                if (d - xi < gap && t > 0) return pd_collision_of(pd_max(t, first), k, PD_CONTACT);
                real next = t + pd_motion_step(d, xi, motion->speed);
                if (next >= 1) return pd_collision_of(1, k, PD_NO_CONTACT);
                if (!(next > t)) return pd_collision_of(pd_max(t, first), k, PD_CUT_SHORT);
                t = next;
                if (t > stop) return pd_collision_of(1, k, PD_NO_CONTACT);
                real now = pd_cubic_value(b, t);
                if (t >= end || (approaching ? -sign * now > level : pd_fabs(now) > level)) break;
            }
        }
    }
    return pd_collision_of(1, k, PD_NO_CONTACT);
}

#endif
