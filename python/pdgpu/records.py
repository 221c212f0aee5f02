"""What a step recorded."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

__all__ = ["COLUMNS", "PHASES", "StepRecord"]

# in the order of a row that csrc/python/simulation.c fills
COLUMNS = ("iteration", "seconds", "incremental_potential", "gradient_norm", "step_norm", "direction_seconds", "advance_seconds")

# of a step, in the order of pd_phase (csrc/dynamics/simulation.h)
PHASES = ("begin", "first_guess", "direction", "advance", "velocity")


class StepRecord(Mapping):
    """Column -> float64 array, one number per recorded iteration; row 0 is the first guess. Empty where nothing was recorded.

    "seconds" runs on from row to row; "direction_seconds" (the method's own work) and "advance_seconds" (extrapolation and move) are
    those of the one iteration, and add up to it.

    On "cuda" the host runs ahead of the device, and a phase is billed for what it waits for: iterations that nobody looks at cost
    their launches, and "advance", which reads the result every `check_every` iterations, the rest of the time. Sums are right: the
    last iteration of a step is always looked at, so `solve_seconds` ends when the device is done.

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
    device_seconds : float
        By the device's clock (on "cpu" the host's), from the beginning of the iterations to the last one that was looked at. For
        timings without the host's share: with a record, what it took to record is in it.
    phases : dict
        Where the time of the step went, recorded or not, s: "begin" (copies of the state, damping Hessians), "first_guess",
        "direction" and "advance" (all iterations; together `solve_seconds`), "velocity". Empty where the step raised.
    positions : ndarray or None
        Iterates, (rows, n, 3) m, after ``record="positions"``.
    """

    def __init__(self, columns, *, status, iteration, setup_seconds, solve_seconds, device_seconds=0.0, phases=None, positions=None):
        self._columns = {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
        self.status, self.iteration = status, iteration
        self.setup_seconds, self.solve_seconds, self.device_seconds = setup_seconds, solve_seconds, device_seconds
        self.phases = {} if phases is None else dict(phases)
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
