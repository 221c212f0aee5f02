"""Linear systems on CUDA against the CPU in float64, iterate by iterate."""

import time

import numpy as np
import pytest
import scipy.sparse as sparse
from on_host_counts import calls_of_the_runtime

import pdgpu
from pdgpu._internal.backends import direct_library

pytestmark = pytest.mark.gpu


@pytest.fixture(params=["persistent", "launches"])
def way(request, monkeypatch):
    """Both ways of running many sweeps, whatever the size would choose."""
    monkeypatch.setenv("PDGPU_JACOBI", request.param)
    return request.param


def laplacian(entries, n):
    """Graph Laplacian + 0.3, with random weights."""
    rng = np.random.default_rng(n)
    i, j = entries
    w = rng.uniform(0.2, 1.0, len(i))
    W = sparse.coo_array((w, (i, j)), shape=(n, n)).tocsr()
    W = W + W.T
    return sparse.csr_array(sparse.diags_array(W.sum(axis=1) + 0.3) - W)


def random_graph(n, degree):
    rng = np.random.default_rng(degree)
    i, j = rng.integers(0, n, (2, n * degree // 2))
    return laplacian((i[i != j], j[i != j]), n)


def star(n):
    """One row of n - 1 neighbours, and a ring through them."""
    rim = np.arange(1, n)
    return laplacian((np.concatenate([np.zeros(n - 1, int), rim[:-1]]), np.concatenate([rim, rim[1:]])), n)


def mesh():
    beam = pdgpu.shapes.beam((1.0, 0.6, 0.6), cells=(3, 2, 2), split=5)
    points, tets = beam.points, beam.tets
    pairs = np.unique(np.sort(tets[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2), axis=1), axis=0)
    return laplacian(pairs.T, len(points))


def with_empty_rows():
    """Rows and columns of the identity among others, as pinned vertices have them."""
    n = 90
    A = random_graph(n, 5).tolil()
    for i in (0, 3, 63, 64, 89):
        A[i, :] = 0.0
        A[:, i] = 0.0
        A[i, i] = 1.0
    A = A.tocsr()
    A.eliminate_zeros()
    return A


def everything():
    """A long row, empty rows and a mesh in one matrix: more rows than one block of any kernel takes."""
    return sparse.csr_array(sparse.block_diag([star(1005), with_empty_rows(), mesh()]))


MATRICES = {
    "one row": lambda: sparse.csr_array(np.array([[2.0]])),
    "diagonal": lambda: sparse.diags_array(np.linspace(1.0, 3.0, 70)).tocsr(),
    "mesh": mesh,
    "everything": everything,
}

SOLVERS = {
    "jacobi": pdgpu.Jacobi(weight=0.6, iterations=5),
    "chebyshev": pdgpu.Jacobi(weight=0.6, iterations=6, chebyshev=pdgpu.Chebyshev(rho=0.9, start=2)),
    "chebyshev at once": pdgpu.Jacobi(weight=0.6, iterations=6, chebyshev=pdgpu.Chebyshev(rho=0.9, start=1, under_relaxation=0.9)),
    "gauss-seidel": pdgpu.GaussSeidel(iterations=4),
    "symmetric": pdgpu.SymmetricGaussSeidel(iterations=3, chebyshev=pdgpu.Chebyshev(rho=0.8, start=1)),
    "sor": pdgpu.SOR(omega=1.3, iterations=4),
    "pcg": pdgpu.PCG(iterations=6),
    "pcg chebyshev": pdgpu.PCG(iterations=3, preconditioner="chebyshev"),
    "pcg multilevel": pdgpu.PCG(iterations=5, preconditioner="multilevel"),
    "pcg amg": pdgpu.PCG(iterations=5, preconditioner="amg"),
    "direct": pdgpu.Direct(),
    "a-jacobi 1": pdgpu.AJacobi(order=1, weight=0.6, iterations=5),
    "a-jacobi 2": pdgpu.AJacobi(order=2, weight=0.6, iterations=5, chebyshev=pdgpu.Chebyshev(rho=0.9, start=1)),
    "a-jacobi 3": pdgpu.AJacobi(order=3, weight=0.6, iterations=6),
    "suppressed": pdgpu.AJacobi(order=2, weight=0.6, suppression=0.05, iterations=4),
}


def systems(name, solver, columns, dtype, device="cuda"):
    """A system, a right-hand side and a start, all exact in float32."""
    A = MATRICES[name]()
    A.data = A.data.astype(np.float32).astype(np.float64)
    rng = np.random.default_rng(columns)
    b, x0 = rng.normal(size=(2, A.shape[0], columns)).astype(np.float32).astype(np.float64)
    return pdgpu.linear.System(A, solver, columns=columns, device=device, dtype=dtype), b, x0


def compare(name, solver, columns, dtype):
    """Iterate of a run without a look in between; where the record is taken every sweep is a call of its own."""
    gpu, b, x0 = systems(name, solver, columns, dtype)
    found = {record: gpu.solve(b, x0, record) for record in (False, True)}
    cpu, b, x0 = systems(name, solver, columns, "float64", "cpu")
    expected = cpu.solve(b, x0)
    size = np.linalg.norm(expected.x - x0)
    bound = 1e-10 if dtype == "float64" else 2e-5
    for record, result in found.items():
        assert result.status == expected.status or dtype == "float32"
        assert np.linalg.norm(result.x - expected.x) <= bound * size, f"record={record}"
    if expected.status == "iteration_cap":
        a, b = found[True].residual_norm, expected.residual_norm
        np.testing.assert_allclose(a, b, rtol=1e-9 if dtype == "float64" else 1e-3, atol=(1e-13 if dtype == "float64" else 1e-5) * b[0])


SWEPT = [name for name in SOLVERS if "jacobi" in name or "chebyshev" in name]  # there are two ways to run their sweeps


@pytest.mark.parametrize("solver", SWEPT)
def test_sweeps(solver, dtype, way):
    """If not, Jacobi or A-Jacobi on the GPU is another one than on the CPU."""
    compare("everything", SOLVERS[solver], 3, dtype)


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in SWEPT])
def test_solvers(solver, dtype):
    """If not, a linear solver on the GPU is another one than on the CPU."""
    compare("everything", SOLVERS[solver], 3, dtype)


@pytest.mark.parametrize("name", ["one row", "diagonal"])
@pytest.mark.parametrize("solver", ["chebyshev", "symmetric", "pcg", "a-jacobi 2"])
def test_nothing_beside_the_diagonal(solver, name, dtype, way):
    """If not, a body of one vertex, or one without elements, gets numbers out of nowhere."""
    compare(name, SOLVERS[solver], 3, dtype)


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("solver", ["chebyshev", "symmetric", "pcg", "a-jacobi 2"])
def test_other_widths(solver, columns, dtype, way):
    """If not, only vectors of three columns are solved for."""
    compare("mesh", SOLVERS[solver], columns, dtype)


@pytest.mark.parametrize("kind", [pdgpu.Jacobi, pdgpu.AJacobi])
def test_more_sweeps_than_one_launch_takes(kind, dtype, way):
    """If not, a long run loses its place where the second launch begins."""
    for iterations in (64, 67):
        compare("mesh", kind(weight=0.6, iterations=iterations, chebyshev=pdgpu.Chebyshev(rho=0.9, start=2)), 3, dtype)


@pytest.mark.parametrize("solver", ["jacobi", "chebyshev", "chebyshev at once", "a-jacobi 2", "a-jacobi 3"])
def test_iterates_in_rows_of_four_have_the_same_bits(solver, dtype, way, on_host):
    """If not, a neighbour that is read as four numbers is another than the one that was written. One that is seen has rows of three."""
    if not on_host:
        pytest.skip("a compiler may fuse products of the two kernels differently; that of the stand-in does not")
    system, b, x0 = systems("everything", SOLVERS[solver], 3, dtype)
    np.testing.assert_array_equal(system.solve(b, x0, False).x, system.solve(b, x0, True).x)


@pytest.mark.parametrize("solver", ["gauss-seidel", "symmetric", "sor"])
@pytest.mark.parametrize("record", [False, True], ids=["at once", "one by one"])
def test_three_columns_at_once_have_the_bits_of_each_alone(solver, record, dtype, on_host):
    """If not, Gauss-Seidel in rows of four numbers, which three columns have, is another one than in the caller's vector."""
    if not on_host:
        pytest.skip("a compiler may fuse products of the two kernels differently; that of the stand-in does not")
    system, b, x0 = systems("everything", SOLVERS[solver], 3, dtype)
    alone, *_ = systems("everything", SOLVERS[solver], 1, dtype)
    x = system.solve(b, x0, record).x
    for c in range(3):
        np.testing.assert_array_equal(x[:, c], alone.solve(b[:, c : c + 1], x0[:, c : c + 1], record).x[:, 0], f"column {c}")


@pytest.mark.large
@pytest.mark.parametrize("solver", ["chebyshev", "a-jacobi 2"])
def test_more_rows_than_the_grid_that_stays(solver, dtype, monkeypatch):
    """If not, the rows past what a whole GPU holds at once get other numbers: its smaller tests never come to them."""
    monkeypatch.setenv("PDGPU_JACOBI", "persistent")
    monkeypatch.setitem(MATRICES, "many rows", lambda: random_graph(150_000, 6))  # 132 multiprocessors hold 33,000
    compare("many rows", SOLVERS[solver], 3, dtype)


def test_an_iteration_of_conjugate_gradients_is_three_launches(dtype, on_host):
    """If not, the sums of an iteration cost three launches of their own, and small systems wait for launches only."""
    look = 2  # a solve that is recorded measures every iterate
    if not on_host:
        pytest.skip("launches are counted by the stand-in only")
    launches = {}
    for iterations in (5, 9):
        system, b, x0 = systems("mesh", pdgpu.PCG(iterations=iterations), 3, dtype)
        before = calls_of_the_runtime(dtype, "launches")
        system.solve(b, x0)
        launches[iterations] = calls_of_the_runtime(dtype, "launches") - before
    assert launches[9] - launches[5] == 4 * (3 + look)


@pytest.mark.stress
def test_sums_of_more_blocks_than_one_adds_up(dtype):
    """If not, conjugate gradients of half a million rows sum up something else than those of fewer."""
    n = 1024 * 510 + 3
    A = sparse.diags_array([np.full(n - 1, -1.0), np.linspace(3.0, 4.0, n), np.full(n - 1, -1.0)], offsets=(-1, 0, 1)).tocsr()
    b = np.sin(np.arange(n) % 1000)[:, None]
    solver = pdgpu.PCG(iterations=3)
    found, expected = (pdgpu.linear.System(A, solver, dtype=dtype, device=device).solve(b).x for device in ("cuda", "cpu"))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 if dtype == "float64" else 1e-5)


def test_blocks_of_three_rows(dtype):
    """If not, the block preconditioner of conjugate gradients is another one on the GPU."""
    A = sparse.csr_array(sparse.kron(mesh(), np.array([[2.0, 0.5, 0.1], [0.5, 1.5, 0.2], [0.1, 0.2, 1.0]])))
    b = np.random.default_rng(0).normal(size=A.shape[0])
    solver = pdgpu.PCG(preconditioner="block", iterations=5)
    found = pdgpu.linear.System(A, solver, device="cuda", dtype=dtype).solve(b)
    expected = pdgpu.linear.solve(A, b, solver)
    np.testing.assert_allclose(found.x, expected.x, rtol=0, atol=(1e-11 if dtype == "float64" else 1e-5) * np.abs(expected.x).max())


def test_changing_diagonal(dtype):
    """If not, A-Jacobi refreshes its coefficients to those of another matrix."""
    for order in (2, 3):
        solver = pdgpu.AJacobi(order=order, weight=0.6, iterations=8)
        found = []
        for device, precision in (("cuda", dtype), ("cpu", "float64")):
            system, b, x0 = systems("mesh", solver, 3, precision, device)
            delta = np.zeros(len(b))
            delta[::7] = 2.0
            system.add_diagonal(delta)
            found.append(system.solve(b, x0).x)
        np.testing.assert_allclose(*found, atol=1e-11 if dtype == "float64" else 1e-5)


# an interval and aggregates are those of the first matrix
@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in ("pcg chebyshev", "pcg amg")])
def test_added_diagonal_has_the_bits_of_a_matrix_made_anew(solver, dtype):
    """If not, contact that comes and goes leaves its trace in a matrix on the GPU."""
    system, b, x0 = systems("mesh", SOLVERS[solver], 3, dtype)
    n = len(b)
    for places in ([3, 4, 30], [30], []):
        delta = np.zeros(n)
        delta[places] = 2.0
        system.add_diagonal(delta)
        counts = system._core.counts()
        system.add_diagonal(delta)
        found = system.solve(b, x0).x
        assert system._core.counts()["allocations"] == counts["allocations"]
        A = MATRICES["mesh"]()
        A.data = A.data.astype(np.float32).astype(np.float64)
        A = sparse.csr_array(A + sparse.diags_array(delta))
        fresh = pdgpu.linear.System(A, SOLVERS[solver], columns=3, device="cuda", dtype=dtype)
        expected = fresh.solve(b, x0).x
        if solver == "direct" and direct_library("cuda").startswith("cuDSS"):
            # cuDSS is deterministic, but its refactorisation may use other kernels than its first factorisation
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 if dtype == "float64" else 1e-5)
        else:
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("weight", [0.6, 1.0])
def test_only_the_rows_that_feel_a_diagonal_are_made_anew(order, weight, dtype):
    """If not, one contact costs a whole operator on the GPU, or rows next to it keep coefficients of before."""
    A, n = sparse.csr_array(sparse.diags_array([-np.ones(99), np.full(100, 2.5), -np.ones(99)], offsets=[-1, 0, 1])), 100
    system = pdgpu.linear.System(A, pdgpu.AJacobi(order=order, weight=weight, iterations=2), device="cuda", dtype=dtype)
    assert system.cost()["rows_recomputed"] == n
    b, delta, mask = np.random.default_rng(0).normal(size=n).astype(dtype), np.zeros(n), [20, 21, 70]
    before = system.solve(b).x
    delta[mask] = 3.0
    system.add_diagonal(delta)
    distance = np.abs(np.arange(n)[:, None] - mask).min(axis=1)
    assert system.cost()["rows_recomputed"] == (distance < order).sum()
    found = system.solve(b).x
    np.testing.assert_array_equal(found[distance > 3 * order], before[distance > 3 * order])
    assert (found != before)[mask].all()
    system.add_diagonal(delta)
    assert system.cost()["rows_recomputed"] == 0
    np.testing.assert_array_equal(system.solve(b).x, found)


def test_rows_made_anew_are_those_of_the_cpu(on_host):
    """If not, an operator of order 3 is another one on the GPU: its coefficients are made in double, without contraction."""
    delta = np.zeros(mesh().shape[0])
    delta[::9] = 1.75
    found = []
    for device in ("cpu", "cuda"):
        system, b, x0 = systems("mesh", pdgpu.AJacobi(order=3, weight=0.6, iterations=1), 3, "float64", device)
        system.add_diagonal(delta)
        found.append(system.solve(b, x0).x)
    np.testing.assert_allclose(*found, rtol=0, atol=1e-13)


def test_stops_by_its_tolerance(dtype):
    """If not, a solve on the GPU runs on without end, or ends too early."""
    system, b, x0 = systems("mesh", pdgpu.PCG(tolerance=1e-4, iterations=200), 3, dtype)
    for record in (True, False):
        result = system.solve(b, x0, record)
        assert result.status == "converged"
        assert result.residual_norm[-1] <= 1e-4 * result.residual_norm[0]
        assert np.linalg.norm(b - system._A @ result.x) <= 2e-4 * np.linalg.norm(b - system._A @ x0)


def test_solve_takes_a_device(dtype):
    """If not, pdgpu.linear.solve(device="cuda") runs on the CPU or in another precision."""
    A, b = mesh().astype(dtype), np.ones(mesh().shape[0], dtype=dtype)
    result = pdgpu.linear.solve(A, b, pdgpu.PCG(tolerance=1e-5), device="cuda")
    assert result.x.dtype == dtype and result.status == "converged"
    np.testing.assert_allclose(A @ result.x, b, atol=1e-3)


def test_rho_is_looked_for_on_the_device(dtype):
    """If not, rho="auto" accelerates by a number that was found for other sweeps."""
    solver = pdgpu.Jacobi(weight=0.6, iterations=40, chebyshev=pdgpu.Chebyshev(rho="auto"))
    gpu, b, x0 = systems("mesh", solver, 3, dtype)
    result = gpu.solve(b, x0)
    assert 0.0 < result.parameters["rho"] < 1.0
    assert result.residual_norm[-1] < 0.1 * result.residual_norm[0]


@pytest.mark.parametrize("solver", ["chebyshev", "symmetric", "pcg", "a-jacobi 2"])
def test_same_bits_from_run_to_run(solver, dtype, way):
    """If not, a solve on the GPU cannot be reproduced."""
    system, b, x0 = systems("mesh", SOLVERS[solver], 3, dtype)
    assert len({system.solve(b, x0, False).x.tobytes() for _ in range(3)}) == 1


def test_refusals(dtype, monkeypatch):
    """If not, a sequential sweep runs in parallel, or an unused option goes unnoticed."""
    A = mesh()
    with pytest.raises(RuntimeError, match="natural order of GaussSeidel"):
        pdgpu.linear.System(A, pdgpu.GaussSeidel(order="natural"), device="cuda", dtype=dtype)
    with pytest.raises(ValueError, match="device: expected one of"):
        pdgpu.linear.solve(A, np.ones(A.shape[0]), pdgpu.Jacobi(), device="gpu")
    monkeypatch.setenv("PDGPU_JACOBI", "fast")
    with pytest.raises(ValueError, match="PDGPU_JACOBI: expected 'persistent' or 'launches', got 'fast'"):
        pdgpu.linear.System(A, pdgpu.Jacobi(), device="cuda", dtype=dtype)


@pytest.mark.parametrize("record", [True, False])
def test_the_clock_stops_when_the_device_has_done_its_work(on_host, record):
    """If not, every comparison of solvers on a GPU compares how fast they can be started."""
    if record and not on_host:
        pytest.skip("on a GPU this fast the looks at the residual take longer than the iterations between them")
    A = everything()
    system = pdgpu.linear.System(A, pdgpu.Jacobi(weight=0.6, iterations=80 if on_host else 100_000), columns=3, device="cuda")
    b = np.ones((A.shape[0], 3))
    system.solve(b)
    begin = time.perf_counter()
    seconds = system.solve(b, record=record).seconds[-1]
    whole = time.perf_counter() - begin
    # the rest are looks at the residual, of which there is one at each iteration where they are recorded
    assert (0.2 if record else 0.5) * whole < seconds < whole
