"""A cloth falls on a pin cushion, on a wire and on a grid of points: obstacles without a surface, kept apart by a separation.

Nothing but the separation of the contact keeps the cloth off a needle, so the path of every step is verified exactly. At the end
the force on each obstacle is compared with the weight of the cloth that it holds.

python examples/pin_cushion.py [--out FOLDER] [--cells 30] [--quick]
"""

import argparse
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu
from pdgpu.plotting import draw_simulation

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--cells", type=int, default=30, help="along each side of the cloth")
parser.add_argument("--quick", action="store_true", help="a coarse cloth, a third of the steps")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
N, STEPS, DT = (12, 40, 1 / 100) if options.quick else (options.cells, 120, 1 / 100)

axis = np.linspace(-0.12, 0.12, 7)
tips = np.stack([each.ravel() for each in np.meshgrid(axis, 0.0, axis)], axis=1)
n = len(tips)
needles = pdgpu.Segments(np.concatenate([tips, tips - [0.0, 0.08, 0.0]]), np.arange(2 * n).reshape(2, n).T)
wire = pdgpu.Segments([[-0.2, 0.0, 0.0], [0.2, 0.0, 0.0]], [[0, 1]])

flat = pdgpu.shapes.grid((0.3, 0.3), (N, N))
cloth = np.stack([flat.points[:, 0] - 0.147, np.full(len(flat.points), 0.01), 0.152 - flat.points[:, 1]], axis=1)
figure = plt.figure(figsize=(12.0, 3.2))
for k, (name, collider) in enumerate({"needles": needles, "wire": wire, "points": pdgpu.Points(tips)}.items()):
    scene = pdgpu.Scene()
    material = pdgpu.Spring(400.0)
    body = scene.add_shell(pdgpu.Mesh(cloth, triangles=flat.triangles), material, density=0.2, bending=2e-5, damping=5e-3, name="cloth")
    scene.add_obstacle(collider, name=name)
    contact = pdgpu.BarrierContact(2e-3, separation=2e-3, friction=0.4)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=20, tolerance=1e-3), dt=DT, contact=contact)
    frames, force = [sim.positions], []
    for step in range(STEPS):
        sim.step()
        frames.append(sim.positions)
        if step >= STEPS - 20:
            force.append(sim.contact_forces().forces.sum(axis=0)[1])
    certificate = pdgpu.certify(frames, scene, separation=contact.separation)
    assert certificate, certificate
    weight = 9.81 * body.masses.sum()
    print(f"{name:8} mean force {np.mean(force):.4f} N, weight {weight:.4f} N; smallest gap {1e3 * certificate.smallest_gap:.2f} mm")
    axes = figure.add_axes((k / 3, 0.0, 1 / 3, 1.0))
    bounds = ((-0.17, -0.15, -0.17), (0.17, 0.02, 0.17))
    draw_simulation(axes, sim, colours={name: "#2f4858"}, opacity={"cloth": 0.75}, bounds=bounds, elevation=20.0)
figure.savefig(os.path.join(options.out, "pin_cushion.png"), dpi=110)
print("written:", os.path.join(options.out, "pin_cushion.png"))
