"""A body squashed flat, and one whose vertices were thrown anywhere on a sphere, find back to their shape by Vertex Block Descent.

Neo-Hookean, 100 iterations per frame of 1/60 s, no gravity, no line search and nothing to keep tets from turning inside out: the descent
itself rights them, since every vertex lowers the incremental potential from any state [Chen et al. 2024, Sec. 5.3 and Fig. 3]. A mild
acceleration frees the last tets that are caught in each other; a strong one (rho 0.9) can throw a scrambled body further astray.

python examples/flattened_and_scrambled.py [--out FOLDER] [--mesh FILE] [--frames 200] [--quick]
"""

import argparse
import importlib.resources
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu
from pdgpu.plotting import draw_surface

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--mesh", default=importlib.resources.files("pdgpu") / "data" / "creature.vtu")
parser.add_argument("--frames", type=int, default=200, help="give up after so many")
parser.add_argument("--quick", action="store_true", help="a small bar instead of the mesh; 5 frames count as recovered")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
QUIET = 5 if options.quick else 25  # frames without an inverted tet that count as recovered

mesh = pdgpu.shapes.beam((1.0, 0.3, 0.3), cells=(12, 4, 4)) if options.quick else pdgpu.read_mesh(options.mesh)
size = np.ptp(mesh.points, axis=0).max()
mesh = pdgpu.Mesh((mesh.points - mesh.points.mean(axis=0)) / size, tets=mesh.tets)
scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
scene.add_solid(mesh, pdgpu.NeoHookean(mu=2e6, lam=1e7), density=1000.0)
solver = pdgpu.VertexBlockDescent(iterations=100, chebyshev=pdgpu.Chebyshev(rho=0.75))


def volumes(positions):
    """Signed volume of every tet, m^3."""
    a, b, c, d = (positions[mesh.tets[:, k]].astype(np.float64) for k in range(4))
    return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0


directions = np.random.default_rng(0).normal(size=mesh.points.shape)
starts = {
    "flattened": mesh.points * [1.0, 0.0, 1.0],
    "scrambled": 0.5 * directions / np.linalg.norm(directions, axis=1, keepdims=True),
}
volume, states = volumes(mesh.points).sum(), {}
for name, start in starts.items():
    sim = pdgpu.Simulation(scene, solver, dt=1 / 60, dtype="float32", threads=1)
    sim.set_state(positions=start, velocities=np.zeros_like(start))
    frame, quiet = 0, 0  # frames, and how many of them in a row were without an inverted tet
    while quiet < QUIET and frame <= options.frames:
        if frame:
            sim.step()
        present = volumes(sim.positions)
        inverted = int((present <= 0.0).sum())
        quiet = 0 if inverted else quiet + 1
        if frame in (0, 1, 5):
            states[f"{name}, frame {frame}"] = sim.positions
            print(f"{name}, frame {frame}: {inverted} tets inverted or flat, volume {100 * present.sum() / volume:.2f} %")
        frame += 1
    if quiet < QUIET or abs(present.sum() / volume - 1.0) > 0.01:
        raise SystemExit(f"{name}: not recovered after {frame - 1} frames: {inverted} tets inverted, volume {present.sum() / volume:.4f}")
    states[f"{name}, frame {frame - 1}"] = sim.positions
    print(f"{name}: none inverted or flat from frame {frame - QUIET} on; frame {frame - 1}: volume {100 * present.sum() / volume:.2f} %")

figure = plt.figure(figsize=(14.0, 7.6), layout="constrained")
every = np.concatenate(list(states.values()))
for k, (title, positions) in enumerate(states.items()):
    axes = figure.add_subplot(2, 4, k + 1)
    draw_surface(axes, positions, mesh.surface, bounds=(every.min(axis=0), every.max(axis=0)))
    axes.set_title(title, fontsize=11)
picture = os.path.join(options.out, "flattened_and_scrambled.png")
figure.savefig(picture, dpi=110)
print("written:", picture)
