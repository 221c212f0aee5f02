"""The exceptions of pdgpu, one set for all backends. All other exceptions are built-in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pdgpu.results.histories import History

__all__ = ["DivergenceError"]


class DivergenceError(RuntimeError):
    """A step diverged; the state of the simulation is that before the step.

    Attributes
    ----------
    solver : object
        The solver's description, or None.
    iteration : int
        The outer iteration at which it was detected, from 1; 0: the first guess.
    vertex : int
        The vertex with the first non-finite coordinate, or with the largest gradient.
    records : StepRecord or None
        The record up to then.
    history : History or None
        The record of the earlier steps by `Simulation.run`.
    """

    solver = None
    iteration = 0
    vertex = 0
    records = None
    history: History | None = None
