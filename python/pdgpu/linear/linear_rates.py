"""Convergence rates of linear solvers from the spectrum of a matrix."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdgpu.linear.linear_arguments import symmetric_matrix
from pdgpu.linear.linear_solvers import LINEAR_SOLVERS, PCG, AJacobi, Anderson, Direct, calls_function, chebyshev_of
from pdgpu.linear.scaling import ordinary_matrix, times_power
from pdgpu.linear.spectrum import arrays, chebyshev_rate, composed_radius, extremes, spectral_radius_of

if TYPE_CHECKING:
    from pdgpu.types import LinearSolver, Matrix, Sparse

__all__ = ["extreme_eigenvalues", "spectral_radius"]


def spectral_radius(A: Matrix, solver: LinearSolver, *, bending: Sparse | None = None) -> float:
    """The spectral radius of one step of the solver: the largest |eigenvalue| of its iteration matrix, without Chebyshev.

    The error of a stationary iteration shrinks by this factor per iteration in the long run. Jacobi and A-Jacobi: from the extreme
    eigenvalues of D^-1 A. Symmetric Gauss-Seidel: from a symmetric problem. Gauss-Seidel and SOR, which are not symmetric: by Young's
    formula for consistently ordered rows, such as those of grids. Otherwise by Arnoldi's method, or densely up to 500 rows, and up to 1500
    if Arnoldi's method finds no largest one. Beyond, as for an omega above the best one on a large tet mesh, a warning states the accuracy.

    Parameters
    ----------
    A : array_like or scipy sparse, shape (n, n)
    solver
        Any but PCG, which has no iteration matrix. Direct: 0.

    Returns
    -------
    float

    Raises
    ------
    TypeError
        `solver` is PCG, or no linear solver.
    ValueError
        A matrix as for `pdgpu.linear.solve`.

    References
    ----------
    Young 1954, Iterative methods for solving partial difference equations of elliptic type.
    """
    check_solver(solver)
    A, exponent = ordinary_matrix("A", symmetric_matrix("A", A).astype(np.float64), np.float64)
    if bending is not None:
        bending = arrays(times_power(symmetric_matrix("bending", bending, positive=False), -exponent))
    return spectral_radius_of(A, solver, bending)


def extreme_eigenvalues(A: Matrix) -> tuple[float, float]:
    """The smallest and the largest eigenvalue of D^-1 A, D the diagonal of A. Weighted Jacobi converges for weights below 2/largest.

    Parameters
    ----------
    A : array_like or scipy sparse, shape (n, n)

    Returns
    -------
    (float, float)
    """
    return extremes(ordinary_matrix("A", symmetric_matrix("A", A).astype(np.float64), np.float64)[0])


def product_of(R, solver, rho):
    """Return R^order, or C_order(R / rho) / C_order(1 / rho) with the Chebyshev polynomials C [Lan et al. 2022, Sec. 5]."""
    import scipy

    before, now = scipy.sparse.eye_array(R.shape[0]).tocsr(), R
    if solver.variant == "power":
        for _ in range(solver.order - 1):
            now = now @ R
        return now
    Y, values = R / rho, (1.0, 1.0 / rho)
    now = Y
    for _ in range(solver.order - 1):
        before, now = now, 2.0 * (Y @ now) - before
        values = (values[1], 2.0 / rho * values[1] - values[0])
    return now / values[1]


def predicted_rate(solver, A, bending, parameters):
    chebyshev = chebyshev_of(solver)
    if isinstance(solver, Direct):
        return 0.0
    if isinstance(getattr(solver, "acceleration", None), Anderson):
        return math.nan  # its combinations depend on the right-hand side
    if calls_function(solver):
        return math.nan  # the spectrum of M^-1 A is unknown
    if isinstance(solver, PCG) and solver.preconditioner in ("multilevel", "amg"):
        return math.nan  # of M^-1 A, whose dense form is not computed
    if isinstance(solver, PCG):
        low, high = block_extremes(A) if solver.preconditioner == "block" else extremes(A)
        if solver.preconditioner == "chebyshev":
            low, high = polynomial_extremes(low, high, solver.degree)
        root = math.sqrt(max(low, 0.0) / high)
        return (1.0 - root) / (1.0 + root)
    radius = spectral_radius_of(A, solver, bending, parameters.get("weight"), parameters.get("omega"))
    rho = parameters.get("rho")
    if chebyshev is None or rho is None or radius >= 1.0:
        return radius
    if isinstance(solver, AJacobi):
        rho = rho**solver.order if solver.variant == "power" else composed_radius(solver.order, rho)
    gamma = chebyshev.under_relaxation
    radius = 1.0 - gamma * (1.0 - radius)
    if chebyshev.interval == "positive":
        shift = 2.0 / (2.0 - rho)
        radius, rho = abs(1.0 - shift * (1.0 - radius)), rho / (2.0 - rho)
    return chebyshev_rate(radius, rho)


def polynomial_extremes(low, high, degree):
    """Return extreme eigenvalues of M^-1 A for eigenvalues of D^-1 A in [low, high], M^-1 Chebyshev's polynomial on [high / 30, high].

    [Saad 2003, Section 12.3.2]
    """
    centre, half = high * (1.0 + 1.0 / 30.0) / 2.0, high * (1.0 - 1.0 / 30.0) / 2.0
    largest = math.cosh(degree * math.acosh(centre / half))
    x = (centre - low) / half
    error = (math.cosh(degree * math.acosh(x)) if x > 1.0 else 1.0) / largest
    return 1.0 - error, 1.0 + 1.0 / largest


def block_extremes(A):
    """Return extreme eigenvalues of M^-1 A, M the 3x3 blocks on the diagonal."""
    import scipy

    n = A.shape[0] // 3
    coo = A.tocoo()
    own = coo.row // 3 == coo.col // 3
    blocks = np.zeros((n, 3, 3))
    blocks[coo.row[own] // 3, coo.row[own] % 3, coo.col[own] % 3] = coo.data[own]
    inverse = np.linalg.inv(np.linalg.cholesky(blocks))
    W = scipy.sparse.bsr_matrix((inverse, np.arange(n), np.arange(n + 1)), shape=A.shape)
    return extremes((W @ A @ W.T).tocsr())


def check_solver(solver):
    if not isinstance(solver, LINEAR_SOLVERS):
        raise TypeError(f"solver: expected a linear solver such as pdgpu.PCG(), got {solver!r}")
