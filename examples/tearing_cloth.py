"""A cloth with a notch is pulled apart: where it is stretched too far across an edge, the edge is cut between two steps.

The size, material, damping, time step and iterations are those of [Chen et al. 2024, VBD, Fig. 10 and Table 1].

python examples/tearing_cloth.py [--out FOLDER] [--quick]
"""

import argparse
import os
import time

import matplotlib.pyplot as plt
import numpy as np

import pdgpu
from pdgpu.plotting import draw_surface

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a coarse cloth")
options = parser.parse_args()
out = options.out
os.makedirs(out, exist_ok=True)

LIMIT = 1.15  # stretch across an edge that cuts it
MOST = 2  # edges cut in one step, those with the largest stretch
SPEED = 0.5  # m/s, of the right side
N = 18 if options.quick else 50

mesh = pdgpu.shapes.grid((1.0, 1.0), cells=(N - 1, N - 1))
scene = pdgpu.Scene()
cloth = scene.add_shell(mesh, pdgpu.StVK(mu=1e4, lam=1e4), density=0.2, bending=1e-3, damping=1e-5, name="cloth")
x = mesh.points[:, 0]
cloth.pin(x < 1e-9)
cloth.pin(x > 1.0 - 1e-9, motion=lambda time, rest: rest + [SPEED * time, 0.0, 0.0])

sim = pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=20), dt=1 / 300)
notch = np.arange(N // 4) * N + N // 2  # along y from the middle of the lower side
sim.cut("cloth", np.stack([notch[:-1], notch[1:]], axis=1))


def edges_that_tear(body, positions):
    """Inner edges that begin at an open side, and across which the distance of the two wings is more than LIMIT times that at rest."""
    edges, wings = body.mesh.hinges[:, :2], body.mesh.hinges[:, 2:]
    now, rest = (np.linalg.norm(points[wings[:, 1]] - points[wings[:, 0]], axis=1) for points in (positions, body.mesh.points))
    sides, count = np.unique(np.concatenate([body.mesh.unique_edges(), edges]), axis=0, return_counts=True)
    open_side = np.zeros(len(positions), dtype=bool)
    open_side[sides[count == 1]] = True
    tearing = np.flatnonzero(open_side[edges].any(axis=1) & (now > LIMIT * rest))
    return edges[tearing[np.argsort(-(now / rest)[tearing], kind="stable")[:MOST]]]


(cloth,) = sim.bodies
mass = sim.masses.sum()
states, n_cuts, seconds = [(sim.time, sim.positions, cloth.mesh.triangles)], 0, 0.0
for shown in (0.25, 0.4, 0.6):
    while sim.time < shown - 1e-9:
        sim.step()
        edges = edges_that_tear(cloth, sim.positions)
        if len(edges):
            start = time.perf_counter()
            cut = sim.cut(cloth, edges)
            seconds += time.perf_counter() - start
            cloth, n_cuts = cut.body, n_cuts + (len(cut.new_vertices) > 0)
    energy = sim.energies()["elastic"]
    print(f"t = {sim.time:.2f} s   {len(sim.masses)} vertices   stretch energy {sum(energy.values()) - energy['Bending']:.2f} J")
    states.append((sim.time, sim.positions, cloth.mesh.triangles))
print(
    f"{n_cuts} cuts, {1e3 * seconds / max(n_cuts, 1):.0f} ms each with the new model; mass changed by {sim.masses.sum() / mass - 1.0:.0e}"
)

every = np.concatenate([positions for _, positions, _ in states])
figure = plt.figure(figsize=(4.6 * len(states), 4.2), layout="constrained")
for k, (now, positions, triangles) in enumerate(states):
    axes = figure.add_subplot(1, len(states), k + 1)
    draw_surface(axes, positions, triangles, bounds=(every.min(axis=0), every.max(axis=0)), elevation=5.0, azimuth=-80.0)
    axes.set_title(f"t = {now:.2f} s", fontsize=11)
figure.savefig(os.path.join(out, "tearing_cloth.png"), dpi=110)
print("written:", os.path.join(out, "tearing_cloth.png"))
