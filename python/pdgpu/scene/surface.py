"""The colliding parts of a scene: triangles, edges and particles of bodies and obstacles, with consecutive numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu.scene.colliders import VertexCollider

if TYPE_CHECKING:
    from typing import Any

__all__ = ["SceneSurface"]


class SceneSurface:
    """Surfaces of solids, triangles of shells, edges of rods, particles, and obstacle meshes: triangles, segments and points.

    A surface embedded in a solid with `collides` replaces the solid's own. Vertices have the numbers of the scene, followed by the points
    of such surfaces, in the order of the bodies, and by the vertices of the obstacle meshes, in the order of the obstacles.

    Parameters
    ----------
    scene : Scene
    chosen : collection of int, optional
        Indices in `names`: the others keep their numbers and have no triangles, edges or particles. By default all.

    Attributes
    ----------
    names : tuple of str
        Of all bodies, then of all obstacles.
    triangles, edges, particles : ndarray of int, shapes (t, 3), (r, 2), (p,)
    owner : ndarray of int32, shape (n + k + m,)
        Index in `names` of every vertex.
    rest : ndarray, shape (n + k + m, 3)
        Rest positions, m.
    radii : ndarray, shape (n + k + m,)
        Half the thickness of the body of every vertex, m; 0 for obstacle meshes.
    meshes : list of (bool, VertexCollider)
        The obstacle meshes, each with whether it is chosen.
    carriers : ndarray of int32, shape (k, 4)
        The vertices of each embedded point.
    weights : ndarray, shape (k, 4)
        Of these.
    shapes : list of (int, Collider)
        The other chosen obstacles, each with its index in `names`.
    """

    def __init__(self, scene: Any, chosen: Any = None) -> None:
        self.names = scene.names
        chosen = range(len(self.names)) if chosen is None else chosen
        n = scene.n_vertices
        self.meshes, self.shapes = [], []
        carriers, weights = [np.zeros((0, 4), np.int32)], [np.zeros((0, 4))]
        primitives: tuple[list[Any], ...] = ([np.zeros((0, 3), np.int32)], [np.zeros((0, 2), np.int32)], [np.zeros(0, np.int32)])
        triangles, edges, particles = primitives
        rest, owner = [body.points for body in scene.bodies], [np.full(len(body.points), i) for i, body in enumerate(scene.bodies)]
        for place, body in enumerate(scene.bodies):
            if place not in chosen:
                continue
            first = body.slice.start
            carried = [part for part in body.embeddings if part.collides]
            for part in carried:
                carriers.append(part.vertices + first)
                weights.append(part.weights)
                triangles.append(part.triangles + n)
                rest.append(part.points)
                owner.append(np.full(len(part.points), place))
                n += len(part.points)
            if carried:
                continue
            if body.type == "particles":
                particles.append(np.arange(first, body.slice.stop))
            elif body.type == "rod":
                edges.append(body.mesh.edges + first)
            else:
                triangles.append((body.mesh.surface if body.type == "solid" else body.mesh.triangles) + first)
        for place, obstacle in enumerate(scene.obstacles, start=len(scene.bodies)):
            collider = obstacle.collider
            if not isinstance(collider, VertexCollider):
                if place in chosen:
                    self.shapes.append((place, collider))
                continue
            self.meshes.append((place in chosen, collider))
            if place in chosen:
                for rows, own in zip(primitives, collider.primitives(), strict=True):
                    rows.append(own + n)
            rest.append(collider.rest)
            owner.append(np.full(len(rest[-1]), place))
            n += len(rest[-1])
        self.triangles, self.edges, self.particles = (np.concatenate(rows) for rows in (triangles, edges, particles))
        self.carriers, self.weights = np.concatenate(carriers).astype(np.int32), np.concatenate(weights)
        self.rest = np.concatenate(rest) if rest else np.zeros((0, 3))
        self.owner = np.concatenate(owner).astype(np.int32) if owner else np.zeros(0, np.int32)
        thickness = np.zeros(len(self.names))
        thickness[: len(scene.bodies)] = [body.thickness for body in scene.bodies]
        self.radii = 0.5 * thickness[self.owner]

    def embedded(self, x: Any) -> Any:
        """The embedded points (k, 3) for positions x (n, 3) of the bodies."""
        return np.einsum("kj,kjc->kc", self.weights, x[self.carriers])

    def positions(self, x: Any, time: Any, colliders: Any = None) -> Any:
        """Positions x (n, 3) of the bodies, m, those of the embedded points, and those of the obstacle meshes at a time (s); at rest for
        obstacles that are not chosen. `colliders` as for `driven`.
        """
        return np.concatenate([x, self.embedded(x), self.driven(time, colliders)])

    def held(self, fixed: Any) -> Any:
        """The fixed vertices, a mask (n + k + m,), with `fixed` (n,) of the bodies: those of obstacles, and points of fixed vertices."""
        fixed = np.asarray(fixed, bool)
        carried = (fixed[self.carriers] | (self.weights == 0.0)).all(axis=1)
        return np.concatenate([fixed, carried, np.ones(len(self.rest) - len(fixed) - len(carried), bool)])

    def driven(self, time: Any, colliders: Any = None) -> Any:
        """Only the positions (m, 3) of the obstacle meshes. `colliders`: of all obstacles, instead of those of the scene."""
        meshes = [mesh for _, mesh in self.meshes] if colliders is None else [c for c in colliders if isinstance(c, VertexCollider)]
        chosen = [chosen for chosen, _ in self.meshes]
        return np.concatenate([np.zeros((0, 3)), *(m.positions(time) if c else m.rest for c, m in zip(chosen, meshes, strict=True))])
