"""Convergence rate of a recorded iteration: the factor per iteration in its linear phase, with an interval."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from pdgpu._internal.made import made_by
from pdgpu._internal.text_tables import html_table, text_table

__all__ = ["Rate", "Rates", "fit_rate"]

# least number of rows of a piece of a curve; largest numbers of tested boundaries and of pieces
LEAST_ROWS = 4
PLACES = 150
MOST_PIECES = 4

# deviations from a straight line that count as straight, decades
EVEN = 1e-3

# A rate needs a phase of at least this many decades, whose halves differ in slope by at most this fraction of the slope, and an interval of
# at most this fraction on either side.
LEAST_DECADES = 1.0
LARGEST_BEND = 0.1
LARGEST_INTERVAL = 0.25


@made_by("StepRecord.rate and Comparison.rates")
@dataclass(frozen=True)
class Rate:
    """The factor per iteration of a column of a record in its linear phase.

    Attributes
    ----------
    value : float
        Factor per iteration; NaN for a record without a linear tail, see `reason`. The rate of a gradient norm or an error; a loss
        decreases by its square.
    low, high : float
        Confidence interval.
    first, last : int
        The iterations of the linear phase, or of the rejected phase.
    column : str
    confidence : float
    seconds_per_iteration : float
        In the linear phase.
    decades : float
        Decrease of the column from `first` to `last`.
    reason : str
        The reason for a missing value; empty with a value.
    """

    value: float
    low: float
    high: float
    first: int
    last: int
    column: str
    confidence: float
    seconds_per_iteration: float
    decades: float = math.nan
    reason: str = ""

    @property
    def iterations_per_digit(self) -> float:
        """Iterations for a factor of ten; infinite without a decrease."""
        if self.value == 0.0:
            return 0.0
        return -1.0 / math.log10(self.value) if self.value < 1.0 else (math.nan if math.isnan(self.value) else math.inf)

    @property
    def seconds_per_digit(self) -> float:
        """Seconds for a factor of ten."""
        return self.iterations_per_digit * self.seconds_per_iteration

    def __str__(self):
        where = f"{self.column}, iterations {self.first} to {self.last}, {self.decades:.3g} decades"
        if self.reason:
            return f"no rate: {self.reason} ({where})"
        return f"{self.value:.4f} per iteration [{self.low:.4f}, {self.high:.4f}], {where}"


class Rates(dict):
    """Name of a solver -> `Rate`; made by `Comparison.rates`. `repr` shows a table."""

    def __repr__(self):
        return f"<{self._head()}>\n{text_table(*self._cells())}"

    def _repr_html_(self):
        return html_table(*self._cells(), caption=self._head())

    def _head(self):
        return f"Rates of {len(self)}, {next(iter(self.values())).column if self else ''}"

    def _cells(self):
        """Return heads and rows of the table."""
        head = ("solver", "per iteration", "low", "high", "iterations", "decades", "its/digit", "ms/digit", "no rate because")
        rows = [
            (
                name,
                *(f"{value:.4f}" for value in (rate.value, rate.low, rate.high)),
                f"{rate.first} to {rate.last}",
                f"{rate.decades:.3g}",
                f"{rate.iterations_per_digit:.3g}",
                f"{1e3 * rate.seconds_per_digit:.3g}",
                rate.reason,
            )
            for name, rate in self.items()
        ]
        return head, rows


def fit_rate(iterations, values, column, seconds=None, confidence=0.95):
    """Return the rate of a curve; see `StepRecord.rate`."""
    iterations, values = np.asarray(iterations, dtype=np.float64), np.asarray(values, dtype=np.float64)
    good = np.isfinite(values) & (values > 0.0)
    begin = int(np.argmax(good)) if good.any() else len(good)
    rest = np.flatnonzero(~good[begin:])
    end = begin + int(rest[0]) if len(rest) else len(good)
    if end - begin < LEAST_ROWS:
        none = (math.nan, math.nan, math.nan, 0, 0, column, confidence, math.nan, math.nan)
        return Rate(*none, f"fewer than {LEAST_ROWS} rows are positive and finite")
    n = end - begin
    end = begin + _without_floor(np.log10(values[begin:end]))
    k, y = iterations[begin:end], np.log10(values[begin:end])
    low, high = _linear_phase(k, y, confidence)
    slope, half = _slope(k[low:high], y[low:high], confidence)
    per = math.nan
    if seconds is not None:
        t = np.asarray(seconds, dtype=np.float64)[begin:end]
        per = float((t[high - 1] - t[low]) / (k[high - 1] - k[low]))
    decades = float(y[low] - y[high - 1])
    if reason := _fault(k, y, low, high, (slope, half), confidence, len(y) < n):
        value = least = most = math.nan
    else:
        with np.errstate(over="ignore"):
            value, least, most = (float(np.power(10.0, s)) for s in (slope, slope - half, slope + half))
    return Rate(value, least, most, int(k[low]), int(k[high - 1]), column, confidence, per, decades, reason)


def _fault(k, y, low, high, fitted, confidence, cut):
    """Return the reason why the rows low to high - 1 are no linear tail, as text; empty if they are one.

    `fitted`: their slope and half the width of its interval. `cut`: the floor of rounding follows.
    """
    if _superlinear(y):
        return "superlinear: the factor falls from iteration to iteration"
    if len(y) - high >= LEAST_ROWS and not (_near_floor(y[high:]) if cut else _at_floor(y[high:])):
        return f"another phase begins at iteration {int(k[high])}; take more iterations"
    decades = abs(float(y[low] - y[high - 1]))
    if decades < LEAST_DECADES:
        return f"{decades:.2g} decades in the last phase, fewer than {LEAST_DECADES:g}; take more iterations"
    slope, half = fitted
    if high - low < 2 * LEAST_ROWS or not half <= LARGEST_INTERVAL * abs(slope):
        return f"the {high - low} rows of the last phase are too few or too uneven; take more iterations"
    middle = (low + high) // 2
    parts = [_slope(k[a:b], y[a:b], confidence) for a, b in ((low, middle), (middle, high))]
    difference = abs(parts[0][0] - parts[1][0])
    if difference > LARGEST_BEND * abs(slope) and difference > parts[0][1] + parts[1][1]:
        first, second = (10.0**part for part, _ in parts)
        return f"it bends: {first:.4f} per iteration in the first half, {second:.4f} in the second; take more iterations"
    return ""


def _without_floor(y):
    """Return the number of rows to use: a long floor of rounding, in decades, is cut to a quarter of the rows before it.

    The pieces of a curve have at least a twentieth of its rows, so a fast solver would have none above a long floor.
    """
    later = y[len(y) // 2 :]
    if len(later) < 2 * LEAST_ROWS or not _at_floor(later):
        return len(y)
    onset = int(np.argmax(y <= np.median(later) + 3.0 * np.std(later)))
    return min(len(y), onset + max(onset // 4, 2 * LEAST_ROWS))


def _near_floor(rest):
    return rest[0] - rest.min() <= 2.0


def _at_floor(rest):
    """Return whether rows, in decades, are the floor of rounding: close to its level, and in their second half constant up to noise."""
    later = rest[len(rest) // 2 :]
    k = np.arange(len(later), dtype=np.float64)
    fall = abs(float(np.polyfit(k, later, 1)[0])) * len(rest)
    return _near_floor(rest) and fall <= EVEN + 3.0 * float(np.std(_residuals(k, later)))


def _superlinear(y):
    """Return whether a factor below 0.01 follows one of at most half as many decades, as in Newton's method."""
    falls = -np.diff(y)
    steepest = int(np.argmax(falls))
    return bool(falls[steepest] > 2.0 and (falls[:steepest] < 0.5 * falls[steepest]).any())


def _linear_phase(k, y, confidence):
    """Return the half-open range of rows of the last straight piece that decreases.

    It must continue to decrease in its second half, and have a quarter of the rows of the longest such piece: at the bend of a curve into
    the floor of rounding, a short piece decreases too.
    """
    ends = _pieces(k, y)
    falling = []
    for low, high in itertools.pairwise(ends):
        later = min((low + high) // 2, high - LEAST_ROWS)
        parts = [_slope(k[begin:high], y[begin:high], confidence) for begin in (low, later)]
        if all(slope + half < 0.0 for slope, half in parts):
            falling.append((low, high))
    longest = max((high - low for low, high in falling), default=0)
    return next(((low, high) for low, high in reversed(falling) if 4 * (high - low) >= longest), (ends[-2], ends[-1]))


def _pieces(k, y):
    """Return ends of the straight pieces, at most MOST_PIECES, that describe y best [Schwarz 1978, the information criterion]."""
    n = len(y)
    least = max(LEAST_ROWS, n // 20)
    inner = np.linspace(least, n - least, min(PLACES, max(n - 2 * least + 1, 0))) if n >= 2 * least else []
    places = np.unique(np.concatenate([[0], inner, [n]]).astype(np.int64))
    x, y = k - k.mean(), y - y.mean()
    sums = [np.concatenate([[0.0], np.cumsum(part)])[places] for part in (x, y, x * x, x * y, y * y)]
    count, sx, sy, sxx, sxy, syy = (part[None, :] - part[:, None] for part in (places, *sums))
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = syy - sy * sy / count - (sxy - sx * sy / count) ** 2 / (sxx - sx * sx / count)
    # about the line through the rows between two boundaries
    squares = np.where(count >= least, np.maximum(squares, 0.0), np.inf)

    last = len(places) - 1
    reached, came_from, ways = squares[0], [np.zeros(last + 1, dtype=np.int64)], []
    for pieces in range(1, MOST_PIECES + 1):
        if np.isfinite(reached[last]):
            ways.append((pieces, float(reached[last]), _places(came_from, pieces, last)))
        through = reached[:, None] + squares
        came_from.append(through.argmin(axis=0))
        reached = through.min(axis=0)
    ways = [(pieces, left, [int(places[at]) for at in ends]) for pieces, left, ends in ways]
    # each bend must explain more than correlated residuals produce by chance
    memory = _memory(np.concatenate([_residuals(x[a:b], y[a:b]) for a, b in itertools.pairwise(ways[-1][2])]))
    price = np.log(n) * (1.0 + memory) / (1.0 - memory)
    return min((n * np.log(left / n + EVEN**2) + (3 * pieces - 1) * price, ends) for pieces, left, ends in ways)[1]


def _places(came_from, pieces, last):
    """Return the ends of the best pieces up to the last boundary, as indices of boundaries."""
    ends = [last]
    for k in range(pieces - 1, -1, -1):
        ends.insert(0, int(came_from[k][ends[0]]))
    return ends


def _residuals(x, y):
    x, y = x - x.mean(), y - y.mean()
    return y - x * (float(x @ y) / float(x @ x))


def _memory(rest):
    """Return the correlation of neighbouring residuals, corrected for its bias in short series [Kendall 1954], between 0 and 0.95."""
    squares = float(rest @ rest)
    r = float(rest[1:] @ rest[:-1]) / squares if squares > 0.0 else 0.0
    return min(max(r + (1.0 + 4.0 * r) / len(rest), 0.0), 0.95)


def _slope(k, y, confidence):
    """Return the least-squares slope and half the width of its interval.

    Residuals of a curve are correlated, so n rows count as fewer: with the correlation r of neighbours as n (1 - r)/(1 + r) [Bartlett
    1935].
    """
    import scipy

    n = len(y)
    x = k - k.mean()
    across = float(x @ x)
    rest = _residuals(x, y)
    r = _memory(rest)
    freedom = max(n * (1.0 - r) / (1.0 + r) - 2.0, 1.0)
    error = math.sqrt(float(rest @ rest) / (n - 2) / across * (1.0 + r) / (1.0 - r))
    return float(x @ y) / across, float(scipy.special.stdtrit(freedom, 0.5 + 0.5 * confidence)) * error
