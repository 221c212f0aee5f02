"""How close do the linear solvers come to the memory bandwidth, and what do they cost beside each other and beside SciPy?

The matrix is the 7-point one of a 100^3 grid (1,030,301 rows: K10 of the tables, ten times finer), with one column. Every figure comes
from one run in which the measurements take turns; bandwidths are counted bytes over the median time.

Counted bytes per row, in float64 with 32-bit columns (r: entries of a row beside the diagonal, 5.9 here):

    triad            a = b + s c: 2 reads, 1 write and the read that a write into a cache line costs          32
    Jacobi           12 r matrix, 4 row start, 8 diagonal, 8 right-hand side, 8 iterate, 16 next iterate      12 r + 44
    PCG, 3 passes    12 r + 4 + 8 + 8 p + 16 q;  16 d, 16 r, 8 p, 8 q, 8 diagonal;  8 r, 8 diagonal, 16 p     12 r + 124

    python benchmarks/linear_solvers.py [--cells 100] [--threads 0] [--out FILE.csv]
"""

import argparse
import statistics
import sys
import tempfile
import time

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from machine import compile_triad, triad_seconds, write_table

import pdgpu
from pdgpu._internal.backends import thread_count

REPETITIONS = 7


def grid_matrix(cells):
    """The 7-point matrix of a grid of cells^3: one third of the sum over edges of a unit cube, plus inertia."""
    n = cells + 1
    line = scipy.sparse.diags_array([-np.ones(n - 1), np.full(n, 2.0), -np.ones(n - 1)], offsets=[-1, 0, 1])
    one = scipy.sparse.eye_array(n)
    A = scipy.sparse.kron(scipy.sparse.kron(line, one), one) + scipy.sparse.kron(scipy.sparse.kron(one, line), one)
    A = A + scipy.sparse.kron(scipy.sparse.kron(one, one), line) + 0.02 * scipy.sparse.eye_array(n**3)
    return A.tocsr()


def medians(measurements):
    """{name: seconds} from {name: function that returns seconds}, in turn."""
    samples = {name: [] for name in measurements}
    for repetition in range(REPETITIONS + 1):
        for name, measure in measurements.items():
            measure()  # uncounted: the memory is warm, and the threads of another library's BLAS have gone to sleep
            seconds = measure()
            if repetition:
                samples[name].append(seconds)
    return {name: statistics.median(values) for name, values in samples.items()}


def iteration_timer(A, b, solver, dtype):
    """Seconds of one iteration."""
    system = pdgpu.linear.System(A, solver, dtype=dtype, threads=THREADS)

    def measure():
        result = system.solve(b, record=False)
        return float(result.seconds[-1]) / result.iterations

    return measure


def bandwidths(A, dtype):
    """Rows of the table: name, ms, bytes per row, GB/s, share of the triad."""
    n, entries = A.shape[0], (A.nnz - A.shape[0]) / A.shape[0]
    b = A @ np.random.default_rng(0).normal(size=n)
    size = np.dtype(dtype).itemsize
    counted = {
        "triad": 4 * size,
        "Jacobi": (size + 4) * entries + 4 + 5 * size,
        "Jacobi + Chebyshev": (size + 4) * entries + 4 + 5 * size,
        "PCG": (size + 4) * entries + 4 + 15 * size,
    }
    solvers = {
        "Jacobi": pdgpu.Jacobi(weight=0.9, iterations=64),
        "Jacobi + Chebyshev": pdgpu.Jacobi(weight=0.9, iterations=64, chebyshev=pdgpu.Chebyshev(rho=0.99, start=1)),
        "Gauss-Seidel, colours": pdgpu.GaussSeidel(iterations=32),
        "symmetric Gauss-Seidel": pdgpu.SymmetricGaussSeidel(iterations=16),
        "SOR": pdgpu.SOR(omega=1.5, iterations=32),
        "PCG": pdgpu.PCG(iterations=32),
    }
    timers = {"triad": lambda: triad_seconds(TRIAD, n, dtype, THREADS)}
    timers.update({name: iteration_timer(A, b, solver, dtype) for name, solver in solvers.items()})
    seconds = medians(timers)
    triad = counted["triad"] * n / seconds["triad"]
    rows = []
    for name, value in seconds.items():
        speed = counted[name] * n / value if name in counted else None
        rows.append(
            (
                dtype,
                name,
                f"{1e3 * value:.3f}",
                "" if speed is None else f"{counted[name]:.0f}",
                "" if speed is None else f"{speed / 1e9:.2f}",
                "" if speed is None else f"{speed / triad:.2f}",
                f"{value / seconds['Jacobi']:.2f}",
            )
        )
    return rows


def against_scipy(A):
    """Seconds to a relative residual of 1e-6 with the Jacobi preconditioner."""
    n = A.shape[0]
    b = A @ np.random.default_rng(0).normal(size=n)
    system = pdgpu.linear.System(A, pdgpu.PCG(tolerance=1e-6), threads=THREADS)
    inverse = 1.0 / A.diagonal()
    M = scipy.sparse.linalg.LinearOperator((n, n), matvec=lambda v: inverse * v)
    counts = {}

    def ours():
        start = time.perf_counter()
        counts["pdgpu"] = system.solve(b, record=False).iterations
        return time.perf_counter() - start

    def theirs():
        counts["scipy"] = 0

        def count(_):
            counts["scipy"] += 1

        start = time.perf_counter()
        _, info = scipy.sparse.linalg.cg(A, b, rtol=1e-6, M=M, callback=count)
        if info:
            raise RuntimeError(f"SciPy's cg ended with {info}")
        return time.perf_counter() - start

    seconds = medians({"pdgpu": ours, "scipy": theirs})
    return seconds, counts


def a_jacobi(mesh_matrix, name):
    """Cost of A-Jacobi by order on one matrix, three columns."""
    n = mesh_matrix.shape[0]
    b = np.random.default_rng(0).normal(size=(n, 3))
    systems = {0: pdgpu.linear.System(mesh_matrix, pdgpu.Jacobi(weight=0.6, iterations=64), columns=3, threads=THREADS)}
    for order in (1, 2, 3, 4):
        systems[order] = pdgpu.linear.System(mesh_matrix, pdgpu.AJacobi(order=order, weight=0.6, iterations=64), columns=3, threads=THREADS)

    def timer(system):
        def measure():
            result = system.solve(b, record=False)
            return float(result.seconds[-1]) / result.iterations

        return measure

    seconds = medians({order: timer(system) for order, system in systems.items()})
    changed = np.zeros(n)
    changed[np.random.default_rng(1).choice(n, n // 50, replace=False)] = mesh_matrix.diagonal().mean()
    rows = []
    for order in (1, 2, 3, 4):
        cost = systems[order].cost()
        systems[order].add_diagonal(changed)
        refresh = systems[order].cost()
        rows.append(
            (
                name,
                order,
                f"{cost['nonzeros'] / n:.1f}",
                f"{cost['paths'] / n:.0f}",
                f"{cost['bytes'] / 1e6:.1f}",
                f"{1e3 * cost['refresh_seconds']:.2f}",
                f"{1e3 * refresh['refresh_seconds']:.2f}",
                refresh["rows_recomputed"],
                f"{1e3 * seconds[order]:.3f}",
                f"{seconds[order] / seconds[0]:.2f}",
                f"{order**0.5:.2f}",
            )
        )
    return rows


def creature_matrix():
    import importlib.resources

    mesh = pdgpu.read_mesh(str(importlib.resources.files("pdgpu") / "data" / "creature.vtu"))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP(1e5), density=1000.0)
    return pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(linear=pdgpu.Jacobi()), dt=1 / 30).system_matrix()


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--cells", type=int, default=100)
parser.add_argument("--threads", type=int, default=0)
parser.add_argument("--out", help="start of the names of the CSV files to write")
arguments = parser.parse_args()
THREADS = thread_count(arguments.threads)
TRIAD = None  # the compiled program


def out(part):
    return f"{arguments.out}_{part}.csv" if arguments.out else None


def main():
    global TRIAD
    A = grid_matrix(arguments.cells)
    folder = tempfile.TemporaryDirectory()
    TRIAD = compile_triad(folder.name)
    rows = bandwidths(A, "float64") + bandwidths(A, "float32")
    write_table(
        out("bandwidth"),
        ("precision", "what", "ms", "bytes/row", "GB/s", "of triad", "of Jacobi"),
        rows,
        [f"one iteration on {A.shape[0]} rows, {A.nnz} nonzeros, {THREADS} threads"],
    )
    seconds, counts = against_scipy(A)
    write_table(
        out("pcg"),
        ("what", "seconds", "iterations", "ratio"),
        [
            ("pdgpu PCG", f"{seconds['pdgpu']:.3f}", counts["pdgpu"], "1.00"),
            ("scipy cg", f"{seconds['scipy']:.3f}", counts["scipy"], f"{seconds['scipy'] / seconds['pdgpu']:.2f}"),
        ],
        [f"to a relative residual of 1e-6, Jacobi preconditioner, {A.shape[0]} rows, {THREADS} threads (SciPy uses one)"],
    )
    write_table(
        out("a_jacobi"),
        (
            "matrix",
            "order",
            "nonzeros/row",
            "paths/row",
            "MB",
            "first refresh ms",
            "2 % changed ms",
            "rows",
            "ms/iteration",
            "of Jacobi",
            "gain with Chebyshev",
        ),
        a_jacobi(creature_matrix(), "creature") + a_jacobi(grid_matrix(40), "grid 40^3"),
        [
            "An iteration of order l does the work of l Jacobi iterations. With Chebyshev it is worth sqrt(l) of them (composed: l): it",
            "pays only where 'of Jacobi' is below that.",
        ],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
