"""A diagonal added to a matrix that has been solved with: only contents change, and only where they feel it."""

import dataclasses

import linear.problems as problems
import numpy as np
import pytest
import scipy.sparse as sparse

import pdgpu
from pdgpu import linear

EXTRAPOLATED = pdgpu.Chebyshev(rho=0.9, start=2)
SOLVERS = {
    "direct": pdgpu.Direct(),
    "jacobi": pdgpu.Jacobi(weight=0.6, iterations=7),
    "chebyshev": pdgpu.Jacobi(weight=0.6, iterations=8, chebyshev=EXTRAPOLATED),
    "gauss-seidel": pdgpu.GaussSeidel(iterations=4),
    "natural": pdgpu.GaussSeidel(order="natural", iterations=4),
    "symmetric": pdgpu.SymmetricGaussSeidel(iterations=4, chebyshev=EXTRAPOLATED),
    "sor": pdgpu.SOR(omega=1.3, iterations=4),
    "pcg": pdgpu.PCG(iterations=6),
    "pcg multilevel": pdgpu.PCG(preconditioner="multilevel", iterations=6),
    **{f"a-jacobi {order}": pdgpu.AJacobi(order=order, weight=0.6, iterations=4) for order in (1, 2, 3, 4)},
    "exact 3": pdgpu.AJacobi(order=3, weight=1.0, iterations=3),
    "composed": pdgpu.AJacobi(order=3, weight=0.6, variant="composed", iterations=4, chebyshev=pdgpu.Chebyshev(rho=0.9, start=1)),
    "suppressed": pdgpu.AJacobi(order=2, weight=0.6, suppression=0.05, iterations=4),
    "suppressed 4": pdgpu.AJacobi(order=4, weight=0.6, suppression=0.05, iterations=4),
}
N = 300


def grid():
    """A Laplacian on 15 x 20 points plus a mass, exact in float32."""
    line = [sparse.diags_array([-np.ones(n - 1), np.full(n, 2.0), -np.ones(n - 1)], offsets=[-1, 0, 1]) for n in (15, 20)]
    A = sparse.kron(line[0], sparse.eye_array(20)) + sparse.kron(sparse.eye_array(15), line[1]) + 0.25 * sparse.eye_array(N)
    return sparse.csr_array(A)


def right_hand_side(dtype):
    return np.random.default_rng(0).integers(-8, 8, (N, 3)).astype(dtype)


def deltas():
    """Contacts that come, move and go, exact in float32 beside the matrix."""
    random = np.random.default_rng(1)
    for count in (5, 1, 80, 0):
        delta = np.zeros(N)
        delta[random.choice(N, count, replace=False)] = random.integers(1, 64, count) / 4.0
        yield delta


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SOLVERS)
def test_bits_of_a_matrix_made_anew(name, dtype):
    """If not, what contact did to a matrix before is still in it."""
    system = linear.System(grid(), SOLVERS[name], columns=3, dtype=dtype)
    b = right_hand_side(dtype)
    for delta in deltas():
        system.add_diagonal(delta)
        fresh = linear.System(sparse.csr_array(grid() + sparse.diags_array(delta)), SOLVERS[name], columns=3, dtype=dtype)
        assert np.array_equal(system.solve(b).x, fresh.solve(b).x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_blocks_of_three_rows_follow(dtype):
    """If not, the block preconditioner is that of the matrix before the contact: slower, and by no residual to be told."""
    A = sparse.csr_array(sparse.kron(grid(), np.array([[2.0, 0.5, 0.25], [0.5, 1.5, 0.25], [0.25, 0.25, 1.0]])))
    solver, b = pdgpu.PCG(preconditioner="block", iterations=6), np.ones(3 * N, dtype)
    system = linear.System(A, solver, dtype=dtype)
    for count in (7, 0):
        delta = np.zeros(3 * N)
        delta[:: 3 * N // 7][:count] = 20.0
        system.add_diagonal(delta)
        fresh = linear.System(sparse.csr_array(A + sparse.diags_array(delta)), solver, dtype=dtype)
        assert np.array_equal(system.solve(b).x, fresh.solve(b).x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_only_the_rows_that_feel_it_are_made_anew(order, dtype):
    """If not, one contact costs as much as a whole operator, or rows next to it keep coefficients of before."""
    A = problems.chain(N)
    system = linear.System(A, pdgpu.AJacobi(order=order, weight=0.6, iterations=2), dtype=dtype)
    assert system.cost()["rows_recomputed"] == N
    b = np.random.default_rng(0).normal(size=N).astype(dtype)
    before, marked = system.solve(b).x, np.zeros(N)
    mask = [40, 41, 200]
    marked[mask] = 3.0
    system.add_diagonal(marked)
    distance = np.abs(np.arange(N)[:, None] - mask).min(axis=1)
    assert system.cost()["rows_recomputed"] == (distance < order).sum()
    # two iterations, and the constant term before them, reach 3 * order rows
    found = system.solve(b).x
    assert np.array_equal(found[distance > 3 * order], before[distance > 3 * order])
    assert (found != before)[mask].all()
    system.add_diagonal(marked)
    assert system.cost()["rows_recomputed"] == 0 and np.array_equal(system.solve(b).x, found)
    marked[41] = 0.0
    system.add_diagonal(marked)
    assert system.cost()["rows_recomputed"] == (np.abs(np.arange(N) - 41) < order).sum()
    system.add_diagonal(np.zeros(N))
    assert np.array_equal(system.solve(b).x, before)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_changed_diagonal_allocates_nothing(name):
    """If not, a step with many contacts slows down, or ends where memory runs out."""
    system = linear.System(grid(), SOLVERS[name], columns=3)
    b = right_hand_side("float64")
    changes = list(deltas())
    system.add_diagonal(changes[0])
    system.solve(b)
    before = system._core.counts()["allocations"]
    for delta in changes:
        system.add_diagonal(delta)
        system.solve(b)
    assert system._core.counts()["allocations"] == before


@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.parametrize("name", ["a-jacobi 2", "a-jacobi 3"])
def test_threads_refresh_the_same_bits(name, threads):
    """If not, a run with contact cannot be repeated on another machine."""
    A = sparse.csr_array(sparse.block_diag([grid()] * 8))  # enough rows to share
    b, delta = np.random.default_rng(0).normal(size=8 * N), np.zeros(8 * N)
    delta[::11] = 2.0
    found = []
    for count in (1, threads):
        system = linear.System(A, SOLVERS[name], threads=count)
        system.add_diagonal(delta)
        found.append(system.solve(b).x)
    assert np.array_equal(*found)


def simulation(solver):
    scene = pdgpu.Scene()
    mesh = pdgpu.shapes.beam((0.6, 0.2, 0.2), cells=(6, 2, 2))
    scene.add_solid(mesh, pdgpu.ARAP(2e4), density=1000.0).pin(mesh.points[:, 0] == 0.0)
    return pdgpu.Simulation(scene, solver)


def changed(n, index, value):
    added = np.ones(n)
    added[index] = value
    return added


def test_bad_numbers_are_named():
    """If not, a NaN in one contact's weight is found out by the positions of the whole body."""
    sim = simulation(pdgpu.ProjectiveDynamics(linear=SOLVERS["jacobi"]))
    system = linear.System(grid(), SOLVERS["jacobi"], columns=3)
    for core, n in ((sim._core.backend, len(sim.positions)), (system._core, N)):
        for value in (np.nan, np.inf, -1e-3):
            with pytest.raises(ValueError, match=rf"added: .*{'nan' if value != value else value}.*\b13\b"):
                core.set_diagonal(changed(n, 13, value))
        for wrong in (np.ones(n + 1), np.ones((n, 1)), np.ones(n, np.float32), 1.0):
            with pytest.raises((TypeError, ValueError), match="added"):
                core.set_diagonal(wrong)
    with pytest.raises(ValueError, match="no linear solver"):
        simulation(pdgpu.VertexBlockDescent())._core.backend.set_diagonal(None)


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "natural"])
def test_a_global_step_follows(name):
    """If not, Projective Dynamics with contact solves with the matrix of a body that touches nothing."""
    inner = SOLVERS[name] if name == "direct" else dataclasses.replace(SOLVERS[name], iterations=4)
    solver = pdgpu.ProjectiveDynamics(iterations=3, linear=inner)
    sims = {when: simulation(solver) for when in ("before", "between", "never")}
    added = np.zeros(len(sims["never"].positions))
    added[-20:] = 1e5
    sims["before"]._core.backend.set_diagonal(added)
    for sim in sims.values():
        sim.step()
    state = sims["never"].positions, sims["never"].velocities
    sims["between"]._core.backend.set_diagonal(added)
    before = sims["between"]._core.backend.counts()["allocations"]
    sims["between"]._core.backend.set_diagonal(None)
    sims["between"]._core.backend.set_diagonal(added)
    for sim in sims.values():
        sim.set_state(positions=state[0], velocities=state[1])
        sim.step()
    assert sims["between"]._core.backend.counts()["allocations"] == before
    assert np.array_equal(sims["before"].positions, sims["between"].positions)
    assert not np.array_equal(sims["before"].positions, sims["never"].positions)
