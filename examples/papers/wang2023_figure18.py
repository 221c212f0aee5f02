"""Friction on a sphere that turns: Wang et al. 2023 (A Two-Way Interior Point Method), Figure 18, a row of Table 2.

A square cloth falls on a sphere of triangles that turns about the vertical, in steps of 1/100 s after one iteration of Newton's method
each, and reaches the ground: with friction in the sweeps, with friction as a filter of velocities, as the paper has it, and without. Drawn
are the ends, and how far the cloth on top of the sphere has turned beside the sphere itself.

python examples/papers/wang2023_figure18.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
import numpy as np
from models import wang2023

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a coarser cloth, a tenth of a second")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
SPEED = 8.0  # rad/s
case = wang2023.turning_sphere(*((8, 1 / 100, 0.1) if options.quick else (16, 1 / 100, 0.5)), speed=SPEED)
RUNS = {
    "friction 0.4 in the sweeps": ({}, "#0072B2"),
    "friction 0.4 as a filter": ({"friction_in": "filter"}, "#D55E00"),
    "no friction": ({"friction": 0.0}, "#555555"),
}


def turned(simulation, start):
    """By what angle about the vertical the cloth above the sphere has turned, rad: the rotation nearest to its motion."""
    near = np.linalg.norm(start[:, [0, 2]], axis=1) < 0.07
    before, now = (points[near][:, [0, 2]] - points[near][:, [0, 2]].mean(axis=0) for points in (start, simulation.positions))
    cross = (before[:, 1] * now[:, 0] - before[:, 0] * now[:, 1]).sum()
    return np.arctan2(cross, (before * now).sum())


figure = plt.figure(figsize=(14.0, 3.6), layout="constrained")
curve = figure.add_subplot(1, 4, 4)
found, rows = {}, []
for place, (name, (settings, colour)) in enumerate(RUNS.items()):
    tally = wang2023.Tally(case, **settings)
    start, angles = tally.simulation.positions, [0.0]
    for k in range(1, round(case.seconds / case.dt) + 1):
        tally.take()
        angles.append(turned(tally.simulation, start))
        rows.append((name, f"{k * case.dt:.3f}", f"{angles[-1]:.5f}", tally.steps[-1], f"{tally.seconds[-1]:.5f}"))
    angles = np.unwrap(angles)
    found[name] = tally, angles[-1], wang2023.intersections(tally.simulation)
    axes = figure.add_subplot(1, 4, 1 + place)
    colours = {"cloth": "#c8553d", "sphere": "#8d99a6"}
    wang2023.draw(axes, tally.simulation, case.bounds, colours, elevation=28.0)
    axes.set_title(name, fontsize=9)
    curve.plot(case.dt * np.arange(len(angles)), angles, color=colour, label=name)
times = np.array([0.0, case.seconds])
curve.plot(times, SPEED * times, color="0.7", linestyle="--", label="the sphere")
curve.set(xlabel="time [s]", ylabel="turned by [rad]", ylim=(-0.2, 1.1 * max(0.5, *(angle for _, angle, _ in found.values()))))
curve.legend(frameon=False, fontsize=8)
curve.spines[["top", "right"]].set_visible(False)
figure.savefig(os.path.join(options.out, "wang2023_figure18.png"), dpi=110)

claim = (
    "a square cloth that falls on a turning sphere forms folds and wrinkles by friction with the sphere and the ground (Fig. 18); 50 "
    "thousand vertices at 1/100 s take 19 (219 at most) steps of an update and 44 (475) ms of contact a step on a GPU (Table 2)"
)
parts = [
    f"{name}: turned by {angle:.2f} of the sphere's {SPEED * case.seconds:.1f} rad, {tally.said()}, {pairs} pairs intersect at the end"
    for name, (tally, angle, pairs) in found.items()
]
measured = f"{case.scene.n_vertices} vertices; " + "; ".join(parts)
with open(os.path.join(options.out, "wang2023_figure18.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    csv.writer(file).writerows([("run", "time", "angle", "steps", "seconds"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
