"""How fast is a Projective Dynamics iteration on the GPU, beside the CPU of the same machine, from 10 thousand to a million tets?

Medians of warm steps of twenty iterations; the direct solver solves on the host, the Jacobi solver stays on the device.

    python benchmarks/gpu.py [--out FILE.csv]
"""

import argparse
import statistics

import numpy as np
from machine import write_table

import pdgpu
from pdgpu.backends import backend

SIZES = [(48, 6, 6), (104, 13, 13), (220, 28, 28)]
ITERATIONS, REPETITIONS = 20, 5


def seconds_per_iteration(mesh, linear, device, dtype):
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(mesh, pdgpu.ARAP(1e6), density=1000.0).pin(mesh.points[:, 0] < 1e-9)
    solver = pdgpu.ProjectiveDynamics(iterations=ITERATIONS, linear=linear, check_every=ITERATIONS)
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30, device=device, dtype=dtype)
    start, samples = mesh.points * [1.3, 1.0, 1.0], []
    for _ in range(REPETITIONS + 1):
        sim.set_state(positions=start, velocities=np.zeros_like(start))
        sim.step()
        samples.append(sim.last_step.solve_seconds / ITERATIONS)
    return statistics.median(samples[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out")
    options = parser.parse_args()
    print("device:", ", ".join(backend("cuda", "float32").devices()))
    rows = []
    for cells in SIZES:
        mesh = pdgpu.shapes.beam((8.0, 1.0, 1.0), cells=cells)
        for name, linear in (("direct", pdgpu.Direct()), ("10 Jacobi sweeps", pdgpu.Jacobi(weight=0.5, iterations=10))):
            for dtype in ("float32", "float64"):
                cpu, gpu = (seconds_per_iteration(mesh, linear, device, dtype) for device in ("cpu", "cuda"))
                rows.append((len(mesh.tets), name, dtype, f"{1e3 * cpu:.3f}", f"{1e3 * gpu:.3f}", f"{cpu / gpu:.2f}"))
    write_table(options.out, ("tets", "global step", "dtype", "cpu ms", "cuda ms", "cpu / cuda"), rows)


if __name__ == "__main__":
    main()
