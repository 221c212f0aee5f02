"""Rigid bodies of a scene: their masses, initial states and pins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu._internal.arguments import number, per_item, real_array
from pdgpu._internal.attributes import read_only
from pdgpu._internal.counted import counted
from pdgpu._internal.made import made_by
from pdgpu.mesh.mesh import Mesh
from pdgpu.scene.bodies import Body
from pdgpu.scene.body_masses import moments_of_points, shares_of_mass
from pdgpu.scene.held_parts import CARRIERS

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["RigidBody"]

CORNERS = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
OUT_OF_LINE = 1e-9  # of the extent: pins closer to a line lie on it


@made_by("Scene.add_rigid")
class RigidBody(Body):
    """A rigid body of a scene; made by `Scene.add_rigid`.

    Its vertices are those of its mesh. A pose with the centre c (3,) and the rotation R (3, 3) puts them at ``c + arms @ R.T``;
    `Simulation.set_state` accepts such rows, and `Simulation.rigid` returns the poses.

    Attributes
    ----------
    mass : float
        kg.
    masses : ndarray, shape (n,)
        Those that were given, kg. Else shares of the mass: proportional to the area at each vertex and weighted so that their centre of
        mass is `centre`. The linear momentum and the energy in gravity are sums over them. With shares, angular momentum and kinetic
        energy are not, because the second moments differ; `Simulation.momentum` and `Simulation.energies` have these.
    centre : ndarray, shape (3,)
        Of mass, at rest, m.
    second_moments : ndarray, shape (3, 3)
        Integral of density (x - centre)(x - centre)^T, kg m^2. The inertia tensor is tr(J) 1 - J.
    spin : ndarray, shape (3,)
        Initial angular velocity, rad/s.
    anchors : int
        Number of points of joints. They move with the body, and are no vertices.
    """

    mass: float
    centre: Floats
    second_moments: Floats
    spin: Floats
    anchors: int
    has_own_masses = False  # whether the masses were given

    def __init__(self, name, mesh, first, density, velocity, spin, collides, carriers=None, masses=None):
        triangles = mesh.surface if len(mesh.tets) else mesh.triangles
        if not len(triangles):
            raise ValueError(f"mesh: a rigid body needs triangles or tets, and {mesh!r} has none")
        volume, centre, moments = _host.mass_properties(mesh.points, np.ascontiguousarray(triangles))
        if masses is None:
            density = number("density", density, above=0.0)
            mass, moments = density * volume, density * moments
        else:
            masses = per_item("masses", masses, len(mesh.points), above=0.0)
            mass, centre, moments = moments_of_points(mesh.points, masses)
            density = mass / volume
        if not np.isfinite(mass) or not np.isfinite(moments).all() or not (mass / CARRIERS > 0.0):
            raise ValueError(f"density: {density} gives the mass {mass} kg; it must be positive and finite")
        squares, axes = np.linalg.eigh(moments)
        arms = CORNERS * np.sqrt(squares / mass) @ axes.T
        if carriers is not None:
            arms = _carried(real_array("points", carriers, arms.shape) - centre, mass, moments)
        carriers = centre + arms if carriers is None else np.array(carriers)
        # as in the core: about the centre of the four points after rounding
        centre = carriers.mean(axis=0)
        spin, velocity = real_array("spin", spin, (3,)), real_array("velocity", velocity, (3,))
        surface = Mesh(mesh.points, triangles=triangles)
        self._keep(has_own_masses=masses is not None)
        masses = read_only(shares_of_mass(surface.points, surface.triangles, mass, centre) if masses is None else masses)
        moving = velocity + np.cross(spin, surface.points - centre)
        super().__init__(name, "rigid", surface.points, surface, [], masses, first, moving, 0.0, density, collides)
        self._keep(mass=mass, centre=read_only(centre), second_moments=read_only(moments), spin=read_only(spin), anchors=0)
        self._hidden, self._linear = read_only(carriers), read_only(velocity)  # points (anchors + 4, 3) m, velocity of the centre, m/s
        self._groups = {group: part.vertices for group, part in mesh.groups.items()}

    def __setstate__(self, state):
        vars(self).update(state if "_hidden" in state else _without_hidden(state))

    def __repr__(self):
        size = counted(len(self.points), "vertex", "vertices")
        return f"<{', '.join([f'rigid {self.name!r}: {size}, {self.mass:.6g} kg', *self._holds()])}>"

    @property
    def arms(self) -> Floats:
        """Vertices relative to the centre at rest, (n, 3) m."""
        return self.points - self.centre

    @property
    def masses(self) -> Floats:
        """Shares of the mass at the vertices, shape (n,), kg; see the class."""
        return self._masses

    @masses.setter
    def masses(self, masses: Any) -> None:
        raise ValueError(
            f"masses: those of the rigid body {self.name!r} are given to add_rigid, or follow from its density; add another one"
        )

    @property
    def velocity(self) -> Floats:
        """Initial velocities of the vertices, shape (n, 3), m/s, by translation and spin."""
        return self._velocity

    @velocity.setter
    def velocity(self, velocity: Any) -> None:
        raise ValueError(f"velocity: that of the rigid body {self.name!r} is given with its spin to add_rigid")

    @property
    def damping(self) -> float:
        """Always 0: a rigid body has no elements with damping."""
        return 0.0

    @damping.setter
    def damping(self, damping: Any) -> None:
        raise ValueError(f"damping: it is one of elements, and the rigid body {self.name!r} has none")

    def slide(self, where: Any, *, line: Any = None, plane: Any = None) -> None:
        """Not supported: a rigid body is held by pins, in a point, about an axis or as a whole."""
        raise ValueError(f"slide: the rigid body {self.name!r} cannot be held on a line or plane; pin a vertex or two of it")

    def _some(self, change, where):
        """Return the selected vertices; groups are those of the original mesh."""
        if isinstance(where, str):
            if where not in self._groups:
                known = ", ".join(map(repr, self._groups)) or "none"
                raise ValueError(f"where: the mesh of {self.name!r} has no group {where!r}; its groups: {known}")
            where = self._groups[where]
        return super()._some(change, where)

    def add_anchors(self, points: Floats) -> Any:
        """Add anchors at points (k, 3) m for a joint; return their numbers, after those of the vertices."""
        self._check_not_shown("add_joint")
        first = len(self.points) + self.anchors
        self._hidden = read_only(np.concatenate([self._hidden[: self.anchors], points, self._hidden[self.anchors :]]))
        self._keep(anchors=self.anchors + len(points))
        self._linear = self.hidden_velocities()[-CARRIERS:].mean(axis=0)  # equal to the value from a file, to the bit
        self._velocity = self._linear + np.cross(self.spin, self.points - self.centre)
        return np.arange(first, first + len(points), dtype=np.int32)

    def hidden_points(self) -> Floats:
        """The points of the compiled model after the vertices, at rest, (anchors + 4, 3) m: those with the mass are last."""
        return self._hidden

    def hidden_velocities(self) -> Floats:
        """Their initial velocities, m/s."""
        return self._linear + np.cross(self.spin, self._hidden - self.centre)

    def numbered_points(self) -> Floats:
        """The vertices and the anchors at rest, m: the numbers of a joint refer to them."""
        return np.concatenate([self.points, self._hidden[: self.anchors]])

    def element_rows(self, material):
        """None: it has no material."""
        return np.zeros((0, 1), np.int32)

    def pinned(self) -> Floats:
        """The pinned vertices, ascending."""
        held = [indices for indices, _ in self.pins]
        return np.unique(np.concatenate(held)).astype(np.int32) if held else np.zeros(0, np.int32)

    def hinges(self) -> tuple[int, int] | None:
        """Return its pivot as two vertices: (-1, -1) without pins, (vertex, -1) for a point, two for an axis; None if it is held as a
        whole.
        """
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
        """(n,) bool, the vertices that are no unknowns: pins, and all vertices of a body that is held as a whole."""
        fixed = np.zeros(len(self.points), dtype=bool)
        hinges = self.hinges()
        fixed[slice(None) if hinges is None else [pin for pin in hinges if pin >= 0]] = True
        return fixed

    def moved_to(self, pinned: Any, targets: Floats, name: str, tolerance: float) -> Floats:
        """The vertices (n, 3) of a body that is held as a whole, with its pinned ones at targets (k, 3); ValueError if no rigid motion
        leads there.
        """
        here = self.points[pinned]
        middle, goal = here.mean(axis=0), targets.mean(axis=0)
        rotation = nearest_rotation((targets - goal).T @ (here - middle))
        moved = goal + (self.points - middle) @ rotation.T
        check_rigid_motion(moved[pinned], targets, self, name, tolerance)
        return moved


def _carried(arms, mass, moments):
    """Return arms of the points with the mass, from a file; ValueError if they do not match the body."""
    off = max(np.abs(mass / CARRIERS * arms.T @ arms - moments).max(), mass * (arms.mean(axis=0) ** 2).sum())
    if not off <= 1e-9 * np.trace(moments):
        raise ValueError("points: the last four do not have the second moments of the body")
    return arms


def _without_hidden(state):
    """Return attributes of a pickle of an earlier version, in which the hidden points were vertices."""
    whole, anchors = state["points"], state.get("anchors", 0)
    n = len(whole) - CARRIERS - anchors
    mesh, velocity = Mesh(whole[:n], triangles=state["mesh"].triangles), state["_velocity"]
    return state | {
        "points": mesh.points,
        "mesh": mesh,
        "slice": slice(state["slice"].start, state["slice"].start + n),
        "anchors": anchors,
        "_masses": read_only(shares_of_mass(mesh.points, mesh.triangles, state["mass"], state["centre"])),
        "_velocity": velocity[:n],
        "_hidden": read_only(whole[n:]),
        "_linear": read_only(velocity[-CARRIERS:].mean(axis=0)),
    }


def nearest_rotation(matrices: Floats) -> Floats:
    """Return the rotations (..., 3, 3) closest to matrices."""
    u, _, v = np.linalg.svd(matrices)
    u[..., :, 2] *= np.linalg.det(u @ v)[..., None]
    return u @ v


def nearest_motion(points: Floats, x: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the means of x and of points, both (n, 3) m, and the rotation (3, 3) about them that maps the points closest to x."""
    middle, rest = x.mean(axis=0), points.mean(axis=0)
    return middle, rest, nearest_rotation((x - middle).T @ (points - rest))


def check_rigid_motion(moved: Floats, given: Floats, body: RigidBody, name: str, tolerance: float = 1e-8) -> None:
    """ValueError for positions that are no rigid motion of a body, to `tolerance` times its size and coordinates."""
    off = np.abs(moved - given).max()
    size = np.abs(body.arms).max() + np.abs(given).max()
    if not off <= tolerance * size:
        raise ValueError(
            f"{name}: vertices of the rigid body {body.name!r} are {off:g} m off its shape, and "
            f"{tolerance * size:.2g} m are allowed; give centre + arms @ rotation.T with the arms of the body"
        )


def pose_of(body: RigidBody, x: Floats) -> tuple[Floats, Floats]:
    """Return centre (3,) and rotation (3, 3) of a body at positions (n, 3): those closest to the rows with the mass if present, else to its
    vertices.
    """
    if body.n_hidden:
        carriers = x[-CARRIERS:]
        centre = carriers.mean(axis=0)
        return centre, nearest_rotation((carriers - centre).T @ body.arms[-CARRIERS:])
    middle, rest, rotation = nearest_motion(body.points, x)
    return middle + rotation @ (body.centre - rest), rotation
