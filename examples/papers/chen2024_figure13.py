"""A sagging beam at three stiffnesses with few iterations: Chen et al. 2024 (Vertex Block Descent), Figure 13.

A neo-Hookean beam of 4 x 1 x 1 m (425 vertices, 1,536 tets; the paper's has 463 and 1.5 thousand), held at one end, sags under gravity
in steps of 1/300 s: mu 1e6, 3e6, 1e7 with lam = 10 mu, damping 1e-6 s, plain and accelerated with rho 0.75, 0.86, 0.93.
Columns: 3, 5 and 10 iterations per step, and Newton, converged. The beams are drawn where the converged one hangs lowest.

python examples/papers/chen2024_figure13.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os
import warnings

import matplotlib.pyplot as plt
import numpy as np

import pdgpu
from pdgpu.plotting import draw_surface

warnings.filterwarnings("ignore", "material: NeoHookean .* Poisson's ratio")  # the paper's is 0.45 and more

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a coarser beam, a short time")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
CELLS, STEPS = ((8, 2, 2), 40) if options.quick else ((16, 4, 4), 300)
MATERIALS = {1e6: 0.75, 3e6: 0.86, 1e7: 0.93}  # mu, Pa: rho
COUNTS = (3, 5, 10)
mesh = pdgpu.shapes.beam((4.0, 1.0, 1.0), cells=CELLS)
tip = mesh.points[:, 0] > 4.0 - 1e-9


def sag(mu, solver, **options):
    """Positions after every step, (steps, n, 3); not numbers from a step on that diverged."""
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.NeoHookean(mu, 10.0 * mu), density=1000.0, damping=1e-6).pin(lambda points: points[:, 0] < 1e-9)
    simulation = pdgpu.Simulation(scene, solver, dt=1 / 300, threads=1, **options)
    states = np.full((STEPS, *mesh.points.shape), np.nan)
    for k in range(STEPS):
        try:
            simulation.step()
        except pdgpu.DivergenceError:
            break
        states[k] = simulation.positions
    return states


figure = plt.figure(figsize=(18.0, 6.6), layout="constrained")
rows, parts = [], []
for line, (mu, rho) in enumerate(MATERIALS.items()):
    # whatever device and precision the others run with (PDGPU_DEVICE, PDGPU_DTYPE)
    reference = sag(mu, pdgpu.Newton(iterations=50, tolerance=1e-8), device="cpu", dtype="float64")
    lowest = int(np.argmin(reference[:, tip, 1].mean(axis=1)))
    depth = 0.5 - reference[lowest, tip, 1].mean()
    frames, found = {}, []
    for count in COUNTS:
        ends = []
        for chebyshev in (None, pdgpu.Chebyshev(rho=rho, start=1)):
            states = sag(mu, pdgpu.VertexBlockDescent(iterations=count, chebyshev=chebyshev))
            error = np.linalg.norm(states[:, tip].mean(axis=1) - reference[:, tip].mean(axis=1), axis=1) / depth
            ends.append(f"{100.0 * error.max():.1f} %" if error.max() < 10.0 else "out of bounds")
            rows += [(mu, rho if chebyshev else "", count, k + 1, e) for k, e in enumerate(error)]
            frames[f"{count} iterations{', accelerated' if chebyshev else ''}"] = states[lowest]
        found.append(f"{count} iterations {' / '.join(ends)}")
    frames["converged"] = reference[lowest]
    inside = {name: np.abs(positions).max() < 10.0 for name, positions in frames.items()}
    every = np.concatenate([mesh.points, *(positions for name, positions in frames.items() if inside[name])])
    for column, (name, positions) in enumerate(frames.items()):
        axes = figure.add_subplot(3, 7, 7 * line + column + 1)
        shown, triangles = (positions, mesh.surface) if inside[name] else (mesh.points, [])
        draw_surface(axes, shown, triangles, bounds=(every.min(axis=0), every.max(axis=0)), azimuth=-80.0)
        axes.set_title(f"mu {mu:g}\n{name}{'' if inside[name] else ': out of bounds'}", fontsize=9)
    parts.append(f"mu {mu:g} (sag {depth:.2f} m): {', '.join(found)}")
figure.savefig(os.path.join(options.out, "chen2024_figure13.png"), dpi=110)

claim = "few iterations are enough for the softest beam (15 in a frame of 1/60 s), stiffer ones need more"
measured = f"largest error of the free end relative to the sag, plain / accelerated, {'; '.join(parts)}"
with open(os.path.join(options.out, "chen2024_figure13.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    csv.writer(file).writerows([("mu", "rho", "iterations", "step", "error"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
