"""Which filter of the Hessian needs the fewest iterations of Newton's method? Stable neo-Hookean beams, far from the answer and near.

"clamp" sets negative eigenvalues of an element's Hessian to zero, "absolute" turns their sign round [Chen, Liu, Levin, Zheng, Jacobson
2024], "adaptive" chooses between both, and "auto" filters only where the whole Hessian is not positive definite. The table has the
iterations to a part of the first gradient norm, by start and Poisson's ratio.

    python benchmarks/hessian_filters.py [--tiny] [--out FILE.csv]
"""

import argparse
import warnings

import numpy as np
from machine import write_table

import pdgpu

FILTERS = ("auto", "clamp", "absolute", "adaptive")
PARTS = (1e-2, 1e-4, 1e-6, 1e-8)
STARTS = ("stretched", "inverted", "random")
MOST = 200


def start_of(name, points):
    if name == "stretched":
        return points * [2.0, 1.0, 1.0]
    if name == "inverted":  # all but the held end is turned inside out
        return points * [-0.5, 1.0, 1.0]
    x = points + 0.3 * np.random.default_rng(0).uniform(-1.0, 1.0, points.shape)
    return np.where(points[:, :1] < 0.01, points, x)


def iterations(mesh, poisson, start, name):
    """The first iteration at each part of the first gradient norm; "-" where it is not within the limit."""
    scene = pdgpu.Scene()
    body = scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e5, poisson), density=1000.0)
    body.pin(lambda points: points[:, 0] < 0.01)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=MOST, hessian=name, initialization="previous"), dt=1 / 10, threads=1)
    sim.set_state(positions=start)
    sim.step(record=True)
    norms = sim.last_step["gradient_norm"]
    below = [np.flatnonzero(norms <= part * norms[0]) for part in PARTS]
    return [int(found[0]) if len(found) else "-" for found in below]


def rows(tiny):
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(4, 1, 1) if tiny else (12, 3, 3))
    for name in STARTS:
        for poisson in (0.4,) if tiny else (0.3, 0.4, 0.45, 0.49, 0.499):
            for hessian in FILTERS:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of locking, and of inverted tets
                    yield name, poisson, hessian, *iterations(mesh, poisson, start_of(name, mesh.points), hessian)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="a size that shows only that everything runs; the figures mean nothing")
    parser.add_argument("--out", help="a CSV file with the table, the machine, the date and the commit")
    chosen = parser.parse_args()
    write_table(
        chosen.out, ("start", "poisson", "hessian", *(f"to {part:g}" for part in PARTS)), rows(chosen.tiny), ["tiny"] if chosen.tiny else []
    )


if __name__ == "__main__":
    main()
