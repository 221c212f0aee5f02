"""What does an iteration of Vertex Block Descent cost on the GPU, and how near is it to the bytes it has to move?

The beams of the paper [Chen et al. 2024, Sec. 5.1]: blocks of 30 x 2 x 3 cells of six tets, neo-Hookean, float32, stretched and let go,
without contact. 620 of them are 230,640 vertices and 669,600 tets in 8 colours; with --large 129,000, 48 million vertices and 139 million
tets: whether they fit, how long it takes to build them, and 40 iterations. Bytes are counted as in vertex_block_descent.py; the floor is
those bytes at the copy bandwidth measured in the same run, plus an empty graph of as many launches as there are colours. The threads that
share a vertex are chosen by PDGPU_UPDATE_THREADS; one thread a vertex is the plain kernel that the others are held against.

    python benchmarks/gpu_vertex_block_descent.py [--large] [--out FILE.csv] [--tiny] [--device cuda]
"""

import resource
import statistics
import subprocess
import time

import numpy as np
from device import copy_bandwidth, environment, microseconds, options, ratio, seconds_per_iteration, step_timer, yardstick
from machine import write_table
from vertex_block_descent import counted_bytes

import pdgpu

CELLS, CELL = (30, 2, 3), 0.1  # m
BEAMS = {False: 620, True: 1}
LARGE = {False: 129_000, True: 2}
MU, LAM, DENSITY, STEP, STRETCH = 2e5, 1e6, 1000.0, 1 / 300, 1.3
PAPER_ITERATIONS = 40
# {kernel: threads that share a vertex}, the plain one first
THREADS = {"1 thread": "1", "as pdgpu chooses": None, **{f"{n} threads": str(n) for n in (4, 8, 16, 32)}}


def beams(count):
    """One mesh of `count` beams side by side, and the vertices of their left ends."""
    one = pdgpu.shapes.beam(tuple(CELL * n for n in CELLS), cells=CELLS)
    n = len(one.points)
    side = int(np.ceil(np.sqrt(count)))
    k = np.arange(count)
    corner = np.stack([0.0 * k, 2 * CELL * CELLS[1] * (k % side), 2 * CELL * CELLS[2] * (k // side)], axis=1)
    points = (corner[:, None] + one.points).reshape(-1, 3)
    tets = (np.arange(count, dtype=np.int32)[:, None, None] * np.int32(n) + one.tets).reshape(-1, 4)
    return pdgpu.Mesh(points, tets=tets), np.tile(one.points[:, 0] < 1e-9, count)


def scene_of(mesh, held):
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(mesh, pdgpu.NeoHookean(MU, LAM), density=DENSITY).pin(held)
    return scene


def simulation_of(scene, iterations, device):
    solver = pdgpu.VertexBlockDescent(iterations=iterations, initialization="inertial_target", check_every=iterations)
    return pdgpu.Simulation(scene, solver, dt=STEP, device=device, dtype="float32")


def floor(corners, colours, n, chosen):
    """(bytes per vertex, copy bandwidth, seconds of the floor)"""
    counted = counted_bytes(corners, 4, colours)
    bandwidth = copy_bandwidth(chosen.tiny)
    launches = yardstick(f"graph:{100 * colours}")[f"graph:{100 * colours}"]
    return counted, bandwidth, counted * n / bandwidth + launches / 100 if bandwidth and launches else None


def gigabytes(value):
    return "" if value is None else f"{value / 1e9:.0f}"


def small(chosen):
    """A row for each kernel, as soon as it is measured: each takes turns with the plain one, and no other."""
    few, many = (1, 2) if chosen.tiny else (40, 440)
    mesh, held = beams(BEAMS[chosen.tiny])
    scene, start, n = scene_of(mesh, held), mesh.points * [STRETCH, 1.0, 1.0], len(mesh.points)

    def case(threads):
        with environment(PDGPU_UPDATE_THREADS=threads):
            simulations = {iterations: simulation_of(scene, iterations, chosen.device) for iterations in (few, many)}
        return simulations[few].parameters["colours"], (few, many, step_timer(simulations, start))

    kernels = THREADS if chosen.device == "cuda" else {"on the CPU": None}
    plain = next(iter(kernels))
    colours, of_plain = case(kernels[plain])
    counted, bandwidth, least = floor(4 * len(mesh.tets) / n, colours, n, chosen)

    def rows():
        for name in kernels:
            of_this = of_plain if name == plain else case(kernels[name])[1]
            times = seconds_per_iteration({plain: of_plain, name: of_this}, chosen.tiny)
            median = times[name][0]
            speed = counted * n / median if median > 0 else None
            yield (
                name,
                n,
                len(mesh.tets),
                colours,
                *map(microseconds, times[name]),
                f"{counted:.0f}",
                gigabytes(speed),
                ratio(speed, bandwidth),
                microseconds(least),
                ratio(times[plain][0], median),
            )

    header = (
        "kernel",
        "vertices",
        "tets",
        "colours",
        "us",
        "least us",
        "most us",
        "bytes/vertex",
        "GB/s",
        "of copy",
        "floor us",
        "x plain",
    )
    write_table(chosen.out, header, rows(), [*chosen.names, f"copy: {gigabytes(bandwidth)} GB/s read and written"])


def memory_in_use(chosen):
    """MiB of the first device, by everybody; None where nvidia-smi does not say."""
    if chosen.device != "cuda":
        return None
    try:
        command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0])
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError):
        return None


def large(chosen):
    before, clock = memory_in_use(chosen), time.perf_counter
    begin = clock()
    mesh, held = beams(LARGE[chosen.tiny])
    meshed = clock()
    scene = scene_of(mesh, held)
    simulation = simulation_of(scene, PAPER_ITERATIONS, chosen.device)
    built = clock()
    n, tets, colours = len(mesh.points), len(mesh.tets), simulation.parameters["colours"]
    print(f"{n} vertices, {tets} tets: mesh {meshed - begin:.1f} s, scene and simulation {built - meshed:.1f} s", flush=True)
    after = memory_in_use(chosen)
    seconds = step_timer({PAPER_ITERATIONS: simulation}, mesh.points * [STRETCH, 1.0, 1.0])
    if not chosen.tiny:
        seconds(PAPER_ITERATIONS)  # cold
    iterations = statistics.median(seconds(PAPER_ITERATIONS) for _ in range(1 if chosen.tiny else 5))
    counted, bandwidth, least = floor(4 * tets / n, colours, n, chosen)
    speed = counted * n * PAPER_ITERATIONS / iterations
    row = (
        n,
        tets,
        colours,
        f"{meshed - begin:.1f}",
        f"{built - meshed:.1f}",
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2:.1f}",
        "" if before is None or after is None else f"{(after - before) / 1024:.1f}",
        f"{iterations:.3f}",
        f"{counted:.0f}",
        gigabytes(speed),
        ratio(speed, bandwidth),
        "" if least is None else f"{least * PAPER_ITERATIONS:.3f}",
    )
    header = ("vertices", "tets", "colours", "mesh s", "build s", "host GiB", "device GiB", f"{PAPER_ITERATIONS} iterations s")
    notes = [*chosen.names, f"copy: {gigabytes(bandwidth)} GB/s read and written; median of warm steps"]
    write_table(chosen.out, (*header, "bytes/vertex", "GB/s", "of copy", "floor s"), [row], notes)


def main():
    chosen = options(__doc__, large="129,000 beams, once, instead of 620 with every kernel")
    (large if chosen.large else small)(chosen)


if __name__ == "__main__":
    main()
