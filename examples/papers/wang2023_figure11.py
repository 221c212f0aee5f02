"""Rivals of the two-way method in its own frame: Wang et al. 2023 (A Two-Way Interior Point Method), Figures 5, 6, 11 to 16.

Two scenes, four steps of 1/100 s after Projective Dynamics: a cloth that falls on the tip of a thin pyramid, and two cloths of which one
falls through the other within a step. The same update is made with projected Jacobi in place of Gauss-Seidel, with the linear system of
Harmon et al. 2008, whose multipliers may pull, by gradient descent on the augmented Lagrangian of Tang et al. 2018, with a log-barrier in
place of backward steps, and with one length for all by continuous collision detection. Steps, seconds of all updates, and how many did not
converge in 128 steps. A second picture has how far the state is from its target by steps, of the first update in which the cloths meet, and
the log-barrier by its strength k.

Limit: 300 s

python examples/papers/wang2023_figure11.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="coarser cloths, 3 steps, at most 60 steps of an update")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
CELLS, STEPS, MOST = (6, 3, 60) if options.quick else (8, 4, 128)
TIP = np.array([[0.0, 0.0, 0.0], [0.01, -0.4, 0.0], [-0.005, -0.4, 0.009], [-0.005, -0.4, -0.009]]) + [0.003, 0.0, 0.004]
VARIANTS = {
    "ours, 4 sweeps": {},
    "ours, 1 sweep": {"sweeps": 1},
    "CCD-based lengths": {"lengths": "impact"},
    "projected Jacobi, 4": {"multipliers": "jacobi"},
    "projected Jacobi, 100": {"multipliers": "jacobi", "sweeps": 100},
    "ours, 20 sweeps, no edge limits": {"sweeps": 20, "edge_limit": None},
    "Harmon et al., 20 sweeps, no edge limits": {"multipliers": "linear", "sweeps": 20, "edge_limit": None},
    "Harmon et al., 20 sweeps, edge limits": {"multipliers": "linear", "sweeps": 20},
    "augmented Lagrangian, 20": {"multipliers": "augmented_lagrangian", "sweeps": 20},
    "augmented Lagrangian, 100": {"multipliers": "augmented_lagrangian", "sweeps": 100},
    "ours, 4 sweeps, no edge limits": {"edge_limit": None},
}
STRENGTHS = (0.02, 0.2, 2.0, 20.0, 200.0)
VARIANTS |= {f"log-barrier, k = {k:g}": {"multipliers": "barrier", "edge_limit": None, "strength": k} for k in STRENGTHS}


def sheet(size, height):
    flat = pdgpu.shapes.grid((size, size), cells=(CELLS, CELLS))
    points = flat.points[:, [0, 2, 1]] + [-0.5 * size, height, -0.5 * size]
    return pdgpu.Mesh(points, triangles=flat.triangles)


def needle():
    scene = pdgpu.Scene()
    scene.add_shell(sheet(0.4, 3e-3), pdgpu.Spring(200.0), density=0.2, bending=1e-4, velocity=(0.0, -0.5, 0.0))
    scene.add_obstacle(pdgpu.Mesh(TIP, triangles=[(0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 3, 2)]), name="needle")
    return scene


def patches():
    scene = pdgpu.Scene((0.0, 0.0, 0.0))
    scene.add_shell(sheet(0.1, 0.0), pdgpu.Spring(200.0), density=0.2, bending=1e-5)
    scene.add_shell(sheet(0.1, 3e-3), pdgpu.Spring(200.0), density=0.2, bending=1e-5, velocity=(0.0, -1.0, 0.0))
    return scene


def run(make, settings):
    """Of all updates: steps, seconds, how many were cut at the cap, the least distance; and of the longest |y - x| by steps."""
    contact = pdgpu.TwoWayContact(1e-3, steps=MOST, patience=0, passes=1, **settings)
    sim = pdgpu.Simulation(make(), pdgpu.ProjectiveDynamics(iterations=10), dt=1 / 100, contact=contact, threads=1)
    steps, seconds, capped, gap, longest = 0, 0.0, 0, np.inf, np.zeros(0)
    for _ in range(STEPS):
        try:
            sim.step(record=True)
        except pdgpu.DivergenceError:  # multipliers that may pull can throw a target away
            return steps, seconds, STEPS, gap, longest
        update = sim.last_step.update
        steps += update.steps
        seconds += update.seconds
        capped += update.status != "converged"
        gap = min(gap, float(update.columns["smallest_distance"].min()))
        if update.steps > len(longest):
            longest = update.columns["residual"][:-1]
    return steps, seconds, capped, gap, longest


SCENES = {"needle": needle, "two patches": patches}
found = {(scene, name): run(make, settings) for scene, make in SCENES.items() for name, settings in VARIANTS.items()}
figure, panels = plt.subplots(2, 2, figsize=(13.0, 9.0), layout="constrained", sharey=True)
for row, scene in zip(panels, SCENES, strict=True):
    for column, (axes, label) in enumerate(zip(row, ("steps of all updates", "seconds of all updates"), strict=True)):
        values = [found[scene, name][column] for name in VARIANTS]
        cut = [found[scene, name][2] > 0 for name in VARIANTS]
        axes.barh(list(VARIANTS), values, color=["#bbbbbb" if each else "#0072B2" for each in cut])
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_title(f"{scene} (grey: some updates did not converge)", loc="left", fontsize=10)
        axes.set_xlabel(label)
        axes.spines[["top", "right"]].set_visible(False)
figure.savefig(os.path.join(options.out, "wang2023_figure11.png"), dpi=110)
figure, panels = plt.subplots(1, 2, figsize=(11.0, 3.8), layout="constrained")
for name in ("ours, 4 sweeps, no edge limits", *(f"log-barrier, k = {k:g}" for k in STRENGTHS)):
    values = found["two patches", name][4]
    panels[0].semilogy(np.arange(len(values)), np.maximum(1e3 * values, 1e-4), color="black" if "ours" in name else None, label=name)
panels[0].axhline(0.1, color="#bbbbbb", linewidth=0.8)
panels[0].set_title("two patches, the longest update (grey: where it ends)", loc="left", fontsize=10)
panels[0].set_xlabel("steps")
panels[0].set_ylabel("max |y - x|, mm")
panels[0].legend(frameon=False, fontsize=8)
for scene, colour in zip(SCENES, ("#0072B2", "#D55E00"), strict=True):
    values = [found[scene, f"log-barrier, k = {k:g}"][0] for k in STRENGTHS]
    panels[1].semilogx(STRENGTHS, values, "o-", color=colour, label=f"{scene}, log-barrier")
    panels[1].axhline(
        found[scene, "ours, 4 sweeps, no edge limits"][0], color=colour, linestyle="--", linewidth=1.0, label=f"{scene}, ours"
    )
panels[1].set_yscale("log")
panels[1].set_xlabel("k, kg/s²")
panels[1].set_ylabel(f"steps of {STEPS} updates")
panels[1].legend(frameon=False, fontsize=8)
for axes in panels:
    axes.spines[["top", "right"]].set_visible(False)
figure.savefig(os.path.join(options.out, "wang2023_figure5.png"), dpi=110)


def compared(name, other, column):
    """How many times as much the first takes, in both scenes."""
    return " and ".join(f"{found[scene, name][column] / found[scene, other][column]:.2g}" for scene in SCENES)


def unfinished(name):
    return " and ".join(str(found[scene, name][2]) for scene in SCENES)


claim = (
    "projected Jacobi needs more steps and even 800 sweeps may not converge (Figs. 11, 12); Harmon et al.'s linear system is "
    "slower (Fig. 13) and stagnates with edge limits (Fig. 14); an augmented Lagrangian needs many more steps (Fig. 15); a log-barrier "
    "takes five times as long (Fig. 5) and wants the right k (Fig. 6); step sizes without CCD are five to seven times as fast as with "
    "it (Fig. 16)"
)
plain, harmon = "ours, 20 sweeps, no edge limits", "Harmon et al., 20 sweeps, no edge limits"
parts = [f"needle and two patches, {STEPS} updates each, times as long as ours and how many did not converge"]
for name, other in (
    ("CCD-based lengths", "ours, 4 sweeps"),
    ("projected Jacobi, 4", "ours, 4 sweeps"),
    ("projected Jacobi, 100", "ours, 4 sweeps"),
    (harmon, plain),
    ("Harmon et al., 20 sweeps, edge limits", "ours, 4 sweeps"),
    ("augmented Lagrangian, 20", "ours, 4 sweeps"),
    ("augmented Lagrangian, 100", "ours, 4 sweeps"),
    *((f"log-barrier, k = {k:g}", "ours, 4 sweeps, no edge limits") for k in STRENGTHS),
):
    parts.append(f"{name}: {compared(name, other, 1)}, {unfinished(name)}")
measured = "; ".join(parts)
with open(os.path.join(options.out, "wang2023_figure11.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    rows = [
        (scene, name, steps, f"{seconds:.4f}", capped, f"{gap:.3e}") for (scene, name), (steps, seconds, capped, gap, _) in found.items()
    ]
    csv.writer(file).writerows([("scene", "method", "steps", "seconds", "unfinished", "smallest distance"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
