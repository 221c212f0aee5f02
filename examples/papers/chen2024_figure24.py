"""Where Vertex Block Descent is weak, a chain of soft and stiff springs: Chen et al. 2024 (Vertex Block Descent), Figure 24.

Twenty particles of 50 g in a row of one metre, the first held; soft springs of 300 N/m (orange) and springs 10,000 times as stiff (blue),
in turn or in runs of five. The chain starts level and falls for a second, in steps of 1/60 s with 100 iterations. Beside it the converged
motion, by Newton. The paper does not say how its springs are arranged.

python examples/papers/chen2024_figure24.py [--out FOLDER] [--quick]
"""

import argparse
import csv
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="half the time")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
FRAMES, DT, SOFT, RATIO = (30 if options.quick else 60), 1 / 60, 300.0, 1e4
ARRANGEMENTS = {"in turn": np.arange(19) % 2 == 0, "in runs of five": np.arange(19) // 5 % 2 == 1}  # where the springs are stiff
SOLVERS = {
    "100 iterations": pdgpu.VertexBlockDescent(iterations=100),
    "1000 iterations": pdgpu.VertexBlockDescent(iterations=1000),
    "converged": pdgpu.Newton(iterations=100, tolerance=1e-10),
}


def fall(stiff, solver):
    """Length of the chain at every frame, and the last positions."""
    scene = pdgpu.Scene()
    chain = scene.add_rod(pdgpu.shapes.chain(19, 1.0), pdgpu.Spring(np.where(stiff, RATIO * SOFT, SOFT)), density=0.2)
    chain.masses[:] = 0.05
    chain.pin([0])
    # float64, whatever PDGPU_DTYPE says: in float32 1000 iterations leave what 100 do, 2.17 m in turn
    options = {"device": "cpu"} if isinstance(solver, pdgpu.Newton) else {}  # the reference, whatever PDGPU_DEVICE says
    simulation = pdgpu.Simulation(scene, solver, dt=DT, dtype="float64", threads=1, **options)
    lengths = []
    for _ in range(FRAMES):
        simulation.step()
        lengths.append(np.linalg.norm(np.diff(simulation.positions, axis=0), axis=1).sum())
    return lengths, simulation.positions


figure, panels = plt.subplots(1, 6, figsize=(14.0, 4.0), sharex=True, sharey=True, layout="constrained")
rows, parts = [], []
for first, (arrangement, stiff) in zip((0, 3), ARRANGEMENTS.items(), strict=True):
    longest = {}
    for axes, (name, solver) in zip(panels[first:], SOLVERS.items(), strict=False):
        lengths, positions = fall(stiff, solver)
        longest[name] = max(lengths)
        rows += [(arrangement, name, k + 1, length) for k, length in enumerate(lengths)]
        for k in range(19):
            axes.plot(*positions[k : k + 2, :2].T, color="#0072B2" if stiff[k] else "#E69F00", linewidth=5.0)
        axes.plot(*positions[:, :2].T, "ko", markersize=1.8)
        axes.set_title(f"{arrangement}\n{name}", loc="left", fontsize=10)
        axes.set_aspect("equal")
        axes.grid(True, color="0.9")
        axes.spines[["top", "right"]].set_visible(False)
    parts.append(f"{arrangement}: " + ", ".join(f"{name} {length:.2f} m" for name, length in longest.items()))
figure.savefig(os.path.join(options.out, "chen2024_figure24.png"), dpi=120)

claim = "with springs 10,000 times as stiff as others 100 iterations per frame fail to converge and leave excessive extensions"
measured = f"greatest length of a chain of 1 m, springs {'; '.join(parts)}"
with open(os.path.join(options.out, "chen2024_figure24.csv"), "w", newline="") as file:
    file.write(f"# claim: {claim}\n# measured: {measured}\n")
    csv.writer(file).writerows([("springs", "solver", "frame", "length"), *rows])
print(f"claim: {claim}\nmeasured: {measured}")
