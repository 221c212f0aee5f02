"""What the descriptions of all time-step solvers share: their base class, the names they choose from, and their checks."""

from __future__ import annotations

import warnings

from pdgpu._internal.arguments import choice, flag, integer, number
from pdgpu.linear.linear_solvers import SOR, GaussSeidel, check_chebyshev, keep
from pdgpu.materials.materials import MATERIALS

PENALTY = "PenaltyContact"  # what is no law of the core's table
DRIVERS = ("ProjectiveContact",)  # contacts that are no law but a loop around a solver
AFTER = ("TwoWayContact",)  # those that answer after any solver
PROXIES = "ProxyContact"  # springs that are a term of the matrix of Projective Dynamics alone

INITIALIZATIONS = ("previous", "inertia", "inertial_target", "adaptive")  # order of PD_GUESS_... in csrc/loops/backend.h
PRECONDITIONERS = ("jacobi", "direct")
COLOURINGS = ("greedy", "balanced")
# materials whose energy is the distance to a constraint set, and those that have no nearest point of one, so no PD and no PBD
PROJECTIVE = tuple(material.__name__ for material in MATERIALS if material.projective)
HYPERELASTIC = tuple(material.__name__ for material in MATERIALS if not material.projective)


class TimeStepSolver:
    """What every solver of a time step is, for type checkers: a dict of different ones is a dict of these."""


def check_line_search(solver):
    keep(solver, line_search=flag("line_search", solver.line_search))


def check_outer_chebyshev(solver):
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


def check_outer(solver):
    keep(solver, iterations=integer("iterations", solver.iterations, 1))
    keep(solver, tolerance=number("tolerance", solver.tolerance, minimum=0.0))
    if solver.initialization is not None or type(solver).initialization is not None:
        choice("initialization", solver.initialization, INITIALIZATIONS)
    if getattr(solver.linear, "biased", False):
        raise ValueError("linear: the biased A-Jacobi iterates on x itself; it works in pdgpu.linear only")
    if solver.check_every is not None:
        keep(solver, check_every=integer("check_every", solver.check_every, 1))
    if solver.linear_solvers and not isinstance(solver.linear, solver.linear_solvers):
        names = " or ".join(f"pdgpu.{kind.__name__}()" for kind in solver.linear_solvers)
        raise TypeError(f"linear: {type(solver).__name__} takes {names}, got {solver.linear!r}")
