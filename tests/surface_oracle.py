"""Distances from the triangles of a mesh and which points it holds, by formulas of their own, triangle by triangle."""

import numpy as np


def nearest_points(mesh, x):
    """(distance (n,) without sign, nearest point (n, 3)) over all triangles: the plane where the foot is inside, else the three sides."""
    best, nearest = np.full(len(x), np.inf), np.full((len(x), 3), np.nan)
    for a, b, c in mesh.points[mesh.surface]:
        n = np.cross(b - a, c - a)
        feet = []
        for p, q in ((a, b), (b, c), (c, a)):
            s = np.clip((x - p) @ (q - p) / ((q - p) @ (q - p)), 0, 1)
            feet.append(p + s[:, None] * (q - p))
        over = np.all([np.cross(q - p, x - p) @ n > 0 for p, q in ((a, b), (b, c), (c, a))], axis=0)
        feet.append(np.where(over[:, None], x - ((x - a) @ n / (n @ n))[:, None] * n, np.inf))
        for foot in feet:
            away = np.linalg.norm(x - foot, axis=1)
            nearer = away < best
            best[nearer], nearest[nearer] = away[nearer], foot[nearer]
    return best, nearest


def brute_force(mesh, x):
    return nearest_points(mesh, x)[0]


def winding_number(mesh, x):
    """How often the surface goes round each point: the sum of the solid angles of its triangles over 4 pi [Van Oosterom, Strackee 1983]."""
    total = np.zeros(len(x))
    for triangle in mesh.points[mesh.surface]:
        a, b, c = (corner - x for corner in triangle)
        la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
        dot = [np.einsum("ni,ni->n", u, v) for u, v in ((a, b), (b, c), (c, a))]
        total += 2 * np.arctan2(np.einsum("ni,ni->n", a, np.cross(b, c)), la * lb * lc + dot[0] * lc + dot[1] * la + dot[2] * lb)
    return total / (4 * np.pi)
