"""Vertex Block Descent and Newton on a single thread: Chen et al. 2024 (Vertex Block Descent), Figure 18.

The scene of Figure 17, stiffer material: the creature that ships with pdgpu (or --mesh), held at its top, was stretched in balance by
pulling its feet down by half its height; they are let go, and one step of 33 ms is solved from the stretched state. Relative loss
over the time of the solver, float64.

python examples/papers/chen2024_figure18.py [--out FOLDER] [--mesh FILE] [--quick]
"""

import argparse
import importlib.resources
import os
import warnings

import matplotlib.pyplot as plt
import numpy as np

import pdgpu

warnings.filterwarnings("ignore", "material: NeoHookean .* Poisson's ratio")  # the paper's is 0.45 and more

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--mesh", default=importlib.resources.files("pdgpu") / "data" / "creature.vtu")
parser.add_argument("--quick", action="store_true", help="a small bar instead of the mesh, few iterations")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
MU, LAM, DT, LOCAL = 1e5, 1e6, 33e-3, (100 if options.quick else 1500)
SOLVERS = {
    "VBD": (pdgpu.VertexBlockDescent(iterations=LOCAL), "#0072B2", "--"),
    "VBD + Chebyshev": (pdgpu.VertexBlockDescent(iterations=LOCAL, chebyshev=pdgpu.Chebyshev(rho=0.95, start=1)), "#0072B2", "-"),
    "Newton, CG": (pdgpu.Newton(iterations=20, linear=pdgpu.PCG(iterations=200)), "#D55E00", "-"),
    "Newton, Cholesky": (pdgpu.Newton(iterations=20), "#000000", "-"),
}

mesh = pdgpu.shapes.beam((0.3, 1.0, 0.3), cells=(3, 10, 3)) if options.quick else pdgpu.read_mesh(options.mesh)
points = (mesh.points - mesh.points.min(axis=0)) / np.ptp(mesh.points[:, 1])
mesh = pdgpu.Mesh(points, tets=mesh.tets)
top, feet = points[:, 1] > 0.9, points[:, 1] < 0.05
stretched, released = pdgpu.Scene(gravity=(0.0, 0.0, 0.0)), pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
for scene, held in ((stretched, top | feet), (released, top)):
    scene.add_solid(mesh, pdgpu.NeoHookean(MU, LAM), density=1000.0).pin(held)
simulation = pdgpu.Simulation(stretched, pdgpu.Newton(iterations=60, tolerance=1e-6, initialization="previous"), dt=None)
simulation.set_state(positions=points - np.outer((0.9 - points[:, 1]).clip(0.0, 0.85) / 0.85, [0.0, 0.5, 0.0]))
simulation.step()

solvers = {name: entry[0] for name, entry in SOLVERS.items()}
comparison = pdgpu.compare(released, solvers, dt=DT, start=(simulation.positions, None), threads=1)
figure, axes = plt.subplots(figsize=(8.0, 5.2), layout="constrained")
parts = {target: [] for target in (0.3, 1e-1, 1e-2, 1e-3)}
for name, record in comparison.records.items():
    loss = record["relative_loss"]
    axes.loglog(
        record["seconds"][1:], np.where(loss > 0.0, loss, np.nan)[1:], color=SOLVERS[name][1], linestyle=SOLVERS[name][2], label=name
    )
    for target, found in parts.items():
        first = np.flatnonzero(loss <= target)
        found.append(f"{name} {record['seconds'][first[0]]:.2f} s" if len(first) else f"{name} not in {record['seconds'][-1]:.2f} s")
axes.set_ylim(1e-6, 2.0)
axes.set_xlabel("time of the solver, one thread [s]")
axes.set_ylabel("relative loss")
axes.grid(True, color="0.9")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
figure.savefig(os.path.join(options.out, "chen2024_figure18.png"), dpi=120)

claim = "on one thread too VBD is ahead at first, Newton with CG catches up with it later, and VBD with acceleration stays ahead"
measured = "time to a relative loss, " + "; ".join(f"to {target:g}: {', '.join(found)}" for target, found in parts.items())
path = os.path.join(options.out, "chen2024_figure18.csv")
comparison.to_csv(path)
with open(path) as file:
    table = file.read()
with open(path, "w") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n{table}")
print(f"claim: {claim}\nmeasured: {measured}")
