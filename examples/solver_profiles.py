"""Which of ten solvers solves ten scenes, from soft to stiff, at what cost? A performance and a data profile.

python examples/solver_profiles.py [--out FOLDER] [--quick]
"""

import argparse
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true")
arguments = parser.parse_args()
os.makedirs(arguments.out, exist_ok=True)
path = os.path.join(arguments.out, "solver_profiles")
moduli = np.logspace(5, 9, 3 if arguments.quick else 10)  # Pa

# ---- the study, in twelve lines ----
kinds = (pdgpu.Direct(), pdgpu.Jacobi(iterations=20), pdgpu.GaussSeidel(iterations=10), pdgpu.SOR(iterations=10), pdgpu.PCG(iterations=10))
solvers = {f"PD, {type(linear).__name__}": pdgpu.ProjectiveDynamics(iterations=300, linear=linear) for linear in kinds}
others = (pdgpu.VertexBlockDescent, pdgpu.BlockJacobi, pdgpu.Newton, pdgpu.QuasiNewton, pdgpu.NonlinearCG)
solvers |= {kind.__name__: kind(iterations=300) for kind in others}
mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(12, 3, 3))
comparisons = []
for young in moduli:
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP.from_young(young, 0.3), density=1000.0).pin(mesh.points[:, 0] == 0.0)
    comparisons.append(pdgpu.compare(scene, solvers, dt=1 / 30, start=(mesh.points + 0.3 * np.sin(2.0 * mesh.points[:, [0]]), None)))
time = pdgpu.profile(comparisons, "total_seconds", tolerance=1e-4)
time.save(f"{path}.pdf", size=(5.0, 2.7))
# ---- that is all ----

budget = pdgpu.profile(comparisons, "iterations", tolerance=1e-4, kind="data")
print(time)
print(budget)
figure, panels = plt.subplots(1, 2, figsize=(10.0, 3.4), layout="constrained")
time.plot(axes=panels[0], legend=False)
budget.plot(axes=panels[1])
figure.savefig(f"{path}.png", dpi=130)
print("written:", f"{path}.png")
