"""Ten vertices of a body are slowly pulled far out of it and let go: Vertex Block Descent with ten iterations per step.

Neo-Hookean, steps of 1/300 s [Chen et al. 2024, Fig. 15, there with contact]. The ten vertices lie far apart on the surface; each moves
straight away from the middle by 0.8 body lengths within 0.6 s.

python examples/extreme_stretch.py [--out FOLDER] [--mesh FILE] [--quick]
"""

import argparse
import importlib.resources
import os

import numpy as np

import pdgpu
from pdgpu.plotting import save_states

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--mesh", default=importlib.resources.files("pdgpu") / "data" / "creature.vtu")
parser.add_argument("--quick", action="store_true", help="a small bar instead of the mesh")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
PULL, REACH, RELEASED = 0.6, 0.8, 0.6  # s, m, s

mesh = pdgpu.shapes.beam((1.0, 0.3, 0.3), cells=(12, 4, 4)) if options.quick else pdgpu.read_mesh(options.mesh)
size = np.ptp(mesh.points, axis=0).max()
mesh = pdgpu.Mesh((mesh.points - mesh.points.mean(axis=0)) / size, tets=mesh.tets)

# ten vertices, each as far as can be from those before it
held = [int(np.argmax(mesh.points[:, 0]))]
for _ in range(9):
    distances = np.linalg.norm(mesh.points[:, None] - mesh.points[held], axis=2).min(axis=1)
    held.append(int(np.argmax(distances)))


def pulled(time, rest):
    return rest + REACH * min(time / PULL, 1.0) * rest / np.linalg.norm(rest, axis=1, keepdims=True)


def simulation(motion):
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    body = scene.add_solid(mesh, pdgpu.NeoHookean(mu=2e6, lam=1e7), density=1000.0)
    if motion:
        body.pin(held, motion=motion)
    return pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=10), dt=1 / 300, dtype="float32", threads=1)


def volumes(positions):
    """Signed volume of every tet, m^3."""
    a, b, c, d = (positions[mesh.tets[:, k]].astype(np.float64) for k in range(4))
    return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0


states, volume = {"rest": mesh.points}, volumes(mesh.points).sum()


def report(what, positions):
    present = volumes(positions)
    extent = np.ptp(positions, axis=0).max()
    print(f"{what}: {(present <= 0.0).sum()} tets inverted, volume {100 * present.sum() / volume:.2f} %, extent {extent:.2f} m")
    states[what] = positions
    return present


pulling = simulation(pulled)
pulling.step(round(PULL * 300))
report("pulled out", pulling.positions)
free = simulation(None)
free.set_state(positions=pulling.positions, velocities=pulling.velocities)
for steps in (6, round(RELEASED * 300) - 6):
    free.step(steps)
    present = report(f"{free.time:.2f} s after release", free.positions)
if (present <= 0.0).any() or abs(present.sum() / volume - 1.0) > 0.01:
    raise SystemExit("the body did not find back to its shape")
picture = os.path.join(options.out, "extreme_stretch.png")
save_states(states, mesh.surface, picture)
print("written:", picture)
