"""rho="auto": the pre-simulation of Wang 2015, Section 5.1.

The first value is the ratio of the last two gradient norms of a plain run, "similar to how the power method estimates the spectral
radius". After that the paper tunes by hand: it runs again with other values, takes the one that converges fastest, and reduces rho where
oscillation is seen. Here that is a search over 1 - rho, halved while the result improves, doubled where it does not.
"""

from __future__ import annotations

import math

import numpy as np

# 1 - rho closer to 0 than this is rounding
SMALLEST_GAP = 1e-9
LARGEST_RHO = 1.0 - SMALLEST_GAP


def search(run):
    """The rho with which a run ends at the smallest norm.

    Parameters
    ----------
    run : callable
        run(None) runs without extrapolation, run(rho) with it; both return the gradient (or residual) norms of the iterates, the first
        guess included. A run that diverged ends with inf or NaN.

    Returns
    -------
    rho : float
    trials : list of (rho, score)
        In the order they were run; score is the logarithm of the largest norm among the last tenth of the iterates, over the first,
        per iteration: a run that oscillates is judged by its crests.
    """
    norms = np.asarray(run(None), dtype=np.float64)
    rho = _ratio(norms)
    trials = []

    def score(value):
        tail = np.asarray(run(value), dtype=np.float64)
        first, steps = tail[0], max(len(tail) - 1, 1)
        tail = tail[-max(2, len(tail) // 10) :]
        worst = float(np.max(tail)) / first if np.isfinite(tail).all() and first > 0.0 else math.inf
        trials.append((value, math.log(worst) / steps if 0.0 < worst < math.inf else (-math.inf if worst == 0.0 else math.inf)))
        return trials[-1][1]

    def walk(gap, best, factor):
        """Multiply the gap by the factor while that improves; one miss is forgiven."""
        misses, tried, found = 0, gap, gap
        while misses < 2 and SMALLEST_GAP <= tried * factor < 1.0:
            tried *= factor
            value = score(1.0 - tried)
            if value < best:
                best, found, misses = value, tried, 0
            else:
                misses += 1
        return found, best

    gap = min(max(1.0 - rho, SMALLEST_GAP), 0.99)
    best = score(1.0 - gap)
    found, lower = walk(gap, best, 0.5)
    if found == gap:
        found, lower = walk(gap, best, 2.0)
    for refined in (found * math.sqrt(2.0), found / math.sqrt(2.0)):
        if SMALLEST_GAP <= refined < 1.0:
            value = score(1.0 - refined)
            if value < lower:
                lower, found = value, refined
    return 1.0 - found, trials


def _ratio(norms):
    """Ratio of the last two norms before rounding takes over."""
    usable = norms[np.isfinite(norms) & (norms > 1e-12 * norms[0])]
    if len(usable) < 2:
        return 0.5
    return float(min(max(usable[-1] / usable[-2], 0.01), LARGEST_RHO))
