"""A step between two of its iterations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdgpu.arguments import integer

__all__ = ["Snapshot", "snapshot_of"]


class Snapshot(NamedTuple):
    """A step after some iterations: its objective and where its iterate is; made by `Simulation.snapshot`.

    Attributes
    ----------
    positions, velocities : ndarray, shape (n, 3)
        Of the state that the step begins with, m and m/s.
    iterate : ndarray, shape (n, 3)
        m.
    iteration : int
    time : float
        Where the step begins, s.
    dt : float or None
        s
    """

    positions: np.ndarray
    velocities: np.ndarray
    iterate: np.ndarray
    iteration: int
    time: float
    dt: float | None


class _Taken(Exception):
    """Ends a step, which leaves the state as it was."""


def snapshot_of(simulation, iterations):
    """What `Simulation.snapshot` says."""
    iterations = integer("iterations", iterations, 0)
    if simulation.contact is not None:
        raise ValueError("contact: it wants a path from the state to every iterate, and a Snapshot has none")
    if simulation.external_forces is not None:
        raise ValueError("external_forces: compare does not know them, so the step would be another one; take them away, or use gravity")
    core, last_step, found = simulation._backend, simulation.last_step, {}
    state, steps = core.state(), core.steps()
    positions, velocities, time = simulation.positions, simulation.velocities, simulation.time

    def observe(row):
        if row["iteration"] == iterations:
            found["iterate"] = row["positions"].copy()
            raise _Taken

    try:
        simulation._step(False, observer=observe)
    except _Taken:
        return Snapshot(positions, velocities, found["iterate"], iterations, time, simulation.dt)
    ended = simulation.last_step
    core.set_state(**state)
    core.set_steps(steps)
    simulation._keep(last_step=last_step)
    raise ValueError(f"iterations: the step ends ({ended.status}) after {ended.iteration}, so there is none after {iterations}")
