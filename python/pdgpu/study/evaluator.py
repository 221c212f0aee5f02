"""The measures of a step in a comparison: G, gradient norm and errors in float64, and the record of one solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.parts import core_of
from pdgpu.results.records import COLUMNS, StepRecord
from pdgpu.simulation.simulation import diagnostic_simulation
from pdgpu.simulation.snapshots import Snapshot, place
from pdgpu.simulation.time_step import take_step

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.simulation.simulation import Simulation
    from pdgpu.types import Floats

__all__ = ["CONTACT_COLUMNS", "Evaluator", "Lowest", "find_pairs_at", "integrator_of", "place_at", "run_step"]

CONTACT_COLUMNS = COLUMNS[COLUMNS.index("contact_potential") : COLUMNS.index("smallest_distance") + 1]


class Evaluator:
    """G, gradient norm and errors in float64, at positions of any precision. All positions have the rows of the model."""

    def __init__(self, scene, dt, start, threads, contact):
        self.simulation = diagnostic_simulation(scene, dt, threads, contact, integrator_of(start))
        place_at(self.simulation, start)
        self.core = core_of(self.simulation)
        self.masses, self.free = self.core.masses, self.core.fixed == 0

    def gradient_rounding(self, dtype):
        """Return the gradient norm due to rounding of positions to a dtype, N."""
        return self.core.backend.gradient_rounding() * float(np.finfo(dtype).eps / np.finfo(np.float64).eps)

    def potential_rounding(self, x):
        """Return the change of G at x by rounding, J."""
        return self.core.backend.potential_rounding(float(np.abs(self.core.energies(self.core.cast_positions(x), True)).sum()))

    def position_rounding(self, x, dtype):
        """Return an upper bound of `distance` between two positions that differ by some roundings to a dtype."""
        return 4.0 * float(np.finfo(dtype).eps * np.abs(x).max() * np.sqrt(3.0 * self.masses[self.free].sum()))

    def potential(self, x):
        return self.core.incremental_potential(self.core.cast_positions(x))

    def gradient_norm(self, x):
        # not np.linalg.norm: the threads of a threaded BLAS spin for a while, on the cores of the timed solver
        gradient = self.core.gradient(self.core.cast_positions(x))
        return float(np.sqrt(np.einsum("ij,ij->", gradient, gradient)))

    def contact_row(self, x, first):
        """Return the contact columns of a record; `first`: the first row of a record."""
        return self.core.backend.contact_row(x, first)

    def distance(self, x, y):
        """Return the mass-weighted norm of x - y over the free vertices."""
        difference = (x - y)[self.free]
        return float(np.sqrt(np.einsum("i,ij,ij->", self.masses[self.free], difference, difference)))


@dataclass
class Lowest:
    """The iterate of the lowest G among those with all prescribed points at their targets."""

    potential: float = np.inf  # J
    iteration: int = -1
    positions: Floats | None = None

    def see(self, row: dict[str, Any], x: Floats) -> None:
        if row["behind"] == 0.0 and row["incremental_potential"] < self.potential:
            self.potential, self.iteration, self.positions = row["incremental_potential"], int(row["iteration"]), x


def integrator_of(start: Any) -> str:
    """Return the time integrator of a step, by its start, an argument of `compare`."""
    return start.integrator if isinstance(start, Snapshot) else "implicit_euler"


def place_at(simulation: Simulation, start: Any) -> None:
    """Set a simulation to the start of a step, an argument of `compare`."""
    if isinstance(start, Snapshot):
        place(simulation, start)
    elif start is not None:
        simulation.set_state(positions=start[0], velocities=start[1])


def find_pairs_at(simulation: Simulation, x: Floats | None) -> None:
    """Set the pairs of a penalty to those at x; None: no penalty."""
    if x is not None:
        core = core_of(simulation)
        core.backend.find_pairs_at(core.cast_positions(x))


def _at_intervals(most, per_decade):
    """Return (most + 1,) uint8: 1 for iteration 0 and `per_decade` of each decade up to `most`, all in a decade with fewer."""
    chosen = np.zeros(most + 1, dtype=np.uint8)
    exponents = np.arange(np.ceil(per_decade * np.log10(most)) + 1) / per_decade
    chosen[0] = 1
    chosen[np.minimum(np.rint(10.0**exponents).astype(np.int64), most)] = 1
    return chosen


def run_step(
    simulation: Simulation,
    evaluator: Evaluator,
    x_star: Floats | None,
    g_star: float | None,
    guess: Floats | None,
    time: float | None,
    rows_per_decade: int | None = None,
) -> tuple[StepRecord, Floats, Lowest]:
    """Run one step; return its record, its last iterate, and the iterate of the lowest recorded G."""
    rows: list[dict[str, Any]] = []
    last: list[Floats] = []
    lowest = Lowest()

    def observe(row):
        x = row.pop("positions").astype(np.float64)
        finite = bool(np.isfinite(x).all())
        row["incremental_potential"] = evaluator.potential(x) if finite else np.inf
        row["gradient_norm"] = evaluator.gradient_norm(x) if finite else np.inf
        row |= evaluator.contact_row(x, first=not rows) if finite else dict.fromkeys(CONTACT_COLUMNS, np.inf)
        if x_star is not None:
            row["error"] = evaluator.distance(x, x_star) if finite else np.inf
        rows.append(row)
        last[:] = [x]
        lowest.see(row, x)

    core = core_of(simulation)
    chosen = None if rows_per_decade is None else _at_intervals(core.most_iterations, rows_per_decade)
    take_step(core, False, observer=observe, keep_diverged=True, guess=guess, time=time, chosen=chosen)
    columns = {name: np.array([row[name] for row in rows]) for name in COLUMNS}
    if x_star is not None:
        errors = np.array([row["error"] for row in rows])
        columns |= _relative(columns, errors, evaluator, x_star, g_star, simulation.dtype)
    step = simulation.last_step
    record = StepRecord(
        columns,
        status=step.status,
        at_rounding=step.at_rounding,
        iteration=int(columns["iteration"][-1]),
        setup_seconds=step.setup_seconds,
        solve_seconds=float(columns["seconds"][-1]),
        phases=step.phases,
        stiffness=step.stiffness,
        numbers=step.numbers,
    )
    return record, last[0], lowest


def _relative(columns, errors, evaluator, x_star, g_star, dtype):
    """Return the columns "relative_loss" and "relative_error"."""
    norms = columns["gradient_norm"]
    near = errors <= evaluator.position_rounding(x_star, dtype)
    if near[0] or norms[0] <= evaluator.gradient_rounding(np.float64):  # x_0 = x*: relative values are undefined
        there = near | (norms <= evaluator.gradient_rounding(dtype))
        return dict.fromkeys(("relative_loss", "relative_error"), np.where(there, 0.0, np.inf))
    return {"relative_loss": _ratio(columns["incremental_potential"] - g_star), "relative_error": _ratio(errors)}


def _ratio(values):
    """Return values / the first finite one of them; all 0 for a start at the solution.

    With contact G is infinite while a prescribed point is held back: no loss is relative to that.
    """
    finite = np.flatnonzero(np.isfinite(values))
    first = values[finite[0]] if len(finite) else values[0]
    if first == 0.0:
        return np.where(np.isfinite(values), values, np.inf)
    with np.errstate(invalid="ignore"):  # a diverged run may begin and end with infinity
        return values / first
