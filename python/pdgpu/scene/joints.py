"""Joints between bodies: their addition to a scene, by common points of the bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import any_array, choice, number, real_array, vertex_indices
from pdgpu._internal.attributes import read_only
from pdgpu._internal.made import made_by
from pdgpu.materials.joint_elements import elements_of
from pdgpu.scene.bodies import Body
from pdgpu.scene.rigid_bodies import CORNERS, RigidBody

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import Floats, Integers

__all__ = ["Joint"]

KINDS = ("ball", "hinge", "slider", "fixed", "spring")


@made_by("Scene.add_joint")
@dataclass(frozen=True, eq=False)
class Joint:
    """A joint of two bodies, or of one body and the world; made by `Scene.add_joint`.

    Attributes
    ----------
    name, kind : str
    bodies : tuple of (str, str or None)
        The names of the two; None: the world.
    first : ndarray of int32, shape (k,)
        Its points: vertices of the first body, with the body's numbers. Those of a rigid body are its anchors, made by the joint; their
        numbers follow those of its vertices.
    second : ndarray of int32, shape (k,), or None
        Of the second.
    targets : ndarray, shape (k, 3), or None
        Of the world, m.
    stiffness : ndarray, shape (k,)
        Of each of the springs, N/m.
    lengths : ndarray, shape (k,)
        Rest lengths of the springs, m.
    limits : tuple of (float, float), or None
        Of a slider's displacement, m; of a hinge's angle, rad; of a ball joint 0 and its cone.
    limit_stiffness : float
        Beyond the limits: N/m for a slider, else N m/rad.
    first_arm, second_arm : ndarray of int32, shape (2,), or None
        Points of the bodies, numbered as those of `first`, at the ends of the directions of the limits; for a slider, of the axis on the
        second.
    direction : ndarray, shape (3,), or None
        That of the world.
    """

    name: str
    kind: str
    bodies: tuple[str, str | None]
    first: Integers
    second: Integers | None
    targets: Floats | None
    stiffness: Floats
    lengths: Floats
    limits: tuple[float, float] | None = None
    limit_stiffness: float = 0.0
    first_arm: Integers | None = None
    second_arm: Integers | None = None
    direction: Floats | None = None

    @property
    def has_limits(self) -> bool:
        """Return whether there are elements in addition to springs."""
        return self.limit_stiffness > 0.0


class JointScene:
    """The part of `Scene` for joints."""

    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    _simulations: Any
    _keep: Any

    def add_joint(
        self,
        kind: str,
        first: Any,
        second: Any = None,
        *,
        at: ArrayLike | None = None,
        to: ArrayLike | None = None,
        axis: ArrayLike | None = None,
        arm: float | None = None,
        length: float | None = None,
        stiffness: float = 1e6,
        limits: tuple[float, float] | None = None,
        cone: float | None = None,
        limit_stiffness: float | None = None,
        name: str | None = None,
    ) -> Joint:
        """Join two rigid bodies, a rigid body and a vertex of a deformable one, two such vertices, or any of them and the world.

        A joint is not a constraint but a term of G, the energy k/2 (|a - b| - L)^2 summed over pairs of points a of the first and b of the
        second: 1/k is its compliance, and its force separates the points. "ball": one pair that coincides at rest. "hinge": two, at both
        ends of an arm along the axis. "fixed": four, at the corners of a tetrahedron about the point. "spring": one, of any length. A hinge
        resists rotation across its axis with stiffness arm^2 (N m per rad), a fixed joint with two thirds of that about every axis.
        "slider": four points as those of "fixed", each held only across the axis u, by k/2 |(a - b) x u|^2; u moves with the second body.
        It resists rotation about the axis as a fixed joint does, and half as much across it. Every solver for the bodies supports joints.
        VertexBlockDescent and BlockJacobi solve all rigid bodies that joints connect as one block, so stiff joints do not slow them down.

        Limits are energies too: of a slider k/2 s^2, s its displacement beyond them; of hinges and ball joints k/2 (cos w - cos
        phi)^2/sin^2 w for phi > w, phi the angle between two directions and w the largest one, k/2 (phi - w)^2 to first order. An impact of
        k/2 cot^2(w/2) J turns such a joint over.

        Joined bodies collide with each other as others do: leave a gap between them.

        Parameters
        ----------
        kind : {"ball", "hinge", "slider", "fixed", "spring"}
        first : RigidBody or str, or (Body or str, int)
            A rigid body; or, for "ball" and "spring", a deformable body and one of its vertices.
        second : as first, optional
            None: the world.
        at : array_like, shape (3,)
            Position of the joint at rest, m; for a spring, its end on `first`. Required unless `first` is a vertex, which has a position.
        to : array_like, shape (3,)
            The other end of a spring, m, required unless `second` is a vertex.
        axis : array_like, shape (3,)
            Of a hinge or a slider; for a ball joint with a cone, the direction that stays in it.
        arm : float, optional
            m, from the middle of a hinge, a slider or a fixed joint to its points; by default the radius of gyration of `first`.
        length : float, optional
            Rest length of a spring, m, at least 0; by default the distance at rest.
        stiffness : float
            N/m, of all points of the joint together; greater than 0.
        limits : tuple of (float, float), optional
            For a hinge, rad: the rotation of `first` about the axis from rest, relative to `second`; less than a full turn between them.
            For a slider, m: its displacement; an end may be infinite. The range contains 0.
        cone : float, optional
            For a ball joint, rad: the largest angle between the axes on both bodies; more than 0 and less than half a turn.
        limit_stiffness : float, optional
            Beyond limits or cone: N/m for a slider, by default `stiffness`; else N m/rad, by default that times arm^2, for a ball joint the
            square of the radius of gyration of `first`. Greater than 0.
        name : str, optional

        Returns
        -------
        Joint

        Raises
        ------
        TypeError, ValueError
            An unknown kind, twice the same body, a deformable body without a vertex or in a joint of several points, arguments that the
            kind does not have or that are missing, limits without 0 or of zero width. When a simulation is made: both ends cannot move, or
            pins and joints to the world together block a motion that each of them leaves free.
        """
        kind = choice("kind", kind, KINDS)
        one, vertex = self._end("first", first, kind)
        other: Any
        other, other_vertex = (None, None) if second is None else self._end("second", second, kind)
        if one is other and (isinstance(one, RigidBody) or vertex == other_vertex):
            raise ValueError(f"second: {other.name!r} is joined to itself; give another body, or None for the world")
        own = {
            "to": (to, ("spring",)),
            "length": (length, ("spring",)),
            "arm": (arm, ("hinge", "slider", "fixed")),
            "limits": (limits, ("hinge", "slider")),
            "cone": (cone, ("ball",)),
            "axis": (axis, ("hinge", "slider") if cone is None else ("ball",)),
            "limit_stiffness": (limit_stiffness, KINDS if limits is not None or cone is not None else ()),
        }
        for what, (given, kinds) in own.items():
            if given is not None and kind not in kinds:
                lacking = {"limit_stiffness": " without limits or a cone", "axis": " without a cone" if kind == "ball" else ""}
                raise ValueError(f"{what}: a {kind} joint has none{lacking.get(what, '')}")
        between = _between(kind, limits, cone)
        if cone is not None and (vertex is not None or other_vertex is not None):
            raise ValueError("cone: it is between directions of two rigid bodies, or of one and the world; a vertex has none")
        stiffness = number("stiffness", stiffness, above=0.0)
        name = f"joint{len(self.joints)}" if name is None else name
        if not isinstance(name, str):
            raise TypeError(f"name: expected a string, got {name!r}")
        if any(joint.name == name for joint in self.joints):
            raise ValueError(f"name: there is a joint {name!r} already; give another name")
        if at is None and vertex is None and other_vertex is not None and kind != "spring":
            at = other.points[other_vertex]
        middle = _place("at", at, "first", one, vertex)
        goal = _place("to", to, "second", other, other_vertex) if kind == "spring" else middle
        if kind != "spring" and other_vertex is not None and np.abs(other.points[other_vertex] - middle).max() > 1e-9 * _size(one):
            raise ValueError(f"at: vertex {other_vertex} of {other.name!r} is at {other.points[other_vertex]}, not at {middle}")
        if kind in ("hinge", "slider") or cone is not None:
            axis = _direction(axis, kind)
        arm = _arm(one, arm)
        spread = _spread(kind, axis, arm)
        points, goals = middle + spread, goal + spread
        lengths = np.linalg.norm(points - goals, axis=1) if length is None else np.full(len(points), number("length", length, minimum=0.0))
        if other is None and lengths.any():
            raise ValueError("second: a spring of some length needs a point at its other end; pin a particle there, and join that")
        push = stiffness if kind == "slider" or between is None else stiffness * arm**2
        push = push if limit_stiffness is None else number("limit_stiffness", limit_stiffness, above=0.0)
        rows = self._points_on(one, vertex, points)
        other_rows = None if other is None else self._points_on(other, other_vertex, goals)
        joint = Joint(
            name,
            kind,
            (one.name, None if other is None else other.name),
            read_only(rows),
            None if other is None else read_only(other_rows),
            read_only(goals) if other is None else None,
            read_only(np.full(len(points), stiffness / len(points))),
            read_only(lengths),
            between,
            push if kind == "slider" or between is not None else 0.0,
            *self._arms(kind, one, other, middle, axis, arm, between),
        )
        self._keep(joints=(*self.joints, joint))
        self._simulations.warn(f"add joint {name!r}", stacklevel=3)
        return joint

    def _end(self, name, given, kind):
        """Return a body and its joined vertex; None: it is rigid, and the joint makes its points."""
        pair = isinstance(given, tuple) and len(given) == 2
        wanted = given[0] if pair else given
        if not isinstance(wanted, Body | str):
            raise TypeError(f"{name}: expected a body or its name, or (body, vertex), got {given!r}")
        body = next((mine for mine in self.bodies if mine is wanted or mine.name == wanted), None)
        if body is None:
            raise ValueError(f"{name}: {wanted!r} is no body of this scene; there are {[mine.name for mine in self.bodies]}")
        if not pair:
            if not isinstance(body, RigidBody):
                raise ValueError(f"{name}: {body.name!r} deforms; give (body, vertex)")
            return body, None
        if isinstance(body, RigidBody):
            raise ValueError(f"{name}: {body.name!r} is rigid and is joined where the joint is; give the body without a vertex")
        if kind not in ("ball", "spring"):
            raise ValueError(f"{name}: a {kind} joint holds rotations, and a vertex of {body.name!r} has none")
        return body, int(vertex_indices(f"vertex of {name}", [given[1]], body.points)[0])

    def _arms(self, kind, one, other, middle, axis, arm, between):
        """Return (first_arm, second_arm, direction) of a joint."""
        if kind != "slider" and between is None:
            return None, None, None
        mine = theirs = axis
        if kind == "hinge":
            mine = _across(axis)
            turn = 0.5 * sum(between)
            theirs = np.cos(turn) * mine + np.sin(turn) * np.cross(axis, mine)
        first = None if kind == "slider" else read_only(self._points_on(one, None, middle + np.array([0.0 * mine, arm * mine])))
        if other is None:
            return first, None, read_only(theirs)
        return first, read_only(self._points_on(other, None, middle + np.array([0.0 * theirs, arm * theirs]))), None

    def _points_on(self, body, vertex, points):
        """Return numbers of points on a body; a rigid one gets new anchors."""
        return body.add_anchors(points) if vertex is None else np.array([vertex], np.int32)

    def joint_elements(self) -> Any:
        """Return [(kind, rows of the model, rest, parameters)] of all joints; of a `model_scene`."""
        bodies = {body.name: body for body in self.bodies}
        return [(kind, rows, rest, parameters) for joint in self.joints for kind, rows, _, rest, parameters in elements_of(joint, bodies)]

    def check_joints(self, fixed: Any) -> None:
        """ValueError for a joint whose ends cannot move; fixed (n,) as `Scene.fixed`. Of a `model_scene`."""
        bodies = {body.name: body for body in self.bodies}
        for joint in self.joints:
            ends = ((name, rows) for name, rows in zip(joint.bodies, (joint.first, joint.second), strict=True) if name is not None)
            if all(fixed[rows + bodies[name].slice.start].all() for name, rows in ends):
                held = " and ".join(repr(name) for name in joint.bodies if name is not None)
                raise ValueError(f"joint {joint.name!r}: pins hold both of its ends, {held}; pin less")
            for end in (0, 1):
                self._check_contradiction(joint, bodies, end, fixed)

    def _check_contradiction(self, joint, bodies, end, fixed):
        """ValueError for a body with pins that leave a rotation, whose joint to a fixed end removes it."""
        names, rows = joint.bodies, (joint.first, joint.second)
        body, there = bodies.get(names[end]), names[1 - end]
        if not isinstance(body, RigidBody) or joint.kind in ("fixed", "spring") or not len(body.pinned()):
            return
        if there is not None and not fixed[rows[1 - end] + bodies[there].slice.start].all():
            return
        middle = body.points[rows[end]].mean(axis=0)
        pins = _held(body.points[body.pinned()] - middle, body, np.eye(3))
        across = np.eye(3)
        if joint.kind == "slider":
            axis = joint.direction if joint.second_arm is None else np.diff(bodies[names[1]].points[joint.second_arm], axis=0)[0]
            across = np.eye(3) - np.outer(axis, axis) / (axis @ axis)
        both = np.concatenate([pins, _held(body.points[rows[end]] - middle, body, across)])
        if np.linalg.matrix_rank(pins, 1e-6) < 6 <= np.linalg.matrix_rank(both, 1e-6):
            raise ValueError(f"joint {joint.name!r}: with the pins of {body.name!r} it blocks every rotation and displacement; pin less")


def _held(arms, body, across):
    """Return the constraints of points of a body, (3k, 6) on a velocity and a spin times the size of the body."""
    size = np.abs(body.arms).max()
    return np.concatenate([across @ np.column_stack([np.eye(3), -np.cross(np.eye(3), arm / size)]) for arm in arms])


def _between(kind, limits, cone):
    """Return the limits of a joint in their stored form, or None."""
    if cone is not None:
        return check_limits(kind, (0.0, number("cone", cone, above=0.0)))
    return None if limits is None else check_limits(kind, limits)


def check_limits(kind: str, limits: Any) -> tuple[float, float]:
    """Return `Joint.limits` of two numbers; ValueError if they are invalid for this kind of joint."""
    ends = any_array("limits", limits)
    if ends.shape != (2,) or ends.dtype.kind not in "fiu" or np.isnan(ends).any():
        raise ValueError(f"limits: expected two numbers, got {limits!r}")
    lower, upper = map(float, ends)
    if not lower < upper:
        raise ValueError(f"limits: ({lower:g}, {upper:g}) must ascend; for no motion take a fixed joint")
    if not lower <= 0.0 <= upper:
        raise ValueError(f"limits: ({lower:g}, {upper:g}) must contain 0, the rest position")
    if kind == "hinge" and not upper - lower < 2.0 * np.pi:
        raise ValueError(f"limits: from {lower:g} to {upper:g} rad is a whole turn or more, which is no limit; leave them out")
    if kind == "ball" and not upper < np.pi:
        raise ValueError(f"cone: {upper:g} rad is half a turn or more, which is no limit; leave it out")
    return lower, upper


def _direction(axis, kind):
    """Return a unit vector."""
    if axis is None:
        raise ValueError(f"axis: a {kind} needs one" if kind != "ball" else "axis: a cone needs one")
    axis = real_array("axis", axis, (3,))
    length = np.linalg.norm(axis)
    if not length > 0.0 or not np.isfinite(length):
        raise ValueError(f"axis: expected a direction of non-zero length, got length {length}")
    return axis / length


def _across(axis):
    """Return a unit vector perpendicular to another."""
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    return across / np.linalg.norm(across)


def _arm(one, arm):
    """Return the distance from the middle of a joint to its points, m; 0 for a deformable body, whose joints have one point."""
    if arm is not None:
        return number("arm", arm, above=0.0)
    return np.sqrt(np.trace(one.second_moments) / one.mass) if isinstance(one, RigidBody) else 0.0


def _spread(kind, axis, arm):
    """Return the points of a joint about its middle, m."""
    if kind in ("ball", "spring"):
        return np.zeros((1, 3))
    return arm * np.array([axis, -axis]) if kind == "hinge" else arm / np.sqrt(3.0) * CORNERS


def _place(name, given, end, body, vertex):
    """Return the rest position of an end."""
    if vertex is not None:
        if given is not None:
            raise ValueError(f"{name}: vertex {vertex} of {body.name!r} has its own position; leave it out")
        return body.points[vertex].copy()
    if given is None:
        raise ValueError(f"{name}: needed, since {end} names no vertex")
    return real_array(name, given, (3,))


def _size(body):
    return float(np.abs(body.points).max()) + 1.0
