"""Matrices and spectra of the reference tables, and the statements about plain Jacobi that follow from them."""

import inputs
import linear.problems as problems
import numpy as np
import pytest
import scipy.sparse as sparse

import pdgpu
from pdgpu import linear
from pdgpu.linear.spectrum import consistently_ordered, jacobi_rho, young_radius

BUNNY, ARMADILLO = "ipc_bunny.msh", "ipc_Armadillo13K.msh.gz"


@pytest.mark.parametrize(
    ("name", "trace", "nonzeros", "smallest", "largest", "colours"),
    [
        ("K10", 56153846.15384614, 8591, 0.1779653520, 1.8220346480, 8),
        ("F10", 48461538.46153846, 15191, 0.2015962276, 1.5535058132, 5),
        ("J10", 59119742.72856838, 16963, 0.1685907666, 1.8422774926, 8),
        ("B20", 12163461.53846154, 4716, 0.0513651243, 1.9486348757, 8),
        ("B20J", 12731853.22208627, 8938, 0.0490358397, 1.9610599411, 8),
        (BUNNY, 75006334.81260216, 59032, 0.0099071785, 2.7535279068, 12),
    ],
)
def test_matrices_of_solids(name, trace, nonzeros, smallest, largest, colours):
    """If not, every count and every rate that is quoted for these meshes is for another matrix."""
    problem = problems.solid(name, 1e5, 0.01)
    assert problem.A.trace() == pytest.approx(trace, rel=1e-12) and problem.A.nnz == nonzeros
    assert linear.extreme_eigenvalues(problem.A) == pytest.approx((smallest, largest), rel=1e-7)
    result = linear.solve(problem.structural, problem.b, pdgpu.GaussSeidel(order="colour", iterations=1))
    assert result.parameters["colours"] == colours == problems.greedy_colours(problem.structural).max() + 1


@pytest.mark.parametrize(
    ("arguments", "trace", "nonzeros", "smallest", "largest"),
    [
        ((40, 1e3, 0.01), 9762000, 11441, 2.048731e-4, 1.5390209244),
        ((40, 1e3, 0.01, 1e-4), 9780278.4, 20881, 2.044902e-4, 1.5399566030),
        ((100, 1e3, 0.01), 60401999.99999997, 70601, 3.31114e-5, 1.5390937546),
    ],
)
def test_matrices_of_cloth(arguments, trace, nonzeros, smallest, largest):
    """If not, springs or hinges enter the reference problems with another weight."""
    problem = problems.cloth(*arguments)
    assert problem.A.trace() == pytest.approx(trace, rel=1e-12) and problem.A.nnz == nonzeros
    found = linear.extreme_eigenvalues(problem.A)
    assert found[0] == pytest.approx(smallest, rel=2e-6) and found[1] == pytest.approx(largest, rel=1e-7)
    result = linear.solve(problem.structural, problem.b, pdgpu.GaussSeidel(order="colour", iterations=1))
    assert result.parameters["colours"] == 4


def test_matrices_are_those_of_the_simulation():
    """If not, what is measured on these problems says nothing about the global step."""
    scene = pdgpu.Scene()
    points, tets = inputs.J10()
    scene.add_solid(pdgpu.Mesh(points, tets=tets), pdgpu.ARAP(1e5 / 2.6), density=1000.0)
    A = pdgpu.Simulation(scene, dt=0.01).system_matrix()
    assert abs(A - problems.solid("J10", 1e5, 0.01).A).max() <= 1e-12 * abs(A).max()
    scene = pdgpu.Scene()
    points, triangles = inputs.cloth(40)
    scene.add_shell(pdgpu.Mesh(points, triangles=triangles), pdgpu.Spring(1e3), density=0.2, bending=1e-2)
    A = pdgpu.Simulation(scene, dt=0.01).system_matrix()
    assert abs(A - problems.cloth(40, 1e3, 0.01, 1e-2).A).max() <= 1e-12 * abs(A).max()


LOADS = [(1e5, 0.01), (1e5, 1 / 30), (1e6, 0.01), (1e6, 1 / 30), (1e7, 1 / 30)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "gaps"),
    [
        ("K10", (0.17797, 0.019125, 0.021205, 0.0019462, 1.950e-4)),
        (BUNNY, (0.009907, 0.001671, 0.001784, 2.420e-4, 2.459e-5)),
        pytest.param(ARMADILLO, (0.004438, None, None, None, 6.78e-6), marks=pytest.mark.stress),
    ],
)
def test_gap_of_solids(name, gaps):
    """If not, the slowest mode is missed, and rho is too small where it matters most."""
    for (young, dt), gap in zip(LOADS, gaps, strict=True):
        if gap is None:
            continue
        A = problems.solid(name, young, dt).A
        assert linear.extreme_eigenvalues(A)[0] == pytest.approx(gap, rel=6e-4)
        assert 1.0 - linear.spectral_radius(A, pdgpu.Jacobi(weight=0.5)) == pytest.approx(0.5 * gap, rel=1e-3)


@pytest.mark.parametrize(
    ("stiffness", "dt", "gap"),
    [
        (1e2, 0.01, 2.0447e-3),
        (1e3, 0.01, 2.0487e-4),
        (1e4, 0.01, 2.05e-5),
        (1e2, 1 / 30, 1.844e-4),
        (1e3, 1 / 30, 1.84e-5),
        (1e4, 1 / 30, 1.84e-6),
    ],
)
def test_gap_of_cloth(stiffness, dt, gap):
    """If not, a cloth's rho, 1 - 2e-6 at the stiff end, is rounded to 1 or to something much smaller."""
    assert linear.extreme_eigenvalues(problems.cloth(40, stiffness, dt).A)[0] == pytest.approx(gap, rel=3e-3)


@pytest.mark.parametrize(
    ("name", "largest"),
    [
        ("K10", 2.0),
        ("F10", 5 / 3),
        ("J10", 2.0106),
        ("ipc_sphere1K.msh", 2.1888),
        (BUNNY, 2.7557),
        (ARMADILLO, 2.3912),
    ],
)
def test_largest_eigenvalue_of_a_stiff_solid(name, largest):
    """If not, the mesh is not the reason why plain Jacobi diverges, or a weight is called safe that is not."""
    A = problems.solid(name, 1e10, 1 / 30).A
    assert linear.extreme_eigenvalues(A)[1] == pytest.approx(largest, abs=3e-4)


def test_plain_jacobi_on_a_jittered_grid():
    """If not, the boundary between a mesh where weight 1 converges and one where it does not is misplaced."""
    for (young, dt), diverges in {
        (1e5, 0.01): False,
        (1e5, 1 / 30): False,
        (1e6, 0.01): False,
        (1e6, 1 / 30): True,
        (1e7, 0.01): True,
    }.items():
        A = problems.solid("J10", young, dt).A
        assert (linear.extreme_eigenvalues(A)[1] > 2.0) == diverges
        assert (linear.spectral_radius(A, pdgpu.Jacobi(weight=1.0)) > 1.0) == diverges


def test_bending_makes_plain_jacobi_diverge():
    """If not, the threshold kb/(k dx^2) = .0679, below which springs with bending need no weight, is another one."""
    for dt in (0.01, 1 / 30):
        for kb, diverges in ((0.0423, False), (0.0426, True)):
            assert (linear.extreme_eigenvalues(problems.cloth(40, 1e3, dt, kb).A)[1] > 2.0) == diverges


@pytest.mark.parametrize("name", ["K10", "J10", "B20J"])
def test_radii_of_the_solvers(name):
    """If not, the radius of a solver is not that of its own iteration matrix."""
    A = problems.solid(name, 1e6, 0.01).A
    smallest, largest = problems.extremes(A)
    best = (largest - smallest) / (largest + smallest)
    for weight, rho in ((1.0, max(1.0 - smallest, largest - 1.0)), (0.6, 1.0 - 0.6 * smallest), ("optimal", best)):
        assert linear.spectral_radius(A, pdgpu.Jacobi(weight=weight)) == pytest.approx(rho, rel=1e-7)
    for order in (1, 2, 3, 4):
        assert linear.spectral_radius(A, pdgpu.AJacobi(order=order, weight=0.6)) == pytest.approx((1.0 - 0.6 * smallest) ** order, rel=1e-7)


@pytest.mark.parametrize("order", ["natural", "colour"])
@pytest.mark.parametrize("solver", [pdgpu.GaussSeidel, pdgpu.SymmetricGaussSeidel, pdgpu.SOR])
def test_radii_of_the_sweeps_against_dense_matrices(solver, order):
    """If not, the radius of a sweep, which decides over its omega, is not that of its iteration matrix."""
    A = problems.assembled(*small_solid())
    n = A.shape[0]
    sequence = np.arange(n) if order == "natural" else np.argsort(problems.greedy_colours(A), kind="stable")
    dense, omega = A.toarray()[np.ix_(sequence, sequence)], 1.4 if solver is pdgpu.SOR else 1.0
    D = np.diag(np.diag(dense))
    iteration = np.eye(n) - np.linalg.solve(np.tril(dense, -1) + D / omega, dense)
    if solver is pdgpu.SymmetricGaussSeidel:
        iteration = (np.eye(n) - np.linalg.solve(np.triu(dense), dense)) @ iteration
    options = {"omega": omega} if solver is pdgpu.SOR else {}
    expected = np.abs(np.linalg.eigvals(iteration)).max()
    assert linear.spectral_radius(A, solver(order=order, **options)) == pytest.approx(expected, rel=1e-5)


def small_solid(cells=(4, 3, 3)):
    """The terms of the matrix of a jittered block of cells."""
    points, tets = inputs.kuhn_grid(*cells, 0.25)
    points = inputs.jitter(points, cells, 0.25, 0.3)
    volume, gradients = problems.rest_shapes(points, tets)
    inertia = np.bincount(tets.reshape(-1), np.repeat(1000.0 * volume / 4.0, 4)) / 1e-4
    blocks = (1e6 * volume)[:, None, None] * gradients @ np.swapaxes(gradients, 1, 2)
    return len(points), problems.diagonal(inertia), (tets, blocks)


def magnitudes(A, omega):
    """|eigenvalues| of coloured SOR from its definition, largest first."""
    sequence = np.argsort(problems.greedy_colours(A), kind="stable")
    dense = A.toarray()[np.ix_(sequence, sequence)]
    iteration = np.eye(len(dense)) - np.linalg.solve(np.tril(dense, -1) + np.diag(np.diag(dense)) / omega, dense)
    return np.sort(np.abs(np.linalg.eigvals(iteration)))[::-1]


def mesh(monkeypatch):
    """A mesh of 180 vertices, treated as one with more rows than are treated densely at once."""
    monkeypatch.setattr("pdgpu.linear.spectrum.DENSE", 100)
    return problems.assembled(*small_solid((5, 5, 4)))


@pytest.mark.parametrize("omega", [1.0, 1.6, 1.9])
def test_radius_of_over_relaxation_on_a_mesh(omega, monkeypatch):
    """If not, beyond the best omega, where the eigenvalues crowd on a circle, the third digit is wrong without a word."""
    A = mesh(monkeypatch)
    assert linear.spectral_radius(A, pdgpu.SOR(omega=omega)) == pytest.approx(magnitudes(A, omega)[0], rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("young", "dt", "omega"),
    [(1e5, 0.01, 1.6), *(pytest.param(*case, marks=pytest.mark.stress) for case in ((1e5, 0.01, 1.9), (1e7, 1 / 30, 1.95)))],
)
def test_radius_of_over_relaxation_on_a_larger_mesh(young, dt, omega):
    """If not, 756 rows are where it begins to be wrong."""
    A = problems.solid("B20J", young, dt).A
    assert linear.spectral_radius(A, pdgpu.SOR(omega=omega)) == pytest.approx(magnitudes(A, omega)[0], rel=1e-6)


def grid(m, k, shift):
    """A five-point grid of m x k points, its boundary held."""
    lines = [sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)) for n in (m, k)]
    A = sparse.kron(lines[0], sparse.eye_array(k)) + sparse.kron(sparse.eye_array(m), lines[1])
    return (A + shift * sparse.eye_array(m * k)).tocsr()


@pytest.mark.parametrize("order", ["natural", "colour"])
def test_radius_of_over_relaxation_on_a_grid(order):
    """If not, the one case that is known on paper, Young's, is not found on it."""
    m, k, shift = 60, 50, 0.05
    A = grid(m, k, shift)
    rho = 2.0 * (np.cos(np.pi / (m + 1)) + np.cos(np.pi / (k + 1))) / (4.0 + shift)
    best = 2.0 / (1.0 + np.sqrt(1.0 - rho**2))
    for omega in (0.6, 1.0, 1.4, 1.9, 1.97):
        root = 0.5 * (omega * rho + np.sqrt(max(omega**2 * rho**2 - 4.0 * (omega - 1.0), 0.0)))
        expected = root**2 if omega < best else omega - 1.0
        assert linear.spectral_radius(A, pdgpu.SOR(omega=omega, order=order)) == pytest.approx(expected, rel=1e-8)
    assert linear.spectral_radius(A, pdgpu.GaussSeidel(order=order)) == pytest.approx(rho**2, rel=1e-8)
    small = grid(9, 6, shift)
    for omega in (1.3, 1.9):
        found = young_radius(omega, jacobi_rho(1.0, *linear.extreme_eigenvalues(small)))
        assert found == pytest.approx(magnitudes(small, omega)[0], rel=1e-5)


def test_consistent_orders():
    """If not, Young's formula is believed where it does not hold."""
    A = grid(7, 5, 0.1)
    apart = sparse.block_diag([A, sparse.eye_array(3), A]).tocsr()
    assert consistently_ordered(A) and consistently_ordered(apart) and consistently_ordered(sparse.eye_array(4).tocsr())
    sequence = np.random.default_rng(1).permutation(35)
    assert not consistently_ordered(A[sequence][:, sequence].tocsr())
    ring = sparse.csr_array(2.1 * np.eye(6) - np.roll(np.eye(6), 1, 0) - np.roll(np.eye(6), -1, 0))
    assert not consistently_ordered(ring)  # the last row comes after the first, five steps on
    assert not consistently_ordered(problems.assembled(*small_solid()))


def test_a_radius_that_cannot_be_had_is_said_to_be_rough(monkeypatch):
    """If not, a figure that is right to two digits looks as good as the others."""
    A = mesh(monkeypatch)
    monkeypatch.setattr("pdgpu.linear.spectrum.ARNOLDI", ((20, 1),))
    monkeypatch.setattr("pdgpu.linear.spectrum.DENSE_SWEEP", 100)
    with pytest.warns(UserWarning, match=r"spectral radius of SOR on 180 rows: .* may differ from the limit"):
        assert linear.spectral_radius(A, pdgpu.SOR(omega=1.9)) == pytest.approx(0.909, abs=0.02)


def test_radius_of_gauss_seidel_on_a_grid():
    """If not, Young's relation, rho of Gauss-Seidel = rho of Jacobi squared on a grid in natural order, does not hold."""
    A = problems.solid("K10", 1e6, 0.01).A
    assert linear.spectral_radius(A, pdgpu.GaussSeidel(order="natural")) == pytest.approx(0.97879483**2, abs=1e-6)
    assert linear.spectral_radius(A, pdgpu.SymmetricGaussSeidel(order="natural")) == pytest.approx(0.92108853, abs=1e-6)


def test_translation_bounds_the_radius_from_below():
    """If not, rho >= 1 - sum(m/h^2)/trace(A), which every free body obeys, is violated by the estimate."""
    for young in (1e5, 1e6, 1e7):
        A = problems.solid("K10", young, 0.01).A
        assert linear.spectral_radius(A, pdgpu.Jacobi(weight=1.0)) >= 1.0 - A.sum() / A.trace() - 1e-12


def test_bounds_of_the_largest_eigenvalue():
    """If not, the bounds 2 for springs, 4 for tets and hinges, which make weights of 1 and 1/2 safe, are exceeded."""
    assert linear.extreme_eigenvalues(problems.cloth(40, 1e4, 1 / 30).A)[1] < 2.0
    bending = problems.cloth(40, 1e-9, 1 / 30, 1.0).A
    assert linear.extreme_eigenvalues(bending)[1] == pytest.approx(2.861, abs=1e-3)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_tiny_matrices(n):
    """If not, a method of Lanczos that wants more vectors than there are fails on the smallest systems."""
    A = problems.chain(n) if n > 1 else sparse.csr_array([[3.0]])
    scaled = A.toarray() / A.diagonal()[:, None]
    eigenvalues = np.sort(np.linalg.eigvals(scaled).real)
    assert linear.extreme_eigenvalues(A) == pytest.approx((eigenvalues[0], eigenvalues[-1]), rel=1e-9)
    expected = max(abs(1.0 - eigenvalues[0]), abs(1.0 - eigenvalues[-1]))
    assert linear.spectral_radius(A, pdgpu.Jacobi(weight=1.0)) == pytest.approx(expected, abs=1e-9)
    diagonal = sparse.diags_array(np.arange(1.0, 1.0 + n)).tocsr()
    assert linear.extreme_eigenvalues(diagonal) == pytest.approx((1.0, 1.0), abs=1e-12)
    assert linear.spectral_radius(diagonal, pdgpu.Jacobi(weight=0.75)) == pytest.approx(0.25, abs=1e-12)


def ring(n, middle=2.01):
    """A closed chain: every row has the same numbers, and what oscillates fastest is orthogonal to what they could tell."""
    return sparse.csr_array(middle * np.eye(n) - np.roll(np.eye(n), 1, 0) - np.roll(np.eye(n), -1, 0))


WEIGHED = {
    "mesh": lambda: problems.solid("B20J", 1e7, 1 / 30).A,
    "cloth": lambda: problems.cloth(40, 1e3, 0.01).A,
    "grid": lambda: grid(40, 30, 0.05),
    "chain": lambda: problems.chain(400, mass=1e-4),
    "ring": lambda: ring(128),
    "singular": lambda: ring(6, 2.0),
    "singular, two rows": lambda: sparse.csr_array([[1.0, -1.0], [-1.0, 1.0]]),
    "two rows": lambda: sparse.csr_array([[2.0, -1.0], [-1.0, 2.0]]),
    "one stiff row": lambda: (problems.chain(60) + sparse.diags_array([1e20] + 59 * [0.0])).tocsr(),
    "diagonal": lambda: sparse.diags_array(np.arange(1.0, 30.0)).tocsr(),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", WEIGHED)
def test_automatic_weight_does_not_depend_on_the_numbering(name, dtype):
    """If not, the same mesh from another file converges at another rate, and with a stiff row or two, or a few rows alike, not at all."""
    A = WEIGHED[name]()
    n = A.shape[0]
    expected = 1.8 / linear.extreme_eigenvalues(A)[1]
    random, tolerance = np.random.default_rng(5), 1e-11 if dtype == "float64" else 2e-6
    for sequence in (np.arange(n), np.arange(n)[::-1], random.permutation(n), random.permutation(n)):
        for solver in (pdgpu.Jacobi(), pdgpu.AJacobi(order=2)):
            found = linear.System(A[sequence][:, sequence].tocsr(), solver, dtype=dtype).parameters["weight"]
            assert found == pytest.approx(expected, rel=tolerance)
