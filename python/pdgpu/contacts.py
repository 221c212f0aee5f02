"""Proximity queries: which parts of a simulation are near each other, how far, in which direction and where.

A broad phase names the pairs, `pdgpu.geometry` measures them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from pdgpu import geometry
from pdgpu.arguments import LARGEST, number
from pdgpu.collision import BroadPhase
from pdgpu.scene import Body, Obstacle
from pdgpu.surface import SceneSurface

__all__ = ["Contacts"]

KINDS = ("vertex-triangle", "edge-edge", "vertex-collider")
VERTEX_TRIANGLE, EDGE_EDGE, VERTEX_COLLIDER = range(3)
FEATURES = ("vertex-vertex", "vertex-edge", "vertex-triangle", "edge-edge", "vertex-collider")

CHUNK = 2**18  # pairs measured at a time, so that scratch memory stays at some 100 MB
ZERO_WEIGHT = 32  # times the spacing of floats at 1: what rounding leaves of a weight that is zero


@dataclass(frozen=True, eq=False)
class Contacts:
    """k pairs near each other; made by `Simulation.contacts`. Sorted by kind, then by vertex, or edges or collider and vertex.

    Attributes
    ----------
    kind : ndarray of str, shape (k,)
        "vertex-triangle", "edge-edge" or "vertex-collider".
    feature : ndarray of str, shape (k,)
        What is nearest to what: "vertex-vertex", "vertex-edge", "vertex-triangle", "edge-edge" or "vertex-collider". Weights that are zero
        to rounding count as zero.
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
        Places in `names` of the first and of the second.
    names : tuple of str
        Of all bodies, then of all obstacles.
    positions : ndarray, shape (n + m, 3)
        The simulation's, and after them those of the obstacle meshes in the order of the obstacles, m.
    """

    kind: np.ndarray
    feature: np.ndarray
    vertices: np.ndarray
    weights: np.ndarray
    distance: np.ndarray
    normal: np.ndarray
    points: np.ndarray
    bodies: np.ndarray
    names: tuple
    positions: np.ndarray

    def __len__(self):
        return len(self.distance)

    def __repr__(self):
        counts = ", ".join(f"{int((self.kind == name).sum())} {name}" for name in KINDS if (self.kind == name).any())
        nearest = f", nearest at {self.distance.min():g} m" if len(self) else ""
        return f"<Contacts: {len(self)} pairs{f' ({counts})' if counts else ''}{nearest}>"

    def __getitem__(self, which):
        """The contacts a mask, a slice or indices select; one integer selects one."""
        rows = np.arange(len(self))[which]
        rows = np.atleast_1d(rows)
        return replace(self, **{part.name: getattr(self, part.name)[rows] for part in fields(self)[:8]})

    def of(self, first, second=None):
        """The contacts of a body or obstacle (or its name), or those between two."""
        places = [_place(self.names, "second" if k else "first", part) for k, part in enumerate((first, second)) if part is not None]
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


def find_contacts(simulation, distance, bodies, self_collision, unique):
    """What `Simulation.contacts` says."""
    if distance is None:
        rest = simulation._rest
        distance = 1e-3 * float(np.linalg.norm(np.ptp(rest, axis=0))) if len(rest) else 0.0
    distance = number("distance", distance, minimum=0.0, maximum=LARGEST["float32"])
    for name, flag in (("self_collision", self_collision), ("unique", unique)):
        if not isinstance(flag, bool | np.bool_):
            raise TypeError(f"{name}: expected True or False, got {flag!r}")
    names = simulation._scene.names
    if bodies is None:
        chosen = tuple(range(len(names)))
    else:
        listed = [bodies] if isinstance(bodies, str | Body | Obstacle) else bodies
        if not isinstance(listed, list | tuple):
            raise TypeError(f"bodies: expected a list of bodies, obstacles or names, got {bodies!r}")
        chosen = tuple(sorted({_place(names, "bodies", part) for part in listed}))
    key = (chosen, bool(self_collision))
    if key not in simulation._proximity:
        # one search is kept: another selection is another set of trees
        simulation._proximity = {key: ContactSearch(simulation, chosen, bool(self_collision))}
    return simulation._proximity[key].find(simulation, distance, bool(unique))


class ContactSearch:
    """The primitives of chosen bodies and obstacles, numbered through, and their broad phase."""

    def __init__(self, simulation, chosen, self_collision):
        self.surface = surface = SceneSurface(simulation._scene, chosen)
        fixed = np.ones(len(surface.rest), bool)  # obstacles are
        fixed[: len(simulation._fixed)] = simulation._fixed
        self.phase = BroadPhase(
            surface.rest,
            surface.triangles,
            surface.edges,
            particles=surface.particles,
            fixed=fixed,
            bodies=surface.owner,
            self_collision=self_collision,
            dtype=simulation.dtype,
            threads=simulation.threads,
        )
        self.threads = simulation.threads
        self.free = self.phase.vertices[~fixed[self.phase.vertices]]  # the vertices that colliders are asked about

    def find(self, simulation, distance, unique):
        time = simulation.time
        positions = self.surface.positions(simulation.positions, time).astype(simulation.dtype)
        pairs = self.phase.pairs(positions, distance=distance)
        found = []
        if len(pairs.vertex_triangle):
            corners = np.concatenate([pairs.vertex_triangle[:, :1], self.phase.triangles[pairs.vertex_triangle[:, 1]]], axis=1)
            found += self._measured(VERTEX_TRIANGLE, geometry.vertex_triangle, corners, positions, distance)
        if len(pairs.edge_edge):
            corners = self.phase.edges[pairs.edge_edge].reshape(-1, 4)
            found += self._measured(EDGE_EDGE, geometry.edge_edge, corners, positions, distance)
        columns = [np.concatenate(column) for column in zip(*(self._nothing(positions.dtype), *found), strict=True)]
        if unique:
            first = _first_of_each(columns)
            columns = [column[first] for column in columns]
        columns = [np.concatenate(column) for column in zip(columns, *self._of_shapes(positions, time, distance), strict=True)]
        kind, feature, *others, _ = columns
        return Contacts(np.array(KINDS)[kind], np.array(FEATURES)[feature], *others, self.surface.names, positions)

    @staticmethod
    def _nothing(dtype):
        """No rows of kind, feature, vertices, weights, distance, normal, points, bodies, and what is nearest."""
        shapes = ((np.int8, ()), (np.int8, ()), (np.int32, (4,)), (dtype, (4,)), (dtype, ()), (dtype, (3,)), (dtype, (2, 3)))
        return [np.zeros((0, *shape), kind) for kind, shape in (*shapes, (np.int32, (2,)), (np.int32, (3,)))]

    def _measured(self, kind, measure, corners, positions, distance):
        """Columns of the pairs that are near enough, in chunks; corners (m, 4)."""
        result, first_of_second = [], 1 if kind == VERTEX_TRIANGLE else 2
        for start in range(0, len(corners), CHUNK):
            rows = corners[start : start + CHUNK]
            closest = measure(positions[rows], threads=self.threads)
            near = np.flatnonzero(closest.distance <= distance)
            rows, weights, gap = rows[near], closest.weights[near], closest.gap[near]
            feature, nearest = _nearest_features(rows, weights, first_of_second)
            # points from the weights; their difference is the gap to rounding
            first = np.einsum("nk,nki->ni", weights[:, :first_of_second], positions[rows[:, :first_of_second]])
            result.append(
                [
                    np.full(len(rows), kind, np.int8),
                    feature,
                    rows.astype(np.int32),
                    weights,
                    closest.distance[near],
                    closest.normal[near],
                    np.stack([first, first - gap], axis=1),
                    self.surface.owner[rows[:, [0, first_of_second]]],
                    nearest,
                ]
            )
        return result

    def _of_shapes(self, positions, time, distance):
        """Columns of the vertices near each collider that is no mesh."""
        for place, collider in self.surface.shapes:
            x = positions[self.free]
            surface = collider.query(x, time, threads=self.threads)
            near = np.flatnonzero(surface.distance <= distance)
            vertices = np.full((len(near), 4), -1, np.int32)
            vertices[:, 0] = self.free[near]
            weights = np.zeros((len(near), 4), positions.dtype)
            weights[:, 0] = 1.0
            bodies = np.stack([self.surface.owner[vertices[:, 0]], np.full(len(near), place, np.int32)], axis=1)
            yield [
                np.full(len(near), VERTEX_COLLIDER, np.int8),
                np.full(len(near), FEATURES.index("vertex-collider"), np.int8),
                vertices,
                weights,
                surface.distance[near],
                surface.normal[near],
                np.stack([x[near], surface.closest[near]], axis=1),
                bodies,
                np.full((len(near), 3), -1, np.int32),
            ]


def _nearest_features(vertices, weights, first_of_second):
    """The place in FEATURES (n,), and what is nearest (n, 3): (-1, a, b) with a < b for two vertices, (a, b, c) with b < c for vertex a and
    edge bc, -1 for a face or two edges met inside, which no other pair has in common."""
    counts = np.abs(weights) > ZERO_WEIGHT * np.finfo(weights.dtype).eps
    first, second = (np.where(counts, vertices, -1)[:, part] for part in (slice(0, first_of_second), slice(first_of_second, 4)))
    n_first, n_second = (first >= 0).sum(axis=1), (second >= 0).sum(axis=1)
    first, second = np.sort(first, axis=1), np.sort(second, axis=1)  # -1 first
    feature = np.where(n_first == 2, np.where(n_second == 2, 3, 1), n_second - 1).astype(np.int8)
    nearest = np.full((len(vertices), 3), -1, np.int32)
    two = feature == 0
    nearest[two, 1:] = np.sort(np.stack([first[two, -1], second[two, -1]], axis=1), axis=1)
    for side, other, count in ((first, second, n_first), (second, first, n_second)):
        one = (feature == 1) & (count == 1)
        nearest[one, 0] = side[one, -1]
        nearest[one, 1:] = other[one, -2:]
    return feature, nearest


def _first_of_each(columns):
    """Rows, ascending, of the first contact of each two nearest features."""
    nearest = columns[8]
    shared = np.flatnonzero(nearest[:, 2] >= 0)
    key = nearest[shared]
    order = np.lexsort(key.T)  # stable: the first of equals is the first contact
    kept = nearest[:, 2] < 0
    kept[shared[order[:1]]] = True
    kept[shared[order[1:][(key[order[1:]] != key[order[:-1]]).any(axis=1)]]] = True
    return np.flatnonzero(kept)
