"""Solvers: plain, printable, picklable descriptions. What they do stands in csrc/dynamics and csrc/linear."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from pdgpu.arguments import choice, integer, number
from pdgpu.linear_solvers import (
    LINEAR_SOLVERS,
    PCG,
    SOR,
    AJacobi,
    Chebyshev,
    Direct,
    GaussSeidel,
    Jacobi,
    SymmetricGaussSeidel,
    chebyshev_settings,
    check_chebyshev,
    keep,
    linear_settings,
)

__all__ = ["Newton", "ProjectiveDynamics", "capabilities"]

INITIALIZATIONS = ("previous", "inertia", "inertial_target", "adaptive")  # order of PD_GUESS_... in csrc/backend.h


@dataclass(frozen=True, kw_only=True)
class ProjectiveDynamics:
    """Projective Dynamics: local projections and a global linear step with a constant matrix [Bouaziz et al. 2014].

    Parameters
    ----------
    iterations : int
        Local-global iterations of a step.
    linear : Direct, Jacobi, AJacobi, GaussSeidel, SymmetricGaussSeidel, SOR or PCG
        Solver of the global step; an iterative one starts from the current iterate and does one iteration unless it says otherwise.
    chebyshev : Chebyshev, optional
        Outer acceleration, over the local-global iterations [Wang 2015, Algorithm 1].
    tolerance : float
        Stop where the gradient norm is at most tolerance x its value at the first guess; 0: run all iterations.
    initialization : str
        First guess of a step: "previous", "inertia", "inertial_target" or "adaptive" [Chen et al. 2024, VBD, Eq. 17].
    check_every : int, optional
        Iterations between two looks at the result; by default 1 on the CPU, 8 on CUDA.
    """

    iterations: int = 10
    linear: Direct | Jacobi | AJacobi | GaussSeidel | SymmetricGaussSeidel | SOR | PCG = field(default_factory=Direct)
    chebyshev: Chebyshev | None = None
    tolerance: float = 0.0
    initialization: str = "inertial_target"
    check_every: int | None = None

    materials = ("ARAP", "Spring", "Bending", "Volume", "Area", "StrainLimit", "Attachment")
    linear_solvers = LINEAR_SOLVERS
    devices = ("cpu", "cuda")

    def __post_init__(self):
        _check_outer(self)
        _check_outer_chebyshev(self)


@dataclass(frozen=True, kw_only=True)
class Newton:
    """Newton's method: sparse Cholesky of the full Hessian (projected where that fails), backtracking line search.

    Parameters
    ----------
    iterations : int
    linear : Direct
    line_search : bool
        Halve the step until the incremental potential decreases; near its rounding, until the gradient norm does.
    tolerance, initialization, check_every
        As for ProjectiveDynamics.
    """

    iterations: int = 20
    linear: Direct = field(default_factory=Direct)
    line_search: bool = True
    tolerance: float = 0.0
    initialization: str = "inertial_target"
    check_every: int | None = None

    materials = ProjectiveDynamics.materials
    linear_solvers = (Direct,)
    devices = ("cpu",)
    chebyshev = None

    def __post_init__(self):
        _check_outer(self)
        if not isinstance(self.line_search, bool):
            raise TypeError(f"line_search: expected True or False, got {self.line_search!r}")


SOLVERS = (ProjectiveDynamics, Newton)


def _check_outer_chebyshev(solver):
    check_chebyshev(solver.chebyshev)
    if solver.chebyshev is None:
        return
    if solver.chebyshev.rho == "lanczos":
        raise ValueError("rho: 'lanczos' looks at a matrix; the outer iteration has none: give a number or 'auto'")
    if solver.chebyshev.interval != "symmetric":
        raise ValueError(f"interval: {solver.chebyshev.interval!r} is for linear solvers; the outer iteration takes 'symmetric'")
    if isinstance(solver.linear, GaussSeidel | SOR):
        warnings.warn(
            f"Chebyshev acceleration over {type(solver.linear).__name__} is not sound: one-directional sweeps have complex eigenvalues; "
            "take SymmetricGaussSeidel for the global step [Wang 2015, Sec. 5.1]",
            stacklevel=4,
        )


def _check_outer(solver):
    keep(solver, iterations=integer("iterations", solver.iterations, 1))
    keep(solver, tolerance=number("tolerance", solver.tolerance, minimum=0.0))
    choice("initialization", solver.initialization, INITIALIZATIONS)
    if getattr(solver.linear, "biased", False):
        raise ValueError("linear: the biased A-Jacobi iterates on x itself; it works in pdgpu.linear only")
    if solver.check_every is not None:
        keep(solver, check_every=integer("check_every", solver.check_every, 1))
    if not isinstance(solver.linear, solver.linear_solvers):
        names = " or ".join(f"pdgpu.{kind.__name__}()" for kind in solver.linear_solvers)
        raise TypeError(f"linear: {type(solver).__name__} takes {names}, got {solver.linear!r}")


def settings_of(solver, device):
    """The solver as the keyword arguments of a backend's Simulation."""
    return {
        "solver": SOLVERS.index(type(solver)),
        "iterations": int(solver.iterations),
        "tolerance": float(solver.tolerance),
        "check_every": int(solver.check_every or (1 if device == "cpu" else 8)),
        "initialization": INITIALIZATIONS.index(solver.initialization),
        "line_search": bool(getattr(solver, "line_search", False)),
        "chebyshev": chebyshev_settings(solver.chebyshev),
        "linear": linear_settings(solver.linear, iterations=1, device=device),
    }


def check_support(solver, device, materials):
    """TypeError where the solver cannot treat a material, RuntimeError where it does not run on the device."""
    if not isinstance(solver, SOLVERS):
        raise TypeError(f"solver: expected a solver such as pdgpu.ProjectiveDynamics(), got {solver!r}")
    for material in materials:
        if material not in solver.materials:
            raise TypeError(f"{type(solver).__name__} cannot treat the material {material}")
    if device not in solver.devices:
        raise RuntimeError(f"device: {type(solver).__name__} does not run on {device!r}, only on {', '.join(solver.devices)}")


def capabilities():
    """Which solver treats which material with which linear solver, on which device.

    Returns
    -------
    dict
        Name of the solver -> dict with "materials", "linear" and "devices", lists of names.
    """
    return {
        solver.__name__: {
            "materials": list(solver.materials),
            "linear": [linear.__name__ for linear in solver.linear_solvers],
            "devices": list(solver.devices),
        }
        for solver in SOLVERS
    }
