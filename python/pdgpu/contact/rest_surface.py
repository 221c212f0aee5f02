"""The triangles of a rest surface, in a tree of boxes, for the exact distance of points from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.mesh.mesh import Mesh

__all__ = ["RestSurface"]

LEAF = 4  # triangles of a leaf, at most


class RestSurface:
    """A closed surface whose triangles, edges and vertices have pseudonormals [Baerentzen and Aanaes 2005].

    Lengths are in units of 1/scale, relative to an origin.

    Parameters
    ----------
    surface : Mesh
        Closed and without self-intersections.
    origin : array_like, shape (3,)
        m.

    Attributes
    ----------
    scale : float
        1/m, the power of two that makes the surface 1/2 to 1 wide.
    corners : ndarray, shape (n, 3, 3)
        In the order of the leaves.
    normals : ndarray, shape (n, 7, 3)
        Outward; of the three corners, the sides 01, 12, 20, and the face. Those of corners and sides are no unit vectors.
    skip : ndarray of int32, shape (m,)
        For each node, in preorder, the next node after its subtree.
    first : ndarray of int32, shape (m + 1,)
        The triangles of node k are first[k] to first[k + 1] - 1; none for an inner node.

    Raises
    ------
    ValueError
        A triangle without area, which has no normal: its number.
    """

    def __init__(self, surface: Mesh, origin: Any) -> None:
        triangles = surface.surface
        used = surface.points[triangles] - np.array(origin)
        self.scale = 2.0 ** np.floor(-np.log2(float(np.ptp(used, axis=(0, 1)).max())))
        self.corners = used * self.scale
        self.normals = _pseudonormals(self.corners, triangles)
        self._make_tree()

    def _make_tree(self):
        """Halves by the median along the longest side of the centroids' box, down to at most LEAF triangles."""
        n, centres = len(self.corners), self.corners.mean(axis=1)
        depth, order = max(0, int(np.ceil(np.log2(n / LEAF)))), np.arange(n)
        for level in range(depth):
            starts = (n * np.arange(2**level + 1)) >> level
            group = np.repeat(np.arange(2**level), np.diff(starts))
            low, high = (bound.reduceat(centres[order], starts[:-1], axis=0) for bound in (np.minimum, np.maximum))
            axis = (high - low).argmax(axis=1)[group]
            order = order[np.lexsort((centres[order, axis], group))]
        self.corners, self.normals = self.corners[order], self.normals[order]
        index = np.zeros(1, np.int64)
        self.skip = np.empty(2 ** (depth + 1) - 1, np.int32)
        self.first = np.empty(len(self.skip) + 1, np.int32)
        self.first[-1] = n
        self._levels = []  # (nodes, their first triangles), for the boxes
        for level in range(depth + 1):
            size, starts = 2 ** (depth - level + 1) - 1, (n * np.arange(2**level + 1)) >> level
            self.skip[index] = index + size
            self.first[index] = starts[:-1]
            self._levels.append((index, starts[:-1]))
            index = np.stack([index + 1, index + 1 + size // 2], axis=1).ravel()

    def description(self, dtype: Any) -> dict[str, Any]:
        """The description for the core. The boxes contain the rounded corners."""
        corners = np.ascontiguousarray(self.corners, dtype)
        low, high = corners.min(axis=1), corners.max(axis=1)
        boxes = np.empty((len(self.skip), 6), dtype)
        for nodes, starts in self._levels:
            boxes[nodes, :3] = np.minimum.reduceat(low, starts, axis=0)
            boxes[nodes, 3:] = np.maximum.reduceat(high, starts, axis=0)
        return {
            "scale": self.scale,
            "skip": self.skip,
            "first": self.first,
            "boxes": boxes,
            "corners": corners.reshape(-1, 9),
            "normals": np.ascontiguousarray(self.normals.reshape(-1, 21), dtype),
        }


def _pseudonormals(corners, triangles):
    """(n, 7, 3) of a closed surface, outward for any orientation: of a corner the sum of its triangles' normals weighted by their angles
    there, of a side the sum of two.
    """
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(across, axis=1)
    if not (size > 0.0).all():
        raise ValueError(f"triangle {int(np.argmin(size > 0.0))} of the surface has no area, so that it has no outer side")
    middle = corners.mean(axis=(0, 1))
    outwards = np.sign(np.einsum("nc,nc->", corners[:, 0] - middle, across))
    face = outwards * across / size[:, None]
    sides = np.roll(corners, -1, axis=1) - corners
    turn = -np.einsum("nkc,nkc->nk", sides, np.roll(sides, 1, axis=1))  # of a corner: between the way to the next and to the one before
    angles = np.arctan2(np.broadcast_to(size[:, None], turn.shape), turn)
    vertices, corner = np.unique(triangles, return_inverse=True)
    corner = corner.reshape(triangles.shape)
    at_vertex = np.zeros((len(vertices), 3))
    np.add.at(at_vertex, corner, angles[:, :, None] * face[:, None, :])
    ends = np.sort(np.stack([corner, np.roll(corner, -1, axis=1)], axis=2), axis=2).astype(np.int64)
    _, edge = np.unique(ends[..., 0] * len(vertices) + ends[..., 1], return_inverse=True)
    edge = edge.reshape(triangles.shape)
    at_edge = np.zeros((int(edge.max()) + 1, 3))
    np.add.at(at_edge, edge, np.broadcast_to(face[:, None, :], (*edge.shape, 3)))
    return np.concatenate([at_vertex[corner], at_edge[edge], face[:, None, :]], axis=1)
