"""What does a Schur complement save where contact changes the matrix in every iteration, and what does it cost to set up?

A bar of jittered tets, held at one end, of which the m vertices nearest to one place of its surface are prone to contact. By tets and by m:

    refactorisation   Direct with a new diagonal: the whole matrix is factorised again (its ordering is kept)
    dense factor      SchurDirect with a new diagonal: Sigma + diag is factorised (LAPACK, one thread)
    inner 1, inner 3  one iteration of Projective Dynamics with SchurDirect: local step, triangular solves, inner solves; the factor stays
    iteration         inner 3 and three dense factors: contact found again before each inner iteration [Wang et al. 2021, Algorithm 1]
    ratio             refactorisation / iteration
    of dgemm          rate of the dense factor, m^3/3 operations, over that of a product of two matrices of 1000 rows on one thread
    sparse, sigma     set up: ordering and factor with the prone vertices last; L22 L22^T; wall time, the less of two
    entries, fill     of the sparse factor, and over those of a factor that may order all vertices as it likes
    bytes             of Sigma, its factor, its place in the sparse factor

Times are medians of rounds in which all of them are measured in turn: wall time, and, as "cpu", the processor time of all threads,
which other programs disturb less (threads that wait for each other count too). Exponents are log(cost ratio) / log(size ratio) to the
last row with the same m (tets) or mesh (m).

With --setup nothing but what is prepared once, by bars of growing n and by growing m: processor time of making a simulation with
SchurDirect, less that of one with Jacobi (the less of two each), and bytes of the sparse factor and of the dense matrices.

    python benchmarks/schur_complement.py [--tiny] [--large | --setup] [--dtype float32] [--threads N] [--out FILE.csv]
"""

import argparse
import math
import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # of the product that the dense factor is held against

import numpy as np
from machine import write_table

import pdgpu
from pdgpu import _host

ROUNDS = 7
# cells of the bar, m: first growing meshes, then growing m on the largest
CASES = [((48, 14, 14), 1000), ((60, 18, 18), 1000), ((76, 23, 23), 1000)] + [((96, 29, 29), m) for m in (500, 1000, 2000, 4000)]
CASES += [((44, 44, 44), m) for m in (1000, 2000, 4000)]  # a cube of as many tets
LARGE = [((96, 29, 29), 1000), ((96, 29, 29), 2000)]
TINY = [((12, 4, 4), 30), ((16, 5, 5), 30), ((16, 5, 5), 60)]
HEADER = ("tets", "vertices", "m", "refactorisation s", "dense factor s", "inner 1 s", "inner 3 s", "iteration s", "ratio")
HEADER += ("cpu refactorisation s", "cpu dense factor s", "cpu inner 3 s", "cpu ratio", "of dgemm")
HEADER += ("sparse s", "sigma s", "entries", "fill", "bytes", "^sparse tets", "^entries tets", "^dense m", "^sigma m")


def bar(cells):
    """A scene, and the distance of its vertices from the middle of the lower side."""
    size = np.array(cells) / cells[1]
    mesh = pdgpu.shapes.beam(tuple(size), cells=cells)
    inner = ((mesh.points > 1e-9) & (mesh.points < size - 1e-9)).all(axis=1)
    moves = 0.2 / cells[1] * np.random.default_rng(0).uniform(-1.0, 1.0, mesh.points.shape)
    mesh = pdgpu.Mesh(mesh.points + moves * inner[:, None], tets=mesh.tets)
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP(mu=1e5), density=1000.0).pin(lambda points: points[:, 0] < 1e-9)
    away = np.linalg.norm((mesh.points - [size[0] / 2, 0.0, 0.5]) * [1.0, 2.0, 1.0], axis=1)
    return scene, mesh, away


def simulation(scene, mesh, linear, iterations, options):
    solver = pdgpu.ProjectiveDynamics(iterations=iterations, linear=linear, initialization="previous")
    sim = pdgpu.Simulation(scene, solver, dt=None, **options)
    sim.set_state(positions=mesh.points * [1.02, 1.0, 1.0])
    return sim


def unconstrained_entries(sim):
    """Of a factor of the same matrix in the order that suits it best."""
    A = sim.system_matrix(free=True)
    from scipy.sparse import triu

    upper = triu(A, format="csc")
    upper.sort_indices()
    return _host.schur_complement(upper.indptr.astype(np.int32), upper.indices.astype(np.int32), upper.data, 0)[1]


def seconds(call):
    """Wall time and processor time."""
    begin = time.perf_counter(), time.process_time()
    call()
    return np.array([time.perf_counter() - begin[0], time.process_time() - begin[1]])


def measured(scene, mesh, away, m, iterations, options, product):
    """The figures of one mesh and one m, and those of Direct on it."""
    prone = np.sort(np.argsort(away, kind="stable")[:m])
    added = np.zeros(len(away))
    direct = simulation(scene, mesh, pdgpu.Direct(), 1, options)
    schur = {inner: simulation(scene, mesh, pdgpu.SchurDirect(prone, inner), iterations, options) for inner in (1, 3)}
    free = unconstrained_entries(direct)
    times = {}
    for turn in range(ROUNDS):
        added[prone] = 1e3 * (turn + 1)
        parts = {
            "product": lambda: product @ product,
            "refactorisation": lambda: direct._core.backend.set_diagonal(added),
            "dense": lambda: schur[3]._core.backend.set_diagonal(added),
            1: schur[1].step,
            3: schur[3].step,
        }
        for name, call in parts.items():
            times.setdefault(name, []).append(seconds(call) / (iterations if name in (1, 3) else 1))
    result = {name: np.median(values, axis=0) for name, values in times.items()}
    cost = dict(schur[3].parameters["schur"])
    for name in ("sparse_seconds", "sigma_seconds"):
        cost[name] = min(cost[name], schur[1].parameters["schur"][name])
    return result | {"cost": cost, "fill": cost["factor_entries"] / free}


def exponent(now, then, sizes):
    return f"{math.log(now / then) / math.log(sizes[0] / sizes[1]):.2f}"


SETUP = ("tets", "vertices", "m", "cpu set up s", "entries", "fill", "sparse bytes", "dense bytes", "bytes")
SETUP += ("^set up n", "^entries n", "^bytes n", "^set up m", "^entries m", "^bytes m")


def setups(cases, options):
    """Rows of what is prepared once; exponents by vertices and by m."""
    known, made = [], (None, None)

    def spent(linear):
        return min(seconds(lambda: simulation(scene, mesh, linear, 1, options))[1] for _ in range(2))

    for cells, m in cases:
        if made[0] != cells:
            made = cells, bar(cells)
            scene, mesh, away = made[1]
            free, other = unconstrained_entries(simulation(scene, mesh, pdgpu.Direct(), 1, options)), spent(pdgpu.Jacobi(weight=0.5))
        linear = pdgpu.SchurDirect(np.sort(np.argsort(away, kind="stable")[:m]))
        cost = simulation(scene, mesh, linear, 1, options).parameters["schur"]
        entries, dense, n = cost["factor_entries"], cost["bytes"], len(mesh.points)
        found = max(spent(linear) - other, 1e-6), entries, 8 * entries + dense
        with_m = [row for row in known if row[1] == m and row[0] != n][-1:]
        with_n = [row for row in known if row[0] == n][-1:]
        by_n = [exponent(now, then, (n, row[0])) for row in with_m for now, then in zip(found, row[2], strict=True)] or [""] * 3
        by_m = [exponent(now, then, (m, row[1])) for row in with_n for now, then in zip(found, row[2], strict=True)] or [""] * 3
        known.append((n, m, found))
        yield len(mesh.tets), n, m, f"{found[0]:.3g}", entries, f"{entries / free:.3f}", 8 * entries, dense, found[2], *by_n, *by_m


def rows(cases, iterations, options):
    product = np.random.default_rng(0).uniform(size=(1000, 1000))
    product @ product
    before, made, with_m = None, (None, None), {}  # with_m: of each m the last row with it
    for cells, m in cases:
        if made[0] != cells:
            made = cells, bar(cells)
        scene, mesh, away = made[1]
        found = measured(scene, mesh, away, m, iterations, options, product)
        cost, whole = found["cost"], found[3] + 3.0 * found["dense"]
        ratio, dense = found["refactorisation"] / whole, found["dense"][1]
        rate = (m**3 / 3.0 / dense) / (2.0 * 1000.0**3 / found["product"][1])
        exponents = ["", "", "", ""]
        if m in with_m and 1.5 * with_m[m][0] < len(mesh.tets):  # a cube of as many tets as the bar is another mesh, and no larger one
            pairs = ((cost["sparse_seconds"], with_m[m][2]), (cost["factor_entries"], with_m[m][5]))
            exponents[:2] = [exponent(now, then, (len(mesh.tets), with_m[m][0])) for now, then in pairs]
        if before and before[0] == len(mesh.tets):
            pairs = ((dense, before[3]), (cost["sigma_seconds"], before[4]))
            exponents[2:] = [exponent(now, then, (m, before[1])) for now, then in pairs]
        before = with_m[m] = len(mesh.tets), m, cost["sparse_seconds"], dense, cost["sigma_seconds"], cost["factor_entries"]
        yield (
            len(mesh.tets),
            len(mesh.points),
            m,
            *(f"{value[0]:.4g}" for value in (found["refactorisation"], found["dense"], found[1], found[3], whole)),
            f"{ratio[0]:.1f}",
            *(f"{found[name][1]:.4g}" for name in ("refactorisation", "dense", 3)),
            f"{ratio[1]:.1f}",
            f"{rate:.2f}",
            f"{cost['sparse_seconds']:.3g}",
            f"{cost['sigma_seconds']:.3g}",
            cost["factor_entries"],
            f"{found['fill']:.3f}",
            cost["bytes"],
            *exponents,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out")
    parser.add_argument("--tiny", action="store_true", help="sizes that show only that everything runs")
    parser.add_argument("--large", action="store_true", help="the largest bar with 1000 and 2000 vertices alone")
    parser.add_argument("--setup", action="store_true", help="what is prepared once alone")
    parser.add_argument(
        "--dtype", default="float64", choices=("float32", "float64"), help="of everything but the factors, which are double"
    )
    parser.add_argument("--threads", type=int, default=0, help="of everything but the factors, which have one (0: all cores)")
    options = parser.parse_args()
    load = f"load of the machine before: {os.getloadavg()[0]:.1f}, threads: {options.threads or os.cpu_count()}, {options.dtype}"
    notes = ["tiny"] if options.tiny else [f"medians of {ROUNDS} rounds in turn; {load}"]
    cases = TINY if options.tiny else LARGE if options.large else CASES
    made_with = {"threads": options.threads, "dtype": options.dtype}
    if options.setup:
        write_table(options.out, SETUP, setups(TINY if options.tiny else CASES[:7], made_with), notes[: options.tiny] or [load])
        return
    write_table(options.out, HEADER, rows(cases, 3 if options.tiny else 4, made_with), notes)


if __name__ == "__main__":
    main()
