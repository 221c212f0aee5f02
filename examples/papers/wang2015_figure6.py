"""Chebyshev acceleration of position-based dynamics on triangles and on tets: Wang 2015 (Chebyshev for projective dynamics), Figure 6.

One step of 1/30 s of position-based dynamics in Jacobi form, relaxed by alpha, with (solid) and without (dashed) Chebyshev acceleration
(rho 0.999). (a) A cloth of springs, pinned at two corners and swinging; (b) the same with hinges that keep it flat; (c) the tet mesh of
the creature that ships with pdgpu, stretched and twisted. The error is the root of the summed squared errors of the constraints (edge
lengths and hinges; singular values of the deformation gradient), relative to the first. A cross marks a run that diverged.

python examples/papers/wang2015_figure6.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import importlib.resources
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a small cloth, few iterations")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
CELLS, ITERATIONS = (15, 16) if options.quick else (50, 150)
DT, RHO = 1 / 30, 0.999
COLOURS = ("#332288", "#0072B2", "#56B4E9", "#E69F00", "#D55E00")


def cloth(bending):
    """A scene and its state after some frames of swinging."""
    flat = pdgpu.shapes.grid((1.0, 1.0), cells=(CELLS, CELLS))
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    level = pdgpu.Mesh(flat.points[:, [0, 2, 1]], triangles=flat.triangles)
    scene.add_shell(level, pdgpu.Spring(1e3), density=0.2, bending=bending).pin([0, CELLS])
    simulation = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=30), dt=DT)
    simulation.step(12)
    return scene, simulation.positions, simulation.velocities


def creature():
    """A scene and the creature stretched by 0.3 and twisted by one radian per metre, at rest."""
    mesh = pdgpu.read_mesh(importlib.resources.files("pdgpu") / "data" / "creature.vtu")
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_solid(mesh, pdgpu.ARAP(1e5), density=1000.0).pin(lambda points: points[:, 1] < 0.02)
    x, y, z = mesh.points.T
    return scene, np.column_stack([np.cos(y) * x - np.sin(y) * z, 1.3 * y, np.sin(y) * x + np.cos(y) * z]), np.zeros_like(mesh.points)


def constraint_errors(scene, positions, velocities, alpha, rho):
    """(error after every iteration relative to the first, did it end above that)."""
    chebyshev = None if rho is None else pdgpu.Chebyshev(rho=rho)
    simulation = pdgpu.Simulation(scene, pdgpu.PBD(iterations=ITERATIONS, relaxation=alpha, chebyshev=chebyshev), dt=DT)
    simulation.set_state(positions=positions, velocities=velocities)
    try:
        simulation.step(record="positions")
        record = simulation.last_step
    except pdgpu.DivergenceError as error:
        record = error.records
    # all elements of a kind have the same stiffness, so the elastic energy is the sum of squares
    probe = pdgpu.Simulation(scene, pdgpu.PBD(), dt=DT)
    energies = []
    for iterate in record.positions:
        if np.isfinite(iterate).all():
            probe.set_state(positions=iterate)
            energies.append(sum(probe.energies()["elastic"].values()))
    error = np.sqrt(np.array(energies) / energies[0])
    return error, not np.isfinite(record.positions[-1]).all() or error[-1] > 1.0


cases = {
    "(a) triangles, springs": (cloth(0.0), (0.1, 0.2, 0.25, 0.3)),
    "(b) triangles, springs and hinges": (cloth(1e-4), (0.1, 0.2, 0.25, 0.3)),
    "(c) tets": (creature(), (0.045, 0.1) if options.quick else (0.0025, 0.02, 0.045, 0.1)),
}
figure, panels = plt.subplots(1, 3, figsize=(15.0, 4.8), layout="constrained")
rows, parts = [], []
for axes, (title, (state, alphas)) in zip(panels, cases.items(), strict=True):
    results = []
    for alpha, colour in zip(alphas, COLOURS, strict=False):
        ends = []
        for rho, line in ((None, "--"), (RHO, "-")):
            error, diverged = constraint_errors(*state, alpha, rho)
            axes.semilogy(error, color=colour, linestyle=line, linewidth=1.7, label=None if rho is None else f"alpha {alpha}")
            if diverged:
                inside = np.flatnonzero(error <= 1.8)[-1]
                axes.plot(inside, error[inside], "x", color=colour, markersize=10, markeredgewidth=2.5)
            rows += [(title, alpha, rho or "", k, value) for k, value in enumerate(error)]
            ends.append("diverged" if diverged else f"{error[-1]:.3f}")
        results.append(f"alpha {alpha}: {' -> '.join(ends)}")
    parts.append(f"{title[4:]}: {', '.join(results)}")
    axes.set_ylim(0.2, 2.0)
    axes.set_yticks([0.2, 0.3, 0.5, 1.0, 2.0], ["0.2", "0.3", "0.5", "1", "2"])
    axes.minorticks_off()
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel("iterations")
    axes.grid(True, color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
panels[0].set_ylabel("constraint error / its first value")
figure.savefig(os.path.join(options.out, "wang2015_figure6.png"), dpi=120)

claim = "Chebyshev speeds PBD up, clearly on triangles (alpha 0.3, with it 0.25), less on tets, where alpha must fall from 0.045 to 0.0025"
measured = f"error after {ITERATIONS} iterations, without -> with Chebyshev: {'; '.join(parts)}"
with open(os.path.join(options.out, "wang2015_figure6.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    csv.writer(file).writerows([("body", "alpha", "rho", "iteration", "relative_error"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
