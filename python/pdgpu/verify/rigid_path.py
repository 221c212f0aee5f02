"""The paths of rigid bodies between two frames, in pieces short enough to count as straight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu.scene.rigid_bodies import RigidBody, pose_of
from pdgpu.verify.verifier_shapes import PlacedShapes

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["RigidPath"]

MOST_PIECES = 64
STRAIGHT = 1e-14  # of its extent: the deviation of a path from its chord by rounding


class RigidPath:
    """The paths of the rigid bodies of a scene from one frame to the next, as in the step limiter (dynamics/rigid/rigid_path.c).

    The centre, or the pivot, moves straight, while the body rotates evenly about the axis of the smallest rotation to the next frame. All
    other points move straight, and so do bodies that are held as a whole, with their pins.
    """

    def __init__(self, scene: Any, verifier: Any) -> None:
        self._bodies = [body for body in scene.bodies if isinstance(body, RigidBody) and body.collides and body.hinges() is not None]
        self._verifier = verifier
        self._body_of = np.full(verifier.n_points, -1)
        for k, body in enumerate(self._bodies):
            self._body_of[body.slice] = k

    def bend(self, start: Floats, end: Floats) -> float:
        """The largest distance of a vertex from its straight path, m: an eighth of its distance from the pivot times the square of the
        rotation.
        """
        return max((way[0] for way in map(lambda body: _way(body, start, end), self._bodies)), default=0.0)

    def frames(self, start: Floats, end: Floats, n: int) -> list:
        """n + 1 frames from start to end (m, 3), both included."""
        result = [start]
        ways = [_way(body, start, end) for body in self._bodies]
        for k in range(1, n):
            part = k / n
            frame = start + part * (end - start)
            for body, (_, place) in zip(self._bodies, ways, strict=True):
                frame[body.slice] = place(part)
            result.append(frame)
        return [*result, end]

    def crossings(self, between: Any, points: Any, placed: Any, separation: float) -> tuple[list, int]:
        """The result of `between(points, placed, separation)` on the path between two frames, with repeated pairs, and the number of
        pieces.

        The number is doubled until there is no crossing with a body, up to MOST_PIECES. The deviation of the pieces from the true path is
        added to the separation.
        """
        bend, n = self.bend(*points), 1
        while True:
            frames = self.frames(points[0], points[1], n)
            shapes = [_between(placed[0], placed[1], k / n) for k in range(n + 1)]
            found: dict[Any, Any] = {}
            for k in range(n):
                for crossing in between(frames[k : k + 2], shapes[k : k + 2], separation + 2.0 * bend / n**2):
                    if not self._is_own(crossing):
                        found.setdefault(crossing[2:], crossing._replace(time=(k + crossing.time) / n))
            # obstacles move straight, and more pieces change nothing between them
            if not bend or n >= MOST_PIECES or all(self._verifier.of_obstacles(*key) for key in found):
                return list(found.values()), n
            n *= 2

    def _is_own(self, pair: Any) -> bool:
        """Return whether both primitives of a pair belong to one rigid body, which keeps its shape."""
        kinds = pair.kind.split("-")
        rows = {"vertex": np.arange(self._verifier.n_points)[:, None], "edge": self._verifier.edges, "triangle": self._verifier.triangles}
        if isinstance(pair.second, str) or isinstance(pair.first, str):
            return False
        first, second = (self._body_of[rows[kind][row][0]] for kind, row in zip(kinds, pair[-2:], strict=True))
        return bool(first >= 0 and first == second)


def _way(body, start, end):
    """Return the deviation of a body's path, m, and a function of the fraction of it: the positions of its vertices."""
    from scipy.spatial.transform import Rotation

    x, y = start[body.slice], end[body.slice]
    (centre, rotation), (goal, turned) = pose_of(body, x), pose_of(body, y)
    turn = Rotation.from_matrix(turned @ rotation.T).as_rotvec()
    pin = body.hinges()[0]
    about, shift = (x[pin], y[pin] - x[pin]) if pin >= 0 else (centre, goal - centre)
    extent = float(np.linalg.norm(x - about, axis=1).max())
    bend = 0.125 * extent * float(turn @ turn)
    # the difference of a frame from an exact pose is interpolated linearly
    residual = y - (about + shift + (x - about) @ Rotation.from_rotvec(turn).as_matrix().T)

    def place(part):
        return about + part * shift + (x - about) @ Rotation.from_rotvec(part * turn).as_matrix().T + part * residual

    return (0.0 if bend <= STRAIGHT * extent else bend), place


def _between(start, end, part):
    """Return shapes on the straight paths of their points."""

    def mixed(a, b):
        return a + part * (b - a)

    planes = [type(a)(*map(mixed, a, b)) for a, b in zip(start.planes, end.planes, strict=True)]
    return PlacedShapes(mixed(start.points, end.points), planes)
