"""Iterations of conjugate gradients by preconditioner, against the number of vertices and the contrast of stiffness.

Three linear systems per mesh, each solved to a relative residual of 1e-6:

PD       the matrix of Projective Dynamics for a bar of ARAP, one right-hand side of ones
Newton   the Hessian of a neo-Hookean bar that is held at one end and starts stretched, in the first iteration of a step
contact  the same of two blocks, one above the other at 0.4 of the activation distance of the barrier

Columns:

vertices, contrast   of the mesh; Young's modulus jumps by `contrast` at half of the length (contact: between the blocks)
iterations           of the solve; for Newton the products with the Hessian, of which each iteration has one, and with "amg" three
growth               log of the ratio of iterations to those of the smaller mesh over log of the ratio of vertices; empty for the first
seconds              processor time of the preparation and the solve, the least of `--repeat` turns; for Newton of the whole step
relative             these seconds over those of "jacobi" (PD) or "block" (the others), from the same turns

    python benchmarks/multilevel.py [--out FILE.csv] [--most 100000] [--systems PD Newton contact] [--repeat 1]
        [--preconditioners jacobi block multilevel amg] [--contrasts 1 1e4] [--least 0] [--tiny]

results/multilevel.csv and results/amg.csv are such tables of different preconditioners.
"""

import argparse
import math
import time

import numpy as np
from machine import write_table

import pdgpu
from pdgpu import linear, shapes

TOLERANCE, MOST = 1e-6, 20000
NAMES = {
    "PD": ("jacobi", "chebyshev", "multilevel", "amg"),
    "Newton": ("jacobi", "block", "chebyshev", "multilevel", "amg"),
    "contact": ("jacobi", "block", "chebyshev", "multilevel", "amg"),
}
# vertices of the bar (4 k + 1) (k + 1)^2
SIDES = (6, 13, 20, 28, 36, 62)


def moduli(mesh, contrast):
    """Young's modulus of each tet, Pa."""
    return np.where(mesh.points[mesh.tets].mean(axis=1)[:, 0] > 0.5, 1e5 * contrast, 1e5)


def bar(side, contrast, material):
    """A bar of 1 m x 0.25 m x 0.25 m that is held at one end: mesh, scene."""
    mesh = shapes.beam((1.0, 0.25, 0.25), cells=(4 * side, side, side))
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_solid(mesh, material(mesh, contrast), density=1000.0).pin(lambda points: points[:, 0] < 1e-6)
    return mesh, scene


def blocks(side, contrast):
    """Two blocks, the upper one stiffer by `contrast`, with a gap inside the activation distance."""
    cells = max(side * 4 // 5, 2), side, max(side * 4 // 5, 2)
    mesh = shapes.beam((0.4, 0.5, 0.4), cells=cells)
    reach = 0.2 * 0.5 / side
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    held = scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e5, 0.4), density=1000.0)
    held.pin(lambda points: points[:, 1] < 1e-6)
    above = pdgpu.Mesh(mesh.points * [0.9, 1.0, 0.9] + [0.02, 0.5 + 0.4 * reach, 0.02], tets=mesh.tets)
    scene.add_solid(above, pdgpu.NeoHookean.from_young(1e5 * contrast, 0.4), density=1000.0)
    return scene, pdgpu.BarrierContact(reach)


def newton_step(scene, name, contact, start):
    """The first iteration of Newton's method: products, seconds."""
    solver = pdgpu.Newton(
        iterations=1,
        linear=pdgpu.PCG(preconditioner=name, tolerance=TOLERANCE, iterations=MOST),
        hessian="clamp",
        initialization="previous",
    )
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30, contact=contact)
    if start is not None:
        sim.set_state(positions=start)
    began = time.process_time()
    sim.step(record=True)
    seconds = time.process_time() - began
    return int(sim.last_step["products"][-1]), seconds


def global_step(A, name):
    """A solve with the matrix of Projective Dynamics: iterations, seconds."""
    b = np.ones(A.shape[0])
    began = time.process_time()
    found = linear.solve(A, b, pdgpu.PCG(preconditioner=name, tolerance=TOLERANCE, iterations=MOST))
    return found.iterations, time.process_time() - began


def cases(system, side, contrast):
    """The number of vertices, and a function of the preconditioner."""
    if system == "contact":
        scene, contact = blocks(side, contrast)
        return len(scene.rest_positions()), lambda name: newton_step(scene, name, contact, None)
    if system == "Newton":
        mesh, scene = bar(side, contrast, lambda mesh, c: pdgpu.NeoHookean.from_young(moduli(mesh, c), 0.4))
        return len(mesh.points), lambda name: newton_step(scene, name, None, mesh.points * [1.1, 1.0, 1.0])
    mesh, scene = bar(side, contrast, lambda mesh, c: pdgpu.ARAP.from_young(moduli(mesh, c), 0.3))
    A = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(linear=pdgpu.PCG()), dt=1 / 30).system_matrix(free=True)
    return len(mesh.points), lambda name: global_step(A, name)


def measure(systems, most, repeat, sides=SIDES, chosen=None, contrasts=(1.0, 1e4), smallest=0):
    before = {}
    for system in systems:
        base = "jacobi" if system == "PD" else "block"
        for contrast in contrasts:
            for side in sides:
                if not smallest <= (4 * side + 1) * (side + 1) ** 2 <= (10 * most if system == "PD" else most):
                    continue
                n, run = cases(system, side, contrast)
                names = [name for name in NAMES[system] if chosen is None or name in chosen]
                found = {name: [] for name in names}
                for _ in range(repeat):  # in turns
                    for name in names:
                        found[name].append(run(name))
                least = {name: min(seconds for _, seconds in found[name]) for name in names}
                for name in names:
                    count, key = found[name][0][0], (system, contrast, name)
                    growth = ""
                    if key in before:
                        growth = f"{math.log(count / before[key][1]) / math.log(n / before[key][0]):.2f}"
                    before[key] = n, count
                    yield system, n, f"{contrast:g}", name, count, growth, f"{least[name]:.3f}", f"{least[name] / least[base]:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--most", type=int, default=100_000, help="vertices of the bar; ten times as many for PD")
    parser.add_argument("--systems", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--least", type=int, default=0, help="vertices of the smallest bar")
    parser.add_argument("--contrasts", type=float, nargs="+", default=[1.0, 1e4])
    parser.add_argument("--preconditioners", nargs="+", choices=NAMES["Newton"], help="by default all")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--tiny", action="store_true", help="two small meshes of each system")
    parser.add_argument("--note", default="", help="a line of the file, such as the load of the machine")
    options = parser.parse_args()
    header = ("system", "vertices", "contrast", "preconditioner", "iterations", "growth", "seconds", "relative")
    notes = [f"tolerance {TOLERANCE:g}", *(["tiny meshes"] if options.tiny else []), *([options.note] if options.note else [])]
    sides = (3, 4) if options.tiny else SIDES
    chosen, contrasts = options.preconditioners, options.contrasts
    rows = measure(options.systems, options.most, options.repeat, sides, chosen, contrasts, options.least)
    write_table(options.out, header, rows, notes)


if __name__ == "__main__":
    main()
