"""The base class of all time-step solvers: their common settings and checks, and the names of their features."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from pdgpu._internal.arguments import choice, flag, integer, number
from pdgpu.linear.linear_solvers import SOR, GaussSeidel, as_linear_solver, chebyshev_of, check_acceleration, keep
from pdgpu.materials.materials import MATERIALS

if TYPE_CHECKING:
    from typing import Any

PENALTY = "PenaltyContact"  # not in the core's table of contact potentials
DRIVERS = ("ProjectiveContact",)  # contacts that are no contact potential but a loop around a solver
AFTER = ("TwoWayContact",)  # contacts after any solver
PROXIES = "ProxyContact"  # springs that are a term only of the matrix of Projective Dynamics

INITIALIZATIONS = ("previous", "inertia", "inertial_target", "adaptive")  # order of PD_GUESS_... in csrc/updates/time_step.h
FILTERS = ("auto", "clamp", "absolute", "adaptive", "exact")  # order of pd_hessian_setting in csrc/base/hessian_filter.h
PRECONDITIONERS = ("jacobi", "direct")
COLOURINGS = ("greedy", "balanced")
# materials whose energy is the distance to a constraint set, and those without a closest point in a set, so no PD and no PBD
PROJECTIVE = tuple(material.__name__ for material in MATERIALS if material.projective)
HYPERELASTIC = tuple(m.__name__ for m in MATERIALS if not m.projective and m.inverts and m.__name__ != "CustomMaterial")
ORIENTED = tuple(material.__name__ for material in MATERIALS if not material.inverts)  # whose tets must not invert: steps are limited
CUSTOM = ("CustomMaterial",)  # whose functions are called before a solver asks for what they find


@dataclass(frozen=True, kw_only=True)
class TimeStepSolver:
    """Settings of all solvers of a time step. For type checkers, a dict of different solvers is a dict of these.

    A solver with a field `acceleration`, `chebyshev`, `line_search` or `linear` has it checked here; one without it has the value below.
    """

    iterations: int = 10
    tolerance: float = 0.0
    initialization: str | None = "inertial_target"
    check_every: int | None = None

    # Supported features of a solver: names of materials and contacts, classes and names of linear solvers, devices, those with embedded
    # surfaces, rigid bodies.
    materials = PROJECTIVE
    linear_solvers: ClassVar[tuple[type, ...]] = ()
    linear_names: ClassVar[tuple[str, ...]] = ()
    contacts: ClassVar[tuple[str, ...]] = ()
    devices: ClassVar[tuple[str, ...]] = ("cpu", "cuda")
    embedded: ClassVar[tuple[str, ...]] = ()
    rigid = False
    linear = chebyshev = acceleration = cast("Any", None)

    def __post_init__(self) -> None:
        keep(self, iterations=integer("iterations", self.iterations, 1))
        keep(self, tolerance=number("tolerance", self.tolerance, minimum=0.0))
        if self.initialization is not None or type(self).initialization is not None:
            choice("initialization", self.initialization, INITIALIZATIONS)
        if getattr(self.linear, "biased", False):
            raise ValueError("linear: the biased A-Jacobi iterates on x itself; it works in pdgpu.linear only")
        if self.check_every is not None:
            keep(self, check_every=integer("check_every", self.check_every, 1))
        if self.linear_solvers:
            keep(self, linear=as_linear_solver(self.linear))
        named = isinstance(self.linear, str) and self.linear in self.linear_names
        if self.linear_solvers and not named and not isinstance(self.linear, self.linear_solvers):
            kinds = [f"pdgpu.{kind.__name__}()" for kind in self.linear_solvers]
            names = " or ".join([*map(repr, self.linear_names), *kinds])
            raise TypeError(f"linear: {type(self).__name__} takes {names}, got {self.linear!r}")
        check_outer_acceleration(self)
        if hasattr(self, "line_search"):
            keep(self, line_search=flag("line_search", self.line_search))


def check_outer_acceleration(solver: Any) -> None:
    """Refuses what an outer acceleration cannot take, and warns of sweeps that it is not sound with."""
    check_acceleration(solver)
    chebyshev = chebyshev_of(solver)
    if chebyshev is None:
        return
    if chebyshev.rho == "lanczos":
        raise ValueError("rho: 'lanczos' looks at a matrix; the outer iteration has none: give a number or 'auto'")
    if chebyshev.interval != "symmetric":
        raise ValueError(f"interval: {chebyshev.interval!r} is for linear solvers; the outer iteration takes 'symmetric'")
    if isinstance(solver.linear, GaussSeidel | SOR):
        warnings.warn(
            f"Chebyshev acceleration over {type(solver.linear).__name__} may diverge: one-directional sweeps have complex eigenvalues; "
            "take SymmetricGaussSeidel for the global step [Wang 2015, Sec. 5.1]",
            stacklevel=4,
        )
