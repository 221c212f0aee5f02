"""The meshes that reference figures are quoted for, built here without pdgpu, so that a test never checks a shape against itself.

A grid has vertex id i + (nx+1)(j + (ny+1)k) and spacing dx; every builder returns (points (n, 3) float64, elements (m, k) int32),
tets positive. The names K10, F10, J10, B20, B20J and cloth(N) are those of the published tables.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest

_FIVE_TETS = {
    0: [(0, 1, 2, 4), (3, 1, 2, 7), (5, 1, 4, 7), (6, 2, 4, 7), (1, 2, 4, 7)],
    1: [(1, 0, 3, 5), (2, 0, 3, 6), (4, 0, 5, 6), (7, 3, 5, 6), (0, 3, 5, 6)],
}


def grid_points(nx, ny, nz, dx):
    """Grid positions times dx, x fastest."""
    k, j, i = np.meshgrid(np.arange(nz + 1), np.arange(ny + 1), np.arange(nx + 1), indexing="ij")
    return np.stack([i, j, k], axis=-1).reshape(-1, 3) * dx


def _positive(points, tets):
    """Tets with the last two vertices swapped where the volume is negative."""
    tets = np.array(tets, dtype=np.int32)
    edges = points[tets[:, 1:]] - points[tets[:, :1]]
    negative = np.linalg.det(edges) < 0
    tets[negative] = tets[negative][:, [0, 1, 3, 2]]
    return tets


def kuhn_grid(nx, ny, nz, dx):
    """Six tets per cell: for each order of the axes the path from the lowest to the highest corner."""
    points = grid_points(nx, ny, nz, dx)
    step = (1, nx + 1, (nx + 1) * (ny + 1))
    tets = []
    for k, j, i in itertools.product(range(nz), range(ny), range(nx)):
        v = i * step[0] + j * step[1] + k * step[2]
        for p in itertools.permutations(range(3)):
            tets.append((v, v + step[p[0]], v + step[p[0]] + step[p[1]], v + sum(step)))
    return points, _positive(points, tets)


def five_tet_grid(nx, ny, nz, dx):
    """Five tets per cell, mirrored from cell to cell."""
    points = grid_points(nx, ny, nz, dx)
    tets = []
    for k, j, i in itertools.product(range(nz), range(ny), range(nx)):
        corner = [i + (b & 1) + (nx + 1) * (j + (b >> 1 & 1) + (ny + 1) * (k + (b >> 2 & 1))) for b in range(8)]
        tets += [[corner[b] for b in tet] for tet in _FIVE_TETS[(i + j + k) % 2]]
    return points, _positive(points, tets)


def hash32(i, j, k, c):
    """A repeatable 32-bit hash of four integers (arrays broadcast)."""
    i, j, k, c = (np.asarray(value, dtype=np.uint32) for value in (i, j, k, c))
    with np.errstate(over="ignore"):
        h = np.uint32(73856093) * i ^ np.uint32(19349663) * j ^ np.uint32(83492791) * k ^ np.uint32(2654435761) * (c + np.uint32(1))
        h = h ^ h >> np.uint32(16)
        h = h * np.uint32(0x85EBCA6B)
        h = h ^ h >> np.uint32(13)
        h = h * np.uint32(0xC2B2AE35)
        return h ^ h >> np.uint32(16)


def jitter(points, dims, dx, amount):
    """Grid points with each coordinate of every interior vertex moved by up to amount*dx; dims = (nx, ny, nz)."""
    nx, ny, nz = dims
    k, j, i = (a.reshape(-1) for a in np.meshgrid(np.arange(nz + 1), np.arange(ny + 1), np.arange(nx + 1), indexing="ij"))
    interior = (i > 0) & (i < nx) & (j > 0) & (j < ny) & (k > 0) & (k < nz)
    moved = points.copy()
    for c in range(3):
        u = hash32(i, j, k, np.full_like(i, c)) / 2.0**32 - 0.5
        moved[interior, c] += 2 * amount * dx * u[interior]
    return moved


def K10():
    """1 m cube, 10^3 cells, six tets each."""
    return kuhn_grid(10, 10, 10, 0.1)


def F10():
    """1 m cube, 10^3 cells, five tets each."""
    return five_tet_grid(10, 10, 10, 0.1)


def J10():
    """K10 with its interior vertices moved by up to a fifth of a cell."""
    points, tets = K10()
    return jitter(points, (10, 10, 10), 0.1, 0.2), tets


def B20():
    """A bar of 1 x .25 x .25 m along x, 20 x 5 x 5 cells, six tets each."""
    return kuhn_grid(20, 5, 5, 0.05)


def B20J():
    """B20 with its interior vertices moved by up to a fifth of a cell."""
    points, tets = B20()
    return jitter(points, (20, 5, 5), 0.05, 0.2), tets


def cloth(n):
    """The unit square in the x-y plane, n x n cells of two triangles."""
    points = grid_points(n, n, 0, 1 / n)
    triangles = []
    for j, i in itertools.product(range(n), range(n)):
        v00 = i + (n + 1) * j
        v10, v01, v11 = v00 + 1, v00 + n + 1, v00 + n + 2
        triangles += [(v00, v10, v11), (v00, v11, v01)]
    return points, np.array(triangles, dtype=np.int32)


def data_file(relative):
    """The path of a file of the external mesh collection. Where the collection is not at hand, a skip, and under CI=true a failure."""
    missing = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
    folder = os.environ.get("PDGPU_DATA")
    if not folder:
        missing(f"PDGPU_DATA does not name the mesh collection: {relative} is not checked")
    path = Path(folder, relative)
    if not path.exists():
        missing(f"PDGPU_DATA has no {relative}: it is not checked")
    return path


def normalised(points):
    """Shifted to minimum 0 and scaled so that the largest coordinate is 1, as the tables of real meshes are made."""
    shifted = points - points.min(axis=0)
    return shifted / shifted.max()
