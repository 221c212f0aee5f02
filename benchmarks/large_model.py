"""How long does a model of many beams take to build, and how much memory does it need, beside its number of tets?

The scene of gpu_vertex_block_descent.py: beams of 30 x 2 x 3 cells of six tets, neo-Hookean, float32, for Vertex Block Descent. Each
size is built in a process of its own; the memory is the largest the process ever had, less what importing took. With device="cpu" the model
lies in that memory too; on a GPU it does not. On a virtual machine memory that nobody touched for a while is slow to get,
so a size is built twice and the second time counts.

    python benchmarks/large_model.py [--beams 1300 2600 5200] [--threads 1 2] [--device cpu] [--out FILE.csv]
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time

from machine import write_table

BEAMS = [1300, 2600, 5200, 10400]


def build(count, threads, device):
    from gpu_vertex_block_descent import beams, scene_of

    import pdgpu

    solver = pdgpu.VertexBlockDescent(iterations=1)
    before, seconds = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, {}
    for _ in range(2):
        simulation = scene = mesh = None
        begin = time.perf_counter()
        mesh, held = beams(count)
        seconds["mesh"] = time.perf_counter() - begin
        begin = time.perf_counter()
        scene = scene_of(mesh, held)
        seconds["scene"] = time.perf_counter() - begin
        begin = time.perf_counter()
        simulation = pdgpu.Simulation(scene, solver, dt=1 / 300, device=device, dtype="float32", threads=threads)
        seconds["simulation"] = time.perf_counter() - begin
    begin = time.perf_counter()
    simulation.step()
    seconds["step"] = time.perf_counter() - begin
    peak = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return {"vertices": len(mesh.points), "tets": len(mesh.tets), "peak": peak, **seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--beams", type=int, nargs="+", default=BEAMS)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, len(os.sched_getaffinity(0))])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(build(*json.loads(options.one))))
        return
    rows = []
    for threads in options.threads:
        first = None
        for count in options.beams:
            case = json.dumps([count, threads, options.device])
            result = json.loads(
                subprocess.run([sys.executable, __file__, "--one", case], check=True, capture_output=True, text=True).stdout
            )
            total = result["mesh"] + result["scene"] + result["simulation"]
            first = first or (result["tets"], total)
            growth = math.log(total / first[1]) / math.log(result["tets"] / first[0]) if result["tets"] > first[0] else None
            rows.append(
                (
                    threads,
                    result["vertices"],
                    result["tets"],
                    *(f"{result[name]:.2f}" for name in ("mesh", "scene", "simulation", "step")),
                    f"{1e6 * total / result['tets']:.2f}",
                    "" if growth is None else f"{growth:.2f}",
                    f"{result['peak'] / 1e9:.2f}",
                    f"{result['peak'] / result['tets']:.0f}",
                )
            )
    header = (
        "threads",
        "vertices",
        "tets",
        "mesh s",
        "scene s",
        "simulation s",
        "first step s",
        "us/tet",
        "exponent",
        "peak GB",
        "bytes/tet",
    )
    write_table(options.out, header, rows, [f"device {options.device}, float32"])


if __name__ == "__main__":
    main()
