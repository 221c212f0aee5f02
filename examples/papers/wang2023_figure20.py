"""A knot, a needle, a blade and a tube: Wang et al. 2023 (A Two-Way Interior Point Method), Figures 1, 20, 22, 23, rows of Table 2.

Two ribbons are pulled into a reef knot, a cloth falls on the tip of a thin pyramid, five cloths on a blade, and a tube of cloth is twisted
and squeezed; with the settings of Table 3 but for the most steps of an update, the time steps of Table 2, and one iteration of Newton's
method a step. Drawn are beginnings and ends, and what the parts of all updates took: Figure 20 has those of a knot.

Limit: 300 s

python examples/papers/wang2023_figure20.py [--out FOLDER] [--quick] [--finer N]
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
import numpy as np
from models import wang2023

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="coarser cloths, a few steps of at most 30 steps of an update")
parser.add_argument("--finer", type=int, default=1, help="so many times the cells along every side, which takes longer than said above")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
QUICK, FINER = options.quick, options.finer
# of the paper: triangles, time step, mean and most steps of an update, mean and most ms of contact a step
PRINTED = {
    "reef knot": ("71 thousand", "1/100", 7, 23, 24, 97),
    "needle": ("20 thousand", "1/20", 46, 1304, 36, 1942),
    "blade": ("116 thousand", "1/20", 55, 779, 267, 4463),
    "tube": ("51 thousand", "1/100", 19, 54, 308, 1500),
}
CASES = {
    "reef knot": wang2023.reef_knot(FINER * (2 if QUICK else 3), seconds=0.06 if QUICK else 0.4),
    "needle": wang2023.needle(FINER * (6 if QUICK else 14), seconds=0.1 if QUICK else 0.4),
    "blade": wang2023.blade(FINER * (4 if QUICK else 6), 2 if QUICK else 5, seconds=0.05 if QUICK else 0.3),
    "tube": wang2023.tube(*(FINER * n for n in ((10, 8) if QUICK else (20, 24))), seconds=0.08 if QUICK else 0.8),
}
MOST = 30 if QUICK else 128
VIEWS = {"reef knot": {"elevation": 55.0}, "needle": {}, "blade": {"elevation": 20.0}, "tube": {}}
COLOURS = {"left": "#c8553d", "right": "#4c72b0", "tube": "#c8553d", "cloth": "#c8553d"}
COLOURS |= dict(zip((f"cloth{k}" for k in range(5)), ("#c8553d", "#4c72b0", "#6aa879", "#d9a441", "#b07aa8"), strict=True))

figure = plt.figure(figsize=(15.0, 6.4))
found = {}
for place, (name, case) in enumerate(CASES.items()):
    tally = wang2023.Tally(case, steps=MOST)
    for row, title in ((1, "at the beginning"), (0, "at the end")):
        if row == 0:
            tally.run()
        axes = figure.add_axes((0.01 + 0.18 * place, 0.48 * row, 0.17, 0.46))
        wang2023.draw(axes, tally.simulation, case.bounds, COLOURS, **VIEWS[name])
        axes.set_title(f"{name}, {title}", fontsize=9)
    found[name] = tally, wang2023.intersections(tally.simulation)
axes = figure.add_axes((0.81, 0.12, 0.18, 0.72))
bottom = np.zeros(len(found))
LABELS = {
    "pairs": "search, distances",
    "rows": "constraints",
    "colours": "graph, colours",
    "backward": "backward steps",
    "forward": "forward steps",
}
shares = {
    name: {part: 100.0 * seconds / sum(tally.parts.values()) for part, seconds in tally.parts.items()} for name, (tally, _) in found.items()
}
for part, colour in zip(LABELS, ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00"), strict=True):
    values = np.array([shares[name][part] for name in found])
    axes.bar(list(found), values, bottom=bottom, color=colour, label=LABELS[part])
    bottom += values
axes.set_ylabel("share of the time of contact, %")
axes.tick_params(axis="x", labelsize=8)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
figure.savefig(os.path.join(options.out, "wang2023_figure20.png"), dpi=100)

claim = "Table 2, on a GPU, mean (most): " + "; ".join(
    f"{name}, {triangles} triangles, {dt} s: {mean} ({most}) steps of an update, {cost} ({dearest}) ms of contact a step"
    for name, (triangles, dt, mean, most, cost, dearest) in PRINTED.items()
)
claim += (
    "; Table 3: at most 512 steps, 2048 at 1/20 s, D from 2 to 4 mm, delta 1 mm, sigma 1.1, gamma 0.9; searches and constraints take "
    "almost half of the time in a bow knot, graph and colours little (Fig. 20)"
)
measured = f"at most {MOST} steps; " + "; ".join(
    f"{name}, {sum(len(body.mesh.triangles) for body in tally.simulation.bodies)} triangles, {tally.case.dt:g} s: {tally.said()}, "
    f"{pairs} pairs intersect at the end, at most {tally.pairs} constraints of {tally.colours} colours, "
    + ", ".join(f"{LABELS[part]} {share:.0f} %" for part, share in shares[name].items())
    for name, (tally, pairs) in found.items()
)
with open(os.path.join(options.out, "wang2023_figure20.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    rows = [
        (name, k, steps, f"{seconds:.5f}")
        for name, (tally, _) in found.items()
        for k, (steps, seconds) in enumerate(zip(tally.steps, tally.seconds, strict=True))
    ]
    csv.writer(file).writerows([("scene", "step", "steps_of_the_update", "seconds"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
