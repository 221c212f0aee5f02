"""What does it bring to put the vertices of a mesh in order along a curve through space (`Mesh.reordered`)?

A mesh of tets, stretched by three tenths in y and let go, without contact: in the order of its file, along the curve, and mixed at
random. An iteration's time is that of a step of MANY iterations less that of a step of FEW, over the difference, by the processor
time of the one thread that works; the orders take turns. With --finer each tet is cut into eight first, so often: the new vertices come
after the old ones, as a mesher that refines leaves them. For a GPU the sectors of 32 bytes are counted that a block of threads asks for in
a sweep of Jacobi over rows of four numbers in float32: the different pairs of neighbours that 64 rows name between them, by row.

    python benchmarks/vertex_order.py [MESH] [--finer N] [--tiny] [--dtype float32] [--out FILE.csv]
"""

import argparse
import importlib.resources
import time
from pathlib import Path

import numpy as np
from device import ratio, seconds_per_iteration
from machine import write_table

import pdgpu

STIFFNESS, DENSITY, STEP = 1e6, 1000.0, 1 / 30
FEW, MANY = 4, 24
STRETCH = (1.0, 1.3, 1.0)
ROWS_OF_A_BLOCK, VERTICES_OF_A_SECTOR = 64, 2
EDGES = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
# corners 0 to 3 and the middles 4 to 9 of the edges above
EIGHTHS = ((0, 4, 5, 6), (4, 1, 7, 8), (5, 7, 2, 9), (6, 8, 9, 3), (4, 5, 6, 8), (4, 7, 5, 8), (5, 6, 8, 9), (5, 8, 7, 9))
SOLVERS = {
    "Vertex Block Descent": lambda n: pdgpu.VertexBlockDescent(iterations=n, initialization="previous"),
    "PD + Jacobi": lambda n: pdgpu.ProjectiveDynamics(
        iterations=n, initialization="previous", linear=pdgpu.Jacobi(iterations=10, weight=0.5)
    ),
    "PD + A-Jacobi 2": lambda n: pdgpu.ProjectiveDynamics(
        iterations=n, initialization="previous", linear=pdgpu.AJacobi(order=2, iterations=5, weight=0.5)
    ),
}


def finer(mesh):
    ends = np.sort(np.stack([mesh.tets[:, pair] for pair in EDGES], axis=1), axis=2)
    edges, of_tets = np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True)
    middles = mesh.points[edges].mean(axis=1)
    corners = np.concatenate([mesh.tets, len(mesh.points) + of_tets.reshape(-1, len(EDGES))], axis=1)
    return pdgpu.Mesh(np.concatenate([mesh.points, middles]), tets=corners[:, EIGHTHS].reshape(-1, 4), strict=True)


def sectors(mesh):
    """What a block asks for, by row: its own vertices and their neighbours, two of them in a sector."""
    edges = mesh.unique_edges().astype(np.int64)
    n = len(mesh.points)
    rows = np.concatenate([edges[:, 0], edges[:, 1], np.arange(n)])
    others = np.concatenate([edges[:, 1], edges[:, 0], np.arange(n)])
    return len(np.unique(rows // ROWS_OF_A_BLOCK * n + others // VERTICES_OF_A_SECTOR)) / n


def timer(mesh, solver, dtype):
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(mesh, pdgpu.ARAP(STIFFNESS), density=DENSITY)
    start = mesh.points * STRETCH
    simulations = {n: pdgpu.Simulation(scene, SOLVERS[solver](n), dt=STEP, dtype=dtype, threads=1) for n in (FEW, MANY)}

    def seconds(iterations):
        simulations[iterations].set_state(positions=start, velocities=np.zeros_like(start))
        begin = time.thread_time()
        simulations[iterations].step()
        return time.thread_time() - begin

    return FEW, MANY, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mesh", nargs="?", default=str(importlib.resources.files("pdgpu") / "data" / "creature.vtu"))
    parser.add_argument("--finer", type=int, default=0, metavar="N", help="cut each tet into eight so often")
    parser.add_argument("--tiny", action="store_true", help="a size that shows only that everything runs; the figures mean nothing")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--out", help="a CSV file with the table, the machine, the date and the commit")
    chosen = parser.parse_args()
    mesh = pdgpu.shapes.beam((1.0, 0.2, 0.2), cells=(5, 2, 2)) if chosen.tiny else pdgpu.read_mesh(chosen.mesh)
    sizes = [mesh]
    for _ in range(chosen.finer):
        sizes.append(finer(sizes[-1]))

    def rows():
        for size in sizes:
            mixed = np.random.default_rng(0).permutation(len(size.points))
            orders = {"as read": size, "along the curve": size.reordered(), "mixed": size.reordered(mixed)}
            sectors_per_row = {name: sectors(ordered) for name, ordered in orders.items()}
            for solver in SOLVERS:
                times = seconds_per_iteration({name: timer(ordered, solver, chosen.dtype) for name, ordered in orders.items()}, chosen.tiny)
                for name, spread in times.items():
                    yield (
                        solver,
                        len(size.points),
                        len(size.tets),
                        name,
                        *(f"{1e3 * value:.3f}" for value in spread),
                        ratio(times["as read"][0], spread[0]),
                        f"{sectors_per_row[name]:.1f}",
                    )

    header = ("solver", "vertices", "tets", "order", "ms", "least ms", "most ms", "x as read", "sectors/row")
    what = "a tiny beam: the figures mean nothing" if chosen.tiny else f"{Path(chosen.mesh).name}, {chosen.dtype}"
    write_table(chosen.out, header, rows(), [what, "one thread; 10 sweeps of Jacobi or 5 of A-Jacobi to a local step"])


if __name__ == "__main__":
    main()
