"""The sparse Cholesky factor across sizes of its supernodes: those of the kernel, of several strips of columns, and of LAPACK."""

import numpy as np
import pytest
import scipy.sparse

import pdgpu
from pdgpu import linear

# a supernode of more than 339 columns and 7 more rows is left to LAPACK; panels have 6 columns and strips 48
SIZES = (1, 2, 5, 6, 7, 11, 47, 48, 49, 97, 145, 200, 338, 339, 340, 402)


def arrow(size, blocks=3, seed=0):
    """Dense blocks of `size` rows that a dense block of seven rows joins: one supernode for each block, and one at the root."""
    rng = np.random.default_rng(seed)
    parts = [rng.normal(size=(size, size)) for _ in range(blocks)]
    n = blocks * size
    sides = rng.normal(size=(n, 7))
    inside = scipy.sparse.block_diag([part @ part.T + 10.0 * size * np.eye(size) for part in parts])
    root = sides.T @ sides + 10.0 * n * np.eye(7)
    return scipy.sparse.block_array([[inside, sides], [sides.T, root]], format="csr")


@pytest.mark.parametrize("size", SIZES)
def test_the_factor_solves_with_supernodes_of_any_size(size):
    """If not, a size between two kernels gives a wrong factor, and every direct solve a wrong answer."""
    A = arrow(size)
    x = np.random.default_rng(1).normal(size=A.shape[0])
    found = linear.solve(A, A @ x, pdgpu.Direct()).x
    np.testing.assert_allclose(found, x, rtol=0, atol=1e-11 * np.abs(x).max())


def test_products_of_large_supernodes():
    """If not, a solid of some thousand vertices has a wrong factor: BLAS computes products of its supernodes in strips of columns."""
    lines = [scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)) for n in (14, 14, 26)]
    neighbours = scipy.sparse.kron(scipy.sparse.kron(lines[0], lines[1]), lines[2])
    A = (scipy.sparse.kron(neighbours, np.full((3, 3), -0.5) + np.eye(3)) + 60.0 * scipy.sparse.eye_array(3 * neighbours.shape[0])).tocsr()
    x = np.random.default_rng(3).normal(size=A.shape[0])
    np.testing.assert_allclose(linear.solve(A, A @ x, pdgpu.Direct()).x, x, rtol=0, atol=1e-11 * np.abs(x).max())


@pytest.mark.parametrize("gaps", [1, 2, 3, 5, 9])
def test_products_at_rows_with_gaps(gaps):
    """If not, runs of one, two or four rows of a product go to wrong rows: small supernodes reach some rows of a large one only."""
    rng = np.random.default_rng(gaps)
    n, small = 60, 40
    sides = np.zeros((small, n))
    for row in sides:  # runs of rows with gaps between them
        row[:] = (rng.integers(0, gaps + 1, n) == 0) * rng.normal(size=n)
    root = sides.T @ sides + 50.0 * np.eye(n) + 0.1
    A = scipy.sparse.block_array([[10.0 * scipy.sparse.eye_array(small), sides], [sides.T, root]], format="csr")
    x = rng.normal(size=n + small)
    np.testing.assert_allclose(linear.solve(A, A @ x, pdgpu.Direct()).x, x, rtol=0, atol=1e-11 * np.abs(x).max())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 1.0])
def test_a_pivot_that_is_not_positive_is_refused(size, part):
    """If not, a matrix that is not positive definite is factorised, and Newton's method goes uphill or takes a NaN along."""
    A = arrow(size).tolil()
    row = int(part * (size - 1))
    A[row, row] = 1e-6  # less than the other entries of its row and column allow
    with pytest.raises(ValueError, match=r"\bA\b.*positive definite"):
        linear.solve(A.tocsr(), np.ones(A.shape[0]), pdgpu.Direct())


def test_threads_and_repetitions_keep_the_bits():
    """If not, two runs of one program differ."""
    A = arrow(97)
    b = np.random.default_rng(2).normal(size=(A.shape[0], 3))
    one, two = (linear.solve(A, b, pdgpu.Direct(), threads=threads).x for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("size", [3, 11, 97, 340])
def test_one_right_hand_side_has_the_answer_of_several(size):
    """If not, Newton's method has wrong directions: a pass for one right-hand side is a function of its own."""
    A = arrow(size)
    b = np.random.default_rng(4).normal(size=(A.shape[0], 3))
    several = linear.solve(A, b, pdgpu.Direct()).x
    for threads in (1, 2):
        one = linear.solve(A, b[:, 1], pdgpu.Direct(), threads=threads).x
        np.testing.assert_allclose(one, several[:, 1], rtol=0, atol=1e-12 * np.abs(several).max())
