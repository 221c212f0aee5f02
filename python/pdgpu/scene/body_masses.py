"""Masses of the vertices of a body, lumped from the density of its elements."""

from __future__ import annotations

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import per_item

__all__ = ["body_masses", "moments_of_points", "one_of", "shares_of_mass"]

MOST_ROUNDS = 50


def one_of(name, value, other_name, other):
    """The one of two arguments that is given; TypeError where both or none are."""
    if (value is None) == (other is None):
        both = "; got both" if value is not None else "; got neither"
        raise TypeError(f"{name}: give {name} or {other_name}{both}")
    return other if value is None else value


def body_masses(mesh, element_name, density, masses=None):
    """The density of each element and the mass of each vertex, kg, of a mesh with elements of one kind: "tets", "triangles" or "edges".
    `masses` instead of a density: of the vertices; the density is that of their sum, the same for all elements.

    TypeError where both or none are given. ValueError where a vertex belongs to no element, or has a mass that is not positive and finite.
    """
    rows = getattr(mesh, element_name)
    one_of("density", density, "masses", masses)
    density = 1.0 if masses is not None else density
    density = per_item("density", density, len(rows), above=0.0)
    used = np.zeros(len(mesh.points), dtype=bool)
    used[rows] = True
    if not used.all():
        lacks = "mass" if masses is None else "material"
        raise ValueError(
            f"mesh: vertex {int(np.argmin(used))} belongs to none of the {element_name}, so it would have no {lacks} "
            f"({int((~used).sum())} such vertices); use mesh.without_unused_vertices()"
        )
    if masses is not None:
        masses = per_item("masses", masses, len(mesh.points), above=0.0)
        return density * (masses.sum() / _host.lumped_masses(mesh.points, rows, density).sum()), masses
    masses = _host.lumped_masses(mesh.points, rows, density)
    bad = ~(np.isfinite(masses) & (masses > 0.0))
    if bad.any():
        vertex = int(np.argmax(bad))
        raise ValueError(f"density: vertex {vertex} would have the mass {masses[vertex]} kg; it must be positive and finite")
    return density, masses


def moments_of_points(points, masses):
    """The sum, the centre (3,) m and the second moments (3, 3) kg m^2 about it of masses (n,) kg at points (n, 3) m."""
    mass = masses.sum()
    centre = masses @ points / mass
    arms = points - centre
    return float(mass), centre, arms.T @ (masses[:, None] * arms)


def shares_of_mass(points, triangles, mass, centre):
    """Return masses (n,) kg of the points of a closed surface: positive at points with triangles, with the sum `mass` and the centre of
    mass `centre` (3,) m.

    They are proportional to the area a_i of each point times exp(b . r_i) with arms r_i from the centre: the distribution of largest
    entropy relative to the areas [Jaynes 1957]. It exists because the centre of a volume lies inside the hull of its surface.
    """
    corners = points[triangles]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    area = np.bincount(triangles.ravel(), np.repeat(areas, 3), minlength=len(points))
    used = area > 0.0
    arms = points[used] - centre
    arms /= np.abs(arms).max()
    area = area[used] / area.sum()

    def tilted(b):
        weights = area * np.exp(arms @ b)
        return weights / weights.sum(), np.log(weights.sum())

    b = np.zeros(3)
    weights, value = tilted(b)
    for _ in range(MOST_ROUNDS):  # Newton's method on the convex log(sum a_i exp(b . r_i)), whose gradient is the centre
        gradient = weights @ arms
        if np.abs(gradient).max() <= np.finfo(float).eps:
            break
        step = np.linalg.solve(arms.T @ (weights[:, None] * arms) - np.outer(gradient, gradient), gradient)
        length = 1.0
        while length > 1e-9 and not tilted(b - length * step)[1] <= value - 0.25 * length * (gradient @ step):
            length *= 0.5
        if length <= 1e-9:  # rounding hides the decrease
            break
        b = b - length * step
        weights, value = tilted(b)
    result = np.zeros(len(points))
    result[used] = mass * weights
    return result
