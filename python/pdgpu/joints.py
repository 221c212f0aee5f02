"""Joints between bodies: springs of rest length zero between points that they have in common, and springs of any length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdgpu.arguments import choice, number, real_array, vertex_indices
from pdgpu.attributes import read_only
from pdgpu.bodies import Body
from pdgpu.rigid_bodies import CORNERS, RigidBody

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import Floats, Integers

__all__ = ["Joint", "JointForce"]

KINDS = ("ball", "hinge", "fixed", "spring")


@dataclass(frozen=True, eq=False)
class Joint:
    """What joins two bodies, or one and the world; made by `Scene.add_joint`.

    Attributes
    ----------
    name, kind : str
    bodies : tuple of (str, str or None)
        The names of the two; None: the world.
    first : ndarray of int32, shape (k,)
        Its points: vertices of the first body, as that numbers them. Those of a rigid body are vertices of no triangle, which the joint
        brought along.
    second : ndarray of int32, shape (k,), or None
        Of the second.
    targets : ndarray, shape (k, 3), or None
        Of the world, m.
    stiffness : ndarray, shape (k,)
        Of each of the springs, N/m.
    lengths : ndarray, shape (k,)
        Of them without force, m.
    """

    name: str
    kind: str
    bodies: tuple[str, str | None]
    first: Integers
    second: Integers | None
    targets: Floats | None
    stiffness: Floats
    lengths: Floats


class JointForce(NamedTuple):
    """What a joint does to its first body: force (3,) N, torque (3,) N m about the middle of its points there, and how far two points that
    belong together are from where they should be, at most, m."""

    force: Floats
    torque: Floats
    gap: float


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
        name: str | None = None,
    ) -> Joint:
        """Join two rigid bodies, a rigid body and a vertex of one that deforms, two such vertices, or any of them and the world.

        A joint is a term of G, the energy k/2 (|a - b| - L)^2 summed over pairs of points a of the first and b of the second, and
        not a constraint: 1/k is its compliance, and what it bears pulls the points apart. "ball": one pair that coincides at rest.
        "hinge": two, at both ends of an arm along the axis. "fixed": four, at the corners of a tetrahedron about the point. "spring": one,
        of any length. A hinge resists turning across its axis with stiffness arm^2 (N m per rad), a fixed joint with two thirds of that
        about every axis. Every solver that takes the bodies takes joints; the stiffer they are the less descent by single bodies, such
        as VertexBlockDescent's, gets done in an iteration, while Newton does not mind.

        Bodies that are joined touch each other in contact as others do: leave a gap between them.

        Parameters
        ----------
        kind : {"ball", "hinge", "fixed", "spring"}
        first : RigidBody or str, or (Body or str, int)
            A rigid body; or, of "ball" and "spring", a body that deforms and one of its vertices.
        second : as first, optional
            None: the world.
        at : array_like, shape (3,)
            Where the joint is at rest, m; of a spring, its end on `first`. Needed unless `first` names a vertex, which is there then.
        to : array_like, shape (3,)
            The other end of a spring, m, needed unless `second` names a vertex.
        axis : array_like, shape (3,)
            Of a hinge.
        arm : float, optional
            m, from the middle of a hinge or a fixed joint to its points; by default the radius of gyration of `first`.
        length : float, optional
            Of a spring without force, m, at least 0; by default that at rest.
        stiffness : float
            N/m, of all points of the joint together; greater than 0.
        name : str, optional

        Returns
        -------
        Joint

        Raises
        ------
        TypeError, ValueError
            A kind that there is not, a body and itself, a body that deforms without a vertex or in a joint of several points, arguments
            that the kind does not have or that are missing. When a simulation is made: both ends cannot move.
        """
        kind = choice("kind", kind, KINDS)
        one, vertex = self._end("first", first, kind)
        other, other_vertex = (None, None) if second is None else self._end("second", second, kind)
        if one is other and (isinstance(one, RigidBody) or vertex == other_vertex):
            raise ValueError(f"second: {one.name!r} is joined to itself")
        own = {"to": (to, ("spring",)), "length": (length, ("spring",)), "axis": (axis, ("hinge",)), "arm": (arm, ("hinge", "fixed"))}
        for what, (given, kinds) in own.items():
            if given is not None and kind not in kinds:
                raise ValueError(f"{what}: a {kind} joint has none")
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
        spread = self._spread(kind, one, axis, arm)
        points, goals = middle + spread, goal + spread
        lengths = np.linalg.norm(points - goals, axis=1) if length is None else np.full(len(points), number("length", length, minimum=0.0))
        if other is None and lengths.any():
            raise ValueError("second: a spring of some length needs a point at its other end; pin a particle there, and join that")
        rows = self._points_on(one, vertex, points)
        joint = Joint(
            name,
            kind,
            (one.name, None if other is None else other.name),
            read_only(rows),
            None if other is None else read_only(self._points_on(other, other_vertex, goals)),
            read_only(goals) if other is None else None,
            read_only(np.full(len(points), stiffness / len(points))),
            read_only(lengths),
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

    def _spread(self, kind, one, axis, arm):
        """The points of a joint about its middle, m."""
        if kind in ("ball", "spring"):
            return np.zeros((1, 3))
        arm = np.sqrt(np.trace(one.second_moments) / one.mass) if arm is None else number("arm", arm, above=0.0)
        if kind == "fixed":
            return arm / np.sqrt(3.0) * CORNERS
        if axis is None:
            raise ValueError("axis: a hinge needs one")
        axis = real_array("axis", axis, (3,))
        length = np.linalg.norm(axis)
        if not length > 0.0 or not np.isfinite(length):
            raise ValueError(f"axis: a direction of length {length}")
        return arm / length * np.array([axis, -axis])

    def _points_on(self, body, vertex, points):
        """Vertices of a body at points; a rigid one gets new ones, and those of the bodies after it are numbered anew."""
        if vertex is not None:
            return np.array([vertex], np.int32)
        rows = body.add_anchors(points)
        for later in self.bodies[self.bodies.index(body) + 1 :]:
            later._keep(slice=slice(later.slice.start + len(rows), later.slice.stop + len(rows)))
        return rows

    def joint_elements(self) -> Any:
        """[(kind, rows of the scene's vertices, rest, parameters)] of all joints."""
        groups, bodies = [], {body.name: body for body in self.bodies}
        for joint in self.joints:
            rows = joint.first[:, None] + bodies[joint.bodies[0]].slice.start
            parameters = np.stack([joint.stiffness, joint.lengths], axis=1)
            if joint.second is not None:
                rows = np.concatenate([rows, joint.second[:, None] + bodies[joint.bodies[1]].slice.start], axis=1)
                groups.append(("spring", rows.astype(np.int32), np.ones((len(rows), 1)), parameters))
            else:
                groups.append(("attachment", rows.astype(np.int32), joint.targets.copy(), parameters[:, :1].copy()))
        return groups

    def check_joints(self, fixed: Any) -> None:
        """ValueError where both ends of a joint cannot move; fixed (n,) as `Scene.fixed`."""
        bodies = {body.name: body for body in self.bodies}
        for joint in self.joints:
            ends = ((name, rows) for name, rows in zip(joint.bodies, (joint.first, joint.second), strict=True) if name is not None)
            if all(fixed[rows + bodies[name].slice.start].all() for name, rows in ends):
                held = " and ".join(repr(name) for name in joint.bodies if name is not None)
                raise ValueError(f"joint {joint.name!r}: pins hold what it joins, {held}, and nothing of it can move")


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


def joint_forces(scene: Any, x: Floats) -> dict[str, JointForce]:
    """What `Simulation.joint_forces` says, at positions x (n, 3)."""
    bodies, found = {body.name: body for body in scene.bodies}, {}
    for joint in scene.joints:
        points = x[joint.first + bodies[joint.bodies[0]].slice.start]
        goals = joint.targets if joint.second is None else x[joint.second + bodies[joint.bodies[1]].slice.start]
        apart = points - goals
        distance = np.linalg.norm(apart, axis=1)
        stretch = distance - joint.lengths
        pull = joint.stiffness * np.divide(stretch, distance, out=np.ones_like(distance), where=distance > 0.0)
        forces = -pull[:, None] * apart
        torque = np.cross(points - points.mean(axis=0), forces).sum(axis=0)
        found[joint.name] = JointForce(forces.sum(axis=0), torque, float(np.abs(stretch).max()))
    return found
