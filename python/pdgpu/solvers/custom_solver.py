"""A solver whose iteration is a function in Python: the base class of a researcher's own method."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field, fields
from typing import TYPE_CHECKING, dataclass_transform

from pdgpu._internal.arguments import integer
from pdgpu.contact.barrier_contact import LAWS
from pdgpu.linear.linear_solvers import keep
from pdgpu.solvers.time_step_solver import CUSTOM, HYPERELASTIC, ORIENTED, PENALTY, PROJECTIVE, TimeStepSolver

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.simulation.solver_step import SolverStep

__all__ = ["CustomSolver"]


def _set_attribute(self, name, value):
    """Settings stay as they were given; everything else is the method's memory."""
    if any(each.name == name for each in fields(self)):
        raise FrozenInstanceError(f"{name}: a setting of {type(self).__name__} cannot be changed; keep numbers of a run under another name")
    object.__setattr__(self, name, value)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
@dataclass(frozen=True, kw_only=True)
class CustomSolver(TimeStepSolver):
    """Base class of a solver of your own: its iteration is a method in Python.

    It runs in the same frame as the solvers of pdgpu: first guess, step limiter, stopping rules, records and the clock. `Simulation`,
    `compare`, `sweep` and `Simulation.run` take it. A subclass defines `iterate`, and may define `begin`:

    >>> class SteepestDescent(pdgpu.CustomSolver):
    ...     scale: float = 1.0
    ...
    ...     def iterate(self, step):
    ...         d = -self.scale * step.gradient() / step.diagonal()
    ...         step.move(d, step.line_search(d))

    Annotated names of the class body become settings, as in a dataclass: `SteepestDescent(iterations=50, scale=0.5)`. The class takes
    no decorator. Every other attribute is memory: a simulation runs a copy of the solver, so that `self.history = []` in `begin`
    belongs to one simulation. What `begin` does not make again in each step is no part of a saved simulation or of a pickle.

    An exception in a method ends the step and leaves the state at its start. A note of the exception has the solver, the method and the
    iteration. What a method computes is inside the clock of the solver. What is made once, such as the factor of `global_solve`, counts
    as `setup_seconds`. Iterations run on the CPU in Python, and on CUDA each question is a copy between the host and the device; they
    are never captured into graphs.

    It takes every material, `BarrierContact` and `PenaltyContact` with friction, damping, slides and embedded surfaces. Rigid bodies and
    the other contacts are refused.

    Parameters
    ----------
    iterations : int
        Calls of `iterate` in a step.
    tolerance, initialization, check_every
        As for ProjectiveDynamics.
    seed : int
        Of `SolverStep.rng`.
    name : str, optional
        What messages call it; by default the name of the class.
    """

    seed: int = 0
    name: str | None = None

    materials = PROJECTIVE + HYPERELASTIC + ORIENTED + CUSTOM
    contacts = (*LAWS, PENALTY)
    embedded = ("cpu", "cuda")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(frozen=True, kw_only=True)(cls)
        setattr(cls, "__setattr__", _set_attribute)  # noqa: B010  (that of a frozen dataclass refuses the memory of a method too)

    def __post_init__(self) -> None:
        super().__post_init__()
        keep(self, seed=integer("seed", self.seed, 0))
        if self.name is not None and not isinstance(self.name, str):
            raise TypeError(f"name: expected a string, got {self.name!r}")
        if type(self).iterate is CustomSolver.iterate:
            raise TypeError(f"iterate: {type(self).__name__} has none; define iterate(self, step) in a subclass of pdgpu.CustomSolver")

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.name or type(self).__name__

    def begin(self, step: SolverStep) -> None:
        """Called once a step, after the first guess. With `friction_lags` above 1 each lag calls it, since G is another then."""

    def iterate(self, step: SolverStep) -> None:
        """Called once an iteration. It moves the iterate by `step.move`, any number of times."""
        raise NotImplementedError
