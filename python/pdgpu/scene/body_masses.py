"""Masses of the vertices of a body, lumped from the density of its elements."""

from __future__ import annotations

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import per_item

__all__ = ["body_masses"]


def body_masses(mesh, element_name, density):
    """The density of each element and the mass of each vertex, kg, of a mesh with elements of one kind: "tets", "triangles" or "edges".

    ValueError where a vertex belongs to no element, or has a mass that is not positive and finite.
    """
    rows = getattr(mesh, element_name)
    density = per_item("density", density, len(rows), above=0.0)
    used = np.zeros(len(mesh.points), dtype=bool)
    used[rows] = True
    if not used.all():
        raise ValueError(
            f"mesh: vertex {int(np.argmin(used))} belongs to none of the {element_name}, so it would have no mass "
            f"({int((~used).sum())} such vertices); use mesh.without_unused_vertices()"
        )
    masses = _host.lumped_masses(mesh.points, rows, density)
    bad = ~(np.isfinite(masses) & (masses > 0.0))
    if bad.any():
        vertex = int(np.argmax(bad))
        raise ValueError(f"density: vertex {vertex} would have the mass {masses[vertex]} kg, which cannot be computed with")
    return density, masses
