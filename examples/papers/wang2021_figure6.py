"""A jaw closes and grinds, and the lips meet: Wang et al. 2021, Figure 6.

A stand-in for the paper's face, a block of flesh with a mouth that is open at rest and two bones (models/wang2021.py): the lower jaw turns
until the lips press on each other, then slides to the side. Every pose is five iterations of Projective Dynamics, quasistatic, with
SchurDirect on the lips and three inner solves, contact found again in each; beside it the same without contact. What is
drawn: the mouth open, shut without and with contact, and after the slide, and halves of it cut in the middle; how many proxies are inside,
and how deep the deepest is, over the poses; and the same on a grid with an eighth of the tets, which the paper says closes less tightly.
Last: contact begins where the mouth is shut without it, and the forces that are left over the processor's seconds of one thread (all
finding of contact included, the factors of the setup not): of 1, 3, 5 and 20 inner solves, of all factorised and analysed again, of two
factors (Komaritzan and Botsch 2018), and of 50 iterations of conjugate gradients, of Chebyshev-Jacobi and of A-Jacobi.

python examples/papers/wang2021_figure6.py [--out FOLDER] [--quick] [--spacing M]
"""

import argparse
import csv
import os
import time

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection
from models.wang2021 import mouth, untangle

import pdgpu

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="coarse grids, and half of the poses")
parser.add_argument("--spacing", type=float, help="side of the cubes of the grid, m; 0.0015 is half a million tets")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
SPACING = options.spacing or (0.006 if options.quick else 0.0028)
ITERATIONS, STIFFNESS, CLOSED = 5, 200.0, 0.33  # the angle of the lower jaw, rad
ACTIVE = 2e4  # of the second of two factors, N/m
POSES = [(CLOSED * k / 6, 0.0) for k in range(1, 7)] + [(CLOSED, 0.001 * k) for k in range(1, 7)]
if options.quick:
    POSES = POSES[1::2]
SHUT = next(k for k, (angle, _) in enumerate(POSES) if angle == CLOSED)


def depths(sim):
    at = sim.proxies()
    return int(at.active.sum()), float(np.linalg.norm(at.points - at.targets, axis=1).max())


def run(spacing):
    """The model, (positions with contact, without), rows of what was measured, and seconds of an iteration."""
    model = mouth(spacing)
    held = model.simulation(model.prone_region(3), ITERATIONS, STIFFNESS)
    free = model.simulation(pdgpu.Direct(), ITERATIONS)
    probe = model.simulation(pdgpu.Jacobi(), 1, STIFFNESS)  # takes no step; gives distances only
    shapes, rows, spent = [], [], 0.0
    for angle, shift in POSES:
        model.pose.update(angle=angle, shift=shift)
        begin = time.perf_counter()
        held.step(time=0.0)  # the bones read the pose, whatever the time
        spent += time.perf_counter() - begin
        free.step(time=0.0)
        probe.set_state(positions=free.positions)
        counts = held.proxies()
        rows.append((angle, shift, *depths(held), counts.entered + counts.left, *depths(probe)))
        shapes.append((held.positions, free.positions))
    return model, shapes, rows, spent / (ITERATIONS * len(POSES))


fine, shapes, rows, seconds = run(SPACING)
coarse, _, coarse_rows, _ = run((1.5 if options.quick else 2.0) * SPACING)
flesh = fine.scene["flesh"]

# untangling, from the mouth that is shut without contact
fine.pose.update(angle=CLOSED, shift=0.0)
found = {
    name: untangle(fine, linear, shapes[SHUT][1], 2 if options.quick else 10, STIFFNESS) for name, linear in fine.rivals(ACTIVE).items()
}


def draw(axes, x, title, half):
    """The face from before and a little above; or the half of it that is cut in the middle, from the side."""
    corners = 1e3 * x[fine.triangles]
    if half:
        corners = corners[(flesh.points[fine.triangles][:, :, 0] <= 1e-9).all(axis=1)]
        towards, right, up = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])
    else:
        towards = np.array([0.25, 0.25, 0.93])
        right = np.cross([0.0, 1.0, 0.0], towards)
        up = np.cross(towards, right)
    corners = corners[np.argsort((corners @ towards).mean(axis=1))]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    light = 0.35 + 0.65 * np.clip(normal @ (0.5 * up + 0.7 * towards + 0.3 * right), 0.0, 1.0)
    light[normal @ towards < 0.0] = 0.25  # the inside of what is cut
    flat = np.stack([corners @ right, corners @ up], axis=2)
    axes.add_collection(PolyCollection(flat, facecolors=np.clip(light[:, None] * [1.0, 0.8, 0.7], 0, 1), edgecolors="none"))
    axes.autoscale()
    axes.set_title(title)
    axes.set_aspect("equal")
    axes.set_axis_off()


figure = plt.figure(figsize=(15.0, 9.6), layout="constrained")
grid = figure.add_gridspec(3, 12)
titles = ("at rest", "shut, without contact", "shut", "after the slide")
for column, (x, title) in enumerate(zip((flesh.points, shapes[SHUT][1], shapes[SHUT][0], shapes[-1][0]), titles, strict=True)):
    draw(figure.add_subplot(grid[0, 3 * column : 3 * column + 3]), x, title, False)
    draw(figure.add_subplot(grid[1, 3 * column : 3 * column + 3]), x, "", True)
for columns, at, label in ((slice(0, 4), (2, 5), "proxies inside, %"), (slice(4, 8), (3, 6), "deepest, mm")):
    axes = figure.add_subplot(grid[2, columns])
    for made, model, style in ((rows, fine, "-"), (coarse_rows, coarse, ":")):
        scale = 1e3 if at[0] == 3 else 100.0 / len(model.proxies)
        name = f"{len(model.scene['flesh'].mesh.tets) / 1e3:.0f}K tets"
        axes.plot(range(1, len(made) + 1), [scale * row[at[1]] for row in made], style, color="#D55E00", label=f"{name}, without contact")
        axes.plot(range(1, len(made) + 1), [scale * row[at[0]] for row in made], style, color="#0072B2", label=f"{name}, with contact")
    axes.set(xlabel="pose", ylabel=label)
    axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, fontsize=8)
axes = figure.add_subplot(grid[2, 8:])
for name, each in found.items():
    axes.plot(each.seconds[1:], each.left[1:], ".-", label=name)
axes.set(xlabel="s of one thread", ylabel="forces that are left", xscale="log", yscale="log")
axes.legend(frameon=False, fontsize=8)
axes.spines[["top", "right"]].set_visible(False)
figure.savefig(os.path.join(options.out, "wang2021_figure6.png"), dpi=100)

claim = "the lips engage in self-collision, which is efficiently resolved; a coarser mesh leaves artifacts where they close"


def said(made):
    return (
        f"deepest {1e3 * made[SHUT][3]:.2f} mm shut and {1e3 * made[-1][3]:.2f} mm after the slide "
        f"({1e3 * made[SHUT][6]:.2f} and {1e3 * made[-1][6]:.2f} without contact)"
    )


measured = (
    f"{len(flesh.mesh.tets)} tets, {len(fine.prone)} prone vertices, {len(fine.proxies)} proxies: {said(rows)}, "
    f"{seconds:.2g} s an iteration; "
    f"{len(coarse.scene['flesh'].mesh.tets)} tets: {said(coarse_rows)}; untangling, s an iteration and forces left "
    f"after {len(found['all anew'].left) - 1}: "
    + ", ".join(f"{name} {each.seconds[-1] / (len(each.left) - 1):.2g} and {each.left[-1]:.2g}" for name, each in found.items())
)
with open(os.path.join(options.out, "wang2021_figure6.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    writer = csv.writer(file)
    writer.writerow(["tets", "angle", "slide, mm", "active", "deepest, mm", "came and went", "inside without", "deepest without, mm"])
    for made, model in ((rows, fine), (coarse_rows, coarse)):
        for angle, shift, active, deep, churn, inside, deeper in made:
            numbers = (f"{angle:.3g}", f"{1e3 * shift:.2g}", active, f"{1e3 * deep:.3g}", churn, inside, f"{1e3 * deeper:.3g}")
            writer.writerow([len(model.scene["flesh"].mesh.tets), *numbers])
    writer.writerow(["solver", "iteration", "s", "forces left"])
    for name, each in found.items():
        writer.writerows([name, k, f"{a:.4g}", f"{b:.4g}"] for k, (a, b) in enumerate(zip(each.seconds, each.left, strict=True)))
print(f"claim: {claim}\nmeasured: {measured}")
