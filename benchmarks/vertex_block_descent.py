"""What does one iteration of Vertex Block Descent cost, how does it grow with the mesh, and what do the peers need for the same?

A clamped beam of neo-Hookean tets, stretched by a tenth and let go, without contact. The time of an iteration is that of a step of MANY
iterations less that of a step of FEW, over the difference, so set-up and what a step costs once drop out; each program is timed from
outside, by the same clock. A case runs in a process of its own, which may use as many cores as the case has threads; the cases take turns.

The peers (PyPI `newton` and `pbatoolkit`, extra `bench`) get the same mesh, masses of the same density, material, time step, start and
number of iterations. Newton is written in Warp, whose CPU device runs on one thread, in float32; pbatoolkit uses TBB, in float64. Both
solve the same energy: `newton` takes Lame's lambda, lam - mu. That they do is checked first, on a small beam: the distance of their
solution after CHECKED iterations from the converged one, over the distance of the first guess.

With `--damping` pdgpu has stiffness damping with this time constant, s, and newton a viscosity of as many seconds times mu. Both add
forces and blocks to each vertex, but the models differ, so only the times of an iteration are compared. pbatoolkit is left out.

Counted bytes of an iteration per vertex: of each corner (a tet at one of its vertices) 5 numbers and 3 places; positions, read once by
every colour, 4 numbers each; masses, diagonals, x - y and moves in the turn of a vertex 11 numbers and 24 bytes of places and starts;
the copy of the positions before a sweep and the frame's x, step and x - y after it 29 numbers and 5 bytes, a write into a cache line
being two transfers.

    python benchmarks/vertex_block_descent.py [--peers] [--damping 0] [--threads 0] [--out START_OF_NAME] [--cells NX NY NZ ...]
"""

import argparse
import importlib.metadata
import importlib.util
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

SIZES = [(140, 26, 26), (205, 38, 38), (300, 57, 57)]  # about 100K, 300K, 1M vertices, all of the same shape
PEER_SIZE = SIZES[0]
CHECK_SIZE = (20, 5, 5)
CELL = 0.01  # m
MU, LAM, DENSITY, STEP = 2e4, 1e5, 1000.0, 1 / 300
STRETCH = (1.1, 1.0, 1.0)
FEW, MANY, CHECKED = 2, 12, 1000
REPETITIONS, ROUNDS = 4, 2
PEERS = {"newton": "float32", "pbatoolkit": "float64"}


# ---- one program each: a function step(iterations) from the start to positions, and what there is to know ------------------------


def beam(cells):
    import pdgpu

    mesh = pdgpu.shapes.beam(tuple(CELL * n for n in cells), cells=cells)
    return mesh, mesh.points * STRETCH, mesh.points[:, 0] < 0.5 * CELL


def pdgpu_program(cells, dtype, threads, damping):
    import numpy as np

    import pdgpu

    mesh, start, clamped = beam(cells)
    scene = pdgpu.Scene()
    body = scene.add_solid(mesh, pdgpu.NeoHookean(MU, LAM), density=DENSITY, damping=damping)
    body.pin(clamped)
    simulations = {}

    def step(iterations):
        if iterations not in simulations:
            solver = pdgpu.VertexBlockDescent(iterations=iterations, initialization="inertial_target")
            simulations[iterations] = pdgpu.Simulation(scene, solver, dt=STEP, dtype=dtype, threads=threads)
        simulation = simulations[iterations]
        simulation.set_state(positions=start, velocities=np.zeros_like(start))
        begin = time.perf_counter()
        simulation.step()
        return time.perf_counter() - begin, lambda: simulation.positions

    return step, mesh


def newton_program(cells, dtype, threads, damping):
    import newton
    import numpy as np
    import warp

    warp.config.quiet = True
    mesh, start, clamped = beam(cells)
    builder = newton.ModelBuilder(gravity=(0.0, -9.81, 0.0))
    zero = warp.vec3(0.0, 0.0, 0.0)
    builder.add_soft_mesh(
        pos=zero,
        rot=warp.quat_identity(),
        scale=1.0,
        vel=zero,
        vertices=[warp.vec3(*point) for point in mesh.points],
        indices=mesh.tets.ravel().tolist(),
        density=DENSITY,
        k_mu=MU,
        k_lambda=LAM - MU,
        k_damp=damping * MU,
        add_surface_mesh_edges=False,
    )
    for vertex in np.flatnonzero(clamped):
        builder.particle_mass[vertex] = 0.0
    builder.color()
    model = builder.finalize(device="cpu")
    solver = newton.solvers.SolverVBD(model, iterations=1)
    positions = start.astype(np.float32)

    def step(iterations):
        solver.iterations = iterations
        before, after = model.state(), model.state()
        before.particle_q.assign(positions)
        begin = time.perf_counter()
        solver.step(before, after, None, None, STEP)
        seconds = time.perf_counter() - begin
        return seconds, lambda: after.particle_q.numpy().astype(np.float64)

    return step, mesh


def pbatoolkit_program(cells, dtype, threads, damping):
    import numpy as np
    from pbatoolkit import pbat

    vbd = pbat.sim.vbd
    mesh, start, clamped = beam(cells)
    n, m = len(mesh.points), len(mesh.tets)
    gravity = np.zeros((3, n), order="F")
    gravity[1] = -9.81
    data = vbd.Data().with_volume_mesh(np.asfortranarray(mesh.points.T), np.asfortranarray(mesh.tets.T.astype(np.int64)))
    data = data.with_velocity(np.zeros((3, n), order="F")).with_acceleration(gravity)
    data = data.with_material(np.full(m, DENSITY), np.full(m, MU), np.full(m, LAM))
    data = data.with_dirichlet_vertices(np.flatnonzero(clamped).astype(np.int64))
    data = data.with_initialization_strategy(vbd.InitializationStrategy.KineticEnergyMinimum).construct()
    integrator = vbd.Integrator(data)

    def step(iterations):
        integrator.x = np.asfortranarray(start.T)
        integrator.v = np.zeros((3, n), order="F")
        begin = time.perf_counter()
        integrator.step(STEP, iterations, 1)
        return time.perf_counter() - begin, lambda: np.array(integrator.x).T

    return step, mesh


PROGRAMS = {"pdgpu": pdgpu_program, "newton": newton_program, "pbatoolkit": pbatoolkit_program}


# ---- a case in a process of its own ------------------------------------------------------------------------------------------------


def distance_from_converged(step, cells):
    """Largest distance of a vertex from the converged solution, over the largest such distance of the first guess."""
    import numpy as np

    import pdgpu

    mesh, start, clamped = beam(cells)
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.NeoHookean(MU, LAM), density=DENSITY).pin(clamped)
    simulation = pdgpu.Simulation(scene, pdgpu.Newton(iterations=100, tolerance=1e-12), dt=STEP, threads=1)
    simulation.set_state(positions=start, velocities=np.zeros_like(start))
    simulation.step(record="positions")
    guess, converged = simulation.last_step.positions[0], simulation.positions
    found = step(CHECKED)[1]()
    return float(np.linalg.norm(found - converged, axis=1).max() / np.linalg.norm(guess - converged, axis=1).max())


def run_case(case):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: case["threads"]])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    begin = time.perf_counter()
    cells = tuple(case["cells"])
    step, mesh = PROGRAMS[case["program"]](cells, case["dtype"], case["threads"], case["damping"])
    if case["check"]:
        return {"distance": distance_from_converged(step, cells)}
    step(FEW)  # uncounted
    setup = time.perf_counter() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
    step(MANY)
    samples = []
    for _ in range(REPETITIONS):
        few = step(FEW)[0]
        samples.append((step(MANY)[0] - few) / (MANY - FEW))
    corners = 4 * len(mesh.tets) / len(mesh.points)
    return {"samples": samples, "setup": setup, "memory": memory, "corners": corners, "vertices": len(mesh.points), "tets": len(mesh.tets)}


def run(case):
    """The answer of a process of its own; None with a line that says why, where it has none."""
    command = [sys.executable, os.path.abspath(__file__), "--one", json.dumps(case)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        print(f"{case['program']}: {result.stderr.strip().splitlines()[-1] if result.stderr.strip() else 'died'}")
        return None
    return json.loads(result.stdout.splitlines()[-1])


def case(program, dtype, threads, cells, check=False, damping=0.0):
    return {"program": program, "dtype": dtype, "threads": threads, "cells": list(cells), "check": check, "damping": damping}


def measure(cases):
    """{key: answer} with the median seconds of all repetitions of all rounds, the cases in turn; a case that fails is left out."""
    answers, samples = {}, {key: [] for key in cases}
    for _ in range(ROUNDS):
        for key, description in cases.items():
            if samples[key] is None:
                continue
            answer = run(description)
            if answer is None:
                samples[key] = None
                continue
            samples[key] += answer["samples"]
            answers[key] = answer
    for key, answer in answers.items():
        answer["seconds"], answer["least"] = statistics.median(samples[key]), min(samples[key])
    return answers


# ---- tables --------------------------------------------------------------------------------------------------------------------------


def counted_bytes(corners, size, colours=8):
    return corners * (5 * size + 12) + colours * 4 * size + 11 * size + 24 + 29 * size + 5


def growth(sizes, threads, out):
    from machine import compile_triad, triad_seconds, write_table

    cases = {(cells, dtype, t): case("pdgpu", dtype, t, cells) for cells in sizes for dtype in ("float32", "float64") for t in threads}
    answers = measure(cases)
    with tempfile.TemporaryDirectory() as folder:
        program = compile_triad(folder)
        size_of = {"float32": 4, "float64": 8}
        triad = {(d, t): 4 * size_of[d] / triad_seconds(program, 1, d, t) for d in size_of for t in threads}
    rows = []
    for (cells, dtype, t), answer in answers.items():
        n, seconds, size = answer["vertices"], answer["least"], 4 if dtype == "float32" else 8
        first = answers.get((sizes[0], dtype, t))
        exponent = math.log(seconds / first["least"]) / math.log(n / first["vertices"]) if first and cells != sizes[0] else None
        counted = counted_bytes(answer["corners"], size)
        rows.append(
            (
                dtype,
                t,
                n,
                answer["tets"],
                f"{1e3 * answer['seconds']:.2f}",
                f"{1e3 * seconds:.2f}",
                f"{1e9 * seconds / n:.0f}",
                "" if exponent is None else f"{exponent:.2f}",
                f"{counted:.0f}",
                f"{1e-9 * counted * n / seconds:.2f}",
                f"{1e-9 * triad[dtype, t]:.2f}",
                f"{answer['setup']:.1f}",
                f"{1e6 * answer['memory'] / n:.0f}",
            )
        )
    header = (
        "precision",
        "threads",
        "vertices",
        "tets",
        "ms/iteration",
        "least ms",
        "ns/vertex",
        "exponent",
        "bytes/vertex",
        "GB/s",
        "triad GB/s",
    )
    notes = [
        f"neo-Hookean beam; medians and least of {ROUNDS} processes x {REPETITIONS} repetitions",
        "the least time, which other processes disturb least, gives the other columns; exponent: from the smallest size",
    ]
    write_table(
        f"{out}_growth.csv" if out else None, (*header, "set-up s", "peak bytes/vertex"), sorted(rows, key=lambda row: row[:3]), notes
    )


def against_peers(cells, threads, damping, out):
    from machine import write_table

    present = {}
    for name, dtype in PEERS.items():
        if importlib.util.find_spec(name) is None:
            print(f"{name}: not installed (pip install {name}); left out")
            continue
        answer = run(case(name, dtype, 1, CHECK_SIZE, check=True))
        if answer:
            present[name] = answer["distance"]
    ours = {dtype: run(case("pdgpu", dtype, 1, CHECK_SIZE, check=True)) for dtype in ("float32", "float64")}
    cases = {("pdgpu", dtype, t): case("pdgpu", dtype, t, cells, damping=damping) for dtype in ("float32", "float64") for t in threads}
    if "newton" in present:
        cases["newton", PEERS["newton"], 1] = case("newton", PEERS["newton"], 1, cells, damping=damping)
    if "pbatoolkit" in present and not damping:
        cases.update({("pbatoolkit", PEERS["pbatoolkit"], t): case("pbatoolkit", PEERS["pbatoolkit"], t, cells) for t in threads})
    answers = measure(cases)
    rows = []
    for (name, dtype, t), answer in answers.items():
        own = answers.get(("pdgpu", dtype, t))
        distance = present[name] if name in present else (ours[dtype] or {}).get("distance", math.nan)
        rows.append(
            (
                name,
                dtype,
                t,
                answer["vertices"],
                answer["tets"],
                f"{1e3 * answer['seconds']:.2f}",
                f"{1e3 * answer['least']:.2f}",
                f"{answer['least'] / own['least']:.2f}" if own else "",
                f"{answer['setup']:.1f}",
                f"{distance:.1e}",
            )
        )
    versions = []
    for name in present:
        versions.append(f"{name} {importlib.metadata.version(name)}")
    damped = f", damping {damping:g} s" if damping else ""
    notes = [
        f"neo-Hookean beam, no contact{damped}; medians of {ROUNDS} processes x {REPETITIONS} repetitions; {', '.join(versions)}",
        "'x pdgpu': least times, the same precision and threads",
        f"'from converged': after {CHECKED} iterations on a beam of {CHECK_SIZE} cells without damping",
    ]
    header = ("program", "precision", "threads", "vertices", "tets", "ms/iteration", "least ms", "x pdgpu", "set-up s", "from converged")
    write_table(f"{out}_peers{'_damped' if damping else ''}.csv" if out else None, header, rows, notes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", action="store_true", help="the comparison with newton and pbatoolkit instead of the growth")
    parser.add_argument("--damping", type=float, default=0.0, help="of the comparison, s")
    parser.add_argument("--threads", type=int, default=0, help="the larger number of threads; 0: all cores")
    parser.add_argument("--cells", type=int, nargs="+", help="sizes other than the usual, three numbers each")
    parser.add_argument("--out", help="start of the names of the CSV files to write")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run_case(json.loads(options.one))))
        return
    cells = options.cells or [n for size in SIZES for n in size]
    if len(cells) % 3:
        parser.error(f"--cells: expected three numbers a size, got {len(cells)} numbers")
    sizes = [tuple(cells[k : k + 3]) for k in range(0, len(cells), 3)]
    most = options.threads or len(os.sched_getaffinity(0))
    threads = sorted({1, most})
    if options.peers:
        against_peers(sizes[0], threads, options.damping, options.out)
    else:
        growth(sizes, threads, options.out)


if __name__ == "__main__":
    main()
