"""Which filter of the Hessian needs the fewest iterations? Beams far from the answer and near, Newton's method and blocks of vertices.

"clamp" sets negative eigenvalues of an element's Hessian to zero, "absolute" turns their sign round [Chen, Liu, Levin, Zheng, Jacobson
2024], "adaptive" chooses between both, and "auto" filters only where the whole Hessian is not positive definite. The table has the
iterations to a part of the first gradient norm, by start and Poisson's ratio, of a stable neo-Hookean beam.

With --blocks the filters are those of the 3x3 blocks of Vertex Block Descent and Block Jacobi, for three materials. The table also has
the potential at the end, since runs from far away end at different minima, and the status: "stalled" is a run in which no vertex moves.

    python benchmarks/hessian_filters.py [--blocks] [--tiny] [--out FILE.csv]
"""

import argparse
import itertools
import warnings

import numpy as np
from machine import write_table

import pdgpu

FILTERS = ("auto", "clamp", "absolute", "adaptive")
BLOCK_FILTERS = ("auto", "clamp", "absolute", "exact")
MATERIALS = (pdgpu.NeoHookean, pdgpu.StVK, pdgpu.Corotated)
RATIOS = (0.3, 0.4, 0.45, 0.49, 0.499)
PARTS = (1e-2, 1e-4, 1e-6, 1e-8)
STARTS = ("stretched", "inverted", "random")
MOST = 200
MOST_OF_BLOCKS = 2000


def start_of(name, points):
    if name == "stretched":
        return points * [2.0, 1.0, 1.0]
    if name == "inverted":  # all but the held end is turned inside out
        return points * [-0.5, 1.0, 1.0]
    x = points + 0.3 * np.random.default_rng(0).uniform(-1.0, 1.0, points.shape)
    return np.where(points[:, :1] < 0.01, points, x)


def step(mesh, material, start, solver, dt):
    """The record of one step of a beam that is held at one end; also of a step that diverges."""
    scene = pdgpu.Scene()
    body = scene.add_solid(mesh, material, density=1000.0)
    body.pin(lambda points: points[:, 0] < 0.01)
    sim = pdgpu.Simulation(scene, solver, dt=dt, threads=1)
    sim.set_state(positions=start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of locking, and of inverted tets
        try:
            sim.step(record=True)
        except pdgpu.DivergenceError as error:
            return error.records, "diverged"
    return sim.last_step, sim.last_step.status


def iterations(record):
    """The first iteration at each part of the first gradient norm; "-" where it is not within the limit."""
    norms = record["gradient_norm"]
    below = [np.flatnonzero(norms <= part * norms[0]) for part in PARTS]
    return [int(found[0]) if len(found) else "-" for found in below]


def rows(tiny):
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(4, 1, 1) if tiny else (12, 3, 3))
    for name, poisson, hessian in itertools.product(STARTS, (0.4,) if tiny else RATIOS, FILTERS):
        solver = pdgpu.Newton(iterations=MOST, hessian=hessian, initialization="previous")
        record, _ = step(mesh, pdgpu.NeoHookean.from_young(1e5, poisson), start_of(name, mesh.points), solver, 1 / 10)
        yield name, poisson, hessian, *iterations(record)


def block_rows(tiny):
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(4, 1, 1) if tiny else (8, 2, 2))
    solvers = {pdgpu.VertexBlockDescent: RATIOS, pdgpu.BlockJacobi: (0.3, 0.499)}
    for kind, material, name in itertools.product(solvers, MATERIALS, STARTS):
        for poisson, hessian in itertools.product((0.4,) if tiny else solvers[kind], BLOCK_FILTERS):
            solver = kind(iterations=20 if tiny else MOST_OF_BLOCKS, hessian=hessian, initialization="previous")
            record, status = step(mesh, material.from_young(1e5, poisson), start_of(name, mesh.points), solver, 1 / 30)
            end = f"{record['incremental_potential'][-1]:.6g}"
            yield kind.__name__, material.__name__, name, poisson, hessian, *iterations(record), status, end


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="a size that shows only that everything runs; the figures mean nothing")
    parser.add_argument("--out", help="a CSV file with the table, the machine, the date and the commit")
    parser.add_argument("--blocks", action="store_true", help="the blocks of vertices")
    chosen = parser.parse_args()
    columns = ("start", "poisson", "hessian", *(f"to {part:g}" for part in PARTS))
    if chosen.blocks:
        columns = ("solver", "material", *columns, "status", "potential")
    write_table(chosen.out, columns, (block_rows if chosen.blocks else rows)(chosen.tiny), ["tiny"] if chosen.tiny else [])


if __name__ == "__main__":
    main()
