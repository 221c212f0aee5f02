"""Comparison of solvers: one step from one state, with all measures from the same functions."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import TIME_STEP, choice, integer, number
from pdgpu._internal.backends import backend, device_or_default, dtype_or_default
from pdgpu._internal.counted import counted
from pdgpu._internal.counts import MEASURES, check_measure, cost_of_reaching, count_rows
from pdgpu._internal.made import made_by
from pdgpu._internal.text_tables import html_table, text_table
from pdgpu.contact.penalty_contact import PenaltyContact
from pdgpu.contact.two_way_contact import TwoWayContact
from pdgpu.materials.materials import MATERIAL_OF_KIND
from pdgpu.results.rates import Rates
from pdgpu.results.records import COLUMNS as STEP_COLUMNS
from pdgpu.results.tables import data_frame, joined, record_table, write_csv
from pdgpu.simulation.snapshots import Snapshot, check_same_step, in_rows_of
from pdgpu.simulation.stepping import times_of_steps
from pdgpu.solvers.solver_support import KINDS, check_contact, check_slides, check_support
from pdgpu.solvers.time_step_solver import INITIALIZATIONS
from pdgpu.study.evaluator import Evaluator, run_step
from pdgpu.study.reference import USUAL_SOURCE, Step, chosen_reference, given_reference, lower_reference

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.results.records import StepRecord
    from pdgpu.scene.scene import Scene
    from pdgpu.solvers.time_step_solver import TimeStepSolver
    from pdgpu.types import Contact, Device, Floats, Path, Precision

__all__ = ["Comparison", "compare"]

# of a table: the columns of a step, with the errors before the timings
COLUMNS = (*STEP_COLUMNS[:5], "relative_loss", "relative_error", *STEP_COLUMNS[5:])

# columns with levels
LEVEL_COLUMNS = ("relative_loss", "relative_error", "gradient_norm")


@made_by("compare and Comparison.concat")
class Comparison:
    """Records of several solvers on the same step; made by `compare`.

    Attributes
    ----------
    records : dict
        Name -> StepRecord with the columns of a step and, with a reference, relative_loss and relative_error. A run that starts at x* to
        rounding has 0 there, and inf in rows away from it. Rows in which prescribed points are still held back, and G at their targets is
        infinite, have an infinite loss; the others are relative to the first finite one.
    reference : ndarray or None
        x*, (n, 3) float64 m; may be given to another `compare` of the same step.
    reference_potential : float or None
        G(x*), J.
    reference_source : str
        The origin of x*, such as "Newton from the first guess"; "" without a reference. If a solver has found a lower G than the reference,
        it names the solver and the iteration.
    start_positions : ndarray, shape (n, 3), m
    positions : dict
        Name -> last iterate, (n, 3) float64 m.
    """

    def __init__(self, records, positions, reference, reference_potential, start_positions, reference_source="", parts=None):
        self.records, self.positions = records, positions
        self.reference, self.reference_potential = reference, reference_potential
        self.start_positions, self.reference_source = start_positions, reference_source
        self._parts = parts  # of a concatenation: name of a record -> (name of the solver, label)

    @classmethod
    def concat(cls, comparisons: Sequence[Comparison], labels: Sequence[Any] | None = None) -> Comparison:
        """Several comparisons as one, such as those of several starts or scenes, for `plot(band="quartiles")` and one table.

        Parameters
        ----------
        comparisons : sequence of Comparison
        labels : sequence, optional
            One for each, all different; a column "label" of `to_dataframe`. By default 0, 1, ..

        Returns
        -------
        Comparison
            A record is named "NAME (LABEL)". `reference`, `reference_potential` and `start_positions` are None: each part has its own.
        """
        for name, given in {"comparisons": comparisons, "labels": () if labels is None else labels}.items():
            if not isinstance(given, Iterable):
                raise TypeError(f"{name}: expected a sequence, got {given!r}")
        comparisons = list(comparisons)
        labels = list(range(len(comparisons))) if labels is None else list(labels)
        if not comparisons:
            raise ValueError("comparisons: expected one or more, got none")
        for k, each in enumerate(comparisons):
            if not isinstance(each, Comparison):
                raise TypeError(f"comparisons: expected a Comparison at {k}, got {each!r}")
            if len(each.methods()) < len(each):
                raise ValueError(f"comparisons: the one at {k} is a concatenation; give its parts")
        if len(labels) != len(comparisons) or len(set(map(str, labels))) != len(labels):
            raise ValueError(f"labels: expected {len(comparisons)} different ones, got {labels!r}")
        parts = {f"{name} ({label})": (name, label) for each, label in zip(comparisons, labels, strict=True) for name in each}
        records: dict[str, StepRecord] = {}
        positions: dict[str, Floats] = {}
        for each, label in zip(comparisons, labels, strict=True):
            records |= {f"{name} ({label})": record for name, record in each.records.items()}
            positions |= {f"{name} ({label})": x for name, x in each.positions.items()}
        sources = dict.fromkeys(
            f"{each.reference_source} ({label})" for each, label in zip(comparisons, labels, strict=True) if each.has_unusual_reference()
        )
        return cls(records, positions, None, None, None, "; ".join(sources), parts)

    def methods(self) -> dict[str, list[StepRecord]]:
        """Name of a solver -> its records: one, or one of each part of a concatenation."""
        parts = getattr(self, "_parts", None) or {}
        found: dict[str, list[StepRecord]] = {}
        for name, record in self.records.items():
            found.setdefault(parts.get(name, (name, None))[0], []).append(record)
        return found

    def has_unusual_reference(self) -> bool:
        """Return whether x* has another origin than Newton from the first guess; see `reference_source`."""
        return getattr(self, "reference_source", "") not in ("", USUAL_SOURCE)  # pickles of an earlier version have no source

    def __getitem__(self, name):
        return self.records[name]

    def __iter__(self):
        return iter(self.records)

    def __len__(self):
        return len(self.records)

    def table(self) -> str:
        """The last recorded row of every solver, as text; "at rounding" marks converged solvers without a further decrease.

        A second table has the counts of work (`StepRecord`) that are not 0 for all solvers.
        """
        head, rows = count_rows(self.records)
        counts = f"\n\n{text_table(('solver', *head), rows)}" if head else ""
        source = f"\nG* and x*: {self.reference_source}" if self.has_unusual_reference() else ""
        return text_table(*self._cells(), left=3) + source + counts

    def _cells(self):
        """Return heads and rows of `table`."""
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
        return head, rows

    def __repr__(self):
        return f"<{self._head()}>\n{self.table()}"

    def _head(self):
        return f"Comparison of {counted(len(self), 'solver')}"

    def _repr_html_(self):
        source = f"G* and x*: {self.reference_source}" if self.has_unusual_reference() else ""
        (head, rows), (counts, more) = self._cells(), count_rows(self.records)
        rows = [(*row, *counted[1:]) for row, counted in zip(rows, more, strict=True)]
        return html_table((*head, *counts), rows, left=3, caption=self._head(), note=source)

    def _rows(self, further):
        parts = getattr(self, "_parts", None) or {}
        tables = []
        for key, record in self.records.items():
            name, label = parts.get(key, (key, None))
            more = {"label": label} if parts else {}
            tables.append(record_table(record, COLUMNS, {**further, **more, "solver": name}))
        return joined(tables)

    def to_dataframe(self, **further: Any) -> Any:
        """A pandas DataFrame, a row for every recorded iteration of every solver.

        Columns are those of `further` (name=value, the same in all rows, for the parameters of a study), "solver" (the name in the
        comparison), those of `StepRecord.numbers`, "status", "at_rounding", "setup_seconds", and those of a step. Without a reference
        "relative_loss" and "relative_error" are NaN.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        return data_frame(self._rows(further))

    def to_csv(self, path: Path, **further: Any) -> None:
        """Write the columns of `to_dataframe` to a file, which is replaced as a whole; a cell without a value is empty."""
        write_csv(path, self._rows(further))

    def to_reach(self, levels: Sequence[float], measure: str = "iterations", *, column: str = "relative_loss") -> Any:
        """The cost of each solver up to the first row with a column at most each level, as a pandas DataFrame.

        Parameters
        ----------
        levels : sequence of float
            Positive, all different, such as [1e-2, 1e-4, 1e-6].
        measure : str
            "iterations"; "seconds" of the iterations, or "total_seconds" with those of the setup; a count of work: "potentials",
            "gradients", "hessians", "products", "factorizations", "solves", "projections", "sweeps", "searches", "ccd_pairs", "launches",
            "waits" (see `StepRecord`).
        column : str
            "relative_loss", "relative_error" or "gradient_norm" (N).

        Returns
        -------
        pandas.DataFrame
            A row for each solver, named in the index, and a column for each level. A concatenation has a row for each solver and label, in
            an index of both. NaN: the level was never reached in a recorded row. With `compare(rows_per_decade=)` the first recorded row
            counts.

        Raises
        ------
        TypeError, ValueError
            Invalid levels, another measure or column, a comparison without a reference, records of an earlier version without counts.
        ImportError
            pandas is not installed.
        """
        choice("measure", measure, MEASURES)
        choice("column", column, LEVEL_COLUMNS)
        if isinstance(levels, str) or not isinstance(levels, Iterable):
            raise TypeError(f"levels: expected a sequence of numbers such as [1e-2, 1e-4], got {levels!r}")
        levels = [number(f"levels[{k}]", level, above=0.0) for k, level in enumerate(levels)]
        if not levels or len(set(levels)) < len(levels):
            raise ValueError(f"levels: expected one or more different numbers, got {levels!r}")
        check_measure(self.records, measure)
        for name, record in self.records.items():
            if column not in record:
                raise ValueError(f"column: {name!r} has no {column!r}; compare with a reference, or take column='gradient_norm'")
        parts = getattr(self, "_parts", None) or {}
        said = [parts.get(key, (key, None)) for key in self.records]
        names = {"solver": [name for name, _ in said]} | ({"label": [label for _, label in said]} if parts else {})
        costs = {level: [cost_of_reaching(record, column, level, measure) for record in self.records.values()] for level in levels}
        frame = data_frame({**names, **costs}).set_index(list(names))
        frame.columns.name = f"{measure} to {column.replace('_', ' ')}"
        return frame

    def rates(self, column: str = "gradient_norm", *, confidence: float = 0.95) -> Rates:
        """Name -> convergence rate of that solver in its linear phase, a dict of `Rate` that shows as a table; see `StepRecord.rate`."""
        return Rates({name: record.rate(column, confidence=confidence) for name, record in self.records.items()})

    def plot(
        self,
        x: str = "iterations",
        y: str | None = None,
        *,
        axes: Any = None,
        band: str | None = None,
        size: tuple[float, float] | None = None,
    ) -> Any:
        """Plot a column of every solver, logarithmic, against iterations, seconds or a count of work.

        Returns matplotlib axes, whose `figure` writes PNG, PDF and SVG. See `pdgpu.plotting.plot_comparison`. `y` is by default
        "relative_loss", and "gradient_norm" without a reference. With `band="quartiles"` a concatenation (`concat`) has the median of
        each solver in a band between its quartiles. `size`, in inches, makes a figure for a paper, with text of 8 points.
        """
        from pdgpu.viz.plotting import plot_comparison

        return plot_comparison(self, x, y, axes, band, size)

    def plot_contact(self, *, x: str = "iterations") -> Any:
        """Plot the convergence of contact with every solver: see `pdgpu.viz.contact_plotting.plot_contact`. Returns a matplotlib figure."""
        from pdgpu.viz.contact_plotting import plot_contact

        return plot_contact(self, x=x)


def compare(
    scene: Scene,
    solvers: Mapping[str, TimeStepSolver],
    *,
    dt: float | None = TIME_STEP,
    time: float | None = None,
    start: tuple[ArrayLike | None, ArrayLike | None] | Snapshot | None = None,
    reference: ArrayLike | str | Sequence[ArrayLike | str] | None = "newton",
    contact: Contact | None = None,
    initialization: str = "previous",
    device: Device | None = None,
    dtype: Precision | None = None,
    threads: int = 0,
    rows_per_decade: int | None = None,
    progress: bool = False,
) -> Comparison:
    """Solve one step from the same state with several solvers.

    Every recorded number is evaluated in float64 on the CPU, at the solver's positions, for any dtype and device of the run. A solver that
    diverges does not raise: its record ends there, with the status "diverged". Unsupported parts of the scene are errors before the first
    solver runs. A solver that fails later is left out with a RuntimeWarning, unless no other is left.

    Parameters
    ----------
    scene : Scene
    solvers : dict
        Name -> solver.
    dt : float or None
        s; by default 1/100, as for `Simulation`; None: quasistatic.
    time : float, optional
        Only for dt=None, s: the time of the step, as in `Simulation.step`. Required for a scene with motions. A Snapshot has its own.
    start : (positions, velocities) or Snapshot, optional
        (n, 3) m and m/s, either may be None; by default the rest state. From a `Simulation.snapshot` every solver continues at its iterate,
        to the bit, which replaces the first guess; `initialization` is not used then. dt and contact must be those of its simulation, whose
        external forces act.
    reference : "newton", array_like of shape (n, 3), sequence of starts, or None
        The converged solution x*: by Newton in float64, down to |g| <= 1e-10 |g0| or to rounding (`StepRecord.at_rounding`), as given, or
        none (no relative columns). If Newton does not converge, a RuntimeWarning states its result, and the comparison continues without a
        reference. A step may have several minima: with a sequence of starts, each "newton" (the first guess) or (n, 3) m, Newton runs from
        each, and x* is the lowest minimum. If a solver finds a lower G than x*, by more than rounding and 1e-9 of G0 - G*, a RuntimeWarning
        names it, Newton's minimum from there becomes x*, and all solvers run again.
    contact : BarrierContact or PenaltyContact, optional
        Contact for all solvers, a part of their objective. Friction is lagged once: with further lags every solver would have another
        objective at the end. With a penalty, whose pairs depend on the iterates, all solvers get the pairs of one detection: at the
        solution of Newton, with the detection of `contact`, or at the reference, if that is an array. It needs a reference.
    initialization : str
        First guess of every solver. With `contact` each moves towards it up to its own step limit, and none returns to x_t.
    device, dtype, threads
        As for Simulation.
    rows_per_decade : int, optional
        Recorded iterations per decade, at logarithmic intervals, plus the first guess and the last iteration; by default every iteration.
        Recording often takes longer than an iteration. It changes no iterate.
    progress : bool
        Show the solver that is running.

    Returns
    -------
    Comparison

    Raises
    ------
    TypeError, ValueError
        Invalid arguments; a solver that does not support a part of the scene.
    """
    device, dtype = device_or_default(device), dtype_or_default(dtype)
    if not isinstance(solvers, Mapping) or not solvers:
        raise TypeError(f"solvers: expected a dict of name -> solver, got {solvers!r}")
    for name, solver in solvers.items():  # before the reference, which takes longer
        if not isinstance(name, str):
            raise TypeError(f"solvers: expected names as keys, got {name!r}")
        if not isinstance(solver, KINDS):
            raise TypeError(f"solvers: expected a solver such as pdgpu.ProjectiveDynamics() for {name!r}, got {solver!r}")
    choice("initialization", initialization, INITIALIZATIONS)
    if rows_per_decade is not None:
        rows_per_decade = integer("rows_per_decade", rows_per_decade, 1)
    guess = None
    if isinstance(start, Snapshot):
        check_same_step(start, dt, time, contact, dtype)
        time = start.end_time
    elif start is not None and (not isinstance(start, tuple | list) or len(start) != 2):
        raise ValueError(f"start: expected (positions, velocities) or a Snapshot, got {type(start).__name__}")
    if isinstance(contact, TwoWayContact):
        raise TypeError("contact: TwoWayContact acts after the solvers, so they have no common objective; take BarrierContact")
    soft = isinstance(contact, PenaltyContact)
    if isinstance(contact, PenaltyContact) and contact.variant == "paper":
        raise ValueError('contact: variant="paper" has friction without a potential, so the solvers have no common objective')
    if soft and reference is None:
        raise ValueError("reference: PenaltyContact needs one for its pairs, got None; give 'newton'")
    if (lags := getattr(contact, "friction_lags", 1)) > 1:
        raise ValueError(
            "contact: friction_lags must be 1, so that all have one objective: a second pass takes friction from the end of a solver's "
            f"first pass, got {lags}"
        )
    evaluator = Evaluator(scene, dt, start, threads, contact)
    core = evaluator.core
    if isinstance(start, Snapshot):
        guess = in_rows_of(core, start)[2]
    (time,) = times_of_steps(scene, dt, 1, time)
    if time is not None:
        core.start_time = time
    backend(device, dtype)
    for solver in solvers.values():
        check_support(solver, device, {MATERIAL_OF_KIND[kind] for kind in core.scene.element_groups()})
        check_slides(solver, core.subspace, contact)
        check_contact(solver, contact)
    given = given_reference(reference, core.rows_of_model)
    step = Step(scene, dt, start, initialization, threads, contact, time, evaluator, rows_per_decade)
    bar = _bar(progress, len(solvers) + (reference is not None))
    if given is not None:
        bar("reference")
    answer = chosen_reference(step, given)
    run = {"device": device, "dtype": dtype}
    records, positions, lowest = _run_all(step, solvers, run, answer, guess, bar)
    potentials = next(iter(records.values()))["incremental_potential"]
    finite = potentials[np.isfinite(potentials)]  # infinite while a prescribed point is held back
    if len(finite) and (lower := lower_reference(step, answer, lowest, float(finite[0]))) is not None:
        answer = lower
        records, positions, _ = _run_all(step, solvers, run, answer, guess, _bar(progress, len(solvers)))
    shown = core.rows.of
    x_star = None if answer.positions is None else shown(answer.positions)
    positions = {name: shown(x) for name, x in positions.items()}
    return Comparison(records, positions, x_star, answer.potential, evaluator.simulation.positions, answer.source)


def _run_all(step, solvers, run, answer, guess, bar):
    """Return records, last iterates and iterates of the lowest G, by the names of the solvers."""
    records, positions, lowest, failures = {}, {}, {}, []
    for name, solver in solvers.items():
        bar(name)
        solver = dataclasses.replace(solver, initialization=step.initialization)
        try:
            simulation = step.simulation(solver, answer.found_at, **run)
            found = run_step(simulation, step.evaluator, answer.positions, answer.potential, guess, step.time, step.rows_per_decade)
            records[name], positions[name], lowest[name] = found
        except (RuntimeError, ValueError) as error:
            failures.append(error)
            if len(failures) < len(solvers):
                warnings.warn(f"{name!r} is left out of the comparison: {error}", RuntimeWarning, stacklevel=3)
    bar(None)
    if not records:
        raise failures[-1]
    return records, positions, lowest


def _bar(progress, total):
    """Return a callable that shows the name of the next item in a progress bar; None ends it."""
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
