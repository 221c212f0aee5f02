"""What a step takes, scene by scene: Chen et al. 2024 (Vertex Block Descent), Table 1, the rows in contact, scaled.

The scenes of Figures 2, 11, 12, 14, 15 and 19, modelled again at sizes for one core (vertices, tets printed), with Table 1's time steps and
iterations, in float32, each from its start to where it has been in contact for a while. The paper's times are of a GPU, with detection on a
CPU of 16 cores. The bars are the mean time of a step over vertices and iterations: what is left to compare.

python examples/papers/chen2024_table1.py [--out FOLDER] [--quick]
Limit: 300 s
"""

import argparse
import csv
import dataclasses
import os

import matplotlib.pyplot as plt
import numpy as np
from models import chen2024, clock

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="three steps of each")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
# scene: (case, seconds to take, the paper's vertices, mean and largest ms of a step)
ROWS = {
    "twisting thin beams (2)": (chen2024.twisted_beams, (60, 3, 3), 0.3, 97e3, 60.0, 78.0),
    "squishy ball drops (7, 9, 19)": (chen2024.dropped_ball, 3, 0.2, 230e3, 15.0, 17.0),
    "squishy balls in a pot (11)": (chen2024.balls_in_pot, 1, 0.25, 48e6, 3600.0, 3900.0),
    "bodies on a platform (12)": (chen2024.removed_platform, 2, 0.4, 36e6, 4200.0, 4700.0),
    "octopi stacking (14)": (chen2024.stacked_octopi, 0.4, 0.5, 15.6e3, 1.1, 1.3),
    "extreme stretch (15)": (chen2024.stretched_creature, 0.6, 0.3, 1.8e3, 0.36, 1.02),
}
header = ("scene", "vertices", "tets", "colours", "time step", "iterations", "mean ms", "largest ms", "pairs", "paper's vertices")
rows, costs = [], {}
for name, (make, size, seconds, theirs, mean, largest) in ROWS.items():
    case = make(size)
    case = dataclasses.replace(case, seconds=3 * case.dt if options.quick else seconds)
    simulation = case.simulation()
    spent = [1e3 * each for _, each in chen2024.steps(case, simulation)]
    n, colours = case.scene.n_vertices, max(int(body.mesh.colouring().max()) + 1 for body in simulation.bodies)
    numbers = (
        f"1/{round(1 / case.dt)}",
        case.iterations,
        f"{np.mean(spent):.2f}",
        f"{np.max(spent):.2f}",
        len(simulation.contact_forces()),
    )
    rows.append((name, n, len(chen2024.tets(simulation)), colours, *numbers, f"{theirs:g}", mean, largest))
    costs[name] = (1e6 * np.mean(spent) / (n * case.iterations), 1e6 * mean / (theirs * case.iterations))

figure, axes = plt.subplots(figsize=(9.0, 4.2), layout="constrained")
place = np.arange(len(costs))
for offset, colour, who, k in (
    (-0.2, "#0072B2", f"{clock.place(simulation.device)} here, scaled scenes", 0),
    (0.2, "#D55E00", "paper, on a GPU", 1),
):
    bars = axes.barh(place + offset, [cost[k] for cost in costs.values()], 0.38, color=colour, label=who)
    axes.bar_label(bars, fmt="%.2g", padding=3, fontsize=8)
axes.set_xscale("log")
axes.set_yticks(place, list(costs))
axes.invert_yaxis()
axes.set_xlabel("time of a step per vertex and iteration [ns]")
axes.legend(frameon=False, fontsize=8)
axes.spines[["top", "right"]].set_visible(False)
figure.savefig(os.path.join(options.out, "chen2024_table1.png"), dpi=110)

claim = "from 0.36 ms a step (1.8 thousand vertices, 10 iterations) to 4.2 s (36 million vertices, 60 iterations) on a GPU"
parts = [
    f"{name}: {n} vertices, {m} tets, {it} iterations, {mean} ms ({largest} at the most), {costs[name][0]:.0f} ns per vertex and iteration "
    f"(paper {costs[name][1]:.2g})"
    for name, n, m, _, _, it, mean, largest, *_ in rows
]
measured = f"on {clock.place(simulation.device)}: {'; '.join(parts)}"
with open(os.path.join(options.out, "chen2024_table1.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    csv.writer(file).writerows([(*header, "paper's mean ms", "paper's largest ms"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
