"""One step of a simulation: the start, the motions, the compiled step, its record, and the warnings after it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.motion_calls import asking
from pdgpu.contact.contact_start import check_contact_start, rounding_of_contact
from pdgpu.contact.penalty_contact import PenaltyContact, warn_of_fast_obstacles
from pdgpu.contact.proxy_contact import ProxyContact
from pdgpu.contact.two_way_contact import contact_update, warn_of_energy
from pdgpu.errors import DivergenceError
from pdgpu.results.records import COLUMNS, StepRecord
from pdgpu.simulation.automatic_rho import search_rho
from pdgpu.simulation.contact_balance import unbalanced_start
from pdgpu.simulation.rigid_warnings import warn_of_rigid_step
from pdgpu.simulation.solver_step import functions_of
from pdgpu.simulation.target_lag import LATE_STEPS
from pdgpu.simulation.targets import aim, lagging, pin_targets
from pdgpu.solvers.custom_solver import CustomSolver
from pdgpu.solvers.solver_support import method_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from numpy.typing import ArrayLike, NDArray

    from pdgpu.simulation.core import SimulationCore

__all__ = ["check_start", "take_step"]


def check_start(core: SimulationCore, stacklevel: int) -> list[str]:
    """Check, with contact, for intersections and distances below the separation, once for every new state.

    Not after a cut, where copies of a vertex meet. Returns the text of a warning.
    """
    soft = isinstance(core.contact, PenaltyContact | ProxyContact)  # these contacts accept any start
    if core.contact is None or soft or core.memory.start_is_checked or any(body.parents is not None for body in core.scene.bodies):
        return []
    positions = core.backend.positions()
    if text := rounding_of_contact(core, positions):
        raise ValueError(text)
    contact: Any = core.contact
    faults = check_contact_start(core.public_scene, core.rows.of(positions), core.time, contact.separation, threads=core.threads)
    core.memory.start_is_checked = True
    touching: Any = core.touching
    if core.has_law and touching.coefficients.any() and (text := unbalanced_start(core)):
        warnings.warn(text, RuntimeWarning, stacklevel=stacklevel + 1)
    return faults


class _Rows:
    """The buffers of the iterations of a step, and their record."""

    def __init__(self, core, record):
        self._core, most = core, core.most_iterations
        self.rows = np.zeros((most + 1, len(COLUMNS))) if record else None
        self.iterates = np.empty((most + 1, *core.rest.shape), dtype=core.dtype) if record == "positions" else None

    def recorded(self, count, **state):
        """Return the record of a step with this number of rows."""
        core, kept = self._core, None
        columns = {} if self.rows is None else dict(zip(COLUMNS, self.rows[:count].T.copy(), strict=True))
        if self.iterates is not None:
            kept = self.iterates[:count] + core.origin if core.origin.any() else self.iterates[:count].copy()
            kept = core.rows.of(kept, axis=1)
        return StepRecord(columns, setup_seconds=core.memory.setup_seconds, positions=kept, numbers=core.said, **state)

    def diverged(self, error):
        """Add the solver and the record of a step that diverged to its error."""
        self._core.rows.restate(error)
        error.solver = solver = self._core.solver
        if isinstance(solver, CustomSolver):
            error.args = (str(error).replace(method_of(solver), solver.label, 1),)
        count = getattr(error, "rows", 0)
        seconds = 0.0 if self.rows is None else float(self.rows[max(count - 1, 0), COLUMNS.index("seconds")])
        error.records = self.recorded(count, status="diverged", iteration=error.iteration, solve_seconds=seconds)


def take_step(
    core: SimulationCore,
    record: bool | Literal["positions"],
    observer: Callable[[dict[str, Any]], None] | None = None,
    keep_diverged: bool = False,
    guess: ArrayLike | None = None,
    time: float | None = None,
    chosen: NDArray[np.uint8] | None = None,
) -> None:
    """Take one step. Its warnings refer to the caller of the caller.

    Parameters
    ----------
    record
        As of `Simulation.step`.
    observer : callable, optional
        Called with the row and the positions of every iteration.
    keep_diverged : bool
        End a step that diverges with that status instead of an error.
    guess : array_like, shape (n, 3), optional
        The start of the iterations, m, in the rows of the model. Pinned vertices begin at their targets.
    time : float, optional
        Of a quasistatic step, s; by default the present one.
    chosen : ndarray of uint8, shape (iterations + 1,), optional
        Nonzero for the iterations with a call of the observer. The last iteration of the step is added; by default all.
    """
    memory = core.memory
    with asking(core):
        check_start(core, stacklevel=3)
        end = core.end(time)
        search_rho(core, time)
        rows = _Rows(core, record)
        targets = pin_targets(core, end)  # the motions before the data that they change
        aim(core, end=end)
        memory.aimed = targets, memory.aimed[1]
        warn_of_fast_obstacles(core, memory.driven_before, memory.aimed[1], stacklevel=3)
        memory.driven_before = memory.aimed[1]
        core.turn_forces()
        try:
            guess = None if guess is None else _checked_guess(core, guess, targets, end)
            result = core.backend.step(targets, rows.rows, rows.iterates, observer, keep_diverged, guess, chosen, functions_of(core))
        except DivergenceError as error:
            rows.diverged(error)
            raise
        except ValueError:  # also where positions were written in place: the core names a tet of all bodies
            core.oriented.check("positions", core.backend.positions())
            raise
        if core.dt is None:
            core.start_time = end
        memory.setup_seconds += result.pop("setup_seconds")
        result["update"] = contact_update(result["update"])
        rigid = result.pop("rigid")
        if core.has_law:
            result["stiffness"] = core.stiffness(core.backend.doublings()[0])
        counted = result["status"] != "diverged" and core.inverted.due(core.backend.steps(), record)
        inverted = core.inverted.at(core.backend.positions()) if counted else None
        result["inverted_tets"] = None if inverted is None else len(inverted)
        memory.last_step = rows.recorded(result.pop("rows"), **result)
        _warn_after(core, inverted, stacklevel=4)
        if core.rigid is not None:
            warn_of_rigid_step(core, rigid, stacklevel=3)


def _checked_guess(core, guess, targets, end):
    """Return the first guess (n, 3) m with pinned vertices at their targets; ValueError for an intersection."""
    pinned, guess = core.fixed.astype(bool), core.cast_positions(guess).copy()
    guess[pinned] = (core.backend.positions() if targets is None else core.cast_positions(targets))[pinned]
    if core.touching is not None and not isinstance(core.contact, PenaltyContact):  # which accepts any positions
        check_contact_start(core.public_scene, core.rows.of(guess), end, core.contact.separation, threads=core.threads)
    return guess


def _warn_after(core, inverted, stacklevel):
    """Give the warnings after a step; `inverted`: the inverted tets, None: not counted."""
    memory, last = core.memory, core.memory.last_step
    if last.update is not None and not memory.energy_is_said:
        memory.energy_is_said = warn_of_energy(core, last.update, stacklevel=stacklevel)
    if last.status == "stalled" and core.has_law and not memory.rounding_is_said and core.dtype != np.float64:
        memory.rounding_is_said = True
        _warn_of_stall(core, stacklevel + 1)
    if last.inverted_tets and not memory.inverted_is_said:
        memory.inverted_is_said = True
        warnings.warn(
            f"tets: {core.inverted.described(inverted)}, at {core.time:g} s; take a stiffer material, smaller loads, a shorter "
            "dt or a finer mesh; StepRecord.inverted_tets counts them, and certify(inside=True) finds inner vertices in obstacles",
            RuntimeWarning,
            stacklevel=stacklevel,
        )
    if memory.lag.follow(last.behind):
        warnings.warn(
            f"{'motion' if core.touching is None else 'contact'}: a target lag for {LATE_STEPS} steps: {lagging(core)}, held back by "
            f"{'tets that must not invert' if core.touching is None else 'what it pushes'}; take a shorter dt, more iterations, "
            f"{'' if core.touching is None else 'a larger contact distance '}or a slower motion; run(max_behind=...) ends at a lag",
            RuntimeWarning,
            stacklevel=stacklevel,
        )
    if (refusal := core.backend.refusal()) and not memory.refusal_is_said:
        memory.refusal_is_said = True
        warnings.warn(
            f"a CUDA graph could not be captured; iterations run as single launches, which is slower ({refusal})", stacklevel=stacklevel
        )


def _warn_of_stall(core, stacklevel):
    """Warn of a step in contact that ended before convergence, because rounding hides every remaining move."""
    farthest = float(np.abs(core.backend.positions() - core.origin).max())
    warnings.warn(
        f"contact: a step stalled in {core.dtype.name}, with vertices up to {farthest:g} m from the origin of the scene: a gap is "
        "near the rounding of a coordinate and stops every move, or the decrease of the potential is; take a larger distance or "
        "stiffness, or dtype='float64'",
        RuntimeWarning,
        stacklevel=stacklevel,
    )
