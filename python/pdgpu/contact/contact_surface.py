"""The contact surface of a mesh: its pairs and their areas."""

from __future__ import annotations

import numpy as np

from pdgpu.collision.collision import BroadPhase
from pdgpu.collision.intersections import VerifierScene

__all__ = ["SurfaceAreas", "TouchingSurface"]

KINDS = ("vertex-vertex", "vertex-edge", "vertex-triangle", "edge-edge", "vertex-plane")  # of csrc/elements/contact/pair.h
VERTEX_VERTEX, VERTEX_EDGE, VERTEX_TRIANGLE, EDGE_EDGE, VERTEX_PLANE = range(5)
CORNERS = (2, 3, 4, 4, 3)


class SurfaceAreas:
    """The areas of the vertices (n), edges and triangles of a surface."""

    def __init__(self, n, triangles, edges):
        self.n, self.triangles, self.edges = n, triangles, edges
        keys = edges.astype(np.int64) @ [n, 1]
        order = np.argsort(keys)
        sides = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1).astype(np.int64) @ [n, 1]
        self.sides = order[np.searchsorted(keys, sides, sorter=order)].reshape(-1, 3)  # of each triangle, as rows of edges

    def of(self, rest):
        """Areas of vertices (n,), edges (e,) and triangles (t,), m^2; NaN for a vertex or an edge without triangles."""
        corners = rest[self.triangles]
        third = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 6.0
        result = []
        for where, repeats, count in ((self.triangles.ravel(), 3, self.n), (self.sides.ravel(), 3, len(self.edges))):
            area = np.bincount(where, np.repeat(third, repeats), count)
            result.append(np.where(np.bincount(where, minlength=count) > 0, area, np.nan))
        return *result, 3.0 * third


def harmonic(a, b):
    """a b/(a + b) of areas: half their harmonic mean, as `pd_pair_weight_harmonic` of csrc/updates/contact/pair_weight.h."""
    least, most = np.minimum(a, b), np.maximum(a, b)
    return np.where(least > 0.0, least * (most / np.where(least > 0.0, a + b, 1.0)), (a + b) / 4.0)


class TouchingSurface:
    """The primitives of a mesh, their areas, and its connected parts."""

    def __init__(self, n, triangles, edges):
        rows = VerifierScene(n, triangles, edges, None)
        self.n, self.triangles, self.edges = n, rows.triangles, rows.edges
        self.rods = rows.edges[rows.alone.astype(bool)]
        self.particles = np.setdiff1d(np.arange(n, dtype=np.int32), rows.vertices)

    def parts(self):
        """The connected part of each vertex, (n,)."""
        import scipy

        graph = scipy.sparse.coo_matrix((np.ones(len(self.edges)), self.edges.T), shape=(self.n, self.n))
        return scipy.sparse.csgraph.connected_components(graph, directed=False)[1]

    def candidates(self, x, reach, threads):
        """Kind (k,), vertices (k, 4) and the broad phase's pairs, for all pairs nearer than reach and some others."""
        import scipy

        phase = BroadPhase(x, self.triangles, self.edges, particles=self.particles, dtype="float64", device="cpu", threads=threads)
        near = phase.pairs(x, distance=reach)
        dots = x[self.particles]
        two = one = np.zeros((0, 2), np.int64)
        if len(dots):
            tree, slack = scipy.spatial.cKDTree(dots), 1.0 + 1e-9  # above the error of its distances
            two = np.sort(tree.query_pairs(reach * slack, output_type="ndarray"), axis=1)
            two = two[np.lexsort(two.T[::-1])]
            if len(self.rods):
                ends = x[self.rods]
                radius = 0.5 * np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) + reach
                found = tree.query_ball_point(ends.mean(axis=1), radius * slack, return_sorted=True)
                counts = [len(each) for each in found]
                one = np.stack(
                    [np.concatenate([*map(np.asarray, found)]).astype(np.int64), np.repeat(np.arange(len(found)), counts)], axis=1
                )
        none = np.full((max(len(two), len(one)), 2), -1)
        pairs = (
            np.concatenate([self.particles[two], none[: len(two)]], axis=1),
            np.concatenate([self.particles[one[:, :1]], self.rods[one[:, 1]], none[: len(one), :1]], axis=1),
            np.concatenate([near.vertex_triangle[:, :1], self.triangles[near.vertex_triangle[:, 1]]], axis=1),
            self.edges[near.edge_edge].reshape(-1, 4),
        )
        kind = np.repeat(np.arange(4, dtype=np.int32), [len(part) for part in pairs])
        return kind, np.concatenate(pairs).astype(np.int32), near

    def weights(self, rest, kind, near, weighting):
        """The area of each candidate, m^2; 1 for those with a vertex or an edge without triangles."""
        of_vertices, of_edges, of_triangles = SurfaceAreas(self.n, self.triangles, self.edges).of(rest)
        quarter, area = of_vertices[near.vertex_triangle[:, 0]] / 4.0, of_triangles[near.vertex_triangle[:, 1]]
        first, second = of_edges[near.edge_edge].T
        weight = np.full(len(kind), np.nan)
        smaller = (weighting == "harmonic") & (area > 0.0)
        weight[kind == VERTEX_TRIANGLE] = np.where(smaller, np.minimum(quarter, area), quarter)
        weight[kind == EDGE_EDGE] = (first + second) / 4.0 if weighting == "sum" else harmonic(first, second)
        return np.where(np.isnan(weight), 1.0, weight)
