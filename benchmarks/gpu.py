"""How fast is a Projective Dynamics iteration on the GPU, beside the CPU of the same machine, from 10 thousand to a million tets?

Medians of warm steps of twenty iterations, CPU and GPU in turn. With the direct solver the residual and the correction travel between
device and host in every iteration, and the host solves. With Jacobi sweeps everything stays on the device, and the time of an
iteration is linear in the sweeps: one sweep shows the local step (projections, forces gathered per vertex, one cheap sweep, the move),
and eleven sweeps less one, divided by ten, show what a further sweep costs.

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
LINEAR = {
    "direct": pdgpu.Direct(),
    "1 sweep": pdgpu.Jacobi(weight=0.5, iterations=1),
    "11 sweeps": pdgpu.Jacobi(weight=0.5, iterations=11),
}


def timer(mesh, linear, device, dtype):
    """A function that runs a step and returns seconds per iteration; the last iteration waits for the device."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(mesh, pdgpu.ARAP(1e6), density=1000.0).pin(mesh.points[:, 0] < 1e-9)
    solver = pdgpu.ProjectiveDynamics(iterations=ITERATIONS, linear=linear, check_every=ITERATIONS)
    sim = pdgpu.Simulation(scene, solver, dt=1 / 30, device=device, dtype=dtype)
    start = mesh.points * [1.3, 1.0, 1.0]

    def run():
        sim.set_state(positions=start, velocities=np.zeros_like(start))
        sim.step()
        return sim.last_step.solve_seconds / ITERATIONS

    return run


def milliseconds(mesh, dtype):
    """{(what, device): ms}"""
    median = {}
    for name, linear in LINEAR.items():
        timers = {device: timer(mesh, linear, device, dtype) for device in ("cpu", "cuda")}
        samples = {device: [] for device in timers}
        for _ in range(REPETITIONS + 1):
            for device, run in timers.items():
                samples[device].append(1e3 * run())
        for device, values in samples.items():
            median[name, device] = statistics.median(values[1:])
    for device in ("cpu", "cuda"):
        one, eleven = median["1 sweep", device], median["11 sweeps", device]
        median["iteration, direct solver", device] = median["direct", device]
        median["iteration, 11 Jacobi sweeps", device] = eleven
        median["local step and one sweep", device] = one
        median["a further sweep", device] = (eleven - one) / 10
    return {key: value for key, value in median.items() if key[0] not in LINEAR}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table, the GPU, the date and the commit")
    options = parser.parse_args()
    try:
        devices = backend("cuda", "float32").devices()
    except RuntimeError as error:
        raise SystemExit(f"nothing is measured: {error}") from None
    rows = []
    for cells in SIZES:
        mesh = pdgpu.shapes.beam((8.0, 1.0, 1.0), cells=cells)
        for dtype in ("float32", "float64"):
            median = milliseconds(mesh, dtype)
            for name in dict.fromkeys(what for what, _ in median):
                cpu, cuda = median[name, "cpu"], median[name, "cuda"]
                # a difference of two medians may drown in their scatter
                ratio = f"{cpu / cuda:.2f}" if cpu > 0 and cuda > 0 else ""
                rows.append((len(mesh.tets), name, dtype, f"{cpu:.3f}", f"{cuda:.3f}", ratio))
    write_table(options.out, ("tets", "what", "dtype", "cpu ms", "cuda ms", "cpu / cuda"), rows, notes=[f"GPU: {devices[0]}"])


if __name__ == "__main__":
    main()
