"""Scenes: bodies, what holds them, obstacles, and the arrays a simulation is built from."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np

from pdgpu import _host
from pdgpu.arguments import any_array, number, per_item, real_array, vertex_indices
from pdgpu.colliders import Collider, TriangleMesh
from pdgpu.materials import Attachment, Bending, Material, Spring, WorldBox
from pdgpu.mesh import Mesh

__all__ = ["Body", "Obstacle", "Scene"]


class Body:
    """One body of a scene; made by `Scene.add_solid`, `add_shell`, `add_rod`, `add_particles`.

    Attributes
    ----------
    name : str
    type : str
        "solid", "shell", "rod" or "particles".
    points : ndarray, shape (n, 3), float64
        Rest positions, m.
    mesh : Mesh or None
        None for particles.
    masses : ndarray, shape (n,), float64
        Lumped masses, kg.
    density : ndarray or None
        One number per tet, triangle or edge, kg/m^3, kg/m^2 or kg/m; None for particles.
    parents : ndarray of int32, shape (n,), or None
        After a cut (`Simulation.cut`): the vertex of the body as it was added that each vertex descends from.
    slice : slice
        Its rows in the arrays of a simulation.
    """

    def __init__(self, name, kind, points, mesh, materials, masses, first, velocity, damping, density=None):
        self.name, self.type, self.points, self.mesh = name, kind, points, mesh
        self.materials, self.masses, self.damping = materials, masses, damping
        self.velocity, self.density, self.parents = velocity, density, None
        self.groups = []  # (kind, vertices of this body, rest, parameters) of every material
        self.slice = slice(first, first + len(points))
        self.pins = []  # (indices, motion or None)
        self.slides = []  # (indices, projector (3, 3) on the line or plane)
        self.attachments = []  # (indices, targets, stiffness per index)

    def __repr__(self):
        return f"<{self.type} {self.name!r}: {len(self.points)} vertices, {', '.join(map(repr, self.materials)) or 'no material'}>"

    def copy(self):
        """A body of its own: what is pinned, attached or written to one of the two is not seen by the other."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list):
                setattr(other, name, list(value))
            elif isinstance(value, np.ndarray) and value.flags.writeable:
                setattr(other, name, value.copy())
        return other

    def pin(self, where, motion=None):
        """Hold vertices: hard, they move only as `motion` says.

        Parameters
        ----------
        where : array_like of int, or of bool with shape (n,), or callable(points (n, 3)) -> mask
            Vertices of this body.
        motion : callable(time, rest_points (k, 3)) -> positions (k, 3), optional
            Where the pinned vertices are at a time (s); `rest_points` are those of the pinned vertices only, in ascending order.
            Without it they stay where the state puts them.
        """
        if motion is not None and not callable(motion):
            raise TypeError(f"motion: expected a callable(time, rest_points), got {motion!r}")
        self.pins.append((vertex_indices("where", where, self.points), motion))

    def slide(self, where, *, line=None, plane=None):
        """Hold vertices on a line or in a plane, each through the point where the state puts it; along it they move freely.

        A bilateral constraint in a subspace [Chen et al. 2024, VBD, Sec. 3.4]; VertexBlockDescent, BlockJacobi, GradientDescent and
        Newton with a direct solver take it.

        Parameters
        ----------
        where : as for `pin`
            A vertex slides once; where it is pinned as well, the pin holds.
        line : array_like, shape (3,)
            Direction of the line. Give `line` or `plane`.
        plane : array_like, shape (3,)
            Normal of the plane.

        Raises
        ------
        ValueError
            A direction of zero length, a vertex that slides already, both or neither of `line` and `plane`.
        """
        if (line is None) == (plane is None):
            raise ValueError("slide: give either line, the direction of a line, or plane, the normal of a plane")
        name, given = ("line", line) if plane is None else ("plane", plane)
        direction = real_array(name, given, (3,))
        largest = np.abs(direction).max()
        if largest == 0.0:
            raise ValueError(f"{name}: a direction of zero length, {given!r}, holds nothing")
        direction = direction / largest
        direction /= np.sqrt(direction @ direction)
        along = np.outer(direction, direction)
        indices = vertex_indices("where", where, self.points)
        held = np.zeros(len(self.points), dtype=bool)
        for others, _ in self.slides:
            held[others] = True
        if held[indices].any():
            raise ValueError(f"where: vertex {int(indices[np.argmax(held[indices])])} slides already")
        self.slides.append((indices, along if plane is None else np.eye(3) - along))

    def attach(self, where, targets, stiffness=1e6):
        """Hold vertices softly: a spring of rest length zero from each to its target.

        Parameters
        ----------
        where : as for `pin`
            k vertices, taken in ascending order.
        targets : array_like, shape (k, 3) or (3,)
            m.
        stiffness : float or array_like, shape (k,)
            N/m.
        """
        indices = vertex_indices("where", where, self.points)
        targets = any_array("targets", targets)
        if targets.ndim == 1:
            targets = np.broadcast_to(real_array("targets", targets, (3,)), (len(indices), 3))
        targets = real_array("targets", targets, (len(indices), 3))
        self.attachments.append((indices, targets, per_item("stiffness", stiffness, len(indices), above=0.0)))

    def element_rows(self, material):
        """Rows of vertices (of this body) that a material acts on."""
        if isinstance(material, Spring):
            return self.mesh.edges if self.type == "rod" else self.mesh.unique_edges()
        if isinstance(material, Bending):
            return self.mesh.hinges
        return {"solid": self.mesh.tets, "shell": self.mesh.triangles}[self.type]

    def groups_of(self, material):
        """[(kind, vertices, rest, parameters)] of a material, empty where the mesh has nothing for it."""
        rows = self.element_rows(material)
        if not len(rows):
            return []
        kind, rest, parameters = material.elements(self.points, rows)
        return [(kind, rows, rest, parameters)]


@dataclass(frozen=True)
class Obstacle:
    """A collider of a scene; made by `Scene.add_obstacle`.

    Attributes
    ----------
    name : str
    collider : Collider
        With its motion.
    """

    name: str
    collider: Collider


class Scene:
    """Bodies under gravity, and obstacles.

    Parameters
    ----------
    gravity : array_like, shape (3,)
        m/s^2.
    """

    def __init__(self, gravity=(0.0, -9.81, 0.0)):
        self.gravity = real_array("gravity", gravity, (3,))
        self.bodies = []
        self.obstacles = []
        self.world_box = None

    def __repr__(self):
        obstacles = f", {len(self.obstacles)} obstacles" if self.obstacles else ""
        return f"Scene({len(self.bodies)} bodies, {self.n_vertices} vertices{obstacles})"

    def copy(self):
        """A scene with copies of the bodies and with the same obstacles, which do not change."""
        other = copy.copy(self)
        other.gravity, other.bodies = self.gravity.copy(), [body.copy() for body in self.bodies]
        other.obstacles = list(self.obstacles)
        return other

    @property
    def n_vertices(self):
        return sum(len(body.points) for body in self.bodies)

    @property
    def names(self):
        """Of all bodies, then of all obstacles; a tuple of str."""
        return tuple(part.name for part in (*self.bodies, *self.obstacles))

    def __getitem__(self, name):
        """The body or obstacle of that name."""
        for part in (*self.bodies, *self.obstacles):
            if part.name == name:
                return part
        raise KeyError(f"no body is named {name!r}; there are {list(self.names)}")

    def find(self, body):
        """The body of this scene that a body or a name stands for; ValueError where there is none of that name."""
        name = body.name if isinstance(body, Body) else body
        if not isinstance(name, str):
            raise TypeError(f"body: expected a body or its name, got {body!r}")
        for candidate in self.bodies:
            if candidate.name == name:
                return candidate
        raise ValueError(f"body: no body is named {name!r}; there are {[candidate.name for candidate in self.bodies]}")

    def _new_name(self, name):
        if not isinstance(name, str):
            raise TypeError(f"name: expected a string, got {name!r}")
        for what, parts in (("a body", self.bodies), ("an obstacle", self.obstacles)):
            if any(part.name == name for part in parts):
                raise ValueError(f"name: there is {what} named {name!r} already")
        return name

    def _add(self, kind, points, mesh, materials, masses, name, velocity, damping, density=None):
        name = self._new_name(f"{kind}{len(self.bodies)}" if name is None else name)
        velocity = any_array("velocity", velocity)
        velocity = real_array("velocity", velocity, (3,) if velocity.ndim < 2 else (len(points), 3))
        damping = number("damping", damping, minimum=0.0)
        velocity = np.broadcast_to(velocity, points.shape).copy()
        body = Body(name, kind, points, mesh, materials, masses, self.n_vertices, velocity, damping, density)
        # a fault of a rest shape or of an array of constants shows here, and the scene stays as it was
        body.groups = [group for material in materials for group in body.groups_of(material)]
        self.bodies.append(body)
        return body

    def _add_mesh(self, kind, mesh, material, density, name, velocity, damping):
        if not isinstance(mesh, Mesh):
            raise TypeError(f"mesh: expected a pdgpu.Mesh, got {mesh!r}")
        element_name = {"solid": "tets", "shell": "triangles", "rod": "edges"}[kind]
        rows = getattr(mesh, element_name)
        if not len(rows):
            raise ValueError(f"mesh: a {kind} needs {element_name}, and {mesh!r} has none")
        materials = list(material) if isinstance(material, list | tuple) else [material]
        for given in materials:
            if not isinstance(given, Material):
                raise TypeError(f"material: expected a material such as pdgpu.ARAP, got {given!r}")
            if kind not in given.bodies:
                raise TypeError(f"material: {type(given).__name__} cannot be given to a {kind}, only to {', '.join(given.bodies)}")
        if len({type(given) for given in materials}) < len(materials):
            raise ValueError("material: a body takes each kind of material once")
        density = per_item("density", density, len(rows), above=0.0)
        used = np.zeros(len(mesh.points), dtype=bool)
        used[rows] = True
        if not used.all():
            raise ValueError(
                f"mesh: vertex {int(np.argmin(used))} belongs to none of the {element_name}, so it would have no mass "
                f"({int((~used).sum())} such vertices); use mesh.without_unused_vertices()"
            )
        masses = _host.lumped_masses(mesh.points, rows, density)
        bad = ~(np.isfinite(masses) & (masses > 0.0))
        if bad.any():
            vertex = int(np.argmax(bad))
            raise ValueError(f"density: vertex {vertex} would have the mass {masses[vertex]} kg, which cannot be computed with")
        return self._add(kind, mesh.points, mesh, materials, masses, name, velocity, damping, density)

    def add_solid(self, mesh, material, *, density, name=None, velocity=(0.0, 0.0, 0.0), damping=0.0):
        """Add the tets of a mesh.

        Parameters
        ----------
        mesh : Mesh
            Every vertex must belong to a tet.
        material : Material or list of Material
            NeoHookean, StVK, Corotated, ARAP, Volume, StrainLimit (Pa), Spring (N/m, on the edges).
        density : float or array_like, shape (tets,)
            kg/m^3, greater than 0.
        name : str, optional
        velocity : array_like, shape (3,) or (n, 3)
            At the start, m/s.
        damping : float
            Damping time k_d of all its elements, s; rigid motion is not braked.

        Returns
        -------
        Body
        """
        return self._add_mesh("solid", mesh, material, density, name, velocity, damping)

    def add_shell(self, mesh, material, *, density, bending=0.0, name=None, velocity=(0.0, 0.0, 0.0), damping=0.0):
        """Add the triangles of a mesh.

        Parameters
        ----------
        material : Material or list of Material
            Spring, StVK, Corotated, ARAP, Area, StrainLimit, Bending (N/m; bending J).
        density : float or array_like, shape (triangles,)
            kg/m^2, greater than 0.
        bending : float or array_like, shape (hinges,)
            Short for adding Bending(bending) to the list, J; 0: none.
        mesh, name, velocity, damping
            As for `add_solid`.
        """
        materials = list(material) if isinstance(material, list | tuple) else [material]
        if any_array("bending", bending).ndim or number("bending", bending, minimum=0.0) > 0.0:
            materials.append(Bending(bending))
        return self._add_mesh("shell", mesh, materials, density, name, velocity, damping)

    def add_rod(self, mesh, material, *, density, name=None, velocity=(0.0, 0.0, 0.0), damping=0.0):
        """Add the edges of a mesh. Material: Spring (N/m). density in kg/m, greater than 0. The rest as for `add_solid`."""
        return self._add_mesh("rod", mesh, material, density, name, velocity, damping)

    def add_particles(self, points, *, mass, name=None, velocity=(0.0, 0.0, 0.0), damping=0.0):
        """Add free points. `damping` is taken like that of every body; it acts on elements, and particles have none.

        Parameters
        ----------
        points : array_like, shape (n, 3)
            m.
        mass : float or array_like, shape (n,)
            kg, greater than 0.
        """
        points = real_array("points", points, (None, 3))
        if not len(points):
            raise ValueError("points: there are none")
        return self._add("particles", points, None, [], per_item("mass", mass, len(points), above=0.0), name, velocity, damping)

    def add_obstacle(self, mesh_or_shape, motion=None, *, name=None):
        """Add something that bodies may come near and that none of them moves.

        Nothing responds to obstacles so far: a simulation steps as if they were not there. `Simulation.contacts` finds what is near them.

        Parameters
        ----------
        mesh_or_shape : Mesh or Collider
            A mesh, whose surface counts, or Plane, Sphere, Capsule, Box, SignedDistanceField, TriangleMesh.
        motion : callable, optional
            Of a mesh: callable(time, rest_points (n, 3)) -> positions (n, 3); of another collider: callable(time) -> (rotation (3, 3),
            translation (3,)). Without it the obstacle stands still, or moves as the collider's own motion says. The time is s.
        name : str, optional
            Bodies and obstacles have different names.

        Returns
        -------
        Obstacle

        Raises
        ------
        TypeError
            Something else than a mesh or a collider; a motion that cannot be called.
        ValueError
            A mesh without a surface, a name that is taken, a motion for a collider that has one.
        """
        if isinstance(mesh_or_shape, Mesh):
            collider = TriangleMesh(mesh_or_shape)
        elif isinstance(mesh_or_shape, Collider):
            collider = mesh_or_shape
        else:
            raise TypeError(f"mesh_or_shape: expected a pdgpu.Mesh or a collider such as pdgpu.Sphere, got {mesh_or_shape!r}")
        if motion is not None:
            if collider.motion is not None:
                raise ValueError("motion: the collider has one already")
            collider = replace(collider, motion=motion)
        obstacle = Obstacle(self._new_name(f"obstacle{len(self.obstacles)}" if name is None else name), collider)
        self.obstacles.append(obstacle)
        return obstacle

    def set_world_box(self, lower, upper, stiffness):
        """Push every vertex of every body back into a box: energy stiffness/2 |x - clamp(x, lower, upper)|^2 per vertex.

        A unilateral constraint as a potential energy [Chen et al. 2024, VBD, Sec. 3.4], so a resting body sinks in a little. It acts on
        the bodies that are there when the simulation is built, is no damper, and appears in `Simulation.energies` as "WorldBox". A
        second call replaces the box. The matrix of Projective Dynamics gets `stiffness` on the diagonal of every vertex, of those
        inside the box too, which then move more slowly per iteration the stiffer the box.

        Parameters
        ----------
        lower, upper : array_like, shape (3,)
            m, lower < upper; a side may be infinite, as in lower=(-inf, 0, -inf), upper=(inf, inf, inf) for a floor.
        stiffness : float
            N/m, greater than 0.
        """
        self.world_box = WorldBox(lower, upper, number("stiffness", stiffness, above=0.0))

    # ---- what a simulation is built from ------------------------------------------------------------------------------

    def rest_positions(self):
        """(n, 3) float64, m."""
        return np.concatenate([body.points for body in self.bodies]) if self.bodies else np.zeros((0, 3))

    def masses(self):
        """(n,) float64, kg."""
        return np.concatenate([body.masses for body in self.bodies])

    def initial_velocities(self):
        """(n, 3) float64, m/s."""
        return np.concatenate([body.velocity for body in self.bodies])

    def fixed(self):
        """(n,) uint8, 1 where a vertex is pinned."""
        fixed = np.zeros(self.n_vertices, dtype=np.uint8)
        for body in self.bodies:
            for indices, _ in body.pins:
                fixed[body.slice.start + indices] = 1
        return fixed

    def subspace(self):
        """(n, 3, 3) float64, the projector on the line or plane each vertex is held in; None where none is."""
        if not any(body.slides for body in self.bodies):
            return None
        projectors = np.tile(np.eye(3), (self.n_vertices, 1, 1))
        for body in self.bodies:
            for indices, projector in body.slides:
                projectors[body.slice.start + indices] = projector
        return projectors

    def elements_of(self, body):
        """[(kind, vertices of the body, rest, parameters, damped)]: of its materials, its attachments, and the world box."""
        groups = [(*group, True) for group in body.groups]
        for indices, targets, stiffness in body.attachments:
            kind, rest, parameters = Attachment(stiffness).elements(targets[:, None, :])
            groups.append((kind, indices[:, None], rest, parameters, True))
        if self.world_box is not None:
            vertices = np.arange(len(body.points), dtype=np.int32)[:, None]
            kind, rest, parameters = self.world_box.elements(np.zeros((len(vertices), 1, 3)))
            groups.append((kind, vertices, rest, parameters, False))
        return groups

    def element_groups(self):
        """Kind -> (vertices, rest, parameters, damping or None), all bodies together, in the order they were added."""
        groups = {}
        for body in self.bodies:
            for kind, rows, rest, parameters, damped in self.elements_of(body):
                damping = np.full(len(rows), body.damping) if damped and body.damping else None
                vertices = rows + np.int32(body.slice.start) if body.slice.start else np.ascontiguousarray(rows)
                groups.setdefault(kind, []).append((vertices, rest, parameters, damping))
        return {kind: parts[0] if len(parts) == 1 else _joined(parts) for kind, parts in groups.items()}

    def motions(self):
        """(body, indices, motion) of every scripted pin."""
        return [(body, indices, motion) for body in self.bodies for indices, motion in body.pins if motion is not None]


def _joined(parts):
    """The arrays of several bodies in one; damping only where one of them has it."""
    vertices, rest, parameters = (np.concatenate([part[k] for part in parts]) for k in range(3))
    damping = None
    if any(part[3] is not None for part in parts):
        damping = np.concatenate([np.zeros(len(part[0])) if part[3] is None else part[3] for part in parts])
    return vertices, rest, parameters, damping


def vertex_colours(elements, n, method):
    """(n,) int32 colours for vertices 0 .. n-1, so that no two of one element agree; `elements` are arrays (m, k), of any k.

    method : "greedy" (ascending vertex, smallest free colour) or "balanced" (as many colours, of nearly equal sizes)
    """
    several = [rows for rows in elements if rows.shape[1] > 1]
    if len(several) == 1:
        return _host.colouring(several[0], n, method)
    # the graph of all elements, as the graph of their edges
    pairs = [rows[:, [a, b]] for rows in several for a in range(rows.shape[1]) for b in range(a + 1, rows.shape[1])]
    edges = np.ascontiguousarray(np.concatenate(pairs)) if pairs else np.zeros((0, 2), dtype=np.int32)
    return _host.colouring(edges, n, method)
