"""Pins and obstacles whose prescribed motions may meet: the core checks them at the end of each step (prescribed_pairs.h)."""

from __future__ import annotations

import numpy as np

from pdgpu import _host
from pdgpu.collision.collision import BODY_SHIFT, FIXED, SIDE
from pdgpu.collision.intersections import find_intersections
from pdgpu.scene.colliders import Capsule, Plane, Sphere
from pdgpu.scene.rigid_bodies import RigidBody

__all__ = ["prescribed_description"]

OBSTACLES = 0  # the group of all obstacles, which are not checked against each other


def prescribed_description(touching, scene, fixed, dtype):
    """Return the description of pairs whose two sides are prescribed, or None if no two motions can meet.

    Vertices of one call of `Body.pin` are a group, and so are all obstacles. Groups that touch or intersect at rest count as one: a beam
    may be clamped in a wall.

    Parameters
    ----------
    touching : ContactScene
    scene : Scene
    fixed : ndarray of bool, shape (n,)
        Vertices that no solver moves.
    dtype : dtype
        Of the simulation.
    """
    groups, moves = _groups(touching, scene, fixed)
    pinned = groups > OBSTACLES
    if not pinned.any() or not moves.any() or len(np.unique(groups[groups >= 0])) < 2:
        return None
    parts = {}
    for name, rows in (("vertex", touching.vertices.reshape(-1, 1)), ("edge", touching.edges), ("triangle", touching.triangles)):
        of_corners = groups[rows]
        parts[name] = rows[(of_corners[:, 0] >= 0) & (of_corners == of_corners[:, :1]).all(axis=1)]
    groups = _joined(touching, scene, groups, parts)
    if len(np.unique(groups[groups >= 0])) < 2:
        return None
    radii = np.where(np.arange(len(groups)) < touching.n_moving, 0.0, touching.radii)
    tags = np.maximum(groups, 0) << BODY_SHIFT | np.where(moves, 0, FIXED)
    sides = np.sort(parts["triangle"][:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    of_triangles = np.isin(_keys(np.sort(parts["edge"], axis=1), len(groups)), _keys(sides, len(groups)))
    result = {
        "radii": radii.astype(dtype),
        "tested": _tested(touching, scene, pinned & (groups > OBSTACLES), moves),
        "names": tuple(touching.names),
        "vertices": parts["vertex"],
        "edges": parts["edge"],
        "triangles": parts["triangle"],
    }
    for name, rows in parts.items():
        own = tags[rows[:, 0]] | (np.where(of_triangles, SIDE, 0) if name == "edge" else 0)
        result |= {f"{name}_tags": own, f"{name}_radii": radii[rows[:, 0]].astype(dtype)}
    return {
        key: np.ascontiguousarray(value, np.int32) if isinstance(value, np.ndarray) and value.dtype.kind != "f" else value
        for key, value in result.items()
    }


def _groups(touching, scene, fixed):
    """Return the group of each point, -1 if it is not prescribed, and whether it has a motion."""
    groups, moves = np.full(len(touching.rest), -1), np.zeros(len(touching.rest), bool)
    n_groups = OBSTACLES + 1
    for body in scene.bodies:
        if not body.collides:
            continue
        rows = np.arange(body.slice.start, body.slice.stop)
        if isinstance(body, RigidBody):
            if len(body.pins) and fixed[rows].all():
                groups[rows], moves[rows] = n_groups, any(motion is not None for _, motion in body.pins)
                n_groups += 1
            continue
        for indices, motion in body.pins:
            groups[rows[indices]], moves[rows[indices]] = n_groups, motion is not None
            n_groups += 1
    driven = touching.owner[touching.n_moving :]
    groups[touching.n_moving :] = OBSTACLES
    moving = np.array([False] * len(scene.bodies) + [obstacle.collider.motion is not None for obstacle in scene.obstacles])
    moves[touching.n_moving :] = moving[driven]
    return groups, moves


def _keys(rows, n):
    return rows[:, 0].astype(np.int64) * n + rows[:, 1]


def _joined(touching, scene, groups, parts):
    """Return the groups; those that touch at rest are joined."""
    import scipy

    links = []
    if _host.HAS_GMP and len(parts["edge"]):
        alone = parts["edge"][:, 0] == parts["edge"][:, 1]
        found = find_intersections(touching.rest, parts["triangle"], parts["edge"][~alone], particles=parts["edge"][alone, 0])
        links += [(groups[found.edges[edge][0]], groups[parts["triangle"][triangle][0]]) for edge, triangle in found.edge_triangle]
        links += [tuple(groups[found.edges[pair, 0]]) for pair in found.edge_edge]
    pinned = np.flatnonzero(groups[: touching.n_moving] > OBSTACLES)
    for obstacle in scene.obstacles:
        shape = obstacle.collider
        if obstacle.collides and isinstance(shape, Sphere | Capsule):
            links += [(group, OBSTACLES) for group in groups[pinned[shape.distance(touching.rest[pinned]) <= 0.0]]]
    n = max(groups.max() + 1, 1)
    graph = scipy.sparse.coo_matrix((np.ones(len(links)), np.array(links, int).reshape(-1, 2).T), shape=(n, n))
    labels = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
    joined = np.where(labels == labels[OBSTACLES], OBSTACLES, labels + 1)
    return np.where(groups >= 0, joined[groups], -1)


def _tested(touching, scene, pinned, moves):
    """Return the pinned vertices that may meet a plane: those above all planes at rest, if the vertex or the plane moves."""
    planes = [obstacle.collider for obstacle in scene.obstacles if obstacle.collides and isinstance(obstacle.collider, Plane)]
    rows = touching.vertices[touching.vertices < touching.n_vertices]
    tested = pinned[rows] & (moves[rows] | any(plane.motion is not None for plane in planes))
    if not planes:
        return rows[:0]
    for plane in planes:
        rotation, shift = plane.placement(0.0)
        tested &= (touching.rest[rows] - rotation @ np.array(plane.point) - shift) @ (rotation @ np.array(plane.normal)) > 0.0
    return rows[tested]
