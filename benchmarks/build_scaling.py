"""How do the time to the first step and the memory grow with the mesh, from 10 thousand to a million tets?

Each size runs in its own process, so the peak memory is its own. Phases: the mesh with its checks, the simulation without
its factorisation (rest shapes, masses, pattern, matrix), the factorisation, the first step of ten iterations. An exponent is
log(cost ratio) / log(tet ratio) to the size before; the factorisation of a 3D mesh grows faster than linearly by nature.
Medians of three processes. The largest size runs once uncounted: on a virtual machine memory that no process has
touched for a while costs several times as much to touch as memory that was just given back.

    python benchmarks/build_scaling.py [--out FILE.csv]
"""

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import time

from machine import write_table

# cells of a beam with 6 tets each: about 10K, 100K, 1M tets, all of the same shape
SIZES = [(48, 6, 6), (104, 13, 13), (220, 28, 28)]
PROCESSES = 3


def measure(cells, factorise):
    """One process: seconds of each phase and peak memory in MB."""
    import pdgpu

    clock = time.perf_counter
    baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    t0 = clock()
    mesh = pdgpu.shapes.beam((8.0, 1.0, 1.0), cells=cells)
    t1 = clock()
    scene = pdgpu.Scene()
    body = scene.add_solid(mesh, pdgpu.ARAP(1e6), density=1000.0)
    body.pin(lambda x: x[:, 0] < 1e-9)
    solver = pdgpu.ProjectiveDynamics(linear=pdgpu.Direct() if factorise else pdgpu.Jacobi(weight=0.5))
    t2 = clock()
    simulation = pdgpu.Simulation(scene, solver)
    t3 = clock()
    simulation.step()
    t4 = clock()
    factor = simulation.last_step.setup_seconds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps(
            {
                "tets": len(mesh.tets),
                "mesh": t1 - t0,
                "build": (t2 - t1) + (t3 - t2) - factor,
                "factor": factor,
                "step": t4 - t3,
                "memory": peak - baseline,
            }
        )
    )


def run(cells, kind):
    """The figures of one size, from a process of its own."""
    command = [sys.executable, __file__, "--one", *map(str, cells), kind]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure(tuple(map(int, options.one[:3])), options.one[3] == "direct")
        return
    rows, last = [], {}
    run(SIZES[-1], "direct")
    for kind in ("direct", "jacobi"):
        for cells in SIZES:
            samples = [run(cells, kind) for _ in range(PROCESSES)]
            result = {key: statistics.median(sample[key] for sample in samples) for key in samples[0]}
            before = last.get(kind)
            exponents = []
            for phase in ("mesh", "build", "factor", "step", "memory"):
                exponents.append(
                    f"{math.log(result[phase] / before[phase]) / math.log(result['tets'] / before['tets']):.2f}" if before else ""
                )
            last[kind] = result
            rows.append(
                (
                    kind,
                    result["tets"],
                    *(f"{result[phase]:.3f}" for phase in ("mesh", "build", "factor", "step")),
                    f"{result['memory']:.0f}",
                    f"{1e6 * result['memory'] / result['tets']:.0f}",
                    *exponents,
                )
            )
    header = ("global step", "tets", "mesh s", "build s", "factor s", "10 iterations s", "peak MB", "bytes per tet")
    write_table(options.out, (*header, "^mesh", "^build", "^factor", "^step", "^memory"), rows)


if __name__ == "__main__":
    main()
