"""Records as tables: a row for every recorded iteration, with the same columns in a DataFrame and in a CSV file."""

from __future__ import annotations

import math

import numpy as np

from pdgpu._internal.atomic_files import replacing
from pdgpu._internal.counts import COUNTS, DEVICE_COUNTS

__all__ = ["IDENTITY", "data_frame", "joined", "record_table", "scene_numbers", "summary", "write_csv"]

# columns of a row in addition to those of a step: the solver, the scene, and the end of the step
IDENTITY = (
    *("solver", "status", "at_rounding", "dt", "device", "dtype", "vertices", "pinned", "elements", "materials", "contact"),
    "setup_seconds",
)

# columns whose last row does not describe a whole step
NOT_OF_THE_LAST = ("iteration", "seconds", "direction_seconds", "advance_seconds")


def scene_numbers(core, n_elements):
    """Return the properties of a simulation for a record, from its core."""
    return {
        "solver": type(core.solver).__name__,
        "dt": math.nan if core.dt is None else core.dt,
        "device": core.device,
        "dtype": core.dtype.name,
        "vertices": core.rows.n,
        "pinned": int(core.rows.of(core.fixed).astype(bool).sum()),
        "elements": int(n_elements),
        "materials": "+".join(sorted(core.materials)),
        "contact": "" if core.contact is None else type(core.contact).__name__,
    }


def record_table(record, columns, further=None):
    """Return column -> values, a row for every recorded iteration: `further` first, then IDENTITY, then `columns`; others are NaN."""
    taken = [name for name in further or {} if name in columns or (name in IDENTITY and name != "solver")]
    if taken:
        raise ValueError(f"{taken[0]}: the table has a column of that name; take another one")
    n = len(next(iter(record.values()), ()))
    said = {**record.numbers, "status": record.status, "at_rounding": record.at_rounding, "setup_seconds": record.setup_seconds}
    said |= further or {}
    names = [*(name for name in said if name not in IDENTITY), *(name for name in IDENTITY if name in said)]
    table = {name: [said[name]] * n for name in names}
    for name in columns:
        values = record[name] if name in record else np.full(n, np.nan)
        whole = name in record and (name == "iteration" or name in COUNTS or name in DEVICE_COUNTS)
        table[name] = [int(value) if whole else float(value) for value in values]
    return table


def summary(record, column="gradient_norm"):
    """Return one row for a record: its identity, its end, the last value of every column, and the rate of the step."""
    rate = record.rate(column)
    return {
        **record.numbers,
        "status": record.status,
        "at_rounding": record.at_rounding,
        "iterations": record.iteration,
        "setup_seconds": record.setup_seconds,
        "solve_seconds": record.solve_seconds,
        **{name: _last(name, values) for name, values in record.items() if name not in NOT_OF_THE_LAST},
        "rate": rate.value,
        "rate_low": rate.low,
        "rate_high": rate.high,
        "rate_first": rate.first,
        "rate_last": rate.last,
        "rate_decades": rate.decades,
        "rate_missing": rate.reason,
    }


def _last(name, values):
    return int(values[-1]) if name in COUNTS or name in DEVICE_COUNTS else float(values[-1])


def joined(tables):
    """Return the concatenation of tables with the same columns."""
    tables = list(tables)
    return {name: [value for table in tables for value in table[name]] for name in tables[0]} if tables else {}


def data_frame(table):
    """Return a pandas DataFrame."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to_dataframe needs pandas, which is not installed: pip install pandas") from None
    return pandas.DataFrame(table)


def write_csv(path, table):
    """Write numbers in Python's form, so that reading returns the same values; a cell without a value is empty. A text that a spreadsheet
    would treat as a formula, since it begins with =, +, - or @, gets an apostrophe in front.
    """
    import csv

    with replacing(path) as unfinished, open(unfinished, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(map(_cell, table))
        writer.writerows([_cell(value) for value in row] for row in zip(*table.values(), strict=True))


def _cell(value):
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return repr(value) if isinstance(value, float) else value
