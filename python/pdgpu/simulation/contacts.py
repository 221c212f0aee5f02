"""Proximity queries: close pairs of parts of a simulation, with distance, direction and closest points.

The core finds and measures them (csrc/contact/detection/proximity.c); here they get their names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pdgpu._internal.arguments import LARGEST, flag, number
from pdgpu._internal.counted import counted
from pdgpu._internal.made import made_by
from pdgpu._internal.relative_core import relative_frame
from pdgpu.collision.collision import BroadPhase
from pdgpu.contact.present_obstacles import present_colliders
from pdgpu.scene.bodies import Body, Obstacle
from pdgpu.scene.colliders import placed_collider
from pdgpu.scene.surface import SceneSurface

if TYPE_CHECKING:
    from typing import Self

    import scipy

    from pdgpu.types import Floats, Owner

__all__ = ["Contacts"]

# the first are PD_CONTACT_... of csrc/loops/proximity_loops.h; the others occur with forces
KINDS = ("vertex-triangle", "edge-edge", "vertex-collider", "vertex-vertex", "vertex-edge")
FEATURES = ("vertex-vertex", "vertex-edge", "vertex-triangle", "edge-edge", "vertex-collider")  # PD_NEAREST_... of csrc/geometry

PER_PAIR = ("kind_number", "feature_number", "vertices", "weights", "distance", "normal", "points", "bodies")  # columns of Contacts


@made_by("Simulation.contacts")
@dataclass(frozen=True, eq=False)
class Contacts:
    """k close pairs; made by `Simulation.contacts`. Sorted by kind, then by vertex, or edges or collider and vertex.

    Attributes
    ----------
    kind : ndarray of str, shape (k,)
        "vertex-triangle", "edge-edge" or "vertex-collider"; with forces also "vertex-vertex" and "vertex-edge", of particles and rods.
    feature : ndarray of str, shape (k,)
        The closest features: "vertex-vertex", "vertex-edge", "vertex-triangle", "edge-edge" or "vertex-collider". Weights that are zero to
        rounding count as zero.
    vertices : ndarray of int32, shape (k, 4)
        Rows of `positions`: (vertex; t0, t1, t2), (a0, a1; b0, b1), or (vertex; -1, -1, -1) for a collider.
    weights : ndarray, shape (k, 4)
        Signed barycentric weights of the closest points: (1, -w0, -w1, -w2), (1-s, s, -(1-t), -t), (1, 0, 0, 0), so that the sum of
        weights[j] positions[vertices[j]] is the gap, or the vertex itself for a collider.
    distance : ndarray, shape (k,)
        m; negative for a vertex inside a collider.
    normal : ndarray, shape (k, 3)
        Unit vector from the second to the first of the pair, out of a collider; gap = distance x normal.
    points : ndarray, shape (k, 2, 3)
        The closest points of the first and of the second, m; gap = points[:, 0] - points[:, 1].
    bodies : ndarray of int32, shape (k, 2)
        Indices in `names` of the first and of the second.
    names : tuple of str
        Of all bodies, then of all obstacles.
    positions : ndarray, shape (n + k + m, 3)
        The simulation's, then the points of the colliding embedded surfaces, then the vertices of the obstacle meshes in the order of the
        obstacles, m.
    """

    kind_number: np.ndarray  # numbers, converted to names on request: strings of 120 bytes per pair would dominate the cost of a search
    feature_number: np.ndarray
    vertices: np.ndarray
    weights: np.ndarray
    distance: np.ndarray
    normal: np.ndarray
    points: np.ndarray
    bodies: np.ndarray
    names: tuple
    positions: np.ndarray

    _per_pair: ClassVar[tuple[str, ...]] = PER_PAIR

    @property
    def kind(self) -> Floats:
        """The kind of each pair, str of shape (k,); see the attributes of the class."""
        return np.take(KINDS, self.kind_number)

    @property
    def feature(self) -> Floats:
        """The closest features of each pair, str of shape (k,); see the attributes of the class."""
        return np.take(FEATURES, self.feature_number)

    def __len__(self):
        return len(self.distance)

    def __repr__(self):
        numbers = np.bincount(self.kind_number, minlength=len(KINDS)).tolist()
        counts = ", ".join(f"{count} {name}" for count, name in zip(numbers, KINDS, strict=True) if count)
        nearest = f", nearest at {self.distance.min():g} m" if len(self) else ""
        return f"<{type(self).__name__}: {counted(len(self), 'pair')}{f' ({counts})' if counts else ''}{nearest}>"

    def __getitem__(self, which):
        """Return the contacts of a mask, a slice or indices; one integer selects one."""
        rows = np.arange(len(self))[which]
        rows = np.atleast_1d(rows)
        return replace(self, **{name: getattr(self, name)[rows] for name in self._per_pair})

    def jacobian(self) -> scipy.sparse.csr_matrix:
        """Derivative of the distances by the positions, scipy CSR with 3 columns for each row i of `positions`, 3 i + axis.

        For a pair normal x weights at its four vertices, the derivative of a signed distance [Li et al. 2020, IPC, the normals of its
        contact constraints]. Colliders are constant here. For two edges on one line, and at a change of the closest feature, it is a
        one-sided derivative.
        """
        import scipy

        rows, corners = np.nonzero((self.weights != 0.0) & (self.vertices >= 0))
        values = self.weights[rows, corners][:, None] * self.normal[rows]
        columns = 3 * self.vertices[rows, corners].astype(np.int64)[:, None] + np.arange(3)
        shape = (len(self), 3 * len(self.positions))
        return scipy.sparse.csr_matrix((values.ravel(), (np.repeat(rows, 3), columns.ravel())), shape=shape)

    def of(self, first: Owner, second: Owner | None = None) -> Self:
        """The contacts of a body or obstacle, or those between two.

        Parameters
        ----------
        first, second : Body, Obstacle or str
            Objects, or their names; without `second` all contacts of `first`.

        Returns
        -------
        Contacts

        Raises
        ------
        TypeError, ValueError
            No body or obstacle, or an unknown name.
        """
        places = [
            _place(self.names, "second" if k else "first", part) for k, part in enumerate((first, second)) if part is not None or k == 0
        ]
        mask = (self.bodies == places[0]).any(axis=1)
        if len(places) == 2:
            mask = (self.bodies == places).all(axis=1) | (self.bodies == places[::-1]).all(axis=1)
        return self[mask]


def _place(names, argument, part):
    name = part.name if isinstance(part, Body | Obstacle) else part
    if not isinstance(name, str):
        raise TypeError(f"{argument}: expected a body, an obstacle or a name, got {part!r}")
    if name not in names:
        raise ValueError(f"{argument}: no body or obstacle is named {name!r}; there are {list(names)}")
    return names.index(name)


def find_contacts(core, distance, bodies, self_collision, unique):
    """Return the result of `Simulation.contacts`."""
    if distance is None:
        rest = core.rows.of(core.rest)
        distance = 1e-3 * float(np.linalg.norm(np.ptp(rest, axis=0))) if len(rest) else 0.0
    distance = number("distance", distance, minimum=0.0, maximum=LARGEST[np.dtype("float32")])
    self_collision, unique = flag("self_collision", self_collision), flag("unique", unique)
    names = core.scene.names
    if bodies is None:
        chosen = tuple(range(len(names)))
    else:
        listed = [bodies] if isinstance(bodies, str | Body | Obstacle) else bodies
        if not isinstance(listed, list | tuple):
            raise TypeError(f"bodies: expected a list of bodies, obstacles or names, got {bodies!r}")
        chosen = tuple(sorted({_place(names, "bodies", part) for part in listed}))
    key = (chosen, self_collision)
    if key not in core.searches:
        # one search is kept: another selection needs other trees
        core.searches = {key: ContactSearch(core, chosen, self_collision)}
    return core.searches[key].find(core, distance, unique)


def with_vertices(found, rows, per_point=("positions",)):
    """Return contacts with rows of a model as contacts with vertices, by its PublicRows; unchanged if both numberings are the same.
    `per_point`: the arrays over vertices and the points after them.
    """
    if rows.rows is None:
        return found
    arrays = {name: rows.of(getattr(found, name)) for name in per_point}
    return replace(found, vertices=rows.numbers(found.vertices), **arrays)


class ContactSearch:
    """The primitives of chosen bodies and obstacles, with consecutive numbers, their broad phase, and its close pairs."""

    def __init__(self, core, chosen, self_collision):
        self.surface = surface = SceneSurface(core.scene, chosen)
        for place, collider in surface.shapes:
            if not getattr(collider, "whole", True):
                name = surface.names[place]
                raise ValueError(
                    f"bodies: {name!r} is a part of a shape (whole=False), whose distance is not known everywhere; choose others"
                )
        self.dtype = core.dtype
        fixed = surface.held(core.fixed)
        self.phase = BroadPhase(
            surface.rest - core.origin,
            surface.triangles,
            surface.edges,
            particles=surface.particles,
            fixed=fixed,
            bodies=surface.owner,
            self_collision=self_collision,
            dtype=core.dtype,
            device=core.device,
            threads=core.threads,
            simulation=core,
        )
        tested = self.phase.vertices[~fixed[self.phase.vertices]]  # the vertices tested with colliders
        places = np.array([place for place, _ in surface.shapes], np.int32)
        n, rows, weights = len(core.fixed), None, None
        if len(surface.carriers):  # the vertices are points as well
            own = np.where(np.arange(4) == 0, np.arange(n)[:, None], -1)
            rows = np.concatenate([own, surface.carriers]).astype(np.int32)
            weights = np.concatenate([np.eye(1, 4).repeat(n, axis=0), surface.weights]).astype(core.dtype)
        self._core = self.phase.proximity(n, owner=surface.owner, asked=tested, collider_owner=places, rows=rows, weights=weights)

    def find(self, core, distance, unique):
        time = core.time
        origin = core.origin
        colliders = present_colliders(core)
        driven = np.ascontiguousarray(self.surface.driven(time, colliders) - origin, dtype=self.dtype)
        for which, (place, _) in enumerate(self.surface.shapes):
            placed = placed_collider(colliders[place - len(core.scene.bodies)], self.dtype, time)
            self._core.set_collider(which, *relative_frame(placed, origin))
        columns = self._core.find(None, driven, distance, unique)  # stored by the simulation
        if origin.any():
            columns |= {name: columns[name] + origin for name in ("points", "positions")}
        return Contacts(columns.pop("kind"), columns.pop("feature"), **columns, names=self.surface.names)
