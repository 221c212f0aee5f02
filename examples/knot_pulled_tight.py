"""A knot pulled tight, by three solvers that know of no contact.

An open trefoil of string is pulled tight by its two ends. After every step of Projective Dynamics, Vertex Block Descent or XPBD the
two-way interior point method moves what the solver came to, so that nothing comes nearer than the separation; what it took is drawn below.

python examples/knot_pulled_tight.py [--out FOLDER] [--quick]
"""

import argparse
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a tenth of the time")
arguments = parser.parse_args()
os.makedirs(arguments.out, exist_ok=True)
STEPS, DT, DISTANCE, SPEED = (4 if arguments.quick else 30), 1 / 100, 2e-3, 0.4
SOLVERS = {
    "Projective Dynamics": pdgpu.ProjectiveDynamics(iterations=20),
    "Vertex Block Descent": pdgpu.VertexBlockDescent(iterations=20),
    "XPBD": pdgpu.XPBD(iterations=20),
}
COLOURS = ("#0072B2", "#D55E00", "#009E73")


def knotted():
    """The string, and a scene in which its ends are pulled apart."""
    t = np.linspace(1.06 * np.pi, 2.94 * np.pi, 60)
    loop = np.stack([np.sin(t) + 2.0 * np.sin(2.0 * t), np.cos(t) - 2.0 * np.cos(2.0 * t), -0.25 * np.sin(3.0 * t)], axis=1) / 60.0
    tail = np.linspace(0.0, 0.1, 11)[1:, None]
    points = np.concatenate([loop[0] + tail[::-1] * [1.0, -0.3, 0.0], loop, loop[-1] + tail * [-1.0, -0.3, 0.0]])
    numbers = np.arange(len(points))
    mesh = pdgpu.Mesh(points, edges=np.column_stack([numbers[:-1], numbers[1:]]))
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    rope = scene.add_rod(mesh, pdgpu.Spring(50.0), density=0.02, damping=1e-3)
    for end, sign in ((0, 1.0), (len(points) - 1, -1.0)):
        rope.pin([end], motion=lambda time, rest, sign=sign: rest + [sign * SPEED * time, 0.0, 0.0])
    return mesh, scene


figure = plt.figure(figsize=(11.0, 6.4), layout="constrained")
top, bottom = figure.subfigures(2, 1, height_ratios=(1.0, 1.0))
pictures, curves = top.subplots(1, 3, width_ratios=(1.0, 1.6, 1.0)), bottom.subplots(1, 2)
mesh, _ = knotted()


def draw(axes, points, colour, title, width=4.0):
    """From above; where the string crosses itself, what is nearer is on top."""
    middle = 0.5 * (points[1:] + points[:-1])
    for k in np.argsort(middle[:, 2]):
        axes.plot(*points[k : k + 2, :2].T, color="white", linewidth=1.5 * width, solid_capstyle="butt")
        axes.plot(*points[k : k + 2, :2].T, color=colour, linewidth=width, solid_capstyle="round")
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(title, loc="left", fontsize=11)


draw(pictures[0], mesh.points, "0.45", "at the beginning")
for (name, solver), colour in zip(SOLVERS.items(), COLOURS, strict=True):
    mesh, scene = knotted()
    sim = pdgpu.Simulation(scene, solver, dt=DT, contact=pdgpu.TwoWayContact(DISTANCE, separation=1e-3), threads=1)
    steps, gaps, late = [], [], 0.0
    for _ in range(STEPS):
        sim.step(record=True)
        update = sim.last_step.update
        steps.append(update.steps)
        gaps.append(1e3 * update.columns["smallest_distance"].min())
        late = max(late, sim.last_step.behind)
    times = DT * np.arange(1, STEPS + 1)
    curves[0].plot(times, steps, color=colour, label=name)
    curves[1].plot(times, gaps, color=colour, label=name)
    if name == "Projective Dynamics":
        x = sim.positions
        middle = len(x) // 2
        draw(pictures[1], x, colour, f"after {STEPS * DT:g} s of {name}")
        draw(pictures[2], x[middle - 14 : middle + 15], colour, "the knot", width=12.0)
    lengths = np.linalg.norm(np.diff(sim.positions, axis=0), axis=1) / np.linalg.norm(np.diff(mesh.points, axis=0), axis=1)
    said = f"{name}: {np.mean(steps):.0f} steps an update, {max(steps)} at most; least distance {min(gaps):.3f} mm"
    print(f"{said}, stretch {lengths.max():.3f}, late {1e3 * late:.2g} mm")
curves[0].set(xlabel="time [s]", ylabel="steps of an update")
curves[1].set(xlabel="time [s]", ylabel="least distance [mm]")
curves[1].axhline(1.0, color="0.5", linewidth=0.8, linestyle=":")
curves[0].legend(frameon=False, fontsize=9)
for axes in curves:
    axes.grid(True, color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
figure.savefig(os.path.join(arguments.out, "knot_pulled_tight.png"), dpi=120)
