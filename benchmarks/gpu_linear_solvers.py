"""How close do the linear solvers come to the copy bandwidth of the GPU at ten million unknowns, and to cuSPARSE?

The 7-point matrix of a grid: 215^3 rows with one column, and 149^3 rows with three, as the global step of a simulation has them. Solvers
run without records; cuSPARSE's product, and a Jacobi sweep built on it, run in the same job on the same matrix. Bytes are counted per row
of the matrix, each array once (r: entries of a row beside the diagonal, s: size of a number, w: columns; what fills rows of three numbers
up to four does not count):

    product              (s + 4) r + s + 4 + 4 + 2 w s          cuSPARSE stores the diagonal among the entries
    Jacobi               (s + 4) r + 4 + s + 3 w s              r, d read, next iterate written
    Jacobi-Chebyshev     w s more: the iterate before is read
    PCG, 3 passes        (s + 4) r + 4 + 2 s + 11 w s           p, q;  d, r, p, q;  r, p
    Gauss-Seidel         (s + 4) r + 4 + s + 3 w s + 4          and the row that stands in each place

    python benchmarks/gpu_linear_solvers.py [--out FILE.csv] [--tiny] [--device cuda]
"""

import numpy as np
import scipy.sparse
from device import copy_bandwidth, medians, microseconds, options, sweeps_timer, yardstick
from machine import write_table

import pdgpu

GRIDS = {False: ((215, 1), (149, 3)), True: ((5, 1), (4, 3))}
SWEEPS = {False: 128, True: 3}  # the look at the end costs about as much as one
SOLVERS = {
    "Jacobi": lambda n: pdgpu.Jacobi(weight=0.9, iterations=n),
    "Jacobi-Chebyshev": lambda n: pdgpu.Jacobi(weight=0.9, iterations=n, chebyshev=pdgpu.Chebyshev(rho=0.99, start=1)),
    "Gauss-Seidel": lambda n: pdgpu.GaussSeidel(iterations=n),
    "PCG": lambda n: pdgpu.PCG(iterations=n),
}


def grid_matrix(n):
    """-1 for each neighbour in a grid of n^3 points, 6.02 on the diagonal; CSR with sorted columns."""
    count = n**3
    points = np.arange(count, dtype=np.int32)
    i, j, k = points % n, points // n % n, points // (n * n)
    steps = (-n * n, -n, -1, 0, 1, n, n * n)
    there = np.stack([k > 0, j > 0, i > 0, np.ones(count, dtype=bool), i < n - 1, j < n - 1, k < n - 1], axis=1)
    columns = (points[:, None] + np.array(steps, dtype=np.int32))[there]
    values = np.broadcast_to(np.where(np.array(steps) == 0, 6.02, -1.0), there.shape)[there]
    row_start = np.concatenate([[0], np.cumsum(there.sum(axis=1), dtype=np.int64)]).astype(np.int32)
    return scipy.sparse.csr_array((values, columns, row_start), shape=(count, count))


def counted_bytes(what, r, s, w):
    """Per row of the matrix."""
    return {
        "cuSPARSE product": (s + 4) * r + s + 8 + 2 * w * s,
        "cuSPARSE Jacobi": (s + 4) * r + s + 8 + 2 * w * s + s + 5 * w * s,
        "Jacobi": (s + 4) * r + 4 + s + 3 * w * s,
        "Jacobi-Chebyshev": (s + 4) * r + 4 + s + 4 * w * s,
        "PCG": (s + 4) * r + 4 + 2 * s + 11 * w * s,
        "Gauss-Seidel": (s + 4) * r + 8 + s + 3 * w * s,
    }[what]


def measure(chosen, bandwidth):
    """Rows, as they are measured."""
    for n, width in GRIDS[chosen.tiny]:
        A = grid_matrix(n)
        r = (A.nnz - A.shape[0]) / A.shape[0]
        b = A @ np.random.default_rng(0).normal(size=(A.shape[0], width))
        for dtype in ("float32", "float64"):
            real = {"float32": "float", "float64": "double"}[dtype]
            marks = {
                "cuSPARSE product": f"multiply:{real}:{width}:7:{n}",
                "cuSPARSE Jacobi": f"jacobi:{real}:{width}:7:{n}",
            }
            found = yardstick(*marks.values())
            seconds = {what: (found[mark], None, None) for what, mark in marks.items()}
            for what in (*marks, *SOLVERS):  # one at a time, for the memory
                if what in SOLVERS:
                    timer = sweeps_timer(A, b, SOLVERS[what](SWEEPS[chosen.tiny]), chosen.device, dtype)
                    seconds.update(medians({what: timer}, chosen.tiny))
                median, least, most = seconds[what]
                counted = counted_bytes(what, r, np.dtype(dtype).itemsize, width)
                speed = counted * A.shape[0] / median if median and median > 0 else None
                yield (
                    A.shape[0] * width,
                    width,
                    dtype,
                    what,
                    microseconds(median),
                    microseconds(least),
                    microseconds(most),
                    f"{counted:.0f}",
                    "" if speed is None else f"{speed / 1e9:.0f}",
                    "" if speed is None or bandwidth is None else f"{speed / bandwidth:.2f}",
                )


def main():
    chosen = options(__doc__)
    bandwidth = copy_bandwidth(chosen.tiny)
    notes = [*chosen.names, f"copy: {bandwidth / 1e9:.0f} GB/s read and written" if bandwidth else "copy: not measured"]
    header = ("unknowns", "columns", "dtype", "what", "us", "least us", "most us", "bytes/row", "GB/s", "of copy")
    write_table(chosen.out, header, measure(chosen, bandwidth), notes)


if __name__ == "__main__":
    main()
