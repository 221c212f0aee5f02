"""Three cloths, one above the other, fall over a ball and stay apart: contact by projections, with friction.

Projective Dynamics with `ProjectiveContact` [Lan et al. 2022, Penetration-free Projective Dynamics on the GPU] and A-Jacobi of order 2 with
Chebyshev weights; the path of every step is verified in exact arithmetic when it is over.

python examples/layers_of_cloth.py [--out FOLDER] [--cells 28] [--quick]
"""

import argparse
import os
import time

import matplotlib.pyplot as plt
import numpy as np

import pdgpu
from pdgpu.viz.body_plotting import collider_surface, draw_surfaces

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--cells", type=int, default=28, help="along each side of a cloth")
parser.add_argument("--quick", action="store_true", help="coarse cloths, few steps")
arguments = parser.parse_args()
os.makedirs(arguments.out, exist_ok=True)
N, STEPS, DT = (8, 10, 1 / 100) if arguments.quick else (arguments.cells, 55, 1 / 100)

scene = pdgpu.Scene()
names = ("lower", "middle", "upper")
for layer, name in enumerate(names):
    side = 0.5 - 0.07 * layer
    sheet = pdgpu.shapes.grid((side, side), cells=(N, N))
    angle = 0.35 * layer  # a turn, so that corners hang over edges
    x, z = sheet.points[:, 0] - 0.5 * side, sheet.points[:, 1] - 0.5 * side
    height, c, s = np.full(len(x), 0.01 + 0.012 * layer), np.cos(angle), np.sin(angle)
    flat = np.column_stack([c * x - s * z, height, -s * x - c * z])
    mesh = pdgpu.Mesh(flat, triangles=sheet.triangles)
    scene.add_shell(mesh, pdgpu.Spring(200.0), density=0.2, bending=4e-5, damping=2e-3, name=name)
scene.add_obstacle(pdgpu.Sphere((0.0, -0.12, 0.0), 0.12), name="ball")
friction = {(name, "ball"): 0.4 for name in names} | {("lower", "middle"): 0.2, ("middle", "upper"): 0.2, ("lower", "upper"): 0.2}
contact = pdgpu.ProjectiveContact(3e-3, separation=3e-3, friction=friction)  # as thick as felt
linear = pdgpu.AJacobi(order=2, iterations=4, chebyshev=pdgpu.Chebyshev(rho="auto", start=1))
sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=160, linear=linear), dt=DT, contact=contact)

seconds, rounds, apart, pairs = 0.0, [], np.inf, 0
for _ in range(STEPS):
    before, start = sim.positions, time.perf_counter()
    sim.step(record="positions")
    seconds += time.perf_counter() - start
    record = sim.last_step
    frames = [before, *(x for x, last in zip(record.positions[1:], record.positions, strict=False) if not np.array_equal(x, last))]
    assert pdgpu.certify(frames, scene, gap=False).clean, "cloths pass through something"
    rounds.append(record["outer"][-1])
    apart, pairs = min(apart, record["smallest_distance"][-1]), max(pairs, int(record["active_contacts"][-1]))


figure = plt.figure(figsize=(7.2, 5.0))
axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
colours = {"lower": "#c8553d", "middle": "#f2c14e", "upper": "#588b8b", "ball": "#8d99a6"}
low, high = sim.positions.min(axis=0), sim.positions.max(axis=0)
surfaces = [(*collider_surface(sim.obstacles[0].collider), colours["ball"], 1.0)]
for body in sim.bodies:
    surfaces.append((sim.positions[body.slice], body.mesh.triangles, colours[body.name], 1.0))
draw_surfaces(axes, surfaces, (low, high), 24.0, -68.0)
figure.savefig(os.path.join(arguments.out, "layers_of_cloth.png"), dpi=130)
print(
    f"{len(sim.positions)} vertices, {STEPS} steps in {seconds:.1f} s, {np.mean(rounds):.1f} rounds a step (at most {max(rounds):.0f}), "
    f"up to {pairs} pairs, never nearer than {1e3 * apart:.3f} mm, no crossing on any path"
)
