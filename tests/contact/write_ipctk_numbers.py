"""Writes ipctk_numbers.csv, what ipctk says of the meshes of contact_meshes.py; needs ipctk, and tests/ in PYTHONPATH.

Of each mesh in the plain form and in the one with area weights and the physical barrier, with the mesh at rest where it is and in its
own rest shape: energy, and along `probe` the slope, the curvature and the curvature of the projected Hessian.
"""

import csv
from pathlib import Path

import ipctk
import numpy as np
from contact_meshes import MESHES, probe

STIFFNESS, SEPARATION = 1e5, 2e-4


def numbers(x, triangles, edges, rest, distance, area_weighted):
    """Of one mesh."""
    faces = np.asfortranarray(triangles, np.int32)
    rows = ipctk.edges(faces) if edges is None else np.concatenate([ipctk.edges(faces), edges])
    x, rest = np.asfortranarray(x), np.asfortranarray(rest)
    mesh = ipctk.CollisionMesh(rest, np.asfortranarray(rows, np.int32), faces)
    collisions = ipctk.NormalCollisions()
    collisions.use_area_weighting = area_weighted
    collisions.build(mesh, x, distance, SEPARATION)
    potential, along = ipctk.BarrierPotential(distance, STIFFNESS, area_weighted), probe(len(x))
    hessians = [
        potential.hessian(collisions, mesh, x, method) for method in (ipctk.PSDProjectionMethod.NONE, ipctk.PSDProjectionMethod.CLAMP)
    ]
    return [potential(collisions, mesh, x), potential.gradient(collisions, mesh, x) @ along, *(along @ (h @ along) for h in hessians)]


def main():
    path = Path(__file__).with_name("ipctk_numbers.csv")
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([f"ipctk {ipctk.__version__}", "area_weighted", "own_rest", "energy", "slope", "curvature", "curvature_psd"])
        for name, make in MESHES.items():
            x, triangles, edges, rest, distance = make()
            for area_weighted in (False, True):
                if area_weighted and edges is not None:
                    continue  # of rods and particles ipctk takes lengths and ones for areas
                for own_rest in (False, True):
                    if own_rest and name == "fold":
                        continue  # finer than the activation distance
                    found = numbers(x, triangles, edges, rest if own_rest else x, distance, area_weighted)
                    writer.writerow([name, int(area_weighted), int(own_rest), *(f"{value:.17g}" for value in found)])


if __name__ == "__main__":
    main()
