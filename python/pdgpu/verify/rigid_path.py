"""The ways of rigid bodies between two frames, in pieces short enough to be looked at as straight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu.scene.rigid_bodies import RigidBody, pose_of
from pdgpu.verify.judged_shapes import PlacedShapes

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["RigidPath"]

MOST_PIECES = 64
STRAIGHT = 1e-14  # of its extent: what a way is off its chord by rounding alone


class RigidPath:
    """How the rigid bodies of a scene go from one frame to the next: the centre, or what holds the body, straight, while it turns evenly
    about the axis of the smallest rotation that leads there, as the guard of contact has it (dynamics/rigid/rigid_path.c). All else goes
    straight, and so do bodies that are held whole, whose pins do."""

    def __init__(self, scene: Any, judged: Any) -> None:
        self._bodies = [body for body in scene.bodies if isinstance(body, RigidBody) and body.collides and body.hinges() is not None]
        self._judged = judged
        self._body_of = np.full(judged.n_points, -1)
        for k, body in enumerate(self._bodies):
            self._body_of[body.slice] = k

    def bend(self, start: Floats, end: Floats) -> float:
        """How far a vertex is from its straight way, at most, m: an eighth of its distance from what its body turns about, times the square
        of the turn."""
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
        """What `between(points, placed, separation)` finds on the way between two frames, as often each pair as it does, and in how many
        pieces: twice as many until nothing is found in which a body takes part, with what the pieces are off the true way added to the
        separation, MOST_PIECES at the most."""
        bend, n = self.bend(*points), 1
        while True:
            frames = self.frames(points[0], points[1], n)
            shapes = [_between(placed[0], placed[1], k / n) for k in range(n + 1)]
            found: dict[Any, Any] = {}
            for k in range(n):
                for crossing in between(frames[k : k + 2], shapes[k : k + 2], separation + 2.0 * bend / n**2):
                    if not self._is_own(crossing):
                        found.setdefault(crossing[2:], crossing._replace(time=(k + crossing.time) / n))
            # obstacles among themselves go straight, and cutting their way changes nothing
            if not bend or n >= MOST_PIECES or all(self._judged.of_obstacles(*key) for key in found):
                return list(found.values()), n
            n *= 2

    def _is_own(self, pair: Any) -> bool:
        """Whether both primitives of a pair are of one rigid body, which keeps its shape."""
        kinds = pair.kind.split("-")
        rows = {"vertex": np.arange(self._judged.n_points)[:, None], "edge": self._judged.edges, "triangle": self._judged.triangles}
        if isinstance(pair.second, str) or isinstance(pair.first, str):
            return False
        first, second = (self._body_of[rows[kind][row][0]] for kind, row in zip(kinds, pair[-2:], strict=True))
        return bool(first >= 0 and first == second)


def _way(body, start, end):
    """How far a body's way bends, m, and a function of the part of it: the positions of its vertices."""
    from scipy.spatial.transform import Rotation

    x, y = start[body.slice], end[body.slice]
    (centre, rotation), (goal, turned) = pose_of(body, x), pose_of(body, y)
    turn = Rotation.from_matrix(turned @ rotation.T).as_rotvec()
    pin = body.hinges()[0]
    about, shift = (x[pin], y[pin] - x[pin]) if pin >= 0 else (centre, goal - centre)
    extent = float(np.linalg.norm(x - about, axis=1).max())
    bend = 0.125 * extent * float(turn @ turn)
    # what makes a given frame no exact pose goes over straight
    residual = y - (about + shift + (x - about) @ Rotation.from_rotvec(turn).as_matrix().T)

    def place(part):
        return about + part * shift + (x - about) @ Rotation.from_rotvec(part * turn).as_matrix().T + part * residual

    return (0.0 if bend <= STRAIGHT * extent else bend), place


def _between(start, end, part):
    """Shapes on the straight ways of their points."""

    def mixed(a, b):
        return a + part * (b - a)

    planes = [type(a)(*map(mixed, a, b)) for a, b in zip(start.planes, end.planes, strict=True)]
    return PlacedShapes(mixed(start.points, end.points), planes)
