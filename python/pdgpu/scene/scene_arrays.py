"""The arrays of a scene that a simulation is built from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu.materials.material import joined
from pdgpu.materials.materials import Attachment, WorldBox
from pdgpu.scene.bodies import Body
from pdgpu.scene.held_parts import selectable_points
from pdgpu.scene.rigid_bodies import RigidBody

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["SceneArrays"]


class SceneArrays:
    """The part of `Scene` that gives its arrays to a simulation."""

    bodies: tuple[Body, ...]
    world_box: WorldBox | None

    if TYPE_CHECKING:  # of `Scene`

        @property
        def n_vertices(self) -> int: ...

        def joint_elements(self) -> Any: ...

    def rest_positions(self) -> Floats:
        """(n, 3) float64, m."""
        return np.concatenate([body.points for body in self.bodies]) if self.bodies else np.zeros((0, 3))

    def masses(self) -> Floats:
        """(n,) float64, kg."""
        return np.concatenate([body.masses for body in self.bodies])

    def initial_velocities(self) -> Floats:
        """(n, 3) float64, m/s."""
        return np.concatenate([body.velocity for body in self.bodies])

    def fixed(self) -> Any:
        """(n,) uint8, 1 where a vertex is pinned."""
        fixed = np.zeros(self.n_vertices, dtype=np.uint8)
        for body in self.bodies:
            if isinstance(body, RigidBody):
                fixed[body.slice] = body.fixed_rows()
                continue
            for indices, _ in body.pins:
                fixed[body.slice.start + indices] = 1
        return fixed

    def subspace(self) -> Any:
        """(n, 3, 3) float64, the projector on the line or plane each vertex is held in; None where none is."""
        if not any(body.slides for body in self.bodies):
            return None
        projectors = np.tile(np.eye(3), (self.n_vertices, 1, 1))
        for body in self.bodies:
            for indices, projector in body.slides:
                projectors[body.slice.start + indices] = projector
        return projectors

    def elements_of(self, body: Body) -> Any:
        """[(kind, vertices of the body, rest, parameters, damped)]: of its materials, its attachments, and the world box."""
        groups = [(*group, True) for group in body.groups]
        for indices, targets, stiffness in body.attachments:
            kind, rest, parameters = Attachment(stiffness).elements(targets[:, None, :])
            groups.append((kind, indices[:, None], rest, parameters, True))
        if self.world_box is not None:
            count = len(selectable_points(body))
            vertices = np.arange(count, dtype=np.int32)[:, None]
            kind, rest, parameters = self.world_box.elements(np.zeros((len(vertices), 1, 3)))
            groups.append((kind, vertices, rest, parameters, False))
        return groups

    def element_groups(self) -> Any:
        """Kind -> (vertices, rest, parameters, damping or None), all bodies together, in the order they were added."""
        groups: dict[str, Any] = {}
        for body in self.bodies:
            for kind, rows, rest, parameters, damped in self.elements_of(body):
                damping = np.full(len(rows), body.damping) if damped and body.damping else None
                vertices = rows + np.int32(body.slice.start) if body.slice.start else np.ascontiguousarray(rows)
                groups.setdefault(kind, []).append((vertices, rest, parameters, damping))
        for kind, *elements in self.joint_elements():
            groups.setdefault(kind, []).append((*elements, None))
        return {kind: parts[0] if len(parts) == 1 else joined(parts) for kind, parts in groups.items()}

    def motions(self) -> Any:
        """(body, indices, motion) of every scripted pin."""
        return [(body, indices, motion) for body in self.bodies for indices, motion in body.pins if motion is not None]
