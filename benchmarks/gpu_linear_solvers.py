"""How close do the linear solvers come to the copy bandwidth of the GPU at ten million unknowns, and to cuSPARSE?

The 7-point matrix of a grid: 215^3 rows with one column, and 149^3 rows with three, as the global step of a simulation has them. --tets
takes the matrix of the global step of Projective Dynamics on a beam of tets with about ROWS vertices: three columns, float32, 15 entries in
an inner row. Solvers run without records. cuSPARSE's product, and a Jacobi sweep built on it, run in the same job on the same matrix.
"build s" is the time to prepare a solver: checks, colours, copies to the device. Bytes are counted per row of the matrix, each array once
(r: entries of a row beside the diagonal, s: size of a number, w: columns; what fills rows of three numbers up to four does not count):

    product              (s + 4) r + s + 4 + 4 + 2 w s          cuSPARSE stores the diagonal among the entries
    Jacobi               (s + 4) r + 4 + s + 3 w s              r, d read, next iterate written
    Jacobi-Chebyshev     w s more: the iterate before is read
    PCG, 3 passes        (s + 4) r + 4 + 2 s + 11 w s           p, q;  d, r, p, q;  r, p
    Gauss-Seidel         (s + 4) r + 4 + s + 3 w s + 4          and the row that stands in each place

    python benchmarks/gpu_linear_solvers.py [--tets ROWS] [--out FILE.csv] [--tiny] [--device cuda]
"""

import functools
import os
import tempfile
import time

import numpy as np
import scipy.sparse
from device import copy_bandwidth, medians, microseconds, options, sweeps_timer, write_cases, write_matrix, yardstick

import pdgpu

GRIDS = {False: ((215, 1), (149, 3)), True: ((5, 1), (4, 3))}
SWEEPS = {False: 128, True: 3}  # the look at the end costs about as much as one
SOLVERS = {
    "Jacobi": lambda n, weight: pdgpu.Jacobi(weight=weight, iterations=n),
    "PCG": lambda n, weight: pdgpu.PCG(iterations=n),
    "Gauss-Seidel": lambda n, weight: pdgpu.GaussSeidel(iterations=n),
    "Jacobi-Chebyshev": lambda n, weight: pdgpu.Jacobi(weight=weight, iterations=n, chebyshev=pdgpu.Chebyshev(rho=0.99, start=1)),
}
WEIGHTS = {"grid": 0.9, "tets": 0.5}  # Jacobi converges: of tets the eigenvalues of D^-1 A are below 4
STIFFNESS, DENSITY, STEP = 1e5, 1000.0, 1 / 100  # Pa, kg/m^3, s
# of the cells: with right angles, half of the entries of a tet would be zero
SHEAR = np.array([[1.0, 0.0, 0.0], [0.3, 1.0, 0.0], [0.2, 0.4, 1.0]])


def grid_matrix(n):
    """-1 for each neighbour in a grid of n^3 points, 6.02 on the diagonal; CSR with sorted columns."""
    count = n**3
    points = np.arange(count, dtype=np.int32)
    i, j, k = points % n, points // n % n, points // (n * n)
    steps = (-n * n, -n, -1, 0, 1, n, n * n)
    there = np.stack([k > 0, j > 0, i > 0, np.ones(count, dtype=bool), i < n - 1, j < n - 1, k < n - 1], axis=1)
    return stencil_matrix(steps, np.where(there, np.where(np.array(steps) == 0, 6.02, -1.0), 0.0))


def stencil_matrix(steps, values):
    """The matrix with values [n,steps] in the columns row + step, steps ascending, without those that are zero."""
    there = values != 0
    columns = (np.arange(len(values), dtype=np.int32)[:, None] + np.array(steps, dtype=np.int32))[there]
    row_start = np.concatenate([[0], np.cumsum(there.sum(axis=1), dtype=np.int64)]).astype(np.int32)
    return scipy.sparse.csr_array((values[there], columns, row_start), shape=(len(values),) * 2)


def cell_matrix(points, tets):
    """Masses over STEP^2 and the stiffness of ARAP: sum 2 STIFFNESS V G G^T, G [4,3] the gradients of the corners' weights in a tet."""
    A = np.zeros((len(points), len(points)))
    for tet in tets:
        edges = points[tet[1:]] - points[tet[0]]
        inverse, volume = np.linalg.inv(edges), np.linalg.det(edges) / 6
        gradients = np.vstack([-inverse.sum(axis=1), inverse.T])
        A[np.ix_(tet, tet)] += 2 * STIFFNESS * volume * gradients @ gradients.T
        A[tet, tet] += DENSITY * volume / 4 / STEP**2
    return A


def beam_cells(rows):
    """Cells along x, y, z of a beam with about as many vertices."""
    side = max(1, round((rows / 4) ** (1 / 3)) - 1)
    return 4 * side, side, side


def tet_matrix(rows):
    """The matrix of the global step on a sheared beam 1 m thick, nothing pinned; CSR with sorted columns.

    All cells are alike, so each entry of the matrix of one cell is added for all cells at once.
    """
    cells = beam_cells(rows)
    n = np.array(cells[::-1]) + 1  # vertices along z, y, x
    cell = pdgpu.shapes.beam((1 / cells[1],) * 3, cells=(1, 1, 1))
    corners = np.round(cell.points * cells[1]).astype(int)[:, ::-1]
    of_cell = cell_matrix(cell.points @ SHEAR, cell.tets)
    strides = np.array([n[1] * n[2], n[2], 1])
    entries = {}
    for a, b in zip(*np.nonzero(of_cell), strict=True):
        values = entries.setdefault(int((corners[b] - corners[a]) @ strides), np.zeros(n))
        values[tuple(slice(k, k + m - 1) for k, m in zip(corners[a], n, strict=True))] += of_cell[a, b]
    steps = sorted(entries)
    return stencil_matrix(steps, np.stack([entries[step].ravel() for step in steps], axis=1))


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


def cells_of(A, width, dtype, what, bandwidth, spread, build=""):
    """A row of the table; spread: (median, least, greatest) in seconds, None where not measured."""
    n = A.shape[0]
    counted = counted_bytes(what, (A.nnz - n) / n, np.dtype(dtype).itemsize, width)
    speed = counted * n / spread[0] if spread[0] and spread[0] > 0 else None
    return (
        n * width,
        width,
        dtype,
        what,
        *map(microseconds, spread),
        f"{counted:.0f}",
        "" if speed is None else f"{speed / 1e9:.0f}",
        "" if speed is None or bandwidth is None else f"{speed / bandwidth:.2f}",
        build,
    )


def measure(problem, width, dtype, what, weight, bandwidth, chosen):
    A, b = problem()
    begin = time.perf_counter()
    timer = sweeps_timer(A, b, SOLVERS[what](SWEEPS[chosen.tiny], weight), chosen.device, dtype)
    built = time.perf_counter()
    spread = medians({what: timer}, chosen.tiny)[what]
    yield cells_of(A, width, dtype, what, bandwidth, spread, f"{built - begin:.1f}")


def measure_cusparse(problem, stencil, width, dtype, bandwidth):
    """stencil: the name of the matrix for yardstick.cu, or None: it gets a file."""
    A, _ = problem()
    real = {"float32": "float", "float64": "double"}[dtype]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "matrix")
        if not stencil:
            write_matrix(path, A)
        for what, command in (("cuSPARSE product", "multiply"), ("cuSPARSE Jacobi", "jacobi")):
            mark = f"{command}:{real}:{width}:{stencil or f'file:{path}'}"
            yield cells_of(A, width, dtype, what, bandwidth, (yardstick(mark)[mark], None, None))


def cases_of(chosen, bandwidth):
    """As `write_cases` takes them; a matrix is made for its first case and kept until that of another is."""
    if chosen.tets:
        problems = [(tet_matrix, chosen.tets, 3, None, WEIGHTS["tets"], ("float32",))]
    else:
        problems = [(grid_matrix, n, width, f"7:{n}", WEIGHTS["grid"], ("float32", "float64")) for n, width in GRIDS[chosen.tiny]]

    @functools.lru_cache(maxsize=1)
    def problem(matrix, size, width):
        A = matrix(size)
        return A, A @ np.random.default_rng(0).normal(size=(A.shape[0], width))

    for matrix, size, width, stencil, weight, dtypes in problems:
        of_this = functools.partial(problem, matrix, size, width)
        for dtype in dtypes:
            for what in SOLVERS:  # one at a time, for the memory
                yield ("", width, dtype, what), functools.partial(measure, of_this, width, dtype, what, weight, bandwidth, chosen)
            run = functools.partial(measure_cusparse, of_this, stencil, width, dtype, bandwidth)
            yield ("", width, dtype, "cuSPARSE"), run


def main():
    rows = {
        "type": int,
        "metavar": "ROWS",
        "help": "the matrix of a beam of tets with about ROWS rows, three columns, float32, instead of grids",
    }
    chosen = options(__doc__, tets=rows)
    bandwidth = copy_bandwidth(chosen.tiny)
    notes = [*chosen.names, f"copy: {bandwidth / 1e9:.0f} GB/s read and written" if bandwidth else "copy: not measured"]
    header = ("unknowns", "columns", "dtype", "what", "us", "least us", "most us", "bytes/row", "GB/s", "of copy", "build s")
    write_cases(chosen, header, list(cases_of(chosen, bandwidth)), notes)


if __name__ == "__main__":
    main()
