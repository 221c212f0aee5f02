"""Flat faces of rigid bodies and obstacles: their contact surface without the edges inside a face, independent of its triangulation.

A flat edge lies inside a plane face. The distance of another edge to that face is attained at an end of the other edge, or at the border
of the face. So pairs of vertices and triangles and pairs of the other edges have the same least distance, and a pair with a flat edge is
redundant. The shape of a rigid body or of an obstacle at rest never changes, so its flat edges stay flat.

A vertex over a flat edge has pairs with both triangles. A panel is a convex part of a face. A vertex has one term per panel, that of its
nearest triangle (csrc/updates/contact/panel_update.h). The distance to a convex set has a continuous gradient, so the term has one too.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

__all__ = ["FlatFaces"]

# An edge is flat if its triangles leave their common plane by at most this part of their size: far below all gaps.
TOLERANCE = 1e-10
# A panel is convex up to this angle, rad, or this part of its area.
CONVEX = 1e-9


class FlatFaces:
    """The plane faces of several triangles, of the triangles whose vertices keep their distances.

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
    panels : ndarray of int32, shape (t,)
        The panel of each triangle; -1 for a panel of one triangle.
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
        self._axes = None  # of the faces, for their panels
        self._find_faces()
        self.panels = np.full(len(surface.triangles), -1, np.int32)
        self.panels[mine] = self._panels(pairs[flat])

    def _are_flat(self, sides, opposite, pairs):
        """Whether the triangles at two sides of one edge, (m, 2), lie in one plane, next to each other."""
        start, along = self._rest[sides[pairs[:, 0], 0]], self._rest[sides[pairs[:, 0], 1]] - self._rest[sides[pairs[:, 0], 0]]
        one, other = (self._rest[opposite[pairs[:, k]]] - start for k in (0, 1))
        normal, turned = np.cross(along, one), np.cross(other, along)
        size = np.linalg.norm(along, axis=1) * np.linalg.norm(normal, axis=1)
        oriented = sides[pairs[:, 0], 0] == sides[pairs[:, 1], 1]
        away = np.abs(np.einsum("ij,ij->i", normal, other))
        return oriented & (away <= TOLERANCE * size) & (np.einsum("ij,ij->i", normal, turned) > 0.0)

    def _find_faces(self):
        """The face of each triangle, and the angles at its corners."""
        import scipy

        rows, n = self._rows, len(self._rows)
        graph = scipy.sparse.coo_matrix((np.ones(len(self._links)), self._links.T), shape=(n, n))
        self._face = scipy.sparse.csgraph.connected_components(graph, directed=False)[1] if n else np.zeros(0, np.int32)
        self._several = np.bincount(self._face)[self._face] > 1
        self._ahead = np.roll(self._rest[rows], -1, axis=1) - self._rest[rows]
        back = -np.roll(self._ahead, 1, axis=1)
        normal = np.linalg.norm(np.cross(self._ahead, back), axis=2)  # of each corner: twice the area
        self._angle = np.arctan2(normal, np.einsum("ijk,ijk->ij", self._ahead, back))
        self._area = normal.mean(axis=1) / 2.0

    def _convex_faces(self):
        """Whether each face is convex: a disk without an angle above pi at its border."""
        n = len(self._rest)
        corner = (self._face[:, None].astype(np.int64) * n + self._rows).ravel()
        places, of = np.unique(corner, return_inverse=True)
        angles = np.bincount(of, self._angle.ravel())
        border = np.zeros(len(places), bool)
        sides = ~self.inside[self._edge_of].reshape(-1, 3)
        border[of.reshape(-1, 3)[sides]] = True
        border[np.roll(of.reshape(-1, 3), -1, axis=1)[sides]] = True
        reflex = np.bincount(places[border & (angles > np.pi + CONVEX)] // n, minlength=self._face.max(initial=-1) + 1) > 0
        vertices, triangles = np.bincount(places // n), np.bincount(self._face)
        links = np.bincount(self._face[self._links[:, 0]], minlength=len(triangles))
        return ~reflex & (vertices - (3 * triangles - links) + triangles == 1)  # Euler's characteristic of a disk

    def _panels(self, flat):
        """The panel of each triangle, by the flat edges, pairs (f, 2) of sides: its face if that is convex, else a part of it."""
        if not len(flat):
            return np.full(len(self._rows), -1, np.int32)
        panel, convex = self._face.copy(), self._convex_faces()
        if not convex.all():
            chosen = ~convex[self._face]
            panel[chosen] = len(convex) + np.flatnonzero(chosen)
            links = self._links[chosen[self._links[:, 0]]]
            length = np.linalg.norm(self._ahead.reshape(-1, 3)[flat[chosen[self._links[:, 0]], 0]], axis=1)
            self._join(panel, links[np.argsort(-length, kind="stable")])
        result = np.unique(panel, return_inverse=True)[1].astype(np.int32)
        return np.where(np.bincount(result)[result] > 1, result, -1)

    def _join(self, panel, links):
        """Joins panels across flat edges, one edge after the other, while their union is convex."""
        outline, area = {}, {}
        for triangle in np.unique(links):
            outline[panel[triangle]], area[panel[triangle]] = self._in_plane(triangle), float(self._area[triangle])
        joined = {key: key for key in outline}

        def root(key):
            while joined[key] != key:
                key = joined[key]
            return key

        changed = True
        while changed:
            changed = False
            for one, other in panel[links].tolist():
                a, b = root(one), root(other)
                if a == b:
                    continue
                hull, size = _hull(outline[a] + outline[b])
                if size <= (area[a] + area[b]) * (1.0 + CONVEX):
                    joined[b], outline[a], area[a], changed = a, hull, area[a] + area[b], True
        for triangle in np.unique(links):
            panel[triangle] = root(panel[triangle])

    def _in_plane(self, triangle):
        """The corners of a triangle in the plane of its face, a list of (x, y), m."""
        if self._axes is None:
            first = np.unique(self._face, return_index=True)[1]
            along, up = self._ahead[first, 0], np.cross(self._ahead[first, 0], self._ahead[first, 1])
            axes = np.stack([along, np.cross(up, along)], axis=1)
            self._axes = axes / np.linalg.norm(axes, axis=2, keepdims=True)
            self._origins = self._rest[self._rows[first, 0]]
        face = self._face[triangle]
        return [tuple(at) for at in ((self._rest[self._rows[triangle]] - self._origins[face]) @ self._axes[face].T).tolist()]

    def with_areas(self, of_vertices, of_edges, of_triangles):
        """The areas of vertices (n,), edges (e,) and triangles (t,), m^2; each triangle has given a third to vertices and edges.

        In a face of several triangles, a vertex has the parts by the angles of its triangles instead, and the edges of the border share the
        area of the face by their length. The sums over a face stay, and neither depends on the triangulation. A triangle of a panel has
        the area of the panel.
        """
        if not len(self._links):
            return of_vertices, of_edges, of_triangles
        rows, face, several, area = self._rows, self._face, self._several, self._area
        change = np.where(several[:, None], area[:, None] * (self._angle / np.pi - 1.0 / 3.0), 0.0)
        of_vertices = of_vertices + np.bincount(rows.ravel(), change.ravel(), len(of_vertices))

        border = ~self.inside[self._edge_of].reshape(-1, 3)
        length = np.linalg.norm(self._ahead, axis=2) * border
        of_border = np.maximum(np.bincount(face, length.sum(axis=1)), np.finfo(float).tiny)  # 0: all corners in one point
        part = length / of_border[face][:, None]
        change = np.where(several[:, None], np.bincount(face, area)[face][:, None] * part - area[:, None] / 3.0, 0.0)
        of_edges = of_edges + np.bincount(self._edge_of, change.ravel(), len(of_edges))

        chosen = self.panels >= 0
        of_panels = np.bincount(self.panels[chosen], of_triangles[chosen])
        of_triangles = of_triangles.copy()
        of_triangles[chosen] = of_panels[self.panels[chosen]]
        return of_vertices, of_edges, of_triangles


def _hull(points):
    """The convex hull of a list of points (x, y), as some of them, and its area, m^2 [Andrew 1979, monotone chain]."""
    points = sorted(set(points))
    if len(points) < 3:
        return points, 0.0

    def chain(rows):
        kept = []
        for at in rows:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], at) <= 0.0:
                kept.pop()
            kept.append(at)
        return kept[:-1]

    corners = chain(points) + chain(points[::-1])
    return corners, 0.5 * abs(sum(_turn(corners[0], a, b) for a, b in pairwise(corners)))


def _turn(a, b, c):
    """Twice the signed area of a triangle in a plane."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
