"""Frames of materials that differ between directions: rest gradients whose columns of F belong to the axes of the material."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu._internal.arguments import any_array, having, real_array

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.mesh.mesh import Mesh
    from pdgpu.types import Floats

__all__ = ["directions", "frames", "in_frames", "in_plane", "warp_directions"]

ORTHONORMAL = 1e-5  # the largest entry of A A^T - 1 of a frame; one in float32 passes
NORMAL = 1e-6  # a direction whose projection on a triangle is shorter, relative to it, is normal to the triangle
FLAT = 1e-12  # a triangle of (u, v) with a smaller sine has no area


def directions(name: str, direction: Any) -> Floats:
    """Return one direction (3,), or one for each triangle (m, 3), float64."""
    return real_array(name, direction, (3,) if any_array(name, direction).ndim == 1 else (None, 3))


def frames(name: str, axes: Any) -> Floats:
    """Return one frame (3, 3), or one for each tet (m, 3, 3), float64; ValueError for rows that are not orthonormal."""
    array = real_array(name, axes, (3, 3) if any_array(name, axes).ndim == 2 else (None, 3, 3))
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.abs(array @ np.swapaxes(array, -1, -2) - np.eye(3)).max(axis=(-1, -2))
    bad = ~(np.atleast_1d(error) <= ORTHONORMAL)
    if bad.any():
        index = int(np.argmax(bad))
        rows, where = (array[index], f" at {index}") if array.ndim == 3 else (array, "")
        raise ValueError(
            f"{name}: the three rows must be unit vectors at right angles, got {rows.tolist()}{where}; "
            "np.linalg.qr(rows.T)[0].T makes them so"
        )
    return array


def in_plane(name: str, gradients: Floats, corners: Floats, direction: Floats) -> Floats:
    """Return rest gradients (m, 2, 2) in the frame of a direction (3,) or (m, 3); by default that of first edges of triangles (m, 3, 3)."""
    m = len(corners)
    if direction.ndim == 2 and len(direction) != m:
        raise ValueError(f"{name}: expected shape ({m}, 3), one for each triangle, or (3,), got {direction.shape}")
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normal = np.cross(first, second)
    across = np.cross(normal, first)
    along = np.stack([np.einsum("mc,mc->m", np.broadcast_to(direction, (m, 3)), axis) for axis in (_unit(first), _unit(across))], axis=1)
    length = np.linalg.norm(along, axis=1)
    flat = ~(length > NORMAL * np.linalg.norm(np.broadcast_to(direction, (m, 3)), axis=1))
    if flat.any():
        row = int(np.argmax(flat))
        raise ValueError(f"{name}: {np.broadcast_to(direction, (m, 3))[row].tolist()} is normal to triangle {row}")
    c, s = (along / length[:, None]).T
    turn = np.stack([np.stack([c, -s], axis=1), np.stack([s, c], axis=1)], axis=1)
    return gradients @ turn


def in_frames(name: str, gradients: Floats, axes: Floats) -> Floats:
    """Return rest gradients (m, 3, 3) of tets in frames (3, 3) or (m, 3, 3): the nearest rotations, with the third axis of either sign."""
    m = len(gradients)
    if axes.ndim == 3 and len(axes) != m:
        raise ValueError(f"{name}: expected shape ({m}, 3, 3), one for each tet, or (3, 3), got {axes.shape}")
    if np.array_equal(axes, np.eye(3)):
        return gradients
    u, _, vt = np.linalg.svd(axes)
    turn = np.swapaxes(u @ vt, -1, -2)  # to the last digit orthonormal, so that rest has no stress
    turn[..., 2] *= np.sign(np.linalg.det(turn))[..., None]
    return gradients @ turn


def warp_directions(mesh: Mesh, uv: ArrayLike) -> Floats:
    """Return the direction of growing u in every triangle, from coordinates of a texture or a sewing pattern.

    It is the derivative of the position by u, with v fixed [m per unit of u]. `OrthotropicShell` and `CustomMaterial` take it as
    `direction`. Their second axis is at a right angle to it, also if the lines of v are not.

    Parameters
    ----------
    mesh : Mesh
        With triangles.
    uv : array_like, shape (vertices, 2) or (triangles, 3, 2)
        u and v of every vertex, or of every corner for a pattern with seams.

    Returns
    -------
    ndarray, shape (triangles, 3), float64

    Raises
    ------
    ValueError
        A mesh without triangles, another shape, a value that is not finite, a triangle without area in (u, v).

    Examples
    --------
    >>> mesh = pdgpu.shapes.grid((1.0, 1.0), cells=(1, 1))
    >>> pdgpu.warp_directions(mesh, mesh.points[:, :2] / 2.0).tolist()  # u runs along x, from 0 to 1/2
    [[2.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
    """
    having("mesh", mesh, "triangles", "a pdgpu.Mesh")
    rows, points = mesh.triangles, mesh.points
    if len(rows) == 0:
        raise ValueError("mesh: it has no triangles; mesh.surface are those of the surface of a solid")
    by_corner = any_array("uv", uv).ndim == 3
    plane = real_array("uv", uv, (len(rows), 3, 2) if by_corner else (len(points), 2))
    corners = plane if by_corner else plane[rows]
    (u_1, v_1), (u_2, v_2) = (corners[:, 1] - corners[:, 0]).T, (corners[:, 2] - corners[:, 0]).T
    area = u_1 * v_2 - u_2 * v_1
    flat = ~(np.abs(area) > FLAT * (np.hypot(u_1, v_1) * np.hypot(u_2, v_2)))
    if flat.any():
        row = int(np.argmax(flat))
        raise ValueError(f"uv: triangle {row} has no area in (u, v): {corners[row].tolist()}")
    first, second = points[rows[:, 1]] - points[rows[:, 0]], points[rows[:, 2]] - points[rows[:, 0]]
    return (v_2[:, None] * first - v_1[:, None] * second) / area[:, None]


def _unit(vectors: Floats) -> Floats:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
