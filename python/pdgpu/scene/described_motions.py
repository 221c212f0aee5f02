"""Descriptions of the prescribed motions of a scene, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdgpu.materials.shape_target import place_of_target, script_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pdgpu.scene.scene import Scene

__all__ = ["described_motion", "described_motions"]


def described_motions(scene: Scene) -> Iterator[tuple[Callable, str]]:
    """Return (motion, its description) of every prescribed motion of a scene."""
    for body in scene.bodies:
        for k, (_, motion) in enumerate(body.pins):
            if motion is not None:
                yield motion, f"the motion of pin {k} of {body.name!r}"
        for k, how in enumerate(body.attachment_motions):
            if how is not None:
                yield how[1], f"the {how[0]} of attachment {k} of {body.name!r}"
        place = place_of_target(body.materials)
        if place is not None and (script := script_of(body.materials[place])) is not None:
            yield script, f"the shape targets of {body.name!r}"
    for obstacle in scene.obstacles:
        if obstacle.collider.motion is not None:
            yield obstacle.collider.motion, f"the motion of obstacle {obstacle.name!r}"


def described_motion(scene: Scene, motion: Callable) -> str:
    """Return the description of a motion."""
    named = f"the motion {getattr(motion, '__qualname__', motion)}"
    return next((words for other, words in described_motions(scene) if other is motion), named)
