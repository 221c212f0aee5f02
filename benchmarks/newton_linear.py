"""Which linear solver should Newton's method have: a factor in every iteration, the choice of "auto", or conjugate gradients?

Eleven scenes, some seconds each. All solvers take the same steps, in turn, each on its own run. One thread, tolerance 1e-3. Columns:

milliseconds    the sum of the processor time of the measured steps over their number
relative        that sum over the sum of the direct solver
iterations      of all measured steps
factorizations, products, solves   of all measured steps (`StepRecord`), from a second run that is not timed
residual        the largest gradient norm at the end of a step, relative to its beginning
apart           the largest distance from the direct solver's positions in the end, relative to the size of the scene
met             intersections in the end, by `pdgpu.certify`; empty without contact

    python benchmarks/newton_linear.py [--out FILE.csv] [--scenes NAME ...] [--solvers NAME ...] [--tiny]
"""

import argparse
import collections
import time
import warnings

import numpy as np
from machine import write_table
from rigid_heap import heap

import pdgpu
from pdgpu import shapes

TOLERANCE = 1e-3
COUNTS = ("factorizations", "products", "solves")
LINEAR = {"direct": pdgpu.Direct(), "auto": "auto", "PCG": pdgpu.PCG(preconditioner="block")}


def bar(material, cells, damping=0.0, dt=1 / 30, stretch=1.2):
    """A bar that is held at one end and starts stretched: the simulation by a linear solver."""
    mesh = shapes.beam((1.0, 0.25, 0.25), cells=cells)
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_solid(mesh, material, density=1000.0, damping=damping).pin(lambda points: points[:, 0] < 1e-3)
    return scene, dt, None, mesh.points * [stretch, 1.0, 1.0]


def stack(cells):
    """Three cubes on a floor, each turned against the one below."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    cube, edge = shapes.beam((0.2, 0.2, 0.2), cells=(cells, cells, cells)), 0.2 / cells
    scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    for k in range(3):
        c, s = np.cos(0.3 * k), np.sin(0.3 * k)
        points = (cube.points - [0.1, 0.0, 0.1]) @ np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        placed = pdgpu.Mesh(points + [0.0, 0.1 * edge + k * (0.2 + 0.1 * edge), 0.0], tets=cube.tets)
        scene.add_solid(placed, pdgpu.NeoHookean.from_young(1e5, 0.4), density=1000.0)
    return scene, 1 / 100, pdgpu.BarrierContact(0.2 * edge, friction=0.4), None


def cloth_on_sphere(cells, material, bending):
    """The cloth of ipc_cloth.py, closer to the sphere."""
    sheet = shapes.grid((1.0, 1.0), cells=(cells, cells))
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    placed = pdgpu.Mesh(sheet.points - [0.5, 0.5, -0.302], triangles=sheet.triangles)
    scene.add_shell(placed, material, density=0.2, bending=bending, damping=1e-3, velocity=(0.0, 0.0, -0.8))
    scene.add_obstacle(pdgpu.Sphere((0.0, 0.0, 0.0), 0.3))
    return scene, 1 / 200, pdgpu.BarrierContact(2e-3, friction=0.3), None


def hanging_cloth(cells):
    """A cloth of springs, held at two corners, without contact."""
    sheet = shapes.grid((1.0, 1.0), cells=(cells, cells))
    scene = pdgpu.Scene(gravity=(0.0, 0.0, -9.81))
    scene.add_shell(sheet, pdgpu.Spring(1e3), density=0.2, bending=1e-4).pin([0, cells])
    return scene, 1 / 60, None, None


def rigid_boxes(side):
    return heap(side), 5e-3, pdgpu.BarrierContact(4e-3, friction=0.4), None


# name -> (scene, steps before, steps measured) of a size, 1 or that of --tiny
SCENES = {
    "bar": lambda n: (bar(pdgpu.NeoHookean.from_young(1e5, 0.4), (24 // n, 8 // n, 8 // n)), 0, 6),
    "fine bar": lambda n: (bar(pdgpu.NeoHookean.from_young(1e5, 0.4), (40 // n, 12 // n, 12 // n)), 0, 4),
    "soft bar, short steps": lambda n: (bar(pdgpu.NeoHookean.from_young(1e4, 0.3), (24 // n, 8 // n, 8 // n), dt=1 / 500), 0, 6),
    "damped bar": lambda n: (bar(pdgpu.StVK.from_young(1e5, 0.3), (24 // n, 8 // n, 8 // n), damping=0.01), 0, 6),
    "nearly incompressible bar": lambda n: (bar(pdgpu.NeoHookean.from_young(1e5, 0.4999), (24 // n, 8 // n, 8 // n), stretch=1.05), 0, 6),
    "bar at rest": lambda n: (bar(pdgpu.NeoHookean.from_young(1e5, 0.4), (24 // n, 8 // n, 8 // n), dt=None, stretch=1.0), 0, 1),
    "hanging cloth": lambda n: (hanging_cloth(40 // n), 10 // n, 6),
    "cloth on sphere, StVK": lambda n: (cloth_on_sphere(40 // n, pdgpu.StVK.from_young(100.0, 0.3), 1e-5), 10 // n, 12),
    "stiff cloth on sphere, springs": lambda n: (cloth_on_sphere(40 // n, pdgpu.Spring(1e4), 1e-4), 10 // n, 8),
    "stack of solids": lambda n: (stack(7 // n), 4 // n, 6),
    "27 rigid boxes": lambda n: (rigid_boxes(3 // n), 20 // n, 10),
}


def simulation(case, linear):
    scene, dt, contact, start = case
    solver = pdgpu.Newton(iterations=100, tolerance=TOLERANCE, linear=LINEAR[linear])
    sim = pdgpu.Simulation(scene, solver, dt=dt, contact=contact, threads=1)
    if start is not None:
        sim.set_state(positions=start)
    return sim


def rows_of(name, solvers, size, steps_at_most):
    case, before, steps = SCENES[name](size)
    steps = min(steps, steps_at_most)
    running, twins = ({linear: simulation(case, linear) for linear in solvers} for _ in range(2))
    seconds, counts, residuals = collections.Counter(), collections.defaultdict(collections.Counter), collections.Counter()
    for step in range(before + steps):
        for linear in solvers:
            start = time.process_time()
            running[linear].step()
            spent = time.process_time() - start
            record = twins[linear].step(record=True)
            if step < before:
                continue
            seconds[linear] += spent
            counts[linear]["iterations"] += running[linear].last_step.iteration
            for column in COUNTS:
                counts[linear][column] += int(record[column][-1])
            residuals[linear] = max(residuals[linear], record["gradient_norm"][-1] / record["gradient_norm"][0])
    first = running[solvers[0]].positions
    for linear in solvers:
        apart = np.abs(running[linear].positions - first).max() / np.ptp(first, axis=0).max()
        met = ""
        if case[2] is not None:
            met = sum(len(part) for part in pdgpu.certify([running[linear].positions], case[0]).intersections.values())
        yield (
            name,
            linear,
            len(first),
            steps,
            f"{1e3 * seconds[linear] / steps:.1f}",
            f"{seconds[linear] / seconds[solvers[0]]:.2f}",
            counts[linear]["iterations"],
            *(counts[linear][column] for column in COUNTS),
            f"{residuals[linear]:.1e}",
            f"{apart:.1e}",
            met,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=list(SCENES), metavar="NAME")
    parser.add_argument("--solvers", nargs="+", choices=LINEAR, default=list(LINEAR), metavar="NAME")
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    columns = ("scene", "linear", "vertices", "steps", "milliseconds", "relative", "iterations", *COUNTS, "residual", "apart", "met")
    size, most = (3, 1) if chosen.tiny else (1, 100)
    write_table(chosen.out, columns, (row for name in chosen.scenes for row in rows_of(name, chosen.solvers, size, most)))


if __name__ == "__main__":
    main()
