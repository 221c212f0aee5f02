"""Counts of work, and costs up to a level of a record, independent of the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host

if TYPE_CHECKING:
    from pdgpu.results.records import StepRecord

__all__ = ["COUNTS", "DEVICE_COUNTS", "MEASURES", "check_measure", "cost_of_reaching", "costs_of_rows", "count_rows"]

_ALL = _host.RECORD_COLUMNS[_host.RECORD_COLUMNS.index("potentials") :]

# of CUDA; they depend on the device
DEVICE_COUNTS = ("launches", "waits")

# cumulative columns of every record, equal on all machines
COUNTS = tuple(name for name in _ALL if name not in DEVICE_COUNTS)

# of a run until one of its rows
MEASURES = ("iterations", "seconds", "total_seconds", *COUNTS, *DEVICE_COUNTS)


def count_rows(records: dict[str, StepRecord]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the names of the counts that are not 0 for all records, and for each record its name and those of its last row, as text."""
    counts = [name for name in COUNTS if any(name in record and record[name][-1] > 0 for record in records.values())]
    rows = [(key, *(str(int(record[name][-1])) if name in record else "-" for name in counts)) for key, record in records.items()]
    return [name.replace("_", " ") for name in counts], rows


def check_measure(records: dict[str, StepRecord], measure: str) -> None:
    """Raise ValueError for a record without these numbers, such as one of an earlier version."""
    for name, record in records.items():
        if measure in _ALL and measure not in record:
            raise ValueError(f"measure: the record of {name!r} has no {measure!r}: an earlier version made it; run it again")


def costs_of_rows(record: StepRecord, measure: str) -> np.ndarray:
    """Return one of `MEASURES` for every row of a record. "total_seconds" are those of the iterations and of the setup."""
    if measure == "total_seconds":
        return record["seconds"] + record.setup_seconds
    return record["iteration" if measure == "iterations" else measure]


def cost_of_reaching(record: StepRecord, column: str, level: float, measure: str) -> float:
    """Return the cost of a record up to its first row with `column` at most `level`; NaN without such a row."""
    rows = np.flatnonzero(record[column] <= level)
    return float(costs_of_rows(record, measure)[rows[0]]) if len(rows) else float("nan")
