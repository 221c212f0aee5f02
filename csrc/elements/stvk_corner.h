/* One corner of a StVK triangle in a sweep over vertices: gradient and 3x3 block, in vector lanes. The energy is that of stvk.h.
 *
 * A rotation of the plane of the rest shape changes nothing, so its first axis may be along the rest gradient of the corner: g_i = (c,
 * 0), g_a = (a_1, a_2), g_b = (b_1, -a_2), c = -(a_1 + b_1). With the columns f and h of F and S = 2 mu E + lam tr(E) I,
 *
 *     f = a_1 (x_a - x_i) + b_1 (x_b - x_i),      h = a_2 (x_a - x_b),      F S g_i = c (S_11 f + S_12 h).
 *
 * The block (g.S g) I + mu |g|^2 F F^T + (mu + lam) (F g)(F g)^T is c^2 (S_11 I + (2 mu + lam) f f^T + mu h h^T), with S_11 clamped at
 * zero. */
#ifndef PD_ELEMENTS_STVK_CORNER_H
#define PD_ELEMENTS_STVK_CORNER_H

#include "base/real.h"

/* Numbers of a corner: of the rest gradients, 1/m; 2 mu and lam times the area, J. */
enum { PD_STVK_A1, PD_STVK_B1, PD_STVK_A2, PD_STVK_WEIGHT, PD_STVK_LAME, PD_STVK_NUMBERS };

/* Number i of an array is at i * stride.
 *   edges  [6]  in      x_a - x_i, x_b - x_i, m      sum  [9]  in/out  gradient (3) in N, upper triangle of the block (6) in N/m */
PD_LANE_FUNCTION void pd_stvk_triangle_corner(int stride, const real *edges, const real *numbers, real *sum) {
    real ax = edges[0], ay = edges[stride], az = edges[2 * stride];
    real bx = edges[3 * stride], by = edges[4 * stride], bz = edges[5 * stride];
    real a1 = numbers[PD_STVK_A1 * stride], b1 = numbers[PD_STVK_B1 * stride], a2 = numbers[PD_STVK_A2 * stride];
    real weight = numbers[PD_STVK_WEIGHT * stride], lame = numbers[PD_STVK_LAME * stride], mu = (real)0.5 * weight, c = -(a1 + b1);
    real fx = a1 * ax + b1 * bx, fy = a1 * ay + b1 * by, fz = a1 * az + b1 * bz;
    real hx = a2 * (ax - bx), hy = a2 * (ay - by), hz = a2 * (az - bz);
    real ff = fx * fx + fy * fy + fz * fz - (real)1, fh = fx * hx + fy * hy + fz * hz, hh = hx * hx + hy * hy + hz * hz - (real)1;
    real s11 = mu * ff + (real)0.5 * lame * (ff + hh), s12 = mu * fh;
    real u = c * s11, v = c * s12, square = c * c;
    sum[0] += u * fx + v * hx;
    sum[stride] += u * fy + v * hy;
    sum[2 * stride] += u * fz + v * hz;
    real own = square * pd_max(s11, 0), along = square * (weight + lame), across = square * mu;
    real lx = along * fx, ly = along * fy, lz = along * fz, mx = across * hx, my = across * hy, mz = across * hz;
    sum[3 * stride] += own + (lx * fx + mx * hx);
    sum[4 * stride] += lx * fy + mx * hy;
    sum[5 * stride] += lx * fz + mx * hz;
    sum[6 * stride] += own + (ly * fy + my * hy);
    sum[7 * stride] += ly * fz + my * hz;
    sum[8 * stride] += own + (lz * fz + mz * hz);
}

#endif
