"""The verification of inner vertices of solids, which are on no surface and take no part in contact."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING

import numpy as np

from pdgpu import _host
from pdgpu.collision.intersections import JudgedScene
from pdgpu.scene.colliders import TriangleMesh
from pdgpu.verify.judged_shapes import JudgedShapes

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["InnerVertex", "JudgedInside"]

InnerVertex = namedtuple("InnerVertex", "vertex where name")
InnerVertex.__doc__ = """A vertex in the interior of a solid that is at a wrong place in a frame: `where` is "inside" another body or an
obstacle, or "outside" of its own surface, and `name` is that of the body or the obstacle."""


class JudgedInside:
    """The inner vertices of the colliding solids of a scene, and the closed surfaces that they must not enter or leave.

    Parameters
    ----------
    scene : Scene
    surface : SceneSurface
        Of its colliding parts. A solid with an embedded surface that collides is excluded: its vertices are a cage around that surface. A
        surface is excluded if it is not closed, or has more than two triangles at an edge.
    """

    def __init__(self, scene: Any, surface: Any) -> None:
        self._surfaces: list[tuple[str, Any, Any]] = []  # (name, triangles, inner vertices or None)
        inner = []
        for body in scene.bodies:
            if not body.collides or any(part.collides for part in body.embeddings):
                continue
            if body.type == "solid":
                triangles = body.mesh.surface + np.int32(body.slice.start)
                own = np.setdiff1d(np.arange(body.slice.start, body.slice.stop), triangles)
                inner.append(own)
                self._surfaces.append((body.name, triangles, own))
            elif body.type == "rigid":
                self._surfaces.append((body.name, body.mesh.triangles + np.int32(body.slice.start), None))
        self.vertices = np.concatenate([np.zeros(0, np.int32), *inner]).astype(np.int32)
        first = len(surface.rest) - sum(len(mesh.mesh.points) for _, mesh in surface.meshes)
        for obstacle in (obstacle for obstacle in scene.obstacles if isinstance(obstacle.collider, TriangleMesh)):
            mesh = obstacle.collider
            if obstacle.collides:
                self._surfaces.append((obstacle.name, mesh.triangles + np.int32(first), None))
            first += len(mesh.mesh.points)
        self._surfaces = [entry for entry in self._surfaces if _is_closed(entry[1], len(surface.rest))]
        alone = JudgedScene(len(surface.rest), None, None, self.vertices)
        self._shapes = JudgedShapes(alone, [(surface.names[place], shape) for place, shape in surface.shapes])

    def at(self, points: Floats, placed: Any, threads: int) -> list[InnerVertex]:
        """The misplaced inner vertices of a frame, by vertex, decided exactly."""
        if not len(self.vertices):
            return []
        found = {InnerVertex(int(vertex), "inside", name) for _, vertex, name in self._shapes.in_frame(points, placed, 0.0, threads)}
        for name, triangles, own in self._surfaces:
            corners, places = np.unique(triangles, return_inverse=True)
            rows = np.ascontiguousarray(places.reshape(triangles.shape), np.int32)
            box = points[corners].min(axis=0), points[corners].max(axis=0)
            within = ((points[self.vertices] >= box[0]) & (points[self.vertices] <= box[1])).all(axis=1)
            near = self.vertices[within]
            inside: Any = np.zeros(0, np.int32)
            if len(near):
                inside = near[
                    _host.are_inside(np.ascontiguousarray(points[corners]), rows, np.ascontiguousarray(points[near]), threads) == 1
                ]
            own = np.zeros(0, np.int32) if own is None else own
            found |= {InnerVertex(int(vertex), "inside", name) for vertex in np.setdiff1d(inside, own)}
            found |= {InnerVertex(int(vertex), "outside", name) for vertex in np.setdiff1d(own, inside)}
        return sorted(found)


def _is_closed(triangles, n_points):
    try:
        _host.check_closed(np.ascontiguousarray(triangles, np.int32), n_points)
    except ValueError:
        return False
    return True
