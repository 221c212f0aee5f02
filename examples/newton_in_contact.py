"""How Newton's method converges when bodies touch: four scenes, one step each, down to rounding.

A cube on a cube, a cloth on a ball, two rods that cross, and a ball between two plates that close. Of each the step with the most
contacts is drawn: pairs that act, enter and leave, the smallest distance, what part of each move touched nothing, and the gradient
norm, which falls faster and faster at the end, as Newton's method promises where the Hessian is positive definite.

python examples/newton_in_contact.py [--out FOLDER] [--quick]
"""

import argparse
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu
from pdgpu.viz.contact_plotting import plot_contact

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="coarser meshes, fewer steps")
arguments = parser.parse_args()
os.makedirs(arguments.out, exist_ok=True)
CELLS, STEPS = (4, 10) if arguments.quick else (8, 24)


def cube_on_cube():
    scene = pdgpu.Scene()
    for size, low, young in ((1.0, 0.01, 1e5), (0.6, 1.025, 4e5)):
        mesh = pdgpu.shapes.beam((size,) * 3, cells=(CELLS // 2,) * 3)
        points = mesh.points + [0.37 * (1.0 - size), low, 0.61 * (1.0 - size)]
        scene.add_solid(pdgpu.Mesh(points, tets=mesh.tets), pdgpu.NeoHookean.from_young(young, 0.3), density=1000.0)
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    return scene, pdgpu.BarrierContact(0.02)


def cloth_on_ball():
    scene = pdgpu.Scene()
    sheet = pdgpu.shapes.grid((1.0, 1.0), cells=(2 * CELLS, 2 * CELLS))
    points = sheet.points[:, [0, 2, 1]] + [-0.47, 0.315, -0.52]
    scene.add_shell(pdgpu.Mesh(points, triangles=sheet.triangles), pdgpu.Spring(300.0), density=0.2, bending=1e-4)
    scene.add_obstacle(pdgpu.shapes.sphere(0.3, 3))
    return scene, pdgpu.BarrierContact(0.01)


def crossing_rods():
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    along = np.linspace(-0.5, 0.5, 4 * CELLS + 1)
    edges = np.column_stack([np.arange(4 * CELLS), np.arange(1, 4 * CELLS + 1)])
    for turned, height, speed in ((False, 0.0, 0.0), (True, 0.03, -2.0)):
        points = np.column_stack([0.04 * along + 0.013, np.full_like(along, height), along][:: -1 if turned else 1])
        points = np.column_stack([points[:, 0], np.full_like(along, height), points[:, 2]])
        rod = scene.add_rod(pdgpu.Mesh(points, edges=edges), pdgpu.Spring(1e4), density=0.05, velocity=(0.0, speed, 0.0))
        if not turned:
            rod.pin([0, 4 * CELLS])
    return scene, pdgpu.BarrierContact(0.01)


def ball_between_plates():
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    mesh = pdgpu.shapes.beam((1.0, 1.0, 1.0), cells=(CELLS,) * 3)
    q = 2.0 * mesh.points - 1.0
    squares = q**2
    y, z = np.roll(squares, -1, axis=1), np.roll(squares, 1, axis=1)
    ball = 0.25 * q * np.sqrt(1.0 - y / 2.0 - z / 2.0 + y * z / 3.0)  # a cube made round
    scene.add_solid(pdgpu.Mesh(ball, tets=mesh.tets), pdgpu.NeoHookean.from_young(1e5, 0.3), density=1000.0)
    for side in (-1.0, 1.0):
        closing = lambda time, side=side: (np.eye(3), np.array([0.0, -side * 0.3 * time, 0.0]))  # noqa: E731
        scene.add_obstacle(pdgpu.Box((1.0, 0.1, 1.0), (0.0, side * 0.31, 0.0), motion=closing))
    return scene, pdgpu.BarrierContact(5e-3)


records = {}
for make in (cube_on_cube, cloth_on_ball, crossing_rods, ball_between_plates):
    scene, contact = make()
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=100, tolerance=1e-10), dt=1 / 60, contact=contact)
    most = -1.0
    for _ in range(STEPS):
        sim.step(record=True)
        step = sim.last_step
        if step.behind == 0.0 and step["active_contacts"][-1] > most:
            most, records[make.__name__.replace("_", " ")] = step["active_contacts"][-1], step
    name = make.__name__.replace("_", " ")
    step = records[name]
    fall = step["gradient_norm"][-1] / step["gradient_norm"][0]
    print(f"{name:20s} {int(most):5d} contacts, {step.iteration:3d} iterations, {step.status}, |g|/|g0| = {fall:.1e}")


figure = plot_contact(records)
figure.savefig(os.path.join(arguments.out, "newton_in_contact.png"), dpi=150)
plt.close(figure)
print("written:", os.path.join(arguments.out, "newton_in_contact.png"))
