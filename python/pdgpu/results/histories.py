"""Quantities recorded per step of a run: energies, momenta, contacts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pdgpu._internal.counted import counted
from pdgpu._internal.made import made_by
from pdgpu._internal.text_tables import html_table, text_table
from pdgpu.results.tables import data_frame, write_csv

if TYPE_CHECKING:
    from pdgpu.types import Path

__all__ = ["History"]


@made_by("Simulation.run")
class History(Mapping):
    """Column -> array, one number per recorded step, with the initial state of the run first; made by `Simulation.run`.

    "step" and "time" (s) since the simulation was made; energies, J, as in `Simulation.energies`, those of materials as "elastic_ARAP" and
    so on; "momentum_x" to "momentum_z", kg m/s, and "angular_momentum_x" to "angular_momentum_z" about the origin, kg m^2/s; "contacts",
    the number of pairs with a force (with `TwoWayContact`: below its `distance`), and their "smallest_distance", m, infinite without pairs.
    For the last step of a row "iterations", "status", "solve_seconds", "behind" (the target lag, m) and "stiffness" (of contact, as in
    `StepRecord`; NaN for None). In the first row these are 0, "", 0, 0 and NaN. "inverted_tets" counts the tets of negative volume in each
    row.
    """

    def __init__(self, *, rows: list[dict[str, Any]]) -> None:
        self._rows = rows  # a run appends to them

    def __getitem__(self, column):
        if column not in self._names():
            raise KeyError(column)
        return np.array([row[column] for row in self._rows])

    def _names(self):
        return self._rows[0] if self._rows else {}

    def __iter__(self):
        return iter(self._names())

    def __len__(self):
        return len(self._names())

    def _table(self):
        return {name: [row[name] for row in self._rows] for name in self}

    def to_dataframe(self) -> Any:
        """A pandas DataFrame, a row per recorded step. ImportError if pandas is not installed."""
        return data_frame(self._table())

    def to_csv(self, path: Path) -> None:
        """Write the columns to a file, which is replaced as a whole."""
        write_csv(path, self._table())

    def table(self) -> str:
        """First and last rows of time, energies, contacts and iterations, as text."""
        return text_table(*self._cells(), left=0)

    def _cells(self):
        """Return heads and rows of `table`."""
        shown = ("step", "time", "kinetic", "gravity", "contact", "total", "contacts", "iterations")
        kept = self._rows if len(self._rows) <= 10 else [*self._rows[:5], None, *self._rows[-4:]]
        return shown, [["..." if row is None else f"{row[name]:.6g}" for name in shown] for row in kept]

    def __repr__(self):
        return f"<{self._head()}>" + (f"\n{self.table()}" if self._rows else "")

    def _repr_html_(self):
        return html_table(*self._cells(), left=0, caption=self._head())

    def _head(self):
        return f"History: {counted(len(self._rows), 'row')} of {counted(len(self), 'column')}"
