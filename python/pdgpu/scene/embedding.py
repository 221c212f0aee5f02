"""Fine surfaces and points embedded in a coarse tet mesh: y = W x, with the barycentric weights of the tet of each point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import any_array, real_array
from pdgpu._internal.attributes import read_only
from pdgpu._internal.counted import counted
from pdgpu._internal.made import made_by
from pdgpu.collision import geometry
from pdgpu.mesh.mesh import Mesh
from pdgpu.mesh.tet_neighbours import tet_neighbours

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.scene.scene import Scene
    from pdgpu.types import Floats, Integers

__all__ = ["Embedding"]

ROUNDING = 1e-9  # a barycentric coordinate this little below zero is on the boundary of its tet
AT_ONCE = 2**18  # pairs of a point and a tet that are tested together
NAMED = 5  # the number of points named in an error


@made_by("Body.embed")
@dataclass(frozen=True, eq=False)
class Embedding:
    """Points, and triangles on them, embedded in the tets of a solid; made by `Body.embed`.

    Each point keeps its barycentric coordinates: y_i = sum_a w_ia x_a over the four corners, so y = W x, and forces dE/dy on the points are
    W^T dE/dy on the vertices [free-form embedding, as for the surfaces of Wang et al. 2021, Localized collisions, Sec. 3].

    Attributes
    ----------
    name : str
    body : str
        The name of the solid.
    points : ndarray, shape (k, 3), float64
        At rest, m.
    triangles : ndarray of int32, shape (t, 3)
        Of the surface; none for points.
    tets : ndarray of int32, shape (k,)
        The tet of each point.
    vertices : ndarray of int32, shape (k, 4)
        Its corners, vertices of the body.
    weights : ndarray, shape (k, 4), float64
        Of the corners; a row has the sum 1. Negative, beyond rounding, for a point outside its tet.
    n_vertices : int
        Of the body.
    collides : bool
        True if it replaces the surface of the body in contact, in `certify` and in `Simulation.contacts`.
    """

    name: str
    body: str
    points: Floats
    triangles: Integers
    tets: Integers
    vertices: Integers
    weights: Floats
    n_vertices: int
    collides: bool = False

    def __repr__(self):
        surface = f", {counted(len(self.triangles), 'triangle')}" if len(self.triangles) else ""
        return f"<embedding {self.name!r} in {self.body!r}: {counted(len(self.points), 'point')}{surface}>"

    @property
    def matrix(self) -> Any:
        """W, scipy CSR of shape (k, n_vertices): ``matrix @ x`` are the points for vertices x (n_vertices, 3), and ``matrix.T @ f`` the
        forces on the vertices equivalent to forces f (k, 3) on the points.
        """
        return weight_matrix(self.vertices, self.weights, self.n_vertices)


def weight_matrix(vertices, weights, n):
    import scipy

    start = np.arange(0, 4 * len(vertices) + 1, 4)
    matrix = scipy.sparse.csr_matrix((weights.flatten(), vertices.flatten(), start), shape=(len(vertices), n))
    matrix.sort_indices()
    return matrix


def embedded_in(body: Any, points: Any, name: str, extrapolate: bool, collides: bool) -> Embedding:
    """Return the embedding of `Body.embed`; errors as there."""
    import scipy

    triangles = np.zeros((0, 3), np.int32)
    if isinstance(points, Mesh):
        triangles, points = points.surface, points.points
    elif isinstance(points, scipy.sparse.spmatrix | str):
        raise TypeError(f"points: expected points (k, 3) or a pdgpu.Mesh, got {points!r}")
    points = real_array("points", points, (None, 3))
    if not len(points):
        raise ValueError("points: expected one or more, got none")
    if collides and not len(triangles):
        raise ValueError("collides: points without triangles do not collide; give a pdgpu.Mesh with triangles")
    tets = _containing(points, body.points[body.mesh.tets])
    outside = np.flatnonzero(tets < 0)
    if len(outside) and not extrapolate:
        named = ", ".join(f"{i} at ({', '.join(f'{c:g}' for c in points[i])})" for i in outside[:NAMED])
        more = ", .." if len(outside) > NAMED else ""
        raise ValueError(
            f"points: {len(outside)} of {len(points)} lie outside every tet of {body.name!r}: {named}{more}; extrapolate=True lets the "
            "nearest tet carry them"
        )
    tets[outside] = _nearest(points[outside], body.mesh)
    return restored(body, name, points, triangles, tets, None, collides)


def restored(body: Any, name: str, points: Any, triangles: Any, tets: Any, weights: Any, collides: bool) -> Embedding:
    """Return an embedding of points in known tets, with known weights, if given."""
    vertices = body.mesh.tets[tets]
    weights = _barycentric(points, body.points[vertices]) if weights is None else weights
    arrays = (points, triangles.astype(np.int32), tets.astype(np.int32), vertices.astype(np.int32), weights)
    points, triangles, tets, vertices, weights = map(read_only, arrays)
    return Embedding(name, body.name, points, triangles, tets, vertices, weights, len(body.points), collides)


def checked(body: Any, name: Any, points: Any, triangles: Any, tets: Any, weights: Any, collides: bool) -> Embedding:
    """Return the same from the data of a file, after checks. Errors: ValueError, TypeError."""
    points = real_array("points", points, (None, 3))
    weights = real_array("weights", weights, (len(points), 4))
    for what, rows, limit in (("tets", any_array("tets", tets), len(body.mesh.tets)), ("triangles", triangles, len(points))):
        if rows.dtype.kind not in "iu" or ((rows < 0) | (rows >= limit)).any():
            raise ValueError(f"{what}: must be below {limit}")
    if tets.shape != (len(points),) or triangles.ndim != 2 or triangles.shape[1] != 3 or not isinstance(name, str):
        raise ValueError(f"embedding {name!r}: {tets.shape} tets and {triangles.shape} triangles of {len(points)} points")
    if (np.abs(weights.sum(axis=1) - 1.0) > 1e-6 * np.abs(weights).sum(axis=1)).any():
        raise ValueError(f"weights of {name!r}: a row does not add up to 1")
    return restored(body, name, points, triangles, tets, weights, collides)


def _barycentric(points, corners):
    """Return coordinates (k, 4) of points (k, 3) in tets with corners (k, 4, 3); the first is 1 minus the others."""
    a, b, c = (corners[:, j] - corners[:, 0] for j in (1, 2, 3))
    from_first = points - corners[:, 0]
    normals = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=1)
    others = np.einsum("kjc,kc->kj", normals, from_first) / np.einsum("kc,kc->k", a, normals[:, 0])[:, None]
    return np.concatenate([1.0 - others.sum(axis=1, keepdims=True), others], axis=1)


def _nearby(points, simplices, rate, settled):
    """Return the best of the simplices (m, j, 3) for each point, and its rating.

    The simplices around the nearest centroids are rated, and more of them until `settled`(rating of the best, least distance of all other
    centroids, radius of the largest simplex) is true: no other can be better. `rate`(points (k, 3), rows (k,)): the rating of a simplex for
    each point, larger is better.
    """
    import scipy

    centroids = simplices.mean(axis=1)
    radius = np.linalg.norm(simplices - centroids[:, None], axis=2).max()
    tree = scipy.spatial.cKDTree(centroids)
    best, rates = np.zeros(len(points), np.int64), np.full(len(points), -np.inf)
    left, most = np.arange(len(points)), 8
    while len(left):
        most = min(most, len(simplices))
        unsettled = []
        for part in np.array_split(left, -(-len(left) * most // AT_ONCE)):
            distances, near = tree.query(points[part], k=[*range(1, most + 1)])
            found = rate(np.repeat(points[part], most, axis=0), near.ravel()).reshape(-1, most)
            chosen = np.argmax(found, axis=1)[:, None]
            best[part] = np.take_along_axis(near, chosen, axis=1)[:, 0]
            rates[part] = np.take_along_axis(found, chosen, axis=1)[:, 0]
            unsettled.append(part[~settled(rates[part], distances[:, -1], radius)])
        if most == len(simplices):
            break
        left, most = np.concatenate(unsettled), 4 * most
    return best, rates


def _containing(points, corners):
    """Return the tet (of m with corners (m, 4, 3)) that contains each point, -1: none."""

    def least_coordinate(where, rows):
        return _barycentric(where, corners[rows]).min(axis=1)

    # the centroid of a tet is at most as far from a contained point as its farthest corner
    best, least = _nearby(points, corners, least_coordinate, lambda least, far, radius: (least >= -ROUNDING) | (far > radius))
    return np.where(least >= -ROUNDING, best, -1)


def _nearest(points, mesh):
    """Return the tet of the surface triangle closest to each point."""
    if not len(points):
        return np.zeros(0, np.int64)
    triangles = mesh.surface
    corners = mesh.points[triangles]

    def nearness(where, rows):
        return -geometry.vertex_triangle(np.concatenate([where[:, None], corners[rows]], axis=1), device="cpu").distance

    best, _ = _nearby(points, corners, nearness, lambda rate, far, radius: far - radius > -rate)
    return tet_neighbours(mesh.tets, triangles)[1][best]


def find_embedding(scene: Scene, embedding: Any) -> tuple[Any, Embedding]:
    """Return (body, embedding) of a scene by its name, or the given one. Errors: TypeError, ValueError."""
    wanted = embedding.name if isinstance(embedding, Embedding) else embedding
    if not isinstance(wanted, str):
        raise TypeError(f"name: expected an embedding or its name, got {embedding!r}")
    everything = [(body, part) for body in scene.bodies for part in body.embeddings]
    found = [(body, part) for body, part in everything if part.name == wanted]
    if isinstance(embedding, Embedding):
        found = [(body, part) for body, part in found if part.body == embedding.body]
    if not found:
        raise ValueError(f"name: no embedding is named {wanted!r}; there are {[part.name for _, part in everything]}")
    if len(found) > 1:
        raise ValueError(f"name: {wanted!r} is embedded in {[body.name for body, _ in found]}; give the Embedding")
    return found[0]
