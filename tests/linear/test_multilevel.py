"""The multilevel preconditioner against its definition in NumPy, and what it is for: few iterations on large and on uneven matrices."""

import multilevel_oracle
import numpy as np
import pytest
import scipy.sparse
from uneven_matrices import SYSTEMS, assert_first_iterate, blocks, first_iterate, laplacian, neighbours_of, truss

import pdgpu
from pdgpu import linear

MULTILEVEL = "multilevel"


def oracle(A, numbers, dtype="float64"):
    epsilon = np.finfo(dtype).eps / 2
    return multilevel_oracle.preconditioner(A.toarray(), neighbours_of(A, numbers), numbers, epsilon=epsilon)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", SYSTEMS)
def test_it_is_its_definition(case, dtype):
    """If not, domains, coarser matrices or their inverses are others than documented."""
    make, numbers = SYSTEMS[case]
    exact = dtype == "float64"
    assert_first_iterate(
        make().astype(dtype),
        lambda A: oracle(A, numbers, dtype),
        lambda A, b: linear.solve(A, b, pdgpu.PCG(preconditioner=MULTILEVEL, iterations=1)).x,
        symmetric=1e-12,
        multiple=1e-11 if exact else 1e-3,
        entries=1e-12 if exact else 1e-5,
    )


@pytest.mark.parametrize("columns", [1, 3, 5])
def test_every_column_is_a_system_of_its_own(columns):
    """If not, columns are mixed, or those after the third are left out."""
    A = laplacian()
    b = np.random.default_rng(2).standard_normal((A.shape[0], columns))
    found = linear.solve(A, b, pdgpu.PCG(preconditioner=MULTILEVEL, iterations=1)).x
    expected = first_iterate(A, oracle(A, 1), b)
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("case", SYSTEMS)
def test_it_is_linear_symmetric_and_positive_definite(case):
    """If not, conjugate gradients end at another answer, or at none."""
    A = SYSTEMS[case][0]()
    rng = np.random.default_rng(4)
    for b, c in rng.standard_normal((5, 2, A.shape[0])):
        x_b, x_c, x_both = (linear.solve(A, v, pdgpu.PCG(preconditioner=MULTILEVEL, iterations=1)).x for v in (b, c, b + c))
        # each is a multiple of M^-1 times its right-hand side: linearity gives the ratios of these multiples
        multiples, remainder = np.linalg.lstsq(np.stack([x_b, x_c], axis=1), x_both, rcond=None)[:2]
        assert remainder[0] < 1e-20 * (x_both @ x_both)
        assert multiples[0] * (c @ x_b) == pytest.approx(multiples[1] * (b @ x_c), rel=1e-9, abs=1e-12 * (b @ x_b))
        assert b @ x_b > 0 and c @ x_c > 0


def test_it_solves_with_the_answer_of_the_direct_solver():
    """If not, it is not symmetric, and conjugate gradients drift away."""
    for A in (laplacian(contrast=1e4), blocks(laplacian())):
        b = np.random.default_rng(3).standard_normal(A.shape[0])
        exact = linear.solve(A, b, pdgpu.Direct()).x
        found = linear.solve(A, b, pdgpu.PCG(preconditioner=MULTILEVEL, tolerance=1e-12))
        np.testing.assert_allclose(found.x, exact, atol=1e-8 * np.abs(exact).max())


def test_it_needs_fewer_iterations_on_a_large_uneven_matrix():
    """If not, it costs its inverses for nothing."""
    A = laplacian(cells=(40, 20, 16), contrast=1e4)
    b = np.ones(A.shape[0])
    counts = {M: linear.solve(A, b, pdgpu.PCG(preconditioner=M, tolerance=1e-8)).iterations for M in ("jacobi", MULTILEVEL)}
    assert counts[MULTILEVEL] < 0.5 * counts["jacobi"], counts


def test_matrices_without_a_coarser_level():
    """If not, a diagonal matrix, one row or one domain is read past its end."""
    for A in (scipy.sparse.diags(np.arange(1.0, 101.0)).tocsr(), scipy.sparse.csr_matrix([[2.0]]), laplacian(cells=(1, 1, 1))):
        b = np.ones(A.shape[0])
        found = linear.solve(A, b, pdgpu.PCG(preconditioner=MULTILEVEL, iterations=30, tolerance=1e-13))
        np.testing.assert_allclose(A @ found.x, b, atol=1e-10)
        assert found.iterations <= 2  # the inverse itself, where there is one domain


@pytest.mark.parametrize("case", SYSTEMS)
def test_an_added_diagonal_is_in_it(case):
    """If not, the preconditioner is that of the matrix before a contact."""
    A = SYSTEMS[case][0]()
    added = np.where(np.arange(A.shape[0]) % 7 == 0, 1e3, 0.0)
    b = np.random.default_rng(6).standard_normal(A.shape[0])
    solver = pdgpu.PCG(preconditioner=MULTILEVEL, iterations=3)
    system = linear.System(A, solver)
    system.add_diagonal(added)
    fresh = linear.System((A + scipy.sparse.diags(added)).tocsr(), solver)
    assert np.array_equal(system.solve(b).x, fresh.solve(b).x)


@pytest.mark.parametrize("threads", [2, 3])
def test_bits_do_not_depend_on_the_threads(threads):
    """If not, a run cannot be repeated on another machine."""
    A = laplacian(cells=(24, 12, 10))
    b = np.random.default_rng(7).standard_normal((A.shape[0], 3))
    solver = pdgpu.PCG(preconditioner=MULTILEVEL, iterations=5)
    one, several = (linear.solve(A, b, solver, threads=count).x for count in (1, threads))
    assert np.array_equal(one, several)


def test_an_indefinite_matrix_is_told():
    """If not, an indefinite matrix gives an answer that is none."""
    A = laplacian() - 2.0 * scipy.sparse.identity(laplacian().shape[0])
    with pytest.raises(ValueError, match="not positive definite"):
        linear.solve(A.tocsr(), np.ones(A.shape[0]), pdgpu.PCG(preconditioner=MULTILEVEL, tolerance=1e-10))


@pytest.mark.parametrize(("dtype", "stiffness"), [("float64", 1e9), ("float32", 3e5)])
@pytest.mark.parametrize("seed", range(3))
def test_a_stiff_domain_stays_positive_definite(dtype, stiffness, seed):
    """If not, the rounding of its inverse makes a stiff body indefinite, and a simulation ends with an error."""
    A = truss(stiffness, dtype, seed)
    assert np.linalg.eigvalsh(A.astype(float)).min() > 0
    system = linear.System(scipy.sparse.csr_matrix(A), pdgpu.PCG(preconditioner=MULTILEVEL, iterations=1), dtype=dtype)
    # of stiff motions M^-1 is small next to its entries
    for b in (A.astype(float) @ np.random.default_rng(seed).standard_normal((len(A), 30))).T:
        b = (b / np.abs(b).max()).astype(dtype)
        assert b @ system.solve(b).x > 0
