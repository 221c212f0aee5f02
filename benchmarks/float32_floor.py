"""How near the answer does each solver come in float32, however many iterations it gets?

The clamped beam of `vertex_block_descent.py`, stretched by a tenth and let go, one step of a three hundredth of a second. The answer x* is
that of Newton's method in float64. A distance is the largest of a vertex from x*, over the largest such distance of the first guess, after
as many iterations as bring float64 far below what float32 can tell: what float64 leaves stands beside it. "rounded" is the distance of x*
itself, its coordinates rounded to float32: nothing comes nearer but by luck. The positions the step begins with are rounded too.

    python benchmarks/float32_floor.py [--tiny] [--out FILE.csv]
"""

import argparse

import numpy as np
from machine import write_table
from vertex_block_descent import CHECK_SIZE, DENSITY, LAM, MU, STEP, beam

import pdgpu

TINY = (6, 2, 2)
NEO_HOOKEAN, ARAP = pdgpu.NeoHookean(MU, LAM), pdgpu.ARAP(MU)
CASES = [
    ("Vertex Block Descent", NEO_HOOKEAN, 1000, lambda n: pdgpu.VertexBlockDescent(iterations=n)),
    ("Vertex Block Descent, line search", NEO_HOOKEAN, 1000, lambda n: pdgpu.VertexBlockDescent(iterations=n, line_search=True)),
    ("Block Jacobi", NEO_HOOKEAN, 2000, lambda n: pdgpu.BlockJacobi(iterations=n)),
    ("gradient descent", NEO_HOOKEAN, 4000, lambda n: pdgpu.GradientDescent(iterations=n)),
    ("nonlinear CG", ARAP, 1000, lambda n: pdgpu.NonlinearCG(iterations=n)),
    ("L-BFGS", NEO_HOOKEAN, 300, lambda n: pdgpu.QuasiNewton(iterations=n)),
    ("Newton", NEO_HOOKEAN, 30, lambda n: pdgpu.Newton(iterations=n)),
    ("Vertex Block Descent", ARAP, 1000, lambda n: pdgpu.VertexBlockDescent(iterations=n)),
    ("PD, direct", ARAP, 500, lambda n: pdgpu.ProjectiveDynamics(iterations=n)),
    ("PD, Jacobi", ARAP, 2000, lambda n: pdgpu.ProjectiveDynamics(iterations=n, linear=pdgpu.Jacobi(weight=0.5))),
    ("PD, Gauss-Seidel", ARAP, 1000, lambda n: pdgpu.ProjectiveDynamics(iterations=n, linear=pdgpu.GaussSeidel())),
    ("PD, conjugate gradients", ARAP, 500, lambda n: pdgpu.ProjectiveDynamics(iterations=n, linear=pdgpu.PCG(iterations=10))),
    ("Newton", ARAP, 30, lambda n: pdgpu.Newton(iterations=n)),
]


def step(cells, material, solver, dtype):
    """First guess and end of the step."""
    mesh, start, clamped = beam(cells)
    scene = pdgpu.Scene()
    scene.add_solid(mesh, material, density=DENSITY).pin(clamped)
    simulation = pdgpu.Simulation(scene, solver, dt=STEP, dtype=dtype, threads=1)
    simulation.set_state(positions=start, velocities=np.zeros_like(start))
    simulation.step()
    return simulation.positions.astype(np.float64)


def distances(cells):
    """Rows of the table, one by one."""
    answers = {}
    for name, material, iterations, solver in CASES:
        kind = type(material).__name__
        if kind not in answers:
            converged = step(cells, material, pdgpu.Newton(iterations=100), "float64")
            _, start, clamped = beam(cells)
            guess = start + np.where(clamped[:, None], 0.0, STEP**2 * np.array([0.0, -9.81, 0.0]))
            answers[kind] = converged, np.linalg.norm(guess - converged, axis=1).max()
        converged, first = answers[kind]

        def distance(x, converged=converged, first=first):
            return f"{np.linalg.norm(x - converged, axis=1).max() / first:.1e}"

        ends = [distance(step(cells, material, solver(iterations), dtype)) for dtype in ("float64", "float32")]
        yield (name, kind, iterations, *ends, distance(converged.astype(np.float32)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="a size that shows only that everything runs")
    parser.add_argument("--out")
    options = parser.parse_args()
    cells = TINY if options.tiny else CHECK_SIZE
    notes = [f"beam of {cells} cells, mu {MU:g}, lam {LAM:g}, step {STEP:.6f} s"] + ["tiny sizes"] * options.tiny
    write_table(options.out, ("solver", "material", "iterations", "float64", "float32", "rounded"), distances(cells), notes)


if __name__ == "__main__":
    main()
