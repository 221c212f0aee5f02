"""What does a grain cost, in a heap of a thousand and in one of a hundred thousand?

Grains of 2 mm lie in a box of planes, in layers that are shifted against each other, so near that each acts on six others: particles with a
thickness, which barriers keep apart. All sizes take their steps in turn, in the same number of layers, with 10 iterations of vertex
block descent or 10 backward and forward steps of the two-way method after one of Projective Dynamics; the first step is not counted.

"seconds" is the median of a step by the processor's clock, "pairs" those that act (two-way: that are looked at) at its end, and
"exponent" the slope of log(seconds) by log(pairs) through all sizes but the smallest. "met" is what the judge (`pdgpu.certify`) found in
the state after the last step, of pairs nearer than their radii, of the smallest size alone.

    python benchmarks/grains.py [--out FILE.csv] [--grains 1000 3000 10000 30000 100000] [--steps 5] [--threads 1] [--tiny]
"""

import argparse
import time

import numpy as np
from machine import write_table

import pdgpu

DIAMETER, ACTIVATION, LAYERS = 2e-3, 2e-4, 10
SOLVERS = {
    "vertex block descent": (
        pdgpu.VertexBlockDescent(iterations=10),
        pdgpu.BarrierContact(ACTIVATION, 1e8, area_weighted=False, guard="reach"),
    ),
    "two-way": (pdgpu.ProjectiveDynamics(iterations=1), pdgpu.TwoWayContact(ACTIVATION, steps=10)),
}


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
    return scene


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--grains", type=int, nargs="+", default=[1000, 3000, 10000, 30000, 100000])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    chosen = parser.parse_args()
    sizes, steps = ([40, 90, 160], 1) if chosen.tiny else (sorted(chosen.grains), chosen.steps)
    rows = []
    for name, (solver, contact) in SOLVERS.items():
        scenes = [heap(n) for n in sizes]
        sims = [pdgpu.Simulation(scene, solver, dt=1e-3, contact=contact, threads=chosen.threads) for scene in scenes]
        seconds, pairs = [[] for _ in sims], [0] * len(sims)
        for sim in sims:
            sim.step()
        for _ in range(steps):
            for i, sim in enumerate(sims):
                begin = time.process_time()
                sim.step()
                seconds[i].append(time.process_time() - begin)
        for i, sim in enumerate(sims):  # of one step more
            sim.step(record=True)
            update = sim.last_step.update
            pairs[i] = int(sim.last_step["active_contacts"][-1] if update is None else update.columns["pairs"][-1])
        judged = pdgpu.certify([sims[0].positions], scenes[0], gap=False)
        medians = np.array([np.median(part) for part in seconds])
        slope = float(np.polyfit(np.log(pairs[1:]), np.log(medians[1:]), 1)[0])
        for i, sim in enumerate(sims):
            met = sum(len(part) for part in judged.intersections.values()) if i == 0 else ""
            seconds_of, per_pair = f"{medians[i]:.4g}", f"{1e6 * medians[i] / pairs[i]:.3f}"
            rows.append((name, len(sim.positions), pairs[i], chosen.threads, seconds_of, per_pair, f"{slope:.3f}", met))
    header = ("solver", "grains", "pairs", "threads", "seconds", "microseconds per pair", "exponent", "met")
    write_table(chosen.out, header, rows, ["tiny: the figures mean nothing"] * chosen.tiny)


if __name__ == "__main__":
    main()
