"""The verification of inner vertices of solids, which are on no surface and take no part in contact."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu.collision.intersections import VerifierScene
from pdgpu.scene.colliders import VertexCollider
from pdgpu.verify.verifier_shapes import VerifierShapes

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["InnerVertex", "VerifierInside"]

InnerVertex = namedtuple("InnerVertex", "vertex where name")
InnerVertex.__doc__ = """A vertex in the interior of a solid that is at a wrong place in a frame: `where` is "inside" another body or an
obstacle, or "outside" of its own surface, and `name` is that of the body or the obstacle. Or a vertex of `Segments` or `Points`
"inside" a body."""


class VerifierInside:
    """The inner vertices of the colliding solids of a scene, and the closed surfaces that they must not enter or leave. Vertices of
    Segments and Points must not be inside bodies.

    Parameters
    ----------
    scene : Scene
    surface : SceneSurface
        Of its colliding parts. A solid with an embedded surface that collides is excluded: its vertices are a cage around that
        surface, in which only Segments and Points are tested. A surface is excluded if it is not closed, or has more than two triangles at
        an edge.
    inner : bool
        False: only the vertices of Segments and Points.
    """

    def __init__(self, scene: Any, surface: Any, inner: bool = True) -> None:
        of_bodies: list[tuple[str, Any, Any]] = []  # (name, triangles, its inner vertices)
        of_embeddings, of_obstacles = [], []
        none, first = np.zeros(0, np.int32), scene.n_vertices
        for body in (body for body in scene.bodies if body.collides):
            carried = [part for part in body.embeddings if part.collides]
            for part in carried:
                of_embeddings.append((body.name, part.triangles + np.int32(first), none))
                first += len(part.points)
            if body.type == "solid" and not carried:
                triangles = body.mesh.surface + np.int32(body.slice.start)
                own = np.setdiff1d(np.arange(body.slice.start, body.slice.stop), triangles) if inner else none
                of_bodies.append((body.name, triangles, own))
            elif body.type == "rigid":
                of_bodies.append((body.name, body.mesh.triangles + np.int32(body.slice.start), none))
        self.vertices = np.concatenate([none, *(own for _, _, own in of_bodies)]).astype(np.int32)
        thin = [none]
        for obstacle in (obstacle for obstacle in scene.obstacles if isinstance(obstacle.collider, VertexCollider)):
            triangles, *_ = obstacle.collider.primitives()
            n = len(obstacle.collider.rest)
            if obstacle.collides and len(triangles):
                of_obstacles.append((obstacle.name, triangles + np.int32(first), none))
            elif obstacle.collides:
                thin.append(np.arange(first, first + n, dtype=np.int32))
            first += n
        points = np.concatenate(thin)
        everything = np.concatenate([self.vertices, points])
        groups = ((of_bodies, everything), (of_embeddings, points), (of_obstacles, self.vertices))
        self._surfaces = [
            (*entry, tested) for group, tested in groups if len(tested) for entry in group if _is_closed(entry[1], len(surface.rest))
        ]
        alone = VerifierScene(len(surface.rest), None, None, self.vertices)
        self._shapes = VerifierShapes(alone, [(surface.names[place], shape) for place, shape in surface.shapes])

    def at(self, points: Floats, placed: Any, threads: int) -> list[InnerVertex]:
        """The misplaced inner vertices of a frame, by vertex, decided exactly."""
        if not self._surfaces and not len(self.vertices):
            return []
        found = {InnerVertex(int(vertex), "inside", name) for _, vertex, name in self._shapes.in_frame(points, placed, 0.0, threads)}
        for name, triangles, own, tested in self._surfaces:
            corners, places = np.unique(triangles, return_inverse=True)
            rows = np.ascontiguousarray(places.reshape(triangles.shape), np.int32)
            box = points[corners].min(axis=0), points[corners].max(axis=0)
            within = ((points[tested] >= box[0]) & (points[tested] <= box[1])).all(axis=1)
            near = tested[within]
            inside: Any = np.zeros(0, np.int32)
            if len(near):
                inside = near[
                    _host.are_inside(np.ascontiguousarray(points[corners]), rows, np.ascontiguousarray(points[near]), threads) == 1
                ]
            found |= {InnerVertex(int(vertex), "inside", name) for vertex in np.setdiff1d(inside, own)}
            found |= {InnerVertex(int(vertex), "outside", name) for vertex in np.setdiff1d(own, inside)}
        return sorted(found)


def _is_closed(triangles, n_points):
    try:
        _host.check_closed(np.ascontiguousarray(triangles, np.int32), n_points)
    except ValueError:
        return False
    return True
