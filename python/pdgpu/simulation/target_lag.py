"""The target lag: how far scripted pins and obstacles are from their targets, because contact holds them back."""

from __future__ import annotations

import numpy as np

__all__ = ["LATE_STEPS", "TargetLag", "describe_lag"]

LATE_STEPS = 3  # consecutive steps with a lag, after which a warning is due


class TargetLag:
    """Counts the consecutive steps with a target lag. A warning is due once, and again after everything has arrived."""

    def __init__(self):
        self._steps, self._said = 0, False

    def follow(self, behind):
        """Takes the lag at the end of a step, m. Returns whether a warning is due."""
        self._steps = self._steps + 1 if behind > 0.0 else 0
        self._said = self._said and behind > 0.0
        due = self._steps >= LATE_STEPS and not self._said
        self._said |= due
        return due


def describe_lag(core, targets, driven):
    """The bodies and obstacles that lag and touch something, and by how much, as text, the largest lag first.

    With more than 16 motions all share one length, so that a blocked one also holds back the others. Bodies and obstacles that touch
    nothing are therefore left out, unless nothing touches.

    Parameters
    ----------
    core : SimulationCore
        At the end of a step.
    targets : ndarray of shape (n, 3), or None
        Of the pinned vertices, m; None: no pin is scripted.
    driven : ndarray of shape (m, 3), or None
        Of the driven points, m; None: there are none.
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
