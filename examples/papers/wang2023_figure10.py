"""A cloth on a needle: Wang et al. 2023 (A Two-Way Interior Point Method), Figures 9 and 10.

A square cloth falls on the tip of a thin pyramid and hangs on it, 30 steps of 1/100 s after Projective Dynamics, which knows of no contact.
Without limits of edges the backward step tears it apart around the tip; with them, what a step of contact costs hangs on how many sweeps
of Gauss-Seidel a backward step gets.

python examples/papers/wang2023_figure10.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu
from pdgpu.plotting import draw_lines, draw_surface

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a coarser cloth, 8 steps, fewer runs")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
CELLS, STEPS = (8, 8) if options.quick else (14, 30)
DISTANCE = 1e-3
TIP = np.array([[0.0, 0.0, 0.0], [0.01, -0.4, 0.0], [-0.005, -0.4, 0.009], [-0.005, -0.4, -0.009]]) + [0.003, 0.0, 0.004]
SIDES = [(0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 3, 2)]


def run(sweeps, edge_limit):
    """Of all updates: steps, s, how many were cut at the cap, the largest stretch and least distance; and where the cloth is."""
    scene = pdgpu.Scene()
    mesh = pdgpu.shapes.grid((0.4, 0.4), cells=(CELLS, CELLS))
    points = mesh.points[:, [0, 2, 1]] + [-0.2, 3e-3, -0.2]
    cloth = pdgpu.Mesh(points, triangles=mesh.triangles)
    scene.add_shell(cloth, pdgpu.Spring(200.0), density=0.2, bending=1e-4, velocity=(0.0, -0.5, 0.0))
    scene.add_obstacle(pdgpu.Mesh(TIP, triangles=SIDES), name="needle")
    contact = pdgpu.TwoWayContact(DISTANCE, sweeps=sweeps, patience=0, edge_limit=edge_limit, passes=1)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=10), dt=1 / 100, contact=contact, threads=1)
    edges = np.unique(np.sort(mesh.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    rest = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    steps, seconds, capped, stretch, gap = [], 0.0, 0, 0.0, np.inf
    for _ in range(STEPS):
        sim.step(record=True)
        update, x = sim.last_step.update, sim.positions
        steps.append(update.steps)
        seconds += update.seconds
        capped += update.status != "converged"
        stretch = max(stretch, float((np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1) / rest).max()))
        gap = min(gap, float(update.columns["smallest_distance"].min()))
    return {"steps": steps, "seconds": seconds, "capped": capped, "stretch": stretch, "gap": gap}, sim.positions, mesh.triangles


runs = {f"{sweeps} sweep{'s' * (sweeps > 1)}": (sweeps, 1.1) for sweeps in ((1, 4) if options.quick else (1, 2, 4, 8, 16))}
runs["4 sweeps, no limits of edges"] = (4, None)
found, shown = {}, {}
for name, settings in runs.items():
    found[name], *shown[name] = run(*settings)

figure = plt.figure(figsize=(13.0, 4.4), layout="constrained")
for place, name, title in ((1, "4 sweeps, no limits of edges", "no limits of edges"), (2, "4 sweeps", "edges at most 1.1 as long")):
    axes = figure.add_subplot(1, 3, place)
    x, triangles = shown[name]
    bounds = ((-0.2, min(float(x[:, 1].min()), -0.2), -0.2), (0.2, 0.02, 0.2))
    for points, faces, colour in ((x, triangles, "#56B4E9"), (TIP, SIDES, "#D55E00")):
        draw_surface(axes, points, faces, colour=colour, bounds=bounds, azimuth=-50.0)
        draw_lines(axes, points[np.asarray(faces)][:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2, 3), linewidth=0.4)
    axes.set_title(f"{title}: stretch {found[name]['stretch']:.2f}", fontsize=11)
axes = figure.add_subplot(1, 3, 3)
names = [name for name in runs if "no limits" not in name]
ticks = np.arange(len(names))
axes.bar(ticks - 0.2, [np.mean(found[name]["steps"]) for name in names], 0.4, color="#0072B2", label="steps of an update, mean")
axes.set_xticks(ticks, [runs[name][0] for name in names])
axes.set_xlabel("sweeps of a backward step")
axes.set_ylabel("steps")
other = axes.twinx()
other.bar(ticks + 0.2, [1e3 * found[name]["seconds"] / STEPS for name in names], 0.4, color="#E69F00", label="time of an update")
other.set_ylabel("ms")
figure.legend(loc="outside lower right", ncols=2, frameon=False, fontsize=9)
axes.spines[["top"]].set_visible(False)
other.spines[["top"]].set_visible(False)
figure.savefig(os.path.join(options.out, "wang2023_figure10.png"), dpi=120)

claim = (
    "without limits of edges a cloth on a needle is severely deformed; one Gauss-Seidel iteration per backward step is the most efficient"
)
measured = "; ".join(
    f"{name}: {np.mean(row['steps']):.0f} steps on average, {max(row['steps'])} at most, {1e3 * row['seconds'] / STEPS:.1f} ms an update, "
    f"{row['capped']} of {STEPS} not converged, stretch {row['stretch']:.2f}, least distance {row['gap']:.2g} m"
    for name, row in found.items()
)
with open(os.path.join(options.out, "wang2023_figure10.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    writer = csv.writer(file)
    writer.writerow(("run", "step", "steps_of_the_update"))
    writer.writerows((name, k, steps) for name, row in found.items() for k, steps in enumerate(row["steps"]))
print(f"claim: {claim}\nmeasured: {measured}")
