"""Anderson acceleration of linear solvers, next to one in NumPy."""

import dataclasses

import numpy as np
import pytest
from anderson_oracle import Combined
from linear.test_exact import SOLVERS, SWEEPS, difference, easy, solved, step_of

import pdgpu
from pdgpu import linear


@pytest.mark.parametrize("safeguard", ["residual", None])
@pytest.mark.parametrize("name", SWEEPS)
def test_iterates_are_those_of_numpy(name, safeguard):
    """If not, a linear solver combines other iterates, or its restart in a solve is another one."""
    problem = easy()
    settings = {"window": 4, "regularization": 1e-8, "safeguard": safeguard}
    solver = dataclasses.replace(SOLVERS[name], acceleration=pdgpu.Anderson(**settings))
    step, oracle, d = step_of(SOLVERS[name], problem.A), Combined(**settings), np.zeros_like(problem.start)
    for k in range(12):
        g = step(problem.start + d, problem.b) - problem.start
        d = oracle.after(d.ravel(), g.ravel()).reshape(d.shape)
        if k in (0, 1, 5, 11):
            assert difference(solved(problem, solver, k + 1).x, problem.start + d) < 1e-10, k


@pytest.mark.parametrize("name", ["jacobi", "gauss-seidel colour", "sgs colour", "a-jacobi 2"])
def test_it_needs_less_than_half_of_the_iterations(name):
    """If not, it accelerates nothing. At SOR's best omega, where the eigenvalues lie on a circle, nothing is to be gained."""
    problem = easy()
    counts = []
    for acceleration in (None, pdgpu.Anderson()):
        solver = dataclasses.replace(SOLVERS[name], acceleration=acceleration, tolerance=1e-8, iterations=2000)
        result = linear.solve(problem.A, problem.b, solver, x0=problem.start)
        assert difference(result.x, problem.solution) < 1e-5
        counts.append(result.iterations)
    assert counts[1] < counts[0] / 2, counts


def test_a_function_is_combined():
    """If not, a cycle of one's own is iterated as it is."""
    problem = easy()
    D = problem.A.diagonal()[:, None]
    plain, combined = (
        linear.solve(problem.A, problem.b, pdgpu.LinearFunction(function=lambda r: 0.9 * r / D, iterations=40, acceleration=acceleration))
        for acceleration in (None, pdgpu.Anderson())
    )
    assert problem.error(combined.x) < 0.1 * problem.error(plain.x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_and_records_change_no_bit(dtype):
    """If not, a result depends on the machine, or on being looked at."""
    problem = easy()
    solver = pdgpu.SOR(omega=1.3, iterations=12, acceleration=pdgpu.Anderson())
    A, b = problem.A.astype(dtype), problem.b.astype(dtype)
    ends = [linear.solve(A, b, solver, threads=threads, record=record).x for threads, record in ((1, True), (2, True), (2, False))]
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_array_equal(ends[0], ends[2])


def test_no_rate_is_promised():
    """If not, a table has the rate of another iteration."""
    problem = easy()
    result = linear.solve(problem.A, problem.b, pdgpu.Jacobi(weight=0.9, iterations=5, acceleration=pdgpu.Anderson()))
    assert np.isnan(result.predicted_rate)
