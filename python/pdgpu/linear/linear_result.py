"""The result of a linear solve."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.counted import counted

if TYPE_CHECKING:
    from typing import Any

__all__ = ["LinearResult", "shares_above_rounding"]

# residual norms below this fraction of the first give no rate
FLOOR = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 1e-12}


class LinearResult:
    """The result of a linear solve.

    Attributes
    ----------
    x : ndarray
        In the shape of b. After "diverged" the last iterate, or x0 if that is not finite.
    iterations : int
    residual_norm : ndarray
        Frobenius norm of b - A x after each iteration, row 0 at the start; without record only the first and the last.
    relative_error : ndarray or None
        ||x_k - reference|| / ||x_0 - reference|| in the same rows; None without a reference.
    seconds : ndarray
        Solver time up to the same rows, s, without the time of recording.
    status : str
        "converged": the tolerance is met, the residual is zero, or the residual is at rounding: its norm did not change in the last bit for
        eight checks, or a tolerance was out of reach. "stalled": the iterates do not change, above rounding, as for a singular A and a b
        without a solution. "iteration_cap": all iterations ran. "diverged".
    at_rounding : bool
        True for a run that "converged" at rounding: the norm is at most (k + 8) eps || |A| |d| + |r| ||, k the entries of the longest row,
        d the correction, r the residual at the start, eps that of the dtype, and at most a tenth of || r ||.
    rate : float
        Observed: mean factor of the residual norm per iteration over the second half of the run, above rounding; NaN with fewer than two
        iterations.
    predicted_rate : float
        From the spectrum, computed at the first access: the spectral radius of the iteration, with Chebyshev the asymptotic rate of its
        polynomial, (sqrt(kappa) - 1)/(sqrt(kappa) + 1) for PCG, 0 for Direct. ValueError if A is not positive definite and the spectrum
        cannot be computed.
    setup_seconds : float
        Factorisation, colours, aggregation, eigenvalues, search for rho: once per `System`, s.
    parameters : dict
        The numbers of the solver that apply: "weight", "rho" (of one Jacobi step for A-Jacobi), "omega", "colours".
    """

    def __init__(
        self,
        system: Any,
        prediction: Any,
        x: Any,
        status: Any,
        at_rounding: Any,
        iterations: Any,
        residual_norm: Any,
        relative_error: Any,
        seconds: Any,
        shares: Any,
    ) -> None:
        self._predicted_rate = prediction
        self.x, self.status, self.at_rounding, self.iterations = x, status, at_rounding, iterations
        self.residual_norm, self.relative_error, self.seconds = residual_norm, relative_error, seconds
        self._shares = shares  # residual norms over the first, above rounding
        self.setup_seconds, self.parameters = system.setup_seconds, dict(system.parameters)

    @property
    def rate(self) -> float:
        """Mean factor of the residual norm per iteration over the second half of the run; NaN with fewer than two iterations."""
        last = len(self._shares) - 1
        half = last // 2
        if last < 2 or not np.isfinite(self._shares[last]):
            return math.nan
        steps = self.iterations * (last - half) / (len(self.residual_norm) - 1)
        return float((self._shares[last] / self._shares[half]) ** (1.0 / steps))

    @cached_property
    def predicted_rate(self) -> float:
        """The rate that the spectrum of A predicts, computed at the first access; see the attributes of the class."""
        return self._predicted_rate()

    def __repr__(self) -> str:
        return f"<LinearResult: {self.status} after {counted(self.iterations, 'iteration')}, residual norm {self.residual_norm[-1]:.3e}>"


def shares_above_rounding(norms: Any, rounding: Any, dtype: Any) -> Any:
    """Return norms over the first, up to the last one above rounding."""
    if not 0.0 < norms[0] < np.inf:
        return np.empty(0)
    above = np.flatnonzero(~(norms <= max(FLOOR[dtype] * norms[0], rounding)))
    return norms[: int(above[-1]) + 1] / norms[0] if len(above) else np.empty(0)
