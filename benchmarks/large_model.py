"""How long does it take to build a very large model, and how much memory?

Beams of 30 x 2 x 3 cells of six tets each (372 vertices, 1,080 tets a beam), as in Chen et al. [2024, VBD]: 129,000 of them are 48 million
vertices and 139 million tets. Neo-Hookean, float32, Vertex Block Descent. Each number of beams runs in a process of its own. CPU
seconds are those of all threads together. A phase's peak is the most resident memory while it ran, its end what stays when it is over;
both without what the process held before the arrays were made. The exponents are log(cost ratio) / log(ratio of the tets) to the size
before.

    python benchmarks/large_model.py [--beams N ...] [--threads N] [--device cpu] [--out FILE.csv]
"""

import argparse
import gc
import json
import math
import subprocess
import sys
import time

from machine import write_table

CELLS = (30, 2, 3)
FULL = 129_000  # beams


def resident(key):
    """VmRSS or VmHWM of this process, bytes."""
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(key))


def measure(beams, threads, device):
    """One process: seconds and bytes of each phase, on stdout."""
    import numpy as np

    import pdgpu

    beam = pdgpu.shapes.beam((30.0, 2.0, 3.0), cells=CELLS)
    pdgpu._internal.backends.backend(device, "float32")
    rows, baseline = {}, resident("VmRSS")

    def phase(name, make):
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the high-water mark restarts
        start, cpu = time.perf_counter(), time.process_time()
        result = make()
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        gc.collect()
        rows[name] = {"seconds": seconds, "peak": resident("VmHWM") - baseline, "end": resident("VmRSS") - baseline, "cpu": cpu}
        return result

    def arrays():
        n = len(beam.points)
        points = np.empty((beams, n, 3))
        points[:] = beam.points
        points[:, :, 1] += 4.0 * (np.arange(beams) % 360)[:, None]
        points[:, :, 2] += 4.0 * (np.arange(beams) // 360)[:, None]
        tets = np.empty((beams, *beam.tets.shape), dtype=np.int32)
        np.add(beam.tets, n * np.arange(beams, dtype=np.int32)[:, None, None], out=tets)
        return points.reshape(-1, 3), tets.reshape(-1, 4)

    made = [phase("arrays", arrays)]
    counts = {"beams": beams, "vertices": len(made[0][0]), "tets": len(made[0][1])}
    made = [phase("Mesh", lambda: pdgpu.Mesh(made[0][0], tets=made[0][1]))]
    scene = pdgpu.Scene()
    phase("add_solid", lambda: scene.add_solid(made[0], pdgpu.NeoHookean(1e6, 1e7), density=1000.0))
    solver = pdgpu.VertexBlockDescent(iterations=1)
    sim = phase("Simulation", lambda: pdgpu.Simulation(scene, solver, dt=1 / 60, device=device, dtype="float32", threads=threads))
    phase("first step", lambda: sim.step())
    print(json.dumps({**counts, "phases": rows}))


def run(beams, options):
    command = [sys.executable, __file__, "--one", str(beams), "--threads", str(options.threads), "--device", options.device]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--beams", type=int, nargs="+", default=[FULL // 80, FULL // 40, FULL // 20])
    parser.add_argument("--threads", type=int, default=0, help="0: all cores")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure(options.one, options.threads, options.device)
        return
    table, before = [], None
    for beams in options.beams:
        result = run(beams, options)
        phases = result["phases"]
        built = [name for name in phases if name not in ("arrays", "first step")]
        phases["build"] = {
            "seconds": sum(phases[name]["seconds"] for name in built),
            "cpu": sum(phases[name]["cpu"] for name in built),
            "peak": max(phases[name]["peak"] for name in built),
            "end": phases[built[-1]]["end"],
        }
        for name, row in phases.items():
            growth = ["", ""]
            if before:
                ratio = math.log(result["tets"] / before["tets"])
                growth = [f"{math.log(row[key] / before['phases'][name][key]) / ratio:.2f}" for key in ("cpu", "peak")]
            per_tet = [f"{row[key] / result['tets']:.0f}" for key in ("peak", "end")]
            full = FULL / beams
            table.append(
                (
                    *(result[key] for key in ("beams", "vertices", "tets")),
                    name,
                    f"{row['seconds']:.2f}",
                    f"{row['cpu']:.2f}",
                    f"{row['peak'] / 2**30:.2f}",
                    f"{row['end'] / 2**30:.2f}",
                    *per_tet,
                    *growth,
                    f"{row['cpu'] * full:.0f}",
                    f"{row['peak'] * full / 2**30:.0f}",
                )
            )
        before = result
    header = ("beams", "vertices", "tets", "phase", "s", "CPU s", "peak GiB", "end GiB", "peak B per tet", "end B per tet")
    notes = [f"threads {options.threads or 'all'}, {options.device}, float32; the last two columns: linearly, to {FULL} beams"]
    write_table(options.out, (*header, "^CPU", "^peak", "full CPU s", "full peak GiB"), table, notes)


if __name__ == "__main__":
    main()
