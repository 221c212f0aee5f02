"""Flat faces of rigid bodies: their contact surface without the edges inside a face, independent of how faces are triangulated.

A flat edge lies inside a plane face. The distance of another edge to that face is attained at an end of the other edge, or at the border
of the face. So pairs of vertices and triangles and pairs of the other edges have the same least distance, and a pair with a flat edge is
redundant. The shape of a rigid body never changes, so its flat edges stay flat.
"""

from __future__ import annotations

import numpy as np

__all__ = ["FlatFaces"]

# An edge is flat if its triangles leave their common plane by at most this part of their size: far below all gaps.
TOLERANCE = 1e-10


class FlatFaces:
    """The plane faces of several triangles, of the triangles whose vertices are rigid.

    Parameters
    ----------
    surface : SurfaceAreas
        The triangles (t, 3) and edges (e, 2).
    rest : ndarray, shape (n, 3)
        m.
    rigid : ndarray of bool, shape (n,)

    Attributes
    ----------
    inside : ndarray of bool, shape (e,)
        Edges inside a face.
    """

    def __init__(self, surface, rest, rigid):
        self._rest = rest
        mine = rigid[surface.triangles].all(axis=1)
        self._rows, self._edge_of = surface.triangles[mine], surface.sides[mine].ravel()
        sides = self._rows[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
        by_edge = np.argsort(self._edge_of, kind="stable")
        shared, first, count = np.unique(self._edge_of[by_edge], return_index=True, return_counts=True)
        pairs = by_edge[first[count == 2][:, None] + [0, 1]]  # two sides of one edge
        flat = self._are_flat(sides, self._rows[:, [2, 0, 1]].ravel(), pairs)
        self._links = pairs[flat] // 3
        self.inside = np.zeros(len(surface.edges), bool)
        self.inside[shared[count == 2][flat]] = True

    def _are_flat(self, sides, opposite, pairs):
        """Whether the triangles at two sides of one edge, (m, 2), lie in one plane, next to each other."""
        start, along = self._rest[sides[pairs[:, 0], 0]], self._rest[sides[pairs[:, 0], 1]] - self._rest[sides[pairs[:, 0], 0]]
        one, other = (self._rest[opposite[pairs[:, k]]] - start for k in (0, 1))
        normal, turned = np.cross(along, one), np.cross(other, along)
        size = np.linalg.norm(along, axis=1) * np.linalg.norm(normal, axis=1)
        oriented = sides[pairs[:, 0], 0] == sides[pairs[:, 1], 1]
        away = np.abs(np.einsum("ij,ij->i", normal, other))
        return oriented & (away <= TOLERANCE * size) & (np.einsum("ij,ij->i", normal, turned) > 0.0)

    def with_areas(self, of_vertices, of_edges):
        """The areas of vertices (n,) and edges (e,), m^2, of which each triangle has given a third.

        In a face of several triangles, a vertex has the parts by the angles of its triangles instead, and the edges of the border share the
        area of the face by their length. The sums over a face stay, and neither depends on the triangulation.
        """
        import scipy

        if not len(self._links):
            return of_vertices, of_edges
        rows, n = self._rows, len(self._rows)
        graph = scipy.sparse.coo_matrix((np.ones(len(self._links)), self._links.T), shape=(n, n))
        face = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
        several = np.bincount(face)[face] > 1
        corners = self._rest[rows]
        ahead = np.roll(corners, -1, axis=1) - corners
        back = -np.roll(ahead, 1, axis=1)
        normal = np.linalg.norm(np.cross(ahead, back), axis=2)  # of each corner: twice the area
        angle = np.arctan2(normal, np.einsum("ijk,ijk->ij", ahead, back))
        area = normal.mean(axis=1) / 2.0
        change = np.where(several[:, None], area[:, None] * (angle / np.pi - 1.0 / 3.0), 0.0)
        of_vertices = of_vertices + np.bincount(rows.ravel(), change.ravel(), len(of_vertices))

        border = ~self.inside[self._edge_of].reshape(n, 3)
        length = np.linalg.norm(ahead, axis=2) * border
        part = length / np.bincount(face, length.sum(axis=1))[face][:, None]
        change = np.where(several[:, None], np.bincount(face, area)[face][:, None] * part - area[:, None] / 3.0, 0.0)
        return of_vertices, of_edges + np.bincount(self._edge_of, change.ravel(), len(of_edges))
