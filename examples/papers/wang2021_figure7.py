"""Skin that stiffens beyond a limit, in a wound that is closed: Wang et al. 2021, Section 5.3 and Figure 7.

A stand-in for the lip of the paper's surgery, made of shapes: a slab of tets with a wedge cut out of it, held at its rim, quasistatic.
Sutures (springs of zero length) draw the edges of the wound together in eight steps; each is 60 iterations of Projective Dynamics
with SchurDirect, whose region is the tissue around the wound. Once the tissue is ARAP, once biphasic: as soft up to 15 % of stretch,
and eleven times as stiff beyond. What tells them apart is the largest stretch in the tissue, and how far it spreads. There are no
bones, teeth or cuts. The sutures are there from the start, and their targets go to the middle of the wound step by step.

Limit: 300 s

python examples/papers/wang2021_figure7.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu
from pdgpu.plotting import draw_surface

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a coarse slab")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
CELLS = 16 if options.quick else 36
STEPS, ITERATIONS = (3, 20) if options.quick else (8, 60)
MU, LIMIT, STIFF = 2e4, 1.15, 2e5

# a slab, with a wedge of it excised: what is left open is drawn together
slab = pdgpu.shapes.beam((0.06, 0.06, 0.012), cells=(CELLS, CELLS, max(CELLS // 6, 2)))
centres = slab.points[slab.tets].mean(axis=1)
opening = 0.007 * np.clip(1.0 - centres[:, 1] / 0.042, 0.0, 1.0)
mesh = pdgpu.Mesh(slab.points, tets=slab.tets[np.abs(centres[:, 0] - 0.03) > opening]).without_unused_vertices()
points = mesh.points
rim = (points[:, 0] < 1e-9) | (points[:, 0] > 0.06 - 1e-9) | (points[:, 1] > 0.06 - 1e-9)
spacing = 0.06 / CELLS

# the vertices that face each other across the wound
pairs = []
for y, z in np.unique(points[:, 1:].round(9), axis=0):
    row = np.flatnonzero((np.abs(points[:, 1] - y) < 1e-8) & (np.abs(points[:, 2] - z) < 1e-8))
    row = row[np.argsort(points[row, 0])]
    gaps = np.diff(points[row, 0])
    if len(row) > 1 and gaps.max() > 1.5 * spacing:
        pairs.append(row[[np.argmax(gaps), np.argmax(gaps) + 1]])
pairs = np.array(pairs)


def closed(material):
    """Positions after the last step, and the largest stretch of every tet."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    body = scene.add_solid(mesh, material, density=1000.0, name="tissue")
    body.pin(rim)
    middle = points[pairs].mean(axis=1)
    near = np.linalg.norm(points[:, None, :2] - middle[None, :, :2], axis=2).min(axis=1) < 0.008
    solver = pdgpu.ProjectiveDynamics(iterations=ITERATIONS, linear=pdgpu.SchurDirect(near & ~rim, inner=3), initialization="previous")
    at = points
    for k in range(STEPS):
        held = scene.copy()
        for side in (0, 1):  # each edge seeks the middle
            order = np.argsort(pairs[:, side])
            share = (k + 1) / STEPS
            target = (1 - share) * points[pairs[:, side]] + share * middle
            held["tissue"].attach(pairs[order, side], target[order], stiffness=300.0)
        sim = pdgpu.Simulation(held, solver, dt=None)
        sim.set_state(positions=at)
        sim.step(record=True)
        at = sim.positions
        energy = sim.last_step["incremental_potential"]
        rounding = max(1e-9, np.finfo(sim.dtype).eps)
        assert (np.diff(energy) <= rounding * np.abs(energy).max()).all()
    edges = np.linalg.inv((points[mesh.tets[:, 1:]] - points[mesh.tets[:, :1]]).swapaxes(1, 2))
    F = (at[mesh.tets[:, 1:]] - at[mesh.tets[:, :1]]).swapaxes(1, 2) @ edges
    gap = np.linalg.norm(np.diff(at[pairs], axis=1), axis=2).mean()
    return at, np.linalg.svd(F, compute_uv=False)[:, 0], gap


found = {"ARAP": closed(pdgpu.ARAP(MU)), "biphasic": closed(pdgpu.biphasic(MU, STIFF, 0.5, LIMIT))}

figure = plt.figure(figsize=(12.5, 4.6), layout="constrained")
faces = mesh.surface
for column, (name, (at, stretch, _)) in enumerate(found.items(), 1):
    axes = figure.add_subplot(1, 3, column)
    value = np.zeros(len(points))
    np.maximum.at(value, mesh.tets.ravel(), np.repeat(stretch, 4))
    upright = at[:, [0, 2, 1]] * [1.0, 1.0, -1.0]  # z, the thickness, is up
    draw_surface(axes, upright, faces, colour=value, limits=(1.0, 1.8), elevation=62.0, azimuth=-90.0)
    axes.set_title(name)
figure.colorbar(plt.cm.ScalarMappable(plt.Normalize(1.0, 1.8), "viridis"), ax=figure.axes, label="largest stretch", shrink=0.6)
axes = figure.add_subplot(1, 3, 3)
for name, (_, stretch, _) in found.items():
    axes.plot(np.sort(stretch)[::-1], 100.0 * np.arange(1, len(stretch) + 1) / len(stretch), label=name)
axes.axvline(LIMIT, color="0.6", linewidth=0.8)
axes.set(xlabel="stretch", ylabel="% of the tets that are stretched more", yscale="log")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
figure.savefig(os.path.join(options.out, "wang2021_figure7.png"), dpi=120)

claim = "it is essential to capture the bi-phasic response of skin, which becomes notably more stiff once a strain limit has been reached"
parts = []
for name, (_, stretch, gap) in found.items():
    beyond = 100 * (stretch > 1.1 * LIMIT).mean()
    some = f"{beyond:.2g} % of the tets beyond {1.1 * LIMIT:.2f}"
    parts.append(f"{name}: largest stretch {stretch.max():.2f}, {some}, gap {1e3 * gap:.2f} mm")
measured = f"{len(mesh.tets)} tets; {'; '.join(parts)}"
with open(os.path.join(options.out, "wang2021_figure7.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    writer = csv.writer(file)
    writer.writerow(["material", "largest stretch", "stretch of 1 %", "stretch of 10 %", "gap, mm"])
    for name, (_, stretch, gap) in found.items():
        numbers = (stretch.max(), *np.quantile(stretch, (0.99, 0.9)), 1e3 * gap)
        writer.writerow([name, *(f"{number:.4g}" for number in numbers)])
print(f"claim: {claim}\nmeasured: {measured}")
