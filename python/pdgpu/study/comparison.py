"""Comparing solvers: one step from one state, every number by one function."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import choice, integer, real_array
from pdgpu._internal.backends import backend, device_or_default, dtype_or_default
from pdgpu._internal.parts import core_of
from pdgpu.contact.penalty_contact import PenaltyContact
from pdgpu.contact.two_way_contact import TwoWayContact
from pdgpu.materials.materials import MATERIAL_OF_KIND
from pdgpu.results.rates import Rates
from pdgpu.results.records import COLUMNS as STEP_COLUMNS
from pdgpu.results.records import StepRecord
from pdgpu.results.tables import data_frame, joined, record_table, text_table, write_csv
from pdgpu.simulation.simulation import Simulation, diagnostic_simulation
from pdgpu.simulation.snapshots import Snapshot, check_same_step
from pdgpu.simulation.stepping import times_of_steps
from pdgpu.simulation.time_step import take_step
from pdgpu.solvers.solver_support import check_contact, check_slides, check_support
from pdgpu.solvers.solvers import SOLVERS
from pdgpu.solvers.time_step_solver import INITIALIZATIONS
from pdgpu.study.reference import find_pairs_at, newton_reference, penalised, put_at

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.scene.scene import Scene
    from pdgpu.solvers.time_step_solver import TimeStepSolver
    from pdgpu.types import Contact, Device, Path, Precision

__all__ = ["Comparison", "compare"]

# of a table: those of a step, with the errors before the timings
COLUMNS = (*STEP_COLUMNS[:5], "relative_loss", "relative_error", *STEP_COLUMNS[5:])

CONTACT_COLUMNS = STEP_COLUMNS[STEP_COLUMNS.index("contact_potential") : STEP_COLUMNS.index("searches") + 1]


class _Evaluator:
    """G, gradient norm and errors in float64, at positions of any precision."""

    def __init__(self, scene, dt, start, threads, contact):
        self.simulation = diagnostic_simulation(scene, dt, threads, contact)
        put_at(self.simulation, start)
        self.core = core_of(self.simulation)
        self.masses, self.free = self.core.masses, self.core.fixed == 0

    def gradient_rounding(self, dtype):
        """The gradient norm that rounding positions to a dtype leaves, N."""
        return self.core.backend.gradient_rounding() * float(np.finfo(dtype).eps / np.finfo(np.float64).eps)

    def position_rounding(self, x, dtype):
        """A bound of `distance` between two positions that are equal but for a few roundings to a dtype."""
        return 4.0 * float(np.finfo(dtype).eps * np.abs(x).max() * np.sqrt(3.0 * self.masses[self.free].sum()))

    def potential(self, x):
        return self.simulation.incremental_potential(x)

    def gradient_norm(self, x):
        # not np.linalg.norm: a threaded BLAS keeps its threads spinning for a while, on the cores the solver is timed on
        gradient = self.core.gradient(self.core.cast_positions(x))
        return float(np.sqrt(np.einsum("ij,ij->", gradient, gradient)))

    def contact_row(self, x, first):
        """The columns of a record that contact alone fills; `first`: of a record."""
        return self.core.backend.contact_row(x, first)

    def distance(self, x, y):
        """Mass-weighted norm of x - y over the free vertices."""
        difference = (x - y)[self.free]
        return float(np.sqrt(np.einsum("i,ij,ij->", self.masses[self.free], difference, difference)))


class Comparison:
    """Records of several solvers on the same step; made by `compare`.

    Attributes
    ----------
    records : dict
        Name -> StepRecord with the columns of a step and, where there is a reference, relative_loss and relative_error. A run that starts
        at x* to rounding has 0 there, and inf in rows that left it. Rows in which something driven has yet to push its way, and G at
        its target is infinite, have an infinite loss; the others are relative to the first of them.
    reference : ndarray or None
        x*, (n, 3) float64 m; can be given to another `compare` of the same step.
    reference_potential : float or None
        G(x*), J.
    start_positions : ndarray
    positions : dict
        Name -> last iterate, (n, 3) float64.
    """

    def __init__(self, records, positions, reference, reference_potential, start_positions):
        self.records, self.positions = records, positions
        self.reference, self.reference_potential = reference, reference_potential
        self.start_positions = start_positions

    def __getitem__(self, name):
        return self.records[name]

    def __iter__(self):
        return iter(self.records)

    def __len__(self):
        return len(self.records)

    def table(self) -> str:
        """The last recorded row of every solver, as text; "at rounding" says which of those that converged have no decrease left."""
        measured = ("ms/iteration", "setup ms", "relative loss", "relative error", "gradient norm")
        head = ("solver", "status", "at rounding", "iterations", *measured)
        rows = []
        for name, record in self.records.items():
            iterations = record.iteration
            last = {column: values[-1] for column, values in record.items()}
            rows.append(
                (
                    name,
                    record.status,
                    "yes" if record.at_rounding else "-",
                    str(iterations),
                    f"{1e3 * record.solve_seconds / max(iterations, 1):.3f}",
                    f"{1e3 * record.setup_seconds:.1f}",
                    f"{last['relative_loss']:.3e}" if "relative_loss" in last else "-",
                    f"{last['relative_error']:.3e}" if "relative_error" in last else "-",
                    f"{last['gradient_norm']:.3e}",
                )
            )
        return text_table(head, rows, left=3)

    def __repr__(self):
        return f"<Comparison of {len(self)}>\n{self.table()}"

    def _rows(self, further):
        return joined(record_table(record, COLUMNS, {**further, "solver": name}) for name, record in self.records.items())

    def to_dataframe(self, **further: Any) -> Any:
        """A pandas DataFrame, a row for every recorded iteration of every solver.

        Columns are those of `further` (name=value, the same in all rows: what a study varies), "solver" (the name it was compared under),
        what the step was one of (`StepRecord.numbers`), "status", "at_rounding", "setup_seconds", and those of a step. Without a
        reference "relative_loss" and "relative_error" are NaN.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        return data_frame(self._rows(further))

    def to_csv(self, path: Path, **further: Any) -> None:
        """Write the columns of `to_dataframe` to a file, in place whole; a cell without a value is empty."""
        write_csv(path, self._rows(further))

    def rates(self, column: str = "gradient_norm", *, confidence: float = 0.95) -> Rates:
        """Name -> how fast that solver converged in its linear phase, a dict of `Rate` that shows as a table; see `StepRecord.rate`."""
        return Rates({name: record.rate(column, confidence=confidence) for name, record in self.records.items()})

    def plot(self, x: str = "iterations", y: str = "relative_loss", *, axes: Any = None) -> Any:
        """Plot a column of every solver against iterations or seconds, logarithmic. Returns matplotlib axes."""
        from pdgpu.viz.plotting import plot_comparison

        return plot_comparison(self, x, y, axes)

    def plot_contact(self, *, x: str = "iterations") -> Any:
        """How contact converged with every solver: see `pdgpu.viz.contact_plotting.plot_contact`. Returns a matplotlib figure."""
        from pdgpu.viz.contact_plotting import plot_contact

        return plot_contact(self, x=x)


def compare(
    scene: Scene,
    solvers: Mapping[str, TimeStepSolver],
    *,
    dt: float | None = 1 / 30,
    time: float | None = None,
    start: tuple[ArrayLike | None, ArrayLike | None] | Snapshot | None = None,
    reference: ArrayLike | str = "newton",
    contact: Contact | None = None,
    initialization: str = "previous",
    device: Device | None = None,
    dtype: Precision | None = None,
    threads: int = 0,
    rows_per_decade: int | None = None,
    progress: bool = False,
) -> Comparison:
    """Solve one step from the same state with several solvers.

    Every recorded number is evaluated in float64 on the CPU, at the solver's positions, whatever dtype and device it runs with.
    A solver that diverges does not raise: its record ends there, with the status "diverged". What a solver refuses is found out before
    the first of them runs; one that fails later is left out with a RuntimeWarning, unless no other is left.

    Parameters
    ----------
    scene : Scene
    solvers : dict
        Name -> solver.
    dt : float or None
        s; None: quasistatic.
    time : float, optional
        For dt=None only, s: the time of the step, as `Simulation.step` takes it. A scene with motions needs it. A Snapshot has its own.
    start : (positions, velocities) or Snapshot, optional
        (n, 3) m and m/s, either may be None; by default the rest state. From a `Simulation.snapshot` every solver goes on
        at its iterate, to the bit, instead of a first guess; `initialization` is not used then. dt and contact must be those of the
        simulation it was taken from, whose external forces act.
    reference : "newton", array_like of shape (n, 3), or None
        The converged answer x*: from Newton in float64, down to |g| <= 1e-10 |g0| or to what rounding leaves (`StepRecord.at_rounding`), as
        given, or none (no relative columns). Where Newton does not get there, a RuntimeWarning says how far it came, and the comparison
        goes on without a reference.
    contact : BarrierContact or PenaltyContact, optional
        What keeps bodies apart, for all solvers: a part of the objective that they are measured on. Friction is lagged once: with
        further lags every solver would end with an objective of its own. With a penalty, whose pairs every solver would find on its own
        way, all have those of one detection: at the answer of Newton, which finds them as `contact` says, or at the reference, where that
        is an array. So what is compared is how fast solvers minimise, not how they detect. It needs a reference.
    initialization : str
        First guess of every solver. With `contact` each goes as far towards it as its own step limiter allows, and none falls back to x_t.
    device, dtype, threads
        As for Simulation.
    rows_per_decade : int, optional
        Record so many iterations of each decade, at logarithmic intervals, and the first guess and the last iteration; by default every
        iteration. Recording takes longer than many an iteration. Fewer rows make a long comparison shorter, and change no iterate.
    progress : bool
        Show which solver is running.

    Returns
    -------
    Comparison
    """
    device, dtype = device_or_default(device), dtype_or_default(dtype)
    if not isinstance(solvers, Mapping) or not solvers:
        raise TypeError(f"solvers: expected a dict of name -> solver, got {solvers!r}")
    for name, solver in solvers.items():  # before the reference, which takes its time
        if not isinstance(name, str):
            raise TypeError(f"solvers: expected names as keys, got {name!r}")
        if not isinstance(solver, SOLVERS):
            raise TypeError(f"solvers: expected a solver such as pdgpu.ProjectiveDynamics() for {name!r}, got {solver!r}")
    choice("initialization", initialization, INITIALIZATIONS)
    if rows_per_decade is not None:
        rows_per_decade = integer("rows_per_decade", rows_per_decade, 1)
    guess = None
    if isinstance(start, Snapshot):
        guess = start.iterate
        check_same_step(start, dt, time, contact, dtype)
        time = start.end_time
    elif start is not None and (not isinstance(start, tuple | list) or len(start) != 2):
        raise ValueError(f"start: expected (positions, velocities) or a Snapshot, got {type(start).__name__}")
    if isinstance(contact, TwoWayContact):
        raise TypeError("contact: TwoWayContact answers after the solvers, so that there is no objective common to all")
    soft = isinstance(contact, PenaltyContact)
    if soft and contact.variant == "paper":
        raise ValueError('contact: variant="paper" has friction without a potential, so that there is no objective common to all')
    if soft and reference is None:
        raise ValueError("reference: a penalty needs one, where its pairs are found, got None")
    if getattr(contact, "friction_lags", 1) > 1:
        raise ValueError(
            "contact: friction_lags must be 1, so that there is one objective for all: a second pass takes friction from where a solver "
            f"ended the first, got {contact.friction_lags}"
        )
    evaluator = _Evaluator(scene, dt, start, threads, contact)
    (time,) = times_of_steps(scene, dt, 1, time)
    if time is not None:
        evaluator.core.start_time = time
    backend(device, dtype)
    for solver in solvers.values():
        check_support(solver, device, {MATERIAL_OF_KIND[kind] for kind in scene.element_groups()})
        check_slides(solver, scene.subspace(), contact)
        check_contact(solver, contact)
    n = len(evaluator.masses)
    bar = _bar(progress, len(solvers) + (reference is not None))

    x_star = found_at = None
    if isinstance(reference, str):
        choice("reference", reference, ("newton",))
        bar("reference: Newton")
        if soft:
            found_at = penalised(scene, dt, start, initialization, threads, contact, time)
            find_pairs_at(evaluator.simulation, found_at)
        x_star = newton_reference(scene, dt, start, initialization, threads, evaluator, contact, found_at, time)
    elif reference is not None:
        x_star = real_array("reference", reference, (n, 3))
        found_at = x_star if soft else None
        find_pairs_at(evaluator.simulation, found_at)
    g_star = None if x_star is None else evaluator.potential(x_star)

    records, positions, failures = {}, {}, []
    for name, solver in solvers.items():
        bar(name)
        solver = dataclasses.replace(solver, initialization=initialization)
        try:
            simulation = Simulation(scene, solver, dt=dt, contact=contact, device=device, dtype=dtype, threads=threads)
            put_at(simulation, start)
            find_pairs_at(simulation, found_at)
            records[name], positions[name] = _run(simulation, evaluator, x_star, g_star, guess, time, rows_per_decade)
        except (RuntimeError, ValueError) as error:
            failures.append(error)
            if len(failures) < len(solvers):
                warnings.warn(f"{name!r} is left out of the comparison: {error}", RuntimeWarning, stacklevel=2)
    bar(None)
    if not records:
        raise failures[-1]
    return Comparison(records, positions, x_star, g_star, evaluator.simulation.positions)


def _bar(progress, total):
    """A callable that names the next item of a progress bar; None ends it."""
    if not progress:
        return lambda name: None
    from tqdm.auto import tqdm

    bar = tqdm(total=total, bar_format="{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}]")
    state = {"first": True}

    def advance(name):
        if not state["first"]:
            bar.update(1)
        state["first"] = False
        if name is None:
            bar.close()
        else:
            bar.set_description(name)

    return advance


def _at_intervals(most, per_decade):
    """(most + 1,) uint8: 1 for iteration 0 and `per_decade` of each decade up to `most`, all where a decade has no more."""
    chosen = np.zeros(most + 1, dtype=np.uint8)
    exponents = np.arange(np.ceil(per_decade * np.log10(most)) + 1) / per_decade
    chosen[0] = 1
    chosen[np.minimum(np.rint(10.0**exponents).astype(np.int64), most)] = 1
    return chosen


def _run(simulation, evaluator, x_star, g_star, guess, time, rows_per_decade=None):
    """One step; its record and last iterate."""
    rows, last = [], []

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

    core = core_of(simulation)
    chosen = None if rows_per_decade is None else _at_intervals(core.most_iterations, rows_per_decade)
    take_step(core, False, observer=observe, keep_diverged=True, guess=guess, time=time, chosen=chosen)
    columns = {name: np.array([row[name] for row in rows]) for name in STEP_COLUMNS}
    if x_star is not None:
        losses = columns["incremental_potential"] - g_star
        errors = np.array([row["error"] for row in rows])
        norms, dtype = columns["gradient_norm"], simulation.dtype
        near = errors <= evaluator.position_rounding(x_star, dtype)
        if near[0] or norms[0] <= evaluator.gradient_rounding(np.float64):  # x_0 = x*: nothing to be relative to
            there = near | (norms <= evaluator.gradient_rounding(dtype))
            columns["relative_loss"] = columns["relative_error"] = np.where(there, 0.0, np.inf)
        else:
            columns["relative_loss"], columns["relative_error"] = _ratio(losses), _ratio(errors)
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
    return record, last[0]


def _ratio(values):
    """values / the first finite one of them; all 0 where it starts at the answer.

    With contact G is infinite as long as something that is driven has yet to push its way: no loss is relative to that.
    """
    finite = np.flatnonzero(np.isfinite(values))
    first = values[finite[0]] if len(finite) else values[0]
    if first == 0.0:
        return np.where(np.isfinite(values), values, np.inf)
    with np.errstate(invalid="ignore"):  # a diverged run may begin and end with infinity
        return values / first
