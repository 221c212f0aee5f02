"""Performance and data profiles of several solvers over several problems."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import choice, flag, number
from pdgpu._internal.atomic_files import replacing
from pdgpu._internal.counted import counted
from pdgpu._internal.counts import MEASURES, check_measure, cost_of_reaching
from pdgpu._internal.made import made_by
from pdgpu._internal.text_tables import html_table, text_table
from pdgpu.results.tables import data_frame
from pdgpu.study.comparison import LEVEL_COLUMNS, Comparison
from pdgpu.viz.paper_figures import TEXT_AS_TEXT, load_pyplot
from pdgpu.viz.profile_plotting import plot_profile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pdgpu.types import Path

__all__ = ["Profile", "profile"]

KINDS = ("performance", "data")


@made_by("profile")
class Profile:
    """The fraction of problems that each solver solves, within a factor of the cheapest solver or within a budget; made by `profile`.

    Attributes
    ----------
    kind : "performance" or "data"
    measure, column, tolerance
        The arguments of `profile`.
    solvers : tuple of str
    problems : tuple
        The labels of a concatenation, or 0, 1, ..
    costs : ndarray, shape (problems, solvers)
        t_ps: the cost of the solver up to the tolerance; NaN: never reached.
    values : ndarray, shape (problems, solvers)
        The values of the axis, infinite if the solver never reached the tolerance. "performance": the ratio r_ps = t_ps / min_s t_ps, 1 if
        both are 0. "data": the cost, or with `per_variable` the cost divided by n_p + 1.
    failures : dict
        Solver -> number of problems in which it never reached the tolerance.
    """

    def __init__(self, costs, values, *, solvers, problems, kind, measure, column, tolerance, per_variable):
        if not isinstance(solvers, list) or getattr(costs, "shape", None) != (len(problems), len(solvers)):
            raise TypeError("Profile: made by profile, not by a call of the class")
        self.costs, self.values = costs, values
        self.solvers, self.problems = tuple(solvers), tuple(problems)
        self.kind, self.measure, self.column, self.tolerance = kind, measure, column, tolerance
        self.per_variable = per_variable
        self.failures = {name: int(np.isnan(costs[:, s]).sum()) for s, name in enumerate(solvers)}

    def share(self, solver: str, at: float) -> float:
        """The fraction of problems that a solver has solved at this ratio or budget, from 0 to 1.

        Parameters
        ----------
        solver : str
        at : float
            A ratio of a performance profile, or a budget of a data profile.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            A solver that is not in the profile, or a number that is NaN.
        """
        choice("solver", solver, self.solvers)
        return float((self.values[:, self.solvers.index(solver)] <= number("at", at)).mean())

    def steps(self, solver: str) -> tuple[np.ndarray, np.ndarray]:
        """The steps of the curve of a solver, ascending, and the fraction of problems from each step on: two arrays of one length, without
        the failures.
        """
        choice("solver", solver, self.solvers)
        values = self.values[:, self.solvers.index(solver)]
        places, times = np.unique(values[np.isfinite(values)], return_counts=True)
        return places, np.cumsum(times) / len(values)

    def to_dataframe(self) -> Any:
        """A pandas DataFrame, a row for every problem and solver.

        Columns: "problem", "solver", "cost" (NaN: never), and the "ratio" of a performance profile or the "budget" of a data profile
        (infinite: never).

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        n, m = self.costs.shape
        return data_frame(
            {
                "problem": [problem for problem in self.problems for _ in range(m)],
                "solver": list(self.solvers) * n,
                "cost": self.costs.ravel(),
                "ratio" if self.kind == "performance" else "budget": self.values.ravel(),
            }
        )

    def plot(self, *, axes: Any = None, size: tuple[float, float] = (3.4, 2.7), legend: bool = True) -> Any:
        """Draw the curves as steps, with a logarithmic axis: to base 2 for a performance profile, to base 10 for a data profile.

        Each curve ends at the right at the fraction of problems that its solver solves. Dashes and markers differ, for prints in grey.

        Parameters
        ----------
        axes : matplotlib axes, optional
        size : (width, height)
            Of a new figure, inches; by default a column of a paper. Text has 8 points.
        legend : bool

        Returns
        -------
        matplotlib axes, whose `figure` writes PNG, PDF and SVG
        """
        return plot_profile(self, axes, size, flag("legend", legend))

    def save(self, path: Path, *, size: tuple[float, float] = (3.4, 2.7)) -> None:
        """Write the figure of `plot` to a file, which is replaced as a whole: .pdf and .svg, with text as text, or .png with 300 dots per
        inch.
        """
        plt = load_pyplot()
        figure = self.plot(size=size).figure
        try:
            with replacing(path) as unfinished, plt.rc_context(TEXT_AS_TEXT):
                figure.savefig(unfinished, dpi=300)
        finally:
            plt.close(figure)

    def table(self) -> str:
        """A row for each solver, as text: problems in which it is the cheapest (or as cheap), problems solved, failures, and the median of
        the axis, infinite for a solver that fails in half of them.
        """
        return text_table(*self._cells())

    def _cells(self):
        best = np.nanmin(np.where(np.isnan(self.costs), np.inf, self.costs), axis=1)
        rows = []
        for s, name in enumerate(self.solvers):
            cheapest = int((self.costs[:, s] == best).sum())
            median = np.quantile(self.values[:, s], 0.5, method="higher")
            rows.append((name, str(cheapest), str(len(best) - self.failures[name]), str(self.failures[name]), f"{median:.3g}"))
        axis = "median ratio" if self.kind == "performance" else "median budget"
        return ("solver", "cheapest", "solved", "failed", axis), rows

    def _head(self):
        return (
            f"Profile ({self.kind}): {self.measure} to a {self.column.replace('_', ' ')} of {self.tolerance:g}, "
            f"{counted(len(self.problems), 'problem')}"
        )

    def __repr__(self):
        return f"<{self._head()}>\n{self.table()}"

    def _repr_html_(self):
        return html_table(*self._cells(), caption=self._head())


def profile(
    comparisons: Comparison | Sequence[Comparison],
    measure: str = "seconds",
    tolerance: float = 1e-4,
    kind: str = "performance",
    *,
    column: str = "relative_loss",
    solvers: Sequence[str] | None = None,
    per_variable: bool = False,
) -> Profile:
    """Performance or data profile: the number of problems that each solver solves, by cost.

    t_ps is the cost of solver s on problem p up to the first recorded row with `column` at most `tolerance`.

    - A performance profile is rho_s(tau), the share of problems with t_ps <= tau min_s t_ps [Dolan and Moré 2002, Sec. 2].
    - A data profile is d_s(alpha), the share of problems with t_ps <= alpha. With `per_variable` it is t_ps / (n_p + 1) <= alpha [Moré and
      Wild 2009, Sec. 2.2], with n_p three times the number of free vertices.

    A solver that never reaches the tolerance fails, and so does one that is missing in a comparison because of an error. Its cost is
    infinite, and the problem counts. A problem that no solver solves counts, too.

    The order of two curves of a performance profile may depend on the other solvers [Gould and Scott 2016]: compare two solvers with
    ``solvers=["A", "B"]``.

    Parameters
    ----------
    comparisons : Comparison or sequence of Comparison
        A comparison is a problem, and so is each part of a concatenation.
    measure : str
        As for `Comparison.to_reach`: "seconds", "total_seconds", "iterations", or a count of work such as "products".
    tolerance : float
        Positive.
    kind : "performance" or "data"
    column : str
        "relative_loss", "relative_error" or "gradient_norm" (N).
    solvers : sequence of str, optional
        The solvers in the profile, at least two for a performance profile; by default all.
    per_variable : bool
        For a data profile: divide costs by n_p + 1.

    Returns
    -------
    Profile

    Raises
    ------
    TypeError, ValueError
        Invalid arguments; comparisons without a reference; records of an earlier version without counts.
    """
    choice("kind", kind, KINDS)
    choice("measure", measure, MEASURES)
    choice("column", column, LEVEL_COLUMNS)
    tolerance, per_variable = number("tolerance", tolerance, above=0.0), flag("per_variable", per_variable)
    if per_variable and kind != "data":
        raise ValueError("per_variable: only for kind='data'; ratios do not depend on the number of variables")
    problems, labels = _problems_of(comparisons)
    names = _solvers_of(problems, solvers)
    costs = np.full((len(problems), len(names)), np.nan)
    variables = np.zeros(len(problems))
    for p, records in enumerate(problems):
        check_measure(records, measure)
        for s, name in enumerate(names):
            if name not in records:
                continue
            if column not in records[name]:
                raise ValueError(
                    f"column: {name!r} in problem {labels[p]!r} has no {column!r}; compare with a reference, or take column='gradient_norm'"
                )
            costs[p, s] = cost_of_reaching(records[name], column, tolerance, measure)
        numbers = next(iter(records.values())).numbers
        variables[p] = 3 * (numbers.get("vertices", 0) - numbers.get("pinned", 0))
    values = _ratios(costs) if kind == "performance" else np.where(np.isnan(costs), np.inf, costs)
    if per_variable:
        values = values / (variables[:, np.newaxis] + 1.0)
    said = {"kind": kind, "measure": measure, "column": column, "tolerance": tolerance, "per_variable": per_variable}
    return Profile(costs, values, solvers=names, problems=labels, **said)


def _problems_of(comparisons):
    """Return name -> record of every problem, and the labels of the problems."""
    given = [comparisons] if isinstance(comparisons, Comparison) else comparisons
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"comparisons: expected a Comparison or several, got {given!r}")
    problems, labels = [], []
    for k, each in enumerate(given):
        if not isinstance(each, Comparison):
            raise TypeError(f"comparisons: expected a Comparison at {k}, got {each!r}")
        if not len(each):
            raise ValueError(f"comparisons: the one at {k} has no records")
        parts = getattr(each, "_parts", None)
        if not parts:
            problems.append(dict(each.records))
            labels.append(k)
            continue
        of_label = {}
        for key, record in each.records.items():
            name, label = parts[key]
            of_label.setdefault(label, {})[name] = record
        problems += of_label.values()
        labels += of_label
    if not problems:
        raise ValueError("comparisons: expected one or more, got none")
    if len(set(map(str, labels))) < len(labels):
        labels = list(range(len(problems)))
    return problems, labels


def _solvers_of(problems, solvers):
    """Return the names of the solvers, in the order of their first occurrence."""
    there = list(dict.fromkeys(name for records in problems for name in records))
    if solvers is None:
        return there
    if isinstance(solvers, str) or not isinstance(solvers, Iterable):
        raise TypeError(f"solvers: expected a sequence of names, got {solvers!r}")
    solvers = list(solvers)
    for k, name in enumerate(solvers):
        if name not in there:
            raise ValueError(f"solvers: {name!r} at {k} is in no comparison; there is {', '.join(there)}")
    if not solvers or len(set(solvers)) < len(solvers):
        raise ValueError(f"solvers: expected one or more different names, got {solvers!r}")
    return solvers


def _ratios(costs):
    """Return r_ps, infinite for a failure. If the best cost is 0, for a start at the solution, its ratio is 1, and other ratios are
    infinite.
    """
    costs = np.where(np.isnan(costs), np.inf, costs)
    best = costs.min(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = costs / best
    return np.where(np.isfinite(costs), np.where(costs == best, 1.0, ratios), np.inf)
