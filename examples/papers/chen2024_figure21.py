"""A swinging chain with a heavy end: Chen et al. 2024 (Vertex Block Descent), Figure 21.

Twenty particles in a row, joined by springs, the first held, the last 1000 times as heavy as the others. The chain starts level and
swings for a second and a half, with 100 iterations per step. Solid: Vertex Block Descent; dashed: Newton, converged; for stiff springs
(1e6 N/m; a particle weighs 10 g, the chain is a metre long) and for springs a hundred times softer, in steps of 1/300 s.

python examples/papers/chen2024_figure21.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="the first third of the swing")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
DURATION, DT = (0.5 if options.quick else 1.5), 1 / 300
STIFFNESSES = {"stiff": 1e6, "100x softer": 1e4}
SOLVERS = {
    "VBD, 100 iterations": (pdgpu.VertexBlockDescent(iterations=100), "-"),
    "Newton": (pdgpu.Newton(iterations=50, tolerance=1e-10), "--"),
}


def swing(stiffness, solver):
    """Times, the largest expansion of a spring at each, and the positions."""
    scene = pdgpu.Scene()
    chain = scene.add_rod(pdgpu.shapes.chain(19, 1.0), pdgpu.Spring(stiffness), density=0.2)
    chain.masses[:] = 0.01
    chain.masses[-1] *= 1000.0
    chain.pin([0])
    reference = isinstance(solver, pdgpu.Newton)  # on the CPU in float64, whatever PDGPU_DEVICE and PDGPU_DTYPE say
    options = {"device": "cpu", "dtype": "float64"} if reference else {}
    simulation = pdgpu.Simulation(scene, solver, dt=DT, threads=1, **options)
    times, expansions, positions = [], [], []
    for _ in range(round(DURATION / DT)):
        simulation.step()
        times.append(simulation.time)
        positions.append(simulation.positions)
        expansions.append(np.linalg.norm(np.diff(positions[-1], axis=0), axis=1).max() * 19 - 1.0)
    return times, np.array(expansions), positions


figure, panels = plt.subplots(1, 3, figsize=(14.0, 4.6), layout="constrained", width_ratios=(1, 1, 1.3))
rows, largest = [], {}
for axes, (springs, stiffness) in zip(panels, STIFFNESSES.items(), strict=False):
    for (name, (solver, line)), colour in zip(SOLVERS.items(), ("#0072B2", "#D55E00"), strict=True):
        times, expansions, positions = swing(stiffness, solver)
        largest[springs, name] = 100.0 * expansions.max()
        rows += [(springs, name, f"{t:.6f}", e) for t, e in zip(times, expansions, strict=True)]
        for k in np.linspace(0, len(positions) - 1, 5).astype(int):
            label = name if k == 0 else None
            axes.plot(*positions[k][:, :2].T, color=colour, linestyle=line, linewidth=1.4, marker="o", markersize=2.5, label=label)
        style = {"color": colour, "linestyle": line, "linewidth": 1.6, "alpha": 1.0 if springs == "stiff" else 0.55}
        panels[2].semilogy(times, 100.0 * np.maximum(expansions, 1e-6), label=f"{springs}, {name}", **style)
    axes.set_title(f"{springs}: {stiffness:g} N/m", loc="left", fontsize=11)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("m")
panels[1].legend(frameon=False, fontsize=9, loc="lower left")
panels[2].axhline(0.7, color="0.6", linewidth=0.8, linestyle=":")
panels[2].set_ylim(1e-2, 1e3)
panels[2].set_xlabel("time [s]")
panels[2].set_ylabel("largest expansion of a spring [%]")
panels[2].legend(frameon=False, fontsize=9, loc="upper left", ncols=2)
for axes in panels:
    axes.grid(True, color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
figure.savefig(os.path.join(options.out, "chen2024_figure21.png"), dpi=120)

claim = "with a mass ratio of 1:1000 stiff springs expand by no more than 0.7 % of their rest lengths, springs 100x softer visibly"
measured = "; ".join(
    f"{springs}: {largest[springs, 'VBD, 100 iterations']:.2f} % (converged: {largest[springs, 'Newton']:.2f} %)" for springs in STIFFNESSES
)
with open(os.path.join(options.out, "chen2024_figure21.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    csv.writer(file).writerows([("springs", "solver", "time", "largest_expansion"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
