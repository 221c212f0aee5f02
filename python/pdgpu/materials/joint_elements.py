"""Elements of joints: springs, points that slide along an axis, directions within an angle; and the forces in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdgpu._internal.made import made_by
from pdgpu.materials.elements import GRADIENT, of_kind
from pdgpu.materials.material import Material

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["JointForce", "Slide", "Swing", "elements_of", "joint_forces"]


@made_by("Simulation.joint_forces")
class JointForce(NamedTuple):
    """Force of a joint on its first body, and its deviations.

    Attributes
    ----------
    force : ndarray, shape (3,)
        N.
    torque : ndarray, shape (3,)
        N m, about the middle of the joint's points on the first body.
    gap : float
        m, the largest deviation of two points that belong together from their prescribed relative position.
    position : float
        The displacement of a slider, m; the rotation of a hinge with limits, rad, from minus to plus half a turn about the middle of the
        limits; the angle of a ball joint with a cone, rad. NaN for other joints.
    beyond : float
        The excess of `position` over a limit, in the same unit; 0 within the limits and without limits.
    """

    force: Floats
    torque: Floats
    gap: float
    position: float
    beyond: float


class Slide(Material):
    """Points that slide along an axis: the energy of csrc/elements/slide.h, in J.

    On four vertices x_1 slides from x_0 along x_3 - x_2; a single vertex slides from `rest` along `axis`.

    Parameters
    ----------
    stiffness, end_stiffness : float
        N/m; across the axis, and along it beyond the ends.
    lower, upper : float
        The ends, m.
    axis : array_like, shape (3,), optional
        A unit vector.
    """

    kinds = {4: "slide", 1: "world_slide"}
    projective = False

    def __init__(self, stiffness: float, end_stiffness: float, lower: float, upper: float, axis: Any = None) -> None:
        super().__init__(stiffness=stiffness, end_stiffness=end_stiffness)
        self._ends, self._axis = (float(lower), float(upper)), axis

    def rest_shape(self, rest: Any, rows: Any = None) -> Any:
        gradients = np.zeros((len(rest), 3, 2))
        gradients[:, 0, 0] = 1.0
        gradients[:, 2, 1] = 1.0 / np.linalg.norm(rest[:, 3] - rest[:, 2], axis=1)
        gradients[:, 1, 1] = -gradients[:, 2, 1]
        return gradients, np.ones(len(rest))

    def elements(self, rest: Any, rows: Any = None) -> Any:
        n, k = rest.shape[:2]
        constants = [self.constant("stiffness", n)[0], self.constant("end_stiffness", n)[0], *self._ends]
        shape = rest if k == 1 else self.rest_shape(rest)[0]
        parameters = np.tile(constants if k > 1 else [*constants, *self._axis], (n, 1))
        return self.kind(k), np.ascontiguousarray(shape.reshape(n, -1)), parameters


class Swing(Material):
    """Directions within an angle of each other: the energy of csrc/elements/swing.h, in J.

    On four vertices x_1 - x_0 and x_3 - x_2, on two x_1 - x_0 and `direction`.

    Parameters
    ----------
    stiffness : float
        N m/rad, beyond the angle.
    angle : float
        rad, more than 0 and less than pi.
    direction : array_like, shape (3,), optional
        A unit vector.
    """

    kinds = {4: "swing", 2: "world_swing"}
    projective = False

    def __init__(self, stiffness: float, angle: float, direction: Any = None) -> None:
        super().__init__(stiffness=stiffness, angle=angle)
        self._direction = direction

    def rest_shape(self, rest: Any, rows: Any = None) -> Any:
        k = rest.shape[1]
        gradients = np.zeros((len(rest), k - 1, k // 2))
        gradients[:, 0, 0] = 1.0 / np.linalg.norm(rest[:, 1] - rest[:, 0], axis=1)
        if k == 4:
            gradients[:, 2, 1] = 1.0 / np.linalg.norm(rest[:, 3] - rest[:, 2], axis=1)
            gradients[:, 1, 1] = -gradients[:, 2, 1]
        return gradients, np.ones(len(rest))

    def parameters(self, rest: Any, gradients: Any, measure: Any) -> Any:
        stiffness, angle = (self.constant(name, len(rest)) for name in ("stiffness", "angle"))
        return stiffness / np.sin(angle) ** 2, np.cos(angle), *(() if self._direction is None else self._direction)


def elements_of(joint: Any, bodies: Any) -> Any:
    """Return [(kind, rows (m,k) of the scene's vertices, mask (k,) of the first body's columns, rest, parameters)] of a joint."""
    one = bodies[joint.bodies[0]]
    other: Any = None if joint.bodies[1] is None else bodies[joint.bodies[1]]
    first = joint.first + one.slice.start
    second = None if other is None else joint.second + other.slice.start
    guide: Any = None if joint.second_arm is None else np.tile(joint.second_arm + other.slice.start, (len(first), 1))
    found = []
    if joint.kind == "slider":
        low, high = (-np.inf, np.inf) if joint.limits is None else joint.limits
        slide = Slide(joint.stiffness[0], joint.limit_stiffness / len(first), low, high, joint.direction)
        if second is None:
            found.append(_group(slide, first[:, None], [True], joint.targets[:, None]))
        else:
            rows = np.column_stack([second, first, guide])
            found.append(_group(slide, rows, [False, True, False, False], _at_rest((other, one, other, other), rows)))
        return found
    springs = np.column_stack([joint.stiffness, joint.lengths])
    if second is None:
        found.append(("attachment", first[:, None].astype(np.int32), np.array([True]), joint.targets.copy(), springs[:, :1].copy()))
    else:
        rows = np.column_stack([first, second]).astype(np.int32)
        found.append(("spring", rows, np.array([True, False]), np.ones((len(rows), 1)), springs))
    if joint.limits is not None:
        swing = Swing(joint.limit_stiffness, _half_angle(joint), joint.direction)
        arm = joint.first_arm[None] + one.slice.start
        rows = arm if second is None else np.concatenate([arm, guide[:1]], axis=1)
        found.append(_group(swing, rows, [True, True, False, False][: rows.shape[1]], _at_rest((one, one, other, other), rows)))
    return found


def _half_angle(joint):
    """Return the largest angle between the directions of a joint: those of a hinge start from the middle of its limits."""
    return joint.limits[1] if joint.kind == "ball" else 0.5 * (joint.limits[1] - joint.limits[0])


def _at_rest(bodies, rows):
    """Return (m, k, 3) for rows (m, k), with each column in one of the bodies."""
    return np.stack([body.points[column - body.slice.start] for body, column in zip(bodies, rows.T, strict=False)], axis=1)


def _group(material, rows, mine, rest):
    kind, shape, parameters = material.elements(rest)
    return kind, rows.astype(np.int32), np.array(mine), shape, parameters


def joint_forces(scene: Any, x: Floats) -> dict[str, JointForce]:
    """Return the result of `Simulation.joint_forces` at positions x (n, 3)."""
    bodies, found = {body.name: body for body in scene.bodies}, {}
    for joint in scene.joints:
        middle = x[joint.first + bodies[joint.bodies[0]].slice.start].mean(axis=0)
        force, torque = np.zeros(3), np.zeros(3)
        for kind, rows, mine, rest, parameters in elements_of(joint, bodies):
            at = x[rows]
            pulls = -of_kind(GRADIENT, kind, rest, parameters, at)[:, mine].reshape(-1, 3)
            force += pulls.sum(axis=0)
            torque += np.cross(at[:, mine].reshape(-1, 3) - middle, pulls).sum(axis=0)
        found[joint.name] = JointForce(force, torque, *_measured(joint, bodies, x))
    return found


def _measured(joint, bodies, x):
    """Return (gap, position, beyond) of a joint."""

    def of(end, rows):
        return x[rows + bodies[joint.bodies[end]].slice.start]

    apart = of(0, joint.first) - (joint.targets if joint.second is None else of(1, joint.second))
    if joint.kind != "slider" and joint.limits is None:
        return float(np.abs(np.linalg.norm(apart, axis=1) - joint.lengths).max()), np.nan, 0.0
    direction = joint.direction
    if joint.second_arm is not None:
        ends = of(1, joint.second_arm)
        direction = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
    if joint.kind == "slider":
        ways = apart @ direction
        gap, position = np.linalg.norm(np.cross(apart, direction), axis=1).max(), ways.mean()
        lower, upper = (-np.inf, np.inf) if joint.limits is None else joint.limits
        return float(gap), float(position), float(np.abs(ways - np.clip(ways, lower, upper)).max())
    gap = np.abs(np.linalg.norm(apart, axis=1) - joint.lengths).max()
    arm = of(0, joint.first_arm)
    arm = (arm[1] - arm[0]) / np.linalg.norm(arm[1] - arm[0])
    across = np.cross(direction, arm)
    angle = np.arctan2(np.linalg.norm(across), arm @ direction)
    beyond = max(0.0, angle - _half_angle(joint))
    if joint.kind == "hinge":
        ends = of(0, joint.first)
        angle = 0.5 * sum(joint.limits) + np.copysign(angle, across @ (ends[0] - ends[1]))
    return float(gap), float(angle), float(beyond)
