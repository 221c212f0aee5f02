"""A cloth of springs with bending hangs from its two top corners, which are drawn together: it falls into folds.

Upright and flat, nothing would tell the cloth which way to fold: it starts with a wave of slow velocities across its plane.

python examples/hanging_cloth.py [--out FOLDER] [--quick]
"""

import argparse
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu
from pdgpu.plotting import draw_points, draw_simulation

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a coarse cloth, a sixth of the time")
options = parser.parse_args()
out = options.out
os.makedirs(out, exist_ok=True)

N, STEPS = (20, (0, 5, 5, 30)) if options.quick else (40, (0, 30, 30, 180))  # cells along each side; steps from one picture to the next
sheet = pdgpu.shapes.grid((1.0, 1.0), cells=(N, N))  # upright: x to the right, y up; gravity is along -y
scene = pdgpu.Scene()
cloth = scene.add_shell(sheet, pdgpu.Spring(1000.0), density=0.2, bending=2e-4, damping=0.005, name="cloth")
corners = [N * (N + 1), (N + 1) ** 2 - 1]  # the top ones; the right one moves to the left for a second
cloth.pin(corners, motion=lambda time, rest: rest * [1.0 - 0.4 * min(time, 1.0), 1.0, 1.0])
sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=20), dt=1 / 60)
sim.set_state(velocities=0.5 * np.sin(3.0 * np.pi * sheet.points[:, :1]) * [0.0, 0.0, 1.0])

edges = sheet.unique_edges()
rest = np.linalg.norm(np.diff(sheet.points[edges], axis=1)[:, 0], axis=1)
BOUNDS = ((0.0, 0.0, -0.3), (1.0, 1.0, 0.3))
figure = plt.figure(figsize=(13.0, 3.8))
for k, steps in enumerate(STEPS):
    if steps:
        sim.step(steps)
    stretch = np.linalg.norm(np.diff(sim.positions[edges], axis=1)[:, 0], axis=1) / rest
    speed = np.linalg.norm(sim.velocities, axis=1).max()
    print(f"t = {sim.time:.1f} s   longest edge {100 * (stretch.max() - 1):4.1f} % over its rest length   fastest {speed:.2f} m/s")
    axes = figure.add_axes((0.25 * k, 0.1, 0.25, 0.9))
    draw_simulation(axes, sim, bounds=BOUNDS, azimuth=-70.0, elevation=16.0)
    draw_points(axes, sim.positions[corners], colour="#2f4858", size=9.0)
    figure.text(0.25 * k + 0.125, 0.02, f"{sim.time:.1f} s", ha="center", fontsize=12)
figure.savefig(os.path.join(out, "hanging_cloth.png"), dpi=110)
print("written:", os.path.join(out, "hanging_cloth.png"))
