"""Smoothed aggregation against its definition in NumPy, and what it is for: iterations that neither size nor contrast changes much."""

import amg_oracle
import numpy as np
import pytest
import scipy.sparse
from uneven_matrices import SYSTEMS, assert_first_iterate, blocks, first_iterate, laplacian, neighbours_of, truss

import pdgpu
from pdgpu import linear, shapes


def amg(**options):
    return pdgpu.PCG(preconditioner="amg", **options)


def oracle(A, numbers, dtype="float64"):
    return amg_oracle.preconditioner(A.toarray(), neighbours_of(A, numbers), numbers, epsilon=np.finfo(dtype).eps / 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", SYSTEMS)
def test_it_is_its_definition(case, dtype):
    """If not, strengths, aggregates, coarser matrices or the cycle are others than documented."""
    make, numbers = SYSTEMS[case]
    exact = dtype == "float64"
    assert_first_iterate(
        make().astype(dtype),
        lambda A: oracle(A, numbers, dtype),
        lambda A, b: linear.solve(A, b, amg(iterations=1)).x,
        symmetric=1e-11,
        multiple=1e-11 if exact else 1e-2,
        entries=1e-12 if exact else 1e-3,
    )


def test_the_cases_have_several_levels():
    """If not, the comparisons say nothing of a coarser matrix."""
    found = [len(amg_oracle.levels_of(A.toarray(), neighbours_of(A, n), n)[0]) for A, n in ((make(), n) for make, n in SYSTEMS.values())]
    assert min(found) == 1 and max(found) >= 2


@pytest.mark.parametrize("columns", [1, 3, 5])
def test_every_column_is_a_system_of_its_own(columns):
    """If not, columns are mixed, or those after the third are left out."""
    A = laplacian()
    b = np.random.default_rng(2).standard_normal((A.shape[0], columns))
    found = linear.solve(A, b, amg(iterations=1)).x
    expected = first_iterate(A, oracle(A, 1), b)
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("make", [lambda: laplacian(contrast=1e4), lambda: blocks(laplacian())])
def test_it_solves_with_the_answer_of_the_direct_solver(make):
    """If not, it is not symmetric, and conjugate gradients drift away."""
    A = make()
    b = np.random.default_rng(3).standard_normal(A.shape[0])
    exact = linear.solve(A, b, pdgpu.Direct()).x
    found = linear.solve(A, b, amg(tolerance=1e-12))
    np.testing.assert_allclose(found.x, exact, atol=1e-8 * np.abs(exact).max())


def counts_of(A, *names):
    b = np.ones(A.shape[0])
    return [linear.solve(A, b, pdgpu.PCG(preconditioner=name, tolerance=1e-8)).iterations for name in names]


def test_iterations_hardly_grow_with_size_and_contrast():
    """If not, it is a block smoother with a large memory."""
    (small,), (large,) = (counts_of(laplacian(cells=cells), "amg") for cells in ((10, 5, 4), (40, 20, 16)))
    uneven, jacobi = counts_of(laplacian(cells=(40, 20, 16), contrast=1e4), "amg", "jacobi")
    assert large <= 1.4 * small, (small, large)
    assert uneven <= 2.0 * large and uneven < 0.1 * jacobi, (large, uneven, jacobi)


def bar(cells):
    """The system matrix and the Hessian of a bar that is held at one end and stretched, and the points of its free vertices."""
    mesh = shapes.beam((1.0, 0.25, 0.25), cells=cells)
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e5, 0.4), density=1000.0).pin(lambda points: points[:, 0] < 1e-6)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), dt=1 / 30)
    x = mesh.points * [1.1, 1.0, 1.0]
    sim.set_state(positions=x)
    free = sim._core.fixed == 0
    rows = np.repeat(free, 3)
    return sim.hessian(psd=True).tocsr()[rows][:, rows], x[free]


def test_rotations_are_in_the_coarser_levels_of_a_hessian():
    """If not, a bar that bends needs as many iterations as with translations alone."""
    H, x = bar((12, 3, 3))
    neighbours = neighbours_of(H, 3)
    conditions = []
    for points in (x, None):
        values = np.linalg.eigvals(amg_oracle.preconditioner(H.toarray(), neighbours, 3, points) @ H.toarray()).real
        assert values.min() > 0 and values.max() <= 1 + 1e-8  # I - M A is a product of contractions
        conditions.append(values.max() / values.min())
    assert conditions[0] < 0.6 * conditions[1]


def test_products_of_a_cycle_count():
    """If not, it is compared with preconditioners that do less work by the same numbers."""
    mesh = shapes.beam((1.0, 0.25, 0.25), cells=(12, 3, 3))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP(1e4), density=1000.0).pin(lambda points: points[:, 0] < 1e-6)
    record = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=2, linear=amg(iterations=3)), dt=1 / 30).step(record=True)
    assert record["products"][-1] == 2 * (3 + 2 * 4)  # M is applied before the first iteration, too


def test_steps_without_contact_allocate_no_memory():
    """If not, a GPU stops in every step, since the aggregates of the next one need somewhat more memory."""
    mesh = shapes.beam((1.0, 0.25, 0.25), cells=(16, 5, 5))
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    material = pdgpu.NeoHookean.from_young(np.where(mesh.points[mesh.tets].mean(axis=1)[:, 0] > 0.5, 1e6, 1e4), 0.4)
    scene.add_solid(mesh, material, density=1000.0).pin(lambda points: points[:, 0] < 1e-6)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=3, linear=amg()), dt=1 / 30)
    sim.step(2)
    made = sim._core.backend.counts()["allocations"]
    sim.step(6)
    assert sim._core.backend.counts()["allocations"] == made


def test_matrices_without_a_coarser_level():
    """If not, a diagonal matrix, one row or one domain is read past its end."""
    for A in (scipy.sparse.diags(np.arange(1.0, 101.0)).tocsr(), scipy.sparse.csr_matrix([[2.0]]), laplacian(cells=(1, 1, 1))):
        b = np.ones(A.shape[0])
        found = linear.solve(A, b, amg(iterations=30, tolerance=1e-13))
        np.testing.assert_allclose(A @ found.x, b, atol=1e-10)
        assert found.iterations <= 2  # the inverse itself, where there is one domain


def test_many_separate_parts():
    """If not, a scene of many small bodies has no last level, or one that is wrong."""
    A = scipy.sparse.block_diag([laplacian(cells=(2, 2, 2), seed=seed) for seed in range(60)]).tocsr()
    b = np.random.default_rng(5).standard_normal(A.shape[0])
    found = linear.solve(A, b, amg(iterations=60, tolerance=1e-10))
    np.testing.assert_allclose(A @ found.x, b, atol=1e-8)
    assert found.iterations <= 24


@pytest.mark.parametrize("case", ["rows", "contrast", "blocks"])
def test_an_added_diagonal_is_in_it(case):
    """If not, the preconditioner is that of the matrix before a contact. Its aggregates stay."""
    A = SYSTEMS[case][0]()
    added = np.where(np.arange(A.shape[0]) % 7 == 0, 1e3, 0.0)
    b = np.random.default_rng(6).standard_normal(A.shape[0])
    system = linear.System(A, amg(tolerance=1e-9))
    system.add_diagonal(added)
    found, fresh = system.solve(b), linear.solve((A + scipy.sparse.diags(added)).tocsr(), b, amg(tolerance=1e-9))
    np.testing.assert_allclose(found.x, fresh.x, atol=1e-6 * np.abs(fresh.x).max())
    assert found.iterations <= 1.6 * fresh.iterations


@pytest.mark.parametrize("threads", [2, 3])
def test_bits_do_not_depend_on_the_threads(threads):
    """If not, a run cannot be repeated on another machine."""
    A = laplacian(cells=(24, 12, 10))
    b = np.random.default_rng(7).standard_normal((A.shape[0], 3))
    one, several = (linear.solve(A, b, amg(iterations=5), threads=count).x for count in (1, threads))
    assert np.array_equal(one, several)


def test_an_indefinite_matrix_is_told():
    """If not, an indefinite matrix gives an answer that is none."""
    A = laplacian() - 2.0 * scipy.sparse.identity(laplacian().shape[0])
    with pytest.raises(ValueError, match="not positive definite"):
        linear.solve(A.tocsr(), np.ones(A.shape[0]), amg(tolerance=1e-10))


def test_an_unknown_name_is_told():
    """If not, the message does not say which preconditioners there are."""
    with pytest.raises(ValueError, match=r"preconditioner.*'amg'"):
        pdgpu.PCG(preconditioner="multigrid")


@pytest.mark.parametrize(("dtype", "stiffness"), [("float64", 1e9), ("float32", 3e5)])
@pytest.mark.parametrize("seed", range(3))
def test_a_stiff_truss_stays_positive_definite(dtype, stiffness, seed):
    """If not, rounding makes a stiff body indefinite, and a simulation ends with an error."""
    A = truss(stiffness, dtype, seed, n=24)
    system = linear.System(scipy.sparse.csr_matrix(A), amg(iterations=1), dtype=dtype)
    for b in (A.astype(float) @ np.random.default_rng(seed).standard_normal((len(A), 30))).T:
        b = (b / np.abs(b).max()).astype(dtype)
        assert b @ system.solve(b).x > 0
