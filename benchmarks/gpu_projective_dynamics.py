"""What does an iteration of Projective Dynamics cost on the GPU, beside an empty graph, and beside the CPU of the same machine?

First table: one iteration (local step, forces gathered per vertex, one Jacobi sweep, extrapolation by Chebyshev) on about 13 thousand
vertices and 55 thousand tets, float32, beside the replay of a graph with as many empty nodes: what is left above it is work. Counted
bytes of an iteration, each number once: of a tet 9 + 1 numbers and 4 indices, the forces of its corners written and read (24 numbers) and
4 corner indices; of a vertex 5 vectors read and 3 written, mass, diagonal and 2 starts; of an entry of the matrix a number and an index.

Second table: from 10 thousand to a million tets, CPU and GPU in turn. With the direct solver the residual and the correction travel
between device and host in every iteration, and the host solves. With Jacobi sweeps everything stays on the device, and the time of an
iteration is linear in the sweeps: eleven sweeps less one, divided by ten, show what a further sweep costs.

    python benchmarks/gpu_projective_dynamics.py [--no-cpu] [--out FILE.csv] [--tiny] [--device cuda]
"""

import functools
import os

import numpy as np
from device import copy_bandwidth, microseconds, options, ratio, seconds_per_iteration, step_timer, write_cases, yardstick

import pdgpu

SIZES = {False: [(48, 6, 6), (104, 13, 13), (220, 28, 28)], True: [(4, 1, 1)]}
REACH = {False: ((25, 21, 21), 5), True: ((3, 2, 2), 5)}
NODES = (1, 2, 4, 8)
LOOPS = 100  # iterations of the empty graph
LINEAR = {
    "direct": pdgpu.Direct(),
    "1 sweep": pdgpu.Jacobi(weight=0.5, iterations=1),
    "11 sweeps": pdgpu.Jacobi(weight=0.5, iterations=11),
}


def case(mesh, linear, device, dtype, few, many, chebyshev=None):
    """(few, many, seconds of that many iterations)"""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(mesh, pdgpu.ARAP(1e6), density=1000.0).pin(mesh.points[:, 0] <= mesh.points[:, 0].min() + 1e-9)
    simulations = {}
    for iterations in (few, many):
        solver = pdgpu.ProjectiveDynamics(iterations=iterations, linear=linear, chebyshev=chebyshev, check_every=iterations)
        simulations[iterations] = pdgpu.Simulation(scene, solver, dt=1 / 30, device=device, dtype=dtype)
    return few, many, step_timer(simulations, mesh.points * [1.3, 1.0, 1.0])


def reach_meshes(tiny):
    """{name: mesh}: a beam of the size asked for, and the armadillo where the data folder has it."""
    cells, split = REACH[tiny]
    meshes = {"beam": pdgpu.shapes.beam(tuple(0.04 * n for n in cells), cells=cells, split=split)}
    path = os.path.join(os.environ.get("PDGPU_DATA", ""), "tet", "ipc_Armadillo13K.msh.gz")
    if os.path.exists(path) and not tiny:
        import gzip
        import tempfile

        with tempfile.NamedTemporaryFile(suffix=".msh") as file:
            file.write(gzip.open(path).read())
            file.flush()
            meshes["armadillo"] = pdgpu.read_mesh(file.name).without_unused_vertices()
    return meshes


def counted_bytes(mesh, entries, size=4):
    """Of one iteration; entries: of the system matrix beside its diagonal."""
    return len(mesh.tets) * (34 * size + 32) + len(mesh.points) * (26 * size + 8) + entries * (size + 4)


def reach(name, mesh, bandwidth, chosen):
    few, many = (1, 3) if chosen.tiny else (50, 1050)
    chebyshev = pdgpu.Chebyshev(rho=0.9, start=2 if chosen.tiny else 10)
    times = seconds_per_iteration(
        {
            what: case(mesh, pdgpu.Jacobi(weight=0.5, iterations=1), chosen.device, "float32", few, many, outer)
            for what, outer in (("Jacobi", None), ("Jacobi-Chebyshev", chebyshev))
        },
        chosen.tiny,
    )
    entries = 2 * len(np.unique(np.sort(mesh.tets[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2), axis=1), axis=0))
    counted = counted_bytes(mesh, entries)
    floor = counted / bandwidth if bandwidth else None
    for what, spread in times.items():
        yield name, what, len(mesh.points), len(mesh.tets), *map(microseconds, spread), f"{counted / 1e6:.1f}", microseconds(floor)


def empty_graph(nodes):
    graph = f"graph:{LOOPS * nodes}"
    seconds = yardstick(graph)[graph]
    value = None if seconds is None else seconds / LOOPS
    yield f"empty graph, {nodes} node{'s' if nodes > 1 else ''} an iteration", "", "", "", microseconds(value)


def milliseconds(mesh, dtype, devices, tiny):
    """{(what, device): ms}"""
    few, many = (1, 2) if tiny else (5, 25)
    cases = {(name, device): case(mesh, linear, device, dtype, few, many) for name, linear in LINEAR.items() for device in devices}
    median = {key: 1e3 * spread[0] for key, spread in seconds_per_iteration(cases, tiny).items()}
    for device in devices:
        one, eleven = median["1 sweep", device], median["11 sweeps", device]
        median["iteration, direct solver", device] = median["direct", device]
        median["iteration, 11 Jacobi sweeps", device] = eleven
        median["local step and one sweep", device] = one
        median["a further sweep", device] = (eleven - one) / 10
    return {key: value for key, value in median.items() if key[0] not in LINEAR}


def growth_header(chosen):
    yield ()
    yield "tets", "what", "dtype", "cpu ms", f"{chosen.device} ms", f"cpu / {chosen.device}"


def growth(cells, dtype, chosen):
    mesh = pdgpu.shapes.beam((8.0, 1.0, 1.0), cells=cells)
    devices = (chosen.device,) if chosen.no_cpu else ("cpu", chosen.device)
    median = milliseconds(mesh, dtype, dict.fromkeys(devices), chosen.tiny)
    for name in dict.fromkeys(what for what, _ in median):
        cpu, device = None if chosen.no_cpu else median[name, "cpu"], median[name, chosen.device]
        # a difference of two medians may drown in their scatter
        yield len(mesh.tets), name, dtype, "" if cpu is None else f"{cpu:.3f}", f"{device:.3f}", ratio(cpu, device)


def main():
    chosen = options(__doc__)
    bandwidth = copy_bandwidth(chosen.tiny)
    meshes = reach_meshes(chosen.tiny)
    cases = [((name,), functools.partial(reach, name, mesh, bandwidth, chosen)) for name, mesh in meshes.items()]
    cases += [((f"empty graph, {nodes}",), functools.partial(empty_graph, nodes)) for nodes in NODES]
    cases += [((), functools.partial(growth_header, chosen))]
    cases += [
        ((6 * cells[0] * cells[1] * cells[2], "", dtype), functools.partial(growth, cells, dtype, chosen))
        for cells in SIZES[chosen.tiny]
        for dtype in ("float32", "float64")
    ]
    header = ("mesh", "what", "vertices", "tets", "us", "least us", "most us", "counted MB", "floor us")
    notes = [*chosen.names, "floor: counted bytes at the copy bandwidth of this run; on 55 thousand tets they lie in the L2 of a large GPU"]
    write_cases(chosen, header, cases, notes)


if __name__ == "__main__":
    main()
