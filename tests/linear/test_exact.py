"""What is provable about the linear solvers, and what their definitions say, to rounding."""

import contextlib
import dataclasses

import linear.problems as problems
import numpy as np
import polynomial_oracle
import pytest
import scipy.linalg
import scipy.sparse as sparse
import scipy.sparse.linalg

import pdgpu
from pdgpu import linear

RHO = 0.97


def chebyshev(rho=RHO, start=1, **options):
    return pdgpu.Chebyshev(rho=rho, start=start, **options)


def easy():
    """Jacobi converges with weight 1; real tets, no stored zeros."""
    return problems.solid("J10", 1e5, 0.01)


def hard():
    """756 vertices, so that there are 3x3 blocks; Jacobi diverges with weight 1."""
    return problems.solid("B20J", 1e7, 1 / 30)


# every solver, with options under which it converges on `easy`
SOLVERS = {
    "direct": pdgpu.Direct(),
    "jacobi": pdgpu.Jacobi(weight=0.9),
    "jacobi chebyshev": pdgpu.Jacobi(weight=0.9, chebyshev=chebyshev()),
    "gauss-seidel natural": pdgpu.GaussSeidel(order="natural"),
    "gauss-seidel colour": pdgpu.GaussSeidel(order="colour"),
    "sgs natural": pdgpu.SymmetricGaussSeidel(order="natural"),
    "sgs colour": pdgpu.SymmetricGaussSeidel(order="colour"),
    "sgs positive": pdgpu.SymmetricGaussSeidel(order="colour", chebyshev=chebyshev(0.9, interval="positive")),
    "sor natural": pdgpu.SOR(omega=1.3, order="natural"),
    "sor colour": pdgpu.SOR(omega=1.3, order="colour"),
    "pcg jacobi": pdgpu.PCG(preconditioner="jacobi"),
    "pcg block": pdgpu.PCG(preconditioner="block"),
    "pcg chebyshev": pdgpu.PCG(preconditioner="chebyshev", degree=3),
    "a-jacobi 1": pdgpu.AJacobi(order=1, weight=0.9),
    "a-jacobi 2": pdgpu.AJacobi(order=2, weight=0.9),
    "a-jacobi 3 chebyshev": pdgpu.AJacobi(order=3, weight=0.9, chebyshev=chebyshev()),
    "a-jacobi 4": pdgpu.AJacobi(order=4, weight=0.9),
    "a-jacobi 2 positive": pdgpu.AJacobi(order=2, weight=0.9, chebyshev=chebyshev(interval="positive")),
    "composed 2": pdgpu.AJacobi(order=2, weight=0.9, variant="composed", chebyshev=chebyshev()),
    "composed 3": pdgpu.AJacobi(order=3, weight=0.9, variant="composed", chebyshev=chebyshev()),
    "composed 4": pdgpu.AJacobi(order=4, weight=0.9, variant="composed", chebyshev=chebyshev()),
    "suppressed": pdgpu.AJacobi(order=2, weight=0.9, suppression=1e-2),
}
ITERATIVE = [name for name in SOLVERS if name != "direct"]


def blocked(name, problem):
    """The problem that this solver can take: 3x3 blocks need a multiple of 3 rows, and one column."""
    if name != "pcg block":
        return problem
    n = len(problem.b) // 3 * 3
    A, b = problem.A[:n, :n].tocsr(), problem.b[:n, :1]
    return problems.Problem(A, A, b, problem.start[:n, :1], scipy.sparse.linalg.splu(A.tocsc()).solve(b))


def capped(solver, iterations):
    return solver if isinstance(solver, pdgpu.Direct) else dataclasses.replace(solver, iterations=iterations)


def solved(problem, solver, iterations, **options):
    return linear.solve(problem.A, problem.b, capped(solver, iterations), x0=problem.start, **options)


def difference(x, y):
    return np.abs(np.asarray(x, dtype=np.float64) - y).max() / np.abs(y).max()


# --- definitions, against NumPy ---------------------------------------------------------------------------------------------------


def triangular(A, omega, lower, sequence):
    """One sweep of SOR over the rows in this sequence, as a function of (x, b)."""
    permuted = A[sequence][:, sequence]
    triangle = (sparse.tril(permuted, -1) if lower else sparse.triu(permuted, 1)) + sparse.diags_array(A.diagonal()[sequence] / omega)
    solve = scipy.sparse.linalg.splu(triangle.tocsc(), permc_spec="NATURAL", diag_pivot_thresh=0.0).solve

    def sweep(x, b):
        moved = x.copy()
        moved[sequence] += solve((b - A @ x)[sequence])
        return moved

    return sweep


def step_of(solver, A):
    """x -> x^ of one iteration without Chebyshev."""
    D = A.diagonal()[:, None]
    if isinstance(solver, pdgpu.Jacobi):
        return lambda x, b: x + solver.weight * (b - A @ x) / D
    if isinstance(solver, pdgpu.AJacobi):

        def repeated(x, b):
            for _ in range(solver.order):
                x = x + solver.weight * (b - A @ x) / D
            return x

        return repeated
    sequence = np.arange(A.shape[0]) if solver.order == "natural" else np.argsort(problems.greedy_colours(A), kind="stable")
    forward = triangular(A, getattr(solver, "omega", 1.0), True, sequence)
    if not isinstance(solver, pdgpu.SymmetricGaussSeidel):
        return forward
    backward = triangular(A, 1.0, False, sequence)
    return lambda x, b: backward(forward(x, b), b)


SWEEPS = ["jacobi", "gauss-seidel natural", "gauss-seidel colour", "sgs natural", "sgs colour", "sor natural", "sor colour", "a-jacobi 2"]


@pytest.mark.filterwarnings("ignore:Chebyshev acceleration of one-directional")
@pytest.mark.parametrize(("name", "accelerated"), [(n, a) for n in SWEEPS for a in (False, True) if not (a and n.startswith("sor"))])
def test_steps_are_their_definition(name, accelerated):
    """If not, what runs under a name of the literature is something else."""
    problem = easy()
    solver, extrapolation = SOLVERS[name], chebyshev(0.95, start=3, under_relaxation=0.9)
    step = step_of(solver, problem.A)
    rho = 0.95 ** getattr(solver, "order", 1) if isinstance(solver, pdgpu.AJacobi) else 0.95
    previous = x = problem.start
    omega = 1.0
    for k in range(8):
        hat = step(x, problem.b)
        if accelerated:
            omega = 1.0 if k < 3 else 2.0 / (2.0 - rho**2) if k == 3 else 4.0 / (4.0 - rho**2 * omega)
            hat = omega * (0.9 * (hat - x) + x - previous) + previous
        previous, x = x, hat
        if k in (0, 1, 3, 7):
            used = dataclasses.replace(solver, chebyshev=extrapolation) if accelerated else solver
            assert difference(solved(problem, used, k + 1).x, x) < 1e-12


@pytest.mark.parametrize("order", [2, 3, 4])
def test_composed_steps_are_chebyshev_polynomials(order):
    """If not, one composed step is not the best polynomial of its degree in R, and the stated rate is not reached."""
    problem = easy()
    A, b, D = problem.A, problem.b, problem.A.diagonal()[:, None]
    # l steps of the ordinary semi-iteration from the same x are the polynomial C_l(R/rho)/C_l(1/rho) of the error
    previous = x = problem.start
    omega = 1.0
    for k in range(order):
        omega = 1.0 if k == 0 else 2.0 / (2.0 - RHO**2) if k == 1 else 4.0 / (4.0 - RHO**2 * omega)
        previous, x = x, omega * (0.9 * (b - A @ x) / D + x - previous) + previous
    solver = pdgpu.AJacobi(order=order, weight=0.9, variant="composed", chebyshev=chebyshev())
    assert difference(solved(problem, solver, 1).x, x) < 1e-12


@pytest.mark.parametrize("weight", [0.6, 0.9, 1.0])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_a_jacobi_is_repeated_jacobi(order, weight):
    """If not, aggregation changes the iterates, and every comparison with Jacobi compares two methods."""
    problem = easy()
    for steps in (1, 2, 24 // order):
        plain = solved(problem, pdgpu.Jacobi(weight=weight), steps * order).x
        assert difference(solved(problem, pdgpu.AJacobi(order=order, weight=weight), steps).x, plain) < 1e-13


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_a_jacobi_is_repeated_jacobi_in_float32(order):
    """If not, single precision pays for the aggregation with digits."""
    problem = easy()
    A, b, start = problem.A.astype(np.float32), problem.b.astype(np.float32), problem.start.astype(np.float32)
    plain = linear.solve(A, b, pdgpu.Jacobi(weight=0.9, iterations=24), x0=start).x
    aggregated = linear.solve(A, b, pdgpu.AJacobi(order=order, weight=0.9, iterations=24 // order), x0=start).x
    assert plain.dtype == aggregated.dtype == np.float32
    assert difference(aggregated, plain.astype(np.float64)) < 1e-6


# --- fixed points and limits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOLVERS)
def test_solution_is_the_fixed_point(name):
    """If not, a solver converges to something that is not the solution."""
    problem = blocked(name, easy())
    result = linear.solve(problem.A, problem.b, capped(SOLVERS[name], 5), x0=problem.solution)
    assert difference(result.x, problem.solution) < 1e-12


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_reaches_the_tolerance(name):
    """If not, `tolerance` does not bound the residual that is left, or a solver stops short of it."""
    problem = blocked(name, easy())
    solver = SOLVERS[name] if name == "direct" else dataclasses.replace(SOLVERS[name], tolerance=1e-10)
    result = linear.solve(problem.A, problem.b, solver, reference=problem.solution)
    residual = np.linalg.norm(problem.b - problem.A @ result.x)
    assert result.status == "converged"
    assert residual <= 2e-10 * np.linalg.norm(problem.b)
    assert difference(result.x, problem.solution) < 1e-8
    assert len(result.residual_norm) == len(result.seconds) == len(result.relative_error) == result.iterations + 1


@pytest.mark.parametrize("name", ITERATIVE)
def test_tolerance_stops_at_the_first_iteration_below_it(name):
    """If not, a tolerance costs more iterations than it asks for."""
    problem = blocked(name, easy())
    free = solved(problem, SOLVERS[name], 30)
    mark = free.residual_norm[20] / free.residual_norm[0] * (1.0 + 1e-9)
    expected = int(np.flatnonzero(free.residual_norm <= mark * free.residual_norm[0])[0])
    stopped = solved(problem, dataclasses.replace(SOLVERS[name], tolerance=float(mark)), 30)
    assert stopped.status == "converged" and stopped.iterations == expected


@pytest.mark.parametrize("name", ITERATIVE)
def test_records(name):
    """If not, a curve that is drawn from the records is not the run."""
    problem = blocked(name, easy())
    result = solved(problem, SOLVERS[name], 7, reference=problem.solution)
    assert result.status == "iteration_cap" and result.iterations == 7
    assert len(result.residual_norm) == len(result.seconds) == len(result.relative_error) == 8
    assert result.residual_norm[0] == pytest.approx(np.linalg.norm(problem.b - problem.A @ problem.start), rel=1e-10)
    assert result.residual_norm[-1] == pytest.approx(np.linalg.norm(problem.b - problem.A @ result.x), rel=1e-6)
    assert result.relative_error[0] == 1.0
    assert result.relative_error[-1] == pytest.approx(problem.error(result.x), rel=1e-8)
    assert result.seconds[0] == 0.0 and (np.diff(result.seconds) >= 0.0).all()
    earlier = solved(problem, SOLVERS[name], 4)
    assert earlier.residual_norm == pytest.approx(result.residual_norm[:5], rel=1e-12)
    assert earlier.relative_error is None


@pytest.mark.parametrize("name", SOLVERS)
def test_recording_changes_nothing(name):
    """If not, looking at a run makes it another run."""
    problem = blocked(name, easy())
    silent = solved(problem, SOLVERS[name], 7, record=False).x
    assert np.array_equal(silent, solved(problem, SOLVERS[name], 7, record=True, reference=problem.solution).x)


@pytest.mark.parametrize("name", SOLVERS)
def test_columns_are_independent(name):
    """If not, the result for x depends on what stands in y, and a vector is not a matrix of one column."""
    problem = blocked(name, easy())
    whole = solved(problem, SOLVERS[name], 9).x
    for column in range(problem.b.shape[1]):
        single = linear.solve(problem.A, problem.b[:, column], capped(SOLVERS[name], 9), x0=problem.start[:, column]).x
        assert single.shape == (len(problem.b),)
        assert difference(single, whole[:, column]) < 1e-12


@pytest.mark.parametrize("name", SOLVERS)
def test_zero_right_hand_side(name):
    """If not, 0/0 gets into the answer of the simplest system there is."""
    problem = blocked(name, easy())
    for b in (np.zeros(len(problem.b)), np.zeros_like(problem.b)):
        result = linear.solve(problem.A, b, SOLVERS[name])
        assert result.iterations == 0 and result.status == "converged"
        assert result.x.shape == b.shape and not result.x.any()


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "pcg block"])
def test_one_column_that_is_solved_already(name):
    """If not, a column whose residual is zero becomes NaN while the others go on, as it does with one step length for each."""
    problem = easy()
    b = problem.b.copy()
    b[:, 1] = 0.0
    result = linear.solve(problem.A, b, capped(SOLVERS[name], 200))
    assert np.isfinite(result.x).all() and np.abs(result.x[:, 1]).max() <= 1e-12 * np.abs(result.x).max()
    assert difference(result.x[:, 2], problem.solution[:, 2]) < 1e-6


@pytest.mark.parametrize("name", SOLVERS)
def test_single_unknown(name):
    """If not, the smallest system is not a system."""
    n = 3 if name == "pcg block" else 1
    A, b = sparse.csr_array(np.diag(np.arange(4.0, 4.0 + n))), np.full(n, 2.0)
    result = linear.solve(A, b, capped(SOLVERS[name], 400))
    assert result.x == pytest.approx(b / A.diagonal(), rel=1e-10)


def test_dropping_bending_biases_the_solution():
    """If not, the error of the suppressed matrix, which is larger than the error at the start here, is hidden from the user."""
    for kb, error in [(1e-5, 2.4e-3), (1e-4, 0.241), (1e-3, 13.0), (1e-2, 31.0)]:
        problem = problems.cloth(40, 1e3, 0.01, kb)
        D = sparse.diags_array(1.0 / problem.A.diagonal())
        hinged = D @ sparse.csr_array(sparse.diags_array(problem.bending.diagonal()) - problem.bending)
        R = sparse.eye_array(len(problem.b)) - D @ problem.A
        truncated = R @ R - hinged @ hinged
        limit = scipy.sparse.linalg.splu((sparse.eye_array(len(problem.b)) - truncated).tocsc()).solve(D @ problem.b + R @ (D @ problem.b))
        assert problem.error(limit) == pytest.approx(error, rel=0.02)
        options = {"bending": problem.bending}
        biased = pdgpu.AJacobi(order=2, weight=1.0, suppression="bending", biased=True, iterations=20)
        assert difference(linear.solve(problem.A, problem.b, biased, x0=limit, **options).x, limit) < 1e-10
        unbiased = dataclasses.replace(biased, biased=False)
        assert difference(linear.solve(problem.A, problem.b, unbiased, x0=problem.solution, **options).x, problem.solution) < 1e-12


def test_suppression_of_next_to_nothing_is_the_whole_step():
    """If not, a threshold that drops nothing changes the iteration."""
    problem = problems.cloth(40, 1e3, 0.01, 1e-3)
    whole = solved(problem, pdgpu.AJacobi(order=2, weight=1.0), 20).x
    for biased in (False, True):
        assert difference(solved(problem, pdgpu.AJacobi(order=2, weight=1.0, suppression=1e-14, biased=biased), 20).x, whole) < 1e-12


# --- convergence and divergence --------------------------------------------------------------------------------------------------


def test_chain():
    """If not, the spectra that theory gives in closed form are not those of the solvers."""
    A = problems.chain()
    rho = 0.952604710596
    omega = 1.5334943267
    assert linear.spectral_radius(A, pdgpu.Jacobi(weight=1.0)) == pytest.approx(rho, abs=1e-9)
    assert linear.spectral_radius(A, pdgpu.GaussSeidel(order="natural")) == pytest.approx(0.907455734650, abs=1e-9)
    assert linear.spectral_radius(A, pdgpu.AJacobi(order=3, weight=1.0)) == pytest.approx(rho**3, abs=1e-9)
    # omega* makes the largest eigenvalue defective: rounding moves it by the root of eps
    assert linear.spectral_radius(A, pdgpu.SOR(omega=omega, order="natural")) == pytest.approx(omega - 1.0, abs=1e-5)
    result = linear.solve(A, np.ones(32), pdgpu.SOR(omega="auto", order="natural"))
    assert result.parameters["omega"] == pytest.approx(omega, abs=1e-3)
    smallest, largest = linear.extreme_eigenvalues(A)
    assert (smallest, largest) == pytest.approx((1.0 - rho, 1.0 + rho), abs=1e-9)


@pytest.mark.parametrize("weight", [0.5, 0.9, 1.0])
def test_chebyshev_bound(weight):
    """If not, the promised rate rho/(1 + sqrt(1 - rho^2)) is not kept."""
    problem = easy()
    rho, root = problems.jacobi_radius(problem, weight), np.sqrt(problem.A.diagonal())[:, None]
    first = np.linalg.norm(root * (problem.start - problem.solution))
    for k in (1, 2, 3, 5, 8, 13, 21, 34):
        x = solved(problem, pdgpu.Jacobi(weight=weight, chebyshev=chebyshev(rho)), k).x
        bound = 1.0 / np.cosh(k * np.arccosh(1.0 / rho))
        assert np.linalg.norm(root * (x - problem.solution)) <= first * bound * (1.0 + 1e-6)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_composed_bound(order):
    """If not, a composed step of order l with Chebyshev is not as good as l steps of Jacobi with Chebyshev."""
    problem = easy()
    rho, root = problems.jacobi_radius(problem, 0.9), np.sqrt(problem.A.diagonal())[:, None]
    first = np.linalg.norm(root * (problem.start - problem.solution))
    for k in (1, 2, 4, 7):
        x = solved(problem, pdgpu.AJacobi(order=order, weight=0.9, variant="composed", chebyshev=chebyshev(rho)), k).x
        bound = 1.0 / np.cosh(k * order * np.arccosh(1.0 / rho))
        assert np.linalg.norm(root * (x - problem.solution)) <= first * bound * (1.0 + 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
def test_jacobi_converges_below_two_over_the_largest_eigenvalue_and_diverges_above(order):
    """If not, a run that blows up is reported as a result, or a run that does not as a failure."""
    problem = hard()
    limit = 2.0 / problems.extremes(problem.A)[1]
    for share, solver in ((1.03, pdgpu.Jacobi), (1.03, pdgpu.AJacobi), (0.99, pdgpu.Jacobi), (0.99, pdgpu.AJacobi)):
        options = {"order": order} if solver is pdgpu.AJacobi else {}
        options |= {"weight": share * limit, "iterations": 3000}
        with pytest.warns(UserWarning, match="diverges") if share > 1.0 else contextlib.nullcontext():
            result = linear.solve(problem.A, problem.b, solver(**options), x0=problem.start, reference=problem.solution)
        if share > 1.0:
            assert result.status == "diverged" and 0 < result.iterations < 3000
            assert len(result.residual_norm) == result.iterations + 1
        else:
            assert result.status == "iteration_cap" and result.residual_norm[-1] < result.residual_norm[0]


@pytest.mark.parametrize("name", ["K10", "J10", "F10", "B20J"])
def test_half_the_weight_always_converges(name):
    """If not, the bound of 4 on the eigenvalues of a tet mesh, which makes a weight of 1/2 safe, is wrong."""
    problem = problems.solid(name, 1e10, 1 / 30)
    assert linear.extreme_eigenvalues(problem.A)[1] < 4.0
    assert linear.spectral_radius(problem.A, pdgpu.Jacobi(weight=0.5)) < 1.0


@pytest.mark.parametrize("name", ["J10", "B20J"])
def test_automatic_weight_is_safe(name):
    """If not, Jacobi without a tuned weight diverges on some mesh."""
    problem = problems.solid(name, 1e7, 1 / 30)
    result = solved(problem, pdgpu.Jacobi(weight="auto"), 200)
    largest = problems.extremes(problem.A)[1]
    assert 1.75 / largest <= result.parameters["weight"] < 2.0 / largest
    assert result.status == "iteration_cap" and result.residual_norm[-1] < result.residual_norm[0]


def test_overestimated_rho_never_diverges():
    """If not, the warning of the literature against rho close to 1 is true of the linear case after all."""
    problem = easy()
    rho = problems.jacobi_radius(problem, 0.9)
    for factor in (1.0, 0.25, 1e-3, 1e-6):
        result = solved(problem, pdgpu.Jacobi(weight=0.9, chebyshev=chebyshev(1.0 - factor * (1.0 - rho))), 400, reference=problem.solution)
        assert result.status in ("iteration_cap", "stalled") and result.relative_error.max() <= 3.0


def test_rates():
    """If not, the rate that is measured and the one that theory predicts do not describe the same run."""
    problem = problems.solid("K10", 1e6, 0.01)
    rho = 0.97879483
    # the usual start has its centre of mass where the solution has it, so that the slowest mode, a translation, is not in its error
    start = problem.start + np.random.default_rng(0).normal(size=problem.start.shape)
    result = linear.solve(problem.A, problem.b, pdgpu.Jacobi(weight=1.0, iterations=600), x0=start)
    assert result.predicted_rate == pytest.approx(rho, abs=2e-3)
    assert result.rate == pytest.approx(rho, abs=2e-3)
    result = linear.solve(problem.A, problem.b, pdgpu.Jacobi(weight=1.0, iterations=80, chebyshev=chebyshev(rho)), x0=start)
    assert result.predicted_rate == pytest.approx(rho / (1.0 + np.sqrt(1.0 - rho**2)), abs=2e-3)
    assert result.rate == pytest.approx(result.predicted_rate, abs=5e-2)


# --- conjugate gradients ---------------------------------------------------------------------------------------------------------


def block_system(nodes=40, seed=1):
    """A random symmetric positive definite matrix of 3x3 blocks, badly scaled from node to node, and a right-hand side."""
    random = np.random.default_rng(seed)
    scale = 10.0 ** random.uniform(-2, 2, nodes)
    A = np.zeros((3 * nodes, 3 * nodes))
    for _ in range(4 * nodes):
        i, j = random.choice(nodes, 2, replace=False)
        half = random.normal(size=(3, 6)) * np.repeat(np.sqrt(scale[[i, j]]), 3)
        rows = np.concatenate([3 * i + np.arange(3), 3 * j + np.arange(3)])
        A[np.ix_(rows, rows)] += half.T @ half
    A += np.diag(np.repeat(scale, 3) * 1e-2)
    return sparse.csr_array(A), random.normal(size=3 * nodes)


@pytest.mark.parametrize("preconditioner", ["jacobi", "block"])
def test_conjugate_gradients_against_scipy(preconditioner):
    """If not, the preconditioner is not the inverse of the diagonal or of its 3x3 blocks."""
    A, b = block_system()
    n = len(b)
    if preconditioner == "jacobi":
        M = sparse.diags_array(1.0 / A.diagonal())
    else:
        M = sparse.block_diag([np.linalg.inv(A[k : k + 3, k : k + 3].toarray()) for k in range(0, n, 3)]).tocsr()
    for k in (1, 2, 5, 12):
        expected, _ = scipy.sparse.linalg.cg(A, b, M=M, rtol=0.0, atol=0.0, maxiter=k)
        found = linear.solve(A, b, pdgpu.PCG(preconditioner=preconditioner, iterations=k)).x
        assert difference(found, expected) < 1e-9


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("degree", [1, 2, 5])
def test_conjugate_gradients_with_a_polynomial_against_scipy(degree, columns):
    """If not, the preconditioner is another polynomial, or on another interval."""
    A = block_system()[0]
    D = np.diag(A.diagonal())
    b = np.random.default_rng(4).normal(size=(A.shape[0], columns))
    M = polynomial_oracle.preconditioner(A.toarray(), D, scipy.linalg.eigh(A.toarray(), D, eigvals_only=True)[-1], degree)
    for k in (1, 2, 5, 9):
        found = linear.solve(A, b, pdgpu.PCG(preconditioner="chebyshev", degree=degree, iterations=k)).x
        for c in range(columns):
            expected, _ = scipy.sparse.linalg.cg(A, b[:, c], M=M, rtol=0.0, atol=0.0, maxiter=k)
            assert difference(found[:, c], expected) < 1e-8


@pytest.mark.parametrize(("degree", "share"), [(2, 0.6), (4, 0.36), (8, 0.25)])
def test_a_polynomial_takes_the_place_of_iterations(degree, share):
    """If not, its products are for nothing: on an ill-conditioned matrix `degree` of them are worth almost as many iterations."""
    n = 40
    line = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    A = sparse.csr_array(sparse.kron(line, np.eye(n)) + sparse.kron(np.eye(n), line) + 1e-3 * np.eye(n * n))
    b = np.random.default_rng(1).normal(size=n * n)
    plain, polynomial = (
        linear.solve(A, b, pdgpu.PCG(preconditioner=name, degree=degree, tolerance=1e-8)) for name in ("jacobi", "chebyshev")
    )
    assert polynomial.status == "converged" and len(polynomial.residual_norm) <= share * len(plain.residual_norm)
    assert difference(polynomial.x, plain.x) < 1e-5


def test_conjugate_gradients_end_after_as_many_steps_as_there_are_eigenvalues():
    """If not, the directions are not conjugate."""
    ring = np.roll(np.eye(24), 1, axis=0)
    A = sparse.csr_array(4.0 * np.eye(24) + ring + ring.T)  # 4 + 2 cos(2 pi k/24): 13 different ones
    result = linear.solve(A, np.random.default_rng(0).normal(size=24), pdgpu.PCG(iterations=13))
    assert result.residual_norm[-1] < 1e-10 * result.residual_norm[0]


# --- a diagonal that changes -----------------------------------------------------------------------------------------------------


def rings(A, vertices, count):
    """The vertices within `count` rings of these, by the pattern of A."""
    inside = np.zeros(A.shape[0])
    inside[vertices] = 1.0
    pattern = sparse.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    for _ in range(count):
        inside = np.minimum(pattern @ inside + inside, 1.0)
    return np.flatnonzero(inside)


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "pcg chebyshev"])  # its interval is that of the first matrix
def test_added_diagonal_is_that_of_a_fresh_system(name):
    """If not, contact that comes and goes leaves its trace in the matrix."""
    problem = blocked(name, easy())
    n, solver = len(problem.b), capped(SOLVERS[name], 12)
    columns = problem.b.shape[1]
    system = linear.System(problem.A, solver, columns=columns)
    random = np.random.default_rng(2)
    before = system.solve(problem.b, x0=problem.start).x
    for count in (7, 1, 50, 0):
        delta = np.zeros(n)
        delta[random.choice(n, count, replace=False)] = random.uniform(0.1, 10.0, count) * problem.A.diagonal().mean()
        system.add_diagonal(delta)
        fresh = linear.System((problem.A + sparse.diags_array(delta)).tocsr(), solver, columns=columns)
        found, expected = (s.solve(problem.b, x0=problem.start, reference=problem.solution) for s in (system, fresh))
        assert difference(found.x, expected.x) < 1e-12
        assert found.residual_norm == pytest.approx(expected.residual_norm, rel=1e-6, abs=1e-9 * expected.residual_norm[0])
    assert difference(system.solve(problem.b, x0=problem.start).x, before) < 1e-13


@pytest.mark.parametrize("solver", [pdgpu.GaussSeidel(), pdgpu.SymmetricGaussSeidel(), pdgpu.SOR(omega=1.3)])
def test_added_diagonal_keeps_the_zeros_of_the_pattern(solver):
    """If not, the colours, and with them the order of the sweep, change with the first contact."""
    problem = problems.solid("K10", 1e5, 0.01)
    delta = np.linspace(0.0, 1e5, len(problem.b))
    whole = problem.structural.copy()
    whole.setdiag(whole.diagonal() + delta)
    assert whole.nnz == problem.structural.nnz == 17191
    system = linear.System(problem.structural, capped(solver, 9), columns=3)
    system.add_diagonal(delta)
    found = system.solve(problem.b, x0=problem.start)
    expected = linear.solve(whole, problem.b, capped(solver, 9), x0=problem.start)
    assert difference(found.x, expected.x) < 1e-13
    assert found.predicted_rate == pytest.approx(expected.predicted_rate, rel=1e-5)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_rows_that_an_added_diagonal_recomputes(order):
    """If not, either rows keep stale coefficients or the whole matrix is rebuilt for one contact."""
    problem = easy()
    A, n = problem.A, len(problem.b)
    system = linear.System(A, pdgpu.AJacobi(order=order, weight=0.9, iterations=3), columns=3)
    old = np.zeros(n)
    for vertices in ([0], [0, 700], [700], [5, 6, 7, 1330], []):
        delta = np.zeros(n)
        delta[vertices] = 1e5
        system.add_diagonal(delta)
        changed = np.flatnonzero(delta != old)
        assert system.cost()["rows_recomputed"] == len(rings(A, changed, order - 1))
        old = delta


def test_added_diagonal_may_be_negligible_or_huge():
    """If not, a stiff contact overflows the coefficients."""
    problem = easy()
    for size in (1e-300, 1e12):
        system = linear.System(problem.A, pdgpu.AJacobi(order=3, weight=0.9, iterations=20), columns=3)
        delta = np.zeros(len(problem.b))
        delta[100] = size
        system.add_diagonal(delta)
        expected = (problem.A + sparse.diags_array(delta)).tocsr()
        plain = linear.solve(expected, problem.b, pdgpu.Jacobi(weight=0.9, iterations=60), x0=problem.start).x
        assert difference(system.solve(problem.b, x0=problem.start).x, plain) < 1e-12


# --- the same bits ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", SOLVERS)
def test_thread_counts_give_the_same_bits(name, dtype):
    """If not, a result cannot be repeated on another machine."""
    problem = blocked(name, easy())
    found = []
    for threads in (1, 2, 3):
        system = linear.System(problem.A, capped(SOLVERS[name], 12), columns=problem.b.shape[1], dtype=dtype, threads=threads)
        result = system.solve(problem.b.astype(dtype), x0=problem.start.astype(dtype))
        assert result.x.dtype == dtype
        found.append((result.x, result.residual_norm))
    for x, residual in found[1:]:
        assert np.array_equal(x, found[0][0]) and np.array_equal(residual, found[0][1])


@pytest.mark.parametrize("name", SOLVERS)
def test_arguments_are_left_alone(name):
    """If not, solving changes the matrix, the right-hand side or the first guess of its caller."""
    problem = blocked(name, easy())
    A, b, start = problem.A.copy(), problem.b.copy(), problem.start.copy()
    linear.solve(A, b, capped(SOLVERS[name], 3), x0=start)
    assert np.array_equal(A.data, problem.A.data) and np.array_equal(b, problem.b) and np.array_equal(start, problem.start)


# --- single precision ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "arguments", "floor"),
    [
        (problems.solid, ("K10", 1e6, 1 / 30), 6.8e-7),
        (problems.cloth, (40, 1e3, 0.01), 2.0e-6),
        (problems.cloth, (100, 1e3, 0.01), 5.1e-5),
        (problems.cloth, (40, 1e4, 1 / 30), 7.8e-5),
    ],
    ids=["K10", "cloth40", "cloth100", "cloth40 stiff"],
)
def test_float32_solves_for_the_correction(build, arguments, floor):
    """If not, float32 loses up to four digits more: iterated on x itself these floors are 1.8e-4, 3.5e-4, 1.2e-2 and .33."""
    problem = build(*arguments)
    rho = problems.jacobi_radius(problem, 1.0)
    iterations = int(20.0 / np.sqrt(1.0 - rho))
    solver = pdgpu.Jacobi(weight=1.0, iterations=iterations, chebyshev=chebyshev(rho))
    system = linear.System(problem.A, solver, columns=3, dtype="float32")
    x = system.solve(problem.b, x0=problem.start, record=False).x
    rounded = np.linalg.norm(problem.solution - problem.solution.astype(np.float32)) / np.linalg.norm(problem.start - problem.solution)
    assert problem.error(x) < 5.0 * (floor + rounded)
