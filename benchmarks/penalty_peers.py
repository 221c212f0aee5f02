"""Vertex Block Descent with a penalty in contact, here and in other programs: what does a step cost, and what does it let through?

"cloth": a cloth of 40 thousand triangles falls on a sphere of fixed triangles and over itself. pdgpu takes it until it lies on the
sphere; from there on pdgpu with `PenaltyContact`, pdgpu with `BarrierContact` and newton's SolverVBD (PyPI `newton`, on Warp's CPU device,
which runs on one thread, in float32) take the same number of steps, one of each in turn, with the same time step, iterations and detection
interval. Membranes have the same constants of Lame, StVK here and neo-Hookean there; bending is of the same order. newton's contact
is a penalty that becomes a logarithm below half its radius, and it truncates each vertex's moves, so that it lets less through than a bare
penalty; PenaltyContact looks for what meets on the way from the step's start.

"blocks": a block of neo-Hookean tets falls on another, whose lower face is held, in pdgpu and in pbatoolkit, with one detection a step and
no friction: pbatoolkit (PyPI `pbatoolkit`) pushes vertices out that are inside the other body and has no contact of cloth.

`pdgpu.geometry.find_intersections` counts the intersections of every state exactly. "x pdgpu" is the median over the steps of the time
of that program over that of pdgpu with PenaltyContact in the same turn. Each number of threads has a process of its own that is held to
as many cores from its start: pbatoolkit takes all it finds, by TBB, and has no setting for it. On one thread the time is the
processor's, which other work on the machine disturbs least; on more it is that of the clock.

    python benchmarks/penalty_peers.py [--out FILE.csv] [--steps 20] [--iterations 10] [--interval 5] [--threads 1]
                                       [--scenes cloth blocks] [--tiny]
"""

import argparse
import concurrent.futures
import importlib.metadata
import importlib.util
import multiprocessing
import os
import time

import numpy as np
from machine import write_table

import pdgpu

DT = 1 / 300
THICKNESS, STIFFNESS, FRICTION = 2e-3, 1e3, 0.2  # m, N/m
DENSITY, MU, LAM, BENDING = 0.2, 1e3, 1e3, 1e-5  # kg/m^2, N/m, N/m, J
BLOCK_MU, BLOCK_LAM, BLOCK_DENSITY, BLOCK_STIFFNESS = 5e4, 2e5, 1000.0, 1e4


# ---- programs: a function step() that takes one step and returns its seconds, and a function that gives the positions ------------


def clock():
    return time.process_time() if len(os.sched_getaffinity(0)) == 1 else time.perf_counter()


def pdgpu_program(scene, contact, iterations, dtype, start=None):
    threads = len(os.sched_getaffinity(0))
    solver = pdgpu.VertexBlockDescent(iterations=iterations, initialization="inertial_target")
    simulation = pdgpu.Simulation(scene, solver, dt=DT, contact=contact, dtype=dtype, threads=threads)
    if start is not None:
        simulation.set_state(positions=start[0], velocities=start[1])

    def step():
        begin = clock()
        simulation.step()
        return clock() - begin

    return step, lambda: simulation.positions, simulation


def newton_program(cloth, sphere, start, iterations, interval):
    import newton
    import warp

    warp.config.quiet = True
    builder = newton.ModelBuilder(gravity=(0.0, -9.81, 0.0))
    for mesh, points in ((cloth, cloth.points), (sphere, sphere.points)):
        builder.add_cloth_mesh(
            pos=warp.vec3(0.0, 0.0, 0.0),
            rot=warp.quat_identity(),
            scale=1.0,
            vel=warp.vec3(0.0, 0.0, 0.0),
            vertices=[warp.vec3(*point) for point in points],
            indices=mesh.triangles.ravel().tolist(),
            density=DENSITY,
            tri_ke=MU,
            tri_ka=LAM,
            tri_kd=0.0,
            edge_ke=BENDING,
            edge_kd=0.0,
            particle_radius=THICKNESS,
        )
    for vertex in range(len(cloth.points), len(cloth.points) + len(sphere.points)):
        builder.particle_mass[vertex] = 0.0
    builder.color()
    model = builder.finalize(device="cpu")
    model.soft_contact_ke, model.soft_contact_kd, model.soft_contact_mu = STIFFNESS, 0.0, FRICTION
    slot, kind = newton.solvers.SolverVBD.CollisionSlot, newton.solvers.SolverVBD.CollisionFrequencyType
    solver = newton.solvers.SolverVBD(
        model,
        iterations=iterations,
        particle_enable_self_contact=True,
        particle_self_contact_margin=THICKNESS,
        particle_self_contact_gap=THICKNESS,
        particle_vertex_contact_buffer_size=64,
        particle_edge_contact_buffer_size=128,
        collision_pipeline=newton.CollisionPipeline(model),
        collision_frequency={slot.SOFT_SELF_CONTACT: interval},
        collision_frequency_type={slot.SOFT_SELF_CONTACT: kind.ITERATIONS},
    )
    states = [model.state(), model.state()]
    zeros = np.zeros_like(sphere.points)
    states[0].particle_q.assign(np.concatenate([start[0], sphere.points]).astype(np.float32))
    states[0].particle_qd.assign(np.concatenate([start[1], zeros]).astype(np.float32))

    def step():
        states[0].clear_forces()
        begin = clock()
        solver.step(states[0], states[1], None, None, DT)
        seconds = clock() - begin
        states.reverse()
        return seconds

    return step, lambda: states[0].particle_q.numpy().astype(np.float64)[: len(cloth.points)]


def pbatoolkit_program(meshes, pinned, iterations):
    from pbatoolkit import pbat

    vbd = pbat.sim.vbd
    counts = [len(mesh.points) for mesh in meshes]
    points = np.concatenate([mesh.points for mesh in meshes])
    shift = np.concatenate([[0], np.cumsum(counts)[:-1]])
    tets = np.concatenate([mesh.tets + k for mesh, k in zip(meshes, shift, strict=True)]).astype(np.int64)
    triangles = np.concatenate([mesh.surface + k for mesh, k in zip(meshes, shift, strict=True)]).astype(np.int64)
    m = len(tets)
    gravity = np.zeros((3, len(points)), order="F")
    gravity[1] = -9.81
    data = vbd.Data().with_volume_mesh(np.asfortranarray(points.T), np.asfortranarray(tets.T))
    data = data.with_surface_mesh(np.unique(triangles), np.asfortranarray(triangles.T))
    data = data.with_bodies(np.repeat(np.arange(len(meshes)), counts).astype(np.int64))
    data = data.with_velocity(np.zeros((3, len(points)), order="F")).with_acceleration(gravity)
    data = data.with_material(np.full(m, BLOCK_DENSITY), np.full(m, BLOCK_MU), np.full(m, BLOCK_LAM))
    data = data.with_dirichlet_vertices(np.flatnonzero(pinned).astype(np.int64)).with_contact_parameters(BLOCK_STIFFNESS, 0.0, 1e-2)
    data = data.with_active_set_update_frequency(1)
    data = data.with_initialization_strategy(vbd.InitializationStrategy.KineticEnergyMinimum).construct()
    integrator = vbd.Integrator(data)

    def step():
        begin = clock()
        integrator.step(DT, iterations, 1)
        return clock() - begin

    return step, lambda: np.array(integrator.x).T


# ---- scenes -------------------------------------------------------------------------------------------------------------------------


def cloth_on_sphere(cells, level):
    flat = pdgpu.shapes.grid((1.0, 1.0), (cells, cells))
    cloth = pdgpu.Mesh(flat.points[:, [0, 2, 1]] + [-0.5, 0.2525, -0.5], triangles=flat.triangles)
    sphere = pdgpu.shapes.sphere(0.25, level)
    sphere = pdgpu.Mesh(sphere.points, triangles=sphere.triangles)
    scene = pdgpu.Scene()
    scene.add_shell(cloth, pdgpu.StVK(MU, LAM), density=DENSITY, bending=BENDING, name="cloth")
    scene.add_obstacle(sphere, name="sphere")
    return scene, cloth, sphere


def blocks(cells):
    mesh = pdgpu.shapes.beam((0.2, 0.1, 0.2), (cells, cells // 2, cells))
    turn = np.array([[np.cos(0.3), 0.0, np.sin(0.3)], [0.0, 1.0, 0.0], [-np.sin(0.3), 0.0, np.cos(0.3)]])
    upper = pdgpu.Mesh((mesh.points - [0.1, 0.0, 0.1]) @ turn + [0.1, 0.1 + 1e-4, 0.1], tets=mesh.tets)
    pinned = np.concatenate([mesh.points[:, 1] < 1e-9, np.zeros(len(mesh.points), bool)])
    scene = pdgpu.Scene()
    for name, each in (("lower", mesh), ("upper", upper)):
        body = scene.add_solid(each, pdgpu.NeoHookean(BLOCK_MU, BLOCK_LAM), density=BLOCK_DENSITY, name=name)
        if name == "lower":
            body.pin(mesh.points[:, 1] < 1e-9)
    return scene, (mesh, upper), pinned


# ---- measurements -------------------------------------------------------------------------------------------------------------------


def in_turn(programs, steps, count):
    """Seconds of each step and the number of intersections after it, (steps,) each, by name. The first step of each is not counted."""
    for step, _ in programs.values():
        step()
    seconds, found = {name: [] for name in programs}, {name: [] for name in programs}
    for _ in range(steps):
        for name, (step, positions) in programs.items():
            seconds[name].append(step())
            found[name].append(count(positions()))
    return seconds, found


def rows_of(scene, vertices, elements, iterations, interval, ours, measured):
    seconds, found = measured
    for (program, contact, dtype), times in seconds.items():
        reference = seconds[(*ours, dtype if ("pdgpu", ours[1], dtype) in seconds else "float64")]
        ratio = np.median(np.array(times) / np.array(reference))
        counts = found[program, contact, dtype]
        yield (
            scene,
            program,
            contact,
            dtype,
            len(os.sched_getaffinity(0)),
            vertices,
            elements,
            iterations,
            interval,
            f"{1e3 * np.median(times):.1f}",
            f"{1e3 * min(times):.1f}",
            f"{ratio:.2f}",
            sum(n > 0 for n in counts),
            max(counts),
        )


def cloth_rows(cells, level, fall, steps, iterations, interval, peers):
    scene, cloth, sphere = cloth_on_sphere(cells, level)
    penalty = pdgpu.PenaltyContact(THICKNESS, stiffness=STIFFNESS, detection_interval=interval, friction=FRICTION, friction_velocity=1e-2)
    barrier = pdgpu.BarrierContact(THICKNESS, stiffness=STIFFNESS, friction=FRICTION, friction_velocity=1e-2)
    first = pdgpu_program(scene, barrier, iterations, "float64")
    for _ in range(fall):
        first[0]()
    start = first[2].positions, first[2].velocities
    programs = {}
    for dtype in ("float32", "float64"):
        for name, contact in (("penalty", penalty), ("barrier", barrier)):
            programs["pdgpu", name, dtype] = pdgpu_program(scene, contact, iterations, dtype, start)[:2]
    if "newton" in peers and len(os.sched_getaffinity(0)) == 1:  # its CPU device has one thread
        programs["newton", "penalty and truncation", "float32"] = newton_program(cloth, sphere, start, iterations, interval)
    triangles = np.concatenate([cloth.triangles, sphere.triangles + len(cloth.points)])

    def count(positions):
        return len(pdgpu.geometry.find_intersections(np.concatenate([positions, sphere.points]), triangles))

    measured = in_turn(programs, steps, count)
    yield from rows_of("cloth", len(cloth.points), len(cloth.triangles), iterations, interval, ("pdgpu", "penalty"), measured)


def block_rows(cells, steps, iterations, peers):
    scene, meshes, pinned = blocks(cells)
    contact = pdgpu.PenaltyContact(1e-3, stiffness=BLOCK_STIFFNESS, depth=0.01, detection_interval=0)
    programs = {("pdgpu", "penalty", dtype): pdgpu_program(scene, contact, iterations, dtype)[:2] for dtype in ("float32", "float64")}
    if "pbatoolkit" in peers:
        programs["pbatoolkit", "penalty", "float64"] = pbatoolkit_program(meshes, pinned, iterations)
    triangles = np.concatenate([meshes[0].surface, meshes[1].surface + len(meshes[0].points)])

    def count(positions):
        return len(pdgpu.geometry.find_intersections(positions, triangles))

    measured = in_turn(programs, steps, count)
    tets = sum(len(mesh.tets) for mesh in meshes)
    yield from rows_of("blocks", len(pinned), tets, iterations, "a step", ("pdgpu", "penalty"), measured)


def measure(threads, chosen, peers):
    """The rows with so many threads, in a process that has not counted the machine's cores yet."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    cells, level, fall, edge = (12, 1, 5, 4) if chosen.tiny else (142, 4, 90, 24)
    steps, rows = 2 if chosen.tiny else chosen.steps, []
    if "cloth" in chosen.scenes:
        rows.extend(cloth_rows(cells, level, fall, steps, chosen.iterations, chosen.interval, peers))
    if "blocks" in chosen.scenes:
        rows.extend(block_rows(edge, steps, chosen.iterations, peers))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--steps", type=int, default=20, help="of each program, in turn")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--interval", type=int, default=5, help="iterations from one detection to the next")
    parser.add_argument("--threads", type=int, nargs="+", default=[1], help="as many cores has the process of a run")
    parser.add_argument("--scenes", nargs="+", choices=("cloth", "blocks"), default=["cloth", "blocks"])
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    chosen = parser.parse_args()
    peers = [name for name in ("newton", "pbatoolkit") if importlib.util.find_spec(name)]
    for name in {"newton", "pbatoolkit"} - set(peers):
        print(f"{name}: not installed (pip install {name}); left out")

    def rows():
        for threads in chosen.threads:
            with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
                yield from process.submit(measure, threads, chosen, peers).result()

    notes = [
        f"medians over {2 if chosen.tiny else chosen.steps} steps of each program in turn, load {os.getloadavg()[0]:.1f}; "
        + ", ".join(f"{name} {importlib.metadata.version(name)}" for name in peers),
        "milliseconds of the processor on one thread, of the clock on more",
        "'x pdgpu': median of the ratios to pdgpu with its penalty and the same precision; 'steps with': those that end with intersections",
        *["tiny: the figures mean nothing"] * chosen.tiny,
    ]
    header = ("scene", "program", "contact", "precision", "threads", "vertices", "elements", "iterations", "detection every")
    write_table(chosen.out, (*header, "ms/step", "least ms", "x pdgpu", "steps with", "most pairs"), rows(), notes)


if __name__ == "__main__":
    main()
