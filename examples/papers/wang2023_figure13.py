"""The same updates by other means: Wang et al. 2023 (A Two-Way Interior Point Method), Figures 13, 14 and 16.

From states of four runs (two ribbons that are pulled into a reef knot, a tube that is twisted, a cloth on a needle, cloths on a blade) one
step is made once more with another way of solving the backward step, or with one length for all by continuous collision detection. The
first picture has the knot: the linear system of Harmon et al. 2008, whose multipliers may pull, with and without limits of edges, beside
projected multipliers: how far state and target are apart by steps and by milliseconds. The second has what an update costs with lengths
by distances and by collision detection.

Limit: 300 s

python examples/papers/wang2023_figure13.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
import numpy as np
from models import wang2023

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="the knot and the needle alone, one state of each, at most 30 steps of an update")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
MOST = 30 if options.quick else 128
VARIANTS = {
    "ours, 4 sweeps": ({}, "#0072B2", "-"),
    "ours, 20 sweeps": ({"sweeps": 20}, "#56B4E9", "-"),
    "ours, 20 sweeps, no edge limits": ({"sweeps": 20, "edge_limit": None}, "#009E73", "-"),
    "Harmon et al., 20 sweeps, no edge limits": ({"multipliers": "linear", "sweeps": 20, "edge_limit": None}, "#D55E00", "--"),
    "Harmon et al., 20 sweeps, edge limits": ({"multipliers": "linear", "sweeps": 20}, "#CC79A7", "--"),
}
OURS, BY_IMPACT = "ours, 4 sweeps", "lengths by CCD"
# a case that begins at a time, and after which of its steps
SCENES = {
    "knot, 1/100 s": (lambda begin: wang2023.reef_knot(begin=begin), (12, 17, 22)),
    "tube, 1/100 s": (lambda begin: wang2023.tube(around=16, along=20, begin=begin), (34, 37, 40)),
    "needle, 1/100 s": (lambda begin: wang2023.needle(12, 1 / 100), (4, 10, 16)),
    "needle, 1/20 s": (lambda begin: wang2023.needle(12), (1, 2, 3)),
    "blade, 1/20 s": (lambda begin: wang2023.blade(6, 3), (0, 1, 2)),
}
if options.quick:
    SCENES = {"knot, 1/100 s": (SCENES["knot, 1/100 s"][0], (10,)), "needle, 1/20 s": (lambda begin: wang2023.needle(6), (1,))}


def states(make, after):
    """Positions and velocities after so many steps, with the time."""
    simulation, taken = make(0.0).simulation(steps=MOST), 0
    for count in after:
        if count > taken:
            simulation.step(count - taken)
        taken = count
        yield simulation.time, {"positions": simulation.positions, "velocities": simulation.velocities}


def again(make, start, **settings):
    """The update of one step from a state."""
    time, state = start
    simulation = make(time).simulation(steps=MOST, **settings)
    simulation.set_state(**state)
    simulation.step(record=True)
    return simulation.last_step.update


started = {name: list(states(make, after)) for name, (make, after) in SCENES.items()}
knot = next(iter(SCENES))
found = {name: [again(SCENES[knot][0], start, **settings) for start in started[knot]] for name, (settings, *_) in VARIANTS.items()}
costs = {
    (scene, name): [again(make, start, **settings) for start in started[scene]]
    for scene, (make, _) in SCENES.items()
    for name, settings in ((OURS, {}), (BY_IMPACT, {"lengths": "impact"}))
}


def total(updates):
    """Steps, seconds and how many did not converge."""
    return (
        sum(update.steps for update in updates),
        sum(sum(update.parts.values()) for update in updates),
        sum(update.status != "converged" for update in updates),
    )


figure, panels = plt.subplots(1, 3, figsize=(13.0, 3.8), layout="constrained")
for name, (_, colour, dashes) in VARIANTS.items():
    update = found[name][-1]
    residual = 1e3 * np.maximum(update.columns["residual"][:-1], 1e-7)
    cost = 1e3 * sum(update.parts.values()) / update.steps
    panels[0].loglog(np.arange(1, len(residual) + 1), residual, colour, linestyle=dashes, label=name)
    panels[1].loglog(cost * np.arange(1, len(residual) + 1), residual, colour, linestyle=dashes)
for axes, label in zip(panels[:2], ("steps of the last update of the knot", "ms of it"), strict=True):
    axes.axhline(0.1, color="0.7", linewidth=0.8)
    axes.set(xlabel=label, ylabel="max |y - x|, mm (grey: where it ends)")
panels[0].legend(frameon=False, fontsize=7)
values = {name: total(updates) for name, updates in found.items()}
panels[2].barh(list(values), [steps for steps, *_ in values.values()], color=[colour for _, colour, _ in VARIANTS.values()])
panels[2].invert_yaxis()
panels[2].set(xlabel=f"steps of {len(started[knot])} updates of the knot")
panels[2].tick_params(axis="y", labelsize=7)
for axes in panels:
    axes.spines[["top", "right"]].set_visible(False)
figure.savefig(os.path.join(options.out, "wang2023_figure13.png"), dpi=110)

figure, axes = plt.subplots(figsize=(9.0, 3.6), layout="constrained")
PARTS = {"pairs": "#0072B2", "rows": "#56B4E9", "colours": "#009E73", "backward": "#E69F00", "forward": "#D55E00"}
places = []
for k, scene in enumerate(SCENES):
    for j, name in enumerate((OURS, BY_IMPACT)):
        left, updates = 0.0, costs[scene, name]
        for part, colour in PARTS.items():
            width = 1e3 * sum(update.parts[part] for update in updates) / len(updates)
            axes.barh(3 * k + j, width, left=left, color=colour, label=part if k + j == 0 else None)
            left += width
        places.append((3 * k + j, f"{scene}, {'distances' if j == 0 else 'CCD'}"))
axes.set_yticks([at for at, _ in places], [label for _, label in places], fontsize=8)
axes.invert_yaxis()
axes.set_xlabel("ms of an update, mean")
axes.legend(frameon=False, fontsize=8)
axes.spines[["top", "right"]].set_visible(False)
figure.savefig(os.path.join(options.out, "wang2023_figure16.png"), dpi=110)

claim = (
    "the linear system of Harmon et al. is less efficient, and projecting its multipliers alone makes it faster (Fig. 13); with limits of "
    "edges it stagnates (Fig. 14); step sizes without CCD are five to seven times as fast as with it, in 10 to 20 percent more steps "
    "(Fig. 16, Sec. 5.1)"
)
parts = []
for name, (steps, seconds, unfinished) in values.items():
    parts.append(f"{name}: {steps} steps, {1e3 * seconds:.0f} ms, {unfinished} did not converge")
measured = f"knot, {len(started[knot])} updates of at most {MOST} steps: " + "; ".join(parts)
for scene in SCENES:
    (steps, seconds, cut), (others, other_seconds, other_cut) = (total(costs[scene, name]) for name in (OURS, BY_IMPACT))
    measured += (
        f"; {scene}: CCD takes {other_seconds / seconds:.2g} times the seconds and {others / steps:.2g} times the steps, {cut} and "
        f"{other_cut} of {len(started[scene])} did not converge"
    )
with open(os.path.join(options.out, "wang2023_figure13.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    rows = [(knot, name, k, u.steps, u.status, u.parts) for name, updates in found.items() for k, u in enumerate(updates)]
    rows += [(scene, name, k, u.steps, u.status, u.parts) for (scene, name), updates in costs.items() for k, u in enumerate(updates)]
    rows = [(*row[:-1], *(f"{row[-1][part]:.6f}" for part in PARTS)) for row in rows]
    csv.writer(file).writerows([("scene", "method", "state", "steps", "status", *(f"seconds_{part}" for part in PARTS)), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
