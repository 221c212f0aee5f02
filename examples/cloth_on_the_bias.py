"""Woven cloths hang from two corners, with the warp upright, across, and on the bias at 45 degrees: the same cloth, cut in three ways.

Warp threads are stiffer than weft threads, and the weave is soft in shear. The lines are threads of the warp.

python examples/cloth_on_the_bias.py [--out FOLDER] [--quick]
"""

import argparse
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu
from pdgpu.plotting import draw_lines, draw_points, draw_surface

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a coarse cloth")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)

N = 12 if options.quick else 32  # cells along each side
STIFFNESS = dict(warp=300.0, weft=60.0, shear=6.0, poisson=0.2)  # N/m
DIRECTIONS = {"warp upright": (0.0, 1.0, 0.0), "warp across": (1.0, 0.0, 0.0), "on the bias": (1.0, 1.0, 0.0)}
SECONDS = 4.0
THREAD = 1e-3  # m, the distance of the drawn threads to the cloth


def hung(direction):
    """The cloth at rest, its top corners, positions after SECONDS with the corners 0.85 m apart, and the largest speed, m/s."""
    sheet = pdgpu.shapes.grid((1.0, 1.0), cells=(N, N))  # upright: x to the right, y up
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    material = pdgpu.OrthotropicShell(**STIFFNESS, direction=direction)
    cloth = scene.add_shell(sheet, material, density=0.3, bending=2e-4, damping=0.02, name="cloth")
    corners = [N * (N + 1), (N + 1) ** 2 - 1]
    cloth.pin(corners, motion=lambda time, rest: rest * [1.0 - 0.15 * min(time, 1.0), 1.0, 1.0])
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=10, tolerance=1e-4), dt=1 / 60)
    sim.set_state(velocities=0.5 * np.sin(2.0 * np.pi * sheet.points[:, :1]) * [0.0, 0.0, 1.0])
    sim.step(round(SECONDS * 60))
    return sheet, corners, sim.positions, np.linalg.norm(sim.velocities, axis=1).max()


def threads(rest, positions, direction):
    """Segments along the warp: rows, columns or diagonals of the grid."""
    grid = np.arange((N + 1) ** 2).reshape(N + 1, N + 1)
    every = slice(None, None, 2)
    if direction[0] == 0.0:
        rows = np.stack([grid[:-1, every], grid[1:, every]], axis=-1)
    elif direction[1] == 0.0:
        rows = np.stack([grid[every, :-1], grid[every, 1:]], axis=-1)
    else:
        keep = (np.add.outer(np.arange(N), -np.arange(N)) % 3) == 0
        rows = np.stack([grid[:-1, :-1][keep], grid[1:, 1:][keep]], axis=-1)
    return positions[rows.reshape(-1, 2)] + [0.0, 0.0, THREAD]


figure = plt.figure(figsize=(12.0, 4.6))
for k, (name, direction) in enumerate(DIRECTIONS.items()):
    sheet, corners, positions, speed = hung(direction)
    sag = 1e3 * (sheet.points[:, 1].min() - positions[:, 1].min())
    print(f"{name:13s}   lowest point {sag:5.0f} mm below the cloth at rest   fastest vertex {1e3 * speed:.1f} mm/s")
    axes = figure.add_axes((k / 3, 0.1, 1 / 3, 0.9))
    view = dict(bounds=((0.0, -0.2, -0.3), (1.0, 1.0, 0.3)), azimuth=-80.0, elevation=8.0)
    draw_surface(axes, positions, sheet.triangles, colour="#c9d7e2", **view)
    draw_lines(axes, threads(sheet.points, positions, direction), colour="#2f4858", linewidth=1.0)
    draw_points(axes, positions[corners], colour="#8a1c1c", size=9.0)
    figure.text((k + 0.5) / 3, 0.03, name, ha="center", fontsize=13)
path = os.path.join(options.out, "cloth_on_the_bias.png")
figure.savefig(path, dpi=100)
print("written:", path)
