"""What does an iteration of Vertex Block Descent cost on the GPU, and how near is it to the bytes it has to move?

The beams of the paper [Chen et al. 2024, Sec. 5.1]: blocks of 30 x 2 x 3 cells of six tets, neo-Hookean, float32, stretched and let go,
without contact. 620 of them are 230,640 vertices and 669,600 tets in 8 colours. Measured are the device's time of a step of 120 iterations
and that of one iteration: a step of 520 less a step of 120, over 400. --beams N measures steps of 40 iterations of N beams, the time to
build them and their memory; --large is 129,000 beams, 48 million vertices and 139 million tets.

Bytes are counted as in vertex_block_descent.py. The floor is those bytes at the copy bandwidth measured in the same run, plus an empty
graph of as many launches as there are colours. PDGPU_UPDATE_THREADS sets the threads that share a vertex. One thread a vertex is the plain
kernel, which the others are compared with.

    python benchmarks/gpu_vertex_block_descent.py [--threads 4,8,16] [--beams N | --large] [--out FILE.csv] [--tiny] [--device cuda]
"""

import functools
import resource
import subprocess
import time

import numpy as np
from device import copy_bandwidth, environment, integers, medians, microseconds, options, ratio, step_timer, write_cases, yardstick
from vertex_block_descent import counted_bytes

import pdgpu

CELLS, CELL = (30, 2, 3), 0.1  # m
BEAMS = {False: 620, True: 1}
LARGE = {False: 129_000, True: 2}
MU, LAM, DENSITY, STEP, STRETCH = 2e5, 1e6, 1000.0, 1 / 300, 1.3
ITERATIONS = {False: (120, 520), True: (1, 2)}  # 120: [Chen et al. 2024, Fig. 19]
LARGE_ITERATIONS = 40  # of the paper's 129,000 beams
THREADS = (1, 4, 8, 16, 32)
PLAIN, CHOSEN = "1 thread", "as pdgpu chooses"


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


def kernels_of(chosen, names):
    """{kernel: PDGPU_UPDATE_THREADS}: those of --threads, else of `names`."""
    known = {f"{n} thread{'s' if n > 1 else ''}": str(n) for n in chosen.threads or THREADS}
    if chosen.device == "cpu":
        return {"on the CPU": None}
    return known if chosen.threads else {name: known.get(name) for name in names}


@functools.cache
def launch_seconds(colours):
    """Of as many launches in a graph, None where it was not measured."""
    seconds = yardstick(f"graph:{100 * colours}")[f"graph:{100 * colours}"]
    return seconds / 100 if seconds else None


def floor(counted, colours, n, bandwidth):
    """Seconds of an iteration that moves `counted` bytes a vertex."""
    launches = launch_seconds(colours)
    return counted * n / bandwidth + launches if bandwidth and launches else None


def gigabytes(value):
    return "" if value is None else f"{value / 1e9:.0f}"


def milliseconds(value):
    return "" if value is None else f"{1e3 * value:.3f}"


def small(chosen):
    """Each kernel takes turns with the plain one, where that is measured too, and with no other."""
    few, many = ITERATIONS[chosen.tiny]
    bandwidth = copy_bandwidth(chosen.tiny)
    mesh, held = beams(BEAMS[chosen.tiny])
    scene, start, n = scene_of(mesh, held), mesh.points * [STRETCH, 1.0, 1.0], len(mesh.points)
    kernels = kernels_of(chosen, (PLAIN, CHOSEN, *(f"{n} threads" for n in THREADS[1:])))
    plain = []  # its timer, once measured

    def measure(name):
        with environment(PDGPU_UPDATE_THREADS=kernels[name]):
            simulations = {iterations: simulation_of(scene, iterations, chosen.device) for iterations in (few, many)}
        colours = simulations[few].parameters["colours"]
        seconds = step_timer(simulations, start)

        def iteration():
            return (seconds(many) - seconds(few)) / (many - few)

        timers = {"plain": plain[0]} if plain else {}
        times = medians({**timers, "iteration": iteration, "step": lambda: seconds(few)}, chosen.tiny)
        if name == PLAIN:
            plain.append(iteration)
        median = times["iteration"][0]
        counted = counted_bytes(4 * len(mesh.tets) / n, 4, colours)
        speed = counted * n / median if median > 0 else None
        yield (
            name,
            n,
            len(mesh.tets),
            colours,
            milliseconds(times["step"][0]),
            *map(microseconds, times["iteration"]),
            f"{counted:.0f}",
            gigabytes(speed),
            ratio(speed, bandwidth),
            microseconds(floor(counted, colours, n, bandwidth)),
            ratio(times.get("plain", times["iteration"])[0], median) if plain else "",
        )

    header = (
        "kernel",
        "vertices",
        "tets",
        "colours",
        f"{ITERATIONS[False][0]} iterations ms",
        "us",
        "least us",
        "most us",
        "bytes/vertex",
        "GB/s",
        "of copy",
        "floor us",
        "x plain",
    )
    cases = [((name, n, len(mesh.tets)), functools.partial(measure, name)) for name in kernels]
    write_cases(chosen, header, cases, [*chosen.names, f"copy: {gigabytes(bandwidth)} GB/s read and written"])


def memory_in_use(chosen):
    """MiB of the first device, by everybody; None where nvidia-smi does not say."""
    if chosen.device != "cuda":
        return None
    try:
        command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0])
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError):
        return None


def large(chosen, count):
    """A simulation for each kernel, one after the other, for the memory."""
    clock = time.perf_counter
    bandwidth = copy_bandwidth(chosen.tiny)
    begin = clock()
    mesh, held = beams(count)
    meshed = clock()
    n, tets, scene = len(mesh.points), len(mesh.tets), scene_of(mesh, held)
    scened = clock()
    print(f"{n} vertices, {tets} tets: mesh {meshed - begin:.1f} s, scene {scened - meshed:.1f} s", flush=True)
    kernels = kernels_of(chosen, (CHOSEN,))

    def measure(name):
        before, start = memory_in_use(chosen), clock()
        with environment(PDGPU_UPDATE_THREADS=kernels[name]):
            simulation = simulation_of(scene, LARGE_ITERATIONS, chosen.device)
        built, after = clock(), memory_in_use(chosen)
        colours = simulation.parameters["colours"]
        print(f"{name}: simulation {built - start:.1f} s", flush=True)
        simulation.set_state(positions=mesh.points * [STRETCH, 1.0, 1.0])

        def seconds():  # of steps that follow each other: a new state would take the host longer than a step the device
            simulation.step()
            return simulation.last_step.device_seconds

        step, least, most = medians({name: seconds}, chosen.tiny)[name]
        counted = counted_bytes(4 * tets / n, 4, colours)
        speed, fastest = counted * n * LARGE_ITERATIONS / step, floor(counted, colours, n, bandwidth)
        yield (
            name,
            n,
            tets,
            colours,
            f"{meshed - begin:.1f}",
            f"{scened - meshed:.1f}",
            f"{built - start:.1f}",
            f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2:.1f}",
            "" if before is None or after is None else f"{(after - before) / 1024:.1f}",
            *map(milliseconds, (step, least, most)),
            f"{counted:.0f}",
            gigabytes(speed),
            ratio(speed, bandwidth),
            "" if fastest is None else milliseconds(fastest * LARGE_ITERATIONS),
        )

    header = ("kernel", "vertices", "tets", "colours", "mesh s", "scene s", "build s", "host GiB", "device GiB")
    times = (f"{LARGE_ITERATIONS} iterations ms", "least ms", "most ms", "bytes/vertex", "GB/s", "of copy", "floor ms")
    cases = [((name, n, tets), functools.partial(measure, name)) for name in kernels]
    write_cases(
        chosen, (*header, *times), cases, [*chosen.names, f"copy: {gigabytes(bandwidth)} GB/s read and written; medians of warm steps"]
    )


def main():
    threads = {
        "type": integers(THREADS),
        "metavar": "N,...",
        "help": "threads that share a vertex, of 1, 4, 8, 16 and 32 (all, and what pdgpu chooses)",
    }
    count = {"type": int, "metavar": "N", "help": "N beams instead of 620: build, memory, and steps of 40 iterations"}
    chosen = options(__doc__, large="129,000 beams: --beams 129000", beams=count, threads=threads)
    if chosen.large or chosen.beams:
        large(chosen, chosen.beams or LARGE[chosen.tiny])
    else:
        small(chosen)


if __name__ == "__main__":
    main()
