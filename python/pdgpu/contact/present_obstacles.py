"""The colliders of a simulation where they are: contact can hold an obstacle back, so that it is behind its motion."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pdgpu.scene.colliders import Plane, VertexCollider

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.scene.colliders import Collider
    from pdgpu.simulation.core import SimulationCore
    from pdgpu.types import Floats

__all__ = ["present_colliders"]


def present_colliders(core: SimulationCore) -> list[Collider]:
    """Return the colliders of all obstacles, those with a target lag with a constant motion to their present position.

    The call may ask motions, so it needs `asking(core)`.
    """
    first = len(core.scene.bodies)
    found = [obstacle.collider for obstacle in core.scene.obstacles]
    touching = core.touching
    if touching is None or not touching.n_driven:
        return found
    shifts = touching.shifts[touching.n_moving :]
    here = core.backend.driven().astype(np.float64)
    there = (touching.driven(core.time) - shifts).astype(core.dtype) + shifts  # with the rounding of the core
    owner = touching.owner[touching.n_moving :]
    for place in np.unique(owner[(here != there).any(axis=1)]):
        if core.scene.obstacles[place - first].collides:  # contact has the others at rest
            rows = owner == place
            found[place - first] = _held_back(found[place - first], here[rows], there[rows], core.time)
    return found


def _held_back(collider: Any, here: Floats, there: Floats, time: float) -> Collider:
    """Return a collider with its points in contact at `here` instead of at their targets `there`, m."""
    if isinstance(collider, VertexCollider):
        return replace(collider, motion=lambda time, rest: here.copy())  # type: ignore[type-var]  # its subclasses are dataclasses
    turn, shift = collider.placement(time)
    if isinstance(collider, Plane):  # its point, and its constant normal
        shift = shift + here[0] - there[0]
    else:  # a box that rotates moves its corners on lines: the nearest rigid motion
        lag = _rotation_of(there, here)
        turn, shift = lag @ turn, lag @ (shift - there.mean(axis=0)) + here.mean(axis=0)
    return replace(collider, motion=lambda time: (turn, shift))


def _rotation_of(there: Floats, here: Floats) -> Floats:
    """Return the rotation (3, 3) that brings points closest to others, apart from a translation; of two points the smallest one."""
    if len(there) == 1 or (there == there[0]).all():
        return np.eye(3)
    from scipy.spatial.transform import Rotation

    if len(there) == 2:
        return Rotation.align_vectors(here[1:] - here[0], there[1:] - there[0])[0].as_matrix()
    return Rotation.align_vectors(here - here.mean(axis=0), there - there.mean(axis=0))[0].as_matrix()
