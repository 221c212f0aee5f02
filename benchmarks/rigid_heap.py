"""What does a step of a heap of rigid boxes take, and where does its time go?

A block of n^3 boxes, 10 x 6 x 8 cm, one centimetre apart and turned a little, falls on a plane, friction 0.4, steps of 5 ms, a barrier of
4 mm. Medians are over the steps from 0.1 s on, when boxes touch: of Newton's method, which minimises G to a tolerance, and of ten
iterations of vertex block descent. `rigid_speed.py` compares the same heap with other programs.

"seconds" is the median of a step by the processor's clock, recording included, "iterations" and "pairs" are medians too, "limited" is the
part of all iterations in which something about to touch shortened the step of all, "culling" and "impact" are the parts of a step that
finding pairs and times of impact took. "gap mm" is the least distance of two boxes in the steps measured, "met" the intersections that
`pdgpu.certify` found at the end.

    python benchmarks/rigid_heap.py [--out FILE.csv] [--sides 3 5 10] [--steps 40] [--threads 1] [--tiny]
"""

import argparse
import time

import numpy as np
from machine import write_table
from scipy.spatial.transform import Rotation

import pdgpu
from pdgpu import shapes

SIZE, APART, DT, SETTLED = np.array([0.1, 0.06, 0.08]), 0.01, 5e-3, 20
SOLVERS = {
    "Newton, tolerance 0.001": pdgpu.Newton(iterations=60, tolerance=1e-3),
    "VertexBlockDescent, 10 iterations": pdgpu.VertexBlockDescent(iterations=10),
}


def placed(side):
    """Centres and small rotations of the boxes, as rotation vectors."""
    chance = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    middle = grid * (SIZE + APART) + 0.5 * SIZE + [0.0, 0.5 * APART, 0.0]
    return middle + chance.uniform(-0.002, 0.002, middle.shape), chance.uniform(-0.02, 0.02, middle.shape)


def heap(side):
    """The scene."""
    scene, box = pdgpu.Scene(), shapes.box(tuple(SIZE))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    for centre, turn in zip(*placed(side), strict=True):
        points = (box.points - 0.5 * SIZE) @ Rotation.from_rotvec(turn).as_matrix().T + centre
        scene.add_rigid(pdgpu.Mesh(points, triangles=box.triangles), density=1000.0)
    return scene


def simulation(scene, solver, threads=1):
    """What solves the steps of a heap."""
    return pdgpu.Simulation(scene, solver, dt=DT, contact=pdgpu.BarrierContact(4e-3, friction=0.4), threads=threads)


def row(side, name, steps, settled, threads):
    scene = heap(side)
    sim = simulation(scene, SOLVERS[name], threads)
    seen, limited, gap = [], [], np.inf
    for k in range(steps):
        start = time.process_time()
        record = sim.step(record=True)
        spent = time.process_time() - start
        if k < settled:
            continue
        of_clock = [record[column][-1] / record["seconds"][-1] for column in ("culling_seconds", "ccd_seconds")]
        seen.append((spent, record.iteration, record["active_contacts"][-1], *of_clock))
        limited.extend(record["step_limit"][1:] < 1.0)
        gap = min(gap, float(record["smallest_distance"][-1]))
    certificate = pdgpu.certify([sim.positions], scene)
    met = sum(len(part) for part in certificate.intersections.values())
    seconds, iterations, pairs, culling, impact = np.median(seen, axis=0)
    figures = (f"{np.mean(limited):.3f}", f"{culling:.3f}", f"{impact:.4f}", f"{1e3 * gap:.4f}", met)
    return (side**3, name, threads, f"{seconds:.4g}", f"{iterations:g}", f"{pairs:g}", *figures)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--sides", type=int, nargs="+", default=[3, 5, 10])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    chosen = parser.parse_args()
    if chosen.tiny:
        chosen.sides, chosen.steps = [2, 3], 24
    header = ("bodies", "solver", "threads", "seconds", "iterations", "pairs", "limited", "culling", "impact", "gap mm", "met")
    rows = (row(side, name, chosen.steps, SETTLED, chosen.threads) for side in chosen.sides for name in SOLVERS)
    write_table(chosen.out, header, rows, ["tiny: the figures mean nothing"] * chosen.tiny)


if __name__ == "__main__":
    main()
