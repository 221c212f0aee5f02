"""The target lag: the distance of scripted pins and obstacles from their targets, held back by contact."""

from __future__ import annotations

import numpy as np

__all__ = ["LATE_STEPS", "TargetLag", "describe_lag"]

LATE_STEPS = 3  # consecutive steps with a lag, after which a warning is due


class TargetLag:
    """A counter of the consecutive steps with a target lag. A warning is due once, and again after all have arrived."""

    def __init__(self):
        self._steps, self._said = 0, False

    def follow(self, behind):
        """Add the lag at the end of a step, m. Returns whether a warning is due."""
        self._steps = self._steps + 1 if behind > 0.0 else 0
        self._said = self._said and behind > 0.0
        due = self._steps >= LATE_STEPS and not self._said
        self._said |= due
        return due


def describe_lag(core, targets, driven):
    """Return a text on the lagging bodies and obstacles in contact, with their lags, the largest first.

    With more than 16 motions all share one length, so that a blocked one also holds back the others. Bodies and obstacles without contact
    are therefore omitted, unless none is in contact.

    Parameters
    ----------
    core : SimulationCore
        At the end of a step.
    targets : ndarray of shape (n, 3), or None
        Of the pinned vertices, m; None: no pin has a motion.
    driven : ndarray of shape (m, 3), or None
        Of the prescribed points, m; None: there are none.
    """
    lags = {}
    if driven is not None:
        touching = core.touching
        distances = np.linalg.norm(driven.astype(np.float64) - core.backend.driven(), axis=1)
        for owner in np.unique(touching.owner[touching.n_moving :]):
            lags[touching.names[owner]] = float(distances[touching.owner[touching.n_moving :] == owner].max())
    if targets is not None:
        distances = np.linalg.norm(core.cast_positions(targets).astype(np.float64) - core.backend.positions(), axis=1)
        for body, indices, _ in core.motions:
            lag = float(distances[body.slice.start + indices].max())
            lags[body.name] = max(lag, lags.get(body.name, 0.0))
    lags = {name: lag for name, lag in lags.items() if lag > 0.0}
    touching = _touching_names(core)
    blocked = {name: lag for name, lag in lags.items() if name in touching} or lags
    named = sorted(((lag, name) for name, lag in blocked.items()), key=lambda entry: (-entry[0], entry[1]))
    return ", ".join(f"{name!r} is {lag:.3g} m behind its target" for lag, name in named)


def _touching_names(core):
    """Bodies and obstacles with a pair that acts."""
    scene = core.touching
    if scene is None:  # tets that must not invert hold pins back
        return set()
    columns = core.backend.contact_columns()
    acts = columns["distance"] < columns["separation"] + columns["activation"]
    points = columns["vertices"][acts]
    return {scene.names[owner] for owner in np.unique(scene.owner[points[points >= 0]])}
