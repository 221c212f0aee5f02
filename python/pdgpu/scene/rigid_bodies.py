"""Rigid bodies of a scene: their mass, what they begin with, and what holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import number, real_array
from pdgpu._internal.attributes import read_only
from pdgpu._internal.counted import counted
from pdgpu._internal.made import made_by
from pdgpu.mesh.mesh import Mesh
from pdgpu.scene.bodies import Body
from pdgpu.scene.held_parts import CARRIERS, selectable_points

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["RigidBody"]

CORNERS = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
OUT_OF_LINE = 1e-9  # of the extent: pins that are nearer to a line lie on it


@made_by("Scene.add_rigid")
class RigidBody(Body):
    """A rigid body of a scene; made by `Scene.add_rigid`.

    Its vertices are those of the mesh it was made of, which have no mass, and behind them four that carry it, a quarter each: they have the
    centre and the second moments of the body, so that momenta and energies are sums over vertices as for every other body.

    Attributes
    ----------
    mass : float
        kg.
    centre : ndarray, shape (3,)
        Of mass, at rest, m.
    second_moments : ndarray, shape (3, 3)
        Integral of density (x - centre)(x - centre)^T, kg m^2. The inertia tensor is tr(J) 1 - J.
    spin : ndarray, shape (3,)
        Angular velocity at the start, rad/s.
    anchors : int
        Vertices between those of the mesh and those that carry the mass, at which joints hold it.
    """

    mass: float
    centre: Floats
    second_moments: Floats
    spin: Floats
    anchors: int

    def __init__(self, name, mesh, first, density, velocity, spin, collides, carriers=None):
        triangles = mesh.surface if len(mesh.tets) else mesh.triangles
        if not len(triangles):
            raise ValueError(f"mesh: a rigid body needs triangles or tets, and {mesh!r} has none")
        density = number("density", density, above=0.0)
        volume, centre, moments = _host.mass_properties(mesh.points, np.ascontiguousarray(triangles))
        mass, moments = density * volume, density * moments
        if not np.isfinite(mass) or not np.isfinite(moments).all() or not (mass / CARRIERS > 0.0):
            raise ValueError(f"density: {density} gives the mass {mass} kg, which cannot be computed with")
        squares, axes = np.linalg.eigh(moments)
        arms = CORNERS * np.sqrt(squares / mass) @ axes.T
        if carriers is not None:
            arms = _carried(real_array("points", carriers, arms.shape) - centre, mass, moments)
        points = np.concatenate([mesh.points, centre + arms if carriers is None else carriers])
        # as the core turns them: about the centre that the four have after rounding
        centre = points[-CARRIERS:].mean(axis=0)
        spin = real_array("spin", spin, (3,))
        velocity = real_array("velocity", velocity, (3,)) + np.cross(spin, points - centre)
        masses = np.zeros(len(points))
        masses[-CARRIERS:] = mass / CARRIERS
        whole = Mesh(points, triangles=triangles)
        super().__init__(name, "rigid", whole.points, whole, [], masses, first, velocity, 0.0, density, collides)
        self._keep(mass=mass, centre=read_only(centre), second_moments=read_only(moments), spin=read_only(spin))
        self._keep(anchors=0)
        self._groups = {group: part.vertices for group, part in mesh.groups.items()}

    def __repr__(self):
        size = counted(len(selectable_points(self)), "vertex", "vertices")
        return f"<{', '.join([f'rigid {self.name!r}: {size}, {self.mass:.6g} kg', *self._holds()])}>"

    @property
    def arms(self) -> Floats:
        """Vertices from the centre at rest, (n, 3) m."""
        return self.points - self.centre

    @property
    def masses(self) -> Floats:
        """Masses of the vertices, shape (n,), kg: 0 for those of the mesh, a quarter of the mass for the last four."""
        return self._masses

    @masses.setter
    def masses(self, masses: Any) -> None:
        raise ValueError(f"masses: those of the rigid body {self.name!r} follow from its density; add it with another one")

    @property
    def velocity(self) -> Floats:
        """Velocities of the vertices at the start, shape (n, 3), m/s, of the translation and the spin together."""
        return self._velocity

    @velocity.setter
    def velocity(self, velocity: Any) -> None:
        raise ValueError(f"velocity: that of the rigid body {self.name!r} is given with its spin to add_rigid")

    @property
    def damping(self) -> float:
        """Always 0: a rigid body has no elements to be damped."""
        return 0.0

    @damping.setter
    def damping(self, damping: Any) -> None:
        raise ValueError(f"damping: it is one of elements, and the rigid body {self.name!r} has none")

    def slide(self, where: Any, *, line: Any = None, plane: Any = None) -> None:
        """Refused: a rigid body is held by pins, in a point or an axis, or whole."""
        raise ValueError(f"slide: the rigid body {self.name!r} cannot be held on a line or plane; pin a vertex or two of it")

    def _some(self, change, where):
        """Those that carry the mass are not the user's to hold."""
        if isinstance(where, str):
            if where not in self._groups:
                known = ", ".join(map(repr, self._groups)) or "none"
                raise ValueError(f"where: the mesh of {self.name!r} has no group {where!r}; its groups: {known}")
            where = self._groups[where]
        return super()._some(change, where)

    def add_anchors(self, points: Floats) -> Any:
        """New vertices at points (k, 3) m for a joint; returns their numbers. The slices of the bodies behind it must follow."""
        self._check_not_shown("add_joint")
        first = len(self.points) - CARRIERS
        whole = Mesh(np.concatenate([self.points[:first], points, self.points[first:]]), triangles=self.mesh.triangles)
        velocity, self._masses = self._velocity[-CARRIERS:].mean(axis=0), np.insert(self._masses, first, np.zeros(len(points)))
        self._velocity = velocity + np.cross(self.spin, whole.points - self.centre)
        start = self.slice.start
        self._keep(points=whole.points, mesh=whole, slice=slice(start, start + len(whole.points)), anchors=self.anchors + len(points))
        return np.arange(first, first + len(points), dtype=np.int32)

    def element_rows(self, material):
        """None: it has no material."""
        return np.zeros((0, 1), np.int32)

    def pinned(self) -> Floats:
        """The pinned vertices, ascending."""
        held = [indices for indices, _ in self.pins]
        return np.unique(np.concatenate(held)).astype(np.int32) if held else np.zeros(0, np.int32)

    def hinges(self) -> tuple[int, int] | None:
        """What it turns about, as two vertices: (-1, -1) where nothing holds it, (vertex, -1) a point, two for an axis; None where it is
        held whole."""
        pinned = self.pinned()
        if len(pinned) < 2:
            return (int(pinned[0]) if len(pinned) else -1), -1
        arms = self.points[pinned] - self.points[pinned[0]]
        far = int(np.argmax((arms**2).sum(axis=1)))
        length = np.linalg.norm(arms[far])
        if not length > 0.0:
            return int(pinned[0]), -1
        if np.linalg.norm(np.cross(arms, arms[far] / length), axis=1).max() > OUT_OF_LINE * length:
            return None
        return int(pinned[0]), int(pinned[far])

    def fixed_rows(self) -> Any:
        """(n,) bool, the vertices that are no unknowns of their own accord: pins, and all of a body that is held whole."""
        fixed = np.zeros(len(self.points), dtype=bool)
        hinges = self.hinges()
        fixed[slice(None) if hinges is None else [pin for pin in hinges if pin >= 0]] = True
        return fixed

    def moved_to(self, pinned: Any, targets: Floats, name: str, tolerance: float) -> Floats:
        """The vertices (n, 3) of a body that is held whole where its pinned ones are at targets (k, 3); ValueError where no motion of a
        rigid body leads there."""
        here = self.points[pinned]
        middle, goal = here.mean(axis=0), targets.mean(axis=0)
        rotation = nearest_rotation((targets - goal).T @ (here - middle))
        moved = goal + (self.points - middle) @ rotation.T
        check_rigid_motion(moved[pinned], targets, self, name, tolerance)
        return moved


def _carried(arms, mass, moments):
    """Arms of the vertices that carry the mass, as a file has them; ValueError where they are not those of the body."""
    off = max(np.abs(mass / CARRIERS * arms.T @ arms - moments).max(), mass * (arms.mean(axis=0) ** 2).sum())
    if not off <= 1e-9 * np.trace(moments):
        raise ValueError("points: the last four have not the second moments of the body")
    return arms


def nearest_rotation(matrices: Floats) -> Floats:
    """The rotations (..., 3, 3) that are nearest to matrices."""
    u, _, v = np.linalg.svd(matrices)
    u[..., :, 2] *= np.linalg.det(u @ v)[..., None]
    return u @ v


def check_rigid_motion(moved: Floats, given: Floats, body: RigidBody, name: str, tolerance: float = 1e-8) -> None:
    """ValueError where given positions are not the moved ones of a rigid body."""
    off = np.abs(moved - given).max()
    size = np.abs(body.arms).max() + np.abs(given).max()
    if not off <= tolerance * size:
        raise ValueError(
            f"{name}: vertices of the rigid body {body.name!r} are {off:g} m from where a rotation and a translation puts them"
        )


def pose_of(body: RigidBody, x: Floats) -> tuple[Floats, Floats]:
    """Centre (3,) and rotation (3, 3) of a body at positions (n, 3)."""
    carriers = x[-CARRIERS:]
    centre = carriers.mean(axis=0)
    return centre, nearest_rotation((carriers - centre).T @ body.arms[-CARRIERS:])
