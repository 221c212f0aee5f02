"""rho="auto": the pre-simulation of Wang 2015, Section 5.1.

The first value is the ratio of the last two gradient norms of a plain run, "similar to how the power method estimates the spectral
radius". After that the paper tunes by hand: it runs again with other values, takes the one that converges fastest, and reduces rho where
oscillation is seen. Here that is a search over 1 - rho, halved while the result improves, doubled where it does not.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

# 1 - rho closer to 0 than this is rounding
SMALLEST_GAP = 1e-9
LARGEST_RHO = 1.0 - SMALLEST_GAP
# iterations of a run of the search: enough to tell one rho from another
LONGEST_RUN = 100


def search_iterations(iterations, start):
    """Iterations of a run of the search where the solver does so many and the extrapolation sets in at `start`."""
    return min(iterations, max(LONGEST_RUN, 2 * start))


def search(run, floor):
    """The rho with which a run gets down fastest.

    Parameters
    ----------
    run : callable
        run(None) runs without extrapolation, run(rho) with it; both return the gradient (or residual) norms of the iterates, the first
        guess included. A run that diverged ends with inf or NaN.
    floor : float
        Norms below floor x the first are rounding: what happens there is not looked at.

    Returns
    -------
    rho : float
        0, which is no extrapolation, where no run with one did better than the run without; a warning where none even held.
    trials : list of (rho, score)
        In the order they were run; score is the logarithm of the largest norm among the last tenth of the iterates, over the first,
        per iteration: a run that oscillates is judged by its crests. A run that reached the floor is judged by when it did.
    """
    trials = []

    def score(norms):
        first = norms[0]
        if not first > 0.0 or not np.isfinite(norms).all():
            return math.inf
        above = np.flatnonzero(norms > floor * first)
        if above[-1] + 1 < len(norms):
            return math.log(floor) / (above[-1] + 1)
        return math.log(float(np.max(norms[-max(2, len(norms) // 10) :])) / first) / max(len(norms) - 1, 1)

    def attempt(rho):
        trials.append((rho, score(np.asarray(run(rho), dtype=np.float64))))
        return trials[-1][1]

    def walk(gap, best, factor):
        """Multiply the gap by the factor while that improves; one miss is forgiven, and any number before the first run that holds."""
        misses, tried, found = 0, gap, gap
        while misses < 2 and SMALLEST_GAP <= tried * factor < 1.0:
            tried *= factor
            value = attempt(1.0 - tried)
            if value < best:
                best, found, misses = value, tried, 0
            else:
                misses += best < math.inf
        return found, best

    norms = np.asarray(run(None), dtype=np.float64)
    plain = score(norms)
    gap = min(max(1.0 - _ratio(norms, floor), SMALLEST_GAP), 0.99)
    best = attempt(1.0 - gap)
    found, lowest = walk(gap, best, 0.5) if best < math.inf else (gap, best)
    if found == gap:
        found, lowest = walk(gap, best, 2.0)
    if lowest < math.inf:
        for refined in (found * math.sqrt(2.0), found / math.sqrt(2.0)):
            if SMALLEST_GAP <= refined < 1.0:
                value = attempt(1.0 - refined)
                if value < lowest:
                    lowest, found = value, refined
    if lowest == math.inf:
        warnings.warn(
            f"rho='auto': every accelerated run diverged, rho {trials[-1][0]:.4g} to {trials[0][0]:.4g}; going on without acceleration",
            stacklevel=2,
        )
    return (0.0 if lowest == math.inf or plain < lowest else 1.0 - found), trials


def settle(rho, run, longest, floor):
    """The rho nearest to the one that runs of `longest` iterations found with which a run of full length holds.

    What a nonlinear iteration does with a rho too large may show only after many iterations: 1 - rho is doubled until the norms of the
    last tenth are no larger than those of the tenth before `longest`, or rounding. Parameters as for `search`.
    """
    while rho > 0.0:
        norms = np.asarray(run(rho), dtype=np.float64)
        crests = [np.max(part[-max(2, len(part) // 10) :]) for part in (norms[: longest + 1], norms)]
        if np.isfinite(norms).all() and crests[1] <= max(crests[0], floor * norms[0]):
            break
        rho = max(1.0 - 2.0 * (1.0 - rho), 0.0)
    return rho


def floor_of(dtype):
    """Below this a norm, relative to its first value, is rounding."""
    return 1e-10 if np.dtype(dtype) == np.float64 else 1e-4


def _ratio(norms, floor):
    """Ratio of the last two norms before rounding takes over; 1/2 where there is none, or the run does not converge."""
    usable = norms[np.isfinite(norms) & (norms > floor * norms[0])]
    if len(usable) < 2 or not np.isfinite(norms).all() or usable[-1] >= usable[-2]:
        return 0.5
    return float(min(max(usable[-1] / usable[-2], 0.01), LARGEST_RHO))
