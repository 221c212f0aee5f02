"""A cloth falls over the creature that ships with pdgpu, lies over it and touches neither it nor itself: a picture and an animation.

Newton's method with the barrier of Li et al. 2020; the path of every step is verified in exact arithmetic when it is over.

python examples/cloth_over_creature.py [--out FOLDER] [--cells 48] [--seconds 0.5] [--quick]
"""

import argparse
import os
import time
from importlib.resources import as_file, files

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import PillowWriter

import pdgpu
from pdgpu.plotting import draw_simulation

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--cells", type=int, default=48, help="along each side of the cloth")
parser.add_argument("--seconds", type=float, default=0.5)
parser.add_argument("--quick", action="store_true", help="a coarse cloth, and no animation")
arguments = parser.parse_args()
os.makedirs(arguments.out, exist_ok=True)

N, SECONDS, DT = (16, 0.05, 1 / 60) if arguments.quick else (arguments.cells, arguments.seconds, 1 / 60)
with as_file(files("pdgpu") / "data" / "creature.vtu") as path:
    creature = pdgpu.read_mesh(path)
skin = pdgpu.Mesh(creature.points, triangles=creature.surface).without_unused_vertices()
low, size = skin.points.min(axis=0), np.ptp(skin.points, axis=0)
skin = pdgpu.Mesh((skin.points - low - size * [0.5, 0.0, 0.5]) * 0.5 / size.max() + [0.0, 2e-3, 0.0], triangles=skin.triangles)
top = skin.points[:, 1].max()

sheet = pdgpu.shapes.grid((0.64, 0.48), cells=(N, 3 * N // 4))
flat = np.column_stack([sheet.points[:, 0] - 0.32, np.full(len(sheet.points), top + 0.02), 0.24 - sheet.points[:, 1]])
scene = pdgpu.Scene()
scene.add_shell(pdgpu.Mesh(flat, triangles=sheet.triangles), pdgpu.Spring(200.0), density=0.2, bending=4e-5, damping=2e-3, name="cloth")
scene.add_obstacle(skin, name="creature")
scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
contact = pdgpu.BarrierContact(2e-3, stiffness=2e4)
sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=40, tolerance=1e-3), dt=DT, contact=contact)

view = dict(bounds=((-0.34, 0.0, -0.26), (0.34, top + 0.02, 0.26)), elevation=14.0, azimuth=-64.0)
colours = {"cloth": "#c8553d", "creature": "#8d99a6", "floor": "#f2efe9"}


def draw(axes):
    axes.clear()
    draw_simulation(axes, sim, colours=colours, **view)


film = plt.figure(figsize=(6.4, 4.4))
screen = film.add_axes((0.0, 0.0, 1.0, 1.0))
writer = PillowWriter(fps=20)  # a third of the speed of life
if not arguments.quick:
    writer.setup(film, os.path.join(arguments.out, "cloth_over_creature.gif"), dpi=80)
figure = plt.figure(figsize=(13.0, 3.2))
steps = round(SECONDS / DT)
shown = [0, steps // 4, steps // 2, steps]  # the pictures side by side
begin, verifying, clean = time.perf_counter(), 0.0, True
for step in range(steps + 1):
    if step:
        before = sim.positions
        sim.step(record="positions")
        start = time.perf_counter()
        clean &= pdgpu.certify([before, *sim.last_step.positions, sim.positions], scene, gap=False).clean
        verifying += time.perf_counter() - start
    if step in shown:
        k = shown.index(step)
        draw(figure.add_axes((0.25 * k, 0.08, 0.25, 0.92)))
        figure.text(0.25 * k + 0.125, 0.02, f"{sim.time:.2f} s", ha="center", fontsize=12)
        near = sim.last_step["smallest_distance"][-1] if step else np.nan
        print(f"t = {sim.time:.2f} s   nearest {1e3 * near:.3f} mm   after {time.perf_counter() - begin - verifying:.0f} s")
    if not arguments.quick:
        draw(screen)
        writer.grab_frame()
if not arguments.quick:
    writer.finish()
print("nothing went through anything" if clean else "something went through something")
figure.savefig(os.path.join(arguments.out, "cloth_over_creature.png"), dpi=110)
print("written:", os.path.join(arguments.out, "cloth_over_creature.png"))
