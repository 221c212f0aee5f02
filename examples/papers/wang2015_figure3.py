"""Projective Dynamics converges like the Jacobi method on one of its global steps: Wang 2015 (Chebyshev for projective dynamics), Figure 3.

A stretched and twisted bar of tets, time step 1/30 s, three stiffnesses. (a) Jacobi iterations on the linear system of the first global
step: residual norm. (b) Projective Dynamics with one Jacobi iteration per global step: gradient norm of the incremental potential, which
is the residual of the dynamical system. No Chebyshev acceleration. Dotted: the spectral radius of Jacobi to the power of the iteration.

python examples/papers/wang2015_figure3.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a coarse bar, few iterations")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
CELLS, ITERATIONS = ((8, 2, 2), 150) if options.quick else ((20, 5, 5), 1500)
STIFFNESSES = {1e4: "#56B4E9", 1e5: "#0072B2", 1e6: "#332288"}  # Young's modulus, Pa

mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=CELLS)
x, y, z = (mesh.points - [0.0, 0.125, 0.125]).T
start = np.column_stack([1.5 * x, np.cos(x) * y - np.sin(x) * z, np.sin(x) * y + np.cos(x) * z]) + [0.0, 0.125, 0.125]
# plain Jacobi converges on this regular mesh, as in the paper; see figure 5 for one where it does not
jacobi = pdgpu.Jacobi(weight=1.0)

figure, panels = plt.subplots(1, 2, figsize=(11.0, 4.6), sharey=True, layout="constrained")
rows, parts = [], []
for young, colour in STIFFNESSES.items():
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    bar = scene.add_solid(mesh, pdgpu.ARAP.from_young(young, poisson=0.3), density=1000.0)
    bar.pin(lambda points: points[:, 0] < 0.01)
    # float64, whatever PDGPU_DTYPE says: the gradient norm falls by 1e11, where float32 ends at 1e-6
    simulation = pdgpu.Simulation(
        scene, pdgpu.ProjectiveDynamics(iterations=ITERATIONS, linear=jacobi, initialization="previous"), dt=1 / 30, dtype="float64"
    )
    simulation.set_state(positions=start)
    free = mesh.points[:, 0] >= 0.01
    A, r = simulation.system_matrix(free=True), -simulation.gradient()[free]
    linear = pdgpu.linear.solve(A, r, pdgpu.Jacobi(weight=1.0, iterations=ITERATIONS)).residual_norm
    radius = pdgpu.linear.spectral_radius(A, jacobi)
    simulation.step(record=True)
    curves = {"Jacobi": linear / linear[0], "PD": simulation.last_step["gradient_norm"] / simulation.last_step["gradient_norm"][0]}
    rates = {}
    for axes, (name, values) in zip(panels, curves.items(), strict=True):
        axes.semilogy(values, color=colour, linewidth=1.8, label=f"Young's modulus {young:.0e} Pa")
        axes.semilogy(radius ** np.arange(len(values)), color=colour, linewidth=1.0, linestyle=":")
        rows += [(name, young, k, value) for k, value in enumerate(values)]
        # mean factor per iteration over the last third above the floor of rounding
        last = np.flatnonzero(values > 1e-11)[-1]
        rates[name] = (values[last] / values[2 * last // 3]) ** (1.0 / (last - 2 * last // 3))
    parts.append(f"{young:.0e} Pa: {rates['Jacobi']:.4f} and {rates['PD']:.4f} (spectral radius {radius:.4f})")
panels[0].set_title("(a) Jacobi on one global step", loc="left", fontsize=11)
panels[0].set_ylabel("relative residual / gradient norm")
panels[1].set_title("(b) Projective Dynamics, one Jacobi iteration each", loc="left", fontsize=11)
panels[1].legend(frameon=False, fontsize=9)
for axes in panels:
    axes.set_ylim(1e-8, 2.0)
    axes.set_xlabel("iterations")
    axes.grid(True, color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
figure.savefig(os.path.join(options.out, "wang2015_figure3.png"), dpi=120)

claim = "projective dynamics with one Jacobi iteration converges like Jacobi on one global step, more slowly for stiffer bodies"
measured = "factor per iteration of Jacobi and of PD in the last third of the run, " + "; ".join(parts)
with open(os.path.join(options.out, "wang2015_figure3.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    csv.writer(file).writerows([("method", "young", "iteration", "relative_norm"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
