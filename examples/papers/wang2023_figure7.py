"""Bodies of all dimensions: Wang et al. 2023 (A Two-Way Interior Point Method), Figure 7 (a to f), scaled, rows of Table 2.

Mats of tets fall across a bar and on each other (a, b), hairs on a cloth that is held along its border (c, d), sand on such a cloth (e, f);
then sand and hair together on one: cloth, hair and grains in one list of pairs, each as thick as it is. Steps of 1/100 s after one
iteration of Newton's method each, eight sweeps in a backward step.

Limit: 300 s

python examples/papers/wang2023_figure7.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
from models import wang2023

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="less of all, three steps of at most 20 steps of an update")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
QUICK = options.quick
short = {"seconds": 0.03} if QUICK else {}
CASES = {
    "mats": wang2023.mats(**({"cells": 3, "count": 2} if QUICK else {}), **short),
    "hair on cloth": wang2023.hair(**({"cells": 5, "strands": 3, "pieces": 8} if QUICK else {}), **short),
    "sand on cloth": wang2023.sand(**({"cells": 5, "grains": (2, 2, 2)} if QUICK else {}), **short),
    "sand and hair on cloth": wang2023.sand(**({"cells": 5, "grains": (2, 1, 2), "strands": 2} if QUICK else {"strands": 6}), **short),
}
MOST = 20 if QUICK else 100
LETTERS = {"mats": "ab", "hair on cloth": "cd", "sand on cloth": "ef"}
COLOURS = {"mat0": "#c8553d", "mat1": "#4c72b0", "mat2": "#6aa879", "cloth": "#c8553d", "hair": "#2b2b2b", "sand": "#d9a441"}
PRINTED = {"mat": (9, 128, 20, 303), "hair": (16, 503, 252, 15821), "sand": (51, 160, 223, 1550)}

figure = plt.figure(figsize=(14.0, 7.2))
found = {}
for place, (name, case) in enumerate(CASES.items()):
    tally = wang2023.Tally(case, steps=MOST, sweeps=8)
    for row in (1, 0):
        if row == 0:
            tally.run()
        axes = figure.add_axes((0.25 * place, 0.49 * row, 0.25, 0.46))
        wang2023.draw(axes, tally.simulation, case.bounds, COLOURS, elevation=24.0)
        letter = f"({LETTERS[name][1 - row]}) " if name in LETTERS else ""
        axes.set_title(f"{letter}{name}, {'at the beginning' if row else f'after {case.seconds:g} s'}", fontsize=9)
    found[name] = tally, wang2023.intersections(tally.simulation)
figure.savefig(os.path.join(options.out, "wang2023_figure7.png"), dpi=100)

claim = (
    "constraints of pairs of all kinds handle elastic mats, cloth, hair and sand (Fig. 7); Table 2, on a GPU, mean (most): "
    + "; ".join(
        f"{name} {mean} ({most}) steps of an update, {cost} ({dearest}) ms of contact a step"
        for name, (mean, most, cost, dearest) in PRINTED.items()
    )
)
measured = f"at most {MOST} steps; " + "; ".join(
    f"{name}, {tally.case.scene.n_vertices} vertices: {tally.said()} with what is thick counted from its surface, {pairs} pairs intersect "
    "at the end"
    for name, (tally, pairs) in found.items()
)
with open(os.path.join(options.out, "wang2023_figure7.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    rows = [
        (name, k, steps, f"{seconds:.5f}")
        for name, (tally, _) in found.items()
        for k, (steps, seconds) in enumerate(zip(tally.steps, tally.seconds, strict=True))
    ]
    csv.writer(file).writerows([("scene", "step", "steps_of_the_update", "seconds"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
