"""Sixty rigid bodies dropped into a pot: Chen et al. 2024 (Vertex Block Descent), Figure 23.

Boxes and balls of 20 and 80 faces, 2 to 3 cm, fall into a pot of revolution with a spout beside it, a model of our own instead of the
Utah teapot; barrier contact, friction 0.4, steps of 1/200 s. The run is by Newton, since with barriers Vertex Block Descent takes many
times as long; the last step is then taken by both. `certify` verifies every frame.

python examples/papers/chen2024_figure23.py [--out FOLDER] [--quick]

Limit: 400 s
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu
from pdgpu.viz.body_plotting import draw_surfaces

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="six bodies, a few steps")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
BODIES, STEPS, DT = (6, 6, 1 / 200) if options.quick else (60, 140, 1 / 200)
SHOWN = np.linspace(0, STEPS, 4).astype(int)
INSIDE = [(0.0, 0.01), (0.06, 0.012), (0.085, 0.04), (0.09, 0.075), (0.075, 0.11), (0.07, 0.125)]  # radius and height of the pot, m
OUTSIDE = [(0.078, 0.125), (0.083, 0.11), (0.098, 0.075), (0.093, 0.035), (0.066, 0.002), (0.0, 0.0)]


def revolved(profile, around=20):
    """A closed surface; the first and the last point of the profile are on the axis."""
    turns = 2.0 * np.pi * np.arange(around) / around
    rings = [[[r * np.cos(t), y, r * np.sin(t)] for t in turns] for r, y in profile[1:-1]]
    points = np.array([*np.concatenate(rings), [0.0, profile[0][1], 0.0], [0.0, profile[-1][1], 0.0]])
    k, n = np.arange(around), len(rings)
    after, first, last = (k + 1) % around, np.full(around, n * around), np.full(around, n * around + 1)
    triangles = [np.stack([first, k, after], axis=1), np.stack([last, after + (n - 1) * around, k + (n - 1) * around], axis=1)]
    for ring in range(n - 1):
        a, b, c, d = k + ring * around, after + ring * around, after + (ring + 1) * around, k + (ring + 1) * around
        triangles += [np.stack([a, c, b], axis=1), np.stack([a, d, c], axis=1)]
    return pdgpu.Mesh(points, triangles=np.concatenate(triangles))


def spout():
    """A trough that leans outwards from the wall."""
    turns = np.pi * np.arange(7) / 6
    arc = np.stack([-np.cos(turns), -np.sin(turns)], axis=1)
    section = np.concatenate([0.022 * arc, 0.016 * arc[::-1]])
    ends = [np.array([0.112, 0.085, 0.0]), np.array([0.165, 0.12, 0.0])]
    points = np.concatenate([[end + [0.0, y, z] for z, y in section] for end in ends])
    n, k = len(section), np.arange(len(section))
    after = (k + 1) % n
    sides = np.concatenate([np.stack([k, after, after + n], axis=1), np.stack([k, after + n, k + n], axis=1)])
    cap = np.array([[i, i + 1, n - 1 - i] for i in range(6)] + [[i + 1, n - 2 - i, n - 1 - i] for i in range(6)])
    return pdgpu.Mesh(points, triangles=np.concatenate([sides, cap[:, ::-1], cap + n]))


def shape(k):
    if k % 3 == 0:
        box = pdgpu.shapes.box((0.028, 0.018, 0.022))
        return pdgpu.Mesh(box.points - [0.014, 0.009, 0.011], triangles=box.triangles)
    return pdgpu.shapes.sphere(0.014, k % 3 - 1)  # level 0 and 1: 20 and 80 faces


chance = np.random.default_rng(3)
scene = pdgpu.Scene()
scene.add_obstacle(pdgpu.TriangleMesh(revolved(INSIDE + OUTSIDE)), name="pot")
scene.add_obstacle(pdgpu.TriangleMesh(spout()), name="spout")
scene.add_obstacle(pdgpu.Plane((0.0, -0.003, 0.0), (0.0, 1.0, 0.0)), name="table")
for k in range(BODIES):
    place = [0.036 * (k % 3 - 1), 0.15 + 0.034 * (k // 9), 0.036 * (k // 3 % 3 - 1)]
    if k == BODIES - 1:
        place = [0.14, 0.16, 0.0]  # over the spout
    mesh = shape(k)
    scene.add_rigid(pdgpu.Mesh(mesh.points + place, triangles=mesh.triangles), density=2000.0, spin=chance.uniform(-5.0, 5.0, 3))
contact = pdgpu.BarrierContact(1.5e-3, friction=0.4)
sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=80, tolerance=1e-3), dt=DT, contact=contact, threads=1)
frames, rows, intersections = [sim.positions], [], 0
for _ in range(STEPS):
    sim.step(record=True)
    frames.append(sim.positions)
    intersections += len(pdgpu.certify([frames[-1]], scene, gap=False).intersections)
    record = sim.last_step
    rows.append((f"{sim.time:.4f}", record.iteration, int(record["active_contacts"][-1]), f"{record['smallest_distance'][-1]:.4e}"))
solvers = {"Newton": pdgpu.Newton(iterations=80, tolerance=1e-8), "VBD": pdgpu.VertexBlockDescent(iterations=20)}
compared = pdgpu.compare(scene, solvers, dt=DT, start=(sim.positions, sim.velocities), contact=contact)
loss = compared.records["VBD"]["relative_loss"][-1]

figure = plt.figure(figsize=(13.0, 3.8), layout="constrained")
for place, k in enumerate(SHOWN):
    axes = figure.add_subplot(1, len(SHOWN), 1 + place)
    shades = ("#E69F00", "#56B4E9", "#D55E00")
    shown = [(frames[k][b.slice], b.mesh.triangles, shades[i % 3], 1.0) for i, b in enumerate(scene.bodies)]
    shown += [(o.collider.mesh.points, o.collider.mesh.triangles, "#999999", 0.25) for o in scene.obstacles[:2]]
    draw_surfaces(axes, shown, ([-0.1, 0.0, -0.1], [0.17, 0.36, 0.1]), 22.0, -75.0)
    axes.set_title(f"{k * DT:.2f} s", fontsize=9)
figure.savefig(os.path.join(options.out, "chen2024_figure23.png"), dpi=110)

inside = np.linalg.norm(sim.rigid.centres[:, [0, 2]], axis=1) < 0.09
claim = "60 rigid bodies fall into a teapot, collide and rub; one stays on the spout"
measured = (
    f"{int(inside.sum())} of {BODIES} bodies are in the pot after {STEPS * DT:g} s, {intersections} of {STEPS} frames intersect; "
    f"20 iterations of VBD leave {loss:.1e} of the loss of the next step"
)
with open(os.path.join(options.out, "chen2024_figure23.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    csv.writer(file).writerows([("time", "iterations", "contacts", "smallest_distance"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
