"""Prescribed motions that scene files describe. They are picklable functions of the time and the positions at rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["Frames", "OfRows", "Rotating", "Sliding", "Stepped", "Turn", "about_axis", "about_direction", "centre_of_box", "of_angles"]

EARLY = 1e-9  # of a step: a time that rounding puts this much before the end of a step is its end


def about_axis(axis: int, angle: float) -> Floats:
    """The rotation about a coordinate axis, (3, 3); the angle in rad."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turn = np.eye(3)
    turn[i, i] = turn[j, j] = np.cos(angle)
    turn[j, i] = np.sin(angle)
    turn[i, j] = -turn[j, i]
    return turn


def about_direction(direction: Any, angle: float) -> Floats:
    """The rotation about a direction of any length but 0, (3, 3); the angle in rad [Rodrigues 1840]."""
    x, y, z = direction / np.linalg.norm(direction)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross


def of_angles(angles: Any) -> Floats:
    """Rx Ry Rz, (3, 3), of three angles in rad."""
    return about_axis(0, angles[0]) @ about_axis(1, angles[1]) @ about_axis(2, angles[2])


def centre_of_box(points: Floats) -> Floats:
    """The centre of the bounding box, (3,) m."""
    return 0.5 * (points.max(axis=0) + points.min(axis=0))


@dataclass(frozen=True, eq=False)
class Rotating:
    """A rotation about a coordinate axis through a centre at a constant speed, and a constant velocity."""

    axis: int
    speed: float  # rad/s
    centre: Floats
    velocity: Floats

    def __call__(self, time: float, rest: Floats) -> Floats:
        return (rest - self.centre) @ about_axis(self.axis, self.speed * time).T + self.centre + self.velocity * time


@dataclass(frozen=True, eq=False)
class Sliding:
    """A constant velocity during the seconds that a table has for the end of each step: all of them, or up to a stop."""

    velocity: Floats
    dt: float
    seconds: Floats | None = None  # (steps + 1,); None: it never stops

    def __call__(self, time: float, rest: Floats) -> Floats:
        if self.seconds is not None:
            time = float(np.interp(time, self.dt * np.arange(len(self.seconds)), self.seconds))
        return rest + self.velocity * time


@dataclass(frozen=True, eq=False)
class OfRows:
    """Some rows of a motion that needs all points, such as those inside a solid."""

    motion: Any
    points: Floats  # all of them at rest
    rows: Any

    def __call__(self, time: float, rest: Floats) -> Floats:
        return self.motion(time, self.points)[self.rows]


@dataclass(frozen=True, eq=False)
class Turn:
    """Vertices that rotate about the centre of their own bounding box and move on, while a time range lasts."""

    vertices: Any  # rows of the moved points, or slice(None)
    linear: Floats  # m/s
    angular: Floats  # rad/s
    begin: float = 0.0
    end: float = np.inf

    def displacement(self, points: Floats, start: float, dt: float) -> Floats | None:
        """Of its vertices in a step, m; None outside its time range."""
        if not self.begin <= start < self.end:
            return None
        own = points[self.vertices]
        centre = centre_of_box(own)
        return (own - centre) @ of_angles(self.angular * dt).T + centre + self.linear * dt - own


@dataclass(eq=False)
class Stepped:
    """A motion that IPC defines step by step: each step moves the positions at its start.

    The box about rotated points is another one, and so is its centre. So the motion has no closed form. At times within a step, the step
    is shorter.
    """

    turns: tuple[Turn, ...]
    dt: float
    _last: Any = field(default=None, repr=False)  # (steps, rest, positions) of the last call

    def __getstate__(self):
        return {"turns": self.turns, "dt": self.dt, "_last": None}

    def _advance(self, points, start, dt):
        moved = points.copy()
        for turn in self.turns:
            if (change := turn.displacement(points, start, dt)) is not None:
                moved[turn.vertices] += change
        return moved

    def __call__(self, time: float, rest: Floats) -> Floats:
        whole = max(int(np.floor(time / self.dt + EARLY)), 0)
        done, points = 0, np.array(rest, dtype=np.float64)
        if self._last is not None and self._last[0] <= whole and np.array_equal(self._last[1], rest):
            done, points = self._last[0], self._last[2]
        for k in range(done, whole):
            points = self._advance(points, k * self.dt, self.dt)
        self._last = (whole, np.array(rest, dtype=np.float64), points)
        left = time - whole * self.dt
        return self._advance(points, whole * self.dt, left) if left > EARLY * self.dt else points.copy()


@dataclass(frozen=True, eq=False)
class Frames:
    """Positions from a sequence of meshes at a constant rate, linear in time between two of them."""

    positions: Floats  # (frames, n, 3) m
    interval: float  # s
    delay: float = 0.0  # s: the time of the first frame

    def __call__(self, time: float, rest: Floats) -> Floats:
        at = min(max((time - self.delay) / self.interval, 0.0), len(self.positions) - 1.0)
        k = min(int(at), len(self.positions) - 1)
        share = at - k
        if share <= EARLY or k + 1 == len(self.positions):
            return self.positions[k]
        return (1.0 - share) * self.positions[k] + share * self.positions[k + 1]
