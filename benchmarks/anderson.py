"""How many iterations does Anderson acceleration save, by method, and next to Chebyshev's?

One time step without contact of a stretched beam and of a stretched cloth, with each method plain, with Anderson (window 5 and 10) and, if
the method takes it, with Chebyshev (rho 0.95). The table has the first iteration whose gradient norm is below a part of that of the first
guess. Iterations of one method cost about the same with all of them: docs/theory/solvers.md has the additional passes and potentials.

    python benchmarks/anderson.py [--tiny] [--out FILE.csv]
"""

import argparse
import dataclasses
import warnings

import numpy as np
from machine import write_table

import pdgpu

PARTS = (1e-3, 1e-6, 1e-9)
ITERATIONS = 500
METHODS = {
    "PD": pdgpu.ProjectiveDynamics(),
    "PD by Jacobi": pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi()),
    "ADMM": pdgpu.ADMM(),
    "VBD": pdgpu.VertexBlockDescent(),
    "block Jacobi": pdgpu.BlockJacobi(),
}
ACCELERATIONS = {
    "none": None,
    "Chebyshev": pdgpu.Chebyshev(rho=0.95),
    "Anderson 5": pdgpu.Anderson(),
    "Anderson 10": pdgpu.Anderson(window=10),
}


def beam(material, cells):
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=cells)
    scene = pdgpu.Scene()
    scene.add_solid(mesh, material, density=1000.0).pin(lambda points: points[:, 0] < 0.01)
    return scene, mesh.points * [1.5, 1.0, 1.0]


def cloth(cells):
    mesh = pdgpu.shapes.grid((1.0, 1.0), cells=(cells, cells))
    scene = pdgpu.Scene()
    scene.add_shell(mesh, pdgpu.Spring(1e3), density=0.2, bending=1e-4).pin([0, cells])
    return scene, mesh.points * [1.1, 1.1, 1.0] + 0.01 * np.random.default_rng(0).normal(size=mesh.points.shape)


def scenes(tiny):
    cells = (4, 1, 1) if tiny else (20, 5, 5)
    return {
        "beam, ARAP": beam(pdgpu.ARAP.from_young(1e6, 0.3), cells),
        "beam, neo-Hookean": beam(pdgpu.NeoHookean.from_young(1e6, 0.3), cells),
        "cloth": cloth(5 if tiny else 30),
    }


def row_of(scene, start, solver):
    """Iterations to each part, the last gradient norm, relative, and evaluations of the potential per iteration."""
    sim = pdgpu.Simulation(scene, dataclasses.replace(solver, initialization="inertial_target"), dt=1 / 30, threads=1)
    sim.set_state(positions=start)
    try:
        sim.step(record=True)
    except pdgpu.DivergenceError:
        return dict.fromkeys((f"to {part:g}" for part in PARTS), "diverged") | {"last": "", "potentials": ""}
    norms = sim.last_step["gradient_norm"] / sim.last_step["gradient_norm"][0]
    found = {}
    for part in PARTS:
        below = np.flatnonzero(norms <= part)
        found[f"to {part:g}"] = int(below[0]) if len(below) else "-"
    return found | {"last": f"{norms[-1]:.1e}", "potentials": f"{sim.last_step['potentials'][-1] / (len(norms) - 1):.2f}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="a size that shows only that everything runs; the figures mean nothing")
    parser.add_argument("--out", help="a CSV file with the table, the machine, the date and the commit")
    chosen = parser.parse_args()
    header = ("scene", "method", "acceleration", *(f"to {part:g}" for part in PARTS), "last", "potentials")
    write_table(chosen.out, header, rows_of(chosen.tiny), ["tiny"] if chosen.tiny else [])


def rows_of(tiny):
    for scene_name, (scene, start) in scenes(tiny).items():
        for name, method in METHODS.items():
            if scene_name == "beam, neo-Hookean" and isinstance(method, pdgpu.ProjectiveDynamics):
                continue
            for label, acceleration in ACCELERATIONS.items():
                if label == "Chebyshev" and name == "ADMM":
                    continue
                solver = dataclasses.replace(method, iterations=20 if tiny else ITERATIONS, acceleration=acceleration)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    yield (scene_name, name, label, *row_of(scene, start, solver).values())


if __name__ == "__main__":
    main()
