"""Matrices whose rows differ in stiffness and number of neighbours, and the first iteration of conjugate gradients on them."""

import numpy as np
import scipy.sparse

from pdgpu import shapes


def laplacian(cells=(9, 5, 4), contrast=1.0, seed=3):
    """A graph Laplacian of a tet mesh plus 0.1 on the diagonal, its stiffnesses spread over `contrast`, rows in random order."""
    mesh = shapes.beam((1.0, 0.5, 0.4), cells=cells)
    rng = np.random.default_rng(seed)
    pairs = np.sort(mesh.tets[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2))
    pairs = np.unique(pairs, axis=0)
    stiffness = contrast ** rng.random(len(pairs))
    i, j = rng.permutation(len(mesh.points))[pairs].T
    n = len(mesh.points)
    W = scipy.sparse.coo_matrix((stiffness, (i, j)), (n, n)).tocsr()
    W = W + W.T
    return (scipy.sparse.diags(np.asarray(W.sum(axis=1)).ravel() + 0.1) - W).tocsr()


def blocks(A, seed=5):
    """A matrix of full 3x3 blocks on the pattern of A: A times fixed random positive definite blocks of each vertex, on both sides."""
    rng = np.random.default_rng(seed)
    Q = scipy.sparse.block_diag([np.eye(3) + 0.3 * rng.standard_normal((3, 3)) for _ in range(A.shape[0])])
    return (Q @ scipy.sparse.kron(A, np.eye(3)) @ Q.T).tobsr((3, 3)).tocsr()


def neighbours_of(A, numbers):
    """The nodes in each row of nodes, ascending."""
    rows = A.tobsr((numbers, numbers))
    rows.sort_indices()
    return [list(rows.indices[rows.indptr[i] : rows.indptr[i + 1]]) for i in range(len(rows.indptr) - 1)]


def first_iterate(A, M, b):
    """The iterate of conjugate gradients after one iteration: a multiple of M b."""
    z = M @ b
    return z * ((b * z).sum(axis=0) / (z * (A @ z)).sum(axis=0))


SYSTEMS = {"rows": (lambda: laplacian(), 1), "contrast": (lambda: laplacian(contrast=1e4), 1), "blocks": (lambda: blocks(laplacian()), 3)}


def assert_first_iterate(A, oracle, solve, *, symmetric, multiple, entries):
    """One iteration of conjugate gradients by solve(A, b) has the preconditioner M = oracle(A) of NumPy.

    M is symmetric to a part of its size, and the step length has a relative error `multiple`: A z cancels. Then `entries` bounds z.
    """
    b = np.random.default_rng(1).standard_normal(A.shape[0]).astype(A.dtype)
    M = oracle(A.astype(float))
    np.testing.assert_allclose(M, M.T, atol=symmetric * np.abs(M).max())
    assert np.linalg.eigvalsh((M + M.T) / 2).min() > 0
    found = solve(A, b)
    expected = first_iterate(A.astype(float), M, b.astype(float))
    length = (found @ expected) / (expected @ expected)
    assert abs(length - 1.0) <= multiple
    np.testing.assert_allclose(found, length * expected, atol=entries * np.abs(expected).max(), rtol=0)


def truss(stiffness, dtype, seed, n=12):
    """Twelve points in space, springs between all of them, and 1 on the diagonal: one domain."""
    rng = np.random.default_rng(seed)
    x, A = rng.standard_normal((n, 3)), np.eye(3 * n)
    for i in range(n):
        for j in range(i):
            direction = np.zeros((n, 3))
            direction[i] = (x[i] - x[j]) / np.linalg.norm(x[i] - x[j])
            direction[j] = -direction[i]
            A += stiffness * rng.random() * np.outer(direction, direction)
    return A.astype(dtype)
