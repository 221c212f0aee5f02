"""Numbers of any size, singular and degenerate matrices, and where rounding ends a run."""

import dataclasses
import warnings

import linear.problems as problems
import numpy as np
import pytest
import scipy.sparse as sparse

import pdgpu
from pdgpu import linear

Chebyshev = pdgpu.Chebyshev
SOLVERS = {
    "direct": pdgpu.Direct(),
    "jacobi": pdgpu.Jacobi(iterations=400),
    "jacobi optimal": pdgpu.Jacobi(weight="optimal", tolerance=1e-6),
    "jacobi lanczos": pdgpu.Jacobi(chebyshev=Chebyshev(rho="lanczos"), tolerance=1e-5),
    "jacobi auto": pdgpu.Jacobi(chebyshev=Chebyshev(rho="auto"), tolerance=1e-5),
    "a-jacobi 2": pdgpu.AJacobi(order=2, iterations=100),
    "a-jacobi 3": pdgpu.AJacobi(order=3, iterations=100),
    "composed": pdgpu.AJacobi(order=2, variant="composed", chebyshev=Chebyshev(rho="lanczos"), tolerance=1e-5),
    "suppressed": pdgpu.AJacobi(order=2, suppression=1e-2, iterations=100),
    "biased": pdgpu.AJacobi(order=2, suppression=1e-2, biased=True, iterations=100),
    "gauss-seidel": pdgpu.GaussSeidel(tolerance=1e-5),
    "symmetric": pdgpu.SymmetricGaussSeidel(tolerance=1e-5),
    "sor": pdgpu.SOR(tolerance=1e-5),
    "pcg": pdgpu.PCG(tolerance=1e-5),
    "pcg to the end": pdgpu.PCG(),
    "block": pdgpu.PCG(preconditioner="block", tolerance=1e-5),
    "pcg chebyshev": pdgpu.PCG(preconditioner="chebyshev", tolerance=1e-5),
}


def system(name, dtype):
    """A matrix of ordinary numbers, and what a solver of this name is asked with: all of it dtype."""
    n, columns = 60, 1 if name == "block" else 2
    random = np.random.default_rng(3)
    A = sparse.diags_array([-1.0, 2.1, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr().astype(dtype)
    return A, *random.normal(size=(3, n, columns)).astype(dtype)


def times(values, exponent):
    """Exactly values * 2^exponent, for arrays and matrices."""
    if sparse.issparse(values):
        values = values.copy()
        values.data = np.ldexp(values.data, exponent)
        return values
    return np.ldexp(values, exponent)


SIZES = {
    "float64": [(0, -700), (0, 600), (-800, -700), (1000, 900), (-500, 400)],
    "float32": [(0, -90), (0, 90), (-80, -90), (110, 100), (60, 0)],
}


@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("name", SOLVERS)
def test_powers_of_two_change_no_bit(name, dtype):
    """If not, b of 1e-200 is answered by zeros that are called converged, since its square is zero, and b of 1e160 by NaN."""
    A, b, x0, reference = system(name, dtype)
    plain = linear.solve(A, b, SOLVERS[name], x0, reference=reference)
    silent = linear.solve(A, b, SOLVERS[name], x0, record=False).x
    assert np.abs(A.astype(float) @ plain.x - b).max() < (2e-2 if "a-jacobi" not in name else 1.0) or name == "biased"
    for a, e in SIZES[dtype]:
        found = linear.solve(times(A, a), times(b, e), SOLVERS[name], times(x0, e - a), reference=times(reference, e - a))
        assert np.array_equal(found.x, times(plain.x, e - a))
        assert np.array_equal(found.residual_norm, times(plain.residual_norm, e))
        assert np.array_equal(found.relative_error, plain.relative_error)
        assert (found.status, found.iterations, found.parameters) == (plain.status, plain.iterations, plain.parameters)
        assert found.rate == plain.rate or np.isnan([found.rate, plain.rate]).all()
        assert found.predicted_rate == plain.predicted_rate
        assert np.array_equal(linear.solve(times(A, a), times(b, e), SOLVERS[name], times(x0, e - a), record=False).x, times(silent, e - a))


@pytest.mark.parametrize("name", SOLVERS)
def test_denormal_numbers(name):
    """If not, inverses of a matrix of denormal numbers are infinite."""
    A, b, _, _ = system(name, "float64")
    A = sparse.csr_array(A * 64.0)  # few bits, so that denormal numbers hold them
    A.data = np.round(A.data)
    b = np.round(64.0 * b)
    plain = linear.solve(A, b, SOLVERS[name])
    found = linear.solve(times(A, -1074), times(b, -1074), SOLVERS[name])
    assert np.array_equal(found.x, plain.x) and found.iterations == plain.iterations


def test_bending_and_diagonals_are_scaled_too():
    """If not, what comes in beside the matrix is added to it, or left out of it, in another unit."""
    A, b, _, _ = system("jacobi", "float64")
    bending, delta = sparse.csr_array(A * 0.125), np.linspace(0.0, 3.0, 60)
    for solver in (pdgpu.AJacobi(suppression="bending", iterations=30), pdgpu.PCG(iterations=9), pdgpu.Direct()):
        plain, scaled = (linear.System(times(A, a), solver, columns=2, bending=times(bending, a)) for a in (0, 700))
        for added in (0.0 * delta, delta):
            plain.add_diagonal(added)
            scaled.add_diagonal(times(added, 700))
            assert np.array_equal(scaled.solve(times(b, 700)).x, plain.solve(b).x)
    with pytest.raises(ValueError, match=r"delta: .* at 59 is too large for float32"):
        linear.System(A, pdgpu.Jacobi(), dtype="float32").add_diagonal(1e38 * delta)


def test_what_cannot_be_represented():
    """If not, a solution, a norm or an inverse out of the range of its type is infinite, or zero, in silence."""
    one, two = sparse.csr_array([[1.0]]), sparse.csr_array(np.diag([1.0, 1.0]))
    for solver in (pdgpu.Direct(), pdgpu.PCG(), pdgpu.Jacobi()):
        with pytest.raises(ValueError, match=r"b: the solution is too large for float64"):
            linear.solve(1e-200 * one, [1e200], solver)
        with pytest.raises(ValueError, match=r"b: the solution is below the smallest number"):
            linear.solve(1e200 * one, [1e-200], solver)
        with pytest.raises(ValueError, match=r"b: the solution is too large for float32"):
            linear.solve((1e-20 * one).astype(np.float32), np.float32([1e20]), solver)
        with pytest.raises(ValueError, match=r"b: the norm of the residual is too large"):
            linear.solve(two, [1.7e308, 1.7e308], solver)
        with pytest.raises(ValueError, match=r"A: the diagonal entry 1e-300 at 1 is too small for float64"):
            linear.solve(sparse.diags_array([1.0, 1e-300]).tocsr(), [1.0, 1.0], solver)
        with pytest.raises(ValueError, match=r"b: column 1 leaves a residual 1e-250 times"):
            linear.solve(two, [[1.0, 1e-250], [0.0, 0.0]], solver)
        with pytest.raises(ValueError, match="reference: its distance from x0 is out of the range"):
            linear.solve(two, [1.0, 1.0], solver, reference=[1e300, 0.0])
        with pytest.raises(ValueError, match=r"b: value inf at 0 is not finite"):
            linear.solve(one, np.array(["1e400"]).astype(np.longdouble), solver)


def test_a_first_guess_far_larger_than_the_right_hand_side():
    """If not, A x0 is lost below the smallest number, and a first guess that is wrong is returned as converged."""
    A = sparse.csr_array(1e-200 * np.array([[2.0, -1.0], [-1.0, 2.0]]))
    result = linear.solve(A, [0.0, 0.0], pdgpu.Direct(), x0=[1e-150, 0.0])
    assert np.abs(result.x).max() <= 1e-165 and result.residual_norm[0] == 0.0  # 1e-350 has no other double


# --- degenerate spectra --------------------------------------------------------------------------------------------------------------


RING = sparse.csr_array(2.0 * np.eye(6) - np.roll(np.eye(6), 1, 0) - np.roll(np.eye(6), -1, 0))  # singular
INDEFINITE = sparse.csr_array(np.array([[1.0, 3.0], [3.0, 1.0]]))
DIAGONAL = sparse.diags_array(np.arange(1.0, 7.0)).tocsr()


def test_rates_of_degenerate_systems():
    """If not, asking for a rate ends in ZeroDivisionError or "math domain error", which name no argument."""
    ones = np.ones(6)
    assert linear.solve(RING, ones - ones, pdgpu.PCG()).predicted_rate == 1.0
    assert np.isnan(linear.solve(RING, ones - ones, pdgpu.PCG()).rate)
    for solver in (pdgpu.Jacobi(weight=1.0), pdgpu.AJacobi(weight=1.0, variant="composed"), pdgpu.SymmetricGaussSeidel()):
        system = linear.System(DIAGONAL, dataclasses.replace(solver, chebyshev=Chebyshev(rho="auto")))
        system.parameters["rho"] = 0.0  # what a search says that found nothing better than no acceleration
        assert 0.0 <= system.predicted_rate() < 1e-11
    for rho in (1e-200, 1e-300):
        for solver in (pdgpu.Jacobi(weight=1.0), pdgpu.AJacobi(weight=1.0), pdgpu.AJacobi(order=4, weight=1.0, variant="composed")):
            result = linear.solve(DIAGONAL, ones, dataclasses.replace(solver, chebyshev=Chebyshev(rho=rho), iterations=5))
            assert 0.0 <= result.predicted_rate < 1e-11
    for order in (1, 2, 3, 4):
        assert linear.spectral_radius(DIAGONAL, pdgpu.AJacobi(order=order, weight=1.0, variant="composed")) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("A", [RING, INDEFINITE], ids=["singular", "indefinite"])
def test_numbers_of_the_spectrum_need_a_definite_matrix(A):
    """If not, omega becomes 2 and a weight infinite, and the run diverges without a word of why."""
    for solver in (pdgpu.SOR(), pdgpu.Jacobi(weight="optimal"), pdgpu.AJacobi(weight="optimal")):
        with pytest.raises(ValueError, match="A: not positive definite: the smallest eigenvalue"):
            linear.solve(A, np.ones(A.shape[0]), solver)


def test_search_looks_beyond_its_start():
    """If not, runs of 100 iterations are compared in which a later start has accelerated nothing, and chance chooses rho."""
    A = problems.chain(100, mass=1e-3)
    result = linear.solve(A, np.ones(100), pdgpu.Jacobi(weight=1.0, iterations=400, chebyshev=Chebyshev(rho="auto", start=150)))
    best = 1.0 - linear.extreme_eigenvalues(A)[0]
    assert 0.25 < (1.0 - result.parameters["rho"]) / (1.0 - best) < 4.0


# --- rounding ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("record", [True, False])
def test_rounding_is_reached(dtype, record):
    """If not, full success is called "stalled", or a tolerance that no float32 can reach a failure."""
    A, b, _, _ = system("pcg", dtype)
    for solver in (pdgpu.Jacobi(iterations=2000), pdgpu.AJacobi(), pdgpu.GaussSeidel(), pdgpu.SymmetricGaussSeidel(), pdgpu.PCG()):
        result = linear.solve(A, b, solver, record=record)
        # how the compiler rounds decides whether the last bits settle or go round until the iterations are over
        settled = result.iterations < (solver.iterations or 1000)
        assert (result.status, result.at_rounding) == (("converged", True) if settled else ("iteration_cap", False))
        met = linear.solve(A, b, dataclasses.replace(solver, tolerance=1e-4), record=record)
        assert met.status == "converged" and met.at_rounding is False
    for solver in (
        pdgpu.PCG(tolerance=1e-30),
        pdgpu.SOR(tolerance=1e-30),
        pdgpu.Jacobi(tolerance=1e-30, chebyshev=Chebyshev(rho="lanczos")),
    ):  # the last bits go round
        result = linear.solve(A, b, solver, record=record)
        assert result.status == "converged" and result.at_rounding is True
    short = linear.solve(A, b, pdgpu.SOR(iterations=3, tolerance=1e-30), record=record)
    assert short.status == "iteration_cap" and short.at_rounding is False


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_stalled_above_rounding(dtype):
    """If not, a system without a solution is reported as solved."""
    b = np.arange(6.0).astype(dtype)  # its mean is in the null space
    for solver in (pdgpu.Jacobi(weight=0.5, tolerance=1e-5), pdgpu.GaussSeidel(tolerance=1e-5), pdgpu.PCG(tolerance=1e-5, iterations=3)):
        result = linear.solve(RING.astype(dtype), b, solver)
        assert result.status in ("stalled", "iteration_cap", "diverged") and result.at_rounding is False
    flat = linear.solve(RING.astype(dtype), np.ones(6, dtype=dtype), pdgpu.Jacobi(weight=0.5))
    assert flat.status == "stalled" and flat.at_rounding is False


@pytest.mark.parametrize("name", ["jacobi", "a-jacobi", "gauss-seidel", "pcg", "sor"])
def test_rates_of_float32_end_where_rounding_begins(name):
    """If not, iterations that rounding keeps from any progress count, and a solver of rate 0.92 is said to have 1.0000."""
    A = problems.chain(200, mass=0.02)
    solver = {
        "jacobi": pdgpu.Jacobi(weight=1.0, iterations=3000),
        "a-jacobi": pdgpu.AJacobi(weight=1.0),
        "gauss-seidel": pdgpu.GaussSeidel(tolerance=1e-12),
        "pcg": pdgpu.PCG(),
        "sor": pdgpu.SOR(),
    }[name]
    b = np.random.default_rng(0).normal(size=200)
    expected = linear.solve(A, b, solver).rate
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = linear.solve(A.astype(np.float32), b.astype(np.float32), solver).rate
    assert expected < 0.97 and found == pytest.approx(expected, abs=0.05 * (1.0 - expected) + 0.03)
