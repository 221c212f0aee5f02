"""The forces of contact between the pairs of a simulation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pdgpu.collision import geometry
from pdgpu.contact.contact_surface import CORNERS, EDGE_EDGE, VERTEX_EDGE, VERTEX_PLANE, VERTEX_TRIANGLE, VERTEX_VERTEX
from pdgpu.contact.penalty_contact import PenaltyContact
from pdgpu.contact.projective_contact import ProjectiveContact
from pdgpu.simulation.contacts import FEATURES, KINDS, PER_PAIR, Contacts

__all__ = ["ContactForces", "forces_of", "pair_distances"]

PER_POINT = ("positions", "forces", "pressure", "point_forces", "point_pressure")  # arrays of ContactForces

# of pairs, in their order: kind and closest features as numbers of pdgpu.simulation.contacts
NAMES = ("vertex-vertex", "vertex-edge", "vertex-triangle", "edge-edge", "vertex-collider")
CLOSEST = {
    VERTEX_VERTEX: geometry.vertex_vertex,
    VERTEX_EDGE: geometry.vertex_edge,
    VERTEX_TRIANGLE: geometry.vertex_triangle,
    EDGE_EDGE: geometry.edge_edge,
}


@dataclass(frozen=True, eq=False, repr=False)
class ContactForces(Contacts):
    """Contacts with their forces; made by `Simulation.contact_forces`.

    Vertices are numbered as in `Contacts`. After those of the bodies and the points of embedded surfaces come all prescribed points:
    vertices of obstacle meshes and boxes, centres of spheres, ends of the axes of capsules, for planes a point and the normal, and for
    grids of distances four points. Distances and closest points are those of the surfaces of spheres and capsules.

    Attributes
    ----------
    normal_force : ndarray, shape (k,)
        The magnitude of the repulsive force, N, >= 0.
    friction_force : ndarray, shape (k, 3)
        On the first of the pair in the last step, N; zero without friction, and for pairs that were not active at the start of the step.
    slip : ndarray, shape (k, 3)
        The tangential displacement of the first relative to the second in the last step, m; zero without a friction force.
    friction_limit : ndarray, shape (k,)
        mu times the normal force at the start of the step, N, an upper bound of |friction_force|.
    forces : ndarray, shape (n, 3)
        On each vertex of the bodies, N: the sum over its contacts, including forces by the mollifier of nearly parallel edges and friction
        of pairs that are no longer active; for embedded points the equivalent forces on the vertices, W^T f.
    pressure : ndarray, shape (n,)
        |forces| over the area of a vertex at rest, Pa; nan without an area.
    point_forces : ndarray, shape (n + k, 3)
        The same on vertices and embedded points, before the transfer to vertices, N.
    point_pressure : ndarray, shape (n + k,)
        Of these, Pa.
    """

    normal_force: np.ndarray
    friction_force: np.ndarray
    slip: np.ndarray
    friction_limit: np.ndarray
    forces: np.ndarray
    pressure: np.ndarray
    point_forces: np.ndarray
    point_pressure: np.ndarray

    _per_pair = (*PER_PAIR, "normal_force", "friction_force", "slip", "friction_limit")


def forces_of(core):
    """Return the result of `Simulation.contact_forces`."""
    scene, lagged = core.touching, core.backend.friction_columns()
    x = _touched_points(core)
    measured = {PenaltyContact: _frozen, ProjectiveContact: _projected}.get(type(core.contact), _nearest)
    columns, weights, normal, points, distance, feature = measured(core, x)
    kind, vertices, gradient = columns["kind"], columns["vertices"], columns["gradient"]

    # spheres and capsules: from their centres and axes to their surfaces
    second, radii = _second(columns), _radii(scene, columns)
    distance -= radii.sum(axis=1).astype(x.dtype)
    points -= (radii * [1.0, -1.0])[:, :, None].astype(x.dtype) * normal[:, None]

    of_first = gradient[:, 0] + np.where((kind == EDGE_EDGE)[:, None], gradient[:, 1], 0.0)
    n = scene.n_moving
    forces = np.zeros((n + 1, 3))
    for rows, slopes in ((vertices, gradient), (lagged["vertices"], lagged["gradient"])):
        moving = (rows >= 0) & (rows < n)
        np.add.at(forces, np.where(moving, rows, n).ravel(), -slopes.astype(np.float64).reshape(-1, 3))
    if measured is _projected:
        of_first = of_first + columns["rubbing"]["force"]  # includes friction
        rubbing = columns["rubbing"]
    else:
        rubbing = _lagged_of(columns["key"], lagged, x.dtype)
    areas = scene.areas[:n]
    with np.errstate(divide="ignore", invalid="ignore"):
        pressure = np.where(areas > 0.0, np.linalg.norm(forces[:n], axis=1) / areas, np.nan)
    plane = (kind == VERTEX_PLANE)[:, None] & (np.arange(4) > 0)
    return ContactForces(
        np.array([KINDS.index(name) for name in NAMES], np.uint8)[kind],
        feature,
        np.where(plane, -1, vertices),
        weights,
        distance,
        normal,
        points,
        np.stack([scene.owner[vertices[:, 0]], scene.owner[np.where(second >= 0, second, vertices[:, 1])]], axis=1),
        scene.names,
        x,
        -np.einsum("ki,ki->k", of_first, normal),
        rubbing["force"],
        rubbing["slip"],
        rubbing["strength"],
        scene.onto_vertices(forces[:n]),
        pressure[: scene.n_vertices],
        forces[:n],
        pressure,
    )


def pair_distances(core):
    """Return distances of the pairs below the activation distance, (k,) m; for contact without forces, such as `TwoWayContact`."""
    columns, *_, distance, _ = _nearest(core, _touched_points(core))
    return distance - _radii(core.touching, columns).sum(axis=1)


def _touched_points(core):
    """Return vertices, embedded points and prescribed points, (p, 3) m: the numbering of the pairs."""
    x = core.backend.positions()
    return np.concatenate([x, core.touching.embedded(x.astype(np.float64)).astype(x.dtype), core.backend.driven()])


def _radii(scene, columns):
    """Return radii of the spheres and capsules of pairs, (k, 2) m: of the first and the second side; 0 for other shapes."""
    first, second = columns["vertices"][:, 0], _second(columns)
    return np.stack([scene.radii[first], np.where(second >= 0, scene.radii[second], 0.0)], axis=1)


def _second(columns):
    """Return a point of the second side of each pair; -1 for planes."""
    kind, vertices = columns["kind"], columns["vertices"]
    return np.where(kind == EDGE_EDGE, vertices[:, 2], np.where(kind == VERTEX_PLANE, -1, vertices[:, 1]))


def _nearest(core, x):
    """Return the active pairs of a contact potential, with their present closest points."""
    columns = core.backend.contact_columns()
    acts = (columns["distance"] < columns["separation"] + columns["activation"]) & (columns["weight"] > 0.0)
    columns = {name: column[acts] for name, column in columns.items()}
    kind, vertices = columns["kind"], columns["vertices"]
    k = len(kind)
    weights, normal, points = np.zeros((k, 4), x.dtype), np.zeros((k, 3), x.dtype), np.zeros((k, 2, 3), x.dtype)
    distance, feature = columns["distance"].copy(), np.zeros(k, np.uint8)
    for pair, closest in CLOSEST.items():
        rows = np.flatnonzero(kind == pair)
        corners = x[vertices[rows, : CORNERS[pair]]]
        found = closest(corners, device="cpu", threads=core.threads)
        weights[rows, : CORNERS[pair]], normal[rows] = found.weights, found.normal
        n_first = 2 if pair == EDGE_EDGE else 1
        points[rows, 0] = np.einsum("kc,kci->ki", found.weights[:, :n_first], corners[:, :n_first])
        points[rows, 1] = points[rows, 0] - found.gap
        feature[rows] = _features(pair, found.weights)
    rows = np.flatnonzero(kind == VERTEX_PLANE)
    weights[rows, 0], normal[rows], feature[rows] = 1.0, x[vertices[rows, 2]], FEATURES.index("vertex-collider")
    points[rows, 0] = x[vertices[rows, 0]]
    points[rows, 1] = points[rows, 0] - distance[rows, None] * normal[rows]
    return columns, weights, normal, points, distance, feature


def _frozen(core, x):
    """Return the pairs of a penalty with forces, with their frozen weights and normals."""
    columns = core.backend.penalty_columns()
    acts = columns["gap"] < columns["reach"]
    columns = {name: column[acts] for name, column in columns.items()}
    vertices, weights, normal, distance = (columns[name] for name in ("vertices", "weights", "normal", "gap"))
    of_edges = np.array([VERTEX_VERTEX, VERTEX_EDGE, EDGE_EDGE])[np.clip((vertices >= 0).sum(axis=1) - 2, 0, 2)]
    kind = np.choose((columns["key"] >> np.uint64(62)).astype(np.intp), [VERTEX_TRIANGLE, of_edges, VERTEX_PLANE])
    first = np.where((kind == EDGE_EDGE)[:, None], 2, 1) > np.arange(4)
    points = np.zeros((len(kind), 2, 3), x.dtype)
    points[:, 0] = np.einsum("kc,kci->ki", np.where(first, weights, 0.0), x[vertices])
    points[:, 1] = points[:, 0] - distance[:, None] * normal
    feature = _features_of(kind, weights)
    return {**columns, "kind": kind}, weights, normal, points, distance.copy(), feature


def _projected(core, x):
    """Return the violated pairs of projections, with the weights and normals of the last round of the last step."""
    columns = core.backend.projective_columns()
    begun = columns.pop("begun")
    gap = np.einsum("kc,kci->ki", columns["weights"], x[columns["vertices"]])
    distance = np.einsum("ki,ki->k", gap, columns["normal"])
    acts = distance < columns["target"]
    columns = {name: column[acts] for name, column in columns.items()}
    kind, vertices, weights, normal = (columns[name] for name in ("kind", "vertices", "weights", "normal"))
    first = np.where((kind == EDGE_EDGE)[:, None], 2, 1) > np.arange(4)
    points, distance = np.zeros((len(kind), 2, 3), x.dtype), distance[acts]
    points[:, 0] = np.einsum("kc,kci->ki", np.where(first, weights, 0.0), x[vertices])
    points[:, 1] = points[:, 0] - distance[:, None] * normal
    on_first = -np.einsum("kc,kci->ki", first, columns["gradient"])
    pushed = np.einsum("ki,ki->k", on_first, normal)
    slip = np.einsum("kc,kci->ki", weights, (x - begun)[vertices])
    slip -= np.einsum("ki,ki->k", slip, normal)[:, None] * normal
    rubs = (columns["friction"] > 0.0)[:, None]
    rubbing = {
        "force": np.where(rubs, on_first - pushed[:, None] * normal, 0.0).astype(x.dtype),
        "slip": np.where(rubs, slip, 0.0).astype(x.dtype),
        "strength": columns["friction"] * pushed,
    }
    feature = _features_of(kind, weights)
    return {**columns, "rubbing": rubbing}, weights, normal, points, distance, feature


def _lagged_of(keys, lagged, dtype):
    """Return force, slip and strength of pairs by their keys, ascending in both lists; zero for pairs without friction."""
    known = lagged["key"]
    place = np.minimum(np.searchsorted(known, keys), max(len(known) - 1, 0))
    found = np.flatnonzero(known[place] == keys) if len(known) else np.zeros(0, np.intp)
    found = found[lagged["strength"][place[found]] > 0.0]
    result = {}
    for name in ("force", "slip", "strength"):
        result[name] = np.zeros((len(keys), *lagged[name].shape[1:]), dtype)
        result[name][found] = lagged[name][place[found]]
    return result


def _features_of(kind, weights):
    """Return indices in FEATURES of pairs of all kinds. Sets the weights of those with a plane, which involve one vertex."""
    feature = np.zeros(len(kind), np.uint8)
    for pair in (*CLOSEST, VERTEX_PLANE):
        rows = np.flatnonzero(kind == pair)
        feature[rows] = FEATURES.index("vertex-collider") if pair == VERTEX_PLANE else _features(pair, weights[rows])
    weights[kind == VERTEX_PLANE] = [1.0, 0.0, 0.0, 0.0]
    return feature


def _features(pair, weights):
    """Return indices in FEATURES of the closest features of pairs of one kind, by the corners with a weight."""
    n_first = 2 if pair == EDGE_EDGE else 1
    parts = (weights != 0.0)[:, :n_first].sum(axis=1), (weights != 0.0)[:, n_first:].sum(axis=1)
    low, high = np.minimum(*parts), np.maximum(*parts)
    both = FEATURES.index("edge-edge")
    return np.where(low == 2, both, np.array([0, 0, 1, 2])[high]).astype(np.uint8)
