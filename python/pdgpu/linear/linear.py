"""Linear systems A x = b with a symmetric positive definite sparse matrix: the solvers of the global step as separate functions."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import flag, integer
from pdgpu._internal.attributes import GuardedAttributes
from pdgpu._internal.backends import backend, device_or_default, dtype_or_default, thread_count
from pdgpu._internal.counted import counted
from pdgpu.linear import linear_solvers
from pdgpu.linear.automatic import resolve
from pdgpu.linear.chebyshev_search import floor_of, search, search_iterations
from pdgpu.linear.linear_arguments import array_of_shape, array_or_none, right_hand_side, symmetric_matrix
from pdgpu.linear.linear_rates import check_solver, extreme_eigenvalues, predicted_rate, product_of, spectral_radius
from pdgpu.linear.linear_result import LinearResult, shares_above_rounding
from pdgpu.linear.linear_solvers import PCG, AJacobi, Direct, Jacobi, LinearFunction, as_linear_solver, check_order, linear_settings
from pdgpu.linear.scaling import SPREAD, check_columns, exponent_of, ordinary_matrix, times_power, to_ordinary
from pdgpu.linear.schur import schur_complement
from pdgpu.linear.spectrum import arrays, scaled

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import Device, LinearSolver, Matrix, Precision, Sparse

__all__ = ["LinearResult", "System", "extreme_eigenvalues", "schur_complement", "solve", "spectral_radius"]

COLUMNS = _host.LINEAR_RECORD_COLUMNS
ITERATIONS = 1000
# iterations between residual checks of a run without a record and a tolerance: the largest delay of the detection of a divergence
UNRECORDED_CHECKS = 64


def solve(
    A: Matrix,
    b: ArrayLike,
    solver: LinearSolver,
    x0: ArrayLike | None = None,
    record: bool = True,
    *,
    reference: ArrayLike | None = None,
    bending: Sparse | None = None,
    device: Device | None = None,
    threads: int = 0,
) -> LinearResult:
    """Solve A x = b for a symmetric positive definite matrix.

    The solver computes the correction: A d = b - A x0 from d = 0, then x = x0 + d. The right-hand side is formed in float64, so float32
    loses no digits to the size of x0. Several right-hand sides are iterated together.

    Parameters
    ----------
    A : array_like or scipy sparse, shape (n, n)
        Symmetric, with a positive diagonal. Explicit zeros are kept: they count as neighbours for colours.
    b : array_like, shape (n,) or (n, k)
    solver : Direct, Jacobi, AJacobi, GaussSeidel, SymmetricGaussSeidel, SOR or PCG
        The default of `iterations` is 1000. The dtype is float32 if A, b and x0 are float32, else float64; PDGPU_DTYPE has no effect.
    x0 : array_like, optional
        The start, in the shape of b; zero by default.
    record : bool
        Record the residual norm after every iteration, outside the timing.
    reference : array_like, optional
        The solution, for `relative_error`.
    bending : sparse matrix, optional
        The bending part of A, for ``AJacobi(suppression="bending")``.
    device : "cpu", "cuda" or one of several GPUs such as "cuda:1"; default: PDGPU_DEVICE, else "cpu"
        The device of the iterations. On "cuda" the triangular solves of a Direct solver run on the host. Without a record, a solver with a
        tolerance checks its residual every 8 iterations, so it may end up to 7 iterations later than on the CPU.
    threads : int
        0: all cores. The result does not depend on it.

    Returns
    -------
    LinearResult
        Also after a divergence: see `status`.

    Raises
    ------
    TypeError, ValueError
        A matrix that is empty, not square, symmetric, finite or positive definite (as far as the solver detects it), or has a non-positive
        diagonal; b, x0 or reference of another shape. The message names the argument, the index and the value. Numbers of any size are
        scaled by powers of two; errors are a solution or a norm that the dtype cannot represent, and diagonal entries, or columns of b,
        whose sizes differ too much for it.
    RuntimeError
        A device that does not exist, or `order="natural"` on a device other than the CPU.
    """
    b = right_hand_side("b", b, None)
    A = symmetric_matrix("A", A)
    dtype = np.float32 if all(value is None or value.dtype == np.float32 for value in (A, b, array_or_none(x0))) else np.float64
    columns = 1 if b.ndim == 1 else b.shape[1]
    if b.shape[0] != A.shape[0]:
        raise ValueError(f"b: expected {A.shape[0]} rows, got shape {b.shape}")
    system = System(A, solver, columns=columns, bending=bending, dtype=dtype, device=device, threads=threads)
    return system.solve(b, x0, record, reference=reference)


class System(GuardedAttributes):
    """A matrix and a solver, prepared once for many right-hand sides and changing diagonals.

    Parameters
    ----------
    A, solver, bending, device, threads
        As for `solve`. Parameters that depend on the spectrum (weights, omega, rho) are computed on the CPU.
    columns : int
        Number of right-hand sides that are solved together.
    dtype : "float32" or "float64"; default: PDGPU_DTYPE, else "float64"

    Attributes
    ----------
    parameters : dict
        See `LinearResult.parameters`.
    setup_seconds : float
        s.
    """

    solver: LinearSolver
    columns: int
    dtype: np.dtype[Any]
    parameters: dict[str, Any]
    trials: list[Any]
    setup_seconds: float

    _instead = "make another System"

    def __init__(
        self,
        A: Matrix,
        solver: LinearSolver,
        *,
        columns: int = 1,
        bending: Sparse | None = None,
        dtype: Precision | None = None,
        device: Device | None = None,
        threads: int = 0,
    ) -> None:
        device, dtype = device_or_default(device), dtype_or_default(dtype)
        solver = as_linear_solver(solver)
        check_solver(solver)
        module = backend(device, dtype)
        check_order(solver, device)
        self._keep(solver=solver, columns=integer("columns", columns, 1), dtype=np.dtype(dtype))
        A = symmetric_matrix("A", A)
        # 2^-exponent of the matrix: a solver sees numbers of ordinary size
        self._A, self._exponent = ordinary_matrix("A", A.astype(np.float64), dtype)
        self._original = self._A
        self._magnitudes = None
        blocks = isinstance(solver, PCG) and isinstance(solver.preconditioner, str) and solver.preconditioner == "block"
        if blocks and A.shape[0] % 3:
            raise ValueError(f"preconditioner: 'block' needs a multiple of 3 rows, got {A.shape[0]}")
        if blocks and self.columns > 1:
            raise ValueError(f"preconditioner: 'block' takes one column, got {self.columns}")
        if bending is not None:
            bending = symmetric_matrix("bending", bending, positive=False)
            if bending.shape != A.shape:
                raise ValueError(f"bending: expected shape {A.shape}, got {bending.shape}")
        elif getattr(solver, "suppression", None) == "bending":
            raise ValueError("bending: suppression='bending' needs the part of A that comes from bending")
        self._bending_part = bending
        self._bending = None if bending is None else arrays(times_power(bending, -self._exponent))
        self._added: Any = None
        start = time.perf_counter()
        settings = linear_settings(solver, iterations=ITERATIONS, device=device, blocks=blocks, factor=2.0**self._exponent)
        self._iterations, self._tolerance, self._check_every = (settings[name] for name in ("iterations", "tolerance", "check_every"))
        self._threads, self._device = thread_count(threads), str(device)
        self._core = module.Linear(arrays(self._A), self._bending, self.columns, settings, self._threads)
        self._numbers = resolve(solver, self._core.weight(), lambda: self._A, self._bending)
        self._numbers.apply(solver, self._core.set)
        self._keep(parameters=self._numbers.described(solver), trials=[])
        try:
            self._core.prepare()
        except RuntimeError as error:
            raise _indefinite(error) from None
        if self._core.colours():
            self.parameters["colours"] = self._core.colours()
        self._keep(setup_seconds=time.perf_counter() - start)

    def __reduce__(self) -> Any:
        """Support copies and pickles. A copy prepares its own data, and keeps the result of rho="auto"."""
        A = times_power(self._original, self._exponent)
        given = (A, self.solver, self.columns, self._bending_part, self.dtype.name, self._device, self._threads)
        return self._again, (*given, self._added, self._numbers, self.trials)

    @classmethod
    def _again(
        cls, A: Any, solver: Any, columns: Any, bending: Any, dtype: Any, device: Any, threads: Any, added: Any, numbers: Any, trials: Any
    ) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first system has warned about the weights
            self = cls(A, solver, columns=columns, bending=bending, dtype=dtype, device=device, threads=threads)
        self._numbers = replace(numbers)
        self._numbers.apply(solver, self._core.set)
        self._keep(trials=list(trials), parameters={**self.parameters, **numbers.described(solver)})
        if added is not None:
            self.add_diagonal(added)
        return self

    def __repr__(self) -> str:
        return f"<System: {counted(self._A.shape[0], 'row')}, {counted(self._A.nnz, 'nonzero')}, {self.solver!r}>"

    def solve(self, b: ArrayLike, x0: ArrayLike | None = None, record: bool = True, *, reference: ArrayLike | None = None) -> LinearResult:
        """Solve A x = b; see `pdgpu.linear.solve`."""
        n, k = self._A.shape[0], self.columns
        record = flag("record", record)
        b = right_hand_side("b", b, n)
        shape = b.shape
        if (1 if b.ndim == 1 else b.shape[1]) != k:
            raise ValueError(f"b: expected {k} columns, got shape {shape}")
        b = b.astype(np.float64).reshape(n, k)
        start = np.zeros((n, k)) if x0 is None else array_of_shape("x0", x0, shape).reshape(n, k)
        target = None if reference is None else array_of_shape("reference", reference, shape).reshape(n, k)
        # a biased operator converges to a fixed point of x itself: it iterates on x from x0, the others on the correction from 0
        absolute = getattr(self.solver, "biased", False) and getattr(self.solver, "suppression", None) is not None
        base = np.zeros((n, k)) if absolute else start
        residual, exponent = self._residual(b, base, start)
        shift = self._exponent - exponent  # of quantities of the size of x
        residual = np.ascontiguousarray(residual, dtype=self.dtype)
        first_iterate = np.ascontiguousarray(times_power(start, shift), dtype=self.dtype) if absolute else None
        if target is not None:
            target = self._target(target, base, shift)
        chebyshev = linear_solvers.chebyshev_of(self.solver)
        if chebyshev is not None and chebyshev.rho == "auto" and self._numbers.rho is None and residual.any():
            self._search(residual, chebyshev)
        rows = np.zeros((self._iterations + 1 if record else 2, len(COLUMNS)))
        table = {name: rows[:, k] for k, name in enumerate(COLUMNS)}
        every = 1 if record else (self._check_every if self._tolerance > 0.0 else UNRECORDED_CHECKS)
        try:
            found = self._core.solve(residual, first_iterate, target, rows if record else None, every, not record and self._tolerance > 0.0)
        except RuntimeError as error:
            raise _indefinite(error) from None
        d, status, iterations, count = (found[name] for name in ("direction", "status", "iterations", "rows"))
        if not record:
            table["seconds"][1], table["residual_norm"][:] = found["seconds"], (found["first_norm"], found["last_norm"])
            count = 2 if iterations else 1
        seconds, lengths, distance = (table[name][:count] for name in ("seconds", "residual_norm", "distance"))
        if status == "diverged":
            self._explain_divergence()
        ended = status == "stalled" or (status == "iteration_cap" and self._tolerance > 0.0)
        rounding = self._rounding(residual, d) if record or ended else 0.0
        # a residual of the size of the first one is no success even if rounding is as large: d diverges if A is singular
        at_rounding = bool(ended and lengths[-1] <= min(rounding, 0.1 * lengths[0]))
        norms = times_power(lengths, exponent)
        if not np.isfinite(norms[0]):
            raise ValueError("b: the norm of the residual is too large for float64; scale b")
        relative = None
        if target is not None and record:
            with np.errstate(invalid="ignore", divide="ignore"):
                relative = np.zeros(count) if distance[0] == 0.0 else distance / distance[0]
        return LinearResult(
            self,
            self._prediction(),
            self._solution(d, base, shift, status).reshape(shape),
            "converged" if at_rounding else status,
            at_rounding,
            iterations,
            norms.copy(),
            relative,
            seconds.copy(),
            shares_above_rounding(lengths, rounding, self.dtype),
        )

    def _residual(self, b: Any, base: Any, start: Any) -> Any:
        """Return 2^-e (b - A base) and e; the products are formed with numbers of ordinary size."""
        parts = [exponent_of(b)]
        if start.any():
            parts.append(exponent_of(self._A.data) + self._exponent + exponent_of(start))
        exponent = to_ordinary(max((part for part in parts if part is not None), default=None), self.dtype)
        residual = times_power(b, -exponent)
        if base.any():
            residual = residual - self._A @ times_power(base, self._exponent - exponent)
        further = to_ordinary(exponent_of(residual), self.dtype)
        residual = times_power(residual, -further)
        check_columns("b", residual, self.dtype)
        return residual, exponent + further

    def _target(self, reference: Any, base: Any, shift: Any) -> Any:
        """Return the exact correction, in its own scale."""
        with np.errstate(over="ignore"):
            target = times_power(reference - base, shift)
        size = exponent_of(target)
        if size is not None and not abs(size) <= SPREAD[self.dtype]:
            raise ValueError(f"reference: its distance from x0 is out of the range of {self.dtype}")
        return np.ascontiguousarray(target, dtype=self.dtype)

    def _solution(self, d: Any, base: Any, shift: Any, status: Any) -> Any:
        """Return x = base + 2^-shift d, in the dtype."""
        with np.errstate(over="ignore"):
            x = base + times_power(d.astype(np.float64), -shift)
            rounded = np.ascontiguousarray(x, dtype=self.dtype)
        if status == "diverged":
            return rounded if np.isfinite(rounded).all() else np.ascontiguousarray(base, dtype=self.dtype)
        if not np.isfinite(rounded).all():
            raise ValueError(f"b: the solution is too large for {self.dtype}")
        if d.any() and not base.any() and not np.abs(rounded).max() >= np.finfo(self.dtype).tiny:
            raise ValueError(f"b: the solution is below the smallest number that {self.dtype} represents in full")
        return rounded

    def _rounding(self, residual: Any, d: Any) -> Any:
        """Return the rounding of the norm of a residual r - A d: every row is a sum of its products, and its unknown no longer changes by
        less than eps |d|.
        """
        if self._magnitudes is None:
            self._magnitudes = abs(self._A)
        if not np.isfinite(d).all():
            return 0.0
        longest = int(np.diff(self._A.indptr).max())
        sums = self._magnitudes @ np.abs(d.astype(np.float64)) + np.abs(residual)
        return float((longest + 8) * np.finfo(self.dtype).eps * np.linalg.norm(sums))

    def _search(self, residual: Any, chebyshev: Any) -> None:
        """Search for rho="auto", on the first right-hand side."""
        start = time.perf_counter()
        settings = linear_settings(self.solver, iterations=ITERATIONS, device=self._device)
        settings |= {"iterations": search_iterations(self._iterations, chebyshev.start), "tolerance": 0.0}
        core = backend(self._device, self.dtype).Linear(arrays(self._A), self._bending, self.columns, settings, self._threads)

        def run(rho: Any) -> Any:
            rows = np.zeros((settings["iterations"] + 1, len(COLUMNS)))
            self._numbers.rho = rho
            if rho is not None and getattr(self.solver, "variant", None) == "composed":
                self._numbers.composed_rho = rho
            self._numbers.apply(self.solver, core.set)
            found = core.solve(residual, None, None, rows, 1, False)
            norms = rows[: found["rows"], COLUMNS.index("residual_norm")]
            return np.append(norms, np.inf) if found["status"] == "diverged" else norms

        composed_rho = self._numbers.composed_rho
        rho, trials = search(run, floor_of(self.dtype))
        self._keep(trials=trials)
        self._numbers.rho, self._numbers.composed_rho = rho, composed_rho
        if getattr(self.solver, "variant", None) == "composed" and rho > 0.0:
            self._numbers.composed_rho = rho
        self._numbers.apply(self.solver, self._core.set)
        self.parameters["rho"] = rho
        self._keep(setup_seconds=self.setup_seconds + time.perf_counter() - start)

    def _explain_divergence(self) -> None:
        """Explain a divergence: an iteration that converges for every positive definite matrix diverges only for an indefinite matrix."""
        import scipy

        S = scaled(self._A)
        try:
            lowest = (
                scipy.sparse.linalg.eigsh(S, k=1, which="SA", tol=1e-3, v0=np.ones(S.shape[0]), maxiter=2000, return_eigenvectors=False)
                if S.shape[0] > 2
                else np.linalg.eigvalsh(S.toarray())
            )
        except scipy.sparse.linalg.ArpackError:  # then the message has no eigenvalue
            return
        if lowest[0] < -1e-9:
            raise ValueError(f"A: not positive definite: the smallest eigenvalue of D^-1 A is about {lowest[0]:.4g}")

    def add_diagonal(self, delta: ArrayLike) -> None:
        """Solve with A + diag(delta) from now on, A the original matrix: the effect of contact on a system [Lan et al. 2022, Sec. 5.2].

        Only contents change, on the device: after the first call no memory is allocated. A-Jacobi recomputes the rows within order - 1
        rings of a changed vertex, for order 2 from the stored products. Direct factorises again, on the host and in memory of its library.
        Parameters from the spectrum (rho, omega, weights) stay the same.

        Parameters
        ----------
        delta : array_like, shape (n,)
            Not negative.
        """
        n = self._original.shape[0]
        delta = array_of_shape("delta", delta, (n,))
        if (delta < 0.0).any():
            row = int(np.argmax(delta < 0.0))
            raise ValueError(f"delta: must be at least 0, got {delta[row]} at {row}")
        scaled: Any = times_power(delta, -self._exponent)
        diagonal = self._original.diagonal() + scaled
        if not diagonal.max() <= 2.0 ** SPREAD[self.dtype]:
            row = int(np.argmax(scaled))
            raise ValueError(
                f"delta: {np.ldexp(scaled[row], self._exponent):g} at {row} is too large for {self.dtype} relative to the matrix"
            )
        self._A = self._original.copy()  # a sum would drop stored zeros, which colours count
        self._A.setdiag(diagonal)
        self._magnitudes = None
        self._core.set_diagonal(scaled)
        self._added = delta

    def cost(self) -> dict[str, Any]:
        """Cost of A-Jacobi's operator.

        Returns
        -------
        dict
            "nonzeros" of the operator; "paths", the number of walks of `order` hops in the sums of its entries; "bytes"; "refresh_seconds"
            and "rows_recomputed" of the last refresh. Zeros for other solvers.
        """
        return self._core.cost()

    def operator(self) -> Any:
        """The matrix T of one iteration on errors, without Chebyshev: x_k+1 - x* = T (x_k - x*), x* the solution.

        Returns
        -------
        scipy CSR matrix or scipy.sparse.linalg.LinearOperator, shape (n, n), float64
            Matrices for Jacobi, I - w D^-1 A, which is D^-1 R of A = D - R for w = 1, and for AJacobi: its product, the power of that or
            its Chebyshev polynomial. Operators for the Gauss-Seidel kinds, and for AJacobi with suppression, which are not sparse: a
            product runs an iteration, with the code of the solver on the CPU.

        Raises
        ------
        TypeError
            Direct has no iterations, and those of PCG are not linear; AJacobi(biased=True) does not converge to the solution.
        """
        import scipy

        solver, numbers = self.solver, self._numbers
        if isinstance(solver, Direct | PCG | LinearFunction):
            raise TypeError(f"solver: {type(solver).__name__} has no iteration matrix; Jacobi and Gauss-Seidel do")
        if getattr(solver, "biased", False) and getattr(solver, "suppression", None) is not None:
            raise TypeError("solver: AJacobi(biased=True) converges to another point than the solution, so it has no matrix on errors")
        n = self._A.shape[0]
        if isinstance(solver, Jacobi) or (isinstance(solver, AJacobi) and solver.suppression is None):
            R = (scipy.sparse.eye_array(n) - scipy.sparse.diags_array(numbers.weight / self._A.diagonal()) @ self._A).tocsr()
            return scipy.sparse.csr_matrix(R if isinstance(solver, Jacobi) else product_of(R, solver, numbers.composed_rho))
        settings = linear_solvers.without_acceleration(linear_settings(solver, iterations=1))
        core = backend("cpu", "float64").Linear(arrays(self._A), self._bending, 1, settings, self._threads)
        core.set(numbers.weight, numbers.omega, numbers.composed_rho, None)

        def step(e: Any) -> Any:
            e = np.ascontiguousarray(e, dtype=np.float64).reshape(n, 1)
            return (e + core.solve(np.ascontiguousarray(-(self._A @ e)), None, None, None, 1, False)["direction"])[:, 0]

        return scipy.sparse.linalg.LinearOperator((n, n), matvec=step, dtype=np.float64)

    def predicted_rate(self) -> float:
        """See `LinearResult.predicted_rate`."""
        return self._prediction()()

    def _prediction(self) -> Any:
        """Return a callable that computes it for the present matrix and parameters; it can be pickled."""
        return partial(predicted_rate, self.solver, self._A, self._bending, dict(self.parameters))


def _indefinite(error: Any) -> Any:
    name = "preconditioner" if "preconditioner" in str(error) else "A"
    return ValueError(f"{name}: {error}") if "positive definite" in str(error) else error
