/* A signed distance on the nodes of a grid, with trilinear interpolation.
 *
 * Outside the grid: let q be the nearest point of the grid's box to p, and f the interpolant, which must be nonnegative on the boundary.
 * The distance is sqrt(f(q)^2 + |p - q|^2). Every point s of a surface inside the box has |p - s|^2 >= |p - q|^2 + |q - s|^2, since the
 * angle at q is at least 90 degrees. So the extension is a lower bound at p if f(q) is one at q (derived here). It is continuous, and
 * its slope is at most the larger of 1 and the slope of f.
 *
 * A part of a larger shape may have a surface outside the box, and f may be negative on the boundary. A distance changes by at most the
 * displacement. So the distance at p is at least f(q) - |p - q|. This value is returned if it is positive, otherwise NaN. */
#ifndef PD_GEOMETRY_DISTANCE_GRID_H
#define PD_GEOMETRY_DISTANCE_GRID_H

#include "geometry/surface_point.h"

#include <stddef.h>

typedef struct pd_distance_grid {
    int n[3];           /* nodes along x, y, z, at least 2 */
    real spacing;       /* m; node (0,0,0) is at the origin */
    int part;           /* its surface may extend beyond the grid */
    const real *values; /* B [n0,n1,n2] m */
} pd_distance_grid;

/* p [3] m. The gradient is that of the interpolant, which jumps between cells. The normal is its direction, the x axis if it is zero.
 * The closest point is p - distance normal, as for an exact distance. distance: NaN if a part cannot decide. */
PD_FUNCTION void pd_distance_grid_query(const real p[3], const pd_distance_grid *grid, pd_surface_point *out) {
    int cell[3];
    real place[3], away[3], axis[3] = {1, 0, 0};
    for (int i = 0; i < 3; i++) {
        real last = (real)(grid->n[i] - 1), at = pd_min(pd_max(p[i] / grid->spacing, 0), last);
        cell[i] = at >= 0 && at < last ? (int)at : grid->n[i] - 2; // at is NaN if p is
        place[i] = at - (real)cell[i];
        away[i] = p[i] - pd_min(pd_max(p[i], 0), last * grid->spacing);
    }

    const real *corner = grid->values + ((size_t)cell[0] * (size_t)grid->n[1] + (size_t)cell[1]) * (size_t)grid->n[2] + (size_t)cell[2];
    size_t step_x = (size_t)grid->n[1] * (size_t)grid->n[2], step_y = (size_t)grid->n[2];
    real x = place[0], y = place[1], z = place[2], along[2][2], d_z[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            const real *v = corner + (size_t)i * step_x + (size_t)j * step_y;
            d_z[i][j] = v[1] - v[0];
            along[i][j] = v[0] + z * d_z[i][j];
        }
    real low = along[0][0] + y * (along[0][1] - along[0][0]), high = along[1][0] + y * (along[1][1] - along[1][0]);
    real value = low + x * (high - low), gradient[3];
    gradient[0] = (high - low) / grid->spacing;
    gradient[1] = ((real)1 - x) * (along[0][1] - along[0][0]) + x * (along[1][1] - along[1][0]);
    gradient[2] = ((real)1 - x) * (d_z[0][0] + y * (d_z[0][1] - d_z[0][0])) + x * (d_z[1][0] + y * (d_z[1][1] - d_z[1][0]));
    gradient[1] /= grid->spacing, gradient[2] /= grid->spacing;

    real outwards[3] = {0, 0, 0}, beyond = pd_direction3(away, outwards);
    if (beyond > 0 && grid->part) {
        value = value > beyond ? value - beyond : (real)NAN;
        for (int i = 0; i < 3; i++) gradient[i] = away[i] == 0 ? gradient[i] : -outwards[i];
    } else if (beyond > 0) {
        real legs[3] = {pd_max(value, 0), beyond, 0}, part[3] = {0, 1, 0};
        value = pd_direction3(legs, part);
        // f changes only along the axes that are not clamped
        for (int i = 0; i < 3; i++) gradient[i] = part[1] * outwards[i] + (away[i] == 0 ? part[0] * gradient[i] : (real)0);
    }

    (void)pd_direction3(gradient, axis);
    out->distance = value;
    for (int i = 0; i < 3; i++) {
        out->gradient[i] = gradient[i];
        out->normal[i] = axis[i];
        out->closest[i] = p[i] - value * axis[i];
    }
}

#endif
