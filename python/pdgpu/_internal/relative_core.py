"""The core of a simulation far from the coordinate origin: its positions are relative to an origin of the scene.

A coordinate of 10 km has a spacing of 1 mm in float32. Relative to an origin close to the scene it has that of the scene's size. The origin
is a multiple of 1024 m, so that adding and subtracting it in float64 is exact for every float32 coordinate of the scene.
"""

from __future__ import annotations

import numpy as np

__all__ = ["RelativeCore", "moved_origin", "relative_elements", "relative_frame"]

SPACING = 1024.0  # m, of the possible origins
LARGEST = 1e12  # m, of an origin; beyond it float64 itself has a spacing of 0.1 mm
FARTHEST = 640.0  # m, from the origin to the middle of the scene along an axis; more than half of SPACING, so that it does not alternate
ABSOLUTE_REST = ("attachment", "world_slide")  # kinds of elements whose target is a position


def moved_origin(points, origin):
    """Return the origin (3,) m for points (n, 3): the given one while it is close, else the multiple of SPACING closest to their middle."""
    if not len(points) or not np.isfinite(points).all():
        return origin
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    if (np.abs(middle - origin) <= FARTHEST).all() or not (np.abs(middle) <= LARGEST).all():
        return origin
    return SPACING * np.round(middle / SPACING)


def relative_elements(kind, group, origin):
    """Return (vertices, rest, parameters, damping) of the elements of a kind, with targets and walls relative to an origin (3,) m."""
    if not origin.any():
        return group
    vertices, rest, parameters, damping = group
    if kind in ABSOLUTE_REST:
        rest = (rest.reshape(-1, 3) - origin).reshape(rest.shape)
    if kind == "world_box":  # stiffness, lower corner, upper corner
        parameters = parameters - np.concatenate([[0.0], origin, origin])
    return vertices, rest, parameters, damping


def relative_frame(placed, origin):
    """Return the core's description of a collider (shape, frame (4, 3), ...), whose frame ends with its position; None stays None."""
    if placed is None or not origin.any():
        return placed
    shape, frame, *others = placed
    return (shape, frame - np.concatenate([np.zeros((3, 3)), origin[None]]), *others)


class RelativeCore:
    """The `Simulation` of a backend module with absolute positions, float64.

    Every other method is that of the core. `device_positions` stays relative.

    Parameters
    ----------
    core : Simulation of a backend module
    origin : ndarray, shape (3,)
        m.
    dtype : dtype
        Of the core.
    shifts : ndarray, shape (m, 3)
        m, of the points of contact, from `ContactScene.shifts`; empty without contact.
    """

    def __init__(self, core, origin, dtype, shifts):
        self.core, self._origin, self._dtype, self._shifts = core, origin, dtype, shifts

    def __getattr__(self, name):
        return getattr(self.core, name)

    def _relative(self, x, by=None):
        if x is None:
            return None
        return np.ascontiguousarray(np.asarray(x, np.float64) - (self._origin if by is None else by), self._dtype)

    def positions(self):
        return self.core.positions() + self._origin

    def state(self):
        state = self.core.state()
        return state | {"positions": state["positions"] + self._origin}

    def set_state(self, positions, velocities, previous_velocities, slopes=None, rates=None):
        self.core.set_state(self._relative(positions), velocities, previous_velocities, slopes, rates)

    def driven(self):
        driven = self.core.driven()
        return driven + self._shifts[len(self._shifts) - len(driven) :]

    def set_driven(self, positions, targets):
        by = self._shifts[len(self._shifts) - len(self.core.driven()) :]
        self.core.set_driven(self._relative(positions, by), self._relative(targets, by))

    def step(self, targets, rows, iterates, observer, keep_diverged, guess=None, chosen=None, functions=None):
        """Solve a step. `iterates` are filled with positions relative to the origin; `functions` query `core`."""
        return self.core.step(self._relative(targets), rows, iterates, observer, keep_diverged, self._relative(guess), chosen, functions)

    def energies(self, x, ahead):
        return self.core.energies(self._relative(x), ahead)

    def gradient(self, x):
        return self.core.gradient(self._relative(x))

    def hessian(self, x, psd, of_bodies):
        return self.core.hessian(self._relative(x), psd, of_bodies)

    def find_pairs_at(self, x):
        self.core.find_pairs_at(self._relative(x))

    def contact_row(self, x, first):
        return self.core.contact_row(self._relative(x), first)

    def set_attachments(self, first, targets):
        self.core.set_attachments(first, self._relative(targets))

    def set_proxy_colliders(self, placed):
        self.core.set_proxy_colliders([relative_frame(each, self._origin) for each in placed])

    def proxy_columns(self):
        columns = self.core.proxy_columns()
        return columns | {name: columns[name] + self._origin for name in ("points", "targets")}

    def projective_columns(self):
        columns = self.core.projective_columns()
        return columns | {"begun": columns["begun"] + self._shifts}
