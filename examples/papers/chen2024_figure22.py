"""Five rigid links that hold each other by contact alone: Chen et al. 2024 (Vertex Block Descent), Figure 22.

Links of 14 cm and 2 cm thick wire hang one in the other; the first is held. The chain starts level and swings for a second, in steps of
1/200 s, by Vertex Block Descent with 6x6 blocks, and beside it by Newton, converged. Barrier contact without friction: the paper
has a penalty and gives no numbers. `certify` verifies the ends of all steps.

python examples/papers/chen2024_figure22.py [--out FOLDER] [--quick]

Limit: 400 s
"""

import argparse
import csv
import os
import time

import matplotlib.pyplot as plt
import numpy as np

import pdgpu
from pdgpu.viz.body_plotting import draw_surfaces

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a few steps")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
STEPS, DT, LINKS = 4 if options.quick else 160, 1 / 200, 5
LENGTH, WIDTH, WIRE, PITCH = 0.06, 0.03, 0.009, 0.095  # half of a link's, m; half of it across; of the wire's middle; of the chain
SHOWN = np.linspace(0, STEPS, 4).astype(int)
SOLVERS = {
    "VBD, 30 iterations": pdgpu.VertexBlockDescent(iterations=30, tolerance=1e-4),
    "Newton, converged": pdgpu.Newton(iterations=100, tolerance=1e-6),
}


def link(number, around=20, across=6):
    """A closed wire: two half circles and two straight pieces, every second one turned by a right angle."""
    s, t = np.meshgrid(np.arange(around) / around, np.arange(across) / across, indexing="ij")
    turn, tube = 2.0 * np.pi * s.ravel(), 2.0 * np.pi * t.ravel()
    outward = np.stack([np.cos(turn), np.sin(turn), 0.0 * turn], axis=1)
    middle = WIDTH * outward + np.stack([np.sign(np.round(outward[:, 0], 9)) * (LENGTH - WIDTH), 0.0 * turn, 0.0 * turn], axis=1)
    points = middle + WIRE * (np.cos(tube)[:, None] * outward + np.sin(tube)[:, None] * [0.0, 0.0, 1.0])
    i, j = np.arange(around * across) // across, np.arange(around * across) % across
    a, b = i * across + j, (i + 1) % around * across + j
    c, d = (i + 1) % around * across + (j + 1) % across, i * across + (j + 1) % across
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    if number % 2:
        points = points[:, [0, 2, 1]] * [1.0, -1.0, 1.0]
    return pdgpu.Mesh(points + [PITCH * number, 0.0, 0.0], triangles=triangles)


def swing(solver):
    scene = pdgpu.Scene()
    for k in range(LINKS):
        body = scene.add_rigid(link(k), density=7800.0, name=f"link{k}")
    scene.bodies[0].pin([0, 30, 60, 90])
    contact = pdgpu.BarrierContact(2e-3)
    simulation = pdgpu.Simulation(scene, solver, dt=DT, contact=contact, threads=1)
    frames, iterations, begun = [simulation.positions], 0, time.perf_counter()
    for _ in range(STEPS):
        simulation.step(record=True)
        iterations += simulation.last_step.iteration
        frames.append(simulation.positions)
    spent = 1e3 * (time.perf_counter() - begun) / STEPS
    last = np.array([frame[body.slice].mean(axis=0) for frame in frames])
    intersections = sum(len(pdgpu.certify([frame], scene, gap=False).intersections) for frame in frames)
    return scene, frames, last, intersections, spent, iterations / STEPS


figure = plt.figure(figsize=(12.0, 6.6), layout="constrained")
upper, below = figure.subfigures(2, 1, height_ratios=(2, 3))
curves, rows, parts, ends = upper.add_subplot(), [], [], []
for colour, (name, solver) in zip(("#0072B2", "black"), SOLVERS.items(), strict=True):
    scene, frames, last, intersections, spent, iterations = swing(solver)
    times = DT * np.arange(len(last))
    rows += [(name, f"{t:.4f}", *point) for t, point in zip(times, last, strict=True)]
    curves.plot(times, last[:, 1], color=colour, linewidth=1.6, linestyle="-" if colour == "black" else "--", label=name)
    ends.append(last)
    parts.append(f"{name}: {intersections} frames of {len(frames)} intersect, {iterations:.1f} iterations and {spent:.0f} ms a step")
    if colour == "black":
        continue
    for place, k in enumerate(SHOWN):
        axes = below.add_subplot(1, len(SHOWN), 1 + place)
        shades = ("#E69F00", "#56B4E9", "#009E73", "#D55E00", "#CC79A7")
        shown = [(frames[k][b.slice], b.mesh.triangles, shade, 1.0) for b, shade in zip(scene.bodies, shades, strict=True)]
        draw_surfaces(axes, shown, ([-0.1, -0.5, -0.1], [0.5, 0.1, 0.1]), 8.0, -80.0)
        axes.set_title(f"{k * DT:.2f} s", fontsize=9)
curves.set(xlabel="time [s]", ylabel="height of the last link [m]")
curves.grid(True, color="0.9")
curves.spines[["top", "right"]].set_visible(False)
curves.legend(frameon=False, fontsize=8)
figure.savefig(os.path.join(options.out, "chen2024_figure22.png"), dpi=110)

apart = np.linalg.norm(ends[0] - ends[1], axis=1)
claim = "five rigid bodies of six degrees of freedom form a chain through collisions alone"
chain = 1e3 * PITCH * (LINKS - 1)
measured = f"{'; '.join(parts)}; the last links are at most {1e3 * apart.max():.2g} mm apart, of {chain:.0f} mm of chain"
with open(os.path.join(options.out, "chen2024_figure22.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    csv.writer(file).writerows([("solver", "time", "x", "y", "z"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
