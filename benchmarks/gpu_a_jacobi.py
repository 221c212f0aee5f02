"""Does A-Jacobi pay on the GPU, and from which size on does it not? [Lan et al. 2022, Fig. 8, redone]

The global step's matrix of a square cloth (springs and bending, as in the paper) and of a beam of tets, three columns, from 5 thousand to
a million unknowns. "Performance" is the paper's: how fast a solver expands the Neumann series, that is `order` over the time of an
iteration, relative to order 1. With Chebyshev an iteration of order l is worth sqrt(l) Jacobi iterations in the variant "power" and l in
"composed", which the last column counts with. Beside them Jacobi, and Jacobi on cuSPARSE's product in a graph. On CUDA each is measured
twice: with many sweeps in one launch that stays ("persistent", where the matrix finds room) and with one launch per sweep ("launches").

    python benchmarks/gpu_a_jacobi.py [--out FILE.csv] [--tiny] [--device cuda]
"""

import math
import os
import tempfile

import numpy as np
from device import medians, microseconds, options, ratio, sweeps_timer, write_matrix, yardstick
from machine import write_table

import pdgpu

UNKNOWNS = {False: (5_000, 15_000, 50_000, 150_000, 500_000, 1_000_000), True: (150,)}
SWEEPS = {False: 1024, True: 4}
ORDERS = ((1, "power"), (2, "power"), (2, "composed"), (3, "power"), (3, "composed"))
WAYS = {"cuda": ("persistent", "launches"), "cpu": (None,)}


def cloth_matrix(unknowns):
    side = max(2, round(math.sqrt(unknowns / 3)) - 1)
    scene = pdgpu.Scene()
    mesh = pdgpu.shapes.grid((1.0, 1.0), cells=(side, side))
    scene.add_shell(mesh, pdgpu.Spring(1e3), density=0.2, bending=1e-4).pin([0, side])
    return system_matrix(scene)


def beam_matrix(unknowns):
    side = max(1, round((unknowns / 3 / 4) ** (1 / 3)) - 1)
    scene = pdgpu.Scene()
    mesh = pdgpu.shapes.beam((4.0, 1.0, 1.0), cells=(4 * side, side, side))
    scene.add_solid(mesh, pdgpu.ARAP(1e5), density=1000.0).pin(mesh.points[:, 0] < 1e-9)
    return system_matrix(scene)


def system_matrix(scene):
    """Of the free vertices."""
    simulation = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi(weight=0.5)), dt=1 / 100)
    return simulation.system_matrix(free=True)


def methods(chosen):
    """{name: (order, variant, solver)}"""
    numbers = dict(weight=0.6, iterations=SWEEPS[chosen.tiny], chebyshev=pdgpu.Chebyshev(rho=0.99, start=1))
    found = {"Jacobi": (1, "power", pdgpu.Jacobi(**numbers))}
    for order, variant in ORDERS:
        found[f"A-Jacobi {order}, {variant}"] = order, variant, pdgpu.AJacobi(order=order, variant=variant, **numbers)
    return found


def measure(name, A, chosen):
    solvers = methods(chosen)
    b = np.random.default_rng(0).normal(size=(A.shape[0], 3))
    times = medians(
        {
            (what, way): sweeps_timer(A, b, solver, chosen.device, "float32", way)
            for what, (_, _, solver) in solvers.items()
            for way in WAYS[chosen.device]
        },
        chosen.tiny,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "matrix")
        write_matrix(path, A)
        mark = f"jacobi:float:3:file:{path}"
        times["Jacobi on cuSPARSE", None] = (yardstick(mark)[mark], None, None)
    first = min(spread[0] for (what, _), spread in times.items() if what == "A-Jacobi 1, power")
    for (what, way), spread in times.items():
        order, variant, _ = solvers.get(what, (1, "power", None))
        worth = math.sqrt(order) if variant == "power" else order
        yield (
            name,
            3 * A.shape[0],
            f"{(A.nnz - A.shape[0]) / A.shape[0]:.1f}",
            what,
            way or "",
            *map(microseconds, spread),
            ratio(order * first, spread[0]),
            ratio(worth * first, spread[0]),
        )


def main():
    chosen = options(__doc__)
    rows = (
        row
        for unknowns in UNKNOWNS[chosen.tiny]
        for name, matrix in (("cloth", cloth_matrix), ("beam", beam_matrix))
        for row in measure(name, matrix(unknowns), chosen)
    )
    header = ("matrix", "unknowns", "entries/row", "what", "sweeps", "us", "least us", "most us", "performance", "with Chebyshev")
    write_table(chosen.out, header, rows, [*chosen.names, "float32, three columns; 'performance': the paper's, of the faster A-Jacobi 1"])


if __name__ == "__main__":
    main()
