"""Convergence of descent methods on a stretched and released body: Chen et al. 2024 (Vertex Block Descent), Figure 17.

The neo-Hookean creature that ships with pdgpu (8,880 vertices; any other tet mesh by --mesh, the paper's is an armadillo of 15 thousand)
is held at its top and stretched in balance by pulling its feet down by half its height. Then the feet are let go, and one step of
33 ms is solved from the stretched state. Relative loss over iterations and over time, for a soft material (top) and one ten times as
stiff (bottom); accelerated runs use rho 0.95. All of it on the CPU in float64; the paper's times are those of a GPU in float32.
A full run takes some 110 s of one core.

Limit: 240 s

python examples/papers/chen2024_figure17.py [--out FOLDER] [--mesh FILE] [--threads 0] [--quick]
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
parser.add_argument("--threads", type=int, default=0, help="0: all cores")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
MATERIALS = {"soft": (1e4, 1e5), "10x stiffer": (1e5, 1e6)}
DT, LOCAL = 33e-3, (60 if options.quick else 600)
TARGETS = (1e-1, 1e-2)

accelerated = {"iterations": LOCAL, "chebyshev": pdgpu.Chebyshev(rho=0.95, start=1)}
SOLVERS = {
    "VBD": (pdgpu.VertexBlockDescent(iterations=LOCAL), "#0072B2", "--"),
    "VBD + Chebyshev": (pdgpu.VertexBlockDescent(**accelerated), "#0072B2", "-"),
    "Block Jacobi": (pdgpu.BlockJacobi(iterations=LOCAL), "#009E73", "--"),
    "Block Jacobi + Chebyshev": (pdgpu.BlockJacobi(**accelerated), "#009E73", "-"),
    "gradient descent": (pdgpu.GradientDescent(iterations=LOCAL), "#E69F00", "--"),
    "gradient descent + Chebyshev": (pdgpu.GradientDescent(**accelerated), "#E69F00", "-"),
    "quasi-Newton": (pdgpu.QuasiNewton(iterations=LOCAL // 10), "#CC79A7", "-"),
    "Newton, CG": (pdgpu.Newton(iterations=20, linear=pdgpu.PCG(iterations=200)), "#D55E00", "-"),
    "Newton, Cholesky": (pdgpu.Newton(iterations=20), "#000000", "-"),
}

mesh = pdgpu.shapes.beam((0.3, 1.0, 0.3), cells=(3, 10, 3)) if options.quick else pdgpu.read_mesh(options.mesh)
points = (mesh.points - mesh.points.min(axis=0)) / np.ptp(mesh.points[:, 1])
mesh = pdgpu.Mesh(points, tets=mesh.tets)
top, feet = points[:, 1] > 0.9, points[:, 1] < 0.05


def release(mu, lam):
    """The scene with its top held, and the stretched state."""
    scenes = []
    for held in (top | feet, top):
        scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
        scene.add_solid(mesh, pdgpu.NeoHookean(mu, lam), density=1000.0).pin(held)
        scenes.append(scene)
    # in balance: a quasistatic step, the feet half the height lower
    pulled = points - np.outer((0.9 - points[:, 1]).clip(0.0, 0.85) / 0.85, [0.0, 0.5, 0.0])
    stretching = pdgpu.Simulation(scenes[0], pdgpu.Newton(iterations=60, tolerance=1e-6, initialization="previous"), dt=None)
    stretching.set_state(positions=pulled)
    stretching.step()
    return scenes[1], stretching.positions


figure, panels = plt.subplots(2, 2, figsize=(12.5, 9.0), sharey=True, layout="constrained")
parts, tables = [], []
for (by_iterations, by_seconds), (title, material) in zip(panels, MATERIALS.items(), strict=True):
    scene, start = release(*material)
    solvers = {name: entry[0] for name, entry in SOLVERS.items()}
    comparison = pdgpu.compare(scene, solvers, dt=DT, start=(start, None), threads=options.threads)
    reach = {target: [] for target in TARGETS}
    for name, record in comparison.records.items():
        loss, style = record["relative_loss"], {"color": SOLVERS[name][1], "linestyle": SOLVERS[name][2], "linewidth": 1.7}
        positive = np.where(loss > 0.0, loss, np.nan)
        by_iterations.loglog(record["iteration"][1:], positive[1:], label=name, **style)
        by_seconds.loglog(1e3 * record["seconds"][1:], positive[1:], **style)
        for target in TARGETS:
            found = np.flatnonzero(loss <= target)
            where = f"{found[0]} ({1e3 * record['seconds'][found[0]]:.0f} ms)" if len(found) else f"over {record.iteration}"
            reach[target].append(f"{name} {where}")
    parts.append(f"{title}: " + "; ".join(f"to {target:g}: {', '.join(found)}" for target, found in reach.items()))
    tables.append(os.path.join(options.out, f"chen2024_figure17_{title.split()[-1]}.csv"))
    comparison.to_csv(tables[-1])
    by_iterations.set_title(f"{title}: mu {material[0]:g}, lam {material[1]:g} Pa", loc="left", fontsize=11)
    by_iterations.set_ylabel("relative loss")
for axes, label in zip(panels[1], ("iterations", "time of the solver [ms]"), strict=True):
    axes.set_xlabel(label)
for axes in panels.flat:
    axes.set_ylim(1e-6, 2.0)
    axes.grid(True, color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
figure.savefig(os.path.join(options.out, "chen2024_figure17.png"), dpi=110)

claim = (
    "VBD with acceleration is the fastest by time; without it about as gradient descent with it; Newton is by far the best per iteration"
)
measured = f"iterations (time) to a relative loss, {' | '.join(parts)}"
for path in tables:
    with open(path) as file:
        table = file.read()
    with open(path, "w") as file:
        file.write(f"# claim: {claim}\n# measured: {measured}\n{table}")
print(f"claim: {claim}\nmeasured: {measured}")
