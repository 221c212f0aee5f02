"""Moving targets of attachments: bones, handles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import per_item, real_array
from pdgpu._internal.motion_calls import ask
from pdgpu.scene.colliders import rigid_placement
from pdgpu.scene.embedding import Embedding
from pdgpu.scene.held_parts import selectable_points

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.simulation.core import SimulationCore

__all__ = []

FRAME, TARGETS = "frame", "targets"  # the signature of a motion: (time) -> placement, (time, rest points) -> points


def spread(body: Any, embedding: Embedding, stiffness: Any) -> tuple[Any, Any]:
    """Return vertices (k,) of embedded points, ascending, and the stiffness (k,) of the points' springs distributed to them."""
    if embedding.body != body.name or embedding.n_vertices != len(body.points):
        raise ValueError(f"where: {embedding!r} is not embedded in {body.name!r}")
    least = embedding.weights.min(axis=1)
    if (least < -1e-9).any():
        point = int(np.argmin(least))
        raise ValueError(
            f"where: point {point} of {embedding.name!r} lies outside its tet, and a corner would have the weight {least[point]:.3g}; "
            "attach points inside"
        )
    stiffness = per_item("stiffness", stiffness, len(embedding.points), above=0.0)
    shares = np.bincount(
        embedding.vertices.ravel(), np.maximum(stiffness[:, None] * embedding.weights, 0.0).ravel(), minlength=len(body.points)
    )
    indices = np.flatnonzero(shares > 1e-9 * shares.max()).astype(np.int32)
    return indices, shares[indices]


def targets_at(body: Any, indices: Any, how: tuple[str, Any], time: float) -> Any:
    """Return the targets of vertices of a body by a motion at a time, (k, 3) m."""
    word, motion = how
    points = selectable_points(body)[indices]
    if word == FRAME:
        rotation, translation = rigid_placement("frame", motion, time)
        return points @ rotation.T + translation
    return real_array(f"targets of {body.name!r} at {time:g} s", ask(motion, time, points.copy()), (len(indices), 3))


class Tethers:
    """The attachments of a scene with motions, in the form of the core."""

    def __init__(self, scene: Any) -> None:
        self._sent: dict[Any, Any] = {}
        self._moving, before = [], 0
        for body in scene.bodies:
            for (indices, *_), how in zip(body.attachments, body.attachment_motions, strict=True):
                if how is not None:
                    origin = indices if body.parents is None else body.parents[indices]  # copies of a vertex, made by a cut, move with it
                    self._moving.append((before, body, origin, how))
                before += len(indices)

    def targets(self, core: SimulationCore, time: float) -> list[tuple[int, Any]]:
        """Return (first attachment, targets (k, 3) m) at a time, s, of those that have moved since `put`."""
        found = []
        for first, body, origin, how in self._moving:
            vertices, place = np.unique(origin, return_inverse=True)
            targets = core.in_range("targets", targets_at(body, vertices, how, time)[place])
            if first not in self._sent or not np.array_equal(self._sent[first], targets):
                found.append((first, targets))
        return found

    def put(self, core: SimulationCore, found: list[tuple[int, Any]]) -> None:
        """Pass the result of `targets` to the core."""
        for first, targets in found:
            core.backend.set_attachments(first, core.cast_positions(targets))
            self._sent[first] = targets
