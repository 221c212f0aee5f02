"""A fine creature in a coarse cage falls down stairs: its own surface collides, the cage alone is computed with.

The surface of the creature that ships with pdgpu is embedded in a few hundred cubes of tets around it, y = W x. Newton's method minimises G
over the vertices of the cage; the barrier and friction act between the points, edges and triangles of the surface and the stairs, and what
they push with goes to the cage by the transpose of W. Every step is verified in exact arithmetic, on the surface.

python examples/embedded_creature.py [--out FOLDER] [--seconds 0.5] [--quick]
"""

import argparse
import os
from importlib.resources import as_file, files
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

import pdgpu
from pdgpu.plotting import draw_simulation

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--seconds", type=float, default=0.5)
parser.add_argument("--quick", action="store_true", help="a coarser cage, 0.03 s")
arguments = parser.parse_args()
os.makedirs(arguments.out, exist_ok=True)
DT, SECONDS, CUBES = 1 / 100, 0.03 if arguments.quick else arguments.seconds, 8 if arguments.quick else 12
LENGTH = 0.4  # of the creature, m

with as_file(files("pdgpu") / "data" / "creature.vtu") as path:
    creature = pdgpu.read_mesh(path)
skin = pdgpu.Mesh(creature.points, triangles=creature.surface).without_unused_vertices()
low, high = skin.points.min(axis=0), skin.points.max(axis=0)
points = (skin.points - low) * (LENGTH / (high - low).max())

side = 1.02 * LENGTH / CUBES
cells = np.ceil(points.max(axis=0) * 1.01 / side).astype(int)
block = pdgpu.shapes.beam(cells * side, cells=cells)
corner = 0.5 * (points.max(axis=0) - cells * side)
inside = (creature.points - low) * (LENGTH / (high - low).max())
inside = np.concatenate([inside, inside[creature.tets].mean(axis=1)])
taken = np.zeros(cells, bool)
taken[tuple(np.floor((inside - corner) / side).astype(int).T)] = True
cube = np.floor(block.points[block.tets].mean(axis=1) / side).astype(int)
cage = pdgpu.Mesh(block.points + corner, tets=block.tets[taken[tuple(cube.T)]]).without_unused_vertices()

STEP, RISE = 0.2, 0.1  # of a stair, m
scene = pdgpu.Scene()
place = np.array([-0.12, 3 * RISE + 0.03, -0.5 * points[:, 2].max()])
body = scene.add_solid(
    pdgpu.Mesh(cage.points + place, tets=cage.tets),
    pdgpu.ARAP.from_young(young=5e4, poisson=0.3),
    density=300.0,
    damping=2e-3,
    velocity=(1.0, 0.0, 0.0),
    name="cage",
)
body.embed(pdgpu.Mesh(points + place, triangles=skin.triangles), name="creature", collides=True)
for k in range(4):
    scene.add_obstacle(pdgpu.Box((STEP, 0.1, 0.6), centre=((k + 0.5) * STEP, (2 - k) * RISE - 0.05, 0.0)), name=f"stair{k}")
scene.add_obstacle(pdgpu.Box((2 * STEP, 0.1, 0.6), centre=(-STEP, 3 * RISE - 0.05, 0.0)), name="landing")
contact = pdgpu.BarrierContact(2e-3, friction=0.3)

sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=30, tolerance=1e-4), dt=DT, contact=contact)
n_frames = round(SECONDS / DT)
shown, clean, contacts, seconds = [0, n_frames // 2, n_frames], True, 0, 0.0
figure = plt.figure(figsize=(13.0, 4.2))
bounds = ((-0.35, -0.14, -0.25), (0.8, 0.58, 0.25))
colours = {"creature": "#8d99a6", "cage": "#c8553d"} | {obstacle.name: "#f2efe9" for obstacle in scene.obstacles}
for k in range(n_frames + 1):
    if k in shown:
        axes = figure.add_axes((shown.index(k) / 3.0, 0.0, 1.0 / 3.0, 0.95))
        draw_simulation(axes, sim, bounds=bounds, elevation=18.0, azimuth=-75.0, colours=colours, opacity={"cage": 0.12})
        axes.set_title(f"{sim.time:.2f} s", y=0.98)
    if k == n_frames:
        break
    before, start = sim.positions, perf_counter()
    sim.step(record="positions")
    seconds += perf_counter() - start
    clean &= pdgpu.certify([before, *sim.last_step.positions], scene, gap=False).clean
    contacts = max(contacts, int(sim.last_step["active_contacts"][-1]))
figure.savefig(os.path.join(arguments.out, "embedded_creature.png"), dpi=110)
verdict = "nothing went through anything" if clean else "something went through something"
print(f"{len(cage.points)} vertices carry {len(points)} points; up to {contacts} contacts, {verdict}; {seconds / n_frames:.3f} s a step")
print("written:", os.path.join(arguments.out, "embedded_creature.png"))
