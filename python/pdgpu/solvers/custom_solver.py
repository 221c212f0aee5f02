"""A solver whose iteration is a function in Python: the base class for your own method."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field, fields
from typing import TYPE_CHECKING, dataclass_transform

from pdgpu._internal.arguments import integer
from pdgpu.contact.barrier_contact import POTENTIALS
from pdgpu.linear.linear_solvers import keep
from pdgpu.solvers.time_step_solver import CUSTOM, HYPERELASTIC, ORIENTED, PENALTY, PROJECTIVE, TimeStepSolver

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.simulation.solver_step import SolverStep

__all__ = ["CustomSolver"]


def _set_attribute(self, name, value):
    """Set an attribute: settings are read-only, all other attributes are memory of the method."""
    if any(each.name == name for each in fields(self)):
        raise FrozenInstanceError(f"{name}: a setting of {type(self).__name__} cannot be changed; keep numbers of a run under another name")
    object.__setattr__(self, name, value)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
@dataclass(frozen=True, kw_only=True)
class CustomSolver(TimeStepSolver):
    """Base class of a solver of your own: its iteration is a method in Python.

    It runs in the same frame as the solvers of pdgpu: first guess, step limiter, stopping rules, records and timing. `Simulation`,
    `compare`, `sweep` and `Simulation.run` accept it. A subclass defines `iterate`, and may define `begin`:

    >>> class SteepestDescent(pdgpu.CustomSolver):
    ...     scale: float = 1.0
    ...
    ...     def iterate(self, step):
    ...         d = -self.scale * step.gradient() / step.diagonal()
    ...         step.move(d, step.line_search(d))

    Annotated names of the class body become settings, as in a dataclass: `SteepestDescent(iterations=50, scale=0.5)`. The class needs no
    decorator. Every other attribute is memory: a simulation runs a copy of the solver, so that `self.history = []` in `begin` belongs to
    one simulation. Attributes that `begin` does not reset in each step are not part of a saved simulation or of a pickle.

    An exception in a method ends the step and restores the state at its start. A note of the exception has the solver, the method and the
    iteration. The time of the method counts as time of the solver. Data that are created once, such as the factor of `global_solve`, count
    as `setup_seconds`. Iterations run on the CPU in Python. On CUDA each query is a copy between the host and the device, and no iteration
    is captured into a graph.

    It supports every material, `BarrierContact` and `PenaltyContact` with friction, damping, slides and embedded surfaces. Rigid bodies and
    the other contacts are rejected.

    Parameters
    ----------
    iterations : int
        Calls of `iterate` in a step.
    tolerance, initialization, check_every
        As for ProjectiveDynamics.
    seed : int
        Of `SolverStep.rng`.
    name : str, optional
        The name in messages; by default the name of the class.

    Raises
    ------
    TypeError
        A class without `iterate`, or a setting of another type.
    ValueError
        A setting out of its range.
    """

    seed: int = 0
    name: str | None = None

    materials = PROJECTIVE + HYPERELASTIC + ORIENTED + CUSTOM
    contacts = (*POTENTIALS, PENALTY)
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
        """The name of the solver in messages."""
        return self.name or type(self).__name__

    def begin(self, step: SolverStep) -> None:
        """Called once per step, after the first guess. With `friction_lags` above 1, called once per lag, since each lag changes G."""

    def iterate(self, step: SolverStep) -> None:
        """Called once per iteration. It moves the iterate by `step.move`, any number of times."""
        raise NotImplementedError
