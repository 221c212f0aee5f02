"""Cloth, a soft creature, rigid bodies, hair and sand in one scene: one potential G, which three solvers lower in the same step.

A creature of tets stands on a floor; a cloth, hairs that bend, grains of sand, each as thick as it is, and rigid boxes and balls, two of
them joined, fall on it and on each other, with friction. From where they lie after --seconds the same step is
taken by three solvers: loss is G - G* relative to what it was, G* from Newton's method. The path of the last step is verified in exact
arithmetic.

python examples/mixed_scene.py [--out FOLDER] [--seconds 0.15] [--quick]
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
parser.add_argument("--seconds", type=float, default=0.15)
parser.add_argument("--quick", action="store_true", help="coarser meshes, fewer of all, 0.02 s")
arguments = parser.parse_args()
os.makedirs(arguments.out, exist_ok=True)
QUICK, DT = arguments.quick, 1 / 200
CELLS, HAIRS, GRAINS = (8, 3, (3, 2, 3)) if QUICK else (20, 9, (12, 2, 8))
SECONDS = 0.02 if QUICK else arguments.seconds
FINE, SAND = 2e-3, 9e-3  # thickness of cloth and hair, diameter of a grain, m

cells = (6, 4, 3) if QUICK else (14, 8, 6)
block = pdgpu.shapes.beam((0.28, 0.16, 0.12), cells=cells)
x, y, z = (block.points[block.tets].mean(axis=1) / [0.28, 0.16, 0.12]).T
trunk, legs = (y > 0.45) & (y < 0.8) & (x > 0.15), (y < 0.5) & (abs(abs(x - 0.55) - 0.25) < 0.1) & (abs(z - 0.5) > 0.2)
head, tail = (x < 0.3) & (y > 0.55) & (abs(z - 0.5) < 0.35), (x > 0.85) & (y > 0.6) & (abs(z - 0.5) < 0.2)
creature = pdgpu.Mesh(block.points, tets=block.tets[trunk | legs | head | tail]).without_unused_vertices()
points = creature.points - [0.14, 0.0, 0.06] + [0.0, 2e-3, 0.0]
top = points[:, 1].max()

scene = pdgpu.Scene()
flesh = pdgpu.ARAP.from_young(young=5e4, poisson=0.3)
scene.add_solid(pdgpu.Mesh(points, tets=creature.tets), flesh, density=1000.0, damping=2e-3, name="creature")
down = (0.0, -0.5, 0.0)
sheet = pdgpu.shapes.grid((0.36, 0.28), cells=(CELLS, 3 * CELLS // 4))
flat = np.column_stack([sheet.points[:, 0] - 0.18, np.full(len(sheet.points), top + 0.004), 0.14 - sheet.points[:, 1]])
linen = pdgpu.Mesh(flat, triangles=sheet.triangles)
scene.add_shell(linen, pdgpu.Spring(200.0), density=0.2, bending=4e-5, damping=2e-3, velocity=down, thickness=FINE, name="cloth")
strands, joined = [], []
for k in range(HAIRS):
    first, z = 25 * k, 0.02 * (k - 0.5 * (HAIRS - 1))
    strands += [[x, top + 0.009, z] for x in np.linspace(-0.16, 0.16, 25)]
    joined += [[first + i, first + i + 1] for i in range(24)]
hair = pdgpu.Mesh(strands, edges=joined)
scene.add_rod(hair, pdgpu.Spring(500.0), density=5e-3, bending=2e-7, damping=2e-3, velocity=down, thickness=FINE, name="hair")
heap = np.stack(np.meshgrid(*map(np.arange, GRAINS), indexing="ij"), axis=-1).reshape(-1, 3) - 0.5 * (np.array(GRAINS) - 1.0) * [1, 0, 1]
heap = 0.0115 * heap + np.random.default_rng(0).uniform(-8e-4, 8e-4, heap.shape) + [0.0, top + 0.018, 0.0]
scene.add_particles(heap, mass=6e-4, velocity=down, thickness=SAND, name="sand")
brick, ball = pdgpu.shapes.box((0.05, 0.03, 0.04)), pdgpu.shapes.sphere(0.02, 1)
for k, (x, z) in enumerate(((-0.11, -0.02), (0.02, -0.11), (0.07, 0.06))):  # over the creature, or the cloth beside it
    place = [x, top + 0.055, z]
    scene.add_rigid(
        pdgpu.Mesh(brick.points + place, triangles=brick.triangles), density=800.0, velocity=down, spin=(2.0, 1.0, 3.0), name=f"brick{k}"
    )
    scene.add_rigid(
        pdgpu.Mesh(ball.points + place + [0.025, 0.06, 0.02], triangles=ball.triangles), density=800.0, velocity=down, name=f"ball{k}"
    )
scene.add_joint("ball", "ball0", "brick0", at=[-0.085, top + 0.09, 0.0], stiffness=1e4)
scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
contact = pdgpu.BarrierContact(1e-3, stiffness=1e7, area_weighted=False, friction=0.3)

sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=15 if QUICK else 30), dt=DT, contact=contact)
for _ in range(round(SECONDS / DT) - 1):
    sim.step()
before = sim.positions
sim.step(record="positions")
certificate = pdgpu.certify([before, *sim.last_step.positions], scene, gap=False)
verdict = "nothing went through anything" if certificate.clean else "something went through something"

SOLVERS = {
    "Newton": (pdgpu.Newton(iterations=80, tolerance=1e-9), "#000000"),
    "Block Jacobi": (pdgpu.BlockJacobi(iterations=60 if QUICK else 400), "#0072B2"),
    "Vertex Block Descent": (pdgpu.VertexBlockDescent(iterations=60 if QUICK else 400), "#D55E00"),
}
solvers = {name: solver for name, (solver, _) in SOLVERS.items()}
compared = pdgpu.compare(scene, solvers, dt=DT, start=(sim.positions, sim.velocities), contact=contact)
print(compared.table())

figure = plt.figure(figsize=(13.0, 4.6))
screen = figure.add_axes((0.0, 0.0, 0.42, 1.0))
bounds = ((-0.18, 0.0, -0.16), (0.18, top + 0.06, 0.16))
colours = {"cloth": "#c8553d", "creature": "#8d99a6", "hair": "#3d2b1f", "sand": "#d9a441", "floor": "#f2efe9"}
colours |= {f"brick{k}": "#4c72b0" for k in range(3)} | {f"ball{k}": "#55a868" for k in range(3)}
draw_simulation(screen, sim, bounds=bounds, elevation=38.0, azimuth=-60.0, colours=colours)
rows = []
for place, abscissa in ((0.47, "iteration"), (0.75, "seconds")):
    axes = figure.add_axes((place, 0.15, 0.24, 0.76))
    for name, (_, colour) in SOLVERS.items():
        record = compared.records[name]
        axes.loglog(record[abscissa][1:], np.maximum(record["relative_loss"][1:], 1e-12), color=colour, linewidth=1.6, label=name)
    axes.set_xlabel("iterations" if abscissa == "iteration" else "seconds of the solver")
    axes.grid(True, color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    if abscissa == "iteration":
        axes.set_ylabel("relative loss")
        axes.legend(frameon=False, fontsize=9)
for name, record in compared.records.items():
    rows += [
        (name, i, f"{s:.6f}", f"{loss:.6e}")
        for i, s, loss in zip(record["iteration"], record["seconds"], record["relative_loss"], strict=True)
    ]
figure.savefig(os.path.join(arguments.out, "mixed_scene.png"), dpi=110)
with open(os.path.join(arguments.out, "mixed_scene.csv"), "w", newline="") as file:
    csv.writer(file).writerows([("solver", "iteration", "seconds", "relative_loss"), *rows])
print(f"{scene.n_vertices} vertices, {int(sim.last_step['active_contacts'][-1])} contacts, {verdict}")
print("written:", os.path.join(arguments.out, "mixed_scene.png"))
