"""What do steps of Vertex Block Descent and Block Jacobi on jointed bodies cost, and do they add energy?

The mechanisms of joint_blocks.py move for 0.1 s with steps of 1 ms, without contact. Rows with `blocks` "body" are of commit 0636af06,
whose blocks are single bodies. A run keeps the rows of other blocks.

Columns:
    scene, solver, stiffness, cap   N/m; the most iterations of a step, which ends at a tolerance of 1e-6
    blocks                          "body" or "mechanism"
    iterations                      mean of the steps
    converged                       share of the steps
    energy                          change in 0.1 s, as a part of the kinetic energy or the first total, whichever is larger
    rise                            the largest rise in a step, as the same part

    python benchmarks/joint_energy.py [--blocks mechanism] [--out benchmarks/results/joint_energy.csv]
"""

import argparse
import csv
import os
import warnings

import numpy as np
from joint_blocks import SCENES

import pdgpu

COLUMNS = ("scene", "solver", "stiffness", "cap", "blocks", "iterations", "converged", "energy", "rise")
SOLVERS = {"VertexBlockDescent": (20, 200), "BlockJacobi": (200,)}


def measured(name, solver, stiffness, cap, blocks):
    sim = pdgpu.Simulation(SCENES[name](stiffness)[0], getattr(pdgpu, solver)(iterations=cap, tolerance=1e-6), dt=1e-3)
    total, iterations, converged, n = [sim.energies()["total"]], 0, 0, 100
    for _ in range(n):
        sim.step()
        iterations += sim.last_step.iteration
        converged += sim.last_step.status == "converged"
        total.append(sim.energies()["total"])
    scale = max(abs(total[0]), sim.energies()["kinetic"])
    values = (
        f"{iterations / n:.1f}",
        f"{converged / n:.2f}",
        f"{(total[-1] - total[0]) / scale:.2e}",
        f"{np.diff(total).max() / scale:.1e}",
    )
    return dict(zip(COLUMNS, (name, solver, f"{stiffness:g}", cap, blocks, *values), strict=True))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="benchmarks/results/joint_energy.csv")
    parser.add_argument("--blocks", default="mechanism")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    kept = []
    if os.path.exists(options.out):
        with open(options.out, newline="") as file:
            kept = [row for row in csv.DictReader(file) if row["blocks"] != options.blocks]
    rows = [
        measured(name, solver, stiffness, cap, options.blocks)
        for solver, caps in SOLVERS.items()
        for name in SCENES
        for stiffness in (1e5, 1e7)
        for cap in caps
    ]
    with open(options.out, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*kept, *rows])
    for row in rows:
        print(row)


if __name__ == "__main__":
    main()
