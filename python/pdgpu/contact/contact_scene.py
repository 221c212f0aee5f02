"""The contact surface of a scene for the core: points, edges and triangles of bodies and obstacles, and their data for a contact potential.

First come the vertices of the bodies, in the order of the scene, then the points of embedded surfaces, then the prescribed points. These
are the vertices of obstacle meshes and boxes; the centres of spheres and the ends of the axes of capsules, with the collider's radius; a
point and the unit normal of each plane; and the first node and a point along each axis of each distance grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pdgpu.collision.collision import BODY_SHIFT, FIXED, SELF, SIDE, primitive_tags
from pdgpu.collision.intersections import VerifierScene
from pdgpu.contact.barrier_contact import LIMITERS, POTENTIALS, WEIGHTINGS
from pdgpu.contact.contact_pairs import find_pairs
from pdgpu.contact.contact_potentials import has_own_potential, potential_of
from pdgpu.contact.contact_stiffness import automatic_stiffness
from pdgpu.contact.contact_surface import SurfaceAreas
from pdgpu.contact.flat_faces import FlatFaces
from pdgpu.contact.penalty_contact import PenaltyContact, outward, rings
from pdgpu.mesh.shapes import box
from pdgpu.mesh.tet_neighbours import tet_neighbours
from pdgpu.scene.colliders import Box, Capsule, Plane, Sphere, VertexCollider, numbers_of
from pdgpu.scene.signed_distance_field import SignedDistanceField
from pdgpu.scene.surface import SceneSurface

__all__ = ["ContactScene"]


class ContactScene:
    """The points of the contact surface of a scene, and the positions of the prescribed ones at a time.

    Parameters
    ----------
    scene : Scene
    contact : BarrierContact, PenaltyContact, or the potential of another contact
        With a number as stiffness.
    fixed : ndarray of bool, shape (n,)
        Vertices that no solver moves.
    origin : array_like, shape (3,)
        Of the positions of the simulation, m.

    Raises
    ------
    TypeError
        A surface embedded in a body that collides, with a contact that does not support it. A distance grid as an obstacle, with a contact
        other than a penalty: it has no distance to edges and triangles.
    ValueError
        Two primitives of one body whose rest distance is not above the separation and its thickness; a thickness with a contact that does
        not support it; friction with an unknown name.
    """

    def __init__(self, scene, contact, fixed, origin=(0.0, 0.0, 0.0)):
        surface = SceneSurface(scene, [i for i, part in enumerate((*scene.bodies, *scene.obstacles)) if part.collides])
        self.names, self._bodies = scene.names, scene.bodies
        self.coefficients = _coefficients(contact.friction, self.names)
        self._parts = []  # of the prescribed points: a function of time, and their number
        self.n_vertices = scene.n_vertices
        self.carriers, self.weights = surface.carriers, surface.weights
        self.embedded = surface.embedded
        self.n_moving = self.n_vertices + len(self.carriers)  # vertices and embedded points
        n = len(surface.rest)
        rest, owner, radii = [surface.rest], [surface.owner], [surface.radii]
        triangles, edges, particles, planes = [surface.triangles], [surface.edges], [surface.particles], []
        self._fields = []  # for each plane the distance grid that replaces it, or None
        for body in scene.bodies:
            if body.thickness and body.collides and isinstance(contact, PenaltyContact):
                raise ValueError(
                    f"contact: body {body.name!r} has a thickness of {body.thickness:g} m, which PenaltyContact does not take; "
                    "set thickness=0, or use BarrierContact"
                )
        if len(surface.meshes):
            self._parts.append(surface.driven)
        for place, collider in surface.shapes:
            name = self.names[place]
            field = isinstance(collider, SignedDistanceField)
            if field and not isinstance(contact, PenaltyContact):
                potential = type(contact).__name__
                raise TypeError(f"contact: {potential} does not take {name!r}, a SignedDistanceField; give the mesh it was made from")
            if field and not collider.whole:
                raise ValueError(
                    f"contact: {name!r} is a part of a shape (whole=False), which only ProxyContact takes; give a field of the whole shape"
                )
            local, radius = _points_of(collider)
            if field or isinstance(collider, Plane):
                planes.append(n)
                self._fields.append(collider if field else None)
            elif isinstance(collider, Sphere) or len(np.unique(local, axis=0)) == 1:
                local = local[:1]
                particles.append([n])
            elif isinstance(collider, Capsule):
                edges.append([[n, n + 1]])
            else:
                triangles.append(box((1.0, 1.0, 1.0)).triangles + n)
            self._parts.append(_motion_of(collider, local, name, self.coefficients[place].any()))
            at_start = self._parts[-1](0.0)
            rest.append(at_start)
            owner.append(np.full(len(at_start), place))
            radii.append(np.full(len(at_start), radius))
            n += len(at_start)
        self.rest, self.owner, self.radii = np.concatenate(rest), np.concatenate(owner).astype(np.int32), np.concatenate(radii)
        self.particles = np.concatenate(particles).astype(np.int32)
        rows = VerifierScene(n, np.concatenate(triangles), np.concatenate(edges), self.particles)
        self.triangles, self.edges, self.vertices = rows.triangles, rows.edges, rows.vertices
        self.planes = np.array(planes, np.int32)
        self.shifts = self._shifts(np.asarray(origin))
        self._sides = ~rows.alone.astype(bool)
        self._roots = np.arange(n)  # the original of each copy of a vertex along a cut: primitives with a common one are no pair
        for body in scene.bodies:
            if body.parents is not None:
                self._roots[body.slice] = body.slice.start + np.asarray(body.parents)
        self._fixed = np.ones(n, bool)
        self._fixed[: len(surface.rest)] = surface.held(fixed)
        areas = SurfaceAreas(n, self.triangles, self.edges)
        faces = FlatFaces(areas, self.rest, self._keep_shape(scene, contact))
        self.areas, self._edge_areas, self._triangle_areas = faces.with_areas(*areas.of(self.rest))
        self._meets, self._panels = ~faces.inside, faces.panels  # edges that have pairs
        alone = np.ones(n, bool)  # vertices inside a face of an obstacle have no pairs with triangles, for the same reason
        alone[self.edges[self._meets]] = False
        alone[self.particles] = False
        self._corners = self.vertices[~alone[self.vertices] | (self.owner[self.vertices] < len(scene.bodies))]
        self._check_rest(contact)

    def _keep_shape(self, scene, contact):
        """Whether each point belongs to a body or an obstacle that keeps its shape, (n,). Only to a body for a penalty, which has no areas,
        and for ipctk's form of the weights, which has all pairs.
        """
        rigid = [body.type == "rigid" for body in scene.bodies]
        all_pairs = isinstance(contact, PenaltyContact) or getattr(contact, "weighting", "harmonic") == "sum"
        still = [not isinstance(each.collider, VertexCollider) or each.collider.motion is None for each in scene.obstacles]
        rigid += [keeps and not all_pairs for keeps in still]
        return np.array(rigid, bool)[self.owner]

    @property
    def n_driven(self):
        return len(self.rest) - self.n_moving

    def driven(self, time):
        """The positions of the prescribed points at a time (s), (n_driven, 3) m."""
        return np.concatenate([np.zeros((0, 3)), *(part(time) for part in self._parts)])

    def _shifts(self, origin):
        """The reference of each point in the core, (n, 3) m: the origin; zero for a normal. The point of a plane is shifted along the plane
        to the place nearest to the origin, since a distant one would have larger rounding errors.
        """
        shifts = np.tile(origin, (len(self.rest), 1))
        if not origin.any():
            return shifts
        planes = self.planes[[field is None for field in self._fields]]
        points, normals = self.rest[planes], self.rest[planes + 1]
        shifts[planes] = points - np.einsum("ki,ki->k", points - origin, normals)[:, None] * normals
        shifts[planes + 1] = 0.0
        return shifts

    def relative_rest(self):
        """The rest positions of all points in the frame of the core, m."""
        return self.rest - self.shifts

    def description(self, contact, dtype, dt, adaptive=False):
        """The description of contact for the core's simulation, by name; dt in s, None: quasistatic. adaptive: the stiffness may double
        between steps.
        """
        deforms = np.array([body.type != "rigid" for body in self._bodies] + [True] * (len(self.names) - len(self._bodies)))
        tags = self.owner << BODY_SHIFT | np.where(deforms[self.owner], SELF, 0) | np.where(self._fixed, FIXED, 0)
        edges = self.edges[self._meets]
        corners = {"vertices": self._corners.reshape(-1, 1), "edges": edges, "triangles": self.triangles}
        parts = self._parts_of()
        potential = self._penalty(contact, parts) if isinstance(contact, PenaltyContact) else self._barrier(contact)
        fields = [field for field in self._fields if field is not None]
        areas = (self.areas, self._edge_areas, self._triangle_areas) if potential["physical"] else (None, None, None)
        result = {
            **potential,
            "stiffness": contact.stiffness,
            "adaptive": int(adaptive),
            "rest": self.relative_rest(),
            "radii": self.radii,
            "bodies": parts,
            "areas": _known(areas[0], len(self.rest)),
            "edge_areas": _known(areas[1], len(self.edges))[self._meets],
            "triangle_areas": _known(areas[2], len(self.triangles)),
            "panels": self._panels,
            "planes": self.planes,
            "fields_of_planes": np.array([-1 if field is None else fields.index(field) for field in self._fields], np.int32),
            "fields": tuple((*reversed(numbers_of(field, np.dtype(dtype))[4:]), _side(field)) for field in fields),
            "slip": contact.friction_velocity * (dt or 0.0) if self.coefficients.any() else 0.0,
            "owners": self.owner,
            "coefficients": self.coefficients,
            "projective": None,
            "two_way": None,
            "prescribed": None,
            "tested": self.vertices[(self.vertices < self.n_moving) & ~self._fixed[self.vertices]],
            "carriers": self.carriers,
            "carrier_weights": self.weights,
        }
        for kind, rows in corners.items():
            name = {"vertices": "vertex", "edges": "edge", "triangles": "triangle"}[kind]
            own = primitive_tags(kind, rows, tags)
            if kind == "edges":
                own = own | np.where(self._sides[self._meets], SIDE, 0)
            result |= {kind: rows, f"{name}_names": self._roots[rows], f"{name}_tags": own, f"{name}_radii": self.radii[rows[:, 0]]}
        for name, value in result.items():
            if isinstance(value, np.ndarray):
                result[name] = np.ascontiguousarray(value, dtype if value.dtype.kind == "f" else np.int32)
        return result

    def stretching(self):
        """The edges of shells and rods of the contact surface, (m, 2), and their rest lengths, m."""
        held = np.zeros(self.n_vertices, bool)
        for body in self._bodies:
            held[body.slice] = body.collides and body.type in ("shell", "rod")
        edges = self.edges[(self.edges[:, 0] != self.edges[:, 1]) & (self.edges < self.n_vertices).all(axis=1)]
        edges = edges[held[edges].all(axis=1)]
        return edges, np.linalg.norm(self.rest[edges[:, 0]] - self.rest[edges[:, 1]], axis=1)

    def mean_edge(self):
        """The mean rest length of the edges of all bodies, m; 0 without edges."""
        edges = self.edges[(self.edges[:, 0] != self.edges[:, 1]) & (self.edges < self.n_vertices).all(axis=1)]
        return float(np.linalg.norm(self.rest[edges[:, 0]] - self.rest[edges[:, 1]], axis=1).mean()) if len(edges) else 0.0

    def _barrier(self, contact):
        """The part of a description for a barrier."""
        return {
            "law": POTENTIALS.index(type(contact).__name__),
            "physical": int(contact.area_weighted),
            "weighting": WEIGHTINGS.index(contact.weighting),
            "guard": LIMITERS.index(contact.guard),
            "activation": contact.distance,
            "separation": contact.separation,
            "lags": contact.friction_lags,
            "detection_interval": -1,
            "every_visit": 0,
            "depth": 0.0,
            "outward": np.zeros(len(self.triangles), np.int32),
            "ring_start": np.zeros(len(self.rest) + 1, np.int32),
            "rings": np.zeros(0, np.int32),
            **self._solids([]),
        }

    def _penalty(self, contact, parts):
        """The part of a description for a penalty; parts: the connected parts."""
        start, triangles = rings(self.triangles, len(self.rest))
        return {
            "law": 0,
            "physical": 0,
            "weighting": 0,
            "guard": 0,
            "activation": contact.distance,
            "separation": 0.0,
            "lags": 1,
            "detection_interval": contact.detection_interval,
            "every_visit": int(contact.variant == "paper"),
            "depth": contact.depth,
            "outward": outward(self._roots[self.triangles], self.rest, parts),
            "ring_start": start,
            "rings": triangles,
            **self._solids([body for body in self._bodies if body.type == "solid" and body.collides]),
        }

    def _solids(self, bodies):
        """The part of a description with the tets below the surfaces of bodies."""
        rows = [body.mesh.tets + body.slice.start for body in bodies]
        tets = np.concatenate([np.zeros((0, 4), np.int32), *rows])
        neighbours, behind = tet_neighbours(tets, self.triangles)
        return {"tets": tets, "tet_neighbours": neighbours, "behind": behind}

    def _parts_of(self):
        """The connected part of each point, (n,) int32: within a part the rest distance limits the activation distance."""
        import scipy

        links = [self.edges]
        for body in self._bodies:
            if body.type == "solid":  # an inner and an outer surface
                links.append(body.mesh.tets[:, [0, 1, 1, 2, 2, 3]].reshape(-1, 2) + body.slice.start)
        inner = np.arange(self.n_vertices, self.n_moving)  # or two surfaces in one solid
        links.append(np.stack([inner, self.carriers[:, 0]], axis=1))
        rows = np.concatenate(links)
        graph = scipy.sparse.coo_matrix((np.ones(len(rows)), rows.T), shape=(len(self.rest),) * 2)
        return scipy.sparse.csgraph.connected_components(graph, directed=False)[1].astype(np.int32)

    def with_stiffness(self, contact, stiffness_of_vertices):
        """`contact` with a stiffness that fits the scene: `automatic_stiffness` of the free vertices (n,) N/m of the contact surface. An
        embedded point has the weighted mean stiffness of its vertices.
        """
        touching = self.vertices[self.vertices < self.n_moving]
        shares = abs(self.weights) / np.abs(self.weights).sum(axis=1, keepdims=True)
        stiffness = np.concatenate([stiffness_of_vertices, np.einsum("kj,kj->k", shares, stiffness_of_vertices[self.carriers])])
        return automatic_stiffness(contact, _known(self.areas, len(self.rest))[touching], stiffness[touching])

    def onto_vertices(self, forces):
        """The forces on the vertices by forces (n_moving, 3) on vertices and embedded points: W^T f."""
        result = forces[: self.n_vertices].copy()
        np.add.at(result, self.carriers, self.weights[:, :, None] * forces[self.n_vertices : self.n_moving, None])
        return result

    def _check_rest(self, contact):
        """ValueError unless all pairs within a body have rest distances above the separation."""
        if isinstance(contact, PenaltyContact):
            return
        potential = replace(contact, stiffness=1.0) if has_own_potential(contact) else potential_of(contact)
        for place in range(int(self.owner[: self.n_moving].max(initial=-1)) + 1):
            rows = [part[(self.owner[part] == place).all(axis=1)] for part in (self.triangles, self.edges)]
            mine = np.flatnonzero(self.owner == place)
            separation = contact.separation + self._bodies[place].thickness
            if not separation or self._bodies[place].type == "rigid":
                continue
            local = np.zeros(len(self.rest), np.int64)
            local[mine] = np.arange(len(mine))
            alone = rows[1][rows[1][:, 0] != rows[1][:, 1]]
            try:
                find_pairs(replace(potential, separation=separation), self.rest[mine], local[rows[0]], local[alone], self.rest[mine])
            except ValueError as error:
                raise ValueError(f"contact: body {self.names[place]!r} at rest: {error}") from None


def _coefficients(friction, names):
    """mu of every pair of bodies and obstacles, (n, n)."""
    if not isinstance(friction, Mapping):
        return np.full((len(names), len(names)), friction)
    result = np.zeros((len(names), len(names)))
    for pair, value in friction.items():
        for name in pair:
            if name not in names:
                raise ValueError(f"friction: no body and no obstacle is called {name!r}; there are {', '.join(map(repr, names))}")
        first, second = map(names.index, pair)
        result[first, second] = result[second, first] = value
    return result


def _known(areas, n):
    """Replaces missing areas by -1."""
    return np.full(n, -1.0) if areas is None else np.where(np.isnan(areas), -1.0, areas)


def _points_of(collider):
    """The points of a shape, m, and their radius."""
    if isinstance(collider, Plane):
        return np.array([collider.point, collider.normal]), 0.0
    if isinstance(collider, Sphere):
        return np.array([collider.centre]), collider.radius
    if isinstance(collider, Capsule):
        return np.array([collider.start, collider.end]), collider.radius
    if isinstance(collider, Box):
        rotation = np.eye(3) if collider.rotation is None else np.array(collider.rotation)
        return (box(collider.size).points - 0.5 * np.array(collider.size)) @ rotation.T + np.array(collider.centre), 0.0
    if isinstance(collider, SignedDistanceField):
        return np.array(collider.origin) + _side(collider) * np.eye(4, 3, -1), 0.0
    raise TypeError(f"contact: expected a collider, got {collider!r}")


def _side(field):
    """The distance of the points of a distance grid that define its frame from its first node, m."""
    return field.spacing * (max(field.values.shape) - 1)


def _motion_of(collider, local, name, rubs):
    """The points of a shape as a function of time. A plane has its point and its constant normal."""

    def at(time):
        rotation, shift = collider.placement(time)
        if not isinstance(collider, Plane):
            return local @ rotation.T + shift
        normal = rotation @ local[1]
        if np.abs(normal - local[1]).max() > 1e-12:
            raise ValueError(
                f"motion of {name!r}: at time {time} s the plane rotates, which contact does not take; use a Box, which may rotate"
            )
        if rubs:  # it moves bodies on it by friction
            return np.array([rotation @ local[0] + shift, local[1]])
        # through the point of the plane closest to the old one: sliding along itself it stands still
        return np.array([local[0] + local[1] * (local[1] @ (rotation @ local[0] + shift - local[0])), local[1]])

    return at
