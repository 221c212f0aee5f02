"""Time steps and Newton iterations of the two-way method: Wang et al. 2023, Figures 17 and 19, rows of Table 2.

A cloth falls on the tip of a thin pyramid ("needle") and on a thin ridge ("blade"), with steps of 1/160 to 1/20 s: backward and forward
steps of an update, and seconds of contact for a step and for a second of motion. Then one step of 1/20 s of the needle's cloth, when it
has fallen for a tenth of a second, with an update of contact after each of 1 to 8 Newton iterations: how far from the state after 32.

Limit: 300 s

python examples/papers/wang2023_figure17.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="coarser cloths, 0.05 s, fewer iterations")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
CELLS, SECONDS, MOST = (6, 0.05, 100) if options.quick else (10, 0.2, 2048)
RATES = (20, 40, 80, 160)
MANY = 8 if options.quick else 32
TIP = np.array([[0.0, 0.0, 0.0], [0.01, -0.4, 0.0], [-0.005, -0.4, 0.009], [-0.005, -0.4, -0.009]]) + [0.003, 0.0, 0.004]
RIDGE = np.array([[-0.3, 0.0, 0.0], [0.3, 0.0, 0.0], [-0.3, -0.4, 0.01], [0.3, -0.4, 0.01], [-0.3, -0.4, -0.01], [0.3, -0.4, -0.01]]) + [
    0.0,
    0.0,
    3e-3,
]
OBSTACLES = {
    "needle": pdgpu.Mesh(TIP, triangles=[(0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 3, 2)]),
    "blade": pdgpu.Mesh(RIDGE, triangles=[(0, 2, 1), (1, 2, 3), (0, 1, 4), (1, 5, 4), (2, 4, 3), (3, 4, 5), (0, 4, 2), (1, 3, 5)]),
}


def scene_of(name):
    scene = pdgpu.Scene()
    flat = pdgpu.shapes.grid((0.3, 0.3), cells=(CELLS, CELLS))
    points = flat.points[:, [0, 2, 1]] + [-0.15, 3e-3, -0.15]
    cloth = pdgpu.Mesh(points, triangles=flat.triangles)
    scene.add_shell(cloth, pdgpu.Spring(200.0), density=0.2, bending=1e-4, velocity=(0.0, -0.5, 0.0))
    scene.add_obstacle(OBSTACLES[name], name=name)
    return scene


def fall(name, rate):
    """Of a fall: steps of an update on average and at most, seconds of contact a step and a second, updates that did not converge."""
    contact = pdgpu.TwoWayContact(1e-3, steps=MOST, passes=1)
    sim = pdgpu.Simulation(scene_of(name), pdgpu.Newton(iterations=1), dt=1 / rate, contact=contact, threads=1)
    updates = []
    for _ in range(max(1, round(SECONDS * rate))):
        sim.step()
        updates.append(sim.last_step.update)
    steps, seconds = [u.steps for u in updates], [u.seconds for u in updates]
    unfinished = sum(u.status != "converged" for u in updates)
    return np.mean(steps), max(steps), np.mean(seconds), np.mean(seconds) * rate, unfinished


def hanging():
    """The needle's cloth after a tenth of a second."""
    contact = pdgpu.TwoWayContact(1e-3, passes=1)
    sim = pdgpu.Simulation(scene_of("needle"), pdgpu.Newton(iterations=2), dt=1 / 40, contact=contact, threads=1)
    sim.step(2 if options.quick else 4)
    return {"positions": sim.positions, "velocities": sim.velocities}


def one_step(start, iterations):
    """Where it is after a step of 1/20 s more."""
    contact = pdgpu.TwoWayContact(1e-3, steps=MOST, every=1)
    sim = pdgpu.Simulation(scene_of("needle"), pdgpu.Newton(iterations=iterations), dt=1 / 20, contact=contact, threads=1)
    sim.set_state(**start)
    sim.step()
    return sim.positions


rows = {(name, rate): fall(name, rate) for name in OBSTACLES for rate in RATES}
ITERATIONS = (1, 2, 4, 8) if not options.quick else (1, 2, 4)
start = hanging()
exact = one_step(start, MANY)
apart = {k: 1e3 * float(np.abs(one_step(start, k) - exact).max()) for k in ITERATIONS}

figure, panels = plt.subplots(1, 3, figsize=(13.0, 3.8), layout="constrained")
for name, colour in zip(OBSTACLES, ("#0072B2", "#D55E00"), strict=True):
    dt = [1e3 / rate for rate in RATES]
    panels[0].loglog(dt, [rows[name, rate][0] for rate in RATES], "o-", color=colour, label=f"{name}, mean")
    panels[0].loglog(dt, [rows[name, rate][1] for rate in RATES], "o--", color=colour, label=f"{name}, most")
    panels[1].loglog(dt, [1e3 * rows[name, rate][2] for rate in RATES], "o-", color=colour, label=f"{name}, a step")
    panels[1].loglog(dt, [1e3 * rows[name, rate][3] for rate in RATES], "o--", color=colour, label=f"{name}, a second of motion")
panels[2].plot(list(apart), list(apart.values()), "o-", color="#000000")
panels[2].set_ylim(0.0, None)
for axes, x, y in zip(
    panels,
    ("time step, ms", "time step, ms", "Newton iterations, each with an update"),
    ("steps of an update", "ms of contact", f"mm from the state after {MANY}"),
    strict=True,
):
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
for axes in panels[:2]:
    axes.legend(frameon=False, fontsize=8)
    axes.set_xticks([1e3 / rate for rate in RATES], [f"{1e3 / rate:g}" for rate in RATES])
    axes.minorticks_off()
figure.savefig(os.path.join(options.out, "wang2023_figure17.png"), dpi=110)

claim = (
    "the larger the time step, the more steps of an update and the dearer a step, but the cheaper a second of motion (Fig. 19, Table 2: "
    "funnel 27 steps on average at 1/20 s, 10 at 1/160 s, needle 46); with more Newton iterations, each with an update, the dynamics "
    "are more accurate (Fig. 17)"
)
parts = []
for (name, rate), (mean, most, step, second, unfinished) in rows.items():
    cost = f"{1e3 * step:.1f} ms a step and {1e3 * second:.0f} a second"
    parts.append(f"{name} at 1/{rate} s: {mean:.0f} steps ({most} at most), {cost}, {unfinished} unfinished")
parts.append("from the state after " + f"{MANY}: " + ", ".join(f"{mm:.2g} mm with {k}" for k, mm in apart.items()))
measured = "; ".join(parts)
with open(os.path.join(options.out, "wang2023_figure17.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    table = [(name, rate, f"{a:.1f}", b, f"{c:.5f}", f"{d:.4f}", e) for (name, rate), (a, b, c, d, e) in rows.items()]
    csv.writer(file).writerows(
        [("scene", "steps a second", "mean steps", "most steps", "seconds a step", "seconds a second", "unfinished"), *table]
    )
print(f"claim: {claim}\nmeasured: {measured}")
