"""What does a grain cost, in a heap of a thousand and in one of a hundred thousand, and a hair in a mat of ten thousand?

Grains of 2 mm lie in a box of planes, in layers that are shifted against each other, so near that each acts on six others: particles with a
thickness, which barriers keep apart. Hairs of ten edges and 1 mm lie in layers on a floor, each across some ten above it and as many below.
All sizes take their steps in turn, in the same number of layers, with 10 iterations of vertex block descent (grains alone) or at most 10
backward and forward steps of the two-way method after one iteration of Projective Dynamics; the first step is not counted.

"seconds" is the median of a step by the processor's clock, "pairs" those that act at its end (two-way: the most that are looked at),
"steps" those of the last update, and "exponent" the slope of log(seconds) by log(pairs) through all sizes but the smallest. "met" counts
the pairs nearer than their thickness that `pdgpu.certify` found in the state after the last step, and "nearest mm" is the least
distance of two middles, of which the thickness is a part.

    python benchmarks/grains.py [--out FILE.csv] [--grains 1000 3000 10000 30000 100000] [--hairs 400 900 2500 10000] [--steps 5]
        [--threads 1] [--tiny]
"""

import argparse
import time

import numpy as np
from machine import write_table

import pdgpu

DIAMETER, ACTIVATION, LAYERS = 2e-3, 2e-4, 10
THIN, APART, EDGES = 1e-3, 4e-3, 10  # of hairs: as thick as that, side by side so far, m
TWO_WAY = (pdgpu.ProjectiveDynamics(iterations=1), pdgpu.TwoWayContact(ACTIVATION, steps=10, passes=1))
DESCENT = (
    pdgpu.VertexBlockDescent(iterations=10),
    pdgpu.BarrierContact(ACTIVATION, stiffness=1e8, area_weighted=False, guard="reach"),
)


def heap(n):
    """About n grains in layers."""
    side, spacing = round((n / LAYERS) ** 0.5), DIAMETER + 0.6 * ACTIVATION
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(LAYERS), np.arange(side), indexing="ij"), axis=-1).reshape(-1, 3)
    points = spacing * grid + np.random.default_rng(0).uniform(-0.1, 0.1, grid.shape) * ACTIVATION
    points += 0.5 * DIAMETER + 0.6 * ACTIVATION
    scene = pdgpu.Scene((0.0, -9.81, 0.0))
    mass = np.pi / 6.0 * DIAMETER**3 * 2600.0
    scene.add_particles(points, mass=mass, thickness=DIAMETER, name="sand")
    far = spacing * (side - 1) + DIAMETER + 1.2 * ACTIVATION
    for axis in range(3):
        normal = np.eye(3)[axis]
        scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), normal), name=f"wall {axis}")
        if axis != 1:
            scene.add_obstacle(pdgpu.Plane(far * normal, -normal), name=f"far wall {axis}")
    return scene, len(points)


def mat(n):
    """About n hairs in layers, crosswise."""
    scene, rng = pdgpu.Scene((0.0, -9.81, 0.0)), np.random.default_rng(0)
    ends = max(1, round((n / LAYERS / EDGES) ** 0.5))  # hairs end to end, and ten times as many side by side
    count, edge = ends * ends * EDGES, 0.95 * APART
    along = (np.arange(ends)[:, None] * EDGES * APART + edge * np.arange(EDGES + 1)).ravel()
    across = (np.arange(ends * EDGES) + 0.5) * APART
    first = (EDGES + 1) * np.arange(count)[:, None] + np.arange(EDGES)
    edges = np.stack([first, first + 1], axis=-1).reshape(-1, 2)
    for layer in range(LAYERS):
        sides, lengths = np.meshgrid(across, along, indexing="ij")
        heights = np.full(sides.shape, 0.5 * THIN + (layer + 1) * 1.2 * ACTIVATION + layer * THIN)
        points = np.stack([lengths, heights, sides] if layer % 2 else [sides, heights, lengths], axis=-1).reshape(-1, 3)
        points += rng.uniform(-0.1, 0.1, points.shape) * ACTIVATION
        scene.add_rod(
            pdgpu.Mesh(points, edges=edges),
            pdgpu.Spring(1e3),
            density=1e-3,
            bending=1e-8,
            velocity=(0.0, -0.1 * (layer + 1), 0.0),  # each layer comes down on the one below in the first step
            thickness=THIN,
            name=f"layer {layer}",
        )
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    return scene, LAYERS * count


def rows(kind, name, build, sizes, solver, contact, steps, threads):
    scenes, counts = zip(*map(build, sizes), strict=True)
    sims = [pdgpu.Simulation(scene, solver, dt=1e-3, contact=contact, threads=threads) for scene in scenes]
    seconds, pairs, taken = [[] for _ in sims], [], []
    for sim in sims:
        sim.step()
    for _ in range(steps):
        for i, sim in enumerate(sims):
            begin = time.process_time()
            sim.step()
            seconds[i].append(time.process_time() - begin)
    for sim in sims:  # of one step more
        sim.step(record=True)
        update = sim.last_step.update
        pairs.append(int(sim.last_step["active_contacts"][-1] if update is None else update.columns["pairs"].max()))
        taken.append("" if update is None else update.steps)
    medians = np.array([np.median(part) for part in seconds])
    slope = float(np.polyfit(np.log(pairs[1:]), np.log(medians[1:]), 1)[0])
    for i, sim in enumerate(sims):
        certificate = pdgpu.certify([sim.positions], scenes[i])
        met = sum(len(part) for part in certificate.intersections.values())
        figures = (f"{medians[i]:.4g}", f"{1e6 * medians[i] / pairs[i]:.3f}", f"{slope:.3f}", met, f"{1e3 * certificate.smallest_gap:.4f}")
        yield (kind, name, counts[i], len(sim.positions), pairs[i], threads, taken[i], *figures)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--grains", type=int, nargs="+", default=[1000, 3000, 10000, 30000, 100000])
    parser.add_argument("--hairs", type=int, nargs="+", default=[400, 900, 2500, 10000])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    chosen = parser.parse_args()
    if chosen.tiny:
        chosen.grains, chosen.hairs, chosen.steps = [40, 90, 160], [100, 400], 1
    runs = (
        ("grains", "vertex block descent", heap, sorted(chosen.grains), *DESCENT),
        ("grains", "two-way", heap, sorted(chosen.grains), *TWO_WAY),
        ("hairs", "two-way", mat, sorted(chosen.hairs), *TWO_WAY),
    )
    header = (
        "scene", "solver", "bodies", "vertices", "pairs", "threads", "steps", "seconds", "microseconds per pair", "exponent", "met",
        "nearest mm",
    )  # fmt: skip
    of_all = (row for run in runs for row in rows(*run, chosen.steps, chosen.threads))
    write_table(chosen.out, header, of_all, ["tiny: the figures mean nothing"] * chosen.tiny)


if __name__ == "__main__":
    main()
