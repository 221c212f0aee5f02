"""What a user runs side by side, each job giving the bytes of its result; as a script, the jobs in processes of their own.

python parallel_jobs.py fork|spawn|forkserver THREADS
"""

import faulthandler
import functools
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

import inputs
import numpy as np
import scenes
import scipy.sparse

import pdgpu
from pdgpu.collision import BroadPhase


@functools.cache
def bar():
    """Large enough that every loop of a step is worth more than one thread."""
    scene, _ = scenes.bar(inputs.kuhn_grid(14, 7, 7, 0.1), 1e5)
    return scene


def stretched(solver, threads, dtype="float64"):
    sim = pdgpu.Simulation(bar(), solver, dt=0.01, threads=threads, dtype=dtype)
    sim.set_state(positions=sim.positions * [1.2, 1.0, 1.0])
    return sim


@functools.cache
def inherited(threads):
    """A simulation that a forked child finds made, and takes further."""
    sim = stretched(pdgpu.Newton(iterations=2), threads)
    sim.step()
    return sim


def step(solver, dtype, threads):
    sim = stretched(solver, threads, dtype)
    sim.step()
    return sim.positions.tobytes()


def continued(threads):
    sim = inherited(threads)
    x = bar().rest_positions()
    sim.set_state(positions=x * [1.1, 1.0, 1.0], velocities=0 * x)
    sim.step()
    return sim.positions.tobytes() + repr(sim.energies()).encode()


def compare(threads):
    solvers = {"PD": pdgpu.ProjectiveDynamics(iterations=3), "VBD": pdgpu.VertexBlockDescent(iterations=3)}
    scene, x = scenes.mixed()
    comparison = pdgpu.compare(scene, solvers, dt=0.01, start=(x, None), threads=threads)
    return b"".join(comparison.positions[name].tobytes() for name in solvers)


def laplacian(n):
    """The finite-difference Laplacian of a cube of n^3 nodes."""
    line = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    return scipy.sparse.csr_array(functools.reduce(scipy.sparse.kronsum, [line, line, line]))


def solve(solver, threads):
    A = laplacian(18)
    return pdgpu.linear.solve(A, np.sin(np.arange(A.shape[0])), solver, threads=threads).x.tobytes()


def ccd(threads):
    random = np.random.default_rng(0)
    start, end = random.random((2, 5000, 4, 3))
    return pdgpu.ccd.edge_edge(start, end, threads=threads).toi.tobytes()


def broad_phase(threads):
    points, triangles = inputs.cloth(40)
    pairs = BroadPhase(points, triangles, threads=threads).pairs(points, points[:, [1, 0, 2]])
    return pairs.vertex_triangle.tobytes() + pairs.edge_edge.tobytes()


def verifier(threads):
    points, triangles = inputs.cloth(20)
    crumpled = points + [[0.0, 0.0, 1.0]] * np.sin(20 * points[:, :1] * points[:, 1:2])
    return repr(pdgpu.certify([points, crumpled[:, [2, 1, 0]]], triangles, threads=threads)).encode()


def meshes(threads):
    mesh = pdgpu.shapes.sphere(0.5, subdivisions=3)
    field = pdgpu.SignedDistanceField.from_mesh(mesh, spacing=0.1, threads=threads)
    return field.distance(mesh.points + 0.01, threads=threads).tobytes()


JOBS = {
    "continued": continued,
    "compare": compare,
    "direct": functools.partial(solve, pdgpu.Direct()),
    "a-jacobi": functools.partial(solve, pdgpu.AJacobi(order=2, weight=0.6, iterations=3)),
    "ccd": ccd,
    "broad phase": broad_phase,
    "verifier": verifier,
    "meshes": meshes,
    "newton": functools.partial(step, pdgpu.Newton(iterations=2), "float64"),
    "projective dynamics": functools.partial(step, pdgpu.ProjectiveDynamics(iterations=3), "float32"),
    "vertex block descent": functools.partial(step, pdgpu.VertexBlockDescent(iterations=3), "float32"),
}


def run(name, threads):
    return name, JOBS[name](threads)


if __name__ == "__main__":
    faulthandler.dump_traceback_later(100, exit=True)
    method, threads = sys.argv[1], int(sys.argv[2])
    alone = dict(run(name, threads) for name in JOBS)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        for name, result in pool.map(run, JOBS, [threads] * len(JOBS)):
            print(name, "same" if result == alone[name] else "DIFFERENT", flush=True)
