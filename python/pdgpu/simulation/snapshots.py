"""A step between two of its iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdgpu._internal.arguments import integer
from pdgpu._internal.attributes import keep_attributes
from pdgpu._internal.made import made_by
from pdgpu._internal.parts import core_of
from pdgpu.contact.barrier_contact import BarrierContact
from pdgpu.simulation.resume import HISTORY, copied, with_state
from pdgpu.simulation.time_step import take_step

if TYPE_CHECKING:
    from pdgpu.types import Contact

__all__ = ["Snapshot", "check_same_step", "in_rows_of", "place", "snapshot_of"]


@made_by("Simulation.snapshot")
class Snapshot(NamedTuple):
    """A step after some iterations: its objective and its iterate; made by `Simulation.snapshot`.

    Attributes
    ----------
    positions, velocities : ndarray, shape (n, 3)
        Of the state at the start of the step, m and m/s.
    iterate : ndarray, shape (n, 3)
        m.
    iteration : int
    time : float
        The time at the start of the step, s.
    dt : float or None
        s
    external_forces : ndarray, shape (n, 3), or None
        N
    contact : BarrierContact or None
        The contact of the iterations.
    driven : ndarray, shape (m, 3), or None
        The positions of prescribed points of obstacles at the start of the step, m.
    stiffness_doublings : int
        The number of doublings of ``stiffness="auto"`` before the step.
    end_time : float or None
        The given time of a quasistatic step (dt=None), s; else None.
    hidden : ndarray, shape (3, h, 3), or None
        The further rows of the model in a scene with rigid bodies, of positions, velocities and iterate.
    integrator : str
        The time integrator of the step.
    slopes, rates : ndarray, shape (n, 3), or None
        The history of the integrator, m/s and m/s^2 (csrc/dynamics/integrator/integrator.h); None: the step is a first one.
    """

    positions: np.ndarray
    velocities: np.ndarray
    iterate: np.ndarray
    iteration: int
    time: float
    dt: float | None
    external_forces: np.ndarray | None = None
    contact: Contact | None = None
    driven: np.ndarray | None = None
    stiffness_doublings: int = 0
    end_time: float | None = None
    hidden: np.ndarray | None = None
    integrator: str = "implicit_euler"
    slopes: np.ndarray | None = None
    rates: np.ndarray | None = None


class _Taken(Exception):
    """Ends a step, and restores the state."""


def snapshot_of(core, iterations, time):
    """Return the result of `Simulation.snapshot`."""
    iterations, contact = integer("iterations", iterations, 0), core.contact
    if contact is not None and not isinstance(contact, BarrierContact):
        raise ValueError(
            f"contact: {type(contact).__name__} has pairs that depend on the solver, so that no other could continue; take BarrierContact"
        )
    if contact is not None and contact.friction_lags > 1:
        raise ValueError(f"contact: friction_lags must be 1, so that there is one objective in the step, got {contact.friction_lags}")
    found = {}

    def observe(row):
        if row["iteration"] == iterations:
            found.update(iterate=row["positions"].copy(), behind=row["behind"])
            raise _Taken

    # a step with contact changes its own memory, of contacts and slips: that of the simulation must stay unchanged
    stepped = core if contact is None else copied(core)
    model, last_step = stepped.backend, stepped.memory.last_step
    state, steps, start_time = model.state(), model.steps(), stepped.start_time
    driven = None if contact is None else model.driven()
    doublings = model.doublings()[1]
    begun, start = (core.backend.positions(), core.backend.velocities()), core.time
    try:
        take_step(stepped, False, observer=observe, time=time)
    except _Taken:
        if found["behind"] > 0.0:
            raise ValueError(
                f"iterations: pins or obstacles have a target lag of {found['behind']:g} m after {iterations}, held back by "
                "contact, so that G differs between solvers; take more iterations, or a shorter step"
            ) from None
        states, rows = (*begun, found["iterate"]), core.rows
        forces = None if core.external_forces is None else rows.of(core.external_forces).copy()
        return Snapshot(
            *map(rows.of, states),
            iteration=iterations,
            time=start,
            dt=core.dt,
            external_forces=forces,
            contact=contact,
            driven=driven,
            stiffness_doublings=doublings,
            end_time=time,
            integrator=core.integrator,
            **{name: state[name] for name in HISTORY},
            hidden=None if rows.rows is None else np.stack([rows.hidden_of(each).astype(np.float64) for each in states]),
        )
    ended = stepped.memory.last_step
    model.set_state(**state)
    model.set_steps(steps)
    stepped.start_time, stepped.memory.last_step = start_time, last_step
    raise ValueError(f"iterations: the step ends ({ended.status}) after {ended.iteration}, so there is none after {iterations}")


def check_same_step(snapshot, dt, time, contact, dtype):
    """Raise ValueError if solvers could not continue from a Snapshot with the `dt`, `time`, `contact` and `dtype` of a comparison."""
    if dt != snapshot.dt:
        raise ValueError(f"start: the Snapshot is one of a step of {snapshot.dt} s, and dt is {dt}")
    if time is not None and time != snapshot.end_time:
        raise ValueError(f"time: the Snapshot is one of a step with time={snapshot.end_time}, got {time!r}; leave it out")
    if contact != snapshot.contact:
        raise ValueError(f"start: the Snapshot is one of a step with contact {snapshot.contact!r}, and contact is {contact!r}")
    if contact is not None and not np.array_equal(snapshot.iterate.astype(dtype), snapshot.iterate):
        raise ValueError(f"start: the Snapshot is of {snapshot.iterate.dtype.name}, and rounding to {np.dtype(dtype).name} may close a gap")


def in_rows_of(core, snapshot):
    """Return positions, velocities and iterate of a Snapshot as rows of a model. Snapshots of earlier versions have all rows."""
    states, n = (snapshot.positions, snapshot.velocities, snapshot.iterate), len(snapshot.positions)
    if snapshot.hidden is None and n == core.rows.n_model:
        return states
    if snapshot.hidden is None or n != core.rows.n:
        raise ValueError(f"start: the Snapshot is of {n} vertices, and the scene has {core.rows.n}")
    return tuple(core.rows.joined(state, hidden) for state, hidden in zip(states, snapshot.hidden, strict=True))


def place(simulation, snapshot):
    """Set a simulation to the start of the step of a Snapshot."""
    positions, velocities, _ = in_rows_of(core_of(simulation), snapshot)
    core = with_state(core_of(simulation), positions, velocities)
    if snapshot.rates is not None:
        history = [None if array is None else core.cast(array) for array in (snapshot.slopes, snapshot.rates)]
        core.backend.set_state(None, None, None, *history)
    keep_attributes(simulation, _core=core)
    forces = snapshot.external_forces
    core.set_external_forces(forces if forces is None or len(forces) == core.rows.n_model else core.rows.spread(forces))
    core.start_time = snapshot.time
    if snapshot.driven is not None and len(snapshot.driven):
        core.backend.set_driven(core.cast_positions(snapshot.driven), None)
    core.backend.set_doublings(snapshot.stiffness_doublings, snapshot.stiffness_doublings)
