"""Eigenvalues for the convergence rates of linear iterations, by Lanczos' method (ARPACK, through SciPy)."""

from __future__ import annotations

import math
import warnings

import numpy as np

from pdgpu import _host
from pdgpu._internal.backends import backend
from pdgpu.linear.linear_solvers import (
    PCG,
    SOR,
    AJacobi,
    Direct,
    GaussSeidel,
    Jacobi,
    LinearFunction,
    SymmetricGaussSeidel,
    linear_settings,
    without_acceleration,
)

# up to this number of rows eigenvalues are computed densely, to rounding
DENSE = 500
# up to this number of rows those of a nonsymmetric iteration are computed densely if Arnoldi's method cannot separate them
DENSE_SWEEP = 1500
# (vectors, restarts) of Arnoldi's method, first to last
ARNOLDI = ((60, 50), (200, 10))


def scaled(A):
    """Return D^-1/2 A D^-1/2, which is symmetric and has the eigenvalues of D^-1 A."""
    import scipy

    scale = scipy.sparse.diags_array(1.0 / np.sqrt(A.diagonal()))
    return (scale @ A @ scale).tocsr()


def arrays(A):
    """Return (row starts, columns, values) of a matrix for a backend, with ascending columns."""
    A = A.tocsr()
    if not A.has_sorted_indices:
        A = A.sorted_indices()
    return A.indptr.astype(np.int32), A.indices.astype(np.int32), A.data.astype(np.float64)


def _start(n):
    """Return the same start vector in every run: ARPACK's own is random."""
    return np.random.default_rng(0).uniform(-1.0, 1.0, n)


def _solve_with(A):
    """Return x = A^-1 b as a linear operator: our Cholesky factor, or SciPy's LU in a build without one."""
    import scipy

    n = A.shape[0]
    try:
        factor = backend("cpu", "float64").Linear(arrays(A), None, 1, linear_settings(Direct(), iterations=1), 1)
        factor.prepare()
    except RuntimeError as error:
        if "positive definite" in str(error):
            raise ValueError(f"A: {error}") from None
        lu = scipy.sparse.linalg.splu(A.tocsc())
        return scipy.sparse.linalg.LinearOperator((n, n), matvec=lu.solve, dtype=np.float64)

    def solve(b):
        return factor.solve(np.ascontiguousarray(b, dtype=np.float64).reshape(n, 1), None, None, None, 1, False)["direction"][:, 0]

    return scipy.sparse.linalg.LinearOperator((n, n), matvec=solve, dtype=np.float64)


def largest_eigenvalue(A, tolerance=1e-9):
    """Return the largest eigenvalue of D^-1 A, for A as scipy CSR float64."""
    import scipy

    S = scaled(A)
    if S.shape[0] <= DENSE:
        return float(scipy.linalg.eigvalsh(S.toarray())[-1])
    values = scipy.sparse.linalg.eigsh(
        S, k=1, which="LA", tol=tolerance, v0=_start(S.shape[0]), ncv=min(60, S.shape[0]), maxiter=20000, return_eigenvectors=False
    )
    return float(values[0])


def smallest_eigenvalue(A):
    """Return the smallest eigenvalue of D^-1 A, by Lanczos on its inverse."""
    import scipy

    S = scaled(A)
    if S.shape[0] <= DENSE:
        return float(scipy.linalg.eigvalsh(S.toarray())[0])
    inverse = _solve_with(S)
    values = scipy.sparse.linalg.eigsh(inverse, k=1, which="LA", tol=1e-10, v0=_start(S.shape[0]), maxiter=5000, return_eigenvectors=False)
    return float(1.0 / values[0])


def extremes(A):
    """Return the smallest and largest eigenvalue of D^-1 A."""
    return smallest_eigenvalue(A), largest_eigenvalue(A)


def jacobi_rho(weight, low, high):
    """Return the spectral radius of I - weight D^-1 A."""
    return max(abs(1.0 - weight * low), abs(1.0 - weight * high))


def check_definite(low, high):
    """Check, to rounding, the assumption of Young's omega and of Jacobi's best weight: A is positive definite."""
    if not low > 4.0 * np.finfo(np.float64).eps * high:
        raise ValueError(f"A: not positive definite: the smallest eigenvalue of D^-1 A is {low:.4g}, the largest {high:.4g}")


def best_weight(low, high):
    """Return Jacobi's 2 / (smallest + largest eigenvalue of D^-1 A)."""
    check_definite(low, high)
    return 2.0 / (low + high)


def over_relaxation(low, high):
    """Return Young's omega, from the spectral radius of plain Jacobi if that converges, else of Jacobi at its best weight."""
    check_definite(low, high)
    rho = jacobi_rho(1.0, low, high)
    rho = rho if rho < 1.0 else (high - low) / (high + low)
    return 2.0 / (1.0 + math.sqrt(max(0.0, 1.0 - rho * rho)))


def chebyshev_rate(radius, rho):
    """Return lim |C_k(radius / rho) / C_k(1 / rho)|^(1/k), 0 <= rho < 1; inside [-rho, rho] the numerator is 1."""
    growth = max(radius, rho)
    return (growth + math.sqrt((growth - rho) * (growth + rho))) / (1.0 + math.sqrt((1.0 - rho) * (1.0 + rho)))


def composed_radius(order, rho):
    """Return 1 / C_order(1 / rho) for 0 <= rho < 1; 1 above."""
    if rho >= 1.0:
        return 1.0
    power = (rho / (1.0 + math.sqrt((1.0 - rho) * (1.0 + rho)))) ** order
    return 2.0 * power / (1.0 + power * power)


def in_sweep_order(A, solver):
    """Return A with its rows in the order of a sweep."""
    if solver.order != "colour":
        return A
    n = A.shape[0]
    rows = np.repeat(np.arange(n), np.diff(A.indptr))  # stored zeros are neighbours too: A.nonzero() would drop them
    edges = np.stack([rows, A.indices], axis=1)
    edges = np.ascontiguousarray(edges[edges[:, 0] < edges[:, 1]], dtype=np.int32)
    order = np.argsort(_host.colouring(edges, n, "greedy"), kind="stable")
    return A[order][:, order].tocsr()


def consistently_ordered(A):
    """Return whether a matrix is consistently ordered [Young 1954].

    Every row then has a number that is larger by one than those of coupled rows before it, and smaller by one than those of coupled rows
    after it. This holds for grids and for two colours, not for triangles or tets.
    """
    import scipy

    n = A.shape[0]
    coupled = A.tocoo()
    later = (coupled.row < coupled.col) & (coupled.data != 0.0)
    first, second = coupled.row[later], coupled.col[later]
    graph = scipy.sparse.coo_array((np.ones(len(first)), (first, second)), shape=(n, n))
    count, parts = scipy.sparse.csgraph.connected_components(graph, directed=False)
    # one more row connects the parts
    roots = np.unique(parts, return_index=True)[1]
    ends = (np.concatenate([first, np.full(count, n)]), np.concatenate([second, roots]))
    graph = scipy.sparse.coo_array((np.ones(len(ends[0])), ends), shape=(n + 1, n + 1)).tocsr()
    order, before = scipy.sparse.csgraph.breadth_first_order(graph, n, directed=False)
    numbers, before = [0] * (n + 1), before.tolist()
    for row in order[1:].tolist():
        numbers[row] = numbers[before[row]] + (1 if row > before[row] else -1)
    numbers = np.array(numbers)
    return bool((numbers[second] == numbers[first] + 1).all())


def young_radius(omega, rho):
    """Return that of SOR from that of Jacobi, for a consistently ordered matrix: the roots of (l + omega - 1)^2 = l omega^2 rho^2 [Young
    1954].
    """
    square = (omega * rho) ** 2 - 4.0 * (omega - 1.0)
    return omega - 1.0 if square <= 0.0 else (0.5 * (omega * rho + math.sqrt(square))) ** 2


def _symmetric_gauss_seidel(A, solver):
    """Return 1 - the smallest eigenvalue of M^-1 A with M = (D + L) D^-1 (D + L)^T in the order of the sweeps."""
    import scipy

    n = A.shape[0]
    A = in_sweep_order(A, solver)
    lower = scipy.sparse.tril(A).tocsr()
    M = (lower @ scipy.sparse.diags_array(1.0 / A.diagonal()) @ lower.T).tocsc()
    # M^-1 A is similar to T = C^-1 A C^-T with M = C C^T, C = lower D^-1/2; its inverse C^T A^-1 C needs only the factor of A
    C = (lower @ scipy.sparse.diags_array(1.0 / np.sqrt(A.diagonal()))).tocsr()
    if n <= DENSE:
        return float(1.0 - scipy.linalg.eigh(A.toarray(), M.toarray(), eigvals_only=True)[0])
    inverse = _solve_with(A)
    operator = scipy.sparse.linalg.LinearOperator((n, n), matvec=lambda v: C.T @ inverse.matvec(C @ v), dtype=np.float64)
    values = scipy.sparse.linalg.eigsh(operator, k=1, which="LA", tol=1e-10, v0=_start(n), maxiter=5000, return_eigenvectors=False)
    return float(1.0 - 1.0 / values[0])


def _iteration_matrix(A, solver, bending, weight, omega, columns):
    """Return one iteration applied to errors: columns (n, k) -> (n, k). With b = 0, an error e becomes e + d, d the answer to r = -A e."""
    n, k = columns.shape
    settings = without_acceleration(linear_settings(solver, iterations=1))
    core = backend("cpu", "float64").Linear(arrays(A), bending, k, settings, 1)
    core.set(weight or 1.0, omega, 0.5, None)

    def step(e):
        e = np.ascontiguousarray(e, dtype=np.float64).reshape(n, k)
        return e + core.solve(np.ascontiguousarray(-(A @ e)), None, None, None, 1, False)["direction"]

    return step


def spectral_radius_of(A, solver, bending=None, weight=None, omega=None):
    """See `pdgpu.linear.spectral_radius`; A is checked CSR float64, weight and omega are numbers if known."""
    if isinstance(solver, Direct):
        return 0.0
    if isinstance(solver, PCG | LinearFunction):
        raise TypeError(f"solver: {type(solver).__name__} has no iteration matrix, so it has no spectral radius")
    n = A.shape[0]
    if isinstance(solver, Jacobi | AJacobi) and not isinstance(weight, float):
        low, high = extremes(A)
        weight = solver.weight
        if isinstance(weight, str):
            weight = 1.8 / high if weight == "auto" else best_weight(low, high)
    if isinstance(solver, Jacobi) or (isinstance(solver, AJacobi) and solver.suppression is None):
        rho = jacobi_rho(weight, *extremes(A))
        if isinstance(solver, Jacobi):
            return rho
        return rho**solver.order if solver.variant == "power" else composed_radius(solver.order, rho)
    if isinstance(solver, SymmetricGaussSeidel):
        return _symmetric_gauss_seidel(A, solver)
    if isinstance(solver, SOR):
        omega = solver.omega if not isinstance(solver.omega, str) else omega or over_relaxation(*extremes(A))
    sweep = isinstance(solver, SOR | GaussSeidel)
    if sweep and n > DENSE and consistently_ordered(in_sweep_order(A, solver)):
        return young_radius(omega or 1.0, jacobi_rho(1.0, *extremes(A)))
    plain = GaussSeidel(order=solver.order) if isinstance(solver, GaussSeidel) else solver
    return _largest_magnitude(A, plain, bending, weight, omega or 1.0, omega - 1.0 if isinstance(solver, SOR) else 0.0)


def _largest_magnitude(A, solver, bending, weight, omega, least):
    """Return the largest |eigenvalue| of one iteration, which need not be symmetric; `least`: a lower bound [Kahan 1958]."""
    import scipy

    n = A.shape[0]
    step = _iteration_matrix(A, solver, bending, weight, omega, np.empty((n, 1)))
    operator = scipy.sparse.linalg.LinearOperator((n, n), matvec=lambda v: step(v)[:, 0], dtype=np.float64)
    for vectors, restarts in ARNOLDI if n > DENSE else ():
        try:
            values = scipy.sparse.linalg.eigs(
                operator, k=1, which="LM", v0=_start(n), ncv=min(vectors, n - 1), tol=1e-8, maxiter=restarts, return_eigenvectors=False
            )
            if np.abs(values).max() >= least * (1.0 - 1e-6):
                return float(np.abs(values).max())
        except scipy.sparse.linalg.ArpackError:  # eigenvalues on a circle, as those of SOR beyond its best omega, have no largest one
            pass
        if n <= DENSE_SWEEP:
            break
    if n <= DENSE_SWEEP:
        whole = _iteration_matrix(A, solver, bending, weight, omega, np.eye(n))
        return float(np.abs(scipy.linalg.eigvals(whole(np.eye(n)))).max())
    # then the growth of a vector over many steps is measured
    e = _start(n).reshape(n, 1)
    growth = 0.0
    for k in range(400):
        e = step(e)
        size = float(np.linalg.norm(e))
        if size == 0.0:
            return max(least, 0.0)
        growth += math.log(size) if k >= 200 else 0.0
        e /= size
    radius = max(math.exp(growth / 200), least)
    warnings.warn(
        f"spectral radius of {type(solver).__name__} on {n} rows: its largest eigenvalues are too close in magnitude to be separated; "
        f"{radius:.4g} is the factor per step of an error over 200 steps, which may differ from the limit",
        stacklevel=3,
    )
    return radius
