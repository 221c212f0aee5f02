"""rho="auto": the pre-simulation of [Wang 2015, Section 5.1].

The first value is the ratio of the last two gradient norms of a plain run, "similar to how the power method estimates the spectral radius".
Then the paper tunes by hand: it tries other values, keeps the one with the fastest convergence, and reduces rho after oscillations. Here a
search over 1 - rho replaces this: 1 - rho is halved while the result improves, and doubled otherwise.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

# a smaller 1 - rho is rounding
SMALLEST_GAP = 1e-9
LARGEST_RHO = 1.0 - SMALLEST_GAP
# iterations of a run of the search: sufficient to compare two values of rho
LONGEST_RUN = 100


def search_iterations(iterations, start):
    """Return the iterations of a run of the search, for a solver with a given number and an extrapolation from iteration `start`."""
    return min(iterations, max(LONGEST_RUN, 2 * start))


def search(run, floor):
    """Search for the rho with the fastest convergence of a run.

    Parameters
    ----------
    run : callable
        run(None) runs without extrapolation, run(rho) with it; both return the gradient (or residual) norms of the iterates, the first
        guess included. A run that diverged ends with inf or NaN.
    floor : float
        Norms below floor x the first are rounding, and are ignored.

    Returns
    -------
    rho : float
        0, for no extrapolation, if no run with one converged faster than the run without; with a warning if all of them diverged.
    trials : list of (rho, score)
        In the order of the runs. score is the logarithm per iteration of the largest norm among the last tenth of the iterates over the
        first norm: an oscillating run gets the score of its maxima. For a run that reached the floor, the iteration of that counts.
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
        """Multiply 1 - rho by the factor while this improves the score. One failure is accepted, and any number before the first run that
        converges.
        """
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
            f"rho='auto': every accelerated run diverged, rho {trials[-1][0]:.4g} to {trials[0][0]:.4g}; continuing without acceleration",
            stacklevel=2,
        )
    return (0.0 if lowest == math.inf or plain < lowest else 1.0 - found), trials


def settle(rho, run, longest, floor):
    """Return a rho close to the given one with which a run of full length converges.

    A nonlinear iteration may show too large a rho only after many iterations. So 1 - rho is doubled until the norms of the last tenth are
    at most those of the tenth before iteration `longest`, or rounding. Parameters as for `search`.
    """
    while rho > 0.0:
        norms = np.asarray(run(rho), dtype=np.float64)
        crests = [np.max(part[-max(2, len(part) // 10) :]) for part in (norms[: longest + 1], norms)]
        if np.isfinite(norms).all() and crests[1] <= max(crests[0], floor * norms[0]):
            break
        rho = max(1.0 - 2.0 * (1.0 - rho), 0.0)
    return rho


def floor_of(dtype):
    """Return the norm relative to its first value below which it is rounding."""
    return 1e-10 if np.dtype(dtype) == np.float64 else 1e-4


def _ratio(norms, floor):
    """Return the ratio of the last two norms above rounding; 1/2 without two of them, or for a run that does not converge."""
    usable = norms[np.isfinite(norms) & (norms > floor * norms[0])]
    if len(usable) < 2 or not np.isfinite(norms).all() or usable[-1] >= usable[-2]:
        return 0.5
    return float(min(max(usable[-1] / usable[-2], 0.01), LARGEST_RHO))
