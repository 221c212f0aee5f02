"""What a step recorded."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

__all__ = ["COLUMNS", "StepRecord"]

COLUMNS = ("iteration", "seconds", "incremental_potential", "gradient_norm", "step_norm")


class StepRecord(Mapping):
    """Column -> float64 array, one number per recorded iteration; row 0 is the first guess. Empty where nothing was recorded.

    Attributes
    ----------
    status : str
        "converged", "iteration_cap", "stalled" or "diverged".
    iteration : int
        Iterations that ran.
    setup_seconds : float
        Factorisation and estimates of the solver, spent once when the simulation was built.
    solve_seconds : float
        Spent in the iterations, recorded or not.
    positions : ndarray or None
        Iterates, (rows, n, 3) m, after ``record="positions"``.
    """

    def __init__(self, columns, *, status, iteration, setup_seconds, solve_seconds, positions=None):
        self._columns = {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
        self.status, self.iteration = status, iteration
        self.setup_seconds, self.solve_seconds = setup_seconds, solve_seconds
        self.positions = positions

    def __getitem__(self, column):
        return self._columns[column]

    def __iter__(self):
        return iter(self._columns)

    def __len__(self):
        return len(self._columns)

    def __repr__(self):
        rows = len(next(iter(self._columns.values()), ()))
        return f"<StepRecord: {self.status} after {self.iteration} iterations, {rows} rows of {', '.join(self) or 'nothing'}>"
