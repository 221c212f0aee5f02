"""Linear solvers of one global step of a tablecloth: Lan et al. 2022 (penetration-free projective dynamics), Figure 7.

A square cloth of 30,000 degrees of freedom (springs of 1000 N/m, time step 1/100 s), pinned at two corners, swings for some frames. Then
one global step A d = r is solved from d = 0: the step's own r, under gravity (low frequencies), and a sharp force on a single vertex. The
error is measured against a direct solve. Rows: the two loads; columns: iterations and time (one thread of a CPU; the paper's is a GPU).

python examples/papers/lan2022_figure7.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
import numpy as np
from models import clock

import pdgpu

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a small cloth, few iterations")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
CELLS, ITERATIONS, FRAMES = (24, 150, 4) if options.quick else (99, 1200, 10)
TARGET = 1e-2

accelerated = {"weight": 1.0, "chebyshev": pdgpu.Chebyshev(rho="lanczos", start=1)}
SOLVERS = {
    "Jacobi": (pdgpu.Jacobi(weight=1.0, iterations=ITERATIONS), "#D55E00", "--"),
    "Gauss-Seidel": (pdgpu.GaussSeidel(iterations=ITERATIONS), "#0072B2", "--"),
    "SOR": (pdgpu.SOR(iterations=ITERATIONS), "#009E73", "-"),
    "PCG": (pdgpu.PCG(iterations=ITERATIONS), "#E69F00", "-"),
    "Jacobi + Chebyshev": (pdgpu.Jacobi(iterations=ITERATIONS, **accelerated), "#D55E00", "-"),
    "A-Jacobi 2 + Chebyshev": (pdgpu.AJacobi(order=2, iterations=ITERATIONS, **accelerated), "#CC79A7", "-"),
    "A-Jacobi 3 + Chebyshev": (pdgpu.AJacobi(order=3, iterations=ITERATIONS, **accelerated), "#882255", "-"),
}

# the frame: some steps of swinging, then the right-hand side of the first global step from the positions as they are
scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
flat = pdgpu.shapes.grid((1.0, 1.0), cells=(CELLS, CELLS))
cloth = scene.add_shell(pdgpu.Mesh(flat.points[:, [0, 2, 1]], triangles=flat.triangles), pdgpu.Spring(1e3), density=0.2)
cloth.pin([0, CELLS])
simulation = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=10), dt=1 / 100)
simulation.step(FRAMES)
free = np.setdiff1d(np.arange(len(flat.points)), [0, CELLS])
A = simulation.system_matrix(free=True)
gravity = -simulation.gradient()[free]
sharp = np.zeros_like(gravity)
sharp[len(free) // 2, 1] = -5.0  # N, on the vertex in the middle
loads = {"gravity on the swinging cloth (low frequencies)": gravity, "5 N on one vertex (sharp)": sharp}

systems = {name: pdgpu.linear.System(A, solver, columns=3, threads=1) for name, (solver, _, _) in SOLVERS.items()}
# the answer, whatever device and precision the others run with (PDGPU_DEVICE, PDGPU_DTYPE)
direct = pdgpu.linear.System(A, pdgpu.Direct(), columns=3, device="cpu", dtype="float64")
figure, panels = plt.subplots(2, 2, figsize=(11.0, 8.0), sharey=True, layout="constrained")
rows, counts, times = [], {}, {}
for (load, r), (by_iterations, by_seconds) in zip(loads.items(), panels, strict=True):
    exact = direct.solve(r).x
    counts[load], times[load] = {}, {}
    for name, (_, colour, line) in SOLVERS.items():
        result = systems[name].solve(r, reference=exact)
        error, style = result.relative_error, {"color": colour, "linestyle": line, "linewidth": 1.7}
        by_iterations.semilogy(error, label=name, **style)
        by_seconds.semilogy(1e3 * result.seconds, error, **style)
        rows += [(load, name, k, s, e) for k, (s, e) in enumerate(zip(result.seconds, error, strict=True))]
        reached = np.flatnonzero(error <= TARGET)
        counts[load][name] = int(reached[0]) if len(reached) else None
        times[load][name] = float(result.seconds[reached[0]]) if len(reached) else np.inf
    # the slowest solvers must not squeeze the others against the axis
    by_seconds.set_xlim(0.0, 1.3e3 * max([t for t in times[load].values() if np.isfinite(t)], default=0.1))
    by_iterations.set_title(load, loc="left", fontsize=11)
    by_iterations.set_ylabel("relative error of the global step")
for axes, label in zip(panels[1], ("iterations", "time of the solver [ms]"), strict=True):
    axes.set_xlabel(label)
for axes in panels.flat:
    axes.set_ylim(1e-6, 3.0)
    axes.axhline(TARGET, color="0.6", linewidth=0.8, linestyle=":")
    axes.grid(True, color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
figure.savefig(os.path.join(options.out, "lan2022_figure7.png"), dpi=120)

claim = "A-Jacobi with Chebyshev converges about as fast as PCG per iteration and is the fastest of all by time (on a GPU)"
parts = []
for load, short in zip(loads, ("gravity", "sharp force"), strict=True):
    fastest = min(times[load], key=times[load].get)
    reach = ", ".join(f"{name} {count or f'over {ITERATIONS}'}" for name, count in counts[load].items())
    slower = (f"{times[load][f'A-Jacobi {order} + Chebyshev'] / times[load][fastest]:.1f}" for order in (2, 3))
    parts.append(
        f"{short}, iterations to {TARGET:g}: {reach}; soonest by time {fastest}, A-Jacobi 2 and 3 after {' and '.join(slower)} x that"
    )
measured = "; ".join(parts) + f" ({clock.place(simulation.device)})"
with open(os.path.join(options.out, "lan2022_figure7.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    csv.writer(file).writerows([("load", "solver", "iteration", "seconds", "relative_error"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
