"""Simple shapes as meshes: beams, grids, boxes, spheres, chains."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING

import numpy as np

from pdgpu.mesh.mesh import Mesh

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from pdgpu.types import Floats

__all__ = ["beam", "box", "chain", "grid", "sphere"]

# The 8 corners of a cell are numbered by bits: corner b is at (b & 1, b >> 1 & 1, b >> 2 & 1).
_CORNERS = np.array([[b & 1, b >> 1 & 1, b >> 2 & 1] for b in range(8)])


def _positive_tets(tets: Any) -> Any:
    """Tets of the unit cell with the last two corners swapped if the volume is negative."""
    tets = np.array(tets)
    edges = _CORNERS[tets[:, 1:]] - _CORNERS[tets[:, :1]]
    negative = np.linalg.det(edges) < 0
    tets[negative, 2:] = tets[negative, :1:-1]
    return tets


# Kuhn's split: for each order of the axes, the path from corner 0 to corner 7 along them.
_KUHN_TETS = _positive_tets([(0, 1 << p, 1 << p | 1 << q, 7) for p, q, _ in itertools.permutations(range(3))])
# One regular tet in the middle and a corner cut off four times; neighbouring cells are mirror images.
_FIVE_TETS_EVEN = _positive_tets([(0, 1, 2, 4), (3, 1, 2, 7), (5, 1, 4, 7), (6, 2, 4, 7), (1, 2, 4, 7)])
_FIVE_TETS_ODD = _positive_tets([(1, 0, 3, 5), (2, 0, 3, 6), (4, 0, 5, 6), (7, 3, 5, 6), (0, 3, 5, 6)])


def beam(size: tuple[float, float, float] | ArrayLike, cells: tuple[int, int, int] | ArrayLike, split: int = 6) -> Mesh:
    """A block of cells cut into tets, one corner at the origin.

    Vertex id = i + (nx+1) (j + (ny+1) k) for grid position (i, j, k); the tets of a cell are consecutive, cells run x fastest.

    Parameters
    ----------
    size : (float, float, float)
        Extent along x, y, z in m.
    cells : (int, int, int)
        Number of cells nx, ny, nz along x, y, z.
    split : {6, 5}
        Tets per cell. 6: Kuhn's split, the same in every cell. 5: a regular tet and four corners, alternating between cells.

    Returns
    -------
    Mesh
        (nx+1)(ny+1)(nz+1) points, `split` nx ny nz tets, all positive.

    Raises
    ------
    ValueError
        A size that is not positive and finite, a number of cells below 1 or above the range of 32-bit indices, another split.
    """
    lengths = _positive("size", size, 3)
    nx, ny, nz = _counts("cells", cells, 3)
    if _integer("split", split) not in (5, 6):
        raise ValueError(f"split: expected 5 or 6, got {split!r}")
    _check_count("cells", cells, max((nx + 1) * (ny + 1) * (nz + 1), split * nx * ny * nz))

    axes = [np.linspace(0.0, length, n + 1) for length, n in zip(lengths, (nx, ny, nz), strict=True)]
    points = np.empty((nz + 1, ny + 1, nx + 1, 3))
    points[..., 0] = axes[0]
    points[..., 1] = axes[1][:, None]
    points[..., 2] = axes[2][:, None, None]

    strides = np.array([1, nx + 1, (nx + 1) * (ny + 1)], dtype=np.int32)
    offsets = (_CORNERS @ strides).astype(np.int32)
    i, j, k = (np.arange(n, dtype=np.int32) for n in (nx, ny, nz))
    first = (i + strides[1] * j[:, None] + strides[2] * k[:, None, None]).reshape(-1, 1, 1)
    if split == 6:
        tets = first + offsets[_KUHN_TETS]
    else:
        odd = ((i + j[:, None] + k[:, None, None]) % 2).reshape(-1)
        tets = first + offsets[np.array([_FIVE_TETS_EVEN, _FIVE_TETS_ODD])][odd]
    return Mesh(points.reshape(-1, 3), tets=tets.reshape(-1, 4))


def grid(size: ArrayLike, cells: ArrayLike) -> Mesh:
    """A rectangle of triangles in the x-y plane, one corner at the origin, normals along +z.

    Vertex id = i + (nx+1) j; the cell with corners v00, v10, v11, v01 gives the triangles (v00, v10, v11) and (v00, v11, v01).

    Parameters
    ----------
    size : (float, float)
        Extent along x and y in m.
    cells : (int, int)
        Number of cells nx, ny along x and y.

    Returns
    -------
    Mesh
        (nx+1)(ny+1) points, 2 nx ny triangles.

    Raises
    ------
    ValueError
        A size that is not positive and finite, or a number of cells below 1 or above the range of 32-bit indices.
    """
    width, height = _positive("size", size, 2)
    nx, ny = _counts("cells", cells, 2)
    _check_count("cells", cells, max((nx + 1) * (ny + 1), 2 * nx * ny))

    points = np.zeros((ny + 1, nx + 1, 3))
    points[..., 0] = np.linspace(0.0, width, nx + 1)
    points[..., 1] = np.linspace(0.0, height, ny + 1)[:, None]
    i, j = np.arange(nx, dtype=np.int32), np.arange(ny, dtype=np.int32)
    first = (i + np.int32(nx + 1) * j[:, None]).reshape(-1, 1, 1)
    v10, v01, v11 = 1, nx + 1, nx + 2
    triangles = first + np.array([[0, v10, v11], [0, v11, v01]], dtype=np.int32)
    return Mesh(points.reshape(-1, 3), triangles=triangles.reshape(-1, 3))


def box(size: ArrayLike) -> Mesh:
    """The closed surface of a box, one corner at the origin, normals outward.

    Parameters
    ----------
    size : (float, float, float)
        Extent along x, y, z in m.

    Returns
    -------
    Mesh
        8 points, 12 triangles.

    Raises
    ------
    ValueError
        A size that is not positive and finite.
    """
    size = _positive("size", size, 3)
    quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    triangles = [corners for a, b, c, d in quads for corners in ((a, b, c), (a, c, d))]
    return Mesh(_CORNERS * size, triangles=triangles)


def sphere(radius: float, subdivisions: int) -> Mesh:
    """The closed surface of a sphere around the origin: an icosahedron, each triangle cut in four `subdivisions` times.

    Parameters
    ----------
    radius : float
        Distance of every vertex from the origin in m.
    subdivisions : int
        From 0, the icosahedron itself, to 12.

    Returns
    -------
    Mesh
        10·4^s + 2 points, 20·4^s triangles, normals outward.

    Raises
    ------
    ValueError
        A radius that is not positive and finite, or subdivisions outside 0 to 12.
    """
    (radius,) = _positive("radius", [radius], 1)
    subdivisions = _integer("subdivisions", subdivisions)
    if not 0 <= subdivisions <= 12:
        raise ValueError(f"subdivisions: expected 0 to 12, got {subdivisions}")

    golden = (1 + np.sqrt(5)) / 2
    signs = [(-1, -1), (1, -1), (-1, 1), (1, 1)]
    corners = [p for s, t in signs for p in ((0, s, t * golden), (s, t * golden, 0), (t * golden, 0, s))]
    points = np.array(corners) / np.hypot(1, golden)
    # three corners are a face if all their distances are the edge length; outward by the sign of the determinant
    edge = 2 / np.hypot(1, golden)
    close = np.isclose(np.linalg.norm(points[:, None] - points, axis=2), edge)
    triangles = np.array([t for t in itertools.combinations(range(12), 3) if all(close[a, b] for a, b in itertools.combinations(t, 2))])
    inward = np.linalg.det(points[triangles]) < 0
    triangles[inward, 1:] = triangles[inward, :0:-1]

    for _ in range(subdivisions):
        sides = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        keys, inverse = np.unique(sides[:, 0].astype(np.int64) * len(points) + sides[:, 1], return_inverse=True)
        middles = points[keys // len(points)] + points[keys % len(points)]
        new = len(points) + inverse.reshape(-1, 3)
        points = np.concatenate([points, middles / np.linalg.norm(middles, axis=1, keepdims=True)])
        (a, b, c), (ab, bc, ca) = triangles.T, new.T
        triangles = np.stack([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], axis=1).reshape(-1, 3)
    return Mesh(points * radius, triangles=triangles)


def chain(n: int, length: float = 1.0) -> Mesh:
    """A straight chain of `n` edges along x from the origin: n + 1 vertices in order.

    Parameters
    ----------
    n : int
        Number of edges, not of vertices.
    length : float
        Length of the whole chain in m.

    Returns
    -------
    Mesh
        n + 1 points, n edges (i, i + 1).

    Raises
    ------
    ValueError
        n below 1, or a length that is not positive and finite.
    """
    (n,) = _counts("n", [n], 1)
    (length,) = _positive("length", [length], 1)
    _check_count("n", n, n + 1)
    points = np.zeros((n + 1, 3))
    points[:, 0] = np.linspace(0.0, length, n + 1)
    first = np.arange(n, dtype=np.int32)
    return Mesh(points, edges=np.stack([first, first + 1], axis=1))


def _integer(name: Any, value: Any) -> int:
    """The int of a value that is an integer without rounding."""
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"{name}: {value!r} is not an integer") from None


def _counts(name: Any, values: Any, length: Any) -> Any:
    """`length` integers of at least 1."""
    try:
        values = list(values)
    except TypeError:
        raise ValueError(f"{name}: expected {length} integers, got {values!r}") from None
    if len(values) != length:
        raise ValueError(f"{name}: expected {length} integers, got {values!r}")
    counts = [_integer(name, value) for value in values]
    for count in counts:
        if count < 1:
            raise ValueError(f"{name}: {count} is less than 1")
    return counts


def _positive(name: str, values: Any, length: int) -> Floats:
    """`length` positive, finite floats as an array."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        array = np.empty(0)  # ragged
    if array.shape != (length,) or array.dtype.kind not in "fiu":
        raise ValueError(f"{name}: expected {length} real numbers, got {values!r}")
    for value in array:
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name}: {value:g} is not positive and finite")
    return array.astype(np.float64)


def _check_count(name: Any, value: Any, rows: Any) -> None:
    if rows >= 2**31:
        raise ValueError(f"{name}: {value!r} makes {rows} rows, more than 32-bit indices can number")
