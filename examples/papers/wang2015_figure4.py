"""Projective Dynamics of a tablecloth by its linear solver, with and without Chebyshev acceleration: Wang 2015, Figure 4.

A cloth of 5,000 vertices (springs of 1000 N/m and weak bending, time step 1/30 s; the paper's has 10,000), pinned at two corners, swings
for some frames. The next step is solved from the same state by Projective Dynamics with the direct method or with one iteration of Jacobi,
Gauss-Seidel or symmetric Gauss-Seidel per global step, each with (solid) and without (dashed) Chebyshev acceleration, and by Newton. The
values of rho were chosen by trial, as in the paper. A cross marks a run that diverged.

python examples/papers/wang2015_figure4.py [--out FOLDER] [--quick]
"""

import argparse
import os
import warnings

import matplotlib.pyplot as plt
import numpy as np

import pdgpu

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a small cloth, few iterations")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
CELLS, FRAMES, ITERATIONS = (20, 10, 60) if options.quick else (70, 15, 600)
DT, TARGET = 1 / 30, 1e-2

flat = pdgpu.shapes.grid((1.0, 1.0), cells=(CELLS, CELLS))
scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
level = pdgpu.Mesh(flat.points[:, [0, 2, 1]], triangles=flat.triangles)
cloth = scene.add_shell(level, pdgpu.Spring(1e3), density=0.2, bending=1e-4)
cloth.pin([0, CELLS])
simulation = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=30), dt=DT)
simulation.step(FRAMES)

# name -> (linear solver of the global step, rho of the outer iteration, colour)
METHODS = {
    "direct": (pdgpu.Direct(), 0.995, "#000000"),
    "Jacobi": (pdgpu.Jacobi(weight=1.0), 0.9999, "#D55E00"),
    "Gauss-Seidel": (pdgpu.GaussSeidel(), 0.999, "#0072B2"),
    "symmetric Gauss-Seidel": (pdgpu.SymmetricGaussSeidel(), 0.9997, "#56B4E9"),
}
solvers, styles = {}, {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of Chebyshev over Gauss-Seidel, which is shown here because it fails
    for name, (linear, rho, colour) in METHODS.items():
        solvers[name] = pdgpu.ProjectiveDynamics(iterations=ITERATIONS, linear=linear)
        solvers[f"{name} + Chebyshev"] = pdgpu.ProjectiveDynamics(iterations=ITERATIONS, linear=linear, chebyshev=pdgpu.Chebyshev(rho=rho))
        styles[name], styles[f"{name} + Chebyshev"] = (colour, "--"), (colour, "-")
    solvers["Newton"] = pdgpu.Newton(iterations=15)
    styles["Newton"] = ("#777777", "-")
    state = (simulation.positions, simulation.velocities)
    comparison = pdgpu.compare(scene, solvers, dt=DT, start=state, reference=None, initialization="inertial_target", threads=1)

figure, panels = plt.subplots(1, 2, figsize=(12.0, 5.6), sharey=True, layout="constrained")
reach, seconds = {}, {}
for name, record in comparison.records.items():
    colour, line = styles[name]
    relative = record["gradient_norm"] / record["gradient_norm"][0]
    found = np.flatnonzero(relative <= TARGET)
    reach[name] = int(found[0]) if len(found) else None
    seconds[name] = float(record["seconds"][found[0]]) if len(found) else np.inf
    for axes, abscissa in zip(panels, (record["iteration"], 1e3 * record["seconds"]), strict=True):
        axes.plot(abscissa[1:], relative[1:], color=colour, linestyle=line, linewidth=1.7, label=name)
        if record.status == "diverged":
            inside = np.flatnonzero(relative <= 3.0)[-1]
            axes.plot(abscissa[inside], relative[inside], "x", color=colour, markersize=10, markeredgewidth=2.5)
for axes, label in zip(panels, ("iterations", "time of the solver [ms]"), strict=True):
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(1e-4, 4.0)
    axes.set_xlabel(label)
    axes.axhline(TARGET, color="0.6", linewidth=0.8, linestyle=":")
    axes.grid(True, which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("gradient norm / its first value")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, fontsize=9)
figure.savefig(os.path.join(options.out, "wang2015_figure4.png"), dpi=120)

claim = "Chebyshev speeds up PD with every solver but one-way Gauss-Seidel; on a CPU direct + Chebyshev is fastest and Newton too expensive"
pairs = []
for name in METHODS:
    both = (f"{reach[key] or f'over {ITERATIONS}'}" for key in (name, f"{name} + Chebyshev"))
    end = comparison[f"{name} + Chebyshev"].status == "diverged"
    pairs.append(f"{name} {' -> '.join(both)}" + (" (diverged)" if end else ""))
fastest = min(seconds, key=seconds.get)
if np.isfinite(seconds[fastest]):
    times = ", ".join(
        f"{name} {seconds[name] / seconds[fastest]:.1f} x" for name in seconds if np.isfinite(seconds[name]) and name != fastest
    )
    times = f"soonest by time {fastest}, then relative to it: {times}"
else:
    times = "none got there"
pairs.append(f"Newton {reach['Newton'] or 'over 15'}")
measured = f"iterations to a relative gradient of {TARGET:g}, without -> with Chebyshev: {', '.join(pairs)}; {times} (one thread)"
path = os.path.join(options.out, "wang2015_figure4.csv")
comparison.to_csv(path)
with open(path) as file:
    table = file.read()
with open(path, "w") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n{table}")
print(f"claim: {claim}\nmeasured: {measured}")
