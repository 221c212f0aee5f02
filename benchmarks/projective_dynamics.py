"""How fast is one Projective Dynamics iteration, where does its time go, and how does that compare with libigl's ARAP?

One iteration is a local step (a polar decomposition per tet), the right-hand side and a global step with a prefactorised matrix
for x, y and z. libigl (PyPI `libigl`, extra `bench`) does the same work in the same run: energy per element, with dynamics, the
same mesh, pose and number of iterations; its own loop, without NumPy in between. Medians of interleaved repetitions.

    python benchmarks/projective_dynamics.py [MESH] [--out FILE.csv]
"""

import argparse
import importlib.resources
import statistics
import time

import numpy as np
from machine import write_table

import pdgpu

ITERATIONS = 20
REPETITIONS = 9


def stretched(mesh):
    points = mesh.points.copy()
    points[:, 1] = 1.3 * points[:, 1]
    return points


def scene_of(mesh):
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(mesh, pdgpu.ARAP(1e6 / 2.6), density=1000.0)
    return scene


def timer(mesh, linear, threads, dtype="float64"):
    """A function that runs a step and returns seconds per iteration."""
    solver = pdgpu.ProjectiveDynamics(iterations=ITERATIONS, linear=linear, initialization="previous")
    simulation = pdgpu.Simulation(scene_of(mesh), solver, dt=1 / 30, threads=threads, dtype=dtype)
    start = stretched(mesh)

    def run():
        simulation.set_state(positions=start, velocities=np.zeros_like(start))
        simulation.step()
        return simulation.last_step.solve_seconds / ITERATIONS

    return run


def gradient_timer(mesh, threads):
    """Local step and right-hand side alone: the gradient of the incremental potential."""
    simulation = pdgpu.Simulation(scene_of(mesh), pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi(weight=0.5)), dt=1 / 30, threads=threads)
    core = simulation._core.backend
    simulation.set_state(positions=stretched(mesh))

    def run():
        start = time.perf_counter()
        for _ in range(ITERATIONS):
            core.gradient(None)
        return (time.perf_counter() - start) / ITERATIONS

    return run


def libigl_timer(mesh):
    import igl

    data = igl.ARAPData()
    data.energy = igl.ARAP_ENERGY_TYPE_ELEMENTS
    data.with_dynamics = True
    data.h = 1 / 30
    data.max_iter = ITERATIONS
    fixed = np.array([0], dtype=np.int32)
    igl.arap_precomputation(mesh.points, mesh.tets.astype(np.int64), 3, fixed, data)
    start = np.asfortranarray(stretched(mesh))

    def run():
        begin = time.perf_counter()
        igl.arap_solve(start[fixed], data, start)
        return (time.perf_counter() - begin) / ITERATIONS

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mesh", nargs="?", default=str(importlib.resources.files("pdgpu") / "data" / "creature.vtu"))
    parser.add_argument("--out")
    options = parser.parse_args()
    mesh = pdgpu.read_mesh(options.mesh)
    mesh = pdgpu.Mesh((mesh.points - mesh.points.min(axis=0)) / np.ptp(mesh.points, axis=0).max(), tets=mesh.tets)

    timers = {
        ("PD iteration", 1): timer(mesh, pdgpu.Direct(), 1),
        ("PD iteration", 2): timer(mesh, pdgpu.Direct(), 2),
        ("PD iteration, float32", 2): timer(mesh, pdgpu.Direct(), 2, "float32"),
        ("local step and right-hand side", 1): gradient_timer(mesh, 1),
        ("local step and right-hand side", 2): gradient_timer(mesh, 2),
    }
    try:
        timers["libigl ARAP iteration", 1] = libigl_timer(mesh)
    except ImportError:
        print("libigl is not installed (pip install libigl): no comparison")
    samples = {key: [] for key in timers}
    for _ in range(REPETITIONS + 1):
        for key, run in timers.items():
            samples[key].append(run())
    median = {key: statistics.median(values[1:]) for key, values in samples.items()}
    for threads in (1, 2):
        median["triangular solves", threads] = median["PD iteration", threads] - median["local step and right-hand side", threads]

    base = median.get(("libigl ARAP iteration", 1))
    rows = []
    for (name, threads), seconds in median.items():
        one = median.get((name, 1))
        rows.append(
            (
                name,
                threads,
                f"{1e3 * seconds:.3f}",
                f"{one / seconds:.2f}" if threads > 1 and one else "",
                f"{base / seconds:.2f}" if base and name.startswith("PD") else "",
            )
        )
    print(f"{len(mesh.points)} vertices, {len(mesh.tets)} tets; {REPETITIONS} repetitions of {ITERATIONS} iterations")
    write_table(options.out, ("what", "threads", "ms", "x 1 thread", "x libigl"), rows)


if __name__ == "__main__":
    main()
