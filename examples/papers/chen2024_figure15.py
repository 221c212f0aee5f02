"""A body pulled out at ten vertices and let go: Chen et al. 2024 (Vertex Block Descent), Figure 15.

The creature (size printed; the paper's bunny has 1.8 thousand vertices and 5.9 thousand tets), neo-Hookean, with contact with itself:
ten vertices move straight away from the middle by 0.8 body lengths within 0.6 s and are suddenly let go. Steps of 1/300 s, ten iterations.

python examples/papers/chen2024_figure15.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
import numpy as np
from models import chen2024

from pdgpu.plotting import draw_simulation

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a thirtieth of the time and of the way")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
PULL, REACH, FREE = (0.02, 0.05, 0.02) if options.quick else (0.6, 0.8, 0.8)  # s, body lengths, s
pulled, free = chen2024.stretched_creature(PULL, REACH, PULL), chen2024.stretched_creature(None, 0.0, FREE)
rest = pulled.scene.bodies[0].points
rows, seconds, states = [], [], {}


def measure(simulation, now, spent):
    x = np.asarray(simulation.positions, np.float64)
    # how far from the shape at rest, turned and moved as a rigid body does that fits best
    here, there = x - x.mean(axis=0), rest - rest.mean(axis=0)
    u, _, v = np.linalg.svd(here.T @ there)
    turn = u @ np.diag([1.0, 1.0, np.linalg.det(u @ v)]) @ v
    distance = np.sqrt(((here - there @ turn.T) ** 2).sum(axis=1).mean())
    seconds.append(spent)
    rows.append(
        (f"{now:.6f}", f"{1e3 * spent:.2f}", f"{distance:.6f}", f"{np.abs(simulation.velocities).max():.3f}", chen2024.inverted(simulation))
    )


figure = plt.figure(figsize=(15.0, 4.0), layout="constrained")


def draw(place, simulation, now, half):
    axes = figure.add_subplot(1, 6, place)
    draw_simulation(axes, simulation, bounds=([-half] * 3, [half] * 3))
    axes.set_title(f"{now:.3f} s, {chen2024.intersections(simulation)} pairs intersect", fontsize=8)


held = pulled.simulation()
for k, spent in chen2024.steps(pulled, held):
    measure(held, k * pulled.dt, spent)
draw(1, held, PULL, 1.3)
loose = free.simulation()
loose.set_state(positions=held.positions, velocities=held.velocities)
last = round(FREE / free.dt)
shots = [1, 3, 6, last] if options.quick else [3, 9, 30, last]
for k, spent in chen2024.steps(free, loose):
    measure(loose, PULL + k * free.dt, spent)
    if k in shots:
        draw(2 + shots.index(k), loose, PULL + k * free.dt, 0.7)
curve = figure.add_subplot(1, 6, 6)
curve.plot([float(row[0]) for row in rows], [float(row[2]) for row in rows], color="#0072B2")
curve.set(xlabel="time [s]", ylabel="from the shape at rest, RMS [m]")
curve.grid(True, color="0.9")
curve.spines[["top", "right"]].set_visible(False)
figure.savefig(os.path.join(options.out, "chen2024_figure15.png"), dpi=110)

claim = "a body pulled out at ten vertices and suddenly let go recovers its shape, with ten iterations a step and contact with itself"
measured = (
    f"{len(rest)} vertices, {len(chen2024.tets(loose))} tets, {len(rows)} steps, none diverged; {chen2024.milliseconds(seconds)} "
    f"(paper, 1.8 "
    f"thousand vertices on a GPU: 0.36 / 1.02 ms); from the shape at rest {max(float(row[2]) for row in rows):.3f} body lengths "
    f"at the most, "
    f"{rows[-1][2]} {FREE:g} s after the release; up to {max(float(row[3]) for row in rows):.0f} m/s; tets inside out: "
    f"{max(row[4] for row in rows)} at the most, {rows[-1][4]} at the end; {chen2024.intersections(loose)} pairs of the surface "
    f"intersect at the end"
)
with open(os.path.join(options.out, "chen2024_figure15.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    csv.writer(file).writerows([("time", "milliseconds", "from_rest", "fastest", "inverted_tets"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
