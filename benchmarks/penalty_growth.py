"""How does a step of Vertex Block Descent with a penalty grow with the number of tets?

"blocks": two blocks lie on each other, finer and finer, so that a shrinking part of the vertices touches. "stacks": more and more stacks
of four small blocks of 1,296 tets, each nearer to the next than the thickness, so that the same part touches at every size. Neo-Hookean,
steps of 1/300 s, ten iterations, detection every five; the same step is taken again and again. "--damping" is the stiffness damping of
all bodies, s. Processor seconds on one thread; "exponent" is the slope between a size and the smallest of its scene,
of the least times, which other processes disturb least.

    python benchmarks/penalty_growth.py [--out FILE.csv] [--plot FILE.png] [--steps 3] [--dtype float32] [--damping 0.001] [--tiny]
    python benchmarks/penalty_growth.py --from FILE.csv --plot FILE.png
"""

import argparse
import csv
import itertools
import math
import os
import time

import numpy as np
from machine import write_table

import pdgpu

SIZES = {"blocks": (12, 26, 56), "stacks": (2, 20, 203)}
TINY = {"blocks": (2, 4), "stacks": (1, 2)}
ITERATIONS, INTERVAL = 10, 5
HEADER = ("scene", "precision", "tets", "vertices", "pairs", "ms/step", "least ms", "without ms", "ns/tet", "exponent", "exponent without")


def turned(points, angle):
    c, s = np.cos(angle), np.sin(angle)
    return points @ np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def blocks(cells, damping):
    mesh, edge = pdgpu.shapes.beam((0.2, 0.1, 0.2), (cells, cells // 2, cells)), 0.2 / cells
    upper = pdgpu.Mesh(turned(mesh.points - [0.1, 0.0, 0.1], 0.3) + [0.1, 0.1 + 0.05 * edge, 0.1], tets=mesh.tets)
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.NeoHookean(5e4, 2e5), density=1000.0, damping=damping, name="lower").pin(mesh.points[:, 1] < 1e-9)
    scene.add_solid(upper, pdgpu.NeoHookean(5e4, 2e5), density=1000.0, damping=damping, name="upper")
    return scene, 0.1 * edge


def stacks(number, damping):
    side, cells, high = 0.05, 6, 4
    mesh, edge = pdgpu.shapes.beam((side,) * 3, (cells,) * 3), side / cells
    row = math.ceil(math.sqrt(number))
    scene = pdgpu.Scene()
    for k, y in itertools.product(range(number), range(high)):
        place = [1.5 * side * (k % row), (side + 0.05 * edge) * y + 0.5 * side, 1.5 * side * (k // row)]
        points = turned(mesh.points - 0.5 * side, 0.1 * y) + place
        material, block = pdgpu.NeoHookean(5e4, 2e5), pdgpu.Mesh(points, tets=mesh.tets)
        body = scene.add_solid(block, material, density=1000.0, damping=damping, name=f"block {k} {y}")
        if y == 0:
            body.pin(mesh.points[:, 1] < 1e-9)
    return scene, 0.1 * edge


def measured(scene, contact, dtype, steps):
    """Processor seconds of each step after the first, which makes room for lists; the number of pairs at the end."""
    solver = pdgpu.VertexBlockDescent(iterations=ITERATIONS)
    options = {"dt": 1 / 300, "dtype": dtype, "threads": 1}
    simulation = pdgpu.Simulation(scene, solver, contact=contact, **options)
    begins = simulation.positions, simulation.velocities
    seconds = []
    for step in range(steps + 1):
        simulation.set_state(positions=begins[0], velocities=begins[1])
        begin = time.process_time()
        simulation.step()
        if step:
            seconds.append(time.process_time() - begin)
    return seconds, 0 if contact is None else len(simulation.contact_forces())


def rows(sizes, dtypes, steps, damping):
    first = {}
    for name, dtype in itertools.product(sizes, dtypes):
        for size in sizes[name]:
            scene, thickness = {"blocks": blocks, "stacks": stacks}[name](size, damping)
            contact = pdgpu.PenaltyContact(
                thickness, stiffness=1e6 * thickness, detection_interval=INTERVAL, friction=0.2, friction_velocity=1e-2
            )
            seconds, pairs = measured(scene, contact, dtype, steps)
            alone, _ = measured(scene, None, dtype, steps)
            tets, least, bare = sum(len(body.mesh.tets) for body in scene.bodies), min(seconds), min(alone)
            exponents = ("", "")
            if (name, dtype) in first:
                m, with_contact, without = first[name, dtype]
                exponents = (f"{math.log(t / s) / math.log(tets / m):.3f}" for t, s in ((least, with_contact), (bare, without)))
            else:
                first[name, dtype] = (tets, least, bare)
            times = (f"{1e3 * s:.2f}" for s in (np.median(seconds), least, bare))
            yield (name, dtype, tets, scene.n_vertices, pairs, *times, f"{1e9 * least / tets:.0f}", *exponents)


def plot(table, path):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    with open(table, newline="") as file:
        found = list(csv.DictReader(line for line in file if not line.startswith("#")))
    for (name, dtype), colour in zip(
        sorted({(row["scene"], row["precision"]) for row in found}), ("#D55E00", "#0072B2", "#009E73", "#E69F00"), strict=False
    ):
        mine = [row for row in found if (row["scene"], row["precision"]) == (name, dtype)]
        tets = np.array([float(row["tets"]) for row in mine])
        for column, style, what in (("least ms", "o-", "in contact"), ("without ms", "s:", "without contact")):
            label = f"{name}, {what}, {dtype}"
            axes.loglog(tets, [float(row[column]) for row in mine], style, color=colour, label=label)
        axes.loglog(tets, float(mine[0]["least ms"]) * (tets / tets[0]) ** 1.1, color="0.7", linewidth=0.8)
    axes.set(xlabel="tets", ylabel="ms a step, one thread", title="grey: slope 1.1")
    axes.grid(True, which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--plot", help="a picture of the table, which wants --out or --from")
    parser.add_argument("--from", dest="table", help="a table to draw, instead of measurements")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--dtype", nargs="+", default=["float32"], choices=("float32", "float64"))
    parser.add_argument("--damping", type=float, default=0.0, help="stiffness damping of all bodies, s")
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    chosen = parser.parse_args()
    if chosen.plot and not (chosen.out or chosen.table):
        parser.error("--plot: needs --out or --from")
    if not chosen.table:
        notes = [
            f"{ITERATIONS} iterations, detection every {INTERVAL}, {chosen.steps} steps, one thread, load {os.getloadavg()[0]:.1f}",
            *[f"stiffness damping {chosen.damping:g} s"] * (chosen.damping > 0),
            *["tiny: the figures mean nothing"] * chosen.tiny,
        ]
        write_table(chosen.out, HEADER, rows(TINY if chosen.tiny else SIZES, chosen.dtype, chosen.steps, chosen.damping), notes)
    if chosen.plot:
        plot(chosen.table or chosen.out, chosen.plot)


if __name__ == "__main__":
    main()
