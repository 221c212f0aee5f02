"""A heavy cube on a light one, Vertex Block Descent and XPBD: Chen et al. 2024 (Vertex Block Descent), Figure 20.

A neo-Hookean cube of 0.3 m falls from 2 cm onto one of 0.1 m that is 2000 times as light and lies on a plane; each has 343 vertices (400 in
the paper). Penalty contact of the same stiffness for both solvers, mu 1e6 and lam 1e7 Pa, friction 0.3. The lines are the height of the
heavy cube's lower face: that of the light cube as long as it carries it. The pictures are at the end, with the heavy cube seen through.
XPBD's pairs act all at once here, not one after the other as in the paper's program. Then the same with a rigid cube on top, as heavy, in
contact by the barrier: a rigid body takes no penalty here.

python examples/papers/chen2024_figure20.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os
import time
import warnings

import matplotlib.pyplot as plt
import numpy as np

import pdgpu
from pdgpu.viz.body_plotting import draw_surfaces

warnings.filterwarnings("ignore", "material: NeoHookean .* Poisson's ratio")  # the paper's is 0.45 and more

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="coarser cubes, a tenth of a second")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
CELLS, SECONDS = (2, 0.1) if options.quick else (6, 0.3)
SMALL, LARGE, RATIO = 0.1, 0.3, 2000.0
DENSITY = 1000.0  # of the large one, kg/m^3
RUNS = {
    "VBD, h = 1/300 s, 10 iterations": (pdgpu.VertexBlockDescent(iterations=10), 300, "#0072B2"),
    "VBD, rigid top, 10 iterations": (pdgpu.VertexBlockDescent(iterations=10), 300, "#CC79A7"),
    "Newton, rigid top": (pdgpu.Newton(iterations=50, tolerance=1e-4), 300, "#000000"),
    "XPBD, h = 1/300 s, 10 iterations": (pdgpu.XPBD(iterations=10), 300, "#D55E00"),
    "XPBD, h = 1/300 s, 100 iterations": (pdgpu.XPBD(iterations=100), 300, "#E69F00"),
    "XPBD, h = 1/1500 s, 10 iterations": (pdgpu.XPBD(iterations=10), 1500, "#009E73"),
}


def cube(side, height):
    mesh = pdgpu.shapes.beam((side,) * 3, (CELLS,) * 3)
    return pdgpu.Mesh(mesh.points + [-0.5 * side, height, -0.5 * side], tets=mesh.tets)


def drop(solver, rate, rigid):
    """Height of the lower face of the heavy cube after every step, m; points and triangles of both; ms a step; whether it diverged."""
    scene = pdgpu.Scene()
    material = pdgpu.NeoHookean(1e6, 1e7)
    light = DENSITY / RATIO * (LARGE / SMALL) ** 3
    large = cube(LARGE, SMALL + 0.02)
    bodies = [scene.add_solid(cube(SMALL, 9e-4), material, density=light, name="light", damping=1e-6)]
    if rigid:
        box = pdgpu.shapes.box((LARGE,) * 3)
        top = pdgpu.Mesh(box.points + large.points.min(axis=0), triangles=box.triangles)
        bodies.append(scene.add_rigid(top, density=DENSITY, name="heavy"))
    else:
        bodies.append(scene.add_solid(large, material, density=DENSITY, name="heavy", damping=1e-6))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    contact = pdgpu.PenaltyContact(1e-3, stiffness=1e5, depth=0.02, detection_interval=0, friction=0.3, friction_velocity=1e-2)
    if rigid:
        contact = pdgpu.BarrierContact(1e-3, friction=0.3, friction_velocity=1e-2)
    simulation = pdgpu.Simulation(scene, solver, dt=1 / rate, contact=contact, threads=1)
    face = bodies[1].mesh.points[:, 1] < SMALL + 0.021
    heights, begun = [], time.perf_counter()
    for _ in range(round(SECONDS * rate)):
        try:
            simulation.step()
        except pdgpu.DivergenceError:
            heights += [np.nan] * (round(SECONDS * rate) - len(heights))
            break
        heights.append(simulation.positions[bodies[1].slice][face, 1].mean())
    spent = 1e3 * (time.perf_counter() - begun) / len(heights)
    shown = [(simulation.positions[body.slice], body.mesh.surface) for body in bodies]
    return np.array(heights), shown, spent, bool(np.isnan(heights[-1]))


figure = plt.figure(figsize=(12.0, 7.0), layout="constrained")
upper, below = figure.subfigures(2, 1)
curves = upper.add_subplot()
rows, parts = [], []
for place, (name, (solver, rate, colour)) in enumerate(RUNS.items()):
    heights, surfaces, spent, diverged = drop(solver, rate, "rigid" in name)
    times = np.arange(1, len(heights) + 1) / rate
    rows += [(name, f"{t:.6f}", y) for t, y in zip(times, heights, strict=True)]
    curves.plot(times, 1e3 * heights, color=colour, linewidth=1.6, label=name)
    lowest = np.nanmin(heights)
    parts.append(f"{name}: " + ("diverges" if diverged else f"{1e3 * lowest:.0f} mm at the lowest, {1e3 * heights[-1]:.0f} mm at the end"))
    axes = below.add_subplot(1, len(RUNS), 1 + place)
    shown = [(*surface, colour, part) for surface, colour, part in zip(surfaces, ("#D55E00", "#56B4E9"), (1.0, 0.35), strict=True)]
    draw_surfaces(axes, shown, ([-0.2, 0.0, -0.2], [0.2, 0.42, 0.2]), 6.0, -68.0)
    axes.set_title(f"{name}\n{spent:.1f} ms a step", fontsize=8)
curves.set(xlabel="time [s]", ylabel="height of the heavy cube's lower face [mm]")
curves.grid(True, color="0.9")
curves.spines[["top", "right"]].set_visible(False)
curves.legend(frameon=False, fontsize=8)
figure.savefig(os.path.join(options.out, "chen2024_figure20.png"), dpi=110)

claim = "with a mass ratio of 1:2000 VBD carries the heavy cube, while with XPBD the smaller one is entirely crushed upon contact"
measured = f"lower face of the heavy cube over a light one of {1e3 * SMALL:.0f} mm, {SECONDS:g} s: {'; '.join(parts)}"
with open(os.path.join(options.out, "chen2024_figure20.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    csv.writer(file).writerows([("run", "time", "height"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
