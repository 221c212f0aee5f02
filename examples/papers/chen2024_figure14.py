"""Friction by a penalty, an elastic cube on an incline: Chen et al. 2024 (Vertex Block Descent), Figure 14, top row.

A neo-Hookean cube of 343 vertices (the paper's has 400) starts at rest on a plane whose slope is 0.3, with four coefficients of friction.
Beside each run is a rigid block that slides with g (sin a - mu cos a), or stays where mu exceeds the slope; what stays creeps with the
smoothed friction.

python examples/papers/chen2024_figure14.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a coarser cube, a quarter of a second")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
CELLS, SECONDS = (2, 0.25) if options.quick else (6, 1.0)
RATE, ANGLE, GRAVITY, CREEP = 120, np.arctan(0.3), 9.81, 1e-2
SOLVER = pdgpu.VertexBlockDescent(iterations=100, chebyshev=pdgpu.Chebyshev(rho=0.95, start=2))
COLOURS = {0.0: "#D55E00", 0.2: "#E69F00", 0.4: "#009E73", 0.6: "#0072B2"}
mesh = pdgpu.shapes.beam((0.2, 0.2, 0.2), (CELLS,) * 3)
mesh = pdgpu.Mesh(mesh.points + [0.0, 9.9e-4, 0.0], tets=mesh.tets)


def slide(mu):
    """Of the cube's centre down the slope after every step, m; the lowest vertex of all steps, m."""
    scene = pdgpu.Scene(GRAVITY * np.array([np.sin(ANGLE), -np.cos(ANGLE), 0.0]))
    scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e5, 0.4), density=1000.0, name="cube")
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="incline")
    contact = pdgpu.PenaltyContact(1e-3, stiffness=1e5, detection_interval=5, friction=mu, friction_velocity=CREEP)
    simulation = pdgpu.Simulation(scene, SOLVER, dt=1 / RATE, contact=contact, threads=1)
    way, lowest, start = [], np.inf, simulation.positions[:, 0].mean()
    for _ in range(round(SECONDS * RATE)):
        simulation.step()
        way.append(simulation.positions[:, 0].mean() - start)
        lowest = min(lowest, simulation.positions[:, 1].min())
    return np.array(way), lowest


times = np.arange(1, round(SECONDS * RATE) + 1) / RATE
figure, (curves, held) = plt.subplots(1, 2, figsize=(10.0, 3.6), layout="constrained")
rows, parts, lows = [], [], []
for mu, colour in COLOURS.items():
    way, lowest = slide(mu)
    pull = GRAVITY * (np.sin(ANGLE) - mu * np.cos(ANGLE))
    block = 0.5 * max(pull, 0.0) * times * (times + 1 / RATE)  # by implicit steps
    creep = 0.0 if pull > 0 else CREEP * (1.0 - np.sqrt(1.0 - np.tan(ANGLE) / mu)) * times[-1]
    rows += [(mu, f"{t:.6f}", x, y) for t, x, y in zip(times, way, block, strict=True)]
    lows.append(lowest)
    parts.append(f"mu = {mu:g}: {way[-1]:.4f} m, a rigid block {block[-1] + creep:.4f} m")
    creeps = block + creep * times / times[-1]
    for axes, scale in ((curves, 1.0), (held, 1e3))[: 2 if pull < 0 else 1]:
        axes.plot(times, scale * way, color=colour, linewidth=1.8, label=f"mu = {mu:g}")
        axes.plot(times, scale * creeps, color=colour, linewidth=1.0, linestyle=":")
for axes, title, unit in ((curves, "way down the slope; dotted: a rigid block", "m"), (held, "what stays, creeping", "mm")):
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_ylabel(f"way [{unit}]")
    axes.set_xlabel("time [s]")
    axes.grid(True, color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
figure.savefig(os.path.join(options.out, "chen2024_figure14.png"), dpi=110)

claim = "the coefficient of friction changes the motion, and with a sufficiently high one the cube keeps its place on the incline"
measured = (
    f"way in {times[-1]:g} s on a slope of 0.3: {'; '.join(parts)}; no vertex was lower than {min(lows) * 1e3:.2f} mm above the plane"
)
with open(os.path.join(options.out, "chen2024_figure14.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    csv.writer(file).writerows([("mu", "time", "way", "rigid_block"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
