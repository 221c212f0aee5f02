"""Measures of the sizes and shapes of a mesh's elements."""

from __future__ import annotations

import numpy as np

from pdgpu import _host
from pdgpu.linear.spectrum import largest_eigenvalue

__all__ = ["quality_of"]


def quality_of(mesh):
    """See `Mesh.quality`."""
    result = {}
    if len(mesh.tets):
        corners = mesh.points[mesh.tets]
        volumes = _host.measures(mesh.points, mesh.tets)
        mean_square = _sum_of_squared_edges(corners) / 6
        result["volumes"] = volumes
        result["volume_ratios"] = 6 * np.sqrt(2) * volumes / mean_square**1.5
        result["dihedral_minimum"], result["dihedral_maximum"] = _dihedral_extremes(corners)
    if len(mesh.triangles):
        areas = _host.measures(mesh.points, mesh.triangles)
        squares = _sum_of_squared_edges(mesh.points[mesh.triangles])
        result["areas"] = areas
        result["triangle_ratios"] = 4 * np.sqrt(3) * areas / np.where(squares > 0, squares, 1)
    result["edge_lengths"] = _host.measures(mesh.points, mesh.unique_edges())
    if len(result["edge_lengths"]):
        largest = _largest_jacobi_eigenvalue(mesh)
        result["jacobi_eigenvalue"], result["jacobi_weight"] = largest, 1.8 / largest
    return result


def _largest_jacobi_eigenvalue(mesh):
    """Of D^-1 L, L = sum over the elements of measure x G G^T, G the gradients of their linear shape functions [k,d]: the limit of the
    Projective Dynamics matrix for a stiff body of ARAP elements. All edges have the same weight, as springs.
    """
    import scipy

    rows, topology = next(
        (rows, topology) for rows, topology in ((mesh.tets, "tet"), (mesh.triangles, "triangle"), (mesh.edges, "edge")) if len(rows)
    )
    if topology == "edge":
        gradients, measures = np.ones((len(rows), 1, 1)), np.ones(len(rows))
    else:
        try:
            gradients, measures = _host.rest_shape(mesh.points, topology, rows)
        except ValueError:
            return float("nan")
    gradients = np.concatenate([-gradients.sum(axis=1, keepdims=True), gradients], axis=1)
    blocks = measures[:, None, None] * (gradients @ gradients.transpose(0, 2, 1))
    k = rows.shape[1]
    used, local = np.unique(rows, return_inverse=True)
    local = local.reshape(rows.shape)
    entries = (blocks.ravel(), (np.repeat(local, k, axis=1).ravel(), np.tile(local, (1, k)).ravel()))
    return largest_eigenvalue(scipy.sparse.coo_matrix(entries, shape=(len(used),) * 2).tocsr(), tolerance=1e-6)


def _sum_of_squared_edges(corners):
    """Sum over all pairs of the k vertices of the squared distance; corners (m, k, 3) -> (m,)."""
    k = corners.shape[1]
    total = np.zeros(len(corners))
    for a in range(k):
        for b in range(a + 1, k):
            edge = corners[:, b] - corners[:, a]
            total += np.einsum("mi,mi->m", edge, edge)
    return total


def _dihedral_extremes(corners):
    """Smallest and largest angle between two faces of each tet, degrees; corners (m, 4, 3) -> (m,), (m,)."""
    faces = ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))  # outward for a positive tet
    normals = [np.cross(corners[:, b] - corners[:, a], corners[:, c] - corners[:, a]) for a, b, c in faces]
    smallest = np.full(len(corners), 180.0)
    largest = np.zeros(len(corners))
    for a in range(4):
        for b in range(a + 1, 4):
            # the arc cosine would lose half the digits near 0 and 180 degrees, the angles of bad tets
            sine = np.linalg.norm(np.cross(normals[a], normals[b]), axis=1)
            cosine = -np.einsum("mi,mi->m", normals[a], normals[b])
            angle = np.degrees(np.arctan2(sine, cosine))
            np.minimum(smallest, angle, out=smallest)
            np.maximum(largest, angle, out=largest)
    return smallest, largest
