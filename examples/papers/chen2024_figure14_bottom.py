"""Friction by a penalty, four octopi in a box: Chen et al. 2024 (Vertex Block Descent), Figure 14, bottom row.

Four neo-Hookean octopi (size printed; the paper's have 15.6 thousand vertices and 60 thousand tets) fall on each other in a box, with the
caption's four coefficients of friction. Steps of 1/300 s, ten iterations. The pile's height is the mean of its vertices.

python examples/papers/chen2024_figure14_bottom.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
import numpy as np
from models import chen2024

from pdgpu.plotting import draw_simulation

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="small octopi, a few steps")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
LEVEL, SECONDS = (1, 0.01) if options.quick else (2, 0.9)
COLOURS = {0.0: "#D55E00", 0.2: "#E69F00", 0.4: "#009E73", 0.6: "#0072B2"}
figure = plt.figure(figsize=(15.0, 3.8), layout="constrained")
curves = figure.add_subplot(1, 5, 5)
rows, parts, heights = [], [], []
for place, (mu, colour) in enumerate(COLOURS.items()):
    case = chen2024.stacked_octopi(mu, LEVEL, SECONDS)
    simulation = case.simulation()
    seconds, height = [], []
    for k, spent in chen2024.steps(case, simulation):
        seconds.append(spent)
        height.append(simulation.positions[:, 1].mean())
        rows.append((mu, f"{k * case.dt:.6f}", f"{1e3 * spent:.2f}", f"{height[-1]:.6f}"))
    curves.plot(case.dt * np.arange(1, len(height) + 1), 1e3 * np.array(height), color=colour, label=f"mu = {mu:g}")
    axes = figure.add_subplot(1, 5, 1 + place)
    unseen = dict.fromkeys(("left", "right", "front", "back"), 0.04)
    draw_simulation(axes, simulation, opacity=unseen, bounds=([-0.2, -0.005, -0.2], [0.2, 0.35, 0.2]), elevation=15.0)
    axes.set_title(f"mu = {mu:g}, {SECONDS:g} s", fontsize=9)
    heights.append(1e3 * np.mean(height[-len(height) // 10 :]))
    pairs = chen2024.intersections(simulation)
    parts.append(f"mu = {mu:g}: {heights[-1]:.1f} mm, {pairs} pairs intersect, {chen2024.milliseconds(seconds)}")
curves.set(xlabel="time [s]", ylabel="mean height of the vertices [mm]")
curves.legend(frameon=False, fontsize=8)
curves.grid(True, color="0.9")
curves.spines[["top", "right"]].set_visible(False)
figure.savefig(os.path.join(options.out, "chen2024_figure14_bottom.png"), dpi=110)

claim = "with a sufficiently high coefficient of friction octopi form taller piles; 1.1 ms a step (1.3 at the most) on a GPU"
measured = (
    f"{case.scene.n_vertices} vertices, {len(chen2024.tets(simulation))} tets, mean height over the last tenth of {SECONDS:g} s: "
    f"{'; '.join(parts)}; "
    f"heights {'grow' if np.all(np.diff(heights) > 0.0) else 'do not grow'} with each coefficient"
)
with open(os.path.join(options.out, "chen2024_figure14_bottom.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    csv.writer(file).writerows([("mu", "time", "milliseconds", "mean_height"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
