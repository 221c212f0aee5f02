"""Every refusal of the linear solvers names the argument that is wrong."""

import linear.problems as problems
import numpy as np
import pytest
import scipy.sparse as sparse

import pdgpu
from pdgpu import linear

N = 6
B = np.ones((N, 3))


def good():
    return problems.chain(N)


def changed(*entries):
    """The chain with entries (row, column, value) put in."""
    A = good().tolil()
    for i, j, value in entries:
        A[i, j] = value
    return A.tocsr()


def by_hand(**arrays):
    """The chain as a CSR matrix whose arrays are replaced without a check."""
    A = good()
    for name, array in arrays.items():
        setattr(A, name, array)
    return A


def with_index(value):
    indices = good().indices.copy()
    indices[3] = value
    return by_hand(indices=indices)


NOT_MATRICES = {
    "not square": (sparse.csr_array(np.ones((4, 5))), ValueError),
    "not symmetric": (changed((0, 1, -3.0)), ValueError),
    "pattern not symmetric": (changed((0, 4, -3.0)), ValueError),
    "empty": (sparse.csr_array((0, 0)), ValueError),
    "zero on the diagonal": (changed((2, 2, 0.0)), ValueError),
    "nothing on the diagonal": (sparse.csr_array(np.array([[1.0, 0.0], [0.0, 0.0]])), ValueError),
    "negative diagonal": (changed((2, 2, -5.0)), ValueError),
    "NaN": (changed((2, 2, np.nan)), ValueError),
    "infinite": (changed((2, 2, np.inf)), ValueError),
    "complex": (good().astype(complex), TypeError),
    "object": (np.full((N, N), None), TypeError),
    "text": ("matrix", TypeError),
    "None": (None, TypeError),
    "vector": (np.ones(N), (TypeError, ValueError)),
    "index too large": (with_index(N), ValueError),
    "negative index": (with_index(-1), ValueError),
    "repeated index": (with_index(good().indices[2]), ValueError),
    "row starts that fall": (by_hand(indptr=good().indptr[::-1].copy()), ValueError),
    "row starts past the end": (by_hand(indptr=good().indptr + np.int32(4)), ValueError),
    "index of a wrong type": (by_hand(indices=good().indices.astype(float)), (TypeError, ValueError)),
}
SOLVERS = [pdgpu.Direct(), pdgpu.Jacobi(weight=0.5), pdgpu.GaussSeidel(), pdgpu.PCG(), pdgpu.AJacobi(order=2, weight=0.5)]


@pytest.mark.parametrize("name", NOT_MATRICES)
def test_matrix(name):
    """If not, a matrix that no solver is made for gives numbers, or a crash, instead of a message."""
    A, error = NOT_MATRICES[name]
    b = np.ones(A.shape[0]) if getattr(A, "ndim", 0) == 2 else B
    for solver in SOLVERS:
        with pytest.raises(error, match=r"\bA\b"):
            linear.solve(A, b, solver)
        with pytest.raises(error, match=r"\bA\b"):
            linear.System(A, solver)
        with pytest.raises(error, match=r"\bA\b"):
            linear.spectral_radius(A, solver if not isinstance(solver, pdgpu.Direct | pdgpu.PCG) else pdgpu.Jacobi(weight=0.5))
    with pytest.raises(error, match=r"\bA\b"):
        linear.extreme_eigenvalues(A)


@pytest.mark.parametrize("solver", [pdgpu.Direct(), pdgpu.PCG()])
def test_indefinite_matrix(solver):
    """If not, the solver divides by the square of an imaginary length and calls the result converged."""
    A = changed((0, 1, -500.0), (1, 0, -500.0))
    with pytest.raises(ValueError, match=r"\bA\b.*positive definite"):
        linear.solve(A, B, solver)


@pytest.mark.parametrize(
    "A", [good(), good().tocsc(), good().tocoo(), sparse.csr_matrix(good()), good().toarray(), good().astype(np.float32)]
)
def test_matrices_of_other_kinds(A):
    """If not, a symmetric matrix in another format of SciPy, or a dense one, has to be converted by hand."""
    assert linear.solve(A, B, pdgpu.Direct()).x == pytest.approx(np.linalg.solve(good().toarray(), B), rel=1e-5)


def test_indices_of_64_bits_and_unsorted_rows():
    """If not, a matrix from another program, with long indices or unsorted rows, gives another solution."""
    A = good()
    long = sparse.csr_array((A.data, A.indices.astype(np.int64), A.indptr.astype(np.int64)), shape=A.shape)
    order = np.concatenate([np.arange(A.indptr[i], A.indptr[i + 1])[::-1] for i in range(N)])
    unsorted = sparse.csr_array((A.data[order], A.indices[order], A.indptr), shape=A.shape)
    for solver in SOLVERS:
        expected = linear.solve(A, B, solver).x
        assert np.array_equal(linear.solve(long, B, solver).x, expected)
        assert np.array_equal(linear.solve(unsorted, B, solver).x, expected)


NOT_VECTORS = [
    (np.ones(N + 1), ValueError),
    (np.ones((N + 1, 3)), ValueError),
    (np.ones((3, N)), ValueError),
    (np.ones((N, 3, 1)), ValueError),
    (np.ones((N, 0)), ValueError),
    (np.float64(1.0), ValueError),
    (np.full(N, np.nan), ValueError),
    (np.full((N, 2), np.inf), ValueError),
    (np.ones(N, dtype=complex), TypeError),
    (np.full(N, None), TypeError),
    (["a"] * N, TypeError),
]


@pytest.mark.parametrize("name", ["b", "x0", "reference"])
def test_vectors(name):
    """If not, a vector of a wrong length or kind is read past its end or spreads NaN."""
    system = linear.System(good(), pdgpu.Jacobi(weight=0.5), columns=3)
    for vector, error in NOT_VECTORS + ([(None, TypeError)] if name == "b" else []):
        arguments = {"b": B, name: vector}
        with pytest.raises(error, match=rf"\b{name}\b"):
            linear.solve(good(), solver=pdgpu.Jacobi(weight=0.5), **arguments)
        with pytest.raises(error, match=rf"\b{name}\b"):
            system.solve(**arguments)


@pytest.mark.parametrize("name", ["x0", "reference"])
def test_shapes_that_do_not_agree(name):
    """If not, a first guess of one column is spread over three unasked."""
    for b, other in ((np.ones((N, 3)), np.ones(N)), (np.ones((N, 3)), np.ones((N, 2))), (np.ones(N), np.ones((N, 1)))):
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            linear.solve(good(), b, pdgpu.Jacobi(weight=0.5), **{name: other})


def test_columns_of_a_system():
    """If not, a system made for three columns writes past the end of what it has set aside."""
    system = linear.System(good(), pdgpu.Jacobi(weight=0.5), columns=3)
    for b in (np.ones(N), np.ones((N, 2)), np.ones((N, 4))):
        with pytest.raises(ValueError, match=r"\bb\b"):
            system.solve(b)
    for columns, error in ((0, ValueError), (-1, ValueError), (1.5, (TypeError, ValueError)), ("3", TypeError)):
        with pytest.raises(error, match="columns"):
            linear.System(good(), pdgpu.Jacobi(weight=0.5), columns=columns)


def test_options_of_the_functions():
    """If not, a misspelt option is taken for its default."""
    A = good()
    for solver in (None, "jacobi", pdgpu.Jacobi, pdgpu.Newton(), pdgpu.Chebyshev(rho=0.5)):
        with pytest.raises(TypeError, match="solver"):
            linear.solve(A, B, solver)
        with pytest.raises(TypeError, match="solver"):
            linear.System(A, solver)
        with pytest.raises(TypeError, match="solver"):
            linear.spectral_radius(A, solver)
    for threads, error in ((-1, ValueError), (1.5, (TypeError, ValueError)), ("all", TypeError)):
        with pytest.raises(error, match="threads"):
            linear.solve(A, B, pdgpu.Jacobi(weight=0.5), threads=threads)
    for dtype in ("float16", "int32", "complex128"):
        with pytest.raises((TypeError, ValueError), match="dtype"):
            linear.System(A, pdgpu.Jacobi(weight=0.5), dtype=dtype)


def test_bending():
    """If not, suppression of bending takes a matrix that is not a part of A."""
    A, solver = good(), pdgpu.AJacobi(order=2, weight=0.5, suppression="bending")
    with pytest.raises((TypeError, ValueError), match="bending"):
        linear.solve(A, B, solver)
    for bending in (problems.chain(N + 1), sparse.csr_array(np.ones((N, N + 1))), changed((0, 0, np.nan)), "springs"):
        with pytest.raises((TypeError, ValueError), match="bending"):
            linear.solve(A, B, solver, bending=bending)
        with pytest.raises((TypeError, ValueError), match="bending"):
            linear.System(A, solver, columns=3, bending=bending)


@pytest.mark.parametrize(
    ("delta", "error"),
    [
        (np.ones(N + 1), ValueError),
        (np.ones((N, 1)), ValueError),
        (np.full(N, -1.0), ValueError),
        (np.full(N, np.nan), ValueError),
        (np.full(N, np.inf), ValueError),
        (np.ones(N, dtype=complex), TypeError),
        (None, TypeError),
    ],
)
def test_added_diagonal(delta, error):
    """If not, a bad diagonal changes the matrix before it is refused."""
    for solver in SOLVERS:
        system = linear.System(good(), solver, columns=3)
        before = system.solve(B).x
        with pytest.raises(error, match="delta"):
            system.add_diagonal(delta)
        assert np.array_equal(system.solve(B).x, before)


def test_blocks_of_three():
    """If not, the last rows of a matrix whose size is not a multiple of 3 have no preconditioner, or a stray one."""
    solver = pdgpu.PCG(preconditioner="block")
    for n, columns in ((7, 1), (6, 3)):
        with pytest.raises(ValueError, match="preconditioner"):
            linear.System(problems.chain(n), solver, columns=columns)
    with pytest.raises(ValueError, match="preconditioner"):
        linear.solve(problems.chain(7), np.ones(7), solver)


BAD_OPTIONS = [
    (pdgpu.Jacobi, "weight", (0.0, -1.0, np.nan, np.inf, "best", None, 1j)),
    (pdgpu.AJacobi, "weight", (0.0, -1.0, np.nan, "best", None)),
    (pdgpu.AJacobi, "order", (0, -1, 5, 1.5, "2", None)),
    (pdgpu.AJacobi, "variant", ("fast", None, 1)),
    (pdgpu.AJacobi, "suppression", (0.0, 1.0, -1.0, np.nan, "springs")),
    (pdgpu.AJacobi, "biased", (1, "yes", None)),
    (pdgpu.GaussSeidel, "order", ("random", None, 1)),
    (pdgpu.SymmetricGaussSeidel, "order", ("random", None, 1)),
    (pdgpu.SOR, "order", ("random", None, 1)),
    (pdgpu.SOR, "omega", (0.0, 2.0, -0.5, 2.5, np.nan, "best", None)),
    (pdgpu.PCG, "preconditioner", ("ilu", "amgx", None, 3)),
    (pdgpu.Chebyshev, "start", (0, -1, 1.5, None)),
    (pdgpu.Chebyshev, "under_relaxation", (0.0, -1.0, 1.5, np.nan)),
    (pdgpu.Chebyshev, "interval", ("negative", None, 1)),
    (pdgpu.Chebyshev, "rho", (0.0, 1.0, -0.1, 1.5, np.nan, "best", None)),
    *((solver, "iterations", (0, -1, 1.5, "10")) for solver in (pdgpu.Jacobi, pdgpu.AJacobi, pdgpu.GaussSeidel, pdgpu.SOR, pdgpu.PCG)),
    *(
        (solver, "tolerance", (-1.0, 1.0, np.nan, "1e-3"))
        for solver in (pdgpu.Jacobi, pdgpu.AJacobi, pdgpu.GaussSeidel, pdgpu.SOR, pdgpu.PCG)
    ),
    *((solver, "chebyshev", (0.5, "auto", pdgpu.Jacobi())) for solver in (pdgpu.Jacobi, pdgpu.AJacobi, pdgpu.SymmetricGaussSeidel)),
]


@pytest.mark.parametrize(("solver", "name", "values"), BAD_OPTIONS, ids=[f"{solver.__name__}-{name}" for solver, name, _ in BAD_OPTIONS])
def test_options_of_the_solvers(solver, name, values):
    """If not, an option out of its range is found out by the result, or not at all."""
    for value in values:
        with pytest.raises((TypeError, ValueError), match=name):
            solver(**{name: value})


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("biased", {"biased": True, "order": 3, "suppression": "bending"}),
        ("suppression", {"suppression": "bending", "order": 1}),
        ("suppression", {"suppression": 0.1, "order": 2, "variant": "composed"}),
    ],
)
def test_options_that_exclude_each_other(name, options):
    """If not, an option that has no effect is accepted in silence."""
    with pytest.raises(ValueError, match=name):
        pdgpu.AJacobi(**options)


def test_chebyshev_where_it_cannot_help():
    """If not, somebody waits for the gain of an acceleration that theory rules out."""
    for solver in (pdgpu.SOR, pdgpu.PCG, pdgpu.Direct):
        with pytest.raises(TypeError, match="chebyshev"):
            solver(chebyshev=pdgpu.Chebyshev(rho=0.5))
    with pytest.warns(UserWarning, match="complex eigenvalues"):
        pdgpu.GaussSeidel(chebyshev=pdgpu.Chebyshev(rho=0.5))


@pytest.mark.parametrize(
    "solver", [pdgpu.Jacobi, pdgpu.AJacobi, pdgpu.GaussSeidel, pdgpu.SymmetricGaussSeidel, pdgpu.SOR, pdgpu.PCG, pdgpu.Chebyshev]
)
def test_options_are_given_by_keyword(solver):
    """If not, the order of the options is part of what users depend on."""
    with pytest.raises(TypeError):
        solver(0.5)
    with pytest.raises(TypeError, match="weigth"):
        solver(weigth=0.5)
