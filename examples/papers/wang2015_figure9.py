"""Chebyshev acceleration against nonlinear conjugate gradients: Wang 2015 (Chebyshev for projective dynamics), Figure 9.

The same step of Projective Dynamics with the Jacobi and with the direct solver for the global step, accelerated by Chebyshev (solid), by
the nonlinear conjugate gradients of the paper's Algorithm 2 with the same solver as preconditioner (dashed), and not at all (dotted).
Left: a cloth of springs with weak bending, pinned at two corners, after some frames of swinging. Right: the tet mesh of the creature
that ships with pdgpu, stretched and twisted. The values of rho are found by the pre-simulation of Section 5.1, rho="auto".

python examples/papers/wang2015_figure9.py [--out FOLDER] [--quick]
"""

import argparse
import importlib.resources
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
parser.add_argument("--quick", action="store_true", help="a small cloth, a small bar instead of the creature, few iterations")
options = parser.parse_args()
os.makedirs(options.out, exist_ok=True)
CELLS, JACOBI, DIRECT = (15, 60, 30) if options.quick else (60, 300, 60)
DT, TARGET = 1 / 30, 1e-2


def cloth():
    """A scene and its state after some frames of swinging."""
    flat = pdgpu.shapes.grid((1.0, 1.0), cells=(CELLS, CELLS))
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    level = pdgpu.Mesh(flat.points[:, [0, 2, 1]], triangles=flat.triangles)
    scene.add_shell(level, pdgpu.Spring(1e3), density=0.2, bending=1e-4).pin([0, CELLS])
    simulation = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=30), dt=DT)
    simulation.step(12)
    return scene, (simulation.positions, simulation.velocities)


def creature():
    """A scene and the creature stretched by 0.3 and twisted by one radian per metre, at rest."""
    mesh = pdgpu.read_mesh(importlib.resources.files("pdgpu") / "data" / "creature.vtu")
    if options.quick:
        mesh = pdgpu.shapes.beam((0.2, 1.0, 0.2), cells=(3, 12, 3))
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_solid(mesh, pdgpu.ARAP(1e5), density=1000.0).pin(lambda points: points[:, 1] < 0.02)
    x, y, z = mesh.points.T
    twisted = np.column_stack([np.cos(y) * x - np.sin(y) * z, 1.3 * y, np.sin(y) * x + np.cos(y) * z])
    return scene, (twisted, np.zeros_like(mesh.points))


def solvers():
    """Name -> (solver, colour, line)."""
    result = {}
    for name, linear, iterations, colour in (("Jacobi", pdgpu.Jacobi(), JACOBI, "#D55E00"), ("direct", pdgpu.Direct(), DIRECT, "#000000")):
        plain = pdgpu.ProjectiveDynamics(iterations=iterations, linear=linear)
        fast = pdgpu.ProjectiveDynamics(iterations=iterations, linear=linear, chebyshev=pdgpu.Chebyshev(rho="auto"))
        result[name] = (plain, colour, ":")
        result[f"{name} + Chebyshev"] = (fast, colour, "-")
        result[f"CG, {name}"] = (pdgpu.NonlinearCG(iterations=iterations, preconditioner=name.lower()), colour, "--")
    return result


figure, panels = plt.subplots(1, 2, figsize=(12.0, 5.2), layout="constrained")
parts, tables = [], []
for axes, (title, (scene, state)) in zip(panels, {"cloth": cloth(), "creature": creature()}.items(), strict=True):
    described = solvers()
    comparison = pdgpu.compare(
        scene,
        {name: entry[0] for name, entry in described.items()},
        dt=DT,
        start=state,
        reference=None,
        initialization="inertial_target",
        threads=1,
    )
    reach = {}
    for name, record in comparison.records.items():
        relative = record["gradient_norm"] / record["gradient_norm"][0]
        found = np.flatnonzero(relative <= TARGET)
        reach[name] = str(found[0]) if len(found) else f"over {record.iteration}"
        axes.loglog(
            record["iteration"][1:], relative[1:], color=described[name][1], linestyle=described[name][2], linewidth=1.7, label=name
        )
    parts.append(f"{title}: " + ", ".join(f"{name} {count}" for name, count in reach.items()))
    path = os.path.join(options.out, f"wang2015_figure9_{title}.csv")
    comparison.to_csv(path)
    tables.append(path)
    axes.axhline(TARGET, color="0.6", linewidth=0.8, linestyle=":")
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel("iterations")
    axes.grid(True, which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("gradient norm / its first value")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False, fontsize=9)
figure.savefig(os.path.join(options.out, "wang2015_figure9.png"), dpi=120)

claim = "whatever the preconditioner, conjugate gradients do not converge faster than Chebyshev with the same solver"
measured = f"iterations to a relative gradient of {TARGET:g}, {'; '.join(parts)}"
for path in tables:
    with open(path) as file:
        table = file.read()
    with open(path, "w") as file:
        file.write(f"# claim: {claim}\n# measured: {measured}\n{table}")
print(f"claim: {claim}\nmeasured: {measured}")
