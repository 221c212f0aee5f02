"""Parameter sweeps: one function over a grid, serially or on any executor, resumable."""

from __future__ import annotations

import itertools
import numbers
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pdgpu._internal.arguments import flag
from pdgpu._internal.counted import counted
from pdgpu._internal.made import made_by
from pdgpu._internal.row_file import RowFile
from pdgpu._internal.text_tables import html_table, text_table
from pdgpu.linear.linear_result import LinearResult
from pdgpu.results.records import StepRecord
from pdgpu.results.tables import data_frame, summary, write_csv
from pdgpu.study.comparison import Comparison

if TYPE_CHECKING:
    import concurrent.futures

    from pdgpu.types import Path

__all__ = ["Sweep", "sweep"]

# columns added by a sweep
OWN = ("case_status", "error", "case_seconds")
STATUSES = ("done", "failed")


def sweep(
    function: Callable[..., Any],
    grid: Mapping[str, Any],
    path: Path | None = None,
    *,
    executor: concurrent.futures.Executor | None = None,
    retry_failed: bool = False,
    progress: bool = False,
) -> Sweep:
    """Call a function with every combination of the values of a grid, and collect its results in a table.

    With a `path` every case is written on completion, as one line of a file. The same call after a crash, a kill or Ctrl-C skips completed
    cases, and returns the same table, in the order of the grid, not of completion. A grid may be extended.

    Parameters
    ----------
    function : callable
        Called as ``function(**case)``: ``pdgpu.compare`` for example, with `functools.partial` for constant arguments. It returns a dict of
        numbers, text and None (a row), several of them in a list, or a Comparison (a row for each solver, with the last of every column and
        the rate of its linear phase), StepRecord or LinearResult. An exception becomes a row with the error, and the sweep continues.
    grid : dict
        Name -> list of values, which are numbers, text, True, False or None; or name -> dict of label -> value, with any values (scenes,
        solvers), whose labels are in the table. All values of a name must differ.
    path : str or os.PathLike, optional
        A file for this sweep only, created if it does not exist. A second sweep that writes to it at the same time is an error.
    executor : concurrent.futures.Executor, optional
        Runs the calls: a ProcessPoolExecutor, Dask's ``client.get_executor()``, mpi4py's MPIPoolExecutor (in a script started by ``mpiexec
        -n 9 python -m mpi4py.futures script.py`` it has eight workers). By default they run here, serially. Function and values must be
        picklable, if the executor needs that. Use ``threads=1`` in each of several processes.
    retry_failed : bool
        Repeat cases that failed before.
    progress : bool
        Show a bar.

    Returns
    -------
    Sweep

    Raises
    ------
    TypeError, ValueError
        An invalid grid, values that have no form in a table, a file of another function's sweep, a damaged file.
    RuntimeError
        Another sweep is writing to the file, or the executor broke, for example because a process was killed; the file has the cases
        completed until then.
    """
    if not callable(function):
        raise TypeError(f"function: expected a callable, got {function!r}")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(f"executor: expected a concurrent.futures.Executor, got {executor!r}")
    retry_failed, progress = flag("retry_failed", retry_failed), flag("progress", progress)
    cases = _cases(grid)
    results: dict[str, dict] = {}
    if path is None:
        _run(function, cases, results, executor, progress, lambda line: None)
    else:
        with RowFile(path, {"sweep": 1, "function": _name(function), "names": list(grid)}) as file:
            for number, line in file.lines:
                _known(line, number, path)
                results[_key(line["case"])] = line
            open_cases = {k for k, line in results.items() if retry_failed and line["status"] == "failed"}
            _run(
                function, {k: c for k, c in cases.items() if k not in results or k in open_cases}, results, executor, progress, file.append
            )
    return Sweep(list(grid), [results[key] for key in cases])


@made_by("sweep")
class Sweep(Sequence):
    """The rows of a sweep, in the order of its grid; made by `sweep`.

    A row is a dict: the values of the grid, the results of the function, and "case_status" ("done" or "failed"), "error" (text, or None)
    and "case_seconds".

    Attributes
    ----------
    columns : tuple of str
    failures : list of dict
        The rows of failed cases.
    """

    def __init__(self, names, lines):
        self.names = tuple(names)
        self._rows = [
            {**line["case"], **row, "case_status": line["status"], "error": line["error"], "case_seconds": line["seconds"]}
            for line in lines
            for row in line["rows"] or [{}]
        ]
        found = dict.fromkeys(name for row in self._rows for name in row if name not in OWN)
        self.columns = (*self.names, *(name for name in found if name not in self.names), *OWN)

    @property
    def failures(self) -> list[dict]:
        """The rows of the cases that failed, a list of dicts."""
        return [row for row in self._rows if row["case_status"] == "failed"]

    def __getitem__(self, index):
        return self._rows[index]

    def __len__(self):
        return len(self._rows)

    def _table(self):
        return {name: [row.get(name) for row in self._rows] for name in self.columns}

    def to_dataframe(self) -> Any:
        """A pandas DataFrame. ImportError if pandas is not installed."""
        return data_frame(self._table())

    def to_csv(self, path: Path) -> None:
        """Write the table to a file, which is replaced as a whole; a cell without a value is empty."""
        write_csv(path, self._table())

    def table(self) -> str:
        """The first and last rows as text, with as many of the grid's columns as a line can contain."""
        return text_table(*self._cells(), left=len(self.names))

    def _cells(self):
        """Return heads and rows of `table`."""
        always = (*self.names, "case_status", *(["error"] if self.failures else []))
        varying = [name for name in self.columns[len(self.names) : -len(OWN)] if len({repr(row.get(name)) for row in self._rows}) > 1]
        shown = [*self.names, *varying[: max(12 - len(always), 0)], *always[len(self.names) :]]
        kept = self._rows if len(self) <= 12 else [*self._rows[:6], None, *self._rows[-5:]]
        return shown, [["..." if row is None else _text(row.get(name)) for name in shown] for row in kept]

    def __repr__(self):
        return f"<{self._head()}>\n{self.table()}"

    def _repr_html_(self):
        return html_table(*self._cells(), left=len(self.names), caption=self._head())

    def _head(self):
        return f"Sweep: {counted(len(self), 'row')}, {len(self.failures)} failed"


# ---- cases -----------------------------------------------------------------------------------------------------------------------


def _cases(grid):
    """Return key -> (labels, arguments) of every case, in order."""
    import json

    if not isinstance(grid, Mapping) or not grid:
        raise TypeError(f"grid: expected a dict of name -> values, got {grid!r}")
    axes = []
    for name, values in grid.items():
        if not isinstance(name, str):
            raise TypeError(f"grid: expected names as keys, got {name!r}")
        if name in OWN:
            raise ValueError(f"grid: {name!r} is a column of the table; take another name")
        if isinstance(values, Mapping):
            pairs = list(values.items())
        elif isinstance(values, str) or not isinstance(values, Sequence | np.ndarray | range):
            raise TypeError(f"grid: expected a list of values or a dict of label -> value for {name!r}, got {values!r}")
        else:
            pairs = [(value, value) for value in values]
        if not pairs:
            raise ValueError(f"grid: no values for {name!r}")
        labels = [_scalar(f"grid: {name!r}", label, k) for k, (label, _) in enumerate(pairs)]
        seen = set()
        for k, label in enumerate(labels):
            if (key := json.dumps(label)) in seen:
                raise ValueError(f"grid: value {k} of {name!r}, {label!r}, occurs twice")
            seen.add(key)
        axes.append([(name, label, value) for label, (_, value) in zip(labels, pairs, strict=True)])
    cases = {}
    for combination in itertools.product(*axes):
        labels = {name: label for name, label, _ in combination}
        cases[_key(labels)] = (labels, {name: value for name, _, value in combination})
    return cases


def _scalar(where, value, k):
    """Return a value in the form of JSON, so that reading returns the written value."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise TypeError(f"{where}: value {k} has no form in a table: expected a number, text, True, False or None, got {value!r}")


def _key(labels):
    import json

    return json.dumps(labels, sort_keys=True)


def _name(function):
    """Return the name of a function, without bound arguments."""
    while hasattr(function, "func"):
        function = function.func
    return getattr(function, "__qualname__", type(function).__qualname__)


def _known(line, number, path):
    shape = {"error": str | None, "case": dict, "status": str, "rows": list, "seconds": float}
    if (
        not isinstance(line, dict)
        or any(not isinstance(line.get(name), kind) for name, kind in shape.items())
        or line["status"] not in STATUSES
    ):
        raise ValueError(f"path: line {number} of {path} is not a case of a sweep")


# ---- running ---------------------------------------------------------------------------------------------------------------------


def _run(function, cases, results, executor, progress, keep):
    """Run every case once; `keep` takes each line on completion."""
    bar = None
    if progress:
        from tqdm.auto import tqdm

        bar = tqdm(total=len(cases), unit="case")
    try:
        for key, line in _lines(function, cases, executor):
            keep(line)
            results[key] = line
            if bar is not None:
                bar.update(1)
    finally:
        if bar is not None:
            bar.close()


def _lines(function, cases, executor):
    import concurrent.futures
    import pickle

    if executor is None:
        for key, (labels, values) in cases.items():
            yield key, _call(function, labels, values)
        return
    futures = {}
    try:
        for key, (labels, values) in cases.items():
            futures[executor.submit(_call, function, labels, values)] = key
        for future in concurrent.futures.as_completed(list(futures)):
            key, error = futures[future], future.exception()
            if isinstance(error, concurrent.futures.BrokenExecutor | concurrent.futures.CancelledError):
                raise error
            if isinstance(error, pickle.PicklingError | AttributeError | TypeError):  # `_call` itself raises none of these
                raise TypeError(f"executor: the function, or the values of {key}, cannot be sent to it: {error}") from error
            del futures[future]
            # a case that ended a process of a surviving executor has failed as well
            yield key, (future.result() if error is None else _failed(cases[key][0], error, 0.0))
    except concurrent.futures.BrokenExecutor as error:
        raise RuntimeError(
            f"executor: it broke, {counted(len(futures), 'case is', 'cases are')} left: {error}; call sweep again to continue"
        ) from error
    finally:
        for future in futures:
            future.cancel()


def _call(function, labels, values):
    """Return the line of the file for one case, in any process."""
    start = time.perf_counter()
    try:
        rows = _rows_of(function(**values), labels)
    except Exception as error:
        return _failed(labels, error, time.perf_counter() - start)
    return {"case": labels, "status": "done", "error": None, "seconds": time.perf_counter() - start, "rows": rows}


def _failed(labels, error, seconds):
    return {"case": labels, "status": "failed", "error": f"{type(error).__name__}: {error}", "seconds": seconds, "rows": []}


def _rows_of(result, labels):
    """Return the rows of a function's result."""
    if isinstance(result, Comparison):
        # the columns of the grid keep their names from it
        return [_row({**summary(record), "solver": name, **labels}, labels) for name, record in result.records.items()]
    if isinstance(result, StepRecord):
        return [_row({**summary(result), **labels}, labels)]
    if isinstance(result, LinearResult):
        last = {"seconds": float(result.seconds[-1]), "residual_norm": float(result.residual_norm[-1]), "rate": result.rate}
        said = {"status": result.status, "at_rounding": result.at_rounding, "iterations": result.iterations}
        return [_row({**said, "setup_seconds": result.setup_seconds, **last, **labels}, labels)]
    if isinstance(result, Mapping):
        return [_row(result, labels)]
    if isinstance(result, list | tuple) and result and all(isinstance(row, Mapping) for row in result):
        return [_row(row, labels) for row in result]
    raise TypeError(
        f"function: expected a dict, a list of dicts, a Comparison, a StepRecord or a LinearResult to be returned, got "
        f"{type(result).__name__}"
    )


def _row(row, labels):
    import json

    result = {}
    for name, value in row.items():
        if not isinstance(name, str) or name in OWN:
            raise ValueError(f"function: returned a column {name!r}; take another name")
        value = _scalar(f"function: returned {name!r}", value, 0)
        if name not in labels:
            result[name] = value
        elif json.dumps(value) != json.dumps(labels[name]):
            raise ValueError(f"function: returned {name!r} = {value!r}, but the grid says {labels[name]!r}; take another name")
    return result


def _text(value):
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
