"""Parameters of linear solvers that depend on the spectrum of the matrix: weights, omega, rho."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from pdgpu.linear.linear_solvers import SOR, AJacobi, Jacobi, chebyshev_of, chebyshev_settings
from pdgpu.linear.spectrum import best_weight, extremes, jacobi_rho, over_relaxation, spectral_radius_of


@dataclass
class Parameters:
    """The numbers of a linear solver for one matrix. rho is None if no acceleration needs it, or before its search."""

    weight: float = 0.0
    omega: float = 1.0
    rho: float | None = None
    composed_rho: float = 0.5

    def apply(self, solver, set_parameters):
        """Hand them to a backend object's `set` or `set_linear`; an extrapolation without a rho stays off."""
        chebyshev = chebyshev_of(solver)
        extrapolation = None if self.rho is None else chebyshev_settings(chebyshev, self.rho)
        set_parameters(self.weight, self.omega, self.composed_rho, extrapolation)

    def described(self, solver):
        """Those that apply to the solver, as a dict for users."""
        result = {}
        if isinstance(solver, Jacobi | AJacobi):
            result["weight"] = self.weight
        if isinstance(solver, SOR):
            result["omega"] = self.omega
        if chebyshev_of(solver) is not None:
            result["rho"] = self.rho
        elif getattr(solver, "variant", None) == "composed":
            result["rho"] = self.composed_rho
        return result


def resolve(solver, estimate, matrix, bending=None, outer=None, stacklevel=4):
    """Compute the parameters of a linear solver.

    Parameters
    ----------
    estimate : dict
        The backend's weight, and its lower bound of the largest eigenvalue of D^-1 A, `largest_eigenvalue`.
    matrix : callable
        Returns the matrix as a scipy CSR matrix in float64; called only if the spectrum is needed.
    outer : Chebyshev, optional
        Acceleration of the iteration around the solver.

    Returns
    -------
    Parameters

    Warns
    -----
    UserWarning
        A weight with which Jacobi diverges. With rho="auto", inside or outside, another weight is used.
    """
    weight, largest = estimate["weight"], estimate["largest_eigenvalue"]
    result = Parameters(weight=weight)
    rho = getattr(chebyshev_of(solver), "rho", None)
    if isinstance(solver, SOR):
        result.omega = over_relaxation(*extremes(matrix())) if isinstance(solver.omega, str) else solver.omega
    if isinstance(solver, Jacobi | AJacobi):
        searched = "auto" in (rho, getattr(outer, "rho", None))
        result.weight = _weight(solver, weight, largest, searched, matrix, stacklevel)
    composed = isinstance(solver, AJacobi) and solver.variant == "composed"
    if isinstance(rho, float):
        result.rho = result.composed_rho = rho
    elif rho == "lanczos" or composed:
        found = _lanczos(solver, result.weight, matrix(), bending)
        result.composed_rho = found
        result.rho = found if rho == "lanczos" else None
    return result


def _weight(solver, weight, largest, searched, matrix, stacklevel):
    if solver.weight == "optimal":
        return best_weight(*extremes(matrix()))
    if isinstance(solver.weight, str) or weight * largest < 2.0:
        return weight
    # a lower bound of the largest eigenvalue is sufficient
    cause = (
        f"{type(solver).__name__}(weight={solver.weight:g}): the largest eigenvalue of D^-1 A is at least {largest:.4g}, so weighted "
        f"Jacobi converges only for weights below {2.0 / largest:.4g}, and this one diverges"
    )
    if searched:
        warnings.warn(f"{cause}; rho='auto' takes the weight {1.8 / largest:.4g} instead", stacklevel=stacklevel)
        return 1.8 / largest
    warnings.warn(f"{cause}; weight='auto' takes {1.8 / largest:.4g} here", stacklevel=stacklevel)
    return weight


def _lanczos(solver, weight, A, bending):
    """Spectral radius of one step; for A-Jacobi that of one weighted Jacobi step."""
    if isinstance(solver, Jacobi | AJacobi) and getattr(solver, "suppression", None) is None:
        rho = jacobi_rho(weight, *extremes(A))
    else:
        rho = spectral_radius_of(A, solver, bending, weight)
        if isinstance(solver, AJacobi):
            rho = rho ** (1.0 / solver.order)
    if rho >= 1.0:
        name = type(solver).__name__
        raise ValueError(f"rho: the spectral radius is {rho:.6g}: {name} diverges on this matrix; take another solver, or a smaller weight")
    return float(np.clip(rho, 1e-12, 1.0 - 1e-12))
