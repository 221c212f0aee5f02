"""What does a step of many layers of cloth cost, and how does it grow with the layers?

Square sheets of 69 x 69 cells lie on each other, each turned a little against the one below, and fall on a sphere of fixed triangles: 50 of
them have 245,000 vertices. Chen et al. 2025, Offset Geometric Contact, report 0.21 s a step for 50 layers of cloth with 246 thousand
vertices on a CPU. Their mesh, materials and processor are not these, so the figures show an order of magnitude.

Vertex Block Descent with `BarrierContact` and friction. The sheets begin inside each other's activation distance. After `fall` steps, by
which the lowest sheets hang over the sphere, `steps` are timed: "s/step" is the median of the clock's seconds, "cpu s/step" that of the
processor's. "peak GB" is the largest memory of the process so far. "pairs" act at the end, "iterations" are those of a step.
"intersections" counts those of the last state exactly.

Each number of layers has processes of its own. With `before`, the folder of another installation's package, both take their steps in
turn, and "x before" is the median of the ratios of the processor's seconds.

    python benchmarks/layers_of_cloth.py [--out FILE.csv] [--layers 5 50] [--fall 20] [--steps 5] [--iterations 10] [--threads 2]
                                         [--dtype float32] [--before FOLDER] [--tiny]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings

import numpy as np
from machine import write_table

import pdgpu
from pdgpu import shapes

DT = 1 / 100  # s
SIDE, DENSITY, LAME, BENDING, FRICTION = 1.0, 0.2, 1e3, 1e-5, 0.2  # m, kg/m^2, N/m, J
ACTIVATION, GAP = 0.2, 0.9  # activation distance / edge, gap / activation distance
STIFFNESS = 10.0  # N/m: so that some 50 sheets press no gap to nothing
RADIUS, SPEED = 0.25, 0.5  # of the sphere, m, and of the fall, m/s
HEADER = ("program", "layers", "vertices", "triangles", "dtype", "threads", "iterations", "fall")
HEADER += ("s/step", "cpu s/step", "most s", "x before", "peak GB", "pairs", "intersections")


def stack(layers, cells, level):
    """The scene, the sphere and the activation distance, m."""
    distance = ACTIVATION * SIDE / cells
    flat = shapes.grid((SIDE, SIDE), (cells, cells))
    scene = pdgpu.Scene()
    for layer in range(layers):
        c, s = np.cos(0.05 * layer), np.sin(0.05 * layer)
        x, z = flat.points[:, 0] - 0.5 * SIDE, flat.points[:, 1] - 0.5 * SIDE
        height = np.full(len(x), RADIUS + GAP * distance * (layer + 1))
        sheet = pdgpu.Mesh(np.column_stack([c * x + s * z, height, c * z - s * x]), triangles=flat.triangles)
        material = pdgpu.StVK(LAME, LAME)
        scene.add_shell(sheet, material, density=DENSITY, bending=BENDING, velocity=(0.0, -SPEED, 0.0), name=f"sheet {layer}")
    sphere = shapes.sphere(RADIUS, level)
    scene.add_obstacle(pdgpu.Mesh(sphere.points, triangles=sphere.triangles), name="sphere")
    return scene, sphere, distance


def intersections(sim, scene, sphere):
    shift = np.cumsum([0] + [len(body.mesh.points) for body in scene.bodies])
    meshes = [body.mesh.triangles + start for body, start in zip(scene.bodies, shift, strict=False)]
    points = np.concatenate([sim.positions, sphere.points])
    return len(pdgpu.geometry.find_intersections(points, np.concatenate([*meshes, sphere.triangles + shift[-1]])))


# ---- in the process of one installation ---------------------------------------------------------------------------------------------


def peak_memory():
    """GB; None where the system does not tell."""
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1.024e-6
    except (OSError, StopIteration):
        return None


def child(layers, chosen):
    """Takes a step for each line of the input, and writes its seconds; then the numbers of the last state."""
    warnings.simplefilter("ignore")
    scene, sphere, distance = stack(layers, *((6, 1) if chosen.tiny else (69, 4)))
    solver = pdgpu.VertexBlockDescent(iterations=chosen.iterations)
    contact = pdgpu.BarrierContact(distance, stiffness=STIFFNESS, friction=FRICTION)
    sim = pdgpu.Simulation(scene, solver, dt=DT, contact=contact, dtype=chosen.dtype, threads=chosen.threads)
    for _ in sys.stdin:
        begun, spent = time.perf_counter(), time.process_time()
        sim.step()
        print(json.dumps((time.perf_counter() - begun, time.process_time() - spent)), flush=True)
    triangles = sum(len(body.mesh.triangles) for body in scene.bodies)
    peak = peak_memory()  # before the search for intersections
    print(json.dumps((scene.n_vertices, triangles, peak, len(sim.contact_forces()), intersections(sim, scene, sphere))), flush=True)


# ---- in turn ------------------------------------------------------------------------------------------------------------------------


def begin(folder, layers, chosen):
    command = [
        sys.executable,
        __file__,
        "--child",
        "--layers",
        str(layers),
        "--iterations",
        str(chosen.iterations),
        "--dtype",
        chosen.dtype,
    ]
    environment = {**os.environ, "PYTHONPATH": folder} if folder else None
    command += ["--threads", str(chosen.threads), *["--tiny"] * chosen.tiny]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def answer(process):
    line = process.stdout.readline()
    if not line:
        sys.exit(f"a run ended with status {process.wait()}; see its message above")
    return json.loads(line)


def step(process):
    process.stdin.write("step\n")
    process.stdin.flush()
    return answer(process)


def rows(layers, chosen):
    fall, steps = (1, 1) if chosen.tiny else (chosen.fall, chosen.steps)
    programs = {"before": chosen.before, "now": None} if chosen.before else {"now": None}
    processes = {name: begin(folder, layers, chosen) for name, folder in programs.items()}
    taken = {name: [] for name in processes}
    for _ in range(fall + steps):
        for name, process in processes.items():
            taken[name].append(step(process))
    for name, process in processes.items():
        process.stdin.close()
        vertices, triangles, peak, pairs, intersecting = answer(process)
        clock, processor = zip(*taken[name][fall:], strict=True)
        first = [spent for _, spent in taken[next(iter(taken))][fall:]]
        ratio = statistics.median(here / there for here, there in zip(processor, first, strict=True))
        size = (layers, vertices, triangles, chosen.dtype, chosen.threads, chosen.iterations, fall)
        seconds = (f"{statistics.median(clock):.3f}", f"{statistics.median(processor):.3f}", f"{max(clock):.3f}")
        yield name, *size, *seconds, f"{ratio:.2f}" if chosen.before else "", f"{peak:.2f}" if peak else "", pairs, intersecting
        process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--layers", type=int, nargs="+", default=[5, 50])
    parser.add_argument("--fall", type=int, default=20, help="steps before those that are timed")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", default="float32", choices=("float32", "float64"))
    parser.add_argument("--before", help="the folder with the package of another installation, to take steps in turn with this one")
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    layers = [2] if chosen.tiny else chosen.layers
    if chosen.child:
        return child(layers[0], chosen)
    notes = [f"load {os.getloadavg()[0]:.1f}", *["tiny: the figures mean nothing"] * chosen.tiny]
    write_table(chosen.out, HEADER, (row for each in layers for row in rows(each, chosen)), notes)


if __name__ == "__main__":
    main()
