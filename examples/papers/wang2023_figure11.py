"""Rivals of the two-way method in its own frame: Wang et al. 2023 (A Two-Way Interior Point Method), Figures 11 to 14 and 16.

Two scenes, four steps of 1/100 s after Projective Dynamics: a cloth that falls on the tip of a thin pyramid, and two cloths of which one
falls through the other within a step. The same update is made with projected Jacobi in place of Gauss-Seidel, with the linear system of
Harmon et al. 2008, whose multipliers may pull, and with one length for all by continuous collision detection. Steps, seconds of all
updates, and how many did not converge in 128 steps.

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
}


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
    """Of all updates: steps, seconds, how many were cut at the cap, and the least distance."""
    contact = pdgpu.TwoWayContact(1e-3, steps=MOST, **settings)
    sim = pdgpu.Simulation(make(), pdgpu.ProjectiveDynamics(iterations=10), dt=1 / 100, contact=contact, threads=1)
    steps, seconds, capped, gap = 0, 0.0, 0, np.inf
    for _ in range(STEPS):
        try:
            sim.step(record=True)
        except pdgpu.DivergenceError:  # multipliers that may pull can throw a target away
            return steps, seconds, STEPS, gap
        update = sim.last_step.update
        steps += update.steps
        seconds += update.seconds
        capped += update.status != "converged"
        gap = min(gap, float(update.columns["smallest_distance"].min()))
    return steps, seconds, capped, gap


SCENES = {"needle": needle, "two patches": patches}
found = {(scene, name): run(make, settings) for scene, make in SCENES.items() for name, settings in VARIANTS.items()}
figure, panels = plt.subplots(2, 2, figsize=(13.0, 6.4), layout="constrained", sharey=True)
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


def compared(name, other, column):
    """How many times as much the first takes, in both scenes."""
    return " and ".join(f"{found[scene, name][column] / found[scene, other][column]:.2g}" for scene in SCENES)


def unfinished(name):
    return " and ".join(str(found[scene, name][2]) for scene in SCENES)


claim = (
    "projected Jacobi needs more steps and even 800 sweeps may not converge (Figs. 11, 12); Harmon et al.'s linear system is "
    "slower (Fig. 13) and stagnates with edge limits (Fig. 14); step sizes without CCD are five to seven times as fast as with it (Fig. 16)"
)
plain, harmon = "ours, 20 sweeps, no edge limits", "Harmon et al., 20 sweeps, no edge limits"
parts = [f"needle and two patches, {STEPS} updates each, times as long as ours and how many did not converge"]
for name, other in (
    ("CCD-based lengths", "ours, 4 sweeps"),
    ("projected Jacobi, 4", "ours, 4 sweeps"),
    ("projected Jacobi, 100", "ours, 4 sweeps"),
    (harmon, plain),
    ("Harmon et al., 20 sweeps, edge limits", "ours, 4 sweeps"),
):
    parts.append(f"{name}: {compared(name, other, 1)}, {unfinished(name)}")
measured = "; ".join(parts)
with open(os.path.join(options.out, "wang2023_figure11.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    rows = [(scene, name, steps, f"{seconds:.4f}", capped, f"{gap:.3e}") for (scene, name), (steps, seconds, capped, gap) in found.items()]
    csv.writer(file).writerows([("scene", "method", "steps", "seconds", "unfinished", "smallest distance"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
