"""Calls of prescribed motions. A motion must not call its simulation.

The compiled model rejects calls from an observer by its lock. Motions run outside it, so their check is here: `ask` calls every motion of
the package, and meanwhile the cores inside `asking` give no access to their compiled model.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from pdgpu.simulation.core import SimulationCore

__all__ = []

NAMES = {"__reduce__": "copy or pickle"}  # of calls that Python makes by another name


class _Askers(threading.local):
    """Per thread, the cores whose calls may call motions, outermost first."""

    def __init__(self):
        self.cores = []


_askers = _Askers()


@contextmanager
def asking(core: SimulationCore) -> Iterator[None]:
    """A context of a call of a simulation with this core that may call motions."""
    _askers.cores.append(core)
    try:
        yield
    finally:
        _askers.cores.pop()


def ask(motion: Callable, *arguments: Any) -> Any:
    """Return motion(*arguments); until then the calling simulations reject calls, from other threads too."""
    # a marked one already waits for an outer motion, which steps another simulation
    marked = [core for core in _askers.cores if core.called_motion is None]
    for core in marked:
        core.called_motion = motion
    try:
        return motion(*arguments)
    finally:
        for core in marked:
            core.called_motion = None


def refusal(motion: str) -> RuntimeError:
    """Return the error for a call of a simulation during a motion, by its description; it names both."""
    called = _called()
    return RuntimeError(
        f"{NAMES.get(called, called)}: the simulation is busy: it is asking {motion}, and a "
        "motion cannot call the simulation that asks it; call it before or after the step, such as in the callback of run()"
    )


def _called():
    """Return the name of the package's function that its caller called last; `copy` calls back into the package, and counts as part."""
    frame, name = sys._getframe(2), ""
    while frame is not None and frame.f_code is not ask.__code__:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in ("pdgpu", "copy"):
            break
        if package == "pdgpu" and frame.f_code.co_name != "__setattr__":
            name = frame.f_code.co_name
        frame = frame.f_back
    return name
