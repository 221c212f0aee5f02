"""Joints between bodies: how they are added to a scene, from points that the bodies have in common."""

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
    """What joins two bodies, or one and the world; made by `Scene.add_joint`.

    Attributes
    ----------
    name, kind : str
    bodies : tuple of (str, str or None)
        The names of the two; None: the world.
    first : ndarray of int32, shape (k,)
        Its points: vertices of the first body, as that numbers them. Those of a rigid body are its anchors, which the joint made; their
        numbers follow those of its vertices.
    second : ndarray of int32, shape (k,), or None
        Of the second.
    targets : ndarray, shape (k, 3), or None
        Of the world, m.
    stiffness : ndarray, shape (k,)
        Of each of the springs, N/m.
    lengths : ndarray, shape (k,)
        Of them without force, m.
    limits : tuple of (float, float), or None
        Of a slider's way, m; of a hinge's angle, rad; of a ball joint 0 and its cone.
    limit_stiffness : float
        Beyond them: N/m of a slider, else N m/rad.
    first_arm, second_arm : ndarray of int32, shape (2,), or None
        Points of the bodies, numbered as those of `first`, between which the directions lie that the limits are of; of a slider, the
        axis on the second.
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
        """Whether there is more to it than springs."""
        return self.limit_stiffness > 0.0


class JointScene:
    """The part of `Scene` that knows of joints."""

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
        """Join two rigid bodies, a rigid body and a vertex of one that deforms, two such vertices, or any of them and the world.

        A joint is a term of G, the energy k/2 (|a - b| - L)^2 summed over pairs of points a of the first and b of the second, and
        not a constraint: 1/k is its compliance, and what it bears pulls the points apart. "ball": one pair that coincides at rest.
        "hinge": two, at both ends of an arm along the axis. "fixed": four, at the corners of a tetrahedron about the point. "spring": one,
        of any length. A hinge resists turning across its axis with stiffness arm^2 (N m per rad), a fixed joint with two thirds of that
        about every axis. "slider": four points as those of "fixed", each held across the axis u alone, by k/2 |(a - b) x u|^2; u goes
        with the second body. It resists turning about the axis as a fixed joint does, and half as much across it. Every solver that takes
        the bodies takes joints; the stiffer they are the less descent by single bodies, such as VertexBlockDescent's, gets done in an
        iteration, while Newton does not mind.

        Limits are energies too: of a slider k/2 s^2, s its way beyond them; of hinges and ball joints
        k/2 (cos w - cos phi)^2/sin^2 w where phi > w, phi the angle between two directions and w the largest one, k/2 (phi - w)^2 to
        first order. A blow of k/2 cot^2(w/2) J turns such a joint over.

        Bodies that are joined touch each other in contact as others do: leave a gap between them.

        Parameters
        ----------
        kind : {"ball", "hinge", "slider", "fixed", "spring"}
        first : RigidBody or str, or (Body or str, int)
            A rigid body; or, of "ball" and "spring", a body that deforms and one of its vertices.
        second : as first, optional
            None: the world.
        at : array_like, shape (3,)
            Where the joint is at rest, m; of a spring, its end on `first`. Needed unless `first` names a vertex, which is there then.
        to : array_like, shape (3,)
            The other end of a spring, m, needed unless `second` names a vertex.
        axis : array_like, shape (3,)
            Of a hinge or a slider; of a ball joint with a cone, the direction that keeps within it.
        arm : float, optional
            m, from the middle of a hinge, a slider or a fixed joint to its points; by default the radius of gyration of `first`.
        length : float, optional
            Of a spring without force, m, at least 0; by default that at rest.
        stiffness : float
            N/m, of all points of the joint together; greater than 0.
        limits : tuple of (float, float), optional
            Of a hinge, rad: how far `first` turns about the axis from where it is at rest, seen from `second`, less than a whole turn from
            the one to the other. Of a slider, m: how far it slides; an end may be infinite. They hold 0.
        cone : float, optional
            Of a ball joint, rad: how far the axes on both of its bodies turn apart; more than 0 and less than half a turn.
        limit_stiffness : float, optional
            Beyond limits or cone: N/m of a slider, by default `stiffness`; else N m/rad, by default that times arm^2, of a ball joint the
            square of the radius of gyration of `first`. Greater than 0.
        name : str, optional

        Returns
        -------
        Joint

        Raises
        ------
        TypeError, ValueError
            A kind that there is not, a body and itself, a body that deforms without a vertex or in a joint of several points, arguments
            that the kind does not have or that are missing, limits that do not hold 0 or leave nothing between them. When a simulation is
            made: both ends cannot move, or pins and what joins a body to the world hold together what each of them lets turn or slide.
        """
        kind = choice("kind", kind, KINDS)
        one, vertex = self._end("first", first, kind)
        other: Any
        other, other_vertex = (None, None) if second is None else self._end("second", second, kind)
        if one is other and (isinstance(one, RigidBody) or vertex == other_vertex):
            raise ValueError(f"second: {other.name!r} is joined to itself")
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
            raise ValueError(f"name: there is a joint {name!r} already")
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
        """A body and the vertex of it that is joined; None: it is rigid, and its points are the joint's."""
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
        """(first_arm, second_arm, direction) of a joint."""
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
        """Numbers on a body of points; a rigid one gets new anchors."""
        return body.add_anchors(points) if vertex is None else np.array([vertex], np.int32)

    def joint_elements(self) -> Any:
        """[(kind, rows of the model, rest, parameters)] of all joints; of a `model_scene`."""
        bodies = {body.name: body for body in self.bodies}
        return [(kind, rows, rest, parameters) for joint in self.joints for kind, rows, _, rest, parameters in elements_of(joint, bodies)]

    def check_joints(self, fixed: Any) -> None:
        """ValueError where both ends of a joint cannot move; fixed (n,) as `Scene.fixed`. Of a `model_scene`."""
        bodies = {body.name: body for body in self.bodies}
        for joint in self.joints:
            ends = ((name, rows) for name, rows in zip(joint.bodies, (joint.first, joint.second), strict=True) if name is not None)
            if all(fixed[rows + bodies[name].slice.start].all() for name, rows in ends):
                held = " and ".join(repr(name) for name in joint.bodies if name is not None)
                raise ValueError(f"joint {joint.name!r}: pins hold what it joins, {held}, and nothing of it can move")
            for end in (0, 1):
                self._check_contradiction(joint, bodies, end, fixed)

    def _check_contradiction(self, joint, bodies, end, fixed):
        """ValueError where a body that pins let turn is joined to what does not move, and the two leave nothing of it."""
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
            raise ValueError(f"joint {joint.name!r}: with the pins of {body.name!r} it leaves nothing of that to turn or to slide")


def _held(arms, body, across):
    """What holds points of a body, (3k, 6) of a velocity and a spin times the size of the body."""
    size = np.abs(body.arms).max()
    return np.concatenate([across @ np.column_stack([np.eye(3), -np.cross(np.eye(3), arm / size)]) for arm in arms])


def _between(kind, limits, cone):
    """The limits of a joint as it keeps them, or None."""
    if cone is not None:
        return check_limits(kind, (0.0, number("cone", cone, above=0.0)))
    return None if limits is None else check_limits(kind, limits)


def check_limits(kind: str, limits: Any) -> tuple[float, float]:
    """`Joint.limits` of two numbers; ValueError where they are none of this kind of joint."""
    ends = any_array("limits", limits)
    if ends.shape != (2,) or ends.dtype.kind not in "fiu" or np.isnan(ends).any():
        raise ValueError(f"limits: expected two numbers, got {limits!r}")
    lower, upper = map(float, ends)
    if not lower < upper:
        raise ValueError(f"limits: ({lower:g}, {upper:g}) leave nothing between them; a fixed joint holds all")
    if not lower <= 0.0 <= upper:
        raise ValueError(f"limits: ({lower:g}, {upper:g}) do not hold 0, where the joint is at rest")
    if kind == "hinge" and not upper - lower < 2.0 * np.pi:
        raise ValueError(f"limits: from {lower:g} to {upper:g} rad is a whole turn or more, which is no limit; leave them out")
    if kind == "ball" and not upper < np.pi:
        raise ValueError(f"cone: {upper:g} rad is half a turn or more, which is no limit; leave it out")
    return lower, upper


def _direction(axis, kind):
    """A unit vector."""
    if axis is None:
        raise ValueError(f"axis: a {kind} needs one" if kind != "ball" else "axis: a cone needs one")
    axis = real_array("axis", axis, (3,))
    length = np.linalg.norm(axis)
    if not length > 0.0 or not np.isfinite(length):
        raise ValueError(f"axis: a direction of length {length}")
    return axis / length


def _across(axis):
    """A unit vector at a right angle to one."""
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    return across / np.linalg.norm(across)


def _arm(one, arm):
    """m, from the middle of a joint to its points; 0 of a body that deforms, whose joints have one point."""
    if arm is not None:
        return number("arm", arm, above=0.0)
    return np.sqrt(np.trace(one.second_moments) / one.mass) if isinstance(one, RigidBody) else 0.0


def _spread(kind, axis, arm):
    """The points of a joint about its middle, m."""
    if kind in ("ball", "spring"):
        return np.zeros((1, 3))
    return arm * np.array([axis, -axis]) if kind == "hinge" else arm / np.sqrt(3.0) * CORNERS


def _place(name, given, end, body, vertex):
    """Where an end is at rest."""
    if vertex is not None:
        if given is not None:
            raise ValueError(f"{name}: vertex {vertex} of {body.name!r} is where it is")
        return body.points[vertex].copy()
    if given is None:
        raise ValueError(f"{name}: needed where {end} names no vertex that says where the joint is")
    return real_array(name, given, (3,))


def _size(body):
    return float(np.abs(body.points).max()) + 1.0
