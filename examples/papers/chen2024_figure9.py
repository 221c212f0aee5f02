"""Colours of elements alone, or of what touches too: Chen et al. 2024 (Vertex Block Descent), Figure 9.

Neo-Hookean cubes fall on each other in layers, with friction and extrapolation by 0.95, of which touching vertices are left out. Colours
are made once, from the elements, so that vertices that touch may have the same and move at once; or again before every step, with the
pairs that touch then (`Simulation.recoloured`; the paper recolours at every detection). How far the two are apart is set against how far
each is from a run with ten times the iterations, in sides of a cube.

python examples/papers/chen2024_figure9.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu
from pdgpu.plotting import draw_simulation

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="four cubes, few steps")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
COUNT, STEPS, ITERATIONS = (4, 6, 10) if options.quick else (18, 60, 10)
SIDE, DT = 0.1, 1 / 240


def pile(iterations):
    """Layers of two cubes, each turned against the one below."""
    scene, mesh = pdgpu.Scene((0.0, -10.0, 0.0)), pdgpu.shapes.beam((SIDE,) * 3, (3, 3, 3))
    for k in range(COUNT):
        angle = 0.4 * (k // 2)
        turn = np.array([[np.cos(angle), 0.0, np.sin(angle)], [0.0, 1.0, 0.0], [-np.sin(angle), 0.0, np.cos(angle)]])
        place = turn @ [0.54 * SIDE * (1 - 2 * (k % 2)), 0.0, 0.0] + [0.0, 0.005 + (1.02 * SIDE) * (k // 2), 0.0]
        points = (mesh.points - 0.5 * SIDE * np.array([1.0, 0.0, 1.0])) @ turn.T + place
        material = pdgpu.NeoHookean.from_young(2e4, 0.4)
        scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), material, density=1000.0, velocity=(0.0, -0.3, 0.0))
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    contact = pdgpu.PenaltyContact(4e-3, stiffness=500.0, depth=0.02, detection_interval=5, friction=0.3, friction_velocity=0.01)
    solver = pdgpu.VertexBlockDescent(iterations=iterations, chebyshev=pdgpu.Chebyshev(rho=0.95, start=2))
    return pdgpu.Simulation(scene, solver, dt=DT, contact=contact, threads=1)


def run(iterations, recolours):
    """Positions after every step, (steps, n, 3) m; after the last pairs that touch, those of one colour, and colours; the simulation."""
    simulation, states, shared = pile(iterations), [], 0
    for _ in range(STEPS):
        if recolours:
            simulation = simulation.recoloured(simulation.contact_forces().vertices)
        simulation.step()
        states.append(simulation.positions)
    rows = simulation.contact_forces().vertices
    colours, n = simulation._core.colours, len(simulation.positions)
    for row in rows:
        own = row[(row >= 0) & (row < n)]
        shared += len(np.unique(colours[own])) < len(np.unique(own))
    return np.array(states), len(rows), shared, simulation.parameters["colours"], simulation


RUNS = {"(a) colours of elements": (ITERATIONS, False, "#D55E00"), "(b) recoloured": (ITERATIONS, True, "#0072B2")}
found = {name: run(iterations, recolours) for name, (iterations, recolours, _) in RUNS.items()}
reference = run(10 * ITERATIONS, False)[0]
first, second = (found[name][0] for name in RUNS)
figure = plt.figure(figsize=(13.0, 4.2), layout="constrained")
for place, (name, (_, touching, shared, colours, simulation)) in enumerate(found.items()):
    axes = figure.add_subplot(1, 3, 1 + place)
    draw_simulation(axes, simulation)
    axes.set_title(f"{name}\n{colours} colours, {shared} of {touching} pairs share one", fontsize=9)
curves, times = figure.add_subplot(1, 3, 3), DT * np.arange(1, STEPS + 1)


def apart(one, other):
    """The mean distance of a vertex from itself in another run, in sides of a cube, after every step."""
    return np.linalg.norm(one - other, axis=2).mean(axis=1) / SIDE


between = apart(first, second)
curves.plot(times, between, color="#009E73", label="(a) from (b)")
for name, (_, _, colour) in RUNS.items():
    curves.plot(times, apart(found[name][0], reference), color=colour, label=f"{name[:3]} from {10 * ITERATIONS} iterations")
curves.set(xlabel="time [s]", ylabel="mean distance of a vertex [sides of a cube]")
curves.legend(frameon=False, fontsize=8)
curves.grid(True, color="0.9")
curves.spines[["top", "right"]].set_visible(False)
figure.savefig(os.path.join(options.out, "chen2024_figure9.png"), dpi=110)

errors = {name: apart(found[name][0], reference)[-1] for name in RUNS}
claim = "without recolouring and with it results are highly similar, though not identical"
rows = "; ".join(
    f"{name} {errors[name]:.2g} from {10 * ITERATIONS} iterations, {colours} colours, {shared} of {touching} pairs share one"
    for name, (_, touching, shared, colours, _) in found.items()
)
scale = f"{COUNT} cubes, {len(reference[0])} vertices, {STEPS} steps of {ITERATIONS} iterations"
measured = f"{scale}: at the end {between[-1]:.2g} of a side apart in the mean; {rows}"
with open(os.path.join(options.out, "chen2024_figure9.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    rows = zip(times, between, *(apart(found[name][0], reference) for name in RUNS), strict=True)
    csv.writer(file).writerows([("time", "apart", "a_from_reference", "b_from_reference"), *([f"{x:.6g}" for x in row] for row in rows)])
print(f"claim: {claim}\nmeasured: {measured}")
