"""The core of a simulation in the middle of a run: the start of a copy, a loaded simulation, a cut or another origin."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.relative_core import moved_origin
from pdgpu.simulation.core import SimulationCore

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["HISTORY", "copied", "moved_with", "resumed", "resumption", "with_state"]


HISTORY = ("slopes", "rates")  # arrays of a state: of the integrator, None without one or before its second step


def resumption(core: SimulationCore) -> tuple[Any, ...]:
    """Return the arguments of `resumed` for a core in this state, in its order. Arrays have the rows of the model."""
    rebuilt = (core.public_scene, core.solver, core.dt, core.contact, core.device, core.dtype.name, core.threads, core.colours)
    run = (core.backend.steps(), core.start_time, core.backend.state(), core.external_forces, core.rho, core.numbers)
    return (*rebuilt, *run, core.backend.driven(), core.backend.doublings(), core.origin, core.integrator)


def resumed(
    scene: Any,
    solver: Any,
    dt: Any,
    contact: Any,
    device: Any,
    dtype: Any,
    threads: Any,
    colours: Floats | None,
    steps: int,
    start_time: float,
    state: dict[str, Floats | None],
    forces: Floats | None,
    rho: float | None = None,
    numbers: Any = None,
    driven: Floats | None = None,
    doublings: tuple[int, int] = (0, 0),
    origin: Floats | None = None,
    integrator: str = "implicit_euler",
) -> SimulationCore:
    """Return a core in the middle of a run.

    `state`, the positions `driven` of obstacles and the `doublings` of an adaptive stiffness are those of the compiled model. `colours`
    (n,) None: computed. `origin` (3,) m, None: that of the rest positions. `rho` and `numbers` are results of an earlier search, since a
    search from this state could differ. Pickles refer to these arguments by their order.
    """
    core = SimulationCore(scene, solver, dt, contact, device, dtype, threads, colours, origin=origin, integrator=integrator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the original simulation has warned about the weights
        core.prepare()
    core.set_external_forces(forces)
    others = [None if (array := state.get(name)) is None else core.cast(array) for name in ("previous_velocities", *HISTORY)]
    core.backend.set_state(core.cast_positions(state["positions"]), core.cast(state["velocities"]), *others)
    core.backend.set_steps(steps)
    core.start_time, core.memory.start_is_checked = start_time, True
    if driven is not None and len(driven):
        core.backend.set_driven(core.cast_positions(driven), None)
    core.backend.set_doublings(*doublings)
    if rho is not None:
        core.set_rho(rho)
    if numbers is not None:
        core.numbers = replace(numbers)
        core.numbers.apply(core.solver.linear, core.backend.set_linear)
    return core


def copied(core: SimulationCore, colours: Floats | None = None) -> SimulationCore:
    """Return an independent core in the same state. `colours` (n,): other colours of the vertices."""
    settings: list[Any] = list(resumption(core))
    settings[7] = core.colours if colours is None else colours
    other = resumed(*settings)
    other.memory.last_step, other.memory.setup_seconds = core.memory.last_step, core.memory.setup_seconds
    return other


def moved_with(core: SimulationCore, positions: Floats) -> SimulationCore:
    """Return the core itself while its origin is close to positions (n, 3) m, else one in the same state with another origin."""
    origin = moved_origin(np.asarray(positions, np.float64)[core.fixed == 0], core.origin)
    if (origin == core.origin).all():
        return core
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the original simulation has warned about the scene
        settings: list[Any] = list(resumption(core))
        settings[-2] = origin
        moved = resumed(*settings)
    moved.memory = replace(core.memory, aimed=(None, None), driven_before=None)
    return moved


def with_state(core: SimulationCore, positions: Floats | None, velocities: Floats | None, time: float | None = None) -> SimulationCore:
    """Return the core in another state, see `Simulation.set_state`, or one with another origin. Positions, m, and velocities, m/s, (n, 3)
    are checked; None: unchanged.
    """
    if positions is not None:
        core.oriented.check("positions", positions)
        core = moved_with(core, positions)
    arrays = [None if positions is None else core.cast_positions(positions), None if velocities is None else core.cast(velocities)]
    if time is not None:
        core.restart_at(time)
    if time is None or any(array is not None for array in arrays):
        core.backend.set_state(*arrays, None)
    core.memory.start_is_checked = positions is None and core.memory.start_is_checked
    return core
