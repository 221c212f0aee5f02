"""The record of a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import number
from pdgpu._internal.counted import counted
from pdgpu._internal.made import made_by
from pdgpu._internal.text_tables import html_table, text_table
from pdgpu.results.rates import fit_rate
from pdgpu.results.tables import data_frame, record_table, write_csv

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.results.rates import Rate
    from pdgpu.types import Path

__all__ = ["COLUMNS", "PHASES", "StepRecord"]

# of the array filled by a step
COLUMNS = _host.RECORD_COLUMNS

# of a step, in order
PHASES = _host.PHASES

# shown by `StepRecord.table`
TABLE_COLUMNS = ("iteration", "seconds", "incremental_potential", "gradient_norm", "step_norm", "relative_loss", "relative_error")


@made_by("Simulation.step(record=True)")
class StepRecord(Mapping):
    """Column -> float64 array, one number per recorded iteration; row 0 is the first guess. Empty where nothing was recorded, and a column
    is then a KeyError that names `record=True`.

    "seconds" accumulates from row to row; "direction_seconds" (the method) and "advance_seconds" (extrapolation and move) are those of the
    one iteration, and add up to it.

    Of contact: "contact_potential" and "friction_potential", J; "active_contacts", the pairs below their activation distance,
    "contacts_entered" and "contacts_left" since the previous row; "smallest_distance" of a neighbour pair, m, separation not subtracted,
    infinite without pairs; "step_limit", the fraction of the move within the step limit; "outer", the number of moves of pins and
    obstacles, and "behind", their target lag, m. "held_back" is the largest shortening of a vertex's step by its displacement bound, m; it
    is 0 for methods that move all vertices by one length ("step_limit"). "culling_seconds" (searches for pairs), "ccd_seconds" (times of
    impact) and "projection_seconds" (`ProjectiveContact`: freezing projections) are those of all iterations so far, contained in "seconds";
    "stagnations" counts rounds of `ProjectiveContact` with less than a twentieth of their path.

    Counts of work so far in the step. They depend neither on the machine nor on the number of threads, and recording adds none. Row 0 has
    those of the first guess, and in the first step of a simulation those of its setup.

    - "potentials", "gradients", "hessians": evaluations of G, its gradient and its Hessian over all elements.
    - "projections": local steps, the projections of all elements. A local step of Projective Dynamics is no gradient.
    - "products": of A or the Hessian with a vector of all vertices. "sweeps": over all vertices, rows of A or constraints.
    - "factorizations": numeric, failed attempts included. "solves": with a factor, for (n, 3) numbers, forwards and backwards.
    - "searches": for neighbour pairs. "ccd_pairs": pairs of primitives whose time of impact was computed.
    - "launches", "waits": of kernels, and synchronisations of the host with the device; 0 on "cpu".

    On "cuda" the host runs ahead of the device, and a phase contains the time of its synchronisations. Iterations without a check cost
    their launches. "advance", which reads the result every `check_every` iterations, contains the rest of the time. Sums are right: the
    result of the last iteration is always read, so `solve_seconds` ends with the work of the device.

    Attributes
    ----------
    status : str
        The end of the step. "converged": the gradient norm is at most tolerance x its first value, or at rounding (see `at_rounding`).
        "iteration_cap": all iterations ran; without a tolerance this is the usual end, and implies nothing about the error. "stalled": no
        vertex moves, or a line search finds no decrease, although the gradient exceeds rounding. "diverged".
    at_rounding : bool
        Converged at rounding: no vertex moves or no decrease is found, and the gradient norm is at most that of rounding the positions,
        with the largest coordinate |x|: eps |x| times the norm over the free vertices i of sum_j |K_ij|, K the stiffness at rest with
        m/h^2.
    iteration : int
        Number of iterations.
    setup_seconds : float
        Factorisation and estimates of the solver, once when the simulation was made, s.
    solve_seconds : float
        Time of the iterations, with or without a record, s.
    device_seconds : float
        By the device's clock (on "cpu" the host's), from the start of the iterations to the last read, s. For timings without the host;
        with a record it contains the time of recording.
    behind : float
        Target lag of prescribed points, scripted pins and obstacles, held back by contact, m; 0: all have arrived.
    held_back : float
        The largest shortening of a vertex's step by displacement bounds in the last iteration, m. A step is not "converged" while this is
        above a hundredth of the activation distance, except at rounding.
    phases : dict
        Times of the parts of the step, with or without a record, s: "begin" (copies of the state, damping Hessians), "first_guess",
        "direction" and "advance" (all iterations; together `solve_seconds`), "velocity". Empty if the step raised.
    stiffness : float or None
        Of `BarrierContact` or `PenaltyContact` in this step, in the unit of its `stiffness`; None with other contact, or without any. With
        ``stiffness="auto"`` it may double from one step to the next.
    inverted_tets : int or None
        Tets of negative volume at the end of the step. None: not counted. Recorded steps and the first of every eight steps are counted.
    update : ContactUpdate or None
        With `TwoWayContact`, its change of the solver's result.
    positions : ndarray or None
        Iterates, (rows, n, 3) m, after ``record="positions"``.
    numbers : dict
        Properties of the simulation: "solver", "dt" (s; NaN: quasistatic), "device", "dtype", "vertices", "pinned", "elements",
        "materials", "contact".
    """

    def __init__(
        self,
        columns,
        *,
        status,
        iteration,
        setup_seconds,
        solve_seconds,
        at_rounding=False,
        device_seconds=0.0,
        behind=0.0,
        held_back=0.0,
        phases=None,
        stiffness=None,
        inverted_tets=None,
        update=None,
        positions=None,
        numbers=None,
    ):
        self._columns = {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
        self.status, self.at_rounding, self.iteration = status, at_rounding, iteration
        self.setup_seconds, self.solve_seconds, self.device_seconds = setup_seconds, solve_seconds, device_seconds
        self.behind, self.held_back = behind, held_back
        self.stiffness, self.inverted_tets = stiffness, inverted_tets
        self.update = update
        self.phases = {} if phases is None else dict(phases)
        self.positions = positions
        self.numbers = {} if numbers is None else dict(numbers)

    def to_dataframe(self, **further: Any) -> Any:
        """A pandas DataFrame, a row for every recorded iteration.

        Columns are those of `further` (name=value, the same in all rows, for the parameters of a study), then `numbers`, "status",
        "at_rounding" and "setup_seconds", then those of the record. Frames of several records can be concatenated.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        return data_frame(record_table(self, COLUMNS, further))

    def to_csv(self, path: Path, **further: Any) -> None:
        """Write the columns of `to_dataframe` to a file, which is replaced as a whole; a cell without a value is empty."""
        write_csv(path, record_table(self, COLUMNS, further))

    def rate(self, column: str = "gradient_norm", *, confidence: float = 0.95) -> Rate:
        """Convergence rate of the step: the factor per iteration in the linear phase, with a confidence interval.

        The logarithm of the column is described by one to four straight pieces; an information criterion chooses their number [Schwarz
        1978]. The linear phase is the last piece that decreases. The pieces before it are the transient, a constant piece after it is
        rounding. The rate is the least-squares slope of the phase. The interval is Student's, for the number of independent rows given by
        the correlation of neighbouring residuals [Bartlett 1935]. In synthetic curves of 60 rows, an interval of 0.95 contained the rate in
        0.94 of the cases without correlation, in 0.82 with a correlation of 0.3, and in 0.70 with 0.6.

        The value is NaN, and `Rate.reason` has the cause, unless the phase is a linear tail: it extends to the last row or the floor of
        rounding, spans a decade and eight rows, its halves have the same slope to 10 % or within their intervals, and the interval is at
        most 25 % of the slope. Newton's method is "superlinear". A later, slower phase may follow a straight one: symmetric starts excite
        few modes, and their rate does not apply to the others.

        Parameters
        ----------
        column : str
            One that converges to zero: "gradient_norm", "step_norm"; in a comparison also "relative_error", "relative_loss".
        confidence : float
            Of the interval, between 0 and 1.

        Returns
        -------
        Rate

        Raises
        ------
        ValueError
            A column that was not recorded.
        """
        if not isinstance(column, str) or column not in self:
            raise ValueError(f"column: {column!r} was not recorded; there is {', '.join(self) or 'nothing: step(record=True)'}")
        confidence = number("confidence", confidence, above=0.0, below=1.0)
        return fit_rate(self["iteration"], self[column], column, self["seconds"], confidence)

    def table(self) -> str:
        """First and last rows of the record, as text."""
        return text_table(*self._cells(), left=0)

    def _cells(self):
        """Return heads and rows of `table`."""
        columns = [name for name in TABLE_COLUMNS if name in self]
        n = len(next(iter(self.values()), ()))
        kept = range(n) if n <= 8 else [*range(4), None, *range(n - 3, n)]
        head = [name.replace("_", " ") for name in columns]
        return head, [["..."] * len(columns) if k is None else [_text(name, self[name][k]) for name in columns] for k in kept]

    def plot_contact(self, *, x: ArrayLike = "iterations") -> Any:
        """Plot the convergence of contact in the step, in panels: see `pdgpu.viz.contact_plotting.plot_contact`. Returns a matplotlib
        figure.
        """
        from pdgpu.viz.contact_plotting import plot_contact

        return plot_contact(self, x=x)

    def __getitem__(self, column):
        try:
            return self._columns[column]
        except (KeyError, TypeError):
            there = f"there is {', '.join(self)}" if self else "nothing was: take step(record=True)"
            raise KeyError(f"{column!r} was not recorded; {there}") from None

    def __iter__(self):
        return iter(self._columns)

    def __len__(self):
        return len(self._columns)

    def __repr__(self):
        return f"<{self._head()}>\n{self.table()}" if self._rows() else f"<{self._head()}>"

    def _repr_html_(self):
        return html_table(*(self._cells() if self._rows() else ((), ())), left=0, caption=self._head())

    def _rows(self):
        return len(next(iter(self._columns.values()), ()))

    def _head(self):
        n = self._rows()
        status = f"{self.status}{' at rounding' if self.at_rounding else ''}"
        late = f", target lag {self.behind:.3g} m" if self.behind > 0.0 else ""
        late += f", {counted(self.inverted_tets, 'tet')} inverted" if self.inverted_tets else ""
        rows = counted(n, "row") if n else "no rows"
        return f"StepRecord: {status} after {counted(self.iteration, 'iteration')}{late}, {rows} recorded"


def _text(name, value):
    return str(int(value)) if name == "iteration" else f"{value:.4g}"
